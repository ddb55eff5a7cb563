//! The least value of a smooth function of many numbers.

use std::collections::VecDeque;

use crate::Result;

/// How many past steps shape the next direction.
const MEMORY: usize = 10;

/// The most values of the objective one line search may ask for.
const SEARCH: usize = 30;

/// Minimises a smooth function by L-BFGS (Liu and Nocedal 1989) with a weak Wolfe line search by bisection.
///
/// `after` sees each iterate (counted from 1), its value and place, and says whether to go on. Stops after `iterations`, when
/// the gradient's norm is below `tolerance` times that at the start, or when rounding leaves no descent.
pub(crate) fn minimise(
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

/// `Σ a·b`.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

fn add(to: &mut [f64], what: &[f64], times: f64) {
    to.iter_mut().zip(what).for_each(|(to, what)| *to += times * what);
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
