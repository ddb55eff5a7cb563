//! How often two equal methods seem to differ: the share of p < .05 without any difference, by the test over seeds and queries
//! and by a paired t-test over queries alone.
//!
//! `cargo run --release -p truerank --example claim_level [COMPARISONS [TRAININGS]]` draws that many made-up comparisons per
//! row, and trains that many rankers on one log.

use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use truerank::data::{Generator, Preset};
use truerank::evaluate::{DifferenceTest, Measure};
use truerank::experiment::{Method, World, WorldOptions};
use truerank::progress::Silent;
use truerank::random;
use truerank::ranker::Training;
use truerank::simulate::Simulation;

const NDCG5: Measure = Measure::Ndcg(Some(5));
const QUERIES: usize = 200;

type Tables = Vec<Vec<f64>>;

fn main() -> truerank::Result<()> {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse().expect("a number"));
    let comparisons = numbers.next().unwrap_or(10_000);
    let trainings = numbers.next().unwrap_or(6_000);
    made_up(comparisons);
    trained(trainings)
}

/// Differences that are normal: of seeds, of queries, and of each pair of them.
fn made_up(times: usize) {
    println!(
        "\nmade-up differences of {QUERIES} queries; deviations of seeds, queries and the rest; {times} comparisons a row\n"
    );
    println!("| seeds | deviations | p < .05 | p < .01 | over queries alone, p < .05 |\n|---|---|---|---|---|");
    for (block, seeds) in [3, 5, 10].into_iter().enumerate() {
        let kinds = [
            [0.0, 1.0, 0.5],
            [0.0, 0.0, 1.0],
            [0.02, 0.0, 1.0],
            [0.1, 0.0, 1.0],
            [0.05, 1.0, 1.0],
            [0.1, 1.0, 1.0],
            [0.2, 1.0, 1.0],
            [0.3, 1.0, 1.0],
            [0.5, 1.0, 1.0],
        ];
        for (row, deviations) in kinds.into_iter().enumerate() {
            let world = (100 * block + row) as u64;
            let tables = (0..times as u64).into_par_iter().map(|time| drawn(seeds, deviations, world, time));
            let name = deviations.map(|deviation| deviation.to_string()).join(", ");
            print(&format!("{seeds} | {name}"), &tables.map(|table| p_values(&table)).collect::<Vec<_>>());
        }
    }
}

fn drawn(seeds: usize, [seed, query, rest]: [f64; 3], world: u64, time: u64) -> Tables {
    let mut rng = random::stream(world, "claim level", time);
    let mut draw = |deviation: f64| deviation * Distribution::<f64>::sample(&StandardNormal, &mut rng);
    let of_query: Vec<f64> = (0..QUERIES).map(|_| draw(query)).collect();
    let of_seed = |_| {
        let shift = draw(seed);
        of_query.iter().map(|effect| shift + effect + draw(rest)).collect()
    };
    (0..seeds).map(of_seed).collect()
}

/// One log, one method, other initial weights: no ranker is better than another but by chance.
fn trained(count: usize) -> truerank::Result<()> {
    let data = Generator::preset(Preset::Tiny).queries(200, 50, 1000).generate()?;
    let options = WorldOptions { patterns: false, ..WorldOptions::default() };
    let world = World::simulate(&data, &Simulation::new().sessions(10_000), &options, 1, &Silent)?;
    let train = |seed: usize| {
        let trainer = Training::network("mlp:16".parse()?).steps(100).patience(10).seed(seed as u64);
        let outcome = world.run(Method::USER_AWARE, world.propensities(), &trainer, &Silent)?;
        Ok(outcome.per_query(NDCG5).to_vec())
    };
    let rankers: Vec<Vec<f64>> = (1..=count).into_par_iter().map(train).collect::<truerank::Result<_>>()?;
    let means: Vec<f64> = rankers.iter().map(|values| values.iter().sum::<f64>() / values.len() as f64).collect();
    let deviation = DifferenceTest::of_values(&means).map_or(0.0, |test| test.standard_error * (count as f64).sqrt());
    println!(
        "\n{count} rankers mlp:16 by user-aware, trained on one log of `tiny` with {} test queries; the deviation of their nDCG@5 is {deviation:.4}\n",
        data.test.query_count()
    );
    println!(
        "| against each other | comparisons | p < .05 | p < .01 | over queries alone, p < .05 |\n|---|---|---|---|---|"
    );
    for seeds in [3, 5, 10] {
        // Each ranker is in one comparison only, so that comparisons are independent.
        let found: Vec<_> = rankers.chunks_exact(2 * seeds).map(|part| p_values(&differences(part))).collect();
        print(&format!("{seeds} and {seeds} | {}", found.len()), &found);
    }
    Ok(())
}

fn differences(rankers: &[Vec<f64>]) -> Tables {
    let (some, others) = rankers.split_at(rankers.len() / 2);
    some.iter().zip(others).map(|(a, b)| a.iter().zip(b).map(|(a, b)| a - b).collect()).collect()
}

/// p by the test over seeds and queries, and over queries whose values are averaged over seeds.
fn p_values(table: &Tables) -> [f64; 2] {
    let queries = table[0].len();
    let averaged = (0..queries).map(|query| table.iter().map(|run| run[query]).sum::<f64>() / table.len() as f64);
    let tests = [DifferenceTest::of_runs_and_queries(table), DifferenceTest::of_values(&averaged.collect::<Vec<_>>())];
    tests.map(|test| test.expect("enough seeds and queries").p())
}

/// Shares with their standard errors, in per cent.
fn print(name: &str, found: &[[f64; 2]]) {
    let share = |test: usize, level: f64| {
        let share = found.iter().filter(|p| p[test] < level).count() as f64 / found.len() as f64;
        format!("{:.1} ±{:.1} %", 100.0 * share, 100.0 * (share * (1.0 - share) / found.len() as f64).sqrt())
    };
    println!("| {name} | {} | {} | {} |", share(0, 0.05), share(0, 0.01), share(1, 0.05));
}
