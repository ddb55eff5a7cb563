//! Which rows of a log of events say what.

/// Which events show documents, and which are clicks.
///
/// A row that shows documents has a session, a query, and a list of documents, or one document and its position. A row of a
/// click has the session and the document. Names count in any case.
///
/// ```
/// use truerank::log::{EventOptions, ReadOptions};
/// let events = EventOptions::new("type").queries(vec!["search".into()]).clicks(vec!["open".into(), "buy".into()]);
/// let options = ReadOptions::new().event_log(events);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventOptions {
    column: String,
    queries: Vec<String>,
    clicks: Vec<String>,
}

/// What an event says about documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::log) enum Kind {
    Shown,
    Click,
}

impl EventOptions {
    /// Events whose names stand in `column`.
    pub fn new(column: impl Into<String>) -> Self {
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        EventOptions {
            column: column.into(),
            queries: names(&["query", "search", "impression", "view", "page", "serp", "q"]),
            clicks: names(&[
                "click",
                "item_click",
                "product_click",
                "result_click",
                "search_result_click",
                "onclick",
                "c",
            ]),
        }
    }

    /// The names of events that show documents. Default: `query`, `search`, `impression`, `view`, `page`, `serp` and `q`.
    pub fn queries(mut self, names: Vec<String>) -> Self {
        self.queries = names;
        self
    }

    /// The names of events that are clicks. Default: `click`, `item_click`, `product_click`, `result_click`,
    /// `search_result_click`, `onclick` and `c`.
    pub fn clicks(mut self, names: Vec<String>) -> Self {
        self.clicks = names;
        self
    }

    /// Those of [`LogFormat::Yandex`](crate::log::LogFormat::Yandex).
    pub(in crate::log) fn yandex() -> Self {
        EventOptions::new("event").queries(vec!["Q".into()]).clicks(vec!["C".into()])
    }

    pub(in crate::log) fn column(&self) -> &str {
        &self.column
    }

    pub(in crate::log) fn kind(&self, name: &str) -> Option<Kind> {
        let among = |names: &[String]| names.iter().any(|known| known.eq_ignore_ascii_case(name.trim()));
        match () {
            () if among(&self.clicks) => Some(Kind::Click),
            () if among(&self.queries) => Some(Kind::Shown),
            () => None,
        }
    }

    /// The names that are looked for, for messages.
    pub(super) fn names(&self) -> [String; 2] {
        [self.queries.join(", "), self.clicks.join(", ")]
    }
}
