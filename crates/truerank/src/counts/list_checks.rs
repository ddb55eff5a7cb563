//! Do click transitions belong to the cells and sessions beside them? All enter, the first thing that does not fit leaves.
//!
//! Whoever reads transitions looks up lists, positions, documents and users without asking again, so what does not fit is found
//! here: of each query the lists are numbered and in order, users leave every click that they come to, and sums are those of the
//! cells and sessions. Queries are looked at one by one, so that a part of the counts says the same as all of them.

use std::path::Path;

use rayon::prelude::*;

use super::list_tables::{NumberedList, NumberedRow, RawTransitions};
use super::model::{Cell, SessionCount};
use super::tables::{NumberedIds, TablePaths};
use super::transitions::{END, Listed, Transition};
use super::whole_pages::of_query;
use crate::error::Place;
use crate::log::shown;
use crate::{Error, Result};

/// What is checked, and where in the files it starts.
pub(super) struct ListChecks<'a> {
    pub tables: &'a TablePaths,
    pub ids: &'a NumberedIds,
    /// Rows of both files before these.
    pub lists_before: u64,
    pub rows_before: u64,
}

/// One query's part of everything.
struct QueryPart<'a> {
    query: u32,
    raw: &'a RawTransitions,
    lists: &'a [NumberedList],
    rows: &'a [NumberedRow],
    /// Rows of both files before these.
    lists_before: u64,
    rows_before: u64,
    cells: &'a [Cell],
    sessions: &'a [SessionCount],
}

impl ListChecks<'_> {
    /// Fails where lists and transitions do not fit to the cells and sessions of the same queries.
    pub fn check(&self, raw: &RawTransitions, cells: &[Cell], sessions: &[SessionCount]) -> Result<()> {
        let (parts, odd) = self.parts(raw, cells, sessions);
        parts.par_iter().find_map_first(|part| self.misfit(part)).or(odd).map_or(Ok(()), Err)
    }

    /// The parts of all queries that have sessions, up to the first that has no lists or no transitions, or comes out of order.
    fn parts<'a>(
        &self,
        raw: &'a RawTransitions,
        cells: &'a [Cell],
        sessions: &'a [SessionCount],
    ) -> (Vec<QueryPart<'a>>, Option<Error>) {
        let mut lists = raw.lists.chunk_by(|a, b| a.query == b.query).peekable();
        let mut rows = raw.rows.chunk_by(|a, b| a.query == b.query).peekable();
        let (mut parts, mut lists_before, mut rows_before) = (Vec::new(), self.lists_before, self.rows_before);
        for sessions in sessions.chunk_by(|a, b| a.query == b.query) {
            let query = sessions[0].query;
            let Some(lists) = lists.next_if(|lists| lists[0].query == query) else {
                return (parts, Some(self.no_query(&self.tables.lists, lists_before, query)));
            };
            let Some(rows) = rows.next_if(|rows| rows[0].query == query) else {
                return (parts, Some(self.no_query(&self.tables.transitions, rows_before, query)));
            };
            let cells = of_query(cells, query, |cell| cell.query);
            parts.push(QueryPart { query, raw, lists, rows, lists_before, rows_before, cells, sessions });
            (lists_before, rows_before) = (lists_before + lists.len() as u64, rows_before + rows.len() as u64);
        }
        let left = lists.next().map(|lists| (&self.tables.lists, lists_before, lists[0].query));
        let left = left.or(rows.next().map(|rows| (&self.tables.transitions, rows_before, rows[0].query)));
        let odd = left.map(|(path, row, query)| {
            let finding = format!("is of query '{}', which sessions.parquet does not have there", self.query(query));
            again(path, row, &finding)
        });
        (parts, odd)
    }

    fn query(&self, query: u32) -> String {
        shown(&self.ids.queries.name(query as usize))
    }

    fn no_query(&self, path: &Path, row: u64, query: u32) -> Error {
        again(path, row, &format!("should be of query '{}', whose sessions come next", self.query(query)))
    }

    fn misfit(&self, part: &QueryPart<'_>) -> Option<Error> {
        self.bad_list(part).or_else(|| self.bad_row(part)).or_else(|| self.bad_sums(part))
    }

    fn bad_list(&self, part: &QueryPart<'_>) -> Option<Error> {
        let finding = |(at, list): (usize, &NumberedList)| {
            let of_list = part.raw.of(list);
            if list.number as usize != at + 1 {
                let number = list.number;
                return Some(format!("list is {number}, but it is number {} of its query", at + 1));
            }
            if of_list.is_empty() || !of_list.is_sorted_by(|a, b| a.position < b.position) {
                return Some("does not show one document at each of some rising positions".to_string());
            }
            let before = at.checked_sub(1).map(|before| &part.lists[before]);
            let is_after = before.is_none_or(|last| (part.raw.of(last), last.context) < (of_list, list.context));
            (!is_after).then(|| "does not come after the list before it, by positions, docs and context".to_string())
        };
        let (at, finding) = part.lists.iter().enumerate().find_map(|list| Some((list.0, finding(list)?)))?;
        Some(again(&self.tables.lists, part.lists_before + at as u64, &finding))
    }

    fn bad_row(&self, part: &QueryPart<'_>) -> Option<Error> {
        let key = |row: &Transition| (row.list, row.user, row.from, row.to);
        let finding = |(at, NumberedRow { row, .. }): (usize, &NumberedRow)| {
            let Some(list) = part.lists.get((row.list as usize).wrapping_sub(1)) else {
                return Some(format!(
                    "is of list {}, but lists.parquet has {} of its query",
                    row.list,
                    part.lists.len()
                ));
            };
            let before = at.checked_sub(1).map(|before| &part.rows[before].row);
            if before.is_some_and(|before| key(before) >= key(row)) {
                return Some("does not come after the row before it, by query, list, user and positions".to_string());
            }
            let of_list = part.raw.of(list);
            let is_shown = |position: u32| of_list.binary_search_by_key(&position, |listed| listed.position).is_ok();
            if row.sessions == 0 || (row.from != 0 && !is_shown(row.from)) || (row.to != END && !is_shown(row.to)) {
                return Some("goes to or from a position that its list does not have, or has no sessions".to_string());
            }
            (row.from >= row.to).then(|| "goes up the page, but a step goes down".to_string())
        };
        let (at, finding) = part.rows.iter().enumerate().find_map(|row| Some((row.0, finding(row)?)))?;
        Some(again(&self.tables.transitions, part.rows_before + at as u64, &finding))
    }

    /// What does not add up: users who come to a click and do not leave it, or other sums than those of cells and sessions.
    fn bad_sums(&self, part: &QueryPart<'_>) -> Option<Error> {
        let mut sums = Sums::default();
        let mut at = 0;
        for rows in part.rows.chunk_by(|a, b| (a.row.list, a.row.user) == (b.row.list, b.row.user)) {
            let list = &part.lists[rows[0].row.list as usize - 1];
            if !sums.add(part.raw.of(list), rows) {
                let finding = "is of a list and user whose clicks are not left as often as they are come to";
                return Some(again(&self.tables.transitions, part.rows_before + at, finding));
            }
            at += rows.len() as u64;
        }
        let unseen = (1..=part.lists.len() as u32)
            .find(|list| part.rows.binary_search_by_key(list, |row| row.row.list).is_err());
        if let Some(list) = unseen {
            let finding = "is a list without transitions";
            return Some(again(&self.tables.lists, part.lists_before + u64::from(list) - 1, finding));
        }
        let cell = |cell: &Cell| (cell.doc, cell.position, cell.user, cell.impressions, cell.clicks);
        let cells: Vec<Sum> = part.cells.iter().map(cell).collect();
        if sums.cells() != cells {
            return Some(self.other_sums(part.query, "cells.parquet"));
        }
        let sessions: Vec<(u32, u64)> = part.sessions.iter().map(|count| (count.user, count.sessions)).collect();
        (sums.sessions() != sessions).then(|| self.other_sums(part.query, "sessions.parquet"))
    }

    fn other_sums(&self, query: u32, of: &str) -> Error {
        let query = self.query(query);
        let finding = format!("adds up to other counts of query '{query}' than {of} has; count the log again");
        Error::input(&self.tables.transitions, finding)
    }
}

