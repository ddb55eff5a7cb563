use rand::RngExt;

use super::*;
use crate::counts::{Cell, Counts};
use crate::data::{DatasetBuilder, Generator, Preset};
use crate::evaluate::{Evaluator, Measure};
use crate::ids::Ids;
use crate::progress::Silent;
use crate::random::stream;
use crate::ranker::{Training, TrainingLists};
use crate::relevance::{Estimator, estimate};
use crate::simulate::{ShownLists, Simulation};

const FEATURES: usize = 6;

/// Queries with 10 documents whose log relevance is linear in the features, or in features that are normalised over the document as in
/// the paper: what a linear ranker with this scaling can learn exactly.
fn planted(queries: usize, seed: u64, scaling: FeatureScaling) -> (Dataset, Vec<f64>) {
    let mut random = stream(seed, "test", 0);
    let features: Vec<f32> = (0..queries * 10 * FEATURES).map(|_| random.random_range(-1.0..1.0)).collect();
    let data = DatasetBuilder {
        features,
        feature_count: FEATURES,
        grades: None,
        queries: Ids::numbered(queries),
        query_ends: (1..=queries).map(|query| query * 10).collect(),
        docs: None,
    }
    .build()
    .unwrap();
    let difference = |row: usize| {
        let x = data.row(row);
        let mean = x.iter().sum::<f32>() / FEATURES as f32;
        let variance = x.iter().map(|v| (v - mean).powi(2)).sum::<f32>() / FEATURES as f32;
        let unit = if scaling == FeatureScaling::Paper { (variance + 1e-5).sqrt() } else { 0.6 };
        f64::from((x[0] - x[1]) / unit)
    };
    let gamma = (0..data.len()).map(|row| (0.8 * difference(row) - 3.2).exp().min(1.0)).collect();
    (data, gamma)
}

/// Clicks that are as many as expected, on lists ordered by `order` (best first) for each of `users`.
fn expected_clicks(data: &Dataset, gamma: &[f64], order: &[f32], users: &[&dyn Fn(usize) -> f64]) -> Counts {
    let shown = ShownLists::top(data, order, 10).unwrap();
    let mut counts = Counts {
        queries: data.queries().clone(),
        docs: Ids::numbered(10),
        users: Ids::numbered(users.len()),
        ..Counts::default()
    };
    for query in 0..data.query_count() {
        for (user, theta) in users.iter().enumerate() {
            let impressions = 1_000_000;
            for (k, &row) in shown.of(query).iter().enumerate() {
                let clicks = (impressions as f64 * theta(k + 1) * gamma[row as usize]).round() as u64;
                let (query, doc) = (query as u32, row - query as u32 * 10);
                counts.cells.push(Cell { query, doc, position: k as u32 + 1, user: user as u32, impressions, clicks });
            }
            let sessions = 1_000_000;
            counts.sessions.push(crate::counts::SessionCount { query: query as u32, user: user as u32, sessions });
        }
    }
    counts.cells.sort_unstable();
    counts
}

/// The largest |found/expected − 1|.
fn worst(found: &[f64], expected: impl Fn(usize) -> f64) -> f64 {
    found.iter().enumerate().map(|(index, theta)| (theta / expected(index + 1) - 1.0).abs()).fold(0.0, f64::max)
}

#[test]
fn propensities_and_order_are_recovered_where_features_explain_relevance() {
    let (data, gamma) = planted(300, 1, FeatureScaling::Paper);
    let mut random = stream(2, "test", 0);
    // A fixed ranking that is better than chance: the hard case, in which relevance falls with the position.
    let order: Vec<f32> = gamma.iter().map(|&g| g as f32 * random.random_range(0.5..2.0)).collect();
    let theta = |k: usize| (k as f64).powf(-1.0);
    let counts = expected_clicks(&data, &gamma, &order, &[&theta]);
    let (ranker, found) = Dla::new().iterations(1500).seed(3).fit(&data, &counts, None, &Silent).unwrap();
    let error = worst(&found.population, theta);
    assert!(error < 0.02, "{error}: {:?}", found.population);
    assert_eq!((found.method.as_str(), found.population[0]), ("dla", 1.0));
    assert!(found.details.notes.is_empty(), "{:?}", found.details.notes);
    assert_eq!(found.details.population.impressions, [300_000_000; 10]);
    let scores = ranker.score(&data).unwrap();
    let wrong = (0..data.len())
        .filter(|row| row % 10 > 0)
        .filter(|&row| (f64::from(scores[row] - scores[row - 1])) * (gamma[row] - gamma[row - 1]) < 0.0);
    assert!(wrong.count() < data.len() / 25);
}

