//! Features of one scale before the first layer: a row of raw features enters, a scaled row leaves.

use crate::{Error, Result};

/// What becomes of each feature before a network sees it. Training fits it to the training data first, and then leaves it alone.
#[derive(Debug, Clone, PartialEq)]
pub enum Scaling {
    /// `(x − mean) · scale`.
    Linear(LinearScaling),
    /// A line through points: a monotone curve, such as that from a value to its rank.
    Curve(CurveScaling),
}

/// What is taken from each feature, and what the rest is multiplied by.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearScaling {
    mean: Vec<f32>,
    scale: Vec<f32>,
}

/// For each feature the same number of points, from the least value to the largest. Values between two points lie on the line
/// between them; values outside get what the first or the last point gets, so that no outlier outweighs the rest.
#[derive(Debug, Clone, PartialEq)]
pub struct CurveScaling {
    points: usize,
    values: Vec<f32>,
    scaled: Vec<f32>,
}

impl Scaling {
    /// A scaling by these numbers: as many means as scales, all finite, scales at least 0. A scale of 0 leaves a feature out.
    pub fn linear(mean: Vec<f32>, scale: Vec<f32>) -> Result<Self> {
        if mean.len() != scale.len() {
            let (means, scales) = (mean.len(), scale.len());
            return Err(Error::parameter(format!(
                "a scaling should have a mean and a scale for each feature, but has {means} means and {scales} scales"
            )));
        }
        let bad = |(&m, &s): (&f32, &f32)| !(m.is_finite() && s.is_finite() && s >= 0.0);
        match mean.iter().zip(&scale).position(bad) {
            Some(feature) => Err(Error::parameter(format!(
                "a scaling should have finite means and scales of at least 0, but feature {} has the mean {} and the scale {}",
                feature + 1,
                mean[feature],
                scale[feature]
            ))),
            None => Ok(Scaling::Linear(LinearScaling { mean, scale })),
        }
    }

    /// A scaling by curves of so many `points` each: where they are, and what the scaled feature is there, feature by feature.
    pub fn curve(points: usize, from: Vec<f32>, to: Vec<f32>) -> Result<Self> {
        if points == 0 || from.len() != to.len() || !from.len().is_multiple_of(points) {
            return Err(Error::parameter(format!(
                "a scaling should have {points} points for each feature, but has {} values and {} scaled ones",
                from.len(),
                to.len()
            )));
        }
        let is_bad = |(from, to): (&[f32], &[f32])| {
            let width = from[points - 1] - from[0];
            !(width.is_finite() && from.is_sorted() && to.iter().all(|to| to.is_finite()))
        };
        match from.chunks_exact(points).zip(to.chunks_exact(points)).position(is_bad) {
            Some(feature) => Err(Error::parameter(format!(
                "a scaling should have finite points in order, but those of feature {} are not",
                feature + 1
            ))),
            None => Ok(Scaling::Curve(CurveScaling { points, values: from, scaled: to })),
        }
    }

    /// How many features it is of.
    pub fn feature_count(&self) -> usize {
        match self {
            Scaling::Linear(scaling) => scaling.mean.len(),
            Scaling::Curve(scaling) => scaling.values.len() / scaling.points,
        }
    }

    /// Scales a row of features into `out`.
    #[inline(always)]
    pub(crate) fn apply(&self, row: &[f32], out: &mut [f32]) {
        match self {
            Scaling::Linear(scaling) => scaling.apply(row, out),
            Scaling::Curve(scaling) => scaling.apply(row, out),
        }
    }
}

impl LinearScaling {
    /// What is taken from each feature.
    pub fn mean(&self) -> &[f32] {
        &self.mean
    }

    /// What the rest is multiplied by; 0 leaves a feature out.
    pub fn scale(&self) -> &[f32] {
        &self.scale
    }

    #[inline(always)]
    fn apply(&self, row: &[f32], out: &mut [f32]) {
        for ((out, &x), (&mean, &scale)) in out.iter_mut().zip(row).zip(self.mean.iter().zip(&self.scale)) {
            *out = (x - mean) * scale;
        }
    }
}

impl CurveScaling {
    /// How many points each feature has.
    pub fn points(&self) -> usize {
        self.points
    }

    /// Where the points are, feature by feature; equal ones stand at the end of features with fewer values.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// What the scaled feature is there.
    pub fn scaled(&self) -> &[f32] {
        &self.scaled
    }

    fn apply(&self, row: &[f32], out: &mut [f32]) {
        let curves = self.values.chunks_exact(self.points).zip(self.scaled.chunks_exact(self.points));
        for ((out, &x), (from, to)) in out.iter_mut().zip(row).zip(curves) {
            *out = on_curve(x, from, to);
        }
    }
}

