//! How wrong is a correction that does not know users? Sessions and relative examination enter, a size leaves.

use serde::Serialize;

use super::differences::{Differences, UPPER};
use super::relative::RelativeExamination;
use super::{AtPosition, Dependence};
use crate::Result;
use crate::counts::{Cell, CountsView, SessionCount};

/// The relative bias of `ips-pbm`: what it makes of the clicks on a document at position `k` of query `q` is
/// `θ(k|q)/θ̄(k)` times its relevance, `θ(k|q) = Σ_u P(u|q) θ(u,k)` being how the query's own users look.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bias {
    /// The root of the mean squared relative bias over impressions, without what chance makes of few sessions.
    pub typical: f64,
    /// What it is at most, with 95 % confidence; nothing where users cannot be compared.
    pub at_most: Option<f64>,
    /// The same as `typical` at each of the first positions.
    pub by_position: Vec<f64>,
    /// How many users were compared: all, or of long logs a random part.
    pub users: u64,
    /// How many sessions of theirs.
    pub sessions: u64,
}

/// Parts of the queries by which the error of the size is told.
const PARTS: usize = 10;

/// From this share of users' differences on that is known, the bias that is seen is what there is, but for its error.
const WELL_KNOWN: f64 = 0.5;

/// Sums over queries for each position, and for parts of them over positions.
struct Sums {
    squares: Vec<f64>,
    impressions: Vec<f64>,
    parts: [(f64, f64); PARTS],
}

impl Bias {
    /// `Σ_u P(u|q) r(u,k)` is 1 where a query's users look like all users. Of its squared distance from 1, the part
    /// `Var(r)/n(q)` is expected where the users of `n(q)` sessions are drawn at random from all, and is taken off. Ratios that
    /// are drawn toward 1 for want of clicks show a part of the distance, `known`, so its square is divided out.
    pub(super) fn of(
        counts: &dyn CountsView,
        examination: &RelativeExamination,
        dependence: Option<&Dependence>,
        differences: Option<&Differences>,
        positions: &[AtPosition],
    ) -> Result<Self> {
        let sessions = counts.sessions_per_user();
        let spread: Vec<f64> = (1..=examination.positions()).map(|k| examination.variance(k, &sessions)).collect();
        let (squares, impressions) = (vec![0.0; spread.len()], vec![0.0; spread.len()]);
        let mut sums = Sums { squares, impressions, parts: [(0.0, 0.0); PARTS] };
        let total = counts.totals().sessions as f64;
        counts.for_each_block(|mut cells, sessions| {
            for users in sessions.chunk_by(|a, b| a.query == b.query) {
                let (of_query, rest) = cells.split_at(cells.partition_point(|cell| cell.query <= users[0].query));
                cells = rest;
                sums.add(users, of_query, examination, &spread, total);
            }
        })?;
        let mut bias = Bias { users: sessions.len() as u64, sessions: counts.totals().sessions, ..sums.bias() };
        let known = examination.known();
        let seen = (known >= WELL_KNOWN).then(|| (bias.typical.powi(2) + UPPER * sums.error()).sqrt());
        bias.at_most = [seen, possible(dependence, differences, positions)].into_iter().flatten().reduce(f64::min);
        Ok(bias)
    }
}

/// The largest bias that the tests leave possible: how much users differ at most, times how much of it queries can tell at most.
///
/// The correlation of anything of users with anything of queries is at most `√(χ²/N)`.
fn possible(
    dependence: Option<&Dependence>,
    differences: Option<&Differences>,
    positions: &[AtPosition],
) -> Option<f64> {
    let found = differences?;
    let depth = match &found.depth {
        Some(depth) => depth.at_most? * spread_of_depth(positions),
        // With one position there is no depth.
        None if positions.len() == 1 => 0.0,
        None => return None,
    };
    let spread = found.level.as_ref()?.at_most?.hypot(depth);
    let correlation = dependence.map_or(1.0, |found| found.correlation_at_most());
    Some(spread * correlation)
}

/// The root mean square over impressions of how far `ln k` is from its mean over clicks.
fn spread_of_depth(positions: &[AtPosition]) -> f64 {
    let mean = |weight: &dyn Fn(&AtPosition) -> u64, value: &dyn Fn(f64) -> f64| {
        let sum = |value: &dyn Fn(&AtPosition) -> f64| positions.iter().map(value).sum::<f64>();
        sum(&|at| weight(at) as f64 * value(f64::from(at.position).ln())) / sum(&|at| weight(at) as f64).max(1.0)
    };
    let middle = mean(&|at| at.clicks, &|ln| ln);
    mean(&|at| at.impressions, &|ln| (ln - middle).powi(2)).sqrt()
}

impl Sums {
    fn add(
        &mut self,
        users: &[SessionCount],
        cells: &[Cell],
        examination: &RelativeExamination,
        spread: &[f64],
        total: f64,
    ) {
        let n: f64 = users.iter().map(|count| count.sessions as f64).sum();
        let squares: Vec<f64> = (0..spread.len())
            .map(|k| {
                let by_chance = spread[k] / n * (1.0 - n / total);
                let seen = (mean_ratio(users, n, examination, k as u32 + 1) - 1.0).powi(2) - by_chance;
                seen / examination.known_at(k as u32 + 1).powi(2)
            })
            .collect();
        let part = &mut self.parts[users[0].query as usize % PARTS];
        for cell in cells.iter().filter(|cell| cell.position as usize <= spread.len()) {
            let (position, shown) = (cell.position as usize - 1, cell.impressions as f64);
            self.squares[position] += shown * squares[position];
            self.impressions[position] += shown;
            part.0 += shown * squares[position];
            part.1 += shown;
        }
    }

    fn bias(&self) -> Bias {
        let root = |square: f64, weight: f64| if weight > 0.0 { (square / weight).max(0.0).sqrt() } else { 0.0 };
        Bias {
            typical: root(self.squares.iter().sum(), self.impressions.iter().sum()),
            at_most: None,
            by_position: self.squares.iter().zip(&self.impressions).map(|(&s, &w)| root(s, w)).collect(),
            users: 0,
            sessions: 0,
        }
    }

    /// The standard error of the mean square, by how parts of the queries differ.
    fn error(&self) -> f64 {
        let (squares, weights) = self.parts.iter().fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
        let mean = squares / weights;
        let scatter: f64 = self.parts.iter().map(|(square, weight)| (square - weight * mean).powi(2)).sum();
        (scatter * PARTS as f64 / (PARTS as f64 - 1.0)).sqrt() / weights
    }
}

fn mean_ratio(users: &[SessionCount], sessions: f64, examination: &RelativeExamination, position: u32) -> f64 {
    let of = |count: &SessionCount| count.sessions as f64 * examination.of_user(count.user as usize, position);
    users.iter().map(of).sum::<f64>() / sessions
}
