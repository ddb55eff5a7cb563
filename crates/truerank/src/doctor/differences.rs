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
    /// What the size is at most, with 95 % confidence; nothing where users who differ need not meet on any page.
    pub at_most: Option<f64>,
    /// Pages that could be compared between users.
    pub pages: u64,
    /// Clicks on them.
    pub clicks: u64,
}

/// Steps in which users' differences are estimated.
const STEPS: usize = 30;

/// Draws of differences of which pages tell little, and steps in which each is made.
const DRAWS: u64 = 4;
const SMOOTHING: usize = 10;

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
        // The variance between users behind a part of the statistic, if they differ in this pattern; nothing where that shows in no page.
        let variance = |part: f64, pattern: Vec<f64>| {
            let of_unit = self.excess_of(&pattern);
            (of_unit > 0.0).then(|| (part * deviation / of_unit).max(0.0))
        };
        let size = variance(test.statistic - test.by_chance, self.estimated()).unwrap_or(0.0);
        let doubts = (0..DRAWS).map(|draw| variance(UPPER * self.error(&test), self.smooth(key.0, draw)));
        let doubt = doubts.collect::<Option<Vec<f64>>>().map(|doubts| doubts.into_iter().fold(0.0, f64::max));
        Ok(Difference {
            size: size.sqrt(),
            at_most: doubt.map(|doubt| (size + doubt).sqrt()),
            pages: self.users.len() as u64,
            clicks: self.clicks,
            test,
        })
    }

    /// The standard error of the statistic where users differ as much as it says. Of a user's sum s + e the square has 2se besides e²: with
    /// n users whose e are alike, an excess of z deviations adds `4z/√(2n)` to the variance.
    fn error(&self, test: &PermutationTest) -> f64 {
        let excess = ((test.statistic - test.by_chance) / test.deviation).max(0.0);
        let sums = self.sums(&self.users);
        let noise =
            |power: i32| -> f64 { sums.iter().zip(&self.weights).map(|(s, w)| (w * s.squares).powi(power)).sum() };
        let users = noise(1).powi(2) / noise(2);
        test.deviation * (1.0 + 4.0 * excess / (2.0 * users).sqrt()).sqrt()
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
        let sums = self.sums(users);
        let squares = sums.iter().zip(&self.weights).map(|(sums, weight)| (weight * sums.squares).powi(2));
        (self.weigh(&sums), squares.sum::<f64>().sqrt())
    }

    fn sums(&self, users: &[u32]) -> Vec<Sums> {
        let mut sums = vec![Sums::default(); self.weights.len()];
        users.iter().zip(&self.scores).for_each(|(&user, &score)| sums[user as usize].add(score));
        sums
    }

    fn weigh(&self, sums: &[Sums]) -> f64 {
        sums.iter().zip(&self.weights).map(|(sums, weight)| weight * sums.products()).sum()
    }

    /// The excess where users differ just so and nothing is random: users are compared with those of the same stratum, so what these
    /// have in common is lost.
    fn excess_of(&self, differences: &[f64]) -> f64 {
        let mut sums = vec![Sums::default(); differences.len()];
        for (range, signal) in self.ranges() {
            let users = &self.users[range];
            let mean = mean_of(users, differences);
            users.iter().for_each(|&user| sums[user as usize].add(signal * (differences[user as usize] - mean)));
        }
        self.weigh(&sums)
    }

    /// How users differ, as far as pages tell: least squares by turns, `b(u) = Σ s·(y + s·b̄) / Σ s²` with b̄ the mean of the stratum.
    fn estimated(&self) -> Vec<f64> {
        let step = |differences: Vec<f64>, _| {
            self.step(&differences, |page, signal, mean| signal * (self.scores[page] + signal * mean))
        };
        self.normalized((0..STEPS).fold(vec![0.0; self.weights.len()], step))
    }

    /// Random differences that users who meet on the same pages have in common, as those of people with the same interests may be: pages tell
    /// least of them.
    fn smooth(&self, seed: u64, draw: u64) -> Vec<f64> {
        let mut random = stream(seed, "doctor/size", draw);
        let signs = (0..self.weights.len()).map(|_| if random.random::<bool>() { 1.0 } else { -1.0 }).collect();
        // Each step leaves little of what users do not share: without a new scale rounding would be left.
        let step = |differences: Vec<f64>, _| {
            self.normalized(self.step(&differences, |_, signal, mean| signal * signal * mean))
        };
        (0..SMOOTHING).fold(signs, step)
    }

    /// For each user the sum of `value` over pages (of page, signal and mean of the stratum), by that of squared signals.
    fn step(&self, differences: &[f64], value: impl Fn(usize, f64, f64) -> f64) -> Vec<f64> {
        let mut sums = vec![(0.0, 0.0); differences.len()];
        for (range, signal) in self.ranges() {
            let mean = mean_of(&self.users[range.clone()], differences);
            for page in range {
                let sum = &mut sums[self.users[page] as usize];
                sum.0 += value(page, signal, mean);
                sum.1 += signal * signal;
            }
        }
        sums.iter().map(|(sum, weight)| if *weight > 0.0 { sum / weight } else { 0.0 }).collect()
    }

    /// The same with mean 0 and variance 1 over pages.
    fn normalized(&self, differences: Vec<f64>) -> Vec<f64> {
        let mean = mean_of(&self.users, &differences);
        let squares: f64 = self.users.iter().map(|&user| (differences[user as usize] - mean).powi(2)).sum();
        let deviation = (squares / self.users.len() as f64).sqrt().max(f64::MIN_POSITIVE);
        differences.iter().map(|difference| (difference - mean) / deviation).collect()
    }
}

/// The mean over pages of these users.
fn mean_of(users: &[u32], differences: &[f64]) -> f64 {
    users.iter().map(|&user| differences[user as usize]).sum::<f64>() / users.len() as f64
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
