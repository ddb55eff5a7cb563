//! Counts the rows of logs, and logs in memory.

use std::path::Path;

use super::conflict::{locate, report};
use super::counted::Counted;
use super::counter::Counter;
use super::folder::is_counts_file;
use super::model::Counts;
use super::partition::Stop;
use super::stored::{Need, open_counts};
use super::summary::LogSummary;
use super::view::{CountsView, Totals};
use super::writer::{FolderWriter, Names};
use crate::files::{Room, StagedFolder, write_folder};
use crate::log::{BadKind, BadRowsWriter, Log, LogPart, ReadOptions, Reading, for_each_rows};
use crate::options::options;
use crate::progress::{Progress, Silent};
use crate::{Error, Result};

options! {
    /// What to count beside cells and sessions, and how much memory that may take.
    #[derive(PartialEq, Eq)]
    pub struct CountOptions {
        /// Also count which clicks occur together; the PRS loss needs it.
        patterns: bool = false;
        /// Also count how users go from click to click on each list of results; click models need it.
        transitions: bool = false;
        /// With `transitions`: the column of what a result page was shown in, such as its device; several together with
        /// device+layout. Click models then have parameters of each.
        context: Option<String> = None, value("COLUMN");
    }
    beside {
        /// How much memory to hold, and where the rest goes; without, all is held.
        room: Option<Room> = None,
        /// Whether a page with two documents at one position leaves the log without transitions, instead of being an error.
        transitions_if_possible: bool = false,
    }
}

impl CountOptions {
    /// How much memory to hold, where that was said.
    pub(super) fn held_within(&self) -> Option<&Room> {
        self.room.as_ref()
    }

    /// How a log is read for this: with its column of contexts, where that is counted.
    pub fn reading(&self, options: &ReadOptions) -> Result<ReadOptions> {
        self.check()?;
        Ok(self.context.iter().fold(options.clone(), |options, name| options.with_context(name.clone())))
    }

