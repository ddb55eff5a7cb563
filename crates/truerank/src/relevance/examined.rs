//! Who looks where, cell by cell: by user and position, or by a click model, given the clicks above.

use rayon::prelude::*;

use crate::Result;
use crate::click_model::{ClickLog, ClickModel, ModelOnLog, exposed_after};
use crate::counts::{Cell, CountsView, Transition, Transitions};
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

/// Sums over the impressions of a cell.
type Sum = (Key, f64, Exposure);

fn of_transitions(
    counts: &dyn CountsView,
    transitions: &Transitions,
    model: &ClickModel,
) -> Result<Vec<(Key, Exposure)>> {
    let log = ClickLog { transitions, queries: counts.queries(), docs: counts.docs(), users: counts.users() };
    let on = model.on(&log)?;
    let lists: Vec<&[Transition]> = transitions.rows.chunk_by(|a, b| a.list == b.list).collect();
    let sums: Vec<Vec<Sum>> = lists.par_iter().map(|rows| of_list(&on, transitions, rows)).collect();
    let mut sums = sums.concat();
    // Stable: what is added up stays in the order of lists.
    sums.sort_by_key(|(key, ..)| *key);
    Ok(sums.chunk_by(|a, b| a.0 == b.0).map(mean).collect())
}

fn mean(same: &[Sum]) -> (Key, Exposure) {
    let total: f64 = same.iter().map(|(_, shown, _)| shown).sum();
    let mean = |value: fn(&Exposure) -> f64| {
        same.iter().map(|(_, shown, exposure)| shown * value(exposure)).sum::<f64>() / total
    };
    let exposure = Exposure {
        slope: mean(|it| it.slope),
        square: mean(|it| it.square),
        shift: mean(|it| it.shift),
        average: (mean(|it| it.average.0), mean(|it| it.average.1)),
    };
    (same[0].0, exposure)
}

/// The exposures of a list's documents to each user, by where the last click was.
fn of_list(on: &ModelOnLog<'_>, transitions: &Transitions, rows: &[Transition]) -> Vec<Sum> {
    let number = rows[0].list as usize;
    let (list, shown) = (on.list(number), transitions.of(&transitions.lists[number]));
    let (page, query) = (list.view(), transitions.lists[number].query);
    let population = on.population();
    let mut sums = Vec::new();
    for of_user in rows.chunk_by(|a, b| a.user == b.user) {
        let followed = on.of_user(of_user[0].user);
        for steps in of_user.chunk_by(|a, b| a.from == b.from) {
            let from = list.positions.partition_point(|&position| position <= steps[0].from);
            let own = exposed_after(&followed, &page, from);
            let average = exposed_after(&population, &page, from);
            let mut at_risk: u64 = steps.iter().map(|row| row.sessions).sum();
            for ((own, average), listed) in own.iter().zip(&average).zip(&shown[from..]) {
                if at_risk == 0 {
                    break;
                }
                let key = (query, listed.doc, listed.position, of_user[0].user);
                // A slope below 0 would have irrelevant documents clicked more.
                let slope = own.slope.max(0.0);
                let average = (average.slope.max(0.0), average.shift);
                sums.push((key, at_risk as f64, Exposure { slope, square: slope * slope, shift: own.shift, average }));
                at_risk -= steps.iter().filter(|row| row.to == listed.position).map(|row| row.sessions).sum::<u64>();
            }
        }
    }
    sums
}
