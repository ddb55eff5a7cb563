//! What a ranker is trained on: shown rows of a data set with relevance weights, or with weights of pairs.

use std::ops::Range;

use super::loss::{listwise_softmax, pairwise_prs, pairwise_prs_by_score};
use crate::data::Dataset;
use crate::{Error, Result};

/// Lists of rows with a relevance weight ŷ for each, for the listwise loss.
///
/// List number `q` is `ends[q − 1]..ends[q]` (from 0 for the first) of both `rows` and `weights`. Lists may be of any
/// length; those whose weights are all 0 are skipped in training and counted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TrainingLists {
    /// Where each list ends.
    pub ends: Vec<usize>,
    /// Row numbers in the data set.
    pub rows: Vec<u32>,
    /// The relevance weight of each row: finite and at least 0.
    pub weights: Vec<f32>,
}

impl TrainingLists {
    /// Human grades as weights, `grade / max_grade`: what `ideal` learns from.
    ///
    /// `lists` are the shown rows of each query; without them a list has all rows of its query.
    pub fn from_grades(data: &Dataset, max_grade: u8, lists: Option<&[Vec<u32>]>) -> Result<Self> {
        let grades = data.require_grades("training on grades")?;
        if max_grade == 0 {
            return Err(Error::parameter("the highest grade should be at least 1, but is 0"));
        }
        let mut training = TrainingLists::default();
        match lists {
            Some(lists) => lists.iter().for_each(|rows| training.push_rows(rows.iter().copied())),
            None => data.lists().for_each(|rows| training.push_rows(rows.map(|row| row as u32))),
        }
        check_rows(&training.rows, data)?;
        let weight = |&row: &u32| f32::from(grades[row as usize]) / f32::from(max_grade);
        training.weights = training.rows.iter().map(weight).collect();
        match training.weights.iter().position(|&weight| weight > 1.0) {
            Some(place) => Err(Error::parameter(format!(
                "grades should be at most {max_grade}, but that of row {} is {}",
                training.rows[place], grades[training.rows[place] as usize]
            ))),
            None => Ok(training),
        }
    }

    /// The gains of nDCG, `(2^grade − 1) / (2^max_grade − 1)`, in place of the grades of [`from_grades`](TrainingLists::from_grades).
    pub(super) fn into_gains(mut self, max_grade: u8) -> Self {
        let gain = |grade: f32| (grade.exp2() - 1.0) / (f32::from(max_grade).exp2() - 1.0);
        self.weights.iter_mut().for_each(|weight| *weight = gain(*weight * f32::from(max_grade)));
        self
    }

    /// Weights as they are given, one per row of `data`; a row whose weight is NaN was not shown, and is left out.
    pub fn from_weights(data: &Dataset, weights: &[f32]) -> Result<Self> {
        if weights.len() != data.len() {
            return Err(Error::parameter(format!("there are {} weights for {} documents", weights.len(), data.len())));
        }
        let is_weight = |weight: f32| weight.is_nan() || (weight.is_finite() && weight >= 0.0);
        if let Some(row) = weights.iter().position(|&weight| !is_weight(weight)) {
            let (row, weight) = (row + 1, weights[row]);
            let finding = format!("the weight of row {row} is {weight}, but weights are finite and at least 0");
            return Err(Error::parameter(finding));
        }
        let mut training = TrainingLists::default();
        for rows in data.lists() {
            let shown: Vec<usize> = rows.filter(|&row| !weights[row].is_nan()).collect();
            if !shown.is_empty() {
                training.push_rows(shown.iter().map(|&row| row as u32));
                training.weights.extend(shown.iter().map(|&row| weights[row]));
            }
        }
        Ok(training)
    }

    fn push_rows(&mut self, rows: impl Iterator<Item = u32>) {
        self.rows.extend(rows);
        self.ends.push(self.rows.len());
    }
}

