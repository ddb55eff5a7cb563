//! CPBM: intervention harvesting in which examination depends on a description of the user.

use rand::seq::SliceRandom;

use super::tables::{Pair, Tables, linked_to};
use super::{Relative, Weighting, check_positive, finish};
use crate::counts::CountsView;
use crate::ids::Ids;
use crate::network::{Architecture, Network, Optimizer, OptimizerState, Workspace};
use crate::options::{Options, options};
use crate::progress::{Progress, Silent};
use crate::propensity::bootstrap::check_resamples;
use crate::propensity::observations::{observe, observe_population};
use crate::propensity::{Fit, Propensities};
use crate::random;
use crate::{Error, Result};

/// The most users that are told apart by a one-hot vector: each adds a row and a column.
const MOST_ONE_HOT: usize = 1000;

/// How many contexts one step of training sees: at 10 positions their pairs are 2,880 rows.
const BATCH: usize = 64;

/// How many passes without progress make the steps smaller.
const PATIENCE: usize = 40;

/// How often the steps get smaller before training ends.
const REDUCTIONS: usize = 3;

/// What describes a user to the networks.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Contexts {
    /// Who it is: one input per user. For at most 1,000 users.
    #[default]
    OneHot,
    /// Features of users. Users with the same features are one context.
    Features {
        /// The users; those of the log should be among them.
        users: Ids,
        /// One row of `count` features per user.
        features: Vec<f32>,
        /// How many features each user has.
        count: usize,
    },
}

options! {
    /// θ as a function of a user's context x, by contextual intervention harvesting (Fang, Agarwal and Joachims 2019).
    ///
    /// Maximises `Σ_x Σ_{k≠k′} ĉ_x log(h(k,x) g(k,k′,x)) + ¬ĉ_x log(1 − h(k,x) g(k,k′,x))`, where ĉ_x(k,k′) and ¬ĉ_x(k,k′) are
    /// the clicks and non-clicks at k of users with context x, on documents that were shown at both k and k′, each impression
    /// with the weight 1/n(q,d,k) over all users. h is examination, g the mean relevance of what x saw at both positions,
    /// symmetric in k and k′. Both are networks whose output goes through a sigmoid: h reads x and the position, g reads x and
    /// the two positions in no order. The tables ĉ, ¬ĉ are all that training sees of the log.
    ///
    /// `θ(u,k) = h(k,x)/h(1,x)`: as h may be multiplied and g divided by any function of x, users are comparable only by
    /// taking all to examine position 1 alike. Assumes what [`InterventionHarvesting`](super::InterventionHarvesting) does.
    ///
    /// ```no_run
    /// # use truerank::{counts::Counts, progress::Silent, propensity::Cpbm};
    /// # fn example(counts: &Counts) -> truerank::Result<()> {
    /// let propensities = Cpbm::new().seed(1).estimate(counts, &Silent)?;
    /// # Ok(()) }
    /// ```
    pub struct Cpbm {
        /// How much each document counts that two positions share: by how often both showed it, or all alike as published.
        weighting: Weighting = Weighting::Overlap;
        /// Passes over all contexts at most.
        iterations: usize = 2000, at_least(1.0), value("N");
        /// Stop at this relative change of the log-likelihood.
        ///
        /// It is compared with the gain in 40 passes; below it steps get smaller and at last end.
        tolerance: f64 = 1e-6, between(0.0, 1.0), value("SHARE");
        /// Resamples of queries for standard errors; 0 for none.
        resamples: usize = 0, value("N");
        /// Seed of initial weights, of batches and of resampling.
        seed: u64 = 1;
    }
    beside {
        /// What describes a user.
        contexts: Contexts = Contexts::OneHot,
        /// The form of both networks.
        architecture: Architecture = Architecture::Mlp { hidden: vec![32] },
        /// The size of Adam's steps at the start; it falls where the likelihood stays.
        learning_rate: f32 = 0.02,
    }
}

