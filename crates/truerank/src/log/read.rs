//! Reads logs of any form: opens the files, reads their chunks in parallel, and reports the first bad row.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::columns::Columns;
use super::delimited::DelimitedFile;
use super::model::{Impression, Log};
use super::parquet::ParquetFile;
use super::rows::{IdColumn, OTHER, Rows};
use crate::error::Place;
use crate::files::FileFormat;
use crate::ids::Interner;
use crate::progress::{Progress, Silent};
use crate::{Error, Result};

/// An open log file, made of chunks that can be read independently.
pub(crate) enum Source {
    Delimited(DelimitedFile),
    Parquet(ParquetFile),
}

impl Source {
    pub fn open(path: &Path, columns: &Columns) -> Result<Self> {
        if path.is_dir() {
            return Err(Error::input(path, "is a folder, but a log is a file; name the files in it"));
        }
        match FileFormat::of(path) {
            FileFormat::Parquet => Ok(Source::Parquet(ParquetFile::open(path, columns)?)),
            FileFormat::Csv => Ok(Source::Delimited(DelimitedFile::open(path, b',', columns)?)),
            FileFormat::Tsv => Ok(Source::Delimited(DelimitedFile::open(path, b'\t', columns)?)),
            FileFormat::Json | FileFormat::Text => Err(unknown_form(path)),
        }
    }

    pub fn chunk_count(&self) -> usize {
        match self {
            Source::Delimited(file) => file.chunk_count(),
            Source::Parquet(file) => file.chunk_count(),
        }
    }

    /// Reads a chunk and hands its rows to `take` in their order, perhaps in pieces.
    pub fn read(&self, chunk: usize, take: &mut dyn FnMut(Rows)) -> Result<()> {
        match self {
            Source::Delimited(file) => file.rows(chunk).map(take),
            Source::Parquet(file) => file.read(chunk, take),
        }
    }

    /// Where row `row` of a chunk stands, and the text of its session.
    pub fn locate(&self, chunk: usize, row: usize) -> Result<(Place, String)> {
        match self {
            Source::Delimited(file) => file.locate(chunk, row),
            Source::Parquet(file) => file.locate(chunk, row),
        }
    }
}

pub(super) fn unknown_form(path: &Path) -> Error {
    let endings = ".parquet, .csv or .tsv (the latter two also with .gz or .zst)";
    Error::input(path, format!("does not say its form, but the name of a log ends in {endings}"))
}

/// Reads all rows of the files and hands them to `take` with the numbers of their file and chunk, on any thread.
///
/// The error is that of the first bad row in the order of the files, whatever the number of threads.
pub(crate) fn for_each_rows(
    paths: &[PathBuf],
    columns: &Columns,
    progress: &dyn Progress,
    take: impl Fn(usize, usize, Rows) + Sync,
) -> Result<()> {
    let sizes: Vec<u64> = paths.iter().map(|path| std::fs::metadata(path).map_or(0, |m| m.len())).collect();
    progress.begin("reading the log", sizes.iter().sum());
    if paths.is_empty() {
        return Err(Error::parameter("no log is given, but at least one file is needed"));
    }
    // As many files at a time as there are threads: bounds memory, since text files are held whole.
    let window = rayon::current_num_threads().max(1);
    for (w, window_paths) in paths.chunks(window).enumerate() {
        let first = w * window;
        let mut open_error = Ok(());
        let mut sources = Vec::new();
        for source in window_paths.par_iter().map(|path| Source::open(path, columns)).collect::<Vec<_>>() {
            match source {
                Ok(source) => sources.push(source),
                Err(error) => {
                    open_error = Err(error);
                    break;
                }
            }
        }
        read_sources(&sources, window_paths, &sizes[first..], progress, |file, chunk, rows| {
            take(first + file, chunk, rows)
        })?;
        open_error?;
    }
    Ok(())
}

