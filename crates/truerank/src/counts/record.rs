//! Counts in a compact form: a record is a query, or a part of a large one, and takes about five bytes per cell.
//!
//! Numbers are differences to the row before, and have as many bytes as they need. Rows in order make them small; other
//! orders are kept as they are.

use super::model::{Cell, Pattern, Patterns, SessionCount, Shown};
use super::transitions::{END, Listed, Transition, Transitions};
use crate::files::varint::{put, take};

/// Rows of a table in a record at most, so that a reader holds little of a large query.
const ROWS: usize = 1 << 14;
/// Bytes of a record's own size.
const SIZE: usize = 4;

/// The counts of some queries, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Batch {
    pub cells: Vec<Cell>,
    pub sessions: Vec<SessionCount>,
    pub patterns: Patterns,
    pub transitions: Transitions,
}

impl Batch {
    pub fn clear(&mut self) {
        self.cells.clear();
        self.sessions.clear();
        self.patterns.patterns.clear();
        self.patterns.shown.clear();
        self.transitions.clear();
    }

    /// Appends the counts of later queries.
    pub fn append(&mut self, later: &Batch) {
        self.cells.extend_from_slice(&later.cells);
        self.sessions.extend_from_slice(&later.sessions);
        self.patterns.append(&later.patterns);
        self.transitions.append(&later.transitions);
    }

    /// How many rows there are of what can be many more than queries.
    pub fn size(&self) -> usize {
        self.cells.len() + self.patterns.patterns.len() + self.transitions.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.size() == 0 && self.sessions.is_empty()
    }
}

/// Appends the counts of one query as records, and calls `full` after each.
pub(crate) fn encode<E>(
    query: u32,
    counts: &Batch,
    out: &mut Vec<u8>,
    mut full: impl FnMut(&mut Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    let mut cells = counts.cells.chunks(ROWS);
    let mut sessions = counts.sessions.chunks(ROWS);
    let mut patterns = counts.patterns.patterns.chunks(ROWS);
    let mut transitions = counts.transitions.rows.chunks(ROWS);
    loop {
        let parts = (cells.next(), sessions.next(), patterns.next(), transitions.next());
        if let (None, None, None, None) = parts {
            return Ok(());
        }
        let start = out.len();
        out.extend([0; SIZE]);
        put(out, u64::from(query));
        put_cells(out, parts.0.unwrap_or_default());
        put_sessions(out, parts.1.unwrap_or_default());
        put_patterns(out, parts.2.unwrap_or_default(), &counts.patterns.shown);
        put_transitions(out, parts.3.unwrap_or_default(), &counts.transitions);
        let size = (out.len() - start - SIZE) as u32;
        out[start..start + SIZE].copy_from_slice(&size.to_le_bytes());
        full(out)?;
    }
}

fn put_cells(out: &mut Vec<u8>, cells: &[Cell]) {
    put(out, cells.len() as u64);
    let (mut doc, mut position, mut user) = (0, 0, 0);
    for cell in cells {
        let doc_step = cell.doc.wrapping_sub(doc);
        if doc_step != 0 {
            (position, user) = (0, 0);
        }
        let position_step = cell.position.wrapping_sub(position);
        if position_step != 0 {
            user = 0;
        }
        put(out, u64::from(doc_step));
        put(out, u64::from(position_step));
        put(out, u64::from(cell.user.wrapping_sub(user)));
        // Most cells have one impression and at most one click: one byte.
        put(out, cell.impressions << 1 | u64::from(cell.clicks > 0));
        if cell.clicks > 0 {
            put(out, cell.clicks - 1);
        }
        (doc, position, user) = (cell.doc, cell.position, cell.user);
    }
}

fn put_sessions(out: &mut Vec<u8>, sessions: &[SessionCount]) {
    put(out, sessions.len() as u64);
    let mut user = 0;
    for count in sessions {
        put(out, u64::from(count.user.wrapping_sub(user)));
        put(out, count.sessions);
        user = count.user;
    }
}

fn put_patterns(out: &mut Vec<u8>, patterns: &[Pattern], shown: &[Shown]) {
    put(out, patterns.len() as u64);
    for pattern in patterns {
        put(out, u64::from(pattern.user));
        put(out, pattern.sessions);
        put(out, pattern.shown.len() as u64);
        for shown in &shown[pattern.shown.clone()] {
            put(out, u64::from(shown.position));
            put(out, u64::from(shown.doc) << 1 | u64::from(shown.click));
        }
    }
}

/// Puts some transitions with their lists. A list that is in several records is put into each.
fn put_transitions(out: &mut Vec<u8>, rows: &[Transition], all: &Transitions) {
    let of_list = || rows.chunk_by(|a, b| a.list == b.list);
    put(out, of_list().count() as u64);
    for rows in of_list() {
        let list = &all.lists[rows[0].list as usize];
        let shown = all.of(list);
        put(out, u64::from(list.context));
        put(out, shown.len() as u64);
        for listed in shown {
            put(out, u64::from(listed.position));
            put(out, u64::from(listed.doc));
        }
        put(out, rows.len() as u64);
        let mut user = 0;
        for row in rows {
            put(out, u64::from(row.user.wrapping_sub(user)));
            put(out, u64::from(row.from));
            // The end is the largest number there is; so it takes a byte.
            put(out, u64::from(row.to.wrapping_add(1)));
            put(out, row.sessions);
            user = row.user;
        }
    }
}

/// Reads records one after another. What was not written by [`encode`] reads as an end.
#[derive(Debug)]
pub(crate) struct Records<'a> {
    bytes: &'a [u8],
}