#[test]
fn each_user_gets_their_own() {
    let (data, gamma) = planted(200, 4, FeatureScaling::Standard);
    let mut random = stream(5, "test", 0);
    let order: Vec<f32> = gamma.iter().map(|&g| g as f32 * random.random_range(0.5..2.0)).collect();
    let deep = |k: usize| (k as f64).powf(-0.2);
    let shallow = |k: usize| (k as f64).powf(-1.5);
    let counts = expected_clicks(&data, &gamma, &order, &[&deep, &shallow]);
    let dla = Dla::new().scaling(FeatureScaling::Standard).per_user(true).iterations(1500);
    let (_, found) = dla.fit(&data, &counts, None, &Silent).unwrap();
    let errors = [worst(found.of_user(0), deep), worst(found.of_user(1), shallow)];
    assert!(errors.iter().all(|&error| error < 0.02), "{errors:?}: {:?}", found.by_user);
    // Both have as many sessions.
    let mean = |k: usize| (found.of_user(0)[k - 1] + found.of_user(1)[k - 1]) / 2.0;
    assert!(worst(&found.population, mean) < 1e-12);
    assert_eq!(found.details.by_user.clicks.len(), 20);
}

#[test]
fn the_ranker_beats_production_and_naive_on_a_biased_log() {
    let splits = Generator::preset(Preset::Tiny).queries(600, 50, 400).seed(1).generate().unwrap();
    let train = &splits.train;
    // Production looks at one feature only.
    let production = |data: &Dataset| (0..data.len()).map(|row| data.row(row)[3]).collect::<Vec<f32>>();
    let lists = [ShownLists::top(train, &production(train), 10).unwrap()];
    let settings = Simulation::new().sessions(1_000_000).etas(vec![1.5]).query_sparsity(0.0).seed(1);
    let simulator = settings.prepare(train, &lists).unwrap();
    let counts = simulator.counts().unwrap();
    let (ranker, found) = Dla::new().seed(1).fit(train, &counts, None, &Silent).unwrap();
    let naive = estimate(&counts, &found, Estimator::Naive).unwrap();
    let (naive, _) = TrainingLists::from_relevance(train, &naive).unwrap();
    let naive = Training::linear().scaling(FeatureScaling::Paper).fit_targets(train, &naive, None, &Silent).unwrap();
    let measure = Measure::Ndcg(Some(5));
    let value =
        |scores: &[f32]| Evaluator::new(vec![measure]).evaluate(&splits.test, scores).unwrap().mean(measure).unwrap();
    let dla = value(&ranker.score(&splits.test).unwrap());
    let naive = value(&naive.score(&splits.test).unwrap());
    let production = value(&production(&splits.test));
    let truth = simulator.propensities();
    let error = worst(&found.population, |k| truth.population[k - 1]);
    assert!(dla > naive + 0.005 && dla > production + 0.02, "dla {dla}, naive {naive}, production {production}");
    assert!(error < 0.15, "{error}: {:?}", found.population);
}

