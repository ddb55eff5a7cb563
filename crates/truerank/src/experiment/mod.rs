//! The paper's research questions as values: lists of small runs, put together from the stages, kept as they finish.

mod as_shown;
mod asked;
mod checks;
mod claims;
mod examination;
mod findings;
#[cfg(test)]
mod fixtures;
mod group;
mod method;
mod model;
mod pages;
mod paper;
mod production;
mod question;
mod real;
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
pub use claims::{CONVERGED, Claim, NOT_BELOW, Part};
pub use group::{Compared, Condition, Group, LogKind, SIGNIFICANCE, Scope};
pub use method::Method;
pub use production::{production_lists, production_ranker};
pub use question::Question;
pub use results::{Found, Results};
pub use run::{Accuracy, JudgedOn, MeasureValues, Outcome, Run, WorldId};
pub use settings::{
    ClusterNumbers, DataSettings, EstimatedExamination, LearningCurves, MadeWith, RealLog, Settings,
    SimulationSettings, TrainingSettings,
};
pub use source::{EmRelevance, Source};
pub use store::{Store, WorldFacts};
pub use world::{World, WorldOptions};

/// What rankers are chosen and compared by.
const NDCG5: Measure = Measure::Ndcg(Some(5));
