//! How strongly to pull weights toward the prior, chosen from the log.

use super::correction::{Divisor, Documents};
use super::exposures::PairSums;
use super::moments::RelevanceMoments;
use super::smoothing::{chunked_sum, lowest};

/// b where the log cannot tell it. On simulated and real logs that can, it is mostly between 2 and 8.
const UNTOLD: f64 = 4.0;

/// The b with the least estimated mean squared error of the weights, summed over shown documents.
///
/// For given sessions `ŷ = r̂ + (c − r̂X)/D` has the bias `γ·(E/D − 1) + r̂·(1 − X/D)` and the variance
/// `(γE − γ²Σnθ²)/D²`. Where γ stands alone, `c/E` takes its place, which is unbiased; γ² is replaced by its mean over
/// documents of about the same exposure (by powers of 2), which `c(c−1)` gives without bias. A clip at `clip` holds.
/// A log in which no document was shown twice cannot tell how relevance varies; then b is 4.
pub(super) fn least_error_shrink(documents: &Documents<'_>, clip: f64) -> f64 {
    let pairs = &documents.exposures.pairs;
    if RelevanceMoments::of(pairs).double_exposure == 0.0 {
        return UNTOLD;
    }
    let moments = moments_by_exposure(pairs);
    let numbers: Vec<usize> = (0..pairs.len()).filter(|&pair| pairs[pair].exposure > 0.0).collect();
    lowest(|shrink| {
        let divisor = Divisor { clip, shrink };
        let mean = documents.mean(divisor);
        chunked_sum(&numbers, |&pair| error(documents, pair, divisor, mean, moments[pair]))
    })
}

/// The estimated squared error of one weight, less the mean of γ².
fn error(documents: &Documents<'_>, pair: usize, divisor: Divisor, mean: Option<f64>, alike: RelevanceMoments) -> f64 {
    let sums = &documents.exposures.pairs[pair];
    let (clicks, divisor) = (sums.earned(), documents.divisor(pair, divisor));
    let (prior, gamma, gamma_square) = (documents.prior(pair, mean), clicks / sums.exposure, alike.mean_square);
    // The bias is γ(e − 1) + r̂(1 − x). Its square is (r̂ − γ)² and what follows, without large terms that cancel.
    let (e, x) = (sums.exposure / divisor, documents.bases[pair] / divisor);
    let squared_bias =
        gamma_square * e * (e - 2.0) + 2.0 * gamma * prior * (e + x - e * x) + prior * prior * x * (x - 2.0);
    // Of (r̂ − γ)² only this varies, where r̂ is the mean; c/E would be noise here.
    let of_prior = prior * prior - 2.0 * alike.mean * prior;
    squared_bias + of_prior + (clicks - gamma_square * sums.squared_exposure) / (divisor * divisor)
}

/// For each document, the moments of relevance over documents of about the same exposure.
fn moments_by_exposure(pairs: &[PairSums]) -> Vec<RelevanceMoments> {
    let stratum = |pair: &PairSums| pair.exposure.max(f64::MIN_POSITIVE).log2().floor() as i32;
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    order.sort_by_key(|&pair| stratum(&pairs[pair]));
    let overall = RelevanceMoments::of(pairs);
    let mut all = vec![overall; pairs.len()];
    for alike in order.chunk_by(|&a, &b| stratum(&pairs[a]) == stratum(&pairs[b])) {
        let moments = RelevanceMoments::of(alike.iter().map(|&pair| &pairs[pair]));
        if moments.double_exposure > 0.0 {
            alike.iter().for_each(|&pair| all[pair] = moments);
        }
    }
    all
}
