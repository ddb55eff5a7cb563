//! Writes logs: impressions to Parquet, CSV or TSV, the same bytes on any number of threads.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, Int8Array, Int32Array, Int64Array};
use arrow_schema::{DataType, Field, Schema};
use rayon::prelude::*;

use super::columns::Field as LogField;
use super::model::{Block, Impression, Log};
use crate::files::table::{FileType, ids_array, ids_field, properties};
use crate::files::{AtomicFile, FileFormat, GroupWriter, zstd_encoder};
use crate::ids::Ids;
use crate::{Error, Result};

const FILE_TYPE: FileType = FileType { name: "truerank/log", version: 1 };

/// Rows of a row group, or of a piece of text: enough groups for all cores, few enough for readers.
const GROUP: usize = 1 << 17;
/// Groups that are encoded at a time.
const GROUPS: usize = 8;

/// Writes a log to Parquet, CSV or TSV, as the ending of `path` says; text is compressed where it ends in `.gz` or
/// `.zst`.
pub fn write_log(log: &Log, path: &Path) -> Result<()> {
    let mut writer = LogWriter::create(path, &log.users, &log.queries, &log.docs)?;
    writer.write(&log.impressions)?;
    writer.finish()
}

/// Writes a log piece by piece; the file appears only when it is complete.
pub struct LogWriter<'a> {
    path: PathBuf,
    ids: Block<'a>,
    form: Form,
    /// Rows that do not fill [`GROUPS`] groups yet.
    waiting: Vec<Impression>,
}

enum Form {
    Parquet(Box<GroupWriter>),
    Text { delimiter: u8, file: Box<Compressor> },
}

impl<'a> LogWriter<'a> {
    /// Starts a log whose users, queries and documents are numbers into these ids.
    pub fn create(path: &Path, users: &'a Ids, queries: &'a Ids, docs: &'a Ids) -> Result<Self> {
        let ids = Block { users, queries, docs, impressions: &[] };
        let form = match FileFormat::of(path) {
            FileFormat::Parquet => {
                let schema = schema(&ids);
                let properties = properties(&schema, FILE_TYPE, &[]);
                Form::Parquet(Box::new(GroupWriter::create(path, schema, properties)?))
            }
            FileFormat::Csv => Form::text(path, b',')?,
            FileFormat::Tsv => Form::text(path, b'\t')?,
            FileFormat::Json | FileFormat::JsonLines | FileFormat::Text => return Err(no_form_to_write(path)),
        };
        Ok(LogWriter { path: path.to_path_buf(), ids, form, waiting: Vec::new() })
    }

    /// Appends rows. How they are divided between calls leaves no trace in the file.
    pub fn write(&mut self, impressions: &[Impression]) -> Result<()> {
        const FULL: usize = GROUP * GROUPS;
        let mut rest = impressions;
        if !self.waiting.is_empty() {
            let (fill, after) = rest.split_at(rest.len().min(FULL - self.waiting.len()));
            self.waiting.extend_from_slice(fill);
            rest = after;
            if self.waiting.len() == FULL {
                let mut full = std::mem::take(&mut self.waiting);
                self.write_groups(&full)?;
                // The room is kept: asking for this much anew each time shows in the profile.
                full.clear();
                self.waiting = full;
            }
        }
        let full = rest.len() - rest.len() % FULL;
        for groups in rest[..full].chunks(FULL) {
            self.write_groups(groups)?;
        }
        self.waiting.extend_from_slice(&rest[full..]);
        Ok(())
    }

    /// Completes the file.
    pub fn finish(mut self) -> Result<()> {
        let rest = std::mem::take(&mut self.waiting);
        self.write_groups(&rest)?;
        match self.form {
            Form::Parquet(writer) => writer.finish(),
            Form::Text { file, .. } => file.finish(&self.path),
        }
    }

    fn write_groups(&mut self, rows: &[Impression]) -> Result<()> {
        let ids = self.ids;
        let groups: Vec<&[Impression]> = rows.chunks(GROUP).collect();
        match &mut self.form {
            Form::Parquet(writer) => writer.write(groups.len(), |group| columns(&ids, groups[group])),
            Form::Text { delimiter, file } => {
                let delimiter = *delimiter;
                let texts: Vec<_> = groups.par_iter().map(|rows| text(&ids, rows, delimiter)).collect();
                texts.iter().try_for_each(|text| file.write(text)).map_err(|e| Error::io(&self.path, e))
            }
        }
    }
}

