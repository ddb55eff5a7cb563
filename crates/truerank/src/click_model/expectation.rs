//! The E-step: what the parameters say about examinations, relevance and satisfaction that nobody saw.

use std::ops::AddAssign;

use super::ClickModelKind;
use super::browsing::{logistic, logit};
use super::kind::Family;
use super::observed::{Observed, Piece, SlotCell};
use crate::propensity::em::MARGIN;

/// Expected successes over trials of one parameter, and what is evident of it.
///
/// `evident` and `missed` are what priors are fitted to: outcomes as they were seen, each with the chance that it had before it
/// was. With a parameter p and a chance ε a success has probability `ε·p`. Expected trials would not do: they are imputed from
/// the outcome and from the prior itself, and hide how much parameters differ.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Sum {
    pub won: f64,
    pub of: f64,
    /// Successes that were seen.
    pub evident: f64,
    /// `Σ ε^j` over what was not a success, for j = 0 … 3.
    pub missed: [f64; 4],
}

impl Sum {
    /// All was seen.
    pub fn plain(won: f64, of: f64) -> Self {
        Sum { won, of, evident: won, missed: [of - won; 4] }
    }

    /// Nothing is evident.
    pub fn imputed(won: f64, of: f64) -> Self {
        Sum { won, of, ..Sum::default() }
    }

    /// So many successes were seen, and so many chances of this size missed.
    pub fn seeing(self, evident: f64, missed: f64, chance: f64) -> Self {
        let square = chance * chance;
        Sum { evident, missed: [missed, missed * chance, missed * square, missed * square * chance], ..self }
    }

    pub fn times(self, weight: f64) -> Self {
        let Sum { won, of, evident, missed } = self;
        Sum { won: weight * won, of: weight * of, evident: weight * evident, missed: missed.map(|sum| weight * sum) }
    }
}

impl AddAssign for Sum {
    fn add_assign(&mut self, other: Sum) {
        self.won += other.won;
        self.of += other.of;
        self.evident += other.evident;
        self.missed.iter_mut().zip(other.missed).for_each(|(sum, part)| *sum += part);
    }
}

/// What is known of documents, by number.
#[derive(Clone, Copy)]
pub(super) struct OfDocuments<'a> {
    pub attraction: Known<'a>,
    pub satisfaction: Known<'a>,
}

/// γ, or σ, of documents.
#[derive(Clone, Copy, Default)]
pub(super) struct Known<'a> {
    /// The values, or where they are summed over their means.
    pub values: &'a [f64],
    /// The successes and trials behind each mean, the prior's among them; empty where values are taken as they are.
    pub counts: &'a [(f64, f64)],
}

impl Known<'_> {
    pub fn value(&self, doc: u32) -> f64 {
        self.values.get(doc as usize).copied().unwrap_or(0.0)
    }

    pub fn is_summed(&self) -> bool {
        !self.counts.is_empty()
    }

    /// The trials that one is worth which took place with a probability.
    ///
    /// Whether it did is not known, and so neither is the posterior: it is a mixture of that with the trial and that without. With
    /// T trials before, `T·chance/(T + 1 − chance)` more leave the same mean as the mixture has. The chance itself would be too
    /// much: it would pull the mean as far as a trial of that size.
    pub fn worth(&self, doc: u32, chance: f64) -> f64 {
        match self.counts.get(doc as usize) {
            None => chance,
            Some((_, all)) => {
                let before = (all - chance).max(MARGIN);
                chance * before / (before + 1.0 - chance)
            }
        }
    }

    /// The mean that a document has without so many successes in so many trials.
    pub fn without(&self, doc: u32, won: f64, of: f64) -> f64 {
        match self.counts.get(doc as usize) {
            None => self.value(doc),
            Some((all_won, all)) => ((all_won - won) / (all - of)).clamp(MARGIN, 1.0 - MARGIN),
        }
    }
}

/// A model with its parameters for one kind of users, or for each user.
#[derive(Clone, Copy)]
pub(super) struct Component<'a> {
    pub kind: ClickModelKind,
    pub positions: usize,
    /// One row of parameters, or one for each user.
    pub values: &'a [f64],
    /// The successes and trials behind each; empty where values are taken as they are.
    pub counts: &'a [(f64, f64)],
    pub per_user: bool,
}

impl<'a> Component<'a> {
    fn width(&self) -> usize {
        self.kind.parameter_count(self.positions)
    }

    fn of_user(&self, user: u32) -> Known<'a> {
        let row = if self.per_user { user as usize } else { 0 };
        let row = row * self.width()..(row + 1) * self.width();
        Known { values: &self.values[row.clone()], counts: self.counts.get(row).unwrap_or_default() }
    }
}

