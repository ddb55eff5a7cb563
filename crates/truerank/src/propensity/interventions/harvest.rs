//! Intervention harvesting: all pairs of positions that share documents compare each other.

use std::fmt;
use std::str::FromStr;

use super::tables::{Pair, Tables, linked_to};
use super::{Own, Relative, fill_users, finish};
use crate::counts::CountsView;
use crate::named::find_named;
use crate::options::{Options, option_value, options};
use crate::propensity::bootstrap::{check_resamples, standard_errors};
use crate::propensity::observations::{Observed, observe_population, observe_users};
use crate::propensity::{Fit, Propensities, largest, rescale};
use crate::{Error, Result};

/// Non-clicks are at least this many: keeps θ·r below 1 where everything was clicked.
const LEAST_MISSES: f64 = 1e-9;

/// How much each document that two positions share counts in their comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Weighting {
    /// All alike, as published (Agarwal et al. 2019): clicks over impressions, document by document.
    Documents,
    /// By how much they can say: `n_k·n_k′/(n_k+n_k′)`, so documents seen a thousand times count more than those seen
    /// once. Varies less, and counts users by their sessions.
    #[default]
    Overlap,
}

impl Weighting {
    /// Their names.
    pub const NAMES: [&'static str; 2] = ["documents", "overlap"];

    /// The weight of a document shown `n` and `n_other` times at the two positions.
    pub(super) fn of_document(self, n: f64, n_other: f64) -> f64 {
        match self {
            Weighting::Documents => 1.0,
            Weighting::Overlap => n * n_other / (n + n_other),
        }
    }
}

impl fmt::Display for Weighting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(Weighting::NAMES[*self as usize])
    }
}

impl FromStr for Weighting {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        find_named(&[Weighting::Documents, Weighting::Overlap], text, "a weighting of documents")
    }
}

option_value!(Weighting: Kind::Choice(Weighting::NAMES.to_vec()));

options! {
    /// θ from all pairs of positions at which the same documents were shown (Agarwal et al. 2019, all-pairs).
    ///
    /// `S(k,k′)` are the documents (q,d) shown at both k and k′, by whatever made the log show them so. With
    ///
    /// ```text
    /// ĉ(k,k′) = Σ_{(q,d) ∈ S(k,k′)} w·c(q,d,k)/n(q,d,k)      ¬ĉ(k,k′) = Σ_{(q,d) ∈ S(k,k′)} w·(1 − c(q,d,k)/n(q,d,k))
    /// ```
    ///
    /// and w the document's [`Weighting`], it maximises `Σ_{k≠k′} ĉ(k,k′) log(θ_k r_kk′) + ¬ĉ(k,k′) log(1 − θ_k r_kk′)` over θ and `r_kk′ = r_k′k`, the mean
    /// relevance in S(k,k′). In log θ and log r this is concave, so there is one best θ, up to its scale, and Newton's method
    /// finds it.
    ///
    /// Per user, ĉ and ¬ĉ hold the user's clicks and non-clicks, still weighted by 1/n(q,d,k) over all users, and each user
    /// has an r of its own.
    ///
    /// Assumes the examination hypothesis, and that which position a document got does not depend on the user, given the
    /// query.
    ///
    /// With documents all alike, the population's θ̄ is a mean over queries and not over sessions. Where users differ in their
    /// queries the two are far apart: in the paper's simulation by 21 % on average over positions 2–10, and 1 % with
    /// [`Weighting::Overlap`]. Per user this does not arise: `θ̄(k) = Σ_u P(u) θ(u,k)`.
    ///
    /// ```no_run
    /// # use truerank::{counts::Counts, propensity::InterventionHarvesting};
    /// # fn example(counts: &Counts) -> truerank::Result<()> {
    /// let propensities = InterventionHarvesting::new().resamples(200).estimate(counts)?;
    /// # Ok(()) }
    /// ```
    pub struct InterventionHarvesting {
        /// Examination of each user instead of one for all.
        per_user: bool = false;
        /// How much each document counts that two positions share: by how often both showed it, or all alike as published.
        weighting: Weighting = Weighting::Overlap;
        /// Steps of Newton's method at most.
        iterations: usize = 100, at_least(1.0), value("N");
        /// Stop at this relative change of the log-likelihood.
        tolerance: f64 = 1e-10, between(0.0, 1.0), value("SHARE");
        /// Resamples of queries for standard errors; 0 for none.
        resamples: usize = 100, value("N");
        /// Seed of resampling.
        seed: u64 = 1;
    }
}

