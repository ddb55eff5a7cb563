//! What a log consists of: files, standard input, and tables in memory.

use std::path::{Path, PathBuf};

use super::bad_rows::Unit;
use super::expand::STDIN;
use super::format::LogFormat;
use super::options::ReadOptions;
use super::table::Table;

/// A part of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogPart {
    /// A file, a folder or a pattern of files, or `-` for standard input.
    Path(PathBuf),
    /// A table in memory.
    Table(Table),
}

impl LogPart {
    /// What messages call it.
    pub fn path(&self) -> &Path {
        match self {
            LogPart::Path(path) => path,
            LogPart::Table(table) => Path::new(table.name()),
        }
    }

    /// Whether it is standard input, which can be read once only.
    pub fn is_stdin(&self) -> bool {
        matches!(self, LogPart::Path(path) if path.as_os_str() == STDIN)
    }

    /// The file, if it is one.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            LogPart::Path(path) => Some(path),
            LogPart::Table(_) => None,
        }
    }

    /// The bytes of a file, or the rows of a table: what progress counts.
    pub(super) fn size(&self) -> u64 {
        match self {
            LogPart::Path(path) => std::fs::metadata(path).map_or(0, |metadata| metadata.len()),
            LogPart::Table(table) => table.row_count(),
        }
    }

    /// What its records are counted in.
    pub(crate) fn unit(&self, options: &ReadOptions) -> Unit {
        let LogPart::Path(path) = self else { return Unit::Row };
        match options.format.or_else(|| LogFormat::of(path)) {
            Some(LogFormat::Parquet) => Unit::Row,
            _ => Unit::Line,
        }
    }
}

impl<P: Into<PathBuf>> From<P> for LogPart {
    fn from(path: P) -> Self {
        LogPart::Path(path.into())
    }
}
