//! `truerank train`: relevance weights and features to a ranker.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde_json::json;
use truerank::counts::Counts;
use truerank::data::{Dataset, Splits};
use truerank::evaluate::{Evaluator, Measure};
use truerank::experiment::labelled_share;
use truerank::files::check_file;
use truerank::network::{Architecture, Optimizer};
use truerank::propensity::Propensities;
use truerank::ranker::{
    LinearRaw, Method, Ranker, SvmRank, Targets, Trainer, TrainingLists, TrainingPairs, Unmatched, Validation,
};
use truerank::relevance::{Relevance, pair_weights};

use super::common::{DataArguments, together};
use crate::output::{Table, measure, print, print_json, thousands};
use crate::progress::Shown;

/// Train a ranker on relevance weights, on click pairs (PRS), or on human grades
#[derive(clap::Args)]
#[command(after_help = "\
What it learns from:
  --relevance FILE                  weights that `truerank relevance` wrote
  --pairs COUNTS --propensities P   click patterns of `truerank count --patterns`, by the PRS loss
  neither                           the human grades of the training part

The parameters with the best validation value are kept; validation uses the
grades of the vali part.

linear and mlp normalise the features of each document first, as in the paper,
whose features all lie in one range. For features of your own, such as a score
around 20 beside a price in thousands, add --standardise. linear-raw and svm-rank
scale features on the way and end as a weight for each raw feature, for servers
that know weights only; with one or two features, they are also the better choice.

Examples:
  truerank train data/ --relevance relevance.parquet -o ranker.safetensors
  truerank train data/ --relevance relevance.parquet --model linear -o linear.safetensors
  truerank train data/ --pairs counts/ --propensities p.json -o prs.safetensors
  truerank train data/ --model svm-rank --share 0.01 -o production.safetensors")]
pub struct Train {
    #[command(flatten)]
    data: DataArguments,

    /// Relevance weights to learn from
    #[arg(long, value_name = "FILE")]
    relevance: Option<PathBuf>,

    /// Counts with click patterns to learn from, by the PRS loss
    #[arg(long, value_name = "COUNTS", conflicts_with = "relevance", requires = "propensities")]
    pairs: Option<PathBuf>,

    /// Examination probabilities, for --pairs
    #[arg(long, value_name = "FILE", requires = "pairs")]
    propensities: Option<PathBuf>,

    /// linear, mlp, mlp:SIZE,SIZE,…, linear-raw or svm-rank
    #[arg(long, default_value = "mlp")]
    model: String,

    /// For linear and mlp: bring features to one scale first, for features of different scales; the
    /// paper's networks do without
    #[arg(long, alias = "standardize")]
    standardise: bool,

    /// lbfgs, adagrad, adam or sgd [default: lbfgs for linear, else adagrad]
    #[arg(long)]
    optimizer: Option<String>,

    /// Steps at most [default: 1000, or 200 for lbfgs]
    #[arg(long)]
    steps: Option<usize>,

    /// Queries per step
    #[arg(long, default_value_t = 256)]
    batch: usize,

    /// Size of steps
    #[arg(long, default_value_t = 0.01, value_name = "RATE")]
    learning_rate: f32,

    /// Norm to which longer gradients are cut
    #[arg(long, default_value_t = 5.0)]
    clip: f64,

    /// Penalty on squared parameters
    #[arg(long, default_value_t = 0.0)]
    l2: f64,

    /// Stop after this many checks without a better validation value [default: never]
    #[arg(long, value_name = "CHECKS")]
    patience: Option<usize>,

    /// Steps between checks
    #[arg(long, default_value_t = 10, value_name = "STEPS")]
    check_every: usize,

    /// What the validation part is judged by
    #[arg(long, default_value = "nDCG@5", value_name = "MEASURE")]
    validation: Measure,

    /// For svm-rank: share of labelled queries to learn from [default: all]
    #[arg(long)]
    share: Option<f64>,

    /// For svm-rank: cost of violated pairs; larger fits more closely [default: 1]
    #[arg(long)]
    cost: Option<f64>,

    /// The same seed gives the same ranker
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Print the training record as JSON
    #[arg(long)]
    json: bool,

    /// File to write (.safetensors)
    #[arg(long, short)]
    output: PathBuf,
}

/// What can be trained.
enum Model {
    Network(Architecture),
    LinearRaw,
    SvmRank,
}

