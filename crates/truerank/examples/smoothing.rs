//! Compares rules for the strength of smoothing, β, at 1, 5, 15 and 50 sessions per query.
//!
//! `cargo run --release -p truerank --example smoothing [linear|mlp] [SEEDS]` prints, for each size, nDCG@5 of every
//! rule averaged over seeds, and p-values of paired t-tests over test queries against `ips-pbm` and `user-aware`.

use truerank::data::{Generator, Preset};
use truerank::evaluate::{Measure, paired_t_test};
use truerank::experiment::{Method, Outcome, World, WorldOptions};
use truerank::network::Architecture;
use truerank::progress::Silent;
use truerank::ranker::Training;
use truerank::relevance::{Estimator, Smoothing};
use truerank::simulate::Simulation;

const NDCG5: Measure = Measure::Ndcg(Some(5));

fn main() -> truerank::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let model: Architecture = arguments.next().as_deref().unwrap_or("linear").parse()?;
    let seeds: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(8);
    let data = Generator::preset(Preset::Small).generate()?;
    // An MLP takes a minute where a linear ranker takes a second: it compares the rules only.
    let fixed: &[f64] = if model == Architecture::Linear { &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0] } else { &[] };
    let methods = methods(fixed);
    for per_query in [1, 5, 15, 50] {
        let sessions = per_query * data.train.query_count() as u64;
        let mut trainer = Training::network(model.clone()).patience(15);
        if model != Architecture::Linear {
            trainer = trainer.steps(400);
        }
        let simulation = Simulation::new().sessions(sessions);
        let of_seed = |seed: u64| -> truerank::Result<Vec<Outcome>> {
            let world = World::simulate(&data, &simulation, &WorldOptions::default(), seed, &Silent)?;
            let trainer = trainer.clone().seed(seed);
            methods.iter().map(|&method| world.run(method, world.propensities(), &trainer, &Silent)).collect()
        };
        let results = (1..=seeds).map(of_seed).collect::<truerank::Result<Vec<_>>>()?;
        print_size(per_query, &methods, &results);
    }
    Ok(())
}

fn methods(fixed: &[f64]) -> Vec<Method> {
    let smoothed = |smoothing| Method::Estimated(Estimator::UserAwareSmoothed(smoothing));
    let mut methods = vec![
        Method::Estimated(Estimator::IpsPbm),
        Method::Estimated(Estimator::UserAware),
        smoothed(Smoothing::LeastError),
        smoothed(Smoothing::Likelihood),
    ];
    methods.extend(fixed.iter().map(|&beta| smoothed(Smoothing::Fixed(beta))));
    methods
}

fn print_size(per_query: u64, methods: &[Method], results: &[Vec<Outcome>]) {
    println!("\n{per_query} sessions per query\n");
    println!("| rule | β | MSE | nDCG@5 | p to ips-pbm | p to user-aware |");
    println!("|---|---|---|---|---|---|");
    let (ips, aware) = (query_means(results, 0), query_means(results, 1));
    for (index, method) in methods.iter().enumerate() {
        let values = query_means(results, index);
        let p = |other: &[f64]| match paired_t_test(&values, other) {
            Some(test) if test.p < 0.001 => "< .001".to_string(),
            Some(test) => format!("{:.3}", test.p),
            None => String::new(),
        };
        println!(
            "| {} | {} | {:.3} | {:.4} | {} | {} |",
            name(method),
            beta(results, index),
            mean(results.iter().filter_map(|result| result[index].accuracy.as_ref()).map(|accuracy| accuracy.mse)),
            mean(values.iter().copied()),
            p(&ips),
            p(&aware)
        );
    }
}

/// The mean β over seeds, where the method smooths.
fn beta(results: &[Vec<Outcome>], index: usize) -> String {
    let betas: Vec<f64> = results.iter().filter_map(|result| result[index].beta).collect();
    if betas.is_empty() { String::new() } else { format!("{:.2}", mean(betas.into_iter())) }
}

fn name(method: &Method) -> String {
    match method {
        Method::Estimated(Estimator::UserAwareSmoothed(smoothing)) => match smoothing {
            Smoothing::LeastError => "smoothed, least error".to_string(),
            Smoothing::Likelihood => "smoothed, likelihood".to_string(),
            Smoothing::Fixed(beta) => format!("smoothed, β = {beta}"),
        },
        other => other.to_string(),
    }
}

/// Each test query's nDCG@5 of method number `index`, averaged over seeds.
fn query_means(results: &[Vec<Outcome>], index: usize) -> Vec<f64> {
    let runs: Vec<&[f64]> = results.iter().map(|result| result[index].per_query(NDCG5)).collect();
    (0..runs[0].len()).map(|query| mean(runs.iter().map(|run| run[query]))).collect()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}
