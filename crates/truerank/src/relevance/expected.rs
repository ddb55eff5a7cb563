//! What to expect of an estimator on a log: exposures enter, its squared bias and variance leave.

use rayon::prelude::*;
use serde::Serialize;

use super::{Estimation, Estimator, Exposures, Weighing};
use crate::Result;
use crate::counts::Counts;
use crate::propensity::Propensities;

/// The expected error of an estimator's weights, averaged over shown documents, for the sessions as they are.
///
/// With `w` what a click counts, a weight is `γ·Σ nθw` in expectation, with variance `Σ n·w²·θγ(1−θγ)`. γ and γ² are
/// replaced by their means over the log.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExpectedError {
    /// The estimator's name.
    pub estimator: String,
    /// The mean of `γ²(Σ nθw − 1)²`.
    pub squared_bias: f64,
    /// The mean variance.
    pub variance: f64,
}

impl ExpectedError {
    /// Squared bias and variance together.
    pub fn mean_squared_error(&self) -> f64 {
        self.squared_bias + self.variance
    }
}

/// The expected error of each of `estimators`, without prior, clip or shrinkage.
pub fn expected_errors(
    counts: &Counts,
    propensities: &Propensities,
    estimators: &[Estimator],
) -> Result<Vec<ExpectedError>> {
    let exposures = Exposures::new(counts, propensities)?;
    estimators.iter().map(|&estimator| Estimation::new(estimator).weigh(&exposures)?.expected_error()).collect()
}

/// Pairs summed by one task: fixed, so that sums do not depend on the number of threads.
const CHUNK: usize = 4096;

impl Weighing<'_> {
    fn expected_error(&self) -> Result<ExpectedError> {
        let pairs: Vec<usize> = (0..self.exposures().pairs.len()).collect();
        let sums: Vec<Result<(f64, f64)>> = pairs
            .par_chunks(CHUNK)
            .map(|pairs| {
                pairs.iter().try_fold((0.0, 0.0), |sum, &pair| {
                    let (bias, variance) = self.expected_of(pair)?;
                    Ok((sum.0 + bias, sum.1 + variance))
                })
            })
            .collect();
        let (mut squared_bias, mut variance) = (0.0, 0.0);
        for sum in sums {
            let (bias, noise) = sum?;
            squared_bias += bias;
            variance += noise;
        }
        let count = pairs.len().max(1) as f64;
        let estimator = self.estimator.to_string();
        Ok(ExpectedError { estimator, squared_bias: squared_bias / count, variance: variance / count })
    }

    /// Squared bias and variance of one document.
    fn expected_of(&self, pair: usize) -> Result<(f64, f64)> {
        let moments = self.exposures().moments;
        let (mut level, mut variance) = (0.0, 0.0);
        for cell in self.exposures().cells(pair) {
            let theta = self.exposures().examination.of(cell.user, cell.position);
            // Nobody looked there: no click counts, whatever it would weigh.
            if theta == 0.0 {
                continue;
            }
            let (weight, shown) = (self.click_weight(pair, cell)?, cell.impressions as f64);
            level += shown * theta * weight;
            variance += shown * weight * weight * theta * (moments.mean - moments.mean_square * theta).max(0.0);
        }
        let bias = level - 1.0;
        Ok((moments.mean_square * bias * bias, variance))
    }
}
