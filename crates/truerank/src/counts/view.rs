//! Counts wherever they are kept: ids and totals at hand, cells and sessions block after block.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;

use super::model::{Cell, Counts, SessionCount};
use super::origin::Origin;
use super::pages::Pages;
use super::transitions::Transitions;
use crate::Result;
use crate::files::Room;
use crate::ids::Ids;

/// What estimation reads: [`Counts`] in memory, or [`StoredCounts`](super::StoredCounts) on disk.
///
/// Cells and sessions come in blocks of whole queries, in order. Where blocks end depends on the data alone, so sums in
/// the order of blocks are the same bytes wherever the counts are kept.
pub trait CountsView: Sync {
    /// Queries, sorted.
    fn queries(&self) -> &Ids;

    /// Documents, sorted.
    fn docs(&self) -> &Ids;

    /// Users, sorted.
    fn users(&self) -> &Ids;

    /// What lists were shown in, sorted; empty where contexts were not counted.
    fn contexts(&self) -> &Ids;

    /// How much there is of everything.
    fn totals(&self) -> Totals;

    /// n(q): how many sessions each query has.
    fn sessions_per_query(&self) -> Vec<u64>;

    /// n(u): how many sessions each user has.
    fn sessions_per_user(&self) -> Vec<u64>;

    /// The blocks in order.
    fn blocks(&self) -> Vec<Block>;

    /// The cells of a block.
    fn cells(&self, block: &Block) -> Result<Cow<'_, [Cell]>>;

    /// The sessions of a block.
    fn sessions(&self, block: &Block) -> Result<Cow<'_, [SessionCount]>>;

    /// The click transitions of a block, where they were counted; its lists are numbered from 0.
    fn transitions(&self, block: &Block) -> Result<Option<Cow<'_, Transitions>>>;

    /// Whole result pages, where they were seen.
    fn pages(&self) -> Option<&Pages>;

    /// How they were counted.
    fn origin(&self) -> &Origin;

    /// Where what is made of the counts goes, if it is as large as they are: nowhere but memory if they are in memory.
    fn room(&self) -> Option<&Room>;
}

/// How much there is of everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// N: sessions.
    pub sessions: u64,
    /// Documents shown.
    pub impressions: u64,
    /// Documents clicked.
    pub clicks: u64,
    /// Queries.
    pub queries: u64,
    /// Ids of documents.
    pub docs: u64,
    /// Users.
    pub users: u64,
    /// Distinct (query, document): a document counts once for each query, since ids are often unique within a query only.
    pub shown: u64,
    /// Distinct (query, document, position, user).
    pub cells: u64,
    /// Click patterns, where they were counted.
    pub patterns: Option<u64>,
    /// Distinct (query, list of documents), where click transitions were counted.
    pub lists: Option<u64>,
    /// Distinct (query, list, user, click, next click), where they were counted.
    pub transitions: Option<u64>,
    /// Contexts that lists were shown in, where they were counted.
    pub contexts: Option<u64>,
    /// Whole pages, where they were kept.
    pub pages: Option<u64>,
    /// The largest position at which anything was shown.
    pub max_position: u32,
}

impl Totals {
    /// The totals by the names under which people see them.
    pub fn named(&self) -> Vec<(&'static str, u64)> {
        let mut named = vec![
            ("impressions", self.impressions),
            ("clicks", self.clicks),
            ("sessions", self.sessions),
            ("queries", self.queries),
            ("documents", self.shown),
            ("users", self.users),
            ("cells", self.cells),
        ];
        named.extend(self.patterns.map(|count| ("patterns", count)));
        named.extend(self.lists.map(|count| ("lists", count)));
        named.extend(self.transitions.map(|count| ("transitions", count)));
        named.extend(self.contexts.map(|count| ("contexts", count)));
        named
    }

    /// Adds the cells of whole queries.
    pub(super) fn add_cells(&mut self, cells: &[Cell]) {
        for cell in cells {
            // Damaged counts may be of any size; they are refused for it later.
            self.impressions = self.impressions.saturating_add(cell.impressions);
            self.clicks = self.clicks.saturating_add(cell.clicks);
            self.max_position = self.max_position.max(cell.position);
        }
        self.cells += cells.len() as u64;
        self.shown += by_document(cells).count() as u64;
    }
}

