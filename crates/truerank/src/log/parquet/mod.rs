//! Reads Parquet logs: row groups to rows, each group independently, only the columns that matter.

mod columns;
mod value;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field as Column, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};

use super::bad_rows::BadRow;
use super::build::RowBuilder;
use super::columns::Field;
use super::layout::Layout;
use super::options::ReadOptions;
use super::pages::find_lists;
use super::record::Record;
use super::rows::Rows;
use crate::error::Place;
use crate::files::table::{guarded, not_parquet};
use crate::{Error, Result};
use value::BatchRow;

/// Rows handed over at a time: bounds the memory of a large row group.
const ROWS: usize = 1 << 18;
const BATCH: usize = 1 << 15;
/// So many of the first rows show what lists hold.
const SAMPLE: usize = 1000;

/// A Parquet file whose columns have been checked.
pub(crate) struct ParquetFile {
    path: PathBuf,
    metadata: ArrowReaderMetadata,
    layout: Layout,
    /// Rows before each row group.
    first_rows: Vec<u64>,
    stops: bool,
    places: bool,
}

impl ParquetFile {
    pub fn open(path: &Path, options: &ReadOptions, notes: &mut Vec<String>) -> Result<Self> {
        if path.is_dir() {
            return Err(Error::input(path, "is a folder, but a Parquet file is expected here"));
        }
        let file = File::open(path).map_err(|e| Error::io(path, e))?;
        let metadata = guarded(path, || {
            ArrowReaderMetadata::load(&file, ArrowReaderOptions::new().with_skip_arrow_metadata(true))
        })?;
        check_offsets(path, &metadata)?;
        let names: Vec<_> = metadata.schema().fields().iter().map(|f| f.name().clone()).collect();
        let layout = Layout::find(path, &names, options)?;
        let schema = schema_to_read(path, metadata.schema(), &layout)?;
        let reading = ArrowReaderOptions::new().with_schema(Arc::new(schema));
        let metadata = guarded(path, || ArrowReaderMetadata::try_new(metadata.metadata().clone(), reading))?;
        let first_rows = first_rows(path, &metadata)?;
        let (stops, places) = (!options.skips(), options.places);
        let mut file = ParquetFile { path: path.to_path_buf(), metadata, layout, first_rows, stops, places };
        file.find_lists(options, &names, notes)?;
        file.layout.check_position(path, &names)?;
        Ok(file)
    }

    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    #[cfg(feature = "spark")]
    pub fn columns(&self) -> Vec<(String, super::shape::ColumnKind)> {
        let fields = self.metadata.schema().fields().iter();
        fields.map(|field| (field.name().clone(), kind_of(field.data_type()))).collect()
    }

    /// The exact types of the columns that are read.
    #[cfg(feature = "spark")]
    pub fn types(&self) -> Vec<String> {
        let schema = self.metadata.schema();
        self.layout.columns().into_iter().map(|at| schema.field(at).data_type().to_string()).collect()
    }

    pub fn chunk_count(&self) -> usize {
        self.first_rows.len()
    }

    /// Reads one row group and hands it over in pieces; returns its bad rows, only the first if the log is refused for
    /// it.
    pub fn read(&self, chunk: usize, take: &mut dyn FnMut(Rows)) -> Result<Vec<BadRow>> {
        let layout = self.batch_layout();
        let is_plain = layout.is_plain() && !self.places;
        let mut row = self.first_rows[chunk] + 1;
        let mut rows = Rows::default();
        let mut builder = RowBuilder::new(&layout, self.places);
        let mut bad = Vec::new();
        let mut batches = self.batches(chunk, BATCH)?;
        while let Some(batch) = self.next(&mut batches)? {
            if !is_plain || !columns::push_batch(&batch, &layout, &mut rows) {
                self.push_each(&batch, row, &mut builder, &mut bad);
            }
            if self.stops && !bad.is_empty() {
                return Ok(bad);
            }
            row += batch.num_rows() as u64;
            if rows.len() >= ROWS {
                take(std::mem::take(&mut rows));
            }
            if builder.len() >= ROWS {
                take(builder.take());
            }
        }
        take(rows);
        take(builder.into_rows());
        Ok(bad)
    }

    /// Where the fields stand among the columns of a batch, which come in the order of the file.
    fn batch_layout(&self) -> Layout {
        let columns = self.layout.columns();
        let mut layout = self.layout.clone();
        layout.renumber(|column| columns.partition_point(|&c| c < column));
        layout
    }

    /// Row by row: for lists, and for batches with bad rows.
    fn push_each(&self, batch: &RecordBatch, first: u64, builder: &mut RowBuilder<'_>, bad: &mut Vec<BadRow>) {
        for row in 0..batch.num_rows() {
            let record = BatchRow { batch, row, number: first + row as u64 };
            if let Err(fault) = builder.push(&record) {
                bad.push(BadRow { place: Place::row(&self.path, record.number), fault, raw: record.raw() });
                if self.stops {
                    return;
                }
            }
        }
    }

