//! How near judgements of result pages come to the truth, whatever shows the pages.
//!
//! `cargo run --release -p truerank --example judge_pages [PRESET] [SEEDS]` simulates logs of fixed, shuffled, half shuffled and two
//! rankers' lists, with even and with Zipf traffic, 20 sessions per query, and prints DCG@10 of the pages as shown and as a ranker reorders
//! them: estimated by user-aware weights with the simulation's examination, over what the true relevance gives.

use truerank::counts::{CountOptions, Counts, count_log};
use truerank::data::{Dataset, Generator, Preset};
use truerank::evaluate::{ClickEvaluation, ClickMeasure, Counterfactual, rank};
use truerank::progress::Silent;
use truerank::ranker::{Training, TrainingLists, production_ranker};
use truerank::relevance::{Estimator, KnownLog};
use truerank::simulate::{ShownLists, Simulation};

/// The number of a query's first document.
const FIRST: usize = 1;

const DCG10: ClickMeasure = ClickMeasure::Dcg(10);

fn main() -> truerank::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let preset: Preset = arguments.next().as_deref().unwrap_or("small").parse()?;
    let seeds: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(3);
    let data = Generator::preset(preset).generate()?;
    let labels = TrainingLists::from_grades(&data.train, 4, None)?;
    let scores = Training::linear().fit_targets(&data.train, &labels, None, &Silent)?.score(&data.test)?;
    let production: Vec<ShownLists> = (1..=2)
        .map(|seed| {
            let ranker = production_ranker(&data.train, 0.01, seed, &Silent)?;
            ShownLists::top(&data.test, &ranker.score(&data.test)?, 10)
        })
        .collect::<truerank::Result<_>>()?;
    println!("| lists | traffic | as shown | reordered | nDCG@10, largest |");
    println!("|---|---|---|---|---|");
    for (name, lists, shuffled) in
        [("fixed", 1, 0.0), ("shuffled", 1, 1.0), ("half shuffled", 1, 0.5), ("two rankers", 2, 0.0)]
    {
        for (traffic, exponent) in [("even", 0.0), ("Zipf", 1.0)] {
            let mut sums = [0.0; 3];
            for seed in 1..=seeds {
                let sessions = 20 * data.test.query_count() as u64;
                let simulation = Simulation::new().sessions(sessions).shuffle(shuffled).zipf(exponent).seed(seed);
                let simulator = simulation.prepare(&data.test, &production[..lists])?;
                let (counts, _) = count_log(&simulator.log(), &CountOptions::new())?;
                let theta = simulator.propensities();
                let judge = Counterfactual::new(
                    &KnownLog::examined(&counts, Some(&data.test), &theta),
                    Estimator::UserAware,
                    None,
                )?;
                let truth = truth(&data.test, &counts, &scores, simulator.relevance());
                let found = [judge.as_shown(), judge.judge(&scores)?];
                (0..2).for_each(|i| sums[i] += value(&found[i], DCG10) / truth[i] / seeds as f64);
                sums[2] = found.iter().map(|found| value(found, ClickMeasure::Ndcg(10))).fold(sums[2], f64::max);
            }
            let percent = |ratio: f64| format!("{:+.1} %", 100.0 * (ratio - 1.0));
            println!("| {name} | {traffic} | {} | {} | {:.4} |", percent(sums[0]), percent(sums[1]), sums[2]);
        }
    }
    Ok(())
}

fn value(found: &ClickEvaluation, measure: ClickMeasure) -> f64 {
    found.value(measure).map_or(f64::NAN, |bounds| bounds.value)
}

/// The mean DCG@10 over pages with true relevance as gains: as shown, and in the order of the scores.
fn truth(data: &Dataset, counts: &Counts, scores: &[f32], relevance: &[f64]) -> [f64; 2] {
    let queries = counts.queries.numbers_in(data.queries());
    // Documents of generated data are numbered within their query.
    let places: Vec<usize> =
        (0..counts.docs.len()).map(|doc| counts.docs.name(doc).parse().expect("a number")).collect();
    let pages = counts.pages.as_ref().expect("counting keeps pages");
    let mut sums = [0.0; 2];
    for page in &pages.pages {
        let query = queries[page.query as usize].expect("the data is that of the log");
        let start = data.rows_of(query as usize).start;
        let rows: Vec<usize> = pages.of(page).iter().map(|shown| start + places[shown.doc as usize] - FIRST).collect();
        let of_page: Vec<f32> = rows.iter().map(|&row| scores[row]).collect();
        let dcg = |order: &[usize]| -> f64 {
            let gains = order.iter().enumerate().map(|(above, &i)| relevance[rows[i]] / ((above + 2) as f64).log2());
            gains.sum()
        };
        sums[0] += dcg(&(0..rows.len()).collect::<Vec<_>>());
        sums[1] += dcg(&rank(&of_page));
    }
    sums.map(|sum| sum / pages.pages.len() as f64)
}
