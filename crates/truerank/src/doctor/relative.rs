//! How much more or less than people on average each user looks at each position: cells enter, ratios leave.

use serde::Serialize;

use crate::Result;
use crate::counts::{Cell, CountsView, by_position};

/// `r(u,k) = θ(u,k)/θ̄(k)`, as far as the log tells it without any model of relevance.
///
/// Within one document of one query at one position relevance is the same for all, so clicks there are
/// `n·a·r(u,k)` in expectation, with `a` of its own for each such stratum. Both are found by proportional fitting, and
/// what little is known of a user is pulled toward the average, 1, by a Gamma prior fitted to all users of a position.
/// Positions need not be comparable for this: only users at the same one are compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RelativeExamination {
    positions: usize,
    /// One row of positions per user.
    ratios: Vec<f64>,
    /// The share of users' differences that clicks tell at each position: what is left of them where ratios are pulled toward 1.
    known: Vec<f64>,
}

/// Positions looked at, from the top: further down too few users meet on the same document.
pub(super) const POSITIONS: u32 = 20;

/// What is known of users is taken for no less: dividing by less would make differences of noise.
const LEAST_KNOWN: f64 = 0.25;

/// Passes over the cells: each is a step of coordinate ascent, and ratios settle in few.
const PASSES: usize = 30;

impl RelativeExamination {
    pub(super) fn of(counts: &dyn CountsView) -> Result<Self> {
        let positions = counts.totals().max_position.min(POSITIONS) as usize;
        let mut ratios = vec![1.0; counts.users().len() * positions];
        let mut sums = Sums::default();
        for _ in 0..PASSES {
            sums = Sums::of(counts, &ratios, positions)?;
            ratios = sums.raw();
        }
        let sessions = counts.sessions_per_user();
        let strengths: Vec<f64> = (0..positions).map(|position| sums.strength(position, positions)).collect();
        let mut examination = RelativeExamination {
            positions,
            ratios: sums.shrunk(&strengths),
            known: sums.known(&strengths, &sessions),
        };
        examination.normalize(&sessions);
        Ok(examination)
    }

    /// Lets the ratios' mean over sessions be 1 at every position.
    fn normalize(&mut self, sessions: &[u64]) {
        for position in 1..=self.positions as u32 {
            let mean = self.mean(position, sessions, |ratio| ratio);
            if mean > 0.0 {
                (0..sessions.len()).for_each(|user| *self.at_mut(user, position) /= mean);
            }
        }
    }

    /// The mean of `value` of the ratios at `position` over sessions.
    fn mean(&self, position: u32, sessions: &[u64], value: impl Fn(f64) -> f64) -> f64 {
        let total: u64 = sessions.iter().sum();
        let sum: f64 = sessions.iter().enumerate().map(|(u, &n)| n as f64 * value(self.of_user(u, position))).sum();
        sum / total.max(1) as f64
    }

    /// How much users differ at `position`: the variance of their ratios over sessions.
    pub fn variance(&self, position: u32, sessions: &[u64]) -> f64 {
        self.mean(position, sessions, |ratio| (ratio - 1.0).powi(2))
    }

    /// How many positions there are.
    pub fn positions(&self) -> u32 {
        self.positions as u32
    }

    /// `r(u,k)`, with positions from 1.
    pub fn of_user(&self, user: usize, position: u32) -> f64 {
        self.ratios[user * self.positions + position as usize - 1]
    }

    /// The share of users' differences at `position` that clicks tell, a quarter at least.
    pub(super) fn known_at(&self, position: u32) -> f64 {
        self.known[position as usize - 1].max(LEAST_KNOWN)
    }

    /// Its mean over positions.
    pub(super) fn known(&self) -> f64 {
        self.known.iter().sum::<f64>() / self.known.len().max(1) as f64
    }

    fn at_mut(&mut self, user: usize, position: u32) -> &mut f64 {
        &mut self.ratios[user * self.positions + position as usize - 1]
    }
}

/// Clicks of each user at each position in strata that several users saw, and what they are compared with.
#[derive(Default)]
struct Sums {
    clicks: Vec<f64>,
    /// Clicks expected of an average user.
    expected: Vec<f64>,
    /// Their variance at the present ratios.
    variance: Vec<f64>,
}

impl Sums {
    fn of(counts: &dyn CountsView, ratios: &[f64], positions: usize) -> Result<Self> {
        let [clicks, expected, variance] = std::array::from_fn(|_| vec![0.0; ratios.len()]);
        let mut sums = Sums { clicks, expected, variance };
        counts.for_each_cells(|cells| sums.add(cells, ratios, positions))?;
        Ok(sums)
    }

