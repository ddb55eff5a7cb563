//! `truerank demo`: the whole story on generated data.

use std::time::Instant;

use anyhow::Result;
use serde_json::json;
use truerank::data::{Generator, Preset};
use truerank::evaluate::Measure;
use truerank::experiment::{Examination, MainTable, Method, SummaryCell, SummaryRow, TableResult, summarise};
use truerank::network::Architecture;
use truerank::propensity::{PropensityError, RegressionEm, RelevanceForm};
use truerank::ranker::Trainer;
use truerank::relevance::Estimator;
use truerank::simulate::Simulation;

use crate::output::{Table, measure, print, print_json, thousands};
use crate::progress::Shown;

/// Run the whole pipeline on generated data and compare all estimators
#[derive(clap::Args)]
#[command(after_help = "\
Generates a data set, trains a production ranker on 1 % of the labels, simulates
ten kinds of users who click on its lists, corrects the clicks in five ways,
trains a ranker on each, and evaluates them all.

Examples:
  truerank demo
  truerank demo --model linear --sessions 15000
  truerank demo --estimate
  truerank demo --seeds 3 --json > table.json")]
pub struct Demo {
    /// Data to generate: tiny, small, yahoo, baidu, hard
    #[arg(long, default_value_t = Preset::Small)]
    preset: Preset,

    /// Sessions to simulate [default: 200 per training query]
    #[arg(long)]
    sessions: Option<u64>,

    /// linear, mlp or mlp:SIZE,SIZE,…
    #[arg(long, default_value = "mlp")]
    model: Architecture,

    /// Training steps at most, for each ranker
    #[arg(long, default_value_t = STEPS)]
    steps: usize,

    /// Estimate examination from the clicks instead of taking the simulation's: linear or mlp relevance
    #[arg(long, value_name = "FORM", num_args = 0..=1, default_missing_value = "linear")]
    estimate: Option<RelevanceForm>,

    /// How often to run it all, each time with other users, clicks and initial weights
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,

    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// Keeps the demo under two minutes on two cores; most rankers' best checkpoint comes earlier.
const STEPS: usize = 400;

/// Checks without a better validation value before training stops.
const PATIENCE: usize = 15;

/// Enough for straightforward's variance to fall below ips-pbm's bias; user-aware is ahead of both from far fewer.
const SESSIONS_PER_QUERY: u64 = 200;

impl Demo {
    pub fn run(self, progress: &Shown) -> Result<()> {
        let start = Instant::now();
        progress.say(&format!("generating {} …", self.preset));
        let data = Generator::preset(self.preset).seed(self.seed).generate()?;
        let sessions = self.sessions.unwrap_or(SESSIONS_PER_QUERY * data.train.query_count() as u64);
        let mut table = MainTable::new().simulation(Simulation::new().sessions(sessions)).trainer(self.trainer());
        if let Some(form) = &self.estimate {
            let em = RegressionEm::new().relevance(form.clone());
            table = table.examination(Examination::Estimated(em)).methods(Method::with_estimated_examination());
        }
        let results = (self.seed..self.seed + self.seeds)
            .map(|seed| Ok(table.run(&data, seed, progress)?))
            .collect::<Result<Vec<TableResult>>>()?;
        progress.finish();
        let rows = summarise(&results, Method::Estimated(Estimator::UserAware));
        if self.json {
            return print_json(&self.to_json(sessions, &rows, &results));
        }
        let queries = [&data.train, &data.validation, &data.test].map(|part| thousands(part.query_count() as u64));
        let [train, vali, test] = queries;
        let mut text = format!(
            "\n{} generated queries to train on, {} to validate, {} to test; {} simulated sessions of 10 kinds of users; \
             {} rankers\n\n",
            train,
            vali,
            test,
            thousands(sessions),
            self.model
        );
        text += &render(&rows);
        text += "+/- significantly better or worse than user-aware (paired t-test, p < .05)\n";
        text += "MSE: mean squared error of the estimated relevance of shown documents\n";
        text +=
            "prs takes a missing click for a verdict; here good documents are often passed over (docs/results.md)\n";
        if self.estimate.is_some() {
            text += "Examination estimated from the clicks; cpbm's from a second log in which half of the lists were shuffled\n";
            text += &errors_text(&results);
        }
        if self.seeds > 1 {
            text += &format!("Means over {} seeds; ± half the 95 % interval of nDCG@5\n", self.seeds);
        }
        text += &format!("{}\n", answer(&rows));
        text += &format!("{:.0} seconds\n", start.elapsed().as_secs_f64());
        print(&text)
    }

