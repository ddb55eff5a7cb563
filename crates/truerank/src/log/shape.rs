//! What another engine must know of log files: their form, and which columns of which types hold the fields.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::expand::expand;
use super::format::LogFormat;
use super::layout::{Layout, ReadColumn};
use super::options::{Header, ReadOptions};
use super::part::LogPart;
use super::source::{Heads, Source};
use crate::files::Compression;
use crate::{Error, Result};

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ColumnKind {
    Text,
    Integer,
    /// Whole numbers up to 2⁶⁴, some of which are no `i64`.
    Unsigned,
    Float,
    Time,
    /// Of any type, from row to row.
    Any,
}

/// A file of a log, its columns found.
#[derive(Debug, Clone)]
pub(crate) struct FileShape {
    pub path: PathBuf,
    pub format: LogFormat,
    pub layout: Layout,
    /// The columns that the layout's numbers stand for. Those of CSV and TSV are named by their place.
    pub columns: Vec<(String, ColumnKind)>,
    /// The exact types of those that are read, in Parquet: whole numbers may have 32 or 64 bits.
    pub types: Vec<String>,
    /// Whether a JSON file is one array instead of an object per line.
    pub is_array: bool,
    /// Whether names of columns were given, since the file has none.
    pub has_no_header: bool,
    pub compression: Option<Compression>,
}

/// The files of a log.
#[derive(Debug, Default)]
pub(crate) struct LogShape {
    /// All of them, patterns and folders expanded.
    pub paths: Vec<PathBuf>,
    /// Those that are not empty.
    pub files: Vec<FileShape>,
    /// Where fields are read from, each way once.
    pub reads: Vec<ReadColumn>,
    pub anonymous: bool,
    pub notes: Vec<String>,
}

impl LogShape {
    /// Opens every file and finds its columns.
    pub fn find(parts: &[LogPart], options: &ReadOptions) -> Result<Self> {
        let parts = expand(parts, options.format)?;
        let mut heads = Heads::default();
        let mut files = Vec::new();
        for part in &parts {
            let path = part.path();
            if part.is_stdin() {
                return Err(Error::parameter(
                    "standard input (-) cannot be read by a cluster; give a file that it sees",
                ));
            }
            if part.file().is_none() {
                let finding = "is a table in memory, which a cluster cannot read; write it to a file that it sees";
                return Err(Error::input(path, finding));
            }
            let mut notes = Vec::new();
            let source = Source::open(part, options, &mut notes)?;
            match FileShape::of(part, source, options)? {
                Some(shape) => {
                    heads.add(&shape.layout, notes);
                    files.push(shape);
                }
                None => heads.notes.push(format!("{} holds no impressions", path.display())),
            }
        }
        let paths: Vec<PathBuf> = parts.iter().map(|part| part.path().to_path_buf()).collect();
        if files.is_empty() {
            return Err(Error::input(&paths[0], "holds no impressions: the file is empty"));
        }
        Ok(LogShape { paths, files, reads: heads.columns, anonymous: heads.anonymous, notes: heads.notes })
    }
}

impl LogShape {
    /// Refuses files that only another engine sees, in a form whose columns it does not know.
    pub fn check_far(path: &Path, options: &ReadOptions) -> Result<()> {
        match options.format.or_else(|| LogFormat::of(path)) {
            None | Some(LogFormat::Parquet) => Ok(()),
            Some(_) => {
                let rule = "and there Parquet alone is read; convert it to Parquet";
                Err(Error::input(path, format!("lies where only the cluster sees it, {rule}")))
            }
        }
    }

    /// Adds Parquet files that only another engine sees, by the columns that it found in them.
    pub fn add_far(&mut self, path: &Path, columns: Vec<(String, ColumnKind)>, options: &ReadOptions) -> Result<()> {
        let names: Vec<String> = columns.iter().map(|(name, _)| name.clone()).collect();
        let layout = Layout::find(path, &names, options)?;
        layout.check(path, &names, options)?;
        self.anonymous |= layout.user.is_none();
        let new: Vec<ReadColumn> = layout.reads.iter().filter(|read| !self.reads.contains(read)).cloned().collect();
        self.reads.extend(new);
        self.paths.push(path.to_path_buf());
        self.files.push(FileShape {
            path: path.to_path_buf(),
            format: LogFormat::Parquet,
            layout,
            columns,
            types: Vec::new(),
            is_array: false,
            has_no_header: false,
            compression: None,
        });
        Ok(())
    }
}

impl FileShape {
    fn of(part: &LogPart, source: Source, options: &ReadOptions) -> Result<Option<Self>> {
        let path = part.path();
        let Some(layout) = source.layout().cloned() else { return Ok(None) };
        if part.size() == 0 {
            return Ok(None);
        }
        Ok(Some(FileShape {
            path: path.to_path_buf(),
            format: options.format.or_else(|| LogFormat::of(path)).unwrap_or(LogFormat::Csv),
            columns: source.columns(),
            types: source.types(),
            is_array: source.is_array(),
            has_no_header: options.header_kind() != Header::First,
            compression: compression(path)?,
            layout,
        }))
    }
}

fn compression(path: &Path) -> Result<Option<Compression>> {
    let mut first = Vec::new();
    let file = File::open(path).map_err(|e| Error::io(path, e))?;
    file.take(4).read_to_end(&mut first).map_err(|e| Error::io(path, e))?;
    Ok(Compression::of(&first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_form_and_columns() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, content: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, content).unwrap();
            path
        };
        let csv = write("a.csv", "user,x,session,query,doc,rank,click\nu,0,s,q,d,1,0\n");
        let json = write("b.json", r#"[{"session":1,"query":2,"doc":3,"position":1,"click":0}]"#);
        let empty = write("c.csv", "");
        let shape = LogShape::find(&[csv.into(), json.into(), empty.clone().into()], &ReadOptions::new()).unwrap();
        assert_eq!((shape.paths.len(), shape.files.len(), shape.anonymous), (3, 2, true));
        let column = |file: usize, at: usize| shape.files[file].columns[at].clone();
        assert_eq!(column(0, shape.files[0].layout.doc), ("c4".to_string(), ColumnKind::Text));
        assert_eq!(column(1, shape.files[1].layout.doc), ("doc".to_string(), ColumnKind::Any));
        assert_eq!([shape.files[0].is_array, shape.files[1].is_array], [false, true]);
        assert_eq!(shape.notes, [format!("{} holds no impressions", empty.display())]);
        assert!(LogShape::find(&["-".into()], &ReadOptions::new()).is_err());
        let schema = std::sync::Arc::new(arrow_schema::Schema::empty());
        let table = LogPart::Table(crate::log::Table::new("log", schema, Vec::new()).unwrap());
        let error = LogShape::find(&[table], &ReadOptions::new()).unwrap_err().to_string();
        assert!(error.starts_with("log: is a table in memory, which a cluster cannot read"), "{error}");
    }
}
