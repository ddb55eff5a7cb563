//! Features of one scale: a data set enters, each feature's mean and deviation leave, and weights go back to raw features.
//! [`FeatureScaling`] lists the ways to scale what a network sees.

use rayon::prelude::*;
use statrs::distribution::{ContinuousCDF, Normal};

use super::Model;
use crate::data::Dataset;
use crate::named::named;
use crate::network::{Architecture, Network, Scaling, lane_dot3};
use crate::{Error, Result};

/// What a network's first layer sees of the features.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeatureScaling {
    /// Each feature with mean 0 and standard deviation 1 over the training documents.
    Standard,
    /// The rank of each value among those of the training documents, spread as a normal distribution is. Outliers count no more
    /// than the largest of the other values.
    Rank,
    /// Features as they are.
    None,
    /// Features as they are, normalised over each document by a layer norm, as in the paper. It sees how the features of a
    /// document compare with each other, and forgets how high they all are.
    Paper,
}

named!(FeatureScaling, "a scaling": Standard "standard", Rank "rank", None "none", Paper "paper");

impl FeatureScaling {
    /// A network with random weights whose features are scaled as those of `data`.
    pub(super) fn network(self, architecture: &Architecture, data: &Dataset, seed: u64) -> Result<Network> {
        let (architecture, features) = (architecture.clone(), data.feature_count());
        if self == FeatureScaling::Paper {
            return Network::new(architecture, features, seed);
        }
        let network = Network::keeping_level(architecture, features, seed)?;
        match self {
            FeatureScaling::Standard => network.scaled(FeatureScale::of(data)?.scaling()?),
            FeatureScaling::Rank => network.scaled(rank_scaling(data)?),
            FeatureScaling::None | FeatureScaling::Paper => Ok(network),
        }
    }
}

/// The mean of each feature and 1 over its standard deviation.
#[derive(Debug)]
pub(super) struct FeatureScale {
    mean: Vec<f32>,
    /// 1 over each feature's standard deviation; 0 for a constant one.
    scale: Vec<f64>,
}

impl FeatureScale {
    /// The scale of `data`, whose features must be finite.
    pub(super) fn of(data: &Dataset) -> Result<Self> {
        let (mean, scale) = feature_scale(data);
        match mean.iter().zip(&scale).position(|(m, s)| !(m.is_finite() && s.is_finite())) {
            Some(feature) => Err(not_finite(feature)),
            None => Ok(FeatureScale { mean, scale }),
        }
    }

    /// The same in single precision, for a network to carry.
    pub(super) fn scaling(&self) -> Result<Scaling> {
        // Features that differ by less than single precision can invert are stretched as far as it goes.
        let single = |&scale: &f64| scale.min(f64::from(f32::MAX)) as f32;
        Scaling::linear(self.mean.clone(), self.scale.iter().map(single).collect())
    }

    /// Weights of raw features from those of scaled ones.
    pub(super) fn raw(&self, weights: &[f64]) -> Vec<f32> {
        weights.iter().zip(&self.scale).map(|(w, s)| (w * s) as f32).collect()
    }

    /// The gradient by scaled weights from that by raw ones.
    pub(super) fn scaled<'a>(&'a self, sums: &'a [f32]) -> impl Iterator<Item = f64> + 'a {
        sums.iter().zip(&self.scale).map(|(&sum, &scale)| f64::from(sum) * scale)
    }

    /// The score of a document by raw weights, less that of the mean document.
    pub(super) fn score(&self, row: &[f32], raw: &[f32]) -> f32 {
        lane_dot3(row, &self.mean, raw, |x, m, w| (x - m) * w)
    }

    /// `sums += times · (row − mean)`.
    pub(super) fn add(&self, sums: &mut [f32], row: &[f32], times: f32) {
        sums.iter_mut().zip(row.iter().zip(&self.mean)).for_each(|(sum, (&x, &m))| *sum += times * (x - m));
    }

    /// The ranker of these weights of scaled features; the mean document scores 0.
    pub(super) fn model(&self, weights: &[f64]) -> Model {
        self.model_of_raw(self.raw(weights))
    }

    /// The ranker of these weights of raw features; the mean document scores 0.
    pub(super) fn model_of_raw(&self, weights: Vec<f32>) -> Model {
        let bias = -weights.iter().zip(&self.mean).map(|(&w, &m)| f64::from(w) * f64::from(m)).sum::<f64>();
        Model::Weights { weights, bias: bias as f32 }
    }
}

fn not_finite(feature: usize) -> Error {
    Error::parameter(format!("features should be finite, but feature {} is not", feature + 1))
}

/// How many points a curve from values to ranks has: one for every thirty-second part of the documents.
const POINTS: usize = 33;

/// At most so many rows, evenly spaced, say how the values of a feature are distributed.
const SAMPLED_ROWS: usize = 1 << 18;

/// Each feature by the ranks of its values, as quantiles of the standard normal distribution.
fn rank_scaling(data: &Dataset) -> Result<Scaling> {
    let step = data.len().div_ceil(SAMPLED_ROWS).max(1);
    let curve = |feature: usize| {
        let column = (0..data.len()).step_by(step).map(|row| data.row(row)[feature]);
        rank_curve(column.collect()).ok_or_else(|| not_finite(feature))
    };
    let curves: Result<Vec<(Vec<f32>, Vec<f32>)>> = (0..data.feature_count()).into_par_iter().map(curve).collect();
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

/// The mean of each feature and 1 over its deviation.
fn feature_scale(data: &Dataset) -> (Vec<f32>, Vec<f64>) {
    let rows = data.len() as f64;
    let mut mean = vec![0.0_f64; data.feature_count()];
    for row in 0..data.len() {
        mean.iter_mut().zip(data.row(row)).for_each(|(sum, &x)| *sum += f64::from(x) / rows);
    }
    let mut variance = vec![0.0_f64; data.feature_count()];
    for row in 0..data.len() {
        let centred = data.row(row).iter().zip(&mean).map(|(&x, m)| f64::from(x) - m);
        variance.iter_mut().zip(centred).for_each(|(sum, d)| *sum += d * d / rows);
    }
    // Below this the deviation is rounding of the mean, not a difference between documents.
    let scale = |(v, m): (&f64, &f64)| if v.sqrt() > 1e-7 * m.abs() { 1.0 / v.sqrt() } else { 0.0 * v };
    let scales = variance.iter().zip(&mean).map(scale).collect();
    (mean.iter().map(|&m| m as f32).collect(), scales)
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
