//! `truerank simulate`: a click log from graded data.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::json;
use truerank::counts::is_counts_file;
use truerank::data::Splits;
use truerank::files::{check_file, check_folder};
use truerank::ranker::Production;
use truerank::simulate::{ShownLists, Simulation, Simulator, propensities_path};

use super::common::{DataArguments, LoadedRanker};
use crate::options::Typed;
use crate::output::{Table, measure, print, print_json, thousands};
use crate::progress::Shown;

/// Simulate a click log: users who differ in what they search and how far down they look
#[derive(clap::Args)]
#[command(after_help = "\
The training queries' documents are ordered by a production ranker, an SVM-rank
trained on 1 % of the queries; the first 10 are shown. The true examination
probabilities of every user go beside the log: those of clicks.parquet are in
clicks.propensities.json.

Examples:
  truerank simulate data/ --sessions 1000000 --users 10 --seed 1 -o clicks.parquet
  truerank simulate data/ --sessions 50000 --swap 0.1 -o clicks.csv.gz
  truerank simulate data/ --sessions 1000000000 --cells -o counts/")]
pub struct Simulate {
    #[command(flatten)]
    data: DataArguments,

    #[command(flatten)]
    simulation: Typed<Simulation>,

    #[command(flatten)]
    production: Typed<Production>,

    /// Rankers that show the lists instead of the production ranker, one of them at random per session
    #[arg(long, value_name = "FILE")]
    logger: Vec<PathBuf>,

    /// Draw counts directly, without sessions, and write them as a folder: any number of sessions costs the same
    #[arg(long)]
    cells: bool,

    /// Print a summary as JSON
    #[arg(long)]
    json: bool,

    /// The log: .parquet, .csv or .tsv, text also .gz or .zst; with --cells a folder
    #[arg(long, short)]
    output: PathBuf,
}

impl Simulate {
    pub fn run(self, progress: &Shown) -> Result<()> {
        self.check_output()?;
        let simulation = self.simulation.0.clone().max_grade(self.data.reading.max_grade);
        simulation.check()?;
        let data = self.data.read_splits(progress)?;
        let lists = self.shown_lists(&data, &simulation, progress)?;
        let simulator = simulation.prepare(&data.train, &lists)?;
        let propensities = propensities_path(&self.output);
        let clicks = if self.cells {
            let counts = simulator.counts()?;
            counts.write(&self.output)?;
            let mut clicks = Clicks::default();
            counts.cells.iter().for_each(|cell| clicks.add(cell.position, cell.impressions, cell.clicks));
            clicks
        } else {
            self.write_log(&simulator, progress)?
        };
        simulator.propensities().write_beside(&propensities, &self.output)?;
        progress.finish();
        self.report(&clicks, &simulator, &propensities)
    }

    fn check_output(&self) -> Result<()> {
        check_file(&propensities_path(&self.output))?;
        match self.cells {
            true => Ok(check_folder(&self.output, is_counts_file)?),
            false => Ok(check_file(&self.output)?),
        }
    }

    fn shown_lists(&self, data: &Splits, simulation: &Simulation, progress: &Shown) -> Result<Vec<ShownLists>> {
        if self.logger.is_empty() {
            return Ok(vec![self.production.0.lists(&data.train, simulation.seed, progress)?]);
        }
        let lists = |path: &PathBuf| {
            let scores = LoadedRanker::load(path)?.score(&data.train, &self.data.data)?;
            Ok(ShownLists::top(&data.train, &scores, self.production.0.length)?)
        };
        self.logger.iter().map(lists).collect()
    }

    /// Draws and writes the log.
    fn write_log(&self, simulator: &Simulator<'_>, progress: &Shown) -> Result<Clicks> {
        let mut clicks = Clicks::default();
        simulator.write_log(&self.output, progress, |impressions| {
            impressions.iter().for_each(|i| clicks.add(i.position, 1, u64::from(i.click)));
        })?;
        Ok(clicks)
    }

    fn report(&self, clicks: &Clicks, simulator: &Simulator<'_>, propensities: &Path) -> Result<()> {
        let theta = simulator.propensities().population;
        let (impressions, clicked) = clicks.0.iter().fold((0, 0), |sum, p| (sum.0 + p.0, sum.1 + p.1));
        if self.json {
            return print_json(&json!({
                "sessions": self.simulation.0.sessions, "impressions": impressions, "clicks": clicked,
                "click_rate": clicks.rates(), "examination": theta,
                "output": self.output, "propensities": propensities,
            }));
        }
        let mut table = Table::new(["position", "clicks per impression", "examination"]);
        for (k, (rate, theta)) in clicks.rates().iter().zip(&theta).enumerate() {
            table.row([(k + 1).to_string(), measure(*rate), measure(*theta)]);
        }
        print(&format!(
            "{} sessions, {} impressions, {} clicks\n\n{}\nwrote {} and {}\n",
            thousands(self.simulation.0.sessions),
            thousands(impressions),
            thousands(clicked),
            table.render(),
            self.output.display(),
            propensities.display()
        ))
    }
}

/// Impressions and clicks at each position.
#[derive(Default)]
struct Clicks(Vec<(u64, u64)>);

impl Clicks {
    fn add(&mut self, position: u32, impressions: u64, clicks: u64) {
        let index = position as usize - 1;
        if self.0.len() <= index {
            self.0.resize(index + 1, (0, 0));
        }
        self.0[index].0 += impressions;
        self.0[index].1 += clicks;
    }

    fn rates(&self) -> Vec<f64> {
        self.0.iter().map(|&(impressions, clicks)| clicks as f64 / impressions.max(1) as f64).collect()
    }
}
