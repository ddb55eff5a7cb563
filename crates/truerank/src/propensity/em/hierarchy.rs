//! EM in which relevance is uncertain: θ, what documents are like before their clicks, and what users are like.

use std::cell::RefCell;
use std::ops::Range;

use rayon::prelude::*;

use super::design::Design;
use super::fit::{Fitted, first_guess};
use super::prior::{Mean, Posterior, best_shape, log_marginal, shape_slope};
use super::squarem::{Found, Iteration, Squarem, extrapolate};
use crate::Result;
use crate::minimise::minimise;
use crate::progress::Progress;
use crate::propensity::gamma::{SHAPES, digamma};
use crate::propensity::observations::{Observed, Part};
use crate::propensity::users::{Kinds, UserClicks};

/// Entries per piece of work. Pieces do not depend on the number of threads, and their sums are added in order.
const PIECE: usize = 1 << 15;

/// Sums over slots that may be held at once: 256 MB.
const MOST_SUMS: usize = 1 << 25;

/// As if each slot had so many more clicks, at the θ that its position has on average: keeps θ off 0, which nothing
/// could leave.
const PSEUDO_CLICKS: f64 = 0.5;

/// Iterations in a row with hardly a gain after which a climb ends: one may be a bad step.
const STILL: usize = 3;

/// The climb also ends when slopes are this share of those at the start.
const GRADIENT: f64 = 1e-6;

/// Where the shape of the prior starts.
const FIRST_SHAPE: f64 = 1.0;

/// Clicks as a hierarchy sees them.
pub(super) struct Clicks<'a> {
    pub observations: &'a dyn Observed,
    /// How often each document counts; once without.
    weights: Option<Vec<f64>>,
    /// How much of a document counts each time, see [`counted_by_sessions`](Clicks::counted_by_sessions).
    emphasis: Option<Vec<f64>>,
    /// The position of documents that were shown at one only.
    only_at: Vec<Option<u32>>,
    shown: Vec<f64>,
    pieces: Vec<Range<usize>>,
    /// Clicks of each document.
    clicks: Vec<f64>,
    mean_positions: Vec<f64>,
    /// Clicks of each slot.
    in_slot: Vec<f64>,
    impressions: f64,
    /// θ by position and γ of all, roughly.
    pub first_guess: (Vec<f64>, f64),
}

/// What one pass over the documents says.
#[derive(Default)]
struct Swept {
    log_likelihood: f64,
    /// E γ, E ln γ and exposure of each document.
    relevance: Vec<f64>,
    log: Vec<f64>,
    exposure: Vec<f64>,
    /// Impressions of each slot by the relevance of what was shown.
    exposed: Vec<f64>,
}

impl<'a> Clicks<'a> {
    /// What a click says does not depend on `weights`.
    pub fn new(observations: &'a dyn Observed, weights: Option<Vec<f64>>) -> Result<Self> {
        let (docs, positions) = (observations.docs().len(), observations.positions());
        let slots = observations.slot_count();
        let mut clicks = Clicks {
            observations,
            weights,
            emphasis: None,
            only_at: Vec::with_capacity(docs),
            shown: vec![0.0; docs],
            // Fewer pieces where each has many slots to sum.
            pieces: observations.pieces(PIECE.max(4 * slots)),
            clicks: vec![0.0; docs],
            mean_positions: vec![0.0; docs],
            in_slot: vec![0.0; slots],
            impressions: 0.0,
            first_guess: (Vec::new(), 0.0),
        };
        clicks.look_at_positions(positions)?;
        for piece in observations.pieces(PIECE) {
            clicks.add_piece(piece, positions)?;
        }
        clicks.sum_slots()?;
        Ok(clicks)
    }

    fn look_at_positions(&mut self, positions: usize) -> Result<()> {
        let mut sums = (vec![0.0; positions], vec![0.0; positions]);
        for piece in self.observations.pieces(PIECE) {
            let part = self.observations.part(piece.clone())?;
            for (slot, clicks, misses) in piece.flat_map(|doc| part.of(doc).iter()) {
                sums.0[slot % positions] += clicks + misses;
                sums.1[slot % positions] += clicks;
            }
        }
        self.first_guess = first_guess(positions, 1, &sums.0, &sums.1);
        Ok(())
    }

