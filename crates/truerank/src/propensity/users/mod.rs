//! Sparse users: θ(u,k) drawn toward what users of the same kind do, and how many kinds there are.
//!
//! What enters is what each user clicked of what they were shown, weighed by its relevance; what leaves is θ(u,k) with
//! its deviation, and kinds sorted by mean examined position.

mod agreement;
mod choice;
mod k_means;
mod kinds;
#[cfg(test)]
mod tests;

pub use agreement::adjusted_rand_index;
pub use choice::HeldOut;
pub(super) use choice::{candidates, choose, gained_nothing};
pub(super) use k_means::Rows;
pub(super) use kinds::{ExpectedUsers, KindSums, Kinds, Table, UserClicks};

use std::fmt;
use std::str::FromStr;

use super::{UserClusters, mean_examined_position};
use crate::named::find_named;
use crate::options::option_value;
use crate::{Error, Result};

/// How many clusters of users there are to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClusterCount {
    /// So many.
    Given(usize),
    /// As few as predict held-out clicks as well as any other number up to `most`, to within one standard error or
    /// 1 % of what there is to gain over one θ for all. It may be that one.
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

impl fmt::Display for ClusterCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClusterCount::Given(count) => write!(f, "{count}"),
            ClusterCount::Chosen { .. } => f.pad("auto"),
        }
    }
}

impl FromStr for ClusterCount {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.parse() {
            _ if text == "auto" => Ok(ClusterCount::auto()),
            Ok(count) if count > 0 => Ok(ClusterCount::Given(count)),
            _ => Err(Error::parameter(format!("should be auto or a whole number from 1, but is '{text}'"))),
        }
    }
}

/// How users are put into clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Grouping {
    /// `mixture`: the best of several starts by how likely they make the clicks.
    #[default]
    Mixture,
    /// `k-means` on the rows θ(u,·), drawn toward the population first, is the one start.
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

option_value!(ClusterCount: Kind::TextOrNumber, Grouping: Kind::Choice(Grouping::NAMES.to_vec()));

/// Puts users who click alike into kinds, and draws each user's θ toward that of the kind.
#[derive(Debug, Clone, PartialEq)]
pub struct UserGroups {
    clusters: ClusterCount,
    method: Grouping,
}

impl Default for UserGroups {
    fn default() -> Self {
        Self::new()
    }
}

impl UserGroups {
    /// Ten clusters, as in the paper, by mixture.
    pub fn new() -> Self {
        UserGroups { clusters: ClusterCount::Given(10), method: Grouping::Mixture }
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

    /// How many clusters are asked for.
    pub(super) fn count(&self) -> ClusterCount {
        self.clusters
    }

    /// How users are grouped.
    pub(super) fn grouping(&self) -> Grouping {
        self.method
    }

    /// Refuses numbers of clusters that so many users cannot have.
    pub(super) fn check(&self, users: usize) -> Result<()> {
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
}

/// Numbers clusters by mean examined position and leaves out those without users.
pub(super) fn sorted_clusters(of_user: &[u32], examination: &[f64], positions: usize) -> UserClusters {
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