impl Cpbm {
    /// Estimates θ of all users of the log. Positions that no chain of shared documents links are an error.
    pub fn estimate(&self, counts: &dyn CountsView, progress: &dyn Progress) -> Result<Propensities> {
        self.check()?;
        let positions = counts.totals().max_position as usize;
        Tables::check_size(1, positions)?;
        let ones = vec![1.0; counts.queries().len()];
        Tables::new(observe_population(counts)?.as_ref(), self.weighting, &ones)?.check()?;
        let inputs = Inputs::new(&self.contexts, counts)?;
        Tables::check_size(inputs.count, positions)?;
        let observations = observe(counts, &inputs.of_user, None)?;
        let tables = Tables::new(observations.as_ref(), self.weighting, &ones)?;
        let point = self.fit(&inputs, &tables, progress)?;
        finish(counts, "cpbm", self.resamples, self.seed, |weights| match *weights == *ones {
            true => Ok(point.clone()),
            false => self.fit(&inputs, &Tables::new(observations.as_ref(), self.weighting, weights)?, &Silent),
        })
    }

    pub(crate) fn check(&self) -> Result<()> {
        self.check_ranges()?;
        check_resamples(self.resamples, 0)?;
        check_positive("the learning rate", f64::from(self.learning_rate))
    }

    /// Trains both networks and reads θ off h.
    fn fit(&self, inputs: &Inputs, tables: &Tables, progress: &dyn Progress) -> Result<Relative> {
        let pairs: Vec<Vec<Pair>> = (0..inputs.count).map(|context| tables.pairs(context)).collect();
        let mut model = Model::new(self, inputs.width, tables.positions)?;
        let fit = self.train(&mut model, inputs, &pairs, progress)?;
        let examination = model.examination(inputs);
        let by_user: Vec<f64> = inputs.of_user.iter().flat_map(|&x| examination.of(x as usize)).copied().collect();
        let notes = notes(inputs, &pairs, tables.positions);
        // The mean over users is taken by whoever knows their sessions.
        Ok(Relative { population: vec![1.0; tables.positions], by_user, fit: Some(fit), notes })
    }

    /// Passes of Adam over batches of contexts; keeps the parameters of the best pass.
    fn train(&self, model: &mut Model, inputs: &Inputs, pairs: &[Vec<Pair>], progress: &dyn Progress) -> Result<Fit> {
        let total: f64 = pairs.iter().flatten().map(weight_of).sum();
        let mut order: Vec<usize> = (0..inputs.count).filter(|&context| !pairs[context].is_empty()).collect();
        let mut course = Course::new(model, self.learning_rate);
        progress.begin("training", self.iterations as u64);
        for pass in 0..self.iterations {
            if order.len() > BATCH {
                order.shuffle(&mut random::stream(self.seed, "cpbm", pass as u64));
            }
            let before = model.parameters();
            let mut value = 0.0;
            for contexts in order.chunks(BATCH) {
                let batch = Batch::new(contexts, inputs, pairs, model.positions);
                value += model.likelihood(&batch);
                // As if the batch were all contexts, so that steps do not depend on how many there are.
                model.step(order.len() as f64 / contexts.len() as f64 / total, course.rate);
            }
            course.record(value / total, before, model, self.tolerance);
            progress.advance(1)?;
            if course.fit.converged {
                break;
            }
        }
        model.restore(&course.kept);
        Ok(course.fit)
    }
}

fn weight_of(pair: &Pair) -> f64 {
    pair.clicks.0 + pair.clicks.1 + pair.misses.0 + pair.misses.1
}

/// Says for how many users the own log does not link all positions.
fn notes(inputs: &Inputs, pairs: &[Vec<Pair>], positions: usize) -> Vec<String> {
    let apart: Vec<bool> =
        pairs.iter().map(|pairs| !linked_to(0, positions, pairs).iter().all(|&linked| linked)).collect();
    match inputs.of_user.iter().filter(|&&context| apart[context as usize]).count() {
        0 => Vec::new(),
        users => vec![format!(
            "for {users} of {} users the clicks of their context do not link all positions: \
             what is missing comes from what the networks learned from others",
            inputs.of_user.len()
        )],
    }
}

/// The distinct contexts, ready to enter a network.
struct Inputs {
    /// How many there are.
    count: usize,
    /// How many numbers describe one.
    width: usize,
    /// The context of each user of the counts.
    of_user: Vec<u32>,
    /// The rows of features, each brought to mean 0 and deviation 1 over contexts; none for one-hot contexts.
    features: Option<Vec<f32>>,
}

