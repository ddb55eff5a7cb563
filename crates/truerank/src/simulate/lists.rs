//! The documents that a logger shows for each query.

use crate::data::Dataset;
use crate::math::rank;
use crate::{Error, Result};

/// For each query of a data set, the rows of the documents shown, best first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownLists {
    ends: Vec<usize>,
    rows: Vec<u32>,
}

impl ShownLists {
    /// The `length` best documents of each query by `scores` (one per row); equal scores keep the order of the data.
    pub fn top(data: &Dataset, scores: &[f32], length: usize) -> Result<Self> {
        if scores.len() != data.len() {
            return Err(Error::parameter(format!("there are {} scores for {} documents", scores.len(), data.len())));
        }
        if length == 0 {
            return Err(Error::option("length", "is 0, but should be at least 1"));
        }
        let mut lists = ShownLists { ends: Vec::with_capacity(data.query_count()), rows: Vec::new() };
        for rows in data.lists() {
            let best = rank(&scores[rows.clone()]).into_iter().take(length);
            lists.rows.extend(best.map(|index| (rows.start + index) as u32));
            lists.ends.push(lists.rows.len());
        }
        Ok(lists)
    }

    /// How many queries there are.
    pub fn query_count(&self) -> usize {
        self.ends.len()
    }

    /// The rows shown for query number `query`.
    pub fn of(&self, query: usize) -> &[u32] {
        let start = if query == 0 { 0 } else { self.ends[query - 1] };
        &self.rows[start..self.ends[query]]
    }

    /// The rows shown for any query.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// The length of the longest list.
    pub fn longest(&self) -> usize {
        (0..self.query_count()).map(|query| self.of(query).len()).max().unwrap_or(0)
    }
}
