//! Times training on human grades until the validation nDCG@5 is within .002 of the best that training reaches.
//!
//! `cargo run --release -p truerank --example train_ranker -- data/ --model linear`
//!
//! Trains once to learn that value and the step where it is reached, then again up to there, timed. With `--reached STEP`
//! the step is known and only the timed training runs.

use std::path::Path;
use std::time::Instant;

use truerank::data::{ReadOptions, Splits, read_splits};
use truerank::evaluate::{Evaluator, Measure};
use truerank::network::Architecture;
use truerank::progress::Silent;
use truerank::ranker::{Ranker, Training, TrainingLists};

/// The highest grade.
const MAX_GRADE: u8 = 4;
/// How far below the best value is near enough.
const MARGIN: f64 = 0.002;

fn main() -> truerank::Result<()> {
    let folder = std::env::args().nth(1).expect("the folder of the data");
    let model: Architecture = argument("--model", "linear").parse()?;
    let steps: Option<usize> = optional("--steps").map(|steps| steps.parse().expect("--steps is a number"));
    let data = read_splits(Path::new(&folder), &ReadOptions::new())?;
    let mut trainer = Training::network(model).seed(1);
    if let Some(steps) = steps {
        trainer = trainer.steps(steps);
    }
    let step = match optional("--reached") {
        Some(step) => step.parse().expect("--reached is a number"),
        None => find_step(&trainer, &data)?,
    };
    let trainer = trainer.steps(step);
    let start = Instant::now();
    fit(&trainer, &data)?;
    println!("step {step}, {:.6} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// Prints the best validation value and the one to reach, and returns the first step that reaches it.
fn find_step(trainer: &Training, data: &Splits) -> truerank::Result<usize> {
    let record = fit(trainer, data)?.record;
    let best = record.validation.expect("there is validation data");
    let target = best - MARGIN;
    println!("best {best:.6}, target {target:.6}");
    let reached = record.checks.iter().find(|check| check.validation.is_some_and(|value| value >= target));
    Ok(reached.expect("the best check reaches it").step)
}

fn fit(trainer: &Training, data: &Splits) -> truerank::Result<Ranker> {
    let lists = TrainingLists::from_grades(&data.train, MAX_GRADE, None)?;
    let validation = Evaluator::new(vec![Measure::Ndcg(Some(5))]).validation(&data.validation)?;
    trainer.fit_targets(&data.train, &lists, Some(&validation), &Silent)
}

fn argument(name: &str, default: &str) -> String {
    optional(name).unwrap_or_else(|| default.to_string())
}

fn optional(name: &str) -> Option<String> {
    let arguments: Vec<String> = std::env::args().collect();
    let place = arguments.iter().position(|argument| argument == name);
    place.and_then(|place| arguments.get(place + 1)).cloned()
}
