//! Drops ids that stand in no cell, as those of pages that were left out.

use super::model::Counts;
use crate::ids::Ids;

pub(super) fn compact(counts: &mut Counts) {
    let queries = Kept::new(counts.queries.len(), counts.sessions.iter().map(|count| count.query));
    let users = Kept::new(counts.users.len(), counts.sessions.iter().map(|count| count.user));
    let docs = Kept::new(counts.docs.len(), counts.cells.iter().map(|cell| cell.doc));
    for cell in &mut counts.cells {
        (cell.query, cell.user, cell.doc) =
            (queries.new[cell.query as usize], users.new[cell.user as usize], docs.new[cell.doc as usize]);
    }
    for count in &mut counts.sessions {
        (count.query, count.user) = (queries.new[count.query as usize], users.new[count.user as usize]);
    }
    if let Some(patterns) = &mut counts.patterns {
        patterns.patterns.iter_mut().for_each(|pattern| pattern.query = queries.new[pattern.query as usize]);
        patterns.shown.iter_mut().for_each(|shown| shown.doc = docs.new[shown.doc as usize]);
    }
    for (ids, kept) in [(&mut counts.queries, queries), (&mut counts.users, users), (&mut counts.docs, docs)] {
        *ids = kept.select(ids);
    }
}

/// The ids that stay, and the new number of each old one; their order stays.
struct Kept {
    old: Vec<usize>,
    new: Vec<u32>,
}

impl Kept {
    fn new(count: usize, used: impl Iterator<Item = u32>) -> Self {
        let mut is_used = vec![false; count];
        used.for_each(|number| is_used[number as usize] = true);
        let old: Vec<usize> = (0..count).filter(|&number| is_used[number]).collect();
        let mut new = vec![0; count];
        old.iter().zip(0..).for_each(|(&old, number)| new[old] = number);
        Kept { old, new }
    }

    fn select(self, ids: &Ids) -> Ids {
        ids.select(self.old)
    }
}