impl InterventionHarvesting {
    pub(crate) fn check(&self) -> Result<()> {
        self.check_ranges()?;
        check_resamples(self.resamples, 0)
    }

    /// Estimates θ. Positions that no chain of shared documents links are an error.
    pub fn estimate(&self, counts: &dyn CountsView) -> Result<Propensities> {
        self.check()?;
        let overall = observe_population(counts)?;
        Tables::check_size(1, overall.positions())?;
        Tables::new(overall.as_ref(), self.weighting, &vec![1.0; counts.queries().len()])?.check()?;
        if self.per_user {
            Tables::check_size(counts.users().len(), overall.positions())?;
        }
        let of_users = self.per_user.then(|| observe_users(counts)).transpose()?;
        finish(counts, "harvesting", self.resamples, self.seed, |weights| {
            let tables = Tables::new(overall.as_ref(), self.weighting, weights)?;
            let (population, fit) = self.fit(&tables.pairs(0), tables.positions);
            let Some(of_users) = &of_users else {
                return Ok(Relative { population, by_user: Vec::new(), fit: Some(fit), notes: Vec::new() });
            };
            let mut tables = Tables::new(of_users.as_ref(), self.weighting, weights)?;
            let own: Vec<Own> = (0..tables.groups).flat_map(|group| self.of_user(&mut tables, group)).collect();
            let (by_user, notes) = fill_users(&own, &population);
            Ok(Relative { population, by_user, fit: Some(fit), notes })
        })
    }

    /// θ̄(k) with standard errors from observations of all users together, on the scale where the largest is 1. None where
    /// shared documents do not link all positions.
    pub(in crate::propensity) fn of_population(
        &self,
        overall: &dyn Observed,
        queries: usize,
    ) -> Result<Option<(Vec<f64>, Vec<f64>)>> {
        if Tables::check_size(1, overall.positions()).is_err() {
            return Ok(None);
        }
        let theta = |weights: &[f64]| {
            let tables = Tables::new(overall, self.weighting, weights)?;
            let linked = tables.check().is_ok();
            Ok(linked.then(|| self.fit(&tables.pairs(0), tables.positions).0))
        };
        let Some(mut point) = theta(&vec![1.0; queries])? else { return Ok(None) };
        let reference = largest(&point);
        let errors = standard_errors(queries, self.resamples, self.seed, |weights| {
            let mut values = theta(weights)?.unwrap_or_else(|| point.clone());
            rescale(&mut values, reference);
            Ok(values)
        })?;
        rescale(&mut point, reference);
        Ok(Some((point, errors)))
    }

    /// θ(k)/θ(1), and how the fit went.
    fn fit(&self, pairs: &[Pair], positions: usize) -> (Vec<f64>, Fit) {
        let solution = maximise(pairs, positions, self.iterations, self.tolerance);
        let first = solution.log_theta[0];
        (solution.log_theta.iter().map(|log| (log - first).exp()).collect(), solution.fit)
    }

    fn of_user(&self, tables: &mut Tables, user: usize) -> Vec<Own> {
        let clicked_pairs = tables.pairs(user);
        let linked = linked_to(0, tables.positions, &clicked_pairs);
        let halves = tables.add_half_clicks(user);
        let (theta, _) = self.fit(&tables.pairs(user), tables.positions);
        let own = |position: usize| match (linked[position], halves[position]) {
            (true, _) if position == 0 => Own::Ratio(1.0),
            // Without a click at position 1 every ratio to it would stand on half a click.
            _ if halves[0] => Own::Nothing,
            (true, false) => Own::Ratio(theta[position]),
            (true, true) => Own::HalfAClick(theta[position]),
            (false, _) => Own::Nothing,
        };
        (0..tables.positions).map(own).collect()
    }
}

/// Where Newton's method ended.
struct Solution {
    log_theta: Vec<f64>,
    fit: Fit,
}

/// The likelihood's parameters: log θ of each position and log r of each pair.
#[derive(Debug, Clone)]
struct Place {
    log_theta: Vec<f64>,
    log_r: Vec<f64>,
}

/// Slope and minus the curvature of `c·x + m·log(1 − eˣ)`.
fn slope(clicks: f64, misses: f64, x: f64) -> (f64, f64) {
    let (p, rest) = (x.exp(), -x.exp_m1());
    (clicks - misses * p / rest, misses * p / (rest * rest))
}

