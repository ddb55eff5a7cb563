//! Parts of counts: the queries somebody chooses, or a share of them by the text of their ids.

use std::borrow::Cow;

use rand::RngExt;

use super::model::{Cell, Counts, Pattern, Patterns, SessionCount, Shown};
use super::pages::Pages;
use super::transitions::Transitions;
use super::used::Renumbering;
use crate::ids::Ids;
use crate::random::{fraction, stream};
use crate::{Error, Result};

impl Counts {
    /// Divides the queries into those to learn from and those held out, about `share` of them.
    ///
    /// Which side a query is on follows from its text and the seed alone, so it is the same in any log. Ids that do not
    /// occur on a side are left out there.
    pub fn split_queries(&self, share: f64, seed: u64) -> Result<(Counts, Counts)> {
        check_share("queries", share)?;
        let held_out: Vec<bool> =
            (0..self.queries.len()).map(|query| is_held_out(&self.queries.name(query), share, seed)).collect();
        let learned = held_out.iter().map(|held_out| !held_out).collect::<Vec<_>>();
        Ok((self.select_queries(&learned), self.select_queries(&held_out)))
    }

    /// Divides the pages at random into those to learn from and those held out, about `share` of them, or half of the whole pages that
    /// are kept where these are fewer.
    ///
    /// It is an error where no pages are kept.
    pub fn split_pages(&self, share: f64, seed: u64) -> Result<(Counts, Counts)> {
        check_share("pages", share)?;
        let Some(pages) = &self.pages else {
            return Err(Error::parameter(
                "these counts keep no result pages to hold out; count the log again, or hold out queries",
            ));
        };
        let wanted = share * self.session_count() as f64 / pages.pages.len().max(1) as f64;
        let share = if pages.pages.len() as u64 == self.session_count() { share } else { wanted.min(0.5) };
        let (mut train, mut held_out) = (Pages::default(), Pages::default());
        for (number, page) in (0..).zip(&pages.pages) {
            let side = if fraction(seed, number, HELD_OUT_PAGES) < share { &mut held_out } else { &mut train };
            side.push_of(pages, page);
        }
        let of_pages = |pages: Pages, (cells, sessions), transitions| {
            let (queries, docs, users) = (self.queries.clone(), self.docs.clone(), self.users.clone());
            let all = vec![true; queries.len()];
            let (pages, origin, contexts) = (Some(pages), self.origin.clone(), Ids::default());
            Counts { queries, docs, users, contexts, cells, sessions, patterns: None, transitions, pages, origin }
                .select_queries(&all)
        };
        let (cells, sessions) = held_out.counted();
        let rest = (less_cells(&self.cells, &cells), less_sessions(&self.sessions, &sessions));
        let transitions = self.transitions.as_ref().map(|_| Transitions::of_pages(&held_out));
        // Whole pages do not know what they were shown in.
        let all = self.transitions.as_ref().map(|all| match self.contexts.is_empty() {
            true => Cow::Borrowed(all),
            false => Cow::Owned(all.without_contexts()),
        });
        let other = all.as_ref().zip(transitions.as_ref()).map(|(all, some)| {
            let finding = "the result pages of these counts are not among their click transitions; count the log again";
            all.less(some).ok_or_else(|| Error::parameter(finding))
        });
        let other = other.transpose()?;
        Ok((of_pages(train, rest, other), of_pages(held_out, (cells, sessions), transitions)))
    }

