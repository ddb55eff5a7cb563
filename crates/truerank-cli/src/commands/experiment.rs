//! `truerank experiment`: the paper's research questions.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use truerank::data::Preset;
use truerank::experiment::{Asked, Settings};
use truerank::log::split_mapping;
use truerank::ranker::ModelForm;

use crate::output::{print, print_json};
use crate::progress::Shown;

/// Rerun the paper's experiments, and write a report on what holds
#[derive(clap::Args)]
#[command(after_help = "\
Questions:
  rq1   the main table: all corrections, eight measures, error of relevance
  rq2   learning curves over the number of sessions, linear and MLP
  rq3   5, 10 and 20 kinds of users
  rq4   examination estimated from the clicks, by every method there is
  real  many users with few sessions: a log of yours, or a simulated one
  all   all of them

Every run is kept as soon as it is finished. The same command goes on where it
was stopped, and ends with the same bytes. Questions can be added later.

Examples:
  truerank experiment rq1 -o results/
  truerank experiment all --preset small -o results/
  truerank experiment rq1 --data yahoo/ --seeds 5 -o yahoo-results/
  truerank experiment real --data data/ --log clicks.parquet -o real/
  truerank experiment --config experiment.toml -o results/")]
pub struct Experiment {
    /// rq1, rq2, rq3, rq4, real or all [default: the config file's, else all]
    #[arg(value_name = "QUESTION")]
    questions: Vec<String>,

    /// An experiment in TOML, such as the one that stands with earlier results; options override it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Data to generate: tiny, small, yahoo, baidu, hard [default: small]
    #[arg(long, conflicts_with = "data")]
    preset: Option<Preset>,

    /// Folder with train, vali and test of your own (Yahoo!, MSLR, Istella, any LETOR or Parquet)
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,

    /// The highest grade of the scale [default: 4]
    #[arg(long, value_name = "GRADE")]
    max_grade: Option<u8>,

    /// Feature indices of text files start at 0 instead of 1
    #[arg(long)]
    zero_based: bool,

    /// How many features documents have, where sparse text leaves out the last ones [default: the most found]
    #[arg(long, value_name = "N")]
    features: Option<usize>,

    /// Sessions, where their number is not the question [default: 50 per training query, as in the paper]
    #[arg(long)]
    sessions: Option<u64>,

    /// rq2: numbers of sessions [default: one per training query, 10000 to 10000000, and --sessions]
    #[arg(long, value_name = "N", value_delimiter = ',')]
    sizes: Vec<u64>,

    /// How often to run it all, each time with other users, clicks and initial weights; claims are tested from 3 on [default: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    seeds: Option<u64>,

    /// linear, mlp, mlp:SIZE,SIZE,… or linear-raw; several times for several [default: mlp, and for rq2 and rq4 linear]
    #[arg(long)]
    model: Vec<ModelForm>,

    /// linear and mlp: bring features to one scale first, as in `truerank train`
    #[arg(long)]
    standardise: bool,

    /// Training steps at most, for each MLP [default: 1000, on fewer than 10,000 training queries 300]
    #[arg(long)]
    steps: Option<usize>,

    /// Checks, one every 10 steps, without a better validation value before training stops [default: 10]
    #[arg(long, value_name = "CHECKS")]
    patience: Option<usize>,

    /// real: log of real users, whose queries and documents are in --data
    #[arg(long, value_name = "LOG")]
    log: Vec<PathBuf>,

    /// real: another name for a column of the log, such as user=client_id
    #[arg(long, value_name = "FIELD=NAME")]
    column: Vec<String>,

    /// Print claims and tables as JSON
    #[arg(long)]
    json: bool,

    /// Folder for the results and the report
    #[arg(long, short, value_name = "FOLDER")]
    output: PathBuf,
}

impl Experiment {
    pub fn run(self, progress: &Shown) -> Result<()> {
        let start = Instant::now();
        let settings = self.settings()?;
        progress.say(&format!("data: {} …", settings.data.name()));
        let outcome = settings.carry_out(Some(&self.output), progress);
        progress.finish();
        let results = outcome?;
        if self.json {
            return print_json(&results.to_json());
        }
        let page = self.output.join("report.html");
        print(&format!(
            "{}\n{:.0} seconds; wrote {}\n",
            results.report().text(),
            start.elapsed().as_secs_f64(),
            page.display()
        ))
    }

    /// What was asked for, over the config file, over the defaults.
    fn settings(&self) -> Result<Settings> {
        let mut columns = Vec::new();
        for column in &self.column {
            let (field, name) = split_mapping(column)?;
            columns.push((field.to_string(), name.to_string()));
        }
        let asked = Asked {
            questions: self.questions.clone(),
            config: self.config.clone(),
            preset: self.preset,
            data: self.data.clone(),
            max_grade: self.max_grade,
            zero_based: self.zero_based.then_some(true),
            features: self.features,
            sessions: self.sessions,
            sizes: self.sizes.clone(),
            seeds: self.seeds,
            models: self.model.clone(),
            steps: self.steps,
            patience: self.patience,
            standardise: self.standardise.then_some(true),
            log: self.log.clone(),
            columns,
        };
        Ok(asked.settings()?)
    }
}
