//! How much each feature matters: a ranker and documents enter, and how much their order changes without a feature leaves.

use rand::seq::SliceRandom;
use serde::Serialize;

use crate::Result;
use crate::data::Dataset;
use crate::evaluate::{Evaluator, Measure, mean_interval};
use crate::progress::Progress;
use crate::random::stream;
use crate::ranker::{Importance, Model, Ranker};

/// What grades judge an order by.
pub(super) const MEASURE: Measure = Measure::Ndcg(Some(10));

/// How much a feature matters to a ranker.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FeatureImportance {
    /// The feature, counted from 1.
    pub feature: usize,
    /// The share of pairs of documents whose order changes when the feature's values are exchanged at random between the
    /// documents of a query; the mean over queries. A tie is half a change.
    ///
    /// 0 for a feature without influence. About .5 if the ranker looks at nothing else: then the order is one by chance.
    pub order_change: f64,
    /// Half the width of its 95 % interval over queries; none for fewer than two.
    pub half_width: Option<f64>,
    /// How much lower mean nDCG@10 is then, where documents have grades. Below 0 where the order is better without the feature.
    pub ndcg_loss: Option<f64>,
    /// Of trees: the share of the gain of all splits that is due to splits by this feature.
    pub gain: Option<f64>,
    /// Of trees: how many splits are by this feature.
    pub splits: Option<usize>,
    /// Of linear rankers: the weight of the feature; of a linear network on ranks or normalised features, of those.
    pub weight: Option<f64>,
}

/// How much each feature matters, in order.
pub(super) fn importance(
    ranker: &Ranker,
    sample: &Dataset,
    seed: u64,
    progress: &dyn Progress,
) -> Result<Vec<FeatureImportance>> {
    let count = sample.feature_count();
    let before = ranker.score(sample)?;
    let ndcg = ndcg(sample, &before);
    let inside = Inside::of(ranker);
    let mut features = sample.features().to_vec();
    progress.begin("importance of features", count as u64);
    let mut all = Vec::with_capacity(count);
    for feature in 0..count {
        let after = match exchange(&mut features, sample, feature, seed) {
            true => ranker.score_rows(&features, count)?,
            false => before.clone(),
        };
        restore(&mut features, sample, feature);
        let (order_change, half_width) = mean(&order_changes(sample, &before, &after));
        all.push(FeatureImportance {
            feature: feature + 1,
            order_change,
            half_width,
            ndcg_loss: ndcg.and_then(|ndcg_before| Some(ndcg_before - self::ndcg(sample, &after)?)),
            gain: inside.gain(feature),
            splits: inside.trees.as_ref().map(|trees| trees[feature].splits),
            weight: inside.weights.as_ref().map(|weights| f64::from(weights[feature])),
        });
        progress.advance(1)?;
    }
    Ok(all)
}

/// What a ranker itself says of its features.
struct Inside {
    trees: Option<Vec<Importance>>,
    total_gain: f64,
    weights: Option<Vec<f32>>,
}

impl Inside {
    fn of(ranker: &Ranker) -> Self {
        let trees = match &ranker.model {
            Model::Trees(forest) => Some(forest.importance()),
            Model::Network(_) | Model::Weights { .. } => None,
        };
        let total_gain = trees.iter().flatten().map(|importance| importance.gain).sum();
        Inside { trees, total_gain, weights: ranker.coefficients().map(|(weights, _)| weights) }
    }

    fn gain(&self, feature: usize) -> Option<f64> {
        let gain = self.trees.as_ref()?[feature].gain;
        Some(if self.total_gain > 0.0 { gain / self.total_gain } else { 0.0 })
    }
}

/// Exchanges the values of a feature between the documents of each query; whether that changed anything.
fn exchange(features: &mut [f32], sample: &Dataset, feature: usize, seed: u64) -> bool {
    let (count, mut changed) = (sample.feature_count(), false);
    let mut random = stream(seed, "importance", feature as u64);
    for list in sample.lists() {
        let mut values: Vec<f32> = list.clone().map(|row| sample.row(row)[feature]).collect();
        values.shuffle(&mut random);
        for (row, value) in list.zip(values) {
            let place = &mut features[row * count + feature];
            changed |= place.to_bits() != value.to_bits();
            *place = value;
        }
    }
    changed
}

fn restore(features: &mut [f32], sample: &Dataset, feature: usize) {
    let count = sample.feature_count();
    (0..sample.len()).for_each(|row| features[row * count + feature] = sample.row(row)[feature]);
}

/// The share of pairs that change their order, of each list that has an order.
fn order_changes(sample: &Dataset, before: &[f32], after: &[f32]) -> Vec<f64> {
    sample.lists().filter_map(|list| order_change(&before[list.clone()], &after[list])).collect()
}

/// Of the pairs whose scores differ, the share that is turned around; a tie is half of that.
fn order_change(before: &[f32], after: &[f32]) -> Option<f64> {
    let (mut pairs, mut changes) = (0_u32, 0.0);
    for b in 0..before.len() {
        for a in 0..b {
            let Some(was) = before[a].partial_cmp(&before[b]).filter(|order| order.is_ne()) else { continue };
            pairs += 1;
            changes += match after[a].partial_cmp(&after[b]) {
                Some(is) if is == was => 0.0,
                Some(is) if is == was.reverse() => 1.0,
                _ => 0.5,
            };
        }
    }
    (pairs > 0).then(|| changes / f64::from(pairs))
}

/// The mean over queries and half the width of its interval.
fn mean(values: &[f64]) -> (f64, Option<f64>) {
    match mean_interval(values) {
        Some(interval) => (interval.mean, Some(interval.half_width)),
        None => (values.first().copied().unwrap_or(0.0), None),
    }
}

/// Mean nDCG@10 where any document is relevant and scores can be evaluated.
fn ndcg(sample: &Dataset, scores: &[f32]) -> Option<f64> {
    sample.grades().filter(|grades| grades.iter().any(|&grade| grade > 0))?;
    Evaluator::new(vec![MEASURE]).evaluate(sample, scores).ok()?.mean(MEASURE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_that_turn_around_are_counted_and_ties_are_half() {
        assert_eq!(order_change(&[3.0, 2.0, 1.0], &[3.0, 2.0, 1.0]), Some(0.0));
        assert_eq!(order_change(&[3.0, 2.0, 1.0], &[1.0, 2.0, 3.0]), Some(1.0));
        assert_eq!(order_change(&[3.0, 2.0, 1.0], &[2.0, 3.0, 1.0]), Some(1.0 / 3.0));
        assert_eq!(order_change(&[3.0, 2.0, 1.0], &[0.0; 3]), Some(0.5));
        assert_eq!(
            order_change(&[1.0, 1.0, 0.0], &[0.0, 5.0, 1.0]),
            Some(1.0 / 2.0),
            "two of three pairs have an order"
        );
        assert_eq!(order_change(&[1.0, 1.0], &[1.0, 2.0]), None);
        assert_eq!(order_change(&[1.0], &[1.0]), None);
    }

    #[test]
    fn one_query_has_no_interval() {
        assert_eq!(mean(&[]), (0.0, None));
        assert_eq!(mean(&[0.25]), (0.25, None));
        assert_eq!(mean(&[0.25, 0.25]), (0.25, Some(0.0)));
    }
}
