//! Features of one scale: a data set enters, each feature's mean and deviation leave, and weights go back to raw features.

use super::Model;
use crate::data::Dataset;
use crate::network::{Scaling, lane_dot3};
use crate::{Error, Result};

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
            Some(feature) => {
                Err(Error::parameter(format!("features should be finite, but feature {} is not", feature + 1)))
            }
            None => Ok(FeatureScale { mean, scale }),
        }
    }

    /// The same in single precision, for a network to carry.
    pub(super) fn scaling(&self) -> Result<Scaling> {
        // Features that differ by less than single precision can invert are stretched as far as it goes.
        let single = |&scale: &f64| scale.min(f64::from(f32::MAX)) as f32;
        Scaling::new(self.mean.clone(), self.scale.iter().map(single).collect())
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

/// How much larger than the median the largest deviation may be for features to be of one scale.
const ONE_SCALE: f64 = 10.0;

/// Whether the features of `data` are of so different scales that a layer norm over them would see the largest only: the
/// largest standard deviation is more than ten times the median one. Constant features do not count.
///
/// Where scales are alike, standardising each feature takes away what their spread tells, and rankers come out worse.
pub fn scales_differ(data: &Dataset) -> bool {
    let (_, scale) = feature_scale(data);
    let mut deviations: Vec<f64> = scale.iter().filter(|scale| **scale > 0.0).map(|scale| 1.0 / scale).collect();
    deviations.sort_unstable_by(f64::total_cmp);
    match deviations.last() {
        Some(largest) => *largest > ONE_SCALE * deviations[deviations.len() / 2],
        None => false,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::DatasetBuilder;
    use crate::ids::Ids;

    fn data(sizes: [f32; 4]) -> Dataset {
        let row = |index: usize| sizes.map(|size| size * (index % 2) as f32);
        DatasetBuilder {
            features: (0..6).flat_map(row).collect(),
            feature_count: 4,
            grades: None,
            queries: Ids::numbered(1),
            query_ends: vec![6],
            docs: None,
        }
        .build()
        .unwrap()
    }

    #[test]
    fn scales_differ_where_one_feature_outweighs_the_rest() {
        assert!(!scales_differ(&data([1.0, 2.0, 3.0, 9.0])));
        assert!(scales_differ(&data([1.0, 2.0, 3.0, 40.0])));
        // A constant feature has no scale.
        assert!(!scales_differ(&data([0.0, 0.0, 0.0, 40.0])));
        assert!(!scales_differ(&data([0.0; 4])));
    }
}