impl Place {
    /// All θ alike, and each pair's click rate as its r.
    fn start(pairs: &[Pair], positions: usize) -> Self {
        let rate = |pair: &Pair| {
            let clicks = pair.clicks.0 + pair.clicks.1;
            (clicks / (clicks + pair.misses.0 + pair.misses.1 + LEAST_MISSES)).ln().min(-1e-12)
        };
        Place { log_theta: vec![0.0; positions], log_r: pairs.iter().map(rate).collect() }
    }

    /// `log(θ_k r_kk′)` and `log(θ_k′ r_kk′)` of pair number `index`.
    fn logs(&self, pair: &Pair, index: usize) -> (f64, f64) {
        let log_r = self.log_r[index];
        (self.log_theta[pair.positions.0] + log_r, self.log_theta[pair.positions.1] + log_r)
    }

    /// The log-likelihood; −∞ where a probability is 1 or more.
    fn likelihood(&self, pairs: &[Pair]) -> f64 {
        let term = |clicks: f64, misses: f64, x: f64| match x < 0.0 {
            true => clicks * x + misses.max(LEAST_MISSES) * (-x.exp_m1()).ln(),
            false => f64::NEG_INFINITY,
        };
        let of_pair = |(index, pair): (usize, &Pair)| {
            let (x, y) = self.logs(pair, index);
            term(pair.clicks.0, pair.misses.0, x) + term(pair.clicks.1, pair.misses.1, y)
        };
        pairs.iter().enumerate().map(of_pair).sum()
    }

    /// Slopes and curvatures of each pair's two terms.
    fn slopes(&self, pairs: &[Pair]) -> Vec<[(f64, f64); 2]> {
        let of_pair = |(index, pair): (usize, &Pair)| {
            let (x, y) = self.logs(pair, index);
            [
                slope(pair.clicks.0, pair.misses.0.max(LEAST_MISSES), x),
                slope(pair.clicks.1, pair.misses.1.max(LEAST_MISSES), y),
            ]
        };
        pairs.iter().enumerate().map(of_pair).collect()
    }

    fn moved(&self, step: &Place, length: f64) -> Place {
        let add = |from: &[f64], step: &[f64]| from.iter().zip(step).map(|(a, b)| a + length * b).collect();
        Place { log_theta: add(&self.log_theta, &step.log_theta), log_r: add(&self.log_r, &step.log_r) }
    }
}

/// Newton's step, and the slope along it.
///
/// Each log r meets only the two log θ of its pair, so it is eliminated first. What is left for log θ is the Laplacian of
/// the graph of positions, an edge having the weight `h·h′/(h+h′)` of its two curvatures: regular once one position is
/// held, if and only if the pairs link all positions.
fn newton_step(pairs: &[Pair], slopes: &[[(f64, f64); 2]], positions: usize) -> (Place, f64) {
    let mut laplacian = vec![0.0; positions * positions];
    let mut right = vec![0.0; positions];
    for (pair, &[(g, h), (g_other, h_other)]) in pairs.iter().zip(slopes) {
        let (first, second) = pair.positions;
        let edge = h * h_other / (h + h_other);
        laplacian[first * positions + first] += edge;
        laplacian[second * positions + second] += edge;
        laplacian[first * positions + second] -= edge;
        laplacian[second * positions + first] -= edge;
        let both = (g + g_other) / (h + h_other);
        right[first] += g - h * both;
        right[second] += g_other - h_other * both;
    }
    let log_theta = solve_grounded(laplacian, right.clone(), positions);
    let of_pair = |(pair, &[(g, h), (g_other, h_other)]): (&Pair, &[(f64, f64); 2])| {
        let (first, second) = pair.positions;
        (g + g_other - h * log_theta[first] - h_other * log_theta[second]) / (h + h_other)
    };
    let log_r: Vec<f64> = pairs.iter().zip(slopes).map(of_pair).collect();
    let along = pairs.iter().zip(slopes).zip(&log_r).map(|((pair, &[(g, _), (g_other, _)]), r)| {
        g * (log_theta[pair.positions.0] + r) + g_other * (log_theta[pair.positions.1] + r)
    });
    let along = along.sum();
    (Place { log_theta, log_r }, along)
}

