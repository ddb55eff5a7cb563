//! Makes the runs that are missing, world after world, and keeps each as soon as it is finished.

use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use rayon::prelude::*;

use super::world::click_rates;
use super::{
    Found, Method, NDCG5, Outcome, Results, Run, Settings, Source, Store, World, WorldFacts, WorldId, WorldOptions,
};
use crate::data::{Splits, grade_note};
use crate::network::Architecture;
use crate::progress::Progress;
use crate::propensity::Propensities;
use crate::ranker::{ModelForm, Training};
use crate::report::Format;
use crate::simulate::Simulation;
use crate::{Error, Result};

/// The paper's steps of an MLP.
const STEPS: usize = 1000;

/// Steps on logs of fewer than [`FEW_QUERIES`] training queries: nearly all of their rankers are best before.
const STEPS_ON_FEW: usize = 300;
const FEW_QUERIES: usize = 10_000;

impl Settings {
    /// Runs the experiment on data, from where `store` has it; without a store, in memory only.
    ///
    /// Every run depends on its settings alone, so a folder that was interrupted ends with the bytes of one that was not.
    pub fn run(&self, data: &Splits, store: Option<&Store>, progress: &dyn Progress) -> Result<Results> {
        let results = match store {
            Some(store) => Results::read(store, self.clone())?,
            None => Results::new(self.clone()),
        };
        let runs = self.runs();
        let worlds: Vec<Work<'_>> =
            runs.chunk_by(|a, b| a.world == b.world).filter_map(|runs| Work::left(runs, &results)).collect();
        let steps = Steps { inner: progress };
        let total = worlds.iter().map(|work| work.cost(self, data)).sum();
        steps.begin_all(&worlds, total);
        let left = worlds.iter().map(|work| work.runs.len()).sum();
        let mut runner = Runner { settings: self, data, store, steps, results, begun: AtomicUsize::new(0), left };
        worlds.iter().try_for_each(|work| runner.run_world(work))?;
        Ok(runner.results)
    }

    /// Checks the experiment, loads its data, and runs it; with a folder from where that has it, and then writes the
    /// report there, also on what was finished before an error.
    pub fn carry_out(self, folder: Option<&Path>, progress: &dyn Progress) -> Result<Results> {
        self.check()?;
        folder.map(Store::check).transpose()?;
        let data = self.data.load()?;
        if let Some(note) = grade_note([&data.train, &data.validation, &data.test], self.data.max_grade) {
            progress.done(&note);
        }
        let mut settings = self.for_data(&data)?;
        let Some(folder) = folder else { return settings.run(&data, None, progress) };
        let store = Store::create(folder, &mut settings)?;
        let outcome = settings.run(&data, Some(&store), progress);
        let results = match &outcome {
            Ok(results) => results,
            Err(_) => &Results::read(&store, settings)?,
        };
        results.report().write(folder)?;
        outcome
    }

    fn world_options(&self, sessions: u64) -> WorldOptions {
        WorldOptions {
            length: self.simulation.length,
            production_share: self.simulation.production_share,
            max_grade: self.data.max_grade,
            patterns: Settings::draws_sessions(sessions),
            transitions: false,
        }
    }

    fn simulation(&self, clusters: usize, sessions: u64) -> Simulation {
        Simulation::new().sessions(sessions).users(clusters).click_noise(self.simulation.click_noise)
    }

    /// How a network trains on so many training queries.
    ///
    /// A linear ranker's loss is convex and soon at its minimum, so L-BFGS goes on to its tolerance whatever the validation
    /// queries say. They choose in any case: of all iterations, the weights of the best one are kept.
    fn trainer(&self, architecture: &Architecture, seed: u64, queries: usize) -> Training {
        let trainer = Training::network(architecture.clone()).seed(seed);
        let trainer = trainer.scaling(self.training.scaling).batch(BATCH);
        match architecture {
            Architecture::Linear => trainer,
            Architecture::Mlp { .. } => trainer.steps(self.steps(queries)).patience(self.training.patience),
        }
    }

    /// Steps of an MLP at most, on a log of so many queries.
    fn steps(&self, queries: usize) -> usize {
        self.training.steps.unwrap_or(if queries < FEW_QUERIES { STEPS_ON_FEW } else { STEPS })
    }
}

/// What is left to do in one world.
struct Work<'a> {
    world: WorldId,
    runs: Vec<&'a Run>,
    sources: Vec<Source>,
    /// The seed of estimates of θ.
    seed: u64,
}

