//! Reads logs of any form: pieces of files in parallel, and the first bad row or all of them in order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::bad_rows::{BadRow, BadRowsWriter};
use super::events::read_events;
use super::expand::expand;
use super::layout::ReadColumn;
use super::options::{OnBadRow, ReadOptions};
use super::part::LogPart;
use super::rows::Rows;
use super::source::{Dispenser, Task};
use crate::progress::{Progress, Silent};
use crate::{Error, Result};

/// What was found beside rows.
pub(crate) struct Reading {
    /// The files and tables, patterns and folders expanded.
    pub parts: Vec<LogPart>,
    /// Rows that were left out, in the order of the files.
    pub bad: BadRowsWriter,
    /// Where fields were read from, each way once.
    pub columns: Vec<ReadColumn>,
    /// Whether a file has no users.
    pub anonymous: bool,
    /// Whether sessions have no ids of their own, only numbers in the order of the log.
    pub numbered: bool,
    /// What else a user should know.
    pub notes: Vec<String>,
}

/// Rows, the part of the log they come from, and the number of their piece; pieces are numbered in the order of the log.
pub(crate) struct Piece {
    pub number: u64,
    pub part: usize,
    pub rows: Rows,
}

/// Reads all rows of the files and hands them to `take` on any thread.
///
/// The error is that of the first bad row in the order of the files, whatever the number of threads.
pub(crate) fn for_each_rows(
    parts: &[LogPart],
    options: &ReadOptions,
    progress: &dyn Progress,
    take: impl Fn(Piece) -> Result<()> + Sync,
) -> Result<Reading> {
    let outcome = read(parts, options, progress, rayon::current_num_threads().max(1), take);
    outcome.map_err(|error| with_way_out(error, parts, options))
}

/// A user who is missing everywhere can be left out of the log altogether. Reads the files again: only bad logs pay.
fn with_way_out(error: Error, parts: &[LogPart], options: &ReadOptions) -> Error {
    let Error::Input { place, mut finding } = error else { return error };
    let is_about_users = finding.contains("user is empty") || finding.contains("user is missing");
    if is_about_users && (options.skips() || !has_good_rows(parts, options)) {
        finding += "; where no user is known, pass `columns` user=";
    }
    Error::Input { place, finding }
}

fn has_good_rows(parts: &[LogPart], options: &ReadOptions) -> bool {
    let skipping = ReadOptions { quarantine: None, on_bad_row: Some(OnBadRow::Skip), ..options.clone() };
    parts.iter().any(LogPart::is_stdin) || for_each_rows_in_order(parts, &skipping, |_| Ok(())).is_ok()
}

/// The same on the calling thread, so that rows come in the order of the files.
pub(crate) fn for_each_rows_in_order(
    parts: &[LogPart],
    options: &ReadOptions,
    take: impl Fn(Piece) -> Result<()> + Sync,
) -> Result<Reading> {
    read(parts, options, &Silent, 1, take)
}

fn read(
    parts: &[LogPart],
    options: &ReadOptions,
    progress: &dyn Progress,
    workers: usize,
    take: impl Fn(Piece) -> Result<()> + Sync,
) -> Result<Reading> {
    match options.event_log() {
        Some(events) => read_events(parts, options, &events, progress, &take),
        None => read_records(parts, options, progress, workers, take),
    }
}

/// Reads records as they stand in the files: impressions, or events.
pub(super) fn read_records(
    parts: &[LogPart],
    options: &ReadOptions,
    progress: &dyn Progress,
    workers: usize,
    take: impl Fn(Piece) -> Result<()> + Sync,
) -> Result<Reading> {
    let parts = expand(parts, options.format)?;
    check_quarantine(&parts, options)?;
    progress.begin("reading the log", parts.iter().map(LogPart::size).sum());
    let work = Reader {
        dispenser: Mutex::new(Dispenser::new(&parts, options)),
        bad: Mutex::new(InOrder {
            writer: BadRowsWriter::create(options.kept_in())?,
            waiting: BTreeMap::new(),
            next: 0,
        }),
        first_error: Mutex::new(None),
        rows_of: parts.iter().map(|_| AtomicU64::new(0)).collect(),
        numbered: AtomicBool::new(false),
        skips: options.skips(),
        progress,
        take,
    };
    match workers {
        1 => work.run(),
        // Workers take turns at the file, so no more than one piece for each is in memory.
        _ => rayon::scope(|scope| (0..workers).for_each(|_| scope.spawn(|_| work.run()))),
    }
    work.finish(parts.clone())
}

/// Bad rows must not be written over the log they come from.
fn check_quarantine(parts: &[LogPart], options: &ReadOptions) -> Result<()> {
    let Some(path) = options.kept_in() else { return Ok(()) };
    let Ok(target) = path.canonicalize() else { return Ok(()) };
    match parts.iter().filter_map(LogPart::file).any(|file| file.canonicalize().is_ok_and(|file| file == target)) {
        true => {
            Err(Error::input(path, "is a log that is read, but bad rows are to be written here; choose another name"))
        }
        false => Ok(()),
    }
}

