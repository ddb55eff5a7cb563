//! Whole pages of several folders as one sample: pages enter with their keys, those that one count would have kept leave.
//!
//! A folder keeps the pages of the least keys. Of a folder that does not keep all, nothing is known past its largest key, so
//! the sample of all ends there, too. A page that is in two folders has the same key in both, so if one is counted twice, the
//! sample shows it. Pages without keys are drawn anew, in proportion to the pages that stand behind them.

use std::collections::HashSet;

use super::OnRepeatedPage;
use super::folders::{Folder, Folders};
use crate::Result;
use crate::counts::pages::{Pages, least_pages};
use crate::counts::tables::{NumberedIds, Renumber};
use crate::random::hash;

/// The pages of all folders so far.
pub(super) struct Samples {
    kind: Kind,
    pages: Pages,
    /// The folder of each page, by its number.
    folders: Vec<u32>,
    /// How many folders came.
    count: u32,
    /// No page with a greater key is known of all folders.
    bound: u64,
    /// Keys of pages that are taken away.
    without: HashSet<u64>,
    remarks: Vec<String>,
    plus: usize,
}

/// What is done with pages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// They have keys.
    Keyed,
    /// They get new keys.
    Drawn,
    /// There are none in the end.
    None,
}

impl Samples {
    pub fn new(folders: &Folders, is_thinned: bool) -> Self {
        let mut samples = Samples {
            kind: Kind::Keyed,
            pages: Pages::default(),
            folders: Vec::new(),
            count: 0,
            bound: u64::MAX,
            without: HashSet::new(),
            remarks: Vec::new(),
            plus: folders.plus.len(),
        };
        let lacking = folders.plus.iter().find(|folder| folder.meta.pages.is_none());
        if is_thinned {
            let remark =
                "old counts are thinned, so no whole result pages are kept; examine the counts of days with doctor";
            samples.end(remark.to_string());
        } else if let Some(folder) = lacking.filter(|_| folders.plus.iter().any(|it| it.meta.pages.is_some())) {
            samples.end(format!("{} keeps no whole result pages, so the sum keeps none", folder.name));
        } else if lacking.is_some() {
            samples.kind = Kind::None;
        }
        samples
    }

    fn end(&mut self, remark: String) {
        self.kind = Kind::None;
        self.remarks.push(remark);
    }

    /// Takes the pages of a folder, whose ids have these numbers; folders that are taken away come last.
    pub fn add(&mut self, folder: &Folder, pages: Option<&Pages>, numbers: &Renumber) {
        let number = self.count;
        self.count += 1;
        let Some(pages) = pages.filter(|_| self.kind != Kind::None) else {
            if number as usize >= self.plus && self.kind != Kind::None {
                self.end(format!("{} keeps no whole result pages, so what is left keeps none", folder.name));
            }
            return;
        };
        if number as usize >= self.plus {
            return self.take_away(folder, pages);
        }
        if !pages.are_keyed() {
            // Keys of earlier folders are as random as new ones.
            self.kind = Kind::Drawn;
        }
        let is_all = pages.pages.len() as u64 == folder.meta.sessions;
        let share = pages.pages.len() as f64 / folder.meta.sessions.max(1) as f64;
        if !is_all {
            let last = match self.kind {
                Kind::Keyed => pages.pages.iter().filter_map(|page| page.key).max().unwrap_or(0),
                _ => (u64::MAX as f64 * share) as u64,
            };
            self.bound = self.bound.min(last);
        }
        let mut pages = pages.clone();
        numbers.renumber_pages(&mut pages);
        for (at, page) in pages.pages.iter().enumerate() {
            let key = match self.kind {
                Kind::Keyed => page.key,
                // Of so many pages the least keys lie below the share of them that is kept.
                _ => Some((hash(u64::from(number), at as u64) as f64 * share) as u64),
            };
            let mut shown = pages.of(page).to_vec();
            shown.sort_unstable();
            self.pages.push_keyed(key, page.query, page.user, shown);
            self.folders.push(number);
        }
        self.shrink();
    }

    fn take_away(&mut self, folder: &Folder, pages: &Pages) {
        match pages.are_keyed() && self.kind == Kind::Keyed {
            true => self.without.extend(pages.pages.iter().filter_map(|page| page.key)),
            false => self.end(format!(
                "result pages of {} have no sessions by which they are known, so what is left keeps none",
                folder.name
            )),
        }
    }

    /// Leaves the pages of the least keys.
    fn shrink(&mut self) {
        let kept = least_pages(&self.pages);
        if kept.len() == self.pages.pages.len() {
            return;
        }
        let mut left = Pages::default();
        kept.iter().for_each(|&at| left.push_of(&self.pages, &self.pages.pages[at]));
        self.folders = kept.iter().map(|&at| self.folders[at]).collect();
        self.pages = left;
    }

    /// Refuses pages that are in two folders.
    pub fn check_repeated(&self, what: OnRepeatedPage, folders: &Folders, names: &NumberedIds) -> Result<()> {
        if self.kind != Kind::Keyed || what == OnRepeatedPage::Keep {
            return Ok(());
        }
        let mut order: Vec<usize> = (0..self.pages.pages.len()).collect();
        order.sort_unstable_by_key(|&at| (self.pages.pages[at].key, self.folders[at]));
        let repeated = |pair: &&[usize]| {
            let key = |at: usize| (self.pages.pages[at].key, self.pages.pages[at].query);
            key(pair[0]) == key(pair[1]) && self.folders[pair[0]] != self.folders[pair[1]]
        };
        let Some(first) = order
            .windows(2)
            .filter(repeated)
            .min_by_key(|pair| (self.folders[pair[1]], self.folders[pair[0]], self.pages.pages[pair[0]].query))
        else {
            return Ok(());
        };
        let of = |at: usize| &folders.plus[self.folders[at] as usize];
        let (earlier, later) = (of(first[0]), of(first[1]));
        let both = |pair: &&[usize]| {
            self.folders[pair[0]] == self.folders[first[0]] && self.folders[pair[1]] == self.folders[first[1]]
        };
        let count = order.windows(2).filter(repeated).filter(both).count();
        let compared = self.folders.iter().filter(|&&folder| folder == self.folders[first[1]]).count();
        let page = &self.pages.pages[first[0]];
        let query = names.queries.name(page.query as usize);
        let user = names.users.name(page.user as usize);
        Err(later.error(format!(
            "has result pages that {} has too: {count} of the {compared} compared, such as one of query '{}' by user '{}', but a \
             page counts once; leave one of them out, or if sessions of different days share ids, pass `on_repeated_page` keep",
            earlier.name,
            crate::log::shown(&query),
            crate::log::shown(&user),
        )))
    }

    pub fn remarks(&self) -> Vec<String> {
        self.remarks.clone()
    }

    /// The pages of all folders without those that are taken away, sorted.
    pub fn finish(self) -> Option<Pages> {
        if self.kind == Kind::None {
            return None;
        }
        let is_left = |key: u64| key <= self.bound && !self.without.contains(&key);
        let mut left = Pages::default();
        for page in self.pages.pages.iter().filter(|page| page.key.is_some_and(is_left)) {
            left.push_of(&self.pages, page);
        }
        if self.kind == Kind::Drawn {
            left.forget_keys();
        }
        Some(left.sorted())
    }
}