/// Which cells and sessions, of all in order, belong to some queries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Number of the block.
    pub index: usize,
    /// Its cells.
    pub cells: Range<usize>,
    /// Its sessions.
    pub sessions: Range<usize>,
}

/// A block ends with the query that brings it to so many cells: 4 MiB, unless one query has more. Small in tests, so that
/// their logs have many.
pub(super) const BLOCK: usize = if cfg!(test) { 1 << 8 } else { 1 << 17 };

/// The cells of each (query, document).
pub(crate) fn by_document(cells: &[Cell]) -> impl Iterator<Item = &[Cell]> {
    cells.chunk_by(|a, b| (a.query, a.doc) == (b.query, b.doc))
}

/// The cells of each (query, document, position).
pub(crate) fn by_position(cells: &[Cell]) -> impl Iterator<Item = &[Cell]> {
    cells.chunk_by(|a, b| (a.query, a.doc, a.position) == (b.query, b.doc, b.position))
}

impl dyn CountsView + '_ {
    /// Hands the cells of each block to `take`, in order.
    pub(crate) fn for_each_cells(&self, mut take: impl FnMut(&[Cell])) -> Result<()> {
        self.in_order(|block| self.cells(block), |cells| take(&cells))
    }

    /// Hands the sessions of each block to `take`, in order.
    pub(crate) fn for_each_sessions(&self, mut take: impl FnMut(&[SessionCount])) -> Result<()> {
        self.in_order(|block| self.sessions(block), |sessions| take(&sessions))
    }

    /// Hands cells and sessions of each block to `take`, in order.
    pub(crate) fn for_each_block(&self, mut take: impl FnMut(&[Cell], &[SessionCount])) -> Result<()> {
        let read = |block: &Block| Ok((self.cells(block)?, self.sessions(block)?));
        self.in_order(read, |(cells, sessions)| take(&cells, &sessions))
    }

    /// Hands to `take`, in order, what `work` makes of each block's number and cells, on all threads.
    pub(crate) fn map_cells<T: Send>(
        &self,
        work: impl Fn(usize, &[Cell]) -> Result<T> + Sync,
        take: impl FnMut(T),
    ) -> Result<()> {
        self.in_order(|block| work(block.index, &self.cells(block)?), take)
    }

    /// A few blocks at a time: bounds the memory. An error is that of the first block that has one.
    pub(super) fn in_order<T: Send>(
        &self,
        work: impl Fn(&Block) -> Result<T> + Sync,
        mut take: impl FnMut(T),
    ) -> Result<()> {
        for few in self.blocks().chunks(2 * rayon::current_num_threads()) {
            let made: Vec<Result<T>> = few.par_iter().with_max_len(1).map(&work).collect();
            for one in made {
                take(one?);
            }
        }
        Ok(())
    }

    /// The (query, document) of every shown document, in order.
    pub(crate) fn shown_docs(&self) -> Result<Vec<(u32, u32)>> {
        let mut docs = Vec::with_capacity(self.totals().shown as usize);
        self.for_each_cells(|cells| docs.extend(by_document(cells).map(|of_doc| (of_doc[0].query, of_doc[0].doc))))?;
        Ok(docs)
    }
}

impl CountsView for Counts {
    fn queries(&self) -> &Ids {
        &self.queries
    }

    fn docs(&self) -> &Ids {
        &self.docs
    }

    fn users(&self) -> &Ids {
        &self.users
    }

    fn contexts(&self) -> &Ids {
        &self.contexts
    }

    fn totals(&self) -> Totals {
        let mut totals = Totals {
            sessions: self.session_count(),
            queries: self.queries.len() as u64,
            docs: self.docs.len() as u64,
            users: self.users.len() as u64,
            patterns: self.patterns.as_ref().map(|patterns| patterns.patterns.len() as u64),
            lists: self.transitions.as_ref().map(|transitions| transitions.lists.len() as u64),
            transitions: self.transitions.as_ref().map(|transitions| transitions.rows.len() as u64),
            contexts: Some(self.contexts.len() as u64).filter(|&contexts| contexts > 0),
            pages: self.pages.as_ref().map(|pages| pages.pages.len() as u64),
            ..Totals::default()
        };
        totals.add_cells(&self.cells);
        totals
    }

