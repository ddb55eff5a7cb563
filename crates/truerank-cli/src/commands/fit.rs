//! `truerank fit`: from a log to a ranker, all the way.

use std::path::PathBuf;

use anyhow::Result;
use truerank::counts::{LogSource, SplitBy};
use truerank::fit::{Fit as Way, FitData, FitFolder, FitLog, RankerForm};
use truerank::propensity::{Propensities, RelevanceForm};
use truerank::relevance::{EstimationChoice, Estimator, PriorKind, Shrink, Smoothing};

use super::common::{read_file, read_folder};
use super::features::FeatureArguments;
use super::log_arguments::{LogArguments, tell};
use crate::output::{print, print_json};
use crate::progress::Shown;

/// Go all the way from a click log to a ranker, and report on it
#[derive(clap::Args)]
#[command(after_help = "\
Counts the log, holds out a part of it, examines the rest as `truerank doctor`
does, estimates who looks where, turns clicks into relevance, trains a ranker,
and judges it on the part that was held out: by human grades where the data has
them, and by clicks. Every artefact is kept in the output folder:

  counts/ held-out/      counts of the two parts
  propensities.json      examination of users and positions
  relevance.parquet      relevance of shown documents
  ranker.safetensors     the ranker
  documents.parquet      features that were columns of the log (--feature)
  fit.json report.html   what came out

Features come from --data or from columns of the log itself (--feature). Forms of
rankers are tried on training queries that are held out meanwhile, and the best is
trained on all of them. Without features there is no ranker; the rest is done, and
pages are held out instead of queries.

Examples:
  truerank fit clicks.parquet --data data/ -o out/
  truerank fit 'logs/*.csv.gz' --column user=client_id --data documents.parquet -o out/
  truerank fit clicks.tsv --column session=user+serp --feature score --grade saved -o out/
  truerank fit clicks.parquet --data data/ --split time --model linear -o out/")]
pub struct Fit {
    #[command(flatten)]
    log: LogArguments,

    #[command(flatten)]
    features: FeatureArguments,

    /// How the held-out part is chosen: `query` (some queries), `page` (some result pages), or `time` (what happened last)
    /// [default: query with features, else page]
    #[arg(long, value_name = "BY", help_heading = "Judging")]
    split: Option<SplitBy>,

    /// The share of queries, of pages, or of the log's end, that is held out
    #[arg(long, default_value_t = FitLog::HELD_OUT, value_name = "SHARE", help_heading = "Judging")]
    held_out: f64,

    /// Examination probabilities that are known already
    #[arg(long, value_name = "FILE", help_heading = "Examination")]
    propensities: Option<PathBuf>,

    /// What gives relevance while examination is estimated: linear, mlp, mlp:SIZE,… or table [default: linear with
    /// features, else table]
    #[arg(long, value_name = "FORM", conflicts_with = "propensities", help_heading = "Examination")]
    relevance: Option<RelevanceForm>,

    /// Estimator, taken as it is: naive, ips-pbm, straightforward, user-aware or user-aware-smoothed [default:
    /// user-aware-smoothed, shrunk toward a prior]
    #[arg(long, help_heading = "Relevance")]
    estimator: Option<Estimator>,

    /// Strength of smoothing: `auto` (least estimated error), `likelihood`, or a number
    #[arg(long, default_value = "auto", value_name = "RULE", help_heading = "Relevance")]
    beta: Smoothing,

    /// What clicks correct: `none` (0), `mean` (of the log), `position` (mean of documents shown there), or `model` (from
    /// features) [default: model with features, else position; none for a named estimator]
    #[arg(long, value_name = "PRIOR", help_heading = "Relevance")]
    prior: Option<PriorKind>,

    /// Raise exposures below this share of the document's impressions to it
    #[arg(long, value_name = "SHARE", help_heading = "Relevance")]
    clip: Option<f64>,

    /// Pull weights toward the prior: `auto` (least estimated error), `none` or a number [default: auto; none for a named
    /// estimator]
    #[arg(long, value_name = "RULE", help_heading = "Relevance")]
    shrink: Option<Shrink>,

    /// linear-raw, linear, mlp or mlp:SIZE,SIZE,… [default: the best of the first three on held-out training queries]
    #[arg(long, help_heading = "Ranker")]
    model: Option<RankerForm>,

    /// Training steps at most; how many are best is found out [default: 1000, or 200 for linear]
    #[arg(long, help_heading = "Ranker")]
    steps: Option<usize>,

    /// Bring a network's features to one scale first: true or false
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set, help_heading = "Ranker")]
    standardise: bool,

    /// Seed of everything that has chance in it
    #[arg(long, default_value_t = Way::SEED)]
    seed: u64,

    /// Print the outcome as JSON
    #[arg(long)]
    json: bool,

    /// Folder to write
    #[arg(long, short, value_name = "FOLDER")]
    output: PathBuf,
}

impl Fit {
    pub fn run(mut self, progress: &Shown) -> Result<()> {
        self.check(&self.log.source()?)?;
        let way = self.way()?;
        let folder = FitFolder::create(&self.output)?;
        self.log.reading.0.keep_bad_rows_in(folder.path());
        let log = self.log.source()?;
        let data = self.data(&log, progress)?;
        let log = log.split(self.split(), self.held_out, self.seed, progress)?;
        tell(&log.summary, progress);
        let log = FitLog::from(log);
        let outcome = way.run(&log, data.as_ref(), progress)?;
        folder.write(&outcome, &log, data.as_ref())?;
        progress.finish();
        if self.json {
            return print_json(&outcome.to_json());
        }
        let page = self.output.join("report.html");
        print(&format!(
            "{}\nmore in {}; everything it is made of stands beside it\n",
            outcome.summary().text(),
            page.display()
        ))
    }

    /// How the held-out part is chosen.
    fn split(&self) -> SplitBy {
        let has_features = self.features.data.is_some() || !self.features.feature.is_empty();
        self.split.unwrap_or(SplitBy::usual(has_features))
    }

    fn check(&self, log: &LogSource) -> Result<()> {
        if !self.features.feature.is_empty() {
            log.check_features()?;
        }
        Ok(log.check_split(self.split(), self.held_out)?)
    }

    fn way(&self) -> Result<Way> {
        let mut way = Way::new().weights(self.weights()).standardise(self.standardise).seed(self.seed);
        way = way.max_grade(self.features.reading.max_grade);
        if let Some(model) = &self.model {
            way = way.model(model.clone());
        }
        if let Some(steps) = self.steps {
            way = way.steps(steps);
        }
        if let Some(path) = &self.propensities {
            way = way.propensities(Propensities::read(path)?);
        }
        if let Some(form) = &self.relevance {
            way = way.relevance_form(form.clone());
        }
        Ok(way)
    }

    fn weights(&self) -> EstimationChoice {
        let (estimator, beta) = (self.estimator, Some(self.beta));
        EstimationChoice { estimator, beta, prior: self.prior, clip: self.clip, shrink: self.shrink }
    }

    fn data(&self, log: &LogSource, progress: &Shown) -> Result<Option<FitData>> {
        let Some(path) = &self.features.data else {
            if self.features.feature.is_empty() {
                return Ok(None);
            }
            return Ok(Some(FitData::of_log(self.features.read_columns(log, progress)?)));
        };
        Ok(Some(match path.is_dir() {
            true => FitData::of_splits(read_folder(path, &self.features.reading, progress)?),
            false => FitData::of_documents(read_file(path, &self.features.reading, progress)?),
        }))
    }
}
