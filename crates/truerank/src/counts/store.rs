//! Keeps what is counted in memory as long as it is allowed to, and on disk from then on.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::files::{Room, Spool};
use crate::memory::Memory;
use crate::{Error, Result};

/// What may be held, and where the rest goes.
#[derive(Debug, Default)]
pub(super) struct Store {
    held: AtomicU64,
    bound: Option<Bound>,
}

#[derive(Debug)]
struct Bound {
    memory: Memory,
    spool: Spool,
}

/// Bytes that were put away.
#[derive(Debug)]
pub(super) enum Segment {
    Held(Vec<u8>),
    Spooled { start: u64, size: usize },
}

impl Store {
    /// Holds at most as much memory as there is room; the rest goes to its temporary file.
    pub fn bounded(room: &Room) -> Result<Self> {
        Ok(Store { held: AtomicU64::new(0), bound: Some(Bound { memory: room.memory(), spool: room.spool()? }) })
    }

    /// Whether `bytes` more may be held, beside `ids` bytes of ids. If so they are, until they are [freed](Self::free).
    pub fn hold(&self, bytes: usize, ids: u64) -> bool {
        let Some(bound) = &self.bound else { return true };
        let bytes = bytes as u64;
        let is_room = self.held.fetch_add(bytes, Ordering::Relaxed) + bytes + ids <= stored(bound.memory);
        if !is_room {
            self.free(bytes as usize);
        }
        is_room
    }

    /// Says that `bytes` are no longer held.
    pub fn free(&self, bytes: usize) {
        if self.bound.is_some() {
            self.held.fetch_sub(bytes as u64, Ordering::Relaxed);
        }
    }

    /// Puts `bytes` on disk, and says where they start there. Only for bytes that may not be held.
    pub fn spool(&self, bytes: &[u8]) -> Result<u64> {
        self.bound.as_ref().map_or(Ok(0), |bound| bound.spool.append(bytes))
    }

    /// Fills `bytes` with what was put on disk at `start`.
    pub fn read(&self, start: u64, bytes: &mut [u8]) -> Result<()> {
        self.bound.as_ref().map_or(Ok(()), |bound| bound.spool.read(start, bytes))
    }

    /// Puts `bytes` away, in memory or on disk.
    pub fn keep(&self, bytes: Vec<u8>, ids: u64) -> Result<Segment> {
        if self.hold(bytes.len(), ids) {
            return Ok(Segment::Held(bytes));
        }
        Ok(Segment::Spooled { start: self.spool(&bytes)?, size: bytes.len() })
    }

    /// The bytes of a segment, which are no longer put away.
    pub fn fetch(&self, segment: Segment) -> Result<Vec<u8>> {
        match segment {
            Segment::Held(bytes) => {
                self.free(bytes.len());
                Ok(bytes)
            }
            Segment::Spooled { start, size } => {
                let mut bytes = vec![0; size];
                self.read(start, &mut bytes)?;
                Ok(bytes)
            }
        }
    }

    /// How many bytes each of the threads may take while it counts.
    pub fn working(&self) -> usize {
        match &self.bound {
            Some(bound) => bound.memory.bytes() as usize / 4 / rayon::current_num_threads().max(1),
            None => usize::MAX,
        }
    }

    /// Ids must be held; says how much memory they would need.
    pub fn check_ids(&self, ids: u64) -> Result<()> {
        match &self.bound {
            Some(bound) if ids > stored(bound.memory) => Err(Error::parameter(format!(
                "the ids of this log take {}, but `memory` {} leaves {} for them; raise `memory`, or count on a cluster with \
                 `engine`",
                Memory::new(ids),
                bound.memory,
                Memory::new(stored(bound.memory)),
            ))),
            _ => Ok(()),
        }
    }

    /// Refuses what takes more than all of the memory.
    pub fn check_size(&self, bytes: u64, what: &str) -> Result<()> {
        match &self.bound {
            Some(bound) if bytes > bound.memory.bytes() => Err(Error::parameter(format!(
                "{what} take {} to count, but `memory` is {}; raise it, or is the column of sessions right?",
                Memory::new(bytes),
                bound.memory,
            ))),
            _ => Ok(()),
        }
    }

    /// Bytes on disk.
    pub fn spooled(&self) -> u64 {
        self.bound.as_ref().map_or(0, |bound| bound.spool.size())
    }
}

/// Of all memory, a quarter is for counting and an eighth for reading and writing; the rest may hold ids and rows.
fn stored(memory: Memory) -> u64 {
    memory.bytes() / 8 * 5
}
