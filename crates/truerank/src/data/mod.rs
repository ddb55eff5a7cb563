//! Learning-to-rank data sets: from LETOR/SVMlight text, ULTRA folders, Parquet or the generator to one dense matrix.

mod dataset;
mod generate;
mod grades;
mod options;
mod parquet;
mod rows;
mod splits;
mod svmlight;
mod ultra;

pub use dataset::{Dataset, DatasetBuilder, Splits};
pub use generate::{Generator, Preset};
pub use grades::grade_note;
pub use options::ReadOptions;
pub use parquet::{read_parquet, write_parquet};
#[cfg(test)]
pub(crate) use rows::JOINS;
pub use rows::Join;
pub(crate) use rows::{RowFinder, nothing_matches};
pub use splits::{DatasetFormat, is_part_file, read_dataset, read_splits, split_by_query, write_dataset, write_splits};
pub(crate) use svmlight::write_features;
pub use svmlight::{read_svmlight, write_svmlight};
pub use ultra::read_ultra;
