//! Makes the runs that are missing, world after world, and keeps each as soon as it is finished.

use rayon::prelude::*;

use super::world::click_rates;
use super::{EmRelevance, Found, Method, Outcome, Results, Run, Settings, Source, Store, World, WorldFacts, WorldId};
use crate::Result;
use crate::data::Splits;
use crate::evaluate::Measure;
use crate::network::Architecture;
use crate::progress::Progress;

impl Settings {
    /// Runs the experiment on data, from where `store` has it; without a store, in memory only.
    ///
    /// Every run depends on its settings alone, so a folder that was interrupted ends with the bytes of one that was not.
    pub fn run(&self, data: &Splits, store: Option<&Store>, progress: &dyn Progress) -> Result<Results> {
        let results = match store {
            Some(store) => Results::read(store, self.clone())?,
            None => Results::new(self.clone()),
        };
        let missing = results.missing();
        let steps = Steps { inner: progress, runs: missing.len() };
        steps.begin_all(&missing);
        let mut runner = Runner { settings: self, data, store, steps, results };
        for runs in missing.chunk_by(|a, b| a.world == b.world) {
            runner.run_world(runs)?;
        }
        Ok(runner.results)
    }
}

struct Runner<'a> {
    settings: &'a Settings,
    data: &'a Splits,
    store: Option<&'a Store>,
    steps: Steps<'a>,
    results: Results,
}

impl Runner<'_> {
    fn run_world(&mut self, runs: &[Run]) -> Result<()> {
        let id = runs[0].world;
        let generated;
        let data = match id {
            WorldId::Logged if self.settings.real.is_simulated() => {
                self.steps.note("generating the documents of the log");
                generated = self.settings.generate_real_data()?;
                &generated
            }
            _ => self.data,
        };
        let world = self.prepare(id, data)?;
        self.keep_facts(id, &world)?;
        self.find_examination(id, &world, runs)?;
        let (spread, one_by_one): (Vec<&Run>, Vec<&Run>) = runs.iter().partition(|run| trains_on_one_core(run));
        let outcomes: Vec<(&Run, Outcome)> =
            spread.into_par_iter().map(|run| Ok((run, self.train(&world, run)?))).collect::<Result<_>>()?;
        outcomes.into_iter().for_each(|(run, outcome)| self.results.add_run(run, outcome));
        for run in one_by_one {
            let outcome = self.train(&world, run)?;
            self.results.add_run(run, outcome);
        }
        Ok(())
    }

    fn prepare<'d>(&self, id: WorldId, data: &'d Splits) -> Result<World<'d>> {
        match id {
            WorldId::Simulated { clusters, sessions, seed } => {
                let simulation = self.settings.simulation(clusters, sessions);
                World::simulate(data, &simulation, &self.settings.world_options(sessions), seed, &self.steps)
            }
            WorldId::Logged if self.settings.real.is_simulated() => self.settings.simulate_real_log(data, &self.steps),
            WorldId::Logged => self.settings.read_real_log(data, &self.steps),
        }
    }

    fn keep_facts(&mut self, id: WorldId, world: &World<'_>) -> Result<()> {
        let counts = world.counts();
        let facts = WorldFacts {
            sessions: counts.session_count(),
            users: counts.users.len(),
            queries: counts.queries.len(),
            documents: counts.shown_count(),
            click_rates: click_rates(counts),
        };
        self.store.map_or(Ok(()), |store| store.keep_world(id, &facts))?;
        self.results.add_world(id, facts);
        Ok(())
    }

    /// θ by every source that the runs need, and the truth where there is one.
    fn find_examination(&mut self, id: WorldId, world: &World<'_>, runs: &[Run]) -> Result<()> {
        let mut sources: Vec<Source> = world.propensities().map(|_| Source::Known).into_iter().collect();
        runs.iter().filter(|run| run.method.uses_examination()).for_each(|run| {
            if !sources.contains(&run.source) {
                sources.push(run.source);
            }
        });
        for source in sources {
            if self.results.examination(id, source).is_some() {
                continue;
            }
            self.steps.note(&format!("examination by {source}"));
            let propensities = world.examination(source, runs[0].seed, &self.steps)?;
            let truth = world.propensities().filter(|_| source.is_estimated());
            let error = truth.map(|truth| propensities.error_against(truth, world.counts())).transpose()?;
            let store = |store: &Store| store.keep_examination(id, source, &propensities, error);
            self.store.map_or(Ok(()), store)?;
            self.results.add_examination(id, source, Found { propensities, error });
            self.steps.advance_by(source_cost(source));
        }
        Ok(())
    }

    fn train(&self, world: &World<'_>, run: &Run) -> Result<Outcome> {
        let propensities = self.results.examination(run.world, run.source).map(|found| &found.propensities);
        let outcome = world.run(run.method, propensities, &self.settings.trainer(run), &self.steps)?;
        self.store.map_or(Ok(()), |store| store.keep_run(run, &outcome))?;
        self.steps.finished(run, &outcome);
        Ok(outcome)
    }
}

/// Linear rankers train on about one and a half cores of two, so several at a time are faster; an MLP keeps all cores
/// busy by itself. Measured on two cores: 1.76 and 2.0 times one core's speed.
fn trains_on_one_core(run: &Run) -> bool {
    run.model == Architecture::Linear || run.method == Method::Production
}

/// What a run costs, in about tenths of a second: for the time left only.
fn cost(run: &Run) -> u64 {
    match (run.method, &run.model) {
        (Method::Production, _) => 1,
        (_, Architecture::Linear) => 4,
        (_, Architecture::Mlp { .. }) => 100,
    }
}

fn source_cost(source: Source) -> u64 {
    match source {
        Source::Known => 0,
        Source::Em { relevance: EmRelevance::Linear, .. } => 30,
        Source::Em { relevance: EmRelevance::Mlp, .. } => 200,
        _ => 60,
    }
}

/// The progress of the whole experiment: what the parts say of theirs becomes a note.
struct Steps<'a> {
    inner: &'a dyn Progress,
    runs: usize,
}

impl Steps<'_> {
    fn begin_all(&self, runs: &[Run]) {
        if runs.is_empty() {
            return;
        }
        let mut sources: Vec<(WorldId, Source)> = Vec::new();
        runs.iter().filter(|run| run.method.uses_examination()).for_each(|run| {
            if !sources.contains(&(run.world, run.source)) {
                sources.push((run.world, run.source));
            }
        });
        let total = runs.iter().map(cost).sum::<u64>() + sources.iter().map(|(_, s)| source_cost(*s)).sum::<u64>();
        let what = if self.runs == 1 { "1 run".to_string() } else { format!("{} runs", self.runs) };
        self.inner.begin(&what, total);
    }

    fn advance_by(&self, cost: u64) {
        self.inner.advance(cost);
    }

    fn finished(&self, run: &Run, outcome: &Outcome) {
        self.inner.advance(cost(run));
        self.inner.done(&format!("{}: nDCG@5 {:.4}", run.name(), outcome.mean(Measure::Ndcg(Some(5)))));
    }
}

impl Progress for Steps<'_> {
    fn begin(&self, what: &str, _total: u64) {
        self.inner.note(what);
    }

    fn advance(&self, _steps: u64) {}

    fn note(&self, text: &str) {
        self.inner.note(text);
    }
}
