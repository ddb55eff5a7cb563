//! How much memory a subcommand may take, and where the rest goes.

use std::path::Path;

use truerank::files::{Room, RoomOptions};
use truerank::options::Options;

use crate::options::Typed;

/// Memory, and a folder for what does not fit into it.
#[derive(clap::Args)]
pub struct MemoryArguments {
    #[command(flatten)]
    room: Typed<RoomOptions>,
}

impl MemoryArguments {
    /// Room to work in; what does not fit goes beside what is written.
    pub fn room_beside(&self, output: &Path) -> Room {
        self.room.0.room(Some(output))
    }

    /// The same, where perhaps nothing is written.
    pub fn room(&self, output: Option<&Path>) -> Room {
        self.room.0.room(output)
    }

    /// The option that was given, where one was.
    pub fn first_given(&self) -> Option<&'static str> {
        self.room.0.first_given()
    }
}