impl Train {
    pub fn run(self, progress: &Shown) -> Result<()> {
        check_file(&self.output)?;
        let model = self.model()?;
        let data = self.data.read_splits(progress)?;
        let (mut ranker, unmatched) = match model {
            Model::SvmRank => (self.train_svm(&data.train, progress)?, Unmatched::default()),
            Model::LinearRaw => self.train_raw(&data, progress)?,
            Model::Network(architecture) => self.train_network(architecture, &data, progress)?,
        };
        ranker.record.notes.push(("source".to_string(), self.source()));
        ranker.save(&self.output)?;
        progress.finish();
        self.report(&ranker, unmatched)
    }

    fn model(&self) -> Result<Model> {
        let model = match self.model.split(':').next() {
            Some("linear" | "mlp") => Model::Network(self.model.parse()?),
            _ if self.model == "linear-raw" => self.check_raw().map(|()| Model::LinearRaw)?,
            _ if self.model == "svm-rank" => self.check_svm().map(|()| Model::SvmRank)?,
            _ => {
                bail!("--model is '{}', but should be linear, mlp, mlp:SIZE,SIZE,…, linear-raw or svm-rank", self.model)
            }
        };
        match model {
            Model::LinearRaw | Model::SvmRank if self.standardise => {
                bail!("{} scales features on the way; leave out --standardise", self.model)
            }
            Model::SvmRank => {}
            _ if self.share.is_none() && self.cost.is_none() => {}
            _ => bail!("--share and --cost are for --model svm-rank, but the model is {}", self.model),
        }
        Ok(model)
    }

    fn check_raw(&self) -> Result<()> {
        if self.pairs.is_some() {
            bail!("linear-raw learns from relevance weights or grades; leave out --pairs, or choose linear or mlp");
        }
        match &self.optimizer {
            Some(name) if name != "lbfgs" => bail!("linear-raw is trained by lbfgs; leave out --optimizer"),
            _ => Ok(()),
        }
    }

    fn check_svm(&self) -> Result<()> {
        if self.relevance.is_some() || self.pairs.is_some() {
            bail!("svm-rank learns from human grades; leave out --relevance and --pairs, or choose linear or mlp");
        }
        if self.optimizer.is_some() || self.steps.is_some() || self.patience.is_some() {
            bail!("svm-rank is solved to a tolerance; leave out --optimizer, --steps and --patience");
        }
        Ok(())
    }

    fn train_svm(&self, train: &Dataset, progress: &Shown) -> Result<Ranker> {
        let trainer = self.cost.map_or(SvmRank::new(), |cost| SvmRank::new().c(cost));
        match self.share {
            None => Ok(trainer.fit(train, progress)?),
            Some(share) => Ok(trainer.fit(&labelled_share(train, share, self.seed)?, progress)?),
        }
    }

    fn train_raw(&self, data: &Splits, progress: &Shown) -> Result<(Ranker, Unmatched)> {
        let mut trainer = LinearRaw::new().l2(self.l2);
        if let Some(steps) = self.steps {
            trainer = trainer.steps(steps);
        }
        if let Some(checks) = self.patience {
            trainer = trainer.patience(checks);
        }
        let (lists, unmatched) = self.lists(&data.train)?;
        let fit = |validation: &Validation<'_>| trainer.fit(&data.train, &lists, Some(validation), progress);
        Ok((self.validated(data, fit)?, unmatched))
    }

    /// What to learn from by a listwise loss: relevance weights, or grades.
    fn lists(&self, train: &Dataset) -> Result<(TrainingLists, Unmatched)> {
        match &self.relevance {
            Some(path) => TrainingLists::from_relevance(train, &Relevance::read(path)?)
                .with_context(|| together(path, &self.data.data)),
            None => Ok((TrainingLists::from_grades(train, self.data.reading.max_grade, None)?, Unmatched::default())),
        }
    }

    fn train_network(&self, model: Architecture, data: &Splits, progress: &Shown) -> Result<(Ranker, Unmatched)> {
        let (train, trainer) = (&data.train, self.trainer(model)?);
        if let (Some(counts), Some(propensities)) = (&self.pairs, &self.propensities) {
            let pairs = pair_weights(&Counts::read(counts)?, &Propensities::read(propensities)?)
                .with_context(|| together(counts, propensities))?;
            let (pairs, unmatched) =
                TrainingPairs::from_pair_weights(train, &pairs).with_context(|| together(counts, &self.data.data))?;
            return Ok((self.fit(&trainer, (&pairs).into(), data, progress)?, unmatched));
        }
        let (lists, unmatched) = self.lists(train)?;
        Ok((self.fit(&trainer, (&lists).into(), data, progress)?, unmatched))
    }

