//! How to read a log: which columns, which form, and what to do with rows that cannot be read.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::click_when::ClickWhen;
use super::columns::{Columns, Field};
use super::events::EventOptions;
use super::time::Time;
use crate::files::FileFormat;
use crate::named::find_named;
use crate::{Error, Result};

/// The form of a log file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// Comma-separated values with a header.
    Csv,
    /// Tab-separated values with a header.
    Tsv,
    /// One JSON object per line, or one array of objects.
    JsonLines,
    /// Apache Parquet.
    Parquet,
    /// Events of Yandex's Relevance Prediction Challenge, between tabs and without a header: lines
    /// `session time Q query region url …` and `session time C url`.
    Yandex,
}

/// How the names of logs end.
pub(super) const ENDINGS: &str = ".parquet, .csv, .tsv, .jsonl, .ndjson or .json (text also with .gz or .zst)";

impl LogFormat {
    /// The form that a file's ending names, if it does.
    pub fn of(path: &Path) -> Option<Self> {
        match FileFormat::of(path) {
            FileFormat::Parquet => Some(LogFormat::Parquet),
            FileFormat::Csv => Some(LogFormat::Csv),
            FileFormat::Tsv => Some(LogFormat::Tsv),
            FileFormat::Json | FileFormat::JsonLines => Some(LogFormat::JsonLines),
            FileFormat::Text => None,
        }
    }
}

impl fmt::Display for LogFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LogFormat::Csv => "csv",
            LogFormat::Tsv => "tsv",
            LogFormat::JsonLines => "jsonl",
            LogFormat::Parquet => "parquet",
            LogFormat::Yandex => "yandex",
        })
    }
}

impl FromStr for LogFormat {
    type Err = crate::Error;

    fn from_str(text: &str) -> Result<Self> {
        let all = [LogFormat::Csv, LogFormat::Tsv, LogFormat::JsonLines, LogFormat::Parquet, LogFormat::Yandex];
        find_named(&all, text, "a form of logs")
    }
}

/// Where the names of the columns of a CSV or TSV file are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Header {
    /// In its first line.
    #[default]
    First,
    /// Nowhere: columns are called 1, 2, 3, ….
    Numbered,
    /// Nowhere in the file: these are the names.
    Names(Vec<String>),
}

/// What happens to a row that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum OnBadRow {
    /// The first one is an error.
    #[default]
    Error,
    /// They are left out and counted.
    Skip,
    /// They are left out, counted, and written to this file with their places and findings.
    Quarantine(PathBuf),
}

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

impl ClickList {
    pub(super) const ALL: [ClickList; 3] = [ClickList::Flags, ClickList::Docs, ClickList::Positions];
}

impl fmt::Display for ClickList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ClickList::Flags => "flags",
            ClickList::Docs => "docs",
            ClickList::Positions => "positions",
        })
    }
}

impl FromStr for ClickList {
    type Err = crate::Error;

    fn from_str(text: &str) -> Result<Self> {
        find_named(&ClickList::ALL, text, "what a list of clicks holds")
    }
}

/// How to read a log.
///
/// ```
/// use truerank::log::{Columns, OnBadRow, ReadOptions};
/// let mut columns = Columns::default();
/// columns.map("user", "client_id")?;
/// let options = ReadOptions::new().columns(columns).on_bad_row(OnBadRow::Skip).from("2024-03-01".parse()?);
/// # Ok::<(), truerank::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadOptions {
    pub(super) columns: Columns,
    pub(super) format: Option<LogFormat>,
    pub(super) on_bad_row: OnBadRow,
    pub(super) from: Option<Time>,
    pub(super) until: Option<Time>,
    pub(super) list_separator: Option<char>,
    pub(super) clicks: Option<ClickList>,
    pub(super) click_when: Option<ClickWhen>,
    pub(super) header: Header,
    pub(super) events: Option<EventOptions>,
    /// Whether times are read although nothing is left out by them.
    pub(super) times: bool,
    /// Whether rows remember where they stand.
    pub(super) places: bool,
    /// Further columns of numbers.
    pub(super) numbers: Vec<String>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            columns: Columns::default(),
            format: None,
            on_bad_row: OnBadRow::Error,
            from: None,
            until: None,
            list_separator: None,
            clicks: None,
            click_when: None,
            header: Header::First,
            events: None,
            times: false,
            places: false,
            numbers: Vec::new(),
        }
    }
}

impl ReadOptions {
    /// All defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// The names of the columns. Default: those of the fields, or the one column whose name is a usual one for it.
    pub fn columns(mut self, columns: Columns) -> Self {
        self.columns = columns;
        self
    }

    /// The form of all files. Default: as their endings say; for standard input, as its first bytes look.
    pub fn format(mut self, format: impl Into<Option<LogFormat>>) -> Self {
        self.format = format.into();
        self
    }

    /// What happens to rows that break a rule. Default: the first one is an error.
    pub fn on_bad_row(mut self, on_bad_row: OnBadRow) -> Self {
        self.on_bad_row = on_bad_row;
        self
    }

