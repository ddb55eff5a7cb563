//! What features link: equal vectors, and positions whose documents are alike.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use rayon::prelude::*;

use super::Seen;
use super::union_find::UnionFind;
use crate::data::Dataset;

/// How many documents of a position are looked at: the ends of an interval are then exact to about half a percent of them.
const SAMPLE: usize = 2_000;

/// Fewer documents say nothing about a position's features. With 10 against 10, chance alone separates one feature with
/// probability 2 / C(20, 10) ≈ 10⁻⁵, so hundreds of features do no harm; with 5 against 5 it is .8 %.
const FEWEST: usize = 10;

/// One in this many documents is left out at either end of a feature's interval, so that 90 % are in it.
const TAIL: usize = 20;

/// For each document, the first one with the same feature vector; itself where it has no features.
pub(super) fn same_vectors(rows: &[Option<u32>], data: &Dataset) -> Vec<u32> {
    let hasher = FixedState::default();
    let hash = |row: u32| {
        let bits: Vec<u32> = bits(data.row(row as usize)).collect();
        hasher.hash_one(bits)
    };
    let mut table: HashTable<(u32, u32)> = HashTable::new();
    let mut first = |doc: u32, row: u32| {
        let equal = |known: &(u32, u32)| bits(data.row(known.1 as usize)).eq(bits(data.row(row as usize)));
        table.entry(hash(row), equal, |known| hash(known.1)).or_insert((doc, row)).get().0
    };
    (0_u32..).zip(rows).map(|(doc, row)| row.map_or(doc, |row| first(doc, row))).collect()
}

/// The bits of each feature; adding 0 makes −0 equal to 0.
fn bits(row: &[f32]) -> impl Iterator<Item = u32> {
    row.iter().map(|value| (value + 0.0).to_bits())
}

/// Which documents with features were shown at each position, in slots with clicks.
pub(super) struct ByPosition<'a> {
    data: &'a Dataset,
    /// The row of each document.
    rows: &'a [Option<u32>],
    /// The hub of the first position.
    hubs: u32,
    /// A bit for each document.
    shown: Vec<Vec<u64>>,
}

impl<'a> ByPosition<'a> {
    pub fn new(data: &'a Dataset, rows: &'a [Option<u32>], seen: &Seen) -> Self {
        let words = rows.len().div_ceil(64);
        ByPosition { data, rows, hubs: seen.live.len() as u32, shown: vec![vec![0; words]; seen.positions] }
    }

    /// Joins a live slot to its position's hub where the document it saw has features.
    pub fn add(&mut self, doc: u32, slot: u32, sets: &mut UnionFind) {
        if self.rows[doc as usize].is_some() {
            let position = slot as usize % self.shown.len();
            sets.unite(slot, self.hubs + position as u32);
            self.shown[position][doc as usize / 64] |= 1 << (doc % 64);
        }
    }

    /// Joins the hubs of positions whose features overlap.
    pub fn link(self, sets: &mut UnionFind) {
        let intervals: Vec<Option<Vec<(f32, f32)>>> =
            self.shown.par_iter().map(|shown| intervals(&self.rows_of(shown), self.data)).collect();
        for (a, of_a) in (self.hubs..).zip(&intervals) {
            for (b, of_b) in (self.hubs..).zip(&intervals).skip_while(|(b, _)| *b <= a) {
                let (Some(of_a), Some(of_b)) = (of_a, of_b) else { continue };
                if !sets.together(a, b) && overlap(of_a, of_b) {
                    sets.unite(a, b);
                }
            }
        }
    }

    /// The rows of the documents whose bits are set, in order.
    fn rows_of(&self, shown: &[u64]) -> Vec<u32> {
        let is_shown = |doc: usize| shown[doc / 64] >> (doc % 64) & 1 == 1;
        self.rows.iter().enumerate().filter(|(doc, _)| is_shown(*doc)).filter_map(|(_, row)| *row).collect()
    }
}

/// The interval of each feature's central 90 %; none for too few documents.
fn intervals(rows: &[u32], data: &Dataset) -> Option<Vec<(f32, f32)>> {
    if rows.len() < FEWEST {
        return None;
    }
    let count = rows.len().min(SAMPLE);
    let sample: Vec<usize> = (0..count).map(|index| rows[index * rows.len() / count] as usize).collect();
    let mut values = Vec::with_capacity(count);
    let interval = |feature: usize| {
        values.clear();
        values.extend(sample.iter().map(|&row| data.row(row)[feature]).filter(|value| !value.is_nan()));
        // What few documents have tells positions apart no more than few documents do.
        if values.len() < FEWEST {
            return (f32::NEG_INFINITY, f32::INFINITY);
        }
        let (tail, last) = (values.len() / TAIL, values.len() - 1);
        let low = *values.select_nth_unstable_by(tail, f32::total_cmp).1;
        (low, *values.select_nth_unstable_by(last - tail, f32::total_cmp).1)
    };
    Some((0..data.feature_count()).map(interval).collect())
}

/// Whether the intervals are disjoint on no feature.
fn overlap(a: &[(f32, f32)], b: &[(f32, f32)]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.0 <= b.1 && b.0 <= a.1)
}
