//! How much memory a subcommand may take, and where the rest goes.

use std::path::{Path, PathBuf};

use truerank::files::Room;
use truerank::memory::Memory;

/// Memory, and a folder for what does not fit into it.
#[derive(clap::Args)]
pub struct MemoryArguments {
    /// Memory to hold, such as 512MiB or 2GB; the rest goes to disk, and results do not depend on it. The program and its
    /// buffers come on top: about 128MiB, and 4MiB per thread [default: half of what is free]
    #[arg(long, value_name = "SIZE")]
    memory: Option<Memory>,

    /// Folder on the disk that takes what does not fit into memory [default: that of the output, else the system's]
    #[arg(long, value_name = "FOLDER")]
    temporary: Option<PathBuf>,
}

impl MemoryArguments {
    /// Room to work in; the folder is that of what is written.
    pub fn room_beside(&self, output: &Path) -> Room {
        let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let room = Room::new(self.memory.unwrap_or_else(Memory::half_of_free));
        room.temporary(self.temporary.as_deref().unwrap_or(folder))
    }

    /// Room to work in where nothing is written.
    pub fn room(&self) -> Room {
        self.room_beside(&std::env::temp_dir().join("nothing"))
    }
}
