//! What is believed of each document's relevance before its clicks: a Gamma distribution around a mean of its own.

use super::design::Design;
use super::logistic::{along, conjugate_gradients, sigmoid};
use crate::propensity::gamma::{digamma, ln_gamma, shape_of};

/// Means stay above this.
const LEAST: f64 = 1e-6;

/// The ridge penalty on standardised coefficients, as a share of all documents.
const RIDGE: f64 = 1e-5;

/// The mean of each document's relevance.
pub(super) enum Mean<'a> {
    /// Documents shown at about the same place have the same, by its logarithm.
    ///
    /// Engines show good documents first, so relevance and position go together. A mean for each place leaves θ to
    /// documents that were seen at several positions (correlated random effects: Mundlak 1978); one mean for all would
    /// take what is relevance at the top for examination.
    Places { place_of_doc: Vec<u32>, logs: Vec<f64> },
    /// A logistic function of features.
    Features { design: &'a Design<'a>, coefficients: Vec<f64>, scores: Vec<f64> },
    /// As given.
    Fixed(Vec<f64>),
}

/// E γ and E ln γ of each document given its clicks, and how often each counts.
pub(super) struct Posterior<'p> {
    pub relevance: &'p [f64],
    pub log: &'p [f64],
    pub weights: &'p [f64],
}

impl Posterior<'_> {
    fn weight(&self, doc: usize) -> f64 {
        self.weights[doc]
    }

    /// The sum of `value` over documents, as often as they count.
    fn sum(&self, value: impl Fn(usize) -> f64) -> f64 {
        let docs = (0..self.relevance.len()).filter(|&doc| self.weight(doc) > 0.0);
        docs.map(|doc| self.weight(doc) * value(doc)).sum()
    }
}

impl<'a> Mean<'a> {
    /// By the mean position of each document, rounded; all alike at first.
    pub fn by_place(mean_positions: &[f64], places: usize, start: f64) -> Self {
        let place = |mean: &f64| (mean.round() as usize).clamp(1, places) as u32 - 1;
        Mean::Places { place_of_doc: mean_positions.iter().map(place).collect(), logs: vec![start.ln(); places] }
    }

    /// By features; all alike at first.
    pub fn by_features(design: &'a Design<'a>, start: f64) -> Self {
        let mut coefficients = vec![0.0; design.columns()];
        coefficients[0] = (start / (1.0 - start)).ln();
        Mean::Features { design, scores: design.times(&coefficients), coefficients }
    }

    /// The mean of a document.
    pub fn of(&self, doc: usize) -> f64 {
        match self {
            Mean::Places { place_of_doc, logs } => logs[place_of_doc[doc] as usize].exp().max(LEAST),
            Mean::Features { scores, .. } => sigmoid(scores[doc]).max(LEAST),
            Mean::Fixed(means) => means[doc],
        }
    }

    pub fn parameters(&self) -> &[f64] {
        match self {
            Mean::Places { logs, .. } => logs,
            Mean::Features { coefficients, .. } => coefficients,
            Mean::Fixed(_) => &[],
        }
    }

    pub fn set_parameters(&mut self, parameters: &[f64]) {
        if self.parameters() == parameters {
            return;
        }
        match self {
            Mean::Places { logs, .. } => logs.copy_from_slice(parameters),
            Mean::Features { design, coefficients, scores } => {
                coefficients.copy_from_slice(parameters);
                *scores = design.times(coefficients);
            }
            Mean::Fixed(_) => {}
        }
    }

    /// What is taken off the likelihood for coefficients that the log hardly tells, such as those of equal features.
    pub fn penalty(&self) -> f64 {
        match self {
            Mean::Places { .. } | Mean::Fixed(_) => 0.0,
            Mean::Features { design, coefficients, .. } => {
                0.5 * RIDGE * design.len() as f64 * coefficients[1..].iter().map(|w| w * w).sum::<f64>()
            }
        }
    }

    /// Raises what is expected of the prior, `Σ −a·(ln μ + E[γ]/μ)`, as far as one step goes.
    pub fn update(&mut self, posterior: &Posterior<'_>, shape: f64) {
        match self {
            Mean::Places { place_of_doc, logs } => move_places(posterior, place_of_doc, logs),
            Mean::Features { .. } => self.newton_step(posterior, shape),
            Mean::Fixed(_) => {}
        }
    }

