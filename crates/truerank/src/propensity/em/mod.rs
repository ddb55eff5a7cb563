//! Regression-EM: clicks enter, θ of positions and users leaves, with γ estimated on the way.

mod choice;
mod crossfit;
mod design;
#[cfg(test)]
mod elsewhere;
mod estimate;
#[cfg(test)]
mod everywhere;
mod expectation;
mod fit;
mod hierarchy;
mod kinds;
mod learner;
mod logistic;
mod passes;
mod prior;
mod relevance;
mod second_opinion;
mod squarem;
#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

pub use choice::ShrinkUsers;
pub(crate) use crossfit::{CrossFit, PARTS, parts};
pub(crate) use design::Design;
pub use estimate::EmEstimate;
pub(super) use estimate::Matched;
pub(super) use expectation::Weighted;
pub(crate) use fit::first_guess;
pub(super) use learner::{BATCH, Learner};
pub(crate) use logistic::{Logistic, sigmoid};
pub(crate) use relevance::{MARGIN, RelevanceModel};
pub(crate) use squarem::{Iteration, jump_length, jump_of, squared_lengths};

use super::bootstrap::check_resamples;
use super::{ClusterCount, Grouping, UserGroups};
use crate::data::Dataset;
use crate::named::find_named;
use crate::network::Architecture;
use crate::options::{Options, option_value, options};
use crate::{Error, Result};
pub(crate) use squarem::Squarem;

/// What gives each document its relevance γ while θ is estimated.
///
/// Its text form is `table`, `linear`, `mlp` or `mlp:64,32` with the hidden sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RelevanceForm {
    /// Each (query, document) has its own γ. Needs documents that were seen at several positions.
    Table,
    /// A logistic function of the features.
    Linear,
    /// Networks on the features, each document scored by one that did not see its query, beside the logistic function.
    Mlp(Architecture),
}

impl RelevanceForm {
    /// Hidden layers of 64 and 32: more did not predict unseen queries better on the generated data.
    pub fn mlp() -> Self {
        RelevanceForm::Mlp(Architecture::Mlp { hidden: vec![64, 32] })
    }

    /// What suits the data there is: a logistic function of features, or a table where there are none.
    pub fn suited_to(data: Option<&Dataset>) -> Self {
        data.map_or(RelevanceForm::Table, |_| RelevanceForm::Linear)
    }
}

impl fmt::Display for RelevanceForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RelevanceForm::Table => f.pad("table"),
            RelevanceForm::Linear => f.pad("linear"),
            RelevanceForm::Mlp(architecture) => f.pad(&architecture.to_string()),
        }
    }
}

impl FromStr for RelevanceForm {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "table" => Ok(RelevanceForm::Table),
            "linear" => Ok(RelevanceForm::Linear),
            "mlp" => Ok(RelevanceForm::mlp()),
            _ if text.starts_with("mlp:") => Ok(RelevanceForm::Mlp(text.parse()?)),
            _ => Err(Error::parameter(format!("should be table, linear, mlp or like mlp:64,32, but is '{text}'"))),
        }
    }
}

/// What is believed of a document's relevance before its clicks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RelevancePrior {
    /// `fitted`: a Gamma distribution whose mean and shape make the log likeliest. The mean is a logistic function of
    /// features, or without features one for each place that documents were shown at.
    #[default]
    Fitted,
    /// `none`: nothing. γ is what the regression says, or without features of greatest likelihood: Regression-EM as
    /// published. On sparse logs without features it ends at θ = 1 or 0, whatever the truth.
    None,
}

impl RelevancePrior {
    /// The names, in the order of the values.
    pub const NAMES: [&str; 2] = ["fitted", "none"];
}

impl fmt::Display for RelevancePrior {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(RelevancePrior::NAMES[*self as usize])
    }
}

impl FromStr for RelevancePrior {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        find_named(&[RelevancePrior::Fitted, RelevancePrior::None], text, "a prior of relevance")
    }
}

option_value!(
    RelevanceForm: Kind::Text,
    RelevancePrior: Kind::Choice(RelevancePrior::NAMES.to_vec()),
    ShrinkUsers: Kind::Choice(ShrinkUsers::NAMES.to_vec()),
);

/// Whose θ is estimated.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum EmUsers {
    /// One θ(k) for all: standard Regression-EM.
    #[default]
    Together,
    /// θ(u,k) of each user alone; without a prior of relevance this is the paper's personalized Regression-EM. Noisy for
    /// users with few sessions.
    Each,
    /// θ(u,k) of each user, drawn toward the population by a Gamma prior per position whose shape the log decides.
    Shrunk,
    /// θ(u,k) of each user, drawn toward users of the same kind; kinds, users and relevance are fitted together.
    Grouped(UserGroups),
}

