//! A log as estimation sees it: documents, each with what groups of users did at the positions it was shown at.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;

use super::stored::{StoredObservations, StoringObservations};
use crate::Result;
use crate::counts::{Cell, CountsView, by_document};

/// Cells merged over the users of each group, document by document, wherever they are kept.
///
/// A *slot* is a group and a position, `group · positions + position − 1`: the parameters θ are one per slot. Standard
/// estimation has one group, personalized estimation one per user; clusters of users lie between. A document has an
/// *entry* for each slot that it was shown in.
pub(super) trait Observed: Sync {
    fn positions(&self) -> usize;

    fn groups(&self) -> usize;

    /// The (query, document) of each document, sorted, by their numbers in the counts.
    fn docs(&self) -> &[(u32, u32)];

    /// Where each document's entries end among all entries.
    fn ends(&self) -> &[usize];

    /// The entries of neighbouring documents.
    fn part(&self, docs: Range<usize>) -> Result<Part<'_>>;

    /// How many slots there are.
    fn slot_count(&self) -> usize {
        self.groups() * self.positions()
    }

    /// Documents in neighbouring ranges with at least so many entries each, except for the last.
    fn pieces(&self, entries: usize) -> Vec<Range<usize>> {
        let (mut pieces, mut start, mut before) = (Vec::new(), 0, 0);
        for (doc, &end) in self.ends().iter().enumerate() {
            if end - before >= entries {
                pieces.push(start..doc + 1);
                (start, before) = (doc + 1, end);
            }
        }
        if start < self.docs().len() {
            pieces.push(start..self.docs().len());
        }
        pieces
    }
}

impl dyn Observed + '_ {
    /// Hands the entries of each document to `take`, in order.
    pub fn for_each_doc(&self, mut take: impl FnMut((u32, u32), Entries<'_>)) -> Result<()> {
        for docs in self.pieces(1 << 15) {
            let part = self.part(docs.clone())?;
            docs.for_each(|doc| take(self.docs()[doc], part.of(doc)));
        }
        Ok(())
    }

    /// Hands to `take`, in order, what `work` makes of each of `pieces`, on all threads, a few at a time.
    pub fn map_pieces<T: Send>(
        &self,
        pieces: &[Range<usize>],
        work: impl Fn(Range<usize>, &Part<'_>) -> T + Sync,
        mut take: impl FnMut(T),
    ) -> Result<()> {
        for few in pieces.chunks(8 * rayon::current_num_threads()) {
            let made: Vec<Result<T>> =
                few.par_iter().map(|docs| Ok(work(docs.clone(), &self.part(docs.clone())?))).collect();
            for one in made {
                take(one?);
            }
        }
        Ok(())
    }
}

/// The entries of neighbouring documents.
pub(super) struct Part<'a> {
    pub docs: Range<usize>,
    /// Where the entries of each of them end among all entries.
    pub ends: &'a [usize],
    /// How many entries come before.
    pub before: usize,
    pub slots: Cow<'a, [u32]>,
    pub clicks: Cow<'a, [f64]>,
    pub misses: Cow<'a, [f64]>,
}

/// The entries of one document.
#[derive(Clone, Copy)]
pub(super) struct Entries<'a> {
    /// The slot of each entry; they ascend.
    pub slots: &'a [u32],
    pub clicks: &'a [f64],
    /// Impressions without a click.
    pub misses: &'a [f64],
}

impl Part<'_> {
    /// The entries of document number `doc`.
    pub fn of(&self, doc: usize) -> Entries<'_> {
        let index = doc - self.docs.start;
        let start = if index == 0 { self.before } else { self.ends[index - 1] };
        let entries = start - self.before..self.ends[index] - self.before;
        Entries {
            slots: &self.slots[entries.clone()],
            clicks: &self.clicks[entries.clone()],
            misses: &self.misses[entries],
        }
    }
}

