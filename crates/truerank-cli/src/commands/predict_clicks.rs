//! `truerank predict-clicks`: how well relevance and examination predict clicks of a log they did not see.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde_json::json;
use truerank::click_model::ClickMeasures;
use truerank::evaluate::{Bounds, ClickLikelihood, ClickPrediction, Leakage, Resampling, leakage};
use truerank::options::Options;
use truerank::propensity::Propensities;
use truerank::relevance::{PredictedRelevance, Relevance};
use truerank::report::Format;

use super::common::together;
use super::evaluate_clicks::{interval, leakage_text, open_both};
use super::memory::MemoryArguments;
use super::predict_by_model::{measure_on, measures_json, measures_text, predict};
use crate::options::Typed;
use crate::output::{Table, measure, print, print_json, thousands, wrap};
use crate::progress::Shown;

/// Predict the clicks of a later log from relevance and examination, beside click rates
#[derive(clap::Args)]
#[command(after_help = "\
A click has the probability examination * relevance. Perplexity is 2^(-mean log2 of the
probability of what happened): 1 is perfect, 2 a coin. Documents without relevance get
the prior of the position where they are shown, or the mean. The click rate of a document
has one impression of the overall rate beside. Intervals (95 %) and p come from
resampling queries. A click model (--click-model) is judged by log-likelihood, perplexity
and conditional perplexity as PyClick and CLAX define them, which are means over positions.
Examination and relevance are judged by these too where the counts have click transitions;
compare them with each other, and not with the measures of the table, which are means over impressions.

Examples:
  truerank predict-clicks later/ --click-model click-model.json
  truerank predict-clicks later/ --propensities p.json --relevance relevance.parquet
  truerank predict-clicks later/ --propensities p.json --relevance r.parquet --train-counts earlier/")]
pub struct PredictClicks {
    /// Counts of the log to predict (`truerank count`)
    counts: PathBuf,

    /// Examination probabilities of users and positions
    #[arg(long, value_name = "FILE", required_unless_present = "click_model")]
    propensities: Option<PathBuf>,

    /// Relevance of documents, from another part of the log (`truerank relevance`)
    #[arg(long, value_name = "FILE", required_unless_present = "click_model")]
    relevance: Option<PathBuf>,

    /// Predict by a click model instead (`truerank click-model`); the counts need click transitions
    #[arg(long, value_name = "FILE", conflicts_with_all = ["propensities", "relevance", "train_counts"])]
    click_model: Option<PathBuf>,

    /// Counts of that part: the baselines' click rates [default: those of the predicted log]
    #[arg(long, value_name = "COUNTS")]
    train_counts: Option<PathBuf>,

    #[command(flatten)]
    resampling: Typed<Resampling>,

    #[command(flatten)]
    memory: MemoryArguments,

    /// Print as JSON
    #[arg(long)]
    json: bool,
}

impl PredictClicks {
    pub fn run(self, progress: &Shown) -> Result<()> {
        if let Some(model) = &self.click_model {
            if let Some(option) = self.resampling.0.first_given() {
                bail!("--{option} is for --propensities and --relevance, but there is --click-model");
            }
            return predict(&self.counts, model, &self.memory.room(None), self.json, progress);
        }
        let (Some(propensities_path), Some(relevance)) = (&self.propensities, &self.relevance) else {
            bail!("--propensities and --relevance, or --click-model, are needed");
        };
        let (counts, training) = open_both(&self.counts, self.train_counts.as_deref(), &self.memory)?;
        // A log is split by time here: queries on both sides are what there is to predict.
        let shared = training.as_ref().map(|training| leakage(training.as_ref(), counts.as_ref()));
        let propensities = Propensities::read(propensities_path)?;
        let predicted = PredictedRelevance::from(&Relevance::read(relevance)?);
        let found =
            ClickPrediction::of(counts.as_ref(), &propensities, &predicted, training.as_deref(), &self.resampling.0)
                .with_context(|| together(&self.counts, propensities_path))?;
        let measured = counts.totals().transitions.map(|_| {
            let model = predicted.position_based(&propensities);
            measure_on(counts.as_ref(), &model).with_context(|| together(&self.counts, propensities_path))
        });
        let measured = measured.transpose()?;
        progress.finish();
        match self.json {
            true => print_json(&to_json(&found, measured.as_ref(), shared.as_ref())),
            false => print(&to_text(&found, measured.as_ref(), shared.as_ref())),
        }
    }
}

