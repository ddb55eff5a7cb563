//! What people can choose at each stage, all in one list: for documentation, for stubs, and for whoever names options to people.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use crate::doctor::Doctor;
use crate::evaluate::{ClickJudge, MeasureOptions, Resampling};
use crate::fit::Fit;
use crate::options::{Field, Options};
use crate::ranker::{Export, Training};
use crate::relevance::RelevanceOptions;

/// The options of one stage, or of one method of it.
#[derive(Debug, Clone)]
pub struct Stage {
    /// Its name, such as `Training`.
    pub name: &'static str,
    /// Who takes these options, for people.
    pub title: &'static str,
    /// The options.
    pub fields: Vec<Field>,
}

fn stage<T: Options>(name: &'static str, title: &'static str) -> Stage {
    Stage { name, title, fields: T::fields() }
}

/// All stages, in the order of the pipeline.
pub fn stages() -> Vec<Stage> {
    vec![
        stage::<RelevanceOptions>("Relevance", "Turning clicks into relevance"),
        stage::<Training>("Training", "Training a ranker"),
        stage::<Export>("Export", "Writing for other programs"),
        stage::<MeasureOptions>("Measure", "Judging a ranker by grades"),
        stage::<ClickJudge>("Clicks", "Judging a ranker by clicks"),
        stage::<Resampling>("Resampling", "Predicting clicks"),
        stage::<Doctor>("Doctor", "Examining a log"),
        stage::<Fit>("Fit", "From a log to a ranker"),
    ]
}

/// What is given to a stage beside its options: messages name these like options.
const INPUTS: [&str; 15] = [
    "to",
    "feature_names",
    "data",
    "propensities",
    "relevance",
    "pairs",
    "output",
    "ranker",
    "log",
    "counts",
    "user_features",
    "engine",
    "per_query",
    "against",
    "clicks",
];

/// Whether this is the name of an option, or of what is given beside options.
pub fn is_option(name: &str) -> bool {
    static NAMES: OnceLock<BTreeSet<&'static str>> = OnceLock::new();
    let all = || stages().iter().flat_map(|stage| stage.fields.iter().map(|field| field.name)).chain(INPUTS).collect();
    NAMES.get_or_init(all).contains(name)
}
