//! γ as a logistic function of features.

use super::design::Design;
use super::relevance::{MARGIN, RelevanceModel};

/// `γ = σ(w·x)`, with a small ridge penalty on w.
pub(crate) struct Logistic<'a> {
    design: &'a Design<'a>,
    coefficients: Vec<f64>,
    scores: Vec<f64>,
    values: Vec<f64>,
}

/// The ridge penalty, as a share of all impressions: it decides only what the log leaves open, such as the coefficients
/// of two equal features.
const RIDGE: f64 = 1e-6;

/// Conjugate-gradient steps at most for one Newton step.
const INNER_STEPS: usize = 6;

/// The Newton equations are solved to this share of the gradient: the next E-step changes them anyway.
const INNER_TOLERANCE: f64 = 0.3;

impl<'a> Logistic<'a> {
    /// Starts with the same γ for all.
    pub fn new(design: &'a Design<'a>, start: f64) -> Self {
        let mut coefficients = vec![0.0; design.columns()];
        coefficients[0] = (start / (1.0 - start)).ln();
        Self::with_coefficients(design, coefficients)
    }

    fn with_coefficients(design: &'a Design<'a>, coefficients: Vec<f64>) -> Self {
        let scores = design.times(&coefficients);
        Logistic { design, coefficients, values: scores.iter().map(|score| sigmoid(*score)).collect(), scores }
    }

    /// The logit of each document's γ.
    pub fn scores(&self) -> &[f64] {
        &self.scores
    }

    /// The direction of Newton's step, by conjugate gradients on `(XᵀDX + λ)δ = g` with `D = Nγ(1−γ)`.
    fn newton_direction(&self, gradient: &[f64], shown: &[f64], ridge: f64) -> Vec<f64> {
        let curvature: Vec<f64> = self.values.iter().zip(shown).map(|(g, n)| n * g * (1.0 - g)).collect();
        let hessian = |direction: &[f64]| {
            let mut scores = self.design.times(direction);
            scores.iter_mut().zip(&curvature).for_each(|(score, curvature)| *score *= curvature);
            let mut product = self.design.transposed_times(&scores);
            product.iter_mut().zip(direction).for_each(|(product, x)| *product += ridge * x);
            product
        };
        conjugate_gradients(gradient, hessian, |residual| {
            let mut guess = residual.to_vec();
            self.design.precondition(&mut guess);
            guess
        })
    }

    fn penalised(&self, coefficients: &[f64], scores: &[f64], relevant: &[f64], shown: &[f64], ridge: f64) -> f64 {
        let likelihood = |((score, relevant), shown): ((&f64, &f64), &f64)| {
            let gamma = sigmoid(*score);
            relevant * gamma.ln() + (shown - relevant) * (1.0 - gamma).ln()
        };
        let fit: f64 = scores.iter().zip(relevant).zip(shown).map(likelihood).sum();
        fit - 0.5 * ridge * coefficients.iter().map(|w| w * w).sum::<f64>()
    }
}

impl RelevanceModel for Logistic<'_> {
    fn values(&self) -> &[f64] {
        &self.values
    }

    fn parameters(&self) -> &[f64] {
        &self.coefficients
    }

    fn set_parameters(&mut self, parameters: &[f64]) {
        *self = Self::with_coefficients(self.design, parameters.to_vec());
    }

    fn restrict(&self, _: &mut [f64]) {}

    /// One Newton step, halved until it does not lower the likelihood.
    fn update(&mut self, relevant: &[f64], shown: &[f64]) {
        let ridge = RIDGE * shown.iter().sum::<f64>();
        let residuals: Vec<f64> =
            self.values.iter().zip(relevant).zip(shown).map(|((g, relevant), shown)| relevant - shown * g).collect();
        let mut gradient = self.design.transposed_times(&residuals);
        gradient.iter_mut().zip(&self.coefficients).for_each(|(gradient, w)| *gradient -= ridge * w);
        let direction = self.newton_direction(&gradient, shown, ridge);
        let slopes = self.design.times(&direction);
        let before = self.penalised(&self.coefficients, &self.scores, relevant, shown, ridge);
        let mut step = 1.0;
        for _ in 0..10 {
            let coefficients = along(&self.coefficients, &direction, step);
            let scores = along(&self.scores, &slopes, step);
            if self.penalised(&coefficients, &scores, relevant, shown, ridge) >= before {
                self.coefficients = coefficients;
                self.values = scores.iter().map(|score| sigmoid(*score)).collect();
                self.scores = scores;
                return;
            }
            step /= 2.0;
        }
    }
}

/// Solves `A·x = b` for a symmetric positive definite A, roughly; `precondition` guesses what A's inverse does.
pub(super) fn conjugate_gradients(
    right: &[f64],
    multiply: impl Fn(&[f64]) -> Vec<f64>,
    precondition: impl Fn(&[f64]) -> Vec<f64>,
) -> Vec<f64> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut x = vec![0.0; right.len()];
    let mut residual = right.to_vec();
    let mut direction = precondition(&residual);
    let mut length = dot(&residual, &direction);
    let enough = INNER_TOLERANCE * INNER_TOLERANCE * length;
    for _ in 0..INNER_STEPS {
        if length <= enough {
            break;
        }
        let product = multiply(&direction);
        let step = length / dot(&direction, &product);
        x = along(&x, &direction, step);
        residual = along(&residual, &product, -step);
        let guess = precondition(&residual);
        let next = dot(&residual, &guess);
        direction = along(&guess, &direction, next / length);
        length = next;
    }
    x
}

pub(super) fn along(start: &[f64], direction: &[f64], step: f64) -> Vec<f64> {
    start.iter().zip(direction).map(|(x, d)| x + step * d).collect()
}

/// σ(s), kept off 0 and 1.
pub(crate) fn sigmoid(score: f64) -> f64 {
    (1.0 / (1.0 + (-score).exp())).clamp(MARGIN, 1.0 - MARGIN)
}