    fn sessions_per_query(&self) -> Vec<u64> {
        Counts::sessions_per_query(self)
    }

    fn sessions_per_user(&self) -> Vec<u64> {
        Counts::sessions_per_user(self)
    }

    fn blocks(&self) -> Vec<Block> {
        let (mut blocks, mut cell, mut session) = (Vec::new(), 0, 0);
        while cell < self.cells.len() || (blocks.is_empty() && !self.sessions.is_empty()) {
            let rest = &self.cells[cell..];
            let last = rest.get(BLOCK - 1).map(|cell| cell.query);
            let cell_end = cell + last.map_or(rest.len(), |last| rest.partition_point(|cell| cell.query <= last));
            let session_end = match last.filter(|_| cell_end < self.cells.len()) {
                Some(last) => self.sessions.partition_point(|count| count.query <= last),
                None => self.sessions.len(),
            };
            blocks.push(Block { index: blocks.len(), cells: cell..cell_end, sessions: session..session_end });
            (cell, session) = (cell_end, session_end);
        }
        blocks
    }

    fn cells(&self, block: &Block) -> Result<Cow<'_, [Cell]>> {
        Ok(Cow::Borrowed(&self.cells[block.cells.clone()]))
    }

    fn sessions(&self, block: &Block) -> Result<Cow<'_, [SessionCount]>> {
        Ok(Cow::Borrowed(&self.sessions[block.sessions.clone()]))
    }

    fn transitions(&self, block: &Block) -> Result<Option<Cow<'_, Transitions>>> {
        let Some(all) = &self.transitions else { return Ok(None) };
        let of_block = &self.sessions[block.sessions.clone()];
        Ok(Some(match (of_block.first(), of_block.last()) {
            _ if of_block.len() == self.sessions.len() => Cow::Borrowed(all),
            (Some(first), Some(last)) => Cow::Owned(all.of_queries(first.query, last.query)),
            _ => Cow::Owned(Transitions::default()),
        }))
    }

    fn pages(&self) -> Option<&Pages> {
        self.pages.as_ref()
    }

    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn room(&self) -> Option<&Room> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_whole_queries_and_hold_everything() {
        // Query q has 100 + q cells of as many users.
        let cell = |query, user| Cell { query, doc: 0, position: 1 + query, user, impressions: 2, clicks: 1 };
        let cells: Vec<Cell> = (0..10).flat_map(|query| (0..100 + query).map(move |user| cell(query, user))).collect();
        let sessions: Vec<_> =
            cells.iter().map(|cell| SessionCount { query: cell.query, user: cell.user, sessions: 2 }).collect();
        let counts = Counts { cells: cells.clone(), sessions: sessions.clone(), ..Counts::default() };
        let blocks = counts.blocks();
        // 100 + 101 cells are too few, 102 more are enough.
        let lengths: Vec<usize> = blocks.iter().map(|block| block.cells.len()).collect();
        assert_eq!(lengths, [100 + 101 + 102, 103 + 104 + 105, 106 + 107 + 108, 109]);
        assert!(blocks.iter().all(|block| block.cells == block.sessions));
        let view: &dyn CountsView = &counts;
        let (mut all_cells, mut all_sessions) = (Vec::new(), Vec::new());
        view.for_each_block(|cells, sessions| {
            all_cells.extend_from_slice(cells);
            all_sessions.extend_from_slice(sessions);
        })
        .unwrap();
        assert_eq!((all_cells, all_sessions), (cells, sessions));
        let totals = view.totals();
        assert_eq!((totals.cells, totals.shown, totals.max_position), (1045, 10, 10));
        assert_eq!((totals.impressions, totals.clicks, totals.sessions), (2 * 1045, 1045, 2 * 1045));
        assert_eq!(view.shown_docs().unwrap(), (0..10).map(|query| (query, 0)).collect::<Vec<_>>());
    }

    #[test]
    fn sessions_without_cells_are_a_block() {
        let sessions = vec![SessionCount { query: 0, user: 0, sessions: 2 }];
        assert_eq!(
            Counts { sessions, ..Counts::default() }.blocks(),
            [Block { index: 0, cells: 0..0, sessions: 0..1 }]
        );
        assert!(Counts::default().blocks().is_empty());
    }
}
