//! The training loop: a data set, training lists and validation enter, the best ranker met on the way leaves.

use std::fmt;
use std::str::FromStr;

use rand::seq::SliceRandom;
use rayon::prelude::*;

use super::lbfgs;
use super::{Check, Model, Ranker, Targets, Training, TrainingRecord};
use crate::data::Dataset;
use crate::minimise::minimise;
use crate::network::{Architecture, Network, Optimizer, Scaling, Workspace, clip_norm};
use crate::options::option_value;
use crate::progress::Progress;
use crate::random;
use crate::{Error, Result};

/// What minimises a loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Minimiser {
    /// Steps on random batches of lists.
    Batches(Optimizer),
    /// L-BFGS on all lists at once: for linear rankers with the listwise loss, which is convex.
    Lbfgs,
}

option_value!(Minimiser: Kind::Text);

/// The share of its first norm below which L-BFGS takes a gradient for 0.
pub(super) const TOLERANCE: f64 = 1e-4;

/// The size of steps, where nothing is said.
const LEARNING_RATE: f32 = 0.01;

/// Iterations of L-BFGS at most.
pub(super) const ITERATIONS: usize = 200;

impl fmt::Display for Minimiser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Minimiser::Batches(optimizer) => optimizer.fmt(f),
            Minimiser::Lbfgs => f.write_str("lbfgs"),
        }
    }
}

impl FromStr for Minimiser {
    type Err = Error;

    /// `lbfgs`, or the text of an [`Optimizer`].
    fn from_str(text: &str) -> Result<Self> {
        let unknown = |_| {
            let known = "lbfgs, adagrad, adam, sgd or like sgd:0.9";
            Error::parameter(format!("the optimizer is '{text}', but should be {known}"))
        };
        match text {
            "lbfgs" => Ok(Minimiser::Lbfgs),
            text => text.parse().map(Minimiser::Batches).map_err(unknown),
        }
    }
}

/// The value of a vector of scores.
pub type ScoreMeasure<'a> = Box<dyn Fn(&[f32]) -> f64 + 'a>;

/// What decides which parameters are kept.
pub struct Validation<'a> {
    /// Documents that training does not see.
    pub data: &'a Dataset,
    /// The value of a vector of scores, one per row of `data`; larger is better.
    pub measure: ScoreMeasure<'a>,
}

impl<'a> Validation<'a> {
    /// Judges scores of `data` by `measure`; [`Evaluator::validation`](crate::evaluate::Evaluator::validation) does so by
    /// human grades.
    pub fn new(data: &'a Dataset, measure: impl Fn(&[f32]) -> f64 + 'a) -> Self {
        Validation { data, measure: Box::new(measure) }
    }
}

impl Training {
    /// Trains a linear ranker or an MLP.
    pub(super) fn fit_network(
        &self,
        architecture: &Architecture,
        data: &Dataset,
        targets: &Targets<'_>,
        validation: Option<&Validation<'_>>,
        progress: &dyn Progress,
    ) -> Result<Ranker> {
        targets.check(data)?;
        let network = self.start(architecture, data)?;
        if !matches!(network.scaling(), Some(Scaling::Curve(_))) {
            return self.train_network(network, data, targets, validation, progress);
        }
        // Curves take longer than a small network does, so all documents are scaled once, and training sees the copy.
        let (network, Some(scaling)) = network.unscaled() else { unreachable!("it has a curve") };
        let scaled = |data: &Dataset| data.with_rows(|row, out| scaling.apply(row, out));
        let (data, held_out) = (scaled(data), validation.map(|validation| scaled(validation.data)));
        let validation = validation.zip(held_out.as_ref());
        let validation =
            validation.map(|(validation, data)| Validation::new(data, |scores| (validation.measure)(scores)));
        let ranker = self.train_network(network, &data, targets, validation.as_ref(), progress)?;
        match ranker.model {
            Model::Network(network) => Ok(Ranker { model: Model::Network(network.scaled(scaling)?), ..ranker }),
            _ => Ok(ranker),
        }
    }