impl<'a> Records<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Records { bytes }
    }

    /// How many bytes are left.
    pub fn left(&self) -> usize {
        self.bytes.len()
    }

    /// The query of the next record.
    pub fn query(&self) -> Option<u32> {
        let mut content = self.bytes.get(SIZE..)?;
        take(&mut content).map(|query| query as u32)
    }

    /// Appends the next record's rows to `batch`.
    pub fn read(&mut self, batch: &mut Batch) -> Option<()> {
        let (size, rest) = self.bytes.split_first_chunk::<SIZE>()?;
        let (mut content, rest) = rest.split_at_checked(u32::from_le_bytes(*size) as usize)?;
        self.bytes = rest;
        let query = take(&mut content)? as u32;
        take_cells(&mut content, query, &mut batch.cells)?;
        take_sessions(&mut content, query, &mut batch.sessions)?;
        take_patterns(&mut content, query, &mut batch.patterns)?;
        take_transitions(&mut content, query, &mut batch.transitions)
    }
}

fn take_cells(bytes: &mut &[u8], query: u32, cells: &mut Vec<Cell>) -> Option<()> {
    let count = take(bytes)?;
    let (mut doc, mut position, mut user) = (0u32, 0u32, 0u32);
    for _ in 0..count {
        let doc_step = take(bytes)? as u32;
        let position_step = take(bytes)? as u32;
        if doc_step != 0 {
            (position, user) = (0, 0);
        }
        if position_step != 0 {
            user = 0;
        }
        doc = doc.wrapping_add(doc_step);
        position = position.wrapping_add(position_step);
        user = user.wrapping_add(take(bytes)? as u32);
        let impressions = take(bytes)?;
        let clicks = if impressions & 1 == 1 { take(bytes)?.checked_add(1)? } else { 0 };
        cells.push(Cell { query, doc, position, user, impressions: impressions >> 1, clicks });
    }
    Some(())
}

fn take_sessions(bytes: &mut &[u8], query: u32, sessions: &mut Vec<SessionCount>) -> Option<()> {
    let mut user = 0u32;
    for _ in 0..take(bytes)? {
        user = user.wrapping_add(take(bytes)? as u32);
        sessions.push(SessionCount { query, user, sessions: take(bytes)? });
    }
    Some(())
}

fn take_patterns(bytes: &mut &[u8], query: u32, patterns: &mut Patterns) -> Option<()> {
    for _ in 0..take(bytes)? {
        let user = take(bytes)? as u32;
        let sessions = take(bytes)?;
        let start = patterns.shown.len();
        for _ in 0..take(bytes)? {
            let position = take(bytes)? as u32;
            let doc = take(bytes)?;
            patterns.shown.push(Shown { position, doc: (doc >> 1) as u32, click: doc & 1 == 1 });
        }
        patterns.patterns.push(Pattern { query, user, shown: start..patterns.shown.len(), sessions });
    }
    Some(())
}

