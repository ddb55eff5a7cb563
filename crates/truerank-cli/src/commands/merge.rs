//! `truerank merge`: counts of several days to one.

use std::path::PathBuf;

use anyhow::Result;
use truerank::counts::{MergeOptions, is_counts_file};
use truerank::files::check_folder;

use super::log_arguments::tell_spooled;
use super::memory::MemoryArguments;
use crate::options::Typed;
use crate::output::{Table, print, print_json, thousands};
use crate::progress::Shown;

/// Add counts of several logs, take some away, or let old ones fade
#[derive(clap::Args)]
#[command(after_help = "\
Counts add up: the folder is byte for byte that of counting all logs at once.
The same result page in two folders, and logs that were read with different
settings, are refused.

With --half-life old pages are thinned at random: one that is as many days old
is kept with probability 1/2. What is left are counts of a smaller log, in which
recent days weigh more.

Examples:
  truerank merge day1/ day2/ day3/ -o month/
  truerank merge month/ day31/ -o month-and-a-day/
  truerank merge month/ --without day1/ -o rest/
  truerank merge day*/ --half-life 14 -o recent/           (the last is today's)
  truerank merge recent/ day32/ --half-life 14 -o recent-now/
  truerank merge a/ b/ --half-life 14 --date 2026-11-01,2026-11-08 -o recent/
  truerank count day32.csv --append month/                 (count and merge at once)")]
pub struct Merge {
    /// Folders that `truerank count` or `truerank merge` wrote
    #[arg(required = true, value_name = "COUNTS")]
    counts: Vec<PathBuf>,

    #[command(flatten)]
    merging: Typed<MergeOptions>,

    #[command(flatten)]
    memory: MemoryArguments,

    /// Print the totals as JSON
    #[arg(long)]
    json: bool,

    /// Folder to write
    #[arg(long, short, value_name = "FOLDER")]
    output: PathBuf,
}

impl Merge {
    pub fn run(self, progress: &Shown) -> Result<()> {
        check_folder(&self.output, is_counts_file)?;
        let room = self.memory.room_beside(&self.output);
        let merging = self.merging.0.room(Some(room));
        let (totals, summary) = merging.merge(&self.counts, &self.output, progress)?;
        summary.remarks.iter().for_each(|remark| progress.say(remark));
        tell_spooled(summary.spooled, progress);
        progress.finish();
        if self.json {
            return print_json(&summary.to_json(&totals));
        }
        let mut table = Table::plain();
        totals.named().into_iter().for_each(|(name, value)| table.row([name.to_string(), thousands(value)]));
        print(&format!("{}wrote {}\n", table.render(), self.output.display()))
    }
}
