//! Estimated examination against the truth of simulated logs.

use truerank::counts::{CountOptions, Counts, count_log};
use truerank::data::{Dataset, DatasetBuilder, Generator, Preset};
use truerank::ids::Ids;
use truerank::progress::Silent;
use truerank::propensity::{
    ClusterCount, EmUsers, Propensities, RegressionEm, RelevanceForm, UserGroups, UserPbm, adjusted_rand_index,
};
use truerank::ranker::production_ranker;
use truerank::simulate::{ShownLists, Simulation};

/// Training queries and the lists of a ranker that learned from a few of them.
fn shown(preset: Preset, queries: usize, seed: u64) -> (Dataset, [ShownLists; 1]) {
    let data = Generator::preset(preset).queries(queries, 1, 1).seed(seed).generate().unwrap().train;
    let production = production_ranker(&data, 0.01, seed, &Silent).unwrap();
    let lists = ShownLists::top(&data, &production.score(&data).unwrap(), 10).unwrap();
    (data, [lists])
}

fn squared_error(found: &Propensities, truth: &Propensities) -> f64 {
    let numbers = found.users.numbers_in(&truth.users);
    let pairs = numbers.iter().enumerate().flat_map(|(user, number)| {
        found.of_user(user).iter().zip(truth.of_user(number.unwrap() as usize)).map(|(a, b)| (a - b).powi(2))
    });
    pairs.sum::<f64>() / found.by_user.len() as f64
}

#[test]
fn regression_em_finds_the_truth_in_a_million_sessions() {
    let (data, lists) = shown(Preset::Small, 3000, 1);
    let simulator = Simulation::new().prepare(&data, &lists).unwrap();
    let (counts, truth) = (simulator.counts().unwrap(), simulator.propensities());
    let standard = RegressionEm::new().resamples(0).estimate(&counts, Some(&data), &Silent).unwrap().propensities;
    let error = standard.error_against(&truth, &counts).unwrap();
    assert!(error.population <= 0.02, "standard: {error:?}");
    for users in [EmUsers::Each, EmUsers::Shrunk] {
        let em = RegressionEm::new().users(users).resamples(0);
        let personalized = em.estimate(&counts, Some(&data), &Silent).unwrap().propensities;
        let error = personalized.error_against(&truth, &counts).unwrap();
        assert!(error.users.unwrap() <= 0.05, "personalized: {error:?}");
        assert!(personalized.details.fit.unwrap().converged);
    }
}

#[test]
fn the_mlp_finds_it_where_relevance_is_not_linear() {
    let (data, lists) = shown(Preset::Hard, 1000, 2);
    let simulator = Simulation::new().sessions(300_000).prepare(&data, &lists).unwrap();
    let (counts, truth) = (simulator.counts().unwrap(), simulator.propensities());
    let error = |form: RelevanceForm| {
        let em = RegressionEm::new().relevance(form).resamples(0);
        let found = em.estimate(&counts, Some(&data), &Silent).unwrap().propensities;
        found.error_against(&truth, &counts).unwrap().population
    };
    let (linear, mlp) = (error(RelevanceForm::Linear), error(RelevanceForm::mlp()));
    assert!(mlp < linear && mlp < 0.06, "mlp {mlp}, linear {linear}");
}

#[test]
fn the_click_model_trained_directly_comes_close() {
    let (data, lists) = shown(Preset::Tiny, 800, 3);
    let simulator = Simulation::new().sessions(200_000).prepare(&data, &lists).unwrap();
    let (counts, truth) = (simulator.counts().unwrap(), simulator.propensities());
    for per_user in [false, true] {
        let found = UserPbm::new().per_user(per_user).estimate(&counts, &data, &Silent).unwrap();
        let error = found.error_against(&truth, &counts).unwrap().population;
        assert!(error < 0.08, "{}: {error}", found.method);
        assert_eq!(found.users.len(), if per_user { 10 } else { 0 });
    }
}

