//! Opens what people have and writes what we make: decompression, whole-or-nothing writes, tables in Parquet.
//!
//! A killed run leaves the old file or the new one. A file is written beside its target, flushed, then renamed
//! (`AtomicFile`); a folder is exchanged as a whole (`StagedFolder`). Links are followed, devices and pipes are written into,
//! permissions are handed down (`target`). Temporary files are locked by their owners; one that can be locked has no owner
//! any more and is removed by whoever writes there next (`leftovers`). What is unfinished is noted for the whole process, so
//! that a program that is asked to stop can remove it. Between any two changes of the disk is a `step`, at which tests end
//! the process.
//!
//! Every file of ours says its type and version and has a `seal`, a fingerprint of all its bytes. Tables have one for each
//! row group, which whoever reads the group checks, and a seal over the rest. `Beside` tells two files of one run from files
//! of two runs. Parquet decoders panic on some damaged bytes; `guarded` turns that into an error. What is read whole has a
//! `Limit`, so that a compressed bomb is never held.
//!
//! What does not fit into memory goes to a `Spool`, a temporary file without a name that vanishes however the process ends. A
//! `Room` says how much memory there is and in which folder spools are made.

mod atomic;
mod beside;
mod compress;
mod fingerprint;
mod groups;
mod json;
mod leftovers;
mod open;
mod pages;
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
pub use json::{lines_of_json, read_json};
pub use leftovers::is_temporary;
pub(crate) use leftovers::remove_leftovers;
pub(crate) use open::Counted;
pub(crate) use open::ending;
pub use open::{Compression, FileFormat, Limit, decoder, read_bytes, read_text};
pub(crate) use pages::Pages;
pub use room::{Room, RoomOptions};
pub use seal::{GroupSeals, SEAL_KEY, check_seal, read_sealed_text, seal, seal_json, with_blank_seal};
pub use spool::Spool;
pub use unfinished::remove_unfinished;
