//! Beta priors, fitted: what many documents or users say about one.

use rayon::prelude::*;

use super::evidence::{Counts, Item};
use super::expectation::Sum;
use crate::math::minimize;

/// Items summed by one task: fixed, so that sums do not depend on the number of threads.
const CHUNK: usize = 256;

/// Items that a prior is fitted to; of more than these, a fixed share.
const MOST: usize = 1 << 14;

/// Strengths are looked for between e^-1.5, next to nothing, and e^9, as good as all alike.
const LOG_STRENGTH: (f64, f64) = (-1.5, 9.0);

/// After a first look everywhere, strengths are looked for this far from the last, by its logarithm.
const NEAR: f64 = 0.7;

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

    fn counts(&self, class: u32) -> Counts {
        let (won, of) = self.of(class as usize);
        Counts { won, lost: of - won }
    }

    /// The prior of what is 1 less the parameter.
    pub fn of_complement(&self) -> BetaPrior {
        BetaPrior { means: self.means.iter().map(|mean| 1.0 - mean).collect(), strength: self.strength }
    }

    /// The prior that makes what is evident likeliest; this one where there are too few items to tell.
    pub fn fitted(&self, items: &[Item]) -> BetaPrior {
        let mut prior = self.clone();
        if items.len() < 3 {
            return prior;
        }
        let items = share_of(items);
        prior.strength = prior.best_strength(&items, LOG_STRENGTH, 12);
        for _ in 0..10 {
            let before = prior.strength;
            prior.means = prior.moved_means(&items);
            let log = before.ln();
            let near = ((log - NEAR).max(LOG_STRENGTH.0), (log + NEAR).min(LOG_STRENGTH.1));
            prior.strength = prior.best_strength(&items, near, 2);
            if (prior.strength / before).ln().abs() < 5e-3 {
                break;
            }
        }
        prior
    }

    /// The strength under which these items are likeliest, given the means.
    pub fn fitted_strength(&self, items: &[Item]) -> f64 {
        if items.len() < 3 { self.strength } else { self.best_strength(&share_of(items), LOG_STRENGTH, 12) }
    }

    fn best_strength(&self, items: &[Item], (low, high): (f64, f64), grid: usize) -> f64 {
        let lack = |log: f64| {
            let prior = BetaPrior { strength: log.exp(), means: self.means.clone() };
            -sum_of(items, |item| item.log_marginal(prior.counts(item.class)))
        };
        minimize(low, high, grid, 5e-3, lack).exp()
    }

    /// Moves means to where those of the items' posteriors are on average: as far as items do not just follow their prior.
    fn moved_means(&self, items: &[Item]) -> Vec<f64> {
        let strength = self.strength;
        let known: Vec<f64> =
            items.par_iter().with_min_len(CHUNK).map(|item| item.mean(self.counts(item.class))).collect();
        let item = |(item, mean): (&Item, &f64)| {
            let of = item.trials() / (item.trials() + strength);
            let old = self.means[item.class as usize];
            // What it would have won without a prior, roughly.
            (item.class, mean - old + of * old, of)
        };
        means_of(items.iter().zip(&known).map(item), self.means.len())
    }

    /// How far two priors are apart: the larger of the change of a mean and of the strength's logarithm.
    pub fn distance(&self, other: &BetaPrior) -> f64 {
        let means = self.means.iter().zip(&other.means).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        means.max((self.strength / other.strength).ln().abs())
    }
}

/// The sum over items, in their order.
fn sum_of(items: &[Item], value: impl Fn(&Item) -> f64 + Sync) -> f64 {
    let sums: Vec<f64> = items.par_chunks(CHUNK).map(|items| items.iter().map(&value).sum()).collect();
    sums.iter().sum()
}

/// Not more items than suffice, scattered over all.
fn share_of(items: &[Item]) -> Vec<Item> {
    let share = u64::MAX / items.len() as u64 * MOST.min(items.len()) as u64;
    // Multiples of the golden ratio fill the circle evenly (Knuth).
    let scattered = |number: usize| (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) <= share;
    (0..items.len()).filter(|&number| items.len() <= MOST || scattered(number)).map(|number| items[number]).collect()
}

/// `Σ S/(N+s) / Σ N/(N+s)` of each class: the mean that its posterior means `(S + ms)/(N + s)` have on average.
pub(super) fn means(counts: impl Iterator<Item = (u32, f64, f64)>, classes: usize, strength: f64) -> Vec<f64> {
    means_of(counts.map(|(class, won, of)| (class, won / (of + strength), of / (of + strength))), classes)
}

fn means_of(known: impl Iterator<Item = (u32, f64, f64)>, classes: usize) -> Vec<f64> {
    let (mut sums, mut all) = (vec![(0.0, 0.0); classes], (0.0, 0.0));
    for (class, won, of) in known {
        let sum = &mut sums[class as usize];
        *sum = (sum.0 + won, sum.1 + of);
        all = (all.0 + won, all.1 + of);
    }
    let mean = all.0 / f64::max(all.1, f64::MIN_POSITIVE);
    let of_class = |(won, of): (f64, f64)| ((won + BESIDE * mean) / (of + BESIDE)).clamp(MEANS.0, MEANS.1);
    sums.into_iter().map(of_class).collect()
}

/// What is evident of each item, by class.
pub(super) fn evidence<'a>(sums: impl IntoIterator<Item = (u32, &'a Sum)>) -> Vec<Item> {
    sums.into_iter().filter_map(|(class, sum)| Item::new(class, sum)).collect()
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
            for chance in [1.0, 0.6] {
                let item = |number: usize| {
                    let mean = means[number % 2];
                    let value = Beta::new(mean * strength, (1.0 - mean) * strength).unwrap().sample(&mut random);
                    let won = (0..30).filter(|_| random.random_bool(chance * value)).count() as f64;
                    Item::new((number % 2) as u32, &Sum::default().seeing(won, 30.0 - won, chance)).unwrap()
                };
                let items: Vec<Item> = (0..8000).map(item).collect();
                let found = BetaPrior::new(2, 0.5, 1.0).fitted(&items);
                assert!((found.strength / strength).ln().abs() < 0.15, "{chance}: {found:?}");
                let near = |(found, mean): (&f64, f64)| (found - mean).abs() < 0.015;
                assert!(found.means.iter().zip(means).all(near), "{chance}: {found:?}");
            }
        }
    }

    #[test]
    fn a_share_of_many_items_is_of_all_classes_alike() {
        let items: Vec<Item> =
            (0..10 * MOST).map(|number| Item::new((number % 10) as u32, &Sum::plain(1.0, 2.0)).unwrap()).collect();
        let share = share_of(&items);
        assert!((share.len() as f64 / MOST as f64 - 1.0).abs() < 0.01, "{}", share.len());
        for class in 0..10 {
            let of_class = share.iter().filter(|item| item.class == class).count();
            assert!((of_class as f64 * 10.0 / MOST as f64 - 1.0).abs() < 0.05, "{class}: {of_class}");
        }
    }
}
