//! Exponentials and sums that compilers turn into vector instructions, with the same bits on every machine.

/// `e^x` to six digits, for `x` in any range; no table and no branch, so that loops over it are vectorised.
///
/// `e^x = 2^n · e^r` with `n` the whole number next to `x / ln 2`; `e^r` is its Taylor series, whose next term is below 3e-7 at
/// `r = ln 2 / 2`.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    // Adding and taking away 1.5 · 2^23 rounds to a whole number.
    const ROUND: f32 = 12_582_912.0;
    let x = x.clamp(-87.0, 87.0);
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (x - n * 0.693_359_4) + n * 2.121_944_4e-4;
    let series = 1.0 + r * (1.0 + r * (0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * (1.0 / 120.0 + r / 720.0)))));
    // The whole number stands in the lowest bits now: moved to the exponent, it is the power of 2.
    let power = f32::from_bits(shifted.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127) << 23);
    series * power
}

/// The sum of all values, in eight lanes.
pub(super) fn sum(values: &[f32]) -> f32 {
    sum_of(values, |value| value)
}

/// The sum of the sizes of all values, in eight lanes.
pub(super) fn sum_of_sizes(values: &[f32]) -> f32 {
    sum_of(values, f32::abs)
}

#[inline(always)]
fn sum_of(values: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0.0_f32; 8];
    let chunks = values.chunks_exact(8);
    let rest: f32 = chunks.remainder().iter().map(|&value| of(value)).sum();
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(lane, &value)| *lane += of(value));
    }
    lanes.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_are_right_to_six_digits() {
        for i in -8700..=8700 {
            let x = i as f32 / 100.0;
            let (found, expected) = (f64::from(exp(x)), f64::from(x).exp());
            assert!((found / expected - 1.0).abs() < 1e-6, "{x}: {found} {expected}");
        }
        assert!(exp(1e9).is_finite() && exp(f32::NEG_INFINITY) > 0.0);
        assert!(exp(f32::NAN).is_nan());
    }

    #[test]
    fn sums_are_of_all_values() {
        let values: Vec<f32> = (0..29).map(|i| i as f32).collect();
        assert_eq!(sum(&values), 28.0 * 29.0 / 2.0);
        assert_eq!((sum(&[]), sum_of_sizes(&[-1.0, 2.0])), (0.0, 3.0));
    }
}
