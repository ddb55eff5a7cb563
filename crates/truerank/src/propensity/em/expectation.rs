//! The E-step: what the current θ and γ say about examinations and relevance that nobody saw.

use std::ops::Range;

use crate::Result;
use crate::propensity::observations::{Observed, Part};

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
    pub observations: &'a dyn Observed,
    pub weights: Option<Vec<f64>>,
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
    pub fn new(observations: &'a dyn Observed) -> Result<Self> {
        Self::with(observations, None)
    }

    /// A document counts as often as its query; `queries` has one weight per query of the counts.
    pub fn by_query(observations: &'a dyn Observed, queries: &[f64]) -> Result<Self> {
        let weights = observations.docs().iter().map(|(query, _)| queries[*query as usize]).collect();
        Self::with(observations, Some(weights))
    }

    fn with(observations: &'a dyn Observed, weights: Option<Vec<f64>>) -> Result<Self> {
        let slots = observations.slot_count();
        let docs = observations.docs().len();
        let mut weighted = Weighted {
            observations,
            weights,
            // Fewer pieces where each has many slots to sum.
            pieces: observations.pieces(PIECE.max(4 * slots)),
            shown_in_slot: vec![0.0; slots],
            shown: vec![0.0; docs],
            clicks_in_slot: vec![0.0; slots],
            clicks: vec![0.0; docs],
        };
        observations.pieces(PIECE).into_iter().try_for_each(|piece| weighted.sum_piece(piece))?;
        Ok(weighted)
    }

    fn sum_piece(&mut self, docs: Range<usize>) -> Result<()> {
        let part = self.observations.part(docs.clone())?;
        for doc in docs {
            let weight = self.weight(doc);
            for (slot, clicks, misses) in part.of(doc).iter() {
                let (clicks, misses) = (weight * clicks, weight * misses);
                self.shown_in_slot[slot] += clicks + misses;
                self.clicks_in_slot[slot] += clicks;
                self.shown[doc] += clicks + misses;
                self.clicks[doc] += clicks;
            }
        }
        Ok(())
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
    pub fn expect(&self, examination: &[f64], relevance: &[f64]) -> Result<Expectation> {
        let mut whole = Expectation {
            examined: self.clicks_in_slot.clone(),
            relevant: Vec::with_capacity(relevance.len()),
            log_likelihood: log_sum(&self.clicks_in_slot, examination) + log_sum(&self.clicks, relevance),
        };
        let expect = |docs: Range<usize>, part: &Part<'_>| self.expect_piece(docs, part, examination, relevance);
        self.observations.map_pieces(&self.pieces, expect, |part| {
            whole.examined.iter_mut().zip(part.examined).for_each(|(sum, value)| *sum += value);
            whole.relevant.extend(part.relevant);
            whole.log_likelihood += part.log_likelihood;
        })?;
        Ok(whole)
    }

    /// The slope of a document's log-likelihood in the logit of its γ: `Σ c(1−γ) − m·θγ(1−γ)/(1−θγ)`.
    pub fn score_gradient(&self, doc: usize, gamma: f64, examination: &[f64]) -> Result<f64> {
        let mut missed = 0.0;
        for (slot, _, misses) in self.observations.part(doc..doc + 1)?.of(doc).iter() {
            let theta = examination[slot];
            missed += misses * theta / (1.0 - theta * gamma).max(f64::MIN_POSITIVE);
        }
        Ok((1.0 - gamma) * (self.clicks[doc] - self.weight(doc) * missed * gamma))
    }

    /// The slopes of the mean log-likelihood per impression of `docs` in the logits of their γ.
    pub fn slopes(&self, docs: &[u32], relevance: &[f64], examination: &[f64]) -> Result<Vec<f64>> {
        let shown = self.shown_of(docs);
        let pairs = docs.iter().zip(relevance);
        pairs.map(|(doc, gamma)| Ok(self.score_gradient(*doc as usize, *gamma, examination)? / shown)).collect()
    }

    /// Adds the slopes of a document's log-likelihood in the logits of its slots' θ: `c(1−θ) − m·γθ(1−θ)/(1−θγ)`.
    pub fn add_slot_gradients(&self, doc: usize, gamma: f64, examination: &[f64], sums: &mut [f64]) -> Result<()> {
        for (slot, clicks, misses) in self.observations.part(doc..doc + 1)?.of(doc).iter() {
            let theta = examination[slot];
            let missed = misses * gamma * theta / (1.0 - theta * gamma).max(f64::MIN_POSITIVE);
            sums[slot] += self.weight(doc) * (1.0 - theta) * (clicks - missed);
        }
        Ok(())
    }

    fn expect_piece(&self, docs: Range<usize>, part: &Part<'_>, examination: &[f64], relevance: &[f64]) -> Expectation {
        let mut examined = vec![0.0; examination.len()];
        let mut relevant = Vec::with_capacity(docs.len());
        let mut log_likelihood = 0.0;
        for doc in docs {
            let (gamma, weight) = (relevance[doc], self.weight(doc));
            let entries = part.of(doc);
            let (mut unseen, mut log_misses) = (0.0, 0.0);
            for (&slot, &misses) in entries.slots.iter().zip(entries.misses) {
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

/// Σ count·ln(probability), where nothing is nothing.
fn log_sum(counts: &[f64], probabilities: &[f64]) -> f64 {
    let term = |(&count, &probability): (&f64, &f64)| if count > 0.0 { count * probability.ln() } else { 0.0 };
    counts.iter().zip(probabilities).map(term).sum()
}
