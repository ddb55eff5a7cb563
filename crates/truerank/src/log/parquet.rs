//! Reads Parquet logs: row groups to rows, each group independently, only the six columns that matter.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};

use super::columns::{Columns, FIELDS};
use super::rows::{IdColumn, Rows};
use super::values::*;
use crate::error::Place;
use crate::files::table::{floats, guarded, integers, not_parquet};
use crate::{Error, Result};

/// Rows handed over at a time: bounds the memory of a large row group.
const ROWS: usize = 1 << 18;
const BATCH: usize = 1 << 15;

/// A Parquet file whose columns have been checked.
pub(crate) struct ParquetFile {
    path: PathBuf,
    metadata: ArrowReaderMetadata,
    /// Where the six fields stand among the columns of the file.
    fields: [usize; 6],
    /// Rows before each row group.
    first_rows: Vec<u64>,
}

/// The row of a batch that breaks a rule, and how.
type RowFault = (usize, String);

impl ParquetFile {
    pub fn open(path: &Path, columns: &Columns) -> Result<Self> {
        if path.is_dir() {
            return Err(Error::input(path, "is a folder, but a Parquet file is expected here"));
        }
        let file = File::open(path).map_err(|e| Error::io(path, e))?;
        // Text is asked for as dictionaries whatever the writer held it as, so that each value is looked up once.
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let metadata = guarded(path, || ArrowReaderMetadata::load(&file, options))?;
        check_offsets(path, &metadata)?;
        let names: Vec<_> = metadata.schema().fields().iter().map(|f| f.name().clone()).collect();
        let fields = columns.find(path, &names)?;
        let schema = schema_to_read(path, metadata.schema(), &fields)?;
        let options = ArrowReaderOptions::new().with_schema(Arc::new(schema));
        let metadata = guarded(path, || ArrowReaderMetadata::try_new(metadata.metadata().clone(), options))?;
        let mut rows = 0;
        let mut first_rows = Vec::new();
        for group in metadata.metadata().row_groups() {
            first_rows.push(rows);
            rows += u64::try_from(group.num_rows()).map_err(|_| not_parquet(path, "a row group has negative rows"))?;
        }
        Ok(ParquetFile { path: path.to_path_buf(), metadata, fields, first_rows })
    }

    pub fn chunk_count(&self) -> usize {
        self.first_rows.len()
    }

    /// Reads one row group and hands it over in pieces.
    pub fn read(&self, chunk: usize, take: &mut dyn FnMut(Rows)) -> Result<()> {
        let order = self.order();
        let mut row = self.first_rows[chunk] + 1;
        let mut rows = Rows::default();
        let mut batches = self.batches(chunk, &self.fields)?;
        while let Some(batch) = self.next(&mut batches)? {
            push_batch(&batch, &order, &mut rows)
                .map_err(|(i, finding)| Place::row(&self.path, row + i as u64).error(finding))?;
            row += batch.num_rows() as u64;
            if rows.len() >= ROWS {
                take(std::mem::take(&mut rows));
            }
        }
        take(rows);
        Ok(())
    }

    /// Where row `row` of a row group stands, and the text of its session.
    pub fn locate(&self, chunk: usize, row: usize) -> Result<(Place, String)> {
        let place = Place::row(&self.path, self.first_rows[chunk] + row as u64 + 1);
        let mut left = row;
        let mut batches = self.batches(chunk, &self.fields[..1])?;
        while let Some(batch) = self.next(&mut batches)? {
            if left < batch.num_rows() {
                return Ok((place, text_at(batch.column(0), left)));
            }
            left -= batch.num_rows();
        }
        Ok((place, String::new()))
    }

    fn batches(&self, chunk: usize, fields: &[usize]) -> Result<ParquetRecordBatchReader> {
        // Each task opens the file itself: copies of one handle would share its place in the file.
        let file = File::open(&self.path).map_err(|e| Error::io(&self.path, e))?;
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone());
        let columns = ProjectionMask::roots(builder.parquet_schema(), fields.iter().copied());
        let builder = builder.with_row_groups(vec![chunk]).with_projection(columns).with_batch_size(BATCH);
        guarded(&self.path, || builder.build())
    }

    fn next(&self, batches: &mut ParquetRecordBatchReader) -> Result<Option<RecordBatch>> {
        guarded(&self.path, || Ok(batches.next().transpose()?))
    }

    /// Where the six fields stand among the columns of a batch, which come in the order of the file.
    fn order(&self) -> [usize; 6] {
        let mut read = self.fields.to_vec();
        read.sort_unstable();
        read.dedup();
        self.fields.map(|field| read.partition_point(|&f| f < field))
    }
}

