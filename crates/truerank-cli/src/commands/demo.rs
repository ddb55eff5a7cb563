//! `truerank demo`: the whole story on generated data.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use truerank::experiment::{self, Source};
use truerank::files::{check_file, write_file};

use crate::options::Typed;
use crate::output::{print, print_json};
use crate::progress::Shown;

/// Run the whole pipeline on generated data and compare all estimators
#[derive(clap::Args)]
#[command(after_help = "\
Generates a data set, trains a production ranker on 1 % of the labels, simulates
ten kinds of users who click on its lists, corrects the clicks in six ways,
trains a ranker on each, evaluates them all, and writes a report to look at.

Examples:
  truerank demo
  truerank demo --model linear --sessions 15000
  truerank demo --estimate
  truerank demo --seeds 3 --json > table.json")]
pub struct Demo {
    #[command(flatten)]
    demo: Typed<experiment::Demo>,

    /// Estimate examination from the clicks instead of taking the simulation's: linear or mlp relevance
    #[arg(long, value_name = "FORM", num_args = 0..=1, default_missing_value = "linear", value_parser = estimators())]
    estimate: Option<Source>,

    /// Print as JSON
    #[arg(long)]
    json: bool,

    /// Page to write
    #[arg(long, short, default_value = "report.html", value_name = "FILE")]
    output: PathBuf,
}

/// What gives relevance while examination is estimated.
fn estimators() -> impl TypedValueParser<Value = Source> {
    let names = PossibleValuesParser::new(["linear", "mlp"]);
    names.map(|name| if name == "mlp" { Source::EM_MLP } else { Source::EM })
}

impl Demo {
    pub fn run(self, progress: &Shown) -> Result<()> {
        let start = Instant::now();
        check_file(&self.output)?;
        let demo = self.demo.0.estimate(self.estimate);
        progress.say(&format!("generating {} …", demo.preset));
        let results = demo.run(progress)?;
        progress.finish();
        let report = results.report();
        write_file(&self.output, report.html()?.as_bytes())?;
        if self.json {
            return print_json(&results.to_json());
        }
        let seconds = start.elapsed().as_secs_f64();
        print(&format!("{}\n{seconds:.0} seconds; wrote {}\n", report.text(), self.output.display()))
    }
}
