//! Opens what people have and writes what we make: decompression, whole-or-nothing writes, tables in Parquet.

mod atomic;
mod fingerprint;
mod groups;
mod open;
mod room;
mod spool;
pub mod table;
mod unfinished;
pub(crate) mod varint;

pub use atomic::{AtomicFile, TemporaryFolder, check_file, check_folder, is_temporary, write_folder};
pub use fingerprint::Fingerprint;
pub use groups::GroupWriter;
pub use open::{Compression, FileFormat, Limit, decoder, read_bytes, read_text};
pub use room::Room;
pub use spool::Spool;
pub use unfinished::remove_unfinished;
