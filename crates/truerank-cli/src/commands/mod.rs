//! One file per subcommand.

pub mod click_model;
mod common;
pub mod completions;
pub mod convert;
pub mod count;
pub mod demo;
pub mod doctor;
pub mod drift;
pub mod evaluate;
mod evaluate_clicks;
pub mod experiment;
pub mod explain;
pub mod export;
mod features;
pub mod fit;
pub mod generate;
pub mod interleaving;
mod log_arguments;
mod memory;
pub mod merge;
mod predict_by_model;
pub mod predict_clicks;
pub mod propensity;
mod propensity_report;
pub mod relevance;
pub mod report;
pub mod score;
pub mod simulate;
pub mod sql;
pub mod train;
mod weights_report;

use std::process::ExitCode;

use anyhow::Result;
use truerank::threads;

use crate::arguments::{Arguments, Command};
use crate::progress::Shown;

/// Runs what was asked for, and says with which code to end.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    let wanted = arguments.threads.map_or_else(threads::usual, usize::from);
    let started = threads::start(wanted)?;
    let progress = Shown::new(arguments.quiet);
    if started < wanted {
        progress.say(&format!("the system gives {started} of {wanted} threads; results do not depend on them"));
    }
    match arguments.command {
        Command::Doctor(command) => return command.run(&progress),
        Command::Drift(command) => return command.run(&progress),
        Command::Demo(command) => command.run(&progress),
        Command::Generate(command) => command.run(&progress),
        Command::Simulate(command) => command.run(&progress),
        Command::Fit(command) => command.run(&progress),
        Command::Count(command) => command.run(&progress),
        Command::Merge(command) => command.run(&progress),
        Command::Propensity(command) => command.run(&progress),
        Command::ClickModel(command) => command.run(&progress),
        Command::Relevance(command) => command.run(&progress),
        Command::Train(command) => command.run(&progress),
        Command::Evaluate(command) => command.run(&progress),
        Command::Interleaving(command) => command.run(&progress),
        Command::PredictClicks(command) => command.run(&progress),
        Command::Explain(command) => command.run(&progress),
        Command::Score(command) => command.run(&progress),
        Command::Export(command) => command.run(&progress),
        Command::Experiment(command) => command.run(&progress),
        Command::Report(command) => command.run(&progress),
        Command::Convert(command) => command.run(&progress),
        Command::Sql(command) => command.run(),
        Command::Completions(command) => command.run(),
    }?;
    Ok(ExitCode::SUCCESS)
}
