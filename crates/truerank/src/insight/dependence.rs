//! How scores depend on a feature: a ranker and documents enter, mean scores over the feature's values leave.

use serde::Serialize;

use crate::Result;
use crate::data::Dataset;
use crate::ranker::Ranker;

/// Documents over which scores are averaged.
const DOCUMENTS: usize = 500;

/// Values of a feature at most.
const VALUES: usize = 20;

/// The partial dependence of scores on a feature.
///
/// `scores[i]` is the mean score of documents if the feature is `values[i]` for all of them and all else is as it was (Friedman 2001). Values are
/// quantiles of the feature, so they are close to each other where documents are. Where features go together, some of these documents are such as
/// there are none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartialDependence {
    /// The feature, counted from 1.
    pub feature: usize,
    /// Values of the feature, ascending.
    pub values: Vec<f32>,
    /// The mean score at each.
    pub scores: Vec<f64>,
}

/// The dependence of scores on the feature of this number, counted from 0.
pub(super) fn dependence(ranker: &Ranker, sample: &Dataset, feature: usize) -> Result<PartialDependence> {
    let count = sample.feature_count();
    let documents = sample.len().min(DOCUMENTS);
    // Spread over the sample, so that they are of many queries.
    let mut features: Vec<f32> =
        (0..documents).flat_map(|i| sample.row(i * sample.len() / documents)).copied().collect();
    // Data of another width is refused here, before its columns are looked at.
    ranker.score_rows(&features, count)?;
    let values = quantiles(sample, feature);
    let mut scores = Vec::with_capacity(values.len());
    for &value in &values {
        features.chunks_exact_mut(count).for_each(|row| row[feature] = value);
        let sum: f64 = ranker.score_rows(&features, count)?.into_iter().map(f64::from).sum();
        scores.push(sum / documents as f64);
    }
    Ok(PartialDependence { feature: feature + 1, values, scores })
}

/// Values of the feature that divide documents into equal parts, from the smallest to the largest, each once.
fn quantiles(sample: &Dataset, feature: usize) -> Vec<f32> {
    let column = (0..sample.len()).map(|row| sample.row(row)[feature]);
    let mut sorted: Vec<f32> = column.filter(|value| value.is_finite()).collect();
    sorted.sort_unstable_by(f32::total_cmp);
    let mut distinct = sorted.clone();
    distinct.dedup();
    if distinct.len() <= VALUES {
        return distinct;
    }
    let mut values: Vec<f32> = (0..VALUES).map(|i| sorted[i * (sorted.len() - 1) / (VALUES - 1)]).collect();
    values.dedup();
    values
}
