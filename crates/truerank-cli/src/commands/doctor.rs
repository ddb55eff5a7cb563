//! `truerank doctor`: is a log fit to learn from?

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use truerank::counts::{CountOptions, Need};
use truerank::doctor::Doctor as Examiner;
use truerank::report::{Provenance, Verdict};

use super::features::FeatureArguments;
use super::log_arguments::{LogArguments, tell};
use super::memory::MemoryArguments;
use crate::again;
use crate::options::Typed;
use crate::output::{next_steps, print_json, print_report};
use crate::progress::Shown;

/// Examine a click log: what is in it, is it fit, do users bias it, which estimator suits it
#[derive(clap::Args)]
#[command(after_help = "\
Looks at sizes, click rates by position, sessions of users and queries, pages
with missing or shared positions, which positions can be compared, and whether
there is personalized bias: users who differ in what they search for and in how
they look, some clicking more, some deeper. These are permutation tests that
leave pages whole. A log has personalized bias if users differ in both and a
correction that treats them alike is off by 5 % or more; what cannot be told is
open, with what would settle it.

The estimator is chosen by how well its weights are expected to order documents.

Features (--data, or columns of the log with --feature) let positions be
compared where documents never moved.

Exit code 0 if the log is fit to learn from, 1 if not or if that is open, 2 for
an error.

Examples:
  truerank doctor clicks.parquet --data data/
  truerank doctor 'logs/*.csv.gz' --columns user=client_id -o report/
  truerank doctor clicks.tsv --feature score --json
  truerank doctor counts/ --data data/                (counted before)")]
pub struct Doctor {
    #[command(flatten)]
    log: LogArguments,

    #[command(flatten)]
    features: FeatureArguments,

    #[command(flatten)]
    examiner: Typed<Examiner>,

    #[command(flatten)]
    memory: MemoryArguments,

    /// Print everything as JSON
    #[arg(long)]
    json: bool,

    /// Folder for report.html, its figures and tables
    #[arg(long, short, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

impl Doctor {
    pub fn run(self, progress: &Shown) -> Result<ExitCode> {
        let log = self.log.source()?;
        let data = self.features.read_documents(&log, progress)?;
        let room = self.memory.room(self.output.as_deref());
        let (counts, summary) = log.view(&CountOptions::new().room(Some(room)), Need::Estimation, progress)?;
        tell(&summary, progress);
        let diagnosis = self.examiner.0.examine(counts.as_ref(), summary.pages.as_ref(), data.as_ref(), progress)?;
        let mut report = diagnosis.report(&log.title());
        let made = Provenance::of(log.title()).seed(self.examiner.0.seed).options(&self.examiner.0);
        report.provenance = Some(made.command(again::command("report/")));
        if let Some(folder) = &self.output {
            report.write(folder)?;
        }
        progress.finish();
        match self.json {
            true => print_json(&diagnosis.to_json(&summary.remarks()))?,
            false => {
                let written =
                    self.output.as_ref().map(|folder| format!("\nwrote {}\n", folder.join("report.html").display()));
                print_report(&report, &format!("{}\n{}", written.unwrap_or_default(), self.next(diagnosis.fitness())))?;
            }
        }
        Ok(match diagnosis.fitness() {
            Verdict::Holds => ExitCode::SUCCESS,
            Verdict::DoesNotHold | Verdict::Open => ExitCode::from(1),
        })
    }

    /// What to do with such a log.
    fn next(&self, fitness: Verdict) -> String {
        let page = again::command("report/").filter(|_| self.output.is_none());
        let fit = again::command_as("fit", "out/").filter(|_| fitness == Verdict::Holds);
        let mut steps = Vec::new();
        steps.extend(page.map(|command| (command, "the same as a page with figures")));
        steps.extend(fit.map(|command| (command, "learn a ranker from it")));
        if steps.is_empty() { String::new() } else { next_steps(&steps) }
    }
}
