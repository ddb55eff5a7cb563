//! Puts the partitions' counts together in the order of the queries.

use rayon::prelude::*;

use super::model::{Cell, Pattern, Patterns, SessionCount};
use super::partition::{Part, QueryEnd};

/// The counts of one query: their part, and where they start and end in it.
#[derive(Clone, Copy)]
struct Slot {
    part: usize,
    start: QueryEnd,
    end: QueryEnd,
}

pub(super) fn assemble(
    parts: Vec<Part>,
    queries: usize,
    patterns: bool,
) -> (Vec<Cell>, Vec<SessionCount>, Option<Patterns>) {
    let slots = slots(&parts, queries);
    let cells = cells(&parts, &slots);
    let sessions = slots.iter().flat_map(|s| &parts[s.part].sessions[s.start.sessions..s.end.sessions]);
    let sessions = sessions.copied().collect();
    let patterns = patterns.then(|| collect_patterns(&parts, &slots));
    (cells, sessions, patterns)
}

/// One slot for each query, in order.
fn slots(parts: &[Part], queries: usize) -> Vec<Slot> {
    let nothing = QueryEnd::default();
    let mut slots = vec![Slot { part: 0, start: nothing, end: nothing }; queries];
    for (part, content) in parts.iter().enumerate() {
        let mut start = nothing;
        for &end in &content.queries {
            slots[end.query as usize] = Slot { part, start, end };
            start = end;
        }
    }
    slots
}

/// All cells, written once and in parallel: each thread finds its first query and walks on from there.
fn cells(parts: &[Part], slots: &[Slot]) -> Vec<Cell> {
    let mut ends = Vec::with_capacity(slots.len());
    let mut total = 0;
    for slot in slots {
        total += slot.end.cells - slot.start.cells;
        ends.push(total);
    }
    let walker = || Walker { parts, slots, ends: &ends, slot: 0, range: 0..0 };
    (0..total).into_par_iter().with_min_len(1 << 14).map_init(walker, Walker::cell).collect()
}

struct Walker<'a> {
    parts: &'a [Part],
    slots: &'a [Slot],
    /// Where each query's cells end among all cells.
    ends: &'a [usize],
    slot: usize,
    range: std::ops::Range<usize>,
}

impl Walker<'_> {
    fn cell(&mut self, index: usize) -> Cell {
        if !self.range.contains(&index) {
            self.slot = self.ends.partition_point(|&end| end <= index);
            let start = if self.slot == 0 { 0 } else { self.ends[self.slot - 1] };
            self.range = start..self.ends[self.slot];
        }
        let slot = &self.slots[self.slot];
        self.parts[slot.part].cells[slot.start.cells + index - self.range.start]
    }
}

fn collect_patterns(parts: &[Part], slots: &[Slot]) -> Patterns {
    let mut all = Patterns::default();
    for slot in slots {
        let part = &parts[slot.part];
        let mut start = slot.start.shown;
        for &(end, sessions) in &part.patterns[slot.start.patterns..slot.end.patterns] {
            let from = all.shown.len();
            all.shown.extend_from_slice(&part.shown[start..end]);
            all.patterns.push(Pattern { query: slot.end.query, shown: from..all.shown.len(), sessions });
            start = end;
        }
    }
    all
}
