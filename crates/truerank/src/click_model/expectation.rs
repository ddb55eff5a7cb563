//! The E-step: what the parameters say about examinations, relevance and satisfaction that nobody saw.

use std::ops::AddAssign;

use super::ClickModelKind;
use super::browsing::{FLOOR, after_click, after_skip, logistic, logit};
use super::kind::Family;
use super::observed::{Observed, Piece, SlotCell, Visits};

/// Expected successes over trials of one parameter.
///
/// `evident` counts the same without what the outcome itself is imputed from: clicks over the chances of one that were expected
/// before it. It says how much is known, which priors are fitted to; chances given the outcome would vary with it and hide how
/// much parameters differ.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Sum {
    pub won: f64,
    pub of: f64,
    pub evident: f64,
    pub evident_of: f64,
}

impl Sum {
    fn plain(won: f64, of: f64) -> Self {
        Sum { won, of, evident: won, evident_of: of }
    }

    fn times(self, weight: f64) -> Self {
        let Sum { won, of, evident, evident_of } = self;
        Sum { won: weight * won, of: weight * of, evident: weight * evident, evident_of: weight * evident_of }
    }
}

impl AddAssign for Sum {
    fn add_assign(&mut self, other: Sum) {
        self.won += other.won;
        self.of += other.of;
        self.evident += other.evident;
        self.evident_of += other.evident_of;
    }
}

/// Documents' parameters, by number.
#[derive(Clone, Copy)]
pub(super) struct OfDocuments<'a> {
    pub attraction: &'a [f64],
    pub satisfaction: &'a [f64],
}

/// A model with its parameters for one kind of users, or for each user.
#[derive(Clone, Copy)]
pub(super) struct Component<'a> {
    pub kind: ClickModelKind,
    pub positions: usize,
    /// One row of parameters, or one for each user.
    pub values: &'a [f64],
    pub per_user: bool,
}

impl<'a> Component<'a> {
    fn width(&self) -> usize {
        self.kind.parameter_count(self.positions)
    }

    fn of_user(&self, user: u32) -> &'a [f64] {
        let row = if self.per_user { user as usize } else { 0 };
        &self.values[row * self.width()..][..self.width()]
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
            Family::Cascade => self.observed.visits(self.piece).for_each(|visits| self.go_down(&visits, &mut expected)),
            family => {
                let cells = self.piece.cells(self.component.kind);
                cells.iter().for_each(|cell| self.add_cell(family, cell, &mut expected));
            }
        }
        expected
    }

    fn weight(&self, user: usize) -> f64 {
        self.weights.get(user).copied().unwrap_or(1.0)
    }

    /// Where the parameters of a user stand among the sums.
    fn row(&self, user: usize) -> usize {
        if self.component.per_user { user * self.component.width() } else { 0 }
    }

    fn add_cell(&self, family: Family, cell: &SlotCell, expected: &mut Expected) {
        let user = cell.user as usize;
        let values = self.component.of_user(self.piece.users[user]);
        let gamma = self.documents.attraction[cell.doc as usize];
        let (found, attraction, browsing) = match family {
            Family::Trust => trust_cell(cell, gamma, values, self.component.positions),
            Family::Additive => additive_cell(cell, gamma, values),
            _ => slot_cell(cell, gamma, values),
        };
        let weight = self.weight(user);
        expected.log_likelihood[user] += found;
        expected.attraction[cell.doc as usize - self.piece.docs.start] += attraction.times(weight);
        let row = self.row(user);
        for (part, sum) in browsing.into_iter().enumerate().take(if family == Family::Trust { 3 } else { 1 }) {
            let place = row + part * self.component.positions + cell.slot as usize;
            expected.browsing[place] += sum.times(weight);
        }
    }

    /// The cascade family: transitions to a click are certain, everything between was examined; those to the end are followed
    /// down the page by the probability that each document was examined.
    fn go_down(&self, visits: &Visits<'_>, expected: &mut Expected) {
        let values = self.component.of_user(self.piece.users[visits.user]);
        let walk = Walk::new(self.component.kind, values, visits, self.documents);
        expected.log_likelihood[visits.user] += walk.log_likelihood();
        let (weight, row) = (self.weight(visits.user), self.row(visits.user));
        let examined = walk.examined();
        for (at, &doc) in visits.docs.iter().enumerate() {
            let doc = doc as usize - self.piece.docs.start;
            let trials = walk.clicks(at) + walk.passed[at] + examined[at].0;
            expected.attraction[doc] += Sum::plain(walk.clicks(at), trials).times(weight);
            if at + 1 == visits.docs.len() {
                break;
            }
            let after = walk.after(at);
            expected.attraction[doc] += after.as_attraction.times(weight);
            if let Some(sum) = expected.satisfaction.get_mut(doc) {
                *sum += after.satisfaction.times(weight);
            }
            let skipped = Sum::plain(walk.passed[at] + examined[at].1, walk.passed[at] + examined[at].0);
            add_browsing(
                self.component.kind,
                (skipped, after),
                visits.positions[at],
                weight,
                &mut expected.browsing[row..],
            );
        }
    }
}