impl<'a> Work<'a> {
    /// Of all runs of a world, those without an outcome, and the sources without θ; nothing where all is there.
    fn left(all: &'a [Run], results: &Results) -> Option<Self> {
        let world = all[0].world;
        let runs: Vec<&Run> = all.iter().filter(|run| results.outcome(run).is_none()).collect();
        let mut sources: Vec<Source> = Vec::new();
        for run in all.iter().filter(|run| run.method.uses_examination()) {
            if !sources.contains(&run.source) && results.examination(world, run.source).is_none() {
                sources.push(run.source);
            }
        }
        let done = runs.is_empty() && sources.is_empty() && results.world(world).is_some();
        (!done).then_some(Work { world, runs, sources, seed: all[0].seed })
    }

    fn cost(&self, settings: &Settings, data: &Splits) -> u64 {
        let runs: u64 = self.runs.iter().map(|run| cost(run, settings, data)).sum();
        WORLD_COST + runs + self.sources.iter().map(|source| source_cost(*source)).sum::<u64>()
    }
}

struct Runner<'a> {
    settings: &'a Settings,
    data: &'a Splits,
    store: Option<&'a Store>,
    steps: Steps<'a>,
    results: Results,
    /// How many runs have begun, of those that were left to do.
    begun: AtomicUsize,
    left: usize,
}

impl Runner<'_> {
    fn run_world(&mut self, work: &Work<'_>) -> Result<()> {
        let generated;
        let data = match work.world {
            WorldId::Logged if self.settings.real.is_simulated() => {
                self.steps.note("generating the documents of the log");
                generated = self.settings.generate_real_data()?;
                &generated
            }
            _ => self.data,
        };
        let world = self.prepare(work.world, data)?;
        self.keep_facts(work.world, &world)?;
        self.steps.inner.advance(WORLD_COST)?;
        self.find_examination(work, &world)?;
        let (spread, one_by_one): (Vec<&Run>, Vec<&Run>) = work.runs.iter().partition(|run| trains_on_one_core(run));
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
            WorldId::Browsed { clicked, clusters, sessions, labelled, seed } => {
                let simulation = self.settings.simulation(clusters, sessions).click_model(clicked.models());
                let simulation = simulation.swap(self.settings.robustness.swap);
                let production_share = f64::from(labelled) / 1e6;
                let options =
                    WorldOptions { production_share, transitions: true, ..self.settings.world_options(sessions) };
                World::simulate(data, &simulation, &options, seed, &self.steps)
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

    /// θ by every source that is left, and the truth where there is one.
    fn find_examination(&mut self, work: &Work<'_>, world: &World<'_>) -> Result<()> {
        let known = world.propensities().map(|_| Source::Known).filter(|known| !work.sources.contains(known));
        for source in known.into_iter().chain(work.sources.iter().copied()) {
            self.steps.note(&format!("examination by {source}"));
            let propensities = world.examination(source, work.seed, &self.steps)?;
            let truth = world.propensities().filter(|_| source.is_estimated());
            let error = truth.map(|truth| propensities.error_against(truth, world.counts())).transpose()?;
            let store = |store: &Store| store.keep_examination(work.world, source, &propensities, error);
            self.store.map_or(Ok(()), store)?;
            self.results.add_examination(work.world, source, Found { propensities, error });
            self.steps.inner.advance(source_cost(source))?;
        }
        Ok(())
    }

    fn train(&self, world: &World<'_>, run: &Run) -> Result<Outcome> {
        let propensities = self.results.examination(run.world, run.source).map(|found| &found.propensities);
        let number = self.begun.fetch_add(1, Ordering::Relaxed) + 1;
        let what = format!("{number} of {}: {}", self.left, run.label(self.settings));
        self.steps.note(&format!("training {what}"));
        let part = Part::new(self.steps.inner, cost(run, self.settings, self.data));
        let outcome = self.outcome(world, run, propensities, &part)?;
        self.store.map_or(Ok(()), |store| store.keep_run(run, &outcome))?;
        part.finish()?;
        self.steps.inner.done(&format!("trained {what}, nDCG@5 {}", Format::Measure.print(outcome.mean(NDCG5))));
        Ok(outcome)
    }
}

impl Runner<'_> {
    fn outcome(
        &self,
        world: &World<'_>,
        run: &Run,
        propensities: Option<&Propensities>,
        progress: &dyn Progress,
    ) -> Result<Outcome> {
        match &run.model {
            ModelForm::Network(architecture) => {
                let trainer = self.settings.trainer(architecture, run.seed, world.counts().queries.len());
                world.run(run.method, propensities, &trainer, progress)
            }
            model if model.kind().learns_from_weights => {
                world.run(run.method, propensities, &Training::new().model(model.clone()), progress)
            }
            model => Err(Error::parameter(format!("{model} learns from grades only, so it has no run"))),
        }
    }
}

