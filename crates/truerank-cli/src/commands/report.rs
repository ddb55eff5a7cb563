//! `truerank report`: results to a page.

use std::path::PathBuf;

use anyhow::Result;
use truerank::experiment::{Results, Store};

use crate::output::{print_json, print_report};
use crate::progress::Shown;

/// Draw the report on an experiment's results, finished or not
#[derive(clap::Args)]
#[command(after_help = "\
Writes report.html, which needs no network, figures/*.svg, and tables/*.csv and
*.tex.

Examples:
  truerank report results/
  truerank report results/ -o for-the-paper/
  truerank report results/ --json | jq '.claims[] | select(.verdict == \"no\")'")]
pub struct Report {
    /// Folder that `truerank experiment` wrote
    results: PathBuf,

    /// Folder to write to [default: the results' own]
    #[arg(long, short, value_name = "FOLDER")]
    output: Option<PathBuf>,

    /// Print claims and tables as JSON
    #[arg(long)]
    json: bool,
}

impl Report {
    pub fn run(self, progress: &Shown) -> Result<()> {
        let (store, settings) = Store::open(&self.results)?;
        let results = Results::read(&store, settings)?;
        let report = results.report();
        let output = self.output.as_ref().unwrap_or(&self.results);
        report.write(output)?;
        progress.finish();
        match self.json {
            true => print_json(&results.to_json()),
            false => print_report(&report, &format!("\nwrote {}\n", output.join("report.html").display())),
        }
    }
}
