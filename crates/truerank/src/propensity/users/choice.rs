//! How many clusters of users a log speaks for.

use serde::Serialize;

/// How well clicks that were held out are predicted with a number of clusters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct HeldOut {
    /// The number of clusters; 0 where all users have the same θ.
    pub clusters: usize,
    /// The mean log-likelihood of a held-out impression.
    pub log_likelihood: f64,
    /// How far that is below the best number's.
    pub below_best: f64,
    /// The standard error of `below_best`: users differ, not impressions.
    pub standard_error: f64,
}

/// The numbers of clusters that are tried: 0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, … up to `most`.
pub(in crate::propensity) fn candidates(most: usize) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..=6).chain([8, 10]).collect();
    let mut size = 12;
    while size <= most {
        numbers.extend([size, size / 3 * 4, size / 3 * 5]);
        size *= 2;
    }
    numbers.retain(|&number| number <= most);
    numbers
}

/// A share of what the best number gains over one cluster, that is not worth more clusters.
const NEGLIGIBLE: f64 = 0.02;

/// The smallest number of clusters that is within one standard error of the best, the error being that of the difference
/// over users (Breiman et al. 1984), or gains all but a negligible part of what the best gains.
///
/// The second rule is for long logs, in which every difference is significant.
pub(in crate::propensity) fn choose(scores: &[HeldOut]) -> usize {
    // One θ for all, or one cluster in which users stray from it, whichever is better.
    let gain = scores.iter().take(2).map(|score| score.below_best).fold(f64::INFINITY, f64::min);
    let enough = |score: &&HeldOut| score.below_best <= score.standard_error.max(NEGLIGIBLE * gain);
    scores.iter().find(enough).map_or(0, |score| score.clusters)
}

/// Whether the last of these log-likelihoods, smaller numbers of clusters first, gains nothing worth mentioning.
pub(in crate::propensity) fn gained_nothing(values: &[f64]) -> bool {
    let [simple @ .., last] = values else { return false };
    let best = simple.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let one = simple.iter().take(2).copied().fold(f64::NEG_INFINITY, f64::max);
    !simple.is_empty() && last - best <= NEGLIGIBLE * (best - one)
}

impl HeldOut {
    /// The scores of numbers of clusters from the log-likelihood of each user's held-out clicks under each of them.
    pub(in crate::propensity) fn compare(numbers: &[usize], by_user: &[Vec<f64>], impressions: f64) -> Vec<HeldOut> {
        let total = |values: &[f64]| values.iter().sum::<f64>();
        let Some(best) = by_user.iter().max_by(|a, b| total(a).total_cmp(&total(b))) else { return Vec::new() };
        let score = |(&clusters, values): (&usize, &Vec<f64>)| {
            let below: Vec<f64> = best.iter().zip(values).map(|(best, value)| best - value).collect();
            let users = below.len() as f64;
            let mean = total(&below) / users;
            let squares: f64 = below.iter().map(|value| (value - mean).powi(2)).sum();
            HeldOut {
                clusters,
                log_likelihood: total(values) / impressions,
                below_best: total(&below) / impressions,
                standard_error: (squares * users / (users - 1.0).max(1.0)).sqrt() / impressions,
            }
        };
        numbers.iter().zip(by_user).map(score).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_grow_by_steps_that_grow() {
        assert_eq!(candidates(20), [0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20]);
        assert_eq!(candidates(3), [0, 1, 2, 3]);
        assert_eq!(candidates(50)[11..], [20, 24, 32, 40, 48]);
    }

    #[test]
    fn the_smallest_that_cannot_be_told_from_the_best_is_chosen() {
        let score = |clusters, below_best, standard_error| HeldOut {
            clusters,
            log_likelihood: 0.0,
            below_best,
            standard_error,
        };
        assert_eq!(choose(&[score(0, 3.0, 0.5), score(1, 2.0, 0.5), score(2, 0.2, 0.3), score(3, 0.0, 0.0)]), 2);
        assert_eq!(choose(&[score(0, 3.0, 0.5), score(1, 2.0, 0.5), score(2, 0.4, 0.3), score(3, 0.0, 0.0)]), 3);
        // Less than 2 % of what there is to gain over one cluster.
        assert_eq!(choose(&[score(0, 9.0, 0.5), score(1, 2.0, 0.1), score(2, 0.03, 0.001), score(3, 0.0, 0.0)]), 2);
        assert_eq!(choose(&[score(0, 9.0, 0.5), score(1, 0.1, 0.01), score(2, 0.03, 0.001), score(3, 0.0, 0.0)]), 3);
        assert_eq!(choose(&[score(0, 0.1, 0.2), score(1, 0.0, 0.0)]), 0);
    }

    #[test]
    fn what_gains_nothing_is_noticed() {
        for gains in [&[-3.0][..], &[-3.0, -1.0], &[-3.0, -1.0, -0.999], &[-3.0, -1.0, -0.5, -0.4]] {
            assert!(!gained_nothing(gains), "{gains:?}");
        }
        for gains in [&[-3.0, -3.0][..], &[-3.0, -1.0, -1.0], &[-3.0, -1.0, -2.0], &[-3.0, -1.0, -0.5, -0.495]] {
            assert!(gained_nothing(gains), "{gains:?}");
        }
    }
}