    fn trainer(&self, model: Architecture) -> Result<Trainer> {
        let mut trainer = Trainer::new()
            .architecture(model)
            .batch(self.batch)
            .learning_rate(self.learning_rate)
            .clip(self.clip)
            .l2(self.l2)
            .check_every(self.check_every)
            .standardise(self.standardise)
            .seed(self.seed);
        if let Some(name) = &self.optimizer {
            trainer = trainer.method(match name.as_str() {
                "lbfgs" => Method::Lbfgs,
                name => Method::Batches(name.parse::<Optimizer>().or_else(|_| {
                    bail!("--optimizer is '{name}', but should be lbfgs, adagrad, adam, sgd or like sgd:0.9")
                })?),
            });
        }
        if let Some(steps) = self.steps {
            trainer = trainer.steps(steps);
        }
        if let Some(checks) = self.patience {
            trainer = trainer.patience(checks);
        }
        Ok(trainer)
    }

    fn fit(&self, trainer: &Trainer, targets: Targets<'_>, data: &Splits, progress: &Shown) -> Result<Ranker> {
        self.validated(data, |validation| trainer.fit(&data.train, targets, Some(validation), progress))
    }

    /// What `fit` makes when the vali part validates.
    fn validated(
        &self,
        data: &Splits,
        fit: impl FnOnce(&Validation<'_>) -> truerank::Result<Ranker>,
    ) -> Result<Ranker> {
        let evaluator = Evaluator::new(vec![self.validation]).max_grade(self.data.reading.max_grade);
        let sign = if self.validation.larger_is_better() { 1.0 } else { -1.0 };
        let value = |scores: &[f32]| {
            let evaluation = evaluator.evaluate(&data.validation, scores).ok();
            evaluation.and_then(|evaluation| evaluation.mean(self.validation)).map_or(f64::NAN, |value| sign * value)
        };
        // Without grades there is nothing to validate by, and the evaluator says so.
        data.validation.require_grades("validation")?;
        Ok(fit(&Validation { data: &data.validation, measure: &value })?)
    }

    /// What the ranker learned from, without folders: files move.
    fn source(&self) -> String {
        let name = |path: &PathBuf| path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        match (&self.relevance, &self.pairs) {
            (Some(path), _) => format!("weights in {}", name(path)),
            (_, Some(path)) => format!("click pairs in {}", name(path)),
            _ => "human grades".to_string(),
        }
    }

    fn report(&self, ranker: &Ranker, unmatched: Unmatched) -> Result<()> {
        let record = &ranker.record;
        if self.json {
            return print_json(&json!({
                "model": self.model, "features": ranker.feature_count(),
                "standardised": ranker.scaling().is_some(), "record": record,
                "unmatched_queries": unmatched.queries, "unmatched_documents": unmatched.docs,
                "output": self.output,
            }));
        }
        let mut table = Table::default();
        table.row(["model".to_string(), self.model.clone()]);
        if ranker.scaling().is_some() {
            table.row(["features".to_string(), "brought to one scale first".to_string()]);
        }
        table.row(["learned from".to_string(), self.source()]);
        table.row(["lists".to_string(), thousands(record.lists as u64)]);
        if record.skipped_lists > 0 {
            table.row(["lists without weight, skipped".to_string(), thousands(record.skipped_lists as u64)]);
        }
        if unmatched != Unmatched::default() {
            table.row(["queries not in the data, left out".to_string(), thousands(unmatched.queries as u64)]);
            table.row(["documents not in the data, left out".to_string(), thousands(unmatched.docs as u64)]);
        }
        table.row(["method".to_string(), record.method.clone()]);
        table.row(["best step".to_string(), format!("{} of {}", record.best_step, record.steps)]);
        if let Some(value) = record.validation {
            table.row([format!("validation {}", self.validation), measure(value.abs())]);
        }
        print(&format!("{}wrote {}\n", table.render(), self.output.display()))
    }
}
