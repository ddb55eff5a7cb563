//! First-order optimisers: parameters and their gradient enter, better parameters leave.

use std::fmt;
use std::str::FromStr;

use rayon::prelude::*;

use crate::{Error, Result};

/// How many parameters one task changes, and how many squares one partial sum of the norm has.
const CHUNK: usize = 1 << 14;

/// A rule that turns gradients into steps. Its text form is its name in lower case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Optimizer {
    /// Divides each step by the root of the sum of squared gradients so far (Duchi et al. 2011); ε = 10⁻¹⁰.
    AdaGrad,
    /// Running means of the gradient (decay .9) and of its square (decay .999) (Kingma and Ba 2015); ε = 10⁻⁸.
    Adam,
    /// Plain descent with momentum: `v ← momentum · v + gradient`, `parameter ← parameter − rate · v`.
    Sgd {
        /// How much of the last step is kept; 0 is plain descent.
        momentum: f32,
    },
}

impl Optimizer {
    /// Starts optimising `count` parameters.
    pub fn start(self, count: usize) -> OptimizerState {
        let second = if self == Optimizer::Adam { count } else { 0 };
        OptimizerState { optimizer: self, steps: 0, first: vec![0.0; count], second: vec![0.0; second] }
    }

    /// Checks the momentum.
    pub fn check(&self) -> Result<()> {
        match *self {
            Optimizer::Sgd { momentum } if !(0.0..1.0).contains(&momentum) => {
                Err(Error::parameter(format!("momentum should be at least 0 and below 1, but is {momentum}")))
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Optimizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Optimizer::AdaGrad => f.write_str("adagrad"),
            Optimizer::Adam => f.write_str("adam"),
            Optimizer::Sgd { momentum } => write!(f, "sgd:{momentum}"),
        }
    }
}

impl FromStr for Optimizer {
    type Err = Error;

