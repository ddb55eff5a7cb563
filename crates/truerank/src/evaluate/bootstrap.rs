//! Intervals of ratios over queries by resampling queries.

use rayon::prelude::*;
use serde_json::{Value, json};

use crate::math::quantile;
use crate::options::options;
use crate::random::resample;

options! {
    /// How intervals over queries are made.
    #[derive(Copy, PartialEq)]
    pub struct Resampling {
        /// Resamples of queries for intervals.
        resamples: usize = 1000, value("N");
        /// Seed of the resamples.
        seed: u64 = 1;
    }
}

/// What each query adds to a ratio `Σ numerator / Σ denominator`. A mean has denominators of 1; a query that is left
/// out has 0 for both.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Ratio {
    pub numerators: Vec<f64>,
    pub denominators: Vec<f64>,
}

impl Ratio {
    pub fn push(&mut self, numerator: f64, denominator: f64) {
        self.numerators.push(numerator);
        self.denominators.push(denominator);
    }

    /// The ratio; `NaN` where nothing is below the line.
    pub fn value(&self) -> f64 {
        self.numerators.iter().sum::<f64>() / self.denominators.iter().sum::<f64>()
    }

    fn weighted(&self, weights: &[f64]) -> f64 {
        let sum = |values: &[f64]| values.iter().zip(weights).map(|(value, weight)| value * weight).sum::<f64>();
        sum(&self.numerators) / sum(&self.denominators)
    }

    /// Each query's own ratio.
    pub fn per_query(&self) -> Vec<f64> {
        self.numerators.iter().zip(&self.denominators).map(|(numerator, denominator)| numerator / denominator).collect()
    }
}

/// A value and its 95 % interval: percentiles over resampled queries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// The value.
    pub value: f64,
    /// The 2.5th percentile.
    pub low: f64,
    /// The 97.5th percentile.
    pub high: f64,
}

/// A difference between two rankers on the same queries, first minus second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairedDifference {
    /// The difference and its 95 % interval.
    pub bounds: Bounds,
    /// Two-sided: twice the share of resamples on the rarer side of 0, `2·(1 + count)/(1 + resamples)`, at most 1. Never below what the
    /// signs of as many queries could show, `2^(1 − n)`: a handful of queries that all agree do so by chance, too.
    pub p: f64,
}

/// The value of each ratio in each resample: one row per ratio. The same queries are drawn for all ratios. Of a single query there are
/// none: it would be drawn again and again, and seem certain.
pub(crate) fn resampled(ratios: &[&Ratio], resamples: usize, seed: u64) -> Vec<Vec<f64>> {
    let queries = ratios.first().map_or(0, |ratio| ratio.numerators.len());
    if queries < 2 {
        return vec![Vec::new(); ratios.len()];
    }
    let of_resample = |index: u64| {
        let weights = resample(queries, seed, index);
        ratios.iter().map(|ratio| ratio.weighted(&weights)).collect::<Vec<f64>>()
    };
    let drawn: Vec<Vec<f64>> = (0..resamples as u64).into_par_iter().map(of_resample).collect();
    (0..ratios.len()).map(|ratio| drawn.iter().map(|values| values[ratio]).collect()).collect()
}

impl Bounds {
    /// The value with its interval for programs.
    pub fn to_json(self) -> Value {
        json!({ "value": self.value, "low": self.low, "high": self.high })
    }

    /// Around `value`, from its resamples; without any that is a number the interval is not one either.
    pub(super) fn of(value: f64, resampled: &[f64]) -> Self {
        let mut sorted: Vec<f64> = resampled.iter().copied().filter(|value| value.is_finite()).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        match sorted.is_empty() {
            true => Bounds { value, low: f64::NAN, high: f64::NAN },
            false => Bounds { value, low: quantile(&sorted, 0.025), high: quantile(&sorted, 0.975) },
        }
    }
}

