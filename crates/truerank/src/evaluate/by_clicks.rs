//! Rankings of a data set beside each other and beside the lists as they were shown, judged by the clicks of a log.

use serde_json::{Value, json};

use super::{ClickMeasure, Counterfactual, JudgedLog, Judgement, Leakage, PairedDifference, Score};
use crate::relevance::{Estimator, KnownLog};
use crate::{Error, Result};

/// Judges rankings by clicks, see [`Counterfactual`].
#[derive(Debug, Clone)]
pub struct ClickJudge {
    estimator: Estimator,
    clip: Option<f64>,
    self_normalised: bool,
    measures: Option<Vec<ClickMeasure>>,
    resamples: Option<usize>,
    seed: Option<u64>,
}

impl Default for ClickJudge {
    fn default() -> Self {
        Self::new()
    }
}

impl ClickJudge {
    /// All defaults; those that are not stated here are those of [`Counterfactual`].
    pub fn new() -> Self {
        ClickJudge {
            estimator: Estimator::UserAware,
            clip: None,
            self_normalised: false,
            measures: None,
            resamples: None,
            seed: None,
        }
    }

    /// How clicks are weighed. Default: `user-aware`.
    pub fn estimator(mut self, estimator: Estimator) -> Self {
        self.estimator = estimator;
        self
    }

    /// Raises exposures below this share of the document's impressions to it. Default: not clipped.
    pub fn clip(mut self, clip: f64) -> Self {
        self.clip = Some(clip);
        self
    }

    /// See [`Counterfactual::self_normalised`].
    pub fn self_normalised(mut self, self_normalised: bool) -> Self {
        self.self_normalised = self_normalised;
        self
    }

    /// See [`Counterfactual::measures`].
    pub fn measures(mut self, measures: Vec<ClickMeasure>) -> Self {
        self.measures = Some(measures);
        self
    }

    /// See [`Counterfactual::resamples`].
    pub fn resamples(mut self, resamples: usize) -> Self {
        self.resamples = Some(resamples);
        self
    }

    /// See [`Counterfactual::seed`].
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Judges the ranking by `scores`, that by `against` where there is one, and the lists as they were shown.
    pub fn judge<S: Score>(&self, log: &KnownLog<'_>, scores: &[S], against: Option<&[S]>) -> Result<ByClicks> {
        if self.clip.is_some() && !self.estimator.divides_by_exposure() {
            let finding =
                format!("clip belongs to user-aware and user-aware-smoothed, but the estimator is {}", self.estimator);
            return Err(Error::parameter(finding));
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
        let mut judge = Counterfactual::new(log, self.estimator, self.clip)?.self_normalised(self.self_normalised);
        if let Some(measures) = &self.measures {
            judge = judge.measures(measures.clone());
        }
        if let Some(resamples) = self.resamples {
            judge = judge.resamples(resamples);
        }
        if let Some(seed) = self.seed {
            judge = judge.seed(seed);
        }
        Ok(judge)
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
    pub as_shown: Judgement,
    /// One order of all documents of each query; not to be compared with the pages.
    pub candidates: JudgedRankers,
    /// Queries that the ranker may have learned from, where that was looked for.
    pub leakage: Option<Leakage>,
}

/// What one question says of a ranker, and of the one it is compared with.
#[derive(Debug, Clone)]
pub struct JudgedRankers {
    /// The ranker.
    pub ranker: Judgement,
    /// The one it is compared with.
    pub against: Option<Judgement>,
}

impl JudgedRankers {
    /// The ranker less the other, measure by measure, where there is another.
    pub fn differences(&self) -> Option<Vec<PairedDifference>> {
        self.against.as_ref().map(|other| self.ranker.minus(other))
    }

    fn to_json(&self, as_shown: Option<&Judgement>) -> Vec<Value> {
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