    fn train_network(
        &self,
        mut network: Network,
        data: &Dataset,
        targets: &Targets<'_>,
        validation: Option<&Validation<'_>>,
        progress: &dyn Progress,
    ) -> Result<Ranker> {
        let usual = usual_minimiser(network.architecture(), targets);
        let minimiser = self.optimizer.unwrap_or(usual);
        check_minimiser(minimiser, usual, network.architecture(), targets)?;
        let active = targets.require_active()?;
        let mut course = Course::new(validation, self.patience, data)?;
        progress.begin("training", self.steps_of(minimiser) as u64);
        match minimiser {
            Minimiser::Batches(optimizer) => {
                self.train_batches(&mut network, optimizer, data, targets, &active, &mut course, progress)?;
            }
            Minimiser::Lbfgs => self.train_lbfgs(&mut network, data, targets, &active, &mut course, progress)?,
        }
        course.keep_best(network.parameters_mut());
        let record = course.record(targets, &method_name(minimiser), self.seed, active.len());
        Ok(Ranker { model: Model::Network(network), record })
    }

    /// The network before its first step.
    fn start(&self, architecture: &Architecture, data: &Dataset) -> Result<Network> {
        let network = self.scaling.network(architecture, data, self.seed)?;
        check_norms(&network)?;
        Ok(network)
    }

    /// The size of the steps of a network.
    fn rate(&self) -> f32 {
        self.learning_rate.unwrap_or(LEARNING_RATE)
    }

    fn steps_of(&self, minimiser: Minimiser) -> usize {
        self.steps.unwrap_or(if minimiser == Minimiser::Lbfgs { ITERATIONS } else { 1000 })
    }

    #[allow(clippy::too_many_arguments)]
    fn train_batches(
        &self,
        network: &mut Network,
        optimizer: Optimizer,
        data: &Dataset,
        targets: &Targets<'_>,
        active: &[usize],
        course: &mut Course<'_>,
        progress: &dyn Progress,
    ) -> Result<()> {
        let steps = self.steps_of(Minimiser::Batches(optimizer));
        let mut state = optimizer.start(network.parameters().len());
        let mut batches = Batches::new(active, self.batch, self.seed);
        let mut step_room = Step::new(network);
        let (mut loss_sum, mut loss_count) = (0.0, 0.0);
        for step in 1..=steps {
            let loss = step_room.gradient(network, data, targets, batches.next());
            if !loss.is_finite() {
                return Err(diverged(step, loss, self.rate()));
            }
            clip_norm(&mut step_room.gradient, self.clip);
            state.step(network.parameters_mut(), &step_room.gradient, self.rate(), self.l2 as f32);
            (loss_sum, loss_count) = (loss_sum + loss, loss_count + 1.0);
            if step % self.check_every == 0 || step == steps {
                let go_on = course.check_network(step, loss_sum / loss_count, network, progress)?;
                (loss_sum, loss_count) = (0.0, 0.0);
                if !go_on {
                    break;
                }
            }
            progress.advance(1)?;
        }
        Ok(())
    }

    fn train_lbfgs(
        &self,
        network: &mut Network,
        data: &Dataset,
        targets: &Targets<'_>,
        active: &[usize],
        course: &mut Course<'_>,
        progress: &dyn Progress,
    ) -> Result<()> {
        let scaling = network.scaling().cloned();
        let layer = network.layers()[0];
        let objective = lbfgs::LinearObjective::new(data, targets, active, self.l2, scaling.as_ref(), layer.normalises);
        // Layer norm's gain and shift add nothing to a linear map, and the bias nothing to a ranking.
        network.parameters_mut()[layer.shift()].fill(0.0);
        network.parameters_mut()[layer.bias()].fill(0.0);
        let start = vec![0.0; layer.inputs];
        let steps = self.steps_of(Minimiser::Lbfgs);
        minimise(
            |w| objective.at(w),
            start,
            steps,
            self.tolerance_or(TOLERANCE),
            |iteration, loss, weights| {
                if !loss.is_finite() {
                    return Err(diverged(iteration, loss, self.rate()));
                }
                let place = &mut network.parameters_mut()[layer.weight()];
                place.iter_mut().zip(weights).for_each(|(place, &weight)| *place = weight as f32);
                progress.advance(1)?;
                course.check_network(iteration, loss, network, progress)
            },
        )
    }
}

