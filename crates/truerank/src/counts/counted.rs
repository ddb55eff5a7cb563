//! What was counted, before it is put into memory or written.

use super::conflict::{Conflict, NamedConflict};
use super::merge::{Merge, SortedRun};
use super::model::Counts;
use super::origin::Origin;
use super::pages::Pages;
use super::partition::{Beside, Part};
use super::record::Batch;
use super::store::Store;
use super::summary::PageSummary;
use super::tables::{NumberedIds, Renumber};
use super::used::UsedIds;
use crate::Result;

/// Rows that are merged at a time.
const BATCH: usize = 1 << 18;

/// Counts in runs, and what was seen on the way.
pub(super) struct Counted {
    pub names: NumberedIds,
    pub summary: PartSummary,
    /// What was counted beside cells and sessions.
    pub beside: Beside,
    /// Whole pages, where they are known.
    pub pages: Option<Pages>,
    /// How they were counted.
    pub origin: Origin,
    renumber: Option<Renumber>,
    runs: Vec<SortedRun>,
    store: Store,
}

/// What was seen in all partitions.
#[derive(Debug, Default)]
pub(super) struct PartSummary {
    pub pages: PageSummary,
    pub clicks: u64,
    /// Rows on pages outside of the time that is asked for.
    pub outside: u64,
    /// Contradictions that were settled by leaving rows out, sorted.
    pub conflicts: Vec<NamedConflict>,
    /// Rows that were left out on pages of two users.
    pub of_two_users: u64,
    /// Rows that were left out on pages in two contexts.
    pub in_two_contexts: u64,
}

impl PartSummary {
    pub fn of(parts: Vec<Part>, named: impl Fn(&Conflict) -> NamedConflict) -> Self {
        let mut summary = PartSummary::default();
        let mut conflicts = Vec::new();
        for part in parts {
            summary.pages = summary.pages.merge(part.pages);
            summary.clicks += part.clicks;
            summary.outside += part.outside;
            summary.of_two_users += part.of_two_users;
            summary.in_two_contexts += part.in_two_contexts;
            conflicts.extend(part.conflicts);
        }
        conflicts.sort_unstable();
        summary.conflicts = conflicts.iter().map(named).collect();
        summary
    }
}

impl Counted {
    /// Counts in `runs`; where `used` says which ids are left, others are dropped.
    pub fn new(
        names: NumberedIds,
        used: Option<UsedIds>,
        beside: Beside,
        mut pages: Option<Pages>,
        runs: Vec<SortedRun>,
        store: Store,
        summary: PartSummary,
    ) -> Self {
        let (names, renumber) = match used {
            Some(used) => {
                let (names, renumber) = used.select(names);
                pages.iter_mut().for_each(|pages| renumber.renumber_pages(pages));
                (names, Some(renumber))
            }
            None => (names, None),
        };
        // A part of the pages is no statistic of the log.
        let whole = !beside.if_possible || summary.pages.with_shared_positions == 0;
        let beside = Beside { transitions: beside.transitions && whole, ..beside };
        Counted { names, summary, beside, pages, origin: Origin::default(), renumber, runs, store }
    }

    /// The same, counted so.
    pub fn origin(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
    }

    /// Bytes that were not held but put on disk.
    pub fn spooled(&self) -> u64 {
        self.store.spooled()
    }

    /// Hands all counts to `take` in their order, some queries or a part of one at a time; merges ahead meanwhile.
    pub fn for_each_batch(self, mut take: impl FnMut(&Batch) -> Result<()> + Send) -> Result<()> {
        let Counted { renumber, runs, store, .. } = self;
        let mut merge = Merge::new(runs, &store)?;
        let mut read = |mut batch: Batch| -> Result<Batch> {
            batch.clear();
            merge.read(BATCH, &mut batch)?;
            renumber.iter().for_each(|renumber| renumber.renumber(&mut batch));
            Ok(batch)
        };
        let (mut current, mut spare) = (read(Batch::default())?, Batch::default());
        while !current.is_empty() {
            let (next, taken) = rayon::join(|| read(std::mem::take(&mut spare)), || take(&current));
            taken?;
            spare = std::mem::replace(&mut current, next?);
        }
        Ok(())
    }

    /// All counts in memory.
    pub fn into_counts(mut self) -> Result<Counts> {
        let beside = self.beside;
        let NumberedIds { users, queries, docs, contexts } = std::mem::take(&mut self.names);
        let (pages, origin) = (self.pages.take(), std::mem::take(&mut self.origin));
        let mut all = Batch::default();
        self.for_each_batch(|batch| {
            all.append(batch);
            Ok(())
        })?;
        let Batch { cells, sessions, patterns, transitions } = all;
        let patterns = beside.patterns.then_some(patterns);
        let transitions = beside.transitions.then_some(transitions);
        Ok(Counts { queries, docs, users, contexts, cells, sessions, patterns, transitions, pages, origin })
    }
}
