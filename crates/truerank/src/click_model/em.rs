//! EM for all models: expectation over pieces of the log, successes over trials, shares of kinds of users.

use rayon::prelude::*;

use super::ClickModelKind;
use super::documents::{Documents, take};
use super::expectation::{Component, Expected, Known, OfDocuments, Step, Sum};
use super::kind::Family;
use super::observed::{Observed, Piece};
use super::prior::{BetaPrior, evidence, means};
use crate::Result;
use crate::propensity::em::{Iteration, MARGIN, jump_length, jump_of, squared_lengths};

/// Logits of positions stay within these bounds.
const LOGITS: f64 = 20.0;

/// A model with its parameters, of one kind of users or of each user.
#[derive(Clone)]
pub(super) struct Part {
    pub kind: ClickModelKind,
    pub per_user: bool,
    /// One row of parameters, or one for each user.
    pub values: Vec<f64>,
    /// Where users' parameters are summed over, the successes and trials behind each, the prior's among them; else empty.
    counts: Vec<(f64, f64)>,
    /// Successes and trials that stand for what is believed of each parameter; of logits their precision, times their mean.
    pub believed: Vec<(f64, f64)>,
}

impl Part {
    /// Where everything starts that nothing is known of.
    pub fn new(kind: ClickModelKind, positions: usize, users: Option<usize>, believed: (f64, f64)) -> Self {
        let mut row = vec![if kind == ClickModelKind::Additive { 0.0 } else { 0.5 }; kind.parameter_count(positions)];
        if kind == ClickModelKind::Trust {
            // From equal chances of right and wrong clicks, EM never leaves pbm.
            row[positions..2 * positions].fill(0.9);
            row[2 * positions..].fill(0.1);
        }
        let believed = if kind == ClickModelKind::Additive { (0.0, 0.0) } else { believed };
        Part {
            kind,
            per_user: users.is_some(),
            believed: vec![believed; row.len()],
            values: row.repeat(users.unwrap_or(1)),
            counts: Vec::new(),
        }
    }

    /// Sums over the parameters of users, where each has their own θ; the others' are taken as they are.
    pub fn summed(mut self) -> Self {
        if self.per_user && self.kind.family() == Family::Slots {
            self.counts = self.values.iter().zip(self.believed.iter().cycle()).map(|(_, counts)| *counts).collect();
        }
        self
    }

    pub fn width(&self) -> usize {
        self.believed.len()
    }

    fn is_logit(&self) -> bool {
        self.kind == ClickModelKind::Additive
    }

    fn restrict(&mut self) {
        let (low, high) = if self.is_logit() { (-LOGITS, LOGITS) } else { (MARGIN, 1.0 - MARGIN) };
        self.values.iter_mut().for_each(|value| *value = value.clamp(low, high));
    }

    fn update(&mut self, sums: &[Sum]) {
        let width = self.width().max(1);
        if !self.counts.is_empty() {
            self.move_means(sums);
            let believed = self.believed.iter().cycle();
            for ((count, sum), (won, of)) in self.counts.iter_mut().zip(sums).zip(believed) {
                *count = (sum.won + won, sum.of + of);
            }
        }
        for (row, sums) in self.values.chunks_exact_mut(width).zip(sums.chunks_exact(width)) {
            for ((value, sum), (won, of)) in row.iter_mut().zip(sums).zip(&self.believed) {
                if sum.of + of > 0.0 {
                    *value = (sum.won + won) / (sum.of + of);
                }
            }
        }
        self.restrict();
    }

    /// Moves what is believed on average, as [`Documents`] do.
    fn move_means(&mut self, sums: &[Sum]) {
        let width = self.width();
        let counts = sums.iter().enumerate().map(|(place, sum)| ((place % width) as u32, sum.won, sum.of));
        let strength = self.believed[0].1;
        let means = means(counts, width, strength);
        self.believed.iter_mut().zip(means).for_each(|(believed, mean)| *believed = (mean * strength, strength));
    }

    /// All parameters, for acceleration.
    fn append_to(&self, point: &mut Vec<f64>) {
        point.extend(&self.values);
        point.extend(self.counts.iter().map(|(_, of)| of.ln()));
    }

    /// Takes parameters off the front of `point`.
    fn take_from(&mut self, point: &mut &[f64]) {
        let own = take(point, self.values.len());
        self.values.copy_from_slice(own);
        self.restrict();
        let trials = take(point, self.counts.len());
        let least = self.believed.first().map_or(0.0, |(_, of)| *of);
        for ((count, value), trials) in self.counts.iter_mut().zip(&self.values).zip(trials) {
            let of = trials.exp().max(least);
            *count = (value * of, of);
        }
    }

