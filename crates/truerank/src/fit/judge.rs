//! Judges what was learned on the part of the log that learning never saw.

use super::{Fit, FitData, FitLog, Graded, GradedPages, GradedResult, Judged, SplitBy, Training};
use crate::Result;
use crate::data::Dataset;
use crate::evaluate::{ClickMeasure, ClickPrediction, Counterfactual, Evaluator, Measure};
use crate::ids::IdIndex;
use crate::propensity::Propensities;
use crate::relevance::{Estimator, PredictedRelevance, Relevance, calibrate};

/// Resamples of queries for intervals.
const RESAMPLES: usize = 1000;

/// What grades say of pages; the first decides.
const BY_GRADES: [ClickMeasure; 3] = [ClickMeasure::Ndcg(5), ClickMeasure::Ndcg(10), ClickMeasure::Dcg(10)];

/// Text without labels has a grade of 0 everywhere.
fn is_graded(data: &Dataset) -> bool {
    data.grades().is_some_and(|grades| grades.iter().any(|&grade| grade > 0))
}

impl Fit {
    pub(super) fn judge(
        &self,
        log: &FitLog,
        propensities: &Propensities,
        data: &FitData,
        training: &Training,
    ) -> Result<Judged> {
        let documents = &data.documents;
        let judge =
            Counterfactual::new(documents, &log.held_out, propensities, Estimator::UserAware, None)?.seed(self.seed);
        let scores = training.ranker.score(documents)?;
        let (ranker, as_shown) = (judge.judge(&scores)?, judge.as_shown());
        Ok(Judged {
            log: judge.log,
            differences: ranker.minus(&as_shown),
            ranker,
            as_shown,
            candidates: judge.judge_candidates(&scores)?,
            graded: Graded {
                pages: self.graded_pages(log, documents, &scores)?,
                candidates: self.graded_candidates(log, data, training)?,
            },
        })
    }

    /// Held-out pages by grades, where the log's own documents have any.
    fn graded_pages(&self, log: &FitLog, documents: &Dataset, scores: &[f32]) -> Result<Option<GradedPages>> {
        if !is_graded(documents) {
            return Ok(None);
        }
        let judge = Counterfactual::of_grades(documents, &log.held_out)?.measures(BY_GRADES.to_vec()).seed(self.seed);
        let (ranker, as_shown) = (judge.judge(scores)?, judge.as_shown());
        let is_known = as_shown.values.iter().all(|value| value.value.is_finite());
        let differences = ranker.minus(&as_shown);
        Ok(is_known.then_some(GradedPages { log: judge.log, ranker, as_shown, differences }))
    }

    /// All candidates by the test part's grades, or by those of the log's documents: of held-out queries, or where these were
    /// learned from too, of all queries that only the held-out part has.
    fn graded_candidates(&self, log: &FitLog, data: &FitData, training: &Training) -> Result<Option<GradedResult>> {
        if let Some(test) = &data.test {
            return self.evaluate(test, training, "the test part").map(Some);
        }
        if !is_graded(&data.documents) {
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
            SplitBy::Pages => "queries that only the held-out pages have",
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
    /// queries (a split by time or by pages), and otherwise the ranker's scores, calibrated to the training part's clicks.
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