impl Inputs {
    fn new(contexts: &Contexts, counts: &dyn CountsView) -> Result<Self> {
        let users = counts.users().len();
        match contexts {
            Contexts::OneHot if users > MOST_ONE_HOT => Err(Error::parameter(format!(
                "one-hot contexts should have at most {MOST_ONE_HOT} users, but there are {users}; \
                 describe users by features, or give those of a cluster one id"
            ))),
            Contexts::OneHot => {
                Ok(Inputs { count: users, width: users, of_user: (0..users as u32).collect(), features: None })
            }
            Contexts::Features { users, features, count } => Inputs::of_features(users, features, *count, counts),
        }
    }

    fn of_features(users: &Ids, features: &[f32], width: usize, counts: &dyn CountsView) -> Result<Self> {
        if width == 0 || features.len() != users.len() * width {
            return Err(Error::parameter(format!(
                "user features should be {} rows of {width} (at least 1), but are {} values",
                users.len(),
                features.len()
            )));
        }
        if let Some(value) = features.iter().find(|value| !value.is_finite()) {
            return Err(Error::parameter(format!("a user feature should be finite, but is {value}")));
        }
        let numbers = counts.users().numbers_in(users);
        let rows = numbers.iter().enumerate().map(|(user, number)| match number {
            Some(number) => Ok(&features[*number as usize * width..][..width]),
            None => Err(Error::parameter(format!(
                "every user of the log should have features, but {:?} has none",
                counts.users().name(user)
            ))),
        });
        let rows = rows.collect::<Result<Vec<&[f32]>>>()?;
        let (of_user, distinct) = distinct_rows(&rows);
        Ok(Inputs { count: distinct.len(), width, of_user, features: Some(standardised(&distinct, width)) })
    }

    /// Writes context number `context` to `row`, which holds zeros.
    fn write(&self, context: usize, row: &mut [f32]) {
        match &self.features {
            Some(features) => row.copy_from_slice(&features[context * self.width..][..self.width]),
            None => row[context] = 1.0,
        }
    }
}

/// Numbers rows by their content, in order of first appearance; returns each row's number and the distinct rows.
fn distinct_rows<'a>(rows: &[&'a [f32]]) -> (Vec<u32>, Vec<&'a [f32]>) {
    let mut numbers = std::collections::HashMap::new();
    let mut distinct = Vec::new();
    let number = |row: &&'a [f32]| {
        // Adding 0 makes −0 equal to 0.
        let key: Vec<u32> = row.iter().map(|value| (value + 0.0).to_bits()).collect();
        *numbers.entry(key).or_insert_with(|| {
            distinct.push(*row);
            distinct.len() as u32 - 1
        })
    };
    (rows.iter().map(number).collect(), distinct)
}

/// Each column with mean 0 and deviation 1; constant columns become 0.
fn standardised(rows: &[&[f32]], width: usize) -> Vec<f32> {
    let mut features = rows.concat();
    for column in 0..width {
        let values = || rows.iter().map(|row| f64::from(row[column]));
        let mean = values().sum::<f64>() / rows.len() as f64;
        let deviation = (values().map(|value| (value - mean).powi(2)).sum::<f64>() / rows.len() as f64).sqrt();
        let scale = if deviation > 0.0 { 1.0 / deviation } else { 0.0 };
        for (row, original) in features.chunks_exact_mut(width).zip(rows) {
            row[column] = ((f64::from(original[column]) - mean) * scale) as f32;
        }
    }
    features
}

/// Rows of both networks for some contexts, and the terms of the likelihood that join them.
struct Batch {
    /// Context and position: one row for each of both.
    h: Vec<f32>,
    /// Context and two positions: one row for each pair.
    g: Vec<f32>,
    terms: Vec<Term>,
}

/// `c log(h·g) + m log(1 − h·g)` for row `h` of one network and row `g` of the other.
struct Term {
    h: usize,
    g: usize,
    clicks: f64,
    misses: f64,
}