/// Lists of rows with a weight for each pair, for the pairwise loss of PRS.
///
/// List number `q` is `ends[q − 1]..ends[q]` of `rows`. Its pair weights are `pair_ends[q − 1]..pair_ends[q]` of `pairs`: a
/// row-major n × n matrix for n rows, whose entry `(i, j)` says how much "row i clicked, row j not" counts, summed over
/// sessions and with propensity ratio and 1/IDCG in it. Lists whose pairs are all 0 are skipped in training and counted.
///
/// A batch is divided by the sum of its weights; with `by_score`, by the sum of its ideal DCGs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TrainingPairs {
    /// Where each list's rows end.
    pub ends: Vec<usize>,
    /// Row numbers in the data set.
    pub rows: Vec<u32>,
    /// Where each list's pairs end.
    pub pair_ends: Vec<usize>,
    /// The weights of the pairs: finite and at least 0. With `by_score`, the weight while row i is scored above row j.
    pub pairs: Vec<f32>,
    /// Where weights depend on the current scores: what they are for the other order.
    pub by_score: Option<ScoredTrainingPairs>,
}

/// What [`TrainingPairs`] need beside `pairs` for [`PairRatio::ByScore`](crate::relevance::PairRatio::ByScore).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScoredTrainingPairs {
    /// As `pairs`, while row i is scored below row j.
    pub if_below: Vec<f32>,
    /// For each list, the mean ideal DCG of the clicks of a session.
    pub ideal_dcgs: Vec<f64>,
}

/// Either form of training data.
#[derive(Debug, Clone, Copy)]
pub enum Targets<'a> {
    /// For the listwise softmax loss.
    Lists(&'a TrainingLists),
    /// For the pairwise loss of PRS.
    Pairs(&'a TrainingPairs),
}

impl<'a> From<&'a TrainingLists> for Targets<'a> {
    fn from(lists: &'a TrainingLists) -> Self {
        Targets::Lists(lists)
    }
}

impl<'a> From<&'a TrainingPairs> for Targets<'a> {
    fn from(pairs: &'a TrainingPairs) -> Self {
        Targets::Pairs(pairs)
    }
}