#[test]
fn sparse_users_gain_from_those_who_look_alike() {
    let (data, lists) = shown(Preset::Tiny, 400, 4);
    let simulation = Simulation::new().users_per_cluster(100).cluster_ratio(1.0).sessions(100_000);
    let simulator = simulation.prepare(&data, &lists).unwrap();
    let (counts, truth) = (simulator.counts().unwrap(), simulator.propensities());
    let error = |users: EmUsers| {
        let em = RegressionEm::new().users(users).resamples(0);
        squared_error(&em.estimate(&counts, Some(&data), &Silent).unwrap().propensities, &truth)
    };
    let (raw, shrunk) = (error(EmUsers::Each), error(EmUsers::Grouped(UserGroups::new())));
    assert!(shrunk <= raw / 2.0, "shrunk {shrunk}, raw {raw}");
}

#[test]
fn clusters_are_recovered_from_clicks_alone() {
    let (data, lists) = shown(Preset::Tiny, 400, 5);
    let simulation = Simulation::new().etas(vec![2.5, 1.5, 0.8, 0.3, 0.0]).cluster_ratio(1.0);
    let simulator = simulation.users_per_cluster(40).sessions(200 * 300).prepare(&data, &lists).unwrap();
    let counts = simulator.counts().unwrap();
    let groups = UserGroups::new().clusters(ClusterCount::Chosen { most: 10 });
    let em = RegressionEm::new().users(EmUsers::Grouped(groups)).resamples(0);
    let found = em.estimate(&counts, Some(&data), &Silent).unwrap();
    let clusters = found.propensities.details.clusters.unwrap();
    let truth: Vec<u32> =
        (0..counts.users.len()).map(|user| (counts.users.name(user).parse::<u32>().unwrap() - 1) / 40).collect();
    let agreement = adjusted_rand_index(&clusters.of_user, &truth);
    assert!(agreement >= 0.8, "{agreement} with {} clusters", clusters.len(10));
    assert!(!found.held_out.is_empty());
}

/// Queries of six documents with random grades, in random order.
fn without_features(queries: usize, seed: u64) -> Dataset {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut grade = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as u8 % 5
    };
    DatasetBuilder {
        features: vec![0.0; queries * 6],
        feature_count: 1,
        grades: Some((0..queries * 6).map(|_| grade()).collect()),
        queries: Ids::numbered(queries),
        query_ends: (1..=queries).map(|query| query * 6).collect(),
        docs: None,
    }
    .build()
    .unwrap()
}

fn shuffled_counts(data: &Dataset, sessions: u64, shuffled: f64, seed: u64) -> (Counts, Propensities) {
    let lists = [ShownLists::top(data, &vec![0.0; data.len()], 6).unwrap()];
    let simulation = Simulation::new().etas(vec![1.2, 0.4]).sessions(sessions).shuffle(shuffled).seed(seed);
    let simulator = simulation.prepare(data, &lists).unwrap();
    let (counts, _) = count_log(&simulator.log(), &CountOptions::new()).unwrap();
    (counts, simulator.propensities())
}

/// Of all 95 % intervals, the share that covers the truth.
///
/// Values that are 1 by the scale or because nothing can be above have no error and do not count.
fn coverage(estimates: impl Iterator<Item = (Propensities, Propensities)>) -> f64 {
    let (mut covered, mut all) = (0, 0);
    for (found, truth) in estimates {
        let errors = &found.details.population.standard_errors;
        let users = &found.details.by_user.standard_errors;
        let population = found.population.iter().zip(&truth.population).zip(errors);
        let all_values = population.chain(found.by_user.iter().zip(&truth.by_user).zip(users));
        for ((found, truth), error) in all_values.filter(|(_, error)| **error > 1e-6) {
            all += 1;
            covered += usize::from((found - truth).abs() <= 1.96 * error);
        }
    }
    covered as f64 / f64::from(all)
}

#[test]
fn intervals_cover_the_truth_with_tables() {
    let estimates = (1..=30).map(|seed| {
        let (counts, truth) = shuffled_counts(&without_features(60, seed), 6000, 1.0, seed);
        let em = RegressionEm::new().relevance(RelevanceForm::Table).users(EmUsers::Each).resamples(50).seed(seed);
        (em.estimate(&counts, None, &Silent).unwrap().propensities, truth)
    });
    let share = coverage(estimates);
    assert!((0.90..=0.99).contains(&share), "{share}");
}

