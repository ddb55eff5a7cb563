//! `truerank relevance`: counts and propensities to relevance weights.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rayon::prelude::*;
use truerank::click_model::ClickModel;
use truerank::counts::{Need, open_counts};
use truerank::data::Dataset;
use truerank::files::{check_file, check_folder, write_folder};
use truerank::propensity::Propensities;
use truerank::relevance::{
    Diagnostics, Estimation, EstimatorKind, Estimators, Exposures, KnownLog, Relevance as Weights, RelevanceOptions,
};
use truerank::spark::SparkRelevance;

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
  truerank relevance counts/ --propensities p.json --data data/ --clip 0.05 -o r.parquet
  truerank relevance clicks/ --propensities p.json --behaviour purchases/ --worth 5 -o r.parquet
  truerank relevance /shared/counts/ --propensities p.json --engine sc://spark -o /shared/r.parquet";

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

    /// Counts of another behaviour on the same pages, such as purchases; may be repeated
    #[arg(long, value_name = "FOLDER", help_heading = "Several behaviours")]
    behaviour: Vec<PathBuf>,

    /// What each `--behaviour` is worth, in their order, where a click is worth 1
    #[arg(long, value_name = "NUMBER", help_heading = "Several behaviours")]
    worth: Vec<f64>,

    #[command(flatten)]
    options: Typed<RelevanceOptions>,

    /// For `--prior model`: folder with train, vali and test (the training part is used), or a file
    #[arg(long, value_name = "DATA")]
    data: Option<PathBuf>,

    #[command(flatten)]
    reading: ReadArguments,

    /// Sum cells on an Apache Spark cluster that sees the counts and the output under the same paths: the address of its
    /// Spark Connect server. `--data` is read here [default: sum here]
    #[arg(
        long,
        value_name = "sc://HOST:PORT",
        conflicts_with_all = ["click_model", "diagnostics", "memory", "temporary"]
    )]
    engine: Option<String>,

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

/// What corrects the clicks, whichever behaviour they are of.
struct Known {
    propensities: Option<Propensities>,
    model: Option<ClickModel>,
    data: Option<Dataset>,
}

impl Relevance {
    pub fn run(self, progress: &Shown) -> Result<()> {
        self.check()?;
        let propensities = self.propensities.as_deref().map(Propensities::read).transpose()?;
        let model = self.click_model.as_deref().map(ClickModel::read).transpose()?;
        let data = self.data.as_deref().map(|path| read_training_part(path, &self.reading, progress)).transpose()?;
        let known = Known { propensities, model, data };
        let (of_clicks, diagnostics) = self.weights_of(&self.counts, &known, progress)?;
        let mut parts = vec![of_clicks];
        for counts in &self.behaviour {
            parts.push(self.weights_of(counts, &known, progress)?.0);
        }
        let all = self.of_behaviours(parts)?;
        match self.is_all() {
            true => write_all(&all, &self.output)?,
            false => all[0].write(&self.output)?,
        }
        progress.finish();
        self.report(&all, &diagnostics)
    }

    /// What can be said before anything is read.
    fn check(&self) -> Result<()> {
        match self.engine {
            Some(_) => SparkRelevance::check(&self.options.0, self.data.is_some())?,
            None => self.options.0.check(self.data.is_some())?,
        }
        if self.behaviour.len() != self.worth.len() {
            let (behaviours, worths) = (self.behaviour.len(), self.worth.len());
            bail!(
                "--behaviour is given {behaviours} times and --worth {worths} times, but each behaviour needs its worth"
            );
        }
        match self.is_all() {
            true => check_folder(&self.output, is_weights_file)?,
            false => check_file(&self.output)?,
        }
        Ok(())
    }

    /// Weights by every estimator that was asked for, from the counts of one behaviour.
    fn weights_of(
        &self,
        counts: &Path,
        known: &Known,
        progress: &Shown,
    ) -> Result<(Vec<Weights>, Vec<Option<Diagnostics>>)> {
        let examined = self.propensities.as_deref().or(self.click_model.as_deref()).unwrap_or(Path::new(""));
        let fits = || together(counts, examined);
        if let (Some(url), Some(propensities)) = (&self.engine, &known.propensities) {
            let spark = SparkRelevance::new(url);
            let data = known.data.as_ref();
            let found = spark.estimate(&self.options.0, counts, propensities, data, &self.output, progress);
            let found = found.with_context(fits)?;
            let diagnostics = found.iter().map(|_| None).collect();
            return Ok((found, diagnostics));
        }
        let opened = open_counts(counts, &self.memory.room_beside(&self.output), Need::Cells)?;
        let data = known.data.as_ref();
        let log = match (&known.propensities, &known.model) {
            (Some(propensities), _) => KnownLog::examined(opened.as_ref(), data, propensities),
            (None, Some(model)) => KnownLog::modelled(opened.as_ref(), data, model).with_context(fits)?,
            (None, None) => bail!("the arguments --propensities or --click-model are needed, but there is neither"),
        };
        let exposures = log.exposures(progress).with_context(fits)?;
        let estimations = self.options.0.estimations(&log, progress);
        let estimations =
            estimations.with_context(|| together(counts, self.data.as_deref().unwrap_or(Path::new(""))))?;
        // One after another: each is spread over all threads, and holds blocks of cells while it works.
        let results = estimations.iter().map(|estimation| self.weigh(estimation, exposures));
        let results = results.collect::<truerank::Result<Vec<_>>>().with_context(fits)?;
        Ok(results.into_iter().unzip())
    }

    /// The weights of all behaviours as one, for each estimator; a click is worth 1.
    fn of_behaviours(&self, mut parts: Vec<Vec<Weights>>) -> Result<Vec<Weights>> {
        if parts.len() == 1 {
            return Ok(parts.remove(0));
        }
        let worths = || std::iter::once(1.0).chain(self.worth.iter().copied());
        let of = |estimator: usize| {
            let behaviours: Vec<_> = parts.iter().map(|part| &part[estimator]).zip(worths()).collect();
            Weights::of_behaviours(&behaviours)
        };
        Ok((0..parts[0].len()).map(of).collect::<truerank::Result<_>>()?)
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