impl<'a> Targets<'a> {
    /// The name of the loss these are for.
    pub fn loss_name(&self) -> &'static str {
        match self {
            Targets::Lists(_) => "listwise softmax",
            Targets::Pairs(TrainingPairs { by_score: Some(_), .. }) => "pairwise PRS by score",
            Targets::Pairs(_) => "pairwise PRS",
        }
    }

    /// Checks that the parts fit together and to `data`, and that every weight is a weight.
    pub fn check(&self, data: &Dataset) -> Result<()> {
        check_ends("lists", self.ends(), self.all_rows().len())?;
        check_rows(self.all_rows(), data)?;
        if let Targets::Lists(lists) = self
            && lists.weights.len() != lists.rows.len()
        {
            return Err(Error::parameter(format!(
                "training lists should have one weight per row, but have {} for {} rows",
                lists.weights.len(),
                lists.rows.len()
            )));
        }
        if let Targets::Pairs(pairs) = self {
            check_pairs(pairs)?;
        }
        match self.weights().find(|weight| !(weight.is_finite() && *weight >= 0.0)) {
            Some(weight) => Err(Error::parameter(format!(
                "training weights should be finite and at least 0, but one is {weight}; clip the estimates"
            ))),
            None => Ok(()),
        }
    }

    fn ends(&self) -> &'a [usize] {
        match self {
            Targets::Lists(lists) => &lists.ends,
            Targets::Pairs(pairs) => &pairs.ends,
        }
    }

    /// The rows of all lists.
    pub(super) fn all_rows(&self) -> &'a [u32] {
        match self {
            Targets::Lists(lists) => &lists.rows,
            Targets::Pairs(pairs) => &pairs.rows,
        }
    }

    fn weights(&self) -> impl Iterator<Item = f32> + 'a {
        let (weights, others): (&[f32], &[f32]) = match self {
            Targets::Lists(lists) => (&lists.weights, &[]),
            Targets::Pairs(pairs) => (&pairs.pairs, pairs.by_score.as_ref().map_or(&[], |scored| &scored.if_below)),
        };
        weights.iter().chain(others).copied()
    }

    /// The rows of list number `list`.
    pub(super) fn rows_of(&self, list: usize) -> &'a [u32] {
        &self.all_rows()[range(self.ends(), list)]
    }

    /// The place of list number `list` among all rows.
    pub(super) fn range_of(&self, list: usize) -> Range<usize> {
        range(self.ends(), list)
    }

    fn weights_of(&self, list: usize) -> &'a [f32] {
        match self {
            Targets::Lists(lists) => &lists.weights[range(&lists.ends, list)],
            Targets::Pairs(pairs) => &pairs.pairs[range(&pairs.pair_ends, list)],
        }
    }

    /// What list number `list` adds to the number by which its batch is divided.
    pub(super) fn total_of(&self, list: usize) -> f64 {
        if let Targets::Pairs(TrainingPairs { by_score: Some(scored), .. }) = self {
            return scored.ideal_dcgs[list];
        }
        self.weights_of(list).iter().map(|&weight| f64::from(weight)).sum()
    }

    /// The lists with any weight above 0, in order.
    pub(super) fn active(&self) -> Vec<usize> {
        (0..self.ends().len()).filter(|&list| self.weights_of(list).iter().any(|&weight| weight > 0.0)).collect()
    }

    /// The lists with any weight above 0, in order; an error where there are none.
    pub(super) fn require_active(&self) -> Result<Vec<usize>> {
        let active = self.active();
        match active.is_empty() {
            true => Err(Error::parameter(format!(
                "training needs a list with a weight above 0, but none of {} lists has one",
                self.count()
            ))),
            false => Ok(active),
        }
    }

    /// How many lists there are.
    pub(super) fn count(&self) -> usize {
        self.ends().len()
    }

    /// The loss of list number `list`; fills `gradient` with its gradient by the scores.
    pub(super) fn loss(&self, list: usize, scores: &[f32], gradient: &mut [f32]) -> f64 {
        match self {
            Targets::Lists(_) => listwise_softmax(scores, self.weights_of(list), gradient),
            Targets::Pairs(pairs) => match &pairs.by_score {
                Some(scored) => {
                    let if_below = &scored.if_below[range(&pairs.pair_ends, list)];
                    pairwise_prs_by_score(scores, self.weights_of(list), if_below, gradient)
                }
                None => pairwise_prs(scores, self.weights_of(list), gradient),
            },
        }
    }
}

fn range(ends: &[usize], list: usize) -> Range<usize> {
    let start = if list == 0 { 0 } else { ends[list - 1] };
    start..ends[list]
}

fn check_ends(what: &str, ends: &[usize], count: usize) -> Result<()> {
    if ends.is_sorted() && ends.last().copied().unwrap_or(0) == count {
        return Ok(());
    }
    Err(Error::parameter(format!("the ends of the training {what} should rise to {count}, but do not")))
}

fn check_rows(rows: &[u32], data: &Dataset) -> Result<()> {
    match rows.iter().find(|&&row| row as usize >= data.len()) {
        Some(row) => Err(Error::parameter(format!(
            "training row {row} should be in the data set, but that has {} rows",
            data.len()
        ))),
        None => Ok(()),
    }
}

fn check_pairs(training: &TrainingPairs) -> Result<()> {
    check_ends("pairs", &training.pair_ends, training.pairs.len())?;
    if training.pair_ends.len() != training.ends.len() {
        return Err(Error::parameter(format!(
            "training pairs should have one matrix per list, but have {} for {} lists",
            training.pair_ends.len(),
            training.ends.len()
        )));
    }
    for list in 0..training.ends.len() {
        let (rows, pairs) = (range(&training.ends, list).len(), range(&training.pair_ends, list).len());
        if pairs != rows * rows {
            return Err(Error::parameter(format!(
                "list {list} of {rows} rows should have {} pair weights, but has {pairs}",
                rows * rows
            )));
        }
    }
    training.by_score.as_ref().map_or(Ok(()), |scored| check_scored(scored, training))
}

