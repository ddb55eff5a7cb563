//! Whole result pages: a random part of a log's pages, kept beside its cells.
//!
//! Cells forget what was shown and clicked together. Reordering a page, and a test that respects how clicks on a page depend on
//! each other, need it; a part of the pages is enough for both, so a long log costs no more than a short one.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::model::{Cell, SessionCount, Shown};
use crate::random::hash;

/// Pages that are kept, at most.
const MOST_PAGES: usize = 100_000;

/// Documents on them, at most.
const MOST_SHOWN: usize = 1_000_000;

/// Whole result pages of a log: all of them, or a random part where there are many.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pages {
    /// Sorted by query, user, what was shown and clicked, and key.
    pub pages: Vec<Page>,
    /// What the pages showed, one after another, each sorted by position.
    pub shown: Vec<Shown>,
}

/// One result page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Number of the query.
    pub query: u32,
    /// Number of the user.
    pub user: u32,
    /// Its documents: this range of [`Pages::shown`].
    pub shown: Range<usize>,
    /// A number that looks random and follows from the texts of its session and query alone, so that it is the same in
    /// every log that has the page. None where sessions have no ids of their own.
    pub key: Option<u64>,
}

/// The key of a page, from its session and the [hash](crate::random::hash_text) of its query's text.
pub(super) fn page_key(session: u64, query: u64) -> u64 {
    hash(session, query)
}

impl Pages {
    /// What a page showed, by position.
    pub fn of(&self, page: &Page) -> &[Shown] {
        &self.shown[page.shown.clone()]
    }

    /// The pages of each query.
    pub fn by_query(&self) -> impl Iterator<Item = &[Page]> {
        self.pages.chunk_by(|a, b| a.query == b.query)
    }

    /// Appends a page.
    pub(crate) fn push(&mut self, query: u32, user: u32, shown: impl IntoIterator<Item = Shown>) {
        let start = self.shown.len();
        self.shown.extend(shown);
        self.pages.push(Page { query, user, shown: start..self.shown.len(), key: None });
    }

    /// Appends a page of other pages.
    pub(crate) fn push_of(&mut self, other: &Pages, page: &Page) {
        self.push_keyed(page.key, page.query, page.user, other.of(page).iter().copied());
    }

    /// Appends a page with its key.
    pub(crate) fn push_keyed(
        &mut self,
        key: Option<u64>,
        query: u32,
        user: u32,
        shown: impl IntoIterator<Item = Shown>,
    ) {
        self.push(query, user, shown);
        self.pages.iter_mut().next_back().into_iter().for_each(|page| page.key = key);
    }

    /// Whether every page has a key.
    pub(super) fn are_keyed(&self) -> bool {
        self.pages.iter().all(|page| page.key.is_some())
    }

    /// Leaves pages without keys: those of logs whose sessions have no ids of their own.
    pub(super) fn forget_keys(&mut self) {
        self.pages.iter_mut().for_each(|page| page.key = None);
    }

    /// The pages in their order, and what they show in the order of the pages.
    pub(crate) fn sorted(&self) -> Pages {
        let mut order: Vec<&Page> = self.pages.iter().collect();
        order.sort_unstable_by_key(|page| (page.query, page.user, self.of(page), page.key));
        let mut sorted = Pages::default();
        order.into_iter().for_each(|page| sorted.push_of(self, page));
        sorted
    }

    /// The cells and sessions of these pages alone.
    pub(crate) fn counted(&self) -> (Vec<Cell>, Vec<SessionCount>) {
        let cell = |page: &Page, shown: &Shown| Cell {
            query: page.query,
            doc: shown.doc,
            position: shown.position,
            user: page.user,
            impressions: 1,
            clicks: u64::from(shown.click),
        };
        let rows = self.pages.iter().flat_map(|page| self.of(page).iter().map(move |shown| cell(page, shown)));
        let mut rows: Vec<Cell> = rows.collect();
        rows.sort_unstable();
        let same = |a: &Cell, b: &Cell| (a.query, a.doc, a.position, a.user) == (b.query, b.doc, b.position, b.user);
        let cells = rows.chunk_by(same).map(|rows| Cell {
            impressions: rows.len() as u64,
            clicks: rows.iter().map(|row| row.clicks).sum(),
            ..rows[0]
        });
        let of_user = self.pages.chunk_by(|a, b| (a.query, a.user) == (b.query, b.user));
        let sessions = of_user.map(|pages| SessionCount {
            query: pages[0].query,
            user: pages[0].user,
            sessions: pages.len() as u64,
        });
        (cells.collect(), sessions.collect())
    }

    /// The pages without what stands deeper than `last`; those of which nothing is left are gone.
    pub(crate) fn cut_below(&self, last: u32) -> Pages {
        let mut cut = Pages::default();
        for page in &self.pages {
            let shown = self.of(page).iter().filter(|shown| shown.position <= last);
            if shown.clone().next().is_some() {
                cut.push_keyed(page.key, page.query, page.user, shown.copied());
            }
        }
        cut
    }
}