struct Reader<'a, T> {
    dispenser: Mutex<Dispenser<'a>>,
    bad: Mutex<InOrder>,
    /// The error with the least number of its task.
    first_error: Mutex<Option<(u64, usize, Error)>>,
    rows_of: Vec<AtomicU64>,
    numbered: AtomicBool,
    skips: bool,
    progress: &'a dyn Progress,
    take: T,
}

impl<T: Fn(Piece) -> Result<()> + Sync> Reader<'_, T> {
    /// Takes work until there is no more, or something failed: tasks are handed out in order, so those before it are done
    /// or under way.
    fn run(&self) {
        while let Some(task) = self.next() {
            let (number, file, steps) = (task.number, task.file, task.steps);
            if let Err(error) = self.run_task(task).and_then(|()| self.progress.advance(steps)) {
                self.fail(number, file, error);
            }
        }
    }

    fn next(&self) -> Option<Task> {
        let mut dispenser = lock(&self.dispenser);
        if lock(&self.first_error).is_some() {
            return None;
        }
        match dispenser.next() {
            Ok(task) => task,
            Err(error) => {
                let (number, file) = dispenser.place();
                self.fail(number, file, error);
                None
            }
        }
    }

    fn run_task(&self, task: Task) -> Result<()> {
        let (number, file) = (task.number, task.file);
        let has_sessions = !task.work.layout().session.is_empty();
        let mut taken = Ok(());
        let bad = task.work.run(&mut |mut rows| {
            let count = rows.len() as u64 + rows.others.values().sum::<u64>();
            if count > 0 && taken.is_ok() {
                self.rows_of[file].fetch_add(count, Ordering::Relaxed);
                if !has_sessions {
                    // Each record is a page: its number in its task, and that of the task.
                    self.numbered.store(true, Ordering::Relaxed);
                    rows.sessions.iter_mut().for_each(|session| *session += number << 32);
                }
                taken = (self.take)(Piece { number, part: file, rows });
            }
        })?;
        taken?;
        if self.skips {
            return lock(&self.bad).take(number, bad);
        }
        bad.into_iter().next().map_or(Ok(()), |first| Err(first.error()))
    }

    fn fail(&self, number: u64, file: usize, error: Error) {
        let mut first = lock(&self.first_error);
        if first.as_ref().is_none_or(|(least, ..)| number < *least) {
            *first = Some((number, file, error));
        }
    }

    fn finish(self, parts: Vec<LogPart>) -> Result<Reading> {
        if let Some((.., error)) = self.first_error.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        let bad = self.bad.into_inner().unwrap_or_else(PoisonError::into_inner).writer;
        let Dispenser { heads, .. } = self.dispenser.into_inner().unwrap_or_else(PoisonError::into_inner);
        let rows_of: Vec<u64> = self.rows_of.into_iter().map(AtomicU64::into_inner).collect();
        let mut notes = heads.notes;
        notes.extend(check_rows(&parts, &rows_of, &bad)?);
        let numbered = self.numbered.into_inner();
        Ok(Reading { parts, bad, columns: heads.columns, anonymous: heads.anonymous, numbered, notes })
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A log needs rows; a file of several may have none, which is worth a note.
fn check_rows(parts: &[LogPart], rows_of: &[u64], bad: &BadRowsWriter) -> Result<Option<String>> {
    let empty: Vec<&LogPart> =
        parts.iter().zip(rows_of).filter(|&(_, &rows)| rows == 0).map(|(part, _)| part).collect();
    let bad = bad.rows();
    if empty.len() == parts.len() {
        let finding = match bad.first.first() {
            Some(first) => format!("holds no good row: all {} are left out, the first because {first}", bad.count),
            None if parts[0].file().is_some() && parts[0].size() == 0 => {
                "holds no impressions: the file is empty".to_string()
            }
            None => "holds no impressions, only a header".to_string(),
        };
        return Err(Error::input(parts[0].path(), finding));
    }
    Ok(match empty[..] {
        [] => None,
        [part] => Some(format!("{} holds no impressions", part.path().display())),
        [part, ..] => {
            Some(format!("{} files hold no impressions, the first is {}", empty.len(), part.path().display()))
        }
    })
}

/// Writes bad rows in the order of their tasks, which end in any order.
struct InOrder {
    writer: BadRowsWriter,
    waiting: BTreeMap<u64, Vec<BadRow>>,
    next: u64,
}

impl InOrder {
    fn take(&mut self, number: u64, rows: Vec<BadRow>) -> Result<()> {
        self.waiting.insert(number, rows);
        while let Some(rows) = self.waiting.remove(&self.next) {
            rows.iter().try_for_each(|row| self.writer.push(row))?;
            self.next += 1;
        }
        Ok(())
    }
}
