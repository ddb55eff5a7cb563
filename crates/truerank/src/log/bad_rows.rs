//! Rows that break a rule: what is wrong with each, how many of each kind, and the file they are kept in.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::Place;
use crate::files::AtomicFile;
use crate::{Error, Result};

/// How a row breaks the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum BadKind {
    /// It has more or fewer fields than the header.
    Fields,
    /// A quote never closes, or text follows it.
    Quote,
    /// It is longer than any record may be.
    TooLong,
    /// Bytes that are no text, or compressed data that breaks off.
    Damage,
    /// It is no JSON object.
    Json,
    /// A value is missing or empty.
    Missing,
    /// An id is neither text nor a whole number.
    Id,
    /// The position is none.
    Position,
    /// The click is none.
    Click,
    /// The time is none.
    Time,
    /// Another number is none.
    Number,
    /// Lists of one page do not fit together.
    List,
    /// The document is on the page already, nearer to its top.
    RepeatedDoc,
    /// The page belongs to two users.
    TwoUsers,
    /// The page was shown in two contexts.
    TwoContexts,
}

impl fmt::Display for BadKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BadKind::Fields => "wrong number of fields",
            BadKind::Quote => "broken quotes",
            BadKind::TooLong => "too long",
            BadKind::Damage => "damaged",
            BadKind::Json => "not a JSON object",
            BadKind::Missing => "missing value",
            BadKind::Id => "bad id",
            BadKind::Position => "bad position",
            BadKind::Click => "bad click",
            BadKind::Time => "bad time",
            BadKind::Number => "bad number",
            BadKind::List => "lists that do not fit",
            BadKind::RepeatedDoc => "document repeated on a page",
            BadKind::TwoUsers => "page of two users",
            BadKind::TwoContexts => "page in two contexts",
        })
    }
}

/// The rows that were left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BadRows {
    /// How many.
    pub count: u64,
    /// How many of each kind, sorted by kind; kinds without any are absent.
    pub by_kind: Vec<(BadKind, u64)>,
    /// The first of them, with their places and what is wrong.
    pub first: Vec<String>,
}

/// So many bad rows are shown.
const SHOWN: usize = 5;

/// What is wrong with a row, without its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub kind: BadKind,
    pub finding: String,
}

impl Fault {
    pub fn new(kind: BadKind, finding: impl Into<String>) -> Self {
        Fault { kind, finding: finding.into() }
    }
}

/// A row that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BadRow {
    pub place: Place,
    pub fault: Fault,
    /// The row as it stands in the file, where it is asked for.
    pub raw: String,
}

impl BadRow {
    pub fn error(self) -> Error {
        self.place.error(self.fault.finding)
    }
}

/// Takes bad rows in order, counts them, and keeps them in a file where that is asked for.
pub(crate) struct BadRowsWriter {
    counts: BTreeMap<BadKind, u64>,
    first: Vec<String>,
    file: Option<(PathBuf, AtomicFile)>,
}

impl BadRowsWriter {
    /// Keeps rows in this file, if there is one.
    pub fn create(file: Option<&Path>) -> Result<Self> {
        let file = file.map(|path| Ok((path.to_path_buf(), AtomicFile::create(path)?))).transpose()?;
        Ok(BadRowsWriter { counts: BTreeMap::new(), first: Vec::new(), file })
    }

    pub fn push(&mut self, bad: &BadRow) -> Result<()> {
        let line = format!("{}: {}", bad.place, bad.fault.finding);
        if self.first.len() < SHOWN {
            self.first.push(line);
        }
        *self.counts.entry(bad.fault.kind).or_default() += 1;
        match &mut self.file {
            Some((path, file)) => write_line(file, bad).map_err(|e| Error::io(path, e)),
            None => Ok(()),
        }
    }

    /// Counts rows of a kind about which no more is known.
    pub fn add(&mut self, kind: BadKind, count: u64) {
        if count > 0 {
            *self.counts.entry(kind).or_default() += count;
        }
    }

    /// The rows so far.
    pub fn rows(&self) -> BadRows {
        BadRows {
            count: self.counts.values().sum(),
            by_kind: self.counts.iter().map(|(&kind, &count)| (kind, count)).collect(),
            first: self.first.clone(),
        }
    }

    /// Makes the file appear, also where it is empty: then nothing is wrong, and an older one would mislead.
    pub fn finish(self) -> Result<BadRows> {
        let rows = self.rows();
        self.file.map_or(Ok(()), |(_, file)| file.commit())?;
        Ok(rows)
    }
}

/// Place, finding and row, between tabs; what would break the line is written as `\n`, `\r`, `\t` and `\\`.
fn write_line(file: &mut AtomicFile, bad: &BadRow) -> std::io::Result<()> {
    let place = escaped(&bad.place.to_string());
    writeln!(file, "{place}\t{}\t{}", escaped(&bad.fault.finding), escaped(bad.raw.trim_end_matches(['\n', '\r'])))
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r")
}

/// Where a record of a file stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Line,
    Row,
}

impl Unit {
    pub fn place(self, path: &Path, number: u64) -> Place {
        match self {
            Unit::Line => Place::line(path, number),
            Unit::Row => Place::row(path, number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_rows_are_counted_shown_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bad.txt");
        let mut writer = BadRowsWriter::create(Some(&path)).unwrap();
        for line in 1..=7 {
            let fault = Fault::new(if line % 2 == 0 { BadKind::Click } else { BadKind::Position }, "is bad");
            writer
                .push(&BadRow { place: Place::line(Path::new("c.tsv"), line), fault, raw: "a\tb\\\n".into() })
                .unwrap();
        }
        let rows = writer.finish().unwrap();
        assert_eq!((rows.count, rows.first.len()), (7, SHOWN));
        assert_eq!(rows.by_kind, [(BadKind::Position, 4), (BadKind::Click, 3)]);
        let text = std::fs::read_to_string(path).unwrap();
        assert_eq!(text.lines().next(), Some("c.tsv:1\tis bad\ta\\tb\\\\"));
        assert_eq!(text.lines().count(), 7);
    }
}
