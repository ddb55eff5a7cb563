//! Parts of counts: the queries somebody chooses, or a share of them by the text of their ids.

use rand::RngExt;

use super::model::{Cell, Counts, Pattern, Patterns, SessionCount, Shown};
use super::pages::Pages;
use super::used::Renumbering;
use crate::ids::Ids;
use crate::random::stream;
use crate::{Error, Result};

impl Counts {
    /// Divides the queries into those to learn from and those held out, about `share` of them.
    ///
    /// Which side a query is on follows from its text and the seed alone, so it is the same in any log. Ids that do not
    /// occur on a side are left out there.
    pub fn split_queries(&self, share: f64, seed: u64) -> Result<(Counts, Counts)> {
        if !(0.0..=1.0).contains(&share) {
            return Err(Error::parameter(format!(
                "the share of held-out queries should be from 0 to 1, but is {share}"
            )));
        }
        let held_out: Vec<bool> =
            (0..self.queries.len()).map(|query| is_held_out(&self.queries.name(query), share, seed)).collect();
        let learned = held_out.iter().map(|held_out| !held_out).collect::<Vec<_>>();
        Ok((self.select_queries(&learned), self.select_queries(&held_out)))
    }

    /// The queries for which `keep`, which has an entry for each, is true. Ids that then do not occur are left out.
    pub fn select_queries(&self, keep: &[bool]) -> Counts {
        let cells: Vec<Cell> = self.cells.iter().filter(|cell| keep[cell.query as usize]).copied().collect();
        let sessions: Vec<SessionCount> =
            self.sessions.iter().filter(|count| keep[count.query as usize]).copied().collect();
        let queries = left(&self.queries, sessions.iter().map(|count| count.query));
        let docs = left(&self.docs, cells.iter().map(|cell| cell.doc));
        let users = left(&self.users, sessions.iter().map(|count| count.user));
        let cell = |cell: Cell| Cell {
            query: queries.number(cell.query),
            doc: docs.number(cell.doc),
            user: users.number(cell.user),
            ..cell
        };
        let session = |count: SessionCount| SessionCount {
            query: queries.number(count.query),
            user: users.number(count.user),
            ..count
        };
        Counts {
            cells: cells.into_iter().map(cell).collect(),
            sessions: sessions.into_iter().map(session).collect(),
            patterns: self.patterns.as_ref().map(|patterns| patterns.select(keep, &queries, &docs)),
            pages: self.pages.as_ref().map(|pages| pages.select(keep, &queries, &docs, &users)),
            queries: queries.ids,
            docs: docs.ids,
            users: users.ids,
        }
    }

    /// The texts of the queries that both counts have, in the order of these.
    pub fn overlap(&self, other: &Counts) -> Vec<String> {
        let numbers = self.queries.numbers_in(&other.queries);
        let shared = (0..self.queries.len()).filter(|&query| numbers[query].is_some());
        shared.map(|query| self.queries.name(query).into_owned()).collect()
    }
}

impl Patterns {
    fn select(&self, keep: &[bool], queries: &Renumbering, docs: &Renumbering) -> Patterns {
        let mut selected = Patterns::default();
        for pattern in self.patterns.iter().filter(|pattern| keep[pattern.query as usize]) {
            let start = selected.shown.len();
            let page = &self.shown[pattern.shown.clone()];
            selected.shown.extend(page.iter().map(|shown| Shown { doc: docs.number(shown.doc), ..*shown }));
            let shown = start..selected.shown.len();
            selected.patterns.push(Pattern { query: queries.number(pattern.query), shown, sessions: pattern.sessions });
        }
        selected
    }
}

impl Pages {
    fn select(&self, keep: &[bool], queries: &Renumbering, docs: &Renumbering, users: &Renumbering) -> Pages {
        let mut selected = Pages::default();
        for page in self.pages.iter().filter(|page| keep[page.query as usize]) {
            let shown = self.of(page).iter().map(|shown| Shown { doc: docs.number(shown.doc), ..*shown });
            selected.push(queries.number(page.query), users.number(page.user), shown);
        }
        selected
    }
}

fn is_held_out(query: &str, share: f64, seed: u64) -> bool {
    stream(seed, query, 0).random::<f64>() < share
}

/// The ids whose numbers are `used`.
fn left(ids: &Ids, used: impl Iterator<Item = u32>) -> Renumbering {
    let mut occurs = vec![false; ids.len()];
    used.for_each(|number| occurs[number as usize] = true);
    Renumbering::of(ids, |number| occurs[number])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::{CountOptions, count_log};
    use crate::data::{Generator, Preset};
    use crate::simulate::{ShownLists, Simulation};

    fn counted(sessions: u64, seed: u64) -> Counts {
        let data = Generator::preset(Preset::Tiny).generate().unwrap().train;
        let lists = [ShownLists::top(&data, &vec![0.0; data.len()], 5).unwrap()];
        let log = Simulation::new().sessions(sessions).seed(seed).prepare(&data, &lists).unwrap().log();
        count_log(&log, &CountOptions::new().patterns(true)).unwrap().0
    }

    #[test]
    fn both_sides_together_are_the_whole_and_each_can_be_written() {
        let counts = counted(2000, 1);
        let (learned, held_out) = counts.split_queries(0.3, 1).unwrap();
        assert!(learned.overlap(&held_out).is_empty());
        let total = |value: fn(&Counts) -> u64| [value(&learned) + value(&held_out), value(&counts)];
        for [parts, whole] in [
            total(Counts::session_count),
            total(Counts::impression_count),
            total(Counts::click_count),
            total(|counts| counts.queries.len() as u64),
            total(|counts| counts.patterns.as_ref().unwrap().patterns.len() as u64),
        ] {
            assert_eq!(parts, whole);
        }
        let share = held_out.queries.len() as f64 / counts.queries.len() as f64;
        assert!((share - 0.3).abs() < 4.0 * (0.3 * 0.7 / counts.queries.len() as f64).sqrt(), "{share}");
        let folder = tempfile::tempdir().unwrap();
        held_out.write(&folder.path().join("held-out")).unwrap();
        assert!(Counts::read(&folder.path().join("held-out")).unwrap() == held_out);
    }

    #[test]
    fn a_query_is_on_the_same_side_in_every_log() {
        let (first, second) = (counted(300, 1), counted(3000, 2));
        let sides = |counts: &Counts| counts.split_queries(0.4, 7).unwrap();
        assert!(sides(&first).0.overlap(&sides(&second).1).is_empty());
        assert!(sides(&first).1.overlap(&sides(&second).0).is_empty());
        assert!(!sides(&first).1.overlap(&sides(&second).1).is_empty());
        assert!(first.split_queries(1.5, 1).unwrap_err().to_string().contains("from 0 to 1, but is 1.5"));
    }

    #[test]
    fn all_queries_are_all_counts() {
        let counts = counted(500, 3);
        assert!(counts.split_queries(0.0, 1).unwrap() == (counts.clone(), counts.select_queries(&vec![false; 500])));
    }
}
