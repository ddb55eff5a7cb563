//! Learning-to-rank data sets: from LETOR/SVMlight text, ULTRA folders, Parquet or the generator to one dense matrix.
//!
//! Text is cut at line ends, parsed on all cores into a sparse form, then scattered; the first bad line is reported whatever
//! the threads. The matrix may also be someone else's memory, such as a NumPy array, and is then not copied. It is dense
//! because networks read it as it is; data with hundreds of thousands of features does not belong here.
//!
//! The generator makes data that looks like web search: hidden factors of queries and documents, a relevance that is partly
//! linear in them, partly not, partly noise, and features that are noisy views of the factors. The presets `small` and
//! `yahoo` are calibrated to the levels that the paper reports for Yahoo's data.

mod dataset;
mod generate;
mod grades;
mod missing;
mod options;
mod parquet;
mod rows;
mod splits;
mod svmlight;
mod ultra;

pub use dataset::{Dataset, DatasetBuilder, Splits};
pub use generate::{Generation, Generator, Preset};
pub use grades::grade_note;
pub(crate) use missing::first_missing;
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
