//! Groups users by a mixture of position-based models, fitted by expectation maximisation.

use super::evidence::{ChunkEvidence, EXAMINATION_BOUNDS, Slopes, UserEvidence};
use super::k_means::Rows;
use crate::Result;
use crate::progress::Progress;

/// Starts that are tried, the best of which is followed to the end (short runs: Biernacki et al. 2003).
const STARTS: u64 = 8;
const SHORT_ITERATIONS: usize = 8;
const ITERATIONS: usize = 300;

/// The fit ends when an iteration gains less than this share of the log-likelihood.
const TOLERANCE: f64 = 1e-8;

/// Users who belong to a cluster with less than this probability are not counted there.
const NEGLIGIBLE: f64 = 1e-12;

/// In one step the odds of an examination change at most by this factor.
const MOST_ODDS: f64 = 10.0;

/// Each user belongs to cluster m with probability `π_m`, and then examines position k with probability `θ_m(k)`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mixture {
    /// `π_m`.
    pub weights: Vec<f64>,
    /// `θ_m(k)`, one row of clusters per position: that is how the inner loop reads them.
    by_position: Vec<f64>,
}

/// A mixture and how it was found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MixtureFit {
    pub mixture: Mixture,
    /// `P(cluster m | clicks of u)`, one row of clusters per user.
    pub responsibilities: Vec<f64>,
    /// After each iteration, up to a constant that does not depend on the mixture; never falls.
    pub log_likelihood: Vec<f64>,
    pub converged: bool,
}

/// What one pass over the users says about a mixture.
#[derive(Debug, Clone, Default)]
struct Sweep {
    log_likelihood: f64,
    responsibilities: Vec<f64>,
    /// Users of each cluster.
    sizes: Vec<f64>,
    /// For each position and cluster, the slopes of the expected log-likelihood and the impressions behind it.
    slopes: Vec<Slopes>,
    impressions: Vec<f64>,
}

impl Mixture {
    /// Clusters of the users in the groups of `of_user`, around the rows of `centres`.
    fn around(of_user: &[u32], centres: &[f64], positions: usize) -> Self {
        let clusters = centres.len() / positions;
        let mut weights = vec![1.0; clusters];
        of_user.iter().for_each(|&cluster| weights[cluster as usize] += 1.0);
        let total: f64 = weights.iter().sum();
        // Not at the very ends, which expectation maximisation leaves slowly.
        let theta = |index: usize| centres[index % clusters * positions + index / clusters].clamp(1e-4, 1.0 - 1e-4);
        Mixture {
            weights: weights.into_iter().map(|weight| weight / total).collect(),
            by_position: (0..centres.len()).map(theta).collect(),
        }
    }

    #[cfg(test)]
    pub fn known(weights: Vec<f64>, examination: &[f64]) -> Self {
        let (clusters, positions) = (weights.len(), examination.len() / weights.len());
        let (low, high) = EXAMINATION_BOUNDS;
        let theta = |index: usize| examination[index % clusters * positions + index / clusters].clamp(low, high);
        Mixture { by_position: (0..examination.len()).map(theta).collect(), weights }
    }

    pub fn clusters(&self) -> usize {
        self.weights.len()
    }

    /// `θ_m(k)`, one row of positions per cluster.
    pub fn examination(&self) -> Vec<f64> {
        let positions = self.by_position.len() / self.clusters();
        let row = |cluster| (0..positions).map(move |index| self.by_position[index * self.clusters() + cluster]);
        (0..self.clusters()).flat_map(row).collect()
    }

    /// Adds `Σ_k log L_uk(θ_m(k))` to `sums`, for each cluster m.
    pub fn add_log_likelihoods(
        &self,
        evidence: &ChunkEvidence<'_>,
        user: usize,
        sums: &mut [f64],
        room: &mut Vec<f64>,
    ) {
        for (slot, thetas) in evidence.slots_of(user).zip(self.by_position.chunks_exact(self.clusters())) {
            evidence.add_log_likelihoods(slot, thetas, sums, room);
        }
    }

