//! Finds the rows of a data set that relevance weights are about.

use serde::{Deserialize, Serialize};

use super::{ScoredTrainingPairs, TrainingLists, TrainingPairs};
use crate::Result;
use crate::data::{Dataset, Join, RowFinder, nothing_matches};
use crate::relevance::{PairRatio, PairWeights, Relevance};

/// What did not find its counterpart when weights met a data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Unmatched {
    /// Queries with weights that the data set does not have.
    pub queries: usize,
    /// Documents with weights, of queries that the data set has, that it does not have.
    pub docs: usize,
}

/// What the error about no match calls what has a weight.
const WEIGHTED: &str = "document with a weight";

impl Relevance {
    /// Where the documents that have a weight are in `data`.
    pub fn join(&self, data: &Dataset) -> Join {
        let pairs: Vec<(u32, u32)> = self.weights.iter().map(|weight| (weight.query, weight.doc)).collect();
        Join::new(data, &self.queries, &self.docs, &pairs)
    }

    /// For each weight, the row of `data` that it is about.
    pub fn rows_in(&self, data: &Dataset) -> Vec<Option<u32>> {
        self.join(data).rows
    }

    /// The weight of each row of `data`; not a number where it was never shown.
    pub fn on(&self, data: &Dataset) -> Vec<f64> {
        let mut weights = vec![f64::NAN; data.len()];
        for (weight, row) in self.weights.iter().zip(self.rows_in(data)) {
            if let Some(row) = row {
                weights[row as usize] = weight.weight;
            }
        }
        weights
    }
}

impl TrainingLists {
    /// Lists with the weights of `relevance`, in the order of the data set; of shrunk weights as
    /// [`for_ranker`](Relevance::for_ranker) gives them.
    ///
    /// What the data set does not have is left out and counted; it is an error if nothing is left.
    pub fn from_relevance(data: &Dataset, relevance: &Relevance) -> Result<(Self, Unmatched)> {
        TrainingLists::from_joined(data, relevance, &relevance.join(data))
    }

    /// The same of weights that were joined with the data set before.
    pub(crate) fn from_joined(data: &Dataset, relevance: &Relevance, join: &Join) -> Result<(Self, Unmatched)> {
        let mut unmatched = Unmatched::default();
        let mut by_query: Vec<Vec<(u32, f32)>> = vec![Vec::new(); data.query_count()];
        let labels = relevance.for_ranker(data.feature_count());
        let mut rest = join.rows.iter().zip(labels);
        for weights in relevance.weights.chunk_by(|a, b| a.query == b.query) {
            let labels: Vec<(&Option<u32>, f64)> = rest.by_ref().take(weights.len()).collect();
            let Some(query) = join.queries[weights[0].query as usize] else {
                unmatched.queries += 1;
                continue;
            };
            unmatched.docs += labels.iter().filter(|(row, _)| row.is_none()).count();
            by_query[query as usize] =
                labels.iter().filter_map(|(row, label)| Some(((**row)?, *label as f32))).collect();
        }
        let mut lists = TrainingLists::default();
        for mut list in by_query.into_iter().filter(|list| !list.is_empty()) {
            list.sort_unstable_by_key(|(row, _)| *row);
            lists.rows.extend(list.iter().map(|(row, _)| row));
            lists.weights.extend(list.iter().map(|(_, weight)| weight));
            lists.ends.push(lists.rows.len());
        }
        if lists.rows.is_empty() {
            Err(nothing_matches(data, &relevance.queries, WEIGHTED, "weights'"))
        } else {
            Ok((lists, unmatched))
        }
    }
}

