//! The best split of a leaf: the histogram of its rows enters, feature, bin and gain leave.

use super::bins::{FeatureBins, MISSING};
use super::monotone::Direction;
use super::sums::{Sums, Units};

/// What a split must keep to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    /// Rows of each child at least.
    pub(super) min_rows: u64,
    /// Added to second derivatives: draws leaves toward 0.
    pub(super) l2: f64,
}

/// Second derivatives of a leaf at least: below, its value is not determined.
const LEAST_CURVATURE: f64 = 1e-3;

/// Between what the values of a leaf and of all below it must lie, for directions that features are held to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bounds {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Bounds {
    pub(super) const NONE: Bounds = Bounds { low: f64::NEG_INFINITY, high: f64::INFINITY };

    /// The bounds of the two children of a split that gives them these values.
    pub(super) fn of_children(self, direction: Direction, left: f64, right: f64) -> (Bounds, Bounds) {
        let middle = (left + right) / 2.0;
        match direction {
            Direction::Free => (self, self),
            Direction::Up => (Bounds { high: middle, ..self }, Bounds { low: middle, ..self }),
            Direction::Down => (Bounds { low: middle, ..self }, Bounds { high: middle, ..self }),
        }
    }
}

/// A way to divide a leaf.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Found {
    pub(super) feature: usize,
    /// Rows in this bin and those before it go left.
    pub(super) bin: u8,
    pub(super) missing_left: bool,
    pub(super) gain: f64,
    pub(super) left: Sums,
}

/// A leaf that may be divided.
#[derive(Debug, Clone, Copy)]
pub(super) struct Divided {
    pub(super) sums: Sums,
    pub(super) bounds: Bounds,
}

/// How leaves are judged.
#[derive(Debug, Clone, Copy)]
pub(super) struct Judge {
    pub(super) rules: Rules,
    pub(super) units: Units,
}

impl Judge {
    /// The value that lowers the loss of these rows most, within bounds.
    pub(super) fn value(&self, sums: Sums, bounds: Bounds) -> f64 {
        let curvature = self.units.curvature(sums) + self.rules.l2;
        let best = if curvature > 0.0 { -self.units.gradient(sums) / curvature } else { 0.0 };
        best.clamp(bounds.low, bounds.high)
    }

    /// By how much that value lowers the loss.
    #[inline(always)]
    fn worth(&self, sums: Sums, bounds: Bounds) -> f64 {
        let (gradient, curvature) = (self.units.gradient(sums), self.units.curvature(sums) + self.rules.l2);
        if bounds == Bounds::NONE {
            return 0.5 * gradient * gradient / curvature;
        }
        let value = self.value(sums, bounds);
        -(gradient * value + 0.5 * curvature * value * value)
    }

    /// The best split of a leaf by one feature; ties go to the first bin, and to missing values on the right.
    pub(super) fn best(
        &self,
        feature: usize,
        bins: &FeatureBins,
        direction: Direction,
        histogram: &[Sums; 256],
        leaf: &Divided,
    ) -> Option<Found> {
        let missing = histogram[usize::from(MISSING)];
        let mut best: Option<Found> = None;
        let sides: &[bool] = if bins.has_missing && self.units.count(missing) > 0 { &[false, true] } else { &[false] };
        let before = self.worth(leaf.sums, leaf.bounds);
        for &missing_left in sides {
            let mut left = if missing_left { missing } else { Sums::ZERO };
            for (bin, &of_bin) in histogram[..bins.places()].iter().enumerate() {
                if of_bin == Sums::ZERO {
                    continue;
                }
                left.add(of_bin);
                let right = leaf.sums.less(left);
                if self.units.count(right) < self.rules.min_rows {
                    break;
                }
                let Some(after) = self.worth_of_both(left, right, direction, leaf.bounds) else { continue };
                let gain = after - before;
                if gain > best.map_or(LEAST_GAIN, |best| best.gain) {
                    best = Some(Found { feature, bin: bin as u8, missing_left, gain, left });
                }
            }
        }
        best.map(|best| self.with_side_of_missing(best, bins, leaf.sums))
    }

    /// What both children are worth; none where a rule forbids the split.
    #[inline(always)]
    fn worth_of_both(&self, left: Sums, right: Sums, direction: Direction, bounds: Bounds) -> Option<f64> {
        let least = |sums| self.units.curvature(sums) >= LEAST_CURVATURE;
        if self.units.count(left) < self.rules.min_rows || !least(left) || !least(right) {
            return None;
        }
        if direction != Direction::Free {
            let (low, high) = (self.value(left, bounds), self.value(right, bounds));
            if !direction.allows(low, high) {
                return None;
            }
        }
        Some(self.worth(left, bounds) + self.worth(right, bounds))
    }

    /// Where a feature was never missing, documents without it go where most go.
    fn with_side_of_missing(&self, found: Found, bins: &FeatureBins, all: Sums) -> Found {
        match bins.has_missing {
            true => found,
            false => Found { missing_left: 2 * self.units.count(found.left) >= self.units.count(all), ..found },
        }
    }
}

/// A split must lower the loss by more than rounding can.
const LEAST_GAIN: f64 = 1e-12;