    /// `r(u,m) ∝ π_m Π_k L_uk(θ_m(k))` for one user, written over `row`; returns the logarithm of the sum.
    fn responsibilities_of(
        &self,
        evidence: &ChunkEvidence<'_>,
        user: usize,
        row: &mut [f64],
        room: &mut Vec<f64>,
    ) -> f64 {
        row.iter_mut().zip(&self.weights).for_each(|(log, weight)| *log = weight.ln());
        self.add_log_likelihoods(evidence, user, row, room);
        let total = log_sum_exp(row);
        row.iter_mut().for_each(|log| *log = (*log - total).exp());
        total
    }

    /// `P(cluster m | clicks of u)` of every user.
    #[cfg(test)]
    pub fn responsibilities(&self, evidence: &UserEvidence) -> Vec<f64> {
        self.sweep(evidence).unwrap().responsibilities
    }

    fn sweep(&self, evidence: &UserEvidence) -> Result<Sweep> {
        let parts = evidence.by_chunks(|chunk| self.sweep_part(chunk))?;
        let mut whole = Sweep::empty(self.clusters(), self.by_position.len());
        parts.into_iter().for_each(|part| whole.add(part));
        Ok(whole)
    }

    fn sweep_part(&self, evidence: &ChunkEvidence<'_>) -> Sweep {
        let mut part = Sweep::empty(self.clusters(), self.by_position.len());
        let (mut row, mut room) = (vec![0.0; self.clusters()], Vec::new());
        for user in evidence.users.clone() {
            part.log_likelihood += self.responsibilities_of(evidence, user, &mut row, &mut room);
            part.responsibilities.extend_from_slice(&row);
            for (cluster, &share) in row.iter().enumerate().filter(|(_, share)| **share > NEGLIGIBLE) {
                part.sizes[cluster] += share;
                for (index, slot) in evidence.slots_of(user).enumerate() {
                    let at = index * self.clusters() + cluster;
                    let slopes = evidence.slopes(slot, self.by_position[at]);
                    part.slopes[at].first += share * slopes.first;
                    part.slopes[at].second += share * slopes.second;
                    part.impressions[at] += share * evidence.impressions(slot);
                }
            }
        }
        part
    }

    /// The mixture after the M-step, with `step` for each examination.
    fn moved(&self, sweep: &Sweep, step: impl Fn(f64, Slopes, f64) -> f64) -> Mixture {
        let total: f64 = sweep.sizes.iter().sum();
        let (low, high) = EXAMINATION_BOUNDS;
        let theta = |(index, &theta): (usize, &f64)| match sweep.impressions[index] > 0.0 {
            true => step(theta, sweep.slopes[index], sweep.impressions[index]).clamp(low, high),
            false => theta,
        };
        Mixture {
            weights: sweep.sizes.iter().map(|size| size / total).collect(),
            by_position: self.by_position.iter().enumerate().map(theta).collect(),
        }
    }

    /// Expectation maximisation from here.
    ///
    /// The M-step is one of Newton's on the concave expected log-likelihood of each θ_m(k), bounded in odds; that
    /// takes a few iterations where the step of posterior examinations takes hundreds. Should the likelihood
    /// fall, that other step, which cannot lower it, is taken in its place.
    fn improve(self, evidence: &UserEvidence, iterations: usize, progress: &dyn Progress) -> Result<MixtureFit> {
        let mut mixture = self;
        let mut sweep = mixture.sweep(evidence)?;
        let mut log_likelihood = vec![sweep.log_likelihood];
        let mut converged = false;
        for _ in 0..iterations {
            progress.advance(0)?;
            let (mut next, mut next_sweep) = mixture.stepped(&sweep, evidence, newton_step)?;
            if next_sweep.log_likelihood < sweep.log_likelihood {
                (next, next_sweep) = mixture.stepped(&sweep, evidence, posterior_step)?;
            }
            let gain = next_sweep.log_likelihood - sweep.log_likelihood;
            converged = gain <= TOLERANCE * sweep.log_likelihood.abs();
            if gain < 0.0 {
                break;
            }
            (mixture, sweep) = (next, next_sweep);
            log_likelihood.push(sweep.log_likelihood);
            if converged {
                break;
            }
        }
        Ok(MixtureFit { mixture, responsibilities: sweep.responsibilities, log_likelihood, converged })
    }