fn read_sources(
    sources: &[Source],
    paths: &[PathBuf],
    sizes: &[u64],
    progress: &dyn Progress,
    take: impl Fn(usize, usize, Rows) + Sync,
) -> Result<()> {
    let chunks: Vec<(usize, usize)> =
        sources.iter().enumerate().flat_map(|(i, source)| (0..source.chunk_count()).map(move |c| (i, c))).collect();
    let rows_of: Vec<AtomicUsize> = sources.iter().map(|_| AtomicUsize::new(0)).collect();
    // Chunks after a bad one need not be read; those before it must be.
    let first_bad = AtomicUsize::new(usize::MAX);
    let read = |(at, &(file, chunk)): (usize, &(usize, usize))| {
        if at > first_bad.load(Ordering::Relaxed) {
            return Ok(());
        }
        let outcome = sources[file].read(chunk, &mut |rows| {
            rows_of[file].fetch_add(rows.len(), Ordering::Relaxed);
            take(file, chunk, rows)
        });
        if outcome.is_err() {
            first_bad.fetch_min(at, Ordering::Relaxed);
        }
        progress.advance(share(sizes[file], chunk, sources[file].chunk_count()));
        outcome
    };
    let outcomes: Vec<Result<()>> = chunks.par_iter().enumerate().with_max_len(1).map(read).collect();
    let mut outcomes = outcomes.into_iter();
    for (file, source) in sources.iter().enumerate() {
        outcomes.by_ref().take(source.chunk_count()).collect::<Result<()>>()?;
        if rows_of[file].load(Ordering::Relaxed) == 0 {
            return Err(Error::input(&paths[file], "holds no impressions, only a header"));
        }
    }
    Ok(())
}

/// The part of `size` that chunk number `chunk` of `count` stands for; the parts add up to the whole.
fn share(size: u64, chunk: usize, count: usize) -> u64 {
    let until = |chunk: usize| (u128::from(size) * chunk as u128 / count.max(1) as u128) as u64;
    until(chunk + 1) - until(chunk)
}

/// Reads logs into memory, rows in the order of the files.
///
/// Counting does not need this: [`count_files`](crate::counts::count_files) reads without holding the rows.
pub fn read_log(paths: &[PathBuf], columns: &Columns) -> Result<Log> {
    let pieces = Mutex::new(Vec::new());
    for_each_rows(paths, columns, &Silent, |file, chunk, rows| {
        pieces.lock().unwrap_or_else(|e| e.into_inner()).push((file, chunk, rows));
    })?;
    let mut pieces = pieces.into_inner().unwrap_or_else(|e| e.into_inner());
    // Stable, because a chunk hands over its pieces in order.
    pieces.sort_by_key(|&(file, chunk, _)| (file, chunk));
    let [mut users, mut queries, mut docs] = <[Interner; 3]>::default();
    let mut impressions = Vec::with_capacity(pieces.iter().map(|(_, _, rows)| rows.len()).sum());
    for (_, _, rows) in pieces {
        let user = numbers(&rows.users, &mut users);
        let query = numbers(&rows.queries, &mut queries);
        let doc = numbers(&rows.docs, &mut docs);
        impressions.extend((0..rows.len()).map(|i| Impression {
            session: rows.sessions[i],
            user: user[i],
            query: query[i],
            doc: doc[i],
            position: rows.positions[i],
            click: rows.clicks[i],
        }));
    }
    Ok(Log { users: users.into_ids(), queries: queries.into_ids(), docs: docs.into_ids(), impressions })
}

fn numbers(column: &IdColumn, interner: &mut Interner) -> Vec<u32> {
    let number = |&code: &u32| match code & OTHER {
        0 if !column.is_text => interner.integer(i64::from(code)),
        0 => interner.text(&code.to_string()),
        _ => interner.id(column.others.ids(), (code & !OTHER) as usize),
    };
    column.codes.iter().map(number).collect()
}
