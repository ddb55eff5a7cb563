//! Kinds of users fitted to a whole log, however many users it has: entries of users enter, kinds, γ and each user's θ leave.
//!
//! This is the [`hierarchy`](super::hierarchy) with kinds in another order. A step goes over users, a piece at a time: given γ, the clicks of a
//! user say what kind the user is of and what θ is, and how exposed that left each document. Then documents follow from their
//! exposure, and the priors from both. θ of users is never held, so what a step holds grows with documents alone.
//! Where cells are elsewhere, a step asks for two sums over them, and then θ of users passes through here.

use std::ops::Range;

use rayon::prelude::*;

use super::fit::Fitted;
use super::prior::{Mean, Posterior, best_shape, log_marginal};
use super::squarem::{Iteration, Squarem, extrapolate};
use crate::Result;
use crate::progress::Progress;
use crate::propensity::CellsElsewhere;
use crate::propensity::by_user::{UserEntries, UserPiece};
use crate::propensity::gamma::{SHAPES, digamma};
use crate::propensity::users::{ExpectedUsers, KindSums, Kinds, Table, UserClicks};

/// Runs of pieces that are worked on side by side: fixed, so that sums do not depend on the number of threads.
const RUNS: usize = 16;

/// Sums over documents that all runs may hold together: 256 MB.
const MOST_SUMS: usize = 1 << 25;

/// Users given documents, documents given users.
pub(super) struct Passes<'a> {
    users: Box<dyn UsersGiven + 'a>,
    /// Clicks of each document.
    clicks: &'a [f64],
    mean: Mean<'a>,
    kinds: Kinds,
    /// Every document counts once.
    weights: Vec<f64>,
    impressions: f64,
}

/// What users say where documents are known, wherever their cells are.
pub(super) trait UsersGiven {
    /// What all users say together, given γ of each document, and how exposed that leaves documents.
    fn together(&self, kinds: &Kinds, relevance: &[f64]) -> Result<Seen>;

    /// θ and kind of each user, given γ.
    fn each(&self, kinds: &Kinds, relevance: &[f64]) -> Result<EachUser>;
}

/// What a pass over users says.
pub(super) struct Seen {
    log_likelihood: f64,
    /// Impressions of each document by the θ of who saw them.
    exposure: Vec<f64>,
    sums: KindSums,
}

/// Users whose entries are here, piece by piece.
pub(super) struct Pieces {
    entries: UserEntries,
    runs: Vec<Range<usize>>,
}

/// Users whose cells are elsewhere.
pub(super) struct Summed<'a> {
    cells: &'a dyn CellsElsewhere,
    /// Which of the shown documents are kept, if not all.
    keep: Option<&'a [bool]>,
    /// Clicks of each slot on these.
    clicks: Vec<f64>,
}

/// What is said of each user in the end.
#[derive(Default)]
pub(super) struct EachUser {
    /// A row of positions per user.
    pub theta: Vec<f64>,
    pub deviation: Vec<f64>,
    /// The kind that the user most probably is of.
    pub kind: Vec<u32>,
}

/// The part of [`EachUser`] that a run fills.
struct Filled<'o> {
    theta: &'o mut [f64],
    deviation: &'o mut [f64],
    kind: &'o mut [u32],
}

impl<'a> Passes<'a> {
    /// The clicks of documents are those of the same log.
    pub fn new(
        users: Box<dyn UsersGiven + 'a>,
        clicks: &'a [f64],
        mean: Mean<'a>,
        kinds: Kinds,
        impressions: f64,
    ) -> Self {
        Passes { users, clicks, mean, kinds, weights: vec![1.0; clicks.len()], impressions }
    }

    /// Climbs from what `known` says of documents; kinds are taken from where they are.
    pub fn run(
        mut self,
        known: &Fitted,
        squarem: Squarem,
        progress: &dyn Progress,
    ) -> Result<(Fitted, Kinds, EachUser)> {
        let of_docs = known.parameters.len() - self.mean.parameters().len();
        self.mean.set_parameters(&known.parameters[of_docs..]);
        let start = self.point(&known.relevance, known.shape());
        let found = squarem.run(start, &mut self, progress)?;
        let (relevance, _) = self.load(&found.x);
        let users = self.users.each(&self.kinds, &relevance)?;
        let fitted = Fitted {
            examination: Vec::new(),
            relevance,
            exposed: Vec::new(),
            of_documents: 1 + self.mean.parameters().len(),
            parameters: found.x,
            log_likelihood: found.log_likelihood,
            converged: found.converged,
            impressions: self.impressions,
        };
        Ok((fitted, self.kinds, users))
    }

