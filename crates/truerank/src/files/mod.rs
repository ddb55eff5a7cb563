//! Opens what people have and writes what we make: decompression, whole-or-nothing writes, tables in Parquet.

mod atomic;
mod beside;
mod compress;
mod fingerprint;
mod groups;
mod leftovers;
mod open;
mod room;
mod seal;
mod spool;
mod steps;
pub mod table;
mod target;
mod unfinished;
pub(crate) mod varint;

pub use atomic::{
    AtomicFile, StagedFolder, TemporaryFolder, can_be_replaced, check_file, check_folder, write_file, write_folder,
};
pub use beside::Beside;
pub use compress::zstd_encoder;
pub use fingerprint::Fingerprint;
pub use groups::GroupWriter;
pub use leftovers::is_temporary;
pub(crate) use open::Counted;
pub(crate) use open::ending;
pub use open::{Compression, FileFormat, Limit, decoder, read_bytes, read_text};
pub use room::{Room, RoomOptions};
pub use seal::{GroupSeals, SEAL_KEY, check_seal, read_sealed_text, seal, seal_json, with_blank_seal};
pub use spool::Spool;
pub use unfinished::remove_unfinished;
