//! From scores to the values of measures for each query.

use std::fmt;
use std::str::FromStr;

use rayon::prelude::*;
use serde_json::{Value, json};

use super::{Measure, TTest, paired_t_test};
use crate::data::Dataset;
use crate::math::{Score, rank};
use crate::named::find_named;
use crate::options::{option_value, options};
use crate::ranker::Validation;
use crate::{Error, Result};

/// What a query without relevant documents scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EmptyQueries {
    /// 0, as in the paper's tables.
    #[default]
    Zero,
    /// nDCG 1, since no ranking could do better than the best one; measures without such a norm score 0, since nothing relevant is
    /// found.
    One,
    /// Nothing: the query is left out of means and tests.
    Skip,
}

impl EmptyQueries {
    /// All of them.
    pub const ALL: [EmptyQueries; 3] = [EmptyQueries::Zero, EmptyQueries::One, EmptyQueries::Skip];

    /// Their names, in the same order.
    pub const NAMES: [&str; 3] = ["zero", "one", "skip"];
}

impl fmt::Display for EmptyQueries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(EmptyQueries::NAMES[*self as usize])
    }
}

impl FromStr for EmptyQueries {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        find_named(&EmptyQueries::ALL, text, "a value for queries without relevant documents")
    }
}

option_value!(EmptyQueries: Kind::Choice(EmptyQueries::NAMES.to_vec()), Measure: Kind::Text);

options! {
    /// What is measured by grades.
    pub struct MeasureOptions {
        /// Measures: nDCG@k, ERR@k, MRR, MAP, P@k, ARP.
        measures: Vec<Measure> = Measure::paper(), usual("nDCG and ERR at 1, 3, 5, 10"), value("MEASURE"), alias("measure");
        /// What a query without relevant documents scores: 0 as in the paper, 1 (by nDCG; by other measures 0), or nothing (it is
        /// left out).
        empty: EmptyQueries = EmptyQueries::Zero;
    }
}

impl MeasureOptions {
    /// What computes the measures.
    pub fn evaluator(&self) -> Evaluator {
        Evaluator::new(self.measures.clone()).empty_queries(self.empty)
    }
}

/// Computes measures for every query of a data set.
///
/// ```
/// use truerank::data::{Generator, Preset};
/// use truerank::evaluate::{EmptyQueries, Evaluator, Measure};
///
/// let data = Generator::preset(Preset::Tiny).generate()?.test;
/// let measure: Measure = "nDCG@5".parse()?;
/// let evaluator = Evaluator::new(vec![measure]).empty_queries(EmptyQueries::Skip);
/// let best: Vec<f32> = data.grades().unwrap().iter().map(|&grade| f32::from(grade)).collect();
/// assert_eq!(evaluator.evaluate(&data, &best)?.mean(measure), Some(1.0));
/// # Ok::<(), truerank::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Evaluator {
    measures: Vec<Measure>,
    empty: EmptyQueries,
    max_grade: u8,
}

impl Default for Evaluator {
    /// Computes the paper's measures.
    fn default() -> Self {
        Evaluator::new(Measure::paper())
    }
}

impl Evaluator {
    /// Computes these measures.
    pub fn new(measures: Vec<Measure>) -> Self {
        Evaluator { measures, empty: EmptyQueries::default(), max_grade: 4 }
    }

    /// What a query without relevant documents scores. Default: 0, as in the paper. ARP, which is better when
    /// smaller, leaves such queries out in any case.
    pub fn empty_queries(mut self, empty: EmptyQueries) -> Self {
        self.empty = empty;
        self
    }

    /// The largest grade of the scale, for ERR. Default: 4.
    pub fn max_grade(mut self, max_grade: u8) -> Self {
        self.max_grade = max_grade;
        self
    }

    /// The values for the documents of `data` ordered by `scores` (one per row).
    pub fn evaluate<S: Score>(&self, data: &Dataset, scores: &[S]) -> Result<Evaluation> {
        let grades = data.require_grades("evaluation")?;
        if scores.len() != data.len() {
            return Err(Error::parameter(format!("there are {} scores for {} documents", scores.len(), data.len())));
        }
        if let Some(row) = scores.iter().position(|&score| score.into().is_nan()) {
            return Err(Error::parameter(format!("the score of row {} is not a number", row + 1)));
        }
        let lists: Vec<_> = data.lists().collect();
        let by_query: Vec<Vec<f64>> =
            lists.into_par_iter().map(|rows| self.evaluate_list(&grades[rows.clone()], &scores[rows])).collect();
        let values = (0..self.measures.len()).map(|m| by_query.iter().map(|row| row[m]).collect()).collect();
        Ok(Evaluation { measures: self.measures.clone(), values })
    }

