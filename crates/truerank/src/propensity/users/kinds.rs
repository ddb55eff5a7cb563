//! Kinds of users: what each user clicked of what they were shown enters, θ of kinds and of users leaves.

use rayon::prelude::*;

use super::k_means::Rows;
use crate::propensity::gamma::{SHAPES, digamma, ln_gamma, shape_of};

/// Users worked on by one task: fixed, so that sums do not depend on the number of threads.
const CHUNK: usize = 1024;

/// Clicks of a user at a position up to which what they say is tabulated.
const TABULATED: usize = 64;

/// Where the shape of users within a kind starts.
const FIRST_SHAPE: f64 = 20.0;

/// θ of a kind stays above this.
const LEAST: f64 = 1e-9;

/// A share of a kind is at least this, so that no user is impossible.
const LEAST_SHARE: f64 = 1e-12;

/// As if each kind had one more user, this far from it: two users do not tell how far users stray.
const PSEUDO_GAP: f64 = 0.02;

/// Users that starts are tried on, the ones with the most clicks.
const TRIED: usize = 4000;

/// Starts that are tried, and iterations of each.
const STARTS: u64 = 6;
const SHORT_ITERATIONS: usize = 30;

/// What users did: for each user and position (a slot), clicks, and impressions weighed by the relevance of what was shown.
#[derive(Clone, Copy)]
pub(crate) struct UserClicks<'a> {
    /// Whole numbers.
    pub clicks: &'a [f64],
    pub exposed: &'a [f64],
    pub positions: usize,
}

/// User u is of kind m with probability `π_m`, and then `θ(u,k) ~ Gamma(b_mk, mean θ_m(k))`.
///
/// Given what the user was exposed to, clicks at a position follow Poisson's law with mean `θ(u,k)·exposed`. Summed over
/// θ(u,k), they are negative binomial, so that everything has a closed form.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Kinds {
    /// `π_m`.
    pub sizes: Vec<f64>,
    /// `θ_m(k)`, a row of positions for each kind.
    pub theta: Vec<f64>,
    /// `b_mk`: how alike the users of a kind are; worth so many clicks.
    pub shape: Vec<f64>,
}

/// What one pass over users says.
#[derive(Debug, Clone, Default)]
pub(crate) struct ExpectedUsers {
    pub log_likelihood: f64,
    /// The mean of θ(u,k) given the user's clicks.
    pub theta: Vec<f64>,
    /// Its deviation.
    pub deviation: Vec<f64>,
    /// `P(kind m | clicks of u)`, a row of kinds per user.
    pub shares: Vec<f64>,
    pub sums: KindSums,
}

/// Sums over users by their shares.
#[derive(Debug, Clone, Default)]
pub(crate) struct KindSums {
    users: Vec<f64>,
    /// For each kind and position: users who were shown anything there, their E θ and E ln θ.
    at: Vec<[f64; 3]>,
}

impl KindSums {
    /// Adds the sums over other users.
    pub fn add(&mut self, other: &KindSums) {
        self.users.iter_mut().zip(&other.users).for_each(|(sum, part)| *sum += part);
        for (sum, part) in self.at.iter_mut().zip(&other.at) {
            *sum = [sum[0] + part[0], sum[1] + part[1], sum[2] + part[2]];
        }
    }
}

/// What does not depend on the user, for a kind and a position.
pub(crate) struct Table {
    shape: f64,
    rate: f64,
    /// `b ln(b/θ) − ln Γ(b)`.
    constant: f64,
    log_gamma: Vec<f64>,
    digamma: Vec<f64>,
}

impl Table {
    fn new(theta: f64, shape: f64) -> Self {
        let after = |clicks: usize| shape + clicks as f64;
        let rate = shape / theta;
        Table {
            shape,
            rate,
            constant: shape * rate.ln() - ln_gamma(shape),
            log_gamma: (0..TABULATED).map(|clicks| ln_gamma(after(clicks))).collect(),
            digamma: (0..TABULATED).map(|clicks| digamma(after(clicks))).collect(),
        }
    }