    /// Logarithms of γ, then of what is known of kinds and documents.
    fn point(&self, relevance: &[f64], shape: f64) -> Vec<f64> {
        let mut x: Vec<f64> = relevance.iter().map(|gamma| gamma.ln()).collect();
        self.kinds.push_parameters(&mut x);
        x.push(shape.ln());
        x.extend(self.mean.parameters());
        x
    }

    /// Takes the parameters in `x`; returns γ and the prior's shape.
    fn load(&mut self, x: &[f64]) -> (Vec<f64>, f64) {
        let (relevance, rest) = x.split_at(self.clicks.len());
        let (of_kinds, of_docs) = rest.split_at(rest.len() - 1 - self.mean.parameters().len());
        self.kinds.set_parameters(of_kinds);
        self.mean.set_parameters(&of_docs[1..]);
        let shape = of_docs[0].clamp(SHAPES.0.ln(), SHAPES.1.ln()).exp();
        (relevance.par_iter().map(|log| log.exp()).collect(), shape)
    }
}

impl Pieces {
    pub fn new(entries: UserEntries) -> Self {
        let runs = (MOST_SUMS / entries.docs.max(1)).clamp(1, RUNS);
        let size = entries.len().div_ceil(runs).max(1);
        let runs = (0..entries.len()).step_by(size).map(|start| start..entries.len().min(start + size)).collect();
        Pieces { entries, runs }
    }

    /// What the clicks of a piece's users say.
    fn expect(
        &self,
        piece: &UserPiece<'_>,
        kinds: &Kinds,
        relevance: &[f64],
        tables: &[Table],
    ) -> Result<ExpectedUsers> {
        let positions = self.entries.positions;
        let slots = piece.users.len() * positions;
        let (mut clicked, mut exposed) = (vec![0.0; slots], vec![0.0; slots]);
        piece.for_each(positions, |slot, doc, clicks, shown| {
            clicked[slot] += clicks;
            exposed[slot] += shown * relevance[doc];
        })?;
        Ok(kinds.expect_with(tables, &UserClicks { clicks: &clicked, exposed: &exposed, positions }))
    }

    /// How many users a run of pieces has.
    fn users_of(&self, run: &Range<usize>) -> usize {
        run.clone().map(|piece| self.entries.users_of(piece).len()).sum()
    }
}

impl UsersGiven for Pieces {
    fn together(&self, kinds: &Kinds, relevance: &[f64]) -> Result<Seen> {
        let tables = kinds.tables();
        let run = |pieces: &Range<usize>| {
            let mut seen = Seen::nothing(kinds, relevance.len());
            pieces.clone().try_for_each(|piece| {
                let piece = self.entries.piece(piece)?;
                let expected = self.expect(&piece, kinds, relevance, &tables)?;
                piece.for_each(self.entries.positions, |slot, doc, _, shown| {
                    seen.exposure[doc] += shown * expected.theta[slot];
                })?;
                seen.log_likelihood += expected.log_likelihood;
                seen.sums.add(&expected.sums);
                Ok(())
            })?;
            Ok(seen)
        };
        let made: Vec<Result<Seen>> = self.runs.par_iter().with_max_len(1).map(run).collect();
        let mut whole = Seen::nothing(kinds, relevance.len());
        for part in made {
            whole.add(&part?);
        }
        Ok(whole)
    }

    fn each(&self, kinds: &Kinds, relevance: &[f64]) -> Result<EachUser> {
        let (users, positions) = (self.entries.users, self.entries.positions);
        let slots = users * positions;
        let mut all = EachUser { theta: vec![0.0; slots], deviation: vec![0.0; slots], kind: vec![0; users] };
        let tables = kinds.tables();
        let filled = all.split(self.runs.iter().map(|run| self.users_of(run)), positions);
        let work: Vec<(&Range<usize>, Filled<'_>)> = self.runs.iter().zip(filled).collect();
        work.into_par_iter().with_max_len(1).try_for_each(|(run, mut filled)| {
            run.clone().try_for_each(|piece| {
                let piece = self.entries.piece(piece)?;
                filled.take(&self.expect(&piece, kinds, relevance, &tables)?, kinds.count());
                Ok(())
            })
        })?;
        Ok(all)
    }
}

impl<'a> Summed<'a> {
    pub fn new(cells: &'a dyn CellsElsewhere, keep: Option<&'a [bool]>) -> Result<Self> {
        let clicks = cells.slots(keep)?.clicks.into_iter().map(|clicks| clicks as f64).collect();
        Ok(Summed { cells, keep, clicks })
    }

