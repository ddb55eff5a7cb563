//! Hands out the work of reading a log: its files in order, each as blocks or chunks of batches that can be read on any
//! thread.

use std::path::Path;
use std::sync::Arc;

use super::bad_rows::BadRow;
use super::batches::{BatchLog, BatchSource};
use super::blocks::{BLOCK, Block, Blocks, Cut};
use super::expand::expand;
use super::format::TextForm;
use super::format::{LogFormat, log_endings};
use super::input::Input;
use super::layout::{Layout, ReadColumn};
use super::options::ReadOptions;
use super::parquet::ParquetFile;
use super::part::LogPart;
use super::rows::Rows;
use super::table::TableChunks;
use crate::{Error, Result};

/// An open file or table, of which some may have been handed out.
pub(super) enum Source {
    Text {
        form: Arc<dyn TextForm>,
        cut: Cut,
        blocks: Box<Blocks>,
    },
    Batches {
        log: Arc<BatchLog>,
        next: usize,
    },
    /// Without even a header.
    Empty,
}

/// A part of a file that can be read by itself.
pub(super) enum Work {
    Block(Arc<dyn TextForm>, Block),
    Chunk(Arc<BatchLog>, usize),
}

impl Work {
    /// Where the fields stand.
    pub fn layout(&self) -> &Layout {
        match self {
            Work::Block(form, _) => form.layout(),
            Work::Chunk(log, _) => log.layout(),
        }
    }

    /// Hands the rows to `take`, perhaps in pieces; returns the bad rows.
    pub fn run(self, take: &mut dyn FnMut(Rows)) -> Result<Vec<BadRow>> {
        match self {
            Work::Block(form, block) => {
                let parsed = form.parse(&block);
                drop(block);
                take(parsed.rows);
                Ok(parsed.bad)
            }
            Work::Chunk(log, chunk) => log.read(chunk, take),
        }
    }
}

/// What reading the heads of the files showed.
#[derive(Debug, Default)]
pub(super) struct Heads {
    /// Where fields are read from, each way once.
    pub columns: Vec<ReadColumn>,
    pub anonymous: bool,
    pub notes: Vec<String>,
}

impl Heads {
    pub(super) fn add(&mut self, layout: &Layout, notes: Vec<String>) {
        self.anonymous |= layout.user.is_none();
        for read in &layout.reads {
            if !self.columns.contains(read) {
                self.columns.push(read.clone());
            }
        }
        for note in notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }
}

/// The files of a log as pieces of work, numbered in their order.
pub(super) struct Dispenser<'a> {
    parts: &'a [LogPart],
    options: &'a ReadOptions,
    /// The file that is open, or is opened next.
    file: usize,
    source: Option<Source>,
    number: u64,
    pub heads: Heads,
    /// How much of the open file was told to the progress.
    told: u64,
}

/// Work, its number and its file.
pub(super) struct Task {
    pub number: u64,
    pub file: usize,
    pub work: Work,
    /// Bytes of files, and rows of tables, that are behind it and were not counted before.
    pub steps: u64,
}

impl<'a> Dispenser<'a> {
    pub fn new(parts: &'a [LogPart], options: &'a ReadOptions) -> Self {
        Dispenser { parts, options, file: 0, source: None, number: 0, heads: Heads::default(), told: 0 }
    }

    /// The number of the next task, or of the error that comes in its place, and its file.
    pub fn place(&self) -> (u64, usize) {
        (self.number, self.file)
    }

    /// The next piece of work; none at the end of the last file.
    pub fn next(&mut self) -> Result<Option<Task>> {
        while self.file < self.parts.len() {
            if self.source.is_none() {
                self.open()?;
            }
            if let Some(work) = self.next_work()? {
                let (number, steps) = (self.number, self.new_steps());
                self.number += 1;
                return Ok(Some(Task { number, file: self.file, work, steps }));
            }
            self.source = None;
            self.told = 0;
            self.file += 1;
        }
        Ok(None)
    }

    fn open(&mut self) -> Result<()> {
        let mut notes = Vec::new();
        let source = Source::open(&self.parts[self.file], self.options, &mut notes)?;
        if let Some(layout) = source.layout() {
            self.heads.add(layout, notes);
        }
        self.source = Some(source);
        Ok(())
    }

    fn next_work(&mut self) -> Result<Option<Work>> {
        match &mut self.source {
            Some(Source::Text { form, cut, blocks }) => {
                Ok(blocks.next(cut)?.map(|block| Work::Block(form.clone(), block)))
            }
            Some(Source::Batches { log, next }) if *next < log.chunk_count() => {
                *next += 1;
                Ok(Some(Work::Chunk(log.clone(), *next - 1)))
            }
            _ => Ok(None),
        }
    }

    fn new_steps(&mut self) -> u64 {
        let read = match &self.source {
            Some(Source::Text { blocks, .. }) => blocks.read_count(),
            Some(Source::Batches { log, next }) => share(self.parts[self.file].size(), *next, log.chunk_count()),
            _ => 0,
        };
        let new = read.saturating_sub(self.told);
        self.told = read;
        new
    }
}

