//! Turns impressions into cells: how often each user saw and clicked each document of each query at each position.
//!
//! [`count_files`] counts log files, [`count_files_into`] those that do not fit into memory, [`count_log`] a log in memory, and [`Counter`] takes blocks as they are made.
//! [`Counts::split_queries`] holds queries out. [`Counts::write`] and [`Counts::read`] keep counts in a folder.

mod conflict;
mod count;
mod counted;
mod counter;
mod folder;
mod merge;
mod model;
mod numbering;
mod partition;
mod pieces;
mod record;
mod select;
mod store;
mod summary;
mod used;
mod writer;

pub use count::{CountOptions, count_files, count_files_into, count_log};
pub use counter::Counter;
pub use folder::is_counts_file;
pub use model::{Cell, Counts, Pattern, Patterns, SessionCount, Shown};
pub use summary::{CountTotals, LogSummary, PageSummary};
