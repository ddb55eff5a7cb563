//! Data sets as Parquet tables, to and from pandas, Polars, DuckDB and Spark.
//!
//! A row is a document. Its columns are `query`, `doc` and `grade` (the last two may be left out), and its features
//! either `f1`, `f2`, … or one list column `features`. Rows of a query are consecutive. Other columns are ignored.

mod features;
mod read;
mod write;

use crate::files::table::FileType;

pub use read::read_parquet;
pub use write::write_parquet;

const DATASET: FileType = FileType { name: "truerank/dataset", version: 1 };

const QUERY: &str = "query";
const DOC: &str = "doc";
const GRADE: &str = "grade";
const FEATURES: &str = "features";

#[cfg(test)]
mod tests;
