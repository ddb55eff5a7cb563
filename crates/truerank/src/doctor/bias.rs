//! How wrong is a correction that does not know users? Sessions and relative examination enter, a size leaves.

use serde::Serialize;

use super::relative::RelativeExamination;
use crate::Result;
use crate::counts::{Cell, CountsView, SessionCount};

/// The relative bias of `ips-pbm`: what it makes of the clicks on a document at position `k` of query `q` is
/// `θ(k|q)/θ̄(k)` times its relevance, `θ(k|q) = Σ_u P(u|q) θ(u,k)` being how the query's own users look.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bias {
    /// The root of the mean squared relative bias over impressions, without what chance makes of few sessions.
    pub typical: f64,
    /// The same at each of the first positions.
    pub by_position: Vec<f64>,
}

/// Sums over queries for each position.
struct Sums {
    squares: Vec<f64>,
    impressions: Vec<f64>,
}

impl Bias {
    /// `Σ_u P(u|q) r(u,k)` is 1 where a query's users look like all users. Of its squared distance from 1, the part
    /// `Var(r)/n(q)` is expected where the users of `n(q)` sessions are drawn at random from all, and is taken off.
    pub(super) fn of(counts: &dyn CountsView, examination: &RelativeExamination) -> Result<Self> {
        let sessions = counts.sessions_per_user();
        let spread: Vec<f64> = (1..=examination.positions()).map(|k| examination.variance(k, &sessions)).collect();
        let mut sums = Sums { squares: vec![0.0; spread.len()], impressions: vec![0.0; spread.len()] };
        let total = counts.totals().sessions as f64;
        counts.for_each_block(|mut cells, sessions| {
            for users in sessions.chunk_by(|a, b| a.query == b.query) {
                let (of_query, rest) = cells.split_at(cells.partition_point(|cell| cell.query <= users[0].query));
                cells = rest;
                sums.add(users, of_query, examination, &spread, total);
            }
        })?;
        Ok(sums.bias())
    }
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
                (mean_ratio(users, n, examination, k as u32 + 1) - 1.0).powi(2) - by_chance
            })
            .collect();
        for cell in cells.iter().filter(|cell| cell.position as usize <= spread.len()) {
            let (position, shown) = (cell.position as usize - 1, cell.impressions as f64);
            self.squares[position] += shown * squares[position];
            self.impressions[position] += shown;
        }
    }

    fn bias(&self) -> Bias {
        let root = |square: f64, weight: f64| if weight > 0.0 { (square / weight).max(0.0).sqrt() } else { 0.0 };
        Bias {
            typical: root(self.squares.iter().sum(), self.impressions.iter().sum()),
            by_position: self.squares.iter().zip(&self.impressions).map(|(&s, &w)| root(s, w)).collect(),
        }
    }
}

fn mean_ratio(users: &[SessionCount], sessions: f64, examination: &RelativeExamination, position: u32) -> f64 {
    let of = |count: &SessionCount| count.sessions as f64 * examination.of_user(count.user as usize, position);
    users.iter().map(of).sum::<f64>() / sessions
}
