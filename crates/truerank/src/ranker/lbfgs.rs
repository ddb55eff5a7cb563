//! Full-batch training of the linear ranker: training lists enter, the weights of least loss leave.

use std::collections::VecDeque;

use rayon::prelude::*;

use super::Targets;
use super::scale::FeatureScale;
use crate::Result;
use crate::data::Dataset;
use crate::network::{Scaling, lane_dot, row_statistics};

/// How many past steps shape the next direction.
const MEMORY: usize = 10;

/// The most values of the objective one line search may ask for.
const SEARCH: usize = 30;

/// Minimises a smooth function by L-BFGS (Liu and Nocedal 1989) with a weak Wolfe line search by bisection.
///
/// `after` sees each iterate (counted from 1), its value and place, and says whether to go on. Stops after `iterations`, when
/// the gradient's norm is below `tolerance` times that at the start, or when rounding leaves no descent.
pub(super) fn minimise(
    objective: impl Fn(&[f64]) -> (f64, Vec<f64>),
    start: Vec<f64>,
    iterations: usize,
    tolerance: f64,
    mut after: impl FnMut(usize, f64, &[f64]) -> Result<bool>,
) -> Result<()> {
    let (value, gradient) = objective(&start);
    let goal = tolerance * norm(&gradient);
    let mut at = Point { place: start, value, gradient };
    let mut memory = Memory::default();
    for iteration in 1..=iterations {
        let direction = memory.direction(&at.gradient);
        let first = if memory.steps.is_empty() { (1.0 / norm(&direction)).min(1.0) } else { 1.0 };
        let found = line_search(&objective, &at, &direction, first);
        let ended = found.is_none();
        if let Some(next) = found {
            memory.push(&at, &next);
            at = next;
        }
        if !after(iteration, at.value, &at.place)? || ended || norm(&at.gradient) <= goal {
            break;
        }
    }
    Ok(())
}

struct Point {
    place: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
}

/// The last steps and the changes of the gradient along them.
#[derive(Default)]
struct Memory {
    steps: VecDeque<(Vec<f64>, Vec<f64>, f64)>,
}

impl Memory {
    fn push(&mut self, from: &Point, to: &Point) {
        let step: Vec<f64> = to.place.iter().zip(&from.place).map(|(b, a)| b - a).collect();
        let change: Vec<f64> = to.gradient.iter().zip(&from.gradient).map(|(b, a)| b - a).collect();
        let curvature = dot(&step, &change);
        // Without positive curvature, by rounding, the step would spoil the estimate of the Hessian.
        if curvature <= 1e-10 * norm(&step) * norm(&change) {
            return;
        }
        if self.steps.len() == MEMORY {
            self.steps.pop_front();
        }
        self.steps.push_back((step, change, curvature));
    }

    /// The direction of descent: minus the gradient times the remembered estimate of the inverse Hessian.
    fn direction(&self, gradient: &[f64]) -> Vec<f64> {
        let mut direction: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let mut shares = Vec::with_capacity(self.steps.len());
        for (step, change, curvature) in self.steps.iter().rev() {
            let share = dot(step, &direction) / curvature;
            add(&mut direction, change, -share);
            shares.push(share);
        }
        if let Some((_, change, curvature)) = self.steps.back() {
            let scale = curvature / dot(change, change);
            direction.iter_mut().for_each(|d| *d *= scale);
        }
        for ((step, change, curvature), share) in self.steps.iter().zip(shares.iter().rev()) {
            let back = dot(change, &direction) / curvature;
            add(&mut direction, step, share - back);
        }
        direction
    }
}

/// A point along `direction` with enough descent and a flatter slope; none where rounding hides any descent.
fn line_search(
    objective: impl Fn(&[f64]) -> (f64, Vec<f64>),
    from: &Point,
    direction: &[f64],
    first: f64,
) -> Option<Point> {
    let slope = dot(&from.gradient, direction);
    if slope >= 0.0 || !slope.is_finite() {
        return None;
    }
    let (mut low, mut high, mut length) = (0.0, f64::INFINITY, first);
    let mut best: Option<Point> = None;
    for _ in 0..SEARCH {
        let mut place = from.place.clone();
        add(&mut place, direction, length);
        let (value, gradient) = objective(&place);
        // Also refuses NaN.
        let descends = value <= from.value + 1e-4 * length * slope;
        let flat = dot(&gradient, direction) >= 0.9 * slope;
        if descends && best.as_ref().is_none_or(|best| value < best.value) {
            best = Some(Point { place, value, gradient });
        }
        match (descends, flat) {
            (true, true) => return best,
            (true, false) => low = length,
            (false, _) => high = length,
        }
        length = if high.is_finite() { (low + high) / 2.0 } else { 2.0 * length };
    }
    best
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

fn add(to: &mut [f64], what: &[f64], times: f64) {
    to.iter_mut().zip(what).for_each(|(to, what)| *to += times * what);
}

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
}

impl Norm<'_> {
    /// The weights that [`score`](Norm::score) takes.
    fn weights(&self, weights: &[f64]) -> Vec<f32> {
        match self {
            Norm::Rows(_) => weights.iter().map(|&w| w as f32).collect(),
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
        }
    }

    /// Adds a gradient by [`weights`](Norm::weights) over `total` to one by the weights of scaled features.
    fn add_up(&self, sum: &mut [f64], gradient: &[f32], total: f64) {
        match self {
            Norm::Rows(_) => sum.iter_mut().zip(gradient).for_each(|(sum, &part)| *sum += f64::from(part) / total),
            Norm::Features(scale) => {
                sum.iter_mut().zip(scale.scaled(gradient)).for_each(|(sum, part)| *sum += part / total);
            }
        }
    }
}

impl<'a> LinearObjective<'a> {
    /// On layer-normalised features, which `scaling` brought to one scale before.
    pub(super) fn new(
        data: &'a Dataset,
        targets: &'a Targets<'a>,
        active: &'a [usize],
        l2: f64,
        scaling: Option<&'a Scaling>,
    ) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_minimum_of_a_bent_valley() {
        // Rosenbrock's function: its minimum, 0 at (1, 1), lies in a curved valley.
        let objective = |p: &[f64]| {
            let (x, y) = (p[0], p[1]);
            let value = (1.0 - x).powi(2) + 100.0 * (y - x * x).powi(2);
            (value, vec![-2.0 * (1.0 - x) - 400.0 * x * (y - x * x), 200.0 * (y - x * x)])
        };
        let mut last = Vec::new();
        minimise(objective, vec![-1.2, 1.0], 200, 1e-9, |_, _, place| {
            last = place.to_vec();
            Ok(true)
        })
        .unwrap();
        assert!((last[0] - 1.0).abs() < 1e-6 && (last[1] - 1.0).abs() < 1e-6, "{last:?}");
    }

    #[test]
    fn stops_when_told() {
        let mut seen = 0;
        minimise(
            |p| (p[0] * p[0], vec![2.0 * p[0]]),
            vec![3.0],
            100,
            1e-30,
            |iteration, _, _| {
                seen = iteration;
                Ok(iteration < 1)
            },
        )
        .unwrap();
        assert_eq!(seen, 1);
    }
}
