//! `truerank completions`: for the shell.

use anyhow::Result;
use clap::CommandFactory;

use crate::arguments::Arguments;
use crate::output;

/// Print completions for a shell
#[derive(clap::Args)]
#[command(after_help = "Example:\n  truerank completions bash > ~/.local/share/bash-completion/completions/truerank")]
pub struct Completions {
    /// Which shell
    shell: clap_complete::Shell,
}

impl Completions {
    pub fn run(self) -> Result<()> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "truerank", &mut text);
        output::print_exactly(&String::from_utf8(text)?)
    }
}
