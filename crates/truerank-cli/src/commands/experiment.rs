//! `truerank experiment`: the paper's research questions.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use truerank::experiment::{Asked, Question};

use crate::options::Typed;
use crate::output::{print_json, print_report};
use crate::progress::Shown;

/// Rerun the paper's experiments, and write a report on what holds
#[derive(clap::Args)]
#[command(after_help = after_help())]
pub struct Experiment {
    /// Names of questions, or all [default: the config file's, else all]
    #[arg(value_name = "QUESTION")]
    questions: Vec<String>,

    /// An experiment in TOML, such as experiment.toml of earlier results; options override it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Folder with train, vali and test of your own (Yahoo!, MSLR, Istella, any LETOR or Parquet)
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,

    #[command(flatten)]
    asked: Typed<Asked>,

    /// real: log of real users, whose queries and documents are in --data
    #[arg(long, value_name = "LOG")]
    log: Vec<PathBuf>,

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
        let Experiment { questions, config, data, asked, log, json, output } = self;
        let settings = asked.0.questions(questions).config(config).data(data).log(log).settings()?;
        progress.say(&format!("data: {} …", settings.data.name()));
        let outcome = settings.carry_out(Some(&output), progress);
        progress.finish();
        let results = outcome?;
        if json {
            return print_json(&results.to_json());
        }
        let page = output.join("report.html");
        let seconds = start.elapsed().as_secs_f64();
        print_report(&results.report(), &format!("\n{seconds:.0} seconds; wrote {}\n", page.display()))
    }
}

/// The questions there are, and how to ask them.
fn after_help() -> String {
    let known = Question::ALL.map(|question| format!("  {:<10} {}\n", question.name(), question.help())).concat();
    format!(
        "\
Questions:
{known}  all        all but robustness

Every run is kept as soon as it is finished. The same command goes on where it
was stopped, and ends with the same bytes. Questions can be added later.

Examples:
  truerank experiment rq1 -o results/
  truerank experiment all --preset small -o results/
  truerank experiment rq1 --data yahoo/ --seeds 5 -o yahoo-results/
  truerank experiment robustness --preset tiny -o robustness/
  truerank experiment real --data data/ --log clicks.parquet -o real/
  truerank experiment --config experiment.toml -o results/"
    )
}
