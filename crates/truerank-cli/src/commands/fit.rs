//! `truerank fit`: from a log to a ranker, all the way.

use std::path::PathBuf;

use anyhow::Result;
use truerank::counts::LogSource;
use truerank::fit::{Fit as Way, FitData, FitFolder, FitOutcome, WarmStart};
use truerank::propensity::Propensities;
use truerank::report::Provenance;

use super::common::{read_file, read_folder};
use super::features::FeatureArguments;
use super::log_arguments::{LogArguments, tell};
use super::memory::MemoryArguments;
use crate::again;
use crate::options::Typed;
use crate::output::{next_steps, print_json, print_report};
use crate::progress::Shown;

/// Go all the way from a click log to a ranker, and report on it
#[derive(clap::Args)]
#[command(after_help = "\
Counts the log, holds out a part of it, examines the rest as `truerank doctor`
does, estimates who looks where, turns clicks into relevance, trains a ranker,
and judges it on the part that was held out: by relevance labels where the data has
them, and by clicks. Every artefact is kept in the output folder:

  counts/ held-out/      counts of the two parts
  propensities.json      examination of users and positions
  click-model.json       the click model, where one corrects clicks (--click-model)
  relevance.parquet      relevance of shown documents
  ranker.safetensors     the ranker
  documents.parquet      features that were columns of the log (--feature)
  fit.json report.html   what came out

Features come from --data or from columns of the log itself (--feature). Forms of
rankers are tried on training queries that are held out meanwhile, and the best is
trained on all of them. Without features there is no ranker; the rest is done, and
pages are held out instead of queries.

--click-model auto compares models of how people browse as `truerank doctor` does. One
is used where it predicts clicks significantly better than examination by position, and its
relevance predicts clicks on moved documents as well.

Examples:
  truerank fit clicks.parquet --data data/ -o out/
  truerank fit 'logs/*.csv.gz' --columns user=client_id --data documents.parquet -o out/
  truerank fit clicks.tsv --columns session=user+serp --feature score --grade saved -o out/
  truerank fit clicks.parquet --data data/ --split time --model linear -o out/
  truerank fit counts/ --data data/ -o out/           (counted before)
  truerank fit today.parquet --data data/ --warm yesterday/ -o today/")]
pub struct Fit {
    #[command(flatten)]
    log: LogArguments,

    #[command(flatten)]
    features: FeatureArguments,

    /// Examination probabilities that are known already
    #[arg(long, value_name = "FILE", help_heading = "Examination")]
    propensities: Option<PathBuf>,

    /// Folder of an earlier fit: its kind of ranker, steps and number of kinds of users are not chosen again
    #[arg(long, value_name = "FOLDER")]
    warm: Option<PathBuf>,

    #[command(flatten)]
    options: Typed<Way>,

    #[command(flatten)]
    memory: MemoryArguments,

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
        let (data, title) = (self.data(&log, progress)?, log.title());
        let room = self.memory.room_beside(&self.output);
        let (log, summary) = way.read_log(&log, data.is_some(), Some(room), progress)?;
        tell(&summary, progress);
        let mut outcome = way.run(&log, data.as_ref(), progress)?;
        let made = outcome.provenance.take().unwrap_or_default();
        outcome.provenance = Some(Provenance { input: title, ..made }.command(again::command("out/")));
        folder.write(&outcome, &log, data.as_ref())?;
        progress.finish();
        if self.json {
            return print_json(&outcome.to_json());
        }
        let page = self.output.join("report.html");
        let after = format!("\nwrote {}; its parts are in the same folder\n\n{}", page.display(), self.next(&outcome));
        print_report(&outcome.summary(), &after)
    }

    /// What to do with what came out.
    fn next(&self, outcome: &FitOutcome) -> String {
        let [ranker, relevance, documents] =
            ["ranker.safetensors", "relevance.parquet", "documents.parquet"].map(|name| self.output.join(name));
        let [ranker, relevance] = [ranker, relevance].map(|path| again::path(&path));
        if outcome.training.is_none() {
            return next_steps(&[(
                format!("truerank export {relevance} --to csv -o labels.csv"),
                "relevance labels for a ranker of your own",
            )]);
        }
        let parts = |folder: &PathBuf| ["test.txt", "test.parquet"].map(|name| folder.join(name));
        let file = |data: &PathBuf| parts(data).into_iter().find(|path| path.is_file()).unwrap_or(data.clone());
        let data = again::path(&self.features.data.as_ref().map_or(documents, file));
        next_steps(&[
            (format!("truerank explain {ranker} --data {data} -o ranker.html"), "what it has learned"),
            (format!("truerank score {data} --ranker {ranker} -o run.trec"), "rank documents with it"),
            (format!("truerank export {ranker} --to onnx -o ranker.onnx"), "take it to production"),
        ])
    }

    fn has_features(&self) -> bool {
        self.features.data.is_some() || !self.features.feature.is_empty()
    }

    fn check(&self, log: &LogSource) -> Result<()> {
        if !self.features.feature.is_empty() {
            log.check_features()?;
        }
        Ok(log.check_split(self.options.0.split_for(self.has_features()), self.options.0.held_out)?)
    }

    fn way(&self) -> Result<Way> {
        let propensities = self.propensities.as_deref().map(Propensities::read).transpose()?;
        let warm = self.warm.as_deref().map(WarmStart::read).transpose()?;
        let way = self.options.0.clone().propensities(propensities).warm(warm);
        let way = way.max_grade(self.features.reading.max_grade);
        way.check(self.has_features())?;
        Ok(way)
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
