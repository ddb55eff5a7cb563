//! The order in which a log showed the documents of a data set: who ranked them may be unknown, the lists are not.

use super::run::JudgedOn;
use crate::Result;
use crate::counts::Counts;
use crate::data::{Dataset, RowFinder, Splits};
use crate::evaluate::{Evaluation, Evaluator};

/// The mean position at which each row of a data set was shown.
pub(super) struct AsShown<'a> {
    data: &'a Dataset,
    positions: Vec<Option<f64>>,
}

impl<'a> AsShown<'a> {
    pub fn new(counts: &Counts, data: &'a Dataset) -> Self {
        let pairs: Vec<(u32, u32)> = counts.cells.iter().map(|cell| (cell.query, cell.doc)).collect();
        let rows = RowFinder::new(data, &counts.queries, &counts.docs).find_pairs(&pairs);
        let mut sums = vec![(0u64, 0u64); data.len()];
        for (cell, row) in counts.cells.iter().zip(rows) {
            if let Some(row) = row {
                let sum = &mut sums[row as usize];
                *sum = (sum.0 + u64::from(cell.position) * cell.impressions, sum.1 + cell.impressions);
            }
        }
        let mean = |(sum, count): (u64, u64)| (count > 0).then(|| sum as f64 / count as f64);
        AsShown { data, positions: sums.into_iter().map(mean).collect() }
    }

    /// The rows that were shown, by query.
    pub fn rows(&self) -> Vec<Vec<u32>> {
        let shown = |row: &usize| self.positions[*row].is_some();
        self.data.lists().map(|rows| rows.filter(shown).map(|row| row as u32).collect()).collect()
    }

    /// Whether the log has each query.
    fn queries(&self) -> Vec<bool> {
        self.data.lists().map(|rows| self.positions[rows].iter().any(Option::is_some)).collect()
    }

    /// The measures of these lists for each query that the log has; what was not shown comes last.
    fn evaluate(&self, evaluator: &Evaluator) -> Result<Evaluation> {
        let score = |position: &Option<f64>| position.map_or(f64::NEG_INFINITY, |position| -position);
        let mut evaluation = evaluator.evaluate(self.data, &self.positions.iter().map(score).collect::<Vec<f64>>())?;
        let queries = self.queries();
        for values in &mut evaluation.values {
            let mut known = queries.iter();
            values.retain(|_| known.next() == Some(&true));
        }
        Ok(evaluation)
    }
}

/// Judges the lists of a log by grades: those of the test queries where the log has all of them, and of the training queries
/// otherwise.
pub(super) fn judge(counts: &Counts, data: &Splits, evaluator: &Evaluator) -> Result<(Evaluation, JudgedOn)> {
    let on_test = AsShown::new(counts, &data.test);
    match on_test.queries().into_iter().all(|known| known) {
        true => Ok((on_test.evaluate(evaluator)?, JudgedOn::Test)),
        false => Ok((AsShown::new(counts, &data.train).evaluate(evaluator)?, JudgedOn::Training)),
    }
}
