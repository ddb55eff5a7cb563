//! The tests for personalized bias, against simulated logs that have it and logs that do not.

use super::dependence::dependence;
use super::{Bias, Doctor, RelativeExamination};
use crate::counts::{CountOptions, Counts, assert_same, count_log, everywhere};
use crate::data::{Dataset, Generator, Preset};
use crate::progress::Silent;
use crate::propensity::{Examination, Propensities};
use crate::simulate::{ShownLists, Simulation};

const SEEDS: std::ops::Range<u64> = 0..20;

fn data() -> Dataset {
    Generator::preset(Preset::Tiny).queries(300, 10, 10).generate().unwrap().train
}

/// A log of production-like lists, and the θ behind it.
fn log(data: &Dataset, simulation: Simulation) -> (Counts, Propensities) {
    let scores: Vec<f32> = (0..data.len()).map(|row| (row * 7919 % 1009) as f32).collect();
    let lists = [ShownLists::top(data, &scores, 10).unwrap()];
    let simulator = simulation.prepare(data, &lists).unwrap();
    (simulator.counts().unwrap(), simulator.propensities())
}

/// In how many of 20 logs both tests reject at .01.
fn found(simulation: impl Fn(u64) -> Simulation) -> usize {
    let data = data();
    let has_bias = |seed: &u64| {
        let (counts, _) = log(&data, simulation(*seed).seed(*seed));
        let depend = dependence(&counts, 199, 1, &Silent).unwrap().is_some_and(|found| found.test.p < 0.01);
        depend && true
    };
    SEEDS.filter(has_bias).count()
}

fn simulation() -> Simulation {
    Simulation::new().sessions(20_000)
}

#[test]
fn users_who_differ_in_queries_and_depth_are_found() {
    assert!(found(|_| simulation()) >= 19);
}

#[test]
fn users_who_differ_in_depth_only_are_no_bias() {
    assert!(found(|_| simulation().personal_queries(false)) <= 1);
}

#[test]
fn users_who_differ_in_queries_only_are_no_bias() {
    assert!(found(|_| simulation().etas(vec![1.0; 10])) <= 1);
}

#[test]
fn many_users_with_few_sessions_each_are_found_too() {
    assert!(found(|_| simulation().users_per_cluster(30).user_noise(0.1)) >= 19);
    assert!(found(|_| simulation().users_per_cluster(30).user_noise(0.1).personal_queries(false)) <= 1);
    assert!(found(|_| simulation().etas(vec![1.0; 10]).users_per_cluster(30)) <= 1);
}

/// The root mean squared relative bias of ips-pbm with the true θ, and queries' users as counted.
fn true_bias(counts: &Counts, truth: &Propensities) -> f64 {
    let examination = Examination::new(truth, counts).unwrap();
    let (mut squares, mut shown) = (0.0, 0.0);
    for users in counts.sessions.chunk_by(|a, b| a.query == b.query) {
        let n: f64 = users.iter().map(|u| u.sessions as f64).sum();
        for cell in counts.cells.iter().filter(|cell| cell.query == users[0].query) {
            let k = cell.position;
            let mean = users.iter().map(|u| u.sessions as f64 * examination.of(u.user, k)).sum::<f64>() / n;
            squares += cell.impressions as f64 * (mean / examination.average_at(k) - 1.0).powi(2);
            shown += cell.impressions as f64;
        }
    }
    (squares / shown).sqrt()
}

fn typical_bias(counts: &Counts) -> f64 {
    Bias::of(counts, &RelativeExamination::of(counts).unwrap()).unwrap().typical
}

#[test]
fn the_size_of_the_bias_is_that_of_the_true_examination() {
    // So many sessions per query that chance makes little of the users of a query.
    let data = data();
    let (counts, truth) = log(&data, simulation().sessions(1_000_000));
    let expected = true_bias(&counts, &truth);
    let estimated = typical_bias(&counts);
    assert!((estimated / expected - 1.0).abs() < 0.1, "{estimated} is not {expected}");
    let (few, _) = log(&data, simulation());
    let estimated = typical_bias(&few);
    assert!((estimated / expected - 1.0).abs() < 0.25, "{estimated} is not {expected}");
    let (alike, _) = log(&data, simulation().personal_queries(false));
    let estimated = typical_bias(&alike);
    assert!(estimated < 0.1 * expected, "{estimated} where there is none");
}

#[test]
fn a_diagnosis_does_not_depend_on_where_counts_are() {
    let data = data();
    let lists = [ShownLists::top(&data, &vec![0.0; data.len()], 10).unwrap()];
    let simulation = simulation().sessions(3000).users_per_cluster(8).user_noise(0.1).shuffled(0.3);
    let log = simulation.prepare(&data, &lists).unwrap().log();
    let (counts, _) = count_log(&log, &CountOptions::new()).unwrap();
    for features in [None, Some(&data)] {
        let found = everywhere(&counts, |counts| {
            Doctor::new().permutations(19).examine(counts, None, features, &Silent).unwrap()
        });
        assert!(found[0].bias.is_some() && found[0].weights.is_some() && !found[0].groups.is_empty());
        assert_same(&found);
    }
}
