//! Do users look at results differently? Whole pages enter; how users differ in level and in depth leaves, with tests.
//!
//! Users are shuffled over whole pages within strata of pages that differ in nothing else. So neither relevance, nor the
//! mix of queries, nor position bias, nor how clicks on a page depend on each other can mislead the tests: whatever a page
//! is like, it stays as it is.

use std::ops::Range;

use rand::RngExt;
use serde::Serialize;

use super::permutation::{PermutationTest, permutation_test, shuffle};
use super::strata::{Aspect, Stratum};
use crate::Result;
use crate::counts::Pages;
use crate::progress::Progress;
use crate::random::{Random, stream};

/// How users differ in what they make of the same result pages; nothing where no pages can be compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Differences {
    /// Some click more: how many clicks pages with the same list have.
    pub level: Option<Difference>,
    /// Some look deeper: where clicks are on pages with the same list, however many there are.
    pub depth: Option<Difference>,
}

/// How users differ in one respect.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// How much alike a user's pages are, against users shuffled over comparable pages.
    #[serde(flatten)]
    pub test: PermutationTest,
    /// The standard deviation between users of `b`, without what chance makes of it. Level: a user clicks `1 + b` times as often as all.
    /// Depth: `k^b` times as often at position k.
    pub size: f64,
    /// What the size is at most, with 95 % confidence.
    pub at_most: f64,
    /// Pages that could be compared between users.
    pub pages: u64,
    /// Clicks on them.
    pub clicks: u64,
}

/// Draws of random differences by which the effect of true ones on the statistic is measured.
const DRAWS: u64 = 32;

/// The normal distribution's 95 % quantile.
pub(super) const UPPER: f64 = 1.645;

impl Differences {
    pub(super) fn of(pages: &Pages, permutations: usize, seed: u64, progress: &dyn Progress) -> Result<Self> {
        let test = |aspect: Aspect, purpose| match Comparison::of(&aspect.strata(pages)) {
            Some(comparison) => comparison.test(permutations, (seed, purpose), progress).map(Some),
            None => Ok(None),
        };
        Ok(Differences { level: test(Aspect::Level, "doctor/level")?, depth: test(Aspect::Depth, "doctor/depth")? })
    }
}

/// Comparable pages one after another, and what the statistic needs beside.
struct Comparison {
    /// The user of each page, numbered anew.
    users: Vec<u32>,
    scores: Vec<f64>,
    /// Where each stratum ends, and its signal.
    strata: Vec<(usize, f64)>,
    /// What a user counts.
    weights: Vec<f64>,
    clicks: u64,
}

/// Sums over the pages of a user.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    scores: f64,
    squares: f64,
}

impl Sums {
    fn add(&mut self, score: f64) {
        self.scores += score;
        self.squares += score * score;
    }

    /// `Σ s(i)·s(j)` over the user's pairs of different pages: 0 in expectation where the user is like all, however much single pages
    /// vary.
    fn products(&self) -> f64 {
        self.scores * self.scores - self.squares
    }
}

impl Comparison {
    /// Nothing where no user has two comparable pages.
    fn of(strata: &[Stratum]) -> Option<Self> {
        let mut numbers: Vec<u32> = strata.iter().flat_map(|stratum| stratum.users.iter().copied()).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let number = |user: &u32| numbers.partition_point(|other| other < user) as u32;
        let (mut users, mut scores, mut ends) = (Vec::new(), Vec::new(), Vec::new());
        let mut variances = vec![0.0; numbers.len()];
        for stratum in strata {
            let start = users.len();
            users.extend(stratum.users.iter().map(number));
            scores.extend(&stratum.scores);
            ends.push((users.len(), stratum.signal));
            add_variances(&users[start..], &stratum.scores, &mut variances);
        }
        let clicks = strata.iter().map(|stratum| stratum.clicks).sum();
        (users.len() > numbers.len()).then(|| Comparison {
            users,
            scores,
            strata: ends,
            weights: weights(&variances),
            clicks,
        })
    }

