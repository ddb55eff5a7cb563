//! Impressions without a click by relevance, chunk after chunk of users, in memory or on disk.

use std::borrow::Cow;
use std::ops::Range;

use crate::Result;
use crate::files::varint::{put, take};
use crate::files::{Room, Spool};

/// How often documents of one relevance were shown and not clicked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Miss {
    pub relevance: f64,
    pub count: f64,
}

/// The misses of some users' slots.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct UserMisses {
    /// Where each slot's misses end in the vector below.
    ends: Vec<usize>,
    /// By slot, then by relevance; no two of a slot have the same.
    misses: Vec<Miss>,
}

impl UserMisses {
    /// Sums misses of the same slot and relevance. Expects them sorted, and of these slots.
    pub fn merged(slots: Range<usize>, sorted: &[(u32, Miss)]) -> Self {
        let (mut ends, mut misses) = (Vec::with_capacity(slots.len()), Vec::new());
        for of_same in sorted.chunk_by(|a, b| (a.0, a.1.relevance) == (b.0, b.1.relevance)) {
            let (slot, first) = of_same[0];
            ends.resize(slot as usize - slots.start, misses.len());
            misses.push(Miss { count: of_same.iter().map(|(_, miss)| miss.count).sum(), ..first });
        }
        ends.resize(slots.len(), misses.len());
        UserMisses { ends, misses }
    }

    /// Adds a miss to the present slot, if there is any.
    pub fn add(&mut self, miss: Miss) {
        if miss.count > 0.0 {
            self.misses.push(miss);
        }
    }

    /// Goes on to the next slot.
    pub fn end_slot(&mut self) {
        self.ends.push(self.misses.len());
    }

    /// The misses of a slot, counted from the first one here.
    pub fn of(&self, slot: usize) -> &[Miss] {
        let start = if slot == 0 { 0 } else { self.ends[slot - 1] };
        &self.misses[start..self.ends[slot]]
    }

    /// How many misses each slot has.
    pub fn sums(&self) -> Vec<f64> {
        (0..self.ends.len()).map(|slot| self.of(slot).iter().map(|miss| miss.count).sum()).collect()
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.ends.len() + 10 * self.misses.len());
        put(&mut bytes, self.ends.len() as u64);
        for slot in 0..self.ends.len() {
            put(&mut bytes, self.of(slot).len() as u64);
        }
        for miss in &self.misses {
            bytes.extend(miss.relevance.to_le_bytes());
            put(&mut bytes, miss.count as u64);
        }
        bytes
    }

    fn decode(mut bytes: &[u8]) -> Option<Self> {
        let slots = take(&mut bytes)? as usize;
        // Never more room than the bytes can fill.
        let (mut ends, mut end) = (Vec::with_capacity(slots.min(bytes.len())), 0usize);
        for _ in 0..slots {
            end = end.checked_add(take(&mut bytes)? as usize)?;
            ends.push(end);
        }
        let mut misses = Vec::with_capacity(end.min(bytes.len()));
        for _ in 0..end {
            let (relevance, rest) = bytes.split_first_chunk::<8>()?;
            bytes = rest;
            misses.push(Miss { relevance: f64::from_le_bytes(*relevance), count: take(&mut bytes)? as f64 });
        }
        Some(UserMisses { ends, misses })
    }
}

/// Misses of all users, chunk after chunk.
#[derive(Debug)]
pub(super) enum Misses {
    Held(Vec<UserMisses>),
    Stored { spool: Spool, chunks: Vec<Range<u64>>, room: Room },
}

impl Misses {
    /// None yet; kept in the room's folder, or in memory without one.
    pub fn new(room: Option<&Room>) -> Result<Self> {
        Ok(match room {
            None => Misses::Held(Vec::new()),
            Some(room) => Misses::Stored { spool: room.spool()?, chunks: Vec::new(), room: room.clone() },
        })
    }

    pub fn room(&self) -> Option<&Room> {
        match self {
            Misses::Held(_) => None,
            Misses::Stored { room, .. } => Some(room),
        }
    }

    /// How many misses may be sorted in memory at once: in a quarter of it, as it is not the only thing there.
    pub fn sortable(&self) -> usize {
        let bytes = self.room().map_or(u64::MAX, |room| room.memory().bytes() / 4);
        bytes as usize / size_of::<(u32, Miss)>()
    }

    /// Appends the misses of the next chunk of users.
    pub fn push(&mut self, misses: UserMisses) -> Result<()> {
        match self {
            Misses::Held(chunks) => chunks.push(misses),
            Misses::Stored { spool, chunks, .. } => chunks.push(spool.append_range(&misses.encode())?),
        }
        Ok(())
    }

    /// The misses of chunk number `index`.
    pub fn get(&self, index: usize) -> Result<Cow<'_, UserMisses>> {
        match self {
            Misses::Held(chunks) => Ok(Cow::Borrowed(&chunks[index])),
            Misses::Stored { spool, chunks, .. } => {
                let misses = UserMisses::decode(&spool.range(chunks[index].clone())?);
                misses.map(Cow::Owned).ok_or_else(|| spool.damaged())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn misses_come_back(slots in prop::collection::vec(prop::collection::vec((0.0..=1.0f64, 0u64..1 << 40), 0..6), 0..20)) {
            let mut misses = UserMisses::default();
            for of_slot in slots {
                of_slot.iter().for_each(|&(relevance, count)| misses.add(Miss { relevance, count: count as f64 }));
                misses.end_slot();
            }
            prop_assert_eq!(UserMisses::decode(&misses.encode()), Some(misses));
        }

        #[test]
        fn other_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = UserMisses::decode(&bytes);
        }
    }
}
