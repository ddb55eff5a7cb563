//! Tables in Parquet: typed and versioned files out, columns with clear errors in.

use std::cell::Cell;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::{KeyValue, ParquetMetaData, RowGroupMetaData};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use super::AtomicFile;
use super::pages::Pages;
use super::seal::{GroupSeals, group_notes, seal_table};
use crate::error::Place;
use crate::ids::{Ids, Interner};
use crate::{Error, Result};

/// The type and version that every file of ours carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileType {
    /// Such as `truerank/cells`.
    pub name: &'static str,
    /// Goes up when an older reader could misread the file.
    pub version: u32,
}

impl FileType {
    /// Checks what a file says about itself.
    pub fn check(&self, path: &Path, name: Option<&str>, version: Option<u64>) -> Result<()> {
        match (name, version) {
            (Some(name), _) if name != self.name => {
                Err(Error::input(path, format!("is a {name} file, but a {} file is expected", self.name)))
            }
            (Some(_), Some(version)) if version <= u64::from(self.version) => Ok(()),
            (Some(_), Some(version)) => Err(Error::input(
                path,
                format!("has version {version}, but this program reads up to {}; use a newer truerank", self.version),
            )),
            _ => Err(Error::input(
                path,
                format!("does not say that it is a {} file; was it made by truerank?", self.name),
            )),
        }
    }
}

const TYPE_KEY: &str = "truerank.type";
const VERSION_KEY: &str = "truerank.version";

/// Writes a Parquet file that appears only when it is complete.
pub struct TableWriter {
    path: PathBuf,
    schema: SchemaRef,
    writer: ArrowWriter<AtomicFile>,
}

impl TableWriter {
    /// Starts a table with these columns; `notes` are further key-value pairs of its metadata.
    pub fn create(path: &Path, file_type: FileType, fields: Vec<Field>, notes: &[(&str, String)]) -> Result<Self> {
        let schema = Arc::new(Schema::new(fields));
        let properties = properties(&schema, file_type, notes);
        let file = AtomicFile::create(path)?;
        let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties)).map_err(|e| failed(path, e))?;
        Ok(TableWriter { path: path.to_path_buf(), schema, writer })
    }

    /// Appends rows.
    pub fn write(&mut self, columns: Vec<ArrayRef>) -> Result<()> {
        let batch =
            RecordBatch::try_new(self.schema.clone(), columns).map_err(|e| Error::input(&self.path, e.to_string()))?;
        self.writer.write(&batch).map_err(|e| failed(&self.path, e))
    }

    /// Ends a row group, so that no more than it is held.
    pub fn end_group(&mut self) -> Result<()> {
        self.writer.flush().map_err(|e| failed(&self.path, e))
    }

    /// Completes the file.
    pub fn finish(mut self) -> Result<()> {
        let path = &self.path;
        self.writer.flush().map_err(|e| failed(path, e))?;
        self.writer.sync().map_err(|e| Error::io(path, e))?;
        let groups = self.writer.flushed_row_groups().to_vec();
        let notes = group_notes(&groups, self.writer.inner().file()).map_err(|e| Error::io(path, e))?;
        notes.into_iter().for_each(|note| self.writer.append_key_value_metadata(note));
        commit_table(path, &groups, self.writer.into_inner().map_err(|e| failed(path, e))?)
    }
}

/// Seals a table that is written otherwise, and makes it appear.
pub(super) fn commit_table(path: &Path, groups: &[RowGroupMetaData], mut file: AtomicFile) -> Result<()> {
    file.flush().and_then(|()| seal_table(groups, file.file())).map_err(|e| Error::io(path, e))?;
    file.commit()
}

