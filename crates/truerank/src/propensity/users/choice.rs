//! How many clusters of users a log speaks for.

use serde::Serialize;

use super::evidence::{ChunkEvidence, UserEvidence};
use super::grid::LikelihoodGrid;
use super::mixture::{Mixture, MixtureFit, log_sum_exp};
use super::shrinkage::shrink;
use crate::Result;
use crate::progress::Progress;

/// The share of impressions that is held out.
const HELD_OUT: f64 = 0.2;

/// How well clicks that were held out are predicted with a number of clusters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct HeldOut {
    /// The number of clusters.
    pub clusters: usize,
    /// Mean over users of the log-likelihood of their held-out clicks, up to a constant shared by all numbers.
    pub log_likelihood: f64,
    /// How far that is below the best number's.
    pub below_best: f64,
    /// The standard error of `below_best`, over users.
    pub standard_error: f64,
}

/// The numbers of clusters that are tried: 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, … up to `most`.
pub(super) fn candidates(most: usize) -> Vec<usize> {
    let mut numbers: Vec<usize> = (1..=6).chain([8, 10]).collect();
    let mut size = 12;
    while size <= most {
        numbers.extend([size, size / 3 * 4, size / 3 * 5]);
        size *= 2;
    }
    numbers.retain(|&number| number <= most);
    numbers
}

/// Scores each number of clusters: fits the mixture to 80 % of each user's impressions, and predicts the clicks of
/// the others with the responsibilities found, `log Σ_m r(u,m) Π_k L_uk(θ_m(k))`.
pub(super) fn held_out_scores(
    evidence: &UserEvidence,
    numbers: &[usize],
    seed: u64,
    progress: &dyn Progress,
) -> Result<Vec<HeldOut>> {
    let (kept, held) = evidence.thin(HELD_OUT, seed)?;
    let start = shrink(&LikelihoodGrid::new(&kept)?, None).examination;
    let by_number: Vec<Vec<f64>> = numbers
        .iter()
        .map(|&clusters| predict(&MixtureFit::new(&kept, clusters, &start, seed, progress)?, &held))
        .collect::<Result<_>>()?;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let best = by_number.iter().max_by(|a, b| mean(a).total_cmp(&mean(b))).expect("at least one number");
    let score = |(&clusters, values): (&usize, &Vec<f64>)| {
        let below: Vec<f64> = best.iter().zip(values).map(|(best, value)| best - value).collect();
        let (log_likelihood, below_best) = (mean(values), mean(&below));
        let squares: f64 = below.iter().map(|value| (value - below_best).powi(2)).sum();
        let users = below.len() as f64;
        let standard_error = (squares / (users - 1.0).max(1.0) / users).sqrt();
        HeldOut { clusters, log_likelihood, below_best, standard_error }
    };
    Ok(numbers.iter().zip(&by_number).map(score).collect())
}

/// The log-likelihood of each user's held-out clicks.
fn predict(fit: &MixtureFit, held: &UserEvidence) -> Result<Vec<f64>> {
    let mixture: &Mixture = &fit.mixture;
    let clusters = mixture.clusters();
    let of_user = |chunk: &ChunkEvidence<'_>, user: usize, room: &mut Vec<f64>| {
        let mut logs: Vec<f64> =
            fit.responsibilities[user * clusters..][..clusters].iter().map(|share| share.ln()).collect();
        mixture.add_log_likelihoods(chunk, user, &mut logs, room);
        log_sum_exp(&logs)
    };
    let of_chunks = held.by_chunks(|chunk| {
        let mut room = Vec::new();
        chunk.users.clone().map(|user| of_user(chunk, user, &mut room)).collect::<Vec<_>>()
    })?;
    Ok(of_chunks.concat())
}

/// The smallest number of clusters within one standard error of the best, the error being that of the difference over
/// users (Breiman et al. 1984).
///
/// Over 30 simulated logs (1, 3, 5 and 10 true clusters; 60 or 100 users in each; 100 to 1,000 sessions per user; all
/// true numbers among the candidates) the best number was the true one 27 times and this one 29 times; both were
/// otherwise too large by one step.
pub(super) fn choose(scores: &[HeldOut]) -> usize {
    scores.iter().find(|score| score.below_best <= score.standard_error).map_or(1, |score| score.clusters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_grow_by_steps_that_grow() {
        assert_eq!(candidates(20), [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20]);
        assert_eq!(candidates(3), [1, 2, 3]);
        assert_eq!(candidates(50)[10..], [20, 24, 32, 40, 48]);
    }

    #[test]
    fn the_smallest_that_cannot_be_told_from_the_best_is_chosen() {
        let score = |clusters, below_best, standard_error| HeldOut {
            clusters,
            log_likelihood: 0.0,
            below_best,
            standard_error,
        };
        assert_eq!(choose(&[score(1, 3.0, 0.5), score(2, 0.2, 0.3), score(3, 0.0, 0.0)]), 2);
        assert_eq!(choose(&[score(1, 3.0, 0.5), score(2, 0.4, 0.3), score(3, 0.0, 0.0)]), 3);
    }
}