/// Solves `matrix · x = right` with `x[0] = 0`, by Cholesky's method. The matrix is symmetric and not negative; a little
/// is added to its diagonal so that positions which nothing links stay where they are.
fn solve_grounded(mut matrix: Vec<f64>, mut right: Vec<f64>, n: usize) -> Vec<f64> {
    let ridge = 1e-12 * (0..n).map(|i| matrix[i * n + i]).fold(f64::MIN_POSITIVE, f64::max);
    right[0] = 0.0;
    for i in 1..n {
        matrix[i * n + i] += ridge;
        for j in 1..=i {
            let sum = matrix[i * n + j] - (1..j).map(|k| matrix[i * n + k] * matrix[j * n + k]).sum::<f64>();
            matrix[i * n + j] = if i == j { sum.max(ridge).sqrt() } else { sum / matrix[j * n + j] };
        }
        right[i] = (right[i] - (1..i).map(|k| matrix[i * n + k] * right[k]).sum::<f64>()) / matrix[i * n + i];
    }
    for i in (1..n).rev() {
        right[i] = (right[i] - (i + 1..n).map(|k| matrix[k * n + i] * right[k]).sum::<f64>()) / matrix[i * n + i];
    }
    right
}

/// Maximises the likelihood; each step raises it, until its relative change is below `tolerance`.
fn maximise(pairs: &[Pair], positions: usize, iterations: usize, tolerance: f64) -> Solution {
    let total = pairs.iter().map(|pair| pair.clicks.0 + pair.clicks.1 + pair.misses.0 + pair.misses.1).sum::<f64>();
    let mut place = Place::start(pairs, positions);
    let mut value = place.likelihood(pairs);
    let mut fit = Fit::default();
    while !pairs.is_empty() && !fit.converged && fit.log_likelihood.len() < iterations {
        let (step, along) = newton_step(pairs, &place.slopes(pairs), positions);
        let found = line_search(pairs, &place, value, &step, along);
        // Without a better place along the step, rounding hides what is left.
        let (next, next_value) = found.unwrap_or((place, value));
        fit.converged = next_value - value <= tolerance * value.abs();
        (place, value) = (next, next_value);
        fit.log_likelihood.push(value / total);
    }
    Solution { log_theta: place.log_theta, fit }
}

/// The first place along the step, from its end back by halves, that is enough better; none where none is.
fn line_search(pairs: &[Pair], from: &Place, value: f64, step: &Place, along: f64) -> Option<(Place, f64)> {
    let lengths = std::iter::successors(Some(1.0_f64), |length| Some(length / 2.0)).take(60);
    let places = lengths.map(|length| (length, from.moved(step, length)));
    let valued = places.map(|(length, place)| (length, place.likelihood(pairs), place));
    let mut better = valued.filter(|(length, found, _)| *found > value && *found >= value + 1e-4 * length * along);
    better.next().map(|(_, found, place)| (place, found))
}

#[cfg(test)]
mod tests {
    use super::super::worlds;
    use super::*;
    use crate::counts::{Cell, Counts, SessionCount};
    use crate::ids::Ids;
    use crate::simulate::Simulation;

    fn pair(first: usize, second: usize, clicks: (f64, f64), misses: (f64, f64)) -> Pair {
        Pair { positions: (first, second), clicks, misses }
    }

    fn three_positions() -> Vec<Pair> {
        vec![
            pair(0, 1, (30.0, 20.0), (70.0, 85.0)),
            pair(0, 2, (25.0, 9.0), (75.0, 90.0)),
            pair(1, 2, (22.0, 15.0), (80.0, 88.0)),
        ]
    }

    #[test]
    fn two_positions_have_the_ratio_of_their_click_rates() {
        let solution = maximise(&[pair(0, 1, (30.0, 12.0), (70.0, 68.0))], 2, 100, 1e-12);
        let expected: f64 = (12.0 / 80.0) / (30.0 / 100.0);
        assert!((solution.log_theta[1] - expected.ln()).abs() < 1e-6);
        assert!(solution.fit.converged);
    }

