//! Counts log files and logs in memory.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::counter::{ConflictKind, Counter, NamedConflict};
use super::model::Counts;
use crate::error::Place;
use crate::log::{Columns, IdColumn, Log, Rows, Source, for_each_rows};
use crate::progress::Progress;
use crate::{Error, Result};

/// What to count beside cells and sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CountOptions {
    /// Whether to count click patterns. Default: no.
    pub patterns: bool,
}

/// How large a counted log was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogSummary {
    /// Impressions.
    pub rows: u64,
    /// Files.
    pub files: u64,
    /// Result pages: sessions of a query.
    pub sessions: u64,
}

/// Counts the impressions in log files, in one pass on all threads.
///
/// Several files are one log: their ids meet by their text. See [`Counter`] for what is a session.
pub fn count_files(
    paths: &[PathBuf],
    columns: &Columns,
    options: CountOptions,
    progress: &dyn Progress,
) -> Result<(Counts, LogSummary)> {
    let counter = Counter::new().patterns(options.patterns);
    for_each_rows(paths, columns, progress, |_, _, rows| counter.add_rows(rows))?;
    let rows = counter.rows();
    progress.begin("counting", rows);
    let counts = counter.count().map_err(|conflict| locate(paths, columns, &conflict))?;
    progress.advance(rows);
    let summary = LogSummary { rows, files: paths.len() as u64, sessions: counts.session_count() };
    Ok((counts, summary))
}

/// Counts a log in memory.
pub fn count_log(log: &Log, options: CountOptions) -> Result<(Counts, LogSummary)> {
    let counter = Counter::new().patterns(options.patterns);
    counter.add(log.block())?;
    let rows = counter.rows();
    let counts = counter.finish()?;
    let summary = LogSummary { rows, files: 0, sessions: counts.session_count() };
    Ok((counts, summary))
}

/// The error for a contradiction, at the row that brings it in. Reads the files again, in order: only bad logs pay.
fn locate(paths: &[PathBuf], columns: &Columns, conflict: &NamedConflict) -> Error {
    let mut search = Search { conflict, seen: HashMap::new() };
    for path in paths {
        match search.in_file(path, columns) {
            Ok(Some((place, session))) => return place.error(conflict.describe(Some(&session))),
            Ok(None) => {}
            Err(error) => return error,
        }
    }
    // Only if the files changed in between.
    Error::parameter(conflict.describe(None))
}

/// Looks for the row that contradicts an earlier one.
struct Search<'a> {
    conflict: &'a NamedConflict,
    /// What the rows so far said: documents, or users, of the page.
    seen: HashMap<String, usize>,
}

impl Search<'_> {
    fn in_file(&mut self, path: &Path, columns: &Columns) -> Result<Option<(Place, String)>> {
        let source = Source::open(path, columns)?;
        for chunk in 0..source.chunk_count() {
            let mut before = 0;
            let mut found = None;
            source.read(chunk, &mut |rows| {
                found = found.or_else(|| self.in_rows(&rows).map(|row| before + row));
                before += rows.len();
            })?;
            if let Some(row) = found {
                return source.locate(chunk, row).map(Some);
            }
        }
        Ok(None)
    }

    fn in_rows(&mut self, rows: &Rows) -> Option<usize> {
        let query = &self.conflict.query;
        let mut on_page =
            (0..rows.len()).filter(|&i| rows.sessions[i] == self.conflict.session && name(&rows.queries, i) == *query);
        on_page.find(|&i| match &self.conflict.kind {
            ConflictKind::Doc(doc) => {
                let this = name(&rows.docs, i);
                this == *doc && self.seen.insert(this, i).is_some()
            }
            ConflictKind::Users(..) => {
                self.seen.insert(name(&rows.users, i), i);
                self.seen.len() > 1
            }
        })
    }
}

fn name(column: &IdColumn, row: usize) -> String {
    column.name(column.codes[row]).into_owned()
}
