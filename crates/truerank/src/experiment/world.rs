//! A log to learn from and what is known about it: from data and settings to counts, shown lists and the truth.

use super::{Method, Outcome};
use crate::counts::{CountOptions, Counts, count_log};
use crate::data::Splits;
use crate::progress::Progress;
use crate::propensity::Propensities;
use crate::ranker::{self, Production, Ranker, production_ranker};
use crate::simulate::{ShownLists, Simulation, Simulator};
use crate::{Error, Result};

/// How lists are shown and judged.
#[derive(Debug, Clone, PartialEq)]
pub struct WorldOptions {
    /// How many documents are shown.
    pub length: usize,
    /// The share of labelled training queries that the production ranker learns from.
    pub production_share: f64,
    /// The largest grade of the data.
    pub max_grade: u8,
    /// Whether clicks that came together are kept, which `prs` needs and which takes sessions one by one.
    pub patterns: bool,
    /// Whether click transitions are counted, which click models need; they are drawn without sessions, so there are no patterns.
    pub transitions: bool,
}

impl Default for WorldOptions {
    /// The paper's.
    fn default() -> Self {
        let Production { length, production_share } = Production::default();
        WorldOptions {
            length,
            production_share,
            max_grade: Simulation::default().max_grade,
            patterns: true,
            transitions: false,
        }
    }
}

/// One log and everything the runs on it share.
pub struct World<'a> {
    pub(super) data: &'a Splits,
    pub(super) counts: Counts,
    pub(super) max_grade: u8,
    /// Who ranked the lists, and the lists, where that is known.
    pub(super) production: Option<(Ranker, ShownLists)>,
    pub(super) truth: Option<Truth>,
}

/// What only a simulation knows.
pub(super) struct Truth {
    /// How it was made, so that it can be made again with interventions.
    pub simulation: Simulation,
    pub seed: u64,
    /// P(r=1) of each row of the training data.
    pub relevance: Vec<f64>,
    /// θ of every user, where examination depends on the position alone.
    pub propensities: Option<Propensities>,
}

impl<'a> World<'a> {
    /// Trains a production ranker on a few labels and simulates clicks on its lists; all follows from `seed`.
    pub fn simulate(
        data: &'a Splits,
        simulation: &Simulation,
        options: &WorldOptions,
        seed: u64,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let production = production_ranker(&data.train, options.production_share, seed, progress)?;
        let lists = ShownLists::top(&data.train, &production.score(&data.train)?, options.length)?;
        let simulation = simulation.clone().max_grade(options.max_grade).seed(seed);
        let simulator = simulation.clone().prepare(&data.train, std::slice::from_ref(&lists))?;
        progress.begin("simulating", 1);
        let counts = match (options.transitions, options.patterns) {
            (true, _) => simulator.counts_with_transitions()?,
            (false, true) => count(&simulator, true)?,
            (false, false) => simulator.counts()?,
        };
        let relevance = simulator.relevance().to_vec();
        let propensities = simulation.is_position_based().then(|| simulator.propensities());
        let truth = Truth { propensities, simulation, seed, relevance };
        let (max_grade, production, truth) = (options.max_grade, Some((production, lists)), Some(truth));
        Ok(World { data, counts, max_grade, production, truth })
    }

    /// A log of real users: who ranked its lists, and the truth, are not known; the lists themselves are.
    pub fn logged(data: &'a Splits, counts: Counts, max_grade: u8) -> Self {
        World { data, counts, max_grade, production: None, truth: None }
    }

    /// The clicks.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The simulation's θ, where the log is simulated.
    pub fn propensities(&self) -> Option<&Propensities> {
        self.truth.as_ref()?.propensities.as_ref()
    }

    /// Trains by a method and evaluates on the test queries. `propensities` are for methods that use them.
    pub fn run(
        &self,
        method: Method,
        propensities: Option<&Propensities>,
        how: &ranker::Training,
        progress: &dyn Progress,
    ) -> Result<Outcome> {
        super::training::Training { world: self, how, progress }.run(method, propensities)
    }

    pub(super) fn require_truth(&self, purpose: &str) -> Result<&Truth> {
        self.truth.as_ref().ok_or_else(|| Error::parameter(format!("{purpose} needs a simulated log")))
    }

    /// A second log of the same users, with interventions: other sessions, as many.
    pub(super) fn intervened(&self, change: impl FnOnce(Simulation) -> Simulation) -> Result<Counts> {
        let truth = self.require_truth("a log with interventions")?;
        let (_, lists) = self.production.as_ref().ok_or_else(|| Error::parameter("nobody knows the shown lists"))?;
        let other = truth.simulation.clone().world_seed(Some(truth.seed)).seed(truth.seed.wrapping_add(SECOND_LOG));
        let simulation = change(other);
        let simulator = simulation.prepare(&self.data.train, std::slice::from_ref(lists))?;
        count(&simulator, false)
    }
}

/// What is added to the seed for the log with interventions, so that its clicks are other ones.
const SECOND_LOG: u64 = 1 << 32;

/// Counts of sessions that were drawn one by one.
fn count(simulator: &Simulator<'_>, patterns: bool) -> Result<Counts> {
    Ok(count_log(&simulator.log(), &CountOptions::new().patterns(patterns))?.0)
}

/// Clicks per impression at positions 1, 2, ….
pub(super) fn click_rates(counts: &Counts) -> Vec<f64> {
    let mut sums = vec![(0u64, 0u64); counts.max_position() as usize];
    for cell in &counts.cells {
        let sum = &mut sums[cell.position as usize - 1];
        *sum = (sum.0 + cell.impressions, sum.1 + cell.clicks);
    }
    sums.into_iter().map(|(impressions, clicks)| clicks as f64 / impressions.max(1) as f64).collect()
}
