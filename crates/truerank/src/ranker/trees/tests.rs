//! Trees on data whose best forest is known.

use proptest::prelude::*;
use rand::RngExt;

use super::*;
use crate::data::{DatasetBuilder, Generator, Preset};
use crate::evaluate::{Evaluator, Measure};
use crate::ids::Ids;
use crate::progress::Silent;
use crate::ranker::{LearnFrom, ModelForm};

fn training() -> Training {
    Training::new().model(ModelForm::Trees)
}

/// Lists of ten documents with these features, and the relevance that `relevance` gives them.
fn data(features: Vec<f32>, width: usize, relevance: impl Fn(&[f32]) -> f32) -> (Dataset, TrainingLists) {
    let rows = features.len() / width;
    let ends: Vec<usize> = (1..=rows / 10).map(|list| 10 * list).collect();
    let weights = features.chunks(width).map(relevance).collect();
    let lists = TrainingLists { ends: ends.clone(), rows: (0..rows as u32).collect(), weights };
    let builder = DatasetBuilder {
        feature_count: width,
        grades: None,
        queries: Ids::numbered(ends.len()),
        query_ends: ends,
        docs: None,
        ..Default::default()
    };
    (builder.build_on(features.into()).unwrap(), lists)
}

fn uniform(count: usize, seed: u64) -> Vec<f32> {
    let mut random = stream(seed, "test", 0);
    (0..count).map(|_| random.random::<f32>()).collect()
}

fn forest(ranker: &Ranker) -> &Forest {
    let Model::Trees(forest) = &ranker.model else { panic!("{:?}", ranker.model) };
    forest
}

#[test]
fn one_split_is_found_where_it_is() {
    let (data, lists) = data(uniform(2000, 1), 2, |row| if row[1] < 0.3 { 0.2 } else { 0.8 });
    let training = training().loss(TreeLoss::Squared).steps(1).leaves(2).learning_rate(1.0);
    let ranker = training.fit_targets(&data, &lists, None, &Silent).unwrap();
    let [tree] = forest(&ranker).trees() else { panic!() };
    assert_eq!(tree.splits[0].feature, 1);
    assert!((tree.splits[0].threshold - 0.3).abs() < 0.01, "{tree:?}");
    let scores = ranker.score(&data).unwrap();
    let near = |(row, score): (usize, f32)| (score - lists.weights[row]).abs() < 0.02;
    assert!(scores.into_iter().enumerate().filter(|&found| !near(found)).count() < 10);
}