/// Chooses pages while they are counted, from several threads: those with the least keys, whatever their order.
#[derive(Debug, Default)]
pub(super) struct PageSampler {
    kept: Mutex<KeyedPages>,
    /// Keys from here on are not among the least.
    end: AtomicEnd,
}

#[derive(Debug)]
struct AtomicEnd(AtomicU64);

impl Default for AtomicEnd {
    fn default() -> Self {
        AtomicEnd(AtomicU64::new(u64::MAX))
    }
}

/// Pages that all have keys, by which they are chosen.
#[derive(Debug, Default)]
pub(super) struct KeyedPages {
    pages: Pages,
}

impl PageSampler {
    /// Whether a page of this key is worth keeping, as far as is known yet.
    pub fn wants(&self, key: u64) -> bool {
        key < self.end.0.load(Ordering::Relaxed)
    }

    /// Takes what one thread has kept.
    pub fn add(&self, found: KeyedPages) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        found.pages.pages.iter().for_each(|page| kept.pages.push_of(&found.pages, page));
        if kept.pages.pages.len() > 2 * MOST_PAGES || kept.pages.shown.len() > 2 * MOST_SHOWN {
            kept.shrink(&self.end);
        }
    }

    /// The chosen pages, sorted.
    pub fn finish(self) -> Pages {
        let mut kept = self.kept.into_inner().unwrap_or_else(PoisonError::into_inner);
        kept.shrink(&self.end);
        kept.pages.sorted()
    }
}

impl KeyedPages {
    pub fn push(&mut self, key: u64, query: u32, user: u32, shown: impl IntoIterator<Item = Shown>) {
        self.pages.push_keyed(Some(key), query, user, shown);
        let start = self.pages.pages.last().map_or(0, |page| page.shown.start);
        self.pages.shown[start..].sort_unstable();
    }

    /// Leaves the pages with the least keys.
    fn shrink(&mut self, end: &AtomicEnd) {
        let kept = least_pages(&self.pages);
        let mut left = Pages::default();
        kept.iter().for_each(|&at| left.push_of(&self.pages, &self.pages.pages[at]));
        if kept.len() < self.pages.pages.len()
            && let Some(last) = kept.last().and_then(|&at| self.pages.pages[at].key)
        {
            // One more page of the last key may be kept, so keys end after it.
            end.0.fetch_min(last.saturating_add(1), Ordering::Relaxed);
        }
        self.pages = left;
    }
}

/// The pages with the least keys, as many as are kept, in their order.
pub(super) fn least_pages(pages: &Pages) -> Vec<usize> {
    let mut order: Vec<usize> = (0..pages.pages.len()).collect();
    let page = |at: usize| &pages.pages[at];
    order.sort_unstable_by_key(|&at| (page(at).key, page(at).query, page(at).user, pages.of(page(at))));
    let mut shown = 0;
    let fits = |&at: &usize| {
        shown += page(at).shown.len();
        shown <= MOST_SHOWN
    };
    order.into_iter().take(MOST_PAGES).take_while(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(position: u32) -> Shown {
        Shown { position, doc: position, click: false }
    }

    /// The pages of a sampler that was given pages of `length` in so many parts.
    fn sampled(count: u64, length: u32, parts: u64, order: impl Fn(u64) -> u64) -> Pages {
        let sampler = PageSampler::default();
        for part in 0..parts {
            let mut found = KeyedPages::default();
            for page in (0..count).map(&order).filter(|page| page % parts == part) {
                let key = hash(page, 7);
                if sampler.wants(key) {
                    found.push(key, page as u32, 0, (1..=length).rev().map(shown));
                }
            }
            sampler.add(found);
        }
        sampler.finish()
    }

    #[test]
    fn few_pages_are_all_kept_and_sorted() {
        let pages = sampled(1000, 3, 4, |page| page);
        assert_eq!(pages.pages.len(), 1000);
        assert!(pages.pages.is_sorted_by_key(|page| page.query));
        assert!(pages.pages.iter().all(|page| pages.of(page) == [shown(1), shown(2), shown(3)]));
    }

    #[test]
    fn of_many_the_same_random_part_is_kept_in_any_order() {
        let count = 400_000;
        let once = sampled(count, 2, 3, |page| page);
        assert_eq!(once.pages.len(), MOST_PAGES);
        assert!(once == sampled(count, 2, 7, |page| count - 1 - page));
        let early = once.pages.iter().filter(|page| u64::from(page.query) < count / 2).count() as f64;
        let expected = MOST_PAGES as f64 / 2.0;
        assert!((early - expected).abs() < 5.0 * (expected / 2.0).sqrt(), "{early}");
    }

    #[test]
    fn long_pages_count_by_their_documents() {
        let pages = sampled(3000, 1000, 2, |page| page);
        assert_eq!((pages.pages.len(), pages.shown.len()), (1000, MOST_SHOWN));
    }

    #[test]
    fn deep_positions_are_cut() {
        let mut pages = Pages::default();
        pages.push(0, 0, [shown(1), shown(3)]);
        pages.push(1, 0, [shown(3)]);
        let cut = pages.cut_below(2);
        assert_eq!((cut.pages.len(), cut.of(&cut.pages[0])), (1, &[shown(1)][..]));
    }
}
