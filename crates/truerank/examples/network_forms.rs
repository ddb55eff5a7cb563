//! Which form of ranker suits real features? Trains forms on human grades and judges them on queries that nobody learned from.
//!
//! `cargo run --release -p truerank --example network_forms DATA FIRST_SPLIT SPLITS FORM [FORM …]`. DATA is the name of a preset, or files of
//! LETOR text that are put together, with commas between them. A FORM is a kind of ranker and options of its training, with spaces between
//! them: `'mlp:64,32 scaling=rank l2=0.001'`. Each split divides the queries at random: three parts in five to learn from, one to
//! choose the number of steps by, one to test. Prints the mean nDCG@5 of the test queries, how far it is above the first form's with its
//! standard error over all test queries of all splits, and seconds of training.

use std::path::Path;
use std::time::Instant;

use rand::seq::SliceRandom;
use truerank::data::{Dataset, DatasetBuilder, Generator, Preset, ReadOptions, read_dataset};
use truerank::evaluate::{Evaluator, Measure};
use truerank::ids::Ids;
use truerank::options::Options;
use truerank::progress::Silent;
use truerank::random::stream;
use truerank::ranker::{LearnFrom, Training};

const NDCG5: Measure = Measure::Ndcg(Some(5));

fn main() -> truerank::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, first, splits, forms @ ..] = &arguments[..] else {
        return Err(truerank::Error::parameter("usage: network_forms DATA FIRST_SPLIT SPLITS FORM [FORM …]"));
    };
    let number = |text: &String| text.parse::<u64>().map_err(|e| truerank::Error::parameter(format!("'{text}': {e}")));
    let (first, splits) = (number(first)?, number(splits)?);
    let data = load(what)?;
    println!("{} queries, {} documents, {} features", data.query_count(), data.len(), data.feature_count());
    println!("| form | nDCG@5 | above the first | seconds |\n|---|---|---|---|");
    let mut anchor: Option<Vec<f64>> = None;
    for form in forms {
        let begin = Instant::now();
        let mut values = Vec::new();
        let mut means = 0.0;
        for split in first..first + splits {
            let of_split = test(&data, form, split)?;
            means += of_split.iter().sum::<f64>() / of_split.len() as f64 / splits as f64;
            values.extend(of_split);
        }
        let seconds = begin.elapsed().as_secs_f64() / splits as f64;
        let anchor = anchor.get_or_insert_with(|| values.clone());
        let (mean, error) = difference(&values, anchor);
        println!("| {form} | {means:.4} | {mean:+.4} ± {error:.4} | {seconds:.2} |");
    }
    Ok(())
}

/// nDCG@5 of each test query of a split.
fn test(data: &Dataset, form: &str, split: u64) -> truerank::Result<Vec<f64>> {
    let mut queries: Vec<usize> = (0..data.query_count()).collect();
    queries.shuffle(&mut stream(split, "splits", 0));
    let fifth = queries.len() / 5;
    let (test, rest) = queries.split_at(fifth);
    let (choose, learn) = rest.split_at(fifth);
    let [test, choose, learn] = [test, choose, learn].map(|part| {
        let mut part = part.to_vec();
        part.sort_unstable();
        data.select(&part)
    });
    let max_grade = data.grades().and_then(|grades| grades.iter().copied().max()).unwrap_or(4);
    let evaluator = Evaluator::new(vec![NDCG5]).max_grade(max_grade);
    let training = training(form, split)?.max_grade(max_grade);
    let validation = evaluator.validation(&choose)?;
    let validation = training.model.kind().learns_from_weights.then_some(&validation);
    let (ranker, _) = training.fit(&learn, LearnFrom::Grades, validation, &Silent)?;
    let found = evaluator.evaluate(&test, &ranker.score(&test)?)?;
    Ok(found.per_query(NDCG5).unwrap_or_default().to_vec())
}

/// A kind and its options; seed and patience are those of the split and of `fit` where they are not among them.
fn training(form: &str, split: u64) -> truerank::Result<Training> {
    let mut words = form.split_whitespace();
    let mut training = Training::new().model(words.next().unwrap_or_default().parse()?).seed(split);
    let kind = training.model.kind();
    if kind.takes("patience") {
        training = training.patience(if kind.name == "trees" { 8 } else { 20 });
    }
    for word in words {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        training.set(name, &[value.to_string()])?;
    }
    Ok(training)
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

/// The mean difference and its standard error.
fn difference(values: &[f64], others: &[f64]) -> (f64, f64) {
    let differences: Vec<f64> = values.iter().zip(others).map(|(a, b)| a - b).filter(|d| d.is_finite()).collect();
    let count = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / count;
    let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, (variance / count).sqrt())
}
