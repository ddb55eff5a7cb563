//! How good is what `fit` chooses? Beside each single form of ranker, by human grades of queries that nobody learned from.
//!
//! `cargo run --release -p truerank --example fit_forms FILE,FILE|PRESET [SESSIONS_PER_QUERY] [FIRST_SPLIT] [SPLITS]` divides the queries of
//! LETOR files that are put together, or of a generated preset, into four parts to learn from and one to test, trains a production ranker on a
//! few of the former, simulates clicks on its first ten documents, and fits rankers. For each split it prints nDCG@5 on the test queries and
//! seconds of training, at the end the means.

use std::path::Path;
use std::time::Instant;

use rand::seq::SliceRandom;
use truerank::counts::{CountOptions, LogSource, SplitBy, count_log};
use truerank::data::{Dataset, DatasetBuilder, Generator, Preset, ReadOptions, read_dataset};
use truerank::doctor::Doctor;
use truerank::evaluate::{Evaluator, Measure};
use truerank::fit::{Fit, FitData, FitLog};
use truerank::ids::Ids;
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
    let data = load(what)?;
    let max_grade = data.grades().and_then(|grades| grades.iter().copied().max()).unwrap_or(4);
    let names: Vec<String> = forms().iter().map(ToString::to_string).collect();
    println!(
        "| split | production | fit | chosen | verdict | {} | below the best | seconds: fit, forms |",
        names.join(" | ")
    );
    println!("|---|---|---|---|---|{}---|---|", "---|".repeat(names.len()));
    let mut sums = vec![0.0; names.len() + 1];
    for split in first..first + splits {
        let values = row(&data, max_grade, sessions, split)?;
        sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value / splits as f64);
    }
    let best = sums[1..].iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let forms: Vec<String> = sums[1..].iter().map(|value| format!("{value:.4}")).collect();
    println!("| mean | | {:.4} | | | {} | {:.4} | |", sums[0], forms.join(" | "), best - sums[0]);
    Ok(())
}

/// The forms that `fit` tries.
fn forms() -> [ModelForm; 4] {
    [ModelForm::LinearRaw, ModelForm::LINEAR, ModelForm::small_mlp(), ModelForm::Trees]
}

/// What `fit` chooses, then each form.
fn row(data: &Dataset, max_grade: u8, sessions: u64, split: u64) -> truerank::Result<Vec<f64>> {
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
    let known = fit.clone().model(ModelForm::LinearRaw).run(&log, Some(&documents), &Silent)?.propensities;
    // Estimating examination is the same for all, so it is left out of the times.
    let fit = fit.propensities(Some(known));
    let begin = Instant::now();
    let outcome = fit.run(&log, Some(&documents), &Silent)?;
    let mut seconds = vec![begin.elapsed().as_secs_f64()];
    let evaluator = Evaluator::new(vec![NDCG5]).max_grade(max_grade);
    let value = |scores: Vec<f32>| Ok(evaluator.evaluate(&test, &scores)?.mean(NDCG5).unwrap_or(f64::NAN));
    let training = outcome.training.as_ref().expect("there are features");
    let chosen = value(training.ranker.score(&test)?)?;
    let mut single = Vec::new();
    for form in forms() {
        let begin = Instant::now();
        let one = fit.clone().model(form).run(&log, Some(&documents), &Silent)?;
        seconds.push(begin.elapsed().as_secs_f64());
        single.push(value(one.training.expect("there are features").ranker.score(&test)?)?);
    }
    let best = single.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let verdict = outcome.judged.as_ref().map_or("", |judged| judged.verdict_name());
    let shown = value(production.score(&test)?)?;
    let print = |values: &[f64], digits: usize, between: &str| {
        values.iter().map(|value| format!("{value:.digits$}")).collect::<Vec<_>>().join(between)
    };
    println!(
        "| {split} | {shown:.4} | {chosen:.4} | {} | {verdict} | {} | {:.4} | {} |",
        training.form,
        print(&single, 4, " | "),
        best - chosen,
        print(&seconds, 1, ", ")
    );
    Ok([vec![chosen], single].concat())
}

fn load(what: &str) -> truerank::Result<Dataset> {
    if let Ok(preset) = what.parse::<Preset>() {
        return Ok(Generator::preset(preset).generate()?.train);
    }
    let parts: Vec<Dataset> =
        what.split(',').map(|path| read_dataset(Path::new(path), &ReadOptions::new())).collect::<Result<_, _>>()?;
    let width = parts.iter().map(Dataset::feature_count).max().unwrap_or(0);
    let parts: Vec<Dataset> = parts.into_iter().map(|part| part.widen(width)).collect();
    let lists = parts.iter().flat_map(|part| part.lists());
    let ends = lists.scan(0, |end, list| {
        *end += list.len();
        Some(*end)
    });
    let query_ends: Vec<usize> = ends.collect();
    DatasetBuilder {
        features: parts.iter().flat_map(|part| part.features().iter().copied()).collect(),
        feature_count: width,
        grades: Some(parts.iter().flat_map(|part| part.grades().unwrap_or_default().iter().copied()).collect()),
        queries: Ids::numbered(query_ends.len()),
        query_ends,
        docs: None,
    }
    .build()
}
