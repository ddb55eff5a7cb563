//! Refuses what cannot be run before anything runs, and fills in what depends on the data.

use std::fmt::Display;

use super::settings::MadeWith;
use super::{Question, Settings, Store};
use crate::data::{Dataset, Splits};
use crate::simulate::paper_etas;
use crate::{Error, Result};

/// The largest grade of generated documents.
pub(super) const GENERATED_MAX_GRADE: u8 = 4;

impl Settings {
    /// Fills in what depends on the data, and checks that the data can be used.
    pub fn for_data(mut self, data: &Splits) -> Result<Self> {
        self.check()?;
        self.check_data(data)?;
        let queries = data.train.query_count();
        let sessions = *self.sessions.get_or_insert(Settings::sessions_for(queries));
        self.rq2.fill(queries as u64, sessions);
        self.robustness.fill(queries as u64);
        self.questions.sort();
        self.made_with = Some(made_with(data, self.real_log_fingerprint()?));
        Ok(self)
    }

    /// Checks what can be checked without data, the log of real users included.
    pub fn check(&self) -> Result<()> {
        self.check_values()?;
        self.check_real_log()
    }

    /// The same without the log of real users, which results can do without.
    pub(super) fn check_values(&self) -> Result<()> {
        distinct("questions", &self.questions, 1)?;
        distinct("seeds", &self.seeds, 1)?;
        distinct("models", &self.models, 1)?;
        self.check_numbers()?;
        Question::ALL.into_iter().try_for_each(|question| question.ask().check(self))?;
        if let Some(model) = self.models.iter().find(|model| !model.kind().learns_from_weights) {
            return refuse(format!(
                "models should learn from clicks, but {model} learns from grades only; choose linear, mlp, linear-raw or trees"
            ));
        }
        if self.data.folder.is_none() && self.data.max_grade != GENERATED_MAX_GRADE {
            let found = self.data.max_grade;
            return refuse(format!("generated grades go to {GENERATED_MAX_GRADE}, but the largest grade is {found}"));
        }
        let documents = self.made_with.iter().flat_map(|made| made.documents).max().unwrap_or(0);
        match u32::try_from(documents) {
            Ok(_) => Ok(()),
            Err(_) => refuse(format!("made-with.documents should be below 2^32, but is {documents}")),
        }
    }

    fn check_numbers(&self) -> Result<()> {
        known_clusters(self.clusters)?;
        at_least("sessions", self.sessions(), 1)?;
        at_least("simulation.length", self.simulation.length as u64, 1)?;
        at_least("training.steps", self.training.steps.unwrap_or(1) as u64, 1)?;
        at_least("training.patience", self.training.patience as u64, 1)?;
        let (share, noise) = (self.simulation.production_share, self.simulation.click_noise);
        if !(share > 0.0 && share <= 1.0) {
            return refuse(format!("simulation.production-share should be in (0, 1], but is {share}"));
        }
        match (0.0..1.0).contains(&noise) {
            true => Ok(()),
            false => refuse(format!("simulation.click-noise should be in [0, 1), but is {noise}")),
        }
    }

    /// Rankers are chosen by the grades of validation queries and judged by those of test queries.
    fn check_data(&self, data: &Splits) -> Result<()> {
        for (part, name, least) in [(&data.validation, "validation", 1), (&data.test, "test", 2)] {
            part.require_grades(&format!("an experiment's {name} part"))?;
            at_least(&format!("the number of {name} queries"), part.query_count() as u64, least)?;
        }
        Ok(())
    }
}

pub(super) fn refuse<T>(finding: impl Into<String>) -> Result<T> {
    Err(Error::parameter(finding))
}

pub(super) fn at_least(name: &str, value: u64, least: u64) -> Result<()> {
    match value >= least {
        true => Ok(()),
        false => refuse(format!("{name} should be at least {least}, but is {value}")),
    }
}

/// The paper has numbers of clusters that its depths are for.
pub(super) fn known_clusters(clusters: usize) -> Result<()> {
    match paper_etas(clusters) {
        Some(_) => Ok(()),
        None => refuse(format!("the number of clusters should be 5, 10 or 20 as in the paper, but is {clusters}")),
    }
}

/// What stands in a list twice would be run once and counted twice.
pub(super) fn distinct<T: PartialEq + Display>(name: &str, values: &[T], least: usize) -> Result<()> {
    if values.len() < least {
        return refuse(format!("{name} should name at least one, but is empty"));
    }
    match values.iter().enumerate().find(|(index, value)| values[..*index].contains(value)) {
        Some((_, twice)) => refuse(format!("{name} should name each once, but {twice} is there twice")),
        None => Ok(()),
    }
}

/// Text without labels has a grade of 0 everywhere.
fn is_graded(data: &Dataset) -> bool {
    data.grades().is_some_and(|grades| grades.iter().any(|&grade| grade > 0))
}

fn made_with(data: &Splits, log: Option<String>) -> MadeWith {
    let parts = [&data.train, &data.validation, &data.test];
    MadeWith {
        file_type: Store::EXPERIMENT_TYPE.name.to_string(),
        version: Store::EXPERIMENT_TYPE.version,
        truerank: env!("CARGO_PKG_VERSION").to_string(),
        data: data.fingerprint(),
        log,
        queries: parts.map(Dataset::query_count),
        documents: parts.map(Dataset::len),
        features: data.train.feature_count(),
        graded: is_graded(&data.train),
    }
}
