//! EM against the obvious loop over sessions, its monotony, and its slopes.

use proptest::prelude::*;

use super::design::Design;
use super::expectation::Weighted;
use super::fit::{Basis, Fitted};
use super::hierarchy::{Clicks, Hierarchy, Slots};
use super::logistic::Logistic;
use super::passes::{Passes, Pieces};
use super::prior::Mean;
use super::relevance::RelevanceModel;
use super::squarem::Squarem;
use super::{RegressionEm, RelevancePrior};
use crate::counts::{Cell, CountOptions, Counts, count_log};
use crate::data::{Dataset, DatasetBuilder};
use crate::ids::Ids;
use crate::log::Log;
use crate::progress::Silent;
use crate::propensity::by_user::UserEntries;
use crate::propensity::observations::{Observations, Observed};
use crate::propensity::users::Kinds;
use crate::simulate::{ShownLists, Simulation};

/// Queries of four documents with two features, the first of which says something about the grade.
fn data(queries: usize) -> Dataset {
    let rows = queries * 4;
    let grade = |row: usize| (row * 7 % 11 % 5) as u8;
    DatasetBuilder {
        features: (0..rows).flat_map(|row| [f32::from(grade(row)) + (row * 3 % 4) as f32, (row % 9) as f32]).collect(),
        feature_count: 2,
        grades: Some((0..rows).map(grade).collect()),
        queries: Ids::numbered(queries),
        query_ends: (1..=queries).map(|query| query * 4).collect(),
        docs: None,
    }
    .build()
    .unwrap()
}

fn shuffled_log(data: &Dataset, sessions: u64) -> Log {
    let lists = [ShownLists::top(data, &vec![0.0; data.len()], 4).unwrap()];
    let simulation = Simulation::new().etas(vec![1.5, 0.4]).sessions(sessions).shuffle(0.5).seed(3);
    simulation.prepare(data, &lists).unwrap().log()
}

/// One step of EM impression by impression, with tables of θ(u,k) and γ(q,d).
fn step_over_impressions(log: &Log, counts: &Counts, examination: &mut [f64], relevance: &mut [f64]) -> f64 {
    let positions = counts.max_position() as usize;
    let observations = Observations::of_users(counts);
    let users = log.users.numbers_in(&counts.users);
    let (queries, docs) = (log.queries.numbers_in(&counts.queries), log.docs.numbers_in(&counts.docs));
    let mut slots = vec![(0.0, 0.0); examination.len()];
    let mut pairs = vec![(0.0, 0.0); relevance.len()];
    let mut log_likelihood = 0.0;
    for impression in &log.impressions {
        let user = users[impression.user as usize].unwrap() as usize;
        let slot = user * positions + impression.position as usize - 1;
        let pair = (queries[impression.query as usize].unwrap(), docs[impression.doc as usize].unwrap());
        let pair = observations.docs.binary_search(&pair).unwrap();
        let (theta, gamma) = (examination[slot], relevance[pair]);
        let miss = 1.0 - theta * gamma;
        let (examined, relevant, likelihood) = match impression.click {
            true => (1.0, 1.0, theta * gamma),
            false => (theta * (1.0 - gamma) / miss, gamma * (1.0 - theta) / miss, miss),
        };
        slots[slot] = (slots[slot].0 + examined, slots[slot].1 + 1.0);
        pairs[pair] = (pairs[pair].0 + relevant, pairs[pair].1 + 1.0);
        log_likelihood += likelihood.ln();
    }
    examination.iter_mut().zip(slots).for_each(|(theta, (sum, count))| *theta = sum / count);
    relevance.iter_mut().zip(pairs).for_each(|(gamma, (sum, count))| *gamma = sum / count);
    log_likelihood
}

#[test]
fn em_on_cells_is_em_on_sessions() {
    let data = data(12);
    let log = shuffled_log(&data, 3000);
    let (counts, _) = count_log(&log, &CountOptions::new()).unwrap();
    let observations = Observations::of_users(&counts);
    let weighted = Weighted::new(&observations).unwrap();
    let mut theta: Vec<f64> = (0..observations.slot_count()).map(|slot| 0.9 / (slot % 4 + 1) as f64).collect();
    let mut gamma = vec![0.3; observations.docs.len()];
    let (mut slow_theta, mut slow_gamma) = (theta.clone(), gamma.clone());
    for _ in 0..5 {
        let expected = step_over_impressions(&log, &counts, &mut slow_theta, &mut slow_gamma);
        let found = weighted.expect(&theta, &gamma).unwrap();
        assert!((found.log_likelihood / expected - 1.0).abs() < 1e-12);
        theta = found.examined.iter().zip(&weighted.shown_in_slot).map(|(sum, count)| sum / count).collect();
        gamma = found.relevant.iter().zip(&weighted.shown).map(|(sum, count)| sum / count).collect();
        let pairs = theta.iter().chain(&gamma).zip(slow_theta.iter().chain(&slow_gamma));
        assert!(pairs.into_iter().all(|(fast, slow)| (fast - slow).abs() < 1e-12));
    }
}