fn again(path: &Path, row: u64, finding: &str) -> Error {
    Place::row(path, row + 1).error(format!("{finding}; count the log again"))
}

/// Document, position, user, impressions and clicks.
type Sum = (u32, u32, u32, u64, u64);

/// What the transitions of a query add up to.
#[derive(Default)]
struct Sums {
    cells: Vec<Sum>,
    sessions: Vec<(u32, u64)>,
}

impl Sums {
    /// Adds the transitions of one list and user; false if they do not fit together.
    fn add(&mut self, list: &[Listed], rows: &[NumberedRow]) -> bool {
        let (user, mut sessions) = (rows[0].row.user, 0u64);
        // How often each document was come to and left.
        let mut clicks = vec![(0u64, 0u64); list.len()];
        let at = |position: u32| list.binary_search_by_key(&position, |listed| listed.position).ok();
        for NumberedRow { row, .. } in rows {
            let left = at(row.from).map_or(&mut sessions, |at| &mut clicks[at].1);
            *left = left.saturating_add(row.sessions);
            if let Some(to) = at(row.to) {
                clicks[to].0 = clicks[to].0.saturating_add(row.sessions);
            }
        }
        self.sessions.push((user, sessions));
        let cell =
            |(listed, &(clicks, _)): (&Listed, &(u64, u64))| (listed.doc, listed.position, user, sessions, clicks);
        self.cells.extend(list.iter().zip(&clicks).map(cell));
        clicks.iter().all(|&(come, left)| come == left && come <= sessions) && sessions > 0
    }

    /// Sums by document, position and user, sorted.
    fn cells(&mut self) -> &[Sum] {
        self.cells.sort_unstable();
        self.cells.dedup_by(|next, sum| {
            let is_same = (next.0, next.1, next.2) == (sum.0, sum.1, sum.2);
            if is_same {
                (sum.3, sum.4) = (sum.3.saturating_add(next.3), sum.4.saturating_add(next.4));
            }
            is_same
        });
        &self.cells
    }

    /// Sums by user, sorted.
    fn sessions(&mut self) -> &[(u32, u64)] {
        self.sessions.sort_unstable();
        self.sessions.dedup_by(|next, sum| {
            let is_same = next.0 == sum.0;
            if is_same {
                sum.1 = sum.1.saturating_add(next.1);
            }
            is_same
        });
        &self.sessions
    }
}
