//! How to read a log: which columns, which form, and what to do with rows that cannot be read.

use std::path::{Path, PathBuf};

use super::click_when::ClickWhen;
use super::columns::{Columns, Field};
use super::events::EventOptions;
use super::format::LogFormat;
use super::time::Time;
use crate::named::named;
use crate::options::{option_value, options};
use crate::{Error, Result};

/// Where the names of the columns of a CSV or TSV file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Header<'a> {
    /// In its first line.
    First,
    /// Nowhere: columns are called 1, 2, 3, ….
    Numbered,
    /// Nowhere in the file: these are the names.
    Names(&'a [String]),
}

/// What happens to a row that breaks a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnBadRow {
    /// The first one is an error.
    Error,
    /// They are left out and counted.
    Skip,
    /// They are left out, counted, and written to a file with their places and findings.
    Quarantine,
}

named!(OnBadRow, "what happens to bad rows": Error "error", Skip "skip", Quarantine "quarantine");

/// What a list of clicks holds, in a log with one row per result page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClickList {
    /// 0 or 1 for each document.
    Flags,
    /// The ids of the clicked documents.
    Docs,
    /// The positions of the clicked documents.
    Positions,
}

named!(ClickList, "what a list of clicks holds": Flags "flags", Docs "docs", Positions "positions");

option_value!(ClickWhen: Kind::Text, Time: Kind::Text);

options! {
    /// How to read a log.
    ///
    /// ```
    /// use truerank::log::{Columns, OnBadRow, ReadOptions};
    /// let mut columns = Columns::default();
    /// columns.map("user", "client_id")?;
    /// let options = ReadOptions::new().columns(columns).on_bad_row(OnBadRow::Skip).since("2024-03-01".parse()?);
    /// # Ok::<(), truerank::Error>(())
    /// ```
    #[derive(PartialEq, Eq)]
    pub struct ReadOptions {
        /// The column of session, user, query, doc, position, click or time, such as user=client_id; several together are a
        /// session with session=user+task, or a query with query=country+device; user= means that there are none, query= that
        /// all pages share one, session= that each row is a page of its own.
        columns: Columns = Columns::default(), value("FIELD=NAME"), alias("column"),
            usual("the field's name, or the only column with a usual name for it");
        /// What makes a click, instead of a column of 0 and 1: 'dwell_time>0' (also >=, <, <=), 'action=click|purchase'
        /// (also !=), or 'dwell_time present'; a missing value is no click.
        click_when: Option<ClickWhen> = None, value("CONDITION");
        /// CSV and TSV without a header: columns are called 1, 2, 3, …, as in `columns` user=1.
        no_header: bool = false;
        /// CSV and TSV without a header: the names of all columns, in order.
        header: Vec<String> = Vec::new(), value("NAME,NAME");
        /// Form of the logs, where their names do not say it; yandex are events of the Relevance Prediction Challenge.
        format: Option<LogFormat> = None, usual("as the name ends");
        /// What to do with rows that break a rule: stop, leave them out, or leave them out and keep them in a file.
        on_bad_row: Option<OnBadRow> = None, value("WHAT"), usual("error");
        /// File for the rows that are left out.
        quarantine: Option<PathBuf> = None, value("FILE"), usual("bad-rows.txt in the output, or here where nothing is written");
        /// Only result pages from this time on, such as 2024-03-01 or 2024-03-01T12:30:00Z.
        ///
        /// The time of a page is that of its earliest row.
        since: Option<Time> = None, value("TIME"), alias("from");
        /// Only result pages before this time.
        until: Option<Time> = None, value("TIME");
        /// One row per result page: what stands between the documents of a list.
        list_separator: Option<char> = None, value("CHARACTER"), usual("guessed");
        /// One row per result page: what lists of clicks hold: flags (0 or 1 for each document), docs, or positions.
        clicks: Option<ClickList> = None, value("WHAT"), usual("what they can only be");
    }
    flatten {
        /// How rows are read that are events.
        events: EventOptions,
    }
    beside {
        /// What else is read.
        more: More = More::default(),
    }
}

/// What is read beside the fields, by whoever needs it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct More {
    /// Whether times are read although nothing is left out by them.
    pub(super) times: bool,
    /// Whether rows remember where they stand.
    pub(super) places: bool,
    /// Further columns of numbers.
    pub(super) numbers: Vec<String>,
    /// The column of what pages were shown in, or several joined by `+`.
    pub(super) context: Option<String>,
}

/// The file of bad rows, where none is named.
const BAD_ROWS: &str = "bad-rows.txt";

/// A click is a condition or a column, not both.
pub(crate) fn check_click(when: Option<&ClickWhen>, columns: &Columns) -> Result<()> {
    match (when, columns.said(Field::Click)) {
        (Some(when), Some(column)) => Err(Error::option(
            "click_when",
            format!(
                "is '{when}' and `columns` has click={column}, but one of them should say what a click is; leave one out"
            ),
        )),
        _ => Ok(()),
    }
}

