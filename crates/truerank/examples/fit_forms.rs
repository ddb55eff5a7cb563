//! How good is what `fit` chooses? Beside each single form of ranker, by human grades of queries that nobody learned from.
//!
//! `cargo run --release -p truerank --example fit_forms FILE,FILE|PRESET [SESSIONS_PER_QUERY] [FIRST_SPLIT] [SPLITS]` divides the queries of
//! LETOR files that are put together, or of a generated preset, into four parts to learn from and one to test, trains a production ranker on a
//! few of the former, simulates clicks on its first ten documents, and fits rankers. For each split it prints nDCG@5 on the test queries,
//! how far each form was above the chosen one by held-out clicks (with its standard error), and seconds of training. At the end there are the
//! means, and how far `fit` is from each form, over all test queries and with the splits of a query taken together.

mod divisions;

use std::collections::BTreeMap;
use std::time::Instant;

use truerank::counts::{CountOptions, LogSource, SplitBy, count_log};
use truerank::data::Dataset;
use truerank::doctor::Doctor;
use truerank::evaluate::{Evaluator, Measure};
use truerank::fit::{Fit, FitData, FitLog, TriedForm};
use truerank::progress::Silent;
use truerank::ranker::{ModelForm, Ranker, production_ranker};
use truerank::simulate::{ShownLists, Simulation};

const NDCG5: Measure = Measure::Ndcg(Some(5));

fn main() -> truerank::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let what = arguments.first().map_or("tiny", String::as_str);
    let number = |place: usize, usual: u64| arguments.get(place).and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (sessions, first, splits) = (number(1, 60), number(2, 1), number(3, 3));
    let data = divisions::load(what)?;
    let max_grade = divisions::max_grade(&data);
    let names: Vec<String> = forms().iter().map(ToString::to_string).collect();
    println!(
        "| split | production | fit | chosen | verdict | {} | below the best | above the chosen by clicks | seconds: fit, forms |",
        names.join(" | ")
    );
    println!("|---|---|---|---|---|{}---|---|---|", "---|".repeat(names.len()));
    let rows: Vec<Row> =
        (first..first + splits).map(|split| row(&data, max_grade, sessions, split)).collect::<Result<_, _>>()?;
    let of_form = |form: usize| rows.iter().map(|row| mean(&row.values[form])).sum::<f64>() / rows.len() as f64;
    let means: Vec<f64> = (0..=names.len()).map(of_form).collect();
    let best = means[1..].iter().copied().fold(f64::NEG_INFINITY, f64::max);
    println!("| mean | | {:.4} | | | {} | {:.4} | | |", means[0], join(&means[1..], 4, " | "), best - means[0]);
    for (place, name) in names.iter().enumerate() {
        let (mean, error) = above(&rows, place + 1);
        println!("fit − {name}: {mean:+.4} ± {error:.4}");
    }
    Ok(())
}

/// A split: its test queries, and nDCG@5 of each by what `fit` chose and by each form.
struct Row {
    queries: Vec<String>,
    values: Vec<Vec<f64>>,
}

/// The mean over the queries that have a value.
fn mean(values: &[f64]) -> f64 {
    let known: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    known.iter().sum::<f64>() / known.len() as f64
}

fn join(values: &[f64], digits: usize, between: &str) -> String {
    values.iter().map(|value| format!("{value:.digits$}")).collect::<Vec<_>>().join(between)
}

/// How far `fit` is above a form, and the standard error, with the splits of a query taken together.
fn above(rows: &[Row], form: usize) -> (f64, f64) {
    let differences = || {
        rows.iter().flat_map(|row| {
            let values = row.values[0].iter().zip(&row.values[form]);
            row.queries
                .iter()
                .zip(values.map(|(fit, form)| fit - form))
                .filter(|(_, difference)| difference.is_finite())
        })
    };
    let count = differences().count() as f64;
    let mean = differences().map(|(_, difference)| difference).sum::<f64>() / count;
    let mut of_queries: BTreeMap<&str, f64> = BTreeMap::new();
    differences().for_each(|(query, difference)| *of_queries.entry(query).or_default() += difference - mean);
    (mean, of_queries.values().map(|sum| sum * sum).sum::<f64>().sqrt() / count)
}

/// How far the forms that were tried were above the chosen one.
fn by_clicks(tried: &[TriedForm]) -> String {
    let one = |form: &TriedForm| match form.above_chosen {
        Some(above) => format!("{:+.4} ± {:.4}", above.mean, above.standard_error),
        None => "–".to_string(),
    };
    tried.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The forms that `fit` tries.
fn forms() -> [ModelForm; 4] {
    [ModelForm::LINEAR, ModelForm::LinearRaw, ModelForm::small_mlp(), ModelForm::Trees]
}

/// What `fit` chooses, then each form.
fn row(data: &Dataset, max_grade: u8, sessions: u64, split: u64) -> truerank::Result<Row> {
    let [test, train] = divisions::divide(data, split, [1, 4]);
    let few = (0.01f64).max(3.0 / train.query_count() as f64);
    let production = production_ranker(&train, few, split, &Silent)?;
    let lists = [ShownLists::top(&train, &production.score(&train)?, 10)?];
    let simulation = Simulation::new().sessions(sessions * train.query_count() as u64).max_grade(max_grade).seed(split);
    let (counts, _) = count_log(&simulation.prepare(&train, &lists)?.log(), &CountOptions::new())?;
    let log: FitLog =
        LogSource::from(counts).split(SplitBy::Queries, Fit::new().held_out, split, &Silent)?.try_into()?;
    let documents = FitData::of_documents(train);
    let fit = Fit::new().max_grade(max_grade).seed(split).doctor(Doctor::new().permutations(39).level(0.05));
    let known = fit.clone().model(ModelForm::LinearRaw).run(&log, Some(&documents), &Silent)?.propensities;
    // Estimating examination is the same for all, so it is left out of the times.
    let fit = fit.propensities(Some(known));
    let begin = Instant::now();
    let outcome = fit.run(&log, Some(&documents), &Silent)?;
    let mut seconds = vec![begin.elapsed().as_secs_f64()];
    let evaluator = Evaluator::new(vec![NDCG5]).max_grade(max_grade);
    let of_queries = |ranker: &Ranker| -> truerank::Result<Vec<f64>> {
        let found = evaluator.evaluate(&test, &ranker.score(&test)?)?;
        Ok(found.per_query(NDCG5).unwrap_or_default().to_vec())
    };
    let training = outcome.training.as_ref().expect("there are features");
    let mut values = vec![of_queries(&training.ranker)?];
    for form in forms() {
        let begin = Instant::now();
        let one = fit.clone().model(form).run(&log, Some(&documents), &Silent)?;
        seconds.push(begin.elapsed().as_secs_f64());
        values.push(of_queries(&one.training.expect("there are features").ranker)?);
    }
    let means: Vec<f64> = values.iter().map(|values| mean(values)).collect();
    let best = means[1..].iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let verdict = outcome.judged.as_ref().map_or("", |judged| judged.verdict_name());
    println!(
        "| {split} | {:.4} | {:.4} | {} | {verdict} | {} | {:.4} | {} | {} |",
        mean(&of_queries(&production)?),
        means[0],
        training.form,
        join(&means[1..], 4, " | "),
        best - means[0],
        by_clicks(&training.tried),
        join(&seconds, 1, ", ")
    );
    let queries = (0..test.query_count()).map(|query| test.queries().name(query).into_owned()).collect();
    Ok(Row { queries, values })
}
