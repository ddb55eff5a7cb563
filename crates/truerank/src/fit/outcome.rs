//! What came out of a fit.

use serde_json::{Value, json};

use super::{FitLog, RankerForm, SplitBy};
use crate::counts::Counts;
use crate::doctor::Diagnosis;
use crate::evaluate::{ClickLikelihood, ClickPrediction, JudgedLog, Judgement, Measure, PairedDifference};
use crate::propensity::Propensities;
use crate::ranker::{Ranker, Unmatched};
use crate::relevance::{Diagnostics, Relevance};

/// All that was learned, and how good it is.
#[derive(Debug, Clone)]
pub struct FitOutcome {
    /// How the log was cut.
    pub split: SplitBy,
    /// How large its parts are.
    pub sizes: PartSizes,
    /// Queries that are in both parts: none where it was cut by query.
    pub shared_queries: usize,
    /// What was found out about the training part.
    pub diagnosis: Diagnosis,
    /// Who looks where.
    pub propensities: Propensities,
    /// What is relevant.
    pub relevance: Relevance,
    /// How much relevance depends on few clicks.
    pub weights: Diagnostics,
    /// The ranker, where there were features.
    pub training: Option<Training>,
    /// What the held-out part says of it.
    pub judged: Option<Judged>,
    /// How well held-out clicks are predicted.
    pub clicks: ClickPrediction,
}

/// Sizes of the two parts of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartSizes {
    /// Queries, sessions and clicks to learn from.
    pub train: [u64; 3],
    /// Queries, sessions and clicks held out.
    pub held_out: [u64; 3],
    /// Held-out impressions at positions that the training part does not have, left out.
    pub too_deep: u64,
}

/// A ranker and how its training went.
#[derive(Debug, Clone)]
pub struct Training {
    /// Its form.
    pub form: RankerForm,
    /// The ranker.
    pub ranker: Ranker,
    /// Weights that found no document in the data.
    pub unmatched: Unmatched,
    /// What chose among the parameters met on the way.
    pub validated_by: String,
}

/// The ranker and the lists as they were shown, judged by held-out clicks; and the ranker by grades, where there are any.
#[derive(Debug, Clone)]
pub struct Judged {
    /// What judges.
    pub log: JudgedLog,
    /// The ranker.
    pub ranker: Judgement,
    /// The lists as they were shown.
    pub logged: Judgement,
    /// The ranker less the lists, measure by measure.
    pub differences: Vec<PairedDifference>,
    /// By human grades.
    pub graded: Option<GradedResult>,
}

/// Measures by human grades.
#[derive(Debug, Clone)]
pub struct GradedResult {
    /// Which documents were graded.
    pub what: String,
    /// Of how many queries.
    pub queries: usize,
    /// Means over queries.
    pub means: Vec<(Measure, f64)>,
}

impl PartSizes {
    pub(super) fn of(log: &FitLog) -> Self {
        let sizes = |counts: &Counts| [counts.queries.len() as u64, counts.session_count(), counts.click_count()];
        PartSizes { train: sizes(&log.train), held_out: sizes(&log.held_out), too_deep: log.too_deep }
    }
}

impl FitOutcome {
    /// All of it for programs, without what has a file of its own.
    pub fn to_json(&self) -> Value {
        let part = |[queries, sessions, clicks]: [u64; 3]| json!({ "queries": queries, "sessions": sessions, "clicks": clicks });
        json!({
            "type": "truerank/fit", "version": 1,
            "split": self.split,
            "train": part(self.sizes.train), "held_out": part(self.sizes.held_out),
            "held_out_impressions_too_deep": self.sizes.too_deep,
            "shared_queries": self.shared_queries,
            "examination": {
                "method": self.propensities.method, "population": self.propensities.population,
                "notes": self.propensities.details.notes,
            },
            "relevance": {
                "estimator": self.relevance.estimator, "beta": self.relevance.beta,
                "documents": self.relevance.weights.len(), "prior": self.relevance.correction.prior.to_string(),
                "clip": self.relevance.correction.clip, "shrink": self.relevance.correction.shrink,
                "clipped_documents": self.relevance.correction.clipped.documents,
                "weight_of_top_1_percent": self.weights.top_share,
                "effective_sizes": self.weights.effective,
            },
            "training": self.training.as_ref().map(training_json),
            "judged_by_clicks": self.judged.as_ref().map(judged_json),
            "judged_by_grades": self.judged.as_ref().and_then(|judged| judged.graded.as_ref()).map(graded_json),
            "predicted_clicks": clicks_json(&self.clicks),
            "diagnosis": self.diagnosis,
        })
    }
}

fn training_json(training: &Training) -> Value {
    json!({
        "model": training.form.to_string(), "record": training.ranker.record, "features": training.ranker.feature_count(),
        "validated_by": training.validated_by, "unmatched": training.unmatched,
    })
}

fn judged_json(judged: &Judged) -> Value {
    let values = |of: &Judgement| -> Value {
        let named = of.measures.iter().zip(&of.values).map(|(measure, value)| (measure.to_string(), value.to_json()));
        Value::Object(named.collect())
    };
    let difference = |(measure, difference): (&crate::evaluate::ClickMeasure, &PairedDifference)| {
        let mut value = difference.bounds.to_json();
        value["p"] = json!(difference.p);
        (measure.to_string(), value)
    };
    json!({
        "queries": judged.log.queries, "clicks": judged.log.clicks,
        "unknown_queries": judged.log.unknown_queries, "unknown_documents": judged.log.unknown_docs,
        "ranker": values(&judged.ranker), "as_shown": values(&judged.logged),
        "difference": Value::Object(judged.ranker.measures.iter().zip(&judged.differences).map(difference).collect()),
    })
}

fn graded_json(graded: &GradedResult) -> Value {
    let means = graded.means.iter().map(|(measure, mean)| (measure.to_string(), json!(mean)));
    json!({ "documents_of": graded.what, "queries": graded.queries, "means": Value::Object(means.collect()) })
}

fn clicks_json(clicks: &ClickPrediction) -> Value {
    let likelihood = |of: &ClickLikelihood| json!({ "log_likelihood": of.log_likelihood.to_json(), "perplexity": of.perplexity.to_json() });
    json!({
        "impressions": clicks.impressions, "unknown_documents": clicks.unknown_docs, "clamped": clicks.clamped,
        "model": likelihood(&clicks.model), "click_rate_by_position": likelihood(&clicks.by_position),
        "click_rate_by_document": likelihood(&clicks.by_document),
        "one_click_rate": likelihood(&clicks.overall), "p": clicks.gain.p,
    })
}
