//! What people can choose at each stage, all in one list: for documentation, for stubs, and for whoever names options to people.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use crate::click_model::ClickModelOptions;
use crate::counts::{AddingOptions, CountOptions, MergeOptions};
use crate::data::{self, Generation};
use crate::doctor::Doctor;
use crate::drift::Drift;
use crate::evaluate::{ClickJudge, MeasureOptions, Resampling};
use crate::examination::{METHODS, Method};
use crate::experiment::{Asked, Demo};
use crate::files::RoomOptions;
use crate::fit::Fit;
use crate::insight::Explain;
use crate::interleaving::Interleaving;
use crate::log;
use crate::options::{Field, Options};
use crate::ranker::{Export, Production, Training};
use crate::relevance::RelevanceOptions;
use crate::simulate::Simulation;
use crate::sql::SqlOptions;

/// The options of one stage, or of one method of it.
#[derive(Debug, Clone)]
pub struct Stage {
    /// Its name, such as `Training`.
    pub name: &'static str,
    /// Who takes these options, for people.
    pub title: String,
    /// The options.
    pub fields: Vec<Field>,
}

fn stage<T: Options>(name: &'static str, title: &str) -> Stage {
    Stage { name, title: title.to_string(), fields: T::fields() }
}

/// All stages, in the order of the pipeline.
pub fn stages() -> Vec<Stage> {
    let mut stages = vec![
        stage::<Generation>("Generation", "Generating data"),
        stage::<data::ReadOptions>("Data", "Reading a data set"),
        stage::<Simulation>("Simulation", "Simulating a log"),
        stage::<Production>("Production", "Lists of a simulated log"),
        stage::<log::ReadOptions>("Log", "Reading a log"),
        stage::<log::UbiOptions>("Ubi", "Reading dumps of OpenSearch's User Behavior Insights"),
        stage::<CountOptions>("Count", "Counting a log"),
        stage::<AddingOptions>("Adding", "Adding a log to counts"),
        stage::<MergeOptions>("Merge", "Merging counts of several logs"),
        stage::<RoomOptions>("Memory", "Memory, and the disk for what does not fit"),
        stage::<SqlOptions>("Sql", "Counting a log in a warehouse"),
    ];
    stages.extend(METHODS.iter().map(of_method));
    stages.extend([
        stage::<ClickModelOptions>("ClickModel", "Fitting a click model"),
        stage::<RelevanceOptions>("Relevance", "Turning clicks into relevance"),
        stage::<Training>("Training", "Training a ranker"),
        stage::<Export>("Export", "Writing for other programs"),
        stage::<MeasureOptions>("Measure", "Judging a ranker by grades"),
        stage::<ClickJudge>("Clicks", "Judging a ranker by clicks"),
        stage::<Resampling>("Resampling", "Predicting clicks"),
        stage::<Interleaving>("Interleaving", "Judging interleaved rankers"),
        stage::<Explain>("Explain", "Explaining a ranker"),
        stage::<Doctor>("Doctor", "Examining a log"),
        stage::<Drift>("Drift", "Comparing two logs"),
        stage::<Fit>("Fit", "From a log to a ranker"),
        stage::<Asked>("Experiment", "Experiments"),
        stage::<Demo>("Demo", "The demo"),
    ]);
    stages
}

fn of_method(method: &Method) -> Stage {
    let title = format!("Estimating examination by {}: `{method}`", method.title);
    Stage { name: method.type_name, title, fields: method.fields() }
}

/// What is given to a stage beside its options: messages name these like options.
const INPUTS: [&str; 20] = [
    "to",
    "feature_names",
    "method",
    "data",
    "propensities",
    "click_model",
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
    "ubi_queries",
    "ubi_events",
    "feature",
    "held_out",
];

/// Whether this is the name of an option, or of what is given beside options.
pub fn is_option(name: &str) -> bool {
    static NAMES: OnceLock<BTreeSet<&'static str>> = OnceLock::new();
    let all = || stages().iter().flat_map(|stage| stage.fields.iter().map(|field| field.name)).chain(INPUTS).collect();
    NAMES.get_or_init(all).contains(name)
}
