//! Result pages and what happened on them: queries and events enter one by one, impressions leave.

use std::collections::HashMap;

use super::record::{Event, Query};
use super::{Kind, UbiSummary};
use crate::error::Place;
use crate::ids::Interner;
use crate::log::{Impression, Log, MAX_POSITION};
use crate::{Error, Result};

/// More names than this are not names of actions, and counting them would cost memory.
const MOST_ACTIONS: usize = 1000;

/// All pages so far.
#[derive(Default)]
pub(super) struct Pages {
    depth: usize,
    numbers: HashMap<String, u32>,
    pages: Vec<Page>,
    users: Interner,
    queries: Interner,
    docs: Interner,
    /// Clicks on pages with hits, as (page, document).
    clicks: Vec<(u32, u32)>,
    /// Clicks and views of pages without hits.
    seen: Vec<Seen>,
    /// How often an ordinal is a hit's place counted from 0, and from 1.
    from_zero: u64,
    from_one: u64,
    least_ordinal: Option<u32>,
    summary: UbiSummary,
}

/// One result page.
struct Page {
    query: u32,
    user: u32,
    /// Documents in order; empty where events have to tell.
    hits: Vec<u32>,
}

/// An event on a page without hits.
#[derive(Clone, Copy)]
struct Seen {
    page: u32,
    doc: u32,
    ordinal: Option<u32>,
    click: bool,
}

impl Pages {
    /// No pages yet, of at most `depth` hits.
    pub(super) fn new(depth: usize) -> Self {
        Pages { depth: depth.min(MAX_POSITION as usize), ..Pages::default() }
    }

    pub(super) fn add_query(&mut self, place: &Place, query: Query) -> Result<()> {
        self.summary.queries += 1;
        let id = query.id().ok_or_else(|| {
            place.clone().error("has no query_id, but events find their query by it; are these queries of UBI?")
        })?;
        let Some(text) = query.text() else {
            self.summary.queries_without_text += 1;
            return Ok(());
        };
        if self.numbers.contains_key(&id) {
            self.summary.repeated_queries += 1;
            return Ok(());
        }
        let user = query.user();
        self.summary.anonymous_pages += u64::from(user.is_none());
        let user = self.users.text(user.as_deref().unwrap_or("anonymous"));
        let (query, hits) = (self.queries.text(text), self.hits(query.hits()));
        self.numbers.insert(id, self.pages.len() as u32);
        self.pages.push(Page { query, user, hits });
        Ok(())
    }

    /// The numbers of the documents that were shown, each once.
    fn hits(&mut self, names: Vec<String>) -> Vec<u32> {
        let mut hits = Vec::with_capacity(names.len().min(self.depth));
        for name in names.iter().take(self.depth) {
            let doc = self.docs.text(name);
            match hits.contains(&doc) {
                true => self.summary.repeated_hits += 1,
                false => hits.push(doc),
            }
        }
        hits
    }

    /// Takes in an event; `kind` is what its action means.
    pub(super) fn add_event(&mut self, kind: Option<Kind>, event: Event) {
        self.summary.events += 1;
        self.count_action(event.action());
        let Some(kind) = kind else { return };
        let (Some(query), Some(object)) = (event.query_id(), event.object()) else {
            self.summary.events_without_subject += 1;
            return;
        };
        let Some(&page) = self.numbers.get(&query) else {
            self.summary.events_of_unknown_queries += 1;
            return;
        };
        let doc = self.docs.text(&object);
        let ordinal = event.ordinal();
        self.least_ordinal = [self.least_ordinal, ordinal].into_iter().flatten().min();
        if self.pages[page as usize].hits.is_empty() {
            self.seen.push(Seen { page, doc, ordinal, click: kind == Kind::Click });
        } else {
            self.add_to_hits(page, doc, ordinal, kind);
        }
    }

    fn add_to_hits(&mut self, page: u32, doc: u32, ordinal: Option<u32>, kind: Kind) {
        let Some(place) = self.pages[page as usize].hits.iter().position(|&hit| hit == doc) else {
            self.summary.clicks_off_list += u64::from(kind == Kind::Click);
            return;
        };
        if let Some(ordinal) = ordinal {
            self.from_zero += u64::from(ordinal as usize == place);
            self.from_one += u64::from(ordinal as usize == place + 1);
        }
        if kind == Kind::Click {
            self.clicks.push((page, doc));
        }
    }

    fn count_action(&mut self, action: &str) {
        let actions = &mut self.summary.actions;
        if let Some(count) = actions.get_mut(action) {
            *count += 1;
        } else if actions.len() < MOST_ACTIONS {
            actions.insert(action.to_string(), 1);
        }
    }

