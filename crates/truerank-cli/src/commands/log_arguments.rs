//! Which log to read and how, for every subcommand that reads one.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::ValueEnum;
use truerank::counts::{LogSource, LogSummary};
use truerank::log::{
    ClickList, ClickWhen, Columns, EventOptions, Header, LogFormat, OnBadRow, ReadOptions, Time, UbiOptions,
};
use truerank::memory::Memory;

use crate::progress::Shown;

const UBI: &str = "User Behavior Insights";
const EVENTS: &str = "Logs of events";

/// The logs and how to read them.
#[derive(clap::Args)]
pub struct LogArguments {
    /// Log files, folders of them, 'quoted*patterns', or - for standard input: .parquet, .csv, .tsv, .jsonl, .ndjson or
    /// .json, text also .gz or .zst
    #[arg(required_unless_present = "ubi_queries", value_name = "LOG")]
    logs: Vec<PathBuf>,

    /// Instead of logs: dumps of OpenSearch's `ubi_queries`, JSON lines
    #[arg(long, value_name = "FILE", requires = "ubi_events", conflicts_with_all = ["logs", "column", "format", "on_bad_row", "quarantine", "from", "until", "list_separator", "clicks", "click_when", "no_header", "header", "event_column"], help_heading = UBI)]
    ubi_queries: Vec<PathBuf>,

    /// Dumps of `ubi_events` for --ubi-queries
    #[arg(long, value_name = "FILE", requires = "ubi_queries", help_heading = UBI)]
    ubi_events: Vec<PathBuf>,

    /// Name of the actions that are clicks on results [default: click, product_click and the like]
    #[arg(long, value_name = "ACTION", requires = "ubi_queries", help_heading = UBI)]
    ubi_click: Vec<String>,

    /// How many of a query's hits were shown [default: all]
    #[arg(long, value_name = "N", requires = "ubi_queries", help_heading = UBI)]
    ubi_depth: Option<usize>,

    /// The column of session, user, query, doc, position, click or time, such as user=client_id; several together are a
    /// session with session=user+task, or a query with query=country+device; user= means that there are none, query= that
    /// all pages share one, session= that each row is a page of its own [default: the field's name, or the only column
    /// with a usual name for it]
    #[arg(long, value_name = "FIELD=NAME")]
    column: Vec<String>,

    /// What makes a click, instead of a column of 0 and 1: 'dwell_time>0' (also >=, <, <=), 'action=click|purchase'
    /// (also !=), or 'dwell_time present'; a missing value is no click
    #[arg(long, value_name = "CONDITION")]
    click_when: Option<ClickWhen>,

    /// CSV and TSV without a header: columns are called 1, 2, 3, …, as in --column user=1
    #[arg(long)]
    no_header: bool,

    /// CSV and TSV without a header: the names of all columns, in order
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',', conflicts_with = "no_header")]
    header: Vec<String>,

    /// Form of the logs, where their names do not say it: csv, tsv, jsonl, parquet; or yandex, events of the Relevance
    /// Prediction Challenge
    #[arg(long)]
    format: Option<LogFormat>,

    /// Rows are events, whose names stand in this column: some show documents, as a list or one by one, and some are
    /// clicks, which are joined to the page of their session that shows the document
    #[arg(long, value_name = "COLUMN", help_heading = EVENTS)]
    event_column: Option<String>,

    /// Names of the events that show documents [default: query, search, impression, view, page, serp, q]
    #[arg(long, value_name = "NAME", value_delimiter = ',', requires = "event_column", help_heading = EVENTS)]
    query_event: Vec<String>,

    /// Names of the events that are clicks; --column click=NAME is where they name the document [default: click,
    /// product_click and the like]
    #[arg(long, value_name = "NAME", value_delimiter = ',', requires = "event_column", help_heading = EVENTS)]
    click_event: Vec<String>,

    /// What to do with rows that break a rule: stop, leave them out, or leave them out and keep them in a file [default:
    /// error]
    #[arg(long, value_name = "WHAT")]
    on_bad_row: Option<BadRowPolicy>,

    /// File for the rows that are left out [default: bad-rows.txt in the output, or here for doctor]
    #[arg(long, value_name = "FILE")]
    quarantine: Option<PathBuf>,

    /// Only result pages from this time on, such as 2024-03-01 or 2024-03-01T12:30:00Z
    #[arg(long, value_name = "TIME")]
    from: Option<Time>,

    /// Only result pages before this time
    #[arg(long, value_name = "TIME")]
    until: Option<Time>,

    /// One row per result page: what stands between the documents of a list [default: guessed]
    #[arg(long, value_name = "CHARACTER")]
    list_separator: Option<char>,

    /// One row per result page: what lists of clicks hold: flags (0 or 1 for each document), docs, or positions
    /// [default: what they can only be]
    #[arg(long, value_name = "WHAT")]
    clicks: Option<ClickList>,
}