    /// Validates by the mean of the first measure over `data`, which needs grades; smaller values of a measure that is
    /// better when smaller count as larger.
    pub fn validation<'a>(&self, data: &'a Dataset) -> Result<Validation<'a>> {
        data.require_grades("validation")?;
        let Some(&measure) = self.measures.first() else {
            return Err(Error::parameter("validation needs a measure, but there is none"));
        };
        let evaluator = Evaluator { measures: vec![measure], ..self.clone() };
        let sign = if measure.larger_is_better() { 1.0 } else { -1.0 };
        Ok(Validation::new(data, move |scores: &[f32]| {
            // Scores that cannot be evaluated are not numbers, and then neither is their value.
            let evaluation = evaluator.evaluate(data, scores).ok();
            evaluation.and_then(|evaluation| evaluation.mean(measure)).map_or(f64::NAN, |value| sign * value)
        }))
    }

    fn evaluate_list<S: Score>(&self, grades: &[u8], scores: &[S]) -> Vec<f64> {
        let ranked: Vec<u8> = rank(scores).into_iter().map(|i| grades[i]).collect();
        self.measures
            .iter()
            .map(|measure| measure.of(&ranked, self.max_grade).unwrap_or_else(|| self.empty_value(measure)))
            .collect()
    }

    fn empty_value(&self, measure: &Measure) -> f64 {
        match self.empty {
            _ if !measure.larger_is_better() => f64::NAN,
            EmptyQueries::Zero => 0.0,
            EmptyQueries::One => f64::from(u8::from(matches!(measure, Measure::Ndcg(_)))),
            EmptyQueries::Skip => f64::NAN,
        }
    }
}

/// The values of measures for every query; `NaN` where a query was left out.
#[derive(Debug, Clone)]
pub struct Evaluation {
    /// What was measured.
    pub measures: Vec<Measure>,
    /// For each measure, its value for each query.
    pub values: Vec<Vec<f64>>,
}

impl Evaluation {
    /// The values of `measure` for each query.
    pub fn per_query(&self, measure: Measure) -> Option<&[f64]> {
        self.measures.iter().position(|&m| m == measure).map(|m| self.values[m].as_slice())
    }

    /// The mean of `measure` over the queries that have a value.
    pub fn mean(&self, measure: Measure) -> Option<f64> {
        self.per_query(measure).map(mean)
    }
}

/// A measure of two rankings of the same queries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// What was measured.
    pub measure: Measure,
    /// Its mean for the one.
    pub mean: f64,
    /// Its mean for the other.
    pub other: f64,
    /// Whether they differ by more than chance; nothing with fewer than two queries.
    pub test: Option<TTest>,
}

impl Evaluation {
    /// Compares measure by measure with another evaluation of the same queries by the same measures.
    pub fn compare(&self, other: &Evaluation) -> Result<Vec<Comparison>> {
        if self.measures != other.measures {
            return Err(Error::parameter("the evaluations have different measures, but only the same can be compared"));
        }
        let pairs = self.measures.iter().zip(self.values.iter().zip(&other.values));
        pairs
            .map(|(&measure, (a, b))| {
                if a.len() != b.len() {
                    let (a, b) = (a.len(), b.len());
                    let finding = format!("one evaluation has {a} queries and the other {b}, but both need the same");
                    return Err(Error::parameter(finding));
                }
                Ok(Comparison { measure, mean: mean(a), other: mean(b), test: paired_t_test(a, b) })
            })
            .collect()
    }

    /// The mean of each measure for programs; with those of another, the difference, t and p; on request every value, in the order
    /// of the queries of the data.
    pub fn to_json(&self, against: Option<&Evaluation>, per_query: bool) -> Result<Vec<Value>> {
        let compared = against.map(|other| self.compare(other)).transpose()?;
        let entry = |(m, what): (usize, &Measure)| {
            let mut entry = json!({ "measure": what.to_string(), "mean": mean(&self.values[m]) });
            if let Some(Comparison { other, test, .. }) = compared.as_ref().map(|all| all[m]) {
                entry["against_mean"] = json!(other);
                entry["difference"] = json!(test.map(|test| test.difference));
                entry["t"] = json!(test.map(|test| test.t));
                entry["p"] = json!(test.map(|test| test.p));
            }
            if per_query {
                entry["per_query"] = json!(self.values[m]);
                if let Some(other) = against {
                    entry["against_per_query"] = json!(other.values[m]);
                }
            }
            entry
        };
        Ok(self.measures.iter().enumerate().map(entry).collect())
    }
}