    fn find_lists(&mut self, options: &ReadOptions, names: &[String], notes: &mut Vec<String>) -> Result<()> {
        if self.chunk_count() == 0 || self.metadata.schema().field(self.layout.doc).data_type().is_integer() {
            return Ok(());
        }
        let Some(batch) = self.next(&mut self.batches(0, SAMPLE)?)? else { return Ok(()) };
        let layout = self.batch_layout();
        let rows: Vec<_> = (0..batch.num_rows()).map(|row| BatchRow { batch: &batch, row, number: 0 }).collect();
        if let Some((lists, note)) = find_lists(&self.path, &layout, &names[self.layout.doc], options, &rows)? {
            self.layout.lists = Some(lists);
            notes.push(note);
        }
        Ok(())
    }

    fn batches(&self, chunk: usize, size: usize) -> Result<ParquetRecordBatchReader> {
        // Each task opens the file itself: copies of one handle would share its place in the file.
        let file = File::open(&self.path).map_err(|e| Error::io(&self.path, e))?;
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone());
        let columns = ProjectionMask::roots(builder.parquet_schema(), self.layout.columns());
        let builder = builder.with_row_groups(vec![chunk]).with_projection(columns).with_batch_size(size);
        guarded(&self.path, || builder.build())
    }

    fn next(&self, batches: &mut ParquetRecordBatchReader) -> Result<Option<RecordBatch>> {
        guarded(&self.path, || Ok(batches.next().transpose()?))
    }
}

#[cfg(feature = "spark")]
fn kind_of(data_type: &DataType) -> super::shape::ColumnKind {
    use super::shape::ColumnKind;
    match data_type {
        DataType::UInt64 => ColumnKind::Unsigned,
        kind if kind.is_integer() => ColumnKind::Integer,
        DataType::Float32 | DataType::Float64 => ColumnKind::Float,
        DataType::Timestamp(..) | DataType::Date32 | DataType::Date64 => ColumnKind::Time,
        DataType::Boolean => ColumnKind::Any,
        _ => ColumnKind::Text,
    }
}

fn first_rows(path: &Path, metadata: &ArrowReaderMetadata) -> Result<Vec<u64>> {
    let mut rows = 0;
    let mut first_rows = Vec::new();
    for group in metadata.metadata().row_groups() {
        first_rows.push(rows);
        rows += u64::try_from(group.num_rows()).map_err(|_| not_parquet(path, "a row group has negative rows"))?;
    }
    Ok(first_rows)
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

/// The schema with the text columns that matter as dictionaries, so that each value is looked up once; other columns
/// as they are.
fn schema_to_read(path: &Path, schema: &Schema, layout: &Layout) -> Result<Schema> {
    let mut columns: Vec<Arc<Column>> = schema.fields().iter().cloned().collect();
    for at in layout.columns() {
        let column = &schema.fields()[at];
        match column.data_type() {
            DataType::Utf8 => {
                let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
                columns[at] = Arc::new(column.as_ref().clone().with_data_type(dictionary));
            }
            kind => check_type(path, column.name(), kind, at, layout)?,
        }
    }
    Ok(Schema::new(columns))
}

fn check_type(path: &Path, name: &str, kind: &DataType, at: usize, layout: &Layout) -> Result<()> {
    let is_list = matches!(kind, DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..));
    let is_number = kind.is_integer() || matches!(kind, DataType::Float32 | DataType::Float64);
    let is_time = matches!(kind, DataType::Timestamp(..) | DataType::Date32 | DataType::Date64);
    let is_flag = *kind == DataType::Boolean;
    let rules: [(Field, bool, bool, &str); 7] = [
        (Field::Session, layout.session.contains(&at), kind.is_integer() || is_time, "text or whole numbers"),
        (Field::User, layout.user == Some(at), kind.is_integer(), "text or whole numbers"),
        (Field::Query, layout.query == at, kind.is_integer(), "text or whole numbers"),
        (Field::Doc, layout.doc == at, kind.is_integer() || is_list, "text or whole numbers, or lists of them"),
        (Field::Position, layout.position == Some(at), is_number || is_list, "numbers"),
        (Field::Click, layout.click == at, is_number || is_flag || is_list, "numbers"),
        (Field::Time, layout.time == Some(at), is_number || is_time, "times or numbers"),
    ];
    let broken = rules.iter().find(|(_, is_read, is_good, _)| *is_read && !is_good);
    let finding = match broken {
        Some((field, _, _, wanted)) => {
            format!("column '{name}' has type {kind}, but {} needs {wanted}", field.name())
        }
        None if layout.numbers.contains(&at) && !(is_number || is_flag || is_list) => {
            format!("column '{name}' has type {kind}, but numbers are needed")
        }
        None => return Ok(()),
    };
    Err(Error::input(path, finding))
}
