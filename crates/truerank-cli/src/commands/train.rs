//! `truerank train`: relevance weights and features to a ranker.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::json;
use truerank::counts::Counts;
use truerank::data::Splits;
use truerank::evaluate::{Evaluator, Measure};
use truerank::files::check_file;
use truerank::propensity::Propensities;
use truerank::ranker::{LearnFrom, Ranker, Training, Unmatched};
use truerank::relevance::{PairRatio, Relevance, pair_weights};

use super::common::{DataArguments, together};
use crate::options::Typed;
use crate::output::{Table, measure, print, print_json, thousands};
use crate::progress::Shown;

/// Train a ranker on relevance weights, on click pairs (PRS), or on human grades
#[derive(clap::Args)]
#[command(after_help = "\
What it learns from:
  --relevance FILE                  weights that `truerank relevance` wrote
  --pairs COUNTS --propensities P   click patterns of `truerank count --patterns`, by the PRS loss
  neither                           the human grades of the training part

What weighs a pair of a clicked and an unclicked document, --pair-weights:
  prs           examination of the unclicked over that of the clicked, as published
  prs-by-score  that of the lower-scored over that of the higher-scored, as in the
                program behind the paper's table; close to naive clicks
  prs-by-user   as prs, with the examination of each page's own user
Where relevant documents are often passed over, prs learns to put last what was
shown first; docs/results.md tells why.

The parameters with the best validation value are kept; validation uses the
grades of the vali part.

What linear and mlp see of the features, --scaling:
  rank      the ranks of values among the training documents, spread as a normal
            distribution: heavy tails do no harm
  standard  each with mean 0 and deviation 1 over the training documents
  none      features as they are
  paper     the features of each document, normalised over the document, as in the
            paper; that forgets how high they all are
linear-raw and svm-rank scale features on the way and end as a weight for each raw
feature, for servers that know weights only. trees take features as they are: only
the order of their values counts.

Examples:
  truerank train data/ --relevance relevance.parquet -o ranker.safetensors
  truerank train data/ --relevance relevance.parquet --model linear -o linear.safetensors
  truerank train data/ --relevance relevance.parquet --model trees --patience 8 -o trees.safetensors
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

    /// What weighs a click pair, for --pairs [default: prs]
    #[arg(long, value_name = "RATIO", requires = "pairs", value_parser = pair_ratio())]
    pair_weights: Option<PairRatio>,

    #[command(flatten)]
    training: Typed<Training>,

    /// What the validation part is judged by
    #[arg(long, default_value_t, value_name = "MEASURE")]
    validation: Measure,

    /// Print the training record as JSON
    #[arg(long)]
    json: bool,

    /// File to write (.safetensors)
    #[arg(long, short)]
    output: PathBuf,
}

impl Train {
    pub fn run(self, progress: &Shown) -> Result<()> {
        check_file(&self.output)?;
        let training = self.training.0.clone().max_grade(self.data.reading.max_grade);
        let data = self.data.read_splits(progress)?;
        let (ranker, unmatched) = self.train(&training, &data, progress)?;
        ranker.save(&self.output)?;
        progress.finish();
        self.report(&ranker, unmatched)
    }

    fn train(&self, training: &Training, data: &Splits, progress: &Shown) -> Result<(Ranker, Unmatched)> {
        let fit = |from: LearnFrom<'_>| self.fit(training, data, from, progress);
        if let Some(path) = &self.relevance {
            let relevance = Relevance::read(path)?;
            return fit(LearnFrom::Relevance(&relevance)).with_context(|| together(path, &self.data.data));
        }
        if let (Some(counts), Some(propensities)) = (&self.pairs, &self.propensities) {
            let ratio = self.pair_weights.unwrap_or_default();
            let pairs = pair_weights(&Counts::read(counts)?, &Propensities::read(propensities)?, ratio)
                .with_context(|| together(counts, propensities))?;
            return fit(LearnFrom::Pairs(&pairs)).with_context(|| together(counts, &self.data.data));
        }
        Ok(fit(LearnFrom::Grades)?)
    }

    fn fit(
        &self,
        training: &Training,
        data: &Splits,
        from: LearnFrom<'_>,
        progress: &Shown,
    ) -> truerank::Result<(Ranker, Unmatched)> {
        training.check(from)?;
        let evaluator = Evaluator::new(vec![self.validation]).max_grade(self.data.reading.max_grade);
        let kind = training.model.kind();
        let validation = kind.learns_from_weights.then(|| evaluator.validation(&data.validation)).transpose()?;
        training.fit(&data.train, from, validation.as_ref(), progress)
    }

    /// How a network's features are scaled.
    fn scaling(&self) -> Option<String> {
        let training = &self.training.0;
        training.model.kind().takes("scaling").then(|| training.scaling.to_string())
    }

    fn report(&self, ranker: &Ranker, unmatched: Unmatched) -> Result<()> {
        let (record, model) = (&ranker.record, self.training.0.model.to_string());
        if self.json {
            return print_json(&json!({
                "model": model, "features": ranker.feature_count(),
                "scaling": self.scaling(), "record": record,
                "unmatched_queries": unmatched.queries, "unmatched_documents": unmatched.docs,
                "output": self.output,
            }));
        }
        let mut table = Table::plain();
        table.row(["model".to_string(), model]);
        if let Some(scaling) = self.scaling() {
            table.row(["scaling of features".to_string(), scaling]);
        }
        if let Some((_, source)) = record.notes.iter().find(|(name, _)| name == "source") {
            table.row(["learned from".to_string(), source.clone()]);
        }
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

/// A ratio by its name.
fn pair_ratio() -> impl TypedValueParser<Value = PairRatio> {
    PossibleValuesParser::new(PairRatio::NAMES).try_map(|name| name.parse())
}
