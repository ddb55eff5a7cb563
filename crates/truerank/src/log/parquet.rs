//! Opens Parquet logs as record batches: each row group independently, only the columns that matter.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_schema::{DataType, Field as Column, Schema, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};

use super::batches::{BatchSource, Batches};
use crate::files::GroupSeals;
use crate::files::table::{check_extents, first_rows, guarded};
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
            ArrowReaderMetadata::load(&file, ArrowReaderOptions::new().with_skip_arrow_metadata(true))
        })?;
        check_extents(path, &file, metadata.metadata())?;
        let seals = GroupSeals::open(path, &file, metadata.metadata())?;
        let reading = ArrowReaderOptions::new().with_schema(Arc::new(with_dictionaries(metadata.schema())));
        let metadata = guarded(path, || ArrowReaderMetadata::try_new(metadata.metadata().clone(), reading))?;
        let first_rows = first_rows(metadata.metadata());
        Ok(ParquetFile { path: path.to_path_buf(), metadata, seals, first_rows })
    }
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
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone());
        let columns = ProjectionMask::roots(builder.parquet_schema(), columns.iter().copied());
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
