//! Judges what was learned on the part of the log that learning never saw.

use super::changes::largest_changes;
use super::{ChosenRanker, Fit, FitData, FitLog, Graded, GradedPages, GradedResult, Judged, SplitBy};
use crate::Result;
use crate::click_model::ClickModel;
use crate::data::Dataset;
use crate::evaluate::{ClickMeasure, ClickPrediction, Counterfactual, Evaluator, Measure, Resampling};
use crate::progress::Silent;
use crate::propensity::Joined;
use crate::relevance::{Estimator, KnownLog, PredictedRelevance, Relevance, calibrate};

/// What grades say of pages; the first decides.
const BY_GRADES: [ClickMeasure; 3] = [ClickMeasure::Ndcg(5), ClickMeasure::Ndcg(10), ClickMeasure::Dcg(10)];

/// Text without labels has a grade of 0 everywhere.
fn is_graded(data: &Dataset) -> bool {
    data.grades().is_some_and(|grades| grades.iter().any(|&grade| grade > 0))
}

impl Fit {
    /// What held-out clicks, and grades where there are any, say of the ranker; and how well clicks are predicted.
    ///
    /// Clicks that judge are weighed by examination of positions whatever click model relevance is from: fits can be compared so, and
    /// models that need relevance to say who looks where know nothing of held-out queries.
    pub(super) fn judge(
        &self,
        log: &FitLog,
        train: &KnownLog<'_>,
        weighed: &KnownLog<'_>,
        model: Option<&ClickModel>,
        relevance: &Relevance,
        ranker: Option<(&FitData, &ChosenRanker)>,
    ) -> Result<(Option<Judged>, ClickPrediction)> {
        let theta = train.theta(&Silent)?;
        let held_out = KnownLog::examined(log.held_out.as_ref(), train.data(), theta.clone());
        let scores = ranker.map(|(data, training)| training.ranker.score(&data.documents)).transpose()?;
        let judged = match (ranker, &scores) {
            (Some((data, training)), Some(scores)) => {
                Some(self.judge_ranker(log.split, train, &held_out, data, training, scores)?)
            }
            _ => None,
        };
        // Relevance is that of the training part where it has the same queries (a split by time or by pages), and otherwise the
        // ranker's scores, calibrated to the training part's clicks.
        let predicted = match (log.split, &scores) {
            (SplitBy::Queries, Some(scores)) => calibrate(scores, weighed, &held_out.log, &Silent)?,
            _ => PredictedRelevance::from(relevance),
        };
        let (held_out, known) = (log.held_out.as_ref(), Some(log.train.as_ref()));
        let resampling = Resampling::new().seed(self.seed);
        let clicks = match model.filter(|_| held_out.totals().transitions.is_some()) {
            Some(model) => ClickPrediction::of_model(held_out, model, &predicted, known, &resampling)?,
            None => ClickPrediction::of(held_out, theta, &predicted, known, &resampling)?,
        };
        Ok((judged, clicks))
    }

    fn judge_ranker(
        &self,
        split: SplitBy,
        train: &KnownLog<'_>,
        held_out: &KnownLog<'_>,
        data: &FitData,
        training: &ChosenRanker,
        scores: &[f32],
    ) -> Result<Judged> {
        let judge = Counterfactual::new(held_out, Estimator::UserAware, None)?.seed(self.seed);
        let (ranker, as_shown) = (judge.judge(scores)?, judge.as_shown());
        let (gains, losses) = largest_changes(&judge, &ranker, &as_shown, &data.documents, scores);
        Ok(Judged {
            gains,
            losses,
            log: judge.log,
            differences: ranker.minus(&as_shown),
            ranker,
            as_shown,
            candidates: judge.judge_candidates(scores)?,
            graded: Graded {
                pages: self.graded_pages(&held_out.log, &data.documents, scores)?,
                candidates: self.graded_candidates(split, &train.log, &held_out.log, data, training, scores)?,
            },
        })
    }

    /// Held-out pages by grades, where the log's own documents have any.
    fn graded_pages(&self, held_out: &Joined<'_>, documents: &Dataset, scores: &[f32]) -> Result<Option<GradedPages>> {
        if !is_graded(documents) {
            return Ok(None);
        }
        let judge = Counterfactual::of_grades(held_out)?.measures(BY_GRADES.to_vec()).seed(self.seed);
        let (ranker, as_shown) = (judge.judge(scores)?, judge.as_shown());
        let is_known = as_shown.values.iter().all(|value| value.value.is_finite());
        let differences = ranker.minus(&as_shown);
        Ok(is_known.then_some(GradedPages { log: judge.log, ranker, as_shown, differences }))
    }

    /// All candidates by the test part's grades, or by those of the log's documents: of held-out queries, or where these were
    /// learned from too, of all queries that only the held-out part has.
    fn graded_candidates(
        &self,
        split: SplitBy,
        train: &Joined<'_>,
        held_out: &Joined<'_>,
        data: &FitData,
        training: &ChosenRanker,
        scores: &[f32],
    ) -> Result<Option<GradedResult>> {
        if let Some(test) = &data.test {
            return self.evaluate(test, &training.ranker.score(test)?, "the test part").map(Some);
        }
        if !is_graded(&data.documents) {
            return Ok(None);
        }
        let mut is_unseen = vec![false; data.documents.query_count()];
        held_out.join()?.queries.iter().flatten().for_each(|&query| is_unseen[query as usize] = true);
        train.join()?.queries.iter().flatten().for_each(|&query| is_unseen[query as usize] = false);
        let unseen: Vec<usize> = (0..is_unseen.len()).filter(|&query| is_unseen[query]).collect();
        if unseen.is_empty() {
            return Ok(None);
        }
        let what = match split {
            SplitBy::Queries => "held-out queries",
            SplitBy::Time => "queries that are new in the held-out time",
            SplitBy::Pages => "queries that only the held-out pages have",
        };
        let rows = unseen.iter().flat_map(|&query| data.documents.rows_of(query));
        let scores: Vec<f32> = rows.map(|row| scores[row]).collect();
        self.evaluate(&data.documents.select(&unseen), &scores, what).map(Some)
    }

    fn evaluate(&self, data: &Dataset, scores: &[f32], what: &str) -> Result<GradedResult> {
        let evaluation = Evaluator::new(Measure::paper()).max_grade(self.max_grade).evaluate(data, scores)?;
        let means = evaluation.measures.iter().filter_map(|&measure| Some((measure, evaluation.mean(measure)?)));
        Ok(GradedResult { what: what.into(), queries: data.query_count(), means: means.collect() })
    }
}
