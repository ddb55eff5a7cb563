//! Simulated logs that the tests of all estimators share.

use rand::RngExt;

use crate::counts::{CountOptions, Counts, count_log};
use crate::data::{Dataset, DatasetBuilder};
use crate::ids::Ids;
use crate::propensity::Propensities;
use crate::random::stream;
use crate::simulate::{ShownLists, Simulation};

/// A data set with `docs` documents for each query and grades by chance.
pub fn data(queries: usize, docs: usize) -> Dataset {
    let mut random = stream(11, "grades", 0);
    DatasetBuilder {
        features: vec![0.0; queries * docs],
        feature_count: 1,
        grades: Some((0..queries * docs).map(|_| random.random_range(0..5)).collect()),
        queries: Ids::numbered(queries),
        query_ends: (1..=queries).map(|query| query * docs).collect(),
        docs: None,
    }
    .build()
    .unwrap()
}

/// Rankers that know nothing, each with an order of its own.
pub fn loggers(data: &Dataset, count: u64, length: usize) -> Vec<ShownLists> {
    let order = |logger: u64| {
        let mut random = stream(12, "logger", logger);
        let scores: Vec<f32> = (0..data.len()).map(|_| random.random()).collect();
        ShownLists::top(data, &scores, length).unwrap()
    };
    (0..count).map(order).collect()
}

/// The counts and the truth of a log drawn as cells.
pub fn cells(settings: Simulation, data: &Dataset, lists: &[ShownLists]) -> (Counts, Propensities) {
    let simulator = settings.prepare(data, lists).unwrap();
    (simulator.counts().unwrap(), simulator.propensities())
}

/// The counts and the truth of a log drawn session by session.
pub fn sessions(settings: Simulation, data: &Dataset, lists: &[ShownLists]) -> (Counts, Propensities) {
    let simulator = settings.prepare(data, lists).unwrap();
    let (counts, _) = count_log(&simulator.log(), &CountOptions::new()).unwrap();
    (counts, simulator.propensities())
}

/// The mean over positions past the first of |found/truth − 1| of the population.
pub fn population_error(found: &Propensities, truth: &Propensities) -> f64 {
    mean_error(&found.population[1..], &truth.population[1..])
}

/// The same for users, weighted by their sessions.
pub fn user_error(found: &Propensities, truth: &Propensities, counts: &Counts) -> f64 {
    assert_eq!(found.users, truth.users);
    let (sessions, total) = (counts.sessions_per_user(), counts.session_count());
    let of_user = |user: usize| mean_error(&found.of_user(user)[1..], &truth.of_user(user)[1..]);
    (0..sessions.len()).map(|user| sessions[user] as f64 / total as f64 * of_user(user)).sum()
}

fn mean_error(found: &[f64], truth: &[f64]) -> f64 {
    found.iter().zip(truth).map(|(found, truth)| (found / truth - 1.0).abs()).sum::<f64>() / truth.len() as f64
}

/// The bytes of what `estimate` finds on so many threads.
pub fn on_threads(threads: usize, estimate: impl Fn() -> Propensities + Send + Sync) -> Propensities {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(estimate)
}
