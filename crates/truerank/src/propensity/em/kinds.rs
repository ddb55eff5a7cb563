//! Kinds of users inside EM: how many there are, what they are like, and θ of each user.

use rayon::prelude::*;

use super::estimate::{Estimated, Fitting};
use super::expectation::Weighted;
use super::fit::{Basis, Fitted};
use super::hierarchy::{Clicks, Hierarchy, Slots};
use super::passes::{EachUser, Passes, Pieces, Summed, UsersGiven};
use super::prior::Mean;
use super::squarem::Squarem;
use crate::Result;
use crate::progress::Silent;
use crate::propensity::by_user::UserEntries;
use crate::propensity::log_users::LogUsers;
use crate::propensity::observations::Observations;
use crate::propensity::sampled::{Sampled, narrow};
use crate::propensity::users::{
    ClusterCount, Grouping, HeldOut, Kinds, Rows, UserClicks, candidates, choose, gained_nothing, sorted_clusters,
};
use crate::propensity::{UserGroups, average, largest};
use crate::random::fraction;

/// Starts of k-means, the best of which is kept.
const RESTARTS: usize = 10;

/// Entries that numbers of kinds are tried on at most; of more, a random part.
const MOST_TRIED: usize = 400_000;

/// For a choice among numbers of kinds a rough fit does.
const ROUGHLY: Squarem = Squarem { iterations: 60, tolerance: 1e-6, accelerated: true };
const TRIAL: Squarem = Squarem { iterations: 90, tolerance: 1e-6, accelerated: true };

/// Cells that kinds are fitted to at most; of more, a random part, and then all in a few steps. Fewer in tests, so that their
/// logs have more.
const MOST_FITTED: usize = if cfg!(test) { 30_000 } else { 1_000_000 };
const LAST_STEPS: usize = 24;

/// Kinds are mixtures, whose likelihood has a long slow end that no prediction notices.
const TOLERANCE: f64 = 1e-7;

/// Numbers in a row that gain nothing worth mentioning before larger ones are not tried.
const PATIENCE: usize = 2;

/// Users up to whom each has standard errors of their own.
const FEW_USERS: usize = 50;

/// Entries that queries are resampled of at most; of more, a random part of the queries.
const MOST_RESAMPLED: usize = 1_000_000;

/// A relative variance past which nothing is known anyway.
const MOST_BEYOND: f64 = 1.0;

/// A click's probability stays this far from 0 and 1 in predictions.
const MARGIN: f64 = 1e-6;

