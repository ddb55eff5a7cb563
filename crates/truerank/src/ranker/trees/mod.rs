//! Boosted regression trees: training lists enter, a forest leaves.
//!
//! Features are put into at most 255 bins once. Each tree is fitted to the derivatives of the loss by the current scores: leaves
//! are divided by histograms over bins, the most useful one first. Derivatives are rounded to whole numbers of 30 bits, whose sums are exact, so that a
//! forest is the same on any number of threads.

mod bins;
mod fast;
pub(super) mod file;
mod grow;
mod histogram;
mod model;
mod monotone;
mod objective;
mod partition;
#[cfg(test)]
pub(super) mod random;
mod score;
mod split;
mod sums;
#[cfg(test)]
mod tests;

use std::ops::Range;

use rand::seq::SliceRandom;
use rayon::prelude::*;

pub(super) use bins::MOST_BINS;
pub(super) use model::MOST_LEAVES;
pub use model::{Child, Forest, Importance, Leaf, Split, Tree};
pub use monotone::Monotone;
pub use objective::TreeLoss;

use super::trainer::{Course, diverged};
use super::{Model, Ranker, Targets, Training, TrainingLists, Validation};
use crate::Result;
use crate::data::Dataset;
use crate::progress::Progress;
use crate::random::{Random, stream};
use bins::BinnedRows;
use grow::{Grower, Grown};
use objective::{Derivatives, Objective};
use split::Rules;
use sums::Units;

/// Trees at most, where nothing is said.
const TREES: usize = 500;

/// Documents that one task scores by a tree.
const TASK: usize = 1 << 10;

/// What leaves are multiplied by, where nothing is said.
const LEARNING_RATE: f32 = 0.05;

impl Training {
    /// Trains boosted trees on relevance weights or grades.
    pub(super) fn fit_trees(
        &self,
        data: &Dataset,
        lists: &TrainingLists,
        validation: Option<&Validation<'_>>,
        progress: &dyn Progress,
    ) -> Result<Ranker> {
        let targets = Targets::Lists(lists);
        targets.check(data)?;
        let active = targets.require_active()?;
        let loss = self.loss.unwrap_or(TreeLoss::Softmax);
        let ranges: Vec<Range<usize>> = match loss {
            // That nothing in a list is relevant tells a regression something.
            TreeLoss::Squared => (0..targets.count()).map(|list| targets.range_of(list)).collect(),
            _ => active.iter().map(|&list| targets.range_of(list)).collect(),
        };
        let directions = self.monotone.clone().unwrap_or_default().directions(data.feature_count())?;
        let mut course = Course::new(validation, self.patience, data)?;
        let objective = Objective { loss, lists: &ranges, relevance: &lists.weights };
        let bins = BinnedRows::new(data, &lists.rows, self.bins);
        let rules = Rules { min_rows: self.min_leaf as u64, l2: self.l2 };
        let rate = f64::from(self.learning_rate.unwrap_or(LEARNING_RATE));
        let grower = Grower::new(&bins, &directions, rules, self.leaves, rate);
        let mut boosting = Boosting::new(self, data, lists, objective, grower, validation);
        boosting.run(self.steps.unwrap_or(TREES), &mut course, progress)?;
        let mut trees = boosting.trees;
        trees.truncate(course.best_step);
        let mut record = course.record(&targets, "boosted trees", self.seed, ranges.len());
        record.loss = loss.to_string();
        Ok(Ranker { model: Model::Trees(Forest::new(data.feature_count(), trees)?), record })
    }
}

/// The state of boosting.
struct Boosting<'a> {
    training: &'a Training,
    data: &'a Dataset,
    lists: &'a TrainingLists,
    objective: Objective<'a>,
    grower: Grower<'a>,
    trees: Vec<Tree>,
    /// The scores of training rows.
    scores: Vec<f32>,
    derivatives: Vec<Derivatives>,
    /// Documents that training does not see, and their scores.
    validation: Option<(&'a Dataset, Vec<f32>)>,
}