    /// The queries for which `keep`, which has an entry for each, is true. Ids that then do not occur are left out.
    pub fn select_queries(&self, keep: &[bool]) -> Counts {
        let cells: Vec<Cell> = self.cells.iter().filter(|cell| keep[cell.query as usize]).copied().collect();
        let sessions: Vec<SessionCount> =
            self.sessions.iter().filter(|count| keep[count.query as usize]).copied().collect();
        let queries = left(&self.queries, sessions.iter().map(|count| count.query));
        let docs = left(&self.docs, cells.iter().map(|cell| cell.doc));
        let users = left(&self.users, sessions.iter().map(|count| count.user));
        let of_lists = self.transitions.iter().flat_map(|all| &all.lists).filter(|list| keep[list.query as usize]);
        let contexts = left(&self.contexts, of_lists.filter(|_| !self.contexts.is_empty()).map(|list| list.context));
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
            patterns: self.patterns.as_ref().map(|patterns| patterns.select(keep, &queries, &docs, &users)),
            transitions: self.transitions.as_ref().map(|all| all.select(keep, &queries, &docs, &users, &contexts)),
            pages: self.pages.as_ref().map(|pages| pages.select(keep, &queries, &docs, &users)),
            queries: queries.ids,
            docs: docs.ids,
            users: users.ids,
            contexts: contexts.ids,
            origin: self.origin.clone(),
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
    fn select(&self, keep: &[bool], queries: &Renumbering, docs: &Renumbering, users: &Renumbering) -> Patterns {
        let mut selected = Patterns::default();
        for pattern in self.patterns.iter().filter(|pattern| keep[pattern.query as usize]) {
            let start = selected.shown.len();
            let page = &self.shown[pattern.shown.clone()];
            selected.shown.extend(page.iter().map(|shown| Shown { doc: docs.number(shown.doc), ..*shown }));
            let shown = start..selected.shown.len();
            let (query, user) = (queries.number(pattern.query), users.number(pattern.user));
            selected.patterns.push(Pattern { query, user, shown, sessions: pattern.sessions });
        }
        selected
    }
}

impl Pages {
    fn select(&self, keep: &[bool], queries: &Renumbering, docs: &Renumbering, users: &Renumbering) -> Pages {
        let mut selected = Pages::default();
        for page in self.pages.iter().filter(|page| keep[page.query as usize]) {
            let shown = self.of(page).iter().map(|shown| Shown { doc: docs.number(shown.doc), ..*shown });
            selected.push_keyed(page.key, queries.number(page.query), users.number(page.user), shown);
        }
        selected
    }
}

/// What tells this choice from other uses of the same hash.
const HELD_OUT_PAGES: u64 = 0x6865_6c64;

fn check_share(what: &str, share: f64) -> Result<()> {
    match (0.0..=1.0).contains(&share) {
        true => Ok(()),
        false => Err(Error::parameter(format!("the share of held-out {what} should be from 0 to 1, but is {share}"))),
    }
}

/// The cells without those of some pages; both are sorted, and the latter are among the former.
fn less_cells(all: &[Cell], some: &[Cell]) -> Vec<Cell> {
    let key = |cell: &Cell| (cell.query, cell.doc, cell.position, cell.user);
    let mut some = some.iter().peekable();
    let less = |cell: &Cell| {
        let taken =
            some.next_if(|taken| key(taken) == key(cell)).map_or((0, 0), |cell| (cell.impressions, cell.clicks));
        Cell { impressions: cell.impressions - taken.0, clicks: cell.clicks - taken.1, ..*cell }
    };
    all.iter().map(less).filter(|cell| cell.impressions > 0).collect()
}

fn less_sessions(all: &[SessionCount], some: &[SessionCount]) -> Vec<SessionCount> {
    let key = |count: &SessionCount| (count.query, count.user);
    let mut some = some.iter().peekable();
    let less = |count: &SessionCount| {
        let taken = some.next_if(|taken| key(taken) == key(count)).map_or(0, |count| count.sessions);
        SessionCount { sessions: count.sessions - taken, ..*count }
    };
    all.iter().map(less).filter(|count| count.sessions > 0).collect()
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
        count_log(&log, &CountOptions::new().patterns(true).transitions(true)).unwrap().0
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
            total(|counts| counts.transitions.as_ref().unwrap().lists.len() as u64),
            total(|counts| counts.transitions.as_ref().unwrap().rows.iter().map(|row| row.sessions).sum()),
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
    fn pages_of_both_sides_together_are_the_whole() {
        let counts = counted(2000, 1);
        let (learned, held_out) = counts.split_pages(0.3, 1).unwrap();
        assert_eq!(learned.session_count() + held_out.session_count(), 2000);
        assert_eq!(learned.click_count() + held_out.click_count(), counts.click_count());
        assert_eq!(learned.impression_count() + held_out.impression_count(), counts.impression_count());
        let share = held_out.session_count() as f64 / 2000.0;
        assert!((share - 0.3).abs() < 4.0 * (0.3 * 0.7 / 2000.0_f64).sqrt(), "{share}");
        // Each side is what counting its own pages gives.
        for side in [&learned, &held_out] {
            let (cells, sessions) = side.pages.as_ref().unwrap().counted();
            assert!(cells == side.cells && sessions == side.sessions);
            assert!(side.transitions.as_ref() == Some(&Transitions::of_pages(side.pages.as_ref().unwrap())));
        }
        assert!(counts.split_pages(0.3, 1).unwrap() == (learned, held_out));
        let without = Counts { pages: None, ..counts };
        assert!(without.split_pages(0.3, 1).unwrap_err().to_string().contains("count the log again"));
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
