//! The M-step of documents: expected successes over trials in, γ or σ of each document out, by table or by features.

use super::browsing::{logistic, logit};
use super::expectation::{Sum, curvature};
use super::prior::{BetaPrior, evidence};
use crate::propensity::em::{Logistic, MARGIN, RelevanceModel};

/// γ, or σ, of each document.
pub(super) struct Documents<'a> {
    pub values: Vec<f64>,
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

impl<'a> Documents<'a> {
    pub fn new(place_of_doc: &'a [u32], prior: BetaPrior, regression: Option<Regression<'a>>, start: f64) -> Self {
        Documents { values: vec![start; place_of_doc.len()], place_of_doc, prior, regression }
    }

    fn place(&self, doc: usize) -> usize {
        self.place_of_doc[doc] as usize
    }

    /// All parameters, for acceleration.
    pub fn append_to(&self, point: &mut Vec<f64>) {
        point.extend(&self.values);
        point.extend(self.regression.iter().flat_map(|regression| regression.model.parameters()));
    }

    /// Takes parameters off the front of `point`.
    pub fn take_from(&mut self, point: &mut &[f64]) {
        let values = take(point, self.values.len());
        self.values.iter_mut().zip(values).for_each(|(own, value)| *own = value.clamp(MARGIN, 1.0 - MARGIN));
        if let Some(regression) = &mut self.regression {
            let parameters = take(point, regression.model.parameters().len());
            if regression.model.parameters() != parameters {
                regression.model.set_parameters(parameters);
            }
            regression.tell(&mut self.values);
        }
    }

    /// The prior's part of the penalised likelihood; documents with features have none.
    pub fn log_prior(&self) -> f64 {
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
        self.move_table(
            sums,
            |sum, (won, of), value| {
                if sum.of + of > 0.0 { (sum.won + won) / (sum.of + of) } else { value }
            },
        );
        self.regress(|_, sum| (sum.won, sum.of), sums);
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
        self.prior.fitted(&items)
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