/// How our tables are encoded: integers as packed differences (small and fast for sorted columns), text through a
/// dictionary, floats plain; zstd over all of it.
pub fn properties(schema: &Schema, file_type: FileType, notes: &[(&str, String)]) -> WriterProperties {
    let mut metadata = vec![
        KeyValue::new(TYPE_KEY.into(), file_type.name.to_string()),
        KeyValue::new(VERSION_KEY.into(), file_type.version.to_string()),
    ];
    metadata.extend(notes.iter().map(|(key, value)| KeyValue::new(format!("truerank.{key}"), value.clone())));
    let mut builder = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1).expect("1 is a zstd level")))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_key_value_metadata(Some(metadata));
    for field in schema.fields() {
        let column = ColumnPath::from(field.name().as_str());
        if field.data_type().is_integer() {
            builder = builder
                .set_column_dictionary_enabled(column.clone(), false)
                .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
        } else if field.data_type().is_floating() {
            builder = builder.set_column_dictionary_enabled(column, false);
        }
    }
    builder.build()
}

/// The column that holds such ids.
pub fn ids_field(name: &str, ids: &Ids) -> Field {
    let data_type = match ids {
        Ids::Integers(_) => DataType::Int64,
        Ids::Texts(_) => DataType::Utf8,
    };
    Field::new(name, data_type, false)
}

/// The ids with these numbers as a column.
pub fn ids_array(ids: &Ids, numbers: impl Iterator<Item = usize>) -> ArrayRef {
    match ids {
        Ids::Integers(values) => Arc::new(Int64Array::from_iter_values(numbers.map(|i| values[i]))),
        Ids::Texts(texts) => Arc::new(StringArray::from_iter_values(numbers.map(|i| texts.get(i)))),
    }
}

/// Reads a Parquet file batch after batch.
pub struct TableReader {
    path: PathBuf,
    /// Reads at places, so that the builder's place in the file does not matter.
    file: File,
    seals: GroupSeals,
    builder: ParquetRecordBatchReaderBuilder<Pages>,
}

impl TableReader {
    /// Opens any Parquet file.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|e| Error::io(path, e))?;
        if path.is_dir() {
            return Err(Error::input(path, "is a folder, but a Parquet file is expected here"));
        }
        // Without the writer's own Arrow types there are fewer to know: dictionaries (categories of pandas) read as
        // text, and lists of any kind as plain lists.
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let metadata = guarded(path, || ArrowReaderMetadata::load(&file, options))?;
        check_extents(path, &file, metadata.metadata())?;
        let seals = GroupSeals::open(path, &file, metadata.metadata())?;
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(
            Pages(file.try_clone().map_err(|e| Error::io(path, e))?),
            metadata,
        );
        Ok(TableReader { path: path.to_path_buf(), file, seals, builder })
    }

    /// Opens a file of ours and checks its type and version.
    pub fn open_as(path: &Path, file_type: FileType) -> Result<Self> {
        let reader = Self::open(path)?;
        let version = reader.note("version").and_then(|v| v.parse().ok());
        file_type.check(path, reader.note("type").as_deref(), version)?;
        Ok(reader)
    }

    /// The same, also for a file that says nothing of its type, as other programs leave it that have changed one of ours.
    pub fn open_as_or_plain(path: &Path, file_type: FileType) -> Result<Self> {
        let reader = Self::open(path)?;
        match reader.note("type") {
            Some(_) => Self::open_as(path, file_type),
            None => Ok(reader),
        }
    }

    /// The value of `truerank.<key>` in the file's metadata.
    pub fn note(&self, key: &str) -> Option<String> {
        let pairs = self.builder.metadata().file_metadata().key_value_metadata()?;
        pairs.iter().find(|pair| pair.key.strip_prefix("truerank.") == Some(key))?.value.clone()
    }

    /// The file's columns.
    pub fn schema(&self) -> &SchemaRef {
        self.builder.schema()
    }

    /// How many rows the file has.
    pub fn row_count(&self) -> usize {
        self.builder.metadata().file_metadata().num_rows() as usize
    }

    /// Hands every batch of rows to `take`; on several threads, the next one is decoded meanwhile.
    pub fn for_each(self, mut take: impl FnMut(&Columns<'_>) -> Result<()>) -> Result<()> {
        let path = self.path.clone();
        let mut batches = self.batches()?;
        let mut current = batches.read()?;
        while let Some((first_row, batch)) = current {
            let columns = Columns { path: &path, batch: &batch, first_row };
            let (next, taken) = batches.read_while(|| take(&columns));
            taken?;
            current = next?;
        }
        Ok(())
    }

    fn batches(self) -> Result<Batches> {
        let groups = first_rows(self.builder.metadata());
        let reader = guarded(&self.path, || self.builder.with_batch_size(BATCH as usize).build())?;
        Ok(Batches { path: self.path, file: self.file, seals: self.seals, groups, checked: 0, reader, next_row: 1 })
    }
}

