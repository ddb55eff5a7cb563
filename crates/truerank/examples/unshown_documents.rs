//! What do labels of shown documents teach a ranker about all others? Clicks are seen of ten documents for each query; the ranker then orders all.
//!
//! `cargo run --release -p truerank --example unshown_documents FILE,FILE|PRESET FIRST_SPLIT SPLITS SESSIONS_PER_QUERY[,…]` divides the queries into three
//! parts of five to learn from and two to test, simulates clicks on the first ten documents of a ranker that knows few grades, and trains rankers without
//! validation. It prints nDCG@5 over splits and sizes of the log: of all documents of the test queries, and with the first ten of the production ranker ahead of
//! all others, each with the difference from click-through rates and its standard error over splits.

mod divisions;

use std::collections::BTreeMap;

use truerank::data::Dataset;
use truerank::evaluate::{Evaluator, Measure};
use truerank::progress::Silent;
use truerank::ranker::{ModelForm, Training, TrainingLists, TreeLoss, production_ranker};
use truerank::relevance::{EstimationChoice, KnownLog, Relevance, RelevancePredictor};
use truerank::simulate::{ShownLists, Simulation, Simulator};

const NDCG5: Measure = Measure::Ndcg(Some(5));

/// For each form and each kind of labels, the values of all logs: of all documents, and of pages.
type Found = BTreeMap<(&'static str, usize, &'static str), Vec<[f64; 2]>>;

fn main() -> truerank::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, first, splits, sizes] = &arguments[..] else {
        return Err(truerank::Error::parameter("usage: unshown_documents DATA FIRST_SPLIT SPLITS SIZE[,…]"));
    };
    let number = |text: &str| text.parse::<u64>().map_err(|e| truerank::Error::parameter(format!("'{text}': {e}")));
    let sizes: Vec<u64> = sizes.split(',').map(number).collect::<Result<_, _>>()?;
    let (data, first) = (divisions::load(what)?, number(first)?);
    let mut found = Found::new();
    for split in first..first + number(splits)? {
        run_split(&data, split, &sizes, &mut found)?;
        eprintln!("split {split}");
    }
    print_table(&found, sizes.len());
    Ok(())
}

fn run_split(data: &Dataset, split: u64, sizes: &[u64], found: &mut Found) -> truerank::Result<()> {
    let [test, train] = divisions::divide(data, split, [2, 3]);
    let max_grade = divisions::max_grade(data);
    let production = production_ranker(&train, (4.0 / train.query_count() as f64).max(0.01), split, &Silent)?;
    let lists = [ShownLists::top(&train, &production.score(&train)?, 10)?];
    let judge = Judge::new(&test, &production.score(&test)?, max_grade)?;
    for &size in sizes {
        let simulation = Simulation::new().sessions(size * train.query_count() as u64).max_grade(max_grade).seed(split);
        // Traffic is even in odd splits and Zipf in even ones.
        let simulation = if split.is_multiple_of(2) { simulation.zipf(0.7) } else { simulation };
        let simulator = simulation.prepare(&train, &lists)?;
        found.entry(("production", 0, "as it is")).or_default().push(judge.values(&production.score(&test)?)?);
        for (place, (name, lists)) in labels(&train, &simulator)?.into_iter().enumerate() {
            for (form, training) in forms() {
                let ranker = training.fit_targets(&train, &lists, None, &Silent)?;
                found.entry((form, place, name)).or_default().push(judge.values(&ranker.score(&test)?)?);
            }
        }
    }
    Ok(())
}

/// Test queries, and which of their documents the production ranker would show.
struct Judge<'a> {
    test: &'a Dataset,
    is_shown: Vec<bool>,
    evaluator: Evaluator,
}

impl<'a> Judge<'a> {
    fn new(test: &'a Dataset, production: &[f32], max_grade: u8) -> truerank::Result<Self> {
        let pages = ShownLists::top(test, production, 10)?;
        let mut is_shown = vec![false; test.len()];
        (0..test.query_count()).flat_map(|query| pages.of(query)).for_each(|&row| is_shown[row as usize] = true);
        Ok(Judge { test, is_shown, evaluator: Evaluator::new(vec![NDCG5]).max_grade(max_grade) })
    }

