//! A part of a log, small enough to be worked on many times: cells enter, observations of some users or queries leave.

use super::log_users::CellsElsewhere;
use super::observations::Observations;
use crate::Result;
use crate::counts::{Cell, CountsView, by_document};
use crate::random::fraction;

/// Users that a random share of them should leave.
const ENOUGH_USERS: f64 = 1000.0;

/// The share of what users saw that is held out.
const HELD_OUT: f64 = 0.2;

/// The number of users who were not taken.
const NOT_TAKEN: u32 = u32::MAX;

/// What is taken of a log: about so many cells, of a random share of the users, or where that would leave few of them, of the
/// queries. Users and queries are taken by their numbers, so the part does not depend on where cells are.
pub(super) struct Share {
    share: f64,
    by_users: bool,
    seed: u64,
}

impl Share {
    /// Of a log with so many cells and users.
    pub fn of(cells: u64, users: usize, most: usize, seed: u64) -> Self {
        let share = most as f64 / cells.max(1) as f64;
        Share { share, by_users: share * users as f64 >= ENOUGH_USERS, seed }
    }

    fn is_part(&self) -> bool {
        self.share < 1.0
    }

    fn takes(&self, number: u32) -> bool {
        !self.is_part() || fraction(self.seed, u64::from(number), u64::MAX) < self.share
    }

    fn takes_user(&self, user: u32) -> bool {
        !self.by_users || self.takes(user)
    }

    fn takes_query(&self, query: u32) -> bool {
        self.by_users || self.takes(query)
    }

    /// Which part of two a user's cells of a query are in: about four fifths are to fit, and one to predict.
    pub fn half(&self, user: u32, query: u32) -> usize {
        usize::from(fraction(self.seed, u64::from(user), u64::from(query)) < HELD_OUT)
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

impl<const PARTS: usize> Sampled<PARTS> {
    /// Of counts, in parts by user and query; users who are taken are numbered anew.
    pub fn here(
        counts: &dyn CountsView,
        keep: Option<&[bool]>,
        share: &Share,
        part_of: impl Fn(u32, u32) -> usize,
    ) -> Result<Self> {
        let mut sampled = Self::nothing(counts.users().len(), counts.totals().max_position as usize, share);
        let (mut shown, mut number) = (0, 0);
        counts.for_each_cells(|cells| {
            for of_doc in by_document(cells) {
                if keep.is_none_or(|keep| keep[shown]) {
                    if share.takes_query(of_doc[0].query) {
                        sampled.add(of_doc, &part_of);
                    }
                    sampled.push((of_doc[0].query, of_doc[0].doc), number);
                    number += 1;
                }
                shown += 1;
            }
        })?;
        Ok(sampled)
    }

    /// The same of cells that are elsewhere. `docs` are the documents that are kept.
    pub fn elsewhere(
        cells: &dyn CellsElsewhere,
        docs: &[(u32, u32)],
        keep: Option<&[bool]>,
        share: &Share,
        part_of: impl Fn(u32, u32) -> usize,
    ) -> Result<Self> {
        let users = cells.users().len();
        let taken: Vec<Option<u32>> = (0..users as u32).map(|user| share.takes_user(user).then_some(user)).collect();
        let narrower = narrow(keep, docs, |query| share.takes_query(query));
        let found = cells.grouped(&taken, Some(&narrower))?;
        let mut sampled = Self::nothing(users, cells.positions(), share);
        let mut found = by_document(&found).peekable();
        for (number, &pair) in (0..).zip(docs) {
            if let Some(of_doc) = found.next_if(|of_doc| (of_doc[0].query, of_doc[0].doc) == pair) {
                sampled.add(of_doc, &part_of);
            }
            sampled.push(pair, number);
        }
        Ok(sampled)
    }

    fn nothing(users: usize, positions: usize, share: &Share) -> Self {
        let mut groups = 0;
        let mut renumber = |user: u32| match share.takes_user(user) {
            true => {
                groups += 1;
                groups - 1
            }
            false => NOT_TAKEN,
        };
        let number = (0..users as u32).map(&mut renumber).collect();
        let empty = |_| Observations::nothing(positions, groups as usize);
        let rows = std::array::from_fn(|_| Vec::new());
        Sampled { parts: std::array::from_fn(empty), docs: Vec::new(), is_part: share.is_part(), number, rows }
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

/// Of all shown documents those that are kept, and whose query is taken. `docs` are the documents that are kept, in order.
pub(super) fn narrow(keep: Option<&[bool]>, docs: &[(u32, u32)], takes: impl Fn(u32) -> bool) -> Vec<bool> {
    let mut taken = docs.iter().map(|&(query, _)| takes(query));
    match keep {
        None => taken.collect(),
        Some(keep) => keep.iter().map(|keep| *keep && taken.next().unwrap_or(false)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::Counts;
    use crate::ids::Ids;

    /// Each of `users` saw one document of each of `queries`.
    fn seen(users: u32, queries: u32) -> Counts {
        let cell = |query, user| Cell { query, doc: 0, position: 1, user, impressions: 2, clicks: 1 };
        let cells = (0..queries).flat_map(|query| (0..users).map(move |user| cell(query, user))).collect();
        Counts { users: Ids::numbered(users as usize), cells, ..Counts::default() }
    }

    fn sample(counts: &Counts, keep: Option<&[bool]>, most: usize) -> Sampled<1> {
        let share = Share::of(counts.cells.len() as u64, counts.users.len(), most, 1);
        Sampled::here(counts, keep, &share, |_, _| 0).unwrap()
    }

    #[test]
    fn what_a_user_saw_for_a_query_is_in_one_part() {
        let (all, share) = (seen(40, 50), Share::of(2_000, 40, 10_000, 1));
        let half = |user, query| share.half(user, query);
        let Sampled { parts: [kept, held], is_part, .. } = Sampled::here(&all, None, &share, half).unwrap();
        assert!(!is_part);
        assert_eq!((kept.groups, kept.docs.len(), held.docs.len()), (40, 50, 50));
        let count = |part: &Observations, doc: usize| part.entries_of(doc).len();
        assert!((0..50).all(|doc| count(&kept, doc) + count(&held, doc) == 40));
        let share = held.slots.len() as f64 / 2000.0;
        assert!((share - HELD_OUT).abs() < 0.04, "{share}");
    }

    #[test]
    fn samples_keep_users_where_they_are_few() {
        let Sampled { parts: [few], docs, .. } = sample(&seen(40, 50), None, 200);
        // Whole queries: all users or none; of none, documents are left out.
        assert_eq!((few.groups, few.docs.len()), (40, docs.len()));
        assert!((0..docs.len()).all(|doc| few.entries_of(doc).len() == 40 && few.docs[doc].0 == docs[doc]));
        assert!((40..=600).contains(&few.slots.len()), "{}", few.slots.len());
        let Sampled { parts: [many], .. } = sample(&seen(4000, 2), None, 4000);
        assert!((1800..2200).contains(&many.groups) && many.slots.len() == 2 * many.groups, "{}", many.groups);
        assert!(!sample(&seen(4, 2), None, 8).is_part);
        let keep: Vec<bool> = (0..50).map(|doc| doc % 2 == 0).collect();
        let half = sample(&seen(4, 50), Some(&keep), 1000);
        assert_eq!((half.docs.len(), half.parts[0].docs[3]), (25, (6, 0)));
    }
}