    fn log_prior(&self) -> f64 {
        if !self.counts.is_empty() {
            return 0.0;
        }
        let of_value = |(value, (won, of)): (&f64, &(f64, f64))| {
            if *of == 0.0 {
                0.0
            } else if self.is_logit() {
                -0.5 * of * (value - won / of).powi(2)
            } else {
                // Where models are mixed, the first position has θ = 1.
                won * value.ln() + (of - won) * (1.0 - value).max(MARGIN).ln()
            }
        };
        self.values.iter().zip(self.believed.iter().cycle()).map(of_value).sum()
    }

    /// Fits what is believed of a user to all users, and says how far it moved.
    pub fn fit_prior(&mut self, sums: &[Sum]) -> f64 {
        let width = self.width();
        if !self.per_user || width == 0 {
            return 0.0;
        }
        let before = self.believed.clone();
        match self.is_logit() {
            true => self.believed = logit_prior(sums, width),
            false => {
                let classes = self.alike();
                for first in (0..width).step_by(classes) {
                    self.fit_alike(sums, first, classes);
                }
            }
        }
        let distance = |(a, b): (&(f64, f64), &(f64, f64))| {
            let (before, after) = (a.0 / a.1.max(MARGIN), b.0 / b.1.max(MARGIN));
            (before - after).abs().max((b.1 / a.1.max(MARGIN)).ln().abs())
        };
        before.iter().zip(&self.believed).map(distance).fold(0.0, f64::max)
    }

    /// How many parameters in a row vary alike between users.
    fn alike(&self) -> usize {
        match self.kind {
            ClickModelKind::Trust => self.width() / 3,
            ClickModelKind::Ccm => 1,
            _ => self.width(),
        }
    }

    fn fit_alike(&mut self, sums: &[Sum], first: usize, classes: usize) {
        let (won, of) = self.believed[first];
        let start = BetaPrior::new(classes, if of > 0.0 { won / of } else { 0.5 }, of.max(1.0));
        let rows = sums.chunks_exact(self.width());
        let items = evidence(rows.flat_map(|row| (0..).zip(&row[first..first + classes])));
        let prior = match self.counts.is_empty() {
            true => start.fitted(&items),
            false => {
                let means = self.believed.iter().map(|(won, of)| won / of).collect();
                let prior = BetaPrior { means, strength: of };
                BetaPrior { strength: prior.fitted_strength(&items), ..prior }
            }
        };
        (0..classes).for_each(|class| self.believed[first + class] = prior.of(class));
    }
}

/// Means and precision of logits, by moments: users differ by as much more than their own uncertainty explains.
fn logit_prior(sums: &[Sum], width: usize) -> Vec<(f64, f64)> {
    let mut totals = vec![(0.0, 0.0); width];
    for (place, sum) in sums.iter().enumerate() {
        let total = &mut totals[place % width];
        *total = (total.0 + sum.won, total.1 + sum.of);
    }
    let mean = |place: usize| totals[place].0 / f64::max(totals[place].1, MARGIN);
    let (mut excess, mut weight) = (0.0, 0.0);
    for (place, sum) in sums.iter().enumerate().filter(|(_, sum)| sum.of > 0.0) {
        excess += sum.of * (sum.won / sum.of - mean(place % width)).powi(2) - 1.0;
        weight += sum.of;
    }
    let precision = (weight / excess.max(MARGIN)).clamp(0.1, 1e4);
    (0..width).map(|place| (precision * mean(place), precision)).collect()
}

/// What the E-step found on the whole log.
pub(super) struct Totals {
    pub log_likelihood: f64,
    /// By part.
    pub browsing: Vec<Vec<Sum>>,
    pub attraction: Vec<Sum>,
    pub satisfaction: Vec<Sum>,
    /// The probability of each part, user by user; empty where there is one part.
    pub of_users: Vec<f64>,
}

/// A fit as it goes on: parameters of users and documents, which `x` of the iteration mirrors.
pub(super) struct Em<'a> {
    pub observed: &'a Observed,
    pub parts: Vec<Part>,
    /// The share of each part among users.
    pub shares: Vec<f64>,
    pub attraction: Documents<'a>,
    pub satisfaction: Option<Documents<'a>>,
}