/// What one document says about the user: after skips, and after clicks.
fn add_browsing(kind: ClickModelKind, (skipped, after): (Sum, After), position: u32, weight: f64, sums: &mut [Sum]) {
    match kind {
        ClickModelKind::Dcm => sums[position as usize - 1] += after.went_on[0].times(weight),
        ClickModelKind::Dbn => {
            sums[0] += skipped.times(weight);
            sums[0] += after.went_on[0].times(weight);
        }
        ClickModelKind::Ccm => {
            sums[0] += skipped.times(weight);
            sums[1] += after.went_on[0].times(weight);
            sums[2] += after.went_on[1].times(weight);
        }
        _ => {}
    }
}

/// `P(c) = θγ`: log-likelihood, γ's and θ's expected counts, both with e and r unseen.
fn slot_cell(cell: &SlotCell, gamma: f64, values: &[f64]) -> (f64, Sum, [Sum; 3]) {
    let theta = values[cell.slot as usize];
    let misses = cell.shown - cell.clicks;
    let no_click = (1.0 - theta * gamma).max(f64::MIN_POSITIVE);
    let examined = misses * theta * (1.0 - gamma) / no_click;
    let relevant = misses * gamma * (1.0 - theta) / no_click;
    let sum = |own: f64, chance: f64| Sum {
        won: cell.clicks + own,
        of: cell.shown,
        evident: cell.clicks,
        evident_of: cell.shown * chance,
    };
    let found = times_log(cell.clicks, theta * gamma) + times_log(misses, no_click);
    (found, sum(relevant, theta), [sum(examined, gamma), Sum::default(), Sum::default()])
}

/// `P(c) = θ(ε⁺γ + ε⁻(1−γ))`.
fn trust_cell(cell: &SlotCell, gamma: f64, values: &[f64], positions: usize) -> (f64, Sum, [Sum; 3]) {
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
    let found = times_log(cell.clicks, theta * attracted) + times_log(misses, no_click);
    let attraction = Sum::plain(by_relevance + seen_relevant + unseen_relevant, cell.shown);
    let browsing = [
        Sum::plain(cell.clicks + seen_relevant + seen_other, cell.shown),
        Sum::plain(by_relevance, by_relevance + seen_relevant),
        Sum::plain(by_mistake, by_mistake + seen_other),
    ];
    (found, attraction, browsing)
}

