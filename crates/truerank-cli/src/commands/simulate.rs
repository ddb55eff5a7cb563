//! `truerank simulate`: a click log from graded data.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::json;
use truerank::counts::is_counts_file;
use truerank::data::Splits;
use truerank::experiment::WorldOptions;
use truerank::files::{check_file, check_folder};
use truerank::ranker::production_lists;
use truerank::simulate::{ShownLists, Simulation, Simulator, paper_etas, propensities_path};

use super::common::{DataArguments, LoadedRanker};
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

    /// How many sessions
    #[arg(long, default_value_t = 1_000_000)]
    sessions: u64,

    /// Clusters of users, with the paper's depths: 5, 10 or 20
    #[arg(long, default_value_t = 10, conflicts_with = "etas")]
    users: usize,

    /// Depth of each cluster instead, busiest first: θ(k) = k^-η
    #[arg(long, value_delimiter = ',', value_name = "η,η,…")]
    etas: Vec<f64>,

    /// Users in each cluster, each with its own depth
    #[arg(long, default_value_t = 1, value_name = "N")]
    users_per_cluster: usize,

    /// Standard deviation of η among the users of a cluster
    #[arg(long, default_value_t = 0.0, value_name = "SD")]
    user_noise: f64,

    /// Exponent of Zipf's law for how popular queries are
    #[arg(long, default_value_t = 0.0, value_name = "S")]
    zipf: f64,

    /// All clusters issue the same queries: no personalized bias
    #[arg(long)]
    shared_queries: bool,

    /// Probability that a document of grade 0 is found relevant
    #[arg(long, default_value_t = 0.1, value_name = "ε")]
    click_noise: f64,

    /// Documents shown per session
    #[arg(long, default_value_t = WorldOptions::default().length, value_name = "N")]
    length: usize,

    /// Share of sessions in which rank 1 changes places with a random other
    #[arg(long, default_value_t = 0.0, value_name = "SHARE")]
    swap: f64,

    /// Share of sessions in which the whole list is shuffled
    #[arg(long, default_value_t = 0.0, value_name = "SHARE")]
    shuffle: f64,

    /// Rankers that show the lists instead of the production ranker, one of them at random per session
    #[arg(long, value_name = "FILE")]
    logger: Vec<PathBuf>,

    /// Share of labelled queries that the production ranker learns from
    #[arg(long, default_value_t = WorldOptions::default().production_share, value_name = "SHARE")]
    production_share: f64,

    /// Draw counts directly, without sessions, and write them as a folder: any number of sessions costs the same
    #[arg(long)]
    cells: bool,

    /// The same seed gives the same log
    #[arg(long, default_value_t = 1)]
    seed: u64,

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
        let data = self.data.read_splits(progress)?;
        let simulation = self.settings()?;
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

    fn settings(&self) -> Result<Simulation> {
        let etas = match self.etas.is_empty() {
            false => self.etas.clone(),
            true => paper_etas(self.users)
                .with_context(|| format!("--users is {}, but the paper has 5, 10 or 20; pass --etas", self.users))?,
        };
        Ok(Simulation::new()
            .sessions(self.sessions)
            .etas(etas)
            .users_per_cluster(self.users_per_cluster)
            .user_noise(self.user_noise)
            .zipf(self.zipf)
            .personal_queries(!self.shared_queries)
            .click_noise(self.click_noise)
            .max_grade(self.data.reading.max_grade)
            .swapped(self.swap)
            .shuffled(self.shuffle)
            .seed(self.seed))
    }

    fn shown_lists(&self, data: &Splits, simulation: &Simulation, progress: &Shown) -> Result<Vec<ShownLists>> {
        if self.logger.is_empty() {
            let (share, length) = (self.production_share, self.length);
            return Ok(vec![production_lists(&data.train, simulation, share, length, progress)?]);
        }
        let lists = |path: &PathBuf| {
            let scores = LoadedRanker::load(path)?.score(&data.train, &self.data.data)?;
            Ok(ShownLists::top(&data.train, &scores, self.length)?)
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
                "sessions": self.sessions, "impressions": impressions, "clicks": clicked,
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
            thousands(self.sessions),
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
