//! The dual learning algorithm: clicks and features enter, a ranker and propensities leave.

mod lists;
mod outcome;

use rayon::prelude::*;

use super::trainer::{Batches, Course, diverged};
use super::{FeatureScaling, Model, Ranker, TrainingRecord, Validation};
use crate::counts::CountsView;
use crate::data::Dataset;
use crate::network::{Architecture, Network, Optimizer, Workspace, clip_norm};
use crate::options::{Options, options};
use crate::progress::Progress;
use crate::propensity::Propensities;
use crate::{Error, Result};
use lists::{DualList, DualLists, Loss, Rule};

/// The norm to which longer gradients of a batch are cut, as in [`Training`](super::Training).
const GRADIENT_NORM: f64 = 5.0;

options! {
    /// Trains a ranker and propensities together from the same clicks (Ai et al. 2018, "Unbiased learning to rank with
    /// unbiased propensity estimation").
    ///
    /// The ranker has a score `s(d)`, the propensity model a logit `b(k)` for each position, or `b(u,k)` for each user's.
    /// With `r = softmax(s)` over the shown documents and `θ = softmax(b)` over the positions, each is trained on clicks that
    /// the other one weighs:
    ///
    /// ```text
    /// ranker       −Σ c · θ(1)/θ(k) · log r(d)
    /// propensities −Σ c · r(d₁)/r(d) · log θ(k)
    /// ```
    ///
    /// Weights are constants for the gradient, and each batch's losses are divided by the sums of their weights. Clicks are
    /// linear in both losses, so sums over sessions are sums over cells.
    ///
    /// A log need not show one list per query. Position 1 may have held several documents over time: `d₁` is the one that was
    /// shown there most (it only weighs a query against others). Documents and positions that were shown in a part of the
    /// sessions have the logarithm of how often they were shown added to `s` or `b` inside the softmax; a click is then as
    /// likely as the sessions say and the fixed point `r ∝ γ`, `θ` stays. Where every session shows the whole list this adds
    /// a constant, and the losses are the published ones.
    ///
    /// Only ratios are learned. The output's scale is `max_k θ̄(k) = 1`; with [`per_user`](Dla::per_user) all users are taken
    /// to examine the first position alike. A note says so where θ still moved near the end of training: then it is closer to
    /// where it began, equal examination, than the clicks are. Positions that the data set has no document for get 0 and a note; where a user
    /// saw no document of the data set, the population's value stands. It assumes that features explain relevance: what they
    /// cannot tell apart across positions is taken for examination (see [`Identifiability`](crate::propensity::Identifiability)).
    ///
    /// ```no_run
    /// # use truerank::{counts::Counts, data::Dataset, progress::Silent, ranker::Dla};
    /// # fn example(data: &Dataset, counts: &Counts) -> truerank::Result<()> {
    /// let (ranker, propensities) = Dla::new().iterations(2000).seed(1).fit(data, counts, None, &Silent)?;
    /// # Ok(()) }
    /// ```
    pub struct Dla {
        /// Examination of each user instead of one for all.
        per_user: bool = false;
        /// Form of the ranker: linear, mlp or mlp:SIZE,SIZE,….
        model: Architecture = Architecture::Linear;
        /// How the ranker's features are brought to one scale first: paper (a layer norm over each document), rank, standard or none.
        scaling: FeatureScaling = FeatureScaling::Paper, value("HOW");
        /// Steps on batches.
        iterations: usize = 1000, at_least(1.0), value("N");
        /// Seed of initial weights and of batches.
        seed: u64 = 1;
    }
    beside {
        /// The most that a click weighs, at least 1: bounds the variance, adds bias. Without a bound, as published.
        clip: Option<f64> = None,
        /// The size of AdaGrad's steps of the ranker.
        learning_rate: f32 = 0.05,
        /// The size of AdaGrad's steps of the propensity model.
        ///
        /// Larger than the ranker's: logits have far to go (θ = .03 is −3.5) and few directions to go in, and while they lag
        /// behind, the ranker learns from clicks that are still biased.
        propensity_rate: f32 = 0.5,
        /// How many queries a batch has.
        batch: usize = 256,
        /// How many steps lie between two checks.
        check_every: usize = 10,
    }
}