impl Em<'_> {
    /// Whether parts of different kinds share γ: then the top position is always examined, so that γ means the same to all.
    fn is_anchored(&self) -> bool {
        self.parts.iter().any(|part| part.kind != self.parts[0].kind)
    }

    pub fn point(&self) -> Vec<f64> {
        let mut point = Vec::new();
        self.parts.iter().for_each(|part| part.append_to(&mut point));
        point.extend(self.shares.iter().filter(|_| self.parts.len() > 1));
        self.attraction.append_to(&mut point);
        self.satisfaction.iter().for_each(|documents| documents.append_to(&mut point));
        point
    }

    pub fn set_point(&mut self, point: &[f64]) {
        let mut left = point;
        self.parts.iter_mut().for_each(|part| part.take_from(&mut left));
        if self.parts.len() > 1 {
            self.shares = normalised(take(&mut left, self.parts.len()));
        }
        self.attraction.take_from(&mut left);
        self.satisfaction.iter_mut().for_each(|documents| documents.take_from(&mut left));
        self.anchor();
    }

    fn anchor(&mut self) {
        if self.is_anchored() {
            let positions = self.observed.positions;
            let slots = self.parts.iter_mut().filter(|part| part.kind.family() == Family::Slots);
            for part in slots.filter(|_| positions > 0) {
                let first = part.kind.slot(0, 1);
                part.values[first] = 1.0;
            }
        }
    }

    fn component(&self, part: usize) -> Component<'_> {
        let Part { kind, per_user, values, counts, .. } = &self.parts[part];
        Component { kind: *kind, positions: self.observed.positions, values, counts, per_user: *per_user }
    }

    fn documents(&self) -> OfDocuments<'_> {
        let satisfaction = self.satisfaction.as_ref().map_or_else(Known::default, Documents::known);
        OfDocuments { attraction: self.attraction.known(), satisfaction }
    }

    /// What each piece has to say about a part.
    fn of_pieces(&self, part: usize, weights: impl Fn(&Piece) -> Vec<f64> + Sync) -> Vec<Expected> {
        let step = |piece| {
            let weights = weights(piece);
            let (component, documents) = (self.component(part), self.documents());
            Step { observed: self.observed, piece, component, documents, weights: &weights }.run()
        };
        self.observed.pieces.par_iter().map(step).collect()
    }

    /// The log-likelihood of each user under a part.
    fn of_users(&self, part: usize) -> Vec<f64> {
        let mut sums = vec![0.0; self.observed.users];
        let found = self.of_pieces(part, |_| Vec::new());
        for (piece, expected) in self.observed.pieces.iter().zip(found) {
            piece.users.iter().zip(expected.log_likelihood).for_each(|(&user, value)| sums[user as usize] += value);
        }
        sums
    }

    /// `π_ug ∝ π_g·exp Σ T·ln P_g`, and the log-likelihood.
    fn responsibilities(&self) -> (Vec<f64>, f64) {
        let parts = self.parts.len();
        let by_part: Vec<Vec<f64>> = (0..parts).map(|part| self.of_users(part)).collect();
        let (mut all, mut log_likelihood) = (Vec::with_capacity(parts * self.observed.users), 0.0);
        for user in 0..self.observed.users {
            let log = |(share, of_users): (&f64, &Vec<f64>)| share.max(MARGIN).ln() + of_users[user];
            let logs: Vec<f64> = self.shares.iter().zip(&by_part).map(log).collect();
            let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let total: f64 = logs.iter().map(|log| (log - most).exp()).sum();
            log_likelihood += most + total.ln();
            all.extend(logs.iter().map(|log| (log - most).exp() / total));
        }
        (all, log_likelihood)
    }

    pub fn expect(&self) -> Totals {
        let parts = self.parts.len();
        let (of_users, likelihood) = if parts > 1 { self.responsibilities() } else { (Vec::new(), 0.0) };
        let docs = self.observed.docs.len();
        let satisfied = if self.satisfaction.is_some() { docs } else { 0 };
        let mut totals = Totals {
            log_likelihood: likelihood,
            browsing: self.parts.iter().map(|part| vec![Sum::default(); part.values.len()]).collect(),
            attraction: vec![Sum::default(); docs],
            satisfaction: vec![Sum::default(); satisfied],
            of_users,
        };
        for part in 0..parts {
            let weights = |piece: &Piece| {
                let users = piece.users.iter().filter(|_| parts > 1);
                users.map(|&user| totals.of_users[user as usize * parts + part]).collect()
            };
            let found = self.of_pieces(part, weights);
            for (piece, expected) in self.observed.pieces.iter().zip(found) {
                if parts == 1 {
                    totals.log_likelihood += expected.log_likelihood.iter().sum::<f64>();
                }
                totals.add(part, &self.parts[part], piece, &expected);
            }
        }
        totals
    }

    /// Penalised log-likelihood of totals at the parameters that they were found with.
    pub fn penalised(&self, totals: &Totals) -> f64 {
        let of_parts: f64 = self.parts.iter().map(Part::log_prior).sum();
        let of_satisfaction = self.satisfaction.as_ref().map_or(0.0, Documents::log_prior);
        totals.log_likelihood + of_parts + self.attraction.log_prior() + of_satisfaction
    }

    /// A step for all but γ.
    pub fn advance_around_attraction(&mut self) {
        let totals = self.expect();
        self.update_around_attraction(&totals);
    }

    fn update_around_attraction(&mut self, totals: &Totals) {
        if let Some(documents) = &mut self.satisfaction {
            documents.update(&totals.satisfaction);
        }
        self.parts.iter_mut().zip(&totals.browsing).for_each(|(part, sums)| part.update(sums));
        if self.parts.len() > 1 {
            self.shares = shares(&totals.of_users, self.parts.len());
        }
        self.anchor();
    }

    /// A step, and the penalised log-likelihood before it.
    pub fn advance(&mut self) -> f64 {
        let totals = self.expect();
        let before = self.penalised(&totals);
        if self.parts[0].kind == ClickModelKind::Additive {
            self.attraction.update_logits(&totals.attraction);
            let totals = self.expect();
            self.parts[0].update(&totals.browsing[0]);
            return before;
        }
        self.attraction.update(&totals.attraction);
        self.update_around_attraction(&totals);
        before
    }

    /// Fits what is believed to all users and documents, and says how far it moved.
    pub fn fit_priors(&mut self) -> f64 {
        let totals = self.expect();
        let mut moved: f64 = 0.0;
        let prior = self.attraction.fitted_prior(&totals.attraction);
        moved = moved.max(prior.distance(&self.attraction.prior));
        self.attraction.prior = prior;
        if let Some(documents) = &mut self.satisfaction {
            let prior = documents.fitted_prior(&totals.satisfaction);
            moved = moved.max(prior.distance(&documents.prior));
            documents.prior = prior;
        }
        for (part, sums) in self.parts.iter_mut().zip(&totals.browsing) {
            moved = moved.max(part.fit_prior(sums));
        }
        moved
    }
}