fn no_form_to_write(path: &Path) -> Error {
    let endings = ".parquet, .csv or .tsv (the latter two also with .gz or .zst)";
    Error::input(path, format!("does not say its form, but the name of a log to write ends in {endings}"))
}

fn schema(ids: &Block<'_>) -> Schema {
    Schema::new(vec![
        Field::new("session", DataType::Int64, false),
        ids_field("user", ids.users),
        ids_field("query", ids.queries),
        ids_field("doc", ids.docs),
        Field::new("position", DataType::Int32, false),
        Field::new("click", DataType::Int8, false),
    ])
}

fn columns(ids: &Block<'_>, rows: &[Impression]) -> Vec<ArrayRef> {
    vec![
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.session as i64))),
        ids_array(ids.users, rows.iter().map(|row| row.user as usize)),
        ids_array(ids.queries, rows.iter().map(|row| row.query as usize)),
        ids_array(ids.docs, rows.iter().map(|row| row.doc as usize)),
        Arc::new(Int32Array::from_iter_values(rows.iter().map(|row| row.position as i32))),
        Arc::new(Int8Array::from_iter_values(rows.iter().map(|row| row.click as i8))),
    ]
}

fn text(ids: &Block<'_>, rows: &[Impression], delimiter: u8) -> Vec<u8> {
    let mut text = Vec::with_capacity(rows.len() * 32);
    for row in rows {
        push_number(&mut text, row.session as i64);
        for (ids, number) in [(ids.users, row.user), (ids.queries, row.query), (ids.docs, row.doc)] {
            text.push(delimiter);
            push_id(&mut text, ids, number as usize, delimiter);
        }
        text.push(delimiter);
        push_number(&mut text, i64::from(row.position));
        text.extend([delimiter, b'0' + u8::from(row.click), b'\n']);
    }
    text
}

fn push_number(text: &mut Vec<u8>, value: i64) {
    write!(text, "{value}").expect("memory takes any text");
}

fn push_id(text: &mut Vec<u8>, ids: &Ids, number: usize, delimiter: u8) {
    match ids {
        Ids::Integers(values) => push_number(text, values[number]),
        Ids::Texts(texts) => push_field(text, texts.get(number), delimiter),
    }
}

pub(crate) fn push_field(text: &mut Vec<u8>, field: &str, delimiter: u8) {
    if !field.bytes().any(|b| b == delimiter || matches!(b, b'"' | b'\n' | b'\r')) {
        return text.extend_from_slice(field.as_bytes());
    }
    text.push(b'"');
    text.extend_from_slice(field.replace('"', "\"\"").as_bytes());
    text.push(b'"');
}

/// A text file, compressed as its name says.
enum Compressor {
    Plain(AtomicFile),
    Gzip(flate2::write::GzEncoder<AtomicFile>),
    Zstd(zstd::Encoder<'static, AtomicFile>),
}

impl Form {
    fn text(path: &Path, delimiter: u8) -> Result<Self> {
        let failed = |e| Error::io(path, e);
        let file = AtomicFile::create(path)?;
        let ending = path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
        let mut file = match ending.as_str() {
            "gz" => Compressor::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::default())),
            "zst" | "zstd" => Compressor::Zstd(zstd_encoder(file, 3).map_err(failed)?),
            _ => Compressor::Plain(file),
        };
        let header = LogField::LOGGED.map(LogField::name).join(if delimiter == b',' { "," } else { "\t" }) + "\n";
        file.write(header.as_bytes()).map_err(failed)?;
        Ok(Form::Text { delimiter, file: Box::new(file) })
    }
}

impl Compressor {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match self {
            Compressor::Plain(file) => file.write_all(bytes),
            Compressor::Gzip(file) => file.write_all(bytes),
            Compressor::Zstd(file) => file.write_all(bytes),
        }
    }

    fn finish(self, path: &Path) -> Result<()> {
        let file = match self {
            Compressor::Plain(file) => Ok(file),
            Compressor::Gzip(file) => file.finish(),
            Compressor::Zstd(file) => file.finish(),
        };
        file.map_err(|e| Error::io(path, e))?.commit()
    }
}
