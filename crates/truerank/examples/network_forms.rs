//! Which form of ranker suits real features? Trains forms on human grades and judges them on queries that nobody learned from.
//!
//! `cargo run --release -p truerank --example network_forms DATA FIRST_SPLIT SPLITS FORM [FORM …]`. DATA is the name of a preset, or files of
//! LETOR text that are put together, with commas between them. A FORM is a kind of ranker and options of its training, with spaces between
//! them: `'mlp:64,32 scaling=rank l2=0.001'`. Each split divides the queries at random: three parts in five to learn from, one to
//! choose the number of steps by, one to test. Prints the mean nDCG@5 of the test queries, how far it is above the first form's with its
//! standard error over all test queries of all splits, and seconds of training.

mod divisions;

use std::time::Instant;

use truerank::data::Dataset;
use truerank::evaluate::{Evaluator, Measure};
use truerank::options::Options;
use truerank::progress::Silent;
use truerank::ranker::{LearnFrom, Training};

const NDCG5: Measure = Measure::Ndcg(Some(5));

fn main() -> truerank::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, first, splits, forms @ ..] = &arguments[..] else {
        return Err(truerank::Error::parameter("usage: network_forms DATA FIRST_SPLIT SPLITS FORM [FORM …]"));
    };
    let number = |text: &String| text.parse::<u64>().map_err(|e| truerank::Error::parameter(format!("'{text}': {e}")));
    let (first, splits) = (number(first)?, number(splits)?);
    let data = divisions::load(what)?;
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
    let [test, choose, learn] = divisions::divide(data, split, [1, 1, 3]);
    let max_grade = divisions::max_grade(data);
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

/// The mean difference and its standard error.
fn difference(values: &[f64], others: &[f64]) -> (f64, f64) {
    let differences: Vec<f64> = values.iter().zip(others).map(|(a, b)| a - b).filter(|d| d.is_finite()).collect();
    let count = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / count;
    let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, (variance / count).sqrt())
}
