//! The counts of partitions as runs of records in the order of queries, and all of them merged.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::model::{Cell, Patterns, SessionCount, Shown};
use super::record::{Batch, Records, encode};
use super::store::{Segment, Store};
use super::transitions::Transitions;
use super::used::UsedIds;
use crate::{Error, Result};

/// Bytes of records that are put away together.
const SEGMENT: usize = 1 << 16;

/// Puts the counts of queries away, in the order of queries.
pub(super) struct RunWriter<'a> {
    store: &'a Store,
    ids: u64,
    used: Option<&'a UsedIds>,
    bytes: Vec<u8>,
    segments: VecDeque<Segment>,
}

impl<'a> RunWriter<'a> {
    /// Puts them into `store` beside `ids` bytes of ids, and notes in `used` which ids occur.
    pub fn new(store: &'a Store, ids: u64, used: Option<&'a UsedIds>) -> Self {
        RunWriter { store, ids, used, bytes: Vec::new(), segments: VecDeque::new() }
    }

    pub fn push(&mut self, query: u32, counts: &Batch) -> Result<()> {
        let RunWriter { store, ids, used, bytes, segments } = self;
        used.iter().for_each(|used| used.mark(counts));
        encode(query, counts, bytes, |bytes| {
            if bytes.len() < SEGMENT {
                return Ok(());
            }
            segments.push_back(store.keep(std::mem::take(bytes), *ids)?);
            bytes.reserve(SEGMENT + SEGMENT / 4);
            Ok(())
        })
    }

    pub fn finish(mut self) -> Result<SortedRun> {
        if !self.bytes.is_empty() {
            self.bytes.shrink_to_fit();
            self.segments.push_back(self.store.keep(self.bytes, self.ids)?);
        }
        Ok(SortedRun { segments: self.segments })
    }
}

/// The counts of some queries in their order.
#[derive(Default)]
pub(super) struct SortedRun {
    segments: VecDeque<Segment>,
}

impl SortedRun {
    /// Runs one after another, whose queries are in that order.
    pub fn joined(runs: impl Iterator<Item = SortedRun>) -> Self {
        SortedRun { segments: runs.flat_map(|run| run.segments).collect() }
    }
}

/// Reads a run, a segment at a time.
struct Cursor<'a> {
    store: &'a Store,
    run: SortedRun,
    bytes: Vec<u8>,
    at: usize,
}

impl<'a> Cursor<'a> {
    fn new(run: SortedRun, store: &'a Store) -> Self {
        Cursor { store, run, bytes: Vec::new(), at: 0 }
    }

    /// The query of the next record.
    fn query(&mut self) -> Result<Option<u32>> {
        if self.at == self.bytes.len() {
            let Some(segment) = self.run.segments.pop_front() else { return Ok(None) };
            (self.bytes, self.at) = (self.store.fetch(segment)?, 0);
        }
        Records::new(&self.bytes[self.at..]).query().map(Some).ok_or_else(damaged)
    }

    /// Appends the next record to `batch`.
    fn read(&mut self, batch: &mut Batch) -> Result<()> {
        let mut records = Records::new(&self.bytes[self.at..]);
        records.read(batch).ok_or_else(damaged)?;
        self.at = self.bytes.len() - records.left();
        Ok(())
    }
}

fn damaged() -> Error {
    Error::parameter("temporary data was changed while it was in use; run the command again")
}

/// All runs as one, in the order of queries, documents, positions and users.
pub(super) struct Merge<'a> {
    cursors: Vec<Cursor<'a>>,
    next: BinaryHeap<Reverse<(u32, usize)>>,
    shared: Option<Shared>,
}

impl<'a> Merge<'a> {
    pub fn new(runs: Vec<SortedRun>, store: &'a Store) -> Result<Self> {
        let mut merge = Merge {
            cursors: runs.into_iter().map(|run| Cursor::new(run, store)).collect(),
            next: BinaryHeap::new(),
            shared: None,
        };
        (0..merge.cursors.len()).try_for_each(|cursor| merge.queue(cursor))?;
        Ok(merge)
    }

