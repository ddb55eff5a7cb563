//! Reads and writes click logs: impressions `(session, user, query, doc, position, click)` in Parquet, CSV, TSV or JSON.
//!
//! A file's form is named by its ending, whatever its compression: `clicks.csv.gz` is CSV. [`ReadOptions`] say which
//! columns hold what, and what happens to rows that break a rule.
//! [`write_log`] and [`LogWriter`] write; [`LogSource`](crate::counts::LogSource) reads into memory or straight into counts.
//! A [`Table`] of Arrow's record batches in memory can stand where a file could ([`LogPart`]).
//!
//! ```
//! use truerank::counts::LogSource;
//! use truerank::log::{write_log, Impression, Log, ReadOptions};
//! use truerank::ids::Ids;
//! let folder = tempfile::tempdir().unwrap();
//! let path = folder.path().join("clicks.csv");
//! let shown = Impression { session: 1, user: 0, query: 0, doc: 0, position: 1, click: true };
//! let log = Log { users: Ids::numbered(1), queries: Ids::numbered(1), docs: Ids::numbered(1), impressions: vec![shown] };
//! write_log(&log, &path)?;
//! assert_eq!(std::fs::read_to_string(&path).unwrap(), "session,user,query,doc,position,click\n1,1,1,1,1,1\n");
//! assert_eq!(LogSource::files([path], ReadOptions::new()).read()?.impressions, log.impressions);
//! # Ok::<(), truerank::Error>(())
//! ```
//!
//! # How reading works
//!
//! Readers hand blocks of rows with local dictionaries to whoever counts, so an id is hashed once per block and not once per
//! row. A file is a `TextForm` or a `BatchLog`; a `Dispenser` opens the files in order and hands out blocks of text, cut
//! where records end, or chunks of record batches, and workers take turns at it. So one block per thread is in memory,
//! whatever the file's size, and tasks have numbers in the order of the log: the first bad row is reported, or all of them
//! are kept in order, whatever the threads. A record is values by column (`Record`); a `Layout` says which column holds what;
//! a `RowBuilder` makes rows of both or says what is wrong. Plain batches go past it, column by column, and come back to it
//! where a row is bad.
//!
//! A stray quote costs its record alone: after it, cutting and parsing both go on at the next line, by the same rule, so that
//! where blocks are cut changes nothing. Of a JSON array a block knows what lies before it and whether it is the last, so
//! that what is wrong between elements, or an array that is not closed, is found whatever the blocks. Compressed files are
//! decompressed on one thread at a time. Deliberately not here: dialects of CSV beyond comma and tab, nested JSON keys.
//!
//! A `Finder` looks for the columns and collects what is missing, so that one message names all of it. `events` joins rows
//! that show documents with rows that click them, on one thread, since order may decide; `ubi` joins dumps of OpenSearch.
//! Both hold pages and what happened on them; what does not join is counted and reported.

mod bad_rows;
mod batches;
mod blocks;
mod build;
mod click_when;
mod closest;
mod columns;
mod events;
mod expand;
mod features;
mod finder;
mod format;
mod guess;
mod input;
mod layout;
mod load;
mod missing;
mod model;
mod options;
mod pages;
mod parquet;
mod part;
mod read;
mod record;
mod rows;
mod shape;
mod source;
mod table;
mod time;
mod ubi;
mod values;
mod write;

pub use bad_rows::{BadKind, BadRows};
pub use click_when::ClickWhen;
pub use columns::{Columns, split_mapping};
pub use events::EventOptions;
pub use format::{LogFormat, log_endings};
pub use layout::ReadColumn;
pub use model::{Block, Impression, Log};
pub use options::{ClickList, More, OnBadRow, ReadOptions};
pub use part::LogPart;
pub use table::{Table, columns_read};
pub use time::Time;
pub use ubi::UbiOptions;
pub use values::MAX_POSITION;
pub(crate) use write::push_field;
pub use write::{LogWriter, write_log};

pub(crate) use bad_rows::{BadRow, BadRowsWriter, Fault};
pub(crate) use build::{ALL_PAGES, ANONYMOUS, QUERY_JOINT};
pub(crate) use click_when::{Condition, NO_VALUE};
pub(crate) use features::read_features;
pub(crate) use load::{read_log, time_at};
pub(crate) use options::check_click;
pub(crate) use read::{Piece, Reading, for_each_rows, for_each_rows_in_order};
pub(crate) use rows::{IdColumn, OTHER, Rows, SMALL};
pub(crate) use shape::{ColumnKind, FileShape, LogShape};
pub(crate) use source::find_columns;
pub(crate) use ubi::read_ubi;
pub(crate) use values::session_of_text;
pub(crate) use values::shown;
