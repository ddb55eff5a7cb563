//! Examination probabilities per position, for the population and for each known user, and what stands behind them.

use crate::counts::CountsView;
use crate::ids::Ids;
use crate::{Error, Result};

/// θ(u,k): the probability that user `u` examines position `k`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Propensities {
    /// How they were found, such as `oracle`.
    pub method: String,
    /// What fixes their scale: θ and relevance are identified only up to a factor.
    pub scale: String,
    /// θ̄(k) for positions 1, 2, …: what holds for a user nobody knows.
    pub population: Vec<f64>,
    /// The users with probabilities of their own.
    pub users: Ids,
    /// Their probabilities, one row of `population.len()` per user. On a relative scale a user who looks at a position
    /// more than people do on average may be above 1.
    pub by_user: Vec<f64>,
    /// What stands behind the numbers.
    pub details: Details,
}

/// What stands behind estimated probabilities.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Details {
    /// Behind each value of the population.
    pub population: Evidence,
    /// Behind each value of the users, in their order.
    pub by_user: Evidence,
    /// How the fit went, where there was one.
    pub fit: Option<Fit>,
    /// Groups of users who look alike, where they were asked for.
    pub clusters: Option<UserClusters>,
    /// θ̄(k) by intervention harvesting, where documents were shown at several positions: another way to the same.
    pub harvested: Option<Vec<f64>>,
    /// What a reader should know: what was not identified, what was assumed.
    pub notes: Vec<String>,
}

/// The counts and the uncertainty behind probabilities, one entry for each; empty where they are not known.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Evidence {
    /// Documents shown.
    pub impressions: Vec<u64>,
    /// Documents clicked.
    pub clicks: Vec<u64>,
    /// Standard errors; 0 where the scale fixes the value.
    pub standard_errors: Vec<f64>,
}

/// How a fit went.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fit {
    /// The mean log-likelihood per impression after each iteration.
    pub log_likelihood: Vec<f64>,
    /// Whether its relative change fell below the tolerance.
    pub converged: bool,
}

/// Users grouped by where they look, sorted by mean examined position.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct UserClusters {
    /// The cluster of each user, counted from 0, in the order of the propensities' users.
    pub of_user: Vec<u32>,
    /// The probabilities of each cluster, one row of positions after another.
    pub examination: Vec<f64>,
}

impl UserClusters {
    /// How many clusters there are, with lists of `positions`.
    pub fn len(&self, positions: usize) -> usize {
        self.examination.len() / positions.max(1)
    }
}

/// θ(u,·) as a level and a shape, `θ(u,k) = level · shape(k)`.
///
/// Clicks alone do not tell whether someone who clicks more looks more or is pleased more easily; both belong into the
/// exposure, as a click of an eager clicker says less. How deep a user looks shows in the shape.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelAndShape {
    /// How often the user clicks at the top, as a multiple of what people do.
    pub level: f64,
    /// How clicks are spread over positions, on the scale of the population's θ̄(k).
    pub shape: Vec<f64>,
}

impl LevelAndShape {
    /// The mean position of the shape: how deep the user looks.
    pub fn depth(&self) -> f64 {
        mean_examined_position(&self.shape)
    }
}

/// `Σ k·θ(k) / Σ θ(k)`: the mean position among those examined.
pub fn mean_examined_position(examination: &[f64]) -> f64 {
    let total: f64 = examination.iter().sum();
    let weighted: f64 = examination.iter().enumerate().map(|(index, theta)| (index + 1) as f64 * theta).sum();
    weighted / total
}

impl Propensities {
    /// How many positions are known.
    pub fn positions(&self) -> usize {
        self.population.len()
    }

    /// The probabilities of known user number `user`, for positions 1, 2, ….
    pub fn of_user(&self, user: usize) -> &[f64] {
        &self.by_user[user * self.positions()..][..self.positions()]
    }

    /// A user's or a group's θ(·) as a level and a shape.
    ///
    /// The level is where a line through `ln θ(u,k)/θ̄(k)` over `ln k` starts, by least squares, positions counting by their
    /// clicks: all positions say something about it, and those who look deeper do not pass for those who click more.
    pub fn level_and_shape(&self, theta: &[f64]) -> LevelAndShape {
        let clicks = &self.details.population.clicks;
        let points = theta.iter().zip(&self.population).enumerate().filter(|(_, (_, average))| **average > 0.0);
        let points: Vec<[f64; 3]> = points
            .map(|(k, (theta, average))| {
                let weight = clicks.get(k).map_or(*average, |clicks| *clicks as f64);
                [weight, ((k + 1) as f64).ln(), (theta / average).max(LEAST_RATIO).ln()]
            })
            .collect();
        let level = start_of_line(&points).exp();
        LevelAndShape { level, shape: theta.iter().map(|theta| theta / level).collect() }
    }

