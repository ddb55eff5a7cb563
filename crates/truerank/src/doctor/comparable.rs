//! Which positions and users can be compared at all, in the words of the identifiability check.

use serde::Serialize;

use crate::Result;
use crate::propensity::Joined;

/// Which examination probabilities clicks can tell apart from relevance.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparable {
    /// Whether at least some positions can be compared.
    pub positions: bool,
    /// Into how many sets the positions fall that nothing compares.
    pub pieces: usize,
    /// The same for pairs of a user and a position.
    pub user_pieces: usize,
    /// The share of impressions in the largest set of users and positions.
    pub largest: f64,
    /// What falls apart, and what would connect it.
    pub help: Vec<String>,
}

impl Comparable {
    pub(super) fn of(log: &Joined<'_>) -> Result<Self> {
        let by_features = log.data.is_some();
        let (population, users) = (log.comparable_positions(by_features)?, log.comparable_users(by_features)?);
        let total: u64 = users.pieces.iter().map(|piece| piece.impressions).sum();
        let largest = users.pieces.first().map_or(0, |piece| piece.impressions);
        Ok(Comparable {
            positions: !population.pieces.is_empty() && !population.nothing_connects_positions(),
            pieces: population.pieces.len(),
            user_pieces: users.pieces.len(),
            largest: largest as f64 / total.max(1) as f64,
            help: population.explain(log.counts.users()).iter().map(|line| sentence(line)).collect(),
        })
    }
}

/// A line as a sentence.
pub(crate) fn sentence(line: &str) -> String {
    let mut letters = line.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}