impl Dla {
    /// Trains both. With validation, ranker and propensities of the check with the best value are kept; without, the last.
    pub fn fit(
        &self,
        data: &Dataset,
        counts: &dyn CountsView,
        validation: Option<&Validation<'_>>,
        progress: &dyn Progress,
    ) -> Result<(Ranker, Propensities)> {
        self.check()?;
        data.require_every_feature("dual learning")?;
        let lists = DualLists::new(data, counts, self.per_user)?;
        if lists.lists.is_empty() {
            return Err(Error::parameter(format!(
                "dual learning needs clicks on documents of the data set, but none of {} queries has one",
                lists.skipped
            )));
        }
        let mut network = self.scaling.network(&self.model, data, self.seed)?;
        let mut course = Course::new(validation, None, data)?;
        progress.begin("dual learning", self.iterations as u64);
        let logits = self.train(&mut network, data, &lists, &mut course, progress)?;
        course.keep_best(network.parameters_mut());
        let ranker = Ranker { model: Model::Network(network), record: self.record(&lists, course) };
        let propensities = outcome::propensities(&lists, &logits, counts, self.per_user)?;
        propensities.check()?;
        Ok((ranker, propensities))
    }

    pub(crate) fn check(&self) -> Result<()> {
        self.check_ranges()?;
        let positive = |what: &str, value: f64| match value > 0.0 && value.is_finite() {
            true => Ok(()),
            false => Err(Error::parameter(format!("{what} should be positive and finite, but is {value}"))),
        };
        positive("the learning rate", f64::from(self.learning_rate))?;
        positive("the propensity rate", f64::from(self.propensity_rate))?;
        positive("the batch", self.batch as f64)?;
        positive("the number of steps between checks", self.check_every as f64)?;
        match self.clip {
            Some(clip) if clip.is_nan() || clip < 1.0 => {
                Err(Error::parameter(format!("the clip of click weights should be at least 1, but is {clip}")))
            }
            _ => Ok(()),
        }
    }

    /// Trains `network` and logits to the end.
    fn train(
        &self,
        network: &mut Network,
        data: &Dataset,
        lists: &DualLists,
        course: &mut Course<'_>,
        progress: &dyn Progress,
    ) -> Result<Logits> {
        let clip = self.clip.unwrap_or(f64::INFINITY);
        let rule = Rule { positions: lists.positions, first: lists.first, clip };
        let mut logits = vec![0.0; lists.groups * lists.positions];
        let (mut best, mut earlier) = (logits.clone(), logits.clone());
        let mut ranker_state = Optimizer::AdaGrad.start(network.parameters().len());
        let mut logit_state = Optimizer::AdaGrad.start(logits.len());
        let numbers: Vec<usize> = (0..lists.lists.len()).collect();
        let mut batches = Batches::new(&numbers, self.batch, self.seed);
        let mut room = Step::new(network, logits.len());
        let (mut loss_sum, mut loss_count) = (0.0, 0.0);
        for step in 1..=self.iterations {
            let batch: Vec<&DualList> = batches.next().iter().map(|&number| &lists.lists[number]).collect();
            let loss = room.gradients(network, &logits, rule, data, &batch);
            if !loss.is_finite() {
                return Err(diverged(step, loss, self.learning_rate));
            }
            clip_norm(&mut room.ranker, GRADIENT_NORM);
            clip_norm(&mut room.logits, GRADIENT_NORM);
            ranker_state.step(network.parameters_mut(), &room.ranker, self.learning_rate, 0.0);
            logit_state.step(&mut logits, &room.logits, self.propensity_rate, 0.0);
            (loss_sum, loss_count) = (loss_sum + loss, loss_count + 1.0);
            if step % self.check_every == 0 || step == self.iterations {
                course.check_network(step, loss_sum / loss_count, network, progress)?;
                (loss_sum, loss_count) = (0.0, 0.0);
                if course.best_step == step {
                    best.copy_from_slice(&logits);
                }
            }
            if step == self.iterations * 9 / 10 {
                earlier.copy_from_slice(&logits);
            }
            progress.advance(1)?;
        }
        Ok(Logits { best, earlier, last: logits })
    }

