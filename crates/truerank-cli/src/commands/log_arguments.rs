//! Which log to read and how, for every subcommand that reads one.

use std::path::PathBuf;

use anyhow::Result;
use truerank::Error;
use truerank::counts::{LogSource, LogSummary};
use truerank::log::{ReadOptions, UbiOptions, log_endings};
use truerank::memory::Memory;
use truerank::options::Options;

use crate::again;
use crate::options::Typed;
use crate::progress::Shown;

/// The logs and how to read them.
#[derive(clap::Args)]
pub struct LogArguments {
    #[arg(required_unless_present = "ubi_queries", value_name = "LOG", help = files())]
    logs: Vec<PathBuf>,

    #[command(flatten)]
    pub reading: Typed<ReadOptions>,

    /// Instead of logs: dumps of OpenSearch's `ubi_queries`, JSON lines
    #[arg(
        long,
        value_name = "FILE",
        requires = "ubi_events",
        conflicts_with = "logs",
        help_heading = "User Behavior Insights"
    )]
    ubi_queries: Vec<PathBuf>,

    /// Dumps of `ubi_events` for --ubi-queries
    #[arg(long, value_name = "FILE", requires = "ubi_queries", help_heading = "User Behavior Insights")]
    ubi_events: Vec<PathBuf>,

    #[command(flatten)]
    ubi: Typed<UbiOptions>,
}

fn files() -> String {
    format!("Log files, folders of them, 'quoted*patterns', or - for standard input: {}", log_endings())
}

impl LogArguments {
    /// The logs as they were typed, for commands that read them again.
    pub fn typed(&self) -> String {
        let names = |option: &str, paths: &[PathBuf]| {
            paths.iter().map(|path| format!("{option}{}", again::path(path))).collect()
        };
        let (mut words, queries): (Vec<String>, Vec<String>) =
            (names("", &self.logs), names("--ubi-queries ", &self.ubi_queries));
        let events: Vec<String> = names("--ubi-events ", &self.ubi_events);
        words.extend(queries.into_iter().chain(events));
        words.join(" ")
    }

    /// The log that is meant.
    pub fn source(&self) -> Result<LogSource> {
        if !self.ubi_queries.is_empty() {
            let (queries, events) = (self.ubi_queries.clone(), self.ubi_events.clone());
            return Ok(LogSource::Ubi(queries, events, self.ubi.0.clone()).reading(&self.reading.0)?);
        }
        match self.ubi.0.first_given() {
            Some(name) => Err(Error::option(name, "is for `ubi_queries`, but these are not given").into()),
            None => Ok(LogSource::open(self.logs.clone(), self.reading.0.clone())?),
        }
    }
}

/// What should be known of a log, and what counting took: that depends on the memory, so it is no part of any result.
pub fn tell(summary: &LogSummary, progress: &Shown) {
    summary.remarks().iter().for_each(|remark| progress.say(remark));
    tell_spooled(summary.spooled, progress);
}

/// Says what did not fit into memory, if anything.
pub fn tell_spooled(bytes: u64, progress: &Shown) {
    if bytes > 0 {
        let size = Memory::new(bytes);
        progress.say(&format!("{size} went through a temporary file, to stay within --memory"));
    }
}