impl<'a> Entries<'a> {
    /// Slot, clicks and misses of each entry.
    pub fn iter(self) -> impl Iterator<Item = (usize, f64, f64)> + 'a {
        self.slots
            .iter()
            .zip(self.clicks)
            .zip(self.misses)
            .map(|((slot, clicks), misses)| (*slot as usize, *clicks, *misses))
    }
}

/// Observations in memory.
#[derive(Debug, Clone, Default)]
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

/// The cells of `counts` with the users of each group taken together, kept where the counts are. `group_of_user` has one
/// entry per user; `keep`, where it is given, one per document.
pub(super) fn observe(
    counts: &dyn CountsView,
    group_of_user: &[u32],
    keep: Option<&[bool]>,
) -> Result<Box<dyn Observed>> {
    let Some(room) = counts.room() else {
        return Ok(Box::new(Observations::kept(counts, group_of_user, keep)?));
    };
    let mut storing = StoringObservations::new(room)?;
    let (positions, groups) = (counts.totals().max_position as usize, group_count(group_of_user));
    let mut kept = Kept { keep, seen: 0 };
    counts.map_cells(
        |_, cells| Ok(Observations::of_cells(cells, positions, group_of_user)),
        |mut block| {
            block.retain(|docs| kept.next(docs));
            storing.append(&block);
        },
    )?;
    Ok(Box::new(StoredObservations::new(storing, positions, groups)?))
}

/// All users taken together.
pub(super) fn observe_population(counts: &dyn CountsView) -> Result<Box<dyn Observed>> {
    observe(counts, &vec![0; counts.users().len()], None)
}

/// Every user a group of their own.
pub(super) fn observe_users(counts: &dyn CountsView) -> Result<Box<dyn Observed>> {
    observe(counts, &(0..counts.users().len() as u32).collect::<Vec<_>>(), None)
}

fn group_count(group_of_user: &[u32]) -> usize {
    group_of_user.iter().max().map_or(1, |&most| most as usize + 1)
}

/// Which of the next documents are kept.
struct Kept<'a> {
    keep: Option<&'a [bool]>,
    seen: usize,
}

impl<'a> Kept<'a> {
    fn next(&mut self, docs: usize) -> Option<&'a [bool]> {
        let range = self.seen..self.seen + docs;
        self.seen = range.end;
        self.keep.map(|keep| &keep[range])
    }
}

impl Observations {
    fn kept(counts: &dyn CountsView, group_of_user: &[u32], keep: Option<&[bool]>) -> Result<Self> {
        let positions = counts.totals().max_position as usize;
        let mut all = Observations { positions, groups: group_count(group_of_user), ..Observations::default() };
        let mut kept = Kept { keep, seen: 0 };
        counts.map_cells(
            |_, cells| Ok(Observations::of_cells(cells, positions, group_of_user)),
            |mut block| {
                block.retain(|docs| kept.next(docs));
                all.append(block);
            },
        )?;
        Ok(all)
    }

