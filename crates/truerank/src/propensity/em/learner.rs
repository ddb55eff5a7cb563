//! A network that climbs the click likelihood.

use super::logistic::sigmoid;
use crate::data::Dataset;
use crate::network::{Network, Optimizer, OptimizerState, Workspace, clip_norm};

/// Documents per step.
pub(in crate::propensity) const BATCH: usize = 512;

/// Gradients longer than this are cut, as in the rankers' training.
const LONGEST: f64 = 5.0;

/// Rows scored at a time where no gradient follows.
const SCORED: usize = 1 << 14;

/// A network whose output is the logit of γ, with what its optimiser remembers.
pub(in crate::propensity) struct Learner {
    network: Network,
    optimizer: OptimizerState,
    workspace: Workspace,
}

impl Learner {
    pub fn new(network: Network) -> Self {
        let optimizer = Optimizer::Adam.start(network.parameters().len());
        Learner { workspace: Workspace::new(&network), optimizer, network }
    }

    /// The logits of any number of rows.
    pub fn scores(&mut self, data: &Dataset, rows: &[u32]) -> Vec<f64> {
        let mut scores = Vec::with_capacity(rows.len());
        for rows in rows.chunks(SCORED) {
            let found = self.workspace.forward(&self.network, data.features(), rows);
            scores.extend(found.iter().map(|score| f64::from(*score)));
        }
        scores
    }

    /// γ of a batch of rows; a [`climb`](Learner::climb) may follow.
    pub fn relevance(&mut self, data: &Dataset, batch: &[u32]) -> Vec<f64> {
        let scores = self.workspace.forward(&self.network, data.features(), batch);
        scores.iter().map(|score| sigmoid(f64::from(*score))).collect()
    }

    /// A step up, given the slopes of the log-likelihood in the logits of the last batch.
    pub fn climb(&mut self, slopes: impl Iterator<Item = f64>, rate: f32) {
        let down: Vec<f32> = slopes.map(|slope| -slope as f32).collect();
        let mut gradient = vec![0.0; self.network.parameters().len()];
        self.workspace.backward(&self.network, &down, &mut gradient);
        clip_norm(&mut gradient, LONGEST);
        self.optimizer.step(self.network.parameters_mut(), &gradient, rate, 0.0);
    }
}