fn to_text(found: &ClickPrediction, measured: Option<&ClickMeasures>, shared: Option<&Leakage>) -> String {
    let mut table = Table::new(["prediction", "log-likelihood (95 %)", "perplexity (95 %)"]);
    for (name, likelihood) in rows(found) {
        table.row([name.to_string(), with_interval(likelihood.log_likelihood), with_interval(likelihood.perplexity)]);
    }
    let mut positions = Table::new(["position", "impressions", "clicks", "predicted", "perplexity", "of click rate"]);
    for at in &found.positions {
        positions.row([
            at.position.to_string(),
            thousands(at.impressions),
            measure(at.click_rate),
            measure(at.predicted_rate),
            measure(at.perplexity.value),
            measure(at.baseline),
        ]);
    }
    let about = wrap(&format!(
        "{} impressions; log-likelihood above that of the positions' click rates: {}, p {}; {} documents, with {} of \
         the impressions, have no relevance and got that of their position, or the mean; {} impressions had a probability outside of 1e-6 to 1 − 1e-6",
        thousands(found.impressions),
        with_interval(found.gain.bounds),
        Format::PValue.print(found.gain.p),
        thousands(found.unknown_docs as u64),
        Format::Percent.print(found.unknown_impressions as f64 / found.impressions.max(1) as f64),
        thousands(found.clamped)
    ));
    let measured = measured.map(measures_text).unwrap_or_default();
    let shared = shared.map(leakage_text).unwrap_or_default();
    format!("{}{about}{shared}{measured}\n{}", table.render(), positions.render())
}

/// `.5260 (.5123 to .5398)`.
fn with_interval(bounds: Bounds) -> String {
    format!("{} ({})", measure(bounds.value), interval(bounds))
}

fn rows(found: &ClickPrediction) -> [(&'static str, ClickLikelihood); 4] {
    [
        ("examination × relevance", found.model),
        ("click rate by position", found.by_position),
        ("click rate by document", found.by_document),
        ("one click rate", found.overall),
    ]
}

fn to_json(found: &ClickPrediction, measured: Option<&ClickMeasures>, shared: Option<&Leakage>) -> serde_json::Value {
    let likelihood = |of: ClickLikelihood| json!({ "log_likelihood": of.log_likelihood.to_json(), "perplexity": of.perplexity.to_json() });
    let positions = found.positions.iter().map(|at| {
        json!({
            "position": at.position, "impressions": at.impressions, "click_rate": at.click_rate,
            "predicted_rate": at.predicted_rate, "perplexity": at.perplexity.to_json(),
            "click_rate_perplexity": at.baseline,
        })
    });
    json!({
        "type": "truerank/click-prediction", "version": 1,
        "impressions": found.impressions, "unknown_documents": found.unknown_docs,
        "unknown_impressions": found.unknown_impressions, "clamped_impressions": found.clamped,
        "shared_queries": shared.map(|found| found.queries.len()),
        "model": likelihood(found.model), "click_rate_by_position": likelihood(found.by_position),
        "click_rate_by_document": likelihood(found.by_document), "click_rate": likelihood(found.overall),
        // As PyClick and CLAX define them; null without click transitions.
        "measures": measured.map(measures_json),
        "gain": found.gain.bounds.to_json(), "p": found.gain.p, "positions": positions.collect::<Vec<_>>(),
    })
}
