//! What people ask of an experiment, over what they wrote down, over the defaults.

use std::path::PathBuf;

use super::{Question, Settings};
use crate::data::Preset;
use crate::ranker::ModelForm;
use crate::{Error, Result};

/// Options of an experiment; what is not given is as in `config`, or as by default.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// Names of questions, or `all`.
    pub questions: Vec<String>,
    /// An experiment in TOML.
    pub config: Option<PathBuf>,
    /// Data to generate.
    pub preset: Option<Preset>,
    /// A folder of data.
    pub data: Option<PathBuf>,
    /// The largest grade.
    pub max_grade: Option<u8>,
    /// Whether feature indices of text start at 0.
    pub zero_based: Option<bool>,
    /// How many features documents have.
    pub features: Option<usize>,
    /// Sessions, where their number is not the question.
    pub sessions: Option<u64>,
    /// Numbers of sessions of rq2.
    pub sizes: Vec<u64>,
    /// How often to run it all.
    pub seeds: Option<u64>,
    /// Forms of rankers.
    pub models: Vec<ModelForm>,
    /// Training steps at most.
    pub steps: Option<usize>,
    /// Checks without a better validation value before training stops.
    pub patience: Option<usize>,
    /// Whether networks see features that were brought to one scale first.
    pub standardise: Option<bool>,
    /// The log of real users.
    pub log: Vec<PathBuf>,
    /// Its columns: field and name.
    pub columns: Vec<(String, String)>,
}

impl Asked {
    /// The experiment.
    pub fn settings(&self) -> Result<Settings> {
        let mut settings = match &self.config {
            Some(path) => Settings::read(path)?,
            None => Settings::default(),
        };
        if !self.questions.is_empty() {
            settings.questions = parse_questions(&self.questions)?;
        }
        if let Some(preset) = self.preset {
            (settings.data.preset, settings.data.folder) = (preset, None);
        }
        settings.data.folder = self.data.clone().or(settings.data.folder);
        set(&mut settings.data.max_grade, self.max_grade);
        set(&mut settings.data.zero_based, self.zero_based);
        settings.data.features = self.features.or(settings.data.features);
        settings.sessions = self.sessions.or(settings.sessions);
        settings.training.steps = self.steps.or(settings.training.steps);
        set(&mut settings.training.patience, self.patience);
        set(&mut settings.training.standardise, self.standardise);
        set(&mut settings.seeds, self.seeds.map(|count| (1..=count).collect()));
        set(&mut settings.rq2.sessions, some(&self.sizes));
        set(&mut settings.models, some(&self.models));
        set(&mut settings.real.log, some(&self.log));
        settings.real.columns.extend(self.columns.iter().cloned());
        Ok(settings)
    }
}

fn set<T>(target: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *target = value;
    }
}

fn some<T: Clone>(values: &[T]) -> Option<Vec<T>> {
    (!values.is_empty()).then(|| values.to_vec())
}

fn parse_questions(texts: &[String]) -> Result<Vec<Question>> {
    if texts.iter().any(|text| text == "all") {
        return Ok(Question::ALL.to_vec());
    }
    let mut questions = Vec::new();
    for text in texts {
        let Ok(question) = text.parse::<Question>() else {
            let known = Question::ALL.map(|question| question.to_string()).join(", ");
            return Err(Error::parameter(format!("'{text}' is not a question; known are {known} and all")));
        };
        questions.push(question);
    }
    questions.sort();
    questions.dedup();
    Ok(questions)
}