/// `logit P(c) = f + b` by the Pólya–Gamma bound (Polson et al. 2013): least squares with weight `n·tanh(ψ/2)/(2ψ)`. Both
/// towers' sums are at the other's present value, so they are to be moved one after the other.
fn additive_cell(cell: &SlotCell, gamma: f64, values: &[f64]) -> (f64, Sum, [Sum; 3]) {
    let (own, slot) = (logit(gamma), values[cell.slot as usize]);
    let score = own + slot;
    let (weight, half) = (cell.shown * curvature(score), cell.clicks - cell.shown / 2.0);
    let probability = logistic(score);
    let found = times_log(cell.clicks, probability) + times_log(cell.shown - cell.clicks, 1.0 - probability);
    let sum = |other: f64| Sum { won: half - weight * other, of: weight, evident: cell.clicks, evident_of: cell.shown };
    (found, sum(slot), [sum(own), Sum::default(), Sum::default()])
}

/// `tanh(ψ/2)/(2ψ)`.
pub(super) fn curvature(score: f64) -> f64 {
    if score.abs() < 1e-4 { 0.25 - score * score / 48.0 } else { (score / 2.0).tanh() / (2.0 * score) }
}

/// n·ln p, where nothing is nothing.
pub(super) fn times_log(count: f64, probability: f64) -> f64 {
    if count > 0.0 { count * probability.max(f64::MIN_POSITIVE).ln() } else { 0.0 }
}

/// What one user did on the pages of one list, under a model of the cascade family.
struct Walk<'a> {
    kind: ClickModelKind,
    values: &'a [f64],
    go_on: f64,
    /// γ, σ and b of each document.
    documents: Vec<(f64, f64, f64)>,
    /// N: the probability of no click from a document on, if it is examined; 1 past the last.
    none: Vec<f64>,
    /// How often each was skipped with a click below.
    passed: Vec<f64>,
    /// How often a click on each was followed by another.
    followed: Vec<f64>,
    /// How often the last click was on the one before, or nowhere for 0.
    ends: Vec<f64>,
    /// Transitions that the model forbids.
    forbidden: f64,
}

/// What clicks on a document say.
#[derive(Clone, Copy, Default)]
struct After {
    /// Of the parameters for going on: the one there is, or those after irrelevant and relevant clicks.
    went_on: [Sum; 2],
    satisfaction: Sum,
    /// Of γ, where it is the satisfaction too.
    as_attraction: Sum,
}

impl<'a> Walk<'a> {
    fn new(kind: ClickModelKind, values: &'a [f64], visits: &Visits<'_>, of: OfDocuments<'_>) -> Self {
        let len = visits.docs.len();
        let document = |(&doc, &position): (&u32, &u32)| {
            let gamma = of.attraction[doc as usize];
            let sigma = of.satisfaction.get(doc as usize).copied().unwrap_or(0.0);
            (gamma, sigma, after_click(kind, values, position, (gamma, sigma)))
        };
        let mut walk = Walk {
            kind,
            values,
            go_on: after_skip(kind, values),
            documents: visits.docs.iter().zip(visits.positions).map(document).collect(),
            none: vec![1.0; len + 1],
            passed: vec![0.0; len],
            followed: vec![0.0; len],
            ends: vec![0.0; len + 1],
            forbidden: 0.0,
        };
        for at in (0..len).rev() {
            walk.none[at] = (1.0 - walk.documents[at].0) * walk.no_more(at + 1);
        }
        walk.count(visits);
        walk
    }

    /// The probability of no click from number `at` on after a skip just above.
    fn no_more(&self, at: usize) -> f64 {
        1.0 - self.go_on + self.go_on * self.none[at]
    }

    fn count(&mut self, visits: &Visits<'_>) {
        let len = visits.docs.len();
        for step in visits.steps {
            let (from, to) = (step.from as usize, step.to as usize);
            if self.kind == ClickModelKind::Cm && from > 0 {
                // The model tells of first clicks only.
                self.forbidden += if to < len { step.sessions } else { 0.0 };
            } else if to == len {
                self.ends[from] += step.sessions;
            } else {
                self.passed[from..to].iter_mut().for_each(|passed| *passed += step.sessions);
                if from > 0 {
                    self.followed[from - 1] += step.sessions;
                }
                if self.kind == ClickModelKind::Cm {
                    self.ends[to + 1] += step.sessions;
                }
            }
        }
    }

