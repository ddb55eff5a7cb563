//! `truerank demo`: the whole story on generated data.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use truerank::experiment::{self, Source};
use truerank::files::{check_file, write_file};

use crate::options::Typed;
use crate::output::{next_steps, print_json, print_report};
use crate::progress::Shown;

/// Run the whole pipeline on generated data and compare all estimators
#[derive(clap::Args)]
#[command(after_help = "\
Generates a data set, trains a production ranker on 1 % of the labels, simulates
ten kinds of users who click on its lists, estimates from the clicks how far down
each of them looks, corrects the clicks in several ways, trains a ranker on each,
evaluates them all by relevance labels, and writes a report to look at.

With --examination true, corrections know how far users look, as the simulation
has it. Nobody knows that of a real log: it shows what corrections could reach.

Examples:
  truerank demo
  truerank demo --model linear --sessions 15000
  truerank demo --examination true
  truerank demo --seeds 3 --json > table.json")]
pub struct Demo {
    #[command(flatten)]
    demo: Typed<experiment::Demo>,

    /// Where examination comes from: estimated from the clicks with linear or mlp relevance, or true (the simulation's own)
    #[arg(long, value_name = "FROM", default_value = "linear", value_parser = sources())]
    examination: Source,

    /// Print as JSON
    #[arg(long)]
    json: bool,

    /// Page to write
    #[arg(long, short, default_value = "report.html", value_name = "FILE")]
    output: PathBuf,
}

/// What gives relevance while examination is estimated, or the truth.
fn sources() -> impl TypedValueParser<Value = Source> {
    PossibleValuesParser::new(["linear", "mlp", "true"]).map(|name| match name.as_str() {
        "mlp" => Source::EM_MLP,
        "true" => Source::Known,
        _ => Source::EM,
    })
}

impl Demo {
    pub fn run(self, progress: &Shown) -> Result<()> {
        let start = Instant::now();
        check_file(&self.output)?;
        let demo = self.demo.0.examination(self.examination);
        progress.say(&format!("generating {} …", demo.preset));
        let results = demo.run(progress)?;
        progress.finish();
        let report = demo.report(&results);
        write_file(&self.output, report.html()?.as_bytes())?;
        if self.json {
            return print_json(&results.to_json());
        }
        let seconds = start.elapsed().as_secs_f64();
        let next = next_steps(&[
            ("truerank doctor clicks.csv".into(), "is your own log fit to learn from?"),
            (
                "truerank experiment all --preset small -o results/".into(),
                "the paper's questions, with tests over seeds",
            ),
        ]);
        print_report(&report, &format!("\n{seconds:.0} seconds; wrote {}\n\n{next}", self.output.display()))
    }
}
