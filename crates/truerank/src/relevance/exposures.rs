//! What each shown document's cells sum to under given examination probabilities: what all estimators share.

use std::ops::Range;

use rayon::prelude::*;

use super::moments::RelevanceMoments;
use crate::Result;
use crate::counts::{Cell, Counts};
use crate::propensity::{Examination, Propensities};

/// Counts with their exposure: made once, and then any number of estimators can weigh them.
pub struct Exposures<'a> {
    pub(super) counts: &'a Counts,
    pub(super) examination: Examination<'a>,
    /// The cells of each pair.
    pub(super) ranges: Vec<Range<usize>>,
    /// Sorted by query, document.
    pub(super) pairs: Vec<PairSums>,
    /// n(q) of each query.
    pub(super) sessions: Vec<u64>,
    pub(super) moments: RelevanceMoments,
}

impl<'a> Exposures<'a> {
    /// Sums the cells of `counts`. A position past the last one of `propensities` is an error.
    pub fn new(counts: &'a Counts, propensities: &'a Propensities) -> Result<Self> {
        let examination = Examination::new(propensities, counts)?;
        let ranges = pair_ranges(&counts.cells);
        let pairs: Vec<PairSums> =
            ranges.par_iter().map(|range| pair_sums(&counts.cells[range.clone()], &examination)).collect();
        let moments = RelevanceMoments::of(&pairs);
        Ok(Exposures { counts, examination, ranges, pairs, sessions: counts.sessions_per_query(), moments })
    }

    /// The cells of pair number `pair`.
    pub(super) fn cells(&self, pair: usize) -> &'a [Cell] {
        &self.counts.cells[self.ranges[pair].clone()]
    }

    /// The exposure of pair number `pair` to users between those of its query and all.
    pub(super) fn smoothed(&self, pair: usize, beta: f64) -> f64 {
        let pair = &self.pairs[pair];
        pair.smoothed_exposure(self.sessions_of(pair), beta)
    }

    /// n(q) of the pair's query.
    pub(super) fn sessions_of(&self, pair: &PairSums) -> f64 {
        self.sessions[pair.query as usize] as f64
    }
}

/// Sums over the cells of one document of one query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PairSums {
    pub query: u32,
    pub doc: u32,
    pub impressions: u64,
    pub clicks: u64,
    /// E = Σ n·θ(u,k).
    pub exposure: f64,
    /// Σ n·θ(u,k)².
    pub squared_exposure: f64,
    /// Σ n·θ̄(k): the exposure if average users had looked.
    pub average_exposure: f64,
}

impl PairSums {
    /// D = (n(q)·E + β·Ē) / (n(q)+β).
    pub fn smoothed_exposure(&self, sessions: f64, beta: f64) -> f64 {
        (sessions * self.exposure + beta * self.average_exposure) / (sessions + beta)
    }
}

/// The cells of each (query, document) in turn.
fn pair_ranges(cells: &[Cell]) -> Vec<Range<usize>> {
    let mut start = 0;
    cells
        .chunk_by(|a, b| (a.query, a.doc) == (b.query, b.doc))
        .map(|pair| {
            let range = start..start + pair.len();
            start = range.end;
            range
        })
        .collect()
}

/// The sums of one pair's cells.
fn pair_sums(cells: &[Cell], examination: &Examination<'_>) -> PairSums {
    let mut sums = PairSums {
        query: cells[0].query,
        doc: cells[0].doc,
        impressions: 0,
        clicks: 0,
        exposure: 0.0,
        squared_exposure: 0.0,
        average_exposure: 0.0,
    };
    for cell in cells {
        let shown = cell.impressions as f64;
        let theta = examination.of(cell.user, cell.position);
        sums.impressions += cell.impressions;
        sums.clicks += cell.clicks;
        sums.exposure += shown * theta;
        sums.squared_exposure += shown * theta * theta;
        sums.average_exposure += shown * examination.average_at(cell.position);
    }
    sums
}
