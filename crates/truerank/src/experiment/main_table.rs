//! The main table: every way of learning from the same clicks, judged by the same test queries.

use std::fmt;

use super::production_ranker;
use crate::counts::{CountOptions, Counts, count_log};
use crate::data::Splits;
use crate::evaluate::{Evaluation, Evaluator, Measure};
use crate::network::Architecture;
use crate::progress::Progress;
use crate::propensity::{Cpbm, EmUsers, Propensities, PropensityError, RegressionEm};
use crate::ranker::{Ranker, Targets, Trainer, TrainingLists, TrainingPairs, TrainingRecord, Validation};
use crate::relevance::{Estimator, Relevance, estimate, pair_weights};
use crate::simulate::{ShownLists, Simulation};
use crate::{Error, Result};

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Method {
    /// The ranker that showed the lists.
    Production,
    /// Trained on the grades of the shown documents: what could be reached.
    Ideal,
    /// Trained on click pairs, [`pair_weights`].
    Prs,
    /// Trained on estimated relevance.
    Estimated(Estimator),
    /// Clicks corrected one by one as by `straightforward`, with θ by CPBM from a log of its own that has
    /// interventions.
    Cpbm,
}

impl Method {
    /// The rows of the paper's table, and the smoothed estimator.
    pub fn all() -> Vec<Method> {
        let [naive, ips, straightforward, user_aware, smoothed] = Estimator::all().map(Method::Estimated);
        vec![Method::Production, Method::Ideal, naive, ips, Method::Prs, straightforward, user_aware, smoothed]
    }

    /// The same with CPBM, for tables in which θ is estimated.
    pub fn with_estimated_examination() -> Vec<Method> {
        let mut methods = Method::all();
        methods.insert(5, Method::Cpbm);
        methods
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Method::Production => f.pad("production"),
            Method::Ideal => f.pad("ideal"),
            Method::Prs => f.pad("prs"),
            Method::Estimated(estimator) => estimator.fmt(f),
            Method::Cpbm => f.pad("cpbm"),
        }
    }
}

/// Where θ comes from.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Examination {
    /// The simulation's own.
    #[default]
    Known,
    /// Regression-EM on the clicks: the standard one for estimators that know only the population (`ips-pbm` and PRS),
    /// the personalized one for the others. Its users are ignored.
    Estimated(RegressionEm),
}

/// The settings of the experiment.
#[derive(Debug, Clone)]
pub struct MainTable {
    methods: Vec<Method>,
    simulation: Simulation,
    trainer: Trainer,
    examination: Examination,
    length: usize,
    production_share: f64,
    max_grade: u8,
}

impl Default for MainTable {
    fn default() -> Self {
        Self::new()
    }
}

impl MainTable {
    /// The paper's protocol: 1,000,000 sessions, lists of 10, an MLP, all methods.
    pub fn new() -> Self {
        MainTable {
            methods: Method::all(),
            simulation: Simulation::new(),
            trainer: Trainer::new().architecture(Architecture::mlp()),
            examination: Examination::Known,
            length: 10,
            production_share: 0.01,
            max_grade: 4,
        }
    }

    /// The rows. Default: all.
    pub fn methods(mut self, methods: Vec<Method>) -> Self {
        self.methods = methods;
        self
    }

    /// How clicks are simulated; its seed is set by [`run`](MainTable::run). Default: the paper's.
    pub fn simulation(mut self, simulation: Simulation) -> Self {
        self.simulation = simulation;
        self
    }

    /// How rankers are trained; its seed is set by [`run`](MainTable::run). Default: the paper's MLP.
    pub fn trainer(mut self, trainer: Trainer) -> Self {
        self.trainer = trainer;
        self
    }

    /// Where θ comes from. Default: the simulation's own.
    pub fn examination(mut self, examination: Examination) -> Self {
        self.examination = examination;
        self
    }

    /// The largest grade of the data. Default: 4.
    pub fn max_grade(mut self, max_grade: u8) -> Self {
        self.max_grade = max_grade;
        self
    }