    fn trainer(&self) -> Trainer {
        let trainer = Trainer::new().architecture(self.model.clone());
        match self.model {
            Architecture::Linear => trainer.patience(PATIENCE),
            _ => trainer.steps(self.steps).patience(PATIENCE),
        }
    }

    fn to_json(&self, sessions: u64, rows: &[SummaryRow], results: &[TableResult]) -> serde_json::Value {
        let cell = |cell: &SummaryCell| {
            json!({
                "mean": cell.mean,
                "half_width_95": cell.interval.map(|interval| interval.half_width),
                "p": cell.test.map(|test| test.p),
                "mark": cell.mark().map(String::from),
            })
        };
        let row = |row: &SummaryRow| {
            let measures = Measure::paper().into_iter().zip(&row.measures).map(|(m, c)| (m.to_string(), cell(c)));
            json!({
                "method": row.method.to_string(),
                "measures": measures.collect::<serde_json::Map<_, _>>(),
                "mse": row.mse.as_ref().map(cell),
                "beta": row.beta,
            })
        };
        json!({
            "type": "truerank/main-table", "version": 1,
            "preset": self.preset.to_string(), "sessions": sessions, "model": self.model.to_string(),
            "seed": self.seed, "seeds": self.seeds,
            "estimate": self.estimate.as_ref().map(|form| form.to_string()),
            "propensity_errors": results.iter().map(|result| {
                let error = |(method, error): &(String, PropensityError)| json!({
                    "method": method, "population": error.population, "users": error.users, "rare_users": error.rare,
                });
                result.propensity_errors.iter().map(error).collect::<Vec<_>>()
            }).collect::<Vec<_>>(),
            "click_rates": results.iter().map(|result| &result.click_rates).collect::<Vec<_>>(),
            "rows": rows.iter().map(row).collect::<Vec<_>>(),
        })
    }
}

/// How far estimated examination is from the truth, averaged over seeds.
fn errors_text(results: &[TableResult]) -> String {
    let mut text = String::from("Error of examination itself:");
    let methods = results.first().map_or(0, |result| result.propensity_errors.len());
    for index in 0..methods {
        let mean = |value: &dyn Fn(&PropensityError) -> Option<f64>| {
            let values: Option<Vec<f64>> =
                results.iter().map(|result| value(&result.propensity_errors[index].1)).collect();
            values.map(|values| 100.0 * values.iter().sum::<f64>() / values.len() as f64)
        };
        let population = mean(&|error| Some(error.population)).unwrap_or(f64::NAN);
        text += &format!("\n  {}: population {population:.1} %", results[0].propensity_errors[index].0);
        if let Some(users) = mean(&|error| error.users) {
            text += &format!(", users {users:.1} %");
        }
    }
    text + "\n"
}

/// The table as the paper lays it out: what is known without clicks, a line, what is learned from them.
fn render(rows: &[SummaryRow]) -> String {
    let measures = Measure::paper().into_iter().map(|m| m.to_string());
    let with_intervals = rows.iter().any(|row| row.measures[NDCG5].interval.is_some());
    let mut header: Vec<String> = std::iter::once("method".to_string()).chain(measures).collect();
    header.push("MSE".to_string());
    if with_intervals {
        header.push("±".to_string());
    }
    let mut table = Table::new(header);
    for row in rows {
        let mut cells = vec![row.method.to_string()];
        cells.extend(row.measures.iter().map(marked));
        cells.push(row.mse.as_ref().map_or("– ".to_string(), marked));
        cells.extend(row.measures[NDCG5].interval.map(|interval| measure(interval.half_width)));
        table.row(cells);
        if row.method == Method::Ideal {
            table.rule();
        }
    }
    table.render()
}

/// Where nDCG@5 stands among the paper's measures.
const NDCG5: usize = 2;

/// The number and its mark, or a space so that digits align.
fn marked(cell: &SummaryCell) -> String {
    format!("{}{}", measure(cell.mean), cell.mark().unwrap_or(' '))
}

/// What the table says, in a sentence.
fn answer(rows: &[SummaryRow]) -> String {
    let ndcg5 = |estimator: Estimator| {
        rows.iter().find(|row| row.method == Method::Estimated(estimator)).map(|row| row.measures[NDCG5].mean)
    };
    let (Some(aware), Some(ips)) = (ndcg5(Estimator::UserAware), ndcg5(Estimator::IpsPbm)) else {
        return String::new();
    };
    let verb = if aware > ips { "gains" } else { "loses" };
    format!(
        "Correcting for the users of each query {verb} {} nDCG@5 over correcting for the average user",
        measure((aware - ips).abs())
    )
}
