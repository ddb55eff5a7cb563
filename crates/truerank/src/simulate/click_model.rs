//! How a user goes down a result page.

use rand::RngExt;

use crate::random::Random;

/// A user's way of examining and clicking a result page.
pub trait ClickModel: Send + Sync {
    /// Draws one session. `relevant` says of each document, from position 1 on, whether this user would find it
    /// relevant once examined; sets `examined` and `clicked` for each.
    fn browse(&self, relevant: &[bool], random: &mut Random, examined: &mut [bool], clicked: &mut [bool]);

    /// θ(k) for positions 1, 2, … where examination depends on the position alone and a click is examination and
    /// relevance; `None` for models in which earlier clicks matter. Cells can be drawn directly only from the former.
    fn examination(&self) -> Option<&[f64]>;
}

/// The position-based model (Craswell et al. 2008): each position is examined with its own probability.
#[derive(Debug, Clone, PartialEq)]
pub struct PositionBased {
    examination: Vec<f64>,
}

impl PositionBased {
    /// Examines position k with probability `k^−eta`.
    pub fn power_law(eta: f64, positions: usize) -> Self {
        PositionBased { examination: (1..=positions).map(|k| (k as f64).powf(-eta)).collect() }
    }
}

impl ClickModel for PositionBased {
    fn browse(&self, relevant: &[bool], random: &mut Random, examined: &mut [bool], clicked: &mut [bool]) {
        for (k, &relevant) in relevant.iter().enumerate() {
            examined[k] = random.random_bool(self.examination[k]);
            clicked[k] = examined[k] && relevant;
        }
    }

    fn examination(&self) -> Option<&[f64]> {
        Some(&self.examination)
    }
}
