//! A log in two parts: one to learn from, one to judge by.

use std::sync::Arc;

use serde::Serialize;

use super::count::{CountOptions, count_view};
use super::part::Part;
use super::source::LogSource;
use super::stored::Need;
use super::summary::LogSummary;
use super::view::CountsView;
use crate::log::time_at;
use crate::named::named;
use crate::progress::Progress;
use crate::{Error, Result};

/// How a log is cut into a part to learn from and a part to judge by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SplitBy {
    /// Each query is in one part only.
    Queries,
    /// What happened before a time, and after it; queries may be in both.
    Time,
    /// Some result pages, whatever their query.
    Pages,
}

impl SplitBy {
    /// Queries where there are features, so that the ranker meets new ones. Without them nothing is known of a document that
    /// was never shown, so clicks can be predicted only where queries are known: then pages.
    pub fn usual(has_features: bool) -> Self {
        if has_features { SplitBy::Queries } else { SplitBy::Pages }
    }
}

named!(SplitBy, "a way to split a log": Queries "query", Time "time", Pages "page");

/// A log in two parts, each in memory or, where the whole did not fit, in a temporary file.
#[derive(Clone)]
pub struct SplitLog {
    /// What is learned from.
    pub train: Arc<dyn CountsView>,
    /// What learning never sees.
    pub held_out: Arc<dyn CountsView>,
    /// What tells the parts apart.
    pub by: SplitBy,
    /// What is known of the log; where it is split by time, of the training part.
    pub summary: LogSummary,
    /// Whether click transitions were counted for the split, or made of pages: counts that were given did not have them.
    pub made_transitions: bool,
}

impl LogSource {
    /// Counts the log in two parts, of which the second holds about `share` of the queries, of the pages, or of the rows:
    /// the last ones by time. What is chosen by chance follows from the seed; see [`Counts::split_queries`](super::Counts::split_queries) and
    /// [`Counts::split_pages`](super::Counts::split_pages).
    pub fn split(&self, by: SplitBy, share: f64, seed: u64, progress: &dyn Progress) -> Result<SplitLog> {
        self.split_counting(&CountOptions::new(), by, share, seed, progress)
    }

    /// The same with what the options say of what is counted, within their room. The parts have no click patterns. Click
    /// transitions that are wanted, but were not counted, are made of whole pages where all of these were kept.
    pub fn split_counting(
        &self,
        what: &CountOptions,
        by: SplitBy,
        share: f64,
        seed: u64,
        progress: &dyn Progress,
    ) -> Result<SplitLog> {
        self.check_split(by, share)?;
        if by == SplitBy::Time {
            return self.split_by_time(what, share, progress);
        }
        let (mut whole, summary) = self.view(what, Need::Estimation, progress)?;
        let made_transitions = what.transitions && !(self.is_counted() && whole.totals().transitions.is_some());
        if what.transitions && whole.totals().transitions.is_none() && whole.has_all_pages() {
            whole = Part::all(whole.as_ref()).with_transitions_of_pages().view()?;
        }
        let (train, held_out) = match by {
            SplitBy::Pages => whole.split_pages(share, seed)?,
            _ => whole.split_queries(share, seed)?,
        };
        Ok(SplitLog { train, held_out, by, summary, made_transitions })
    }

    fn split_by_time(&self, what: &CountOptions, share: f64, progress: &dyn Progress) -> Result<SplitLog> {
        let LogSource::Rows(parts, options) = self else { return Err(no_times()) };
        let at = time_at(parts, options, 1.0 - share)?;
        let count = |options| count_view(parts, &options, what, Need::Estimation, progress);
        let (train, summary) = count(options.as_ref().clone().until(at))?;
        let (held_out, _) = count(options.as_ref().clone().since(at))?;
        let (train, held_out, by) = (Arc::from(train), Arc::from(held_out), SplitBy::Time);
        Ok(SplitLog { train, held_out, by, summary, made_transitions: what.transitions })
    }

    /// Refuses a split that the log cannot have, before it is read.
    pub fn check_split(&self, by: SplitBy, share: f64) -> Result<()> {
        if !(share > 0.0 && share < 1.0) {
            return Err(Error::option("held_out", format!("is {share}, but should be between 0 and 1")));
        }
        match by {
            SplitBy::Time if !matches!(self, LogSource::Rows(..)) => Err(no_times()),
            SplitBy::Time if !self.can_be_read_again() => Err(Error::parameter(
                "standard input can be read once only, but a split by time reads the log twice; save it as a file",
            )),
            _ => Ok(()),
        }
    }
}

fn no_times() -> Error {
    Error::parameter("counts have no times, but the split is by time; pass the log itself, or split by query or page")
}