fn random_counts() -> impl Strategy<Value = Counts> {
    let cell = (0..4u32, 0..3u32, 1..5u32, 0..3u32, 1..50u64, 0.0..1.0f64);
    prop::collection::vec(cell, 4..40).prop_map(|cells| {
        let mut cells: Vec<Cell> = cells
            .into_iter()
            .map(|(query, doc, position, user, impressions, share)| Cell {
                query,
                doc,
                position,
                user,
                impressions,
                clicks: (share * impressions as f64) as u64,
            })
            .collect();
        cells.sort();
        cells.dedup_by_key(|cell| (cell.query, cell.doc, cell.position, cell.user));
        let ids = Ids::numbered(4);
        Counts { queries: ids.clone(), docs: ids.clone(), users: ids, cells, ..Counts::default() }
    })
}

proptest! {
    #[test]
    fn the_likelihood_of_tables_never_falls(counts in random_counts(), per_user in any::<bool>()) {
        let observations =
            if per_user { Observations::of_users(&counts) } else { Observations::of_population(&counts) };
        let weighted = Weighted::new(&observations).unwrap();
        let squarem = Squarem { iterations: 150, tolerance: 1e-12, accelerated: true };
        let fitted = Basis::table(RelevancePrior::None).fit(&weighted, None, squarem, &Silent).unwrap();
        for pair in fitted.log_likelihood.windows(2) {
            prop_assert!(pair[1] >= pair[0] - 1e-9 * pair[0].abs(), "{} after {}", pair[1], pair[0]);
        }
        let is_probability = |value: &f64| (0.0..=1.0).contains(value);
        prop_assert!(fitted.examination.iter().chain(&fitted.relevance).all(is_probability));
    }
}

#[test]
fn acceleration_goes_farther_in_fewer_steps() {
    let data = data(40);
    let lists = [ShownLists::top(&data, &vec![0.0; data.len()], 4).unwrap()];
    let simulator = Simulation::new().etas(vec![1.0]).sessions(20_000).prepare(&data, &lists).unwrap();
    let counts = simulator.counts().unwrap();
    let course = |accelerated: bool| {
        let em = RegressionEm::new()
            .prior(RelevancePrior::None)
            .accelerated(accelerated)
            .iterations(3000)
            .tolerance(1e-300)
            .resamples(0);
        em.estimate(&counts, Some(&data), &Silent).unwrap().propensities.details.fit.unwrap().log_likelihood
    };
    let (plain, accelerated) = (course(false), course(true));
    let best = plain.iter().chain(&accelerated).copied().fold(f64::NEG_INFINITY, f64::max);
    let steps = |course: &[f64]| course.iter().position(|value| *value >= best - 1e-9 * best.abs()).unwrap();
    assert!(3 * steps(&accelerated) < steps(&plain), "{} against {}", steps(&accelerated), steps(&plain));
}

#[test]
fn slopes_are_those_of_differences() {
    let data = data(6);
    let (counts, _) = count_log(&shuffled_log(&data, 500), &CountOptions::new()).unwrap();
    let observations = Observations::of_users(&counts);
    let weights: Vec<f64> = (0..counts.queries.len()).map(|query| (query % 3) as f64).collect();
    let weighted = Weighted::by_query(&observations, &weights).unwrap();
    let logistic = |logit: f64| 1.0 / (1.0 + (-logit).exp());
    let theta_logits: Vec<f64> = (0..observations.slot_count()).map(|slot| 1.0 - 0.4 * (slot % 4) as f64).collect();
    let gamma_logits: Vec<f64> = (0..observations.docs.len()).map(|doc| (doc % 5) as f64 * 0.3 - 1.0).collect();
    let likelihood = |theta: &[f64], gamma: &[f64]| {
        let map = |logits: &[f64]| logits.iter().map(|logit| logistic(*logit)).collect::<Vec<_>>();
        weighted.expect(&map(theta), &map(gamma)).unwrap().log_likelihood
    };
    let difference = |logits: &[f64], index: usize, value: &dyn Fn(&[f64]) -> f64| {
        let moved = |by: f64| {
            let mut logits = logits.to_vec();
            logits[index] += by;
            value(&logits)
        };
        (moved(1e-5) - moved(-1e-5)) / 2e-5
    };
    let theta: Vec<f64> = theta_logits.iter().map(|logit| logistic(*logit)).collect();
    let mut of_slots = vec![0.0; theta.len()];
    for (doc, logit) in gamma_logits.iter().enumerate() {
        weighted.add_slot_gradients(doc, logistic(*logit), &theta, &mut of_slots).unwrap();
        let expected = difference(&gamma_logits, doc, &|gamma| likelihood(&theta_logits, gamma));
        let found = weighted.score_gradient(doc, logistic(*logit), &theta).unwrap();
        assert!((found - expected).abs() < 1e-4 * (1.0 + expected.abs()), "document {doc}: {found} {expected}");
    }
    for (slot, found) in of_slots.iter().enumerate() {
        let expected = difference(&theta_logits, slot, &|theta| likelihood(theta, &gamma_logits));
        assert!((found - expected).abs() < 1e-4 * (1.0 + expected.abs()), "slot {slot}: {found} {expected}");
    }
}

