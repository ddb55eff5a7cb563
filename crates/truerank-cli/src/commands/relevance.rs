//! `truerank relevance`: counts and propensities to relevance weights.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rayon::prelude::*;
use truerank::click_model::ClickModel;
use truerank::counts::{Need, open_counts};
use truerank::files::{check_file, check_folder, write_folder};
use truerank::propensity::Propensities;
use truerank::relevance::{
    Diagnostics, Estimation, EstimatorKind, Estimators, Exposures, KnownLog, Relevance as Weights, RelevanceOptions,
};

use super::common::{ReadArguments, read_training_part, together};
use super::memory::MemoryArguments;
use super::weights_report::{diagnostics_text, report_json, report_text};
use crate::options::Typed;
use crate::output::{print, print_json};
use crate::progress::Shown;

/// What is said below the options; the estimators are those that the library has.
fn after_help() -> String {
    let estimators = EstimatorKind::ALL.iter().map(|kind| format!("  {:<19}  {}\n", kind.name, kind.help));
    format!("Estimators:\n{}\n{ABOUT}", estimators.collect::<String>())
}

const ABOUT: &str = "\
Prior and correction, for the user-aware ones: relevance = r + (clicks - r*exposure) / D, with r the
prior and D = max(exposure, clip * impressions) + shrink. Where no estimator is named, weights
are user-aware-smoothed, shrunk as far as the log says toward a prior: predicted from features
(--data), else by position. `--shrink none` or `--prior none` turns that off. Nothing is clipped
unless asked.

Examples:
  truerank relevance counts/ --propensities clicks.propensities.json -o relevance.parquet
  truerank relevance counts/ --propensities p.json --data data/ -o relevance.parquet
  truerank relevance counts/ --click-model click-model.json -o relevance.parquet
  truerank relevance counts/ --propensities p.json --estimator ips-pbm -o ips.parquet
  truerank relevance counts/ --propensities p.json --estimator all -o weights/
  truerank relevance counts/ --propensities p.json --prior mean --shrink auto -o r.parquet
  truerank relevance counts/ --propensities p.json --shrink none -o r.parquet
  truerank relevance counts/ --propensities p.json --data data/ --clip 0.05 -o r.parquet";

/// Turn counts into relevance weights, corrected for who examines what
#[derive(clap::Args)]
#[command(after_help = after_help())]
pub struct Relevance {
    /// Folder that `truerank count` wrote
    counts: PathBuf,

    /// Examination probabilities of users and positions
    #[arg(long, value_name = "FILE", required_unless_present = "click_model")]
    propensities: Option<PathBuf>,

    /// Exposure by a click model, given the clicks above, instead: what `truerank click-model` wrote. The counts need click
    /// transitions
    #[arg(long, value_name = "FILE", conflicts_with = "propensities")]
    click_model: Option<PathBuf>,

    #[command(flatten)]
    options: Typed<RelevanceOptions>,

    /// For `--prior model`: folder with train, vali and test (the training part is used), or a file
    #[arg(long, value_name = "DATA")]
    data: Option<PathBuf>,

    #[command(flatten)]
    reading: ReadArguments,

    /// Also say how much the weights depend on few clicks
    #[arg(long)]
    diagnostics: bool,

    #[command(flatten)]
    memory: MemoryArguments,

    /// Print a summary as JSON
    #[arg(long)]
    json: bool,

    /// File to write (.parquet); with `--estimator all` a folder
    #[arg(long, short)]
    output: PathBuf,
}

impl Relevance {
    pub fn run(self, progress: &Shown) -> Result<()> {
        self.check()?;
        let counts = open_counts(&self.counts, &self.memory.room_beside(&self.output), Need::Cells)?;
        let propensities = self.propensities.as_deref().map(Propensities::read).transpose()?;
        let model = self.click_model.as_deref().map(ClickModel::read).transpose()?;
        let data = self.data.as_deref().map(|path| read_training_part(path, &self.reading, progress)).transpose()?;
        let examined = self.propensities.as_deref().or(self.click_model.as_deref()).unwrap_or(Path::new(""));
        let fits = || together(&self.counts, examined);
        let log = match (&propensities, &model) {
            (Some(propensities), _) => KnownLog::examined(counts.as_ref(), data.as_ref(), propensities),
            (None, Some(model)) => KnownLog::modelled(counts.as_ref(), data.as_ref(), model).with_context(fits)?,
            (None, None) => bail!("the arguments --propensities or --click-model are needed, but there is neither"),
        };
        let exposures = log.exposures(progress).with_context(fits)?;
        let estimations = self.options.0.estimations(&log, progress);
        let estimations =
            estimations.with_context(|| together(&self.counts, self.data.as_deref().unwrap_or(Path::new(""))))?;
        // One after another: each is spread over all threads, and holds blocks of cells while it works.
        let results = estimations.iter().map(|estimation| self.weigh(estimation, exposures));
        let results = results.collect::<truerank::Result<Vec<_>>>().with_context(fits)?;
        let (all, diagnostics): (Vec<Weights>, Vec<Option<Diagnostics>>) = results.into_iter().unzip();
        match self.is_all() {
            true => write_all(&all, &self.output)?,
            false => all[0].write(&self.output)?,
        }
        progress.finish();
        self.report(&all, &diagnostics)
    }

    /// What can be said before anything is read.
    fn check(&self) -> Result<()> {
        self.options.0.check(self.data.is_some())?;
        match self.is_all() {
            true => check_folder(&self.output, is_weights_file)?,
            false => check_file(&self.output)?,
        }
        Ok(())
    }

    fn weigh(
        &self,
        estimation: &Estimation,
        exposures: &Exposures<'_>,
    ) -> truerank::Result<(Weights, Option<Diagnostics>)> {
        let weighing = estimation.weigh(exposures)?;
        let diagnostics = self.diagnostics.then(|| weighing.diagnostics()).transpose()?;
        Ok((weighing.relevance()?, diagnostics))
    }

    fn is_all(&self) -> bool {
        self.options.0.weights.estimator == Some(Estimators::All)
    }

    fn report(&self, all: &[Weights], diagnostics: &[Option<Diagnostics>]) -> Result<()> {
        if self.json {
            let rows = all.iter().zip(diagnostics).map(|(weights, diagnostics)| {
                let mut row = report_json(weights);
                if let Some(diagnostics) = diagnostics {
                    row["diagnostics"] = diagnostics.to_json();
                }
                row
            });
            return print_json(&rows.collect());
        }
        let mut text = report_text(all);
        for (weights, diagnostics) in all.iter().zip(diagnostics) {
            let found = diagnostics.as_ref().map(|diagnostics| diagnostics_text(&weights.estimator, diagnostics));
            text += &found.unwrap_or_default();
        }
        print(&format!("{text}wrote {}\n", self.output.display()))
    }
}

fn write_all(all: &[Weights], folder: &Path) -> Result<()> {
    Ok(write_folder(folder, is_weights_file, |folder| {
        all.par_iter().try_for_each(|weights| weights.write(&folder.join(format!("{}.parquet", weights.estimator))))
    })?)
}

/// Whether `--estimator all` writes a file of this name.
fn is_weights_file(name: &str) -> bool {
    EstimatorKind::names().iter().any(|estimator| format!("{estimator}.parquet") == name)
}