    fn stepped(
        &self,
        sweep: &Sweep,
        evidence: &UserEvidence,
        step: fn(f64, Slopes, f64) -> f64,
    ) -> Result<(Mixture, Sweep)> {
        let next = self.moved(sweep, step);
        let next_sweep = next.sweep(evidence)?;
        Ok((next, next_sweep))
    }
}

impl MixtureFit {
    /// The likeliest mixture of `clusters` that was found. `start` has one row of examinations per user, raw or
    /// shrunk; the first start is the best of many groupings of them by k-means, the others single ones.
    ///
    /// k-means sees `asin √θ`, in which clicks at every θ are spread alike: clusters that differ only in how little
    /// they look further down are close in θ itself, and starts by θ leave them together.
    pub fn new(
        evidence: &UserEvidence,
        clusters: usize,
        start: &[f64],
        seed: u64,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let angles: Vec<f64> = start.iter().map(|theta| theta.clamp(0.0, 1.0).sqrt().asin()).collect();
        let rows = Rows::new(&angles, evidence.positions, None);
        let starts = if clusters == 1 { 1 } else { STARTS };
        let short = |index: u64| {
            let k_means = rows.k_means(clusters, if index == 0 { 10 } else { 1 }, seed.wrapping_add(index));
            let centres: Vec<f64> = k_means.centres.iter().map(|angle| angle.sin().powi(2)).collect();
            let mixture = Mixture::around(&k_means.of_row, &centres, evidence.positions);
            mixture.improve(evidence, SHORT_ITERATIONS, progress)
        };
        let mut best = short(0)?;
        for index in 1..starts {
            let fit = short(index)?;
            if fit.last() > best.last() {
                best = fit;
            }
        }
        best.finish(evidence, progress)
    }

    fn last(&self) -> f64 {
        self.log_likelihood.last().copied().unwrap_or(f64::NEG_INFINITY)
    }

    fn finish(self, evidence: &UserEvidence, progress: &dyn Progress) -> Result<Self> {
        if self.converged {
            return Ok(self);
        }
        let rest = self.mixture.improve(evidence, ITERATIONS, progress)?;
        let log_likelihood = self.log_likelihood.iter().chain(&rest.log_likelihood[1..]).copied().collect();
        Ok(MixtureFit { log_likelihood, ..rest })
    }

    /// The cluster that each user most probably belongs to; the first of equals.
    pub fn of_user(&self) -> Vec<u32> {
        most_responsible(&self.responsibilities, self.mixture.clusters())
    }
}

impl Sweep {
    fn empty(clusters: usize, parameters: usize) -> Self {
        Sweep {
            sizes: vec![0.0; clusters],
            slopes: vec![Slopes::default(); parameters],
            impressions: vec![0.0; parameters],
            ..Sweep::default()
        }
    }

    fn add(&mut self, part: Sweep) {
        self.log_likelihood += part.log_likelihood;
        self.responsibilities.extend(part.responsibilities);
        self.sizes.iter_mut().zip(part.sizes).for_each(|(sum, value)| *sum += value);
        self.impressions.iter_mut().zip(part.impressions).for_each(|(sum, value)| *sum += value);
        self.slopes.iter_mut().zip(part.slopes).for_each(|(sum, value)| *sum = [*sum, value].into_iter().sum());
    }
}

/// Expectation maximisation over the hidden examinations, `Σ P(e=1 | c) / n`. With `P(e=1 | c=0) = θ(1−γ)/(1−θγ)`
/// and n impressions it comes to `θ + θ(1−θ)·g/n`, g the slope of the log-likelihood.
fn posterior_step(theta: f64, slopes: Slopes, impressions: f64) -> f64 {
    theta + theta * (1.0 - theta) * slopes.first / impressions
}