    fn add_piece(&mut self, docs: Range<usize>, positions: usize) -> Result<()> {
        let part = self.observations.part(docs.clone())?;
        for doc in docs {
            let mut shown = 0.0;
            let mut at = part.of(doc).slots.iter().map(|slot| slot % positions as u32);
            let first = at.next();
            self.only_at.push(first.filter(|first| at.all(|other| other == *first)));
            for (slot, clicks, misses) in part.of(doc).iter() {
                self.clicks[doc] += clicks;
                self.mean_positions[doc] += (clicks + misses) * (slot % positions + 1) as f64;
                shown += clicks + misses;
            }
            self.mean_positions[doc] /= shown.max(1.0);
            self.shown[doc] = shown;
        }
        Ok(())
    }

    /// Lets documents that were shown at one position count by their sessions, for users who are taken together.
    ///
    /// Such documents compare positions by what they are believed to be like, and in the likelihood each is worth its
    /// prior, however often it was shown: θ would be a mean over queries. Where users look differently for different
    /// queries that is not the mean over sessions; counted `1 + c̄` times, with c̄ the clicks an average document would
    /// have had there, it is, and the slopes are those of Poisson regression.
    pub fn counted_by_sessions(mut self) -> Result<Self> {
        let (theta, gamma) = &self.first_guess;
        let emphasis = |(only_at, shown): (&Option<u32>, &f64)| {
            only_at.map_or(1.0, |position| 1.0 + shown * theta[position as usize] * gamma)
        };
        self.emphasis = Some(self.only_at.iter().zip(&self.shown).map(emphasis).collect());
        self.sum_slots()?;
        Ok(self)
    }

    /// Clicks of each slot and all impressions, as often as they count.
    fn sum_slots(&mut self) -> Result<()> {
        self.in_slot.fill(0.0);
        self.impressions = (0..self.shown.len()).map(|doc| self.weight(doc) * self.shown[doc]).sum();
        for piece in self.observations.pieces(PIECE) {
            let part = self.observations.part(piece.clone())?;
            for doc in piece {
                let weight = self.weight(doc);
                part.of(doc).iter().for_each(|(slot, clicks, _)| self.in_slot[slot] += weight * clicks);
            }
        }
        Ok(())
    }

    fn weight(&self, doc: usize) -> f64 {
        let emphasis = self.emphasis.as_ref().map_or(1.0, |emphasis| emphasis[doc]);
        self.weights.as_ref().map_or(1.0, |weights| weights[doc]) * emphasis
    }

    fn all_weights(&self) -> Vec<f64> {
        (0..self.shown.len()).map(|doc| self.weight(doc)).collect()
    }

    fn positions(&self) -> usize {
        self.observations.positions()
    }

    /// The mean of a document by where it was shown.
    pub fn mean_by_place<'m>(&self) -> Mean<'m> {
        Mean::by_place(&self.mean_positions, self.positions(), self.first_guess.1)
    }

    /// Clicks of each document.
    pub fn of_docs(&self) -> &[f64] {
        &self.clicks
    }

    /// All impressions.
    pub fn impressions(&self) -> f64 {
        self.impressions
    }

    /// Clicks of each slot.
    pub fn in_slot(&self) -> &[f64] {
        &self.in_slot
    }

    /// What users did, exposed to documents as relevant as `relevance` says.
    pub fn exposed_to(&self, relevance: &[f64]) -> Result<Vec<f64>> {
        let mut exposed = vec![0.0; self.in_slot.len()];
        for piece in self.observations.pieces(PIECE) {
            let part = self.observations.part(piece.clone())?;
            for doc in piece {
                for (slot, clicks, misses) in part.of(doc).iter() {
                    exposed[slot] += (clicks + misses) * relevance[doc];
                }
            }
        }
        Ok(exposed)
    }

    /// The same as users see it.
    pub fn of_users<'e>(&'e self, exposed: &'e [f64]) -> UserClicks<'e> {
        UserClicks { clicks: &self.in_slot, exposed, positions: self.positions() }
    }

    /// The posterior of every document, and how relevant was what each slot was shown.
    fn sweep(&self, theta: &[f64], shape: f64, mean: &Mean<'_>) -> Result<Swept> {
        let count = (MOST_SUMS / theta.len().max(1)).clamp(1, 8);
        let runs: Vec<&[Range<usize>]> = self.pieces.chunks(self.pieces.len().div_ceil(count).max(1)).collect();
        let swept: Vec<Result<Swept>> =
            runs.into_par_iter().map(|pieces| self.sweep_run(pieces, theta, shape, mean)).collect();
        let mut whole = Swept { exposed: vec![0.0; theta.len()], ..Swept::default() };
        for part in swept {
            whole.add(part?);
        }
        Ok(whole)
    }

