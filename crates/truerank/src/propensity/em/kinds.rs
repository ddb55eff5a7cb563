//! Kinds of users inside EM: how many there are, what they are like, and θ of each user.

use super::estimate::{Estimated, Fitting};
use super::expectation::Weighted;
use super::fit::{Basis, Fitted};
use super::hierarchy::{Clicks, Hierarchy, Slots};
use super::prior::Mean;
use super::squarem::Squarem;
use crate::Result;
use crate::progress::Silent;
use crate::propensity::observations::{Observations, Observed, observe};
use crate::propensity::users::{
    ClusterCount, ExpectedUsers, Grouping, HeldOut, Kinds, Rows, UserClicks, candidates, choose, gained_nothing,
    sorted_clusters,
};
use crate::propensity::{UserGroups, average, largest};

/// Starts of k-means, the best of which is kept.
const RESTARTS: usize = 10;

/// Entries that numbers of kinds are tried on at most; of more, a random part.
const MOST_TRIED: usize = 400_000;

/// For a choice among numbers of kinds a rough fit does.
const ROUGHLY: Squarem = Squarem { iterations: 60, tolerance: 1e-6, accelerated: true };
const TRIAL: Squarem = Squarem { iterations: 90, tolerance: 1e-6, accelerated: true };

/// Entries that kinds are fitted to at most; of more, a random part, and then all in a few steps.
const MOST_FITTED: usize = 1_000_000;
const LAST_STEPS: usize = 9;

/// Kinds are mixtures, whose likelihood has a long slow end that no prediction notices.
const TOLERANCE: f64 = 1e-7;

/// Numbers in a row that gain nothing worth mentioning before larger ones are not tried.
const PATIENCE: usize = 2;

/// Users up to whom each has standard errors of their own.
const FEW_USERS: usize = 50;

/// A relative variance past which nothing is known anyway.
const MOST_BEYOND: f64 = 1.0;

/// A click's probability stays this far from 0 and 1 in predictions.
const MARGIN: f64 = 1e-6;