/// The mean of the values that are numbers.
pub(crate) fn mean(values: &[f64]) -> f64 {
    let (sum, count) =
        values.iter().filter(|v| !v.is_nan()).fold((0.0, 0usize), |(sum, count), v| (sum + v, count + 1));
    sum / count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::DatasetBuilder;
    use crate::ids::Ids;

    fn two_queries() -> Dataset {
        DatasetBuilder {
            features: vec![0.0; 5],
            feature_count: 1,
            grades: Some(vec![0, 1, 2, 0, 0]),
            queries: Ids::numbered(2),
            query_ends: vec![3, 5],
            docs: None,
        }
        .build()
        .unwrap()
    }

    #[test]
    fn validation_prefers_the_better_ranking_by_any_measure() {
        let data = two_queries();
        for measure in [Measure::default(), Measure::Arp] {
            let validation = Evaluator::new(vec![measure]).validation(&data).unwrap();
            let [best, worst] = [[1.0, 2.0, 3.0, 0.0, 0.0], [3.0, 2.0, 1.0, 0.0, 0.0]]
                .map(|scores: [f32; 5]| (validation.measure)(&scores));
            assert!(best > worst, "{measure}");
        }
        // Grades 2, 1, 0 in ranked order: (2·1 + 1·2) / 3, as a value that is better when larger.
        let arp = Evaluator::new(vec![Measure::Arp]).validation(&data).unwrap();
        assert_eq!((arp.measure)(&[1.0, 2.0, 3.0, 0.0, 0.0]), -4.0 / 3.0);
        assert!(Evaluator::new(Vec::new()).validation(&data).is_err());
    }

    #[test]
    fn evaluations_of_the_same_queries_are_compared() {
        let evaluator = Evaluator::new(vec![Measure::Mrr(None)]);
        let of = |scores: [f32; 5]| evaluator.evaluate(&two_queries(), &scores).unwrap();
        let (good, bad) = (of([1.0, 2.0, 3.0, 0.0, 0.0]), of([3.0, 2.0, 1.0, 0.0, 0.0]));
        let found = good.compare(&bad).unwrap();
        assert_eq!((found[0].mean, found[0].other), (0.5, 0.25));
        assert_eq!(found[0].test, paired_t_test(&[1.0, 0.0], &[0.5, 0.0]));
        let json = good.to_json(Some(&bad), true).unwrap();
        assert_eq!((json[0]["against_mean"].as_f64(), json[0]["per_query"][0].as_f64()), (Some(0.25), Some(1.0)));
        assert_eq!(json[0]["against_per_query"], json!([0.5, 0.0]));
        let other = Evaluator::default().evaluate(&two_queries(), &[0.0_f32; 5]).unwrap();
        assert!(good.compare(&other).unwrap_err().to_string().contains("different measures"));
    }

    #[test]
    fn the_rule_for_empty_queries_is_a_choice() {
        let scores = [1.0, 2.0, 3.0, 0.0, 0.0];
        let mean_with = |empty| {
            let evaluator = Evaluator::new(vec![Measure::Ndcg(Some(5))]).empty_queries(empty);
            evaluator.evaluate(&two_queries(), &scores).unwrap().mean(Measure::Ndcg(Some(5))).unwrap()
        };
        assert_eq!(mean_with(EmptyQueries::Zero), (1.0 + 0.0) / 2.0);
        assert_eq!(mean_with(EmptyQueries::One), (1.0 + 1.0) / 2.0);
        assert_eq!(mean_with(EmptyQueries::Skip), 1.0);
        // Only nDCG is measured against the best order of the query.
        for text in ["ERR@5", "MRR", "MAP", "P@5"] {
            let measure: Measure = text.parse().unwrap();
            let of =
                |empty| Evaluator::new(vec![measure]).empty_queries(empty).evaluate(&two_queries(), &scores).unwrap();
            assert_eq!(of(EmptyQueries::One).values, of(EmptyQueries::Zero).values, "{text}");
        }
    }

    #[test]
    fn scores_that_do_not_fit_are_refused() {
        let evaluator = Evaluator::new(Measure::paper());
        assert!(
            evaluator.evaluate(&two_queries(), &[1.0]).unwrap_err().to_string().contains("1 scores for 5 documents")
        );
        let scores = [0.0, f32::NAN, 0.0, 0.0, 0.0];
        assert!(evaluator.evaluate(&two_queries(), &scores).unwrap_err().to_string().contains("row 2 is not a number"));
    }
}
