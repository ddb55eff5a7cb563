//! Full-batch training of the linear ranker: training lists enter, the weights of least loss leave.

use rayon::prelude::*;

use super::Targets;
use super::scale::FeatureScale;
use crate::data::Dataset;
use crate::minimise::dot;
use crate::network::{Scaling, lane_dot, row_statistics};

/// The listwise loss of a linear ranker as a function of its weights: the mean over all weights, plus `l2/2 · |w|²`.
pub(super) struct LinearObjective<'a> {
    data: &'a Dataset,
    targets: &'a Targets<'a>,
    active: &'a [usize],
    scaling: Option<&'a Scaling>,
    norm: Norm<'a>,
    total: f64,
    l2: f64,
}

/// How features are brought to one scale; scaled rows are never stored.
enum Norm<'a> {
    /// Each document by its own features: the mean and 1 over the deviation of each listed row.
    Rows(Vec<(f32, f32)>),
    /// Each feature by all documents.
    Features(&'a FeatureScale),
    /// Not here.
    None,
}

impl Norm<'_> {
    /// The weights that [`score`](Norm::score) takes.
    fn weights(&self, weights: &[f64]) -> Vec<f32> {
        match self {
            Norm::Rows(_) | Norm::None => weights.iter().map(|&w| w as f32).collect(),
            Norm::Features(scale) => scale.raw(weights),
        }
    }

    /// The score of a row, number `place` of the listed ones.
    fn score(&self, row: &[f32], place: usize, weights: &[f32]) -> f32 {
        match self {
            Norm::Rows(statistics) => {
                let (mean, scale) = statistics[place];
                lane_dot(row, weights, |x, w| (x - mean) * w) * scale
            }
            Norm::Features(scale) => scale.score(row, weights),
            Norm::None => lane_dot(row, weights, |x, w| x * w),
        }
    }

    /// Adds `slope` times the gradient of that score.
    fn add(&self, gradient: &mut [f32], row: &[f32], place: usize, slope: f32) {
        match self {
            Norm::Rows(statistics) => {
                let (mean, scale) = statistics[place];
                let slope = slope * scale;
                gradient.iter_mut().zip(row).for_each(|(sum, &x)| *sum += slope * (x - mean));
            }
            Norm::Features(scale) => scale.add(gradient, row, slope),
            Norm::None => gradient.iter_mut().zip(row).for_each(|(sum, &x)| *sum += slope * x),
        }
    }

    /// Adds a gradient by [`weights`](Norm::weights) over `total` to one by the weights of scaled features.
    fn add_up(&self, sum: &mut [f64], gradient: &[f32], total: f64) {
        match self {
            Norm::Rows(_) | Norm::None => {
                sum.iter_mut().zip(gradient).for_each(|(sum, &part)| *sum += f64::from(part) / total)
            }
            Norm::Features(scale) => {
                sum.iter_mut().zip(scale.scaled(gradient)).for_each(|(sum, part)| *sum += part / total);
            }
        }
    }
}

impl<'a> LinearObjective<'a> {
    /// On features that `scaling` brought to one scale, and that are layer-normalised then if `normalises`.
    pub(super) fn new(
        data: &'a Dataset,
        targets: &'a Targets<'a>,
        active: &'a [usize],
        l2: f64,
        scaling: Option<&'a Scaling>,
        normalises: bool,
    ) -> Self {
        if !normalises {
            return LinearObjective { scaling, ..Self::with(data, targets, active, l2, Norm::None) };
        }
        let statistics =
            |room: &mut Vec<f32>, &row: &u32| row_statistics(scaled(scaling, data.row(row as usize), room));
        let statistics = targets.all_rows().par_iter().map_init(Vec::new, statistics).collect();
        LinearObjective { scaling, ..Self::with(data, targets, active, l2, Norm::Rows(statistics)) }
    }

    /// On features of the scale `scale`.
    pub(super) fn scaled(
        data: &'a Dataset,
        targets: &'a Targets<'a>,
        active: &'a [usize],
        l2: f64,
        scale: &'a FeatureScale,
    ) -> Self {
        Self::with(data, targets, active, l2, Norm::Features(scale))
    }

    fn with(data: &'a Dataset, targets: &'a Targets<'a>, active: &'a [usize], l2: f64, norm: Norm<'a>) -> Self {
        let total = active.iter().map(|&list| targets.total_of(list)).sum();
        LinearObjective { data, targets, active, scaling: None, norm, total, l2 }
    }

    /// The objective and its gradient at `weights`.
    pub(super) fn at(&self, weights: &[f64]) -> (f64, Vec<f64>) {
        let single = self.norm.weights(weights);
        // At most 512 parts, whatever the threads: each brings a gradient to add up.
        let part = self.active.len().div_ceil(512).max(16);
        let parts: Vec<(f64, Vec<f32>)> = self.active.par_chunks(part).map(|lists| self.part(lists, &single)).collect();
        let mut value = 0.5 * self.l2 * dot(weights, weights);
        let mut gradient: Vec<f64> = weights.iter().map(|w| self.l2 * w).collect();
        for (loss, part) in &parts {
            value += loss / self.total;
            self.norm.add_up(&mut gradient, part, self.total);
        }
        (value, gradient)
    }

    fn part(&self, lists: &[usize], weights: &[f32]) -> (f64, Vec<f32>) {
        let (mut loss, mut gradient) = (0.0, vec![0.0; weights.len()]);
        let (mut scores, mut slopes, mut room) = (Vec::new(), Vec::new(), Vec::new());
        for &list in lists {
            let rows = self.targets.rows_of(list).iter().map(|&row| self.data.row(row as usize));
            let rows = rows.zip(self.targets.range_of(list));
            scores.clear();
            for (row, place) in rows.clone() {
                scores.push(self.norm.score(scaled(self.scaling, row, &mut room), place, weights));
            }
            slopes.resize(scores.len(), 0.0);
            loss += self.targets.loss(list, &scores, &mut slopes);
            for ((row, place), &slope) in rows.zip(&slopes) {
                self.norm.add(&mut gradient, scaled(self.scaling, row, &mut room), place, slope);
            }
        }
        (loss, gradient)
    }
}

/// The row by `scaling`, in `room`, or as it is: scaled a row at a time, the matrix stays the only one.
fn scaled<'a>(scaling: Option<&Scaling>, row: &'a [f32], room: &'a mut Vec<f32>) -> &'a [f32] {
    let Some(scaling) = scaling else { return row };
    room.resize(row.len(), 0.0);
    scaling.apply(row, room);
    room
}
