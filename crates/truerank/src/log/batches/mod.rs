//! Turns record batches into rows, wherever they come from: a Parquet file or a table in memory.

mod columns;
mod texts;
mod types;
mod value;

use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::bad_rows::BadRow;
use super::build::RowBuilder;
use super::layout::Layout;
use super::missing::refuse_header;
use super::options::ReadOptions;
use super::pages::find_lists;
use super::record::Record;
use super::rows::Rows;
use crate::Result;
use crate::error::Place;
use value::BatchRow;

/// Rows handed over at a time: bounds the memory of a large chunk.
pub(super) const ROWS: usize = 1 << 18;
/// Fewer where their ids take so many bytes: each thread has a piece in memory.
const BYTES: usize = 8 << 20;
const BATCH: usize = 1 << 15;
/// So many of the first rows show what lists hold.
const SAMPLE: usize = 1000;

/// Record batches in chunks that can be read on any thread.
pub(super) trait BatchSource: Send + Sync {
    /// The columns of all batches.
    fn schema(&self) -> &SchemaRef;

    /// Rows before each chunk.
    fn first_rows(&self) -> &[u64];

    /// The batches of a chunk, each with at most `size` rows and with these columns alone.
    fn batches(&self, chunk: usize, columns: &[usize], size: usize) -> Result<Batches<'_>>;
}

/// Batches one after another.
pub(super) type Batches<'a> = Box<dyn Iterator<Item = Result<RecordBatch>> + 'a>;

/// A log of record batches, whose columns have been checked.
pub(super) struct BatchLog {
    path: PathBuf,
    source: Box<dyn BatchSource>,
    layout: Layout,
    stops: bool,
    places: bool,
}

impl BatchLog {
    pub fn open(
        path: &Path,
        source: Box<dyn BatchSource>,
        options: &ReadOptions,
        notes: &mut Vec<String>,
    ) -> Result<Self> {
        refuse_header(path, options, "no text")?;
        let names: Vec<_> = source.schema().fields().iter().map(|field| field.name().clone()).collect();
        let layout = Layout::find(path, &names, options)?;
        types::check_types(path, source.schema(), &layout)?;
        let (stops, places) = (!options.skips(), options.more.places);
        let mut log = BatchLog { path: path.to_path_buf(), source, layout, stops, places };
        log.find_lists(options, &names, notes)?;
        log.layout.check(path, &names, options)?;
        Ok(log)
    }

    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    pub fn chunk_count(&self) -> usize {
        self.source.first_rows().len()
    }

    pub fn columns(&self) -> Vec<(String, super::shape::ColumnKind)> {
        let fields = self.source.schema().fields().iter();
        fields.map(|field| (field.name().clone(), types::kind_of(field.data_type()))).collect()
    }

    /// The exact types of the columns that are read.
    pub fn types(&self) -> Vec<String> {
        let schema = self.source.schema();
        self.layout.columns().into_iter().map(|at| schema.field(at).data_type().to_string()).collect()
    }

    /// Reads one chunk and hands it over in pieces; returns its bad rows, only the first if the log is refused for it.
    pub fn read(&self, chunk: usize, take: &mut dyn FnMut(Rows)) -> Result<Vec<BadRow>> {
        let layout = self.batch_layout();
        let is_plain = layout.is_plain() && !self.places;
        let mut row = self.source.first_rows()[chunk] + 1;
        let mut builder = RowBuilder::new(&layout, self.places);
        let mut bad = Vec::new();
        for batch in self.source.batches(chunk, &self.layout.columns(), BATCH)? {
            let batch = batch?;
            if !is_plain || !columns::push_batch(&batch, &layout, builder.rows()) {
                self.push_each(&batch, row, &mut builder, &mut bad);
            }
            if self.stops && !bad.is_empty() {
                return Ok(bad);
            }
            row += batch.num_rows() as u64;
            if builder.len() >= ROWS || builder.rows().id_bytes() >= BYTES {
                take(builder.take());
            }
        }
        take(builder.into_rows());
        Ok(bad)
    }

    /// Where the fields stand among the columns of a batch, which come in the order of the source.
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
        let docs = self.source.schema().field(self.layout.doc).data_type();
        if self.chunk_count() == 0 || types::value_type(docs).is_integer() {
            return Ok(());
        }
        let sample = self.sample()?;
        let rows =
            sample.iter().flat_map(|batch| (0..batch.num_rows()).map(move |row| BatchRow { batch, row, number: 0 }));
        let rows: Vec<_> = rows.take(SAMPLE).collect();
        if let Some((lists, note)) =
            find_lists(&self.path, &self.batch_layout(), &names[self.layout.doc], options, &rows)?
        {
            self.layout.lists = Some(lists);
            notes.push(note);
        }
        Ok(())
    }

    /// Batches that hold the first rows.
    fn sample(&self) -> Result<Vec<RecordBatch>> {
        let mut sample = Vec::new();
        let mut missing = SAMPLE;
        let mut batches = self.source.batches(0, &self.layout.columns(), SAMPLE)?;
        while let Some(batch) = batches.next().filter(|_| missing > 0).transpose()? {
            missing = missing.saturating_sub(batch.num_rows());
            sample.push(batch);
        }
        Ok(sample)
    }
}
