//! Counts log files and logs in memory.

use std::path::{Path, PathBuf};

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
use crate::log::{BadKind, BadRowsWriter, Log, ReadOptions, Reading, for_each_rows};
use crate::progress::{Progress, Silent};
use crate::{Error, Result};

/// What to count beside cells and sessions, and how much memory that may take.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CountOptions {
    patterns: bool,
    room: Option<Room>,
}

impl CountOptions {
    /// Cells and sessions, all in memory.
    pub fn new() -> Self {
        CountOptions::default()
    }

    /// Whether to count click patterns. Default: no.
    pub fn patterns(mut self, patterns: bool) -> Self {
        self.patterns = patterns;
        self
    }

    /// How much memory to hold, and where the rest goes. Default: all is held.
    pub fn room(mut self, room: Room) -> Self {
        self.room = Some(room);
        self
    }

    fn counter(&self) -> Result<Counter> {
        let counter = Counter::new().patterns(self.patterns);
        match &self.room {
            Some(room) => counter.room(room),
            None => Ok(counter),
        }
    }
}

/// Counts the impressions in log files, in one pass on all threads.
///
/// `paths` may be patterns (`logs/*.csv`), folders, `-` for standard input, and names of tables in memory
/// ([`ReadOptions::table`]). Several files are one log: their ids meet by their text. See [`Counter`] for what is a
/// session. The counts are held in memory whatever the options say of it; [`count_files_into`] holds neither the log nor
/// its counts.
pub fn count_files(
    paths: &[PathBuf],
    options: &ReadOptions,
    what: &CountOptions,
    progress: &dyn Progress,
) -> Result<(Counts, LogSummary)> {
    let (counted, summary) = count(paths, options, what.counter()?, progress)?;
    Ok((counted.into_counts()?, summary))
}

/// Counts log files as [`count_files`] does, into a folder that appears only when it is complete and replaces an older
/// one whole. The bytes are those of [`Counts::write`], whatever the memory.
pub fn count_files_into(
    folder: &Path,
    paths: &[PathBuf],
    options: &ReadOptions,
    what: &CountOptions,
    progress: &dyn Progress,
) -> Result<(Totals, LogSummary)> {
    let staged = StagedFolder::create(folder, is_counts_file)?;
    // Bad rows that are kept in the folder appear with it.
    let options = options.clone().move_quarantine(folder, staged.path());
    let (counted, summary) = count(paths, &options, what.counter()?, progress).map_err(|error| staged.named(error))?;
    progress.begin("writing counts", summary.pages.shown);
    let totals = write(counted, staged.path(), progress).map_err(|error| staged.named(error))?;
    staged.commit()?;
    Ok((totals, summary))
}

/// Counts log files as [`count_files`] does, and keeps the counts in memory or on disk, so that they and what `need` makes of
/// them stay within the room of the options.
pub fn count_files_view(
    paths: &[PathBuf],
    options: &ReadOptions,
    what: &CountOptions,
    need: Need,
    progress: &dyn Progress,
) -> Result<(Box<dyn CountsView>, LogSummary)> {
    let (counted, summary) = count(paths, options, what.counter()?, progress)?;
    // There are at most as many cells as impressions.
    match what.room.as_ref().filter(|room| !room.holds(need.of_cells(summary.pages.shown))) {
        None => Ok((Box::new(counted.into_counts()?), summary)),
        Some(room) => {
            let folder = room.temporary_folder()?;
            let counts = folder.path().join("counts");
            write_folder(&counts, is_counts_file, |folder| write(counted, folder, progress))?;
            Ok((open_counts(&counts, room, need)?, summary))
        }
    }
}

fn write(mut counted: Counted, folder: &Path, progress: &dyn Progress) -> Result<Totals> {
    let names = std::mem::take(&mut counted.names);
    let names = Names { queries: &names.queries, docs: &names.docs, users: &names.users };
    let pages = std::mem::take(&mut counted.pages);
    let mut writer = FolderWriter::create(folder, names, counted.has_patterns)?;
    writer.write_pages(&pages)?;
    counted.for_each_batch(|batch| {
        writer.push_cells(&batch.cells)?;
        writer.push_sessions(&batch.sessions)?;
        writer.push_patterns(&batch.patterns)?;
        progress.advance(batch.cells.iter().map(|cell| cell.impressions).sum())?;
        Ok(())
    })?;
    writer.finish()
}

/// Reads and counts.
fn count(
    paths: &[PathBuf],
    options: &ReadOptions,
    counter: Counter,
    progress: &dyn Progress,
) -> Result<(Counted, LogSummary)> {
    let counter = counter.reading(options);
    let reading = for_each_rows(paths, options, progress, |piece| counter.add_rows(piece.rows))?;
    let rows = counter.rows();
    let counted = counter.count(progress).map_err(|stop| match stop {
        Stop::Conflict(conflict) => locate(&reading.files, options, &conflict),
        Stop::Error(error) => error,
    })?;
    let summary = summarize(&counted, reading, options, rows)?;
    Ok((counted, summary))
}

/// Tells rows that were left out, and checks that the rest is a log of impressions.
fn summarize(counted: &Counted, reading: Reading, options: &ReadOptions, rows: u64) -> Result<LogSummary> {
    let found = &counted.summary;
    let mut bad: BadRowsWriter = reading.bad;
    let left_out = [(BadKind::RepeatedDoc, found.pages.repeated_docs_dropped), (BadKind::TwoUsers, found.of_two_users)];
    report(&reading.files, options, &found.conflicts, &mut bad, left_out)?;
    check_clicks(&reading.files, found.clicks, found.pages.shown)?;
    Ok(LogSummary {
        rows: rows - found.outside - left_out.iter().map(|(_, count)| count).sum::<u64>(),
        files: reading.files.len() as u64,
        sessions: found.pages.pages,
        bad_rows: bad.finish()?,
        rows_outside: found.outside,
        columns: reading.columns,
        anonymous: reading.anonymous,
        pages: found.pages,
        spooled: counted.spooled(),
        notes: reading.notes,
    })
}

/// What is wrong with a log of clicks.
pub(crate) const CLICKS_ALONE: &str = "holds clicks alone: every row is clicked, but what people look at is learned \
    from what was shown and not clicked; log every result of a page, with click 0 where there was none";

/// A log in which all is clicked is a log of clicks, and one in which nothing is left has nothing to say.
fn check_clicks(files: &[PathBuf], clicks: u64, impressions: u64) -> Result<()> {
    if impressions == 0 {
        return Err(Error::input(&files[0], "has no result page in the time that is asked for, or all are left out"));
    }
    if clicks == impressions {
        return Err(Error::input(&files[0], CLICKS_ALONE));
    }
    Ok(())
}

/// Counts a log in memory.
pub fn count_log(log: &Log, options: &CountOptions) -> Result<(Counts, LogSummary)> {
    let counter = options.counter()?;
    counter.add(log.block())?;
    let rows = counter.rows();
    let counted = counter.count(&Silent).map_err(|stop| match stop {
        Stop::Conflict(conflict) => Error::parameter(conflict.describe(None)),
        Stop::Error(error) => error,
    })?;
    let pages = counted.summary.pages;
    Ok((counted.into_counts()?, LogSummary { rows, sessions: pages.pages, pages, ..LogSummary::default() }))
}
