//! Turns impressions into cells: how often each user saw and clicked each document of each query at each position.
//!
//! [`LogSource`] is a log, whatever holds it, and counts it into memory, into a folder, or in two parts; [`count_log`] counts
//! a log in memory, and [`Counter`] takes blocks as they are made. [`Counts::split_queries`] holds queries out. [`Counts::write`] and
//! [`Counts::read`] keep counts in a folder; [`open_counts`] opens one that may not fit into memory, for what works on a
//! [`CountsView`].
//!
//! # How counting works
//!
//! A session is one result page of one query: its identity is (session id, query). Rows are scattered by query into
//! partitions, each of which is sorted and counted alone; since a page lies in one partition, duplicates and contradictions
//! are found there; they are an error, or settled by leaving rows out, and then the log is read again to name them. Pages may
//! be chosen by the time of their earliest row, so none is torn. The artefact is byte-identical for the same log in any row
//! order.
//!
//! Memory is bounded by keeping only ids in it: small integers as bits, others in dictionaries that are spread over locks by
//! hash. `Piece`s of rows with their codes, ten bytes a row, and then the counts of each partition as `SortedRun`s of
//! records, five bytes a cell, are held while a `Store` has room and go to a spool otherwise. A partition that is too large
//! for a thread's share is split, by query, and where one query is the cause by page; such a query then stands in several
//! runs. `Merge` reads all runs a segment at a time, in the order of queries, and adds up the cells of a query that stands in
//! several. With plenty of memory the same code runs and spools nothing.
//!
//! Cells forget what was shown and clicked together. Judging a reordered page, tests that respect how clicks on a page depend
//! on each other, and holding out pages need it, and a sample is enough for them: `Pages` are those of the least hashes of
//! session and query, so that they are the same in any row order. Counts drawn as cells, and those made on Spark, have none.
//!
//! [`Transitions`] are cells with more of the page left: how often users of a list of documents went from one click to the
//! next. Lists are told apart by their content while a query is counted, and get their numbers, by query and content, when
//! they are written. Where a query stands in several runs, its transitions and patterns are added up in memory.
//!
//! A [`CountsView`] has ids and totals at hand, cells and sessions in blocks of whole queries. Where blocks end depends on
//! the data alone, and sums are taken in their order, so results are the same bytes in memory and from disk. Both are read by
//! the same functions (`tables`) and checked by the same `Checks`: pages must be among what cells and sessions count, and
//! patterns must add up to the cells, so that whoever reads them looks up positions, documents and users without asking
//! again. Deliberately not here: blocks smaller than a query, so one query's cells must fit.

mod checks;
mod conflict;
#[cfg(test)]
mod contexts;
mod count;
mod counted;
mod counter;
mod days;
mod folder;
mod list_checks;
mod list_tables;
mod merge;
mod model;
mod numbering;
mod origin;
mod pages;
mod part;
mod partition;
mod pieces;
mod record;
mod select;
mod source;
mod split;
mod store;
mod stored;
mod stored_lists;
mod summary;
mod tables;
mod transitions;
mod used;
mod view;
mod whole_pages;
mod writer;

pub(crate) use conflict::{ConflictKind, NamedConflict, locate};
pub(crate) use count::CLICKS_ALONE;
pub use count::{CountOptions, count_log};
pub use counter::Counter;
pub use days::{AddingOptions, MergeOptions, MergeSummary, OnRepeatedPage};
pub use folder::is_counts_file;
pub(crate) use folder::{CELLS, Meta, PATTERNS, SESSIONS};
pub(crate) use list_tables::{FROM, LISTS, TO, TRANSITIONS};
pub use model::{Cell, Counts, Pattern, Patterns, SessionCount, Shown};
pub use origin::Origin;
pub use pages::{Page, Pages};
pub(crate) use part::Part;
pub use source::LogSource;
pub use split::{SplitBy, SplitLog};
#[cfg(test)]
pub(crate) use stored::tests::{assert_same, everywhere};
pub use stored::{Need, StoredCounts, held_counts, open_counts};
pub use summary::{LogSummary, PageSummary};
pub use transitions::{END, Listed, ShownList, Transition, Transitions};
pub use view::{Block, CountsView, Totals};
pub(crate) use view::{by_document, by_position};
pub(crate) use writer::GROUP;
