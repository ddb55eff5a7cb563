//! Turns clicks into relevance: cells and examination probabilities to a weight for each document of each query.

mod estimator;
mod file;
mod model;
mod moments;
mod pairs;
mod smoothing;

pub use estimator::{Estimator, Smoothing, estimate};
pub use model::{Relevance, Weight};
pub use pairs::{PairWeights, QueryPairs, pair_weights};
pub use smoothing::{least_error_beta, likelihood_beta};
