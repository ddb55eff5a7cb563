//! Turns impressions into cells: how often each user saw and clicked each document of each query at each position.
//!
//! [`LogSource`] is a log, whatever holds it, and counts it into memory, into a folder, or in two parts; [`count_log`] counts
//! a log in memory, and [`Counter`] takes blocks as they are made. [`Counts::split_queries`] holds queries out. [`Counts::write`] and
//! [`Counts::read`] keep counts in a folder; [`open_counts`] opens one that may not fit into memory, for what works on a
//! [`CountsView`].

mod checks;
mod conflict;
mod count;
mod counted;
mod counter;
mod folder;
mod merge;
mod model;
mod numbering;
mod pages;
mod partition;
mod pieces;
mod record;
mod select;
mod source;
mod split;
mod store;
mod stored;
mod summary;
mod tables;
mod used;
mod view;
mod whole_pages;
mod writer;

#[cfg(feature = "spark")]
pub(crate) use conflict::{ConflictKind, NamedConflict, locate};
#[cfg(feature = "spark")]
pub(crate) use count::CLICKS_ALONE;
pub use count::{CountOptions, count_log};
pub use counter::Counter;
pub use folder::is_counts_file;
#[cfg(feature = "spark")]
pub(crate) use folder::{CELLS, Meta, PATTERNS, SESSIONS};
pub use model::{Cell, Counts, Pattern, Patterns, SessionCount, Shown};
pub use pages::{Page, Pages};
pub use source::LogSource;
pub use split::{SplitBy, SplitLog};
#[cfg(test)]
pub(crate) use stored::tests::{assert_same, everywhere};
pub use stored::{Need, StoredCounts, held_counts, open_counts};
pub use summary::{LogSummary, PageSummary};
pub use view::{Block, CountsView, Totals};
pub(crate) use view::{by_document, by_position};
#[cfg(feature = "spark")]
pub(crate) use writer::GROUP;