    fn add(&mut self, cells: &[Cell], ratios: &[f64], positions: usize) {
        let slot = |cell: &Cell| cell.user as usize * positions + cell.position as usize - 1;
        let compared = |stratum: &&[Cell]| stratum.len() > 1 && stratum[0].position <= POSITIONS;
        for stratum in by_position(cells).filter(compared) {
            let clicks: u64 = stratum.iter().map(|cell| cell.clicks).sum();
            let weighted: f64 = stratum.iter().map(|cell| cell.impressions as f64 * ratios[slot(cell)]).sum();
            let level = if weighted > 0.0 { clicks as f64 / weighted } else { 0.0 };
            for cell in stratum {
                let (slot, shown) = (slot(cell), cell.impressions as f64);
                let click = (level * ratios[slot]).min(1.0);
                self.clicks[slot] += cell.clicks as f64;
                self.expected[slot] += shown * level;
                self.variance[slot] += shown * click * (1.0 - click);
            }
        }
    }

    /// Clicks over those expected; half a click is added to both, so that no one is at 0 on little evidence.
    fn raw(&self) -> Vec<f64> {
        const HALF: f64 = 0.5;
        self.clicks.iter().zip(&self.expected).map(|(clicks, expected)| (clicks + HALF) / (expected + HALF)).collect()
    }

    /// The posterior means under a Gamma prior with mean 1, whose strength is fitted at each position by moments:
    /// `Σ(c − e)² = Σ variance + τ² Σ e²`.
    fn shrunk(&self, strengths: &[f64]) -> Vec<f64> {
        let shrink = |(slot, clicks): (usize, &f64)| {
            let strength = strengths[slot % strengths.len()];
            if strength.is_finite() { (clicks + strength) / (self.expected[slot] + strength) } else { 1.0 }
        };
        self.clicks.iter().enumerate().map(shrink).collect()
    }

    /// The mean of `e/(e + strength)` over sessions, at each position.
    fn known(&self, strengths: &[f64], sessions: &[u64]) -> Vec<f64> {
        let total: u64 = sessions.iter().sum();
        let at = |(position, &strength): (usize, &f64)| {
            let expected = self.expected.iter().skip(position).step_by(strengths.len());
            let known =
                expected.map(|&expected| if strength.is_finite() { expected / (expected + strength) } else { 0.0 });
            known.zip(sessions).map(|(known, &sessions)| known * sessions as f64).sum::<f64>() / total.max(1) as f64
        };
        strengths.iter().enumerate().map(at).collect()
    }

    fn strength(&self, position: usize, positions: usize) -> f64 {
        let slots = || (position..self.clicks.len()).step_by(positions);
        let squares: f64 = slots().map(|s| (self.clicks[s] - self.expected[s]).powi(2) - self.variance[s]).sum();
        let scale: f64 = slots().map(|s| self.expected[s] * self.expected[s]).sum();
        if squares > 0.0 { scale / squares } else { f64::INFINITY }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::{Counts, SessionCount};
    use crate::ids::Ids;

    #[test]
    fn users_are_compared_on_the_same_documents_only() {
        // User 1 looks half as often as user 0 at position 2, and sees far better documents besides.
        let cell = |doc, user, impressions, clicks| Cell { query: 0, doc, position: 2, user, impressions, clicks };
        let mut cells = Vec::new();
        for doc in 0..50 {
            cells.extend([cell(doc, 0, 1000, 400), cell(doc, 1, 1000, 200)]);
        }
        cells.extend((50..90).map(|doc| cell(doc, 1, 1000, 990)));
        let sessions = [0, 1].map(|user| SessionCount { query: 0, user, sessions: 1000 }).to_vec();
        let counts = Counts { users: Ids::numbered(2), cells, sessions, ..Counts::default() };
        let found = RelativeExamination::of(&counts).unwrap();
        assert!((found.of_user(0, 2) - 4.0 / 3.0).abs() < 0.01, "{found:?}");
        assert!((found.of_user(1, 2) - 2.0 / 3.0).abs() < 0.01, "{found:?}");
        assert!((found.variance(2, &[1000, 1000]) - 1.0 / 9.0).abs() < 0.01);
    }

    #[test]
    fn users_who_do_not_differ_are_average() {
        let cell =
            |doc, user| Cell { query: 0, doc, position: 1, user, impressions: 10, clicks: u64::from(doc % 5 != 0) };
        let cells = (0..100).flat_map(|doc| (0..4).map(move |user| cell(doc, user))).collect();
        let counts = Counts { users: Ids::numbered(4), cells, ..Counts::default() };
        let found = RelativeExamination::of(&counts).unwrap();
        assert!((0..4).all(|user| (found.of_user(user, 1) - 1.0).abs() < 1e-9), "{found:?}");
    }
}