    fn record(&self, lists: &DualLists, course: Course<'_>) -> TrainingRecord {
        TrainingRecord {
            loss: "dual listwise softmax".to_string(),
            method: Optimizer::AdaGrad.to_string(),
            seed: self.seed,
            steps: self.iterations,
            best_step: course.best_step,
            validation: course.best_value,
            lists: lists.lists.len(),
            skipped_lists: lists.skipped,
            checks: course.checks,
            notes: Vec::new(),
        }
    }
}

/// The propensity model's logits on their way.
struct Logits {
    /// At the check that is kept.
    best: Vec<f32>,
    /// After nine tenths of the steps.
    earlier: Vec<f32>,
    last: Vec<f32>,
}

/// The room of one training step.
struct Step {
    workspace: Workspace,
    rows: Vec<u32>,
    score_gradients: Vec<f32>,
    /// The gradient of the ranker's parameters.
    ranker: Vec<f32>,
    /// The gradient of the logits.
    logits: Vec<f32>,
}

impl Step {
    fn new(network: &Network, logits: usize) -> Self {
        Step {
            workspace: Workspace::new(network),
            rows: Vec::new(),
            score_gradients: Vec::new(),
            ranker: vec![0.0; network.parameters().len()],
            logits: vec![0.0; logits],
        }
    }

    /// The sum of both losses of a batch; leaves both gradients in the room.
    fn gradients(&mut self, network: &Network, logits: &[f32], rule: Rule, data: &Dataset, batch: &[&DualList]) -> f64 {
        self.rows.clear();
        batch.iter().for_each(|list| self.rows.extend_from_slice(&list.rows));
        self.score_gradients.resize(self.rows.len(), 0.0);
        let scores = self.workspace.forward(network, data.features(), &self.rows);
        let losses = list_losses(batch, scores, logits, rule, &mut self.score_gradients);
        let sum = |value: &dyn Fn(&ListLosses) -> f64| losses.iter().map(value).sum::<f64>();
        let relevance_total = sum(&|losses| losses.relevance.1);
        let examination_total = sum(&|losses| losses.examination.1);
        self.score_gradients.iter_mut().for_each(|slope| *slope = (f64::from(*slope) / relevance_total) as f32);
        self.workspace.backward(network, &self.score_gradients, &mut self.ranker);
        self.logits.fill(0.0);
        for (list, losses) in batch.iter().zip(&losses) {
            for (slot, &slope) in list.slots().zip(&losses.slopes) {
                self.logits[slot as usize] += (f64::from(slope) / examination_total) as f32;
            }
        }
        sum(&|losses| losses.relevance.0) / relevance_total + sum(&|losses| losses.examination.0) / examination_total
    }
}

/// Both losses of a list, and the gradient by its logits.
struct ListLosses {
    relevance: Loss,
    examination: Loss,
    slopes: Vec<f32>,
}

/// The losses of each list; fills `gradients` with the ranker's by the scores.
fn list_losses(
    batch: &[&DualList],
    mut scores: &[f32],
    logits: &[f32],
    rule: Rule,
    mut gradients: &mut [f32],
) -> Vec<ListLosses> {
    let mut work = Vec::with_capacity(batch.len());
    for &list in batch {
        let count = list.rows.len();
        let scores = scores.split_off(..count).expect("a score for each row");
        work.push((list, scores, gradients.split_off_mut(..count).expect("a gradient for each row")));
    }
    work.into_par_iter()
        .with_min_len(16)
        .map(|(list, scores, gradients)| {
            let mut slopes = Vec::new();
            let examination = list.examination_loss(scores, logits, rule, &mut slopes);
            ListLosses { relevance: list.relevance_loss(scores, logits, rule, gradients), examination, slopes }
        })
        .collect()
}

#[cfg(test)]
mod tests;
