//! What joining events came to, in numbers and in words.

use std::collections::BTreeMap;
use std::path::Path;

use super::options::EventOptions;
use crate::log::BadRows;
use crate::{Error, Result};

/// How many pages came out of a join, and what was left out on the way.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct EventSummary {
    pub pages: u64,
    /// Events that are clicks.
    pub clicks: u64,
    /// Clicks that found their page.
    pub joined: u64,
    pub clicks_of_unknown_sessions: u64,
    pub clicks_off_page: u64,
    pub clicks_of_several_pages: u64,
    pub repeated_docs: u64,
    /// How many events there are of other kinds, by name.
    pub others: BTreeMap<String, u64>,
}

impl EventSummary {
    /// Plain sentences about everything that someone should know.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks =
            vec![format!("{} pages and {} clicks on them were joined from events", self.pages, self.joined)];
        for (count, what) in [
            (self.clicks_of_unknown_sessions, "clicks are of sessions that show nothing and were left out"),
            (
                self.clicks_off_page,
                "clicks are on documents that no page of their session shows before them and were left out",
            ),
            (self.clicks_of_several_pages, "clicks could be on several pages of their session and were left out"),
            (self.repeated_docs, "documents stand twice on their page and were left out the second time"),
        ] {
            if count > 0 {
                remarks.push(format!("{count} {what}"));
            }
        }
        if !self.others.is_empty() {
            let count: u64 = self.others.values().sum();
            remarks.push(format!(
                "{count} events are neither pages nor clicks and were left out: {}",
                self.common_others()
            ));
        }
        remarks
    }

    /// An error where nothing was shown, or nothing that was shown was clicked.
    pub fn check(&self, path: &Path, events: &EventOptions, bad: &BadRows) -> Result<()> {
        let [queries, clicks] = events.names();
        let others = format!("other events in column '{}' are {}", events.column(), self.common_others());
        let finding = match self {
            EventSummary { pages: 0, .. } => format!(
                "holds no event that shows documents ({queries}); {others}; say which do with `query_event` NAME"
            ),
            EventSummary { clicks: 0, .. } => {
                format!("holds no event that is a click ({clicks}); {others}; say which are with `click_event` NAME")
            }
            EventSummary { joined: 0, .. } => format!(
                "holds no click on a document that its session shows: {}; are session and doc the right columns?",
                self.remarks()[1..].join("; ")
            ),
            _ => return Ok(()),
        };
        let left_out =
            bad.first.first().map(|first| format!("; {} rows are left out, the first because {first}", bad.count));
        Err(Error::input(path, finding + &left_out.unwrap_or_default()))
    }

    /// Other events by how often they occur, for a message.
    fn common_others(&self) -> String {
        let mut others: Vec<(&String, &u64)> = self.others.iter().collect();
        others.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        let shown: Vec<String> = others.iter().take(8).map(|(name, count)| format!("{name} ({count})")).collect();
        if shown.is_empty() { "none".to_string() } else { shown.join(", ") }
    }
}
