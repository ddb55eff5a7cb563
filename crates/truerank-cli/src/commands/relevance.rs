//! `truerank relevance`: counts and propensities to relevance weights.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rayon::prelude::*;
use truerank::counts::{Need, open_counts};
use truerank::files::{check_file, check_folder, write_folder};
use truerank::propensity::{Propensities, RelevanceForm};
use truerank::relevance::{
    Diagnostics, Estimation, EstimationChoice, Estimator, Exposures, KnownLog, PriorKind, Relevance as Weights,
    RelevancePredictor, Shrink, Smoothing,
};

use super::common::{ReadArguments, read_training_part, together};
use super::memory::MemoryArguments;
use super::weights_report::{diagnostics_text, report_json, report_text};
use crate::output::{print, print_json};
use crate::progress::Shown;

/// Turn counts into relevance weights, corrected for who examines what
#[derive(clap::Args)]
#[command(after_help = "\
Estimators:
  naive                clicks over impressions
  ips-pbm              corrected by the average user's examination of each position
  straightforward      corrected by each click's own user: unbiased, noisy
  user-aware           corrected by the users of each query: unbiased, less noisy
  user-aware-smoothed  the same, with the few users who saw a document pulled toward all users

Prior and correction, for the user-aware ones: relevance = r + (clicks - r*exposure) / D, with r the
prior and D = max(exposure, clip * impressions) + shrink. Where no estimator is named, weights
are user-aware-smoothed, shrunk as far as the log says toward a prior: predicted from features
(--data), else by position. `--shrink none` or `--prior none` turns that off. Nothing is clipped
unless asked.

Examples:
  truerank relevance counts/ --propensities clicks.propensities.json -o relevance.parquet
  truerank relevance counts/ --propensities p.json --data data/ -o relevance.parquet
  truerank relevance counts/ --propensities p.json --estimator ips-pbm -o ips.parquet
  truerank relevance counts/ --propensities p.json --estimator all -o weights/
  truerank relevance counts/ --propensities p.json --prior mean --shrink auto -o r.parquet
  truerank relevance counts/ --propensities p.json --shrink none -o r.parquet
  truerank relevance counts/ --propensities p.json --data data/ --clip 0.05 -o r.parquet")]
pub struct Relevance {
    /// Folder that `truerank count` wrote
    counts: PathBuf,

    /// Examination probabilities of users and positions
    #[arg(long, value_name = "FILE")]
    propensities: PathBuf,

    /// Estimator, taken as it is, or `all` to write each into a folder [default: user-aware-smoothed, shrunk]
    #[arg(long)]
    estimator: Option<String>,

    /// Strength of smoothing: `auto` (least estimated error), `likelihood`, or a number
    #[arg(long, default_value = "auto", value_name = "RULE")]
    beta: Smoothing,

    /// What clicks correct: `none` (0), `mean` (of the log), `position` (mean of documents shown there), or `model`
    /// (predicted from features) [default: model with --data, else position; none for a named estimator]
    #[arg(long, value_name = "PRIOR")]
    prior: Option<PriorKind>,

    /// For `--prior model`: folder with train, vali and test (the training part is used), or a file
    #[arg(long, value_name = "DATA")]
    data: Option<PathBuf>,

    /// For `--prior model`: linear, mlp, or like mlp:64,32; no document is predicted from clicks on its query
    #[arg(long, default_value = "linear", value_name = "MODEL")]
    prior_model: RelevanceForm,

    #[command(flatten)]
    reading: ReadArguments,

    /// Raise exposures below this share of the document's impressions to it
    #[arg(long, value_name = "SHARE")]
    clip: Option<f64>,

    /// Pull weights toward the prior, as if it had been examined so often: `auto` (least estimated error), `none` or a
    /// number [default: auto; none for a named estimator]
    #[arg(long, value_name = "RULE")]
    shrink: Option<Shrink>,

    /// Seed of the model
    #[arg(long, default_value_t = 1)]
    seed: u64,

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
        let choices = self.choices()?;
        self.check(&choices)?;
        let counts = open_counts(&self.counts, &self.memory.room_beside(&self.output), Need::Cells)?;
        let propensities = Propensities::read(&self.propensities)?;
        let data = self.data.as_deref().map(|path| read_training_part(path, &self.reading, progress)).transpose()?;
        let log = KnownLog::examined(counts.as_ref(), data.as_ref(), &propensities);
        let fits = || together(&self.counts, &self.propensities);
        let exposures = log.exposures(progress).with_context(fits)?;
        let predictor = RelevancePredictor::new().form(self.prior_model.clone()).seed(self.seed);
        let estimations = choices.iter().map(|choice| choice.estimation(&log, &predictor, progress));
        let estimations = estimations.collect::<truerank::Result<Vec<_>>>();
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
    fn check(&self, choices: &[EstimationChoice]) -> Result<()> {
        let corrects = self.clip.is_some() || self.shrink.is_some_and(|shrink| shrink != Shrink::None);
        if corrects && choices.iter().any(|choice| !choice.estimator().divides_by_exposure()) {
            bail!(
                "--clip and --shrink belong to user-aware and user-aware-smoothed, but --estimator is {}",
                self.estimator.as_deref().unwrap_or_default()
            );
        }
        match (choices[0].prior(self.data.is_some()), &self.data) {
            (PriorKind::Model, None) => bail!("--prior model needs the features of the documents; add --data"),
            (PriorKind::Model, Some(_)) | (_, None) => {}
            (_, Some(_)) => bail!("--data is for --prior model"),
        }
        choices.iter().try_for_each(|choice| choice.check(self.data.is_some()))?;
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
        self.estimator.as_deref() == Some("all")
    }

    fn choices(&self) -> Result<Vec<EstimationChoice>> {
        let choice = |estimator| EstimationChoice {
            estimator,
            beta: Some(self.beta),
            prior: self.prior,
            clip: self.clip,
            shrink: self.shrink,
        };
        Ok(match self.estimator.as_deref() {
            None => vec![choice(None)],
            Some("all") => Estimator::all().map(|estimator| choice(Some(estimator))).to_vec(),
            Some(name) => vec![choice(Some(name.parse()?))],
        })
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
    Estimator::all().iter().any(|estimator| format!("{estimator}.parquet") == name)
}
