//! Opens Parquet logs as record batches: each row group independently, only the columns that matter.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_schema::{DataType, Field as Column, Schema, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::file::metadata::ColumnChunkMetaData;

use super::batches::{BatchSource, Batches};
use crate::files::table::{check_extents, first_rows, guarded};
use crate::files::{GroupSeals, Pages};
use crate::memory::Memory;
use crate::{Error, Result};

/// A Parquet file, a chunk for each row group.
pub(super) struct ParquetFile {
    path: PathBuf,
    metadata: ArrowReaderMetadata,
    seals: GroupSeals,
    /// Rows before each row group.
    first_rows: Vec<u64>,
}

impl ParquetFile {
    pub fn open(path: &Path) -> Result<Self> {
        if path.is_dir() {
            return Err(Error::input(path, "is a folder, but a Parquet file is expected here"));
        }
        let file = File::open(path).map_err(|e| Error::io(path, e))?;
        let metadata = guarded(path, || {
            let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true).with_encoding_stats_as_mask(false);
            ArrowReaderMetadata::load(&file, options)
        })?;
        check_extents(path, &file, metadata.metadata())?;
        let seals = GroupSeals::open(path, &file, metadata.metadata())?;
        let reading = ArrowReaderOptions::new().with_schema(Arc::new(with_dictionaries(metadata.schema())));
        let metadata = guarded(path, || ArrowReaderMetadata::try_new(metadata.metadata().clone(), reading))?;
        let first_rows = first_rows(metadata.metadata());
        Ok(ParquetFile { path: path.to_path_buf(), metadata, seals, first_rows })
    }
}

/// Bytes of a batch, by what the file says of its columns: few rows at a time where ids are long.
const BATCH_BYTES: i64 = 16 << 20;

/// Bytes of the pages that are held at a time, one of each column. Writers make pages of about 1 MiB.
const PAGE_BYTES: i64 = 128 << 20;

impl ParquetFile {
    /// The columns of a row group that are read.
    fn read<'a>(&'a self, chunk: usize, columns: &'a ProjectionMask) -> impl Iterator<Item = &'a ColumnChunkMetaData> {
        let all = self.metadata.metadata().row_group(chunk).columns().iter().enumerate();
        all.filter(|(leaf, _)| columns.leaf_included(*leaf)).map(|(_, column)| column)
    }

    fn rows_at_a_time(&self, chunk: usize, columns: &ProjectionMask) -> usize {
        let bytes = self.read(chunk, columns).fold(0i64, |sum, column| sum.saturating_add(column.uncompressed_size()));
        let per_row = bytes / self.metadata.metadata().row_group(chunk).num_rows().max(1);
        (BATCH_BYTES / per_row.max(1)).max(1) as usize
    }

    /// A page is decompressed as a whole, so huge ones are refused where the file says how many pages a column has.
    fn check_pages(&self, chunk: usize, columns: &ProjectionMask) -> Result<()> {
        let bytes = self.read(chunk, columns).map(page_size).fold(0i64, i64::saturating_add);
        if bytes <= PAGE_BYTES {
            return Ok(());
        }
        let (size, most) = (Memory::new(bytes as u64), Memory::new(PAGE_BYTES as u64));
        let finding = format!(
            "row group {} has pages of {size}, but pages are read whole, and {most} of them at most; write it with smaller pages",
            chunk + 1
        );
        Err(Error::input(&self.path, finding))
    }
}

/// The mean size of a column's pages; 0 where the file does not say how many there are.
fn page_size(column: &ColumnChunkMetaData) -> i64 {
    let counts =
        column.page_encoding_stats().map(|stats| stats.iter().map(|pages| i64::from(pages.count)).sum::<i64>());
    counts.filter(|&count| count > 0).map_or(0, |count| column.uncompressed_size() / count)
}

impl BatchSource for ParquetFile {
    fn schema(&self) -> &SchemaRef {
        self.metadata.schema()
    }

    fn first_rows(&self) -> &[u64] {
        &self.first_rows
    }

    fn batches(&self, chunk: usize, columns: &[usize], size: usize) -> Result<Batches<'_>> {
        // Each task opens the file itself: copies of one handle would share its place in the file.
        let file = File::open(&self.path).map_err(|e| Error::io(&self.path, e))?;
        self.seals.check(&file, chunk)?;
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(Pages(file), self.metadata.clone());
        let columns = ProjectionMask::roots(builder.parquet_schema(), columns.iter().copied());
        self.check_pages(chunk, &columns)?;
        let size = size.min(self.rows_at_a_time(chunk, &columns));
        let builder = builder.with_row_groups(vec![chunk]).with_projection(columns).with_batch_size(size);
        let mut reader = guarded(&self.path, || builder.build())?;
        let next = move || guarded(&self.path, || Ok(reader.next().transpose()?)).transpose();
        Ok(Box::new(std::iter::from_fn(next)))
    }
}

/// The schema with columns of text as dictionaries, so that each value is looked up once; other columns as they are.
fn with_dictionaries(schema: &Schema) -> Schema {
    let read_as = |column: &Arc<Column>| match column.data_type() {
        DataType::Utf8 => {
            let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
            Arc::new(column.as_ref().clone().with_data_type(dictionary))
        }
        _ => column.clone(),
    };
    Schema::new(schema.fields().iter().map(read_as).collect::<Vec<_>>())
}
