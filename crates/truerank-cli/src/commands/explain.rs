//! `truerank explain`: what a ranker has learned.

use std::path::PathBuf;

use anyhow::{Context, Result};
use truerank::files::{check_file, write_file};
use truerank::insight;
use truerank::ranker::Ranker;
use truerank::report::Provenance;

use super::common::{ReadArguments, read_training_part, together};
use crate::again;
use crate::options::Typed;
use crate::output::{print_json, print_report};
use crate::progress::Shown;

/// Explain what a ranker has learned: which features matter, and how scores depend on them
#[derive(clap::Args)]
#[command(after_help = "\
A feature matters as much as the order of documents changes when its values are
exchanged at random between the documents of a query; with grades, also as much as
nDCG@10 is lower then. Trees also tell the gain of their splits, linear rankers
their weights. The partial dependence of scores on a feature is the mean score of
documents when the feature has one value for all of them.

Some queries are drawn from the data, with at most 50 documents each, so that this
takes seconds. Documents that the ranker did not learn from tell best what a
feature is worth.

Examples:
  truerank explain ranker.safetensors --data data/test.txt
  truerank explain ranker.safetensors --data data/test.txt -o ranker.html
  truerank explain ranker.safetensors --data data/test.txt --json | jq '.importance'")]
pub struct Explain {
    /// The ranker
    ranker: PathBuf,

    /// Documents: LETOR/SVMlight text or Parquet; of a folder the training part
    #[arg(long, value_name = "PATH")]
    data: PathBuf,

    #[command(flatten)]
    reading: ReadArguments,

    #[command(flatten)]
    explain: Typed<insight::Explain>,

    /// Print everything as JSON
    #[arg(long)]
    json: bool,

    /// Page to write
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Explain {
    pub fn run(self, progress: &Shown) -> Result<()> {
        self.output.as_deref().map(check_file).transpose()?;
        let ranker = Ranker::load(&self.ranker)?;
        let data = read_training_part(&self.data, &self.reading, progress)?;
        let explanation = self.explain.explain(&ranker, &data, progress);
        let explanation = explanation.with_context(|| together(&self.ranker, &self.data))?;
        let mut report = explanation.report(&ranker);
        let input = format!("{} with {}", self.ranker.display(), self.data.display());
        let made = Provenance::of(input).seed(self.explain.0.seed).options(&self.explain.0);
        report.provenance = Some(made.command(again::command("ranker.html")));
        if let Some(output) = &self.output {
            write_file(output, report.html()?.as_bytes())?;
        }
        progress.finish();
        if self.json {
            return print_json(&explanation.to_json(&ranker));
        }
        let written = self.output.map(|output| format!("\nwrote {}\n", output.display()));
        print_report(&report, &written.unwrap_or_default())
    }
}
