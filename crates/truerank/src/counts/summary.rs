//! What a counted log was like: its size, where its fields were read from, what was left out, how its pages look.

use serde::Serialize;
use serde_json::{Value, json};

use super::view::Totals;
use crate::log::{BadRows, ReadColumn};

/// What is known of a log once it is counted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogSummary {
    /// Impressions that were counted.
    pub rows: u64,
    /// Files.
    pub files: u64,
    /// Result pages: sessions of a query.
    pub sessions: u64,
    /// Rows that were left out because they break a rule.
    pub bad_rows: BadRows,
    /// Rows that were left out because their page is outside of the time that was asked for.
    pub rows_outside: u64,
    /// Where fields were read from, each way once.
    pub columns: Vec<ReadColumn>,
    /// Whether the log has no users: all impressions are of one.
    pub anonymous: bool,
    /// How its result pages look, where they were seen.
    pub pages: Option<PageSummary>,
    /// Bytes that did not fit into the memory that was allowed, and went to a temporary file.
    pub spooled: u64,
    /// What else should be known of how it was read.
    pub notes: Vec<String>,
}

/// How the result pages of a log look. A page without any of these oddities shows one document at each position from 1 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct PageSummary {
    /// Pages.
    pub pages: u64,
    /// Pages that lack a position between their first and their last.
    pub with_gaps: u64,
    /// Pages whose first position is not 1.
    pub not_from_one: u64,
    /// Pages that show several documents at one position.
    pub with_shared_positions: u64,
    /// Pages that show a single document.
    pub of_one_doc: u64,
    /// Pages on which nothing was clicked.
    pub without_clicks: u64,
    /// Rows that were left out because their document is on the page already.
    pub repeated_docs_dropped: u64,
    /// The most documents on a page.
    pub longest: u64,
    /// Documents on all pages.
    pub shown: u64,
}

impl PageSummary {
    /// The mean number of documents on a page.
    pub fn mean_length(&self) -> f64 {
        self.shown as f64 / self.pages.max(1) as f64
    }

    /// Both together.
    pub(super) fn merge(self, other: PageSummary) -> PageSummary {
        PageSummary {
            pages: self.pages + other.pages,
            with_gaps: self.with_gaps + other.with_gaps,
            not_from_one: self.not_from_one + other.not_from_one,
            with_shared_positions: self.with_shared_positions + other.with_shared_positions,
            of_one_doc: self.of_one_doc + other.of_one_doc,
            without_clicks: self.without_clicks + other.without_clicks,
            repeated_docs_dropped: self.repeated_docs_dropped + other.repeated_docs_dropped,
            longest: self.longest.max(other.longest),
            shown: self.shown + other.shown,
        }
    }

    /// Adds a page by the positions on it, in any order, and the number of its clicks.
    pub(super) fn add(&mut self, positions: impl Iterator<Item = u32> + Clone, clicks: u64) {
        let (mut length, mut is_regular) = (0u32, true);
        for position in positions.clone() {
            length += 1;
            is_regular &= position == length;
        }
        self.pages += 1;
        self.shown += u64::from(length);
        self.longest = self.longest.max(u64::from(length));
        self.of_one_doc += u64::from(length == 1);
        self.without_clicks += u64::from(clicks == 0);
        if !is_regular {
            self.add_irregular(positions.collect());
        }
    }

    fn add_irregular(&mut self, mut positions: Vec<u32>) {
        positions.sort_unstable();
        self.not_from_one += u64::from(positions[0] != 1);
        self.with_gaps += u64::from(positions.windows(2).any(|pair| pair[1] - pair[0] > 1));
        self.with_shared_positions += u64::from(positions.windows(2).any(|pair| pair[0] == pair[1]));
    }
}

impl LogSummary {
    /// What a user should know, in plain sentences: guesses, the anonymous user, what was left out.
    pub fn remarks(&self) -> Vec<String> {
        let guesses = self.columns.iter().filter(|read| read.guessed);
        let mut remarks: Vec<String> =
            guesses.map(|read| format!("{} is read from {}", read.field, crate::log::shown(&read.column))).collect();
        if self.anonymous {
            remarks.push("the log has no column of users: all impressions are of one anonymous user".to_string());
        }
        remarks.extend(self.notes.iter().cloned());
        if self.rows_outside > 0 {
            remarks.push(format!("{} are outside of the time that was asked for", rows(self.rows_outside)));
        }
        if let Some(left_out) = self.left_out() {
            remarks.push(left_out);
            remarks.extend(self.bad_rows.first.iter().map(|bad| format!("left out: {bad}")));
        }
        remarks
    }

    /// How many rows were left out because they break a rule, and which, if any were.
    pub fn left_out(&self) -> Option<String> {
        let kinds: Vec<String> = self.bad_rows.by_kind.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        let text = || format!("{} left out: {}", rows(self.bad_rows.count), kinds.join(", "));
        (self.bad_rows.count > 0).then(text)
    }

    /// For programs: the totals of the counts, what was left out by kind, and all that a user should know.
    pub fn to_json(&self, totals: &Totals) -> Value {
        let by_kind = self.bad_rows.by_kind.iter().map(|(kind, count)| (kind.to_string(), json!(count)));
        let details = [
            ("rows_left_out", json!(self.bad_rows.count)),
            ("rows_left_out_by_kind", Value::Object(by_kind.collect())),
            ("remarks", json!(self.remarks())),
        ];
        let totals = totals.named().into_iter().map(|(name, count)| (name, json!(count)));
        Value::Object(totals.chain(details).map(|(name, value)| (name.to_string(), value)).collect())
    }
}

fn rows(count: u64) -> String {
    if count == 1 { "1 row".to_string() } else { format!("{count} rows") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::BadKind;

    #[test]
    fn pages_are_told_apart() {
        let mut pages = PageSummary::default();
        for (positions, clicks) in [(vec![1, 2, 3], 1), (vec![2, 1], 0), (vec![1, 3], 0), (vec![2, 2], 1), (vec![4], 2)]
        {
            pages.add(positions.into_iter(), clicks);
        }
        assert_eq!((pages.pages, pages.shown, pages.longest), (5, 3 + 2 + 2 + 2 + 1, 3));
        assert_eq!((pages.with_gaps, pages.not_from_one, pages.with_shared_positions), (1, 2, 1));
        assert_eq!((pages.of_one_doc, pages.without_clicks, pages.mean_length()), (1, 2, 10.0 / 5.0));
    }

    #[test]
    fn remarks_say_what_was_guessed_and_left_out() {
        let read = |field, column: &str, guessed| ReadColumn { field, column: column.into(), guessed };
        let summary = LogSummary {
            columns: vec![read("doc", "doc", false), read("click", "clicked", true)],
            anonymous: true,
            bad_rows: BadRows {
                count: 3,
                by_kind: vec![(BadKind::Quote, 1), (BadKind::Position, 2)],
                first: vec!["c.csv:2: position is 0, but positions start at 1".into()],
            },
            ..LogSummary::default()
        };
        assert_eq!(
            summary.remarks(),
            [
                "click is read from clicked",
                "the log has no column of users: all impressions are of one anonymous user",
                "3 rows left out: 1 broken quotes, 2 bad position",
                "left out: c.csv:2: position is 0, but positions start at 1",
            ]
        );
    }
}
