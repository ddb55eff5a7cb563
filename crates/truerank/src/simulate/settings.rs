//! What is to be simulated, checked in one place.

use super::{ShownLists, Simulator, paper_etas};
use crate::click_model::ClickModelKind;
use crate::data::Dataset;
use crate::options::{Options, options};
use crate::{Error, Result};

options! {
    /// The settings of a simulated log, by default the paper's.
    ///
    /// ```no_run
    /// # use truerank::{data::Dataset, simulate::{ShownLists, Simulation}};
    /// # fn example(data: &Dataset, lists: &[ShownLists]) -> truerank::Result<()> {
    /// let simulator = Simulation::new().sessions(1_000_000).seed(1).prepare(data, lists)?;
    /// let log = simulator.log();
    /// # Ok(()) }
    /// ```
    pub struct Simulation {
        /// How many sessions.
        sessions: u64 = 1_000_000, at_least(1.0);
        /// Clusters of users, with the paper's depths: 5, 10 or 20.
        users: Option<usize> = None, usual("10");
        /// Depth of each cluster instead, busiest first: θ(k) = k^-η.
        etas: Vec<f64> = Vec::new(), at_least(0.0), value("η,η,…");
        /// The click model that clusters follow; several, separated by commas, in turn.
        ///
        /// Its parameters follow from the cluster's η; `pbm` is the paper's.
        click_model: Vec<ClickModelKind> = vec![ClickModelKind::Pbm], value("MODEL");
        /// Users in each cluster, each with its own depth.
        ///
        /// All of them have the cluster's queries.
        users_per_cluster: usize = 1, at_least(1.0), value("N");
        /// Standard deviation of η among the users of a cluster.
        ///
        /// The noise is normal; no η falls below 0.
        user_noise: f64 = 0.0, at_least(0.0), value("SD");
        /// Exponent of Zipf's law for how popular queries are.
        ///
        /// Each cluster's own taste comes on top.
        zipf: f64 = 0.0, at_least(0.0), value("S");
        /// All clusters issue the same queries: no personalized bias.
        shared_queries: bool = false;
        /// Probability that a document of grade 0 is found relevant.
        click_noise: f64 = 0.1, within(0.0, 1.0), value("ε");
        /// Share of sessions in which rank 1 changes places with a random other.
        swap: f64 = 0.0, within(0.0, 1.0), value("SHARE");
        /// Share of sessions in which the whole list is shuffled.
        shuffle: f64 = 0.0, within(0.0, 1.0), value("SHARE");
        /// The same seed gives the same log.
        ///
        /// It does so on any number of threads.
        seed: u64 = 1;
    }
    beside {
        /// How many times more sessions each cluster has than the next.
        cluster_ratio: f64 = 1.25,
        /// The share of queries that a cluster never issues.
        query_sparsity: f64 = 0.5,
        /// The largest grade, which is certainly found relevant.
        max_grade: u8 = 4,
        /// A seed of their own for users and their queries, so that several logs can be drawn of one world; else the seed.
        world_seed: Option<u64> = None,
    }
}

/// The paper's number of clusters.
const CLUSTERS: usize = 10;

impl Simulation {
    /// The seed that users and traffic are drawn with.
    pub(super) fn world(&self) -> u64 {
        self.world_seed.unwrap_or(self.seed)
    }

    /// The grade whose relevance, `P(r=1) = ε + (1−ε)·y/y_max`, is nearest to an estimate of it.
    pub fn nearest_grade(&self, relevance: f64) -> u8 {
        let most = f64::from(self.max_grade);
        (most * (relevance - self.click_noise) / (1.0 - self.click_noise)).round().clamp(0.0, most) as u8
    }

    /// Checks the settings and draws users and traffic; each of `lists` is one logger, chosen by chance per session.
    pub fn prepare<'a>(mut self, data: &'a Dataset, lists: &'a [ShownLists]) -> Result<Simulator<'a>> {
        self.check()?;
        self.etas = self.depths()?;
        Simulator::new(self, data, lists)
    }

    /// η of each cluster: those that were given, or the paper's.
    pub(super) fn depths(&self) -> Result<Vec<f64>> {
        let clusters = self.users.unwrap_or(CLUSTERS);
        match paper_etas(clusters) {
            _ if !self.etas.is_empty() => Ok(self.etas.clone()),
            Some(etas) => Ok(etas),
            None => Err(Error::option(
                "users",
                format!("is {clusters}, but the paper has 5, 10 or 20; give `etas` instead"),
            )),
        }
    }

    /// Whether all clusters follow the position-based model, in which examination depends on the position alone.
    pub fn is_position_based(&self) -> bool {
        self.click_model.iter().all(|kind| *kind == ClickModelKind::Pbm)
    }

    fn check_models(&self, clusters: usize) -> Result<()> {
        let models = self.click_model.len();
        match models {
            0 => Err(Error::option("click_model", "is empty, but should name a click model")),
            _ if models > clusters => Err(Error::option(
                "click_model",
                format!("names {models} models, but there are {clusters} clusters of users, so some would have none"),
            )),
            _ => Ok(()),
        }
    }

    /// Refuses what cannot be simulated, whatever the data.
    pub fn check(&self) -> Result<()> {
        self.check_ranges()?;
        self.check_models(self.depths()?.len())?;
        let moved = self.swap + self.shuffle;
        match () {
            () if self.users.is_some() && !self.etas.is_empty() => {
                Err(Error::option("users", "and `etas` both say how many clusters there are; give one of them"))
            }
            () if moved > 1.0 => {
                Err(Error::option("swap", format!("and `shuffle` together are {moved}, but should be at most 1")))
            }
            () if !(self.cluster_ratio > 0.0 && self.cluster_ratio.is_finite()) => {
                let found = self.cluster_ratio;
                Err(Error::parameter(format!("cluster ratio should be finite and above 0, but is {found}")))
            }
            () if !(0.0..=1.0).contains(&self.query_sparsity) => {
                let found = self.query_sparsity;
                Err(Error::parameter(format!("query sparsity should be between 0 and 1, but is {found}")))
            }
            () => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relevance_becomes_the_nearest_grade() {
        let grades = [-3.0, 0.1, 0.2, 0.22, 0.325, 0.55, 0.775, 1.0, 9.0];
        assert_eq!(grades.map(|weight| Simulation::new().nearest_grade(weight)), [0, 0, 0, 1, 1, 2, 3, 4, 4]);
    }
}
