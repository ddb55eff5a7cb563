//! `truerank drift`: what changed between two logs?

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use truerank::counts::{Need, open_counts};
use truerank::drift::{Comparison, Drift as Comparer};
use truerank::propensity::Propensities;
use truerank::report::{Provenance, Verdict};

use super::memory::MemoryArguments;
use crate::again;
use crate::options::Typed;
use crate::output::{print_json, print_report};
use crate::progress::Shown;

/// Compare two logs: what changed between yesterday and today, by more than chance
#[derive(clap::Args)]
#[command(after_help = "\
Compares click rates, clicks per page, how deep clicks are, the length of pages,
who asks and what is asked, and click rates of the same documents at the same
positions, over all and by position; or two estimates of examination. Users (or
queries) are taken as independent, not clicks. Drift is a change whose p-value,
corrected for the number of tests, is below --level and that is at least --least
of the old value.

Exit code 0 if nothing drifted, 1 if something did or if that is open, 2 for an
error.

Examples:
  truerank drift yesterday/ today/
  truerank drift march/ april/ --least 0.05 -o report/
  truerank drift march.json april.json --json              (propensities)")]
pub struct Drift {
    /// Folder of counts, or propensities, of before
    old: PathBuf,

    /// The same of now
    new: PathBuf,

    #[command(flatten)]
    comparer: Typed<Comparer>,

    #[command(flatten)]
    memory: MemoryArguments,

    /// Print everything as JSON
    #[arg(long)]
    json: bool,

    /// Folder for report.html, its figures and tables
    #[arg(long, short, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

impl Drift {
    pub fn run(self, progress: &Shown) -> Result<ExitCode> {
        let found = self.compare(progress)?;
        let names = format!("{} and {}", self.old.display(), self.new.display());
        let mut report = found.report(&format!("Drift: {names}"));
        let made = Provenance::of(names).seed(self.comparer.0.seed).options(&self.comparer.0);
        report.provenance = Some(made.command(again::command("report/")));
        if let Some(folder) = &self.output {
            report.write(folder)?;
        }
        progress.finish();
        match self.json {
            true => print_json(&found.to_json())?,
            false => {
                let written =
                    self.output.as_ref().map(|folder| format!("\nwrote {}\n", folder.join("report.html").display()));
                print_report(&report, &written.unwrap_or_default())?;
            }
        }
        Ok(match found.stability() {
            Verdict::Holds => ExitCode::SUCCESS,
            Verdict::DoesNotHold | Verdict::Open => ExitCode::from(1),
        })
    }

    fn compare(&self, progress: &Shown) -> Result<Comparison> {
        if self.old.is_file() || self.new.is_file() {
            let read = |path: &Path| Propensities::read(path);
            return Ok(self.comparer.compare_propensities(&read(&self.old)?, &read(&self.new)?)?);
        }
        let room = self.memory.room(self.output.as_deref());
        // Both are open at the same time.
        let half = room.with_memory(truerank::memory::Memory::new(room.memory().bytes() / 2));
        let open = |path: &Path| open_counts(path, &half, Need::Cells);
        let (old, new) = (open(&self.old)?, open(&self.new)?);
        Ok(self.comparer.compare(old.as_ref(), new.as_ref(), progress)?)
    }
}