/// The sums of one piece under one component.
pub(super) struct Expected {
    /// Log-likelihood of each of the piece's users.
    pub log_likelihood: Vec<f64>,
    /// Of the piece's documents.
    pub attraction: Vec<Sum>,
    pub satisfaction: Vec<Sum>,
    /// Of the parameters: one row, or one for each of the piece's users.
    pub browsing: Vec<Sum>,
}

/// Everything that an E-step of one piece reads.
pub(super) struct Step<'a> {
    pub observed: &'a Observed,
    pub piece: &'a Piece,
    pub component: Component<'a>,
    pub documents: OfDocuments<'a>,
    /// How much each of the piece's users counts; all alike where it is empty.
    pub weights: &'a [f64],
}

impl Step<'_> {
    pub fn run(&self) -> Expected {
        let rows = if self.component.per_user { self.piece.users.len() } else { 1 };
        let docs = self.piece.docs.len();
        let mut expected = Expected {
            log_likelihood: vec![0.0; self.piece.users.len()],
            attraction: vec![Sum::default(); docs],
            satisfaction: vec![Sum::default(); if self.component.kind.has_satisfaction() { docs } else { 0 }],
            browsing: vec![Sum::default(); rows * self.component.width()],
        };
        match self.component.kind.family() {
            Family::Cascade => {
                let summed = self.documents.attraction.is_summed();
                let explain = if summed { Self::leave_each_out } else { Self::go_down };
                self.observed.visits(self.piece).for_each(|visits| explain(self, &visits, &mut expected));
            }
            family => {
                let cells = self.piece.cells(self.component.kind);
                cells.iter().for_each(|cell| self.add_cell(family, cell, &mut expected));
            }
        }
        expected
    }

    pub(super) fn weight(&self, user: usize) -> f64 {
        self.weights.get(user).copied().unwrap_or(1.0)
    }

    /// Where the parameters of a user stand among the sums.
    pub(super) fn row(&self, user: usize) -> usize {
        if self.component.per_user { user * self.component.width() } else { 0 }
    }

    /// The parameters of one of the piece's users.
    pub(super) fn values(&self, user: usize) -> &[f64] {
        self.of_user(user).values
    }

    fn of_user(&self, user: usize) -> Known<'_> {
        self.component.of_user(self.piece.users[user])
    }

    fn add_cell(&self, family: Family, cell: &SlotCell, expected: &mut Expected) {
        let user = cell.user as usize;
        let found = self.explain_cell(family, cell, self.of_user(user));
        let weight = self.weight(user);
        expected.log_likelihood[user] += found.log_likelihood;
        expected.attraction[cell.doc as usize - self.piece.docs.start] += found.attraction.times(weight);
        let row = self.row(user);
        for (part, sum) in found.browsing.into_iter().enumerate().take(if family == Family::Trust { 3 } else { 1 }) {
            let place = row + part * self.component.positions + cell.slot as usize;
            expected.browsing[place] += sum.times(weight);
        }
    }

    fn explain_cell(&self, family: Family, cell: &SlotCell, users: Known<'_>) -> OfCell {
        let documents = self.documents.attraction;
        let gamma = documents.value(cell.doc);
        match family {
            Family::Trust => trust_cell(cell, gamma, users.values, self.component.positions),
            Family::Additive => additive_cell(cell, gamma, users.values),
            _ if documents.is_summed() => leave_out_of_cell(cell, documents, users),
            _ => slot_cell(cell, gamma, users.values[cell.slot as usize]),
        }
    }
}

/// What a cell says: its log-likelihood, γ's expected counts, and those of up to three parameters of users.
struct OfCell {
    log_likelihood: f64,
    attraction: Sum,
    browsing: [Sum; 3],
}

/// A cell whose γ is summed over, and whose θ where users have their own. Each of its impressions is explained by the means that
/// both have without it.
///
/// γ has one trial in each impression that was examined, θ in each that is attractive; both are certain for clicks.
fn leave_out_of_cell(cell: &SlotCell, documents: Known<'_>, users: Known<'_>) -> OfCell {
    let misses = cell.shown - cell.clicks;
    let full = Missed::new(documents.value(cell.doc), users.value(cell.slot));
    let miss = Missed::new(
        documents.without(cell.doc, 0.0, documents.worth(cell.doc, full.examined)),
        users.without(cell.slot, 0.0, users.worth(cell.slot, full.attractive)),
    );
    let (gamma, theta) = (documents.without(cell.doc, 1.0, 1.0), users.without(cell.slot, 1.0, 1.0));
    let clicked = times_log(cell.clicks, theta * gamma);
    let of_users = match users.is_summed() {
        true => cell.clicks + misses * users.worth(cell.slot, miss.attractive),
        false => cell.shown,
    };
    let examined = if users.is_summed() { cell.clicks } else { cell.clicks + misses * miss.examined };
    let trials = cell.clicks + misses * documents.worth(cell.doc, miss.examined);
    let browsing = Sum::imputed(examined, of_users).seeing(cell.clicks, misses, miss.gamma);
    OfCell {
        log_likelihood: clicked + times_log(misses, 1.0 - miss.theta * miss.gamma),
        attraction: Sum::imputed(cell.clicks, trials).seeing(cell.clicks, misses, miss.theta),
        browsing: [browsing, Sum::default(), Sum::default()],
    }
}

