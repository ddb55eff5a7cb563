//! A log as estimation sees it: documents, each with what groups of users did at the positions it was shown at.

use std::ops::Range;

use crate::counts::Counts;

/// Cells merged over the users of each group, document by document.
///
/// A *slot* is a group and a position, `group · positions + position − 1`: the parameters θ are one per slot. Standard
/// estimation has one group, personalized estimation one per user; clusters of users lie between.
#[derive(Debug, Clone)]
pub(super) struct Observations {
    pub positions: usize,
    pub groups: usize,
    /// The (query, document) of each document, sorted, by their numbers in the counts.
    pub docs: Vec<(u32, u32)>,
    /// Where each document's entries end in the vectors below.
    ends: Vec<usize>,
    /// The slot of each entry; within a document they ascend.
    pub slots: Vec<u32>,
    pub clicks: Vec<f64>,
    /// Impressions without a click.
    pub misses: Vec<f64>,
}

impl Observations {
    /// The cells of `counts`, with the users of each group taken together. `group_of_user` has one entry per user.
    pub fn new(counts: &Counts, group_of_user: &[u32]) -> Self {
        let positions = counts.max_position() as usize;
        let mut observations = Observations {
            positions,
            groups: group_of_user.iter().max().map_or(1, |&most| most as usize + 1),
            docs: Vec::new(),
            ends: Vec::new(),
            slots: Vec::with_capacity(counts.cells.len()),
            clicks: Vec::with_capacity(counts.cells.len()),
            misses: Vec::with_capacity(counts.cells.len()),
        };
        let mut entries = Vec::new();
        for cells in counts.cells.chunk_by(|a, b| (a.query, a.doc) == (b.query, b.doc)) {
            entries.clear();
            entries.extend(cells.iter().map(|cell| {
                let slot = group_of_user[cell.user as usize] * positions as u32 + cell.position - 1;
                (slot, cell.clicks as f64, (cell.impressions - cell.clicks) as f64)
            }));
            observations.docs.push((cells[0].query, cells[0].doc));
            observations.push(&mut entries);
        }
        observations
    }

    /// One group of all users.
    pub fn of_population(counts: &Counts) -> Self {
        Self::new(counts, &vec![0; counts.users.len()])
    }

    /// Every user a group of their own.
    pub fn of_users(counts: &Counts) -> Self {
        Self::new(counts, &(0..counts.users.len() as u32).collect::<Vec<_>>())
    }

    /// Adds a document's entries, slots of which may repeat: (slot, clicks, misses).
    fn push(&mut self, entries: &mut [(u32, f64, f64)]) {
        entries.sort_by_key(|(slot, ..)| *slot);
        for of_slot in entries.chunk_by(|a, b| a.0 == b.0) {
            self.slots.push(of_slot[0].0);
            self.clicks.push(of_slot.iter().map(|(_, clicks, _)| clicks).sum());
            self.misses.push(of_slot.iter().map(|(.., misses)| misses).sum());
        }
        self.ends.push(self.slots.len());
    }

    /// Only the documents that `keep` wants.
    pub fn select(&self, keep: impl Fn(usize) -> bool) -> Self {
        let mut selected = Observations { docs: Vec::new(), ends: Vec::new(), ..self.without_entries() };
        for doc in (0..self.docs.len()).filter(|doc| keep(*doc)) {
            let entries = self.entries_of(doc);
            selected.slots.extend_from_slice(&self.slots[entries.clone()]);
            selected.clicks.extend_from_slice(&self.clicks[entries.clone()]);
            selected.misses.extend_from_slice(&self.misses[entries]);
            selected.docs.push(self.docs[doc]);
            selected.ends.push(selected.slots.len());
        }
        selected
    }

    /// The same documents with groups merged into larger ones; `group_of_group` has one entry per group.
    pub fn merge(&self, group_of_group: &[u32]) -> Self {
        let mut merged = Observations {
            groups: group_of_group.iter().max().map_or(1, |&most| most as usize + 1),
            docs: self.docs.clone(),
            ends: Vec::with_capacity(self.docs.len()),
            ..self.without_entries()
        };
        let mut entries = Vec::new();
        for doc in 0..self.docs.len() {
            entries.clear();
            entries.extend(self.entries_of(doc).map(|entry| {
                let (group, index) =
                    (self.slots[entry] as usize / self.positions, self.slots[entry] as usize % self.positions);
                (group_of_group[group] * self.positions as u32 + index as u32, self.clicks[entry], self.misses[entry])
            }));
            merged.push(&mut entries);
        }
        merged
    }

    fn without_entries(&self) -> Self {
        Observations {
            positions: self.positions,
            groups: self.groups,
            docs: Vec::new(),
            ends: Vec::new(),
            slots: Vec::new(),
            clicks: Vec::new(),
            misses: Vec::new(),
        }
    }

    /// How many slots there are.
    pub fn slot_count(&self) -> usize {
        self.groups * self.positions
    }

    /// The entries of document number `doc`.
    pub fn entries_of(&self, doc: usize) -> Range<usize> {
        let start = if doc == 0 { 0 } else { self.ends[doc - 1] };
        start..self.ends[doc]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::Cell;
    use crate::ids::Ids;

    #[test]
    fn users_of_a_group_are_taken_together() {
        let cell =
            |doc, position, user, impressions, clicks| Cell { query: 0, doc, position, user, impressions, clicks };
        let counts = Counts {
            queries: Ids::numbered(1),
            docs: Ids::numbered(2),
            users: Ids::numbered(3),
            cells: vec![cell(0, 1, 0, 4, 1), cell(0, 1, 2, 3, 2), cell(0, 2, 0, 1, 1), cell(1, 2, 1, 5, 0)],
            ..Counts::default()
        };
        let observations = Observations::new(&counts, &[1, 0, 1]);
        assert_eq!((observations.groups, observations.positions), (2, 2));
        assert_eq!(observations.docs, [(0, 0), (0, 1)]);
        assert_eq!(observations.slots, [2, 3, 1]);
        assert_eq!(observations.clicks, [3.0, 1.0, 0.0]);
        assert_eq!(observations.misses, [4.0, 0.0, 5.0]);
        assert_eq!(observations.entries_of(1), 2..3);
        let second = observations.select(|doc| doc == 1);
        assert_eq!(
            (second.docs.as_slice(), second.slots.as_slice(), second.entries_of(0)),
            (&[(0, 1)][..], &[1][..], 0..1)
        );
        let merged = Observations::of_users(&counts).merge(&[1, 0, 1]);
        assert_eq!((merged.slots, merged.clicks), (observations.slots, observations.clicks));
        assert_eq!(Observations::of_population(&counts).slots, [0, 1, 1]);
        assert_eq!(Observations::of_users(&counts).slots, [0, 1, 4, 3]);
    }
}