#[test]
fn the_logistic_regression_ends_where_its_slopes_vanish() {
    let data = data(20);
    let rows: Vec<u32> = (0..data.len() as u32).collect();
    let design = Design::new(&data, rows);
    let shown: Vec<f64> = (0..data.len()).map(|row| 1.0 + (row % 4) as f64).collect();
    let relevant: Vec<f64> = shown.iter().enumerate().map(|(row, n)| n * (0.2 + 0.15 * (row % 5) as f64)).collect();
    let mut model = Logistic::new(&design, 0.5);
    (0..40).for_each(|_| model.update(&relevant, &shown));
    let residuals: Vec<f64> =
        model.values().iter().zip(&relevant).zip(&shown).map(|((gamma, r), n)| r - n * gamma).collect();
    let ridge = 1e-6 * shown.iter().sum::<f64>();
    for (slope, weight) in design.transposed_times(&residuals).into_iter().zip(model.parameters()) {
        assert!((slope - ridge * weight).abs() < 1e-6, "{slope}");
    }
}

/// A log whose documents were shown at several positions, to two groups of users.
fn shuffled_counts() -> (Dataset, Counts) {
    let data = data(30);
    let (counts, _) = count_log(&shuffled_log(&data, 2000), &CountOptions::new()).unwrap();
    (data, counts)
}

#[test]
fn the_penalised_likelihood_never_falls() {
    let (_, counts) = shuffled_counts();
    for groups in [1, 2] {
        let group_of_user: Vec<u32> = (0..counts.users.len() as u32).map(|user| user % groups).collect();
        let observations = Observations::new(&counts, &group_of_user);
        let clicks = Clicks::new(&observations, None).unwrap();
        let kinds = || Slots::Kinds(Kinds::find(&clicks.of_users(&clicks.exposed_to(&vec![0.3; 120]).unwrap()), 2, 1));
        for slots in [Slots::Free, kinds()] {
            let fit = Hierarchy::new(&clicks, clicks.mean_by_place(), slots);
            let squarem = Squarem { iterations: 300, tolerance: 1e-12, accelerated: true };
            let (start, silent) = (fit.start(), Silent);
            let fitted = fit.run(start, squarem, &silent).unwrap().0;
            for pair in fitted.log_likelihood.windows(2) {
                assert!(pair[1] >= pair[0] - 1e-9 * pair[0].abs(), "{} after {}", pair[1], pair[0]);
            }
        }
    }
}

proptest! {
    #[test]
    fn the_penalised_likelihood_of_any_log_never_falls(counts in random_counts(), per_user in any::<bool>()) {
        let observations =
            if per_user { Observations::of_users(&counts) } else { Observations::of_population(&counts) };
        let weighted = Weighted::new(&observations).unwrap();
        let squarem = Squarem { iterations: 150, tolerance: 1e-12, accelerated: true };
        let fitted = Basis::table(RelevancePrior::Fitted).fit(&weighted, None, squarem, &Silent).unwrap();
        for pair in fitted.log_likelihood.windows(2) {
            prop_assert!(pair[1] >= pair[0] - 1e-9 * pair[0].abs(), "{} after {}", pair[1], pair[0]);
        }
        // Nothing ends at a border: every slot that was shown keeps some examination.
        prop_assert!(fitted.examination.iter().all(|theta| *theta > 0.0 && theta.is_finite()));
    }
}