    /// Appends what belongs to the next queries, or parts of them, to `batch`, until it has `rows` rows; less at the end.
    pub fn read(&mut self, rows: usize, batch: &mut Batch) -> Result<()> {
        while batch.size() < rows {
            if let Some(shared) = &mut self.shared {
                if shared.read(&mut self.cursors, rows, batch)? {
                    let done = self.shared.take();
                    done.into_iter().flat_map(|shared| shared.parts).try_for_each(|part| self.queue(part.cursor))?;
                }
                continue;
            }
            let Some(Reverse((query, cursor))) = self.next.pop() else { return Ok(()) };
            if self.next.peek().is_some_and(|Reverse((other, _))| *other == query) {
                self.share(query, cursor);
                continue;
            }
            self.cursors[cursor].read(batch)?;
            self.queue(cursor)?;
        }
        Ok(())
    }

    /// Appends all that belongs to the next query to `batch`, and says which it is; nothing at the end.
    pub fn read_query(&mut self, batch: &mut Batch) -> Result<Option<u32>> {
        let Some(Reverse((query, cursor))) = self.next.pop() else { return Ok(None) };
        if self.next.peek().is_some_and(|Reverse((other, _))| *other == query) {
            self.share(query, cursor);
            if let Some(mut shared) = self.shared.take() {
                shared.read(&mut self.cursors, usize::MAX, batch)?;
                shared.parts.iter().try_for_each(|part| self.queue(part.cursor))?;
            }
            return Ok(Some(query));
        }
        while self.cursors[cursor].query()? == Some(query) {
            self.cursors[cursor].read(batch)?;
        }
        self.queue(cursor)?;
        Ok(Some(query))
    }

    fn queue(&mut self, cursor: usize) -> Result<()> {
        self.next.extend(self.cursors[cursor].query()?.map(|query| Reverse((query, cursor))));
        Ok(())
    }

    /// Takes all cursors at `query`, which stands in several runs.
    fn share(&mut self, query: u32, first: usize) {
        let mut parts = vec![Part::new(first)];
        while let Some(&Reverse((other, cursor))) = self.next.peek()
            && other == query
        {
            self.next.pop();
            parts.push(Part::new(cursor));
        }
        self.shared = Some(Shared { query, parts, next: None });
    }
}

/// A query that stands in several runs, since it is large: its cells are merged as they are read.
struct Shared {
    query: u32,
    parts: Vec<Part>,
    /// The next cell of each part, the least first; none before the first cell is asked for.
    next: Option<BinaryHeap<Reverse<(CellKey, usize)>>>,
}

/// Document, position and user.
type CellKey = (u32, u32, u32);

/// What one run says of the query.
struct Part {
    cursor: usize,
    counts: Batch,
    /// Cells of `counts` that are merged.
    done: usize,
}

impl Part {
    fn new(cursor: usize) -> Self {
        Part { cursor, counts: Batch::default(), done: 0 }
    }

