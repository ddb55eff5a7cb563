//! Rankings of a data set beside each other and beside the lists as they were shown, judged by the clicks of a log.

use serde_json::{Value, json};

use super::{ClickEvaluation, ClickMeasure, Counterfactual, JudgedLog, Leakage, PairedDifference, Resampling, Score};
use crate::options::options;
use crate::relevance::{Estimator, EstimatorKind, KnownLog};
use crate::{Error, Result};

options! {
    /// Judges rankings by clicks, see [`Counterfactual`].
    pub struct ClickJudge {
        /// How clicks are weighed.
        estimator: Estimator = Estimator::UserAware, heading("Judging by clicks");
        /// Raise exposures below this share of the document's impressions to it.
        clip: Option<f64> = None, value("SHARE"), heading("Judging by clicks");
        /// Divide DCG by the sum of all click weights.
        self_normalised: bool = false, heading("Judging by clicks");
    }
    flatten {
        /// How intervals are made.
        resampling: Resampling
    }
    beside {
        /// What is measured.
        measures: Vec<ClickMeasure> = ClickMeasure::usual()
    }
}

impl ClickJudge {
    /// Judges the ranking by `scores`, that by `against` where there is one, and the lists as they were shown.
    pub fn judge<S: Score>(&self, log: &KnownLog<'_>, scores: &[S], against: Option<&[S]>) -> Result<ByClicks> {
        if self.clip.is_some() && !self.estimator.divides_by_exposure() {
            let finding = format!("is for {}, but `estimator` is {}", EstimatorKind::taking("clip"), self.estimator);
            return Err(Error::option("clip", finding));
        }
        let judge = self.counterfactual(log)?;
        Ok(ByClicks {
            log: judge.log,
            clip: self.clip,
            pages: JudgedRankers {
                ranker: judge.judge(scores)?,
                against: against.map(|scores| judge.judge(scores)).transpose()?,
            },
            as_shown: judge.as_shown(),
            candidates: JudgedRankers {
                ranker: judge.judge_candidates(scores)?,
                against: against.map(|scores| judge.judge_candidates(scores)).transpose()?,
            },
            leakage: None,
        })
    }

    fn counterfactual(&self, log: &KnownLog<'_>) -> Result<Counterfactual> {
        let judge = Counterfactual::new(log, self.estimator, self.clip)?.self_normalised(self.self_normalised);
        let Resampling { resamples, seed } = self.resampling;
        Ok(judge.measures(self.measures.clone()).resamples(resamples).seed(seed))
    }
}

/// What clicks say.
#[derive(Debug, Clone)]
pub struct ByClicks {
    /// What judges.
    pub log: JudgedLog,
    /// The least exposure, where it was clipped.
    pub clip: Option<f64>,
    /// The pages of the log, reordered.
    pub pages: JudgedRankers,
    /// The pages as they were shown.
    pub as_shown: ClickEvaluation,
    /// One order of all documents of each query; not to be compared with the pages.
    pub candidates: JudgedRankers,
    /// Queries that the ranker may have learned from, where that was looked for.
    pub leakage: Option<Leakage>,
}

/// What one question says of a ranker, and of the one it is compared with.
#[derive(Debug, Clone)]
pub struct JudgedRankers {
    /// The ranker.
    pub ranker: ClickEvaluation,
    /// The one it is compared with.
    pub against: Option<ClickEvaluation>,
}

impl JudgedRankers {
    /// The ranker less the other, measure by measure, where there is another.
    pub fn differences(&self) -> Option<Vec<PairedDifference>> {
        self.against.as_ref().map(|other| self.ranker.minus(other))
    }

    fn to_json(&self, as_shown: Option<&ClickEvaluation>) -> Vec<Value> {
        let (differences, beyond) = (self.differences(), as_shown.map(|shown| self.ranker.minus(shown)));
        let difference = |found: &PairedDifference| {
            let mut value = found.bounds.to_json();
            value["p"] = json!(found.p);
            value
        };
        let measure = |(place, measure): (usize, &ClickMeasure)| {
            let mut entry = self.ranker.values[place].to_json();
            entry["measure"] = json!(measure.to_string());
            if let (Some(shown), Some(beyond)) = (as_shown, &beyond) {
                entry["as_shown"] = shown.values[place].to_json();
                entry["beyond_as_shown"] = difference(&beyond[place]);
            }
            if let (Some(other), Some(differences)) = (&self.against, &differences) {
                entry["against"] = other.values[place].to_json();
                entry["difference"] = differences[place].bounds.to_json();
                entry["p"] = json!(differences[place].p);
            }
            entry
        };
        self.ranker.measures.iter().enumerate().map(measure).collect()
    }
}

impl ByClicks {
    /// All of it for programs.
    pub fn to_json(&self) -> Value {
        json!({
            "queries": self.log.queries, "clicks": self.log.clicks, "unknown_queries": self.log.unknown_queries,
            "unknown_documents": self.log.unknown_docs, "clip": self.clip,
            "clipped_documents": self.log.clipped.documents, "clipped_click_share": self.log.clipped.clicks,
            "shared_queries": self.leakage.as_ref().map(|found| found.queries.len()),
            "pages": self.log.pages,
            "measures": self.pages.to_json(Some(&self.as_shown)),
            "candidates": {
                "top_10_documents": self.candidates.ranker.top, "top_10_never_shown": self.candidates.ranker.never_shown,
                "measures": self.candidates.to_json(None),
            },
        })
    }
}