    /// Where ordinals start: as they meet hits, or else at 0 if any is 0.
    fn first_ordinal(&self) -> Option<u32> {
        match self.from_zero + self.from_one {
            0 => self.least_ordinal.map(|least| least.min(1)),
            _ => Some(u32::from(self.from_one >= self.from_zero)),
        }
    }

    /// The impressions of all pages.
    pub(super) fn into_log(mut self) -> Result<(Log, UbiSummary)> {
        self.summary.first_ordinal = self.first_ordinal();
        let mut impressions = self.impressions_of_hits();
        impressions.extend(self.impressions_of_events());
        impressions.sort_unstable();
        let pages = impressions.chunk_by(|a, b| a.session == b.session).count() as u64;
        self.summary.pages = pages;
        self.summary.impressions = impressions.len() as u64;
        self.summary.clicks = impressions.iter().filter(|impression| impression.click).count() as u64;
        self.summary.empty_queries = self.pages.len() as u64 - pages;
        self.check()?;
        let (users, queries, docs) = (self.users.into_ids(), self.queries.into_ids(), self.docs.into_ids());
        Ok((Log { users, queries, docs, impressions }, self.summary))
    }

    fn check(&self) -> Result<()> {
        let summary = &self.summary;
        match (summary.impressions, summary.clicks) {
            (0, _) => Err(Error::parameter(format!(
                "no query has hits (query_response_hit_ids) or views with positions, but impressions need a list; \
                 actions in the events are {}",
                summary.common_actions()
            ))),
            (_, 0) => Err(Error::parameter(format!(
                "no event is a click on a shown document; actions in the events are {}; say which are clicks",
                summary.common_actions()
            ))),
            _ => Ok(()),
        }
    }

    fn impressions_of_hits(&mut self) -> Vec<Impression> {
        self.clicks.sort_unstable();
        let mut impressions = Vec::new();
        for (number, page) in self.pages.iter().enumerate() {
            for (&doc, position) in page.hits.iter().zip(1..) {
                let click = self.clicks.binary_search(&(number as u32, doc)).is_ok();
                impressions.push(page.impression(number as u32, doc, position, click));
            }
        }
        impressions
    }

    fn impressions_of_events(&mut self) -> Vec<Impression> {
        let first = self.summary.first_ordinal.unwrap_or(1);
        // By position and then by name: which of two contradictory views stays does not depend on the order of lines.
        let docs = self.docs.ids();
        self.seen.sort_by(|a, b| {
            let key = |seen: &Seen| (seen.page, seen.ordinal.is_none(), seen.ordinal);
            key(a).cmp(&key(b)).then_with(|| docs.compare(a.doc as usize, b.doc as usize))
        });
        let mut impressions = Vec::new();
        for seen in self.seen.chunk_by(|a, b| a.page == b.page) {
            let page = &self.pages[seen[0].page as usize];
            let shown = place(seen, first, &mut self.summary);
            self.summary.pages_from_events += u64::from(!shown.is_empty());
            impressions.extend(
                shown.iter().map(|&(doc, position, click)| page.impression(seen[0].page, doc, position, click)),
            );
        }
        impressions
    }
}

impl Page {
    fn impression(&self, number: u32, doc: u32, position: u32, click: bool) -> Impression {
        Impression { session: u64::from(number), user: self.user, query: self.query, doc, position, click }
    }
}

/// The documents of one page with position and click, from its events in order of their ordinals; a click shows its document
/// too.
fn place(seen: &[Seen], first: u32, summary: &mut UbiSummary) -> Vec<(u32, u32, bool)> {
    let mut shown: Vec<(u32, u32, bool)> = Vec::new();
    for event in seen {
        let known = shown.iter().position(|(doc, ..)| *doc == event.doc);
        let position = event.ordinal.and_then(|ordinal| (ordinal + 1).checked_sub(first)).filter(|&place| place > 0);
        match (known, position) {
            (Some(place), position) => {
                shown[place].2 |= event.click;
                summary.contradictory_views += u64::from(position.is_some_and(|position| position != shown[place].1));
            }
            (None, None) if event.click => summary.clicks_off_list += 1,
            (None, None) => summary.views_without_position += 1,
            (None, Some(position)) if shown.last().is_some_and(|(_, last, _)| *last == position) => {
                summary.contradictory_views += 1;
            }
            (None, Some(position)) => shown.push((event.doc, position, event.click)),
        }
    }
    shown
}
