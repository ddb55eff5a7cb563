//! Do pages and click patterns belong to the cells beside them? Both enter, the first thing that does not fit leaves.
//!
//! Whoever reads pages looks up positions, documents and users as cells have them, so what cells do not have is found here.

use std::path::Path;

use rayon::prelude::*;

use super::model::{Cell, Patterns, SessionCount, Shown};
use super::pages::{Page, Pages};
use super::tables::{NumberedIds, TablePaths};
use crate::Error;
use crate::error::Place;

/// A document of a page, by what makes a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    doc: u32,
    position: u32,
    user: u32,
    click: bool,
    /// Number of its page.
    page: usize,
}

/// Looks at pages in order, together with the cells and sessions of their queries.
pub(super) struct PageChecks<'a> {
    tables: &'a TablePaths,
    ids: &'a NumberedIds,
    pages: &'a Pages,
    /// The next page.
    at: usize,
}

impl<'a> PageChecks<'a> {
    pub fn new(tables: &'a TablePaths, ids: &'a NumberedIds, pages: &'a Pages) -> Self {
        PageChecks { tables, ids, pages, at: 0 }
    }

    /// The first page that does not come after the one before it, or whose documents are not in the order of positions.
    pub fn out_of_order(&self) -> Option<Error> {
        let Pages { pages, .. } = self.pages;
        let key = |page: &'a Page| (page.query, page.user, self.pages.of(page));
        let unsorted = (1..pages.len()).find(|&at| key(&pages[at - 1]) > key(&pages[at]));
        bad_list(&self.tables.pages, pages.iter().map(|page| self.pages.of(page)))
            .or_else(|| unsorted_row(&self.tables.pages, unsorted, "query, user, positions"))
    }

    /// What is wrong with the pages of these cells' queries, which come next.
    pub fn add(&mut self, cells: &[Cell], sessions: &[SessionCount]) -> Option<Error> {
        let last = cells.last().map(|cell| cell.query).max(sessions.last().map(|count| count.query))?;
        let rest = &self.pages.pages[self.at..];
        self.check(rest.partition_point(|page| page.query <= last), cells, sessions)
    }

    /// What is wrong with the pages that are left: no cell has their queries.
    pub fn finish(&mut self) -> Option<Error> {
        self.check(self.pages.pages.len() - self.at, &[], &[])
    }

    fn check(&mut self, count: usize, cells: &[Cell], sessions: &[SessionCount]) -> Option<Error> {
        let first = self.at;
        self.at += count;
        let queries: Vec<&[Page]> = self.pages.pages[first..self.at].chunk_by(|a, b| a.query == b.query).collect();
        let starts: Vec<usize> =
            queries.iter().scan(first, |at, pages| Some(std::mem::replace(at, *at + pages.len()))).collect();
        queries.par_iter().zip(starts).find_map_first(|(pages, start)| {
            let query = pages[0].query;
            let cells = of_query(cells, query, |cell| cell.query);
            self.not_in_cells(pages, start, cells)
                .or_else(|| self.not_in_sessions(pages, start, of_query(sessions, query, |count| count.query)))
        })
    }

    fn not_in_cells(&self, pages: &[Page], start: usize, cells: &[Cell]) -> Option<Error> {
        let rows = |(page, of): (usize, &Page)| {
            let user = of.user;
            self.pages.of(of).iter().map(move |&Shown { position, doc, click }| Row {
                doc,
                position,
                user,
                click,
                page,
            })
        };
        let mut rows: Vec<Row> = (start..).zip(pages).flat_map(rows).collect();
        rows.sort_unstable();
        let key = |row: &Row| (row.doc, row.position, row.user);
        let too_many = rows.chunk_by(|a, b| key(a) == key(b)).find(|same| {
            let found = cells.binary_search_by_key(&key(&same[0]), |cell| (cell.doc, cell.position, cell.user));
            let (impressions, clicks) = found.map_or((0, 0), |at| (cells[at].impressions, cells[at].clicks));
            let clicked = same.iter().filter(|row| row.click).count() as u64;
            clicked > clicks || same.len() as u64 - clicked > impressions.saturating_sub(clicks)
        })?;
        let row = too_many.iter().max_by_key(|row| row.page)?;
        let (query, doc) = (self.ids.queries.name(pages[0].query as usize), self.ids.docs.name(row.doc as usize));
        let did = if row.click { "clicks" } else { "shows" };
        let (position, user) = (row.position, self.ids.users.name(row.user as usize));
        Some(Place::row(&self.tables.pages, row.page as u64 + 1).error(format!(
            "{did} document '{doc}' of query '{query}' at position {position} for user '{user}', but cells.parquet has no \
             such count; count the log again"
        )))
    }

