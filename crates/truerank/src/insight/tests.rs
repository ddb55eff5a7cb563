//! Rankers whose features and their influence are known.

use super::*;
use crate::data::{DatasetBuilder, Generator, Preset};
use crate::ids::Ids;
use crate::progress::Silent;
use crate::ranker::{Child, Forest, Leaf, LearnFrom, Model, ModelForm, Split, Training, TrainingRecord, Tree};

/// Lists of ten documents; the third feature is shared by the documents of a query.
fn data() -> Dataset {
    let mut random = crate::random::stream(1, "insight", 0);
    let mut draw = || rand::RngExt::random::<f32>(&mut random);
    let features = (0..600).flat_map(|row| [draw(), draw() * 10.0, (row / 10) as f32, draw()]).collect();
    let query_ends = (1..=60).map(|list| 10 * list).collect();
    DatasetBuilder { features, feature_count: 4, queries: Ids::numbered(60), query_ends, ..Default::default() }
        .build()
        .unwrap()
}

fn weights(weights: [f32; 4]) -> Ranker {
    Ranker { model: Model::Weights { weights: weights.to_vec(), bias: 0.5 }, record: TrainingRecord::default() }
}

/// `x₄ < .5 ? 0 : (x₁ < .5 ? 1 : 3)`, whose splits gained 3 and 1.
fn trees() -> Ranker {
    let split = |feature, gain, left, right| Split { feature, threshold: 0.5, missing_left: false, gain, left, right };
    let splits = vec![split(3, 3.0, Child::Leaf(0), Child::Split(1)), split(0, 1.0, Child::Leaf(1), Child::Leaf(2))];
    let leaves = [0.0, 1.0, 3.0].map(|value| Leaf { value, rows: 10 }).to_vec();
    let forest = Forest::new(4, vec![Tree { splits, leaves }]).unwrap();
    Ranker { model: Model::Trees(forest), record: TrainingRecord::default() }
}

fn order_changes(ranker: &Ranker) -> Vec<f64> {
    let found = Explain::new().importance(ranker, &data(), &Silent).unwrap();
    assert!(found.iter().map(|found| found.feature).eq(1..=4));
    found.iter().map(|found| found.order_change).collect()
}

#[test]
fn a_linear_ranker_depends_on_weight_times_deviation() {
    // The second feature is ten times as wide as the others.
    let found = order_changes(&weights([1.0, 0.3, 100.0, 0.0]));
    assert!(found[1] > found[0] && found[0] > 0.0, "{found:?}");
    assert_eq!(found[2..], [0.0, 0.0], "the same for all documents of a query; without weight");
    let found = order_changes(&weights([1.0, 0.03, 0.0, 0.0]));
    assert!(found[0] > found[1] && found[1] > 0.0, "{found:?}");
}

#[test]
fn without_its_only_feature_a_ranker_orders_by_chance() {
    let found = Explain::new().importance(&weights([0.0, -2.0, 0.0, 0.0]), &data(), &Silent).unwrap();
    let only = &found[1];
    assert!((only.order_change - 0.5).abs() < 2.0 * only.half_width.unwrap(), "{only:?}");
    assert_eq!((only.weight, only.gain, only.splits, only.ndcg_loss), (Some(-2.0), None, None, None));
}

#[test]
fn trees_tell_their_gain_and_splits() {
    let found = Explain::new().importance(&trees(), &data(), &Silent).unwrap();
    let inside: Vec<_> = found.iter().map(|found| (found.gain.unwrap(), found.splits.unwrap())).collect();
    assert_eq!(inside, [(1.0 / 4.0, 1), (0.0, 0), (0.0, 0), (3.0 / 4.0, 1)]);
    let found: Vec<f64> = found.iter().map(|found| found.order_change).collect();
    assert!(found[3] > found[0] && found[0] > 0.0 && found[1..3] == [0.0, 0.0], "{found:?}");
}

#[test]
fn grades_tell_what_a_feature_is_worth() {
    let data = data();
    // The first feature is what is relevant, the second one only disturbs.
    let grades = data.features().chunks(4).map(|row| u8::from(row[0] > 0.7)).collect();
    let graded = DatasetBuilder {
        features: data.features().to_vec(),
        feature_count: 4,
        grades: Some(grades),
        queries: Ids::numbered(60),
        query_ends: (1..=60).map(|list| 10 * list).collect(),
        docs: None,
    };
    let found = Explain::new().importance(&weights([1.0, 0.05, 0.0, 0.0]), &graded.build().unwrap(), &Silent).unwrap();
    let loss: Vec<f64> = found.iter().map(|found| found.ndcg_loss.unwrap()).collect();
    assert!(loss[0] > 0.1 && loss[1].abs() < 0.1 && loss[2..] == [0.0, 0.0], "{loss:?}");
}