    /// The next cell, read from the run where none is left. Sessions, patterns and transitions stay until the end.
    fn cell(&mut self, cursors: &mut [Cursor<'_>], query: u32) -> Result<Option<Cell>> {
        while self.done == self.counts.cells.len() {
            self.counts.cells.clear();
            self.done = 0;
            let cursor = &mut cursors[self.cursor];
            if cursor.query()? != Some(query) {
                return Ok(None);
            }
            cursor.read(&mut self.counts)?;
        }
        Ok(Some(self.counts.cells[self.done]))
    }
}

impl Shared {
    /// Merges until `batch` has so many rows; says whether that was all of the query.
    fn read(&mut self, cursors: &mut [Cursor<'_>], rows: usize, batch: &mut Batch) -> Result<bool> {
        while batch.size() < rows {
            let Some(cell) = self.next_cell(cursors)? else {
                self.finish(batch);
                return Ok(true);
            };
            batch.cells.push(cell);
        }
        Ok(false)
    }

    /// The least cell, added up over the runs it stands in.
    fn next_cell(&mut self, cursors: &mut [Cursor<'_>]) -> Result<Option<Cell>> {
        if self.next.is_none() {
            self.next = Some(BinaryHeap::new());
            (0..self.parts.len()).try_for_each(|part| self.queue(part, cursors))?;
        }
        let Some(first) = self.pop() else { return Ok(None) };
        let mut sum = self.take(first.1);
        self.queue(first.1, cursors)?;
        while self.next.iter().filter_map(|next| next.peek()).any(|Reverse((key, _))| *key == first.0) {
            let Some((_, part)) = self.pop() else { break };
            let cell = self.take(part);
            sum.impressions += cell.impressions;
            sum.clicks += cell.clicks;
            self.queue(part, cursors)?;
        }
        Ok(Some(sum))
    }

    /// Puts the next cell of a part in line, if there is one.
    fn queue(&mut self, part: usize, cursors: &mut [Cursor<'_>]) -> Result<()> {
        let cell = self.parts[part].cell(cursors, self.query)?;
        let key = cell.map(|cell| Reverse(((cell.doc, cell.position, cell.user), part)));
        self.next.iter_mut().for_each(|next| next.extend(key));
        Ok(())
    }

    fn pop(&mut self) -> Option<(CellKey, usize)> {
        self.next.as_mut()?.pop().map(|Reverse(first)| first)
    }

    /// The next cell of a part, which is then done.
    fn take(&mut self, part: usize) -> Cell {
        let part = &mut self.parts[part];
        part.done += 1;
        part.counts.cells[part.done - 1]
    }

    fn finish(&mut self, batch: &mut Batch) {
        let mut sessions: Vec<SessionCount> =
            self.parts.iter().flat_map(|part| part.counts.sessions.iter().copied()).collect();
        sessions.sort_unstable();
        batch.sessions.extend(
            sessions.chunk_by(|a, b| a.user == b.user).map(|of_user| SessionCount {
                sessions: of_user.iter().map(|count| count.sessions).sum(),
                ..of_user[0]
            }),
        );
        let parts = self.parts.iter().map(|part| &part.counts.patterns);
        add_patterns(self.query, parts, &mut batch.patterns);
        let parts: Vec<&Transitions> = self.parts.iter().map(|part| &part.counts.transitions).collect();
        batch.transitions.add_parts(self.query, parts.iter().copied());
    }
}

/// Appends the patterns of one query, those that are alike added up.
fn add_patterns<'a>(query: u32, parts: impl Iterator<Item = &'a Patterns>, sum: &mut Patterns) {
    let of_part = |part: &'a Patterns| {
        part.patterns.iter().map(|pattern| (&part.shown[pattern.shown.clone()], pattern.user, pattern.sessions))
    };
    let mut all: Vec<(&[Shown], u32, u64)> = parts.flat_map(of_part).collect();
    all.sort_unstable();
    for same in all.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        sum.push(query, same[0].1, same[0].0, same.iter().map(|(.., sessions)| sessions).sum());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::transitions::{END, Listed, Transition};
    use crate::files::Room;
    use crate::memory::Memory;

    fn cell(query: u32, doc: u32, user: u32, impressions: u64) -> Cell {
        Cell { query, doc, position: 1, user, impressions, clicks: impressions / 2 }
    }

    fn counts(query: u32, cells: &[(u32, u32, u64)]) -> Batch {
        let mut batch = Batch::default();
        batch.cells.extend(cells.iter().map(|&(doc, user, count)| cell(query, doc, user, count)));
        batch.sessions.extend(cells.iter().map(|&(_, user, sessions)| SessionCount { query, user, sessions }));
        let shown: Vec<Shown> = cells.iter().map(|&(doc, ..)| Shown { position: 1, doc, click: false }).collect();
        batch.patterns.push(query, 0, &shown, 1);
        for (list, &(doc, user, sessions)) in cells.iter().enumerate() {
            batch.transitions.push_list(query, 0, [Listed { position: 1, doc }]);
            batch.transitions.rows.push(Transition { list: list as u32, user, from: 0, to: END, sessions });
        }
        batch
    }

    fn run(store: &Store, queries: &[(u32, Batch)]) -> SortedRun {
        let mut writer = RunWriter::new(store, 0, None);
        queries.iter().for_each(|(query, counts)| writer.push(*query, counts).unwrap());
        writer.finish().unwrap()
    }

    fn merged(store: &Store, runs: Vec<SortedRun>, step: usize) -> Batch {
        let mut merge = Merge::new(runs, store).unwrap();
        let mut all = Batch::default();
        loop {
            let before = all.clone();
            merge.read(all.size() + step, &mut all).unwrap();
            if all == before {
                return all;
            }
        }
    }

    #[test]
    fn queries_of_all_runs_come_in_order_and_shared_ones_add_up() {
        let folder = tempfile::tempdir().unwrap();
        for store in [Store::default(), Store::bounded(&Room::new(Memory::new(0)).temporary(folder.path())).unwrap()] {
            for step in [1, 2, 100] {
                let runs = vec![
                    run(&store, &[(0, counts(0, &[(1, 0, 2)])), (5, counts(5, &[(1, 3, 4), (2, 4, 1)]))]),
                    SortedRun::default(),
                    run(&store, &[(5, counts(5, &[(1, 3, 2), (3, 1, 8)])), (9, counts(9, &[(0, 0, 1)]))]),
                    run(&store, &[(2, counts(2, &[(7, 7, 7)]))]),
                    run(&store, &[(5, counts(5, &[(1, 3, 4), (2, 4, 1)]))]),
                ];
                let all = merged(&store, runs, step);
                let five = [cell(5, 1, 3, 10), cell(5, 2, 4, 2), cell(5, 3, 1, 8)];
                let mut expected = vec![cell(0, 1, 0, 2), cell(2, 7, 7, 7)];
                expected.extend(five.map(|cell| Cell { clicks: cell.impressions / 2, ..cell }));
                expected[3].clicks = 0;
                expected.push(cell(9, 0, 0, 1));
                assert_eq!(all.cells, expected);
                let sessions: Vec<_> = all.sessions.iter().map(|c| (c.query, c.user, c.sessions)).collect();
                assert_eq!(sessions, [(0, 0, 2), (2, 7, 7), (5, 1, 8), (5, 3, 10), (5, 4, 2), (9, 0, 1)]);
                let patterns: Vec<_> =
                    all.patterns.patterns.iter().map(|p| (p.query, p.shown.len(), p.sessions)).collect();
                assert_eq!(patterns, [(0, 1, 1), (2, 1, 1), (5, 2, 2), (5, 2, 1), (9, 1, 1)]);
                let lists = all.transitions.by_list().map(|(list, rows)| {
                    assert_eq!(rows.len(), 1);
                    (list.query, all.transitions.of(list)[0].doc, rows[0].user, rows[0].sessions)
                });
                let expected = [(0, 1, 0, 2), (2, 7, 7, 7), (5, 1, 3, 10), (5, 2, 4, 2), (5, 3, 1, 8), (9, 0, 0, 1)];
                assert_eq!(lists.collect::<Vec<_>>(), expected);
            }
        }
    }

    #[test]
    fn a_large_query_is_read_in_parts() {
        let store = Store::default();
        let rows: Vec<(u32, u32, u64)> = (0..100_000).map(|i| (i, i, 2)).collect();
        let (odd, even): (Vec<_>, Vec<_>) = rows.iter().copied().partition(|(doc, ..)| doc % 2 == 1);
        let runs = vec![run(&store, &[(3, counts(3, &odd))]), run(&store, &[(3, counts(3, &even))])];
        let mut merge = Merge::new(runs, &store).unwrap();
        let mut part = Batch::default();
        merge.read(1000, &mut part).unwrap();
        assert_eq!(part.cells, counts(3, &rows[..1000]).cells);
        assert!(part.transitions.rows.is_empty());
        merge.read(usize::MAX, &mut part).unwrap();
        assert_eq!(part.cells, counts(3, &rows).cells);
        assert_eq!(part.transitions, counts(3, &rows).transitions);
    }
}