impl Fitting<'_> {
    /// θ of each user, drawn toward that of the kind of users who click alike; without groups, of all users.
    pub(super) fn kinds(&self, groups: Option<&UserGroups>) -> Result<Estimated> {
        let users = self.sessions.len();
        groups.map_or(Ok(()), |groups| groups.check(users))?;
        let (basis, population) = self.fit(self.observations.as_ref())?;
        let (count, held_out) = match groups.map(UserGroups::count) {
            None => (1, Vec::new()),
            Some(ClusterCount::Given(count)) => (count, Vec::new()),
            Some(ClusterCount::Chosen { most }) => self.choose(&basis, most.min(users))?,
        };
        let found = match count {
            0 => Found::alike(population, users),
            _ if self.users.cells() <= MOST_FITTED as u64 => self.fit_kinds(&basis, &population, (count, groups))?,
            _ => self.fit_many(&basis, &population, (count, groups))?,
        };
        self.estimated(found, held_out)
    }

    /// Kinds, users and documents together, with all users at hand.
    fn fit_kinds(&self, basis: &Basis<'_>, population: &Fitted, asked: (usize, Option<&UserGroups>)) -> Result<Found> {
        let of_each: Vec<u32> = (0..self.sessions.len() as u32).collect();
        let observations = self.users.observe(&of_each, self.keep.as_deref())?;
        let clicks = Clicks::new(observations.as_ref(), None)?;
        let exposed = clicks.exposed_to(&population.relevance)?;
        let users = clicks.of_users(&exposed);
        let kinds = self.find_kinds(&users, asked);
        let theta = kinds.expect(&users).theta;
        let squarem = self.begin_kinds();
        let (fit, kinds) = basis.fit_kinds(&clicks, population, (kinds, &theta), squarem, self.progress)?;
        let expected = kinds.expect(&clicks.of_users(&fit.exposed));
        let kind = expected.of_user(kinds.count());
        let users = EachUser { theta: expected.theta, deviation: expected.deviation, kind };
        Ok(Found { fit, users, of_kinds: kinds.theta })
    }

    /// The same for logs in which users, or what they saw, are many: kinds of a random part of them, then a few steps with all.
    fn fit_many(&self, basis: &Basis<'_>, population: &Fitted, asked: (usize, Option<&UserGroups>)) -> Result<Found> {
        let (docs, keep) = (self.observations.docs(), self.keep.as_deref());
        let sampled = self.users.sample(docs, keep, self.em.seed, MOST_FITTED)?;
        let (of_part, kinds) = self.kinds_of(&sampled, basis, population, asked)?;
        drop(sampled);
        let users: Box<dyn UsersGiven + '_> = match self.users {
            LogUsers::Here(counts) => Box::new(Pieces::new(UserEntries::of(counts, keep)?)),
            LogUsers::Elsewhere(cells) => Box::new(Summed::new(cells, keep)?),
        };
        let clicks = Clicks::new(self.observations.as_ref(), None)?;
        self.progress.begin("estimating users", LAST_STEPS as u64);
        let squarem = Squarem { iterations: LAST_STEPS.min(self.em.iterations), ..self.squarem() };
        let passes = Passes::new(users, clicks.of_docs(), basis.mean(&clicks), kinds, clicks.impressions());
        // Documents are as all users say at first; what they are like before their clicks, as the part says that knows of kinds.
        let start = Fitted { relevance: population.relevance.clone(), ..of_part };
        let (fit, kinds, users) = passes.run(&start, squarem, self.progress)?;
        Ok(Found { fit: Fitted { converged: start.converged, ..fit }, users, of_kinds: kinds.theta })
    }

    /// The kinds of a part of the users.
    fn kinds_of(
        &self,
        sampled: &Sampled<1>,
        basis: &Basis<'_>,
        population: &Fitted,
        asked: (usize, Option<&UserGroups>),
    ) -> Result<(Fitted, Kinds)> {
        let clicks = Clicks::new(&sampled.parts[0], None)?;
        let exposed = clicks.exposed_to(&sampled.select(&population.relevance))?;
        let users = clicks.of_users(&exposed);
        let kinds = self.find_kinds(&users, asked);
        let theta = kinds.expect(&users).theta;
        let squarem = self.begin_kinds();
        basis.select(&sampled.docs).fit_kinds(&clicks, population, (kinds, &theta), squarem, self.progress)
    }

    fn find_kinds(&self, users: &UserClicks<'_>, (count, groups): (usize, Option<&UserGroups>)) -> Kinds {
        match groups.map(UserGroups::grouping) {
            Some(Grouping::KMeans) => k_means(users, count, self.em.seed),
            _ => Kinds::find(users, count, self.em.seed),
        }
    }

    fn squarem(&self) -> Squarem {
        Squarem { tolerance: TOLERANCE.max(self.em.tolerance), ..self.em.squarem() }
    }

    fn begin_kinds(&self) -> Squarem {
        let squarem = self.squarem();
        self.progress.begin("estimating kinds of users", squarem.iterations as u64);
        squarem
    }

    /// The number of kinds by which clicks are predicted best that neither relevance nor kinds have seen; 0 where nothing
    /// predicts better than one θ for all.
    ///
    /// A user's sessions of a query are held out together: within a page clicks depend on each other, and kinds of
    /// pages would otherwise pass for kinds of users.
    fn choose(&self, basis: &Basis<'_>, most: usize) -> Result<(usize, Vec<HeldOut>)> {
        let (docs, keep) = (self.observations.docs(), self.keep.as_deref());
        let sampled = self.users.halves(docs, keep, self.em.seed, MOST_TRIED)?;
        let trial = Trial::of(self, basis, &sampled)?;
        let (mut numbers, mut by_user) = (Vec::new(), Vec::<Vec<f64>>::new());
        self.progress.begin("choosing the number of kinds", candidates(most).len() as u64);
        let (mut totals, mut in_vain) = (Vec::new(), 0);
        for number in candidates(most) {
            numbers.push(number);
            by_user.push(trial.predict(number, self.em.seed)?);
            totals.push(by_user.last().map_or(0.0, |values| values.iter().sum()));
            self.progress.advance(1)?;
            in_vain = if gained_nothing(&totals) { in_vain + 1 } else { 0 };
            if in_vain == PATIENCE {
                break;
            }
        }
        let scores = HeldOut::compare(&numbers, &by_user, trial.impressions.max(1.0));
        Ok((choose(&scores), scores))
    }

    fn estimated(&self, found: Found, held_out: Vec<HeldOut>) -> Result<Estimated> {
        let positions = self.observations.positions();
        let EachUser { theta: by_user, deviation, kind } = found.users;
        let clusters = sorted_clusters(&kind, &found.of_kinds, positions);
        // Few users are resampled one by one, as each has queries of their own.
        let rows = match self.sessions.len() <= FEW_USERS {
            true => (0..self.sessions.len() as u32).collect(),
            false => clusters.of_user.clone(),
        };
        let (population_errors, beyond) = self.beyond_clicks(&rows)?;
        let mut by_user_errors = deviation;
        by_user_errors.par_iter_mut().zip(&by_user).enumerate().for_each(|(slot, (deviation, theta))| {
            let row = rows[slot / positions] as usize * positions + slot % positions;
            let beyond = beyond.get(row).copied().unwrap_or(0.0);
            *deviation = (*deviation * *deviation + theta * theta * beyond).sqrt();
        });
        Ok(Estimated {
            fit: found.fit,
            population: self.average(&by_user),
            by_user,
            by_user_errors,
            population_errors,
            clusters: Some(clusters),
            held_out,
        })
    }

    /// Standard errors of θ̄, and for each of these rows of users and each position the relative variance beyond that of
    /// its clicks: documents are not known exactly, and other queries would have come. By resampling queries, with the
    /// users of a row taken together; none where no resamples are asked for.
    ///
    /// Of logs with many documents a random part of the queries is resampled. A variance over queries falls with their number, so of
    /// a share of them it is so many times that of all.
    fn beyond_clicks(&self, row_of_user: &[u32]) -> Result<(Vec<f64>, Vec<f64>)> {
        if self.em.resamples == 0 {
            return Ok((Vec::new(), Vec::new()));
        }
        let part = self.part_of_queries(row_of_user.iter().max().map_or(1, |&most| most as usize + 1));
        let keep = if part.share < 1.0 { part.keep.as_deref() } else { self.keep.as_deref() };
        let merged = self.users.observe(row_of_user, keep)?;
        let (basis, fit) = self.fit_rows(merged.as_ref(), &part.rows)?;
        let mut sessions = vec![0.0; merged.groups()];
        self.sessions.iter().zip(row_of_user).for_each(|(n, row)| sessions[*row as usize] += n);
        let (mut population_errors, errors) = self.resample(merged.as_ref(), &basis, &fit, &sessions, true)?;
        population_errors.iter_mut().for_each(|error| *error *= part.share.sqrt());
        let population = average(&fit.examination, merged.positions(), &sessions);
        let scale = population[largest(&population)];
        let clicks = Clicks::new(merged.as_ref(), None)?;
        let beyond = |((error, theta), clicks): ((&f64, &f64), &f64)| {
            let of_part = (error * scale / theta).powi(2) - 1.0 / clicks.max(1.0);
            (of_part * part.share).clamp(0.0, MOST_BEYOND)
        };
        let beyond = errors.iter().zip(&fit.examination).zip(clicks.in_slot()).map(beyond).collect();
        Ok((population_errors, beyond))
    }

    /// The queries that are resampled, where users are in so many rows.
    fn part_of_queries(&self, rows: usize) -> PartOfQueries {
        let docs = self.observations.docs();
        let entries = (docs.len() * self.observations.positions() * rows).min(self.users.cells() as usize);
        let share = (MOST_RESAMPLED as f64 / entries.max(1) as f64).min(1.0);
        if share == 1.0 {
            return PartOfQueries { share, keep: None, rows: self.rows.clone() };
        }
        let chosen = |query: u32| fraction(self.em.seed, u64::from(query), RESAMPLED) < share;
        let rows = self.rows.iter().zip(docs).filter(|(_, (query, _))| chosen(*query)).map(|(row, _)| *row).collect();
        PartOfQueries { share, keep: Some(narrow(self.keep.as_deref(), docs, chosen)), rows }
    }
}

