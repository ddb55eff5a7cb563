//! The main question on generated data, once and quickly: for whoever wants to see what this is about.
//!
//! Examination is estimated from the clicks, as with any log of one's own; with the simulation's true one, which nobody has, all
//! corrections do better.

use super::{Question, Results, Settings, Source};
use crate::Result;
use crate::data::Preset;
use crate::options::{Options, options};
use crate::progress::Progress;
use crate::ranker::ModelForm;
use crate::report::{Provenance, Report};

options! {
    /// What a demonstration is made of.
    pub struct Demo {
        /// Data to generate.
        preset: Preset = Preset::Small;
        /// Sessions to simulate.
        sessions: Option<u64> = None, usual("200 per training query"), at_least(1.0);
        /// Kind of ranker: linear, mlp, mlp:SIZE,SIZE,…, linear-raw or trees.
        model: ModelForm = ModelForm::mlp(), usual("mlp");
        /// Training steps at most, for each MLP.
        steps: Option<usize> = None, usual("1000, on fewer than 10,000 training queries 300"), at_least(1.0);
        /// How often to run it all, each time with other users, clicks and initial weights.
        seeds: u64 = 1, at_least(1.0), value("N");
        /// The first seed.
        seed: u64 = 1;
    }
    beside {
        /// Where examination probabilities come from: `em` or `em-mlp` (estimated from the clicks), or `known` (the simulation's own).
        examination: Source = Source::EM,
    }
}

/// Enough for straightforward's variance to fall below ips-pbm's bias; user-aware is ahead of both from far fewer.
const SESSIONS_PER_QUERY: u64 = 200;

impl Demo {
    /// Generates the data, and runs it all.
    pub fn run(&self, progress: &dyn Progress) -> Result<Results> {
        self.check_ranges()?;
        let mut settings = self.settings();
        let data = settings.data.load()?;
        settings.sessions = self.sessions.or(Some(SESSIONS_PER_QUERY * data.train.query_count() as u64));
        settings.for_data(&data)?.run(&data, None, progress)
    }

    fn settings(&self) -> Settings {
        let mut settings = Settings {
            questions: vec![Question::Rq1],
            seeds: (self.seed..self.seed + self.seeds).collect(),
            models: vec![self.model.clone()],
            ..Settings::default()
        };
        (settings.data.preset, settings.data.seed) = (self.preset, self.seed);
        settings.training.steps = self.steps;
        if self.examination.is_estimated() {
            settings.questions = vec![Question::Rq4];
            (settings.rq4.main, settings.rq4.sources) = (self.examination, vec![Source::Cpbm]);
        }
        settings
    }

    /// The report on its results, which says how to make it again.
    pub fn report(&self, results: &Results) -> Report {
        let made = Provenance::of(results.settings.data.name()).seed(self.seed).options(self);
        let given = made.settings.iter().map(|(name, value)| format!(" --{} {value}", name.replace('_', "-")));
        let seed = if self.is_default("seed") { String::new() } else { format!(" --seed {}", self.seed) };
        let examination = match self.examination {
            Source::EM => "",
            Source::Known => " --examination true",
            _ => " --examination mlp",
        };
        let command = format!("truerank demo{}{seed}{examination}", given.collect::<String>());
        Report { provenance: Some(made.command(command)), ..results.report() }
    }
}