impl Totals {
    fn add(&mut self, number: usize, part: &Part, piece: &Piece, expected: &Expected) {
        let docs = piece.docs.clone();
        self.attraction[docs.clone()].iter_mut().zip(&expected.attraction).for_each(|(sum, part)| *sum += *part);
        if !self.satisfaction.is_empty() {
            self.satisfaction[docs].iter_mut().zip(&expected.satisfaction).for_each(|(sum, part)| *sum += *part);
        }
        let width = part.width();
        if width == 0 {
            return;
        }
        for (row, sums) in expected.browsing.chunks_exact(width).enumerate() {
            let row = if part.per_user { piece.users[row] as usize } else { 0 };
            self.browsing[number][row * width..][..width].iter_mut().zip(sums).for_each(|(sum, part)| *sum += *part);
        }
    }
}

fn normalised(values: &[f64]) -> Vec<f64> {
    let values: Vec<f64> = values.iter().map(|value| value.max(MARGIN)).collect();
    let total: f64 = values.iter().sum();
    values.iter().map(|value| value / total).collect()
}

/// The mean of users' probabilities of each part.
fn shares(of_users: &[f64], parts: usize) -> Vec<f64> {
    let mut sums = vec![0.0; parts];
    of_users.chunks_exact(parts).for_each(|row| sums.iter_mut().zip(row).for_each(|(sum, share)| *sum += share));
    normalised(&sums)
}

impl Iteration for Em<'_> {
    type Point = Vec<f64>;

    fn step(&mut self, x: &mut Vec<f64>) -> Result<f64> {
        self.set_point(x);
        let before = self.advance();
        *x = self.point();
        Ok(before)
    }

    fn jump(&mut self, points: [&Vec<f64>; 3], farthest: f64) -> Result<(Vec<f64>, f64)> {
        let points = points.map(Vec::as_slice);
        let length = jump_length(squared_lengths(points), farthest);
        self.set_point(&jump_of(points, length));
        Ok((self.point(), length))
    }
}
