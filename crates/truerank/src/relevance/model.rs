//! Relevance weights, with what stands behind each of them.

use crate::ids::Ids;

/// ŷ(q,d) for every shown document of every query.
#[derive(Debug, Clone, PartialEq)]
pub struct Relevance {
    /// Which estimator made the weights, such as `user-aware`.
    pub estimator: String,
    /// The strength of smoothing, where the estimator smooths.
    pub beta: Option<f64>,
    /// Queries, sorted.
    pub queries: Ids,
    /// Documents, sorted.
    pub docs: Ids,
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
    /// The variance of `weight` for the given sessions.
    pub variance: f64,
}
