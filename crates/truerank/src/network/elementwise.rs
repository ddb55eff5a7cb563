//! The work between matrix products, one row at a time: activation, layer norm, and their gradients.
//!
//! All sums run in a fixed number of lanes, which vectorises and makes their rounding independent of the machine.

/// Added to the variance by layer norm, as PyTorch does.
pub(crate) const NORM_EPSILON: f32 = 1e-5;

/// How many partial sums a sum keeps.
const LANES: usize = 16;

/// Σ f(x) in lanes.
#[inline(always)]
fn lane_sum(values: &[f32], f: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0.0; LANES];
    let chunks = values.chunks_exact(LANES);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (lane, &value) in lanes.iter_mut().zip(chunk) {
            *lane += f(value);
        }
    }
    for (lane, &value) in lanes.iter_mut().zip(rest) {
        *lane += f(value);
    }
    add_up(lanes)
}

/// Σ f(x, y) in lanes, over two slices of one length.
#[inline(always)]
pub(crate) fn lane_dot(a: &[f32], b: &[f32], f: impl Fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [0.0; LANES];
    let (a, b) = (&a[..a.len().min(b.len())], &b[..a.len().min(b.len())]);
    let (chunks_a, chunks_b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest = chunks_a.remainder().iter().zip(chunks_b.remainder());
    for (chunk_a, chunk_b) in chunks_a.zip(chunks_b) {
        for ((lane, &x), &y) in lanes.iter_mut().zip(chunk_a).zip(chunk_b) {
            *lane += f(x, y);
        }
    }
    for (lane, (&x, &y)) in lanes.iter_mut().zip(rest) {
        *lane += f(x, y);
    }
    add_up(lanes)
}

/// Σ f(x, y, z) in lanes, over three slices of one length.
#[inline(always)]
pub(crate) fn lane_dot3(a: &[f32], b: &[f32], c: &[f32], f: impl Fn(f32, f32, f32) -> f32) -> f32 {
    let mut lanes = [0.0; LANES];
    let chunks = a.chunks(LANES).zip(b.chunks(LANES)).zip(c.chunks(LANES));
    for ((a, b), c) in chunks {
        for (((lane, &x), &y), &z) in lanes.iter_mut().zip(a).zip(b).zip(c) {
            *lane += f(x, y, z);
        }
    }
    add_up(lanes)
}

/// The sum of the lanes by halves.
#[inline(always)]
fn add_up(mut lanes: [f32; LANES]) -> f32 {
    let mut half = LANES / 2;
    while half > 0 {
        for i in 0..half {
            lanes[i] += lanes[i + half];
        }
        half /= 2;
    }
    lanes[0]
}

/// The part of e^x that polynomial and scale share: `(2ⁿ, e^r − 1)` with `x = n ln 2 + r`, `|r| ≤ ln 2 / 2`.
#[inline(always)]
fn split_exp(x: f32) -> (f32, f32) {
    // Adding 1.5 · 2²³ rounds to an integer and leaves it in the lowest bits: no conversion, so this vectorises on every
    // machine.
    const ROUND: f32 = 12_582_912.0;
    // ln 2 in two parts; the first has few bits, so that n times it is exact.
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (x - n * LN2_HIGH) - n * LN2_LOW;
    // Taylor's series to r⁷: its rest, r⁸/8!, is at most 5·10⁻⁹.
    let tail = 1.0 / 5040.0;
    let tail = tail * r + 1.0 / 720.0;
    let tail = tail * r + 1.0 / 120.0;
    let tail = tail * r + 1.0 / 24.0;
    let tail = tail * r + 1.0 / 6.0;
    let tail = tail * r + 0.5;
    let less_one = r + r * r * tail;
    (f32::from_bits((shifted.to_bits() << 23).wrapping_add(0x3f80_0000)), less_one)
}

/// e^x − 1 for x ≤ 0, with an error of at most 2·10⁻⁷ of its value; NaN stays NaN. Past 0 the value is meaningless from 88 on.
#[inline(always)]
fn exp_less_one(x: f32) -> f32 {
    // e^−30 vanishes beside 1 in f32; the bound keeps 2ⁿ a normal number. Written so that NaN passes.
    let x = if x < -30.0 { -30.0 } else { x };
    let (scale, less_one) = split_exp(x);
    scale * less_one + (scale - 1.0)
}

/// The exponential linear unit: x above 0, e^x − 1 below.
#[inline(always)]
fn elu(x: f32) -> f32 {
    let below = exp_less_one(x);
    if x > 0.0 { x } else { below }
}

/// The mean of a row, and 1 over its standard deviation (with [`NORM_EPSILON`] added to the variance).
#[inline(always)]
pub(crate) fn row_statistics(row: &[f32]) -> (f32, f32) {
    let mean = lane_sum(row, |x| x) / row.len() as f32;
    // Two passes: the one-pass formula loses all digits where the mean is far from 0.
    let variance = lane_sum(row, |x| (x - mean) * (x - mean)) / row.len() as f32;
    (mean, 1.0 / (variance + NORM_EPSILON).sqrt())
}

/// `out = (row − mean) / deviation`.
#[inline(always)]
pub(super) fn normalise_into(row: &[f32], out: &mut [f32]) {
    let (mean, scale) = row_statistics(row);
    for (out, &x) in out.iter_mut().zip(row) {
        *out = (x - mean) * scale;
    }
}

/// `row = (row − mean) / deviation`.
#[inline(always)]
pub(super) fn normalise(row: &mut [f32]) {
    let (mean, scale) = row_statistics(row);
    row.iter_mut().for_each(|x| *x = (*x - mean) * scale);
}

/// Turns a row of matrix products into the next layer's normalised input; returns its mean and 1 over its deviation.
#[inline(always)]
pub(super) fn activate(row: &mut [f32], bias: &[f32]) -> (f32, f32) {
    for (x, &bias) in row.iter_mut().zip(bias) {
        *x = elu(*x + bias);
    }
    let (mean, scale) = row_statistics(row);
    for x in row.iter_mut() {
        *x = (*x - mean) * scale;
    }
    (mean, scale)
}

/// The gradient through [`activate`]: `gradient` enters for the normalised row and leaves for the matrix products.
#[inline(always)]
pub(super) fn activate_back(gradient: &mut [f32], normalised: &[f32], (mean, scale): (f32, f32)) {
    let count = gradient.len() as f32;
    let gradient_mean = lane_sum(gradient, |d| d) / count;
    let along = lane_dot(gradient, normalised, |d, x| d * x) / count;
    // The slope of ELU below 0 is its value plus 1, and the value is the normalised one scaled back.
    let deviation = 1.0 / scale;
    for (d, &x) in gradient.iter_mut().zip(normalised) {
        let value = x * deviation + mean;
        let slope = if value < 0.0 { value + 1.0 } else { 1.0 };
        *d = scale * slope * (*d - gradient_mean - x * along);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_less_one_is_close_everywhere() {
        let mut worst: f64 = 0.0;
        for i in 0..2_000_000 {
            let x = -(i as f32) * 1e-5 - f32::from_bits(i * 400);
            let exact = f64::from(x).exp_m1();
            if exact != 0.0 {
                worst = worst.max(((f64::from(exp_less_one(x)) - exact) / exact).abs());
            }
        }
        assert!(worst <= 2e-7, "{worst}");
    }

    #[test]
    fn elu_at_its_ends() {
        assert_eq!(elu(0.0), 0.0);
        assert_eq!(elu(3.5), 3.5);
        assert_eq!(elu(1e30), 1e30);
        assert_eq!(elu(f32::INFINITY), f32::INFINITY);
        assert_eq!(elu(-1e30), -1.0);
        assert_eq!(elu(f32::NEG_INFINITY), -1.0);
        assert!(elu(f32::NAN).is_nan());
    }

    #[test]
    fn sums_count_every_value_once() {
        for count in 0..50 {
            let values: Vec<f32> = (0..count).map(|i| i as f32).collect();
            assert_eq!(lane_sum(&values, |x| x), (0..count).sum::<i32>() as f32);
            assert_eq!(lane_dot(&values, &values, |x, y| x * y), (0..count).map(|i| i * i).sum::<i32>() as f32);
        }
    }

    #[test]
    fn a_constant_row_normalises_to_zero() {
        let mut out = [1.0; 3];
        normalise_into(&[7.0; 3], &mut out);
        assert_eq!(out, [0.0; 3]);
    }
}
