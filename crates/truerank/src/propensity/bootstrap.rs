//! Standard errors by resampling queries.

use rayon::prelude::*;

use crate::random::resample;
use crate::{Error, Result};

/// The most values that all resamples together may hold: 0.8 GB.
const MOST_RESAMPLED: usize = 100_000_000;

/// The standard error of each of `estimate`'s values, from as many resamples as asked.
///
/// `estimate` takes a weight for each query, how often it was drawn, and returns its values in a fixed order. Whole
/// queries are drawn because everything that differs between documents beyond the model (relevance that no feature
/// explains) is shared by the sessions of a query: resampling sessions would take each of them for new evidence.
pub(super) fn standard_errors(
    queries: usize,
    resamples: usize,
    seed: u64,
    estimate: impl Fn(&[f64]) -> Result<Vec<f64>> + Sync,
) -> Result<Vec<f64>> {
    let drawn: Vec<Result<Vec<f64>>> =
        (0..resamples as u64).into_par_iter().map(|index| estimate(&resample(queries, seed, index))).collect();
    let drawn = drawn.into_iter().collect::<Result<Vec<_>>>()?;
    let values = drawn.first().map_or(0, Vec::len);
    Ok((0..values).map(|value| deviation(drawn.iter().map(|of_resample| of_resample[value]))).collect())
}

/// One resample has no deviation, and too many values would not fit into memory.
pub(super) fn check_resamples(resamples: usize, values: usize) -> Result<()> {
    let most = MOST_RESAMPLED / values.max(1);
    match resamples {
        1 => Err(Error::option("resamples", "is 1, but should be 0 for no standard errors, or at least 2")),
        _ if resamples > most => {
            Err(Error::option("resamples", format!("is {resamples}, but for {values} values should be at most {most}")))
        }
        _ => Ok(()),
    }
}

fn deviation(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let count = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / count;
    (values.map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_mean_is_the_deviation_over_the_root_of_the_count() {
        let values: Vec<f64> = (0..400).map(|index| f64::from(index % 7)).collect();
        let mean = |weights: &[f64]| {
            Ok(vec![weights.iter().zip(&values).map(|(w, v)| w * v).sum::<f64>() / weights.iter().sum::<f64>()])
        };
        let found = standard_errors(values.len(), 500, 1, mean).unwrap()[0];
        let expected = deviation(values.iter().copied()) / (values.len() as f64).sqrt();
        assert!((found / expected - 1.0).abs() < 0.1, "{found} {expected}");
    }

    #[test]
    fn resamples_are_bounded() {
        assert!(check_resamples(0, 1_000_000_000).is_ok());
        assert_eq!(
            check_resamples(100, 50_000_000).unwrap_err().to_string(),
            "`resamples` is 100, but for 50000000 values should be at most 2"
        );
        assert!(check_resamples(1, 10).is_err());
    }
}