impl PairedDifference {
    /// Of two ratios, from resamples of the same queries.
    pub(crate) fn of(a: (&Ratio, &[f64]), b: (&Ratio, &[f64])) -> Self {
        // Two sums of the same numbers in another order do not differ.
        let minus = |(a, b): (&f64, &f64)| if (a - b).abs() <= 1e-12 * a.abs().max(b.abs()) { 0.0 } else { a - b };
        let differences: Vec<f64> = a.1.iter().zip(b.1).map(minus).filter(|d| d.is_finite()).collect();
        let count = |side: fn(&f64) -> bool| differences.iter().filter(|difference| side(difference)).count();
        let rarer = count(|d| *d <= 0.0).min(count(|d| *d >= 0.0));
        let p = 2.0 * (1 + rarer) as f64 / (1 + differences.len()) as f64;
        let queries = a.0.denominators.iter().zip(&b.0.denominators).filter(|(a, b)| **a > 0.0 || **b > 0.0).count();
        let least = (1.0 - queries as f64).exp2();
        PairedDifference { bounds: Bounds::of(a.0.value() - b.0.value(), &differences), p: p.max(least).min(1.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_of(values: &[f64]) -> Ratio {
        Ratio { numerators: values.to_vec(), denominators: vec![1.0; values.len()] }
    }

    #[test]
    fn the_interval_of_a_mean_is_that_of_its_standard_error() {
        let values: Vec<f64> = (0..400).map(|index| f64::from(index % 7)).collect();
        let ratio = mean_of(&values);
        let drawn = resampled(&[&ratio], 1000, 1);
        let bounds = Bounds::of(ratio.value(), &drawn[0]);
        let deviation = (values.iter().map(|v| (v - ratio.value()).powi(2)).sum::<f64>() / 400.0).sqrt();
        let expected = 2.0 * 1.96 * deviation / 20.0;
        assert!(((bounds.high - bounds.low) / expected - 1.0).abs() < 0.1, "{bounds:?} {expected}");
        assert!(bounds.low < bounds.value && bounds.value < bounds.high);
    }

    #[test]
    fn a_ranker_does_not_differ_from_itself_but_from_a_better_one() {
        let a = mean_of(&(0..100).map(|index| f64::from(index % 5)).collect::<Vec<_>>());
        let better = mean_of(&a.numerators.iter().map(|value| value + 0.1).collect::<Vec<_>>());
        let drawn = resampled(&[&a, &better], 999, 3);
        let same = PairedDifference::of((&a, &drawn[0]), (&a, &drawn[0]));
        assert_eq!((same.bounds.value, same.bounds.low, same.p), (0.0, 0.0, 1.0));
        let differs = PairedDifference::of((&better, &drawn[1]), (&a, &drawn[0]));
        assert_eq!(differs.p, 2.0 / 1000.0);
        assert!((differs.bounds.low - 0.1).abs() < 1e-9 && (differs.bounds.high - 0.1).abs() < 1e-9);
    }

    #[test]
    fn a_single_query_has_no_interval() {
        let (a, b) = (mean_of(&[3.0]), mean_of(&[2.0]));
        let drawn = resampled(&[&a, &b], 999, 1);
        let found = PairedDifference::of((&a, &drawn[0]), (&b, &drawn[1]));
        assert!(found.bounds.low.is_nan() && found.bounds.value == 1.0 && found.p == 1.0, "{found:?}");
    }

    #[test]
    fn three_queries_that_agree_may_do_so_by_chance() {
        let (a, b) = (mean_of(&[3.0, 2.0, 5.0]), mean_of(&[2.0, 1.0, 4.0]));
        let drawn = resampled(&[&a, &b], 999, 1);
        assert_eq!(PairedDifference::of((&a, &drawn[0]), (&b, &drawn[1])).p, 0.25);
    }

    #[test]
    fn the_same_resamples_on_any_number_of_threads() {
        let ratio = mean_of(&[1.0, 5.0, 2.0, 8.0]);
        let draw = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| resampled(&[&ratio], 50, 9))
        };
        assert_eq!(draw(1), draw(3));
    }
}