impl<'a> Boosting<'a> {
    fn new(
        training: &'a Training,
        data: &'a Dataset,
        lists: &'a TrainingLists,
        objective: Objective<'a>,
        grower: Grower<'a>,
        validation: Option<&Validation<'a>>,
    ) -> Self {
        let start = objective.start();
        let validation = validation.map(|validation| (validation.data, vec![start; validation.data.len()]));
        let (scores, derivatives) = (vec![start; lists.rows.len()], vec![(0.0, 0.0); lists.rows.len()]);
        Boosting { training, data, lists, objective, grower, trees: Vec::new(), scores, derivatives, validation }
    }

    fn run(&mut self, steps: usize, course: &mut Course<'_>, progress: &dyn Progress) -> Result<()> {
        progress.begin("training", steps as u64);
        for step in 1..=steps {
            let loss = self.add_tree(step);
            if !loss.is_finite() {
                return Err(diverged(step, loss, self.training.learning_rate.unwrap_or(LEARNING_RATE)));
            }
            if step % self.training.check_every == 0 || step == steps {
                let scores = self.validation.as_ref().map(|(_, scores)| scores.clone());
                if !course.check(step, loss, &[], |_| scores.unwrap_or_default(), progress)? {
                    break;
                }
            }
            progress.advance(1)?;
        }
        Ok(())
    }

    /// Adds a tree; returns the loss before it.
    fn add_tree(&mut self, step: usize) -> f64 {
        let loss = self.objective.fill(&self.scores, &mut self.derivatives);
        let mut random = stream(self.training.seed, "trees", step as u64);
        let used = self.features(&mut random);
        let (mut rows, others) = self.rows(&mut random);
        let (units, derivatives) = Units::of(&self.derivatives);
        let grown = self.grower.grow(units, &derivatives, &used, &mut rows);
        self.advance(grown, &rows, &others);
        loss
    }

    /// The features that the next tree may use.
    fn features(&self, random: &mut Random) -> Vec<bool> {
        let count = self.data.feature_count();
        let mut used = vec![self.training.feature_share >= 1.0; count];
        if self.training.feature_share < 1.0 {
            let mut order: Vec<usize> = (0..count).collect();
            order.shuffle(random);
            let wanted = (count as f64 * self.training.feature_share).ceil() as usize;
            order[..wanted.clamp(1, count)].iter().for_each(|&feature| used[feature] = true);
        }
        used
    }

    /// The rows of lists that the next tree learns from, and all others.
    fn rows(&self, random: &mut Random) -> (Vec<u32>, Vec<u32>) {
        let rows = |lists: &[usize]| -> Vec<u32> {
            lists.iter().flat_map(|&list| self.objective.lists[list].clone()).map(|row| row as u32).collect()
        };
        let mut order: Vec<usize> = (0..self.objective.lists.len()).collect();
        if self.training.query_share >= 1.0 {
            return (rows(&order), Vec::new());
        }
        order.shuffle(random);
        let wanted = (order.len() as f64 * self.training.query_share).ceil() as usize;
        let wanted = wanted.clamp(1, order.len());
        let (chosen, others) = order.split_at_mut(wanted);
        chosen.sort_unstable();
        (rows(chosen), rows(others))
    }

    /// Adds what a tree says to all scores, and the tree.
    fn advance(&mut self, grown: Grown, rows: &[u32], others: &[u32]) {
        let Grown { mut tree, rows: of_leaves } = grown;
        for (leaf, range) in tree.leaves.iter().zip(of_leaves) {
            rows[range].iter().for_each(|&row| self.scores[row as usize] += leaf.value);
        }
        for &row in others {
            self.scores[row as usize] += tree.value(self.data.row(self.lists.rows[row as usize] as usize));
        }
        if let Some((data, scores)) = &mut self.validation {
            let rows = data.features().par_chunks_exact(data.feature_count().max(1));
            scores.par_iter_mut().zip(rows).with_min_len(TASK).for_each(|(score, row)| *score += tree.value(row));
        }
        if self.trees.is_empty() {
            // The forest begins at 0: the first tree brings what scores began with.
            let start = self.objective.start();
            tree.leaves.iter_mut().for_each(|leaf| leaf.value += start);
        }
        self.trees.push(tree);
    }
}
