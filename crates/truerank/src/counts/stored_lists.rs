//! Lists and transitions in the temporary file of counts that do not fit: rows in order enter, places of blocks leave, and back.

use std::ops::Range;

use super::list_tables::{NumberedList, NumberedRow, RawTransitions};
use super::transitions::{Listed, Transition};
use crate::Result;
use crate::files::Spool;
use crate::files::varint::{put, take, take_u32};

/// Where the rows of a block are.
#[derive(Debug, Clone, Default)]
pub(super) struct RowPlace {
    /// Which of all rows.
    pub rows: Range<usize>,
    pub bytes: Range<u64>,
}

/// Cuts the rows of a table where blocks of cells end.
pub(super) struct Cutter<'a> {
    spool: &'a Spool,
    /// The last query of each block.
    ends: &'a [u32],
    places: Vec<RowPlace>,
    bytes: Vec<u8>,
    rows: Range<usize>,
    last: Option<u32>,
}

impl<'a> Cutter<'a> {
    pub fn new(spool: &'a Spool, ends: &'a [u32]) -> Self {
        Cutter { spool, ends, places: Vec::new(), bytes: Vec::new(), rows: 0..0, last: None }
    }

    pub fn list(&mut self, list: &NumberedList, shown: &[Listed]) -> Result<()> {
        let &NumberedList { query, number, context, .. } = list;
        let out = self.row_of(query)?;
        [query, number, context, shown.len() as u32].iter().for_each(|&number| put(out, u64::from(number)));
        for listed in shown {
            put(out, u64::from(listed.position));
            put(out, u64::from(listed.doc));
        }
        Ok(())
    }

    pub fn transition(&mut self, NumberedRow { query, row }: NumberedRow) -> Result<()> {
        let out = self.row_of(query)?;
        // The end is the largest number there is: one more is 0.
        [query, row.list, row.user, row.from, row.to.wrapping_add(1)].iter().for_each(|&n| put(out, u64::from(n)));
        put(out, row.sessions);
        Ok(())
    }

    /// Where a row of this query goes; a block ends after its last query, and all that are left belong to the last block.
    fn row_of(&mut self, query: u32) -> Result<&mut Vec<u8>> {
        let block = self.places.len();
        let is_next = self.last.is_some_and(|last| last != query && self.ends.get(block) == Some(&last));
        if is_next && block + 1 < self.ends.len() {
            self.end()?;
        }
        self.last = Some(query);
        self.rows.end += 1;
        Ok(&mut self.bytes)
    }

    fn end(&mut self) -> Result<()> {
        self.places.push(RowPlace { rows: self.rows.clone(), bytes: self.spool.append_range(&self.bytes)? });
        self.bytes.clear();
        self.rows = self.rows.end..self.rows.end;
        Ok(())
    }

    /// The places of so many blocks.
    pub fn finish(mut self, blocks: usize) -> Result<Vec<RowPlace>> {
        while self.places.len() < blocks {
            self.end()?;
        }
        Ok(self.places)
    }
}

/// So many lists and transitions.
pub(super) fn decode(lists: &[u8], list_count: usize, rows: &[u8], row_count: usize) -> Option<RawTransitions> {
    let mut raw = RawTransitions::default();
    let (mut lists, mut rows) = (lists, rows);
    let mut shown = Vec::new();
    for _ in 0..list_count {
        let (query, number, context) = (take_u32(&mut lists)?, take_u32(&mut lists)?, take_u32(&mut lists)?);
        shown.clear();
        for _ in 0..take_u32(&mut lists)? {
            shown.push(Listed { position: take_u32(&mut lists)?, doc: take_u32(&mut lists)? });
        }
        raw.push_list(query, number, context, &shown);
    }
    for _ in 0..row_count {
        let query = take_u32(&mut rows)?;
        let (list, user) = (take_u32(&mut rows)?, take_u32(&mut rows)?);
        let (from, to) = (take_u32(&mut rows)?, take_u32(&mut rows)?.wrapping_sub(1));
        raw.rows.push(NumberedRow { query, row: Transition { list, user, from, to, sessions: take(&mut rows)? } });
    }
    Some(raw)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn other_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..100), count in 0usize..40) {
            let _ = decode(&bytes, count, &bytes, count);
        }
    }
}