/// Columns must lie where a file can have them.
fn check_offsets(path: &Path, metadata: &ArrowReaderMetadata) -> Result<()> {
    let columns = metadata.metadata().row_groups().iter().flat_map(|group| group.columns());
    let is_bad = |column: &parquet::file::metadata::ColumnChunkMetaData| {
        let start = column.dictionary_page_offset().unwrap_or(0).min(column.data_page_offset());
        start < 0 || column.compressed_size() < 0
    };
    match columns.into_iter().any(is_bad) {
        true => Err(not_parquet(path, "a column has a negative place or length")),
        false => Ok(()),
    }
}

/// The schema with the text columns that matter as dictionaries; other columns as they are.
fn schema_to_read(path: &Path, schema: &Schema, fields: &[usize; 6]) -> Result<Schema> {
    let mut columns: Vec<Arc<Field>> = schema.fields().iter().cloned().collect();
    for (&at, name) in fields.iter().zip(FIELDS) {
        let field = &schema.fields()[at];
        let is_number = name == "position" || name == "click";
        match field.data_type() {
            DataType::Utf8 => {
                let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
                columns[at] = Arc::new(field.as_ref().clone().with_data_type(dictionary));
            }
            DataType::Float32 | DataType::Float64 if is_number => {}
            DataType::Boolean if name == "click" => {}
            kind if kind.is_integer() => {}
            kind => {
                let wanted = if is_number { "numbers" } else { "text or whole numbers" };
                let finding = format!("column '{}' has type {kind}, but {name} needs {wanted}", field.name());
                return Err(Error::input(path, finding));
            }
        }
    }
    Ok(Schema::new(columns))
}

/// Appends a batch, or names its first bad row.
fn push_batch(batch: &RecordBatch, order: &[usize; 6], rows: &mut Rows) -> Result<(), RowFault> {
    let [session, user, query, doc, position, click] = order.map(|at| batch.column(at));
    let outcomes = [
        push_sessions(session, &mut rows.sessions),
        push_ids(user, &mut rows.users, 1),
        push_ids(query, &mut rows.queries, 2),
        push_ids(doc, &mut rows.docs, 3),
        push_values(position, 4, &mut rows.positions, position_of_integer, position_of_float, position_of_text),
        push_values(click, 5, &mut rows.clicks, click_of_integer, click_of_float, click_of_text),
    ];
    match outcomes.into_iter().filter_map(Result::err).min_by_key(|fault| fault.0) {
        Some(fault) => Err(fault),
        None => Ok(()),
    }
}

/// The first missing value, if any.
fn first_null(column: &ArrayRef, field: usize) -> Option<RowFault> {
    let nulls = column.nulls().filter(|nulls| nulls.null_count() > 0)?;
    let row = (0..column.len()).find(|&i| nulls.is_null(i))?;
    Some((row, format!("{} is missing, but every impression needs one", FIELDS[field])))
}

fn unreadable(column: &ArrayRef, field: usize) -> RowFault {
    (0, format!("{} has type {}, or a value past the range of whole numbers", FIELDS[field], column.data_type()))
}

fn push_sessions(column: &ArrayRef, sessions: &mut Vec<u64>) -> Result<(), RowFault> {
    let null = first_null(column, 0);
    match column.data_type() {
        DataType::Int64 => sessions.extend(column.as_primitive::<Int64Type>().values().iter().map(|&v| v as u64)),
        DataType::UInt64 => sessions.extend_from_slice(column.as_primitive::<UInt64Type>().values()),
        DataType::Dictionary(..) => push_texts(column, 0, sessions, |text| Ok(session_of_text(text)))?,
        _ => {
            let values = integers(column).ok_or_else(|| unreadable(column, 0))?;
            sessions.extend(values.into_iter().map(|v| v as u64));
        }
    }
    null.map_or(Ok(()), Err)
}

