//! How much memory a subcommand may hold, and where the rest goes.

use std::path::PathBuf;

use truerank::counts::CountOptions;
use truerank::memory::Memory;

/// The bound of memory.
#[derive(clap::Args)]
pub struct MemoryArguments {
    /// How much to hold in memory, such as 4GiB; the rest goes to disk, and the result is the same [default: half of what
    /// is free]
    #[arg(long, value_name = "SIZE")]
    memory: Option<Memory>,

    /// Folder on the disk that takes what is not held [default: that of the output]
    #[arg(long, value_name = "FOLDER")]
    temporary: Option<PathBuf>,
}

impl MemoryArguments {
    /// How much memory work may take.
    pub fn memory(&self) -> Memory {
        self.memory.unwrap_or_else(Memory::half_of_free)
    }

    /// Counting within this bound.
    pub fn bound(&self, options: CountOptions) -> CountOptions {
        let options = options.memory(self.memory());
        match &self.temporary {
            Some(folder) => options.temporary(folder.clone()),
            None => options,
        }
    }
}