/// The part of `size` that the first `count` of `all` chunks stand for.
fn share(size: u64, count: usize, all: usize) -> u64 {
    (u128::from(size) * count as u128 / all.max(1) as u128) as u64
}

impl Source {
    pub(super) fn open(part: &LogPart, options: &ReadOptions, notes: &mut Vec<String>) -> Result<Self> {
        let (path, is_stdin) = (part.path(), part.is_stdin());
        if let LogPart::Table(table) = part {
            return Source::batches(path, Box::new(TableChunks::new(table)), options, notes);
        }
        let format = options.format.or_else(|| LogFormat::of(path));
        if format == Some(LogFormat::Parquet) && !is_stdin {
            return Source::batches(path, Box::new(ParquetFile::open(path)?), options, notes);
        }
        let mut blocks = Blocks::new(path, Input::open(path)?, BLOCK);
        let format = match format {
            Some(format) => format,
            None if is_stdin => guess_format(blocks.head(0)?),
            None => return Err(unknown_form(path)),
        };
        let form = format.open_text(path, &mut blocks, options, notes)?;
        Ok(match form {
            Some(form) => Source::Text { cut: form.cut(), form, blocks: Box::new(blocks) },
            None => Source::Empty,
        })
    }

    fn batches(
        path: &Path,
        source: Box<dyn BatchSource>,
        options: &ReadOptions,
        notes: &mut Vec<String>,
    ) -> Result<Self> {
        Ok(Source::Batches { log: Arc::new(BatchLog::open(path, source, options, notes)?), next: 0 })
    }

    pub(super) fn columns(&self) -> Vec<(String, super::shape::ColumnKind)> {
        match self {
            Source::Text { form, .. } => form.columns(),
            Source::Batches { log, .. } => log.columns(),
            Source::Empty => Vec::new(),
        }
    }

    /// The exact types of the columns that are read, where they have any.
    pub(super) fn types(&self) -> Vec<String> {
        match self {
            Source::Batches { log, .. } => log.types(),
            Source::Text { .. } | Source::Empty => Vec::new(),
        }
    }

    pub(super) fn is_array(&self) -> bool {
        matches!(self, Source::Text { form, .. } if form.is_array())
    }

    pub(super) fn layout(&self) -> Option<&Layout> {
        match self {
            Source::Text { form, .. } => Some(form.layout()),
            Source::Batches { log, .. } => Some(log.layout()),
            Source::Empty => None,
        }
    }
}

/// The form of text that says nothing of it: JSON starts with a bracket, and a TSV header has tabs.
fn guess_format(head: &[u8]) -> LogFormat {
    let text = head.strip_prefix("\u{feff}".as_bytes()).unwrap_or(head);
    let header = &text[..memchr::memchr(b'\n', text).unwrap_or(text.len())];
    match text.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{' | b'[') => LogFormat::JsonLines,
        _ if header.contains(&b'\t') => LogFormat::Tsv,
        _ => LogFormat::Csv,
    }
}

pub(super) fn unknown_form(path: &Path) -> Error {
    let finding =
        format!("does not say its form, but the name of a log ends in {}; or say it with `format`", log_endings());
    Error::input(path, finding)
}

/// Opens every part but standard input, and says where its fields are read from, each way once.
pub(crate) fn find_columns(parts: &[LogPart], options: &ReadOptions) -> Result<Vec<ReadColumn>> {
    let mut heads = Heads::default();
    for part in expand(parts, options.format)?.iter().filter(|part| !part.is_stdin()) {
        if let Some(layout) = Source::open(part, options, &mut Vec::new())?.layout() {
            heads.add(layout, Vec::new());
        }
    }
    Ok(heads.columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Table;
    use arrow_array::{ArrayRef, Int64Array, RecordBatch};

    #[test]
    fn steps_add_up_to_bytes_of_files_and_rows_of_tables() {
        let rows = (1 << 18) + 5;
        let ones: ArrayRef = Arc::new(Int64Array::from(vec![1; rows]));
        let names = ["session", "query", "doc", "position", "click"];
        let batch = RecordBatch::try_from_iter(names.map(|name| (name, ones.clone()))).unwrap();
        let table = Table::new("log", batch.schema(), vec![batch]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.csv");
        std::fs::write(&file, "session,query,doc,position,click\n1,1,1,1,1\n").unwrap();
        let (parts, options) = ([LogPart::Table(table), file.into()], ReadOptions::new());
        let mut dispenser = Dispenser::new(&parts, &options);
        let steps: Vec<u64> = std::iter::from_fn(|| dispenser.next().unwrap()).map(|task| task.steps).collect();
        assert_eq!(steps.len(), 3);
        assert_eq!(steps[0] + steps[1], rows as u64);
        assert_eq!(steps[2], parts[1].size());
    }
}