/// Refuses networks that score all documents alike: layer norm over a single value is constant.
fn check_norms(network: &Network) -> Result<()> {
    let single = network.layers().iter().position(|layer| layer.normalises && layer.inputs == 1);
    match single {
        None => Ok(()),
        Some(0) => Err(Error::parameter(
            "the paper's scaling needs at least 2 features, but the data has 1: it compares the features of a document \
             with each other, and all scores would be equal; use another `scaling`",
        )),
        Some(_) => Err(Error::parameter(format!(
            "hidden layers should have at least 2 units, but {} has one of 1: it is normalised, and all scores would be equal",
            network.architecture()
        ))),
    }
}

/// What to do when a loss is no number any more.
pub(super) fn diverged(step: usize, loss: f64, learning_rate: f32) -> Error {
    Error::parameter(format!(
        "the training loss is {loss} at step {step}; lower the learning rate ({learning_rate}), or look for features that \
         are not finite or far larger than the rest"
    ))
}

fn usual_minimiser(architecture: &Architecture, targets: &Targets<'_>) -> Minimiser {
    match (architecture, targets) {
        (Architecture::Linear, Targets::Lists(_)) => Minimiser::Lbfgs,
        _ => Minimiser::Batches(Optimizer::AdaGrad),
    }
}

fn check_minimiser(
    minimiser: Minimiser,
    usual: Minimiser,
    architecture: &Architecture,
    targets: &Targets<'_>,
) -> Result<()> {
    match minimiser {
        Minimiser::Batches(optimizer) => optimizer.check(),
        Minimiser::Lbfgs if usual != Minimiser::Lbfgs => Err(Error::parameter(format!(
            "L-BFGS trains linear rankers with the listwise loss, but this is {architecture} with the {} loss",
            targets.loss_name()
        ))),
        Minimiser::Lbfgs => Ok(()),
    }
}

/// As it stands in the record of a ranker.
fn method_name(minimiser: Minimiser) -> String {
    match minimiser {
        Minimiser::Batches(optimizer) => optimizer.to_string(),
        Minimiser::Lbfgs => "l-bfgs".to_string(),
    }
}

/// Batches of lists: each epoch all of them once, in an order of its own.
pub(super) struct Batches {
    order: Vec<usize>,
    next: usize,
    size: usize,
    seed: u64,
    epoch: u64,
}

impl Batches {
    pub(super) fn new(lists: &[usize], size: usize, seed: u64) -> Self {
        Batches { order: lists.to_vec(), next: lists.len(), size, seed, epoch: 0 }
    }

    pub(super) fn next(&mut self) -> &[usize] {
        if self.next == self.order.len() {
            // From sorted order, so that an epoch's order depends on its number alone.
            self.order.sort_unstable();
            self.order.shuffle(&mut random::stream(self.seed, "batches", self.epoch));
            self.epoch += 1;
            self.next = 0;
        }
        let start = self.next;
        self.next = (start + self.size).min(self.order.len());
        &self.order[start..self.next]
    }
}

/// The room of one training step.
struct Step {
    workspace: Workspace,
    rows: Vec<u32>,
    score_gradients: Vec<f32>,
    gradient: Vec<f32>,
}

impl Step {
    fn new(network: &Network) -> Self {
        Step {
            workspace: Workspace::new(network),
            rows: Vec::new(),
            score_gradients: Vec::new(),
            gradient: vec![0.0; network.parameters().len()],
        }
    }

    /// The loss of a batch; leaves the gradient in `self.gradient`.
    fn gradient(&mut self, network: &Network, data: &Dataset, targets: &Targets<'_>, batch: &[usize]) -> f64 {
        self.rows.clear();
        batch.iter().for_each(|&list| self.rows.extend_from_slice(targets.rows_of(list)));
        self.score_gradients.resize(self.rows.len(), 0.0);
        let scores = self.workspace.forward(network, data.features(), &self.rows);
        let loss = batch_loss(targets, batch, scores, &mut self.score_gradients);
        self.workspace.backward(network, &self.score_gradients, &mut self.gradient);
        loss
    }
}

/// The loss of a batch and its gradient by the scores, both over the sum of the batch's weights.
fn batch_loss(targets: &Targets<'_>, batch: &[usize], mut scores: &[f32], mut gradients: &mut [f32]) -> f64 {
    let total: f64 = batch.iter().map(|&list| targets.total_of(list)).sum();
    let mut lists = Vec::with_capacity(batch.len());
    for &list in batch {
        let count = targets.range_of(list).len();
        let scores = scores.split_off(..count).expect("a score for each row");
        lists.push((list, scores, gradients.split_off_mut(..count).expect("a gradient for each row")));
    }
    let losses: Vec<f64> = lists
        .into_par_iter()
        .with_min_len(16)
        .map(|(list, scores, gradients)| {
            let loss = targets.loss(list, scores, gradients);
            gradients.iter_mut().for_each(|gradient| *gradient = (f64::from(*gradient) / total) as f32);
            loss
        })
        .collect();
    losses.iter().sum::<f64>() / total
}

