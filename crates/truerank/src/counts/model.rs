//! The sufficient statistic of a click log, in memory.

use std::ops::Range;

use super::origin::Origin;
use super::pages::Pages;
use super::transitions::Transitions;
use crate::ids::Ids;

/// What a click log says, whatever its length: everything downstream reads this and never a session.
///
/// Ids are numbered in their natural order, so that sorting by number is sorting by id.
/// Counts are equal if they say the same, however they were read.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    /// Queries, sorted.
    pub queries: Ids,
    /// Documents, sorted. A document may belong to several queries.
    pub docs: Ids,
    /// Users, sorted.
    pub users: Ids,
    /// What pages were shown in, such as devices, sorted; the lists of `transitions` have one each. Empty where that was not asked for.
    pub contexts: Ids,
    /// Sorted by query, document, position, user; at most one for each such combination.
    pub cells: Vec<Cell>,
    /// Sorted by query, user.
    pub sessions: Vec<SessionCount>,
    /// Who clicked what together, where it was asked for; the PRS loss needs it.
    pub patterns: Option<Patterns>,
    /// How users went from click to click, where it was asked for; click models need it.
    pub transitions: Option<Transitions>,
    /// Whole result pages, where they were seen.
    pub pages: Option<Pages>,
    /// How the log was read, and whether old counts were thinned.
    pub origin: Origin,
}

impl PartialEq for Counts {
    fn eq(&self, other: &Self) -> bool {
        (&self.queries, &self.docs, &self.users) == (&other.queries, &other.docs, &other.users)
            && self.contexts == other.contexts
            && self.cells == other.cells
            && self.sessions == other.sessions
            && self.patterns == other.patterns
            && self.transitions == other.transitions
            && self.pages == other.pages
    }
}

impl Eq for Counts {}

/// How often `user` saw and clicked `doc` at `position` for `query`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    /// Number of the query.
    pub query: u32,
    /// Number of the document.
    pub doc: u32,
    /// Position, counted from 1.
    pub position: u32,
    /// Number of the user.
    pub user: u32,
    /// How often it was shown.
    pub impressions: u64,
    /// How often it was clicked, at most `impressions`.
    pub clicks: u64,
}

/// How many sessions of `query` were by `user`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionCount {
    /// Number of the query.
    pub query: u32,
    /// Number of the user.
    pub user: u32,
    /// How many sessions.
    pub sessions: u64,
}

/// Result pages with their clicks, and how many sessions looked just so.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Patterns {
    /// Sorted by query, then by what was shown and clicked, then by user; at most one for each such combination.
    pub patterns: Vec<Pattern>,
    /// The result pages, one after another, each sorted by position.
    pub shown: Vec<Shown>,
}

impl Patterns {
    /// Appends the patterns of later queries.
    pub(super) fn append(&mut self, later: &Patterns) {
        let start = self.shown.len();
        self.shown.extend_from_slice(&later.shown);
        self.patterns.extend(
            later
                .patterns
                .iter()
                .map(|pattern| Pattern { shown: pattern.shown.start + start..pattern.shown.end + start, ..*pattern }),
        );
    }
}

/// One result page with its clicks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// Number of the query.
    pub query: u32,
    /// Number of the user.
    pub user: u32,
    /// Its documents: this range of [`Patterns::shown`].
    pub shown: Range<usize>,
    /// How many sessions.
    pub sessions: u64,
}

/// A document on a result page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shown {
    /// Position, counted from 1.
    pub position: u32,
    /// Number of the document.
    pub doc: u32,
    /// Whether it was clicked.
    pub click: bool,
}

impl Patterns {
    /// Appends a result page that `sessions` of a user looked like.
    pub(super) fn push(&mut self, query: u32, user: u32, page: &[Shown], sessions: u64) {
        let start = self.shown.len();
        self.shown.extend_from_slice(page);
        self.patterns.push(Pattern { query, user, shown: start..self.shown.len(), sessions });
    }
}

impl Counts {
    /// n(q): how many sessions each query has.
    pub fn sessions_per_query(&self) -> Vec<u64> {
        self.sum_sessions(self.queries.len(), |count| count.query)
    }

    /// n(u): how many sessions each user has.
    pub fn sessions_per_user(&self) -> Vec<u64> {
        self.sum_sessions(self.users.len(), |count| count.user)
    }

    fn sum_sessions(&self, len: usize, key: impl Fn(&SessionCount) -> u32) -> Vec<u64> {
        let mut sums = vec![0; len];
        self.sessions.iter().for_each(|count| sums[key(count) as usize] += count.sessions);
        sums
    }

    /// N: how many sessions there are.
    pub fn session_count(&self) -> u64 {
        self.sessions.iter().map(|count| count.sessions).sum()
    }

    /// How many impressions there are.
    pub fn impression_count(&self) -> u64 {
        self.cells.iter().map(|cell| cell.impressions).sum()
    }

    /// How many clicks there are.
    pub fn click_count(&self) -> u64 {
        self.cells.iter().map(|cell| cell.clicks).sum()
    }

    /// How many documents were shown, counted for each query anew.
    pub fn shown_count(&self) -> usize {
        self.cells.chunk_by(|a, b| (a.query, a.doc) == (b.query, b.doc)).count()
    }

    /// The largest position at which anything was shown.
    pub fn max_position(&self) -> u32 {
        self.cells.iter().map(|cell| cell.position).max().unwrap_or(0)
    }
}
