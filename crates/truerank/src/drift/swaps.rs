//! P-values by exchanging the two days of users or queries: sums with random signs.

use rand::Rng;
use rayon::prelude::*;
use statrs::function::erf::erfc;

use crate::random::stream;

/// How many exchanges are drawn.
pub(super) struct Swaps {
    pub count: usize,
    pub seed: u64,
}

impl Swaps {
    /// How often statistics with random signs are at least those found, for several tests at once; a test has one or more sums, each
    /// over the same groups, and its statistic is the sum of their squares.
    pub fn p_values(&self, tests: &[Vec<Vec<f64>>]) -> Vec<Option<f64>> {
        let found: Vec<f64> = tests.iter().map(|sums| statistic(sums, |_| 1.0)).collect();
        let groups = tests.iter().flatten().map(Vec::len).max().unwrap_or(0);
        let exceeding: Vec<Vec<bool>> = (0..self.count as u64)
            .into_par_iter()
            .map(|swap| {
                let signs = signs(self.seed, swap, groups);
                let is_as_far = |(sums, &found): (&Vec<Vec<f64>>, &f64)| {
                    // Equal sums in another order differ in their last digits.
                    statistic(sums, |group| signs[group]) >= found * (1.0 - 1e-9)
                };
                tests.iter().zip(&found).map(is_as_far).collect()
            })
            .collect();
        let p = |test: usize| {
            let active = tests[test].iter().map(|sums| sums.iter().filter(|&&sum| sum != 0.0).count()).max();
            let exceeding = exceeding.iter().filter(|swap| swap[test]).count();
            (active.unwrap_or(0) >= 2).then(|| (1 + exceeding) as f64 / (1 + self.count) as f64)
        };
        (0..tests.len()).map(p).collect()
    }
}

fn statistic(sums: &[Vec<f64>], sign: impl Fn(usize) -> f64) -> f64 {
    let of = |sums: &Vec<f64>| sums.iter().enumerate().map(|(group, value)| sign(group) * value).sum::<f64>().powi(2);
    sums.iter().map(of).sum()
}

fn signs(seed: u64, swap: u64, groups: usize) -> Vec<f64> {
    let mut random = stream(seed, "exchanged days", swap);
    let mut signs = Vec::with_capacity(groups + 63);
    while signs.len() < groups {
        let bits = random.next_u64();
        signs.extend((0..64).map(|bit| if bits >> bit & 1 == 1 { 1.0 } else { -1.0 }));
    }
    signs
}

/// Two-sided p-value of a standard normal deviate.
pub(super) fn two_sided(z: f64) -> f64 {
    erfc(z.abs() / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_groups_tell_little_and_many_alike_tell_much() {
        let swaps = Swaps { count: 999, seed: 1 };
        let p =
            swaps.p_values(&[vec![vec![1.0, 1.0]], vec![vec![1.0; 40]], vec![vec![1.0]], vec![vec![3.0, -3.0, 0.1]]]);
        // Of four pairs of signs two are as far from 0.
        assert!((p[0].unwrap() - 0.5).abs() < 0.05, "{p:?}");
        assert_eq!(p[1], Some(1.0 / 1000.0));
        assert_eq!(p[2], None);
        assert_eq!(p[3], Some(1.0));
        assert!((two_sided(1.959964) - 0.05).abs() < 1e-6);
    }
}
