//! What can be typed.

use clap::{Parser, Subcommand};

use crate::output::Colour;

use crate::commands::{
    click_model, completions, convert, count, demo, doctor, drift, evaluate, experiment, explain, export, fit,
    generate, interleaving, merge, predict_clicks, propensity, relevance, report, score, simulate, sql, train,
};

/// Learns what people find relevant from what they clicked, for every kind of searcher.
#[derive(Parser)]
#[command(name = "truerank", version, max_term_width = 100, after_help = WAY)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,

    /// Threads to use [default: one per core]; results do not depend on it
    #[arg(long, global = true, display_order = LAST, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,

    /// Colours for verdicts and errors: auto (on terminals, unless NO_COLOR is set), always or never
    #[arg(long, global = true, display_order = LAST, value_name = "WHEN", value_enum, default_value_t = Colour::Auto, hide_default_value = true, hide_possible_values = true)]
    pub color: Colour,

    /// No progress, only results and errors
    #[arg(long, short, global = true, display_order = LAST)]
    pub quiet: bool,
}

/// After the options of the subcommand itself.
const LAST: usize = 900;

const WAY: &str = "\
The way from data to a ranker, each step reading what the one before wrote:

  truerank generate   --preset small -o data/
  truerank simulate   data/ --sessions 150000 -o clicks.parquet
  truerank count      clicks.parquet -o counts/
  truerank propensity counts/ --data data/ --per-user -o propensities.json
  truerank relevance  counts/ --propensities propensities.json -o relevance.parquet
  truerank train      data/ --relevance relevance.parquet -o ranker.safetensors
  truerank evaluate   data/test.txt --ranker ranker.safetensors
  truerank explain    ranker.safetensors --data data/test.txt -o ranker.html
  truerank score      data/test.txt --ranker ranker.safetensors -o run.trec
  truerank export     ranker.safetensors --to onnx -o ranker.onnx

`truerank doctor` tells whether a log is fit for it, and `truerank fit` goes all
the way from a log to a ranker. `truerank demo` does so on generated data and
compares the estimators; `truerank experiment` reruns the paper's research
questions. `truerank merge` adds counts of several days, and `truerank drift`
compares two of them.
Exit codes: 0 done, 1 a log is not fit (doctor) or has drifted (drift), 2 an error.";

/// What to do.
#[derive(Subcommand)]
pub enum Command {
    Demo(demo::Demo),
    Doctor(doctor::Doctor),
    Drift(drift::Drift),
    Fit(Box<fit::Fit>),
    Generate(generate::Generate),
    Simulate(simulate::Simulate),
    Count(count::Count),
    Merge(merge::Merge),
    Propensity(propensity::Propensity),
    ClickModel(click_model::ClickModel),
    Relevance(relevance::Relevance),
    Train(train::Train),
    Interleaving(interleaving::Interleaving),
    Evaluate(evaluate::Evaluate),
    PredictClicks(predict_clicks::PredictClicks),
    Explain(explain::Explain),
    Score(score::Score),
    Export(export::Export),
    Experiment(experiment::Experiment),
    Report(report::Report),
    Convert(convert::Convert),
    Sql(sql::Sql),
    Completions(completions::Completions),
}