/// The value at `x` of the line through the points; NaN stays NaN.
fn on_curve(x: f32, from: &[f32], to: &[f32]) -> f32 {
    let last = from.len() - 1;
    if x <= from[0] {
        return to[0];
    }
    if x >= from[last] {
        return to[last];
    }
    // Two neighbours that differ, because x is above the first and below the last. (NaN is beside the first two.)
    let right = from.partition_point(|from| *from <= x).clamp(1, last.max(1));
    let left = right - 1;
    match from.get(right) {
        Some(end) => to[left] + (x - from[left]) * ((to[right] - to[left]) / (end - from[left])),
        None => x,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rows_are_centred_and_scaled() {
        let scaling = Scaling::linear(vec![1.0, -2.0, 5.0], vec![2.0, 0.5, 0.0]).unwrap();
        let mut out = [f32::NAN; 3];
        scaling.apply(&[4.0, 4.0, 4.0], &mut out);
        assert_eq!(out, [(4.0 - 1.0) * 2.0, (4.0 + 2.0) * 0.5, 0.0]);
    }

    #[test]
    fn values_lie_on_lines_between_points_and_flat_outside() {
        let (from, to) = ([0.0, 2.0, 10.0, 10.0], [-1.0, 0.0, 4.0, 4.0]);
        let value = |x: f32| on_curve(x, &from, &to);
        assert_eq!([-5.0, 0.0, 1.0, 2.0, 4.0, 10.0, 1e30].map(value), [-1.0, -1.0, -0.5, 0.0, 1.0, 4.0, 4.0]);
        assert_eq!([f32::INFINITY, f32::NEG_INFINITY].map(value), [4.0, -1.0]);
        assert!(value(f32::NAN).is_nan() && on_curve(f32::NAN, &[3.0], &[0.0]).is_nan());
        assert_eq!(on_curve(7.0, &[3.0; 4], &[0.5; 4]), 0.5);
        let scaling = Scaling::curve(2, vec![0.0, 1.0, 5.0, 7.0], vec![0.0, 1.0, -1.0, 1.0]).unwrap();
        let mut out = [f32::NAN; 2];
        scaling.apply(&[0.25, 6.0], &mut out);
        assert_eq!((scaling.feature_count(), out), (2, [0.25, 0.0]));
    }

    proptest! {
        #[test]
        fn curves_that_rise_keep_the_order_of_values(
            mut from in prop::collection::vec(-50.0_f32..50.0, 1..9), mut xs in prop::collection::vec(-70.0_f32..70.0, 2..20),
        ) {
            from.sort_by(f32::total_cmp);
            xs.sort_by(f32::total_cmp);
            let to: Vec<f32> = (0..from.len()).map(|i| i as f32).collect();
            let values: Vec<f32> = xs.iter().map(|&x| on_curve(x, &from, &to)).collect();
            prop_assert!(values.windows(2).all(|pair| pair[0] <= pair[1] + 1e-5), "{:?}", values);
        }
    }

    #[test]
    fn numbers_that_scale_nothing_are_refused() {
        let refused = |mean: &[f32], scale: &[f32]| Scaling::linear(mean.into(), scale.into()).unwrap_err().to_string();
        assert!(refused(&[1.0], &[1.0, 2.0]).ends_with("but has 1 means and 2 scales"));
        assert!(refused(&[1.0, f32::NAN], &[1.0, 1.0]).ends_with("but feature 2 has the mean NaN and the scale 1"));
        assert!(refused(&[1.0], &[-1.0]).ends_with("but feature 1 has the mean 1 and the scale -1"));
        assert!(refused(&[1.0], &[f32::INFINITY]).ends_with("the scale inf"));
        let refused =
            |points, from: &[f32], to: &[f32]| Scaling::curve(points, from.into(), to.into()).unwrap_err().to_string();
        assert!(refused(2, &[1.0; 3], &[1.0; 3]).ends_with("but has 3 values and 3 scaled ones"));
        assert!(refused(0, &[], &[]).starts_with("a scaling should have 0 points"));
        let bad = "finite points in order, but those of feature 2 are not";
        for (from, to) in [([3.0, 2.0], [0.0, 1.0]), ([f32::NAN, 2.0], [0.0, 1.0]), ([-3e38, 3e38], [0.0, 1.0])] {
            assert!(refused(2, &[[0.0, 1.0], from].concat(), &[[0.0, 1.0], to].concat()).ends_with(bad));
        }
        assert!(refused(1, &[1.0, 2.0], &[1.0, f32::INFINITY]).ends_with(bad));
    }
}