impl Batch {
    fn new(contexts: &[usize], inputs: &Inputs, pairs: &[Vec<Pair>], positions: usize) -> Self {
        let row = inputs.width + positions;
        let pair_count: usize = contexts.iter().map(|&context| pairs[context].len()).sum();
        let mut batch = Batch {
            h: vec![0.0; contexts.len() * positions * row],
            g: vec![0.0; pair_count * row],
            terms: Vec::with_capacity(2 * pair_count),
        };
        let mut g_rows = batch.g.chunks_exact_mut(row).enumerate();
        for (index, &context) in contexts.iter().enumerate() {
            let first_row = index * positions;
            for (position, row) in batch.h[first_row * row..].chunks_exact_mut(row).take(positions).enumerate() {
                inputs.write(context, &mut row[..inputs.width]);
                row[inputs.width + position] = 1.0;
            }
            for (pair, (g, row)) in pairs[context].iter().zip(&mut g_rows) {
                let (first, second) = pair.positions;
                inputs.write(context, &mut row[..inputs.width]);
                row[inputs.width + first] = 1.0;
                row[inputs.width + second] = 1.0;
                let term = |position, clicks, misses| Term { h: first_row + position, g, clicks, misses };
                batch.terms.push(term(first, pair.clicks.0, pair.misses.0));
                batch.terms.push(term(second, pair.clicks.1, pair.misses.1));
            }
        }
        batch
    }
}

/// The log-likelihood of some terms and its gradient in the networks' outputs.
struct Outcome {
    value: f64,
    h: Vec<f64>,
    g: Vec<f64>,
}

