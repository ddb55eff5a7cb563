//! Relevance weights, with what stands behind each of them.

use super::PriorKind;
use crate::ids::Ids;

/// ŷ(q,d) for every shown document of every query.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Relevance {
    /// Which estimator made the weights, such as `user-aware`.
    pub estimator: String,
    /// The strength of smoothing, where the estimator smooths.
    pub beta: Option<f64>,
    /// The prior and how far it was corrected; by default not at all.
    pub correction: Correction,
    /// Queries, sorted.
    pub queries: Ids,
    /// Documents, sorted.
    pub docs: Ids,
    /// The prior relevance of a document that is shown at position 1, 2, …; empty where the prior is another.
    pub by_position: Vec<f64>,
    /// Sorted by query, document.
    pub weights: Vec<Weight>,
}

/// The relevance weight of one document for one query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weight {
    /// Number of the query.
    pub query: u32,
    /// Number of the document.
    pub doc: u32,
    /// ŷ(q,d): an estimate of the probability that the document is relevant. It may exceed 1 by chance.
    pub weight: f64,
    /// How often the document was shown.
    pub impressions: u64,
    /// How often it was clicked.
    pub clicks: u64,
    /// E(q,d) = Σ n·θ(u,k): how often it was examined, in expectation.
    pub exposure: f64,
    /// D: what its clicks are divided by. Not a number where the file is from before it was kept.
    pub divisor: f64,
    /// The variance of `weight` for the given sessions; a prior is taken as given.
    pub variance: f64,
}

/// How weights differ from clicks over exposure.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Correction {
    /// Where the prior came from.
    pub prior: PriorKind,
    /// The mean relevance of the log, where the prior used it.
    pub mean: Option<f64>,
    /// Documents without a prediction, which got the mean.
    pub unpredicted: u64,
    /// τ: exposures below τ·n(q,d) were raised to it.
    pub clip: Option<f64>,
    /// b: what was added to exposures.
    pub shrink: Option<f64>,
    /// What τ concerned.
    pub clipped: Clipped,
}

/// What was clipped.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Clipped {
    /// Documents whose exposure was raised.
    pub documents: u64,
    /// Their share of all clicks.
    pub clicks: f64,
    /// Their share of all exposure.
    pub exposure: f64,
}
