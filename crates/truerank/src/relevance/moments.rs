//! What each shown document's cells sum to, and what relevance looks like on the whole.

use std::ops::Range;

use rayon::prelude::*;

use crate::counts::{Cell, Counts};
use crate::propensity::Examination;

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

/// The cells of each (query, document) in turn.
pub(super) fn pair_ranges(cells: &[Cell]) -> Vec<Range<usize>> {
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
pub(super) fn pair_sums(cells: &[Cell], examination: &Examination<'_>) -> PairSums {
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

/// All pairs' sums, sorted by query, document.
pub(super) fn all_sums(counts: &Counts, examination: &Examination<'_>) -> Vec<PairSums> {
    pair_ranges(&counts.cells).into_par_iter().map(|range| pair_sums(&counts.cells[range], examination)).collect()
}

/// Mean and mean square of the relevance γ over pairs, each pair counting by how much is known of it.
///
/// For given sessions `E[c] = γE` and `E[c(c−1)] = γ²(E² − Σ nθ²)`, so both are ratios of sums.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RelevanceMoments {
    pub mean: f64,
    pub mean_square: f64,
}

impl RelevanceMoments {
    pub fn of(pairs: &[PairSums]) -> Self {
        let sum = |f: fn(&PairSums) -> f64| pairs.iter().map(f).sum::<f64>();
        let clicks = sum(|p| p.clicks as f64);
        let exposure = sum(|p| p.exposure);
        let double_clicks = sum(|p| p.clicks as f64 * (p.clicks as f64 - 1.0));
        let double_exposure = sum(|p| p.exposure * p.exposure - p.squared_exposure);
        let mean = ratio(clicks, exposure).min(1.0);
        // A square is at least the squared mean and, as γ ≤ 1, at most the mean.
        let mean_square = ratio(double_clicks, double_exposure).clamp(mean * mean, mean);
        RelevanceMoments { mean, mean_square }
    }
}

fn ratio(numerator: f64, denominator: f64) -> f64 {
    if denominator > 0.0 { numerator / denominator } else { 0.0 }
}
