//! `truerank count`: a log to counts.

use std::path::PathBuf;

use anyhow::Result;
use truerank::counts::{AddingOptions, CountOptions, is_counts_file};
use truerank::files::check_folder;
use truerank::spark::SparkCount;

use super::log_arguments::{LogArguments, tell};
use super::memory::MemoryArguments;
use crate::options::Typed;
use crate::output::{Table, print, print_json, thousands};
use crate::progress::Shown;

/// Count a click log: how often each user saw and clicked each document at each position
#[derive(clap::Args)]
#[command(after_help = "\
A log has one row per shown document, in columns session, user, query, doc,
position (from 1) and click (0 or 1); or one row per result page, with lists of
docs and clicks. Other columns are ignored, and rows may be in any order.
What was shown and not clicked must be in it.

Examples:
  truerank count clicks.parquet -o counts/
  truerank count clicks.parquet --patterns -o counts/      (for the PRS loss)
  truerank count clicks.parquet --transitions -o counts/   (for click models)
  truerank count 'logs/*.csv.gz' --columns user=client_id -o counts/
  truerank count searches.jsonl --columns session=user+search -o counts/
  truerank count news.csv --columns query= --click-when 'dwell_time>0' -o counts/
  truerank count events.csv --event-column type --click-event open -o counts/
  truerank count train.txt --format yandex -o counts/
  truerank count logs/ --memory 4GiB -o counts/            (the rest goes to disk)
  truerank count logs/ --since 2024-03-01 --on-bad-row skip -o counts/
  truerank count today.csv --append counts/                (see truerank merge)
  zcat clicks.gz | truerank count - --format tsv -o counts/
  truerank count /shared/logs/ --engine sc://spark:15002 -o /shared/counts/")]
pub struct Count {
    #[command(flatten)]
    log: LogArguments,

    #[command(flatten)]
    what: Typed<CountOptions>,

    /// Count on an Apache Spark cluster that sees the log and the output under the same paths: the address of its Spark
    /// Connect server [default: count here]
    #[arg(long, value_name = "sc://HOST:PORT", conflicts_with_all = ["memory", "temporary"])]
    engine: Option<String>,

    #[command(flatten)]
    memory: MemoryArguments,

    /// Print the totals as JSON
    #[arg(long)]
    json: bool,

    /// Add the counts to those of this folder, which changes only when all is done; `truerank merge` says what is refused
    #[arg(long, value_name = "COUNTS", conflicts_with_all = ["output", "engine"])]
    append: Option<PathBuf>,

    #[command(flatten)]
    adding: Typed<AddingOptions>,

    /// Folder to write
    #[arg(long, short, value_name = "FOLDER", required_unless_present = "append")]
    output: Option<PathBuf>,
}

impl Count {
    pub fn run(mut self, progress: &Shown) -> Result<()> {
        let output = self.append.clone().or(self.output.take()).unwrap_or_default();
        if self.append.is_none() {
            self.log.reading.0.keep_bad_rows_in(&output);
        }
        let log = self.log.source()?;
        check_folder(&output, is_counts_file)?;
        let (counted, summary) = match &self.engine {
            Some(url) => {
                let what = &self.what.0;
                what.check_no_context("counting on Spark does not keep any")?;
                let count = SparkCount::new(url).patterns(what.patterns).transitions(what.transitions);
                count.count(&log, &output, progress)?
            }
            None => {
                let what = self.what.0.clone().room(Some(self.memory.room_beside(&output)));
                match self.append {
                    Some(_) => log.append_to(&output, &what, &self.adding.0, progress)?,
                    None => log.count_into(&output, &what, progress)?,
                }
            }
        };
        tell(&summary, progress);
        progress.finish();
        if self.json {
            return print_json(&summary.to_json(&counted));
        }
        let left_out = Some(summary.bad_rows.count).filter(|&count| count > 0);
        let totals = counted.named().into_iter().chain(left_out.map(|count| ("rows left out", count)));
        let mut table = Table::plain();
        totals.for_each(|(name, value)| table.row([name.to_string(), thousands(value)]));
        print(&format!("{}wrote {}\n", table.render(), output.display()))
    }
}
