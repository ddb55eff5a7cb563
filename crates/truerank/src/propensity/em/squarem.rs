//! Accelerates a fixed-point iteration whose every step raises the likelihood.

use crate::Result;
use crate::progress::Progress;

/// SQUAREM, scheme S3 (Varadhan and Roland 2008): from two steps `x₁ = F(x₀)` and `x₂ = F(x₁)`, with `r = x₁ − x₀` and
/// `v = x₂ − x₁ − r`, jump to `x₀ − 2αr + α²v`, `α = −‖r‖/‖v‖`, and take one more step from there. A jump that lowers
/// the likelihood is undone, so the likelihood never falls where F's own steps never lower it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Squarem {
    /// Steps of F at most.
    pub iterations: usize,
    /// Stops when a cycle changes the log-likelihood by less than this share of itself.
    pub tolerance: f64,
    /// Without it, plain steps.
    pub accelerated: bool,
}

/// A fixed-point iteration.
pub(crate) trait Iteration {
    /// All parameters; where they are many, a handle to them.
    type Point: Clone;

    /// The log-likelihood at `x`, and `x` replaced by F(x).
    fn step(&mut self, x: &mut Self::Point) -> Result<f64>;

    /// The jump from `points` x₀, x₁ and x₂ to where F is defined, and how far it went: at most `farthest` plain steps.
    fn jump(&mut self, points: [&Self::Point; 3], farthest: f64) -> Result<(Self::Point, f64)>;
}

/// Where the iteration ended.
pub(crate) struct Found<X> {
    pub x: X,
    /// The log-likelihood before each step that was kept.
    pub log_likelihood: Vec<f64>,
    pub converged: bool,
}

impl Squarem {
    pub fn run<I: Iteration>(
        &self,
        mut x: I::Point,
        iteration: &mut I,
        progress: &dyn Progress,
    ) -> Result<Found<I::Point>> {
        let mut log_likelihood = Vec::new();
        // A jump as far as 1 is where the second plain step ended.
        let (mut steps, mut farthest) = (0, if self.accelerated { 4.0 } else { 1.0 });
        let mut converged = false;
        while steps < self.iterations && !converged {
            let start = x.clone();
            log_likelihood.push(iteration.step(&mut x)?);
            let first = x.clone();
            let before = iteration.step(&mut x)?;
            log_likelihood.push(before);
            let (mut jump, length) = iteration.jump([&start, &first, &x], farthest)?;
            let after = iteration.step(&mut jump)?;
            steps += 3;
            if after >= before {
                farthest = if self.accelerated && length >= farthest { farthest * 4.0 } else { farthest };
                log_likelihood.push(after);
                x = jump;
            } else {
                farthest = (farthest / 4.0).max(1.0);
            }
            let gain = (after.max(before) - log_likelihood[log_likelihood.len().saturating_sub(4)]).abs();
            converged = steps > 3 && gain <= self.tolerance * before.abs();
            progress.advance(3)?;
            progress.note(&format!("log-likelihood {before:.2}"));
        }
        Ok(Found { x, log_likelihood, converged })
    }
}

/// The jump, and how far it went as a multiple of a plain step.
pub(super) fn extrapolate(points: [&[f64]; 3], farthest: f64) -> (Vec<f64>, f64) {
    let length = jump_length(squared_lengths(points), farthest);
    (jump_of(points, length), length)
}

/// ‖r‖² and ‖v‖².
pub(crate) fn squared_lengths([start, first, second]: [&[f64]; 3]) -> (f64, f64) {
    let (mut r2, mut v2) = (0.0, 0.0);
    for ((x0, x1), x2) in start.iter().zip(first).zip(second) {
        let (r, v) = (x1 - x0, x2 - 2.0 * x1 + x0);
        (r2, v2) = (r2 + r * r, v2 + v * v);
    }
    (r2, v2)
}

/// How far to jump.
pub(crate) fn jump_length((r2, v2): (f64, f64), farthest: f64) -> f64 {
    if v2 > 0.0 { (r2 / v2).sqrt().clamp(1.0, farthest) } else { 1.0 }
}

/// Where a jump of this length ends.
pub(crate) fn jump_of([start, first, second]: [&[f64]; 3], length: f64) -> Vec<f64> {
    let values = start.iter().zip(first).zip(second);
    let jump = values.map(|((x0, x1), x2)| {
        let (r, v) = (x1 - x0, x2 - 2.0 * x1 + x0);
        x0 + 2.0 * length * r + length * length * v
    });
    jump.collect()
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::progress::Silent;

    /// x ↦ target + rate·(x − target), slow in one direction, with −Σ(x − target)² for a likelihood.
    struct Slow;

    const TARGET: [f64; 2] = [3.0, -1.0];

    impl Iteration for Slow {
        type Point = Vec<f64>;

        fn step(&mut self, x: &mut Vec<f64>) -> Result<f64> {
            let value = -x.iter().zip(TARGET).map(|(x, target)| (x - target).powi(2)).sum::<f64>();
            for ((x, target), rate) in x.iter_mut().zip(TARGET).zip([0.999, 0.5]) {
                *x = target + rate * (*x - target);
            }
            Ok(value)
        }

        fn jump(&mut self, points: [&Vec<f64>; 3], farthest: f64) -> Result<(Vec<f64>, f64)> {
            Ok(extrapolate(points.map(Vec::as_slice), farthest))
        }
    }

    #[test]
    fn a_slow_iteration_arrives_in_a_fraction_of_its_steps() {
        let squarem = Squarem { iterations: 300, tolerance: 1e-12, accelerated: true };
        let found = squarem.run(vec![0.0, 0.0], &mut Slow, &Silent).unwrap();
        // Plain steps would leave .999³⁰⁰ = 74 % of the way.
        assert!((found.x[0] - TARGET[0]).abs() < 1e-3, "{:?}", found.x);
        assert!(found.log_likelihood.windows(2).all(|pair| pair[1] >= pair[0] - 1e-12));
    }
}