    fn not_in_sessions(&self, pages: &[Page], start: usize, sessions: &[SessionCount]) -> Option<Error> {
        let mut end = start;
        for of_user in pages.chunk_by(|a, b| a.user == b.user) {
            end += of_user.len();
            let user = of_user[0].user;
            let found = sessions.binary_search_by_key(&user, |count| count.user);
            let known = found.map_or(0, |at| sessions[at].sessions);
            if of_user.len() as u64 > known {
                return Some(Place::row(&self.tables.pages, end as u64).error(format!(
                    "is page number {} of query '{}' by user '{}', but sessions.parquet has {known} sessions of theirs; \
                     count the log again",
                    of_user.len(),
                    self.ids.queries.name(pages[0].query as usize),
                    self.ids.users.name(user as usize)
                )));
            }
        }
        None
    }
}

/// What does not fit between patterns, which are all pages of a log, and its cells.
pub(super) fn check_patterns(
    tables: &TablePaths,
    ids: &NumberedIds,
    patterns: &Patterns,
    cells: &[Cell],
) -> Option<Error> {
    let all = &patterns.patterns;
    let shown = |row: usize| &patterns.shown[all[row].shown.clone()];
    let key = |at: usize| (all[at].query, shown(at), all[at].user);
    let unsorted = (1..all.len()).find(|&at| key(at - 1) >= key(at));
    let disorder = bad_list(&tables.patterns, (0..all.len()).map(shown))
        .or_else(|| unsorted_row(&tables.patterns, unsorted, "query, positions, docs, clicks and user, each once"));
    if disorder.is_some() {
        return disorder;
    }
    let (mut found, mut expected) = (Vec::new(), Vec::new());
    for (row, pattern) in all.iter().enumerate() {
        found.extend(shown(row).iter().map(|shown| {
            let clicks = if shown.click { pattern.sessions } else { 0 };
            (pattern.query, shown.doc, shown.position, pattern.user, pattern.sessions, clicks)
        }));
    }
    let sum = |cell: &Cell| (cell.query, cell.doc, cell.position, cell.user, cell.impressions, cell.clicks);
    expected.extend(cells.iter().map(sum));
    let (found, expected) = (summed(found), summed(expected));
    // The first that is not in both; with cells and patterns of one log there is none.
    let at = found.iter().zip(&expected).position(|(a, b)| a != b).unwrap_or(found.len().min(expected.len()));
    let &(query, doc, position, user, ..) = found.get(at).into_iter().chain(expected.get(at)).min()?;
    let counted = |sums: &[Sum]| {
        let same = sums.get(at).filter(|sum| (sum.0, sum.1, sum.2, sum.3) == (query, doc, position, user));
        same.map_or("no impressions".to_string(), |sum| format!("{} impressions with {} clicks", sum.4, sum.5))
    };
    let (query, doc) = (ids.queries.name(query as usize), ids.docs.name(doc as usize));
    let user = ids.users.name(user as usize);
    Some(Error::input(
        &tables.patterns,
        format!(
            "has {} of document '{doc}' of query '{query}' at position {position} for user '{user}', but cells.parquet has \
             {}; count the log again",
            counted(&found),
            counted(&expected)
        ),
    ))
}

/// Query, document, position, user; impressions and clicks.
type Sum = (u32, u32, u32, u32, u64, u64);

/// Sums by query, document, position and user, sorted.
fn summed(mut rows: Vec<Sum>) -> Vec<Sum> {
    rows.par_sort_unstable();
    rows.dedup_by(|next, sum| {
        let is_same = (next.0, next.1, next.2, next.3) == (sum.0, sum.1, sum.2, sum.3);
        if is_same {
            (sum.4, sum.5) = (sum.4.saturating_add(next.4), sum.5.saturating_add(next.5));
        }
        is_same
    });
    rows
}

/// The rows of one query; all are sorted by query.
pub(super) fn of_query<T>(rows: &[T], query: u32, query_of: impl Fn(&T) -> u32) -> &[T] {
    let start = rows.partition_point(|row| query_of(row) < query);
    let rest = &rows[start..];
    &rest[..rest.partition_point(|row| query_of(row) == query)]
}

fn unsorted_row(path: &Path, row: Option<usize>, by: &str) -> Option<Error> {
    let finding = format!("does not come after the row before it, but rows are sorted by {by}; count the log again");
    row.map(|row| Place::row(path, row as u64 + 1).error(finding))
}

fn bad_list<'a>(path: &Path, mut lists: impl Iterator<Item = &'a [Shown]>) -> Option<Error> {
    let row = lists.position(|shown| shown.is_empty() || !shown.is_sorted())?;
    let finding = "does not show documents in the order of their positions, at least one; count the log again";
    Some(Place::row(path, row as u64 + 1).error(finding))
}