#[test]
fn intervals_cover_the_truth_with_features() {
    let estimates = (1..=25).map(|seed| {
        let (data, lists) = shown(Preset::Tiny, 300, seed);
        let simulator = Simulation::new().etas(vec![1.0]).sessions(30_000).seed(seed).prepare(&data, &lists).unwrap();
        let em = RegressionEm::new().resamples(50).seed(seed);
        let found = em.estimate(&simulator.counts().unwrap(), Some(&data), &Silent).unwrap();
        (found.propensities, simulator.propensities())
    });
    let share = coverage(estimates);
    assert!((0.90..=0.99).contains(&share), "{share}");
}

#[test]
fn one_fixed_ranking_without_features_gives_no_numbers() {
    let data = without_features(30, 1);
    let (counts, _) = shuffled_counts(&data, 3000, 0.0, 1);
    for users in [EmUsers::Together, EmUsers::Each] {
        let em = RegressionEm::new().relevance(RelevanceForm::Table).users(users);
        let message = em.estimate(&counts, None, &Silent).unwrap_err().to_string();
        assert!(message.contains("not identifiable"), "{message}");
    }
    let linear = RegressionEm::new().relevance(RelevanceForm::Linear);
    let message = linear.estimate(&counts, None, &Silent).unwrap_err().to_string();
    assert!(message.contains("learns from features"), "{message}");
}

#[test]
fn pieces_are_a_warning_or_strictly_an_error() {
    let data = without_features(30, 1);
    let (mut counts, _) = shuffled_counts(&data, 3000, 0.5, 1);
    // Positions 5 and 6 keep only documents that nobody saw elsewhere.
    let deep: Vec<(u32, u32)> = counts.cells.iter().filter(|c| c.position <= 4).map(|c| (c.query, c.doc)).collect();
    counts.cells.retain(|cell| {
        cell.position <= 4 || (cell.query % 2 == 0 && cell.position == 5 && !deep.contains(&(cell.query, cell.doc)))
    });
    counts.cells.iter_mut().filter(|cell| cell.position > 4).for_each(|cell| cell.position = 5);
    if !counts.cells.iter().any(|cell| cell.position == 5) {
        let cell = counts.cells[0];
        counts.cells.push(truerank::counts::Cell { doc: 5, position: 5, impressions: 9, clicks: 2, ..cell });
        counts.cells.retain(|c| (c.query, c.doc) != (cell.query, 5) || c.position == 5);
        counts.cells.sort();
    }
    let em = RegressionEm::new().relevance(RelevanceForm::Table).resamples(0);
    let found = em.clone().estimate(&counts, None, &Silent).unwrap();
    assert!(!found.propensities.details.notes.is_empty());
    let message = em.strict(true).estimate(&counts, None, &Silent).unwrap_err().to_string();
    assert!(message.contains("not identifiable") && message.contains("position 5"), "{message}");
}

#[test]
fn threads_do_not_matter() {
    let (data, lists) = shown(Preset::Tiny, 200, 6);
    let counts = Simulation::new()
        .users_per_cluster(8)
        .user_noise(0.1)
        .sessions(20_000)
        .prepare(&data, &lists)
        .unwrap()
        .counts()
        .unwrap();
    let forms = [RelevanceForm::Linear, RelevanceForm::mlp()];
    let kinds = [EmUsers::Together, EmUsers::Shrunk, EmUsers::Grouped(UserGroups::new())];
    for (form, users) in forms.iter().zip(&kinds).chain([(&RelevanceForm::Linear, &kinds[2])]) {
        let em = RegressionEm::new().relevance(form.clone()).users(users.clone()).resamples(4).iterations(60);
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| em.estimate(&counts, Some(&data), &Silent).unwrap())
        };
        assert_eq!(on(1), on(3));
    }
}