/// Rows that are decoded at once.
const BATCH: u64 = 1 << 14;

/// Some rows, and the number of their first, from 1.
type NumberedRows = (u64, RecordBatch);

/// The rows of a table in order, sealed ones checked before they are decoded.
struct Batches {
    path: PathBuf,
    file: File,
    seals: GroupSeals,
    /// The rows before each row group, and how many of the groups are checked.
    groups: Vec<u64>,
    checked: usize,
    reader: ParquetRecordBatchReader,
    next_row: u64,
}

impl Batches {
    /// The next rows, read while `work` is done where there are threads for both.
    fn read_while<T>(&mut self, work: impl FnOnce() -> T) -> (Result<Option<NumberedRows>>, T) {
        if rayon::current_num_threads() == 1 {
            let done = work();
            return (self.read(), done);
        }
        let mut next = Ok(None);
        let done = rayon::in_place_scope(|scope| {
            scope.spawn(|_| next = self.read());
            work()
        });
        (next, done)
    }

    /// The next rows.
    fn read(&mut self) -> Result<Option<NumberedRows>> {
        let first_row = self.next_row;
        while self.groups.get(self.checked).is_some_and(|&before| before < first_row + BATCH) {
            self.seals.check(&self.file, self.checked)?;
            self.checked += 1;
        }
        let batch = guarded(&self.path, || Ok(self.reader.next().transpose()?))?;
        self.next_row += batch.as_ref().map_or(0, |batch| batch.num_rows() as u64);
        Ok(batch.map(|batch| (first_row, batch)))
    }
}

/// The rows before each row group.
pub fn first_rows(metadata: &ParquetMetaData) -> Vec<u64> {
    let mut rows = 0;
    let mut before = |group: &RowGroupMetaData| {
        let first = rows;
        rows += group.num_rows().max(0) as u64;
        first
    };
    metadata.row_groups().iter().map(&mut before).collect()
}

/// Refuses metadata that points outside its file, on which the decoder would panic.
pub fn check_extents(path: &Path, file: &File, metadata: &ParquetMetaData) -> Result<()> {
    let length = file.metadata().map_err(|e| Error::io(path, e))?.len();
    find_bad_extent(metadata, length).map_err(|cause| not_parquet(path, cause))
}

fn find_bad_extent(metadata: &ParquetMetaData, length: u64) -> std::result::Result<(), &'static str> {
    let mut row_count: i64 = 0;
    for group in metadata.row_groups() {
        row_count = row_count.checked_add(group.num_rows()).filter(|_| group.num_rows() >= 0).ok_or("bad row count")?;
        for column in group.columns() {
            let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
            let numbers = [start, column.data_page_offset(), column.compressed_size(), column.num_values()];
            if numbers.iter().any(|&number| number < 0) || column.uncompressed_size() < 0 {
                return Err("a column has a negative size");
            }
            if start.checked_add(column.compressed_size()).is_none_or(|end| end as u64 > length) {
                return Err("a column reaches past the end");
            }
        }
    }
    if row_count == metadata.file_metadata().num_rows() { Ok(()) } else { Err("row counts do not add up") }
}

/// The error for a failed write or read.
pub fn failed(path: &Path, error: parquet::errors::ParquetError) -> Error {
    match error {
        parquet::errors::ParquetError::External(cause) => match cause.downcast::<std::io::Error>() {
            Ok(cause) => Error::io(path, *cause),
            Err(cause) => Error::input(path, cause.to_string()),
        },
        other => Error::input(path, other.to_string()),
    }
}