    fn expect(&self, kinds: &Kinds, relevance: &[f64]) -> Result<ExpectedUsers> {
        // What has no γ was shown in vain: it exposes nobody.
        let exposed = match self.keep {
            None => self.cells.exposed(relevance)?,
            Some(keep) => {
                let mut of_kept = relevance.iter();
                let gamma = |keep: &bool| if *keep { of_kept.next().copied().unwrap_or(0.0) } else { 0.0 };
                self.cells.exposed(&keep.iter().map(gamma).collect::<Vec<f64>>())?
            }
        };
        let positions = self.cells.positions();
        Ok(kinds.expect(&UserClicks { clicks: &self.clicks, exposed: &exposed, positions }))
    }
}

impl UsersGiven for Summed<'_> {
    fn together(&self, kinds: &Kinds, relevance: &[f64]) -> Result<Seen> {
        let expected = self.expect(kinds, relevance)?;
        let mut exposure = self.cells.exposure(&expected.theta)?;
        if let Some(keep) = self.keep {
            let mut kept = keep.iter();
            exposure.retain(|_| kept.next().is_some_and(|keep| *keep));
        }
        Ok(Seen { log_likelihood: expected.log_likelihood, exposure, sums: expected.sums })
    }

    fn each(&self, kinds: &Kinds, relevance: &[f64]) -> Result<EachUser> {
        let expected = self.expect(kinds, relevance)?;
        let kind = expected.of_user(kinds.count());
        Ok(EachUser { theta: expected.theta, deviation: expected.deviation, kind })
    }
}

impl Seen {
    fn nothing(kinds: &Kinds, docs: usize) -> Self {
        Seen { log_likelihood: 0.0, exposure: vec![0.0; docs], sums: kinds.no_sums() }
    }

    fn add(&mut self, other: &Seen) {
        self.log_likelihood += other.log_likelihood;
        self.exposure.par_iter_mut().zip(&other.exposure).for_each(|(sum, part)| *sum += part);
        self.sums.add(&other.sums);
    }
}

impl EachUser {
    /// Parts for so many users each, one after another.
    fn split(&mut self, users: impl Iterator<Item = usize>, positions: usize) -> Vec<Filled<'_>> {
        let (mut theta, mut deviation, mut kind) = (&mut self.theta[..], &mut self.deviation[..], &mut self.kind[..]);
        let part = |users: usize| Filled {
            theta: theta.split_off_mut(..users * positions).expect("as many as there are users"),
            deviation: deviation.split_off_mut(..users * positions).expect("as many as there are users"),
            kind: kind.split_off_mut(..users).expect("as many as there are users"),
        };
        users.map(part).collect()
    }
}

impl Filled<'_> {
    /// Fills in the users that follow.
    fn take(&mut self, expected: &ExpectedUsers, kinds: usize) {
        let of_user = expected.of_user(kinds);
        let slots = expected.theta.len();
        let fits = "as many as there are users";
        self.theta.split_off_mut(..slots).expect(fits).copy_from_slice(&expected.theta);
        self.deviation.split_off_mut(..slots).expect(fits).copy_from_slice(&expected.deviation);
        self.kind.split_off_mut(..of_user.len()).expect(fits).copy_from_slice(&of_user);
    }
}

impl Iteration for Passes<'_> {
    type Point = Vec<f64>;

    fn step(&mut self, x: &mut Vec<f64>) -> Result<f64> {
        let (relevance, shape) = self.load(x);
        let seen = self.users.together(&self.kinds, &relevance)?;
        let of_doc = |doc: usize| {
            let (mean, clicks, exposure) = (self.mean.of(doc), self.clicks[doc], seen.exposure[doc]);
            let (after, rate) = (shape + clicks, shape / mean + exposure);
            // What users were expected to be exposed to, they have counted already.
            let value = log_marginal(shape, mean, clicks, exposure) + exposure * relevance[doc];
            (after / rate, digamma(after) - rate.ln(), value)
        };
        let docs: Vec<(f64, f64, f64)> = (0..relevance.len()).into_par_iter().map(of_doc).collect();
        let value = seen.log_likelihood + docs.iter().map(|doc| doc.2).sum::<f64>() - self.mean.penalty();
        let (relevance, log): (Vec<f64>, Vec<f64>) = docs.into_iter().map(|doc| (doc.0, doc.1)).unzip();
        self.kinds.update(&seen.sums);
        let posterior = Posterior { relevance: &relevance, log: &log, weights: &self.weights };
        self.mean.update(&posterior, shape);
        let shape = best_shape(&posterior, &self.mean);
        *x = self.point(&relevance, shape);
        Ok(value)
    }

    fn jump(&mut self, points: [&Vec<f64>; 3], farthest: f64) -> Result<(Vec<f64>, f64)> {
        let (mut x, length) = extrapolate(points.map(Vec::as_slice), farthest);
        let shape = x.len() - 1 - self.mean.parameters().len();
        x[shape] = x[shape].clamp(SHAPES.0.ln(), SHAPES.1.ln());
        self.kinds.restrict(&mut x[self.clicks.len()..shape]);
        Ok((x, length))
    }
}