    /// Simulates clicks on the training queries, trains by each method, and evaluates on the test queries.
    pub fn run(&self, data: &Splits, seed: u64, progress: &dyn Progress) -> Result<TableResult> {
        let production = production_ranker(&data.train, self.production_share, seed, progress)?;
        let lists = [ShownLists::top(&data.train, &production.score(&data.train)?, self.length)?];
        let simulation = self.simulation.clone().max_grade(self.max_grade).seed(seed);
        let simulator = simulation.prepare(&data.train, &lists)?;
        progress.begin("simulating", 1);
        let log = simulator.log();
        progress.begin("counting", 1);
        let (counts, _) = count_log(&log, CountOptions { patterns: self.methods.contains(&Method::Prs) })?;
        drop(log);
        let run = Run {
            table: self,
            data,
            lists: &lists[0],
            counts: &counts,
            propensities: self.propensities(data, &lists, &counts, simulator.propensities(), seed, progress)?,
            truth: simulator.relevance(),
            production,
            trainer: self.trainer.clone().seed(seed),
            progress,
        };
        let rows = self.methods.iter().map(|&method| run.method(method)).collect::<Result<_>>()?;
        let errors = run.propensities.errors(&simulator.propensities(), &counts)?;
        Ok(TableResult {
            rows,
            sessions: counts.session_count(),
            click_rates: click_rates(&counts),
            propensity_errors: errors,
        })
    }

    /// θ as each method gets it.
    fn propensities(
        &self,
        data: &Splits,
        lists: &[ShownLists],
        counts: &Counts,
        truth: Propensities,
        seed: u64,
        progress: &dyn Progress,
    ) -> Result<UsedPropensities> {
        let mut used = UsedPropensities { standard: truth.clone(), personalized: truth, cpbm: None, estimated: false };
        if let Examination::Estimated(em) = &self.examination {
            let estimate = |users: EmUsers| -> Result<Propensities> {
                let em = em.clone().users(users).resamples(0).seed(seed);
                Ok(em.estimate(counts, Some(&data.train), progress)?.propensities)
            };
            used.standard = estimate(EmUsers::Together)?;
            used.personalized = estimate(EmUsers::Each)?;
            used.estimated = true;
        }
        if self.methods.contains(&Method::Cpbm) {
            used.cpbm = Some(self.cpbm(data, lists, seed, progress)?);
        }
        Ok(used)
    }

    /// θ by CPBM from a second log of the same users, as long as the first, in which half of the lists were shuffled.
    fn cpbm(&self, data: &Splits, lists: &[ShownLists], seed: u64, progress: &dyn Progress) -> Result<Propensities> {
        let simulation = self.simulation.clone().max_grade(self.max_grade).world_seed(seed);
        let simulation = simulation.seed(seed.wrapping_add(SECOND_LOG)).shuffled(INTERVENED);
        progress.begin("simulating interventions", 1);
        let log = simulation.prepare(&data.train, lists)?.log();
        let (counts, _) = count_log(&log, CountOptions::default())?;
        Cpbm::new().seed(seed).estimate(&counts, progress)
    }
}

/// What is added to the seed for the log with interventions, so that its clicks are other ones.
const SECOND_LOG: u64 = 1 << 32;

/// The share of sessions with shuffled lists in the log with interventions: plenty, as in the paper.
const INTERVENED: f64 = 0.5;

/// θ as each method gets it.
struct UsedPropensities {
    /// For estimators that know only the population.
    standard: Propensities,
    /// For estimators that know users.
    personalized: Propensities,
    cpbm: Option<Propensities>,
    estimated: bool,
}

impl UsedPropensities {
    fn of(&self, method: Method) -> &Propensities {
        match method {
            Method::Prs | Method::Estimated(Estimator::IpsPbm) => &self.standard,
            Method::Cpbm => self.cpbm.as_ref().unwrap_or(&self.personalized),
            _ => &self.personalized,
        }
    }

    fn errors(&self, truth: &Propensities, counts: &Counts) -> Result<Vec<(String, PropensityError)>> {
        let em = [&self.standard, &self.personalized].into_iter().filter(|_| self.estimated);
        let all = em.chain(&self.cpbm);
        all.map(|found| Ok((found.method.clone(), found.error_against(truth, counts)?))).collect()
    }
}

/// One seed's worth of everything the methods share.
struct Run<'a> {
    table: &'a MainTable,
    data: &'a Splits,
    lists: &'a ShownLists,
    counts: &'a Counts,
    propensities: UsedPropensities,
    truth: &'a [f64],
    production: Ranker,
    trainer: Trainer,
    progress: &'a dyn Progress,
}

