//! Features of one scale before the first layer: a row of raw features enters, `(x − mean) · scale` leaves.

use crate::{Error, Result};

/// What is taken from each feature, and what the rest is multiplied by, before a network sees it.
///
/// Layer norm compares the features of one document with each other, so it sees little but the largest. That suits features
/// that lie in one range, as those of published data do; a score around 20 beside a price in thousands needs this first.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaling {
    mean: Vec<f32>,
    scale: Vec<f32>,
}

impl Scaling {
    /// A scaling by these numbers: as many means as scales, all finite, scales at least 0.
    pub fn new(mean: Vec<f32>, scale: Vec<f32>) -> Result<Self> {
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
            None => Ok(Scaling { mean, scale }),
        }
    }

    /// What is taken from each feature.
    pub fn mean(&self) -> &[f32] {
        &self.mean
    }

    /// What the rest is multiplied by; 0 leaves a feature out.
    pub fn scale(&self) -> &[f32] {
        &self.scale
    }

    /// `out = (row − mean) · scale`.
    #[inline(always)]
    pub(crate) fn apply(&self, row: &[f32], out: &mut [f32]) {
        for ((out, &x), (&mean, &scale)) in out.iter_mut().zip(row).zip(self.mean.iter().zip(&self.scale)) {
            *out = (x - mean) * scale;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_centred_and_scaled() {
        let scaling = Scaling::new(vec![1.0, -2.0, 5.0], vec![2.0, 0.5, 0.0]).unwrap();
        let mut out = [f32::NAN; 3];
        scaling.apply(&[4.0, 4.0, 4.0], &mut out);
        assert_eq!(out, [(4.0 - 1.0) * 2.0, (4.0 + 2.0) * 0.5, 0.0]);
    }

    #[test]
    fn numbers_that_scale_nothing_are_refused() {
        let refused = |mean: &[f32], scale: &[f32]| Scaling::new(mean.into(), scale.into()).unwrap_err().to_string();
        assert!(refused(&[1.0], &[1.0, 2.0]).ends_with("but has 1 means and 2 scales"));
        assert!(refused(&[1.0, f32::NAN], &[1.0, 1.0]).ends_with("but feature 2 has the mean NaN and the scale 1"));
        assert!(refused(&[1.0], &[-1.0]).ends_with("but feature 1 has the mean 1 and the scale -1"));
        assert!(refused(&[1.0], &[f32::INFINITY]).ends_with("the scale inf"));
    }
}
