//! What relevance looks like on the whole.

use super::exposures::PairSums;

/// Mean and mean square of the relevance γ over pairs, each pair counting by how much is known of it.
///
/// For given sessions `E[c] = γE` and `E[c(c−1)] = γ²(E² − Σ nθ²)`, so both are ratios of sums.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RelevanceMoments {
    pub mean: f64,
    pub mean_square: f64,
    /// Σ (E² − Σ nθ²): what the mean square rests on. 0 where no document was shown twice.
    pub double_exposure: f64,
}

impl RelevanceMoments {
    pub fn of<'p>(pairs: impl IntoIterator<Item = &'p PairSums, IntoIter: Clone>) -> Self {
        let pairs = pairs.into_iter();
        let sum = |f: fn(&PairSums) -> f64| pairs.clone().map(f).sum::<f64>();
        let clicks = sum(PairSums::earned);
        let exposure = sum(|p| p.exposure);
        let double_clicks = sum(|p| p.earned() * (p.earned() - 1.0));
        let double_exposure = sum(double_exposure);
        let mean = ratio(clicks, exposure).clamp(0.0, 1.0);
        // A square is at least the squared mean and, as γ ≤ 1, at most the mean.
        let mean_square = ratio(double_clicks, double_exposure).clamp(mean * mean, mean);
        RelevanceMoments { mean, mean_square, double_exposure }
    }
}

/// E² − Σ nθ², which a single impression does not have, whatever rounding leaves.
fn double_exposure(pair: &PairSums) -> f64 {
    if pair.impressions < 2 { 0.0 } else { (pair.exposure * pair.exposure - pair.squared_exposure).max(0.0) }
}

fn ratio(numerator: f64, denominator: f64) -> f64 {
    if denominator > 0.0 { numerator / denominator } else { 0.0 }
}
