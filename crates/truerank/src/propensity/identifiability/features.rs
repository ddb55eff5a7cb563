//! What features link: equal vectors, and positions whose documents are alike.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use rayon::prelude::*;

use super::union_find::UnionFind;
use super::{Seen, Slots};
use crate::Result;
use crate::counts::{CountsView, by_document};
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

/// Joins live slots that have features to their position's hub, and the hubs of positions whose features overlap.
pub(super) fn link_positions(
    counts: &dyn CountsView,
    slots: &Slots<'_>,
    seen: &Seen,
    rows: &[Option<u32>],
    data: &Dataset,
    sets: &mut UnionFind,
) -> Result<()> {
    let hub = |position: usize| (slots.count() + position) as u32;
    let mut shown: Vec<Vec<u32>> = vec![Vec::new(); slots.positions];
    let mut rows = rows.iter();
    counts.for_each_cells(|cells| {
        for (of_doc, row) in by_document(cells).zip(&mut rows) {
            let Some(row) = *row else { continue };
            for slot in seen.live_slots(of_doc, slots) {
                let position = slot as usize % slots.positions;
                sets.unite(slot, hub(position));
                // A document's cells are together, so a row that several groups saw is the last one pushed.
                if shown[position].last() != Some(&row) {
                    shown[position].push(row);
                }
            }
        }
    })?;
    let intervals: Vec<Option<Vec<(f32, f32)>>> = shown.par_iter().map(|rows| intervals(rows, data)).collect();
    for (a, of_a) in intervals.iter().enumerate() {
        for (b, of_b) in intervals.iter().enumerate().skip(a + 1) {
            let (Some(of_a), Some(of_b)) = (of_a, of_b) else { continue };
            if !sets.together(hub(a), hub(b)) && overlap(of_a, of_b) {
                sets.unite(hub(a), hub(b));
            }
        }
    }
    Ok(())
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