#[test]
fn slopes_of_the_hierarchy_are_those_of_differences() {
    let (data, counts) = shuffled_counts();
    let observations = Observations::of_population(&counts);
    let rows: Vec<u32> = (0..observations.docs.len() as u32).collect();
    let design = Design::new(&data, rows);
    let clicks = Clicks::new(&observations, None).unwrap().counted_by_sessions().unwrap();
    let mut fit = Hierarchy::new(&clicks, Mean::by_features(&design, 0.3), Slots::Free);
    let mut x = fit.start();
    x.iter_mut().enumerate().for_each(|(index, x)| *x += 0.1 * (index % 3) as f64);
    let (_, slopes) = fit.slopes(&x).unwrap();
    for index in 0..x.len() {
        let mut moved = |by: f64| {
            let mut x = x.clone();
            x[index] += by;
            fit.slopes(&x).unwrap().0
        };
        let expected = (moved(1e-5) - moved(-1e-5)) / 2e-5;
        assert!(
            (slopes[index] - expected).abs() < 1e-4 * (1.0 + expected.abs()),
            "{index}: {} {expected}",
            slopes[index]
        );
    }
}

/// Users of two kinds, and documents at several positions.
fn kinds_of_users() -> Counts {
    let data = data(60);
    let lists = [ShownLists::top(&data, &vec![0.0; data.len()], 4).unwrap()];
    let simulation = Simulation::new().etas(vec![1.8, 0.2]).users_per_cluster(30).sessions(9000).swap(0.6).seed(5);
    simulation.prepare(&data, &lists).unwrap().counts().unwrap()
}

#[test]
fn passes_over_users_arrive_where_the_hierarchy_does() {
    let counts = kinds_of_users();
    let (together, each) = (Observations::of_population(&counts), Observations::of_users(&counts));
    let squarem = Squarem { iterations: 900, tolerance: 1e-13, accelerated: true };
    let weighted = Weighted::new(&together).unwrap();
    let population = Basis::table(RelevancePrior::Fitted).fit(&weighted, None, squarem, &Silent).unwrap();
    let clicks = Clicks::new(&each, None).unwrap();
    let exposed = clicks.exposed_to(&population.relevance).unwrap();
    let kinds = Kinds::find(&clicks.of_users(&exposed), 2, 1);

    let theta = kinds.expect(&clicks.of_users(&exposed)).theta;
    let slow = Hierarchy::new(&clicks, clicks.mean_by_place(), Slots::Kinds(kinds.clone()));
    let start = slow.start_with(&theta, population.shape());
    let (slow, _) = slow.run(start, squarem, &Silent).unwrap();

    let entries = UserEntries::of(&counts, None).unwrap();
    let passes = Passes::new(
        Box::new(Pieces::new(entries)),
        clicks.of_docs(),
        clicks.mean_by_place(),
        kinds,
        clicks.impressions(),
    );
    let (fast, _, users) = passes.run(&population, squarem, &Silent).unwrap();

    for pair in fast.log_likelihood.windows(2) {
        assert!(pair[1] >= pair[0] - 1e-9 * pair[0].abs(), "{} after {}", pair[1], pair[0]);
    }
    let last = |fit: &Fitted| *fit.log_likelihood.last().unwrap();
    assert!((last(&fast) / last(&slow) - 1.0).abs() < 1e-7, "{} {}", last(&fast), last(&slow));
    // θ and γ have a common factor that nothing fixes.
    let scale = slow.examination.iter().sum::<f64>() / users.theta.iter().sum::<f64>();
    for (fast, slow) in users.theta.iter().zip(&slow.examination) {
        assert!((fast * scale / slow - 1.0).abs() < 0.01, "{} {slow}", fast * scale);
    }
    assert!((0..30).all(|user| users.kind[user] == users.kind[0] && users.kind[30 + user] != users.kind[0]));
}

/// One γ for all documents, known: then θ is clicks over exposure, up to half a click.
#[test]
fn documents_that_are_all_alike_leave_click_rates() {
    let cell = |query, position, impressions, clicks| Cell { query, doc: 0, position, user: 0, impressions, clicks };
    let cells: Vec<Cell> = (0..40).flat_map(|query| [cell(query, 1, 1000, 500), cell(query, 2, 1000, 100)]).collect();
    let ids = Ids::numbered(40);
    let counts = Counts { queries: ids.clone(), docs: ids, users: Ids::numbered(1), cells, ..Counts::default() };
    let observations = Observations::of_population(&counts);
    let squarem = Squarem { iterations: 300, tolerance: 1e-12, accelerated: true };
    let weighted = Weighted::new(&observations).unwrap();
    let fitted = Basis::table(RelevancePrior::Fitted).fit(&weighted, None, squarem, &Silent).unwrap();
    let ratio = fitted.examination[1] / fitted.examination[0];
    assert!((ratio - 100.0 / 500.0).abs() < 1e-3, "{ratio}");
}
