//! `truerank report`: results to a page.

use std::path::PathBuf;

use anyhow::Result;
use truerank::experiment::{Results, Store};

use crate::output::{print, print_json};
use crate::progress::Shown;

/// Draw the report on an experiment's results, finished or not
#[derive(clap::Args)]
#[command(after_help = "\
Writes report.html, which needs no network, figures/*.svg, and tables/*.csv and
*.tex.

Examples:
  truerank report results/
  truerank report results/ -o for-the-paper/
  truerank report results/ --json | jq '.claims[] | select(.holds | not)'")]
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
            false => print(&format!("{}\nwrote {}\n", report.text(), output.join("report.html").display())),
        }
    }
}