/// The course of training so far: its checks, and the best parameters.
pub(super) struct Course<'a> {
    validation: Option<&'a Validation<'a>>,
    patience: Option<usize>,
    pub(super) checks: Vec<Check>,
    best: Vec<f32>,
    pub(super) best_step: usize,
    pub(super) best_value: Option<f64>,
    since_best: usize,
}

impl<'a> Course<'a> {
    pub(super) fn new(validation: Option<&'a Validation<'a>>, patience: Option<usize>, data: &Dataset) -> Result<Self> {
        if patience.is_some() && validation.is_none() {
            return Err(Error::option("patience", "needs validation, but there is none"));
        }
        if let Some(validation) = validation
            && validation.data.feature_count() != data.feature_count()
        {
            return Err(Error::parameter(format!(
                "the validation data should have the {} features of the training data, but has {}",
                data.feature_count(),
                validation.data.feature_count()
            )));
        }
        let (best, best_step, best_value) = (Vec::new(), 0, None);
        Ok(Course { validation, patience, checks: Vec::new(), best, best_step, best_value, since_best: 0 })
    }

    /// Records a check of a network; says whether to go on.
    pub(super) fn check_network(
        &mut self,
        step: usize,
        loss: f64,
        network: &Network,
        progress: &dyn Progress,
    ) -> Result<bool> {
        self.check(step, loss, network.parameters(), |features| network.score(features), progress)
    }

    /// Records a check of what scores features by `score`; says whether to go on.
    pub(super) fn check(
        &mut self,
        step: usize,
        loss: f64,
        parameters: &[f32],
        score: impl FnOnce(&[f32]) -> Vec<f32>,
        progress: &dyn Progress,
    ) -> Result<bool> {
        let Some(validation) = self.validation else {
            self.checks.push(Check { step, loss, validation: None });
            self.best_step = step;
            progress.note(&format!("loss {loss:.4}"));
            return Ok(true);
        };
        let value = (validation.measure)(&score(validation.data.features()));
        if !value.is_finite() {
            return Err(Error::parameter(format!("the validation measure should be finite, but is {value}")));
        }
        self.checks.push(Check { step, loss, validation: Some(value) });
        progress.note(&format!("loss {loss:.4}, validation {value:.4}"));
        if self.best_value.is_none_or(|best| value > best) {
            (self.best_value, self.best_step, self.since_best) = (Some(value), step, 0);
            self.best.clear();
            self.best.extend_from_slice(parameters);
        } else {
            self.since_best += 1;
        }
        Ok(self.patience.is_none_or(|patience| self.since_best < patience))
    }

    /// What to keep of the course, with `lists` lists that have weight.
    pub(super) fn record(self, targets: &Targets<'_>, method: &str, seed: u64, lists: usize) -> TrainingRecord {
        TrainingRecord {
            loss: targets.loss_name().to_string(),
            method: method.to_string(),
            seed,
            steps: self.checks.last().map_or(0, |check| check.step),
            best_step: self.best_step,
            validation: self.best_value,
            lists,
            skipped_lists: targets.count() - lists,
            checks: self.checks,
            notes: Vec::new(),
        }
    }

