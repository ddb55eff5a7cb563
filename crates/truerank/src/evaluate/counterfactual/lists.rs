//! Which documents were shown together, and how often.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::counts::{Cell, CountsView, Pages};
use crate::{Error, Result};

/// A query whose clicks judge.
pub(super) struct JudgedQuery {
    /// The rows of all its documents.
    pub rows: Range<usize>,
    /// How often it was asked.
    pub sessions: f64,
    /// What its pages showed.
    pub lists: Vec<JudgedList>,
}

/// A list of documents that pages showed, those that can be ranked.
pub(super) struct JudgedList {
    /// Their rows, in the order as shown.
    pub rows: Vec<u32>,
    /// Their positions.
    pub positions: Vec<u32>,
    /// How many pages showed it.
    pub pages: f64,
}

/// (position, document) of a list, from the top, and how many pages showed it.
pub(super) type ShownList = (Vec<(u32, u32)>, u64);

impl JudgedQuery {
    pub fn new(rows: Range<usize>, sessions: f64, lists: &[ShownList], row_of: impl Fn(u32) -> Option<u32>) -> Self {
        let list = |(shown, pages): &ShownList| {
            let known = shown.iter().filter_map(|&(position, doc)| Some((row_of(doc)?, position)));
            let (rows, positions): (Vec<u32>, Vec<u32>) = known.unzip();
            (!rows.is_empty()).then_some(JudgedList { rows, positions, pages: *pages as f64 })
        };
        JudgedQuery { rows, sessions, lists: lists.iter().filter_map(list).collect() }
    }

    /// Lets its first row be number `start`.
    pub fn move_to(&mut self, start: usize) {
        let from = self.rows.start;
        self.rows = start..start + self.rows.len();
        let rows = self.lists.iter_mut().flat_map(|list| &mut list.rows);
        rows.for_each(|row| *row = (*row as usize - from + start) as u32);
    }

    pub fn pages(&self) -> u64 {
        self.lists.iter().map(|list| list.pages as u64).sum()
    }
}

/// The lists of each query that judges: those of the pages that counts keep, or of the cells where these leave no doubt.
pub(super) fn shown_lists(counts: &dyn CountsView, judges: &dyn Fn(u32) -> bool) -> Result<Vec<Vec<ShownList>>> {
    match counts.pages() {
        Some(pages) => Ok(lists_of_pages(pages, counts.queries().len(), judges)),
        None => lists_of_cells(counts, judges),
    }
}

fn lists_of_pages(pages: &Pages, queries: usize, judges: &dyn Fn(u32) -> bool) -> Vec<Vec<ShownList>> {
    let mut lists = vec![Vec::new(); queries];
    for of_query in pages.by_query().filter(|pages| judges(pages[0].query)) {
        let mut found: BTreeMap<Vec<(u32, u32)>, u64> = BTreeMap::new();
        for page in of_query {
            let list = pages.of(page).iter().map(|shown| (shown.position, shown.doc)).collect();
            *found.entry(list).or_default() += 1;
        }
        lists[of_query[0].query as usize] = found.into_iter().collect();
    }
    lists
}

/// One list for each query, which every session saw.
fn lists_of_cells(counts: &dyn CountsView, judges: &dyn Fn(u32) -> bool) -> Result<Vec<Vec<ShownList>>> {
    let sessions = counts.sessions_per_query();
    let (mut lists, mut unknown) = (vec![Vec::new(); counts.queries().len()], None);
    counts.for_each_cells(|cells| {
        for cells in cells.chunk_by(|a, b| a.query == b.query).filter(|cells| judges(cells[0].query)) {
            let query = cells[0].query as usize;
            match only_list(cells, sessions[query]) {
                Some(list) => lists[query] = vec![(list, sessions[query])],
                None => unknown = unknown.or(Some(query)),
            }
        }
    })?;
    unknown.map_or(Ok(lists), |query| Err(unknown_pages(counts, query)))
}

fn only_list(cells: &[Cell], sessions: u64) -> Option<Vec<(u32, u32)>> {
    let mut list = Vec::new();
    for of_doc in cells.chunk_by(|a, b| (a.doc, a.position) == (b.doc, b.position)) {
        if of_doc.iter().map(|cell| cell.impressions).sum::<u64>() != sessions {
            return None;
        }
        list.push((of_doc[0].position, of_doc[0].doc));
    }
    list.sort_unstable();
    Some(list)
}

fn unknown_pages(counts: &dyn CountsView, query: usize) -> Error {
    Error::parameter(format!(
        "judging by clicks needs to know which documents were shown together, but these counts keep no result pages, and query '{}' was \
         not answered by one list; count its log again, on this machine",
        counts.queries().name(query)
    ))
}