impl EmUsers {
    /// What suits so many users: one is no different from all; more are drawn toward kinds of users, whose number is
    /// chosen by clicks that were held out.
    pub fn suited_to(users: usize) -> Self {
        match users {
            0 | 1 => EmUsers::Together,
            _ => EmUsers::Grouped(UserGroups::new().clusters(ClusterCount::auto())),
        }
    }
}

options! {
    /// Estimates examination from clicks alone, by EM on cells.
    ///
    /// Clicks are explained by `E[c] = n·θ·γ`. By default γ has a prior that is fitted to the log and is summed over; see
    /// [`RelevancePrior`]. Without it this is Regression-EM (Wang et al. 2018): with the current θ and γ, a miss was examined
    /// with probability `θ(1−γ)/(1−θγ)` and its document relevant with `γ(1−θ)/(1−θγ)`; θ then is expected examinations over
    /// impressions, per position or per user and position, and γ a regression of expected relevance on features. Sums over
    /// cells are the sums over sessions, so the cost of an iteration does not grow with the log.
    ///
    /// Clicks show only products θγ: the scale is fixed by letting the population's largest θ̄(k) be 1. Before fitting,
    /// [`Identifiability`](super::Identifiability) says which positions and users can be compared at all; where no two
    /// positions can, there is an error and no number. Where some cannot, there is a note, or with
    /// [`strict`](RegressionEm::strict) an error.
    ///
    /// Standard errors come from resampling queries and fitting anew from where the fit ended. For users who are drawn
    /// toward others they are posterior deviations, with what resampling shows beyond the noise of clicks. With an MLP the networks are not trained anew, and their part in the uncertainty is left out.
    ///
    /// ```
    /// use truerank::data::{Generator, Preset};
    /// use truerank::progress::Silent;
    /// use truerank::propensity::{EmUsers, RegressionEm};
    /// use truerank::simulate::{ShownLists, Simulation};
    ///
    /// let data = Generator::preset(Preset::Tiny).generate()?.train;
    /// let first_feature: Vec<f32> = (0..data.len()).map(|row| data.row(row)[0]).collect();
    /// let lists = [ShownLists::top(&data, &first_feature, 10)?];
    /// let counts = Simulation::new().sessions(50_000).prepare(&data, &lists)?.counts()?;
    ///
    /// let em = RegressionEm::new().users(EmUsers::Each).resamples(0);
    /// let estimate = em.estimate(&counts, Some(&data), &Silent)?;
    /// assert_eq!(estimate.propensities.population[0], 1.0);
    /// assert!(estimate.propensities.of_user(0)[1] < estimate.propensities.of_user(9)[1]);
    /// # Ok::<(), truerank::Error>(())
    /// ```
    #[derive(PartialEq)]
    pub struct RegressionEm {
        /// Examination of each user instead of one for all.
        per_user: bool = false;
        /// What gives relevance meanwhile: linear, mlp, mlp:SIZE,… or table.
        relevance: Option<RelevanceForm> = None, usual("linear with features, else table"), value("FORM");
        /// What is believed of a document's relevance before its clicks: a Gamma distribution fitted to the log, or nothing, as
        /// Regression-EM was published.
        prior: RelevancePrior = RelevancePrior::Fitted;
        /// What users are pulled toward.
        shrink: Option<ShrinkUsers> = None, usual("clusters");
        /// Number of user clusters, or `auto` to choose it by held-out clicks.
        clusters: Option<ClusterCount> = None, usual("auto"), value("N");
        /// How users are put into clusters.
        grouping: Option<Grouping> = None, usual("mixture");
        /// Make it an error if not all users and positions can be compared.
        strict: bool = false;
        /// Iterations, epochs or steps at most.
        iterations: usize = 1000, at_least(1.0), value("N");
        /// Stop at this relative change of the log-likelihood.
        tolerance: f64 = 1e-8, between(0.0, 1.0), value("SHARE");
        /// Resamples of queries for standard errors; 0 for none.
        resamples: usize = 30, value("N");
        /// Seed of resamples, networks and clusters.
        seed: u64 = 1;
    }
    beside {
        /// Whether SQUAREM shortens the iteration; without it, plain EM.
        accelerated: bool = true,
        /// Whether impressions and clicks behind each user's values are kept beside them.
        evidence_of_users: bool = true,
    }
}

impl RegressionEm {
    pub(crate) fn squarem(&self) -> Squarem {
        Squarem { iterations: self.iterations, tolerance: self.tolerance, accelerated: self.accelerated }
    }

    /// Refuses values that it cannot have, and options that would have no effect.
    pub(crate) fn check(&self) -> Result<()> {
        self.check_ranges()?;
        self.check_users()?;
        check_resamples(self.resamples, 0)
    }

    /// What gives relevance where there are features, or none.
    fn relevance_with(&self, data: Option<&Dataset>) -> RelevanceForm {
        self.relevance.clone().unwrap_or_else(|| RelevanceForm::suited_to(data))
    }
}