    #[test]
    fn slopes_are_those_of_differences() {
        let pairs = three_positions();
        let mut place = Place::start(&pairs, 3);
        place.log_theta = vec![-0.1, -0.6, -0.9];
        let slopes = place.slopes(&pairs);
        let step = 1e-6;
        let difference = |change: &dyn Fn(&mut Place, f64)| {
            let [above, below] = [step, -step].map(|by| {
                let mut moved = place.clone();
                change(&mut moved, by);
                moved.likelihood(&pairs)
            });
            (above - below) / (2.0 * step)
        };
        for k in 0..3 {
            let touching = pairs.iter().zip(&slopes).map(|(pair, s)| match pair.positions {
                (first, _) if first == k => s[0].0,
                (_, second) if second == k => s[1].0,
                _ => 0.0,
            });
            let expected = difference(&|place, by| place.log_theta[k] += by);
            assert!((touching.sum::<f64>() - expected).abs() < 1e-5);
        }
        for (index, s) in slopes.iter().enumerate() {
            let expected = difference(&|place, by| place.log_r[index] += by);
            assert!((s[0].0 + s[1].0 - expected).abs() < 1e-5);
            let x = place.logs(&pairs[index], index).0;
            let (c, m) = (pairs[index].clicks.0, pairs[index].misses.0);
            let curvature = (slope(c, m, x - step).0 - slope(c, m, x + step).0) / (2.0 * step);
            assert!((s[0].1 - curvature).abs() < 1e-4 * s[0].1);
        }
    }

    #[test]
    fn newton_finds_what_slow_coordinate_ascent_finds() {
        let pairs = three_positions();
        let solution = maximise(&pairs, 3, 100, 1e-14);
        // Each coordinate in turn by golden section over its feasible range, many times.
        let mut place = Place::start(&pairs, 3);
        for _ in 0..2000 {
            for k in 1..3 {
                place.log_theta[k] = crate::math::minimize(-5.0, 2.0, 7, 1e-9, |x| {
                    let mut moved = place.clone();
                    moved.log_theta[k] = x;
                    -moved.likelihood(&pairs).max(-1e9)
                });
            }
            for index in 0..3 {
                place.log_r[index] = crate::math::minimize(-5.0, 0.0, 5, 1e-9, |x| {
                    let mut moved = place.clone();
                    moved.log_r[index] = x;
                    -moved.likelihood(&pairs).max(-1e9)
                });
            }
        }
        for k in 1..3 {
            let (found, slow) = (solution.log_theta[k], place.log_theta[k]);
            assert!((found - slow).abs() < 1e-4, "{found} {slow}");
        }
        assert!(solution.fit.log_likelihood.is_sorted(), "{:?}", solution.fit);
        assert!(solution.fit.log_likelihood.len() < 12, "{:?}", solution.fit);
    }

    #[test]
    fn extremes_stay_finite() {
        // Everything clicked at 1, nothing at 3, position 4 in no pair.
        let pairs = [pair(0, 1, (10.0, 5.0), (0.0, 5.0)), pair(0, 2, (10.0, 0.0), (0.0, 10.0))];
        let solution = maximise(&pairs, 4, 100, 1e-10);
        assert!(solution.log_theta.iter().all(|log| log.is_finite()), "{:?}", solution.log_theta);
        assert!((solution.log_theta[1] - 0.5_f64.ln()).abs() < 1e-3, "{:?}", solution.log_theta);
        assert!(solution.log_theta[2] < -10.0);
        assert_eq!(solution.log_theta[3], 0.0);
        assert!(solution.fit.log_likelihood.is_sorted());
    }

    #[test]
    fn several_rankers_give_the_truth() {
        let data = worlds::data(400, 10);
        for rankers in [2, 3] {
            let lists = worlds::loggers(&data, rankers, 10);
            let world = Simulation::new().etas(vec![1.0]).sessions(1_000_000);
            let (counts, truth) = worlds::cells(world, &data, &lists);
            let found = InterventionHarvesting::new().resamples(0).estimate(&counts).unwrap();
            let error = worlds::population_error(&found, &truth);
            assert!(error < 0.03, "{error}");
            assert!(found.details.fit.unwrap().converged);
        }
    }

    /// The mean over queries, or over sessions, of `Σ_u P(u|q) θ(u,k)`, relative to position 1.
    fn mean_over(counts: &Counts, truth: &Propensities, by_sessions: bool) -> Propensities {
        let mut population = vec![0.0; truth.positions()];
        for of_query in counts.sessions.chunk_by(|a, b| a.query == b.query) {
            let total: u64 = of_query.iter().map(|count| count.sessions).sum();
            for count in of_query {
                let weight = count.sessions as f64 / if by_sessions { 1.0 } else { total as f64 };
                let theta = truth.of_user(count.user as usize);
                population.iter_mut().zip(theta).for_each(|(sum, theta)| *sum += weight * theta);
            }
        }
        let first = population[0];
        Propensities { population: population.iter().map(|sum| sum / first).collect(), ..truth.clone() }
    }

