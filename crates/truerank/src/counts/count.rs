//! Counts log files and logs in memory.

use std::path::PathBuf;

use super::conflict::{locate, report};
use super::counter::Counter;
use super::model::Counts;
use super::summary::LogSummary;
use crate::log::{BadKind, Log, ReadOptions, for_each_rows};
use crate::progress::Progress;
use crate::{Error, Result};

/// What to count beside cells and sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CountOptions {
    /// Whether to count click patterns. Default: no.
    pub patterns: bool,
}

/// Counts the impressions in log files, in one pass on all threads.
///
/// `paths` may be patterns (`logs/*.csv`), folders, and `-` for standard input. Several files are one log: their ids
/// meet by their text. See [`Counter`] for what is a session.
pub fn count_files(
    paths: &[PathBuf],
    options: &ReadOptions,
    what: CountOptions,
    progress: &dyn Progress,
) -> Result<(Counts, LogSummary)> {
    let counter = Counter::new().patterns(what.patterns).reading(options);
    let reading = for_each_rows(paths, options, progress, |piece| counter.add_rows(piece.rows))?;
    let rows = counter.rows();
    progress.begin("counting", rows);
    let counted = counter.count().map_err(|conflict| locate(&reading.files, options, &conflict))?;
    let mut bad = reading.bad;
    let left_out =
        [(BadKind::RepeatedDoc, counted.pages.repeated_docs_dropped), (BadKind::TwoUsers, counted.of_two_users)];
    report(&reading.files, options, &counted.conflicts, &mut bad, left_out)?;
    progress.advance(rows);
    check_clicks(&reading.files, &counted.counts)?;
    let summary = LogSummary {
        rows: rows - counted.outside - left_out.iter().map(|(_, count)| count).sum::<u64>(),
        files: reading.files.len() as u64,
        sessions: counted.counts.session_count(),
        bad_rows: bad.finish()?,
        rows_outside: counted.outside,
        columns: reading.columns,
        anonymous: reading.anonymous,
        pages: counted.pages,
        notes: reading.notes,
    };
    Ok((counted.counts, summary))
}

/// A log in which all is clicked is a log of clicks, and one in which nothing is left has nothing to say.
fn check_clicks(files: &[PathBuf], counts: &Counts) -> Result<()> {
    let (clicks, impressions) = (counts.click_count(), counts.impression_count());
    if impressions == 0 {
        return Err(Error::input(&files[0], "has no result page in the time that is asked for, or all are left out"));
    }
    if clicks == impressions {
        let finding = "holds clicks alone: every row is clicked, but what people look at is learned from what was shown and \
                       not clicked; log every result of a page, with click 0 where there was none";
        return Err(Error::input(&files[0], finding));
    }
    Ok(())
}

/// Counts a log in memory.
pub fn count_log(log: &Log, options: CountOptions) -> Result<(Counts, LogSummary)> {
    let counter = Counter::new().patterns(options.patterns);
    counter.add(log.block())?;
    let rows = counter.rows();
    let counted = counter.count().map_err(|conflict| Error::parameter(conflict.describe(None)))?;
    let sessions = counted.counts.session_count();
    Ok((counted.counts, LogSummary { rows, sessions, pages: counted.pages, ..LogSummary::default() }))
}
