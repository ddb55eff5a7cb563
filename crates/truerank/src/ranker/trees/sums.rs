//! Gradients as whole numbers, so that their sums are exact: in any order, on any number of threads, and after subtraction.

use rayon::prelude::*;

/// First and second derivatives of rows, summed, and how many rows they are of.
///
/// The second derivative and the count share a number: adding both is one instruction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Sums {
    gradient: i64,
    /// Second derivative above, count in the lowest bits.
    packed: u64,
}

impl Sums {
    pub(super) const ZERO: Sums = Sums { gradient: 0, packed: 0 };

    #[inline(always)]
    pub(super) fn add(&mut self, other: Sums) {
        self.gradient += other.gradient;
        self.packed += other.packed;
    }

    #[inline(always)]
    pub(super) fn less(self, other: Sums) -> Sums {
        Sums { gradient: self.gradient - other.gradient, packed: self.packed - other.packed }
    }

    #[inline(always)]
    pub(super) fn plus(mut self, other: Sums) -> Sums {
        self.add(other);
        self
    }
}

/// How derivatives became whole numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Units {
    gradient: f64,
    curvature: f64,
    count_bits: u32,
}

/// The largest gradient becomes 2 to this power: finer than single precision tells it.
const GRADIENT_BITS: u32 = 30;

/// Rows that one task turns into whole numbers.
const PIECE: usize = 1 << 13;

/// The whole number next to `x`, the even one of two, for sizes below 2^51: two additions, where the function that does it for all numbers is a
/// call.
#[inline(always)]
fn nearest(x: f64) -> f64 {
    // From here to its double, numbers are whole.
    const WHOLE: f64 = (3_u64 << 51) as f64;
    (x + WHOLE) - WHOLE
}

impl Units {
    /// Units in which the sums of all these rows fit, and the rows in them. Second derivatives are at least 0.
    pub(super) fn of(derivatives: &[(f32, f32)]) -> (Units, Vec<Sums>) {
        let count_bits = usize::BITS - derivatives.len().leading_zeros();
        let curvature_bits = (64 - 2 * count_bits).min(GRADIENT_BITS);
        let larger = |a: (f32, f32), b: (f32, f32)| (a.0.max(b.0), a.1.max(b.1));
        let of_piece =
            |rows: &[(f32, f32)]| rows.iter().fold((0.0, 0.0), |most, row| larger(most, (row.0.abs(), row.1)));
        let largest = derivatives.par_chunks(PIECE).map(of_piece).reduce(|| (0.0, 0.0), larger);
        let unit = |largest: f32, bits: u32| match largest > 0.0 {
            true => f64::from(largest) / (1_u64 << bits) as f64,
            false => 1.0,
        };
        let (gradient, curvature) = (unit(largest.0, GRADIENT_BITS), unit(largest.1, curvature_bits));
        let whole = |&(g, h): &(f32, f32)| Sums {
            gradient: nearest(f64::from(g) / gradient) as i64,
            packed: ((nearest(f64::from(h) / curvature) as u64) << count_bits) | 1,
        };
        (Units { gradient, curvature, count_bits }, derivatives.par_iter().with_min_len(PIECE).map(whole).collect())
    }

    #[inline(always)]
    pub(super) fn gradient(&self, sums: Sums) -> f64 {
        sums.gradient as f64 * self.gradient
    }

    #[inline(always)]
    pub(super) fn curvature(&self, sums: Sums) -> f64 {
        (sums.packed >> self.count_bits) as f64 * self.curvature
    }

    #[inline(always)]
    pub(super) fn count(&self, sums: Sums) -> u64 {
        sums.packed & ((1 << self.count_bits) - 1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sums_are_those_of_the_derivatives(
            rows in prop::collection::vec((-3.0f32..3.0, 0.0f32..2.0), 1..300),
        ) {
            let (units, whole) = Units::of(&rows);
            let total = whole.iter().fold(Sums::default(), |sum, &row| sum.plus(row));
            let expected = rows.iter().fold((0.0, 0.0), |(g, h), row| (g + f64::from(row.0), h + f64::from(row.1)));
            prop_assert!((units.gradient(total) - expected.0).abs() < 1e-6);
            prop_assert!((units.curvature(total) - expected.1).abs() < 1e-6);
            prop_assert_eq!(units.count(total), rows.len() as u64);
            prop_assert_eq!(total.less(whole[0]).plus(whole[0]), total);
        }
    }

    #[test]
    fn whole_numbers_are_the_nearest_and_the_even_ones() {
        let numbers = (-4000..4000).map(|i| f64::from(i) / 8.0).chain([2e9 + 0.5, -2e9 - 1.5, 1e15 / 3.0]);
        numbers.for_each(|x| assert_eq!(nearest(x), x.round_ties_even()));
    }

    #[test]
    fn gradients_that_are_all_zero_have_a_unit() {
        let (units, whole) = Units::of(&[(0.0, 0.0), (0.0, 0.0)]);
        assert_eq!((units.gradient(whole[0]), units.curvature(whole[1]), units.count(whole[0])), (0.0, 0.0, 1));
    }
}