/// With `h = σ(z)`, `g = σ(y)`, `p = hg`: `∂/∂z = (c − m·p/(1−p))·(1−h)`, and the same for y with g.
fn outcome(terms: &[Term], h_scores: &[f32], g_scores: &[f32]) -> Outcome {
    let mut outcome = Outcome { value: 0.0, h: vec![0.0; h_scores.len()], g: vec![0.0; g_scores.len()] };
    for term in terms {
        let (z, y) = (f64::from(h_scores[term.h]), f64::from(g_scores[term.g]));
        let (not_h, not_g) = (sigmoid(-z), sigmoid(-y));
        let p = sigmoid(z) * sigmoid(y);
        // 1 − hg = (1 − h) + h(1 − g), without cancellation.
        let not_p = (not_h + sigmoid(z) * not_g).max(f64::MIN_POSITIVE);
        outcome.value += term.clicks * (log_sigmoid(z) + log_sigmoid(y)) + term.misses * not_p.ln();
        let slope = term.clicks - term.misses * p / not_p;
        outcome.h[term.h] += slope * not_h;
        outcome.g[term.g] += slope * not_g;
    }
    outcome
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// log σ(x) = −log(1 + e⁻ˣ), without overflow.
fn log_sigmoid(x: f64) -> f64 {
    x.min(0.0) - (-x.abs()).exp().ln_1p()
}

/// One network at work.
struct Learner {
    network: Network,
    workspace: Workspace,
    state: OptimizerState,
    gradient: Vec<f32>,
}

impl Learner {
    fn new(architecture: &Architecture, inputs: usize, seed: u64) -> Result<Self> {
        let network = Network::new(architecture.clone(), inputs, seed)?;
        let count = network.parameters().len();
        Ok(Learner {
            workspace: Workspace::new(&network),
            state: Optimizer::Adam.start(count),
            gradient: vec![0.0; count],
            network,
        })
    }

    fn forward(&mut self, rows: &[f32]) -> Vec<f32> {
        let count = (rows.len() / self.network.inputs()) as u32;
        self.workspace.forward(&self.network, rows, &(0..count).collect::<Vec<_>>()).to_vec()
    }

    /// The gradient of minus the likelihood times `scale`, for the rows of the last forward pass.
    fn backward(&mut self, ascent: &[f64], scale: f64) {
        let descent: Vec<f32> = ascent.iter().map(|slope| (-slope * scale) as f32).collect();
        self.workspace.backward(&self.network, &descent, &mut self.gradient);
    }

    fn step(&mut self, rate: f32) {
        self.state.step(self.network.parameters_mut(), &self.gradient, rate, 0.0);
    }
}

/// h and g.
struct Model {
    positions: usize,
    h: Learner,
    g: Learner,
    outcome: Outcome,
}

impl Model {
    fn new(settings: &Cpbm, width: usize, positions: usize) -> Result<Self> {
        let learner = |seed| Learner::new(&settings.architecture, width + positions, seed);
        Ok(Model {
            positions,
            h: learner(settings.seed.wrapping_mul(2))?,
            g: learner(settings.seed.wrapping_mul(2).wrapping_add(1))?,
            outcome: Outcome { value: 0.0, h: Vec::new(), g: Vec::new() },
        })
    }

    /// The log-likelihood of a batch; keeps what a step needs.
    fn likelihood(&mut self, batch: &Batch) -> f64 {
        let (h_scores, g_scores) = (self.h.forward(&batch.h), self.g.forward(&batch.g));
        self.outcome = outcome(&batch.terms, &h_scores, &g_scores);
        self.outcome.value
    }

    /// A step up the likelihood of the last batch, whose gradient counts `scale` times.
    fn step(&mut self, scale: f64, rate: f32) {
        self.h.backward(&self.outcome.h, scale);
        self.g.backward(&self.outcome.g, scale);
        self.h.step(rate);
        self.g.step(rate);
    }

    fn parameters(&self) -> [Vec<f32>; 2] {
        [self.h.network.parameters().to_vec(), self.g.network.parameters().to_vec()]
    }

    fn restore(&mut self, parameters: &[Vec<f32>; 2]) {
        self.h.network.parameters_mut().copy_from_slice(&parameters[0]);
        self.g.network.parameters_mut().copy_from_slice(&parameters[1]);
    }

    /// h(k,x)/h(1,x) of all contexts.
    fn examination(&mut self, inputs: &Inputs) -> Ratios {
        let nothing = vec![Vec::new(); inputs.count];
        let contexts: Vec<usize> = (0..inputs.count).collect();
        let mut values = Vec::with_capacity(inputs.count * self.positions);
        for contexts in contexts.chunks(BATCH) {
            let batch = Batch::new(contexts, inputs, &nothing, self.positions);
            let logs: Vec<f64> = self.h.network.score(&batch.h).iter().map(|&z| log_sigmoid(f64::from(z))).collect();
            for row in logs.chunks_exact(self.positions) {
                values.extend(row.iter().map(|log| (log - row[0]).exp()));
            }
        }
        Ratios { positions: self.positions, values }
    }
}

/// One row of positions per context.
struct Ratios {
    positions: usize,
    values: Vec<f64>,
}

impl Ratios {
    fn of(&self, context: usize) -> &[f64] {
        &self.values[context * self.positions..][..self.positions]
    }
}

/// How training goes: the best parameters so far, and when to make steps smaller or end.
struct Course {
    rate: f32,
    reductions: usize,
    best: f64,
    kept: [Vec<f32>; 2],
    /// The best value when the last gain was counted, and passes since.
    mark: f64,
    since: usize,
    fit: Fit,
}

impl Course {
    fn new(model: &Model, rate: f32) -> Self {
        Course {
            rate,
            reductions: 0,
            best: f64::NEG_INFINITY,
            kept: model.parameters(),
            mark: f64::NEG_INFINITY,
            since: 0,
            fit: Fit::default(),
        }
    }

    /// Takes note of a pass: its likelihood and the parameters it started with.
    fn record(&mut self, value: f64, before: [Vec<f32>; 2], model: &mut Model, tolerance: f64) {
        self.fit.log_likelihood.push(value);
        if value > self.best {
            (self.best, self.kept) = (value, before);
        }
        self.since += 1;
        if self.since < PATIENCE {
            return;
        }
        if self.best - self.mark <= tolerance * self.best.abs() {
            self.fit.converged = self.reductions == REDUCTIONS;
            self.reductions += 1;
            self.rate /= 4.0;
            model.restore(&self.kept);
        }
        (self.mark, self.since) = (self.best, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::super::worlds;
    use super::*;
    use crate::counts::Counts;
    use crate::propensity::observations::Observations;
    use crate::simulate::{Simulation, paper_etas};

    /// Ten clusters with queries of their own, each list shown in several orders.
    fn clusters() -> (Counts, Propensities) {
        let data = worlds::data(200, 10);
        let lists = worlds::loggers(&data, 6, 10);
        worlds::cells(Simulation::new().sessions(4_000_000), &data, &lists)
    }

    fn small() -> Counts {
        let data = worlds::data(40, 5);
        let lists = worlds::loggers(&data, 3, 5);
        worlds::cells(Simulation::new().etas(vec![2.0, 1.0, 0.0]).sessions(20_000), &data, &lists).0
    }

    fn etas_as_features() -> Contexts {
        let features: Vec<f32> = paper_etas(10).unwrap().iter().map(|&eta| eta as f32).collect();
        Contexts::Features { users: Ids::numbered(10), features, count: 1 }
    }

    #[test]
    fn clusters_are_told_apart_by_id_and_by_features() {
        let (counts, truth) = clusters();
        for (name, contexts) in [("one-hot", Contexts::OneHot), ("features", etas_as_features())] {
            let found = Cpbm::new().contexts(contexts).estimate(&counts, &Silent).unwrap();
            let errors = [worlds::user_error(&found, &truth, &counts), worlds::population_error(&found, &truth)];
            assert!(errors[0] < 0.05 && errors[1] < 0.04, "{name}: {errors:?}");
            found.check().unwrap();
        }
    }

    #[test]
    fn shuffled_sessions_tell_clusters_apart() {
        let data = worlds::data(60, 10);
        let lists = worlds::loggers(&data, 1, 10);
        let (counts, truth) = worlds::sessions(Simulation::new().sessions(200_000).shuffle(0.5), &data, &lists);
        let found = Cpbm::new().contexts(etas_as_features()).estimate(&counts, &Silent).unwrap();
        let errors = [worlds::user_error(&found, &truth, &counts), worlds::population_error(&found, &truth)];
        assert!(errors[0] < 0.1 && errors[1] < 0.05, "{errors:?}");
    }

    #[test]
    fn slopes_in_outputs_are_those_of_differences() {
        let term = |h, g, clicks, misses| Term { h, g, clicks, misses };
        let terms = [term(0, 0, 3.0, 7.0), term(1, 0, 2.0, 5.5), term(0, 1, 0.0, 4.0), term(2, 1, 1.5, 0.0)];
        let (h, g) = ([0.5_f32, -2.0, 3.0], [-1.0_f32, 0.25]);
        let found = outcome(&terms, &h, &g);
        let step = 1.0 / 64.0;
        let value = |h: &[f32], g: &[f32]| outcome(&terms, h, g).value;
        for index in 0..h.len() {
            let [above, below] = [step, -step].map(|by| {
                let mut moved = h;
                moved[index] += by;
                value(&moved, &g)
            });
            let expected = (above - below) / f64::from(2.0 * step);
            assert!((found.h[index] - expected).abs() < 1e-3, "{} {expected}", found.h[index]);
        }
        for index in 0..g.len() {
            let [above, below] = [step, -step].map(|by| {
                let mut moved = g;
                moved[index] += by;
                value(&h, &moved)
            });
            let expected = (above - below) / f64::from(2.0 * step);
            assert!((found.g[index] - expected).abs() < 1e-3, "{} {expected}", found.g[index]);
        }
        let p = sigmoid(0.5) * sigmoid(-1.0);
        assert!((outcome(&terms[..1], &h, &g).value - (3.0 * p.ln() + 7.0 * (1.0 - p).ln())).abs() < 1e-12);
    }

    #[test]
    fn slopes_in_parameters_are_those_of_differences() {
        let counts = small();
        let settings = Cpbm::new().architecture(Architecture::Mlp { hidden: vec![4] });
        let inputs = Inputs::new(&Contexts::OneHot, &counts).unwrap();
        let observations = Observations::new(&counts, &inputs.of_user);
        let tables = Tables::new(&observations, Weighting::Documents, &vec![1.0; counts.queries.len()]).unwrap();
        let pairs: Vec<Vec<Pair>> = (0..3).map(|context| tables.pairs(context)).collect();
        let batch = Batch::new(&[0, 1, 2], &inputs, &pairs, tables.positions);
        let mut model = Model::new(&settings, inputs.width, tables.positions).unwrap();
        model.likelihood(&batch);
        let slopes = std::mem::replace(&mut model.outcome, Outcome { value: 0.0, h: vec![], g: vec![] });
        model.h.backward(&slopes.h, 1.0);
        model.g.backward(&slopes.g, 1.0);
        let step = 1.0 / 256.0;
        let mut at = |which: usize, index: usize, by: f32| {
            let learner = if which == 0 { &mut model.h } else { &mut model.g };
            learner.network.parameters_mut()[index] += by;
            let value = model.likelihood(&batch);
            let learner = if which == 0 { &mut model.h } else { &mut model.g };
            learner.network.parameters_mut()[index] -= by;
            (value, f64::from(-learner.gradient[index]), learner.gradient.len())
        };
        for which in 0..2 {
            let (_, _, count) = at(which, 0, 0.0);
            for index in 0..count {
                let ((above, found, _), (below, _, _)) = (at(which, index, step), at(which, index, -step));
                let expected = (above - below) / f64::from(2.0 * step);
                assert!(
                    (found - expected).abs() < 0.02 * (1.0 + expected.abs()),
                    "{which} {index}: {found} {expected}"
                );
            }
        }
    }

    #[test]
    fn users_without_features_are_named() {
        let contexts = Contexts::Features { users: Ids::numbered(2), features: vec![1.0, 2.0], count: 1 };
        let text = Cpbm::new().contexts(contexts).estimate(&small(), &Silent).unwrap_err().to_string();
        assert_eq!(text, "every user of the log should have features, but \"3\" has none");
        let contexts = Contexts::Features { users: Ids::numbered(3), features: vec![1.0; 5], count: 2 };
        let text = Cpbm::new().contexts(contexts).estimate(&small(), &Silent).unwrap_err().to_string();
        assert_eq!(text, "user features should be 3 rows of 2 (at least 1), but are 5 values");
        let contexts = Contexts::Features { users: Ids::numbered(3), features: vec![f32::NAN; 3], count: 1 };
        let text = Cpbm::new().contexts(contexts).estimate(&small(), &Silent).unwrap_err().to_string();
        assert_eq!(text, "a user feature should be finite, but is NaN");
    }

    #[test]
    fn what_cannot_be_estimated_is_refused() {
        let message = |cpbm: Cpbm, counts: &Counts| cpbm.estimate(counts, &Silent).unwrap_err().to_string();
        assert!(message(Cpbm::new(), &Counts::default()).starts_with("no document was shown at two positions"));
        assert_eq!(
            message(Cpbm::new().learning_rate(0.0), &small()),
            "the learning rate should be positive and finite, but is 0"
        );
        let many = Counts { users: Ids::numbered(1001), ..small() };
        let text = message(Cpbm::new(), &many);
        assert!(text.starts_with("one-hot contexts should have at most 1000 users, but there are 1001"), "{text}");
    }

    #[test]
    fn users_with_the_same_features_are_one_context() {
        let counts = small();
        let contexts = Contexts::Features { users: Ids::numbered(3), features: vec![0.0, 4.0, -0.0], count: 1 };
        let inputs = Inputs::new(&contexts, &counts).unwrap();
        assert_eq!((inputs.count, &inputs.of_user[..]), (2, &[0, 1, 0][..]));
        assert_eq!(inputs.features.as_deref(), Some(&[-1.0, 1.0][..]));
        let found = Cpbm::new().contexts(contexts).iterations(20).estimate(&counts, &Silent).unwrap();
        assert_eq!(found.of_user(0), found.of_user(2));
        assert!(!found.details.fit.unwrap().converged);
    }

    #[test]
    fn threads_do_not_matter() {
        let counts = small();
        let run = || Cpbm::new().iterations(30).resamples(3).estimate(&counts, &Silent).unwrap();
        let one = worlds::on_threads(1, run);
        assert_eq!(one, worlds::on_threads(2, run));
        assert!(one.details.by_user.standard_errors.iter().skip(1).any(|&error| error > 0.0));
    }
}
