//! Judges what was learned on the part of the log that learning never saw.

use super::{Fit, FitData, FitLog, GradedResult, Judged, SplitBy, Training};
use crate::Result;
use crate::data::Dataset;
use crate::evaluate::{ClickPrediction, Counterfactual, Evaluator, Measure};
use crate::ids::IdIndex;
use crate::propensity::Propensities;
use crate::relevance::{Estimator, PredictedRelevance, Relevance, calibrate};

/// Resamples of queries for intervals.
const RESAMPLES: usize = 1000;

impl Fit {
    pub(super) fn judge(
        &self,
        log: &FitLog,
        propensities: &Propensities,
        data: &FitData,
        training: &Training,
    ) -> Result<Judged> {
        let documents = &data.documents;
        let judge = Counterfactual::new(documents, &log.held_out, propensities, Estimator::UserAware, None)?
            .shown_only(true)
            .seed(self.seed);
        let ranker = judge.judge(&training.ranker.score(documents)?)?;
        let logged = judge.judge_logged();
        let differences = ranker.minus(&logged);
        Ok(Judged { log: judge.log, ranker, logged, differences, graded: self.judge_by_grades(log, data, training)? })
    }

    /// By the test part's grades, or by those of the log's documents: of held-out queries, or with a split by time of all
    /// queries that only the held-out part has.
    fn judge_by_grades(&self, log: &FitLog, data: &FitData, training: &Training) -> Result<Option<GradedResult>> {
        if let Some(test) = &data.test {
            return self.evaluate(test, training, "the test part").map(Some);
        }
        if data.documents.grades().is_none() {
            return Ok(None);
        }
        let (held_out, train) = (IdIndex::new(&log.held_out.queries), IdIndex::new(&log.train.queries));
        let unseen: Vec<usize> = (0..data.documents.query_count())
            .filter(|&query| {
                let name = data.documents.queries().name(query);
                held_out.find(&name).is_some() && train.find(&name).is_none()
            })
            .collect();
        if unseen.is_empty() {
            return Ok(None);
        }
        let what = match log.split {
            SplitBy::Queries => "held-out queries",
            SplitBy::Time => "queries that are new in the held-out time",
        };
        self.evaluate(&data.documents.select(&unseen), training, what).map(Some)
    }

    fn evaluate(&self, data: &Dataset, training: &Training, what: &str) -> Result<GradedResult> {
        let evaluator = Evaluator::new(Measure::paper()).max_grade(self.max_grade);
        let evaluation = evaluator.evaluate(data, &training.ranker.score(data)?)?;
        let means = evaluation.measures.iter().filter_map(|&measure| Some((measure, evaluation.mean(measure)?)));
        Ok(GradedResult { what: what.into(), queries: data.query_count(), means: means.collect() })
    }

    /// How well θ and relevance predict the held-out clicks. Relevance is that of the training part where it has the same
    /// queries (a split by time), and otherwise the ranker's scores, calibrated to the training part's clicks.
    pub(super) fn predict_clicks(
        &self,
        log: &FitLog,
        propensities: &Propensities,
        relevance: &Relevance,
        data: Option<&FitData>,
        training: Option<&Training>,
    ) -> Result<ClickPrediction> {
        let predicted = match (log.split, data, training) {
            (SplitBy::Queries, Some(data), Some(training)) => {
                let scores = training.ranker.score(&data.documents)?;
                calibrate(&scores, &data.documents, &log.train, propensities, &log.held_out)?
            }
            _ => PredictedRelevance::from(relevance),
        };
        ClickPrediction::of(&log.held_out, propensities, &predicted, Some(&log.train), RESAMPLES, self.seed)
    }
}
