//! Tables in memory as logs: record batches, with a name by which messages call them.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};

use super::batches::{BatchSource, Batches, ROWS};
use super::expand::STDIN;
use super::layout::Layout;
use super::options::ReadOptions;
use crate::{Error, Result};

/// A table in memory that is read as a log, by the rules for a Parquet file with the same rows.
///
/// Text may be plain, a view or a dictionary. [`LogSource::table`](crate::counts::LogSource::table) reads it. Copies share the rows,
/// and are equal to each other; tables made apart are not, whatever they hold.
#[derive(Clone)]
pub struct Table(Arc<Content>);

struct Content {
    name: String,
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    row_count: u64,
}

impl Table {
    /// A table of batches with the columns of `schema`; messages call it by its name.
    pub fn new(name: impl Into<String>, schema: SchemaRef, batches: Vec<RecordBatch>) -> Result<Self> {
        let name = name.into();
        if name.is_empty() || name == STDIN {
            return Err(Error::parameter(format!("a table is called '{name}', but needs a name of its own")));
        }
        if let Some(at) = batches.iter().position(|batch| !has_columns(batch, &schema)) {
            let finding = format!("batch {} has other columns than the table, but all should have the same", at + 1);
            return Err(Error::input(Path::new(&name), finding));
        }
        let row_count = batches.iter().map(|batch| batch.num_rows() as u64).sum();
        Ok(Table(Arc::new(Content { name, schema, batches, row_count })))
    }

    /// What messages call it.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// How many rows it has.
    pub fn row_count(&self) -> u64 {
        self.0.row_count
    }
}

impl PartialEq for Table {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Table {}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("name", &self.name()).field("rows", &self.row_count()).finish_non_exhaustive()
    }
}

/// Whether columns have the same names and types in the same order.
fn has_columns(batch: &RecordBatch, schema: &Schema) -> bool {
    let columns = |schema: &Schema| schema.fields().iter().map(|f| (f.name().clone(), f.data_type().clone())).collect();
    let [a, b]: [Vec<_>; 2] = [columns(batch.schema_ref()), columns(schema)];
    a == b
}

/// Which columns of a table called `name` would be read, by their numbers in `found`, sorted; the error where fields are
/// not found.
///
/// For tables that cost something to make: the other columns need no values, only their names, which messages list
/// (as a column of nulls). Columns that [`LogSource::features`](crate::counts::LogSource::features) is asked for come beside these.
///
/// ```
/// use truerank::log::{ReadOptions, columns_read};
/// let found = ["note", "session", "user", "query", "doc", "price", "rank", "click"].map(String::from);
/// assert_eq!(columns_read("log", &found, &ReadOptions::new())?, [1, 2, 3, 4, 6, 7]);
/// # Ok::<(), truerank::Error>(())
/// ```
pub fn columns_read(name: &str, found: &[String], options: &ReadOptions) -> Result<Vec<usize>> {
    Ok(Layout::find(Path::new(name), found, options)?.columns())
}

/// A table as chunks of bounded size, so that large batches are spread over threads and small ones are read together.
pub(super) struct TableChunks {
    table: Table,
    chunks: Vec<Vec<Slice>>,
    first_rows: Vec<u64>,
}

/// Some rows of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slice {
    batch: usize,
    start: usize,
    length: usize,
}

impl TableChunks {
    pub fn new(table: &Table) -> Self {
        let lengths = table.0.batches.iter().map(RecordBatch::num_rows);
        let chunks = cut(lengths, ROWS);
        let rows_of = |chunk: &Vec<Slice>| chunk.iter().map(|slice| slice.length as u64).sum::<u64>();
        let first_rows = chunks.iter().scan(0, |rows, chunk| Some(std::mem::replace(rows, *rows + rows_of(chunk))));
        TableChunks { first_rows: first_rows.collect(), table: table.clone(), chunks }
    }

    fn slice(&self, slice: Slice, columns: &[usize]) -> Result<RecordBatch> {
        let batch = &self.table.0.batches[slice.batch];
        let failed = |e: arrow_schema::ArrowError| Error::input(Path::new(self.table.name()), e.to_string());
        Ok(batch.project(columns).map_err(failed)?.slice(slice.start, slice.length))
    }
}

impl BatchSource for TableChunks {
    fn schema(&self) -> &SchemaRef {
        &self.table.0.schema
    }

    fn first_rows(&self) -> &[u64] {
        &self.first_rows
    }

    fn batches(&self, chunk: usize, columns: &[usize], size: usize) -> Result<Batches<'_>> {
        let columns = columns.to_vec();
        let slices = self.chunks[chunk].iter().flat_map(move |slice| slice.pieces(size));
        Ok(Box::new(slices.map(move |slice| self.slice(slice, &columns))))
    }
}

impl Slice {
    /// The same rows in slices of at most `size`.
    fn pieces(self, size: usize) -> impl Iterator<Item = Slice> {
        let end = self.start + self.length;
        (self.start..end).step_by(size).map(move |start| Slice { start, length: size.min(end - start), ..self })
    }
}

/// Batches of these lengths as chunks of `size` rows, the last of which may be smaller.
fn cut(lengths: impl Iterator<Item = usize>, size: usize) -> Vec<Vec<Slice>> {
    let (mut chunks, mut chunk, mut room) = (Vec::new(), Vec::new(), size);
    for (batch, length) in lengths.enumerate() {
        let mut start = 0;
        while start < length {
            let slice = Slice { batch, start, length: room.min(length - start) };
            chunk.push(slice);
            (start, room) = (start + slice.length, room - slice.length);
            if room == 0 {
                chunks.push(std::mem::take(&mut chunk));
                room = size;
            }
        }
    }
    if !chunk.is_empty() {
        chunks.push(chunk);
    }
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_batches_are_cut_and_small_ones_put_together() {
        let slice = |batch, start, length| Slice { batch, start, length };
        let chunks = cut([3, 0, 9, 2].into_iter(), 4);
        assert_eq!(
            chunks,
            [vec![slice(0, 0, 3), slice(2, 0, 1)], vec![slice(2, 1, 4)], vec![slice(2, 5, 4)], vec![slice(3, 0, 2)]]
        );
        assert!(cut([0, 0].into_iter(), 4).is_empty());
        let pieces: Vec<_> = slice(2, 1, 5).pieces(2).collect();
        assert_eq!(pieces, [slice(2, 1, 2), slice(2, 3, 2), slice(2, 5, 1)]);
    }
}