#[test]
fn threads_do_not_change_a_byte_and_the_best_check_is_kept() {
    let (data, gamma) = planted(60, 1, FeatureScaling::Paper);
    let order: Vec<f32> = (0..data.len()).map(|row| (row * 7 % 10) as f32).collect();
    let counts = expected_clicks(&data, &gamma, &order, &[&|k| 1.0 / k as f64, &|_| 0.5]);
    let folder = tempfile::tempdir().unwrap();
    for per_user in [false, true] {
        let dla =
            Dla::new().model(Architecture::Mlp { hidden: vec![9, 5] }).per_user(per_user).iterations(25).batch(33);
        let bytes = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let (ranker, found) = pool.install(|| dla.fit(&data, &counts, None, &Silent)).unwrap();
            let paths = ["r", "p"].map(|name| folder.path().join(name));
            ranker.save(&paths[0]).unwrap();
            found.write(&paths[1]).unwrap();
            paths.map(|path| std::fs::read(path).unwrap())
        };
        assert_eq!(bytes(1), bytes(2));
    }
    let calls = std::cell::Cell::new(0);
    let second = |_: &[f32]| {
        calls.set(calls.get() + 1);
        -f64::from(i32::abs(calls.get() - 2))
    };
    let validation = Validation::new(&data, second);
    let kept = Dla::new().iterations(40).fit(&data, &counts, Some(&validation), &Silent).unwrap();
    let short = Dla::new().iterations(20).fit(&data, &counts, None, &Silent).unwrap();
    assert_eq!((kept.0.model, kept.0.record.best_step), (short.0.model, 20));
    assert_eq!((kept.1.population, kept.1.by_user), (short.1.population, short.1.by_user));
}

#[test]
fn what_the_data_set_lacks_is_noted() {
    let (data, gamma) = planted(5, 1, FeatureScaling::Paper);
    let order: Vec<f32> = (0..data.len()).map(|row| -(row as f32)).collect();
    let mut counts = expected_clicks(&data, &gamma, &order, &[&|_| 0.5]);
    // Position 3 always holds document 3, which the data set does not know, and query 5 is another one.
    counts.docs = Ids::Integers(vec![1, 2, 77, 4, 5, 6, 7, 8, 9, 10]);
    counts.queries = Ids::Integers(vec![1, 2, 3, 4, 99]);
    let (ranker, found) = Dla::new().iterations(20).fit(&data, &counts, None, &Silent).unwrap();
    assert_eq!(ranker.record.lists, 4);
    assert_eq!(found.population[2], 0.0);
    assert!(found.population.iter().enumerate().all(|(index, &theta)| index == 2 || theta > 0.0));
    assert_eq!(
        found.details.notes[..2],
        [
            "1 queries of the log and 4 documents of other queries are not in the data set and were left out",
            "no document of the data set was seen at position 3: set to 0"
        ]
    );
    assert!(
        found.details.notes[2].ends_with("in the last tenth of the steps: train longer"),
        "{:?}",
        found.details.notes
    );
}

#[test]
fn what_cannot_be_learned_from_is_refused() {
    let (data, gamma) = planted(3, 1, FeatureScaling::Paper);
    let order = vec![0.0; data.len()];
    let counts = expected_clicks(&data, &gamma, &order, &[&|_| 0.5]);
    let refusal = |dla: Dla, counts: &Counts| dla.fit(&data, counts, None, &Silent).unwrap_err().to_string();
    assert_eq!(refusal(Dla::new(), &Counts::default()), "dual learning needs impressions, but the counts have none");
    let other = Counts { queries: Ids::Integers(vec![7, 8, 9]), ..counts.clone() };
    assert_eq!(
        refusal(Dla::new(), &other),
        "no document of the log is in the data set; the log's first query is '7', the data set's is '1'; are they from the \
         same data?"
    );
    let mut silent = counts.clone();
    silent.cells.iter_mut().for_each(|cell| cell.clicks = 0);
    assert_eq!(
        refusal(Dla::new(), &silent),
        "dual learning needs clicks on documents of the data set, but none of 3 queries has one"
    );
    assert_eq!(
        refusal(Dla::new().clip(Some(0.5)), &counts),
        "the clip of click weights should be at least 1, but is 0.5"
    );
    assert_eq!(
        refusal(Dla::new().learning_rate(0.0), &counts),
        "the learning rate should be positive and finite, but is 0"
    );
    assert!(Dla::new().clip(Some(2.0)).iterations(3).fit(&data, &counts, None, &Silent).is_ok());
}
