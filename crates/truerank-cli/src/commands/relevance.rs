//! `truerank relevance`: counts and propensities to relevance weights.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rayon::prelude::*;
use serde_json::json;
use truerank::counts::Counts;
use truerank::files::{check_file, check_folder, write_folder};
use truerank::propensity::Propensities;
use truerank::relevance::{Estimator, Relevance as Weights, Smoothing, estimate};

use super::common::together;
use crate::output::{Table, measure, print, print_json, thousands};
use crate::progress::Shown;

/// Turn counts into relevance weights, corrected for who examines what
#[derive(clap::Args)]
#[command(after_help = "\
Estimators:
  naive                clicks over sessions
  ips-pbm              corrected by the average user's examination of each position
  straightforward      corrected by each click's own user: unbiased, noisy
  user-aware           corrected by the users of each query: unbiased, less noisy
  user-aware-smoothed  the same, with the users of rare queries pulled toward all users

Examples:
  truerank relevance counts/ --propensities clicks.propensities.json -o relevance.parquet
  truerank relevance counts/ --propensities p.json --estimator ips-pbm -o ips.parquet
  truerank relevance counts/ --propensities p.json --estimator all -o weights/")]
pub struct Relevance {
    /// Folder that `truerank count` wrote
    counts: PathBuf,

    /// Examination probabilities of users and positions
    #[arg(long, value_name = "FILE")]
    propensities: PathBuf,

    /// Estimator, or `all` to write each into a folder
    #[arg(long, default_value = "user-aware-smoothed")]
    estimator: String,

    /// Strength of smoothing: `auto` (least estimated error), `likelihood`, or a number
    #[arg(long, default_value = "auto", value_name = "RULE")]
    beta: String,

    /// Print a summary as JSON
    #[arg(long)]
    json: bool,

    /// File to write (.parquet); with `--estimator all` a folder
    #[arg(long, short)]
    output: PathBuf,
}

impl Relevance {
    pub fn run(self, progress: &Shown) -> Result<()> {
        let estimators = self.estimators()?;
        match self.estimator.as_str() {
            "all" => check_folder(&self.output, is_weights_file)?,
            _ => check_file(&self.output)?,
        }
        let counts = Counts::read(&self.counts)?;
        let propensities = Propensities::read(&self.propensities)?;
        let results: Vec<_> =
            estimators.into_par_iter().map(|estimator| estimate(&counts, &propensities, estimator)).collect();
        let all = results
            .into_iter()
            .collect::<truerank::Result<Vec<Weights>>>()
            .with_context(|| together(&self.counts, &self.propensities))?;
        match self.estimator.as_str() {
            "all" => write_all(&all, &self.output)?,
            _ => all[0].write(&self.output)?,
        }
        progress.finish();
        self.report(&all)
    }

    fn estimators(&self) -> Result<Vec<Estimator>> {
        let smoothing = match self.beta.as_str() {
            "auto" => Smoothing::LeastError,
            "likelihood" => Smoothing::Likelihood,
            number => match number.parse::<f64>() {
                Ok(beta) if beta >= 0.0 && beta.is_finite() => Smoothing::Fixed(beta),
                _ => bail!("--beta is '{number}', but should be auto, likelihood or a number from 0"),
            },
        };
        let with_rule = |estimator| match estimator {
            Estimator::UserAwareSmoothed(_) => Estimator::UserAwareSmoothed(smoothing),
            other => other,
        };
        match self.estimator.as_str() {
            "all" => Ok(Estimator::all().map(with_rule).to_vec()),
            name => Ok(vec![with_rule(name.parse()?)]),
        }
    }

    fn report(&self, all: &[Weights]) -> Result<()> {
        if self.json {
            let rows = all.iter().map(|weights| {
                let summary = Summary::of(weights);
                json!({
                    "estimator": weights.estimator, "beta": weights.beta, "documents": weights.weights.len(),
                    "mean_weight": summary.mean, "largest_weight": summary.largest,
                    "mean_standard_error": summary.standard_error,
                })
            });
            return print_json(&rows.collect());
        }
        let mut table = Table::new(["estimator", "documents", "mean", "largest", "mean std. error", "β"]);
        for weights in all {
            let summary = Summary::of(weights);
            table.row([
                weights.estimator.clone(),
                thousands(weights.weights.len() as u64),
                measure(summary.mean),
                measure(summary.largest),
                measure(summary.standard_error),
                weights.beta.map_or("".to_string(), |beta| format!("{beta:.2}")),
            ]);
        }
        print(&format!("{}wrote {}\n", table.render(), self.output.display()))
    }
}

/// What weights look like on the whole.
struct Summary {
    mean: f64,
    largest: f64,
    standard_error: f64,
}

impl Summary {
    fn of(weights: &Weights) -> Self {
        let count = weights.weights.len().max(1) as f64;
        let rows = || weights.weights.iter();
        Summary {
            mean: rows().map(|w| w.weight).sum::<f64>() / count,
            largest: rows().map(|w| w.weight).fold(0.0, f64::max),
            standard_error: rows().map(|w| w.variance.sqrt()).sum::<f64>() / count,
        }
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
