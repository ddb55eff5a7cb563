//! Which rows of a log of events say what.

use crate::options::{Options, options};
use crate::{Error, Result};

/// The heading of these options.
const EVENTS: &str = "Logs of events";

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

options! {
    /// Which events show documents, and which are clicks.
    ///
    /// A row that shows documents has a session, a query, and a list of documents, or one document and its position. A row of a
    /// click has the session and the document. Names count in any case.
    ///
    /// ```
    /// use truerank::log::{EventOptions, ReadOptions};
    /// let events = EventOptions::new().event_column("type".into()).click_event(vec!["open".into(), "buy".into()]);
    /// let options = ReadOptions::new().events(events);
    /// ```
    #[derive(PartialEq, Eq)]
    pub struct EventOptions {
        /// Rows are events, and this column has their names: some show documents, as a list or one by one, and some are
        /// clicks, which are joined to the page of their session that shows the document.
        event_column: Option<String> = None, value("COLUMN"), heading(EVENTS);
        /// Names of the events that show documents.
        query_event: Vec<String> = names(&["query", "search", "impression", "view", "page", "serp", "q"]), value("NAME"),
            heading(EVENTS);
        /// Names of the events that are clicks; `columns` click=NAME is where they name the document.
        click_event: Vec<String> = names(&["click", "item_click", "product_click", "result_click", "search_result_click",
            "onclick", "c"]), value("NAME"), heading(EVENTS);
    }
}

/// What an event says about documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::log) enum Kind {
    Shown,
    Click,
}

impl EventOptions {
    /// Those of [`LogFormat::Yandex`](crate::log::LogFormat::Yandex).
    pub(in crate::log) fn yandex() -> Self {
        EventOptions::new().event_column("event".into()).query_event(names(&["Q"])).click_event(names(&["C"]))
    }

    /// Names of events need the column that they stand in.
    pub(in crate::log) fn check(&self) -> Result<()> {
        let unused = ["query_event", "click_event"].into_iter().find(|name| !self.is_default(name));
        match (&self.event_column, unused) {
            (None, Some(name)) => {
                Err(Error::option(name, "is for logs of events, whose names stand in `event_column`"))
            }
            _ => Ok(()),
        }
    }

    pub(in crate::log) fn column(&self) -> &str {
        self.event_column.as_deref().unwrap_or_default()
    }

    pub(in crate::log) fn kind(&self, name: &str) -> Option<Kind> {
        let among = |names: &[String]| names.iter().any(|known| known.eq_ignore_ascii_case(name.trim()));
        match () {
            () if among(&self.click_event) => Some(Kind::Click),
            () if among(&self.query_event) => Some(Kind::Shown),
            () => None,
        }
    }

    /// The names that are looked for, for messages.
    pub(super) fn names(&self) -> [String; 2] {
        [self.query_event.join(", "), self.click_event.join(", ")]
    }
}