    fn of_cells(cells: &[Cell], positions: usize, group_of_user: &[u32]) -> Self {
        let mut observations = Observations { positions, ..Observations::default() };
        let mut entries = Vec::new();
        for cells in by_document(cells) {
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

    /// No documents yet.
    pub fn nothing(positions: usize, groups: usize) -> Self {
        Observations { positions, groups, ..Observations::default() }
    }

    /// Cells whose users are groups already, sorted.
    pub fn of_groups(cells: &[Cell], positions: usize, groups: usize) -> Self {
        let numbers: Vec<u32> = (0..groups as u32).collect();
        Observations { groups, ..Observations::of_cells(cells, positions, &numbers) }
    }

    /// All groups taken together.
    pub fn together(&self) -> Self {
        let mut merged = Observations { positions: self.positions, groups: 1, ..Observations::default() };
        for doc in 0..self.docs.len() {
            let entry =
                |entry: usize| (self.slots[entry] % self.positions as u32, self.clicks[entry], self.misses[entry]);
            let mut entries: Vec<(u32, f64, f64)> = self.entries_of(doc).map(entry).collect();
            merged.docs.push(self.docs[doc]);
            merged.push(&mut entries);
        }
        merged
    }

    /// Adds a document's entries, slots of which may repeat: (slot, clicks, misses).
    pub fn push(&mut self, entries: &mut [(u32, f64, f64)]) {
        entries.sort_by_key(|(slot, ..)| *slot);
        for of_slot in entries.chunk_by(|a, b| a.0 == b.0) {
            self.slots.push(of_slot[0].0);
            self.clicks.push(of_slot.iter().map(|(_, clicks, _)| clicks).sum());
            self.misses.push(of_slot.iter().map(|(.., misses)| misses).sum());
        }
        self.ends.push(self.slots.len());
    }

    /// Adds the documents that follow.
    fn append(&mut self, block: Observations) {
        let before = self.slots.len();
        self.docs.extend(block.docs);
        self.ends.extend(block.ends.iter().map(|end| before + end));
        self.slots.extend(block.slots);
        self.clicks.extend(block.clicks);
        self.misses.extend(block.misses);
    }

    /// Drops the documents that are not to be kept, if any.
    fn retain<'k>(&mut self, keep: impl FnOnce(usize) -> Option<&'k [bool]>) {
        let Some(keep) = keep(self.docs.len()) else { return };
        let mut selected = Observations { positions: self.positions, groups: self.groups, ..Observations::default() };
        for doc in (0..self.docs.len()).filter(|doc| keep[*doc]) {
            let entries = self.entries_of(doc);
            selected.slots.extend_from_slice(&self.slots[entries.clone()]);
            selected.clicks.extend_from_slice(&self.clicks[entries.clone()]);
            selected.misses.extend_from_slice(&self.misses[entries]);
            selected.docs.push(self.docs[doc]);
            selected.ends.push(selected.slots.len());
        }
        *self = selected;
    }

    /// The entries of document number `doc`.
    pub fn entries_of(&self, doc: usize) -> Range<usize> {
        let start = if doc == 0 { 0 } else { self.ends[doc - 1] };
        start..self.ends[doc]
    }
}

impl Observed for Observations {
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
        let before = if docs.start == 0 { 0 } else { self.ends[docs.start - 1] };
        let entries = before..ends.last().copied().unwrap_or(before);
        Ok(Part {
            docs,
            ends,
            before,
            slots: Cow::Borrowed(&self.slots[entries.clone()]),
            clicks: Cow::Borrowed(&self.clicks[entries.clone()]),
            misses: Cow::Borrowed(&self.misses[entries]),
        })
    }
}

#[cfg(test)]
impl Observations {
    /// The cells of `counts`, with the users of each group taken together. `group_of_user` has one entry per user.
    pub fn new(counts: &dyn CountsView, group_of_user: &[u32]) -> Self {
        Observations::kept(counts, group_of_user, None).unwrap()
    }

    /// One group of all users.
    pub fn of_population(counts: &dyn CountsView) -> Self {
        Self::new(counts, &vec![0; counts.users().len()])
    }

    /// Every user a group of their own.
    pub fn of_users(counts: &dyn CountsView) -> Self {
        Self::new(counts, &(0..counts.users().len() as u32).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::Counts;
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
        let second = Observations::kept(&counts, &[1, 0, 1], Some(&[false, true])).unwrap();
        assert_eq!(
            (second.docs.as_slice(), second.slots.as_slice(), second.entries_of(0)),
            (&[(0, 1)][..], &[1][..], 0..1)
        );
        assert_eq!(Observations::of_population(&counts).slots, [0, 1, 1]);
        assert_eq!(Observations::of_users(&counts).slots, [0, 1, 4, 3]);
        let part = observations.part(1..2).unwrap();
        assert_eq!(part.of(1).iter().collect::<Vec<_>>(), [(1, 0.0, 5.0)]);
        assert_eq!(observations.pieces(1), [0..1, 1..2]);
        assert_eq!(observations.pieces(3).first(), Some(&(0..2)));
    }
}
