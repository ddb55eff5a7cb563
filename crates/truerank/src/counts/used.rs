//! Which ids occur in counts, and counts without those that do not, as those of pages that were left out.

use std::sync::atomic::{AtomicU64, Ordering};

use super::record::Batch;
use super::tables::{NumberedIds, Renumber};
use crate::ids::Ids;

/// The ids that occur, noted by many threads.
#[derive(Debug)]
pub(super) struct UsedIds {
    users: Bits,
    queries: Bits,
    docs: Bits,
    contexts: Bits,
}

impl UsedIds {
    pub fn none_of(names: &NumberedIds) -> Self {
        UsedIds {
            users: Bits::new(names.users.len()),
            queries: Bits::new(names.queries.len()),
            docs: Bits::new(names.docs.len()),
            contexts: Bits::new(names.contexts.len().max(1)),
        }
    }

    pub fn mark(&self, counts: &Batch) {
        counts.cells.iter().for_each(|cell| self.docs.set(cell.doc));
        for count in &counts.sessions {
            self.users.set(count.user);
            self.queries.set(count.query);
        }
        counts.transitions.lists.iter().for_each(|list| self.contexts.set(list.context));
    }

    /// The names that occur, and their numbers.
    pub fn select(&self, names: NumberedIds) -> (NumberedIds, Renumber) {
        let users = Renumbering::of(&names.users, |user| self.users.get(user));
        let queries = Renumbering::of(&names.queries, |query| self.queries.get(query));
        let docs = Renumbering::of(&names.docs, |doc| self.docs.get(doc));
        let contexts = Renumbering::of(&names.contexts, |context| self.contexts.get(context));
        let numbers = Renumber { queries: queries.new, docs: docs.new, users: users.new, contexts: contexts.new };
        (NumberedIds { queries: queries.ids, docs: docs.ids, users: users.ids, contexts: contexts.ids }, numbers)
    }
}

#[derive(Debug)]
struct Bits(Vec<AtomicU64>);

impl Bits {
    fn new(len: usize) -> Self {
        Bits((0..len.div_ceil(64)).map(|_| AtomicU64::new(0)).collect())
    }

    fn set(&self, number: u32) {
        let (word, bit) = (&self.0[number as usize / 64], 1 << (number % 64));
        if word.load(Ordering::Relaxed) & bit == 0 {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    fn get(&self, number: usize) -> bool {
        self.0[number / 64].load(Ordering::Relaxed) >> (number % 64) & 1 == 1
    }
}

/// The ids that are left, in their order, and their new numbers.
pub(super) struct Renumbering {
    pub ids: Ids,
    pub new: Vec<u32>,
}

impl Renumbering {
    pub fn of(ids: &Ids, is_used: impl Fn(usize) -> bool) -> Self {
        let mut new = vec![0; ids.len()];
        let kept = (0..ids.len()).filter(|&number| is_used(number));
        kept.clone().zip(0..).for_each(|(old, number)| new[old] = number);
        Renumbering { ids: ids.select(kept), new }
    }
}