fn push_ids(column: &ArrayRef, ids: &mut IdColumn, field: usize) -> Result<(), RowFault> {
    if let Some(fault) = first_null(column, field) {
        return Err(fault);
    }
    match column.data_type() {
        DataType::Int64 => column.as_primitive::<Int64Type>().values().iter().for_each(|&v| ids.push_integer(v)),
        // What does not fit an integer id is its text.
        DataType::UInt64 => column.as_primitive::<UInt64Type>().values().iter().for_each(|&v| ids.push_unsigned(v)),
        DataType::Dictionary(..) => {
            let mut codes = std::mem::take(&mut ids.codes);
            let outcome = push_texts(column, field, &mut codes, |text| Ok(ids.code_of_text(text)));
            ids.codes = codes;
            outcome?;
        }
        _ => {
            let values = integers(column).ok_or_else(|| unreadable(column, field))?;
            values.into_iter().for_each(|v| ids.push_integer(v));
        }
    }
    Ok(())
}

/// Appends a column of text, each distinct value of which is looked at once; an empty text is a fault.
fn push_texts<T: Copy>(
    column: &ArrayRef,
    field: usize,
    values: &mut Vec<T>,
    mut value: impl FnMut(&str) -> Result<T, String>,
) -> Result<(), RowFault> {
    if let Some(fault) = first_null(column, field) {
        return Err(fault);
    }
    let column = column.as_dictionary::<Int32Type>();
    let texts = column.values().as_string::<i32>();
    let mut known: Vec<Option<T>> = vec![None; texts.len()];
    for (row, &key) in column.keys().values().iter().enumerate() {
        let known = &mut known[key as usize];
        if known.is_none() {
            let text = texts.value(key as usize);
            if text.is_empty() && field < 4 {
                return Err((row, format!("{} is empty, but every impression needs one", FIELDS[field])));
            }
            *known = Some(value(text).map_err(|finding| (row, finding))?);
        }
        values.extend(*known);
    }
    Ok(())
}

/// Appends a column of positions or clicks.
fn push_values<T: Copy>(
    column: &ArrayRef,
    field: usize,
    values: &mut Vec<T>,
    of_integer: fn(i64) -> Result<T, String>,
    of_float: fn(f64) -> Result<T, String>,
    of_text: fn(&str) -> Result<T, String>,
) -> Result<(), RowFault> {
    let null = first_null(column, field);
    let before_null = null.as_ref().map_or(column.len(), |fault| fault.0);
    match column.data_type() {
        DataType::Dictionary(..) => push_texts(column, field, values, of_text)?,
        DataType::Float32 | DataType::Float64 => {
            let floats = floats(column).ok_or_else(|| unreadable(column, field))?;
            push_each(&floats[..before_null], values, of_float)?;
        }
        DataType::Int32 => push_each(&column.as_primitive::<Int32Type>().values()[..before_null], values, |v| {
            of_integer(i64::from(v))
        })?,
        DataType::Int8 => {
            push_each(&column.as_primitive::<Int8Type>().values()[..before_null], values, |v| of_integer(i64::from(v)))?
        }
        _ => {
            let integers = integers(column).ok_or_else(|| unreadable(column, field))?;
            push_each(&integers[..before_null], values, of_integer)?;
        }
    }
    null.map_or(Ok(()), Err)
}

fn push_each<V: Copy, T>(
    from: &[V],
    values: &mut Vec<T>,
    convert: impl Fn(V) -> Result<T, String>,
) -> Result<(), RowFault> {
    values.reserve(from.len());
    for (row, &value) in from.iter().enumerate() {
        values.push(convert(value).map_err(|finding| (row, finding))?);
    }
    Ok(())
}

/// The text of a value of an id column.
fn text_at(column: &ArrayRef, row: usize) -> String {
    match column.data_type() {
        DataType::Dictionary(..) => {
            let column = column.as_dictionary::<Int32Type>();
            column.values().as_string::<i32>().value(column.keys().values()[row] as usize).to_string()
        }
        DataType::UInt64 => column.as_primitive::<UInt64Type>().value(row).to_string(),
        _ => integers(column).map(|values| values[row].to_string()).unwrap_or_default(),
    }
}
