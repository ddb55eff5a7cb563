//! From scores to the values of measures for each query.

use rayon::prelude::*;

use super::Measure;
use crate::data::Dataset;
use crate::math::rank;
use crate::{Error, Result};

/// What a query without relevant documents scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EmptyQueries {
    /// 0, as in the paper's tables.
    #[default]
    Zero,
    /// 1: no ranking could do better.
    One,
    /// Nothing: the query is left out of means and tests.
    Skip,
}

/// Computes measures for every query of a data set.
#[derive(Debug, Clone)]
pub struct Evaluator {
    measures: Vec<Measure>,
    empty: EmptyQueries,
    max_grade: u8,
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
    pub fn evaluate(&self, data: &Dataset, scores: &[f32]) -> Result<Evaluation> {
        let grades = data.require_grades("evaluation")?;
        if scores.len() != data.len() {
            return Err(Error::parameter(format!("there are {} scores for {} documents", scores.len(), data.len())));
        }
        if let Some(row) = scores.iter().position(|score| score.is_nan()) {
            return Err(Error::parameter(format!("the score of row {} is not a number", row + 1)));
        }
        let lists: Vec<_> = data.lists().collect();
        let by_query: Vec<Vec<f64>> =
            lists.into_par_iter().map(|rows| self.evaluate_list(&grades[rows.clone()], &scores[rows])).collect();
        let values = (0..self.measures.len()).map(|m| by_query.iter().map(|row| row[m]).collect()).collect();
        Ok(Evaluation { measures: self.measures.clone(), values })
    }

    fn evaluate_list(&self, grades: &[u8], scores: &[f32]) -> Vec<f64> {
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
            EmptyQueries::One => 1.0,
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
    fn the_rule_for_empty_queries_is_a_choice() {
        let scores = [1.0, 2.0, 3.0, 0.0, 0.0];
        let mean_with = |empty| {
            let evaluator = Evaluator::new(vec![Measure::Ndcg(Some(5))]).empty_queries(empty);
            evaluator.evaluate(&two_queries(), &scores).unwrap().mean(Measure::Ndcg(Some(5))).unwrap()
        };
        assert_eq!(mean_with(EmptyQueries::Zero), (1.0 + 0.0) / 2.0);
        assert_eq!(mean_with(EmptyQueries::One), (1.0 + 1.0) / 2.0);
        assert_eq!(mean_with(EmptyQueries::Skip), 1.0);
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
