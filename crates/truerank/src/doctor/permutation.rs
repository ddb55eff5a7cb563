//! Is a statistic larger than chance makes it? Random relabelings enter, a p-value leaves.

use rand::RngExt;
use rayon::prelude::*;
use serde::Serialize;

use crate::Result;
use crate::progress::Progress;
use crate::random::{Random, stream};

/// A permutation test.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PermutationTest {
    /// The statistic of the log.
    pub statistic: f64,
    /// Its mean over relabelings: what chance alone makes of it.
    pub by_chance: f64,
    /// Its standard deviation over relabelings.
    pub deviation: f64,
    /// How many relabelings were drawn.
    pub permutations: usize,
    /// The probability of such a statistic, or a larger one, by chance alone.
    pub p: f64,
}

/// Relabelings that reach the log's own statistic before drawing more is pointless: then `p` is far from any level of
/// interest (Besag and Clifford 1991).
const ENOUGH: usize = 20;

/// Relabelings drawn in any case, so that their mean and deviation are known.
const LEAST: usize = 100;

/// Draws that run side by side: fixed, so that the result does not depend on the number of threads.
const BATCH: usize = 64;

/// Compares `observed` with the statistic of at most `permutations` relabelings.
///
/// With `h` of all `m` draws at least as large, `p = (h+1)/(m+1)`; where [`ENOUGH`] were reached after `l` draws, no fewer than
/// [`LEAST`], no more are drawn and `p = h/l`.
pub(super) fn permutation_test(
    observed: f64,
    permutations: usize,
    (seed, purpose): (u64, &str),
    statistic: impl Fn(&mut Random) -> f64 + Sync,
    progress: &dyn Progress,
) -> Result<PermutationTest> {
    let mut drawn: Vec<f64> = Vec::new();
    // Sums in another order differ in their last bits; what is equal should count as equal.
    let reached = observed - observed.abs() * 1e-9;
    let mut hits = 0;
    while drawn.len() < permutations {
        progress.advance(0)?;
        let batch = drawn.len()..permutations.min(drawn.len() + BATCH);
        let values: Vec<f64> =
            batch.into_par_iter().map(|index| statistic(&mut stream(seed, purpose, index as u64))).collect();
        for value in values {
            drawn.push(value);
            hits += usize::from(value >= reached);
            if hits >= ENOUGH && drawn.len() >= LEAST {
                return Ok(outcome(observed, &drawn, hits as f64 / drawn.len() as f64));
            }
        }
    }
    Ok(outcome(observed, &drawn, (hits + 1) as f64 / (drawn.len() + 1) as f64))
}

/// Every order with the same probability.
pub(super) fn shuffle(users: &mut [u32], random: &mut Random) {
    for i in (1..users.len()).rev() {
        users.swap(i, random.random_range(0..=i));
    }
}

fn outcome(statistic: f64, drawn: &[f64], p: f64) -> PermutationTest {
    let count = drawn.len().max(1) as f64;
    let by_chance = drawn.iter().sum::<f64>() / count;
    let squares: f64 = drawn.iter().map(|value| (value - by_chance).powi(2)).sum();
    PermutationTest { statistic, by_chance, deviation: (squares / count).sqrt(), permutations: drawn.len(), p }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;

    #[test]
    fn p_is_the_share_of_draws_at_least_as_large() {
        let uniform = |random: &mut Random| random.random::<f64>();
        let far = permutation_test(2.0, 999, (1, "test"), uniform, &Silent).unwrap();
        assert_eq!((far.p, far.permutations), (1.0 / 1000.0, 999));
        assert!((far.by_chance - 0.5).abs() < 0.05 && (far.deviation - 1.0 / 12f64.sqrt()).abs() < 0.02);
        let middle = permutation_test(0.5, 999, (1, "test"), uniform, &Silent).unwrap();
        assert!((middle.p - 0.5).abs() < 0.2 && middle.permutations == LEAST, "{middle:?}");
        // Ties count as reached.
        assert_eq!(permutation_test(1.0, 999, (1, "test"), |_| 1.0 - 1e-12, &Silent).unwrap().p, 1.0);
    }
}
