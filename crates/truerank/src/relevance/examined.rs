//! Who looks where, cell by cell: by user and position, or by a click model, given the clicks above.

use crate::Result;
use crate::click_model::{ClickLog, ClickModel, ModelCell};
use crate::counts::{Cell, CountsView, Transitions};
use crate::propensity::Examination;

/// The probability of examination in each cell.
pub(super) enum Examined<'a> {
    /// θ(u,k), whatever was clicked above.
    ByPosition(Examination<'a>),
    /// The mean exposure of each cell under a click model.
    ByModel(ModelExposures),
}

/// `P(click) = slope·γ + shift`, averaged over the impressions of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Exposure {
    pub slope: f64,
    /// The mean of the slope's square.
    pub square: f64,
    pub shift: f64,
    /// Slope and shift if average users had looked.
    pub average: (f64, f64),
}

impl Exposure {
    /// The variance of a click in an impression of a document of this relevance.
    pub fn variance(&self, relevance: f64) -> f64 {
        // Relative propensities may be above 1, a click is not.
        let click = (self.slope * relevance + self.shift).min(1.0);
        // Exposures that differ within a cell take from the variance of one mean exposure.
        let spread = (self.square - self.slope * self.slope).max(0.0) * relevance * relevance;
        (click * (1.0 - click) - spread).max(0.0)
    }
}

impl Examined<'_> {
    /// What holds in a cell.
    pub fn of(&self, cell: &Cell) -> Exposure {
        match self {
            Examined::ByPosition(examination) => {
                let slope = examination.of(cell.user, cell.position);
                let average = (examination.average_at(cell.position), 0.0);
                Exposure { slope, square: slope * slope, shift: 0.0, average }
            }
            Examined::ByModel(exposures) => exposures.of(cell),
        }
    }
}

/// Query, document, position and user of a cell.
type Key = (u32, u32, u32, u32);

/// Exposures by cell.
pub(super) struct ModelExposures {
    /// Sorted.
    cells: Vec<(Key, Exposure)>,
}

impl ModelExposures {
    /// `E = Σ n(k′,k)·ε(L,u,k′,k)` of each cell, from the transitions of the counts.
    pub fn new(counts: &dyn CountsView, model: &ClickModel) -> Result<Self> {
        let mut cells = Vec::new();
        for block in counts.blocks() {
            let transitions = ClickLog::transitions_of(counts, &block)?;
            if !transitions.rows.is_empty() {
                cells.extend(of_transitions(counts, &transitions, model)?);
            }
        }
        Ok(ModelExposures { cells })
    }

    fn of(&self, cell: &Cell) -> Exposure {
        let key = (cell.query, cell.doc, cell.position, cell.user);
        let found = self.cells.binary_search_by_key(&key, |(key, _)| *key);
        found.map_or_else(|_| Exposure::default(), |place| self.cells[place].1)
    }
}

fn of_transitions(
    counts: &dyn CountsView,
    transitions: &Transitions,
    model: &ClickModel,
) -> Result<Vec<(Key, Exposure)>> {
    let (queries, docs, users) = (counts.queries(), counts.docs(), counts.users());
    let log = ClickLog { transitions, queries, docs, users, contexts: counts.contexts() };
    let key = |cell: &ModelCell| (cell.query, cell.doc, cell.position, cell.user);
    let mut cells = model.on(&log)?.cells();
    // Stable: what is added up stays in the order of lists.
    cells.sort_by_key(key);
    Ok(cells.chunk_by(|a, b| key(a) == key(b)).map(|same| (key(&same[0]), mean(same))).collect())
}

/// The mean over the impressions of a cell, whatever was clicked above.
fn mean(same: &[ModelCell]) -> Exposure {
    let total: f64 = same.iter().map(|cell| cell.shown as f64).sum();
    let mean =
        |value: fn(&ModelCell) -> f64| same.iter().map(|cell| cell.shown as f64 * value(cell)).sum::<f64>() / total;
    // A slope below 0 would have irrelevant documents clicked more.
    Exposure {
        slope: mean(|cell| cell.exposed.slope.max(0.0)),
        square: mean(|cell| cell.exposed.slope.max(0.0).powi(2)),
        shift: mean(|cell| cell.exposed.shift),
        average: (mean(|cell| cell.average.slope.max(0.0)), mean(|cell| cell.average.shift)),
    }
}
