//! From settings to the runs of an experiment, and what the questions plan them with.

use std::collections::HashSet;

use super::{Method, Run, Settings, Source, WorldId};
use crate::ranker::ModelForm;

/// From more sessions than this on, counts are drawn without sessions: the same distribution, at a cost that no longer
/// grows.
const MOST_DRAWN_SESSIONS: u64 = 2_000_000;

impl Settings {
    /// Every run that the questions need, each once, world after world.
    pub fn runs(&self) -> Vec<Run> {
        let mut runs: Vec<Run> = self.questions.iter().flat_map(|question| question.runs(self)).collect();
        let mut seen = HashSet::new();
        runs.retain(|run| seen.insert(run.name()));
        let mut worlds: Vec<WorldId> = Vec::new();
        for run in &runs {
            if !worlds.contains(&run.world) {
                worlds.push(run.world);
            }
        }
        runs.sort_by_key(|run| worlds.iter().position(|world| *world == run.world));
        runs
    }

    /// Whether so many sessions are drawn one by one.
    pub fn draws_sessions(sessions: u64) -> bool {
        sessions <= MOST_DRAWN_SESSIONS
    }

    /// Whether a ranker can learn by a method from a simulated log of so many sessions: pairs of clicks need sessions one by
    /// one, and networks.
    pub fn has_run(method: Method, sessions: u64, model: &ModelForm) -> bool {
        model.learns_by(method) && (!matches!(method, Method::Pairs(_)) || Settings::draws_sessions(sessions))
    }

    /// A simulated log for each seed.
    pub(super) fn worlds(&self, clusters: usize, sessions: u64) -> impl Iterator<Item = WorldId> {
        self.seeds.iter().map(move |&seed| WorldId::Simulated { clusters, sessions, seed })
    }

    /// The worlds of the main table, one per seed.
    pub(super) fn main_worlds(&self) -> impl Iterator<Item = WorldId> {
        self.worlds(self.clusters, self.sessions())
    }

    /// The form of ranker of questions that have one.
    pub(super) fn main_model(&self) -> &ModelForm {
        &self.models[0]
    }

    /// The form of ranker of questions with very many runs: the first linear one, else the first.
    pub(super) fn grid_model(&self) -> &ModelForm {
        self.models.iter().find(|model| **model == ModelForm::LINEAR).unwrap_or(self.main_model())
    }

    /// Those of the methods that have a run on logs of as many sessions as the main table's.
    pub(super) fn possible(&self, model: &ModelForm, methods: impl IntoIterator<Item = Method>) -> Vec<Method> {
        let sessions = self.sessions();
        methods.into_iter().filter(|method| Settings::has_run(*method, sessions, model)).collect()
    }

    /// The methods that learn from clicks, on a log of as many sessions as the main table's.
    pub(super) fn learning(&self, model: &ModelForm) -> Vec<Method> {
        self.possible(model, Method::ALL.into_iter().filter(|method| method.learns_from_clicks()))
    }

    /// The runs of the main table's worlds by what no number of sessions changes: trained once per seed.
    pub(super) fn ideal_runs(&self) -> Vec<Run> {
        let of_world =
            |world| self.models.iter().map(move |model| Run::new(world, Method::Ideal, Source::Known, model));
        self.main_worlds().flat_map(of_world).collect()
    }
}
