//! What outcomes say of one parameter: their marginal likelihood under a Beta prior, and the mean that they leave.
//!
//! A success has probability `ε·p`, with the chance ε known and p drawn from a Beta distribution with mean m and strength s.
//! Summed over p, successes c and misses with chances ε_i have the probability
//!
//! ```text
//! ∫ p^(ms−1) (1−p)^((1−m)s−1) / B(ms, (1−m)s) · p^c Π (1 − ε_i p) dp
//! ```
//!
//! but for factors that do not depend on the prior. Where all ε_i are 1 this is a ratio of Beta functions. Else it is integrated
//! numerically over the logit of p, where the integrand is smooth and has light tails: the trapezoid rule around its mode
//! converges exponentially. The product is over up to thousands of misses; two chances with weights that have the same first four
//! moments stand for them (Gauss's quadrature of the measure of the chances), so that the first three terms of
//! `Σ ln(1−ε_i p) = −Σ (ε_i p + ε_i² p²/2 + …)` are exact, and so is any mixture of two chances.

use super::expectation::Sum;
use super::place::Place;
use crate::propensity::gamma::ln_gamma;

/// Steps to each side of the mode, and how wide they are in standard deviations there.
const STEPS: i32 = 8;
const WIDTH: f64 = 0.75;

/// Newton's steps toward the mode, each at most so far.
const NEWTON: usize = 8;
const FARTHEST: f64 = 2.0;

/// Chances that vary less than this are alike.
const ALIKE: f64 = 1e-9;

/// What is evident of a parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Item {
    /// Which parameters it is like.
    pub place: Place,
    /// Successes.
    pub won: f64,
    /// Two chances, and how many misses each stands for.
    misses: [(f64, f64); 2],
}

/// A Beta distribution by its two counts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counts {
    pub won: f64,
    pub lost: f64,
}

impl Item {
    /// `None` where there is nothing to tell.
    pub fn new(place: Place, sum: &Sum) -> Option<Self> {
        let item = Item { place, won: sum.evident, misses: two_chances(&sum.missed) };
        (item.trials() > 0.0).then_some(item)
    }

    /// Successes and the chances that were missed.
    pub fn trials(&self) -> f64 {
        self.won + self.misses.iter().map(|(chance, weight)| chance * weight).sum::<f64>()
    }

    /// Successes and misses, however small their chance was.
    pub fn outcomes(&self) -> f64 {
        self.won + self.misses.iter().map(|(_, weight)| weight).sum::<f64>()
    }

    /// Whether all chances were whole trials.
    fn certain(&self) -> Option<f64> {
        let [(first, misses), (_, others)] = self.misses;
        (misses == 0.0 || (others == 0.0 && first > 1.0 - ALIKE)).then_some(misses)
    }

    /// The logarithm of its probability under a prior.
    pub fn log_marginal(&self, prior: Counts) -> f64 {
        let after = match self.certain() {
            Some(misses) => log_beta(prior.won + self.won, prior.lost + misses),
            None => self.integrate(prior).0,
        };
        after - log_beta(prior.won, prior.lost)
    }

    /// The mean of the parameter.
    pub fn mean(&self, prior: Counts) -> f64 {
        match self.certain() {
            Some(misses) => (prior.won + self.won) / (prior.won + prior.lost + self.won + misses),
            None => self.integrate(prior).1,
        }
    }

    /// The logarithm of the integral, and the mean.
    fn integrate(&self, prior: Counts) -> (f64, f64) {
        let (mode, deviation) = self.mode(prior);
        let top = self.log_density(prior, mode);
        let (mut whole, mut mean) = (0.0, 0.0);
        for step in -STEPS..=STEPS {
            // Wider steps outward: the tails of small priors are long.
            let t = f64::from(step) * WIDTH;
            let x = mode + deviation * (t + t * t * t / 30.0);
            let weight = (self.log_density(prior, x) - top).exp() * (1.0 + t * t / 10.0);
            whole += weight;
            mean += weight / (1.0 + (-x).exp());
        }
        (top + (whole * deviation * WIDTH).ln(), mean / whole)
    }

    /// The logarithm of the integrand at a logit.
    fn log_density(&self, prior: Counts, x: f64) -> f64 {
        // ln(1−p) = −ln(1+e^x), without overflow.
        let log_other = -(x.max(0.0) + (-x.abs()).exp().ln_1p());
        let p = (x + log_other).exp();
        let missed = |(chance, weight): &(f64, f64)| match *weight > 0.0 {
            true => weight * (-chance * p).ln_1p().max(-1e3),
            false => 0.0,
        };
        (prior.won + self.won) * (x + log_other) + prior.lost * log_other + self.misses.iter().map(missed).sum::<f64>()
    }

