//! Cells that are summed elsewhere: sums over the cells of each document enter, [`Exposures`](super::Exposures) leave.

use super::exposures::PairSums;
use super::moments::RelevanceMoments;
use crate::ids::Ids;

/// What weights need of a document's cells beside [`PairSums`], with p = min(θγ, 1) the probability of a click.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct CellSums {
    /// Σ c/θ, over cells that are examined.
    pub relative_clicks: f64,
    /// Whether there are clicks where θ is 0.
    pub has_unexamined_clicks: bool,
    /// Σ n·p(1−p).
    pub spread: f64,
    /// Σ n·p(1−p)/θ², over cells that are examined.
    pub relative_spread: f64,
}

/// The sums that all estimators share: these say what the mean relevance is, on which [`CellSums`] depend.
pub(crate) struct SummedExposures {
    pub(super) queries: Ids,
    pub(super) docs: Ids,
    pub(super) pairs: Vec<PairSums>,
    pub(super) moments: RelevanceMoments,
}

impl SummedExposures {
    /// Queries and documents in their order; pairs sorted by their numbers.
    pub fn new(queries: Ids, docs: Ids, pairs: Vec<PairSums>) -> Self {
        let moments = RelevanceMoments::of(&pairs);
        SummedExposures { queries, docs, pairs, moments }
    }

    /// γ̄, the mean relevance of the log.
    pub fn mean_relevance(&self) -> f64 {
        self.moments.mean
    }
}