impl Fitting<'_> {
    /// θ of each user, drawn toward that of the kind of users who click alike; without groups, of all users.
    pub(super) fn kinds(&self, groups: Option<&UserGroups>) -> Result<Estimated> {
        let users = self.observations.groups();
        groups.map_or(Ok(()), |groups| groups.check(users))?;
        let together = observe(self.counts, &vec![0; users], self.keep.as_deref())?;
        let (basis, population) = self.fit(together.as_ref())?;
        let clicks = Clicks::new(self.observations.as_ref(), None)?;
        let (count, held_out) = match groups.map(UserGroups::count) {
            None => (1, Vec::new()),
            Some(ClusterCount::Given(count)) => (count, Vec::new()),
            Some(ClusterCount::Chosen { most }) => self.choose(most.min(users))?,
        };
        let found = match count {
            0 => Found::alike(&population, &clicks),
            _ => self.fit_kinds(&basis, &population, &clicks, count, groups)?,
        };
        self.estimated(found, together.as_ref(), held_out)
    }

    fn fit_kinds(
        &self,
        basis: &Basis<'_>,
        population: &Fitted,
        clicks: &Clicks<'_>,
        count: usize,
        groups: Option<&UserGroups>,
    ) -> Result<Found> {
        let squarem = Squarem { tolerance: TOLERANCE.max(self.em.tolerance), ..self.em.squarem() };
        let find = |users: &UserClicks<'_>| match groups.map(UserGroups::grouping) {
            Some(Grouping::KMeans) => k_means(users, count, self.em.seed),
            _ => Kinds::find(users, count, self.em.seed),
        };
        self.progress.begin("estimating kinds of users", squarem.iterations as u64);
        let fit = |clicks: &Clicks<'_>, kinds: Option<Kinds>, squarem: Squarem| {
            let exposed = clicks.exposed_to(&population.relevance)?;
            let users = clicks.of_users(&exposed);
            let kinds = kinds.unwrap_or_else(|| find(&users));
            let theta = kinds.expect(&users).theta;
            basis.fit_kinds(clicks, population, (kinds, &theta), squarem, self.progress)
        };
        let (fit, kinds) = match Observations::sample(clicks.observations, self.em.seed, MOST_FITTED)? {
            None => fit(clicks, None, squarem)?,
            Some(sample) => {
                let (of_sample, kinds) = fit(&Clicks::new(&sample, None)?, None, squarem)?;
                let (all, kinds) = fit(clicks, Some(kinds), Squarem { iterations: LAST_STEPS, ..squarem })?;
                (Fitted { converged: of_sample.converged, ..all }, kinds)
            }
        };
        let expected = kinds.expect(&clicks.of_users(&fit.exposed));
        Ok(Found { expected, kinds, fit })
    }

    /// The number of kinds by which clicks are predicted best that neither relevance nor kinds have seen; 0 where nothing
    /// predicts better than one θ for all.
    ///
    /// A user's sessions of a query are held out together: within a page clicks depend on each other, and kinds of
    /// pages would otherwise pass for kinds of users.
    fn choose(&self, most: usize) -> Result<(usize, Vec<HeldOut>)> {
        let (kept, held) = Observations::halves(self.observations.as_ref(), self.em.seed, MOST_TRIED)?;
        let trial = Trial::new(self, &kept, &held)?;
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

    fn estimated(&self, found: Found, together: &dyn Observed, held_out: Vec<HeldOut>) -> Result<Estimated> {
        let positions = together.positions();
        let of_user = found.expected.of_user(found.kinds.count());
        let clusters = sorted_clusters(&of_user, &found.kinds.theta, positions);
        // Few users are resampled one by one, as each has queries of their own.
        let rows = match self.observations.groups() <= FEW_USERS {
            true => (0..self.observations.groups() as u32).collect(),
            false => clusters.of_user.clone(),
        };
        let (population_errors, beyond) = self.beyond_clicks(&rows)?;
        let by_user = found.expected.theta;
        let error = |(slot, (theta, deviation)): (usize, (&f64, &f64))| {
            let row = rows[slot / positions] as usize * positions + slot % positions;
            let beyond = beyond.get(row).copied().unwrap_or(0.0);
            (deviation * deviation + theta * theta * beyond).sqrt()
        };
        let by_user_errors = by_user.iter().zip(&found.expected.deviation).enumerate().map(error).collect();
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
    fn beyond_clicks(&self, row_of_user: &[u32]) -> Result<(Vec<f64>, Vec<f64>)> {
        if self.em.resamples == 0 {
            return Ok((Vec::new(), Vec::new()));
        }
        let merged = observe(self.counts, row_of_user, self.keep.as_deref())?;
        let (basis, fit) = self.fit(merged.as_ref())?;
        let mut sessions = vec![0.0; merged.groups()];
        self.sessions.iter().zip(row_of_user).for_each(|(n, row)| sessions[*row as usize] += n);
        let (population_errors, errors) = self.resample(merged.as_ref(), &basis, &fit, &sessions, true)?;
        let population = average(&fit.examination, merged.positions(), &sessions);
        let scale = population[largest(&population)];
        let clicks = Clicks::new(merged.as_ref(), None)?;
        let beyond = |((error, theta), clicks): ((&f64, &f64), &f64)| {
            ((error * scale / theta).powi(2) - 1.0 / clicks.max(1.0)).clamp(0.0, MOST_BEYOND)
        };
        let beyond = errors.iter().zip(&fit.examination).zip(clicks.in_slot()).map(beyond).collect();
        Ok((population_errors, beyond))
    }
}

/// A fit of kinds, and what it says about users.
struct Found {
    fit: Fitted,
    kinds: Kinds,
    expected: ExpectedUsers,
}

impl Found {
    /// All users have the θ of all.
    fn alike(population: &Fitted, clicks: &Clicks<'_>) -> Self {
        let expected = ExpectedUsers::alike(&population.examination, clicks.observations.groups());
        let kinds = Kinds::one(&population.examination);
        Found { fit: population.clone(), kinds, expected }
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
    fn new(fitting: &Fitting<'_>, kept: &'t Observations, held: &'t Observations) -> Result<Self> {
        let together = kept.together();
        let weighted = Weighted::new(&together)?;
        let basis = fitting.basis(&weighted)?;
        let population = basis.fit(&weighted, None, ROUGHLY, &Silent)?;
        let means = basis.means(&together, &population)?;
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
