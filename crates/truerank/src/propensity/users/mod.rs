//! Sparse users: pulls θ(u,k) toward what others do, and finds groups of users who look alike.
//!
//! What enters is the log per user and the relevance of its documents, as estimated; what leaves is θ(u,k) with
//! standard errors, and clusters sorted by mean examined position.

mod agreement;
mod choice;
mod evidence;
mod grid;
mod k_means;
mod misses;
mod mixture;
mod shrinkage;
#[cfg(test)]
mod tests;

pub use agreement::adjusted_rand_index;
pub use choice::HeldOut;
pub use shrinkage::{Prior, Shrunk};

use std::fmt;
use std::str::FromStr;

use super::observations::Observed;
use super::{UserClusters, mean_examined_position};
use crate::named::find_named;
use crate::progress::Progress;
use crate::{Error, Result};
use evidence::UserEvidence;
use grid::LikelihoodGrid;
use k_means::Rows;
use mixture::MixtureFit;
use shrinkage::shrink;

/// Starts of k-means, the best of which is kept.
const RESTARTS: usize = 10;

/// How many clusters of users there are to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClusterCount {
    /// So many.
    Given(usize),
    /// As many as predict held-out clicks as well as any other number, to within one standard error: the smallest
    /// such number, up to `most`.
    Chosen {
        /// The largest number tried.
        most: usize,
    },
}

impl ClusterCount {
    /// Chosen among up to 20.
    pub const fn auto() -> Self {
        ClusterCount::Chosen { most: 20 }
    }
}

impl FromStr for ClusterCount {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.parse() {
            _ if text == "auto" => Ok(ClusterCount::auto()),
            Ok(count) if count > 0 => Ok(ClusterCount::Given(count)),
            _ => Err(Error::parameter("should be auto or a whole number from 1")),
        }
    }
}

/// How users are put into clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grouping {
    /// `mixture` of position-based models: each user goes where the clicks are likeliest, and positions count as
    /// much as they say.
    Mixture,
    /// `k-means` on the rows θ(u,·), shrunk toward the population first. Positions count as their θ vary, sure or not.
    KMeans,
}

impl Grouping {
    /// The names, in the order of the values.
    pub const NAMES: [&str; 2] = ["mixture", "k-means"];
}

impl fmt::Display for Grouping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(Grouping::NAMES[*self as usize])
    }
}

impl FromStr for Grouping {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        find_named(&[Grouping::Mixture, Grouping::KMeans], text, "a way to group users")
    }
}

/// Groups users by where they look, and shrinks each user's θ toward the group's.
#[derive(Debug, Clone, PartialEq)]
pub struct UserGroups {
    clusters: ClusterCount,
    method: Grouping,
    seed: u64,
}

/// Users in groups.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupedUsers {
    /// The clusters, sorted by mean examined position; those that no user belongs to are left out.
    pub clusters: UserClusters,
    /// θ(u,k) shrunk toward the user's cluster; priors are in the order of the clusters.
    pub shrunk: Shrunk,
    /// The log-likelihood of the mixture after each iteration, up to a constant; empty for k-means.
    pub log_likelihood: Vec<f64>,
    /// How well each number of clusters predicted, where the number was chosen.
    pub held_out: Vec<HeldOut>,
}

impl Default for UserGroups {
    fn default() -> Self {
        Self::new()
    }
}

impl UserGroups {
    /// Ten clusters, as in the paper, by mixture.
    pub fn new() -> Self {
        UserGroups { clusters: ClusterCount::Given(10), method: Grouping::Mixture, seed: 1 }
    }

    /// How many clusters. Default: 10.
    pub fn clusters(mut self, clusters: ClusterCount) -> Self {
        self.clusters = clusters;
        self
    }

    /// How users are grouped. Default: by mixture.
    pub fn method(mut self, method: Grouping) -> Self {
        self.method = method;
        self
    }