    fn sweep_run(&self, pieces: &[Range<usize>], theta: &[f64], shape: f64, mean: &Mean<'_>) -> Result<Swept> {
        let mut swept = Swept { exposed: vec![0.0; theta.len()], ..Swept::default() };
        for docs in pieces {
            let part = self.observations.part(docs.clone())?;
            docs.clone().for_each(|doc| self.sweep_document(doc, &part, theta, (shape, mean.of(doc)), &mut swept));
        }
        Ok(swept)
    }

    fn sweep_document(&self, doc: usize, part: &Part<'_>, theta: &[f64], prior: (f64, f64), swept: &mut Swept) {
        let (weight, (shape, mean)) = (self.weight(doc), prior);
        let entries = part.of(doc);
        let exposure: f64 = entries.iter().map(|(slot, clicks, misses)| (clicks + misses) * theta[slot]).sum();
        let (shape_after, rate_after) = (shape + self.clicks[doc], shape / mean + exposure);
        let relevance = shape_after / rate_after;
        if weight > 0.0 {
            swept.log_likelihood += weight * log_marginal(shape, mean, self.clicks[doc], exposure);
            for (slot, clicks, misses) in entries.iter() {
                swept.exposed[slot] += weight * (clicks + misses) * relevance;
            }
        }
        swept.relevance.push(relevance);
        swept.log.push(digamma(shape_after) - rate_after.ln());
        swept.exposure.push(exposure);
    }
}

impl Swept {
    /// Adds what the documents that follow say.
    fn add(&mut self, other: Swept) {
        self.log_likelihood += other.log_likelihood;
        self.exposed.iter_mut().zip(other.exposed).for_each(|(sum, part)| *sum += part);
        self.relevance.extend(other.relevance);
        self.log.extend(other.log);
        self.exposure.extend(other.exposure);
    }
}

/// What θ of the slots is like.
pub(super) enum Slots {
    /// Each is a parameter.
    Free,
    /// Each user is of one of several kinds, and strays from it.
    Kinds(Kinds),
}

/// Clicks with `E[c] = n·θ·γ` and `γ(d) ~ Gamma(a, mean μ(d))`, summed over γ instead of estimating it.
///
/// Most documents of a real log were shown a few times. With a γ of its own for each, the likeliest θ is at a border,
/// whatever the truth (Neyman and Scott 1948); summed over, a document says what it knows and no more. μ, a and θ
/// maximise the likelihood that remains: an empirical Bayes prior (Morris 1983).
///
/// The law is Poisson's and not Bernoulli's, because only the mean is to be believed. Users of one query look deeper
/// than those of another, so `θγ/θ̄` is above 1 for some documents; a γ bounded by 1 would push θ̄ up until they fit. Under
/// Poisson's law θ is where means agree, whatever else is wrong (Gourieroux, Monfort and Trognon 1984), and documents of
/// any relevance compare the positions they were shown at.
///
/// With kinds, θ(u,k) is uncertain too; given the clicks, users and documents are taken to be independent, which gives a
/// lower bound of the likelihood. Every step raises it: documents given users, users given documents, then the rest.
pub(super) struct Hierarchy<'a> {
    clicks: &'a Clicks<'a>,
    mean: Mean<'a>,
    slots: Slots,
}

impl<'a> Hierarchy<'a> {
    pub fn new(clicks: &'a Clicks<'a>, mean: Mean<'a>, slots: Slots) -> Self {
        Hierarchy { clicks, mean, slots }
    }

    /// Logarithms of θ of each slot, then of what is known of kinds and documents.
    pub fn start(&self) -> Vec<f64> {
        self.start_with(&self.clicks.first_guess.0.repeat(self.clicks.observations.groups()), FIRST_SHAPE)
    }

    /// From where an earlier fit ended, with θ of the slots as given: what is known of documents stays.
    pub fn start_from(&mut self, fitted: &Fitted, theta: &[f64]) -> Vec<f64> {
        let of_docs = fitted.parameters.len() - self.mean.parameters().len();
        self.mean.set_parameters(&fitted.parameters[of_docs..]);
        self.start_with(theta, fitted.shape())
    }

    /// With θ of the slots and the prior's shape as given.
    pub fn start_with(&self, theta: &[f64], shape: f64) -> Vec<f64> {
        let mut x: Vec<f64> = theta.iter().map(|theta| theta.ln()).collect();
        self.push_rest(shape, &mut x);
        x
    }