/// Tells the choice of queries to resample from other choices by the same seed.
const RESAMPLED: u64 = u64::MAX - 1;

/// A random part of the queries.
struct PartOfQueries {
    share: f64,
    /// For each shown document whether it is in it, if not all are.
    keep: Option<Vec<bool>>,
    /// The rows of its documents in the data, where there are features.
    rows: Vec<u32>,
}

/// A fit of kinds, and what it says about users.
struct Found {
    fit: Fitted,
    users: EachUser,
    /// θ of each kind.
    of_kinds: Vec<f64>,
}

impl Found {
    /// All users have the θ of all.
    fn alike(population: Fitted, users: usize) -> Self {
        let theta = &population.examination;
        let slots = users * theta.len();
        let each = EachUser { theta: theta.repeat(users), deviation: vec![0.0; slots], kind: vec![0; users] };
        Found { of_kinds: theta.clone(), users: each, fit: population }
    }
}

/// Users in groups by k-means of their θ, each a kind.
fn k_means(users: &UserClicks<'_>, count: usize, seed: u64) -> Kinds {
    let positions = users.positions;
    let one = Kinds::find(users, 1, seed);
    let theta = one.expect(users).theta;
    let found = Rows::new(&theta, positions, None).k_means(count, RESTARTS, seed);
    let roots: Vec<f64> = found.centres.iter().map(|theta| theta.sqrt()).collect();
    Kinds::around(&found.of_row, &roots, positions)
}