    /// Puts the best parameters back, where there was validation.
    pub(super) fn keep_best(&self, parameters: &mut [f32]) {
        if !self.best.is_empty() {
            parameters.copy_from_slice(&self.best);
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::data::DatasetBuilder;
    use crate::ids::Ids;
    use crate::progress::Silent;
    use crate::ranker::{FeatureScaling, TrainingLists, TrainingPairs};

    /// Queries of 8 documents with `features` features, graded 0 to 4 by how high `relevance` is within the query.
    fn planted(seed: u64, queries: usize, features: usize, relevance: impl Fn(&[f32]) -> f32) -> Dataset {
        let mut random = random::stream(seed, "planted", 0);
        let values: Vec<f32> = (0..queries * 8 * features).map(|_| random.random_range(-1.0..1.0)).collect();
        let mut grades = Vec::new();
        for query in values.chunks_exact(8 * features) {
            let relevances: Vec<f32> = query.chunks_exact(features).map(&relevance).collect();
            let above = |&r: &f32| relevances.iter().filter(|&&other| other < r).count();
            grades.extend(relevances.iter().map(|r| (above(r) / 2 + usize::from(above(r) == 7)) as u8));
        }
        DatasetBuilder {
            features: values,
            feature_count: features,
            grades: Some(grades),
            queries: Ids::numbered(queries),
            query_ends: (1..=queries).map(|query| query * 8).collect(),
            docs: None,
        }
        .build()
        .unwrap()
    }

    /// The same data with other features.
    fn with_features(data: &Dataset, features: Vec<f32>) -> Dataset {
        DatasetBuilder {
            features,
            feature_count: data.feature_count(),
            grades: data.grades().map(<[u8]>::to_vec),
            queries: data.queries().clone(),
            query_ends: data.lists().map(|rows| rows.end).collect(),
            docs: None,
        }
        .build()
        .unwrap()
    }

    /// Six features: relevance is in the first, a rate; the others are large, around 20,000, and tell nothing. (Two small ones
    /// would show in their difference, from which layer norm's mean falls out.)
    fn of_different_scales(seed: u64, queries: usize) -> Dataset {
        let data = planted(seed, queries, 6, |row| row[0]);
        let stretch = |(i, &x): (usize, &f32)| if i % 6 == 0 { 0.5 + 0.5 * x } else { 20_000.0 + 10_000.0 * x };
        with_features(&data, data.features().iter().enumerate().map(stretch).collect())
    }

    /// The share of pairs with different grades that scores put in the right order.
    fn pairs_right(data: &Dataset, scores: &[f32]) -> f64 {
        let grades = data.grades().unwrap();
        let (mut right, mut all) = (0.0, 0.0);
        for rows in data.lists() {
            for i in rows.clone() {
                for j in rows.clone().filter(|&j| grades[i] > grades[j]) {
                    all += 1.0;
                    right += f64::from(u8::from(scores[i] > scores[j]));
                }
            }
        }
        right / all
    }

    fn linear_rule(row: &[f32]) -> f32 {
        row[0] - 2.0 * row[1] + 0.5 * row[2]
    }

    fn bent_rule(row: &[f32]) -> f32 {
        row[0] * row[1]
    }

    #[test]
    fn a_linear_ranker_recovers_a_linear_order() {
        let (train, test) = (planted(1, 200, 6, linear_rule), planted(2, 100, 6, linear_rule));
        let lists = TrainingLists::from_grades(&train, 4, None).unwrap();
        let trainer = Training::linear().scaling(FeatureScaling::Standard).seed(0);
        let ranker = trainer.fit_targets(&train, &lists, None, &Silent).unwrap();
        let right = pairs_right(&test, &ranker.score(&test).unwrap());
        assert!(right > 0.9, "{right}");
        assert_eq!(ranker.record.method, "l-bfgs");
    }

    #[test]
    fn an_mlp_learns_what_a_linear_ranker_cannot() {
        let (train, test) = (planted(1, 300, 4, bent_rule), planted(2, 100, 4, bent_rule));
        let lists = TrainingLists::from_grades(&train, 4, None).unwrap();
        let linear = Training::linear().seed(0).fit_targets(&train, &lists, None, &Silent).unwrap();
        let mlp = Training::network(Architecture::Mlp { hidden: vec![32, 16] }).seed(0).batch(64).steps(400);
        let mlp = mlp.learning_rate(0.05).fit_targets(&train, &lists, None, &Silent).unwrap();
        let linear = pairs_right(&test, &linear.score(&test).unwrap());
        let mlp = pairs_right(&test, &mlp.score(&test).unwrap());
        assert!(linear < 0.6 && mlp > 0.7, "linear {linear}, mlp {mlp}");
    }

    #[test]
    fn features_of_different_scales_need_one_scale() {
        let linear = Training::linear().seed(0);
        let mlp = Training::network(Architecture::Mlp { hidden: vec![16] }).seed(0).batch(50).steps(300);
        for (trainer, seed) in [(&linear, 1), (&linear, 2), (&mlp, 3), (&mlp, 4)] {
            let (train, test) = (of_different_scales(seed, 100), of_different_scales(seed + 50, 100));
            let lists = TrainingLists::from_grades(&train, 4, None).unwrap();
            let right = |scaling| {
                let trainer = trainer.clone().seed(seed).learning_rate(0.05).scaling(scaling);
                let ranker = trainer.fit_targets(&train, &lists, None, &Silent).unwrap();
                pairs_right(&test, &ranker.score(&test).unwrap())
            };
            let [paper, standard, rank] =
                [FeatureScaling::Paper, FeatureScaling::Standard, FeatureScaling::Rank].map(right);
            assert!(paper < 0.6 && standard > 0.8 && rank > 0.8, "seed {seed}: {paper}, {standard} and {rank}");
        }
    }

    #[test]
    fn standardising_is_training_on_scaled_features() {
        let data = of_different_scales(1, 60);
        let lists = TrainingLists::from_grades(&data, 4, None).unwrap();
        let copy = |scaling: &Scaling| {
            let mut features = vec![0.0; data.features().len()];
            let rows = features.chunks_exact_mut(data.feature_count()).zip(data.features().chunks_exact(6));
            rows.for_each(|(out, row)| scaling.apply(row, out));
            with_features(&data, features)
        };
        for architecture in [Architecture::Linear, Architecture::Mlp { hidden: vec![9] }] {
            let trainer = Training::network(architecture).seed(0).steps(15).batch(20).seed(3);
            let measure = |scores: &[f32]| pairs_right(&data, scores);
            let fit = |trainer: Training, data: &Dataset| {
                trainer.fit_targets(data, &lists, Some(&Validation::new(data, measure)), &Silent).unwrap()
            };
            let as_they_are = trainer.clone().scaling(FeatureScaling::None);
            for scaling in [FeatureScaling::Rank, FeatureScaling::Standard] {
                let found = fit(trainer.clone().scaling(scaling), &data);
                let scaled = copy(found.scaling().unwrap());
                let expected = fit(as_they_are.clone(), &scaled);
                assert_eq!(found.record, expected.record);
                assert_eq!(found.score(&data).unwrap(), expected.score(&scaled).unwrap());
            }
            let scaled = copy(fit(trainer.scaling(FeatureScaling::Standard), &data).scaling().unwrap());
            let column = |i: usize| scaled.features().iter().skip(i).step_by(6).map(|&x| f64::from(x));
            for i in 0..6 {
                let (mean, square) = (column(i).sum::<f64>() / 480.0, column(i).map(|x| x * x).sum::<f64>() / 480.0);
                assert!(mean.abs() < 1e-5 && (square - 1.0).abs() < 1e-5, "feature {i}: {mean} {square}");
            }
        }
    }

    #[test]
    fn networks_that_score_all_alike_are_refused() {
        let refusal = |data: &Dataset, trainer: Training| {
            let lists = TrainingLists::from_grades(data, 4, None).unwrap();
            trainer.fit_targets(data, &lists, None, &Silent).unwrap_err().to_string()
        };
        let one = planted(1, 3, 1, |row| row[0]);
        for trainer in [Training::linear(), Training::network(Architecture::mlp())] {
            let message = refusal(&one, trainer.scaling(FeatureScaling::Paper));
            assert!(message.contains("at least 2 features, but the data has 1"), "{message}");
            assert!(message.contains("use another `scaling`"), "{message}");
        }
        let lists = TrainingLists::from_grades(&one, 4, None).unwrap();
        let level = Training::linear().fit_targets(&one, &lists, None, &Silent).unwrap();
        assert!(pairs_right(&one, &level.score(&one).unwrap()) > 0.99);
        let narrow = Training::network(Architecture::Mlp { hidden: vec![4, 1] }).seed(0);
        let message = refusal(&planted(1, 3, 3, linear_rule), narrow);
        assert!(message.contains("at least 2 units, but mlp:4,1 has one of 1"), "{message}");
    }

    #[test]
    fn constant_features_are_left_out_and_others_must_be_finite() {
        let data = planted(1, 20, 3, linear_rule);
        let lists = TrainingLists::from_grades(&data, 4, None).unwrap();
        let change = |change: &dyn Fn(usize, f32) -> f32| {
            with_features(&data, data.features().iter().enumerate().map(|(i, &x)| change(i % 3, x)).collect())
        };
        let constant = change(&|i, x| if i == 1 { 7.0 } else { x });
        let trainer = Training::linear().scaling(FeatureScaling::Standard).seed(0).steps(5);
        let scale = |ranker: &Ranker| match ranker.scaling() {
            Some(Scaling::Linear(scaling)) => scaling.scale()[1],
            other => panic!("{other:?}"),
        };
        let ranker = trainer.fit_targets(&constant, &lists, None, &Silent).unwrap();
        assert_eq!(scale(&ranker), 0.0);
        let moved = change(&|i, x| if i == 1 { 1e6 } else { x });
        assert_eq!(ranker.score(&moved).unwrap(), ranker.score(&constant).unwrap());
        let tiny =
            trainer.fit_targets(&change(&|i, x| if i == 1 { x * 1e-40 } else { x }), &lists, None, &Silent).unwrap();
        assert_eq!(scale(&tiny), f32::MAX);
        let infinite = change(&|i, x| if i == 1 { f32::INFINITY } else { x });
        for scaling in [FeatureScaling::Standard, FeatureScaling::Rank] {
            let error = trainer.clone().scaling(scaling).fit_targets(&infinite, &lists, None, &Silent).unwrap_err();
            assert_eq!(error.to_string(), "features should be finite, but feature 2 is not");
        }
    }

    #[test]
    fn pairs_teach_an_order() {
        let data = planted(1, 100, 6, linear_rule);
        let grades = data.grades().unwrap();
        let mut pairs = TrainingPairs::default();
        for rows in data.lists() {
            pairs.rows.extend(rows.clone().map(|row| row as u32));
            pairs.ends.push(pairs.rows.len());
            for i in rows.clone() {
                pairs.pairs.extend(rows.clone().map(|j| f32::from(grades[i].saturating_sub(grades[j]))));
            }
            pairs.pair_ends.push(pairs.pairs.len());
        }
        let trainer = Training::linear().scaling(FeatureScaling::Standard).seed(0).learning_rate(0.1).steps(200);
        let ranker = trainer.fit_targets(&data, &pairs, None, &Silent).unwrap();
        assert!(pairs_right(&data, &ranker.score(&data).unwrap()) > 0.9);
        assert_eq!((ranker.record.loss.as_str(), ranker.record.method.as_str()), ("pairwise PRS", "adagrad"));
        let error = Training::linear()
            .seed(0)
            .optimizer(Minimiser::Lbfgs)
            .fit_targets(&data, &pairs, None, &Silent)
            .unwrap_err();
        assert!(error.to_string().starts_with("L-BFGS trains linear rankers with the listwise loss"), "{error}");
    }

    #[test]
    fn lbfgs_reaches_a_loss_no_batch_method_beats() {
        let data = planted(3, 100, 10, |row| linear_rule(row) + 2.0 * row[3] * row[4]);
        let lists = TrainingLists::from_grades(&data, 4, None).unwrap();
        let last = |ranker: Ranker| ranker.record.checks.last().unwrap().loss;
        let full = last(Training::linear().seed(0).fit_targets(&data, &lists, None, &Silent).unwrap());
        let adagrad =
            Training::linear().seed(0).optimizer(Minimiser::Batches(Optimizer::AdaGrad)).learning_rate(0.1).batch(100);
        let adagrad = last(adagrad.steps(2000).fit_targets(&data, &lists, None, &Silent).unwrap());
        assert!(full <= adagrad + 1e-6 && adagrad < full + 0.01, "{full} and {adagrad}");
    }

    #[test]
    fn threads_do_not_change_a_byte() {
        let data = planted(1, 120, 21, bent_rule);
        let lists = TrainingLists::from_grades(&data, 4, None).unwrap();
        let measure = |scores: &[f32]| pairs_right(&data, scores);
        let validation = Validation::new(&data, measure);
        let folder = tempfile::tempdir().unwrap();
        let architectures = [Architecture::Linear, Architecture::Mlp { hidden: vec![70, 9] }];
        for (architecture, scaling) in
            architectures.into_iter().flat_map(|a| FeatureScaling::ALL.map(|s| (a.clone(), s)))
        {
            let trainer = Training::network(architecture).seed(0).batch(50).steps(25).seed(9);
            let trainer = trainer.scaling(scaling);
            let bytes = |threads| {
                let path = folder.path().join("ranker");
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let fit = || trainer.fit_targets(&data, &lists, None, &Silent);
                let mut ranker = pool.install(fit).unwrap();
                ranker.record.notes.push(("note".into(), "kept".into()));
                ranker.save(&path).unwrap();
                std::fs::read(&path).unwrap()
            };
            let one = bytes(1);
            assert_eq!(one, bytes(2));
            assert_eq!(one, bytes(3));
            trainer.fit_targets(&data, &lists, Some(&validation), &Silent).unwrap();
        }
    }

    #[test]
    fn the_best_check_is_kept_and_patience_stops() {
        let data = planted(1, 50, 5, linear_rule);
        let lists = TrainingLists::from_grades(&data, 4, None).unwrap();
        let calls = std::cell::Cell::new(0);
        // Best at the third check.
        let measure = |_: &[f32]| {
            calls.set(calls.get() + 1);
            -f64::from(i32::abs(calls.get() - 3))
        };
        let validation = Validation::new(&data, measure);
        let trainer = Training::linear()
            .seed(0)
            .optimizer(Minimiser::Batches(Optimizer::AdaGrad))
            .check_every(2)
            .steps(40)
            .batch(20);
        let stopped = trainer.clone().patience(4).fit_targets(&data, &lists, Some(&validation), &Silent).unwrap();
        assert_eq!((stopped.record.best_step, stopped.record.steps), (6, 2 * (3 + 4)));
        assert_eq!(stopped.record.validation, Some(0.0));
        let six = trainer.steps(6).fit_targets(&data, &lists, None, &Silent).unwrap();
        assert_eq!(stopped.model, six.model);
    }

    #[test]
    fn epochs_pass_over_all_lists_once() {
        let mut batches = Batches::new(&[0, 1, 2, 3, 4], 2, 1);
        let epoch = |batches: &mut Batches| -> Vec<usize> { (0..3).flat_map(|_| batches.next().to_vec()).collect() };
        let (first, second) = (epoch(&mut batches), epoch(&mut batches));
        assert_ne!(first, second);
        for mut epoch in [first, second] {
            epoch.sort_unstable();
            assert_eq!(epoch, [0, 1, 2, 3, 4]);
        }
    }

    #[test]
    fn lists_without_weight_are_skipped_and_counted() {
        let data = planted(1, 3, 3, linear_rule);
        let mut lists = TrainingLists::from_grades(&data, 4, None).unwrap();
        lists.weights[8..16].fill(0.0);
        let ranker = Training::linear().seed(0).steps(3).fit_targets(&data, &lists, None, &Silent).unwrap();
        assert_eq!((ranker.record.lists, ranker.record.skipped_lists), (2, 1));
        lists.weights.fill(0.0);
        let error = Training::linear().seed(0).fit_targets(&data, &lists, None, &Silent).unwrap_err();
        assert_eq!(error.to_string(), "training needs a list with a weight above 0, but none of 3 lists has one");
    }

    #[test]
    fn bad_parameters_and_divergence_are_errors() {
        let data = planted(1, 3, 3, linear_rule);
        let lists = TrainingLists::from_grades(&data, 4, None).unwrap();
        let refusal = |trainer: Training| trainer.fit_targets(&data, &lists, None, &Silent).unwrap_err().to_string();
        assert_eq!(
            refusal(Training::linear().seed(0).learning_rate(-1.0)),
            "`learning_rate` is -1, but should be above 0"
        );
        assert_eq!(refusal(Training::linear().seed(0).batch(0)), "`batch` is 0, but should be at least 1");
        assert_eq!(refusal(Training::linear().seed(0).patience(3)), "`patience` needs validation, but there is none");
        let wild = Training::linear().seed(0).optimizer(Minimiser::Batches(Optimizer::Sgd { momentum: 0.0 }));
        let wild = refusal(wild.learning_rate(f32::MAX).clip(f64::INFINITY));
        assert!(wild.contains("lower the learning rate"), "{wild}");
        let ranker = Training::linear().seed(0).steps(2).fit_targets(&data, &lists, None, &Silent).unwrap();
        let error = ranker.score(&planted(1, 1, 4, linear_rule)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the ranker was trained on 3 features, but the data set has 4; use data of the same kind"
        );
    }
}
