//! The E-step: what the current θ and γ say about examinations and relevance that nobody saw.

use std::ops::Range;

use rayon::prelude::*;

use crate::propensity::observations::Observations;

/// Entries per piece of work. Pieces do not depend on the number of threads, and their sums are added in order.
const PIECE: usize = 1 << 15;

/// Expected latent counts under the current parameters.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::propensity) struct Expectation {
    /// Expected examinations of each slot.
    pub examined: Vec<f64>,
    /// Expected times that each document would have been found relevant.
    pub relevant: Vec<f64>,
    /// Log-likelihood of the clicks under the parameters.
    pub log_likelihood: f64,
}

/// Observations with a weight for each document and the sums that no iteration changes.
pub(in crate::propensity) struct Weighted<'a> {
    pub observations: &'a Observations,
    weights: Option<Vec<f64>>,
    pieces: Vec<Range<usize>>,
    /// Impressions of each slot.
    pub shown_in_slot: Vec<f64>,
    /// Impressions of each document.
    pub shown: Vec<f64>,
    /// Clicks in each slot.
    pub clicks_in_slot: Vec<f64>,
    clicks: Vec<f64>,
}

impl<'a> Weighted<'a> {
    /// All documents count alike.
    pub fn new(observations: &'a Observations) -> Self {
        Self::with(observations, None)
    }

    /// A document counts as often as its query; `queries` has one weight per query of the counts.
    pub fn by_query(observations: &'a Observations, queries: &[f64]) -> Self {
        let weights = observations.docs.iter().map(|(query, _)| queries[*query as usize]).collect();
        Self::with(observations, Some(weights))
    }

    fn with(observations: &'a Observations, weights: Option<Vec<f64>>) -> Self {
        let slots = observations.slot_count();
        let docs = observations.docs.len();
        let mut weighted = Weighted {
            observations,
            weights,
            pieces: pieces(observations),
            shown_in_slot: vec![0.0; slots],
            shown: vec![0.0; docs],
            clicks_in_slot: vec![0.0; slots],
            clicks: vec![0.0; docs],
        };
        for doc in 0..docs {
            let weight = weighted.weight(doc);
            for entry in observations.entries_of(doc) {
                let (clicks, misses) = (weight * observations.clicks[entry], weight * observations.misses[entry]);
                let slot = observations.slots[entry] as usize;
                weighted.shown_in_slot[slot] += clicks + misses;
                weighted.clicks_in_slot[slot] += clicks;
                weighted.shown[doc] += clicks + misses;
                weighted.clicks[doc] += clicks;
            }
        }
        weighted
    }

