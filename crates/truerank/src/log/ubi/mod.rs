//! OpenSearch's User Behavior Insights: dumps of `ubi_queries` and `ubi_events` enter, a log of impressions leaves.
//!
//! Every query of a user is one result page. What was shown stands in its hit list, or, where there is none, in view events
//! with their positions; clicks are events that name the query and the document. Only pages and what happened on them are
//! held in memory, so other events cost nothing but reading.

mod join;
mod lines;
mod record;
mod summary;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use super::Log;
use crate::Result;
use crate::options::{Options, options};

use join::Pages;
use lines::for_each_line;
use record::{Event, Query, parse};
pub(crate) use summary::UbiSummary;

/// The heading of these options.
const UBI: &str = "User Behavior Insights";

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

options! {
    /// What events mean.
    #[derive(PartialEq, Eq)]
    pub struct UbiOptions {
        /// Names of the actions that are clicks on results, in any case.
        ubi_click: Vec<String> = names(&["click", "item_click", "product_click", "result_click", "search_result_click",
            "onclick"]), value("ACTION"), heading(UBI);
        /// Names of the actions that say that a result was shown, in any case; read where a query has no hit list.
        ubi_view: Vec<String> = names(&["impression", "view"]), value("ACTION"), heading(UBI);
        /// How many of a query's hits were shown.
        ubi_depth: Option<usize> = None, value("N"), usual("all"), at_least(1.0), heading(UBI);
    }
}

impl UbiOptions {
    fn kind(&self, action: &str) -> Option<Kind> {
        let among = |names: &[String]| names.iter().any(|name| name.eq_ignore_ascii_case(action));
        match () {
            () if among(&self.ubi_click) => Some(Kind::Click),
            () if among(&self.ubi_view) => Some(Kind::View),
            () => None,
        }
    }
}

/// What an event says about a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Click,
    View,
}

/// Reads dumps of the two indices, JSON lines, compressed or not, and joins them into impressions.
///
/// A line is a document as it was indexed, or one with its `_source` inside, as dumps have it; lines of bulk requests that
/// only name an index are skipped. The user is the `client_id`, else the `session_id`, else `anonymous`. Where lists come
/// from events, their ordinals start at 0 or at 1, whichever the events themselves show.
///
/// What does not join is left out and counted. It is an error if a line is not JSON, a query has no `query_id`, or nothing
/// was shown or clicked.
pub(crate) fn read_ubi(queries: &[PathBuf], events: &[PathBuf], options: &UbiOptions) -> Result<(Log, UbiSummary)> {
    options.check_ranges()?;
    let mut pages = Pages::new(options.ubi_depth.unwrap_or(usize::MAX));
    for path in queries {
        for_each_line(path, |place, line| {
            if let Some(query) = parse::<Query>(&place, line)? {
                pages.add_query(&place, query)?;
            }
            Ok(())
        })?;
    }
    for path in events {
        for_each_line(path, |place, line| {
            if let Some(event) = parse::<Event>(&place, line)? {
                let kind = options.kind(event.action());
                pages.add_event(kind, event);
            }
            Ok(())
        })?;
    }
    pages.into_log()
}