    fn log_gamma(&self, clicks: f64) -> f64 {
        let tabulated = self.log_gamma.get(clicks as usize).copied();
        tabulated.unwrap_or_else(|| ln_gamma(self.shape + clicks))
    }

    fn digamma(&self, clicks: f64) -> f64 {
        let tabulated = self.digamma.get(clicks as usize).copied();
        tabulated.unwrap_or_else(|| digamma(self.shape + clicks))
    }

    /// ln of the probability of so many clicks, up to what no parameter changes, given the logarithm of rate and exposure.
    fn log_likelihood(&self, clicks: f64, log_rate: f64) -> f64 {
        let after = self.shape + clicks;
        self.constant + self.log_gamma(clicks) - after * log_rate
    }
}

impl Kinds {
    /// One kind around `theta`.
    pub fn one(theta: &[f64]) -> Self {
        Kinds { sizes: vec![1.0], theta: theta.to_vec(), shape: vec![FIRST_SHAPE; theta.len()] }
    }

    /// So many kinds, by the best of several starts: k-means of the users with the most clicks, then this model.
    ///
    /// k-means sees √θ, in which clicks at every θ are spread alike.
    pub fn find(users: &UserClicks<'_>, count: usize, seed: u64) -> Self {
        let positions = users.positions;
        let (clicks, exposed) = busiest(users, TRIED);
        let tried = UserClicks { clicks: &clicks, exposed: &exposed, ..*users };
        let one = Kinds::one(&rates(users)).improve(&tried, SHORT_ITERATIONS).0;
        if count == 1 {
            return one;
        }
        let roots: Vec<f64> = one.expect(&tried).theta.iter().map(|theta| theta.sqrt()).collect();
        let rows = Rows::new(&roots, positions, None);
        let start = |index: u64| {
            let found = rows.k_means(count, if index == 0 { 10 } else { 1 }, seed.wrapping_add(index));
            Kinds::around(&found.of_row, &found.centres, positions).improve(&tried, SHORT_ITERATIONS)
        };
        let starts = (0..STARTS).map(start);
        starts.reduce(|best, next| if next.1 > best.1 { next } else { best }).expect("at least one start").0
    }

    /// Kinds of the users in the groups of `of_user`, around the squares of the rows of `roots`.
    pub fn around(of_user: &[u32], roots: &[f64], positions: usize) -> Self {
        let kinds = roots.len() / positions;
        let mut sizes = vec![1.0; kinds];
        of_user.iter().for_each(|&kind| sizes[kind as usize] += 1.0);
        let total: f64 = sizes.iter().sum();
        Kinds {
            sizes: sizes.into_iter().map(|size| size / total).collect(),
            theta: roots.iter().map(|root| (root * root).max(1e-4)).collect(),
            shape: vec![FIRST_SHAPE; roots.len()],
        }
    }

    /// Expectation maximisation for what users were exposed to as it is; returns the likelihood before the last step.
    pub fn improve(mut self, users: &UserClicks<'_>, iterations: usize) -> (Self, f64) {
        let mut value = f64::NEG_INFINITY;
        for _ in 0..iterations {
            let expected = self.expect(users);
            value = expected.log_likelihood;
            self.update(&expected.sums);
        }
        (self, value)
    }

    pub fn count(&self) -> usize {
        self.sizes.len()
    }

    /// What does not depend on users, for each kind and position.
    pub fn tables(&self) -> Vec<Table> {
        let row = |index: usize| Table::new(self.theta[index], self.shape[index]);
        (0..self.theta.len()).map(row).collect()
    }