    /// nDCG@5 of all documents, and with those ahead that would be shown.
    fn values(&self, scores: &[f32]) -> truerank::Result<[f64; 2]> {
        let value = |scores: &[f32]| -> truerank::Result<f64> {
            Ok(self.evaluator.evaluate(self.test, scores)?.mean(NDCG5).unwrap_or(f64::NAN))
        };
        let (low, high) = scores.iter().fold((0.0_f32, 0.0_f32), |(low, high), &s| (low.min(s), high.max(s)));
        let ahead =
            scores.iter().zip(&self.is_shown).map(|(&score, &shown)| score + f32::from(shown) * (1.0 + high - low));
        Ok([value(scores)?, value(&ahead.collect::<Vec<_>>())?])
    }
}

/// What rankers learn from, in the order of the table.
fn labels(train: &Dataset, simulator: &Simulator<'_>) -> truerank::Result<Vec<(&'static str, TrainingLists)>> {
    let (counts, theta) = (simulator.counts()?, simulator.propensities());
    let log = KnownLog::examined(&counts, Some(train), &theta);
    let estimation = EstimationChoice::default().estimation(&log, &RelevancePredictor::new(), &Silent)?;
    let relevance = estimation.weigh(log.exposures(&Silent)?)?.relevance()?;
    let (ours, _) = TrainingLists::from_relevance(train, &relevance)?;
    let rates = of_shown(train, &relevance, |_, clicks, impressions| clicks / impressions);
    let truth = of_shown(train, &relevance, |row, _, _| simulator.relevance()[row]);
    Ok(vec![
        ("clicks / impressions", TrainingLists::from_weights(train, &rates)?),
        ("labels of shown documents", ours),
        ("true relevance of shown documents", TrainingLists::from_weights(train, &truth)?),
    ])
}

/// A weight for each shown row, by its number, clicks and impressions.
fn of_shown(train: &Dataset, relevance: &Relevance, value: impl Fn(usize, f64, f64) -> f64) -> Vec<f32> {
    let mut weights = vec![f32::NAN; train.len()];
    for (weight, row) in relevance.weights.iter().zip(relevance.rows_in(train)) {
        if let Some(row) = row {
            let row = row as usize;
            weights[row] = value(row, weight.clicks as f64, weight.impressions as f64) as f32;
        }
    }
    weights
}

fn forms() -> [(&'static str, Training); 3] {
    let trees = |loss| Training::new().model(ModelForm::Trees).loss(loss).steps(60);
    [
        ("linear", Training::linear().l2(0.01)),
        ("trees", trees(TreeLoss::Softmax)),
        ("trees, squared", trees(TreeLoss::Squared)),
    ]
}

fn print_table(found: &Found, sizes: usize) {
    println!("| ranker | labels | all documents | above click-through rates | pages | above click-through rates |");
    println!("|---|---|---|---|---|---|");
    for ((form, place, name), values) in found {
        let anchor = found.get(&(*form, 0, "clicks / impressions")).filter(|_| *place > 0);
        let cells = [0, 1].map(|which| {
            let of = |values: &[[f64; 2]]| values.iter().map(|pair| pair[which]).collect::<Vec<f64>>();
            let mean = of(values).iter().sum::<f64>() / values.len() as f64;
            let above = anchor.map_or(String::new(), |anchor| above(&of(values), &of(anchor), sizes));
            format!("{mean:.4} | {above}")
        });
        println!("| {form} | {name} | {} |", cells.join(" | "));
    }
}

/// The mean difference, and its standard error over splits: sizes of the log share their queries.
fn above(values: &[f64], others: &[f64], sizes: usize) -> String {
    let differences: Vec<f64> = values.iter().zip(others).map(|(a, b)| a - b).collect();
    let splits: Vec<f64> = differences.chunks(sizes).map(|split| split.iter().sum::<f64>() / sizes as f64).collect();
    let count = splits.len() as f64;
    let mean = splits.iter().sum::<f64>() / count;
    let variance = splits.iter().map(|split| (split - mean).powi(2)).sum::<f64>() / (count - 1.0);
    format!("{mean:+.4} ± {:.4}", (variance / count).sqrt())
}
