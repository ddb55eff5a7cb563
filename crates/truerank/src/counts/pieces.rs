//! Rows of a partition while the log is read: scattered by query, in memory or on disk.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;

use super::store::Store;
use crate::Result;
use crate::log::{OTHER, Rows};

/// Enough to keep many cores busy and each partition's sorting in cache.
pub(super) const PARTITIONS: usize = 64;

/// Consecutive rows of one result page, as they came: most logs keep pages together, and then only pages are sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub session: u64,
    pub query: u32,
    pub user: u32,
    /// Where its rows end in the piece; they start where those of the run before it end.
    pub end: u32,
}

/// What is left of a row beside its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub doc: u32,
    /// Twice the position, plus one for a click.
    pub shown: u32,
}

/// Rows of one partition from one block.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Piece {
    pub runs: Vec<Run>,
    pub rows: Vec<Row>,
    /// The earliest time of each run; empty where times do not matter.
    pub times: Vec<i64>,
    /// The context of each run; empty where contexts are not counted.
    pub contexts: Vec<u32>,
}

impl Piece {
    fn push(&mut self, run: Run, rows: impl Iterator<Item = Row>, time: Option<i64>, context: Option<u32>) {
        self.rows.extend(rows);
        self.runs.push(Run { end: self.rows.len() as u32, ..run });
        self.times.extend(time);
        self.contexts.extend(context);
    }

    /// Every run, and how many rows it has.
    pub fn runs(&self) -> impl Iterator<Item = (&Run, usize)> {
        let starts = std::iter::once(0).chain(self.runs.iter().map(|run| run.end));
        self.runs.iter().zip(starts).map(|(run, start)| (run, (run.end - start) as usize))
    }

    /// Without room for more.
    fn shrunk(mut self) -> Self {
        self.runs.shrink_to_fit();
        self.rows.shrink_to_fit();
        self.times.shrink_to_fit();
        self.contexts.shrink_to_fit();
        self
    }

    /// Bytes on disk, and about as many in memory.
    pub fn size(&self) -> usize {
        self.runs.len() * RUN + self.rows.len() * ROW + self.times.len() * TIME + self.contexts.len() * CONTEXT
    }

    fn encode(&self, out: &mut Vec<u8>) {
        for run in &self.runs {
            out.extend(run.session.to_le_bytes());
            [run.query, run.user, run.end].iter().for_each(|number| out.extend(number.to_le_bytes()));
        }
        for row in &self.rows {
            out.extend((u64::from(row.doc) | u64::from(row.shown) << 32).to_le_bytes());
        }
        self.contexts.iter().for_each(|context| out.extend(context.to_le_bytes()));
        self.times.iter().for_each(|time| out.extend(time.to_le_bytes()));
    }

    fn decode(bytes: &[u8], runs: usize, rows: usize, contexts: usize) -> Self {
        let (run_bytes, bytes) = bytes.split_at(runs * RUN);
        let (row_bytes, bytes) = bytes.split_at(rows * ROW);
        let (context_bytes, time_bytes) = bytes.split_at(contexts * CONTEXT);
        let word =
            |bytes: &[u8], at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let long = |bytes: &[u8]| u64::from(word(bytes, 0)) | u64::from(word(bytes, 4)) << 32;
        let run = |b: &[u8]| Run { session: long(b), query: word(b, 8), user: word(b, 12), end: word(b, 16) };
        Piece {
            runs: run_bytes.chunks_exact(RUN).map(run).collect(),
            rows: row_bytes.chunks_exact(ROW).map(|b| Row { doc: word(b, 0), shown: word(b, 4) }).collect(),
            contexts: context_bytes.chunks_exact(CONTEXT).map(|b| word(b, 0)).collect(),
            times: time_bytes.chunks_exact(TIME).map(|b| long(b) as i64).collect(),
        }
    }
}

const RUN: usize = 20;
const ROW: usize = 8;
const TIME: usize = 8;
const CONTEXT: usize = 4;

/// A piece that was put away.
#[derive(Debug)]
pub(super) enum Stored {
    Held(Piece),
    Spooled { start: u64, size: usize, runs: usize, rows: usize, contexts: usize },
}

impl Stored {
    /// Puts the pieces of a block away: held where there is room, all others with one write.
    pub fn put_all(pieces: Vec<Piece>, store: &Store, ids: u64) -> Result<Vec<Stored>> {
        let size: usize = pieces.iter().map(Piece::size).sum();
        if store.hold(size, ids) {
            return Ok(pieces.into_iter().map(|piece| Stored::Held(piece.shrunk())).collect());
        }
        let mut bytes = Vec::with_capacity(size);
        pieces.iter().for_each(|piece| piece.encode(&mut bytes));
        let mut start = store.spool(&bytes)?;
        let place = |piece: &Piece| {
            let size = piece.size();
            start += size as u64;
            let (runs, rows, contexts) = (piece.runs.len(), piece.rows.len(), piece.contexts.len());
            Stored::Spooled { start: start - size as u64, size, runs, rows, contexts }
        };
        Ok(pieces.iter().map(place).collect())
    }

    /// Bytes of the piece.
    pub fn size(&self) -> usize {
        match self {
            Stored::Held(piece) => piece.size(),
            Stored::Spooled { size, .. } => *size,
        }
    }

    /// The piece, which is no longer put away.
    pub fn fetch(self, store: &Store) -> Result<Piece> {
        match self {
            Stored::Held(piece) => {
                store.free(piece.size());
                Ok(piece)
            }
            Stored::Spooled { start, size, runs, rows, contexts } => {
                let mut bytes = vec![0; size];
                store.read(start, &mut bytes)?;
                Ok(Piece::decode(&bytes, runs, rows, contexts))
            }
        }
    }
}

