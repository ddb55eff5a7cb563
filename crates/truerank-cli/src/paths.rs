//! No command writes over what it reads: all paths that were typed are looked at in one place, before anything else.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::ArgMatches;
use truerank::counts::is_counts_file;
use truerank::data::is_part_file;

/// The option that names what is written. Files for bad rows are looked at where logs are read.
const OUTPUT: &str = "output";

/// Commands whose output folder keeps what else is in it.
const ADDING: [&str; 4] = ["doctor", "drift", "report", "experiment"];

/// Refuses an output that is an input, or a part of one.
pub fn refuse_to_overwrite(arguments: &ArgMatches) -> Result<()> {
    let Some((command, arguments)) = arguments.subcommand() else { return Ok(()) };
    let is_output = |id: &str| id == OUTPUT || (command == "propensity" && id == "ranker");
    let inputs = paths(arguments, |id| !is_output(id) && id != "temporary");
    for output in paths(arguments, is_output) {
        if let Some(input) = inputs.iter().find(|input| destroys(command, &output, input)) {
            let (output, input) = (output.display(), input.display());
            bail!("{output}: writing it would destroy what is read from {input}; name another output");
        }
    }
    Ok(())
}

fn paths(arguments: &ArgMatches, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let ids = arguments.ids().map(|id| id.as_str()).filter(|id| wanted(id));
    ids.filter_map(|id| arguments.try_get_many::<PathBuf>(id).ok().flatten()).flatten().cloned().collect()
}

fn destroys(command: &str, output: &Path, input: &Path) -> bool {
    let (Ok(output), Ok(input)) = (output.canonicalize(), input.canonicalize()) else { return false };
    let is_part = |name: &str| is_counts_file(name) || is_part_file(name);
    let name = output.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let is_inside = output.parent() == Some(&input) && is_part(&name);
    let holds_it = output.is_dir() && input.starts_with(&output) && !ADDING.contains(&command);
    (output == input && !(output.is_dir() && ADDING.contains(&command))) || is_inside || holds_it
}
