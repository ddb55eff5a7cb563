//! How much memory work may hold, and the folder that takes the rest.

use std::path::{Path, PathBuf};

use super::{Spool, TemporaryFolder};
use crate::Result;
use crate::memory::Memory;
use crate::options::{option_value, options};

option_value!(Memory: Kind::TextOrNumber);

options! {
    /// How much memory work may take, and where the rest goes.
    pub struct RoomOptions {
        /// Memory to hold, such as 512MiB or 2GB; the rest goes to disk, and results do not depend on it. The program and its
        /// buffers come on top: about 128MiB, and 4MiB per thread.
        memory: Option<Memory> = None, value("SIZE"), usual("half of what is free");
        /// Folder on the disk that takes what does not fit into memory.
        temporary: Option<PathBuf> = None, value("FOLDER"), usual("that of the output, else the system's");
    }
}

impl RoomOptions {
    /// Room to work in; what does not fit goes beside the output, where there is one and nothing else is said.
    pub fn room(&self, output: Option<&Path>) -> Room {
        let room = Room::new(self.memory.unwrap_or_else(Memory::half_of_free));
        match self.temporary.as_deref().or(output.map(parent)) {
            Some(folder) => room.temporary(folder),
            None => room,
        }
    }
}

/// The folder that a file or folder is in.
fn parent(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Room to work in: memory, and a folder for temporary files without a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Room {
    memory: Memory,
    folder: PathBuf,
}

impl Room {
    /// So much memory; what does not fit goes to the system's folder for temporary files.
    pub fn new(memory: Memory) -> Self {
        Room { memory, folder: std::env::temp_dir() }
    }

    /// The folder for what does not fit. Default: the system's (`TMPDIR`).
    pub fn temporary(mut self, folder: &Path) -> Self {
        self.folder = folder.to_path_buf();
        self
    }

    /// The same folder, and other memory.
    pub fn with_memory(&self, memory: Memory) -> Self {
        Room { memory, folder: self.folder.clone() }
    }

    /// The memory.
    pub fn memory(&self) -> Memory {
        self.memory
    }

    /// Whether so many bytes fit into memory.
    pub fn holds(&self, bytes: u64) -> bool {
        bytes <= self.memory.bytes()
    }

    /// A new temporary folder in the folder.
    pub(crate) fn temporary_folder(&self) -> Result<TemporaryFolder> {
        TemporaryFolder::create_in(&self.folder)
    }

    /// A new temporary file in the folder.
    pub fn spool(&self) -> Result<Spool> {
        Spool::create(&self.folder)
    }
}
