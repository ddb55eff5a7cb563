//! Turns clicks into relevance: cells and examination probabilities to a weight for each document of each query.
//!
//! [`estimate`] is the short form; [`Estimation`] adds a prior, clipping and shrinkage;
//! [`EstimationChoice`] is the default for people's own logs and what they ask for instead; [`Diagnostics`] says how much the
//! weights depend on few clicks.

mod choice;
mod correction;
mod diagnostics;
mod estimation;
mod estimator;
#[cfg(test)]
mod everywhere;
mod expected;
mod exposures;
mod file;
#[cfg(test)]
mod gains;
mod known;
#[cfg(test)]
mod lists;
mod model;
mod moments;
mod pairs;
mod position;
mod predict;
mod prior;
mod shrinkage;
mod smoothing;
#[cfg(test)]
mod theorems;
mod training;
mod weighing;

pub use choice::{EstimationChoice, RelevanceOptions};
pub use diagnostics::{ClickWeight, Diagnostics, EffectiveSizes};
pub use estimation::{Estimation, estimate};
pub use estimator::{Estimator, EstimatorKind, Estimators, Smoothing};
pub use expected::{ExpectedError, expected_errors};
pub use exposures::Exposures;
#[cfg(test)]
pub(crate) use exposures::SUMS;
pub use known::KnownLog;
pub use model::{Clipped, Correction, Relevance, Weight};
pub use pairs::{PairRatio, PairWeights, QueryPairs, ScoredPairs, pair_weights};
pub use predict::{RelevancePredictor, calibrate};
pub use prior::{PredictedRelevance, Prior, PriorKind, Shrink};
pub use smoothing::{least_error_beta, likelihood_beta};
pub use weighing::Weighing;