/// Linear rankers train on about one and a half cores of two, so several at a time are faster; an MLP keeps all cores
/// busy by itself. Measured on two cores: 1.76 and 2.0 times one core's speed.
fn trains_on_one_core(run: &Run) -> bool {
    !matches!(run.model, ModelForm::Network(Architecture::Mlp { .. })) || run.method == Method::Production
}

/// What a world, a run and a source cost, in about tenths of a second on two cores: for the time left only.
const WORLD_COST: u64 = 30;

/// Multiplications and additions of an MLP in a tenth of a second.
const MLP_SPEED: f64 = 1e10;

fn cost(run: &Run, settings: &Settings, data: &Splits) -> u64 {
    match (run.method, &run.model, run.world) {
        (Method::Production, ..) => 1,
        (
            _,
            ModelForm::Network(mlp @ Architecture::Mlp { .. }),
            WorldId::Simulated { .. } | WorldId::Browsed { .. },
        ) => {
            let sizes = (data.train.query_count(), data.train.feature_count(), data.validation.len());
            mlp_cost(mlp, settings, sizes)
        }
        (_, ModelForm::Network(mlp @ Architecture::Mlp { .. }), WorldId::Logged) => {
            mlp_cost(mlp, settings, (settings.real.queries, settings.real.features, 0))
        }
        _ => 4,
    }
}

/// A step goes through a batch forward and backward, a check through the validation documents forward.
fn mlp_cost(mlp: &Architecture, settings: &Settings, (queries, features, validated): (usize, usize, usize)) -> u64 {
    let layers = mlp.layers(features, true).unwrap_or_default();
    let weights: usize = layers.iter().map(|layer| layer.inputs * layer.outputs).sum();
    let rows = BATCH_ROWS * 6.0 + validated as f64 / STEPS_PER_CHECK * 2.0;
    (settings.steps(queries) as f64 * rows * weights as f64 / MLP_SPEED).ceil() as u64
}

/// Queries of a batch, as in the paper.
const BATCH: usize = 256;

/// Documents of a batch: 256 lists of 10.
const BATCH_ROWS: f64 = 2560.0;
const STEPS_PER_CHECK: f64 = 10.0;

fn source_cost(source: Source) -> u64 {
    match source {
        Source::Known => 0,
        Source::Em { mlp: false, .. } => 30,
        Source::Em { mlp: true, .. } => 200,
        _ => 60,
    }
}

/// The progress of one run within the whole: its training steps become parts of its cost.
struct Part<'a> {
    inner: &'a dyn Progress,
    cost: u64,
    /// Steps of the training at hand, and how many of them are done; none while something else is done.
    total: AtomicU64,
    done: AtomicU64,
    told: AtomicU64,
}

impl<'a> Part<'a> {
    fn new(inner: &'a dyn Progress, cost: u64) -> Self {
        let [total, done, told] = [0; 3].map(AtomicU64::new);
        Part { inner, cost, total, done, told }
    }

    /// Tells what is not told yet of `cost`, up to so much of it.
    fn tell(&self, cost: u64) -> Result<()> {
        let before = self.told.fetch_max(cost, Ordering::Relaxed);
        self.inner.advance(cost.saturating_sub(before))
    }

    /// Tells the rest: few rankers need all of their steps.
    fn finish(&self) -> Result<()> {
        self.tell(self.cost)
    }
}

impl Progress for Part<'_> {
    fn begin(&self, what: &str, total: u64) {
        self.done.store(0, Ordering::Relaxed);
        self.total.store(if what.starts_with("training") { total } else { 0 }, Ordering::Relaxed);
    }

    fn advance(&self, steps: u64) -> Result<()> {
        let done = self.done.fetch_add(steps, Ordering::Relaxed) + steps;
        match self.total.load(Ordering::Relaxed) {
            0 => self.inner.advance(0),
            total => self.tell(self.cost * done.min(total) / total),
        }
    }
}

/// The progress of the whole experiment: what the parts say of theirs becomes a note.
struct Steps<'a> {
    inner: &'a dyn Progress,
}

impl Steps<'_> {
    fn begin_all(&self, worlds: &[Work<'_>], total: u64) {
        let runs: usize = worlds.iter().map(|work| work.runs.len()).sum();
        if !worlds.is_empty() {
            self.inner.begin(&count_of(runs, "run"), total);
        }
    }
}

/// `1 run`, `2 runs`.
pub(super) fn count_of(count: usize, what: &str) -> String {
    format!("{} {what}{}", Format::Count.print(count as f64), if count == 1 { "" } else { "s" })
}

impl Progress for Steps<'_> {
    fn begin(&self, what: &str, _total: u64) {
        self.inner.note(what);
    }

    fn advance(&self, _steps: u64) -> Result<()> {
        self.inner.advance(0)
    }

    fn note(&self, text: &str) {
        self.inner.note(text);
    }
}