    /// Bad rows that are to be kept in the folder `from` are kept in `to` instead.
    pub(crate) fn move_quarantine(mut self, from: &Path, to: &Path) -> Self {
        if let OnBadRow::Quarantine(path) = &mut self.on_bad_row
            && let Ok(name) = path.strip_prefix(from)
        {
            *path = to.join(name);
        }
        self
    }

    /// Only result pages whose earliest row is at this time or later. Default: all.
    pub fn from(mut self, from: Time) -> Self {
        self.from = Some(from);
        self
    }

    /// Only result pages whose earliest row is before this time. Default: all.
    pub fn until(mut self, until: Time) -> Self {
        self.until = Some(until);
        self
    }

    /// Whether times are read although nothing is left out by them, for splits by time. Default: no.
    pub fn times(mut self, times: bool) -> Self {
        self.times = times;
        self
    }

    /// What stands between the parts of a list in CSV and TSV. Default: guessed where a column's name says that it
    /// holds lists (`docs`); JSON arrays need none.
    pub fn list_separator(mut self, separator: char) -> Self {
        self.list_separator = Some(separator);
        self
    }

    /// What lists of clicks hold. Default: what their values can only be.
    pub fn clicks(mut self, clicks: ClickList) -> Self {
        self.clicks = Some(clicks);
        self
    }

    /// What makes a shown document a clicked one, instead of a column of 0 and 1. Default: that column.
    pub fn click_when(mut self, when: ClickWhen) -> Self {
        self.click_when = Some(when);
        self
    }

    /// Where the names of the columns of CSV and TSV files are. Default: in the first line.
    pub fn header(mut self, header: Header) -> Self {
        self.header = header;
        self
    }

    /// A log of events, whose rows show documents or click them; they are joined into impressions. Default: rows are
    /// impressions or result pages.
    pub fn event_log(mut self, events: EventOptions) -> Self {
        self.events = Some(events);
        self
    }

    /// How events are read, if the log is one of events.
    pub(super) fn events(&self) -> Option<EventOptions> {
        match self.format {
            Some(LogFormat::Yandex) => Some(EventOptions::yandex()),
            _ => self.events.clone(),
        }
    }

    /// Refuses what contradicts itself.
    pub(super) fn check(&self) -> Result<()> {
        let finding = match (&self.click_when, self.columns.said(Field::Click)) {
            (Some(when), Some(column)) => format!(
                "both --click-when '{when}' and --column click={column} say what a click is, but one of them should; leave \
                 one out"
            ),
            (Some(_), None) if self.clicks.is_some_and(|clicks| clicks != ClickList::Flags) => {
                "--click-when looks at one value for each document, but --clicks says that lists name clicked ones; leave \
                 one out"
                    .to_string()
            }
            (Some(_), None) if self.events().is_some() => {
                "--click-when is for logs of shown documents, but this is one of events, whose clicks are named with \
                 --click-event"
                    .to_string()
            }
            _ if self.events().is_some() && self.columns.said(Field::Session) == Some("") => {
                "session= says that each row is a page, but a log of events needs a session, by which clicks find their page"
                    .to_string()
            }
            _ if self.events().is_some() && !self.numbers.is_empty() => {
                "columns of numbers are read from shown documents, but this is a log of events".to_string()
            }
            _ if self.format == Some(LogFormat::Yandex) && self.needs_times() => {
                "times of --format yandex count from the start of each session, so nothing can be chosen by time".to_string()
            }
            _ => return Ok(()),
        };
        Err(Error::parameter(finding))
    }

    /// Whether rows are events, which are joined into impressions.
    pub(crate) fn is_event_log(&self) -> bool {
        self.events().is_some()
    }

    /// Whether a page whose earliest row is at `time` is asked for.
    pub(crate) fn is_in_range(&self, time: i64) -> bool {
        let time = Time::from_milliseconds(time);
        self.from.is_none_or(|from| from <= time) && self.until.is_none_or(|until| time < until)
    }

    /// Whether some pages are left out by their time.
    pub(crate) fn has_range(&self) -> bool {
        self.from.is_some() || self.until.is_some()
    }

    /// What happens to bad rows.
    #[cfg(feature = "spark")]
    pub(crate) fn bad_row_policy(&self) -> &OnBadRow {
        &self.on_bad_row
    }

    /// Whether bad rows are left out.
    pub(crate) fn skips(&self) -> bool {
        self.on_bad_row != OnBadRow::Error
    }

    pub(super) fn needs_times(&self) -> bool {
        self.times || self.has_range()
    }

    /// The same for another look at the files: rows remember where they stand, and bad ones are not kept again.
    pub(crate) fn with_places(&self) -> Self {
        let on_bad_row = if self.skips() { OnBadRow::Skip } else { OnBadRow::Error };
        ReadOptions { places: true, on_bad_row, ..self.clone() }
    }
}
