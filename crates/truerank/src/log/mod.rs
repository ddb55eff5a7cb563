//! Reads and writes click logs: impressions `(session, user, query, doc, position, click)` in Parquet, CSV, TSV or JSON.
//!
//! A file's form is named by its ending, whatever its compression: `clicks.csv.gz` is CSV. [`ReadOptions`] say which
//! columns hold what, and what happens to rows that break a rule.
//! [`write_log`] and [`LogWriter`] write; [`read_log`] reads into memory, and
//! [`count_files`](crate::counts::count_files) reads straight into counts. A [`Table`] of Arrow's record batches in memory
//! stands wherever a file could, once [`ReadOptions::table`] has it.
//!
//! ```
//! use truerank::log::{read_log, write_log, Impression, Log, ReadOptions};
//! use truerank::ids::Ids;
//! let folder = tempfile::tempdir().unwrap();
//! let path = folder.path().join("clicks.csv");
//! let shown = Impression { session: 1, user: 0, query: 0, doc: 0, position: 1, click: true };
//! let log = Log { users: Ids::numbered(1), queries: Ids::numbered(1), docs: Ids::numbered(1), impressions: vec![shown] };
//! write_log(&log, &path)?;
//! assert_eq!(std::fs::read_to_string(&path).unwrap(), "session,user,query,doc,position,click\n1,1,1,1,1,1\n");
//! assert_eq!(read_log(&[path], &ReadOptions::new())?.impressions, log.impressions);
//! # Ok::<(), truerank::Error>(())
//! ```

mod bad_rows;
mod batches;
mod blocks;
mod build;
mod click_when;
mod closest;
mod columns;
mod delimited;
mod events;
mod expand;
mod features;
mod finder;
mod guess;
mod input;
mod json;
mod layout;
mod load;
mod missing;
mod model;
mod options;
mod pages;
mod parquet;
mod read;
mod record;
mod rows;
mod shape;
mod source;
mod table;
mod text;
mod time;
mod ubi;
mod values;
mod write;

pub use bad_rows::{BadKind, BadRows};
pub use click_when::ClickWhen;
pub use columns::{Columns, split_mapping};
pub use events::EventOptions;
pub use features::read_features;
pub use layout::ReadColumn;
pub use load::{read_log, time_at};
pub use model::{Block, Impression, Log};
pub use options::{ClickList, Header, LogFormat, OnBadRow, ReadOptions};
pub use table::{Table, columns_read};
pub use time::Time;
pub use ubi::{UbiOptions, UbiSummary, read_ubi};
pub use values::MAX_POSITION;
pub(crate) use write::push_field;
pub use write::{LogWriter, write_log};

pub(crate) use bad_rows::{BadRow, BadRowsWriter, Fault};
pub(crate) use build::{ALL_PAGES, ANONYMOUS, QUERY_JOINT};
pub(crate) use click_when::{Condition, NO_VALUE};
pub(crate) use expand::STDIN;
pub(crate) use read::{Piece, Reading, for_each_rows, for_each_rows_in_order};
pub(crate) use rows::{IdColumn, OTHER, Rows, SMALL};
pub(crate) use shape::{ColumnKind, FileShape, LogShape};
pub(crate) use source::{check_files, unit_of};
pub(crate) use values::session_of_text;
pub(crate) use values::shown;
