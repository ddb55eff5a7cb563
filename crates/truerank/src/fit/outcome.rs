//! What came out of a fit.

use std::sync::OnceLock;

use serde::Serialize;
use serde_json::{Value, json};

use super::folder::FIT;
use super::{ChosenClickModel, FitLog, SplitBy};
use crate::counts::CountsView;
use crate::doctor::Diagnosis;
use crate::evaluate::{
    ClickEvaluation, ClickLikelihood, ClickMeasure, ClickPrediction, JudgedLog, Measure, PairedDifference,
};
use crate::insight::Explanation;
use crate::propensity::Propensities;
use crate::ranker::{ModelForm, Ranker, Unmatched};
use crate::relevance::{Diagnostics, Relevance};
use crate::report::{Provenance, Report};

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
    /// What corrected clicks: a click model, or nothing but the examination of positions.
    pub click_model: ChosenClickModel,
    /// Who looks where.
    pub propensities: Propensities,
    /// What is relevant.
    pub relevance: Relevance,
    /// How much relevance depends on few clicks.
    pub weights: Diagnostics,
    /// The ranker, where there were features.
    pub training: Option<ChosenRanker>,
    /// What the held-out part says of it.
    pub judged: Option<Judged>,
    /// How well held-out clicks are predicted.
    pub clicks: ClickPrediction,
    /// What it was made of, and the command that makes it again where there was one.
    pub provenance: Option<Provenance>,
    pub(super) page: OnceLock<Report>,
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
pub struct ChosenRanker {
    /// Its form.
    pub form: ModelForm,
    /// The ranker.
    pub ranker: Ranker,
    /// Weights that found no document in the data.
    pub unmatched: Unmatched,
    /// What chose the form and the number of steps.
    pub validated_by: String,
    /// The forms that were tried.
    pub tried: Vec<TriedForm>,
    /// The value of the chosen form after so many steps, on queries that it did not learn from; empty where nothing chose.
    pub course: Vec<(usize, f64)>,
    /// What it has learned: how much features matter, and how scores depend on them.
    pub explanation: Explanation,
}

/// A form of ranker that was tried, where it was at its best.
#[derive(Debug, Clone, PartialEq)]
pub struct TriedForm {
    /// The form.
    pub form: ModelForm,
    /// After so many steps.
    pub steps: usize,
    /// Its value there; [`ChosenRanker::validated_by`] says of what. Minus infinity where nothing chose.
    pub value: f64,
    /// How much it is above the chosen form, over the queries that chose; none for the chosen form and where nothing chose.
    pub above_chosen: Option<MeanDifference>,
}

/// A mean of differences and how sure it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanDifference {
    /// The mean.
    pub mean: f64,
    /// Its standard error.
    pub standard_error: f64,
}

/// Held-out pages as the ranker orders them and as they were shown, judged by clicks, and by grades where there are any.
#[derive(Debug, Clone)]
pub struct Judged {
    /// What judges.
    pub log: JudgedLog,
    /// The pages as the ranker orders them.
    pub ranker: ClickEvaluation,
    /// The pages as they were shown.
    pub as_shown: ClickEvaluation,
    /// The ranker less the pages, measure by measure.
    pub differences: Vec<PairedDifference>,
    /// All documents of each query in one order; not to be compared with the pages.
    pub candidates: ClickEvaluation,
    /// The queries whose pages gain most by clicks, the largest gain first.
    pub gains: Vec<QueryChange>,
    /// Those that lose most.
    pub losses: Vec<QueryChange>,
    /// By human grades.
    pub graded: Graded,
}

/// A query whose pages a ranker orders otherwise.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QueryChange {
    /// The query.
    pub query: String,
    /// How many of its pages judge.
    pub pages: u64,
    /// What its pages earn as they were shown, by the first measure.
    pub as_shown: f64,
    /// What they earn as the ranker orders them.
    pub ranker: f64,
    /// The first documents of the page that was shown most, as shown.
    pub shown: Vec<String>,
    /// The same page as the ranker orders it.
    pub reordered: Vec<String>,
}

/// What human grades say.
#[derive(Debug, Clone)]
pub struct Graded {
    /// Held-out pages of graded documents, reordered and as they were shown.
    pub pages: Option<GradedPages>,
    /// The ranker on all documents of graded queries.
    pub candidates: Option<GradedResult>,
}

/// Held-out pages by human grades.
#[derive(Debug, Clone)]
pub struct GradedPages {
    /// What judges.
    pub log: JudgedLog,
    /// The pages as the ranker orders them.
    pub ranker: ClickEvaluation,
    /// The pages as they were shown.
    pub as_shown: ClickEvaluation,
    /// The ranker less the pages, measure by measure.
    pub differences: Vec<PairedDifference>,
}