    /// Checks that every value can be a probability on its scale and that the parts fit together.
    pub fn check(&self) -> Result<()> {
        if self.population.is_empty() {
            return Err(Error::parameter("propensities should have at least one position, but have none"));
        }
        let expected = self.users.len() * self.positions();
        if self.by_user.len() != expected {
            return Err(Error::parameter(format!(
                "propensities should have {} values for each of {} users, but have {} in all",
                self.positions(),
                self.users.len(),
                self.by_user.len()
            )));
        }
        if let Some(value) = self.population.iter().find(|value| !(0.0..=1.0).contains(*value)) {
            return Err(Error::parameter(format!("examination should be between 0 and 1, but is {value}")));
        }
        match self.by_user.iter().find(|value| !(**value >= 0.0 && value.is_finite())) {
            Some(value) => {
                Err(Error::parameter(format!("a user's examination should be finite and at least 0, but is {value}")))
            }
            None => Ok(()),
        }
    }
}

/// A user's θ counts as at least this share of the population's when its level is taken.
const LEAST_RATIO: f64 = 1e-3;

/// Where the line through points (weight, x, y) is at x = 0; where all x are the same, their mean.
fn start_of_line(points: &[[f64; 3]]) -> f64 {
    let total: f64 = points.iter().map(|[weight, ..]| weight).sum();
    let mean = |value: &dyn Fn(&[f64; 3]) -> f64| {
        points.iter().map(|point| point[0] * value(point)).sum::<f64>() / total.max(f64::MIN_POSITIVE)
    };
    let (x, y) = (mean(&|point| point[1]), mean(&|point| point[2]));
    let spread = mean(&|point| (point[1] - x).powi(2));
    let slope = mean(&|point| (point[1] - x) * (point[2] - y)) / spread.max(f64::MIN_POSITIVE);
    if spread > 0.0 { y - slope * x } else { y }
}

impl Evidence {
    /// Impressions and clicks of each position.
    pub(crate) fn of_positions(counts: &dyn CountsView) -> Result<Self> {
        Evidence::of_slots(counts, counts.totals().max_position as usize, |position, _| position as usize - 1)
    }

    /// Impressions and clicks of each user and position.
    pub(crate) fn of_users(counts: &dyn CountsView) -> Result<Self> {
        let positions = counts.totals().max_position as usize;
        let slot = |position: u32, user: u32| user as usize * positions + position as usize - 1;
        Evidence::of_slots(counts, counts.users().len() * positions, slot)
    }

    fn of_slots(counts: &dyn CountsView, len: usize, slot: impl Fn(u32, u32) -> usize) -> Result<Self> {
        let mut evidence = Evidence { impressions: vec![0; len], clicks: vec![0; len], standard_errors: Vec::new() };
        counts.for_each_cells(|cells| {
            for cell in cells {
                let slot = slot(cell.position, cell.user);
                evidence.impressions[slot] += cell.impressions;
                evidence.clicks[slot] += cell.clicks;
            }
        })?;
        Ok(evidence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_looks_deeper_does_not_pass_for_who_clicks_more() {
        let population: Vec<f64> = (1..=5).map(|k| 1.0 / f64::from(k)).collect();
        let propensities = Propensities { population: population.clone(), ..Propensities::default() };
        for (level, slope) in [(1.0, 1.0), (1.4, 0.0), (0.5, -0.7)] {
            let theta: Vec<f64> =
                population.iter().zip(1..).map(|(theta, k)| level * theta * f64::from(k).powf(slope)).collect();
            let found = propensities.level_and_shape(&theta);
            assert!((found.level - level).abs() < 1e-12, "{found:?}");
            let product = found.shape.iter().map(|shape| shape * found.level);
            assert!(product.zip(&theta).all(|(product, theta)| (product - theta).abs() < 1e-12));
            assert_eq!(found.depth() > mean_examined_position(&population) + 1e-9, slope > 0.0);
        }
        let one = Propensities { population: vec![1.0], ..Propensities::default() };
        assert!((one.level_and_shape(&[0.3]).level - 0.3).abs() < 1e-12);
    }

    #[test]
    fn the_mean_examined_position_weighs_positions_by_examination() {
        assert_eq!(mean_examined_position(&[1.0, 0.5]), (1.0 + 2.0 * 0.5) / 1.5);
        assert_eq!(mean_examined_position(&[0.0, 0.0, 0.5]), 3.0);
    }
}
