//! What a model says of every (list, user, last click, document) of a log: transitions enter, exposures and clicks leave.

use super::browsing::{Exposed, floored};
use super::model::{ModelOnLog, exposed_after};
use crate::counts::Transition;

/// How often a document was at risk of the next click, and what a model says of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelCell {
    /// Number of the query.
    pub query: u32,
    /// Number of the document.
    pub doc: u32,
    /// Position, counted from 1.
    pub position: u32,
    /// Number of the user.
    pub user: u32,
    /// Position of the last click above it, 0 for none.
    pub last_click: u32,
    /// Sessions that saw it after that click and no other.
    pub shown: u64,
    /// Sessions that clicked it.
    pub clicks: u64,
    /// Its exposure to the user, given the clicks above.
    pub exposed: Exposed,
    /// Its exposure if the population had looked.
    pub average: Exposed,
    /// The probability of a click on it, given the clicks above.
    pub probability: f64,
}

impl ModelOnLog<'_> {
    /// The cells of all lists, one list after another.
    pub fn cells(&self) -> Vec<ModelCell> {
        use rayon::prelude::*;
        let lists: Vec<&[Transition]> = self.log.transitions.rows.chunk_by(|a, b| a.list == b.list).collect();
        let cells: Vec<Vec<ModelCell>> = lists.par_iter().map(|rows| self.cells_of_list(rows)).collect();
        cells.concat()
    }

    fn cells_of_list(&self, rows: &[Transition]) -> Vec<ModelCell> {
        let number = rows[0].list as usize;
        let list = self.list(number);
        let (transitions, page, population) = (self.log.transitions, list.view(), self.population_on(number));
        let (query, shown) = (transitions.lists[number].query, transitions.of(&transitions.lists[number]));
        let mut cells = Vec::new();
        for of_user in rows.chunk_by(|a, b| a.user == b.user) {
            let followed = self.on_list(number, of_user[0].user);
            for steps in of_user.chunk_by(|a, b| a.from == b.from) {
                let (user, last_click) = (of_user[0].user, steps[0].from);
                let from = list.positions.partition_point(|&position| position <= last_click);
                let both =
                    exposed_after(&followed, &page, from).into_iter().zip(exposed_after(&population, &page, from));
                let mut at_risk: u64 = steps.iter().map(|row| row.sessions).sum();
                for (at, (exposed, average)) in (from..).zip(both) {
                    if at_risk == 0 {
                        break;
                    }
                    let (position, shown, doc) = (list.positions[at], at_risk, shown[at].doc);
                    let clicks = steps.iter().filter(|row| row.to == position).map(|row| row.sessions).sum();
                    let probability = floored(exposed.click(list.attraction[at]));
                    cells.push(ModelCell {
                        query,
                        doc,
                        position,
                        user,
                        last_click,
                        shown,
                        clicks,
                        exposed,
                        average,
                        probability,
                    });
                    at_risk -= clicks;
                }
            }
        }
        cells
    }
}