    /// What the clicks of every user say.
    pub fn expect(&self, users: &UserClicks<'_>) -> ExpectedUsers {
        let (positions, tables) = (users.positions, self.tables());
        let chunks = users.clicks.par_chunks(CHUNK * positions).zip(users.exposed.par_chunks(CHUNK * positions));
        let expect = |(clicks, exposed)| self.expect_with(&tables, &UserClicks { clicks, exposed, positions });
        let parts: Vec<ExpectedUsers> = chunks.map(expect).collect();
        let mut whole = ExpectedUsers { sums: self.no_sums(), ..ExpectedUsers::default() };
        parts.into_iter().for_each(|part| whole.add(part));
        whole
    }

    pub fn no_sums(&self) -> KindSums {
        KindSums { users: vec![0.0; self.count()], at: vec![[0.0; 3]; self.theta.len()] }
    }

    /// The same, given the tables, by one thread.
    pub fn expect_with(&self, tables: &[Table], users: &UserClicks<'_>) -> ExpectedUsers {
        let positions = users.positions;
        let mut found = ExpectedUsers { sums: self.no_sums(), ..ExpectedUsers::default() };
        let mut shares = vec![0.0; self.count()];
        let mut log_rates = vec![0.0; self.theta.len()];
        for (clicks, exposed) in users.clicks.chunks_exact(positions).zip(users.exposed.chunks_exact(positions)) {
            found.log_likelihood += self.shares_of(clicks, exposed, tables, &mut shares, &mut log_rates);
            found.add_user(clicks, exposed, tables, &shares, &log_rates);
        }
        found
    }

    /// `r(u,m) ∝ π_m·P(clicks of u | kind m)`, written over `shares`; returns the logarithm of the sum. `log_rates` becomes the
    /// logarithm of rate and exposure of each kind and position at which anything was shown.
    fn shares_of(
        &self,
        clicks: &[f64],
        exposed: &[f64],
        tables: &[Table],
        shares: &mut [f64],
        log_rates: &mut [f64],
    ) -> f64 {
        let positions = clicks.len();
        for (kind, share) in shares.iter_mut().enumerate() {
            let tables = &tables[kind * positions..][..positions];
            let log_rates = &mut log_rates[kind * positions..][..positions];
            let mut sum = 0.0;
            for k in 0..positions {
                if exposed[k] > 0.0 || clicks[k] > 0.0 {
                    log_rates[k] = (tables[k].rate + exposed[k]).ln();
                    sum += tables[k].log_likelihood(clicks[k], log_rates[k]);
                }
            }
            *share = self.sizes[kind].ln() + sum;
        }
        let most = shares.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        shares.iter_mut().for_each(|log| *log = (*log - most).exp().max(LEAST_SHARE));
        let total: f64 = shares.iter().sum();
        shares.iter_mut().for_each(|share| *share /= total);
        most + total.ln()
    }

    /// The kinds after the M-step.
    pub fn update(&mut self, sums: &KindSums) {
        let positions = self.theta.len() / self.count();
        let total: f64 = sums.users.iter().sum();
        for (size, users) in self.sizes.iter_mut().zip(&sums.users) {
            *size = (users / total.max(1.0)).max(LEAST_SHARE);
        }
        for index in 0..self.theta.len() {
            let [users, theta, log] = sums.at[index];
            // A kind that nobody was shown to at a position keeps what it has.
            if users > 1e-9 && positions > 0 {
                self.theta[index] = (theta / users).max(LEAST);
                let gap = (users * self.theta[index].ln() - log + PSEUDO_GAP) / (users + 1.0);
                self.shape[index] = shape_of(gap.max(0.0));
            }
        }
    }

    /// Logarithms of sizes, θ and shapes.
    pub fn push_parameters(&self, x: &mut Vec<f64>) {
        x.extend(self.sizes.iter().chain(&self.theta).chain(&self.shape).map(|value| value.ln()));
    }