    /// The logit at which the integrand is largest, and how wide it is there.
    fn mode(&self, prior: Counts) -> (f64, f64) {
        let won = prior.won + self.won;
        let whole = won + prior.lost;
        let mut x = (won / (prior.lost + self.trials() - self.won)).ln();
        let mut curvature = 1.0;
        for _ in 0..NEWTON {
            let p = 1.0 / (1.0 + (-x).exp());
            let (mut slope, mut sum) = (won - whole * p, whole);
            for (chance, weight) in self.misses.iter().filter(|(_, weight)| *weight > 0.0) {
                let left = (1.0 - chance * p).max(f64::MIN_POSITIVE);
                slope -= weight * chance * p * (1.0 - p) / left;
                sum += weight * chance * (1.0 - 2.0 * p + chance * p * p) / (left * left);
            }
            // Half of what the prior and the successes have alone at least: the misses may be convex.
            curvature = p * (1.0 - p) * sum.max(whole / 2.0);
            let step = (slope / curvature).clamp(-FARTHEST, FARTHEST);
            x += step;
            if step.abs() < 1e-6 {
                break;
            }
        }
        (x, 1.0 / curvature.sqrt())
    }
}

fn log_beta(won: f64, lost: f64) -> f64 {
    ln_gamma(won) + ln_gamma(lost) - ln_gamma(won + lost)
}

/// The two chances, with weights, whose sums of powers 0 to 3 are these.
fn two_chances(moments: &[f64; 4]) -> [(f64, f64); 2] {
    let [weight, ..] = *moments;
    if weight <= 0.0 {
        return [(0.0, 0.0); 2];
    }
    let [mean, square, cube] = [1, 2, 3].map(|power| moments[power] / weight);
    let variance = square - mean * mean;
    if variance < ALIKE {
        return [(mean.min(1.0), weight), (0.0, 0.0)];
    }
    let skew = (cube - 3.0 * mean * square + 2.0 * mean.powi(3)) / variance / 2.0;
    let root = (skew * skew + variance).sqrt();
    let (low, high) = ((mean + skew - root).clamp(0.0, 1.0), (mean + skew + root).clamp(0.0, 1.0));
    let of_high = weight * ((mean - low) / (high - low)).clamp(0.0, 1.0);
    [(low, weight - of_high), (high, of_high)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(won: f64, misses: &[(f64, f64)]) -> Item {
        let mut sum = Sum { evident: won, ..Sum::default() };
        misses.iter().for_each(|&(chance, weight)| sum += Sum::default().seeing(0.0, weight, chance));
        Item::new(Place::knot(0), &sum).unwrap()
    }

    /// The integral and the mean by a hundred thousand points.
    fn by_force(won: f64, misses: &[(f64, f64)], prior: Counts) -> (f64, f64) {
        let (points, low, high) = (100_000, -60.0, 40.0);
        let (mut whole, mut mean) = (0.0, 0.0);
        for point in 0..points {
            let x: f64 = low + (high - low) * (f64::from(point) + 0.5) / f64::from(points);
            let p = 1.0 / (1.0 + (-x).exp());
            let log_other = -(1.0 + x.exp()).ln();
            let missed: f64 = misses.iter().map(|(chance, weight)| weight * (1.0 - chance * p).max(1e-300).ln()).sum();
            let weight = ((prior.won + won) * p.ln() + prior.lost * log_other + missed).exp();
            (whole, mean) = (whole + weight, mean + weight * p);
        }
        let integral = whole * (high - low) / f64::from(points);
        (integral.ln() - log_beta(prior.won, prior.lost), mean / whole)
    }

    #[test]
    fn integrals_are_those_of_many_points() {
        let cases: [(f64, &[(f64, f64)]); 6] = [
            (0.0, &[(0.5, 3.0)]),
            (1.0, &[(0.9, 1.0), (0.2, 2.0)]),
            (3.0, &[(0.3, 7.0)]),
            (0.0, &[(1.0, 1.0), (0.6, 2.0), (0.1, 4.0)]),
            (12.0, &[(0.8, 30.0), (0.4, 20.0)]),
            (2.0, &[(0.05, 9.0)]),
        ];
        for (won, misses) in cases {
            for (mean, strength) in [(0.3, 4.0), (0.1, 2.0), (0.6, 30.0), (0.05, 12.0)] {
                let prior = Counts { won: mean * strength, lost: (1.0 - mean) * strength };
                let (log, mean) = by_force(won, misses, prior);
                let found = item(won, misses);
                // Two chances are exact; two that stand for three have their first three moments.
                let allowed = if misses.len() > 2 { 0.02 } else { 2e-3 };
                let lack = (found.log_marginal(prior) - log, found.mean(prior) - mean);
                assert!(lack.0.abs() < allowed && lack.1.abs() < 2e-3, "{won} {misses:?} {prior:?}: {lack:?}");
            }
        }
    }

    #[test]
    fn whole_trials_are_those_of_a_beta_binomial_distribution() {
        let prior = Counts { won: 1.2, lost: 3.0 };
        let whole = item(2.0, &[(1.0, 5.0)]);
        let nearly = item(2.0, &[(1.0 - 1e-6, 5.0)]);
        assert!(whole.certain().is_some() && nearly.certain().is_none());
        assert!((whole.log_marginal(prior) - nearly.log_marginal(prior)).abs() < 1e-4);
        assert!((whole.mean(prior) - 3.2 / 11.2).abs() < 1e-12 && (nearly.mean(prior) - 3.2 / 11.2).abs() < 1e-4);
    }
}
