//! The M-step of documents: expected successes over trials in, γ or σ of each document out, by table or by features.

use super::browsing::{logistic, logit};
use super::expectation::{Known, Sum, curvature};
use super::prior::{BetaPrior, evidence, means};
use crate::propensity::em::{Logistic, MARGIN, RelevanceModel};

/// γ, or σ, of each document.
pub(super) struct Documents<'a> {
    /// The values, or where they are summed over their means.
    pub values: Vec<f64>,
    /// Where values are summed over, the successes and trials behind each, the prior's among them; else empty.
    counts: Vec<(f64, f64)>,
    /// Whether the evidence of sums is that of 1 less the value.
    of_complement: bool,
    place_of_doc: &'a [u32],
    /// By the place where a document is usually shown. Engines show good documents first: one mean for all would take what is
    /// relevance at the top for examination.
    pub prior: BetaPrior,
    regression: Option<Regression<'a>>,
}

/// A logistic function of features, for the documents that have any.
pub(super) struct Regression<'a> {
    pub model: Logistic<'a>,
    /// Numbers of these documents.
    pub docs: Vec<u32>,
}

/// Trials beside which one more or less makes no difference.
const CERTAIN: f64 = 1e12;

impl<'a> Documents<'a> {
    pub fn new(place_of_doc: &'a [u32], prior: BetaPrior, regression: Option<Regression<'a>>, start: f64) -> Self {
        let values = vec![start; place_of_doc.len()];
        Documents { values, counts: Vec::new(), of_complement: false, place_of_doc, prior, regression }
    }

    /// Sums over values, from what is believed of them.
    pub fn summed(mut self) -> Self {
        let believed = |place: &u32| self.prior.of(*place as usize);
        self.counts = self.place_of_doc.iter().map(believed).collect();
        self.values = self.counts.iter().map(|(won, of)| won / of).collect();
        if let Some(regression) = &self.regression {
            regression.tell(&mut self.values);
        }
        self.trust_features();
        self
    }

    /// Sums over values that are as good as known.
    #[cfg(test)]
    pub fn certain(mut self) -> Self {
        self.counts = self.values.iter().map(|value| (value * CERTAIN, CERTAIN)).collect();
        self
    }

    /// Successes that are evident are those of 1 less the value.
    pub fn with_evidence_of_complement(mut self) -> Self {
        self.of_complement = true;
        self
    }

