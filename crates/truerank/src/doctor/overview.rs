//! What is in a log: counts enter, sizes and spreads leave.

use serde::Serialize;

use crate::Result;
use crate::counts::{Cell, CountsView, Totals, by_document};
use crate::data::Dataset;

/// How large a log is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sizes {
    /// Documents shown.
    pub impressions: u64,
    /// Documents clicked.
    pub clicks: u64,
    /// Result pages.
    pub sessions: u64,
    /// Distinct queries.
    pub queries: u64,
    /// Distinct documents, counted for each query anew.
    pub documents: u64,
    /// Distinct users.
    pub users: u64,
    /// Distinct (query, document, position, user).
    pub cells: u64,
    /// Features of documents; 0 where there are none.
    pub features: u64,
}

/// What happened at a position.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AtPosition {
    /// The position, from 1.
    pub position: u32,
    /// Documents shown there.
    pub impressions: u64,
    /// Documents clicked there.
    pub clicks: u64,
}

/// How unequal numbers are: least, quartiles, largest.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spread {
    /// The least.
    pub least: u64,
    /// A quarter is at most this.
    pub lower_quartile: u64,
    /// Half is at most this.
    pub median: u64,
    /// The 75th percentile.
    pub upper_quartile: u64,
    /// The largest.
    pub largest: u64,
    /// The mean.
    pub mean: f64,
    /// The share of those that are 1.
    pub single: f64,
}

/// How much documents moved.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Variation {
    /// The share of (query, document) seen at several positions.
    pub documents: f64,
    /// Their share of the impressions.
    pub impressions: f64,
}

impl Sizes {
    pub(super) fn of(counts: &dyn CountsView, data: Option<&Dataset>) -> Self {
        let Totals { sessions, impressions, clicks, cells, shown, .. } = counts.totals();
        Sizes {
            impressions,
            clicks,
            sessions,
            queries: counts.queries().len() as u64,
            documents: shown,
            users: counts.users().len() as u64,
            cells,
            features: data.map_or(0, |data| data.feature_count() as u64),
        }
    }
}

impl AtPosition {
    /// Clicks per impression.
    pub fn click_rate(&self) -> f64 {
        self.clicks as f64 / self.impressions.max(1) as f64
    }

    /// Positions without impressions are left out.
    pub(super) fn all(counts: &dyn CountsView) -> Result<Vec<Self>> {
        let positions = 1..=counts.totals().max_position;
        let mut sums: Vec<AtPosition> =
            positions.map(|position| AtPosition { position, impressions: 0, clicks: 0 }).collect();
        counts.for_each_cells(|cells| {
            for cell in cells {
                let sum = &mut sums[cell.position as usize - 1];
                sum.impressions += cell.impressions;
                sum.clicks += cell.clicks;
            }
        })?;
        sums.retain(|sum| sum.impressions > 0);
        Ok(sums)
    }
}

impl Spread {
    pub(super) fn of(mut numbers: Vec<u64>) -> Self {
        numbers.sort_unstable();
        let at = |share: f64| numbers.get((share * numbers.len().saturating_sub(1) as f64) as usize).map_or(0, |n| *n);
        let count = numbers.len().max(1) as f64;
        Spread {
            least: at(0.0),
            lower_quartile: at(0.25),
            median: at(0.5),
            upper_quartile: at(0.75),
            largest: at(1.0),
            mean: numbers.iter().sum::<u64>() as f64 / count,
            single: numbers.iter().filter(|&&n| n == 1).count() as f64 / count,
        }
    }
}

impl Variation {
    pub(super) fn of(counts: &dyn CountsView) -> Result<Self> {
        let (mut moved, mut moved_impressions) = (0u64, 0u64);
        counts.for_each_cells(|cells| {
            let has_moved = |pair: &&[Cell]| pair[0].position != pair[pair.len() - 1].position;
            for pair in by_document(cells).filter(has_moved) {
                moved += 1;
                moved_impressions += pair.iter().map(|cell| cell.impressions).sum::<u64>();
            }
        })?;
        let totals = counts.totals();
        Ok(Variation {
            documents: moved as f64 / totals.shown.max(1) as f64,
            impressions: moved_impressions as f64 / totals.impressions.max(1) as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::Counts;

    #[test]
    fn a_spread_has_the_quartiles_of_its_numbers() {
        let spread = Spread::of(vec![9, 1, 1, 5, 3]);
        let expected =
            Spread { least: 1, lower_quartile: 1, median: 3, upper_quartile: 5, largest: 9, mean: 3.8, single: 0.4 };
        assert_eq!(spread, expected);
        assert_eq!(Spread::of(Vec::new()).largest, 0);
    }

    #[test]
    fn documents_that_moved_are_counted_with_their_impressions() {
        let cell = |doc, position, impressions| Cell { query: 0, doc, position, user: 0, impressions, clicks: 0 };
        let counts = Counts { cells: vec![cell(0, 1, 3), cell(0, 2, 1), cell(1, 2, 4)], ..Counts::default() };
        assert_eq!(Variation::of(&counts).unwrap(), Variation { documents: 0.5, impressions: 0.5 });
        let positions: Vec<_> =
            AtPosition::all(&counts).unwrap().iter().map(|at| (at.position, at.impressions)).collect();
        assert_eq!(positions, [(1, 3), (2, 5)]);
    }
}
