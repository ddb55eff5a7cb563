//! From a world to its examination probabilities, by any of the sources.

use super::{Source, World};
use crate::network::Architecture;
use crate::progress::Progress;
use crate::propensity::{
    ClusterCount, Cpbm, EmUsers, InterventionHarvesting, Propensities, RegressionEm, RelevanceForm, RelevancePrior,
    SwapExperiment, UserGroups, UserPbm,
};
use crate::ranker::{Dla, FeatureScaling};
use crate::{Error, Result};

/// The share of sessions with interventions in a log that has them: plenty, as in the paper.
const INTERVENED: f64 = 0.5;

/// From so many users on, each is shrunk toward those who look alike; fewer, such as the paper's clusters, stand for
/// themselves.
const MANY_USERS: usize = 100;

/// Where each user has few clicks, their noise is far above the last digits of a likelihood, and the features of very many
/// documents make an iteration dear.
const TOLERANCE_OF_MANY: f64 = 1e-5;

/// Clusters of many users, as in the paper's figure.
const CLUSTERS: usize = 10;

impl World<'_> {
    /// θ from a source.
    pub fn examination(&self, source: Source, seed: u64, progress: &dyn Progress) -> Result<Propensities> {
        let train = &self.data.train;
        match source {
            Source::Known => {
                let truth = self.require_truth("known examination")?.propensities.clone();
                truth.ok_or_else(|| Error::parameter("known examination needs clicks of the position-based model"))
            }
            Source::Em { mlp, per_user } => {
                let users = self.em_users(per_user);
                // As the paper has it, but for users with few sessions, who need others.
                let prior = match users {
                    EmUsers::Grouped(_) => RelevancePrior::Fitted,
                    _ => RelevancePrior::None,
                };
                let relevance = if mlp { RelevanceForm::mlp() } else { RelevanceForm::Linear };
                let mut em = RegressionEm::new().users(users).relevance(relevance).prior(prior);
                if self.counts.users.len() >= MANY_USERS {
                    em = em.tolerance(TOLERANCE_OF_MANY);
                }
                Ok(em.resamples(0).seed(seed).estimate(&self.counts, Some(train), progress)?.propensities)
            }
            Source::Swap => {
                let counts = self.intervened(|simulation| simulation.swap(INTERVENED))?;
                SwapExperiment::new().per_user(true).resamples(0).estimate(&counts)
            }
            Source::Harvesting => {
                let counts = self.shuffled()?;
                InterventionHarvesting::new().per_user(true).resamples(0).estimate(&counts)
            }
            Source::Cpbm => Cpbm::new().resamples(0).seed(seed).estimate(&self.shuffled()?, progress),
            Source::UserPbm => UserPbm::new().per_user(true).seed(seed).estimate(&self.counts, train, progress),
            Source::Dla => {
                let dla =
                    Dla::new().model(Architecture::Linear).scaling(FeatureScaling::Paper).per_user(true).seed(seed);
                Ok(dla.fit(train, &self.counts, None, progress)?.1)
            }
        }
    }

    fn em_users(&self, per_user: bool) -> EmUsers {
        match per_user {
            false => EmUsers::Together,
            true if self.counts.users.len() < MANY_USERS => EmUsers::Each,
            true => EmUsers::Grouped(UserGroups::new().clusters(ClusterCount::Given(CLUSTERS))),
        }
    }

    /// A second log of the same users in which half of the lists were shuffled.
    fn shuffled(&self) -> Result<crate::counts::Counts> {
        self.intervened(|simulation| simulation.shuffle(INTERVENED))
    }
}