impl Run<'_> {
    fn method(&self, method: Method) -> Result<MethodResult> {
        let train = &self.data.train;
        let progress = Named { name: method.to_string(), inner: self.progress };
        let (mut squared_errors, mut beta) = (None, None);
        let ranker = match method {
            Method::Production => self.production.clone(),
            Method::Ideal => {
                let shown: Vec<Vec<u32>> =
                    (0..self.lists.query_count()).map(|query| self.lists.of(query).to_vec()).collect();
                let lists = TrainingLists::from_grades(train, self.table.max_grade, Some(&shown))?;
                self.train((&lists).into(), &progress)?
            }
            Method::Prs => {
                let pairs = pair_weights(self.counts, self.propensities.of(method))?;
                let (pairs, _) = TrainingPairs::from_pair_weights(train, &pairs)?;
                self.train((&pairs).into(), &progress)?
            }
            Method::Estimated(_) | Method::Cpbm => {
                let estimator = match method {
                    Method::Estimated(estimator) => estimator,
                    _ => Estimator::Straightforward,
                };
                let relevance = estimate(self.counts, self.propensities.of(method), estimator)?;
                squared_errors = Some(self.squared_errors(&relevance)?);
                beta = relevance.beta;
                let (lists, _) = TrainingLists::from_relevance(train, &relevance)?;
                self.train((&lists).into(), &progress)?
            }
        };
        let scores = ranker.score(&self.data.test)?;
        let evaluation = self.evaluator(Measure::paper()).evaluate(&self.data.test, &scores)?;
        Ok(MethodResult { method, evaluation, squared_errors, beta, record: ranker.record })
    }

    fn train(&self, targets: Targets<'_>, progress: &dyn Progress) -> Result<Ranker> {
        let measure = Measure::Ndcg(Some(5));
        let evaluator = self.evaluator(vec![measure]);
        let data = &self.data.validation;
        // Scores that cannot be evaluated are not numbers, and then neither is their value.
        let value =
            |scores: &[f32]| evaluator.evaluate(data, scores).ok().and_then(|e| e.mean(measure)).unwrap_or(f64::NAN);
        let validation = Validation { data, measure: &value };
        self.trainer.fit(&self.data.train, targets, Some(&validation), progress)
    }

    fn evaluator(&self, measures: Vec<Measure>) -> Evaluator {
        Evaluator::new(measures).max_grade(self.table.max_grade)
    }

    /// (ŷ − P(r=1))² of every shown document.
    fn squared_errors(&self, relevance: &Relevance) -> Result<Vec<f64>> {
        let rows = relevance.rows_in(&self.data.train);
        let squared_error = |(weight, row): (&crate::relevance::Weight, Option<u32>)| match row {
            Some(row) => Ok((weight.weight - self.truth[row as usize]).powi(2)),
            None => Err(Error::parameter("a simulated document is not in the data it was simulated from")),
        };
        relevance.weights.iter().zip(rows).map(squared_error).collect()
    }
}

/// Puts the method's name on the progress of its training.
struct Named<'a> {
    name: String,
    inner: &'a dyn Progress,
}

impl Progress for Named<'_> {
    fn begin(&self, what: &str, total: u64) {
        self.inner.begin(&format!("{what} {}", self.name), total);
    }

    fn advance(&self, steps: u64) {
        self.inner.advance(steps);
    }

    fn note(&self, text: &str) {
        self.inner.note(text);
    }
}

fn click_rates(counts: &Counts) -> Vec<f64> {
    let mut sums = vec![(0u64, 0u64); counts.max_position() as usize];
    for cell in &counts.cells {
        let sum = &mut sums[cell.position as usize - 1];
        *sum = (sum.0 + cell.impressions, sum.1 + cell.clicks);
    }
    sums.into_iter().map(|(impressions, clicks)| clicks as f64 / impressions.max(1) as f64).collect()
}

/// What one seed gave.
#[derive(Debug, Clone)]
pub struct TableResult {
    /// One row per method.
    pub rows: Vec<MethodResult>,
    /// How many sessions were simulated.
    pub sessions: u64,
    /// Clicks per impression at positions 1, 2, ….
    pub click_rates: Vec<f64>,
    /// How far each estimate of θ is from the truth, by its method; empty where θ is known.
    pub propensity_errors: Vec<(String, PropensityError)>,
}

/// What one method gave.
#[derive(Debug, Clone)]
pub struct MethodResult {
    /// The method.
    pub method: Method,
    /// The paper's measures on the test queries.
    pub evaluation: Evaluation,
    /// The squared error of each shown training document's relevance, where the method estimates it.
    pub squared_errors: Option<Vec<f64>>,
    /// The strength of smoothing, where the method smooths.
    pub beta: Option<f64>,
    /// How training went.
    pub record: TrainingRecord,
}