/// What happens to bad rows.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BadRowPolicy {
    Error,
    Skip,
    Quarantine,
}

impl LogArguments {
    /// Rows that are to be kept, but not where, are kept in the folder of the output, with which they belong.
    pub fn keep_bad_rows_in(&mut self, output: &Path) {
        if self.on_bad_row == Some(BadRowPolicy::Quarantine) && self.quarantine.is_none() {
            self.quarantine = Some(output.join("bad-rows.txt"));
        }
    }

    /// How to read the logs.
    fn options(&self) -> Result<ReadOptions> {
        let options = ReadOptions::new().columns(parse_columns(&self.column)?).format(self.format);
        let mut options = options.on_bad_row(self.on_bad_row()?);
        if let Some(from) = self.from {
            options = options.from(from);
        }
        if let Some(until) = self.until {
            options = options.until(until);
        }
        if let Some(separator) = self.list_separator {
            options = options.list_separator(separator);
        }
        if let Some(clicks) = self.clicks {
            options = options.clicks(clicks);
        }
        if let Some(when) = &self.click_when {
            options = options.click_when(when.clone());
        }
        if let Some(events) = self.events()? {
            options = options.event_log(events);
        }
        Ok(options.header(self.header()))
    }

    fn header(&self) -> Header {
        match &self.header[..] {
            _ if self.no_header => Header::Numbered,
            [] => Header::First,
            names => Header::Names(names.to_vec()),
        }
    }

    fn events(&self) -> Result<Option<EventOptions>> {
        let Some(column) = &self.event_column else { return Ok(None) };
        if self.format == Some(LogFormat::Yandex) {
            bail!("--format yandex knows its events; --event-column is for other logs of events");
        }
        let mut events = EventOptions::new(column);
        if !self.query_event.is_empty() {
            events = events.queries(self.query_event.clone());
        }
        if !self.click_event.is_empty() {
            events = events.clicks(self.click_event.clone());
        }
        Ok(Some(events))
    }

    /// The log that is meant.
    pub fn source(&self) -> Result<LogSource> {
        if self.ubi_queries.is_empty() {
            return Ok(LogSource::open(self.logs.clone(), self.options()?)?);
        }
        let mut options = UbiOptions::new();
        if !self.ubi_click.is_empty() {
            options = options.clicks(self.ubi_click.clone());
        }
        if let Some(depth) = self.ubi_depth {
            options = options.depth(depth);
        }
        Ok(LogSource::Ubi(self.ubi_queries.clone(), self.ubi_events.clone(), options))
    }

    fn on_bad_row(&self) -> Result<OnBadRow> {
        Ok(match (self.on_bad_row, &self.quarantine) {
            (None | Some(BadRowPolicy::Quarantine), Some(file)) => OnBadRow::Quarantine(file.clone()),
            (Some(BadRowPolicy::Quarantine), None) => OnBadRow::Quarantine("bad-rows.txt".into()),
            (_, Some(_)) => bail!("--quarantine is for --on-bad-row quarantine"),
            (None | Some(BadRowPolicy::Error), None) => OnBadRow::Error,
            (Some(BadRowPolicy::Skip), None) => OnBadRow::Skip,
        })
    }
}

/// What should be known of a log, and what counting took: that depends on the memory, so it is no part of any result.
pub fn tell(summary: &LogSummary, progress: &Shown) {
    summary.remarks().iter().for_each(|remark| progress.say(remark));
    if summary.spooled > 0 {
        let size = Memory::new(summary.spooled);
        progress.say(&format!("{size} went through a temporary file, to stay within --memory"));
    }
}

/// The column names that `FIELD=NAME` arguments give.
pub fn parse_columns(arguments: &[String]) -> Result<Columns> {
    let mut columns = Columns::default();
    arguments.iter().try_for_each(|argument| columns.map_text(argument))?;
    Ok(columns)
}