    fn check(&self) -> Result<()> {
        match &self.context {
            Some(_) if !self.transitions => Err(Error::option(
                "context",
                "is kept with the lists of click transitions, but these are not counted; count with `transitions`, too",
            )),
            Some(name) if name.split('+').any(str::is_empty) => {
                Err(Error::option("context", format!("is '{name}', but should name a column, or several joined by +")))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a context where it cannot be counted.
    pub fn check_no_context(&self, why: &str) -> Result<()> {
        match &self.context {
            None => Ok(()),
            Some(_) => Err(Error::option(
                "context",
                format!(
                    "is a column of a log's rows, but {why}; leave it out, or count the rows here, from files or tables"
                ),
            )),
        }
    }

    fn counter(&self) -> Result<Counter> {
        let counter = Counter::new().patterns(self.patterns).transitions(self.transitions);
        let counter = counter.transitions_if_possible(self.transitions_if_possible);
        match &self.room {
            Some(room) => counter.room(room),
            None => Ok(counter),
        }
    }
}

/// Counts the rows of a log into memory. See [`Counter`] for what is a session.
pub(super) fn count_rows(
    parts: &[LogPart],
    options: &ReadOptions,
    what: &CountOptions,
    progress: &dyn Progress,
) -> Result<(Counts, LogSummary)> {
    let (counted, summary) = count(parts, &what.reading(options)?, what.counter()?, progress)?;
    Ok((counted.into_counts()?, summary))
}

/// Counts the rows of a log into a folder, whatever the memory.
pub(super) fn count_into(
    folder: &Path,
    parts: &[LogPart],
    options: &ReadOptions,
    what: &CountOptions,
    progress: &dyn Progress,
) -> Result<(Totals, LogSummary)> {
    let staged = StagedFolder::create(folder, is_counts_file)?;
    // Bad rows that are kept in the folder appear with it.
    let options = what.reading(options)?.move_quarantine(folder, staged.path());
    let (counted, summary) = count(parts, &options, what.counter()?, progress).map_err(|error| staged.named(error))?;
    progress.begin("writing counts", summary.rows);
    let totals = write(counted, staged.path(), progress).map_err(|error| staged.named(error))?;
    staged.commit()?;
    Ok((totals, summary))
}

/// Counts the rows of a log, and keeps the counts in memory or on disk, so that they and what `need` makes of them stay within
/// the room of the options.
pub(super) fn count_view(
    parts: &[LogPart],
    options: &ReadOptions,
    what: &CountOptions,
    need: Need,
    progress: &dyn Progress,
) -> Result<(Box<dyn CountsView>, LogSummary)> {
    let (counted, summary) = count(parts, &what.reading(options)?, what.counter()?, progress)?;
    // There are at most as many cells as impressions.
    match what.room.as_ref().filter(|room| !room.holds(need.of_cells(summary.rows))) {
        None => Ok((Box::new(counted.into_counts()?), summary)),
        Some(room) => {
            let folder = room.temporary_folder()?;
            let counts = folder.path().join("counts");
            write_folder(&counts, is_counts_file, |folder| write(counted, folder, progress))?;
            Ok((open_counts(&counts, room, need)?, summary))
        }
    }
}

pub(super) fn write(mut counted: Counted, folder: &Path, progress: &dyn Progress) -> Result<Totals> {
    let names = std::mem::take(&mut counted.names);
    let pages = std::mem::take(&mut counted.pages);
    let mut writer =
        FolderWriter::create(folder, Names::of(&names), counted.beside)?.origin(std::mem::take(&mut counted.origin));
    pages.iter().try_for_each(|pages| writer.write_pages(pages))?;
    counted.for_each_batch(|batch| {
        writer.push(batch)?;
        progress.advance(batch.cells.iter().map(|cell| cell.impressions).sum())?;
        Ok(())
    })?;
    writer.finish()
}

/// Reads and counts.
fn count(
    parts: &[LogPart],
    options: &ReadOptions,
    counter: Counter,
    progress: &dyn Progress,
) -> Result<(Counted, LogSummary)> {
    let counter = counter.reading(options);
    let reading = for_each_rows(parts, options, progress, |piece| counter.add_rows(piece.rows))?;
    let rows = counter.rows();
    let counted = counter.numbered(reading.numbered).count(progress).map_err(|stop| match stop {
        Stop::Conflict(conflict) => locate(&reading.parts, options, &conflict),
        Stop::Error(error) => error,
    })?;
    let summary = summarize(&counted, reading, options, rows)?;
    Ok((counted, summary))
}

/// Tells rows that were left out, and checks that the rest is a log of impressions.
fn summarize(counted: &Counted, reading: Reading, options: &ReadOptions, rows: u64) -> Result<LogSummary> {
    let found = &counted.summary;
    let mut bad: BadRowsWriter = reading.bad;
    let left_out = [
        (BadKind::RepeatedDoc, found.pages.repeated_docs_dropped),
        (BadKind::TwoUsers, found.of_two_users),
        (BadKind::TwoContexts, found.in_two_contexts),
    ];
    report(&reading.parts, options, &found.conflicts, &mut bad, left_out)?;
    check_clicks(&reading.parts[0], found.clicks, found.pages.shown)?;
    Ok(LogSummary {
        rows: rows - found.outside - left_out.iter().map(|(_, count)| count).sum::<u64>(),
        files: reading.parts.len() as u64,
        sessions: found.pages.pages,
        bad_rows: bad.finish()?,
        rows_outside: found.outside,
        columns: reading.columns,
        anonymous: reading.anonymous,
        pages: Some(found.pages),
        spooled: counted.spooled(),
        notes: reading.notes,
    })
}

/// What is wrong with a log of clicks.
pub(crate) const CLICKS_ALONE: &str = "holds clicks alone: every row is clicked, but what people look at is learned \
    from what was shown and not clicked; log every result of a page, with click 0 where there was none";

/// A log in which all is clicked is a log of clicks, and one in which nothing is left has nothing to say.
fn check_clicks(first: &LogPart, clicks: u64, impressions: u64) -> Result<()> {
    if impressions == 0 {
        return Err(Error::input(
            first.path(),
            "has no result page in the time that is asked for, or all are left out",
        ));
    }
    if clicks == impressions {
        return Err(Error::input(first.path(), CLICKS_ALONE));
    }
    Ok(())
}

/// Counts a log in memory.
pub fn count_log(log: &Log, options: &CountOptions) -> Result<(Counts, LogSummary)> {
    options.check_no_context("this log is in memory")?;
    let counter = options.counter()?;
    counter.add(log.block())?;
    let rows = counter.rows();
    let counted = counter.count(&Silent).map_err(|stop| match stop {
        Stop::Conflict(conflict) => Error::parameter(conflict.describe(None)),
        Stop::Error(error) => error,
    })?;
    let pages = counted.summary.pages;
    Ok((
        counted.into_counts()?,
        LogSummary { rows, sessions: pages.pages, pages: Some(pages), ..LogSummary::default() },
    ))
}
