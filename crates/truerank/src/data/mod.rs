//! Learning-to-rank data sets: from LETOR/SVMlight text, ULTRA folders, Parquet or the generator to one dense matrix.

mod dataset;

pub use dataset::{Dataset, DatasetBuilder, Splits};