fn take_transitions(bytes: &mut &[u8], query: u32, transitions: &mut Transitions) -> Option<()> {
    let mut shown = Vec::new();
    for _ in 0..take(bytes)? {
        shown.clear();
        let context = take(bytes)? as u32;
        for _ in 0..take(bytes)? {
            shown.push(Listed { position: take(bytes)? as u32, doc: take(bytes)? as u32 });
        }
        if !transitions.is_last((query, &shown, context)) {
            transitions.push_list(query, context, shown.iter().copied());
        }
        let list = transitions.lists.len() as u32 - 1;
        let mut user = 0u32;
        for _ in 0..take(bytes)? {
            user = user.wrapping_add(take(bytes)? as u32);
            let (from, to) = (take(bytes)? as u32, (take(bytes)? as u32).wrapping_sub(1));
            transitions.rows.push(Transition { list, user, from, to, sessions: take(bytes)? });
        }
    }
    Some(())
}

const _: () = assert!(END.wrapping_add(1) == 0);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(query: u32, counts: &Batch) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(query, counts, &mut bytes, |_| Ok::<(), ()>(())).unwrap();
        bytes
    }

    fn decoded(bytes: &[u8]) -> Option<Batch> {
        let (mut records, mut batch) = (Records::new(bytes), Batch::default());
        while records.left() > 0 {
            records.read(&mut batch)?;
        }
        Some(batch)
    }

    fn batch(query: u32, rows: Vec<(u32, u32, u32, u64, u64)>) -> Batch {
        let mut batch = Batch::default();
        for (doc, position, user, impressions, clicks) in rows {
            let impressions = impressions >> 1;
            batch.cells.push(Cell { query, doc, position, user, impressions, clicks });
            batch.sessions.push(SessionCount { query, user, sessions: impressions });
            let start = batch.patterns.shown.len();
            batch.patterns.shown.extend((0..doc % 3).map(|i| Shown { position, doc: doc - i, click: clicks > 0 }));
            let shown = start..batch.patterns.shown.len();
            batch.patterns.patterns.push(Pattern { query, user, shown, sessions: clicks });
            let list = batch.transitions.lists.len() as u32;
            // A list is not the same as the one before it.
            let number = Listed { position: list, doc };
            batch.transitions.push_list(
                query,
                user % 3,
                (0..position % 3).map(|doc| Listed { position, doc }).chain([number]),
            );
            let row = |to| Transition { list, user, from: position, to, sessions: impressions };
            batch.transitions.rows.extend([row(doc), row(END)]);
        }
        batch
    }

    proptest! {
        #[test]
        fn any_counts_come_back(query: u32, rows in prop::collection::vec(any::<(u32, u32, u32, u64, u64)>(), 0..50)) {
            let counts = batch(query, rows);
            prop_assert_eq!(decoded(&encoded(query, &counts)).unwrap(), counts);
        }

        #[test]
        fn other_bytes_are_refused_or_read_and_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decoded(&bytes);
        }
    }

    #[test]
    fn large_queries_are_several_records() {
        let rows: Vec<_> = (0..ROWS as u32 * 2 + 1).map(|i| (i / 100, 1 + i % 100, 7, 2, 0)).collect();
        let counts = batch(3, rows);
        let bytes = encoded(3, &counts);
        let mut records = Records::new(&bytes);
        let mut first = Batch::default();
        records.read(&mut first).unwrap();
        assert_eq!((first.cells.len(), records.query()), (ROWS, Some(3)));
        assert_eq!(decoded(&bytes).unwrap(), counts);
    }

    #[test]
    fn ordinary_cells_take_five_bytes() {
        let cells = (0..1000u32).map(|i| Cell {
            query: 1,
            doc: 500_000 + i / 50,
            position: 1 + i % 50 / 10,
            user: 1000 + i % 10 * 300,
            impressions: 1,
            clicks: 0,
        });
        let counts = Batch { cells: cells.collect(), ..Batch::default() };
        assert!(encoded(1, &counts).len() < 5 * 1000 + 100);
    }
}