/// The best split of all rows by squared error, tried out one by one: feature, gain.
fn slow_best(data: &Dataset, weights: &[f32], min_rows: usize) -> Option<(usize, f64)> {
    let error = |rows: &[usize]| {
        let mean = rows.iter().map(|&row| f64::from(weights[row])).sum::<f64>() / rows.len() as f64;
        rows.iter().map(|&row| (f64::from(weights[row]) - mean).powi(2)).sum::<f64>() / 2.0
    };
    let all: Vec<usize> = (0..data.len()).collect();
    let mut best: Option<(usize, f64)> = None;
    for feature in 0..data.feature_count() {
        for cut in 0..data.len() {
            let value = data.row(cut)[feature];
            let (left, right): (Vec<usize>, Vec<usize>) = all.iter().partition(|&&row| data.row(row)[feature] < value);
            if left.len() >= min_rows && right.len() >= min_rows {
                let gain = error(&all) - error(&left) - error(&right);
                if best.is_none_or(|best| gain > best.1 + 1e-9) {
                    best = Some((feature, gain));
                }
            }
        }
    }
    best
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_best_split_is_that_of_trying_all(
        values in prop::collection::vec(0_u8..12, 90), relevance in prop::collection::vec(0.0f32..1.0, 30), min_leaf in 1_usize..8,
    ) {
        let features: Vec<f32> = values.iter().map(|&value| f32::from(value)).collect();
        let (data, mut lists) = data(features, 3, |_| 0.0);
        lists.weights = relevance;
        let training = training().loss(TreeLoss::Squared).steps(1).leaves(2).min_leaf(min_leaf);
        let ranker = training.fit_targets(&data, &lists, None, &Silent).unwrap();
        let found = forest(&ranker).trees()[0].splits.first().map(|split| f64::from(split.gain));
        let expected = slow_best(&data, &lists.weights, min_leaf).map(|best| best.1).filter(|&gain| gain > 1e-9);
        match (found, expected) {
            (Some(found), Some(expected)) => prop_assert!((found - expected).abs() < 1e-4 * (1.0 + expected)),
            (found, expected) => prop_assert!(found.unwrap_or(0.0) < 1e-6 && expected.is_none(), "{found:?} {expected:?}"),
        }
    }

    #[test]
    fn leaves_hold_the_rows_that_raw_features_lead_there(seed in 0_u64..1000, missing in 0_usize..3) {
        let mut features = uniform(1500, seed);
        features.iter_mut().step_by(7).take(100 * missing).for_each(|value| *value = f32::NAN);
        let (data, lists) = data(features, 3, |row| if row[0].is_nan() { 0.9 } else { row[0] * row[1].max(0.1) });
        let ranker = training().steps(3).leaves(8).min_leaf(5).fit_targets(&data, &lists, None, &Silent).unwrap();
        for tree in forest(&ranker).trees() {
            let mut rows = vec![0; tree.leaves.len()];
            (0..data.len()).for_each(|row| rows[tree.leaf(data.row(row))] += 1);
            prop_assert_eq!(rows, tree.leaves.iter().map(|leaf| leaf.rows).collect::<Vec<_>>());
            prop_assert!(tree.leaves.iter().all(|leaf| leaf.rows >= 5));
        }
    }
}

#[test]
fn missing_values_go_where_they_help() {
    let mut features = uniform(2000, 3);
    features.iter_mut().step_by(4).for_each(|value| *value = f32::NAN);
    for relevant in [0.0, 1.0] {
        let (data, lists) =
            data(features.clone(), 2, |row| if row[0].is_nan() || row[0] < 0.5 { relevant } else { 1.0 - relevant });
        let training = training().loss(TreeLoss::Squared).steps(1).leaves(2).learning_rate(1.0);
        let ranker = training.fit_targets(&data, &lists, None, &Silent).unwrap();
        assert!(forest(&ranker).trees()[0].splits[0].missing_left);
    }
    let (data, lists) = data(features, 2, |row| if row[0].is_nan() { 1.0 } else { 0.0 });
    let training = training().loss(TreeLoss::Squared).steps(1).leaves(2).learning_rate(1.0);
    let ranker = training.fit_targets(&data, &lists, None, &Silent).unwrap();
    assert_eq!(ranker.score(&data).unwrap(), lists.weights, "missing values are told from all others");
}

#[test]
fn every_loss_learns_the_order() {
    let data = Generator::preset(Preset::Tiny).generate().unwrap();
    let ndcg = |ranker: &Ranker| {
        let scores = ranker.score(&data.test).unwrap();
        Evaluator::new(vec![Measure::Ndcg(Some(5))])
            .evaluate(&data.test, &scores)
            .unwrap()
            .mean(Measure::Ndcg(Some(5)))
            .unwrap()
    };
    let linear =
        Training::new().model(ModelForm::LinearRaw).fit(&data.train, LearnFrom::Grades, None, &Silent).unwrap().0;
    for loss in TreeLoss::ALL {
        let training = training().loss(loss).steps(60).leaves(8);
        let (ranker, _) = training.fit(&data.train, LearnFrom::Grades, None, &Silent).unwrap();
        assert_eq!((ranker.record.loss.as_str(), ranker.record.steps), (loss.to_string().as_str(), 60));
        let first = ranker.record.checks[0].loss;
        assert!(ranker.record.checks.iter().all(|check| check.loss <= first), "{loss}: {:?}", ranker.record.checks);
        assert!(ndcg(&ranker) > ndcg(&linear) - 0.05, "{loss}: {} {}", ndcg(&ranker), ndcg(&linear));
    }
}