    fn clicks(&self, at: usize) -> f64 {
        self.followed[at] + self.ends[at + 1]
    }

    /// The probability of no further click after one on number `from − 1`, or from the start.
    fn end(&self, from: usize) -> f64 {
        let go_on = if from == 0 { 1.0 } else { self.documents[from - 1].2 };
        (1.0 - go_on + go_on * self.none[from]).max(f64::MIN_POSITIVE)
    }

    fn log_likelihood(&self) -> f64 {
        let len = self.documents.len();
        let mut sum = self.forbidden * FLOOR.ln();
        for (at, &(gamma, _, after_click)) in self.documents.iter().enumerate() {
            sum += times_log(self.clicks(at), gamma) + times_log(self.passed[at], (1.0 - gamma) * self.go_on);
            sum += times_log(self.followed[at], after_click);
        }
        sum + (0..len).map(|from| times_log(self.ends[from], self.end(from))).sum::<f64>()
    }

    /// For each document how often it was examined without a click after it, in expectation, and how often the user then went on.
    fn examined(&self) -> Vec<(f64, f64)> {
        let mut on_the_way = 0.0;
        let of_document = |at: usize| {
            let enter = if at == 0 { 1.0 } else { self.documents[at - 1].2 * self.none[at] / self.end(at) };
            let examined = on_the_way + self.ends[at] * enter;
            on_the_way = examined * self.go_on * self.none[at + 1] / self.no_more(at + 1).max(f64::MIN_POSITIVE);
            (examined, on_the_way)
        };
        (0..self.documents.len()).map(of_document).collect()
    }

    /// What the clicks on a document say, but for the last, after which nothing can follow.
    fn after(&self, at: usize) -> After {
        let (gamma, sigma, go_on) = self.documents[at];
        let (followed, ended) = (self.followed[at], self.ends[at + 1]);
        let (none, end) = (self.none[at + 1], self.end(at + 1));
        let all = followed + ended;
        match self.kind {
            ClickModelKind::Dcm => {
                // With P(another click) = λ(1−N), as in a slot model of relevance 1−N.
                let chances = all * (1.0 - none);
                let went_on =
                    Sum { won: followed + ended * go_on * none / end, of: all, evident: followed, evident_of: chances };
                After { went_on: [went_on, Sum::default()], ..After::default() }
            }
            ClickModelKind::Sdbn => After { satisfaction: Sum::plain(ended * sigma / end, all), ..After::default() },
            ClickModelKind::Dbn => {
                let not_satisfied = ended * (1.0 - sigma / end);
                let won = followed + ended * (1.0 - sigma) * self.values[0] * none / end;
                let went_on = Sum::plain(won, followed + not_satisfied);
                After {
                    went_on: [went_on, Sum::default()],
                    satisfaction: Sum::plain(ended * sigma / end, all),
                    ..After::default()
                }
            }
            ClickModelKind::Ccm => self.after_in_chain(gamma, followed, ended, none, end),
            _ => After::default(),
        }
    }

    fn after_in_chain(&self, gamma: f64, followed: f64, ended: f64, none: f64, end: f64) -> After {
        let (other, relevant) = (self.values[1], self.values[2]);
        let go_on = (other * (1.0 - gamma) + relevant * gamma).max(f64::MIN_POSITIVE);
        let of_followed = relevant * gamma / go_on;
        let of_ended = gamma * (1.0 - relevant + relevant * none) / end;
        let satisfied = followed * of_followed + ended * of_ended;
        let not_satisfied = followed * (1.0 - of_followed) + ended * (1.0 - of_ended);
        let after_relevant = followed * of_followed + ended * gamma * relevant * none / end;
        let after_other = followed * (1.0 - of_followed) + ended * (1.0 - gamma) * other * none / end;
        After {
            went_on: [Sum::plain(after_other, not_satisfied), Sum::plain(after_relevant, satisfied)],
            satisfaction: Sum::default(),
            as_attraction: Sum::plain(satisfied, followed + ended),
        }
    }
}
