//! The likelihood of each θ(u,k) as a table: integrals over θ become short sums.

use std::f64::consts::FRAC_PI_2;

use super::evidence::{ChunkEvidence, UserEvidence};
use crate::Result;

/// Values kept for each slot.
pub(super) const NODES: usize = 64;

/// How often the spacing may be halved: enough for slots of ten million impressions.
const LEVELS: usize = 9;

/// Nodes whose likelihood is below e^−30 of the greatest are left out where that allows a finer spacing.
const NEGLIGIBLE: f64 = 30.0;

/// `L_uk(θ)` of every slot at nodes of θ that are dense where it is not negligible.
///
/// Nodes are midpoints of equal steps in `φ = asin √θ`, in which binomial counts have the same spread `1/(2√n)`
/// wherever θ is, so that 0 and 1 are resolved as well as the middle. Level ℓ divides (0, 1) into `64·2^ℓ` steps; each
/// slot has 64 neighbouring nodes of the finest level on which they hold all of its likelihood. So slots share nodes,
/// and whatever is integrated against the likelihood is evaluated once per level and not once per slot. On level 0
/// the greatest node is θ = .99985 and the least .00015.
#[derive(Debug, Clone)]
pub(crate) struct LikelihoodGrid {
    pub users: usize,
    pub positions: usize,
    windows: Vec<Window>,
    /// Relative to the greatest of the slot; 64 per slot. Single precision keeps seven digits of what is at least
    /// e^−30, and halves the memory of large logs.
    likelihood: Vec<f32>,
}

/// Which nodes a slot's likelihood is kept at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Window {
    pub level: usize,
    pub start: usize,
    /// Whether anything was shown in the slot.
    pub shown: bool,
}

/// The nodes of every level.
pub(super) struct Nodes {
    by_level: Vec<Vec<f64>>,
}

impl Nodes {
    pub fn new() -> Self {
        let of_level = |level: usize| {
            let steps = NODES << level;
            (0..steps).map(|index| (FRAC_PI_2 * (index as f64 + 0.5) / steps as f64).sin().powi(2)).collect()
        };
        Nodes { by_level: (0..LEVELS).map(of_level).collect() }
    }

    pub fn levels(&self) -> usize {
        self.by_level.len()
    }

    pub fn of_level(&self, level: usize) -> &[f64] {
        &self.by_level[level]
    }

    pub fn of_window(&self, window: Window) -> &[f64] {
        &self.by_level[window.level][window.start..][..NODES]
    }
}

impl LikelihoodGrid {
    /// Tabulates the likelihood of every slot: one pass over the evidence for each level that a slot needs.
    pub fn new(evidence: &UserEvidence) -> Result<Self> {
        let nodes = Nodes::new();
        let chunks = evidence.by_chunks(|chunk| {
            let mut room = Vec::new();
            chunk.slots().map(|slot| tabulate(chunk, slot, &nodes, &mut room)).collect::<Vec<_>>()
        })?;
        let mut grid = LikelihoodGrid {
            users: evidence.users,
            positions: evidence.positions,
            windows: Vec::with_capacity(evidence.users * evidence.positions),
            likelihood: Vec::with_capacity(evidence.users * evidence.positions * NODES),
        };
        for (window, values) in chunks.into_iter().flatten() {
            grid.windows.push(window);
            grid.likelihood.extend(values);
        }
        Ok(grid)
    }

    pub fn window(&self, slot: usize) -> Window {
        self.windows[slot]
    }

    /// The likelihood of a slot at the nodes of its window, relative to the greatest of them.
    pub fn likelihood(&self, slot: usize) -> &[f32] {
        &self.likelihood[slot * NODES..][..NODES]
    }
}

fn tabulate(evidence: &ChunkEvidence<'_>, slot: usize, nodes: &Nodes, room: &mut Vec<f64>) -> (Window, [f32; NODES]) {
    let mut window = Window { level: 0, start: 0, shown: evidence.impressions(slot) > 0.0 };
    if !window.shown {
        return (window, [1.0; NODES]);
    }
    loop {
        let mut logs = [0.0; NODES];
        evidence.add_log_likelihoods(slot, nodes.of_window(window), &mut logs, room);
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        match finer(window, &logs.map(|log| log - most > -NEGLIGIBLE)) {
            Some(next) if next.level < nodes.levels() => window = next,
            _ => return (window, logs.map(|log| (log - most).exp() as f32)),
        }
    }
}

/// The window of the next level around the nodes that matter, if they fit in.
///
/// The likelihood has one peak, so its peak is at most one step from the best node: a step is kept on either side.
fn finer(window: Window, matters: &[bool; NODES]) -> Option<Window> {
    let first = matters.iter().position(|matters| *matters)?.saturating_sub(1);
    let last = (matters.iter().rposition(|matters| *matters)? + 1).min(NODES - 1);
    let steps = last + 1 - first;
    if 2 * steps > NODES {
        return None;
    }
    let steps_of_level = NODES << (window.level + 1);
    let start = (2 * (window.start + first)).saturating_sub((NODES - 2 * steps) / 2).min(steps_of_level - NODES);
    Some(Window { level: window.level + 1, start, ..window })
}

#[cfg(test)]
mod tests {
    use super::super::evidence::tests::observe;
    use super::*;

    #[test]
    fn a_window_holds_the_likelihood_of_few_and_of_many_impressions() {
        for impressions in [1, 30, 1000, 100_000, 10_000_000] {
            let clicks = impressions * 3 / 10;
            let evidence = UserEvidence::new(&observe(1, &[(0, 1, 0, impressions, clicks)]), &[1.0]).unwrap();
            let grid = LikelihoodGrid::new(&evidence).unwrap();
            let nodes = Nodes::new();
            let thetas = nodes.of_window(grid.window(0));
            // Weights of the midpoint rule: dθ = 2 √(θ(1−θ)) dφ, and φ has equal steps.
            let weigh = |power: i32| -> f64 {
                let terms = thetas.iter().zip(grid.likelihood(0));
                terms.map(|(t, l)| f64::from(*l) * (t * (1.0 - t)).sqrt() * t.powi(power)).sum()
            };
            // γ = 1 makes the posterior under a uniform prior Beta(1 + c, 1 + n − c).
            let (n, c) = (impressions as f64, clicks as f64);
            let mean = (1.0 + c) / (2.0 + n);
            let deviation = (mean * (1.0 - mean) / (3.0 + n)).sqrt();
            assert!((weigh(1) / weigh(0) - mean).abs() < 0.01 * deviation, "{n}: {} {mean}", weigh(1) / weigh(0));
        }
    }

    #[test]
    fn slots_without_impressions_say_nothing() {
        let evidence = UserEvidence::new(&observe(2, &[(0, 2, 0, 3, 1), (0, 1, 1, 3, 1)]), &[0.5]).unwrap();
        let grid = LikelihoodGrid::new(&evidence).unwrap();
        assert_eq!(grid.likelihood(0), [1.0; NODES]);
        assert!(!grid.window(0).shown && grid.window(1).shown);
    }
}