    fn push_rest(&self, shape: f64, x: &mut Vec<f64>) {
        if let Slots::Kinds(kinds) = &self.slots {
            kinds.push_parameters(x);
        }
        x.push(shape.ln());
        x.extend(self.mean.parameters());
    }

    /// Takes the parameters in `x`; returns θ of the slots and the prior's shape.
    fn load(&mut self, x: &[f64]) -> (Vec<f64>, f64) {
        let (theta, rest) = x.split_at(self.clicks.in_slot.len());
        let (of_kinds, of_docs) = rest.split_at(rest.len() - 1 - self.mean.parameters().len());
        if let Slots::Kinds(kinds) = &mut self.slots {
            kinds.set_parameters(of_kinds);
        }
        self.mean.set_parameters(&of_docs[1..]);
        let shape = of_docs[0].clamp(SHAPES.0.ln(), SHAPES.1.ln()).exp();
        (theta.iter().map(|log| log.exp()).collect(), shape)
    }

    /// Climbs from `start`.
    pub fn run(mut self, start: Vec<f64>, squarem: Squarem, progress: &dyn Progress) -> Result<(Fitted, Slots)> {
        let found = match (&self.slots, self.mean.design()) {
            (Slots::Free, Some(design)) => self.climb(start, design, squarem, progress)?,
            _ => squarem.run(start, &mut self, progress)?,
        };
        let (theta, shape) = self.load(&found.x);
        let swept = self.clicks.sweep(&theta, shape, &self.mean)?;
        let fitted = Fitted {
            examination: theta,
            relevance: swept.relevance,
            exposed: swept.exposed,
            of_documents: 1 + self.mean.parameters().len(),
            parameters: found.x,
            log_likelihood: found.log_likelihood,
            converged: found.converged,
            impressions: self.clicks.impressions,
        };
        Ok((fitted, self.slots))
    }

    /// Climbs the likelihood by its slopes (L-BFGS), in coordinates in which features are uncorrelated and everything is
    /// about as curved: a slot of ten clicks and one of a million would otherwise not arrive together.
    ///
    /// With features, steps of EM would be tiny: each document that was shown often follows its own clicks, and θ and the
    /// features move only as far as documents do not know themselves.
    fn climb(
        &mut self,
        mut start: Vec<f64>,
        design: &Design<'_>,
        squarem: Squarem,
        progress: &dyn Progress,
    ) -> Result<Found<Vec<f64>>> {
        let of_features = start.len() - design.columns();
        let (impressions, scales) = (self.clicks.impressions, self.scales(start.len()));
        let inward = |x: &mut Vec<f64>| {
            design.times_root_transposed(&mut x[of_features..]);
            x.iter_mut().zip(&scales).for_each(|(x, scale)| *x *= scale);
        };
        let outward = |x: &mut Vec<f64>| {
            x.iter_mut().zip(&scales).for_each(|(x, scale)| *x /= scale);
            design.solve_root_transposed(&mut x[of_features..]);
        };
        inward(&mut start);
        let (this, failed) = (RefCell::new(self), RefCell::new(None));
        let objective = |x: &[f64]| {
            let mut x = x.to_vec();
            outward(&mut x);
            match this.borrow_mut().slopes(&x) {
                Ok((value, mut slopes)) => {
                    design.solve_root(&mut slopes[of_features..]);
                    let slopes = slopes.iter().zip(&scales).map(|(slope, scale)| -slope / scale / impressions);
                    (-value / impressions, slopes.collect())
                }
                // Ends the search; the error is told below.
                Err(error) => {
                    failed.replace(Some(error));
                    (f64::NAN, vec![f64::NAN; x.len()])
                }
            }
        };
        let (mut values, mut x, mut still) = (Vec::new(), start.clone(), 0);
        minimise(objective, start, squarem.iterations, GRADIENT, |_, value, place| {
            let small = |last: &f64| (last + value).abs() <= squarem.tolerance * value.abs();
            still = if values.last().is_some_and(small) { still + 1 } else { 0 };
            values.push(-value);
            x = place.to_vec();
            progress.advance(1)?;
            Ok(still < STILL)
        })?;
        if let Some(error) = failed.into_inner() {
            return Err(error);
        }
        outward(&mut x);
        let converged = still == STILL || values.len() < squarem.iterations;
        let log_likelihood = values.into_iter().map(|value| value * impressions).collect();
        Ok(Found { x, log_likelihood, converged })
    }