    /// Newton's step with expected curvature, halved until it does not lower what is expected.
    fn newton_step(&mut self, posterior: &Posterior<'_>, shape: f64) {
        let Mean::Features { design, coefficients, scores } = self else { return };
        let slopes: Vec<(f64, f64)> = (0..scores.len())
            .map(|doc| {
                let (mean, weight) = (sigmoid(scores[doc]).max(LEAST), shape * posterior.weight(doc));
                (weight * (posterior.relevance[doc] / mean - 1.0) * (1.0 - mean), weight * (1.0 - mean).powi(2))
            })
            .collect();
        let (old, direction) = (coefficients.clone(), feature_direction(design, coefficients, &slopes));
        let value = |mean: &Mean<'_>| {
            let expected = |doc: usize| {
                let of_doc = mean.of(doc);
                -shape * (of_doc.ln() + posterior.relevance[doc] / of_doc)
            };
            posterior.sum(expected) - mean.penalty()
        };
        let (before, mut step) = (value(self), 1.0);
        for _ in 0..10 {
            self.set_parameters(&along(&old, &direction, step));
            if value(self) >= before {
                return;
            }
            step /= 2.0;
        }
        self.set_parameters(&old);
    }

    /// The slopes of the likelihood in the coefficients of features; none for other means.
    pub fn slopes(&self, posterior: &Posterior<'_>, shape: f64) -> Vec<f64> {
        let Mean::Features { design, coefficients, scores } = self else { return Vec::new() };
        let of_doc = |doc: usize| {
            let mean = sigmoid(scores[doc]).max(LEAST);
            posterior.weight(doc) * shape * (posterior.relevance[doc] / mean - 1.0) * (1.0 - mean)
        };
        let mut slopes = design.transposed_times(&(0..scores.len()).map(of_doc).collect::<Vec<f64>>());
        let ridge = RIDGE * design.len() as f64;
        slopes[1..].iter_mut().zip(&coefficients[1..]).for_each(|(slope, w)| *slope -= ridge * w);
        slopes
    }

    /// The features behind it, where there are any.
    pub fn design(&self) -> Option<&'a Design<'a>> {
        match self {
            Mean::Features { design, .. } => Some(design),
            _ => None,
        }
    }
}

/// The mean relevance of the documents at each place; a place without documents keeps its own.
fn move_places(posterior: &Posterior<'_>, place_of_doc: &[u32], logs: &mut [f64]) {
    let mut sums = vec![(0.0, 0.0); logs.len()];
    for (doc, &place) in place_of_doc.iter().enumerate() {
        let (weight, sum) = (posterior.weight(doc), &mut sums[place as usize]);
        *sum = (sum.0 + weight * posterior.relevance[doc], sum.1 + weight);
    }
    for (log, (relevance, weight)) in logs.iter_mut().zip(sums) {
        if weight > 0.0 {
            *log = (relevance / weight).max(LEAST).ln();
        }
    }
}

fn feature_direction(design: &Design<'_>, coefficients: &[f64], slopes: &[(f64, f64)]) -> Vec<f64> {
    let ridge = RIDGE * design.len() as f64;
    let first: Vec<f64> = slopes.iter().map(|slope| slope.0).collect();
    let mut gradient = design.transposed_times(&first);
    gradient[1..].iter_mut().zip(&coefficients[1..]).for_each(|(gradient, w)| *gradient -= ridge * w);
    let hessian = |direction: &[f64]| {
        let mut scores = design.times(direction);
        scores.iter_mut().zip(slopes).for_each(|(score, slope)| *score *= slope.1);
        let mut product = design.transposed_times(&scores);
        product[1..].iter_mut().zip(&direction[1..]).for_each(|(product, x)| *product += ridge * x);
        product
    };
    conjugate_gradients(&gradient, hessian, |residual| {
        let mut guess = residual.to_vec();
        design.precondition(&mut guess);
        guess
    })
}

/// The shape under which what is expected of the prior is greatest.
pub(super) fn best_shape(posterior: &Posterior<'_>, mean: &Mean<'_>) -> f64 {
    let count = posterior.sum(|_| 1.0).max(f64::MIN_POSITIVE);
    let gap = |doc: usize| {
        let of_doc = mean.of(doc);
        posterior.relevance[doc] / of_doc - 1.0 - (posterior.log[doc] - of_doc.ln())
    };
    shape_of(posterior.sum(gap) / count)
}

/// ln of the probability of a document's clicks, up to what no parameter changes: `γ ~ Gamma(a, a/μ)` summed over, with
/// `exposure` the impressions weighed by their θ.
pub(super) fn log_marginal(shape: f64, mean: f64, clicks: f64, exposure: f64) -> f64 {
    let rate = shape / mean;
    // The last two, large and nearly the same where the prior is strong, are one logarithm.
    ln_gamma(shape + clicks) - ln_gamma(shape) - clicks * rate.ln() - (shape + clicks) * (exposure / rate).ln_1p()
}

/// The slope of the likelihood in the logarithm of the shape.
pub(super) fn shape_slope(posterior: &Posterior<'_>, mean: &Mean<'_>, shape: f64) -> f64 {
    let (log, own) = (shape.ln(), digamma(shape));
    let of_doc = |doc: usize| {
        let of_doc = mean.of(doc);
        log - of_doc.ln() + 1.0 - own + posterior.log[doc] - posterior.relevance[doc] / of_doc
    };
    shape * posterior.sum(of_doc)
}