impl ReadOptions {
    /// Refuses what contradicts itself.
    pub(crate) fn check(&self) -> Result<()> {
        self.events.check()?;
        check_click(self.click_when.as_ref(), &self.columns)?;
        let (option, finding) = match &self.click_when {
            _ if self.quarantine.is_some() && self.on_bad_row.is_some_and(|what| what != OnBadRow::Quarantine) => {
                ("quarantine", "is for `on_bad_row` quarantine".to_string())
            }
            _ if self.no_header && !self.header.is_empty() => {
                ("header", "names the columns, but `no_header` says that they are numbered; leave one out".to_string())
            }
            _ if self.format == Some(LogFormat::Yandex) && self.events.event_column.is_some() => {
                ("event_column", "is for other logs of events, but `format` yandex knows its events".to_string())
            }
            Some(_) if self.clicks.is_some_and(|clicks| clicks != ClickList::Flags) => (
                "click_when",
                "looks at one value for each document, but `clicks` says that lists name clicked ones; leave one out"
                    .to_string(),
            ),
            Some(_) if self.is_event_log() => (
                "click_when",
                "is for logs of shown documents, but this is one of events, whose clicks are named with `click_event`"
                    .to_string(),
            ),
            _ if self.is_event_log() && self.columns.said(Field::Session) == Some("") => (
                "columns",
                "has session=, so that each row is a page, but a log of events needs a session, by which clicks find their page"
                    .to_string(),
            ),
            _ if self.is_event_log() && !self.more.numbers.is_empty() => {
                return Err(Error::parameter("columns of numbers are read from shown documents, but this is a log of events"));
            }
            _ if self.is_event_log() && self.more.context.is_some() => (
                "context",
                "is read from rows of shown documents, but this is a log of events; join them into pages first, or leave it out"
                    .to_string(),
            ),
            _ if self.format == Some(LogFormat::Yandex) && self.needs_times() => (
                "format",
                "is yandex, whose times count from the start of each session, so nothing can be chosen by time".to_string(),
            ),
            _ => return Ok(()),
        };
        Err(Error::option(option, finding))
    }

    /// Rows that are to be kept, but not where, are kept in this folder.
    pub fn keep_bad_rows_in(&mut self, folder: &Path) {
        if self.on_bad_row == Some(OnBadRow::Quarantine) && self.quarantine.is_none() {
            self.quarantine = Some(folder.join(BAD_ROWS));
        }
    }

    /// The file that bad rows go to, if they do.
    pub(super) fn kept_in(&self) -> Option<&Path> {
        let unnamed = (self.on_bad_row == Some(OnBadRow::Quarantine)).then_some(Path::new(BAD_ROWS));
        self.quarantine.as_deref().or(unnamed)
    }

    /// Bad rows that are to be kept in the folder `from` are kept in `to` instead.
    pub(crate) fn move_quarantine(mut self, from: &Path, to: &Path) -> Self {
        if let Some(name) = self.quarantine.as_ref().and_then(|path| path.strip_prefix(from).ok()) {
            self.quarantine = Some(to.join(name));
        }
        self
    }

    /// Where the names of columns are.
    pub(crate) fn header_kind(&self) -> Header<'_> {
        match &self.header[..] {
            _ if self.no_header => Header::Numbered,
            [] => Header::First,
            names => Header::Names(names),
        }
    }

    /// How events are read, if the log is one of events.
    pub(super) fn event_log(&self) -> Option<EventOptions> {
        match self.format {
            Some(LogFormat::Yandex) => Some(EventOptions::yandex()),
            _ => self.events.event_column.is_some().then(|| self.events.clone()),
        }
    }

    /// Whether rows are events, which are joined into impressions.
    pub(crate) fn is_event_log(&self) -> bool {
        self.format == Some(LogFormat::Yandex) || self.events.event_column.is_some()
    }

    /// Whether a page whose earliest row is at `time` is asked for.
    pub(crate) fn is_in_range(&self, time: i64) -> bool {
        let time = Time::from_milliseconds(time);
        self.since.is_none_or(|since| since <= time) && self.until.is_none_or(|until| time < until)
    }

    /// Whether some pages are left out by their time.
    pub(crate) fn has_range(&self) -> bool {
        self.since.is_some() || self.until.is_some()
    }

    /// Whether bad rows are left out.
    pub(crate) fn skips(&self) -> bool {
        self.quarantine.is_some() || !matches!(self.on_bad_row, None | Some(OnBadRow::Error))
    }

    pub(super) fn needs_times(&self) -> bool {
        self.more.times || self.has_range()
    }

    /// The same, and times although nothing is left out by them.
    pub(super) fn with_times(&self) -> Self {
        ReadOptions { more: More { times: true, ..self.more.clone() }, ..self.clone() }
    }

    /// The same, and further columns of numbers.
    pub(super) fn with_numbers(&self, numbers: Vec<String>) -> Self {
        ReadOptions { more: More { numbers, ..self.more.clone() }, ..self.clone() }
    }

    /// The same, and a column of what pages were shown in, or several joined by `+`.
    pub(crate) fn with_context(&self, context: String) -> Self {
        ReadOptions { more: More { context: Some(context), ..self.more.clone() }, ..self.clone() }
    }

    /// The column of what pages were shown in, where it is read.
    pub(crate) fn context(&self) -> Option<&str> {
        self.more.context.as_deref()
    }

    /// The same for another look at the files: rows remember where they stand, and bad ones are not kept again.
    pub(crate) fn with_places(&self) -> Self {
        let on_bad_row = Some(if self.skips() { OnBadRow::Skip } else { OnBadRow::Error });
        let more = More { places: true, ..self.more.clone() };
        ReadOptions { more, on_bad_row, quarantine: None, ..self.clone() }
    }
}