    pub fn known(&self) -> Known<'_> {
        Known { values: &self.values, counts: &self.counts }
    }

    /// Takes these values for documents with features, whatever the regression says of them.
    pub fn set(&mut self, docs: &[u32], values: impl Iterator<Item = f64>) {
        docs.iter().zip(values).for_each(|(&doc, value)| self.values[doc as usize] = value);
        self.trust_features();
    }

    /// What features say of a document does not depend on one transition more or less.
    fn trust_features(&mut self) {
        let Some(regression) = self.regression.as_ref().filter(|_| !self.counts.is_empty()) else { return };
        for &doc in &regression.docs {
            self.counts[doc as usize] = (self.values[doc as usize] * CERTAIN, CERTAIN);
        }
    }

    fn place(&self, doc: usize) -> usize {
        self.place_of_doc[doc] as usize
    }

    /// All parameters, for acceleration.
    pub fn append_to(&self, point: &mut Vec<f64>) {
        point.extend(&self.values);
        // Logarithms, so that a document with many trials is no farther than one with few.
        point.extend(self.counts.iter().map(|(_, of)| of.ln()));
        point.extend(self.regression.iter().flat_map(|regression| regression.model.parameters()));
    }

    /// Takes parameters off the front of `point`.
    pub fn take_from(&mut self, point: &mut &[f64]) {
        let values = take(point, self.values.len());
        self.values.iter_mut().zip(values).for_each(|(own, value)| *own = value.clamp(MARGIN, 1.0 - MARGIN));
        let trials = take(point, self.counts.len());
        for ((count, value), trials) in self.counts.iter_mut().zip(&self.values).zip(trials) {
            let of = trials.exp().max(self.prior.strength);
            *count = (value * of, of);
        }
        if let Some(regression) = &mut self.regression {
            let parameters = take(point, regression.model.parameters().len());
            if regression.model.parameters() != parameters {
                regression.model.set_parameters(parameters);
            }
            regression.tell(&mut self.values);
            self.trust_features();
        }
    }

    /// The prior's part of the penalised likelihood; documents with features, or that are summed over, have none.
    pub fn log_prior(&self) -> f64 {
        if !self.counts.is_empty() {
            return 0.0;
        }
        let density = |doc: usize| self.prior.log_density(self.place(doc), self.values[doc]);
        match &self.regression {
            None => (0..self.values.len()).map(density).sum(),
            Some(regression) => self.others(regression).map(density).sum(),
        }
    }

    fn others<'r>(&self, regression: &'r Regression<'_>) -> impl Iterator<Item = usize> + use<'r> {
        let len = self.values.len();
        let mut with_features = regression.docs.iter().map(|&doc| doc as usize).peekable();
        (0..len).filter(move |doc| with_features.next_if_eq(doc).is_none())
    }

    /// Successes over trials.
    pub fn update(&mut self, sums: &[Sum]) {
        if !self.counts.is_empty() {
            self.move_means(sums);
            for (doc, (count, sum)) in self.counts.iter_mut().zip(sums).enumerate() {
                let (won, of) = self.prior.of(self.place_of_doc[doc] as usize);
                *count = (won + sum.won, of + sum.of);
            }
        }
        self.move_table(
            sums,
            |sum, (won, of), value| {
                if sum.of + of > 0.0 { (sum.won + won) / (sum.of + of) } else { value }
            },
        );
        self.regress(|_, sum| (sum.won, sum.of), sums);
        self.trust_features();
    }

    /// The prior's means are moved in every step, as they and users' parameters explain the same clicks: in turns of many steps
    /// they would follow each other slowly.
    fn move_means(&mut self, sums: &[Sum]) {
        let counts = |doc: usize| (self.place_of_doc[doc], sums[doc].won, sums[doc].of);
        let (classes, strength) = (self.prior.means.len(), self.prior.strength);
        // Documents with features count too: they may be all there are, and unseen ones get these means.
        self.prior.means = means((0..sums.len()).map(counts), classes, strength);
    }

    /// Least squares of the logit: sums as [`Family::Additive`](super::kind::Family) has them.
    pub fn update_logits(&mut self, sums: &[Sum]) {
        self.move_table(sums, |sum, (won, of), value| {
            let weight = of * curvature(logit(value));
            if sum.of + weight > 0.0 { logistic((sum.won + won - of / 2.0) / (sum.of + weight)) } else { value }
        });
        // Successes and trials whose slope and curvature at the present value are those of the bound.
        self.regress(
            |value, sum| {
                let trials = sum.of / (value * (1.0 - value));
                (trials * value + sum.won - sum.of * logit(value), trials)
            },
            sums,
        );
    }

    fn move_table(&mut self, sums: &[Sum], moved: impl Fn(&Sum, (f64, f64), f64) -> f64) {
        for (doc, (value, sum)) in self.values.iter_mut().zip(sums).enumerate() {
            let believed = self.prior.of(self.place_of_doc[doc] as usize);
            *value = moved(sum, believed, *value).clamp(MARGIN, 1.0 - MARGIN);
        }
    }

    /// Moves the regression a step toward successes over trials.
    fn regress(&mut self, counts: impl Fn(f64, &Sum) -> (f64, f64), sums: &[Sum]) {
        let Some(regression) = &mut self.regression else { return };
        let old = regression.model.values();
        let targets = regression.docs.iter().zip(old).map(|(&doc, &value)| counts(value, &sums[doc as usize]));
        let (won, of): (Vec<f64>, Vec<f64>) = targets.unzip();
        regression.model.update(&won, &of);
        regression.tell(&mut self.values);
    }

    /// The prior that suits what was found.
    pub fn fitted_prior(&self, sums: &[Sum]) -> BetaPrior {
        let places = self.place_of_doc.iter().copied();
        let items = match &self.regression {
            None => evidence(places.zip(sums)),
            Some(regression) => evidence(self.others(regression).map(|doc| (self.place_of_doc[doc], &sums[doc]))),
        };
        let prior = if self.of_complement { self.prior.of_complement() } else { self.prior.clone() };
        match self.counts.is_empty() {
            true => prior.fitted(&items),
            false => BetaPrior { strength: prior.fitted_strength(&items), means: self.prior.means.clone() },
        }
    }
}

impl Regression<'_> {
    fn tell(&self, values: &mut [f64]) {
        self.docs.iter().zip(self.model.values()).for_each(|(&doc, &value)| values[doc as usize] = value);
    }
}

/// The first `len` values, taken off the front.
pub(super) fn take<'p>(point: &mut &'p [f64], len: usize) -> &'p [f64] {
    let (first, rest) = point.split_at(len);
    *point = rest;
    first
}