/// The error for a file that is damaged or no Parquet.
pub fn not_parquet(path: &Path, cause: &str) -> Error {
    // The decoder's errors wrap each other.
    let wrappers = ["Parquet error: ", "Parquet argument error: ", "External: ", "EOF: ", "Invalid Parquet file. "];
    let mut cause = cause;
    while let Some(inner) = wrappers.iter().find_map(|wrapper| cause.strip_prefix(wrapper)) {
        cause = inner;
    }
    let cause = cause.replace('\n', " ");
    Error::input(path, format!("is not a complete Parquet file ({cause}); write or fetch it again"))
}

thread_local! {
    /// Whether this thread is in a step of decoding.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread, now, would become an error about a damaged file. A program's panic hook can ask
/// this, and say nothing then: the error says it.
pub fn panic_becomes_error() -> bool {
    GUARDED.get()
}

/// Runs a step of decoding Parquet, which panics on some kinds of damage, and makes that an error too.
pub fn guarded<T>(path: &Path, step: impl FnOnce() -> Result<T, parquet::errors::ParquetError>) -> Result<T> {
    GUARDED.set(true);
    // Nothing of a failed step is used again: its reader is dropped with the error.
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(step));
    GUARDED.set(false);
    match outcome {
        Ok(outcome) => outcome.map_err(|e| not_parquet(path, &e.to_string())),
        Err(_) => Err(not_parquet(path, "its content contradicts itself")),
    }
}

/// One batch of rows, with columns by name and as the types we need.
pub struct Columns<'a> {
    path: &'a Path,
    batch: &'a RecordBatch,
    first_row: u64,
}

impl<'a> Columns<'a> {
    /// How many rows the batch has.
    pub fn len(&self) -> usize {
        self.batch.num_rows()
    }

    /// Whether the batch has no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where row `index` of this batch stands in the file.
    pub fn place(&self, index: usize) -> Place {
        Place::row(self.path, self.first_row + index as u64)
    }

    /// Whether there is a column `name`.
    pub fn has(&self, name: &str) -> bool {
        self.batch.column_by_name(name).is_some()
    }