/// An impression without a click.
struct Missed {
    gamma: f64,
    theta: f64,
    /// The probabilities that it was examined, and that its document attracts.
    examined: f64,
    attractive: f64,
}

impl Missed {
    fn new(gamma: f64, theta: f64) -> Self {
        let no_click = (1.0 - theta * gamma).max(f64::MIN_POSITIVE);
        let (examined, attractive) = (theta * (1.0 - gamma) / no_click, gamma * (1.0 - theta) / no_click);
        Missed { gamma, theta, examined, attractive }
    }
}

/// `P(c) = θγ`: γ's and θ's expected counts, both with e and r unseen.
fn slot_cell(cell: &SlotCell, gamma: f64, theta: f64) -> OfCell {
    let (misses, missed) = (cell.shown - cell.clicks, Missed::new(gamma, theta));
    let sum = |own: f64, chance: f64| {
        Sum::imputed(cell.clicks + misses * own, cell.shown).seeing(cell.clicks, misses, chance)
    };
    OfCell {
        log_likelihood: times_log(cell.clicks, theta * gamma) + times_log(misses, 1.0 - theta * gamma),
        attraction: sum(missed.attractive, theta),
        browsing: [sum(missed.examined, gamma), Sum::default(), Sum::default()],
    }
}

/// `P(c) = θ(ε⁺γ + ε⁻(1−γ))`.
fn trust_cell(cell: &SlotCell, gamma: f64, values: &[f64], positions: usize) -> OfCell {
    let [theta, right, wrong] = [0, 1, 2].map(|part| values[part * positions + cell.slot as usize]);
    let misses = cell.shown - cell.clicks;
    let attracted = right * gamma + wrong * (1.0 - gamma);
    let no_click = (1.0 - theta * attracted).max(f64::MIN_POSITIVE);
    let relevant_click = right * gamma / attracted.max(f64::MIN_POSITIVE);
    let seen_relevant = misses * theta * (1.0 - right) * gamma / no_click;
    let seen_other = misses * theta * (1.0 - wrong) * (1.0 - gamma) / no_click;
    let unseen_relevant = misses * (1.0 - theta) * gamma / no_click;
    let by_relevance = cell.clicks * relevant_click;
    let by_mistake = cell.clicks - by_relevance;
    let log_likelihood = times_log(cell.clicks, theta * attracted) + times_log(misses, no_click);
    let attraction = Sum::plain(by_relevance + seen_relevant + unseen_relevant, cell.shown);
    let browsing = [
        Sum::plain(cell.clicks + seen_relevant + seen_other, cell.shown),
        Sum::plain(by_relevance, by_relevance + seen_relevant),
        Sum::plain(by_mistake, by_mistake + seen_other),
    ];
    OfCell { log_likelihood, attraction, browsing }
}

/// `logit P(c) = f + b` by the Pólya–Gamma bound (Polson et al. 2013): least squares with weight `n·tanh(ψ/2)/(2ψ)`. Both
/// towers' sums are at the other's present value, so they are to be moved one after the other.
fn additive_cell(cell: &SlotCell, gamma: f64, values: &[f64]) -> OfCell {
    let (own, slot) = (logit(gamma), values[cell.slot as usize]);
    let score = own + slot;
    let (weight, half) = (cell.shown * curvature(score), cell.clicks - cell.shown / 2.0);
    let probability = logistic(score);
    let log_likelihood = times_log(cell.clicks, probability) + times_log(cell.shown - cell.clicks, 1.0 - probability);
    let sum =
        |other: f64| Sum::imputed(half - weight * other, weight).seeing(cell.clicks, cell.shown - cell.clicks, 1.0);
    OfCell { log_likelihood, attraction: sum(slot), browsing: [sum(own), Sum::default(), Sum::default()] }
}

/// `tanh(ψ/2)/(2ψ)`.
pub(super) fn curvature(score: f64) -> f64 {
    if score.abs() < 1e-4 { 0.25 - score * score / 48.0 } else { (score / 2.0).tanh() / (2.0 * score) }
}

/// n·ln p, where nothing is nothing.
pub(super) fn times_log(count: f64, probability: f64) -> f64 {
    if count > 0.0 { count * probability.max(f64::MIN_POSITIVE).ln() } else { 0.0 }
}