    fn test(&self, permutations: usize, key: (u64, &str), progress: &dyn Progress) -> Result<Difference> {
        let shuffled = |random: &mut Random| {
            let mut users = self.users.clone();
            self.ranges().for_each(|(range, _)| shuffle(&mut users[range], random));
            let (excess, deviation) = self.excess(&users);
            excess / deviation
        };
        let (excess, deviation) = self.excess(&self.users);
        let test = permutation_test(excess / deviation, permutations, key, shuffled, progress)?;
        let of_unit = self.excess_of_differences(key.0);
        let variance = |statistic: f64| (statistic * deviation / of_unit).max(0.0);
        let size = variance(test.statistic - test.by_chance);
        Ok(Difference {
            size: size.sqrt(),
            at_most: (size + variance(UPPER * test.deviation)).sqrt(),
            pages: self.users.len() as u64,
            clicks: self.clicks,
            test,
        })
    }

    fn ranges(&self) -> impl Iterator<Item = (Range<usize>, f64)> {
        let mut start = 0;
        self.strata.iter().map(move |&(end, signal)| (std::mem::replace(&mut start, end)..end, signal))
    }

    /// `Σ_users w·Σ s(i)·s(j)` over pairs of a user's pages, and about its standard deviation where users are alike, but for a factor.
    ///
    /// Dividing by it keeps the test right where some users' pages vary more than others', as those of users who click more do (Chung and
    /// Romano 2013).
    fn excess(&self, users: &[u32]) -> (f64, f64) {
        let mut sums = vec![Sums::default(); self.weights.len()];
        users.iter().zip(&self.scores).for_each(|(&user, &score)| sums[user as usize].add(score));
        let squares = sums.iter().zip(&self.weights).map(|(sums, weight)| (weight * sums.squares).powi(2));
        (self.weigh(&sums), squares.sum::<f64>().sqrt())
    }

    fn weigh(&self, sums: &[Sums]) -> f64 {
        sums.iter().zip(&self.weights).map(|(sums, weight)| weight * sums.products()).sum()
    }

    /// The excess where users differ with variance 1 and nothing else is random: users are compared with those of the same stratum,
    /// so what these have in common is lost.
    fn excess_of_differences(&self, seed: u64) -> f64 {
        let of_draw = |draw: u64| {
            let mut random = stream(seed, "doctor/size", draw);
            let users = 0..self.weights.len();
            let differences: Vec<f64> = users.map(|_| if random.random::<bool>() { 1.0 } else { -1.0 }).collect();
            let mut sums = vec![Sums::default(); differences.len()];
            for (range, signal) in self.ranges() {
                let users = &self.users[range];
                let mean = users.iter().map(|&user| differences[user as usize]).sum::<f64>() / users.len() as f64;
                users.iter().for_each(|&user| sums[user as usize].add(signal * (differences[user as usize] - mean)));
            }
            self.weigh(&sums)
        };
        (0..DRAWS).map(of_draw).sum::<f64>() / DRAWS as f64
    }
}

/// Adds the variance of each user's sum of scores where the users of a stratum are shuffled.
fn add_variances(users: &[u32], scores: &[f64], variances: &mut [f64]) {
    let mut users = users.to_vec();
    users.sort_unstable();
    let count = users.len() as f64;
    let squares: f64 = scores.iter().map(|score| score * score).sum();
    for of_user in users.chunk_by(|a, b| a == b) {
        let pages = of_user.len() as f64;
        variances[of_user[0] as usize] += squares * pages * (count - pages) / (count * (count - 1.0));
    }
}

/// `1/(V + V̄)`, with V the variance of a user's sum and V̄ its mean, each V counting by itself: between `1/V`, which is best for large
/// differences, and a constant, which is best for small ones.
fn weights(variances: &[f64]) -> Vec<f64> {
    let mean = variances.iter().map(|v| v * v).sum::<f64>() / variances.iter().sum::<f64>();
    variances.iter().map(|v| 1.0 / (v + mean)).collect()
}