    /// Column `name`, which must exist and have no missing values.
    pub fn get(&self, name: &str) -> Result<&'a ArrayRef> {
        let column = self.get_with_missing(name)?;
        match column.nulls().filter(|n| n.null_count() > 0) {
            None => Ok(column),
            Some(nulls) => {
                let row = (0..self.len()).find(|&i| nulls.is_null(i)).unwrap_or(0);
                Err(self.place(row).error(format!("{name} is missing, but every row needs one")))
            }
        }
    }

    /// Column `name`, which must exist and may have missing values.
    pub fn get_with_missing(&self, name: &str) -> Result<&'a ArrayRef> {
        self.batch.column_by_name(name).ok_or_else(|| {
            let names: Vec<_> = self.batch.schema_ref().fields().iter().map(|f| f.name().clone()).collect();
            Error::input(self.path, format!("has no column '{name}', but needs one; it has {}", names.join(", ")))
        })
    }

    /// Column `name` as whole numbers.
    pub fn integers(&self, name: &str) -> Result<Vec<i64>> {
        let column = self.get(name)?;
        integers(column).ok_or_else(|| self.wrong_type(name, column, "whole numbers"))
    }

    /// Column `name` as counts: whole numbers from 0.
    pub fn counts(&self, name: &str) -> Result<Vec<u64>> {
        let counts = self.integers(name)?.into_iter().enumerate();
        counts
            .map(|(i, v)| {
                u64::try_from(v).map_err(|_| self.place(i).error(format!("{name} is {v}, but counts start at 0")))
            })
            .collect()
    }

    /// Column `name` as counts, also as floats: other programs turn whole numbers into these where one was missing.
    pub fn counts_or_floats(&self, name: &str) -> Result<Vec<u64>> {
        if !self.get(name)?.data_type().is_floating() {
            return self.counts(name);
        }
        let whole = |(i, value): (usize, f64)| match value.fract() == 0.0 && (0.0..=u64::MAX as f64).contains(&value) {
            true => Ok(value as u64),
            false => Err(self.place(i).error(format!("{name} is {value}, but counts are whole numbers from 0"))),
        };
        self.floats(name)?.into_iter().enumerate().map(whole).collect()
    }

    /// Column `name` as positions: whole numbers from 1.
    pub fn positions(&self, name: &str) -> Result<Vec<u32>> {
        let positions = self.integers(name)?.into_iter().enumerate();
        positions
            .map(|(i, v)| match u32::try_from(v) {
                Ok(position) if position > 0 => Ok(position),
                _ => Err(self.place(i).error(format!("{name} is {v}, but positions start at 1"))),
            })
            .collect()
    }

    /// Column `name` as floating-point numbers.
    pub fn floats(&self, name: &str) -> Result<Vec<f64>> {
        let column = self.get(name)?;
        floats(column).ok_or_else(|| self.wrong_type(name, column, "numbers"))
    }

    /// The same where there is such a column: files of earlier versions lack some.
    pub fn optional_floats(&self, name: &str) -> Result<Option<Vec<f64>>> {
        self.get(name).ok().map(|_| self.floats(name)).transpose()
    }

    /// The numbers that `interner` gives to the ids in column `name`.
    pub fn ids(&self, name: &str, interner: &mut Interner) -> Result<Vec<u32>> {
        let column = self.get(name)?;
        if let Some(values) = integers(column) {
            return Ok(values.into_iter().map(|v| interner.integer(v)).collect());
        }
        let texts: Vec<u32> = match column.data_type() {
            DataType::Utf8 => column.as_string::<i32>().iter().flatten().map(|t| interner.text(t)).collect(),
            DataType::LargeUtf8 => column.as_string::<i64>().iter().flatten().map(|t| interner.text(t)).collect(),
            DataType::Utf8View => column.as_string_view().iter().flatten().map(|t| interner.text(t)).collect(),
            _ => return Err(self.wrong_type(name, column, "text or whole numbers")),
        };
        Ok(texts)
    }

    fn wrong_type(&self, name: &str, column: &ArrayRef, wanted: &str) -> Error {
        Error::input(self.path, format!("column '{name}' has type {}, but needs {wanted}", column.data_type()))
    }
}

/// An integer or boolean column as `i64`; `None` where it is neither, or a value does not fit.
pub fn integers(column: &ArrayRef) -> Option<Vec<i64>> {
    macro_rules! as_i64 {
        ($type:ty) => {
            column.as_primitive::<$type>().values().iter().map(|&v| i64::try_from(v).ok()).collect()
        };
    }
    match column.data_type() {
        DataType::Int8 => as_i64!(Int8Type),
        DataType::Int16 => as_i64!(Int16Type),
        DataType::Int32 => as_i64!(Int32Type),
        DataType::Int64 => as_i64!(Int64Type),
        DataType::UInt8 => as_i64!(UInt8Type),
        DataType::UInt16 => as_i64!(UInt16Type),
        DataType::UInt32 => as_i64!(UInt32Type),
        DataType::UInt64 => as_i64!(UInt64Type),
        DataType::Boolean => Some(column.as_boolean().values().iter().map(i64::from).collect()),
        _ => None,
    }
}

/// A numeric column as `f64`.
pub fn floats(column: &ArrayRef) -> Option<Vec<f64>> {
    match column.data_type() {
        DataType::Float64 => Some(column.as_primitive::<Float64Type>().values().to_vec()),
        DataType::Float32 => {
            Some(column.as_primitive::<Float32Type>().values().iter().map(|&v| f64::from(v)).collect())
        }
        DataType::Float16 => {
            Some(column.as_primitive::<Float16Type>().values().iter().map(|&v| f64::from(v)).collect())
        }
        _ => integers(column).map(|values| values.into_iter().map(|v| v as f64).collect()),
    }
}
