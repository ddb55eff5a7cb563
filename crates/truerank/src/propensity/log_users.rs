//! The users of a log and what they saw, wherever their cells are: in counts here, or where they can only be summed.

use super::identifiability::Identifiability;
use super::observations::{Observations, Observed, observe};
use super::sampled::{Sampled, Share};
use super::{Evidence, Joined};
use crate::Result;
use crate::counts::{Cell, CountsView};
use crate::ids::Ids;

/// Cells that are not here but can be summed, such as those on a cluster.
///
/// Documents are numbered as all shown documents are in the order of (query, document), users in that of their ids, and slots
/// are `user · positions + position − 1`.
pub(crate) trait CellsElsewhere {
    /// All users, sorted.
    fn users(&self) -> &Ids;

    /// n(u) of each.
    fn sessions(&self) -> &[u64];

    /// The largest position.
    fn positions(&self) -> usize;

    /// How many cells there are.
    fn count(&self) -> u64;

    /// The cells of these documents, users of a group taken together: sorted, the number of the group in place of the user's.
    /// Who has no group is left out. As many as fit into memory.
    fn grouped(&self, group_of_user: &[Option<u32>], docs: Option<&[bool]>) -> Result<Vec<Cell>>;

    /// Impressions and clicks of each slot, on these documents.
    fn slots(&self, docs: Option<&[bool]>) -> Result<Evidence>;

    /// Impressions of each slot by the relevance of what was shown; one number for each document.
    fn exposed(&self, relevance: &[f64]) -> Result<Vec<f64>>;

    /// Impressions of each document by the θ of who saw it where; one number for each slot.
    fn exposure(&self, theta: &[f64]) -> Result<Vec<f64>>;

    /// Hands document and slot of each cell that was shown to `take`, in any order.
    fn for_each_shown(&self, take: &mut dyn FnMut(u32, u32)) -> Result<()>;
}

/// Whose clicks an estimation reads, beside the documents that all of them saw together.
#[derive(Clone, Copy)]
pub(super) enum LogUsers<'a> {
    /// Those of counts.
    Here(&'a dyn CountsView),
    /// Those whose cells are elsewhere.
    Elsewhere(&'a dyn CellsElsewhere),
}

impl<'a> LogUsers<'a> {
    /// Their ids, sorted.
    pub fn ids(&self) -> &'a Ids {
        match *self {
            LogUsers::Here(counts) => counts.users(),
            LogUsers::Elsewhere(cells) => cells.users(),
        }
    }

    /// n(u) of each.
    pub fn sessions(&self) -> Vec<f64> {
        let float = |sessions: &u64| *sessions as f64;
        match self {
            LogUsers::Here(counts) => counts.sessions_per_user().iter().map(float).collect(),
            LogUsers::Elsewhere(cells) => cells.sessions().iter().map(float).collect(),
        }
    }

    /// How many cells they have.
    pub fn cells(&self) -> u64 {
        match self {
            LogUsers::Here(counts) => counts.totals().cells,
            LogUsers::Elsewhere(cells) => cells.count(),
        }
    }

    /// What groups of users saw of the documents that are kept.
    pub fn observe(&self, group_of_user: &[u32], keep: Option<&[bool]>) -> Result<Box<dyn Observed>> {
        match self {
            LogUsers::Here(counts) => observe(*counts, group_of_user, keep),
            LogUsers::Elsewhere(cells) => {
                let groups = group_of_user.iter().max().map_or(1, |&most| most as usize + 1);
                let group_of_user: Vec<Option<u32>> = group_of_user.iter().copied().map(Some).collect();
                let found = cells.grouped(&group_of_user, keep)?;
                Ok(Box::new(Observations::of_groups(&found, cells.positions(), groups)))
            }
        }
    }

    /// What users saw, every user a group, in two parts with the same documents: about four fifths to fit and one to predict. What
    /// a user saw for a query is in one part. Of logs with more than `most` cells, those of a random share of the users or, where
    /// users are few, of the queries are taken. `docs` are the documents that are kept.
    pub fn halves(&self, docs: &[(u32, u32)], keep: Option<&[bool]>, seed: u64, most: usize) -> Result<Sampled<2>> {
        let share = self.share(most, seed);
        self.sampled(docs, keep, &share, |user, query| share.half(user, query))
    }

    /// The same share in one part.
    pub fn sample(&self, docs: &[(u32, u32)], keep: Option<&[bool]>, seed: u64, most: usize) -> Result<Sampled<1>> {
        self.sampled(docs, keep, &self.share(most, seed), |_, _| 0)
    }

    fn share(&self, most: usize, seed: u64) -> Share {
        Share::of(self.cells(), self.ids().len(), most, seed)
    }

    fn sampled<const PARTS: usize>(
        &self,
        docs: &[(u32, u32)],
        keep: Option<&[bool]>,
        share: &Share,
        part_of: impl Fn(u32, u32) -> usize,
    ) -> Result<Sampled<PARTS>> {
        match self {
            LogUsers::Here(counts) => Sampled::here(*counts, keep, share, part_of),
            LogUsers::Elsewhere(cells) => Sampled::elsewhere(*cells, docs, keep, share, part_of),
        }
    }

    /// What can be compared of users at positions. `log` is all users together where their cells are elsewhere.
    pub fn comparable(&self, log: &Joined<'_>, by_features: bool) -> Result<Identifiability> {
        match self {
            LogUsers::Here(_) => log.comparable_users(by_features).cloned(),
            LogUsers::Elsewhere(cells) => Identifiability::elsewhere(log, *cells, by_features),
        }
    }

    /// Impressions and clicks of each user and position.
    pub fn evidence(&self) -> Result<Evidence> {
        match self {
            LogUsers::Here(counts) => Evidence::of_users(*counts),
            LogUsers::Elsewhere(cells) => cells.slots(None),
        }
    }
}
