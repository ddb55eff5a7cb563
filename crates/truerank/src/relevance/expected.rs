//! What to expect of an estimator on a log: exposures enter, its squared bias and variance leave.

use serde::Serialize;

use super::exposures::Cells;
use super::{Estimation, Estimator, Exposures, Weighing};
use crate::Result;
use crate::counts::Cell;

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
pub fn expected_errors(exposures: &Exposures<'_>, estimators: &[Estimator]) -> Result<Vec<ExpectedError>> {
    estimators.iter().map(|&estimator| Estimation::new(estimator).weigh(exposures)?.expected_error()).collect()
}

impl Weighing<'_> {
    fn expected_error(&self) -> Result<ExpectedError> {
        let (mut squared_bias, mut variance) = (0.0, 0.0);
        let log = self.exposures().cells()?;
        let of_block = |pairs: &mut dyn Iterator<Item = (usize, &[Cell])>| {
            let mut sum = (0.0, 0.0);
            for (pair, cells) in pairs {
                let (bias, variance) = self.expected_of(log, pair, cells)?;
                sum = (sum.0 + bias, sum.1 + variance);
            }
            Ok(sum)
        };
        log.map_blocks(of_block, |(bias, noise)| {
            squared_bias += bias;
            variance += noise;
        })?;
        let count = self.exposures().pairs.len().max(1) as f64;
        let estimator = self.estimator.to_string();
        Ok(ExpectedError { estimator, squared_bias: squared_bias / count, variance: variance / count })
    }

    /// Squared bias and variance of one document.
    fn expected_of(&self, log: &Cells<'_>, pair: usize, cells: &[Cell]) -> Result<(f64, f64)> {
        let moments = self.exposures().moments;
        let (mut level, mut variance) = (0.0, 0.0);
        for cell in cells {
            let theta = log.examined.of(cell).slope;
            // Nobody looked there: no click counts, whatever it would weigh.
            if theta == 0.0 {
                continue;
            }
            let (weight, shown) = (self.click_weight(log, pair, cell)?, cell.impressions as f64);
            level += shown * theta * weight;
            variance += shown * weight * weight * theta * (moments.mean - moments.mean_square * theta).max(0.0);
        }
        let bias = level - 1.0;
        Ok((moments.mean_square * bias * bias, variance))
    }
}
