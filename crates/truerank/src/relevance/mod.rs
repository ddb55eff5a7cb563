//! Turns clicks into relevance: cells and examination probabilities to a weight for each document of each query.
//!
//! [`estimate`] is the short form; [`Estimation`] adds a prior, clipping and shrinkage;
//! [`EstimationChoice`] is the default for people's own logs and what they ask for instead; [`Diagnostics`] says how much the
//! weights depend on few clicks.
//!
//! # How weighing works
//!
//! Every estimator is one formula, `ŷ = Σ c·w`, with its own weight of a click, and so is its variance, `Σ n·w²·θγ(1−θγ)`.
//! `Exposures` are the sums per document that all estimators share, made once in a pass over blocks of counts; out of these
//! and an [`Estimation`] comes a `Weighing`, which gives weights and diagnostics. `smoothing` chooses β and `shrinkage` the
//! strength, both by least estimated error. `predict` makes a prior from features, each query predicted by models that did
//! not see it; `position` makes one from where documents are shown. `training` turns shrunk weights into the labels of a
//! ranker, which needs less of the prior than an estimate of one document does. `pairs` prepares the PRS loss from click
//! patterns: a matrix of weights per query, or two where the weight of a pair depends on which document is scored higher, so
//! that training needs no sessions either way.
//!
//! Tests: `theorems.rs` checks the paper's two theorems by simulation and the cells against the loop over sessions;
//! `gains.rs` and `lists.rs` check priors and varying lists against simulated truth.

mod as_model;
mod behaviours;
mod choice;
#[cfg(test)]
mod click_models;
mod correction;
mod diagnostics;
mod estimation;
mod estimator;
#[cfg(test)]
mod everywhere;
mod examined;
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
mod summed;
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
pub(crate) use exposures::PairSums;
#[cfg(test)]
pub(crate) use exposures::SUMS;
pub use known::KnownLog;
pub use model::{Clipped, Correction, Relevance, Weight};
pub use pairs::{PairRatio, PairWeights, QueryPairs, ScoredPairs, pair_weights};
pub use predict::{RelevancePredictor, calibrate};
pub use prior::{PredictedRelevance, Prior, PriorKind, Shrink};
pub use smoothing::{least_error_beta, likelihood_beta};
pub(crate) use summed::{CellSums, SummedExposures};
pub use weighing::Weighing;