fn newton_step(theta: f64, slopes: Slopes, impressions: f64) -> f64 {
    if slopes.second >= 0.0 {
        return posterior_step(theta, slopes, impressions);
    }
    let odds = theta / (1.0 - theta);
    let of_odds = |odds: f64| odds / (1.0 + odds);
    (theta - slopes.first / slopes.second).clamp(of_odds(odds / MOST_ODDS), of_odds(odds * MOST_ODDS))
}

/// `log Σ e^x`, without overflow.
pub(super) fn log_sum_exp(values: &[f64]) -> f64 {
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if most == f64::NEG_INFINITY {
        return most;
    }
    most + values.iter().map(|value| (value - most).exp()).sum::<f64>().ln()
}

pub(super) fn most_responsible(responsibilities: &[f64], clusters: usize) -> Vec<u32> {
    let of_user = |row: &[f64]| (0..clusters).rev().max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap_or(0) as u32;
    responsibilities.chunks_exact(clusters).map(of_user).collect()
}

#[cfg(test)]
mod tests {
    use super::super::evidence::tests::observe;
    use super::*;
    use crate::progress::Silent;
    use proptest::prelude::*;

    #[test]
    fn log_sums_neither_overflow_nor_lose() {
        assert!((log_sum_exp(&[1000.0, 1000.0]) - (1000.0 + 2f64.ln())).abs() < 1e-12);
        assert_eq!(log_sum_exp(&[f64::NEG_INFINITY, 3.0]), 3.0);
        assert_eq!(log_sum_exp(&[f64::NEG_INFINITY]), f64::NEG_INFINITY);
    }

    #[test]
    fn the_step_of_posterior_examinations_is_the_one_written_out() {
        let evidence = UserEvidence::new(&observe(1, &[(0, 1, 0, 10, 3), (1, 1, 0, 7, 2)]), &[0.4, 0.9]).unwrap();
        let (theta, n) = (0.6, 17.0);
        let missed = |gamma: f64| theta * (1.0 - gamma) / (1.0 - theta * gamma);
        let expected = (5.0 + 7.0 * missed(0.4) + 5.0 * missed(0.9)) / n;
        let slopes = evidence.by_chunks(|chunk| chunk.slopes(0, theta)).unwrap()[0];
        assert!((posterior_step(theta, slopes, n) - expected).abs() < 1e-12);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn the_likelihood_never_falls(
            rows in prop::collection::vec((0u32..5, 1u32..=3, 0u32..12, 1u64..30, 0.0..=1.0f64), 1..90),
            gammas in prop::collection::vec(0.0..=1.0f64, 5),
            clusters in 1usize..5,
            seed in 0u64..100,
        ) {
            let mut rows = rows;
            rows.sort_by_key(|row| (row.0, row.1, row.2));
            rows.dedup_by_key(|row| (row.0, row.1, row.2));
            let rows: Vec<_> =
                rows.into_iter().map(|(d, k, u, n, share)| (d, k, u, n, (n as f64 * share) as u64)).collect();
            let observations = observe(12, &rows);
            let relevance: Vec<f64> = observations.docs.iter().map(|doc| gammas[doc.1 as usize]).collect();
            let evidence = UserEvidence::new(&observations, &relevance).unwrap();
            let fit = MixtureFit::new(&evidence, clusters, &evidence.maximum_likelihood(), seed, &Silent).unwrap();
            prop_assert!(fit.log_likelihood.windows(2).all(|pair| pair[1] >= pair[0]), "{:?}", fit.log_likelihood);
            prop_assert!(fit.log_likelihood.iter().all(|value| value.is_finite()));
            prop_assert!(fit.responsibilities.chunks_exact(clusters).all(|row| (row.iter().sum::<f64>() - 1.0).abs() < 1e-9));
            // Neither step is ever lost: the step that cannot lower the likelihood does not, from anywhere.
            let start = Mixture::known(vec![1.0 / clusters as f64; clusters], &vec![0.5; clusters * evidence.positions]);
            let sweep = start.sweep(&evidence).unwrap();
            let (_, after) = start.stepped(&sweep, &evidence, posterior_step).unwrap();
            prop_assert!(after.log_likelihood >= sweep.log_likelihood - 1e-9 * sweep.log_likelihood.abs());
        }
    }
}
