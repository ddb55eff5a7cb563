//! The paper's research questions, each as the list of runs that answers it.

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

use super::{Method, Run, Settings, Source, WorldId};
use crate::named::find_named;
use crate::ranker::ModelForm;
use crate::{Error, Result};

/// A research question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Question {
    /// Is user-aware better than the others?
    Rq1,
    /// How do they do with fewer and with more sessions?
    Rq2,
    /// With fewer and with more kinds of users?
    Rq3,
    /// With examination estimated from the clicks?
    Rq4,
    /// On a log of real users?
    Real,
}

impl Question {
    /// All of them, in the paper's order.
    pub const ALL: [Question; 5] = [Question::Rq1, Question::Rq2, Question::Rq3, Question::Rq4, Question::Real];

    /// The runs that answer it.
    pub fn runs(self, settings: &Settings) -> Vec<Run> {
        let planner = Planner { settings };
        match self {
            Question::Rq1 => planner.main_table(),
            Question::Rq2 => planner.learning_curves(),
            Question::Rq3 => planner.numbers_of_clusters(),
            Question::Rq4 => planner.estimated_examination(),
            Question::Real => planner.logged(),
        }
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Question::Rq1 => "rq1",
            Question::Rq2 => "rq2",
            Question::Rq3 => "rq3",
            Question::Rq4 => "rq4",
            Question::Real => "real",
        })
    }
}

impl FromStr for Question {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        find_named(&Question::ALL, text, "a question")
    }
}

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
}

/// From more sessions than this on, counts are drawn without sessions: the same distribution, at a cost that no longer
/// grows.
const MOST_DRAWN_SESSIONS: u64 = 2_000_000;

struct Planner<'a> {
    settings: &'a Settings,
}

impl Planner<'_> {
    fn world(&self, clusters: usize, sessions: u64, seed: u64) -> WorldId {
        WorldId::Simulated { clusters, sessions, seed }
    }

    /// The worlds of the main table, one per seed.
    fn base_worlds(&self) -> impl Iterator<Item = WorldId> {
        let (clusters, sessions) = (self.settings.clusters, self.settings.sessions());
        self.settings.seeds.iter().map(move |&seed| self.world(clusters, sessions, seed))
    }

    fn main_model(&self) -> &ModelForm {
        &self.settings.models[0]
    }

    fn main_table(&self) -> Vec<Run> {
        let (sessions, model) = (self.settings.sessions(), self.main_model());
        let methods = || Method::ALL.into_iter().filter(|method| Settings::has_run(*method, sessions, model));
        let of_world = |world| methods().map(move |method| Run::new(world, method, Source::Known, model));
        self.base_worlds().flat_map(of_world).collect()
    }

    /// The methods that learn from clicks, on a log of as many sessions as the main table's.
    fn learned<'m>(&self, model: &'m ModelForm) -> impl Iterator<Item = Method> + use<'m> {
        let sessions = self.settings.sessions();
        Method::ALL
            .into_iter()
            .filter(move |method| method.learns_from_clicks() && Settings::has_run(*method, sessions, model))
    }

    /// Ideal does not depend on the number of sessions, and is trained once per seed.
    fn ideal(&self) -> Vec<Run> {
        let of_world =
            |world| self.settings.models.iter().map(move |model| Run::new(world, Method::Ideal, Source::Known, model));
        self.base_worlds().flat_map(of_world).collect()
    }

    fn learning_curves(&self) -> Vec<Run> {
        let mut runs = self.ideal();
        for &sessions in &self.settings.rq2.sessions {
            for &seed in &self.settings.seeds {
                let world = self.world(self.settings.clusters, sessions, seed);
                for &method in &self.settings.rq2.methods {
                    let can = |model: &&ModelForm| Settings::has_run(method, sessions, model);
                    let of_model = |model| Run::new(world, method, Source::Known, model);
                    runs.extend(self.settings.models.iter().filter(can).map(of_model));
                }
            }
        }
        runs
    }

    fn numbers_of_clusters(&self) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for world in self.base_worlds() {
            let shared = [Method::Production, Method::Ideal];
            runs.extend(shared.map(|method| Run::new(world, method, Source::Known, self.main_model())));
        }
        for &clusters in &self.settings.rq3.clusters {
            for &seed in &self.settings.seeds {
                let world = self.world(clusters, self.settings.sessions(), seed);
                let model = self.main_model();
                runs.extend(self.learned(model).map(|method| Run::new(world, method, Source::Known, model)));
            }
        }
        runs
    }

    fn estimated_examination(&self) -> Vec<Run> {
        let mut runs = self.ideal();
        for world in self.base_worlds() {
            for model in &self.settings.models {
                runs.extend(self.learned(model).map(|method| Run::new(world, method, self.settings.rq4.main, model)));
                runs.push(Run::new(world, Method::STRAIGHTFORWARD, Source::Cpbm, model));
                let sources = [Source::Known].into_iter().chain(self.settings.rq4.sources.iter().copied());
                runs.extend(sources.map(|source| Run::new(world, Method::USER_AWARE, source, model)));
            }
        }
        runs
    }

    fn logged(&self) -> Vec<Run> {
        let (source, model) = (Source::EM, self.main_model());
        // Rankers that learned from grades, and the lists as shown, are judged by grades.
        let graded = self.settings.made_with.as_ref().is_some_and(|made| made.graded);
        let known = self.settings.real.is_simulated() || graded;
        let possible = |method: &Method| (method.learns_from_clicks() || known) && model.learns_by(*method);
        let of_seed = |&seed: &u64| {
            let methods = Method::ALL.into_iter().filter(possible);
            methods.map(move |method| Run::new(WorldId::Logged, method, source, model).seed(seed))
        };
        self.settings.real.seeds.iter().flat_map(of_seed).collect()
    }
}