    /// The seed of starts and of what is held out. Default: 1.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Groups the users of `observations`, in which every user is a group, for documents of the given `relevance`.
    pub(in crate::propensity) fn fit(
        &self,
        observations: &dyn Observed,
        relevance: &[f64],
        progress: &dyn Progress,
    ) -> Result<GroupedUsers> {
        self.check(observations.groups())?;
        let evidence = UserEvidence::new(observations, relevance)?;
        let grid = LikelihoodGrid::new(&evidence)?;
        let start = shrink(&grid, None).examination;
        let (count, held_out) = self.count(&evidence, progress)?;
        let (of_user, examination, log_likelihood) = match self.method {
            Grouping::KMeans => {
                let fit = Rows::new(&start, evidence.positions, None).k_means(count, RESTARTS, self.seed);
                (fit.of_row, fit.centres, Vec::new())
            }
            Grouping::Mixture => {
                let fit = MixtureFit::new(&evidence, count, &start, self.seed, progress)?;
                (fit.of_user(), fit.mixture.examination(), fit.log_likelihood)
            }
        };
        let clusters = sorted_clusters(&of_user, &examination, evidence.positions);
        let shrunk = shrink(&grid, Some(&clusters.of_user));
        Ok(GroupedUsers { clusters, shrunk, log_likelihood, held_out })
    }

    fn check(&self, users: usize) -> Result<()> {
        let (name, count) = match self.clusters {
            ClusterCount::Given(count) => ("number of clusters", count),
            ClusterCount::Chosen { most } => ("largest number of clusters", most),
        };
        if count == 0 {
            return Err(Error::parameter(format!("{name} should be at least 1, but is 0")));
        }
        match self.clusters {
            ClusterCount::Given(count) if count > users => {
                let rule = format!("should be at most the number of users, {users}, but is {count}");
                Err(Error::parameter(format!("number of clusters {rule}")))
            }
            _ => Ok(()),
        }
    }

    /// The number of clusters, and what it was chosen by. A mixture predicts for either method.
    fn count(&self, evidence: &UserEvidence, progress: &dyn Progress) -> Result<(usize, Vec<HeldOut>)> {
        Ok(match self.clusters {
            ClusterCount::Given(count) => (count, Vec::new()),
            ClusterCount::Chosen { most } => {
                let numbers = choice::candidates(most.min(evidence.users));
                let scores = choice::held_out_scores(evidence, &numbers, self.seed, progress)?;
                (choice::choose(&scores), scores)
            }
        })
    }
}

/// θ(u,k) of every user of `observations`, in which every user is a group, shrunk toward the user's cluster or, without
/// clusters, toward the population.
pub(super) fn shrink_users(
    observations: &dyn Observed,
    relevance: &[f64],
    cluster_of_user: Option<&[u32]>,
) -> Result<Shrunk> {
    let evidence = UserEvidence::new(observations, relevance)?;
    Ok(shrink(&LikelihoodGrid::new(&evidence)?, cluster_of_user))
}

/// Numbers clusters by mean examined position and leaves out those without users.
fn sorted_clusters(of_user: &[u32], examination: &[f64], positions: usize) -> UserClusters {
    let row = |cluster: usize| &examination[cluster * positions..][..positions];
    let mut used = vec![false; examination.len() / positions];
    of_user.iter().for_each(|&cluster| used[cluster as usize] = true);
    let mut order: Vec<usize> = (0..used.len()).filter(|&cluster| used[cluster]).collect();
    order.sort_by(|&a, &b| mean_examined_position(row(a)).total_cmp(&mean_examined_position(row(b))));
    let mut number = vec![u32::MAX; used.len()];
    order.iter().enumerate().for_each(|(new, &old)| number[old] = new as u32);
    UserClusters {
        of_user: of_user.iter().map(|&cluster| number[cluster as usize]).collect(),
        examination: order.iter().flat_map(|&cluster| row(cluster)).copied().collect(),
    }
}
