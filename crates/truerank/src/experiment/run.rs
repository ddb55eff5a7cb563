//! One run: everything that decides what a ranker learns, and what it then achieves.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Clicked, Method, Question, Settings, Source, text};
use crate::evaluate::{Evaluation, Measure};
use crate::ranker::{ModelForm, TrainingRecord, Unmatched};
use crate::report::Format;
use crate::{Error, Result};

/// Which log is learned from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorldId {
    /// A simulated one: production ranker, users, their queries and clicks all follow from the seed.
    Simulated {
        /// How many kinds of users there are.
        clusters: usize,
        /// How many sessions they have.
        sessions: u64,
        /// The seed of everything.
        seed: u64,
    },
    /// A simulated one whose users follow click models, with some lists swapped.
    Browsed {
        /// How they browse.
        #[serde(with = "text::one")]
        clicked: Clicked,
        /// How many kinds of users there are.
        clusters: usize,
        /// How many sessions they have.
        sessions: u64,
        /// Millionths of the labelled queries that the production ranker learned from.
        labelled: u32,
        /// The seed of everything.
        seed: u64,
    },
    /// The log of real users, or the simulated one that stands for it.
    Logged,
}

impl fmt::Display for WorldId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WorldId::Simulated { clusters, sessions, seed } => {
                write!(f, "{clusters}-clusters-{sessions}-sessions-seed-{seed}")
            }
            WorldId::Browsed { clicked, clusters, sessions, labelled, seed } => {
                let share = f64::from(*labelled) / 1e6;
                write!(f, "{clicked}-{clusters}-clusters-{sessions}-sessions-{share}-labelled-seed-{seed}")
            }
            WorldId::Logged => f.write_str("log"),
        }
    }
}

/// One ranker, trained and evaluated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The log.
    pub world: WorldId,
    /// What is learned from.
    #[serde(with = "text::one")]
    pub method: Method,
    /// Where its θ comes from.
    #[serde(with = "text::one")]
    pub source: Source,
    /// The form of the ranker.
    #[serde(with = "text::one")]
    pub model: ModelForm,
    /// The seed of training.
    pub seed: u64,
}

impl Run {
    /// A run on a simulated log, which is trained with the seed of its world.
    ///
    /// What does not matter to a method is set to one value, so that equal runs are equal: a method without use for θ has
    /// known θ.
    pub fn new(world: WorldId, method: Method, source: Source, model: &ModelForm) -> Self {
        let seed = match world {
            WorldId::Simulated { seed, .. } | WorldId::Browsed { seed, .. } => seed,
            WorldId::Logged => 1,
        };
        let source = match method {
            _ if !method.uses_examination() => Source::Known,
            _ if method.knows_population_only() => source.of_population(),
            _ => source,
        };
        Run { world, method, source, model: model.clone(), seed }
    }

    /// The same with another seed of training, where that changes anything.
    pub fn seed(mut self, seed: u64) -> Self {
        if self.model.is_seeded(self.method) {
            self.seed = seed;
        }
        self
    }

    /// What people call it: the method, and what tells it apart from other runs of the same method.
    pub(super) fn label(&self, settings: &Settings) -> String {
        let mut parts = vec![self.method.to_string()];
        if settings.models.len() > 1 && self.method != Method::Production {
            parts.push(self.model.to_string());
        }
        if self.source != Source::Known {
            parts.push(format!("examination by {}", self.source));
        }
        match self.world {
            WorldId::Simulated { clusters, sessions, .. } => {
                if settings.questions.contains(&Question::Rq3) {
                    parts.push(format!("{clusters} kinds of users"));
                }
                if settings.questions.contains(&Question::Rq2) {
                    parts.push(format!("{} sessions", Format::Count.print(sessions as f64)));
                }
            }
            WorldId::Browsed { clicked, .. } => parts.push(format!("clicks of {clicked}")),
            WorldId::Logged => parts.push("log of many users".to_string()),
        }
        if settings.seeds.len() > 1 || self.world == WorldId::Logged {
            parts.push(format!("seed {}", self.seed));
        }
        parts.join(", ")
    }

