//! Prior and correction, `ŷ = r̂ + (c − r̂X)/D`: what a document's clicks are divided by, and what they correct.

use super::exposures::Exposures;
use super::position::relevance_by_position;
use super::{Estimator, Prior};

/// What D adds to the exposure X that an estimator divides by: `D = max(X, τ·n(q,d)) + b`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Divisor {
    /// τ; 0 clips nothing.
    pub clip: f64,
    /// b; 0 shrinks nothing.
    pub shrink: f64,
}

impl Divisor {
    pub fn of(&self, exposure: f64, impressions: f64) -> f64 {
        exposure.max(self.clip * impressions) + self.shrink
    }
}

/// Shown documents with the exposure that their clicks are divided by and what is believed of them.
pub(super) struct Documents<'e> {
    pub exposures: &'e Exposures<'e>,
    /// X of each document: E, or its smoothed form.
    pub bases: Vec<f64>,
    beliefs: Beliefs,
    /// The prior of each position, where it is by position.
    pub by_position: Vec<f64>,
}

/// r̂ of each document.
enum Beliefs {
    Zero,
    Mean,
    ByPosition,
    /// The mean where there is none.
    Each(Vec<Option<f64>>),
}

impl<'e> Documents<'e> {
    pub fn new(exposures: &'e Exposures<'e>, estimator: Estimator, beta: Option<f64>, prior: &Prior) -> Self {
        let smoothed = matches!(estimator, Estimator::UserAwareSmoothed(_));
        let base = |pair: usize| match beta {
            Some(beta) if smoothed => exposures.pairs[pair].smoothed_exposure(beta),
            _ => exposures.pairs[pair].exposure,
        };
        let beliefs = match prior {
            Prior::None => Beliefs::Zero,
            Prior::Mean => Beliefs::Mean,
            Prior::Position => Beliefs::ByPosition,
            Prior::Model(predicted) => {
                let (queries, docs) = exposures.ids();
                let pairs = exposures.pairs.iter().map(|pair| (pair.query, pair.doc));
                Beliefs::Each(predicted.of_docs(queries, docs, pairs))
            }
        };
        let bases: Vec<f64> = (0..exposures.pairs.len()).map(base).collect();
        let by_position = match prior {
            Prior::Position => relevance_by_position(&exposures.pairs, &bases),
            _ => Vec::new(),
        };
        Documents { bases, beliefs, by_position, exposures }
    }

    /// D of document number `pair`.
    pub fn divisor(&self, pair: usize, divisor: Divisor) -> f64 {
        divisor.of(self.bases[pair], self.exposures.pairs[pair].shown())
    }

    /// The mean relevance under which corrections sum to 0, `Σ c/D / Σ X/D`, where it is needed: documents count by how
    /// much is known of them.
    pub fn mean(&self, divisor: Divisor) -> Option<f64> {
        let needed = match &self.beliefs {
            Beliefs::Zero => false,
            Beliefs::Mean | Beliefs::ByPosition => true,
            Beliefs::Each(values) => values.iter().any(Option::is_none),
        };
        if !needed {
            return None;
        }
        let (mut clicks, mut exposure) = (0.0, 0.0);
        for (pair, sums) in self.exposures.pairs.iter().enumerate() {
            let divisor = self.divisor(pair, divisor);
            if divisor > 0.0 {
                clicks += sums.earned() / divisor;
                exposure += self.bases[pair] / divisor;
            }
        }
        Some(if exposure > 0.0 { (clicks / exposure).clamp(0.0, 1.0) } else { 0.0 })
    }

    /// r̂ of document number `pair`, given the mean.
    pub fn prior(&self, pair: usize, mean: Option<f64>) -> f64 {
        match &self.beliefs {
            Beliefs::Zero => 0.0,
            Beliefs::Mean => mean.unwrap_or(0.0),
            Beliefs::ByPosition => self.by_position[self.exposures.pairs[pair].usual_position() - 1],
            Beliefs::Each(values) => values[pair].or(mean).unwrap_or(0.0),
        }
    }

    /// How many documents a model says nothing about.
    pub fn unpredicted(&self) -> u64 {
        match &self.beliefs {
            Beliefs::Each(values) => values.iter().filter(|value| value.is_none()).count() as u64,
            _ => 0,
        }
    }
}