    /// Takes what [`push_parameters`](Kinds::push_parameters) gave.
    pub fn set_parameters(&mut self, x: &[f64]) {
        let values = self.sizes.iter_mut().chain(&mut self.theta).chain(&mut self.shape);
        values.zip(x).for_each(|(value, log)| *value = log.exp());
        let total: f64 = self.sizes.iter().sum();
        self.sizes.iter_mut().for_each(|size| *size /= total);
    }

    /// Moves parameters back to where they mean something.
    pub fn restrict(&self, x: &mut [f64]) {
        let shapes = self.sizes.len() + self.theta.len();
        x[..self.sizes.len()].iter_mut().for_each(|log| *log = log.clamp(LEAST_SHARE.ln(), 0.0));
        x[shapes..].iter_mut().for_each(|log| *log = log.clamp(SHAPES.0.ln(), SHAPES.1.ln()));
    }
}

impl ExpectedUsers {
    fn add_user(&mut self, clicks: &[f64], exposed: &[f64], tables: &[Table], shares: &[f64], log_rates: &[f64]) {
        let positions = clicks.len();
        let first = self.theta.len();
        self.theta.resize(first + positions, 0.0);
        self.deviation.resize(first + positions, 0.0);
        self.shares.extend_from_slice(shares);
        for (kind, &share) in shares.iter().enumerate().filter(|(_, share)| **share > 2.0 * LEAST_SHARE) {
            self.sums.users[kind] += share;
            for k in 0..positions {
                let table = &tables[kind * positions + k];
                let (shape, rate) = (table.shape + clicks[k], table.rate + exposed[k]);
                let mean = shape / rate;
                self.theta[first + k] += share * mean;
                self.deviation[first + k] += share * (mean * mean + mean / rate);
                if exposed[k] > 0.0 {
                    let log = table.digamma(clicks[k]) - log_rates[kind * positions + k];
                    let sum = &mut self.sums.at[kind * positions + k];
                    *sum = [sum[0] + share, sum[1] + share * mean, sum[2] + share * log];
                }
            }
        }
        for k in first..first + positions {
            self.deviation[k] = (self.deviation[k] - self.theta[k] * self.theta[k]).max(0.0).sqrt();
        }
    }

    fn add(&mut self, part: ExpectedUsers) {
        self.log_likelihood += part.log_likelihood;
        self.theta.extend(part.theta);
        self.deviation.extend(part.deviation);
        self.shares.extend(part.shares);
        self.sums.add(&part.sums);
    }

    /// The kind that each user most probably is of; the first of equals.
    pub fn of_user(&self, kinds: usize) -> Vec<u32> {
        let most = |row: &[f64]| (0..kinds).rev().max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap_or(0) as u32;
        self.shares.chunks_exact(kinds).map(most).collect()
    }
}

/// Clicks over exposure of all users at each position.
fn rates(users: &UserClicks<'_>) -> Vec<f64> {
    let positions = users.positions;
    let sum = |values: &[f64], k: usize| values.iter().skip(k).step_by(positions).sum::<f64>();
    let rate = |k: usize| (sum(users.clicks, k) / sum(users.exposed, k).max(f64::MIN_POSITIVE)).clamp(1e-6, 1e6);
    (0..positions).map(rate).collect()
}

/// Clicks and exposure of the `most` users with the most clicks, in the order of users; of equals the first.
fn busiest(users: &UserClicks<'_>, most: usize) -> (Vec<f64>, Vec<f64>) {
    let positions = users.positions;
    let clicks_of = |user: usize| users.clicks[user * positions..][..positions].iter().sum::<f64>();
    let mut order: Vec<usize> = (0..users.clicks.len() / positions).collect();
    order.sort_by(|&a, &b| clicks_of(b).total_cmp(&clicks_of(a)));
    order.truncate(most);
    order.sort_unstable();
    let rows =
        |values: &[f64]| order.iter().flat_map(|&user| &values[user * positions..][..positions]).copied().collect();
    (rows(users.clicks), rows(users.exposed))
}
