//! Observations that do not fit into memory: entries in a compact temporary file, documents at hand.

use std::borrow::Cow;
use std::ops::Range;

use super::observations::{Observations, Observed, Part};
use crate::files::varint::{put, take, take_u32};
use crate::files::{Room, Spool};
use crate::{Error, Result};

/// Observations on disk.
pub(super) struct StoredObservations {
    positions: usize,
    groups: usize,
    docs: Vec<(u32, u32)>,
    ends: Vec<usize>,
    /// Where each document's bytes end in the file.
    byte_ends: Vec<u64>,
    spool: Spool,
}

/// Observations on their way to disk, in order.
pub(super) struct StoringObservations {
    stored: StoredObservations,
    bytes: Vec<u8>,
    written: u64,
    failed: Option<Error>,
}

/// Bytes that are gathered before they are written.
const BUFFER: usize = 1 << 20;

impl StoringObservations {
    pub fn new(room: &Room) -> Result<Self> {
        let stored = StoredObservations {
            positions: 0,
            groups: 0,
            docs: Vec::new(),
            ends: Vec::new(),
            byte_ends: Vec::new(),
            spool: room.spool()?,
        };
        Ok(StoringObservations { stored, bytes: Vec::new(), written: 0, failed: None })
    }

    /// Adds the documents that follow. An error is told at the end.
    pub fn append(&mut self, block: &Observations) {
        for (doc, &pair) in block.docs.iter().enumerate() {
            let mut last = 0;
            let entries = block.entries_of(doc);
            let before = self.stored.ends.last().copied().unwrap_or(0);
            self.stored.docs.push(pair);
            self.stored.ends.push(before + entries.len());
            for entry in entries {
                put(&mut self.bytes, u64::from(block.slots[entry] - last));
                put(&mut self.bytes, block.clicks[entry] as u64);
                put(&mut self.bytes, block.misses[entry] as u64);
                last = block.slots[entry];
            }
            self.stored.byte_ends.push(self.written + self.bytes.len() as u64);
            if self.bytes.len() >= BUFFER {
                self.flush();
            }
        }
    }

    fn flush(&mut self) {
        if self.failed.is_none() {
            self.failed = self.stored.spool.append(&self.bytes).err();
        }
        self.written += self.bytes.len() as u64;
        self.bytes.clear();
    }
}

impl StoredObservations {
    /// All that was appended.
    pub fn new(mut storing: StoringObservations, positions: usize, groups: usize) -> Result<Self> {
        storing.flush();
        match storing.failed {
            Some(error) => Err(error),
            None => Ok(StoredObservations { positions, groups, ..storing.stored }),
        }
    }
}

impl Observed for StoredObservations {
    fn positions(&self) -> usize {
        self.positions
    }

    fn groups(&self) -> usize {
        self.groups
    }

    fn docs(&self) -> &[(u32, u32)] {
        &self.docs
    }

    fn ends(&self) -> &[usize] {
        &self.ends
    }

    fn part(&self, docs: Range<usize>) -> Result<Part<'_>> {
        let ends = &self.ends[docs.clone()];
        let (before, start) = match docs.start {
            0 => (0, 0),
            first => (self.ends[first - 1], self.byte_ends[first - 1]),
        };
        let end = self.byte_ends[docs.clone()].last().copied().unwrap_or(start);
        let bytes = self.spool.range(start..end)?;
        let (slots, clicks, misses) = decode(&bytes, before, ends).ok_or_else(|| self.spool.damaged())?;
        let (slots, clicks, misses) = (Cow::Owned(slots), Cow::Owned(clicks), Cow::Owned(misses));
        Ok(Part { docs, ends, before, slots, clicks, misses })
    }
}

type Columns = (Vec<u32>, Vec<f64>, Vec<f64>);

/// The entries of documents that end at `ends`, with `before` entries before them.
fn decode(mut bytes: &[u8], before: usize, ends: &[usize]) -> Option<Columns> {
    let count = ends.last().map_or(0, |end| end - before);
    let (mut slots, mut clicks, mut misses) =
        (Vec::with_capacity(count), Vec::with_capacity(count), Vec::with_capacity(count));
    for &end in ends {
        let mut slot = 0u32;
        while slots.len() < end - before {
            slot = slot.checked_add(take_u32(&mut bytes)?)?;
            slots.push(slot);
            clicks.push(take(&mut bytes)? as f64);
            misses.push(take(&mut bytes)? as f64);
        }
    }
    Some((slots, clicks, misses))
}
