//! The paper's experiments, put together from the stages.

mod main_table;
mod production;
mod summary;

pub use main_table::{Examination, MainTable, Method, MethodResult, TableResult};
pub use production::{labelled_share, production_ranker};
pub use summary::{SIGNIFICANCE, SummaryCell, SummaryRow, summarise};
