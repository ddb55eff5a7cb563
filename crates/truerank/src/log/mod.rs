//! Reads and writes click logs: impressions `(session, user, query, doc, position, click)` in Parquet, CSV or TSV.
//!
//! A file's form is named by its ending, whatever its compression: `clicks.csv.gz` is CSV. Text files have a header.
//! [`write_log`] and [`LogWriter`] write; [`read_log`] reads into memory, and
//! [`count_files`](crate::counts::count_files) reads straight into counts.
//!
//! ```
//! use truerank::log::{read_log, write_log, Columns, Impression, Log};
//! use truerank::ids::Ids;
//! let folder = tempfile::tempdir().unwrap();
//! let path = folder.path().join("clicks.csv");
//! let shown = Impression { session: 1, user: 0, query: 0, doc: 0, position: 1, click: true };
//! let log = Log { users: Ids::numbered(1), queries: Ids::numbered(1), docs: Ids::numbered(1), impressions: vec![shown] };
//! write_log(&log, &path)?;
//! assert_eq!(std::fs::read_to_string(&path).unwrap(), "session,user,query,doc,position,click\n1,1,1,1,1,1\n");
//! assert_eq!(read_log(&[path], &Columns::default())?.impressions, log.impressions);
//! # Ok::<(), truerank::Error>(())
//! ```

mod columns;
mod delimited;
mod model;
mod parquet;
mod read;
mod rows;
mod values;
mod write;

pub use columns::Columns;
pub use model::{Block, Impression, Log};
pub use read::read_log;
pub use values::MAX_POSITION;
pub use write::{LogWriter, write_log};

pub(crate) use read::{Source, for_each_rows};
pub(crate) use rows::{IdColumn, OTHER, Rows, SMALL};
pub(crate) use values::shown;
