//! `truerank demo`: the whole story on generated data.

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use truerank::data::Preset;
use truerank::experiment::{Question, Settings, Source};
use truerank::files::{AtomicFile, check_file};
use truerank::network::Architecture;
use truerank::ranker::ModelForm;

use crate::output::{print, print_json};
use crate::progress::Shown;

/// Run the whole pipeline on generated data and compare all estimators
#[derive(clap::Args)]
#[command(after_help = "\
Generates a data set, trains a production ranker on 1 % of the labels, simulates
ten kinds of users who click on its lists, corrects the clicks in five ways,
trains a ranker on each, evaluates them all, and writes a report to look at.

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

    /// Training steps at most, for each MLP [default: 1000, on fewer than 10,000 training queries 300]
    #[arg(long)]
    steps: Option<usize>,

    /// Estimate examination from the clicks instead of taking the simulation's: linear or mlp relevance
    #[arg(long, value_name = "FORM", num_args = 0..=1, default_missing_value = "linear", value_parser = estimators())]
    estimate: Option<Source>,

    /// How often to run it all, each time with other users, clicks and initial weights
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,

    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Print as JSON
    #[arg(long)]
    json: bool,

    /// Page to write
    #[arg(long, short, default_value = "report.html", value_name = "FILE")]
    output: PathBuf,
}

/// What gives relevance while examination is estimated.
fn estimators() -> impl TypedValueParser<Value = Source> {
    let names = PossibleValuesParser::new(["linear", "mlp"]);
    names.map(|name| if name == "mlp" { Source::EM_MLP } else { Source::EM })
}

/// Enough for straightforward's variance to fall below ips-pbm's bias; user-aware is ahead of both from far fewer.
const SESSIONS_PER_QUERY: u64 = 200;

impl Demo {
    pub fn run(self, progress: &Shown) -> Result<()> {
        let start = Instant::now();
        check_file(&self.output)?;
        let mut settings = self.settings();
        progress.say(&format!("generating {} …", self.preset));
        let data = settings.data.load()?;
        let sessions = self.sessions.unwrap_or(SESSIONS_PER_QUERY * data.train.query_count() as u64);
        settings.sessions = Some(sessions);
        let settings = settings.for_data(&data)?;
        let results = settings.run(&data, None, progress)?;
        progress.finish();
        let report = results.report();
        let mut page = AtomicFile::create(&self.output)?;
        page.write_all(report.html()?.as_bytes())?;
        page.commit()?;
        if self.json {
            return print_json(&results.to_json());
        }
        let seconds = start.elapsed().as_secs_f64();
        print(&format!("{}\n{seconds:.0} seconds; wrote {}\n", report.text(), self.output.display()))
    }

    fn settings(&self) -> Settings {
        let mut settings = Settings {
            questions: vec![Question::Rq1],
            seeds: (self.seed..self.seed + self.seeds).collect(),
            models: vec![ModelForm::Network(self.model.clone())],
            ..Settings::default()
        };
        (settings.data.preset, settings.data.seed) = (self.preset, self.seed);
        settings.training.steps = self.steps;
        if let Some(source) = self.estimate {
            settings.questions = vec![Question::Rq4];
            (settings.rq4.main, settings.rq4.sources) = (source, vec![Source::Cpbm]);
        }
        settings
    }
}
