//! How near judgements by clicks come to the truth, at 5 to 1,000 sessions per query.
//!
//! `cargo run --release -p truerank --example judge_by_clicks [PRESET] [SEEDS]` shows the lists of a production ranker for the
//! test queries, and judges a linear ranker, trained on grades, by simulated clicks. For each size it prints the mean over
//! seeds of the estimated values and differences from production beside those that the true relevance of shown documents
//! gives.

use truerank::counts::{Cell, Counts, SessionCount};
use truerank::data::{Dataset, Generator, Preset};
use truerank::evaluate::{ClickMeasure, Counterfactual};
use truerank::network::Architecture;
use truerank::progress::Silent;
use truerank::propensity::Propensities;
use truerank::ranker::{Training, TrainingLists, production_ranker};
use truerank::relevance::{Estimator, KnownLog};
use truerank::simulate::{ShownLists, Simulation, Simulator};

const MEASURES: [ClickMeasure; 3] = [ClickMeasure::Dcg(5), ClickMeasure::Ndcg(5), ClickMeasure::Arp];

fn main() -> truerank::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let preset: Preset = arguments.next().as_deref().unwrap_or("small").parse()?;
    let seeds: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(5);
    let data = Generator::preset(preset).generate()?;
    let production = production_ranker(&data.train, 0.01, 1, &Silent)?;
    let lists = TrainingLists::from_grades(&data.train, 4, None)?;
    let ranker = Training::network(Architecture::Linear).fit_targets(&data.train, &lists, None, &Silent)?;
    let scores = [ranker.score(&data.test)?, production.score(&data.test)?];
    let shown = [ShownLists::top(&data.test, &scores[1], 10)?];
    println!("| sessions per query | clicks weighed by | DCG@5 | nDCG@5 | ARP | ΔDCG@5 | ΔnDCG@5 | ΔARP |");
    println!("|---|---|---|---|---|---|---|---|");
    for per_query in [5, 20, 100, 1000] {
        let sessions = per_query * data.test.query_count() as u64;
        for estimator in [Estimator::Naive, Estimator::IpsPbm, Estimator::Straightforward, Estimator::UserAware] {
            let mut rows = Vec::new();
            for seed in 1..=seeds {
                let simulator = Simulation::new().sessions(sessions).seed(seed).prepare(&data.test, &shown)?;
                let (counts, theta) = (simulator.counts()?, simulator.propensities());
                let log = KnownLog::examined(&counts, Some(&data.test), &theta);
                let judge = Counterfactual::new(&log, estimator, None)?;
                rows.push(values(&judge, &scores)?);
            }
            print_row(&per_query.to_string(), &estimator.to_string(), &rows);
        }
    }
    let simulator = Simulation::new().prepare(&data.test, &shown)?;
    let (counts, certain) = certain_clicks(&data.test, &shown[0], &simulator);
    let judge =
        Counterfactual::new(&KnownLog::examined(&counts, Some(&data.test), &certain), Estimator::UserAware, None)?;
    print_row("", "true relevance", &[values(&judge, &scores)?]);
    Ok(())
}

/// The values of the first ranking, then how it differs from the second.
fn values(judge: &Counterfactual, scores: &[Vec<f32>; 2]) -> truerank::Result<Vec<f64>> {
    let (first, second) = (judge.judge_candidates(&scores[0])?, judge.judge_candidates(&scores[1])?);
    let of = |measure| {
        (first.value(measure).map_or(f64::NAN, |v| v.value), second.value(measure).map_or(f64::NAN, |v| v.value))
    };
    let pairs: Vec<(f64, f64)> = MEASURES.into_iter().map(of).collect();
    Ok(pairs.iter().map(|pair| pair.0).chain(pairs.iter().map(|pair| pair.0 - pair.1)).collect())
}

fn print_row(size: &str, name: &str, rows: &[Vec<f64>]) {
    let mean = |column: usize| rows.iter().map(|row| row[column]).sum::<f64>() / rows.len() as f64;
    let cells: Vec<String> = (0..rows[0].len()).map(|column| format!("{:.4}", mean(column))).collect();
    println!("| {size} | {name} | {} |", cells.join(" | "));
}

/// A million sessions per query in which everything is examined and clicked as often as it is relevant.
fn certain_clicks(data: &Dataset, shown: &ShownLists, simulator: &Simulator<'_>) -> (Counts, Propensities) {
    let sessions = 1_000_000u64;
    let mut cells = Vec::new();
    let most = (0..data.query_count()).map(|query| data.rows_of(query).len()).max().unwrap_or(0);
    for query in 0..data.query_count() {
        let mut rows: Vec<(usize, u32)> = shown.of(query).iter().map(|&row| row as usize).zip(1..).collect();
        rows.sort_unstable();
        for (row, position) in rows {
            let clicks = (simulator.relevance()[row] * sessions as f64).round() as u64;
            let doc = (row - data.rows_of(query).start) as u32;
            cells.push(Cell { query: query as u32, doc, position, user: 0, impressions: sessions, clicks });
        }
    }
    let counts = Counts {
        queries: data.queries().clone(),
        docs: truerank::ids::Ids::numbered(most),
        users: truerank::ids::Ids::numbered(1),
        contexts: Default::default(),
        cells,
        sessions: (0..data.query_count() as u32).map(|query| SessionCount { query, user: 0, sessions }).collect(),
        patterns: None,
        transitions: None,
        pages: None,
        ..Counts::default()
    };
    (counts, Propensities { population: vec![1.0; 10], ..Propensities::default() })
}
