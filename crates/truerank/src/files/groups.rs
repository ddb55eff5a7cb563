//! Encodes the row groups of a Parquet file in parallel; the bytes do not depend on the number of threads.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use rayon::prelude::*;

use super::AtomicFile;
use super::seal::group_notes;
use super::table::{commit_table, failed};
use crate::{Error, Result};

/// Writes a Parquet file, several row groups at a time; it appears only when it is complete.
pub struct GroupWriter {
    path: PathBuf,
    schema: SchemaRef,
    file: SerializedFileWriter<AtomicFile>,
    factory: ArrowRowGroupWriterFactory,
    groups: usize,
}

impl GroupWriter {
    /// Starts a table with these columns.
    pub fn create(path: &Path, schema: Schema, properties: WriterProperties) -> Result<Self> {
        let schema = Arc::new(schema);
        let writer = ArrowWriter::try_new(AtomicFile::create(path)?, schema.clone(), Some(properties))
            .map_err(|e| failed(path, e))?;
        let (file, factory) = writer.into_serialized_writer().map_err(|e| failed(path, e))?;
        Ok(GroupWriter { path: path.to_path_buf(), schema, file, factory, groups: 0 })
    }

    /// Appends `count` row groups. `columns` makes the columns of group number `0..count`, on any thread.
    pub fn write(&mut self, count: usize, columns: impl Fn(usize) -> Vec<ArrayRef> + Sync) -> Result<()> {
        let first = self.groups;
        let encoded: Vec<_> =
            (0..count).into_par_iter().with_max_len(1).map(|i| self.encode(first + i, columns(i))).collect();
        for chunks in encoded {
            let chunks = chunks.map_err(|e| failed(&self.path, e))?;
            self.append(chunks).map_err(|e| failed(&self.path, e))?;
        }
        self.groups += count;
        Ok(())
    }

    fn encode(&self, group: usize, columns: Vec<ArrayRef>) -> Result<Vec<ArrowColumnChunk>, ParquetError> {
        let mut writers = self.factory.create_column_writers(group)?.into_iter();
        let mut chunks = Vec::new();
        for (field, column) in self.schema.fields().iter().zip(columns) {
            for leaf in compute_leaves(field, &column)? {
                let mut writer = writers.next().ok_or_else(|| ParquetError::General("a column too many".into()))?;
                writer.write(&leaf)?;
                chunks.push(writer.close()?);
            }
        }
        Ok(chunks)
    }

    fn append(&mut self, chunks: Vec<ArrowColumnChunk>) -> Result<(), ParquetError> {
        let mut group = self.file.next_row_group()?;
        for chunk in chunks {
            chunk.append_to_row_group(&mut group)?;
        }
        group.close()?;
        Ok(())
    }

    /// Completes the file.
    pub fn finish(mut self) -> Result<()> {
        let path = &self.path;
        self.file.flush().map_err(|e| Error::io(path, e))?;
        let groups = self.file.flushed_row_groups().to_vec();
        let notes = group_notes(&groups, self.file.inner().file()).map_err(|e| Error::io(path, e))?;
        notes.into_iter().for_each(|note| self.file.append_key_value_metadata(note));
        commit_table(path, &groups, self.file.into_inner().map_err(|e| failed(path, e))?)
    }
}
