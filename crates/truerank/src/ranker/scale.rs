//! Features of one scale: a data set enters, each feature's mean and deviation leave, and weights go back to raw features.
//! [`FeatureScaling`] lists the ways to scale what a network sees.

use super::Model;
use crate::Result;
use crate::data::Dataset;
use crate::named::named;
use crate::network::{Architecture, Network, Scaling, lane_dot3, not_finite, rank_scaling};

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
            FeatureScaling::Rank => network.scaled(rank_scaling(data.features(), data.feature_count())?),
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