    /// Roots of about how curved the likelihood is: in θ of a slot by its clicks, in the rest by all of them.
    fn scales(&self, len: usize) -> Vec<f64> {
        let all: f64 = self.clicks.in_slot.iter().sum();
        let mut scales: Vec<f64> = self.clicks.in_slot.iter().map(|clicks| (clicks + PSEUDO_CLICKS).sqrt()).collect();
        scales.resize(len, (all + PSEUDO_CLICKS).sqrt());
        scales
    }

    /// The likelihood at `x` and its slopes.
    pub(super) fn slopes(&mut self, x: &[f64]) -> Result<(f64, Vec<f64>)> {
        let (theta, shape) = self.load(x);
        let swept = self.clicks.sweep(&theta, shape, &self.mean)?;
        let (value, _) = self.move_free(&theta, &swept);
        let average = pooled(&theta, self.clicks.positions());
        let mut slopes: Vec<f64> = theta
            .iter()
            .enumerate()
            .map(|(slot, theta)| {
                let beyond = PSEUDO_CLICKS * (1.0 - theta / average[slot % average.len()]);
                self.clicks.in_slot[slot] - theta * swept.exposed[slot] + beyond
            })
            .collect();
        let weights = self.clicks.all_weights();
        let posterior = Posterior { relevance: &swept.relevance, log: &swept.log, weights: &weights };
        slopes.push(shape_slope(&posterior, &self.mean, shape));
        slopes.extend(self.mean.slopes(&posterior, shape));
        Ok((value - self.mean.penalty(), slopes))
    }

    /// θ of each slot by its clicks, and the likelihood before.
    fn move_free(&self, theta: &[f64], swept: &Swept) -> (f64, Vec<f64>) {
        let positions = self.clicks.positions();
        let average = pooled(theta, positions);
        let (mut value, mut moved) = (swept.log_likelihood, Vec::with_capacity(theta.len()));
        for (slot, &theta) in theta.iter().enumerate() {
            let (average, clicks) = (average[slot % positions], self.clicks.in_slot[slot]);
            value += clicks * theta.ln() + PSEUDO_CLICKS * ((theta / average).ln() - theta / average);
            moved.push((clicks + PSEUDO_CLICKS) / (swept.exposed[slot] + PSEUDO_CLICKS / average));
        }
        (value, moved)
    }
}

/// The θ that slots are held by: that of all groups at the position, or of all positions where there is one group.
fn pooled(theta: &[f64], positions: usize) -> Vec<f64> {
    let groups = theta.len() / positions;
    if groups == 1 {
        return vec![theta.iter().sum::<f64>() / positions as f64; positions];
    }
    let of_position = |index: usize| theta.iter().skip(index).step_by(positions).sum::<f64>() / groups as f64;
    (0..positions).map(of_position).collect()
}

impl Iteration for Hierarchy<'_> {
    type Point = Vec<f64>;

    fn step(&mut self, x: &mut Vec<f64>) -> Result<f64> {
        let (theta, shape) = self.load(x);
        let swept = self.clicks.sweep(&theta, shape, &self.mean)?;
        let penalty = self.mean.penalty();
        let (value, moved) = match &mut self.slots {
            Slots::Free => self.move_free(&theta, &swept),
            Slots::Kinds(kinds) => {
                let expected = kinds.expect(&self.clicks.of_users(&swept.exposed));
                kinds.update(&expected.sums);
                // What users were expected to be exposed to, documents have counted already.
                let exposure: f64 = swept.exposure.iter().zip(&swept.relevance).map(|(e, gamma)| e * gamma).sum();
                (swept.log_likelihood + exposure + expected.log_likelihood, expected.theta)
            }
        };
        let weights = self.clicks.all_weights();
        let posterior = Posterior { relevance: &swept.relevance, log: &swept.log, weights: &weights };
        self.mean.update(&posterior, shape);
        let shape = best_shape(&posterior, &self.mean);
        *x = moved.iter().map(|theta| theta.ln()).collect();
        self.push_rest(shape, x);
        Ok(value - penalty)
    }

    fn jump(&mut self, points: [&Vec<f64>; 3], farthest: f64) -> Result<(Vec<f64>, f64)> {
        let (mut x, length) = extrapolate(points.map(Vec::as_slice), farthest);
        let shape = x.len() - 1 - self.mean.parameters().len();
        x[shape] = x[shape].clamp(SHAPES.0.ln(), SHAPES.1.ln());
        if let Slots::Kinds(kinds) = &self.slots {
            kinds.restrict(&mut x[self.clicks.in_slot.len()..shape]);
        }
        Ok((x, length))
    }
}