#[test]
fn monotone_features_never_turn_scores_around() {
    let (data, lists) = data(uniform(6000, 5), 3, |row| (8.0 * row[0]).sin().abs() * (0.5 + row[1]) / 1.5);
    for (text, sign) in [("1:up", 1.0), ("1:down,3:up", -1.0)] {
        let training = training().loss(TreeLoss::Squared).steps(40).monotone(text.parse().unwrap());
        let ranker = training.fit_targets(&data, &lists, None, &Silent).unwrap();
        assert!(forest(&ranker).trees().iter().flat_map(|tree| &tree.splits).any(|split| split.feature == 0));
        for other in 0..20 {
            let column: Vec<f32> = (0..100).flat_map(|x| [x as f32 / 100.0, other as f32 / 20.0, 0.5]).collect();
            let scores = ranker.score_rows(&column, 3).unwrap();
            assert!(scores.windows(2).all(|pair| sign * (pair[1] - pair[0]) >= -1e-5), "{text}: {scores:?}");
        }
    }
}

#[test]
fn threads_do_not_change_a_forest() {
    let mut features = uniform(800_000, 7);
    features.iter_mut().step_by(9).for_each(|value| *value = f32::NAN);
    let (data, lists) = data(features, 20, |row| row[3].max(0.1) * row[11].max(0.1));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trees.safetensors");
    for (loss, share) in TreeLoss::ALL.into_iter().flat_map(|loss| [(loss, 1.0), (loss, 0.6)]) {
        let training = training().loss(loss).steps(3).check_every(1).feature_share(share).query_share(share);
        let bytes = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let ranker = pool.install(|| {
                let validation = Validation::new(&data, |scores| f64::from(scores[0]));
                training.fit_targets(&data, &lists, Some(&validation), &Silent).unwrap()
            });
            ranker.save(&path).unwrap();
            std::fs::read(&path).unwrap()
        };
        let one = bytes(1);
        assert!([2, 5].into_iter().all(|threads| bytes(threads) == one), "{loss} {share}");
    }
}

#[test]
fn the_forest_that_validates_best_is_kept() {
    let (train, lists) = data(uniform(3000, 9), 3, |row| row[0]);
    // Falls as soon as scores tell documents apart.
    let validation = Validation::new(&train, |scores| -f64::from((scores[0] - scores[1]).abs()));
    let training = training().steps(40).check_every(5).patience(2);
    let ranker = training.fit_targets(&train, &lists, Some(&validation), &Silent).unwrap();
    assert_eq!((ranker.record.best_step, ranker.record.steps), (5, 15));
    assert_eq!(forest(&ranker).trees().len(), 5);
    let scores = ranker.score(&train).unwrap();
    let value = -f64::from((scores[0] - scores[1]).abs());
    assert!((value - ranker.record.validation.unwrap()).abs() < 1e-6);
}

#[test]
fn lists_that_are_skipped_leave_the_others_in_place() {
    let (data, mut lists) = data(uniform(600, 11), 2, |row| row[0]);
    lists.weights[10..20].fill(0.0);
    let ranker = training().steps(2).min_leaf(2).fit_targets(&data, &lists, None, &Silent).unwrap();
    assert_eq!((ranker.record.lists, ranker.record.skipped_lists), (29, 1));
    let squared = training().loss(TreeLoss::Squared).steps(2).min_leaf(2);
    let ranker = squared.fit_targets(&data, &lists, None, &Silent).unwrap();
    assert_eq!((ranker.record.lists, ranker.record.skipped_lists), (30, 0));
}
