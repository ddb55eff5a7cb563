//! Beta priors, fitted: what many documents or users say about one.

use rayon::prelude::*;

use super::expectation::Sum;
use crate::math::minimize;
use crate::propensity::gamma::ln_gamma;

/// Items summed by one task: fixed, so that sums do not depend on the number of threads.
const CHUNK: usize = 4096;

/// Strengths are looked for between e^-1.5, next to nothing, and e^9, as good as all alike.
const LOG_STRENGTH: (f64, f64) = (-1.5, 9.0);

/// Known items of the overall mean that each class has beside its own, so that few do not stand for a class.
const BESIDE: f64 = 2.0;

/// Means stay this far from 0 and 1.
const MEANS: (f64, f64) = (1e-4, 1.0 - 1e-4);

/// A Beta distribution for each class of parameters, all of one strength: mean·strength successes in strength trials.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BetaPrior {
    pub means: Vec<f64>,
    pub strength: f64,
}

/// A parameter's class, successes and trials.
pub(super) type Item = (u32, f64, f64);

impl BetaPrior {
    pub fn new(classes: usize, mean: f64, strength: f64) -> Self {
        BetaPrior { means: vec![mean; classes], strength }
    }

    /// Successes and trials that stand for what is believed.
    pub fn of(&self, class: usize) -> (f64, f64) {
        (self.means[class] * self.strength, self.strength)
    }

    /// The logarithm of its density at a value, up to a constant.
    pub fn log_density(&self, class: usize, value: f64) -> f64 {
        let (won, of) = self.of(class);
        if of > 0.0 { won * value.ln() + (of - won) * (1.0 - value).ln() } else { 0.0 }
    }

    /// The prior that makes successes in trials likeliest, as draws from Beta-binomial distributions; this one where there are
    /// too few items to tell.
    pub fn fitted(&self, items: &[Item]) -> BetaPrior {
        let mut prior = self.clone();
        if items.iter().filter(|(_, _, of)| *of > 0.0).count() < 3 {
            return prior;
        }
        for _ in 0..10 {
            let before = prior.strength;
            prior.means = means(items, prior.means.len(), prior.strength);
            let lack = |log: f64| -log_marginal(items, &prior.means, log.exp());
            prior.strength = minimize(LOG_STRENGTH.0, LOG_STRENGTH.1, 12, 1e-3, lack).exp();
            if (prior.strength / before).ln().abs() < 5e-3 {
                break;
            }
        }
        prior
    }

    /// How far two priors are apart: the larger of the change of a mean and of the strength's logarithm.
    pub fn distance(&self, other: &BetaPrior) -> f64 {
        let means = self.means.iter().zip(&other.means).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        means.max((self.strength / other.strength).ln().abs())
    }
}

/// `Σ S/(N+s) / Σ N/(N+s)` of each class: the mean that its posterior means have on average.
fn means(items: &[Item], classes: usize, strength: f64) -> Vec<f64> {
    let (mut sums, mut all) = (vec![(0.0, 0.0); classes], (0.0, 0.0));
    for &(class, won, of) in items {
        let known = (won / (of + strength), of / (of + strength));
        let sum = &mut sums[class as usize];
        *sum = (sum.0 + known.0, sum.1 + known.1);
        all = (all.0 + known.0, all.1 + known.1);
    }
    let mean = all.0 / f64::max(all.1, f64::MIN_POSITIVE);
    let of_class = |(won, of): (f64, f64)| ((won + BESIDE * mean) / (of + BESIDE)).clamp(MEANS.0, MEANS.1);
    sums.into_iter().map(of_class).collect()
}

/// `Σ ln B(S + ms, N − S + (1−m)s) − ln B(ms, (1−m)s)`.
fn log_marginal(items: &[Item], means: &[f64], strength: f64) -> f64 {
    let known: Vec<f64> = means
        .iter()
        .map(|mean| ln_gamma(strength) - ln_gamma(mean * strength) - ln_gamma((1.0 - mean) * strength))
        .collect();
    let of_item = |&(class, won, of): &Item| {
        let mean = means[class as usize];
        let lost = (of - won).max(0.0);
        known[class as usize] + ln_gamma(won + mean * strength) + ln_gamma(lost + (1.0 - mean) * strength)
            - ln_gamma(won + lost + strength)
    };
    let sums: Vec<f64> = items.par_chunks(CHUNK).map(|items| items.iter().map(of_item).sum()).collect();
    sums.iter().sum()
}

/// What is evident of each item, by class.
pub(super) fn evidence<'a>(sums: impl IntoIterator<Item = (u32, &'a Sum)>) -> Vec<Item> {
    let known = sums.into_iter().filter(|(_, sum)| sum.evident_of > 0.0);
    known.map(|(class, sum)| (class, sum.evident, sum.evident_of)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;
    use rand::RngExt;
    use rand_distr::{Beta, Distribution};

    #[test]
    fn mean_and_strength_that_made_the_counts_are_found() {
        for (means, strength) in [([0.3, 0.7], 5.0), ([0.05, 0.1], 40.0), ([0.5, 0.2], 1.0)] {
            let mut random = stream(3, "test", 0);
            let items: Vec<Item> = (0..8000)
                .map(|number| {
                    let mean = means[number % 2];
                    let value = Beta::new(mean * strength, (1.0 - mean) * strength).unwrap().sample(&mut random);
                    let won = (0..30).filter(|_| random.random_bool(value)).count();
                    ((number % 2) as u32, won as f64, 30.0)
                })
                .collect();
            let found = BetaPrior::new(2, 0.5, 1.0).fitted(&items);
            assert!((found.strength / strength).ln().abs() < 0.15, "{found:?}");
            assert!(found.means.iter().zip(means).all(|(found, mean)| (found - mean).abs() < 0.015), "{found:?}");
        }
    }
}
