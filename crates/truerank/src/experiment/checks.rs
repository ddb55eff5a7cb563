//! Refuses what cannot be run before anything runs, and fills in what depends on the data.

use std::fmt::Display;

use super::settings::MadeWith;
use super::{Question, Settings, Source, Store};
use crate::counts::LogSource;
use crate::data::{Dataset, Splits};
use crate::files::Fingerprint;
use crate::log::{Columns, ReadOptions};
use crate::ranker::ModelForm;
use crate::simulate::paper_etas;
use crate::{Error, Result};

/// The largest grade of generated documents.
pub(super) const GENERATED_MAX_GRADE: u8 = 4;

/// The sizes of rq2, where none are given, beside one session per training query and the main table's.
const SIZES: [u64; 5] = [10_000, 30_000, 100_000, 1_000_000, 10_000_000];

impl Settings {
    /// Fills in what depends on the data, and checks that the data can be used.
    pub fn for_data(mut self, data: &Splits) -> Result<Self> {
        self.check()?;
        self.check_data(data)?;
        let queries = data.train.query_count();
        let sessions = *self.sessions.get_or_insert(Settings::sessions_for(queries));
        if self.rq2.sessions.is_empty() {
            let more = SIZES.into_iter().chain([sessions]).filter(|&size| size > queries as u64);
            self.rq2.sessions = [queries as u64].into_iter().chain(more).collect();
        }
        self.rq2.sessions.sort_unstable();
        self.rq2.sessions.dedup();
        self.questions.sort();
        let log = (self.asks_real_log()).then(|| Fingerprint::of_files(&self.real.log)).transpose()?;
        self.made_with = Some(made_with(data, log));
        Ok(self)
    }

    /// Checks what can be checked without data, the log of real users included.
    pub fn check(&self) -> Result<()> {
        self.check_values()?;
        self.check_log()
    }

    /// The same without the log of real users, which results can do without.
    pub(super) fn check_values(&self) -> Result<()> {
        self.check_lists()?;
        self.check_numbers()?;
        if self.models.contains(&ModelForm::SvmRank) {
            return refuse(
                "models should learn from clicks, but svm-rank learns from grades only; choose linear, mlp or linear-raw",
            );
        }
        if !matches!(self.rq4.main, Source::Em { per_user: true, .. }) {
            return refuse(format!("rq4.main should be em or em-mlp, but is {}", self.rq4.main));
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

    fn check_lists(&self) -> Result<()> {
        distinct("questions", &self.questions, 1)?;
        distinct("seeds", &self.seeds, 1)?;
        distinct("models", &self.models, 1)?;
        distinct("rq2.sessions", &self.rq2.sessions, 0)?;
        distinct("rq2.methods", &self.rq2.methods, 1)?;
        distinct("rq3.clusters", &self.rq3.clusters, 1)?;
        distinct("rq4.sources", &self.rq4.sources, 0)?;
        distinct("real.seeds", &self.real.seeds, 1)
    }

    fn check_numbers(&self) -> Result<()> {
        for &clusters in self.rq3.clusters.iter().chain([&self.clusters]) {
            if paper_etas(clusters).is_none() {
                return refuse(format!(
                    "the number of clusters should be 5, 10 or 20 as in the paper, but is {clusters}"
                ));
            }
        }
        let sessions = self.rq2.sessions.iter().copied().chain([self.sessions(), self.real.sessions]);
        sessions.into_iter().try_for_each(|sessions| at_least("sessions", sessions, 1))?;
        at_least("simulation.length", self.simulation.length as u64, 1)?;
        at_least("training.steps", self.training.steps.unwrap_or(1) as u64, 1)?;
        at_least("training.patience", self.training.patience as u64, 1)?;
        at_least("real.users", self.real.users as u64, 1)?;
        at_least("real.queries", self.real.queries as u64, 1)?;
        at_least("real.features", self.real.features as u64, 1)?;
        at_least("real.labelled, to validate", self.real.labelled[0] as u64, 1)?;
        at_least("real.labelled, to test", self.real.labelled[1] as u64, 2)?;
        let (share, noise) = (self.simulation.production_share, self.simulation.click_noise);
        if !(share > 0.0 && share <= 1.0) {
            return refuse(format!("simulation.production-share should be in (0, 1], but is {share}"));
        }
        match (0.0..1.0).contains(&noise) {
            true => Ok(()),
            false => refuse(format!("simulation.click-noise should be in [0, 1), but is {noise}")),
        }
    }

    fn asks_real_log(&self) -> bool {
        self.questions.contains(&Question::Real) && !self.real.is_simulated()
    }

    /// Opens the log, so that a wrong name is said before the first run and not after the last.
    fn check_log(&self) -> Result<()> {
        if !self.asks_real_log() {
            return Ok(());
        }
        if self.data.folder.is_none() {
            return refuse("real.log names a log, so data.folder should name its documents, but it is missing");
        }
        self.log_source()?.columns().map(drop)
    }

    pub(super) fn log_source(&self) -> Result<LogSource> {
        let mut columns = Columns::default();
        self.real.columns.iter().try_for_each(|(field, name)| columns.map(field, name))?;
        Ok(LogSource::files(&self.real.log, ReadOptions::new().columns(columns)))
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

fn refuse<T>(finding: impl Into<String>) -> Result<T> {
    Err(Error::parameter(finding))
}

fn at_least(name: &str, value: u64, least: u64) -> Result<()> {
    match value >= least {
        true => Ok(()),
        false => refuse(format!("{name} should be at least {least}, but is {value}")),
    }
}

/// What stands in a list twice would be run once and counted twice.
fn distinct<T: PartialEq + Display>(name: &str, values: &[T], least: usize) -> Result<()> {
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
