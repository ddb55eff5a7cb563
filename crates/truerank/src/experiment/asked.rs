//! What people ask of an experiment, over what they wrote down, over the defaults.

use std::path::PathBuf;

use super::{Question, Settings};
use crate::data::Preset;
use crate::log::split_mapping;
use crate::options::{Options, options};
use crate::ranker::{FeatureScaling, ModelForm};
use crate::{Error, Result};

options! {
    /// What is asked of an experiment; what is not is as in `config`, or as by default.
    pub struct Asked {
        /// Data to generate.
        preset: Option<Preset> = None, usual("small");
        /// The highest grade of the scale.
        max_grade: Option<u8> = None, usual("4"), value("GRADE");
        /// Feature indices of text files start at 0 instead of 1.
        zero_based: Option<bool> = None;
        /// How many features documents have, where sparse text leaves out the last ones.
        features: Option<usize> = None, usual("the most found"), value("N");
        /// Sessions, where their number is not the question.
        sessions: Option<u64> = None, usual("50 per training query, as in the paper"), at_least(1.0);
        /// rq2: numbers of sessions.
        sizes: Vec<u64> = Vec::new(), usual("one per training query, 10000 to 10000000, and those of the other questions"),
            at_least(1.0), value("N");
        /// How often to run it all, each time with other users, clicks and initial weights; claims are tested from 3 on.
        seeds: Option<u64> = None, usual("3"), at_least(1.0), value("N");
        /// Kind of ranker: linear, mlp, mlp:SIZE,SIZE,…, linear-raw or trees; several times for several.
        model: Vec<ModelForm> = Vec::new(), usual("mlp, and for rq2 and rq4 also linear"), has_commas();
        /// linear and mlp: how features are brought to one scale first: paper (a layer norm over each document), rank, standard or none.
        scaling: Option<FeatureScaling> = None, usual("paper"), value("HOW");
        /// Training steps at most, for each MLP.
        steps: Option<usize> = None, usual("1000, on fewer than 10,000 training queries 300"), at_least(1.0);
        /// Checks, one every 10 steps, without a better validation value before training stops.
        patience: Option<usize> = None, usual("10"), at_least(1.0), value("CHECKS");
        /// real: another name for a column of the log, such as user=client_id.
        columns: Vec<String> = Vec::new(), alias("column"), has_commas(), value("FIELD=NAME");
    }
    beside {
        /// Names of questions, or `all`.
        questions: Vec<String> = Vec::new(),
        /// An experiment in TOML.
        config: Option<PathBuf> = None,
        /// A folder of data.
        data: Option<PathBuf> = None,
        /// The log of real users.
        log: Vec<PathBuf> = Vec::new(),
    }
}

impl Asked {
    /// The experiment.
    pub fn settings(&self) -> Result<Settings> {
        self.check_ranges()?;
        if self.preset.is_some() && self.data.is_some() {
            return Err(Error::option("preset", "and `data` both say which documents there are; give one of them"));
        }
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
        set(&mut settings.training.scaling, self.scaling);
        set(&mut settings.seeds, self.seeds.map(|count| (1..=count).collect()));
        set(&mut settings.rq2.sessions, some(&self.sizes));
        set(&mut settings.models, some(&self.model));
        set(&mut settings.real.log, some(&self.log));
        for column in &self.columns {
            let (field, name) = split_mapping(column)?;
            settings.real.columns.insert(field.to_string(), name.to_string());
        }
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
        return Ok(Question::USUAL.to_vec());
    }
    let mut questions = Vec::new();
    for text in texts {
        let Ok(question) = text.parse::<Question>() else {
            let known = Question::ALL.map(Question::name).join(", ");
            return Err(Error::parameter(format!("'{text}' is not a question; known are {known} and all")));
        };
        questions.push(question);
    }
    questions.sort();
    questions.dedup();
    Ok(questions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_in_words_are_those_of_the_settings() {
        let settings = Settings::default();
        let usual = |name: &str| Asked::fields().into_iter().find(|field| field.name == name).unwrap().usual.unwrap();
        assert_eq!(usual("preset"), settings.data.preset.to_string());
        assert_eq!(usual("max_grade"), settings.data.max_grade.to_string());
        assert_eq!(usual("scaling"), settings.training.scaling.to_string());
        assert_eq!(usual("seeds"), settings.seeds.len().to_string());
        assert_eq!(usual("patience"), settings.training.patience.to_string());
        assert_eq!(
            usual("sessions"),
            format!("{} per training query, as in the paper", Settings::sessions_for(100) / 100)
        );
        let asked = Asked::new().settings().unwrap();
        assert_eq!(asked, settings);
    }
}