impl TrainingPairs {
    /// Lists with the pair weights of `pairs`, in the order of the data set.
    ///
    /// What the data set does not have is left out and counted; it is an error if nothing is left.
    pub fn from_pair_weights(data: &Dataset, pairs: &PairWeights) -> Result<(Self, Unmatched)> {
        let finder = RowFinder::new(data, &pairs.queries, &pairs.docs);
        let mut unmatched = Unmatched::default();
        let mut found = Vec::new();
        for of_query in &pairs.by_query {
            let Some((query, rows)) = finder.find(of_query.query, of_query.docs.iter().copied()) else {
                unmatched.queries += 1;
                continue;
            };
            unmatched.docs += rows.iter().filter(|row| row.is_none()).count();
            let mut kept: Vec<(u32, usize)> =
                rows.iter().enumerate().filter_map(|(index, row)| row.map(|row| (row, index))).collect();
            kept.sort_unstable();
            found.push((query, of_query, kept));
        }
        found.sort_by_key(|(query, _, _)| *query);
        let mut by_score = (pairs.ratio == PairRatio::ByScore).then(ScoredTrainingPairs::default);
        let mut training = TrainingPairs::default();
        for (_, of_query, kept) in found.into_iter().filter(|(_, _, kept)| !kept.is_empty()) {
            training.rows.extend(kept.iter().map(|(row, _)| row));
            training.ends.push(training.rows.len());
            let count = of_query.docs.len();
            let entries = || kept.iter().flat_map(|&(_, i)| kept.iter().map(move |&(_, j)| i * count + j));
            training.pairs.extend(entries().map(|entry| of_query.weights[entry] as f32));
            training.pair_ends.push(training.pairs.len());
            if let (Some(training), Some(scored)) = (&mut by_score, &of_query.by_score) {
                training.if_below.extend(entries().map(|entry| scored.if_below[entry] as f32));
                training.ideal_dcgs.push(scored.ideal_dcg);
            }
        }
        training.by_score = by_score;
        if training.rows.is_empty() {
            Err(nothing_matches(data, &pairs.queries, WEIGHTED, "weights'"))
        } else {
            Ok((training, unmatched))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::DatasetBuilder;
    use crate::ids::Ids;
    use crate::relevance::{QueryPairs, ScoredPairs, Weight};

    /// Queries 7 and 3, with documents 1..=3 and 1..=2.
    fn data() -> Dataset {
        DatasetBuilder {
            features: vec![0.0; 5],
            feature_count: 1,
            grades: None,
            queries: Ids::Integers(vec![7, 3]),
            query_ends: vec![3, 5],
            docs: None,
        }
        .build()
        .unwrap()
    }

    fn weight(query: u32, doc: u32, weight: f64) -> Weight {
        Weight { query, doc, weight, impressions: 1, clicks: 1, exposure: 1.0, divisor: 1.0, variance: 0.0 }
    }

    #[test]
    fn weights_find_their_rows_and_the_rest_is_counted() {
        let mut relevance = Relevance {
            estimator: "naive".into(),
            queries: Ids::Integers(vec![3, 7, 9]),
            docs: Ids::Integers(vec![1, 2, 8]),
            weights: vec![weight(0, 1, 0.5), weight(1, 0, 0.25), weight(1, 2, 1.0), weight(2, 0, 1.0)],
            ..Relevance::default()
        };
        let (lists, unmatched) = TrainingLists::from_relevance(&data(), &relevance).unwrap();
        assert_eq!((lists.ends, lists.rows, lists.weights), (vec![1, 2], vec![0, 4], vec![0.25, 0.5]));
        assert_eq!(unmatched, Unmatched { queries: 1, docs: 1 });
        assert_eq!(relevance.rows_in(&data()), [Some(4), Some(0), None, None]);
        relevance.weights = vec![weight(2, 0, 1.0)];
        let message = TrainingLists::from_relevance(&data(), &relevance).unwrap_err().to_string();
        assert!(message.contains("first query is '3', the data set's is '7'"), "{message}");
    }

    #[test]
    fn pairs_follow_their_rows() {
        let mut pairs = PairWeights {
            ratio: PairRatio::Clicked,
            queries: Ids::Integers(vec![7]),
            docs: Ids::Integers(vec![1, 2, 8]),
            by_query: vec![QueryPairs {
                query: 0,
                docs: vec![0, 1, 2],
                weights: vec![0.0, 1.0, 2.0, 3.0, 0.0, 4.0, 5.0, 6.0, 0.0],
                by_score: None,
            }],
        };
        let (training, unmatched) = TrainingPairs::from_pair_weights(&data(), &pairs).unwrap();
        assert_eq!((training.rows, training.pairs), (vec![0, 1], vec![0.0, 1.0, 3.0, 0.0]));
        assert_eq!((training.pair_ends, unmatched.docs, training.by_score), (vec![4], 1, None));
        let if_below = pairs.by_query[0].weights.iter().map(|weight| 10.0 * weight).collect();
        pairs.ratio = PairRatio::ByScore;
        pairs.by_query[0].by_score = Some(ScoredPairs { if_below, ideal_dcg: 1.5 });
        let (training, _) = TrainingPairs::from_pair_weights(&data(), &pairs).unwrap();
        let scored = ScoredTrainingPairs { if_below: vec![0.0, 10.0, 30.0, 0.0], ideal_dcgs: vec![1.5] };
        assert_eq!((training.pairs, training.by_score), (vec![0.0, 1.0, 3.0, 0.0], Some(scored)));
    }
}