/// Rows by partition, as runs.
pub(super) fn scatter(rows: &Rows) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = (0..PARTITIONS).map(|_| Piece::default()).collect();
    let users = &rows.users.codes;
    let queries = &rows.queries.codes;
    let contexts = &rows.contexts.codes;
    let mut start = 0;
    while start < rows.len() {
        let (session, query, user) = (rows.sessions[start], queries[start], users[start]);
        let context = contexts.get(start).copied();
        let same = |&i: &usize| {
            rows.sessions[i] == session
                && queries[i] == query
                && users[i] == user
                && contexts.get(i).copied() == context
        };
        let end = start + 1 + (start + 1..rows.len()).take_while(same).count();
        let row = |i| Row { doc: rows.docs.codes[i], shown: rows.positions[i] << 1 | u32::from(rows.clicks[i]) };
        let time = rows.times.get(start..end).and_then(|times| times.iter().min()).copied();
        pieces[partition(query)].push(Run { session, query, user, end: 0 }, (start..end).map(row), time, context);
        start = end;
    }
    pieces
}

/// The partition of a query, by the upper bits of a multiplicative hash of its code.
fn partition(query: u32) -> usize {
    const { assert!(PARTITIONS.is_power_of_two() && OTHER.is_power_of_two()) };
    (query.wrapping_mul(0x9e37_79b1) >> (32 - PARTITIONS.trailing_zeros())) as usize
}

/// What stays together when a partition is split.
#[derive(Debug, Clone, Copy)]
pub(super) enum ScatterBy {
    Query,
    /// One query may be most of a log.
    Page,
}

impl ScatterBy {
    fn hash(self, run: &Run) -> u64 {
        match self {
            ScatterBy::Query => HASHER.hash_one(run.query),
            ScatterBy::Page => HASHER.hash_one((run.query, run.session)),
        }
    }
}

/// Spreads a partition over `parts`.
pub(super) fn split(
    pieces: Vec<Stored>,
    parts: usize,
    by: ScatterBy,
    store: &Store,
    ids: u64,
) -> Result<Vec<Vec<Stored>>> {
    let mut split: Vec<Vec<Stored>> = (0..parts).map(|_| Vec::new()).collect();
    for piece in pieces {
        let fine = split_piece(&piece.fetch(store)?, parts, by);
        for (part, piece) in split.iter_mut().zip(Stored::put_all(fine, store, ids)?) {
            part.push(piece);
        }
    }
    Ok(split)
}

fn split_piece(piece: &Piece, parts: usize, by: ScatterBy) -> Vec<Piece> {
    let mut split: Vec<Piece> = (0..parts).map(|_| Piece::default()).collect();
    let mut start = 0;
    for (number, run) in piece.runs.iter().enumerate() {
        let part = by.hash(run) as usize % parts;
        let rows = piece.rows[start..run.end as usize].iter().copied();
        split[part].push(*run, rows, piece.times.get(number).copied(), piece.contexts.get(number).copied());
        start = run.end as usize;
    }
    split
}

const HASHER: FixedState = FixedState::with_seed(2);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Room;
    use crate::memory::Memory;

    fn piece(pages: u64) -> Piece {
        let mut piece = Piece::default();
        for page in 0..pages {
            let run = Run { session: page << 40 | 7, query: page as u32 % 3, user: u32::MAX - page as u32, end: 0 };
            let rows = (0..page as u32 % 4 + 1).map(|i| Row { doc: OTHER | i, shown: 2 * i + 3 });
            piece.push(run, rows, Some(-(page as i64)), Some(page as u32 % 2));
        }
        piece
    }

    #[test]
    fn pieces_come_back_from_memory_and_from_disk() {
        let folder = tempfile::tempdir().unwrap();
        let bounded = Store::bounded(&Room::new(Memory::new(0)).temporary(folder.path())).unwrap();
        for store in [Store::default(), bounded] {
            let stored = Stored::put_all(vec![piece(9), Piece::default(), piece(4)], &store, 0).unwrap();
            assert_eq!(stored.iter().map(Stored::size).sum::<usize>(), piece(9).size() + piece(4).size());
            let found: Vec<Piece> = stored.into_iter().map(|piece| piece.fetch(&store).unwrap()).collect();
            assert_eq!(found, [piece(9), Piece::default(), piece(4)]);
        }
    }

    #[test]
    fn splitting_keeps_all_rows_and_pages_whole() {
        let parts = split_piece(&piece(100), 5, ScatterBy::Page);
        assert_eq!(parts.iter().map(|part| part.rows.len()).sum::<usize>(), piece(100).rows.len());
        let mut sessions: Vec<u64> = parts.iter().flat_map(|part| part.runs.iter().map(|run| run.session)).collect();
        sessions.sort_unstable();
        assert_eq!(sessions, piece(100).runs.iter().map(|run| run.session).collect::<Vec<_>>());
        assert!(parts.iter().all(|part| !part.runs.is_empty() && part.times.len() == part.runs.len()));
        assert!(parts.iter().all(|part| part.contexts.len() == part.runs.len()));
        for part in split_piece(&piece(100), 5, ScatterBy::Query) {
            let whole = |query| part.runs.iter().filter(|run| run.query == query).count();
            assert!((0..3).all(|query| [0, 33, 34].contains(&whole(query))));
        }
    }
}
