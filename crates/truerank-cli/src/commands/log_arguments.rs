//! Which log to read and how, for every subcommand that reads one.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::ValueEnum;
use truerank::counts::{CountOptions, Counts, LogSummary, count_files};
use truerank::log::{ClickList, Columns, LogFormat, OnBadRow, ReadOptions, Time};

use crate::progress::Shown;

/// The logs and how to read them.
#[derive(clap::Args)]
pub struct LogArguments {
    /// Log files, folders of them, 'quoted*patterns', or - for standard input: .parquet, .csv, .tsv, .jsonl, .ndjson or
    /// .json, text also .gz or .zst
    #[arg(required = true, value_name = "LOG")]
    pub logs: Vec<PathBuf>,

    /// The column of session, user, query, doc, position, click or time, such as user=client_id; several together are a
    /// session with session=user+task, and user= means that there are none [default: the field's name, or the only
    /// column with a usual name for it]
    #[arg(long, value_name = "FIELD=NAME")]
    column: Vec<String>,

    /// Form of the logs, where their names do not say it: csv, tsv, jsonl, parquet
    #[arg(long)]
    format: Option<LogFormat>,

    /// What to do with rows that break a rule: stop, leave them out, or leave them out and keep them in a file [default:
    /// error]
    #[arg(long, value_name = "WHAT")]
    on_bad_row: Option<BadRowPolicy>,

    /// File for the rows that are left out [default: bad-rows.txt beside the output]
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
    /// Rows that are to be kept, but not where, are kept beside `output`.
    pub fn keep_bad_rows_beside(&mut self, output: &Path) {
        if self.on_bad_row == Some(BadRowPolicy::Quarantine) && self.quarantine.is_none() {
            self.quarantine = Some(output.parent().unwrap_or(Path::new("")).join("bad-rows.txt"));
        }
    }

    /// How to read the logs.
    pub fn options(&self) -> Result<ReadOptions> {
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
        Ok(options)
    }

    /// Counts the logs, and says what should be known of them.
    pub fn count(&self, what: CountOptions, progress: &Shown) -> Result<(Counts, LogSummary)> {
        let (counts, summary) = count_files(&self.logs, &self.options()?, what, progress)?;
        summary.remarks().iter().for_each(|remark| progress.say(remark));
        Ok((counts, summary))
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

/// The column names that `FIELD=NAME` arguments give.
fn parse_columns(arguments: &[String]) -> Result<Columns> {
    let mut columns = Columns::default();
    arguments.iter().try_for_each(|argument| columns.map_text(argument))?;
    Ok(columns)
}
