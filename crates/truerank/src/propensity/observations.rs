//! A log as estimation sees it: documents, each with what groups of users did at the positions it was shown at.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;

use super::stored::{StoredObservations, StoringObservations};
use crate::Result;
use crate::counts::{Cell, CountsView, by_document};
use crate::random::fraction;

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

/// Users that a random share of them should leave.
const ENOUGH_USERS: f64 = 1000.0;

/// The share of what users saw that is held out.
const HELD_OUT: f64 = 0.2;

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

    /// What users saw, every user a group, in two parts with the same documents: about four fifths to fit and one to predict. What
    /// a user saw for a query is in one part. Of logs with more than `most` cells, those of a random share of the users or, where
    /// users are few, of the queries are taken.
    pub fn halves(counts: &dyn CountsView, keep: Option<&[bool]>, seed: u64, most: usize) -> Result<Sampled<2>> {
        Sampled::of(counts, keep, seed, most, |user, query| {
            usize::from(fraction(seed, u64::from(user), u64::from(query)) < HELD_OUT)
        })
    }

    /// The same share in one part.
    pub fn sample(counts: &dyn CountsView, keep: Option<&[bool]>, seed: u64, most: usize) -> Result<Sampled<1>> {
        Sampled::of(counts, keep, seed, most, |_, _| 0)
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
    fn push(&mut self, entries: &mut [(u32, f64, f64)]) {
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

/// What some users saw, or all of them for some queries, every user a group, in parts with the same documents.
pub(super) struct Sampled<const PARTS: usize> {
    pub parts: [Observations; PARTS],
    /// The number of each document among all that are kept. Where anything was left out, documents without entries are too.
    pub docs: Vec<u32>,
    /// Whether anything was left out.
    pub is_part: bool,
    /// The new number of each user who was taken.
    number: Vec<u32>,
    /// The entries of the document at work, by part.
    rows: [Vec<(u32, f64, f64)>; PARTS],
}

/// The number of users who were not taken.
const NOT_TAKEN: u32 = u32::MAX;

impl<const PARTS: usize> Sampled<PARTS> {
    /// About `most` entries, in parts by user and query: of a random share of the users, who are numbered anew, or where
    /// that would leave few of them, of the queries.
    fn of(
        counts: &dyn CountsView,
        keep: Option<&[bool]>,
        seed: u64,
        most: usize,
        part_of: impl Fn(u32, u32) -> usize,
    ) -> Result<Self> {
        let share = most as f64 / counts.totals().cells.max(1) as f64;
        let by_users = share * counts.users().len() as f64 >= ENOUGH_USERS;
        let chosen = |number: u32| share >= 1.0 || fraction(seed, u64::from(number), u64::MAX) < share;
        let mut sampled = Self::nothing(counts, share < 1.0, |user| !by_users || chosen(user));
        let (mut kept, mut number) = (Kept { keep, seen: 0 }, 0);
        counts.for_each_cells(|cells| {
            for of_doc in by_document(cells) {
                if kept.next(1).is_none_or(|keep| keep[0]) {
                    if by_users || chosen(of_doc[0].query) {
                        sampled.add(of_doc, &part_of);
                    }
                    sampled.push((of_doc[0].query, of_doc[0].doc), number);
                    number += 1;
                }
            }
        })?;
        Ok(sampled)
    }

    fn nothing(counts: &dyn CountsView, is_part: bool, taken: impl Fn(u32) -> bool) -> Self {
        let mut groups = 0;
        let mut renumber = |user: u32| match taken(user) {
            true => {
                groups += 1;
                groups - 1
            }
            false => NOT_TAKEN,
        };
        let number = (0..counts.users().len() as u32).map(&mut renumber).collect();
        let positions = counts.totals().max_position as usize;
        let empty = |_| Observations { positions, groups: groups as usize, ..Observations::default() };
        let rows = std::array::from_fn(|_| Vec::new());
        Sampled { parts: std::array::from_fn(empty), docs: Vec::new(), is_part, number, rows }
    }

    fn add(&mut self, of_doc: &[Cell], part_of: impl Fn(u32, u32) -> usize) {
        let positions = self.parts[0].positions as u32;
        for cell in of_doc {
            let number = self.number[cell.user as usize];
            if number != NOT_TAKEN {
                let (clicks, misses) = (cell.clicks as f64, (cell.impressions - cell.clicks) as f64);
                let row = (number * positions + cell.position - 1, clicks, misses);
                self.rows[part_of(cell.user, cell.query)].push(row);
            }
        }
    }

    /// Ends a document.
    fn push(&mut self, pair: (u32, u32), number: u32) {
        if self.is_part && self.rows.iter().all(Vec::is_empty) {
            return;
        }
        self.docs.push(number);
        for (part, rows) in self.parts.iter_mut().zip(&mut self.rows) {
            part.docs.push(pair);
            part.push(rows);
            rows.clear();
        }
    }

    /// Of values for all documents those of the documents here.
    pub fn select(&self, values: &[f64]) -> Vec<f64> {
        self.docs.iter().map(|&doc| values[doc as usize]).collect()
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

    /// Each of `users` saw one document of each of `queries`.
    fn seen(users: u32, queries: u32) -> Counts {
        let cell = |query, user| Cell { query, doc: 0, position: 1, user, impressions: 2, clicks: 1 };
        let cells = (0..queries).flat_map(|query| (0..users).map(move |user| cell(query, user))).collect();
        Counts { users: Ids::numbered(users as usize), cells, ..Counts::default() }
    }

    #[test]
    fn what_a_user_saw_for_a_query_is_in_one_part() {
        let all = seen(40, 50);
        let Sampled { parts: [kept, held], is_part, .. } = Observations::halves(&all, None, 1, 10_000).unwrap();
        assert!(!is_part);
        assert_eq!((kept.groups, kept.docs.len(), held.docs.len()), (40, 50, 50));
        let count = |part: &Observations, doc: usize| part.entries_of(doc).len();
        assert!((0..50).all(|doc| count(&kept, doc) + count(&held, doc) == 40));
        let share = held.slots.len() as f64 / 2000.0;
        assert!((share - HELD_OUT).abs() < 0.04, "{share}");
    }

    #[test]
    fn samples_keep_users_where_they_are_few() {
        let Sampled { parts: [few], docs, .. } = Observations::sample(&seen(40, 50), None, 1, 200).unwrap();
        // Whole queries: all users or none; of none, documents are left out.
        assert_eq!((few.groups, few.docs.len()), (40, docs.len()));
        assert!((0..docs.len()).all(|doc| few.entries_of(doc).len() == 40 && few.docs[doc].0 == docs[doc]));
        assert!((40..=600).contains(&few.slots.len()), "{}", few.slots.len());
        let Sampled { parts: [many], .. } = Observations::sample(&seen(4000, 2), None, 1, 4000).unwrap();
        assert!((1800..2200).contains(&many.groups) && many.slots.len() == 2 * many.groups, "{}", many.groups);
        assert!(!Observations::sample(&seen(4, 2), None, 1, 8).unwrap().is_part);
        let keep: Vec<bool> = (0..50).map(|doc| doc % 2 == 0).collect();
        let half = Observations::sample(&seen(4, 50), Some(&keep), 1, 1000).unwrap();
        assert_eq!((half.docs.len(), half.parts[0].docs[3]), (25, (6, 0)));
    }
}