    fn weight(&self, doc: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[doc])
    }

    /// Impressions of `docs`, at least 1.
    pub fn shown_of(&self, docs: &[u32]) -> f64 {
        docs.iter().map(|doc| self.shown[*doc as usize]).sum::<f64>().max(1.0)
    }

    /// How many impressions there are.
    pub fn impressions(&self) -> f64 {
        self.shown.iter().sum()
    }

    /// For a click both are certain; for a miss `P(e=1|c=0) = θ(1−γ)/(1−θγ)` and `P(r=1|c=0) = γ(1−θ)/(1−θγ)`.
    ///
    /// The log-likelihood is `Σ c·ln(θγ) + m·ln(1−θγ)`; its first part needs only the clicks of each slot and document.
    pub fn expect(&self, examination: &[f64], relevance: &[f64]) -> Expectation {
        let parts: Vec<Expectation> =
            self.pieces.par_iter().map(|piece| self.expect_piece(piece.clone(), examination, relevance)).collect();
        let mut whole = Expectation {
            examined: self.clicks_in_slot.clone(),
            relevant: Vec::with_capacity(relevance.len()),
            log_likelihood: log_sum(&self.clicks_in_slot, examination) + log_sum(&self.clicks, relevance),
        };
        for part in parts {
            whole.examined.iter_mut().zip(part.examined).for_each(|(sum, value)| *sum += value);
            whole.relevant.extend(part.relevant);
            whole.log_likelihood += part.log_likelihood;
        }
        whole
    }

    /// The slope of a document's log-likelihood in the logit of its γ: `Σ c(1−γ) − m·θγ(1−γ)/(1−θγ)`.
    pub fn score_gradient(&self, doc: usize, gamma: f64, examination: &[f64]) -> f64 {
        let observations = self.observations;
        let mut missed = 0.0;
        for entry in observations.entries_of(doc) {
            let theta = examination[observations.slots[entry] as usize];
            missed += observations.misses[entry] * theta / (1.0 - theta * gamma).max(f64::MIN_POSITIVE);
        }
        (1.0 - gamma) * (self.clicks[doc] - self.weight(doc) * missed * gamma)
    }

    /// The slopes of the mean log-likelihood per impression of `docs` in the logits of their γ.
    pub fn slopes(&self, docs: &[u32], relevance: &[f64], examination: &[f64]) -> Vec<f64> {
        let shown = self.shown_of(docs);
        let pairs = docs.iter().zip(relevance);
        pairs.map(|(doc, gamma)| self.score_gradient(*doc as usize, *gamma, examination) / shown).collect()
    }

    /// Adds the slopes of a document's log-likelihood in the logits of its slots' θ: `c(1−θ) − m·γθ(1−θ)/(1−θγ)`.
    pub fn add_slot_gradients(&self, doc: usize, gamma: f64, examination: &[f64], sums: &mut [f64]) {
        let observations = self.observations;
        for entry in observations.entries_of(doc) {
            let slot = observations.slots[entry] as usize;
            let theta = examination[slot];
            let missed = observations.misses[entry] * gamma * theta / (1.0 - theta * gamma).max(f64::MIN_POSITIVE);
            sums[slot] += self.weight(doc) * (1.0 - theta) * (observations.clicks[entry] - missed);
        }
    }

    fn expect_piece(&self, docs: Range<usize>, examination: &[f64], relevance: &[f64]) -> Expectation {
        let observations = self.observations;
        let mut examined = vec![0.0; examination.len()];
        let mut relevant = Vec::with_capacity(docs.len());
        let mut log_likelihood = 0.0;
        for doc in docs {
            let (gamma, weight) = (relevance[doc], self.weight(doc));
            let entries = observations.entries_of(doc);
            let misses = &observations.misses[entries.clone()];
            let (mut unseen, mut log_misses) = (0.0, 0.0);
            for (&slot, &misses) in observations.slots[entries].iter().zip(misses) {
                let theta = examination[slot as usize];
                let no_click = 1.0 - theta * gamma;
                let each = misses / no_click.max(f64::MIN_POSITIVE);
                examined[slot as usize] += weight * each * theta * (1.0 - gamma);
                unseen += each * (1.0 - theta);
                log_misses += misses * no_click.max(f64::MIN_POSITIVE).ln();
            }
            relevant.push(self.clicks[doc] + weight * unseen * gamma);
            log_likelihood += weight * log_misses;
        }
        Expectation { examined, relevant, log_likelihood }
    }
}

/// Documents in pieces of about [`PIECE`] entries, and fewer pieces where each has many slots to sum.
fn pieces(observations: &Observations) -> Vec<Range<usize>> {
    let least = PIECE.max(4 * observations.slot_count());
    let mut pieces = Vec::new();
    let (mut start, mut entries) = (0, 0);
    for doc in 0..observations.docs.len() {
        entries += observations.entries_of(doc).len();
        if entries >= least {
            pieces.push(start..doc + 1);
            (start, entries) = (doc + 1, 0);
        }
    }
    if start < observations.docs.len() {
        pieces.push(start..observations.docs.len());
    }
    pieces
}

/// Σ count·ln(probability), where nothing is nothing.
fn log_sum(counts: &[f64], probabilities: &[f64]) -> f64 {
    let term = |(&count, &probability): (&f64, &f64)| if count > 0.0 { count * probability.ln() } else { 0.0 };
    counts.iter().zip(probabilities).map(term).sum()
}
