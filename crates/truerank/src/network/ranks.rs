//! Features by their ranks: rows of features enter, a curve for each feature leaves.

use rayon::prelude::*;
use statrs::distribution::{ContinuousCDF, Normal};

use super::Scaling;
use crate::{Error, Result};

/// What is said of a feature with values that are no numbers.
pub(crate) fn not_finite(feature: usize) -> Error {
    Error::parameter(format!("features should be finite, but feature {} is not", feature + 1))
}

/// How many points a curve from values to ranks has: one for every thirty-second part of the documents.
const POINTS: usize = 33;

/// At most so many rows, evenly spaced, say how the values of a feature are distributed.
const SAMPLED_ROWS: usize = 1 << 18;

/// Each feature by the ranks of its values, as quantiles of the standard normal distribution.
pub(crate) fn rank_scaling(features: &[f32], width: usize) -> Result<Scaling> {
    let rows = features.len() / width.max(1);
    let step = rows.div_ceil(SAMPLED_ROWS).max(1);
    let curve = |feature: usize| {
        let column = (0..rows).step_by(step).map(|row| features[row * width + feature]);
        rank_curve(column.collect()).ok_or_else(|| not_finite(feature))
    };
    let curves: Result<Vec<(Vec<f32>, Vec<f32>)>> = (0..width).into_par_iter().map(curve).collect();
    let (values, scaled): (Vec<Vec<f32>>, Vec<Vec<f32>>) = curves?.into_iter().unzip();
    Scaling::curve(POINTS, values.concat(), scaled.concat())
}

/// The quantile of the standard normal distribution.
fn normal_quantile(share: f64) -> f64 {
    Normal::standard().inverse_cdf(share)
}

/// The curve through the quantiles of a column: equal values share their mean rank. None where a value is not finite.
fn rank_curve(mut column: Vec<f32>) -> Option<(Vec<f32>, Vec<f32>)> {
    if column.iter().any(|value| !value.is_finite()) {
        return None;
    }
    column.sort_unstable_by(f32::total_cmp);
    let count = column.len();
    let quantile = |part: usize| column.get(part * count.saturating_sub(1) / (POINTS - 1)).copied().unwrap_or(0.0);
    let mut values: Vec<f32> = (0..POINTS).map(quantile).collect();
    values.dedup();
    let score = |value: &f32| {
        let below = column.partition_point(|other| other < value);
        let up_to = column.partition_point(|other| other <= value);
        normal_quantile((below + up_to) as f64 / (2 * count.max(1)) as f64) as f32
    };
    let mut scaled: Vec<f32> = values.iter().map(score).collect();
    values.resize(POINTS, *values.last()?);
    scaled.resize(POINTS, *scaled.last()?);
    Some((values, scaled))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_spread_as_a_normal_distribution() {
        let column: Vec<f32> = (0..1000).map(|i| ((i * 37) % 1000) as f32).collect();
        let (values, scaled) = rank_curve(column.clone()).unwrap();
        assert_eq!((values[0], values[POINTS - 1], values.len(), scaled.len()), (0.0, 999.0, POINTS, POINTS));
        assert!(scaled.is_sorted() && (scaled[0] + scaled[POINTS - 1]).abs() < 1e-5);
        // Rank .001 · (900 + ½), the quantile of which is 1.2844.
        let place = values.iter().position(|&value| value >= 900.0).unwrap();
        let expected = normal_quantile(f64::from(values[place] + 0.5) / 1000.0);
        assert!((f64::from(scaled[place]) - expected).abs() < 1e-6);
        // Any monotone change of the values leaves the scaled ones as they are.
        let (_, of_squares) = rank_curve(column.iter().map(|x| x * x).collect()).unwrap();
        assert_eq!(scaled, of_squares);
    }

    #[test]
    fn equal_values_share_their_mean_rank() {
        // Nine in ten are 0: their mean rank is .45.
        let column: Vec<f32> = (0..100).map(|i| if i % 10 == 0 { 1.0 + i as f32 } else { 0.0 }).collect();
        let (values, scaled) = rank_curve(column).unwrap();
        assert_eq!(values[0], 0.0);
        assert!((f64::from(scaled[0]) - normal_quantile(0.45)).abs() < 1e-6);
        assert!(values[1] > 0.0 && scaled[POINTS - 1] > 2.0);
        let (values, scaled) = rank_curve(vec![7.0; 50]).unwrap();
        assert_eq!((values, scaled), (vec![7.0; POINTS], vec![0.0; POINTS]));
        assert_eq!(rank_curve(vec![1.0, f32::NAN]), None);
    }

    #[test]
    fn normal_quantiles_are_those_of_tables() {
        for (share, expected) in
            [(0.5, 0.0), (0.975, 1.959_964), (0.1, -1.281_552), (0.001, -3.090_232), (1e-6, -4.753_424)]
        {
            assert!((normal_quantile(share) - expected).abs() < 1e-6, "{share}");
        }
    }
}
