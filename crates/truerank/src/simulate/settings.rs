//! What is to be simulated, checked in one place.

use super::{ShownLists, Simulator, paper_etas};
use crate::data::Dataset;
use crate::{Error, Result};

/// The settings of a simulated log, by default the paper's.
///
/// ```no_run
/// # use truerank::{data::Dataset, simulate::{ShownLists, Simulation}};
/// # fn example(data: &Dataset, lists: &[ShownLists]) -> truerank::Result<()> {
/// let simulator = Simulation::new().sessions(1_000_000).seed(1).prepare(data, lists)?;
/// let log = simulator.log();
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Simulation {
    pub(super) sessions: u64,
    pub(super) etas: Vec<f64>,
    pub(super) cluster_ratio: f64,
    pub(super) users_per_cluster: usize,
    pub(super) user_noise: f64,
    pub(super) query_sparsity: f64,
    pub(super) personal_queries: bool,
    pub(super) zipf: f64,
    pub(super) click_noise: f64,
    pub(super) max_grade: u8,
    pub(super) swapped: f64,
    pub(super) shuffled: f64,
    pub(crate) seed: u64,
    pub(super) world_seed: Option<u64>,
}

impl Default for Simulation {
    fn default() -> Self {
        Self::new()
    }
}

impl Simulation {
    /// The paper's protocol with 1,000,000 sessions of 10 clusters.
    pub fn new() -> Self {
        Simulation {
            sessions: 1_000_000,
            etas: paper_etas(10).expect("the paper has 10 clusters"),
            cluster_ratio: 1.25,
            users_per_cluster: 1,
            user_noise: 0.0,
            query_sparsity: 0.5,
            personal_queries: true,
            zipf: 0.0,
            click_noise: 0.1,
            max_grade: 4,
            swapped: 0.0,
            shuffled: 0.0,
            seed: 1,
            world_seed: None,
        }
    }

    /// How many sessions. Default: 1,000,000.
    pub fn sessions(mut self, sessions: u64) -> Self {
        self.sessions = sessions;
        self
    }

    /// η of each cluster, `θ(u,k) = k^−η`, busiest cluster first. Default: the paper's ten.
    pub fn etas(mut self, etas: Vec<f64>) -> Self {
        self.etas = etas;
        self
    }

    /// How many times more sessions each cluster has than the next. Default: 1.25.
    pub fn cluster_ratio(mut self, ratio: f64) -> Self {
        self.cluster_ratio = ratio;
        self
    }

    /// Users in each cluster, each with the cluster's queries. Default: 1.
    pub fn users_per_cluster(mut self, users: usize) -> Self {
        self.users_per_cluster = users;
        self
    }

    /// The standard deviation of normal noise that each user's η has around the cluster's; none falls below 0. Default: 0.
    pub fn user_noise(mut self, noise: f64) -> Self {
        self.user_noise = noise;
        self
    }

    /// The share of queries that a cluster never issues. Default: 0.5.
    pub fn query_sparsity(mut self, share: f64) -> Self {
        self.query_sparsity = share;
        self
    }

    /// Whether clusters differ in their queries. Without it there is no personalized bias. Default: true.
    pub fn personal_queries(mut self, personal: bool) -> Self {
        self.personal_queries = personal;
        self
    }

    /// Exponent of Zipf's law for how popular queries are, on top of each cluster's own taste. Default: 0, all alike.
    pub fn zipf(mut self, exponent: f64) -> Self {
        self.zipf = exponent;
        self
    }

    /// ε: the probability that a document of grade 0 is found relevant. Default: 0.1.
    pub fn click_noise(mut self, epsilon: f64) -> Self {
        self.click_noise = epsilon;
        self
    }

    /// The largest grade, which is certainly found relevant. Default: 4.
    pub fn max_grade(mut self, grade: u8) -> Self {
        self.max_grade = grade;
        self
    }

    /// The share of sessions in which rank 1 changes places with a random other rank. Default: 0.
    pub fn swapped(mut self, share: f64) -> Self {
        self.swapped = share;
        self
    }

    /// The share of sessions in which the whole list is shuffled. Default: 0.
    pub fn shuffled(mut self, share: f64) -> Self {
        self.shuffled = share;
        self
    }

    /// The seed. The same seed gives the same log on any number of threads. Default: 1.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// A seed of their own for users and their queries, so that several logs can be drawn of one world.
    /// Default: the seed.
    pub fn world_seed(mut self, seed: u64) -> Self {
        self.world_seed = Some(seed);
        self
    }

    /// How many sessions there will be.
    pub fn session_count(&self) -> u64 {
        self.sessions
    }

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
    pub fn prepare<'a>(self, data: &'a Dataset, lists: &'a [ShownLists]) -> Result<Simulator<'a>> {
        self.check()?;
        Simulator::new(self, data, lists)
    }

    fn check(&self) -> Result<()> {
        let share = |name: &str, value: f64| match (0.0..=1.0).contains(&value) {
            true => Ok(()),
            false => Err(Error::parameter(format!("{name} should be between 0 and 1, but is {value}"))),
        };
        let at_least = |name: &str, value: f64, least: f64| match value >= least && value.is_finite() {
            true => Ok(()),
            false => Err(Error::parameter(format!("{name} should be finite and at least {least}, but is {value}"))),
        };
        at_least("sessions", self.sessions as f64, 1.0)?;
        at_least("number of clusters", self.etas.len() as f64, 1.0)?;
        self.etas.iter().try_for_each(|&eta| at_least("eta", eta, 0.0))?;
        at_least("cluster ratio", self.cluster_ratio, f64::MIN_POSITIVE)?;
        at_least("users per cluster", self.users_per_cluster as f64, 1.0)?;
        at_least("user noise", self.user_noise, 0.0)?;
        at_least("zipf exponent", self.zipf, 0.0)?;
        share("query sparsity", self.query_sparsity)?;
        share("click noise", self.click_noise)?;
        share("share of swapped sessions", self.swapped)?;
        share("share of shuffled sessions", self.shuffled)?;
        share("share of swapped and shuffled sessions together", self.swapped + self.shuffled)
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