/// Measures by human grades of all documents of queries.
#[derive(Debug, Clone)]
pub struct GradedResult {
    /// Which documents were graded.
    pub what: String,
    /// Of how many queries.
    pub queries: usize,
    /// Means over queries.
    pub means: Vec<(Measure, f64)>,
}

impl ChosenRanker {
    /// Whether anything chose the form and the number of steps: too few clicks choose nothing.
    pub fn is_chosen(&self) -> bool {
        !self.course.is_empty() || self.tried.iter().any(|tried| tried.form == self.form && tried.steps > 0)
    }
}

impl PartSizes {
    pub(super) fn of(log: &FitLog) -> Self {
        let sizes = |part: &dyn CountsView| {
            let totals = part.totals();
            [totals.queries, totals.sessions, totals.clicks]
        };
        let [train, held_out] = [&log.train, &log.held_out].map(|part| sizes(part.as_ref()));
        PartSizes { train, held_out, too_deep: log.too_deep }
    }
}

impl FitOutcome {
    /// All of it for programs, without what has a file of its own.
    pub fn to_json(&self) -> Value {
        let part = |[queries, sessions, clicks]: [u64; 3]| json!({ "queries": queries, "sessions": sessions, "clicks": clicks });
        json!({
            "type": FIT.name, "version": FIT.version,
            "provenance": self.provenance.as_ref().map(Provenance::to_json),
            "split": self.split,
            "train": part(self.sizes.train), "held_out": part(self.sizes.held_out),
            "held_out_impressions_too_deep": self.sizes.too_deep,
            "shared_queries": self.shared_queries,
            "examination": {
                "method": self.propensities.method, "population": self.propensities.population,
                "notes": self.propensities.details.notes,
            },
            "click_model": self.click_model.to_json(),
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
            "judged_by_grades": self.judged.as_ref().map(|judged| graded_json(&judged.graded)),
            "verdict": self.judged.as_ref().map(|judged| judged.verdict_name()),
            "predicted_clicks": clicks_json(&self.clicks),
            "diagnosis": self.diagnosis,
        })
    }
}

fn training_json(training: &ChosenRanker) -> Value {
    json!({
        "model": training.form.to_string(), "record": training.ranker.record, "features": training.ranker.feature_count(),
        "validated_by": training.validated_by, "unmatched": training.unmatched,
        "tried": training.tried.iter().map(|tried| json!({
            "model": tried.form.to_string(), "steps": tried.steps, "value": tried.value,
            "above_chosen": tried.above_chosen.map(|above| json!({ "mean": above.mean, "standard_error": above.standard_error })),
        })).collect::<Vec<_>>(),
        "importance": training.explanation.importance,
    })
}

fn judged_json(judged: &Judged) -> Value {
    json!({
        "queries": judged.log.queries, "clicks": judged.log.clicks, "pages": judged.log.pages,
        "unknown_queries": judged.log.unknown_queries, "unknown_documents": judged.log.unknown_docs,
        "ranker": values_json(&judged.ranker), "as_shown": values_json(&judged.as_shown),
        "difference": differences_json(&judged.ranker, &judged.differences),
        "gains": judged.gains, "losses": judged.losses,
        "candidates": values_json(&judged.candidates),
        "top_10_documents": judged.candidates.top, "top_10_never_shown": judged.candidates.never_shown,
    })
}

fn values_json(of: &ClickEvaluation) -> Value {
    let named = of.measures.iter().zip(&of.values).map(|(measure, value)| (measure.to_string(), value.to_json()));
    Value::Object(named.collect())
}

fn differences_json(of: &ClickEvaluation, differences: &[PairedDifference]) -> Value {
    let difference = |(measure, difference): (&ClickMeasure, &PairedDifference)| {
        let mut value = difference.bounds.to_json();
        value["p"] = json!(difference.p);
        (measure.to_string(), value)
    };
    Value::Object(of.measures.iter().zip(differences).map(difference).collect())
}

fn graded_json(graded: &Graded) -> Value {
    let pages = |pages: &GradedPages| {
        json!({
            "queries": pages.log.queries, "pages": pages.log.pages,
            "ranker": values_json(&pages.ranker), "as_shown": values_json(&pages.as_shown),
            "difference": differences_json(&pages.ranker, &pages.differences),
        })
    };
    let candidates = |found: &GradedResult| {
        let means = found.means.iter().map(|(measure, mean)| (measure.to_string(), json!(mean)));
        json!({ "documents_of": found.what, "queries": found.queries, "means": Value::Object(means.collect()) })
    };
    json!({ "pages": graded.pages.as_ref().map(pages), "candidates": graded.candidates.as_ref().map(candidates) })
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