fn check_scored(scored: &ScoredTrainingPairs, training: &TrainingPairs) -> Result<()> {
    let (found, expected) = (scored.if_below.len(), training.pairs.len());
    if found != expected {
        return Err(Error::parameter(format!(
            "training pairs by score should have {expected} weights for either order, but have {found} for the second"
        )));
    }
    let (found, expected) = (scored.ideal_dcgs.len(), training.ends.len());
    if found != expected {
        return Err(Error::parameter(format!(
            "training pairs by score should have one ideal DCG per list, but have {found} for {expected} lists"
        )));
    }
    match scored.ideal_dcgs.iter().find(|dcg| !(dcg.is_finite() && **dcg >= 0.0)) {
        Some(dcg) => Err(Error::parameter(format!("ideal DCGs should be finite and at least 0, but one is {dcg}"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::DatasetBuilder;
    use crate::ids::Ids;

    fn data() -> Dataset {
        DatasetBuilder {
            features: vec![0.0; 4],
            feature_count: 1,
            grades: Some(vec![0, 4, 2, 1]),
            queries: Ids::numbered(2),
            query_ends: vec![3, 4],
            docs: None,
        }
        .build()
        .unwrap()
    }

    #[test]
    fn grades_become_weights() {
        let all = TrainingLists::from_grades(&data(), 4, None).unwrap();
        assert_eq!(all.ends, [3, 4]);
        assert_eq!(all.weights, [0.0, 1.0, 0.5, 0.25]);
        let shown = TrainingLists::from_grades(&data(), 4, Some(&[vec![2, 0], vec![]])).unwrap();
        assert_eq!((shown.ends, shown.rows, shown.weights), (vec![2, 2], vec![2, 0], vec![0.5, 0.0]));
        let error = TrainingLists::from_grades(&data(), 3, None).unwrap_err();
        assert_eq!(error.to_string(), "grades should be at most 3, but that of row 1 is 4");
        let error = TrainingLists::from_grades(&data(), 4, Some(&[vec![7]])).unwrap_err();
        assert_eq!(error.to_string(), "training row 7 should be in the data set, but that has 4 rows");
    }

    #[test]
    fn parts_must_fit_together() {
        let good = TrainingLists::from_grades(&data(), 4, None).unwrap();
        assert!(Targets::Lists(&good).check(&data()).is_ok());
        for spoil in [
            (|lists: &mut TrainingLists| lists.weights[1] = f32::NAN) as fn(&mut TrainingLists),
            |lists| lists.weights[0] = -0.1,
            |lists| lists.ends = vec![4, 3],
            |lists| lists.ends = vec![3],
            |lists| lists.rows[0] = 4,
            |lists| lists.weights.truncate(3),
        ] {
            let mut lists = good.clone();
            spoil(&mut lists);
            assert!(Targets::Lists(&lists).check(&data()).is_err(), "{lists:?}");
        }
        let mut pairs = TrainingPairs {
            ends: vec![2, 3],
            rows: vec![0, 1, 3],
            pair_ends: vec![4, 5],
            pairs: vec![0.0; 5],
            by_score: None,
        };
        assert!(Targets::Pairs(&pairs).check(&data()).is_ok());
        for (if_below, ideal_dcgs, good) in [
            (vec![0.5; 5], vec![1.0, 0.0], true),
            (vec![0.5; 4], vec![1.0, 0.0], false),
            (vec![f32::INFINITY; 5], vec![1.0, 0.0], false),
            (vec![0.5; 5], vec![1.0], false),
            (vec![0.5; 5], vec![1.0, f64::NAN], false),
        ] {
            let by_score = Some(ScoredTrainingPairs { if_below, ideal_dcgs });
            let scored = TrainingPairs { by_score, ..pairs.clone() };
            assert_eq!(Targets::Pairs(&scored).check(&data()).is_ok(), good, "{scored:?}");
        }
        assert!(Targets::Pairs(&pairs).active().is_empty());
        pairs.pair_ends = vec![3, 5];
        let error = Targets::Pairs(&pairs).check(&data()).unwrap_err();
        assert_eq!(error.to_string(), "list 0 of 2 rows should have 4 pair weights, but has 3");
    }
}
