//! How good is what `fit` chooses? Beside each single form of ranker, by human grades of queries that nobody learned from.
//!
//! `cargo run --release -p truerank --example fit_forms FILE|PRESET [SESSIONS_PER_QUERY] [FIRST_SPLIT] [SPLITS]` divides the queries of a
//! LETOR file, or of a generated preset, into four parts to learn from and one to test, trains a production ranker on a few of the former,
//! simulates clicks on its first ten documents, and fits rankers. For each split it prints nDCG@5 on the test queries.

use std::path::Path;

use rand::seq::SliceRandom;
use truerank::counts::{CountOptions, LogSource, SplitBy, count_log};
use truerank::data::{Dataset, Generator, Preset, ReadOptions, read_dataset};
use truerank::doctor::Doctor;
use truerank::evaluate::{Evaluator, Measure};
use truerank::fit::{Fit, FitData, FitLog};
use truerank::progress::Silent;
use truerank::random::stream;
use truerank::ranker::{ModelForm, production_ranker};
use truerank::simulate::{ShownLists, Simulation};

const NDCG5: Measure = Measure::Ndcg(Some(5));

fn main() -> truerank::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let what = arguments.first().map_or("tiny", String::as_str);
    let number = |place: usize, usual: u64| arguments.get(place).and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (sessions, first, splits) = (number(1, 60), number(2, 1), number(3, 3));
    let data = match what.parse::<Preset>() {
        Ok(preset) => Generator::preset(preset).generate()?.train,
        Err(_) => read_dataset(Path::new(what), &ReadOptions::new())?,
    };
    let max_grade = data.grades().and_then(|grades| grades.iter().copied().max()).unwrap_or(4);
    println!("| split | production | fit | chosen | verdict | linear-raw | linear | mlp | below the best |");
    println!("|---|---|---|---|---|---|---|---|---|");
    for split in first..first + splits {
        row(&data, max_grade, sessions, split)?;
    }
    Ok(())
}

fn row(data: &Dataset, max_grade: u8, sessions: u64, split: u64) -> truerank::Result<()> {
    let mut queries: Vec<usize> = (0..data.query_count()).collect();
    queries.shuffle(&mut stream(split, "splits", 0));
    let (test, train) = queries.split_at(queries.len() / 5);
    let (test, train) = (data.select(test), data.select(train));
    let few = (0.01f64).max(3.0 / train.query_count() as f64);
    let production = production_ranker(&train, few, split, &Silent)?;
    let lists = [ShownLists::top(&train, &production.score(&train)?, 10)?];
    let simulation = Simulation::new().sessions(sessions * train.query_count() as u64).max_grade(max_grade).seed(split);
    let (counts, _) = count_log(&simulation.prepare(&train, &lists)?.log(), &CountOptions::new())?;
    let log: FitLog = LogSource::from(counts).split(SplitBy::Queries, Fit::new().held_out, split, &Silent)?.into();
    let documents = FitData::of_documents(train);
    let fit = Fit::new().max_grade(max_grade).seed(split).doctor(Doctor::new().permutations(39).level(0.05));
    let outcome = fit.run(&log, Some(&documents), &Silent)?;
    let evaluator = Evaluator::new(vec![NDCG5]).max_grade(max_grade);
    let value = |scores: Vec<f32>| Ok(evaluator.evaluate(&test, &scores)?.mean(NDCG5).unwrap_or(f64::NAN));
    let training = outcome.training.as_ref().expect("there are features");
    let chosen = value(training.ranker.score(&test)?)?;
    let mut single = Vec::new();
    for form in [ModelForm::LinearRaw, ModelForm::LINEAR, ModelForm::mlp()] {
        let known = fit.clone().propensities(Some(outcome.propensities.clone()));
        let one = known.model(form).run(&log, Some(&documents), &Silent)?;
        single.push(value(one.training.expect("there are features").ranker.score(&test)?)?);
    }
    let best = single.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let verdict = outcome.judged.as_ref().map_or("", |judged| judged.verdict_name());
    let shown = value(production.score(&test)?)?;
    let single: Vec<String> = single.iter().map(|value| format!("{value:.4}")).collect();
    println!(
        "| {split} | {shown:.4} | {chosen:.4} | {} | {verdict} | {} | {:.4} |",
        training.form,
        single.join(" | "),
        best - chosen
    );
    Ok(())
}
