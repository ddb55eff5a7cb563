//! How much memory work may hold, and the folder that takes the rest.

use std::path::{Path, PathBuf};

use super::{Spool, TemporaryFolder};
use crate::Result;
use crate::memory::Memory;

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