    /// A name that no other run of the experiment has: a folder and a file.
    pub fn name(&self) -> String {
        let model = self.model.to_string().replace([':', ','], "-");
        let seed = if self.world == WorldId::Logged { format!("-seed-{}", self.seed) } else { String::new() };
        match (self.method, self.source) {
            (Method::Production, _) => format!("{}/production{seed}", self.world),
            (method, Source::Known) => format!("{}/{model}-{method}{seed}", self.world),
            (method, source) => format!("{}/{model}-{method}-by-{source}{seed}", self.world),
        }
    }
}

/// What a run achieves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The paper's measures for every query that judged it.
    pub measures: Vec<MeasureValues>,
    /// How close the estimated relevance is, where the method estimates it and the truth is known.
    pub accuracy: Option<Accuracy>,
    /// The strength of smoothing, where the method smooths.
    pub beta: Option<f64>,
    /// Queries of the log, and documents of other queries, that the data does not have.
    #[serde(default)]
    pub left_out: Unmatched,
    /// Which queries judged it.
    #[serde(default)]
    pub judged_on: JudgedOn,
    /// How training went.
    pub record: TrainingRecord,
}

/// A measure's values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasureValues {
    /// The measure.
    #[serde(with = "text::one")]
    pub measure: Measure,
    /// Its value for each query.
    pub values: Vec<f64>,
}

/// The queries that judge a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JudgedOn {
    /// The test queries.
    #[default]
    Test,
    /// Those training queries that the log has: the lists of a log that lacks test queries.
    Training,
}

/// How close estimated relevance is to the truth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Accuracy {
    /// The mean of (ŷ − P(r=1))² over shown documents.
    pub mse: f64,
    /// The mean of ŷ − P(r=1) over shown documents; nothing in files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bias: Option<f64>,
    /// The mean squared error over the documents of each training query that had sessions, in the order of the log's queries.
    pub by_query: Vec<f64>,
    /// How many documents of each true grade (rows) were estimated to have each grade (columns).
    pub confusion: Vec<Vec<u64>>,
}

impl Outcome {
    /// The values of `measure` for each query.
    pub fn per_query(&self, measure: Measure) -> &[f64] {
        self.measures.iter().find(|m| m.measure == measure).map_or(&[], |m| m.values.as_slice())
    }

    /// The mean of `measure` over queries.
    pub fn mean(&self, measure: Measure) -> f64 {
        crate::evaluate::mean(self.per_query(measure))
    }

    /// What an evaluation found, and nothing else.
    pub(super) fn of(evaluation: Evaluation, judged_on: JudgedOn) -> Self {
        let pairs = evaluation.measures.into_iter().zip(evaluation.values);
        Outcome {
            measures: pairs.map(|(measure, values)| MeasureValues { measure, values }).collect(),
            accuracy: None,
            beta: None,
            left_out: Unmatched::default(),
            judged_on,
            record: TrainingRecord::default(),
        }
    }

    /// Checks what reading cannot: that each query has a value for each measure of the paper, and each is a number.
    pub(super) fn check(&self) -> Result<()> {
        let queries = self.measures.first().map_or(0, |m| m.values.len());
        for measure in Measure::paper() {
            let values = self.per_query(measure);
            if values.is_empty() || values.len() != queries || values.iter().any(|value| !value.is_finite()) {
                return Err(Error::parameter(format!("should have a number for each test query and {measure}")));
            }
        }
        match &self.accuracy {
            Some(Accuracy { confusion, .. }) if confusion.iter().any(|row| row.len() != confusion.len()) => {
                Err(Error::parameter("should have as many estimated grades as true ones in its confusion matrix"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::experiment::fixtures::outcome;

    #[test]
    fn confusion_matrices_are_square() {
        let mut outcome = outcome(&[0.5], &[0.1]);
        assert!(outcome.check().is_ok());
        outcome.accuracy.as_mut().unwrap().confusion[1].pop();
        assert!(outcome.check().unwrap_err().to_string().contains("confusion matrix"));
    }
}