    #[test]
    fn users_who_differ_in_queries_are_told_apart() {
        let data = worlds::data(400, 10);
        let lists = worlds::loggers(&data, 3, 10);
        let (counts, truth) = worlds::cells(Simulation::new().sessions(4_000_000), &data, &lists);
        // Documents all alike give the mean over queries, which is not the mean over sessions where users differ.
        for weighting in [Weighting::Documents, Weighting::Overlap] {
            let harvesting = InterventionHarvesting::new().weighting(weighting).resamples(0);
            let overall = harvesting.clone().estimate(&counts).unwrap();
            let of_users = harvesting.per_user(true).estimate(&counts).unwrap();
            let own_mean = mean_over(&counts, &truth, weighting == Weighting::Overlap);
            let errors = [
                worlds::population_error(&overall, &own_mean),
                worlds::population_error(&of_users, &truth),
                worlds::user_error(&of_users, &truth, &counts),
            ];
            let bounds = [0.03, 0.01, 0.02];
            assert!(errors.iter().zip(bounds).all(|(error, bound)| *error < bound), "{weighting:?} {errors:?}");
            let error = worlds::population_error(&overall, &truth);
            assert_eq!(error < 0.03, weighting == Weighting::Overlap, "{weighting:?} {error}");
        }
    }

    #[test]
    fn shuffled_sessions_give_the_truth_with_intervals() {
        let data = worlds::data(100, 6);
        let lists = worlds::loggers(&data, 1, 6);
        let settings = Simulation::new().etas(vec![1.0]).sessions(60_000).shuffle(0.5);
        let (counts, truth) = worlds::sessions(settings, &data, &lists);
        for weighting in [Weighting::Documents, Weighting::Overlap] {
            let found = InterventionHarvesting::new().weighting(weighting).estimate(&counts).unwrap();
            let error = worlds::population_error(&found, &truth);
            let errors = &found.details.population.standard_errors;
            assert!(error < 0.04, "{error}");
            let differences = found.population.iter().zip(&truth.population).map(|(found, truth)| found - truth);
            for (index, (difference, error)) in differences.zip(errors).enumerate().skip(1) {
                assert!(difference.abs() < 3.5 * error, "position {}: {difference}, {error}", index + 1);
            }
        }
    }

    fn chain(pairs: &[(u32, u32)]) -> Counts {
        let cells = pairs.iter().zip(0..).flat_map(|(&(first, second), doc)| {
            [first, second].map(|position| Cell { query: 0, doc, position, user: 0, impressions: 9, clicks: 4 })
        });
        Counts {
            queries: Ids::numbered(1),
            docs: Ids::numbered(pairs.len()),
            users: Ids::numbered(1),
            contexts: Default::default(),
            cells: cells.collect(),
            sessions: vec![SessionCount { query: 0, user: 0, sessions: 9 }],
            patterns: None,
            transitions: None,
            pages: None,
            origin: Default::default(),
        }
    }

    #[test]
    fn positions_that_nothing_links_are_named() {
        let harvesting = InterventionHarvesting::new().resamples(0);
        let message = |counts: &Counts| harvesting.estimate(counts).unwrap_err().to_string();
        assert!(harvesting.estimate(&chain(&[(1, 2), (2, 3), (3, 4)])).is_ok());
        let text = message(&chain(&[(1, 2), (3, 4)]));
        assert!(text.starts_with("positions 3 and 4 are not linked to 1 and 2: no clicked document"), "{text}");
        assert!(text.contains("use em with features"), "{text}");
        let mut alone = chain(&[(1, 2)]);
        alone.cells.truncate(1);
        assert!(message(&alone).starts_with("no document was shown at two positions"));
        assert!(message(&Counts::default()).starts_with("no document was shown at two positions"));
        let mut unclicked = chain(&[(1, 2)]);
        unclicked.cells[1].clicks = 0;
        assert!(message(&unclicked).starts_with("position 2 is without a click"));
        let text = InterventionHarvesting::new().tolerance(0.0).estimate(&alone).unwrap_err().to_string();
        assert_eq!(text, "`tolerance` is 0, but should be between 0 and 1");
    }

    #[test]
    fn threads_do_not_matter() {
        let data = worlds::data(60, 6);
        let lists = worlds::loggers(&data, 2, 6);
        let (counts, _) = worlds::cells(Simulation::new().sessions(50_000), &data, &lists);
        let run = || InterventionHarvesting::new().per_user(true).resamples(10).estimate(&counts).unwrap();
        assert_eq!(worlds::on_threads(1, run), worlds::on_threads(2, run));
    }
}
