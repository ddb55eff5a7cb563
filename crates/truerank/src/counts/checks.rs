//! Are counts that were read whole? Cells, sessions and pages enter, totals or the first thing that is wrong leave.

use std::path::Path;

use super::model::{Cell, SessionCount};
use super::pages::Pages;
use super::tables::{NumberedIds, TablePaths};
use super::view::Totals;
use super::whole_pages::PageChecks;
use crate::error::Place;
use crate::log::MAX_POSITION;
use crate::{Error, Result};

/// No log has more impressions or sessions, and sums of parts of so many never overflow.
const MOST: u64 = 1 << 60;

/// Looks at counts in order, in any number of parts of whole queries.
pub(super) struct Checks<'a> {
    tables: &'a TablePaths,
    ids: &'a NumberedIds,
    pages: Option<PageChecks<'a>>,
    totals: Totals,
    session_rows: u64,
    last_cell: Option<Cell>,
    last_session: Option<SessionCount>,
    /// The first of each kind; the kinds in the order in which they are told.
    found: [Option<Error>; 8],
}

impl<'a> Checks<'a> {
    pub fn new(tables: &'a TablePaths, ids: &'a NumberedIds, pages: Option<&'a Pages>) -> Self {
        let mut found = [const { None }; 8];
        let pages = pages.map(|pages| PageChecks::new(tables, ids, pages));
        found[6] = pages.as_ref().and_then(PageChecks::out_of_order);
        let totals = Totals {
            queries: ids.queries.len() as u64,
            docs: ids.docs.len() as u64,
            users: ids.users.len() as u64,
            ..Totals::default()
        };
        Checks { tables, ids, pages, totals, session_rows: 0, last_cell: None, last_session: None, found }
    }

    /// The next cells, and the sessions of their queries.
    pub fn add(&mut self, cells: &[Cell], sessions: &[SessionCount]) {
        for (row, cell) in (self.totals.cells + 1..).zip(cells) {
            self.check_cell(row, cell);
            self.last_cell = Some(*cell);
        }
        for (row, count) in (self.session_rows + 1..).zip(sessions) {
            self.check_session(row, count);
            self.totals.sessions = self.totals.sessions.saturating_add(count.sessions);
            self.last_session = Some(*count);
        }
        if self.found[4].is_none() {
            self.found[4] = self.too_few_sessions(cells, sessions);
        }
        // Pages are found in order, so only where they are.
        if let Some(pages) = self.pages.as_mut().filter(|_| self.found[6..].iter().all(Option::is_none)) {
            self.found[7] = pages.add(cells, sessions);
        }
        self.totals.add_cells(cells);
        self.session_rows += sessions.len() as u64;
    }

    /// What there is of everything, if nothing is wrong.
    pub fn finish(mut self) -> Result<Totals> {
        if self.totals.impressions.max(self.totals.sessions) > MOST {
            let table = if self.totals.impressions > MOST { &self.tables.cells } else { &self.tables.sessions };
            let finding = "counts add up to more than 2^60, but no log is as long; count the log again";
            self.note(5, || Error::input(table, finding));
        }
        if let Some(pages) = self.pages.as_mut().filter(|_| self.found.iter().all(Option::is_none)) {
            self.found[7] = pages.finish();
        }
        match self.found.into_iter().flatten().next() {
            Some(error) => Err(error),
            None => Ok(self.totals),
        }
    }

    fn check_cell(&mut self, row: u64, cell: &Cell) {
        let key = |cell: &Cell| (cell.query, cell.doc, cell.position, cell.user);
        if self.last_cell.is_some_and(|last| key(&last) >= key(cell)) {
            self.note(0, || not_after(&self.tables.cells, row, "query, doc, position, user"));
        }
        self.check_position(row, cell.position);
        let Cell { clicks, impressions, .. } = *cell;
        if clicks > impressions || impressions == 0 {
            let finding =
                || format!("has {clicks} clicks of {impressions} impressions, but a click needs an impression");
            self.note(1, || Place::row(&self.tables.cells, row).error(finding()));
        }
    }

    fn check_position(&mut self, row: u64, position: u32) {
        if position > MAX_POSITION {
            let finding = format!("position is {position}, but positions go up to {MAX_POSITION}; count the log again");
            self.note(1, || Place::row(&self.tables.cells, row).error(finding));
        }
    }

    fn check_session(&mut self, row: u64, count: &SessionCount) {
        let key = |count: &SessionCount| (count.query, count.user);
        if self.last_session.is_some_and(|last| key(&last) >= key(count)) {
            self.note(2, || not_after(&self.tables.sessions, row, "query, user"));
        }
        if count.sessions == 0 {
            let finding = "sessions is 0, but counts of sessions start at 1";
            self.note(3, || Place::row(&self.tables.sessions, row).error(finding));
        }
    }

    fn note(&mut self, kind: usize, error: impl FnOnce() -> Error) {
        if self.found[kind].is_none() {
            self.found[kind] = Some(error());
        }
    }

    fn too_few_sessions(&self, cells: &[Cell], sessions: &[SessionCount]) -> Option<Error> {
        let mut rest = sessions;
        for of_query in cells.chunk_by(|a, b| a.query == b.query) {
            // Counts that are out of order, of which there is an error of their own, may have theirs elsewhere.
            rest = &rest[rest.partition_point(|count| count.query < of_query[0].query)..];
            let known = &rest[..rest.partition_point(|count| count.query == of_query[0].query)];
            let of = |cell: &Cell| {
                let found = known.binary_search_by_key(&cell.user, |count| count.user);
                found.map_or(0, |at| known[at].sessions)
            };
            if let Some(cell) = of_query.iter().find(|cell| of(cell) < cell.impressions) {
                return Some(self.too_few(cell, of(cell)));
            }
        }
        None
    }

    fn too_few(&self, cell: &Cell, sessions: u64) -> Error {
        let (query, user) = (self.ids.queries.name(cell.query as usize), self.ids.users.name(cell.user as usize));
        Error::input(
            &self.tables.sessions,
            format!(
                "has {sessions} sessions of query '{query}' by user '{user}', but a cell of theirs has {} impressions; count the \
                 log again",
                cell.impressions
            ),
        )
    }
}

/// Each row must come after the one before it.
fn not_after(path: &Path, row: u64, by: &str) -> Error {
    let finding = format!("does not come after the row before it, but rows are sorted by {by}, each once");
    Place::row(path, row).error(finding)
}
