//! Gamma distributions of rates: their shape from what is expected of them, and sums over them.

/// Shapes lie between "all or nothing" and "all alike".
pub(super) const SHAPES: (f64, f64) = (0.05, 2000.0);

/// The shape of likeliest Gamma distributions with means `μ`, given `gap`, the mean of `ln E[x]/μ − E[ln x/μ]`, where
/// `E[x]/μ` is 1 on average: it solves `ln a − ψ(a) = gap`.
///
/// The first guess is good to 1.5 % (Minka 2002); Newton's steps do the rest.
pub(super) fn shape_of(gap: f64) -> f64 {
    if gap <= shape_gap(SHAPES.1) {
        return SHAPES.1;
    }
    let mut shape = (3.0 - gap + ((gap - 3.0).powi(2) + 24.0 * gap).sqrt()) / (12.0 * gap);
    for _ in 0..4 {
        let slope = 1.0 / shape - trigamma(shape);
        shape = (shape - (shape_gap(shape) - gap) / slope).clamp(shape / 2.0, shape * 2.0);
    }
    shape.clamp(SHAPES.0, SHAPES.1)
}

/// `ln a − ψ(a)`, which falls from ∞ to 0.
fn shape_gap(shape: f64) -> f64 {
    shape.ln() - digamma(shape)
}

/// From here on the asymptotic series below are exact to 1e-12; smaller numbers are brought there by recurrence.
const LARGE: f64 = 8.0;

/// ln Γ(x) for x > 0, by Stirling's series (Abramowitz and Stegun 6.1.41): several times as quick as the general
/// function, which also knows negative numbers.
pub(crate) fn ln_gamma(mut x: f64) -> f64 {
    let mut product = 1.0;
    while x < LARGE {
        product *= x;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let rest = (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0))) / x;
    (x - 0.5) * x.ln() - x + HALF_LOG_TWO_PI + rest - product.ln()
}

const HALF_LOG_TWO_PI: f64 = 0.918_938_533_204_672_7;

/// ψ(x) for x > 0 (Abramowitz and Stegun 6.3.18).
pub(super) fn digamma(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < LARGE {
        sum += 1.0 / x;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    x.ln() - 0.5 / x - square * (1.0 / 12.0 - square * (1.0 / 120.0 - square * (1.0 / 252.0 - square / 240.0))) - sum
}

/// ψ′(x) for x > 0 (Abramowitz and Stegun 6.4.12).
fn trigamma(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < LARGE {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    sum + (1.0 + 0.5 / x + square * (1.0 / 6.0 - square * (1.0 / 30.0 - square / 42.0))) / x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shape_has_the_gap() {
        for shape in [0.06, 0.5, 1.0, 3.7, 40.0, 900.0] {
            assert!((shape_of(shape_gap(shape)) / shape - 1.0).abs() < 1e-6, "{shape}");
        }
        assert_eq!(shape_of(0.0), SHAPES.1);
        assert_eq!(shape_of(1e9), SHAPES.0);
    }

    #[test]
    fn series_are_the_functions_of_a_library() {
        use statrs::function::gamma;
        for x in [1e-3, 0.05, 0.7, 1.0, 2.0, 7.99, 8.0, 33.3, 2000.0, 1e7] {
            let close = |a: f64, b: f64| (a - b).abs() <= 1e-10 * (1.0 + b.abs());
            assert!(close(ln_gamma(x), gamma::ln_gamma(x)), "{x}: {} {}", ln_gamma(x), gamma::ln_gamma(x));
            assert!(close(digamma(x), gamma::digamma(x)), "{x}: {} {}", digamma(x), gamma::digamma(x));
        }
    }

    #[test]
    fn the_trigamma_function_is_the_slope_of_the_digamma_function() {
        for x in [0.1, 1.0, 2.5, 30.0] {
            let slope = (digamma(x + 1e-5) - digamma(x - 1e-5)) / 2e-5;
            assert!((trigamma(x) / slope - 1.0).abs() < 1e-5, "{x}");
        }
    }
}
