//! Reads logs of any form: pieces of files in parallel, and the first bad row or all of them in order.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::bad_rows::{BadRow, BadRowsWriter};
use super::events::read_events;
use super::expand::{STDIN, expand};
use super::layout::ReadColumn;
use super::options::{OnBadRow, ReadOptions};
use super::rows::Rows;
use super::source::{Dispenser, Task, size};
use crate::progress::{Progress, Silent};
use crate::{Error, Result};

/// What was found beside rows.
pub(crate) struct Reading {
    /// The files, patterns and folders expanded.
    pub files: Vec<PathBuf>,
    /// Rows that were left out, in the order of the files.
    pub bad: BadRowsWriter,
    /// Where fields were read from, each way once.
    pub columns: Vec<ReadColumn>,
    /// Whether a file has no users.
    pub anonymous: bool,
    /// What else a user should know.
    pub notes: Vec<String>,
}

/// Rows, the file they come from, and the number of their piece; pieces are numbered in the order of the files.
pub(crate) struct Piece {
    pub number: u64,
    pub file: usize,
    pub rows: Rows,
}

/// Reads all rows of the files and hands them to `take` on any thread.
///
/// The error is that of the first bad row in the order of the files, whatever the number of threads.
pub(crate) fn for_each_rows(
    paths: &[PathBuf],
    options: &ReadOptions,
    progress: &dyn Progress,
    take: impl Fn(Piece) -> Result<()> + Sync,
) -> Result<Reading> {
    let outcome = read(paths, options, progress, rayon::current_num_threads().max(1), take);
    outcome.map_err(|error| with_way_out(error, paths, options))
}

/// A user who is missing everywhere can be left out of the log altogether. Reads the files again: only bad logs pay.
fn with_way_out(error: Error, paths: &[PathBuf], options: &ReadOptions) -> Error {
    let Error::Input { place, mut finding } = error else { return error };
    let is_about_users = finding.contains("user is empty") || finding.contains("user is missing");
    if is_about_users && (options.skips() || !has_good_rows(paths, options)) {
        finding += "; where no user is known, pass --column user=";
    }
    Error::Input { place, finding }
}

fn has_good_rows(paths: &[PathBuf], options: &ReadOptions) -> bool {
    let skipping = options.clone().on_bad_row(OnBadRow::Skip);
    let is_stdin = paths.iter().any(|path| path.as_os_str() == STDIN);
    is_stdin || for_each_rows_in_order(paths, &skipping, |_| Ok(())).is_ok()
}

/// The same on the calling thread, so that rows come in the order of the files.
pub(crate) fn for_each_rows_in_order(
    paths: &[PathBuf],
    options: &ReadOptions,
    take: impl Fn(Piece) -> Result<()> + Sync,
) -> Result<Reading> {
    read(paths, options, &Silent, 1, take)
}

fn read(
    paths: &[PathBuf],
    options: &ReadOptions,
    progress: &dyn Progress,
    workers: usize,
    take: impl Fn(Piece) -> Result<()> + Sync,
) -> Result<Reading> {
    match options.events() {
        Some(events) => read_events(paths, options, &events, progress, &take),
        None => read_records(paths, options, progress, workers, take),
    }
}

/// Reads records as they stand in the files: impressions, or events.
pub(super) fn read_records(
    paths: &[PathBuf],
    options: &ReadOptions,
    progress: &dyn Progress,
    workers: usize,
    take: impl Fn(Piece) -> Result<()> + Sync,
) -> Result<Reading> {
    let files = expand(paths, options)?;
    check_quarantine(&files, options)?;
    progress.begin("reading the log", files.iter().map(|path| size(path, options)).sum());
    let work = Reader {
        dispenser: Mutex::new(Dispenser::new(&files, options)),
        bad: Mutex::new(InOrder {
            writer: BadRowsWriter::create(&options.on_bad_row)?,
            waiting: BTreeMap::new(),
            next: 0,
        }),
        first_error: Mutex::new(None),
        rows_of: files.iter().map(|_| AtomicU64::new(0)).collect(),
        skips: options.skips(),
        progress,
        take,
    };
    match workers {
        1 => work.run(),
        // Workers take turns at the file, so no more than one piece for each is in memory.
        _ => rayon::scope(|scope| (0..workers).for_each(|_| scope.spawn(|_| work.run()))),
    }
    work.finish(files.clone())
}

/// Bad rows must not be written over the log they come from.
fn check_quarantine(files: &[PathBuf], options: &ReadOptions) -> Result<()> {
    let OnBadRow::Quarantine(path) = &options.on_bad_row else { return Ok(()) };
    let Ok(target) = path.canonicalize() else { return Ok(()) };
    let mut files = files.iter().filter(|file| options.table_at(file).is_none());
    match files.any(|file| file.canonicalize().is_ok_and(|file| file == target)) {
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
                    rows.sessions.iter_mut().for_each(|session| *session += number << 32);
                }
                taken = (self.take)(Piece { number, file, rows });
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

    fn finish(self, files: Vec<PathBuf>) -> Result<Reading> {
        if let Some((.., error)) = self.first_error.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        let bad = self.bad.into_inner().unwrap_or_else(PoisonError::into_inner).writer;
        let Dispenser { heads, options, .. } = self.dispenser.into_inner().unwrap_or_else(PoisonError::into_inner);
        let rows_of: Vec<u64> = self.rows_of.into_iter().map(AtomicU64::into_inner).collect();
        let mut notes = heads.notes;
        notes.extend(check_rows(&files, options, &rows_of, &bad)?);
        Ok(Reading { files, bad, columns: heads.columns, anonymous: heads.anonymous, notes })
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A log needs rows; a file of several may have none, which is worth a note.
fn check_rows(
    files: &[PathBuf],
    options: &ReadOptions,
    rows_of: &[u64],
    bad: &BadRowsWriter,
) -> Result<Option<String>> {
    let empty: Vec<&PathBuf> =
        files.iter().zip(rows_of).filter(|&(_, &rows)| rows == 0).map(|(path, _)| path).collect();
    let bad = bad.rows();
    if empty.len() == files.len() {
        let finding = match bad.first.first() {
            Some(first) => format!("holds no good row: all {} are left out, the first because {first}", bad.count),
            None if options.table_at(&files[0]).is_none() && size(&files[0], options) == 0 => {
                "holds no impressions: the file is empty".to_string()
            }
            None => "holds no impressions, only a header".to_string(),
        };
        return Err(Error::input(&files[0], finding));
    }
    Ok(match empty[..] {
        [] => None,
        [path] => Some(format!("{} holds no impressions", path.display())),
        [path, ..] => Some(format!("{} files hold no impressions, the first is {}", empty.len(), path.display())),
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