#[test]
fn the_partial_dependence_of_a_linear_ranker_is_its_line() {
    let (data, ranker) = (data(), weights([2.0, -3.0, 0.0, 0.0]));
    let found = Explain::new().partial_dependence(&ranker, &data, 2).unwrap();
    assert_eq!((found.feature, found.values.len(), found.scores.len()), (2, 20, 20));
    assert!(found.values.is_sorted() && found.values[0] < 0.1 && found.values[19] > 9.9);
    for (&value, score) in found.values.iter().zip(&found.scores) {
        let rise = -3.0 * f64::from(value - found.values[0]);
        assert!((score - found.scores[0] - rise).abs() < 1e-4, "{found:?}");
    }
}

#[test]
fn the_partial_dependence_of_a_tree_is_the_mean_of_its_leaves() {
    let found = Explain::new().partial_dependence(&trees(), &data(), 4).unwrap();
    let points: Vec<(f32, f64)> = found.values.into_iter().zip(found.scores).collect();
    let (low, high): (Vec<_>, Vec<_>) = points.into_iter().partition(|&(value, _)| value < 0.5);
    assert!(low.iter().all(|&(_, score)| score == 0.0) && !low.is_empty());
    // Half of the documents have x₁ < .5.
    assert!(high.iter().all(|&(_, score)| score == high[0].1 && (score - 2.0).abs() < 0.2), "{high:?}");
}

#[test]
fn values_are_quantiles_each_once_and_features_count_from_1() {
    let found = Explain::new().partial_dependence(&weights([0.0, 0.0, 1.0, 0.0]), &data(), 3).unwrap();
    assert!(found.values.len() <= 20 && found.values.is_sorted_by(|a, b| a < b), "{found:?}");
    let message = |feature| Explain::new().partial_dependence(&trees(), &data(), feature).unwrap_err().to_string();
    assert_eq!(message(0), "`feature` is 0, but should be between 1 and 4");
    assert_eq!(message(5), "`feature` is 5, but should be between 1 and 4");
}

#[test]
fn data_of_another_width_and_no_data_are_refused() {
    let narrow = Ranker { model: Model::Weights { weights: vec![1.0], bias: 0.0 }, record: TrainingRecord::default() };
    let message = |data: &Dataset| Explain::new().explain(&narrow, data, &Silent).unwrap_err().to_string();
    assert!(message(&data()).starts_with("the ranker was trained on 1 features, but the data set has 4"));
    assert!(message(&data().select(&[])).ends_with("but there are none"));
}

#[test]
fn queries_of_one_document_order_nothing() {
    let ends = (1..=600).collect();
    let single =
        DatasetBuilder { feature_count: 4, queries: Ids::numbered(600), query_ends: ends, ..Default::default() };
    let single = single.build_on(data().features().to_vec().into()).unwrap();
    let ranker = weights([1.0; 4]);
    let found = Explain::new().explain(&ranker, &single, &Silent).unwrap();
    assert!(found.importance.iter().all(|found| found.order_change == 0.0) && found.dependence.is_empty());
    assert!(found.report(&ranker).html().unwrap().contains("No feature changes the order of documents."));
}

fn trained(form: &str) -> (Dataset, Ranker) {
    let data = Generator::preset(Preset::Tiny).generate().unwrap();
    let training = Training::new().model(form.parse::<ModelForm>().unwrap()).steps(10);
    let (ranker, _) = training.fit(&data.train, LearnFrom::Grades, None, &Silent).unwrap();
    (data.test, ranker)
}

#[test]
fn a_page_of_every_form_renders_and_is_the_same_on_any_number_of_threads() {
    for form in ["linear", "mlp:8", "linear-raw", "trees"] {
        let (data, ranker) = trained(form);
        let page = |threads| {
            let explain = || Explain::new().top(2).explain(&ranker, &data, &Silent).unwrap();
            let explanation = crate::threads::pool(threads).unwrap().install(explain);
            (explanation.to_json(&ranker).to_string(), explanation.report(&ranker).html().unwrap(), explanation)
        };
        let one = page(1);
        assert!(page(3) == one, "{form}");
        assert_eq!((one.2.importance.len(), one.2.dependence.len()), (data.feature_count(), 2), "{form}");
        for part in
            ["Which features matter?", "How do scores depend on them?", "How did training go?", "loss of nDCG@10"]
        {
            assert!(one.1.contains(part), "{form}: {part}");
        }
        assert_eq!(one.1.contains("share of gain"), form == "trees");
    }
}