/// Part of the log to fit, and part to predict.
struct Trial<'t> {
    clicks: Clicks<'t>,
    held: &'t Observations,
    /// The fit of all users together.
    population: Fitted,
    /// The mean and shape of each document's prior, from that fit.
    means: Vec<f64>,
    impressions: f64,
    /// Documents that the part to fit has.
    seen: Vec<bool>,
}

impl<'t> Trial<'t> {
    /// What documents are like before their clicks is learned from the part to fit.
    fn of(fitting: &Fitting<'_>, basis: &Basis<'_>, sampled: &'t Sampled<2>) -> Result<Self> {
        let together = sampled.parts[0].together();
        let weighted = Weighted::new(&together)?;
        let basis = match sampled.is_part {
            false => fitting.basis(&weighted)?,
            true => basis.select(&sampled.docs),
        };
        let population = basis.fit(&weighted, None, ROUGHLY, &Silent)?;
        let means = basis.means(&together, &population)?;
        Trial::new(sampled, population, means)
    }

    fn new(sampled: &'t Sampled<2>, population: Fitted, means: Vec<f64>) -> Result<Self> {
        let [kept, held] = &sampled.parts;
        let seen: Vec<bool> = (0..kept.docs.len()).map(|doc| !kept.entries_of(doc).is_empty()).collect();
        let impressions = (0..held.docs.len())
            .filter(|&doc| seen[doc])
            .flat_map(|doc| held.entries_of(doc))
            .map(|entry| held.clicks[entry] + held.misses[entry])
            .sum();
        Ok(Trial { clicks: Clicks::new(kept, None)?, held, population, means, impressions, seen })
    }

    /// The log-likelihood of each user's held-out clicks, each by itself, with so many kinds.
    fn predict(&self, number: usize, seed: u64) -> Result<Vec<f64>> {
        if number == 0 {
            let theta = self.population.examination.repeat(self.held.groups);
            return Ok(self.score(&theta, &self.population.relevance));
        }
        let exposed = self.clicks.exposed_to(&self.population.relevance)?;
        let kinds = Kinds::find(&self.clicks.of_users(&exposed), number, seed);
        let theta = kinds.expect(&self.clicks.of_users(&exposed)).theta;
        let mean = Mean::Fixed(self.means.clone());
        let fit = Hierarchy::new(&self.clicks, mean, Slots::Kinds(kinds));
        let start = fit.start_with(&theta, self.population.shape());
        let (fit, _) = fit.run(start, TRIAL, &Silent)?;
        Ok(self.score(&fit.examination, &fit.relevance))
    }

    fn score(&self, theta: &[f64], relevance: &[f64]) -> Vec<f64> {
        let mut by_user = vec![0.0; self.held.groups];
        for doc in (0..self.held.docs.len()).filter(|&doc| self.seen[doc]) {
            for entry in self.held.entries_of(doc) {
                let slot = self.held.slots[entry] as usize;
                let p = (theta[slot] * relevance[doc]).clamp(MARGIN, 1.0 - MARGIN);
                by_user[slot / self.held.positions] +=
                    self.held.clicks[entry] * p.ln() + self.held.misses[entry] * (1.0 - p).ln();
            }
        }
        by_user
    }
}
