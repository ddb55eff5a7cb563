//! `truerank simulate`: a click log from graded data.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde_json::json;
use truerank::click_model::ClickModelKind;
use truerank::counts::is_counts_file;
use truerank::data::Splits;
use truerank::files::{check_file, check_folder};
use truerank::ranker::Production;
use truerank::simulate::{ShownLists, Simulation, Simulator};

use super::common::{DataArguments, LoadedRanker};
use crate::options::Typed;
use crate::output::{Table, measure, print, print_json, thousands};
use crate::progress::Shown;

/// Simulate a click log: users who differ in what they search and how far down they look
#[derive(clap::Args)]
#[command(after_help = after_help())]
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

    /// With --cells: draw click transitions too, as is always done where clicks do not come from pbm
    #[arg(long)]
    transitions: bool,

    /// Print a summary as JSON
    #[arg(long)]
    json: bool,

    /// The log: .parquet, .csv or .tsv, text also .gz or .zst; with --cells a folder
    #[arg(long, short)]
    output: PathBuf,
}

/// What is said below the options; the click models are those that the library has.
fn after_help() -> String {
    let models = ClickModelKind::ALL.map(|kind| format!("  {kind:<8}  {}\n", kind.about().help));
    format!("{ABOUT}\nClick models:\n{}\n{EXAMPLES}", models.concat())
}

const ABOUT: &str = "\
The training queries' documents are ordered by a production ranker, an SVM-rank
trained on 1 % of the queries; the first 10 are shown. The truth goes beside the log:
for clicks.parquet the examination probabilities of every user to
clicks.propensities.json, and where clicks come from another model than pbm the whole
model, with relevance and satisfaction of every document, to clicks.click-model.json.
";

const EXAMPLES: &str = "\
Examples:
  truerank simulate data/ --sessions 1000000 --users 10 --seed 1 -o clicks.parquet
  truerank simulate data/ --sessions 50000 --swap 0.1 -o clicks.csv.gz
  truerank simulate data/ --sessions 50000 --click-model dbn -o clicks.parquet
  truerank simulate data/ --sessions 50000 --click-model pbm,dbn,ubm -o clicks.parquet
  truerank simulate data/ --sessions 1000000000 --cells -o counts/";

impl Simulate {
    pub fn run(self, progress: &Shown) -> Result<()> {
        let simulation = self.simulation.0.clone().max_grade(self.data.reading.max_grade);
        self.check_output(&simulation)?;
        simulation.check()?;
        let data = self.data.read_splits(progress)?;
        let lists = self.shown_lists(&data, &simulation, progress)?;
        let simulator = simulation.prepare(&data.train, &lists)?;
        let clicks = match self.cells {
            true => self.write_counts(&simulator)?,
            false => self.write_log(&simulator, progress)?,
        };
        let truth = simulator.write_truth(&self.output)?;
        progress.finish();
        self.report(&clicks, &simulator, &truth)
    }

    fn check_output(&self, simulation: &Simulation) -> Result<()> {
        if self.transitions && !self.cells {
            bail!("--transitions is for --cells, but a log is written; count it with `truerank count --transitions`");
        }
        check_file(&simulation.truth_path(&self.output))?;
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

    /// Draws and writes counts.
    fn write_counts(&self, simulator: &Simulator<'_>) -> Result<Clicks> {
        let counts = match self.transitions {
            true => simulator.counts_with_transitions()?,
            false => simulator.counts()?,
        };
        counts.write(&self.output)?;
        let mut clicks = Clicks::default();
        counts.cells.iter().for_each(|cell| clicks.add(cell.position, cell.impressions, cell.clicks));
        Ok(clicks)
    }

    fn report(&self, clicks: &Clicks, simulator: &Simulator<'_>, truth: &Path) -> Result<()> {
        let theta = simulator.settings().is_position_based().then(|| simulator.propensities().population);
        match self.json {
            true => print_json(&self.to_json(clicks, theta.as_deref(), simulator, truth)),
            false => print(&self.to_text(clicks, theta.as_deref(), simulator, truth)),
        }
    }

    fn to_json(
        &self,
        clicks: &Clicks,
        theta: Option<&[f64]>,
        simulator: &Simulator<'_>,
        truth: &Path,
    ) -> serde_json::Value {
        let (impressions, clicked) = clicks.sums();
        let mut found = json!({
            "sessions": self.simulation.0.sessions, "impressions": impressions, "clicks": clicked,
            "click_rate": clicks.rates(),
        });
        // What clicks come from stands before the names of the files, the truth's last.
        let truth_is = match theta {
            Some(theta) => {
                found["examination"] = json!(theta);
                "propensities"
            }
            None => {
                let kinds = simulator.click_model().kinds;
                let models: Vec<String> = kinds.iter().map(|kind| kind.browsing.kind.to_string()).collect();
                found["kinds"] = json!(models);
                "click_model"
            }
        };
        found["output"] = json!(self.output);
        found[truth_is] = json!(truth);
        found
    }

    fn to_text(&self, clicks: &Clicks, theta: Option<&[f64]>, simulator: &Simulator<'_>, truth: &Path) -> String {
        let (impressions, clicked) = clicks.sums();
        let mut table =
            Table::new(["position", "clicks per impression"].into_iter().chain(theta.map(|_| "examination")));
        for (k, rate) in clicks.rates().into_iter().enumerate() {
            let examined = theta.and_then(|theta| theta.get(k)).map(|theta| measure(*theta));
            table.row([(k + 1).to_string(), measure(rate)].into_iter().chain(examined));
        }
        let kinds = if theta.is_none() { kinds_text(simulator) } else { String::new() };
        format!(
            "{} sessions, {} impressions, {} clicks\n\n{}{kinds}\nwrote {} and {}\n",
            thousands(self.simulation.0.sessions),
            thousands(impressions),
            thousands(clicked),
            table.render(),
            self.output.display(),
            truth.display()
        )
    }
}

/// Which model each cluster follows.
fn kinds_text(simulator: &Simulator<'_>) -> String {
    let mut table = Table::new(["cluster", "click model", "users", "share of sessions"]);
    for (number, kind) in simulator.click_model().kinds.iter().enumerate() {
        let title = format!("{} ({})", kind.browsing.kind, kind.browsing.kind.about().title);
        table.row([(number + 1).to_string(), title, thousands(kind.users as u64), measure(kind.share)]);
    }
    format!("\n{}", table.render())
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

    /// Impressions and clicks of all positions.
    fn sums(&self) -> (u64, u64) {
        self.0.iter().fold((0, 0), |sum, p| (sum.0 + p.0, sum.1 + p.1))
    }

    fn rates(&self) -> Vec<f64> {
        self.0.iter().map(|&(impressions, clicks)| clicks as f64 / impressions.max(1) as f64).collect()
    }
}