    /// Reads `adagrad`, `adam`, `sgd` (no momentum) or `sgd:0.9`.
    fn from_str(text: &str) -> Result<Self> {
        let optimizer = match (text, text.strip_prefix("sgd:").map(str::parse)) {
            ("adagrad", _) => Optimizer::AdaGrad,
            ("adam", _) => Optimizer::Adam,
            ("sgd", _) => Optimizer::Sgd { momentum: 0.0 },
            (_, Some(Ok(momentum))) => Optimizer::Sgd { momentum },
            _ => {
                return Err(Error::parameter(format!(
                    "an optimiser is `adagrad`, `adam`, `sgd` or like `sgd:0.9`, but is `{text}`"
                )));
            }
        };
        optimizer.check()?;
        Ok(optimizer)
    }
}

/// An optimiser at work: what it remembers of the gradients so far.
#[derive(Debug, Clone)]
pub struct OptimizerState {
    optimizer: Optimizer,
    steps: i32,
    first: Vec<f32>,
    second: Vec<f32>,
}

impl OptimizerState {
    /// One step against `gradient + l2 · parameters`, of size `learning_rate` in the optimiser's sense.
    ///
    /// `l2` reaches all parameters, as PyTorch's weight decay does.
    ///
    /// # Panics
    ///
    /// When the lengths differ.
    pub fn step(&mut self, parameters: &mut [f32], gradient: &[f32], learning_rate: f32, l2: f32) {
        assert_eq!(parameters.len(), self.first.len(), "the optimiser was started for these parameters");
        assert_eq!(gradient.len(), parameters.len(), "each parameter has one gradient");
        self.steps = self.steps.saturating_add(1);
        let work =
            parameters.par_chunks_mut(CHUNK).zip(gradient.par_chunks(CHUNK)).zip(self.first.par_chunks_mut(CHUNK));
        match self.optimizer {
            Optimizer::AdaGrad => work.for_each(|((p, g), sum)| adagrad(p, g, sum, learning_rate, l2)),
            Optimizer::Sgd { momentum } => work.for_each(|((p, g), v)| sgd(p, g, v, momentum, learning_rate, l2)),
            Optimizer::Adam => {
                let rates = adam_rates(self.steps, learning_rate);
                work.zip(self.second.par_chunks_mut(CHUNK)).for_each(|(((p, g), m), v)| adam(p, g, m, v, rates, l2));
            }
        }
    }
}

fn adagrad(parameters: &mut [f32], gradient: &[f32], sums: &mut [f32], rate: f32, l2: f32) {
    for ((p, &g), sum) in parameters.iter_mut().zip(gradient).zip(sums) {
        let g = g + l2 * *p;
        *sum += g * g;
        *p -= rate * g / (sum.sqrt() + 1e-10);
    }
}

fn sgd(parameters: &mut [f32], gradient: &[f32], velocities: &mut [f32], momentum: f32, rate: f32, l2: f32) {
    for ((p, &g), velocity) in parameters.iter_mut().zip(gradient).zip(velocities) {
        *velocity = momentum * *velocity + g + l2 * *p;
        *p -= rate * *velocity;
    }
}

const ADAM_FIRST: f32 = 0.9;
const ADAM_SECOND: f32 = 0.999;

/// The learning rate and 1 over the root of the second mean's correction, both for the means' slow start.
fn adam_rates(steps: i32, rate: f32) -> (f32, f32) {
    let first = 1.0 - f64::from(ADAM_FIRST).powi(steps);
    let second = 1.0 - f64::from(ADAM_SECOND).powi(steps);
    ((f64::from(rate) / first) as f32, (1.0 / second.sqrt()) as f32)
}

fn adam(p: &mut [f32], gradient: &[f32], firsts: &mut [f32], seconds: &mut [f32], (rate, root): (f32, f32), l2: f32) {
    for (((p, &g), first), second) in p.iter_mut().zip(gradient).zip(firsts).zip(seconds) {
        let g = g + l2 * *p;
        *first += (1.0 - ADAM_FIRST) * (g - *first);
        *second += (1.0 - ADAM_SECOND) * (g * g - *second);
        *p -= rate * *first / (second.sqrt() * root + 1e-8);
    }
}

/// Scales `gradient` down to the Euclidean norm `most` where it is longer; returns the norm it had.
///
/// The squares are summed in f64 in chunks of fixed size, so the norm does not depend on the number of threads.
pub fn clip_norm(gradient: &mut [f32], most: f64) -> f64 {
    let partial = |chunk: &[f32]| chunk.iter().map(|&g| f64::from(g) * f64::from(g)).sum::<f64>();
    let sums: Vec<f64> = gradient.par_chunks(CHUNK).map(partial).collect();
    let norm = sums.iter().sum::<f64>().sqrt();
    if norm > most {
        let scale = (most / norm) as f32;
        gradient.par_chunks_mut(CHUNK).for_each(|chunk| chunk.iter_mut().for_each(|g| *g *= scale));
    }
    norm
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two steps with gradients 3 and −1 from 1, at rate .1.
    fn two_steps(optimizer: Optimizer) -> f32 {
        let mut state = optimizer.start(1);
        let mut parameters = [1.0];
        state.step(&mut parameters, &[3.0], 0.1, 0.0);
        state.step(&mut parameters, &[-1.0], 0.1, 0.0);
        parameters[0]
    }

    fn close(found: f32, expected: f32) -> bool {
        (found - expected).abs() < 1e-6
    }

    #[test]
    fn steps_follow_their_formulas() {
        assert!(close(two_steps(Optimizer::AdaGrad), 1.0 - 0.1 * 3.0 / 3.0 + 0.1 / 10.0_f32.sqrt()));
        assert!(close(two_steps(Optimizer::Sgd { momentum: 0.0 }), 1.0 - 0.1 * 3.0 + 0.1));
        assert!(close(two_steps(Optimizer::Sgd { momentum: 0.5 }), 1.0 - 0.1 * 3.0 - 0.1 * (0.5 * 3.0 - 1.0)));
        let first: f32 = (0.9 * 0.1 * 3.0 - 0.1) / (1.0 - 0.9 * 0.9);
        let second: f32 = (0.999 * 0.001 * 9.0 + 0.001) / (1.0 - 0.999 * 0.999);
        assert!((two_steps(Optimizer::Adam) - (1.0 - 0.1 - 0.1 * first / second.sqrt())).abs() < 1e-4);
    }

    #[test]
    fn l2_pulls_toward_zero() {
        let mut parameters = [2.0];
        Optimizer::Sgd { momentum: 0.0 }.start(1).step(&mut parameters, &[0.0], 0.1, 0.5);
        assert!(close(parameters[0], 2.0 - 0.1 * 0.5 * 2.0));
    }

    #[test]
    fn long_gradients_are_clipped_and_short_ones_left() {
        let mut gradient = [3.0, 4.0];
        assert_eq!(clip_norm(&mut gradient, 1.0), 5.0);
        assert!(close(gradient[0], 0.6) && close(gradient[1], 0.8));
        let mut gradient = [3.0, 4.0];
        clip_norm(&mut gradient, 5.0);
        assert_eq!(gradient, [3.0, 4.0]);
    }

    #[test]
    fn names_read_back() {
        for text in ["adagrad", "adam", "sgd:0.9"] {
            assert_eq!(text.parse::<Optimizer>().unwrap().to_string(), text);
        }
        assert!("sgd:1".parse::<Optimizer>().is_err());
        assert!("rmsprop".parse::<Optimizer>().is_err());
    }
}
