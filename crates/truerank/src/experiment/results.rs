//! Everything an experiment has found so far.

use std::collections::BTreeMap;

use super::{Outcome, Run, Settings, Source, Store, WorldFacts, WorldId};
use crate::Result;
use crate::propensity::{Propensities, PropensityError};

/// What is known of an experiment's runs.
#[derive(Debug, Clone)]
pub struct Results {
    /// The experiment.
    pub settings: Settings,
    worlds: BTreeMap<WorldId, WorldFacts>,
    found: BTreeMap<(WorldId, String), Found>,
    outcomes: BTreeMap<String, Outcome>,
}

/// θ of a log by a source.
#[derive(Debug, Clone)]
pub struct Found {
    /// The probabilities.
    pub propensities: Propensities,
    /// How far they are from the truth, where that is known.
    pub error: Option<PropensityError>,
}

impl Results {
    /// Nothing found yet.
    pub fn new(settings: Settings) -> Self {
        Results { settings, worlds: BTreeMap::new(), found: BTreeMap::new(), outcomes: BTreeMap::new() }
    }

    /// All that a folder holds of an experiment.
    pub fn read(store: &Store, settings: Settings) -> Result<Self> {
        let mut results = Results::new(settings);
        for run in results.settings.runs() {
            if let Some(outcome) = store.run(&run)? {
                results.add_run(&run, outcome);
            }
            if !results.worlds.contains_key(&run.world)
                && let Some(facts) = store.world(run.world)?
            {
                results.worlds.insert(run.world, facts);
            }
            for source in [Source::Known, run.source] {
                if results.examination(run.world, source).is_none()
                    && let Some((propensities, error)) = store.examination(run.world, source)?
                {
                    results.add_examination(run.world, source, Found { propensities, error });
                }
            }
        }
        Ok(results)
    }

    /// The runs that are still to be made, in order.
    pub fn missing(&self) -> Vec<Run> {
        let mut runs = self.settings.runs();
        runs.retain(|run| self.outcome(run).is_none());
        runs
    }

    /// What a run achieved.
    pub fn outcome(&self, run: &Run) -> Option<&Outcome> {
        self.outcomes.get(&run.name())
    }

    /// What there is to say about a log.
    pub fn world(&self, world: WorldId) -> Option<&WorldFacts> {
        self.worlds.get(&world)
    }

    /// θ of a log by a source.
    pub fn examination(&self, world: WorldId, source: Source) -> Option<&Found> {
        self.found.get(&(world, source.to_string()))
    }

    pub(super) fn add_run(&mut self, run: &Run, outcome: Outcome) {
        self.outcomes.insert(run.name(), outcome);
    }

    pub(super) fn add_world(&mut self, world: WorldId, facts: WorldFacts) {
        self.worlds.insert(world, facts);
    }

    pub(super) fn add_examination(&mut self, world: WorldId, source: Source, found: Found) {
        self.found.insert((world, source.to_string()), found);
    }
}
