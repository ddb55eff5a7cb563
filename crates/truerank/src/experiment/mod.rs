//! The paper's research questions as values: lists of small runs, put together from the stages, kept as they finish.
//!
//! `Settings` (TOML) say what is asked; each `Question` becomes a list of `Run`s, and what two questions share is run once. A
//! `World` is one log with everything known about it: counts, shown lists, the simulation's truth. A run is a method, a
//! source of θ and a form of ranker in a world, and depends on nothing else, so it can be kept by its name (`Store`) and a
//! killed experiment goes on. `Results` are what is kept; `Group`s are the same run over seeds, compared over seeds and
//! queries together; `Claim`s are what the paper says, with one of three verdicts and one p. The paper's own numbers stand in
//! `paper.rs` and nowhere else. Deliberately not here: times, which would make bytes differ.
//!
//! ```no_run
//! use std::path::Path;
//! use truerank::experiment::{Question, Settings};
//! use truerank::progress::Silent;
//!
//! let settings = Settings { questions: vec![Question::Rq1], sessions: Some(10_000), ..Settings::default() };
//! let results = settings.carry_out(Some(Path::new("results")), &Silent)?;
//! println!("{}", results.report().text());
//! # Ok::<(), truerank::Error>(())
//! ```

mod as_shown;
mod asked;
mod assumed;
mod checks;
mod claim;
mod demo;
mod examination;
mod findings;
#[cfg(test)]
mod fixtures;
mod group;
mod method;
mod model;
mod page;
mod paper;
mod plan;
mod questions;
mod results;
mod run;
mod runner;
mod settings;
mod source;
mod store;
mod text;
mod training;
mod world;

use crate::evaluate::Measure;

pub use asked::Asked;
pub use assumed::{Assumed, Clicked, MIXED};
pub use claim::{Claim, Part};
pub use demo::Demo;
pub use group::{Compared, Condition, Group, LogKind, SIGNIFICANCE, Scope};
pub use method::Method;
pub use questions::{
    BrowsingGrid, CONVERGED, ClusterNumbers, EstimatedExamination, LearningCurves, NOT_BELOW, Question, RealLog,
};
pub use results::{Found, Results};
pub use run::{Accuracy, JudgedOn, MeasureValues, Outcome, Run, WorldId};
pub use settings::{DataSettings, MadeWith, Settings, SimulationSettings, TrainingSettings};
pub use source::Source;
pub use store::{Store, WorldFacts};
pub use world::{World, WorldOptions};

/// What rankers are chosen and compared by.
const NDCG5: Measure = Measure::Ndcg(Some(5));
