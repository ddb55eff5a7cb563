//! What chooses among the rankers met in training: human grades where there are any, clicks otherwise.

use super::{Fit, FitData, FitLog, Training};
use crate::Result;
use crate::counts::Counts;
use crate::data::Dataset;
use crate::evaluate::{ClickMeasure, Counterfactual, Evaluator, Measure};
use crate::progress::Progress;
use crate::propensity::Propensities;
use crate::ranker::{TrainingLists, Validation};
use crate::relevance::{Estimator, Relevance};

/// The share of training queries whose clicks choose among rankers where no grades do.
const VALIDATION_SHARE: f64 = 0.15;

const BY_GRADES: Measure = Measure::Ndcg(Some(5));
const BY_CLICKS: ClickMeasure = ClickMeasure::Dcg(10);

impl Fit {
    pub(super) fn train(
        &self,
        log: &FitLog,
        propensities: &Propensities,
        relevance: &Relevance,
        data: &FitData,
        progress: &dyn Progress,
    ) -> Result<Training> {
        if let Some(graded) = &data.validation {
            return self.train_by_grades(relevance, &data.documents, graded, progress);
        }
        let (learned, validation) = log.train.split_queries(VALIDATION_SHARE, self.seed.wrapping_add(1))?;
        match Counterfactual::new(&data.documents, &validation, propensities, Estimator::UserAware, None) {
            Ok(judge) => {
                let judge = judge.measures(vec![BY_CLICKS]).shown_only(true).resamples(0);
                self.train_by_clicks(&of_queries(relevance, &learned), &data.documents, &judge, progress)
            }
            // So few clicks that none fell on a validation query: the last parameters are kept.
            Err(_) => {
                let (lists, unmatched) = TrainingLists::from_relevance(&data.documents, relevance)?;
                let ranker = self.fit_ranker(&data.documents, &lists, None, progress)?;
                Ok(Training {
                    form: self.ranker_form(&data.documents),
                    ranker,
                    unmatched,
                    validated_by: "nothing: there are too few clicks".into(),
                })
            }
        }
    }

    fn train_by_grades(
        &self,
        relevance: &Relevance,
        documents: &Dataset,
        graded: &Dataset,
        progress: &dyn Progress,
    ) -> Result<Training> {
        let validation = Evaluator::new(vec![BY_GRADES]).max_grade(self.max_grade).validation(graded)?;
        let (lists, unmatched) = TrainingLists::from_relevance(documents, relevance)?;
        let ranker = self.fit_ranker(documents, &lists, Some(&validation), progress)?;
        Ok(Training {
            form: self.ranker_form(documents),
            ranker,
            unmatched,
            validated_by: format!("{BY_GRADES} of graded queries"),
        })
    }

    fn train_by_clicks(
        &self,
        relevance: &Relevance,
        documents: &Dataset,
        judge: &Counterfactual,
        progress: &dyn Progress,
    ) -> Result<Training> {
        let value = |scores: &[f32]| {
            judge.judge(scores).ok().and_then(|found| found.value(BY_CLICKS)).map_or(f64::NAN, |found| found.value)
        };
        let validation = Validation::new(documents, value);
        let (lists, unmatched) = TrainingLists::from_relevance(documents, relevance)?;
        let ranker = self.fit_ranker(documents, &lists, Some(&validation), progress)?;
        let queries = judge.log.queries;
        Ok(Training {
            form: self.ranker_form(documents),
            ranker,
            unmatched,
            validated_by: format!("{BY_CLICKS} of the clicks on {queries} other queries"),
        })
    }
}

/// The weights of the queries that `counts` have.
fn of_queries(relevance: &Relevance, counts: &Counts) -> Relevance {
    let known = relevance.queries.numbers_in(&counts.queries);
    let weights = relevance.weights.iter().filter(|weight| known[weight.query as usize].is_some());
    Relevance { weights: weights.copied().collect(), ..relevance.clone() }
}
