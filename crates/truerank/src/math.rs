//! Small formulas that several stages share.

/// `1 / log2(rank + 1)` for ranks counted from 1: how much of a gain at that rank counts in DCG.
pub fn discount(rank: usize) -> f64 {
    1.0 / ((rank + 1) as f64).log2()
}

/// The order of documents by score, best first; equal scores keep the order of the input.
pub fn rank<S: Score>(scores: &[S]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    // Adding 0 makes −0 equal to 0, so that the two tie.
    let value = |index: usize| scores[index].into() + 0.0;
    order.sort_by(|&a, &b| value(b).total_cmp(&value(a)));
    order
}

/// What documents are ranked by: numbers of single or of double precision.
pub trait Score: Copy + Into<f64> + std::fmt::Display + Send + Sync {}

impl Score for f32 {}
impl Score for f64 {}

/// The value below which `share` of the sorted values lie, linear between neighbours.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (below, rest) = (place.floor() as usize, place.fract());
    let above = sorted[(below + 1).min(sorted.len() - 1)];
    // As it stands, not as a sum: equal neighbours give their value to the last bit.
    if rest == 0.0 { sorted[below] } else { sorted[below] + rest * (above - sorted[below]) }
}

/// The `x` between `low` and `high` where `f` is smallest, found on a grid and then by golden section.
///
/// Exact to `tolerance` where `f` has one valley around the best grid point.
pub fn minimize(low: f64, high: f64, grid: usize, tolerance: f64, f: impl Fn(f64) -> f64) -> f64 {
    let step = (high - low) / grid as f64;
    let best = (0..=grid)
        .map(|i| low + step * i as f64)
        .map(|x| (x, f(x)))
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .map_or(low, |(x, _)| x);
    golden_section((best - step).max(low), (best + step).min(high), tolerance, f)
}

fn golden_section(mut low: f64, mut high: f64, tolerance: f64, f: impl Fn(f64) -> f64) -> f64 {
    let ratio = (5f64.sqrt() - 1.0) / 2.0;
    let (mut left, mut right) = (high - ratio * (high - low), low + ratio * (high - low));
    let (mut at_left, mut at_right) = (f(left), f(right));
    while high - low > tolerance {
        if at_left <= at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - ratio * (high - low);
            at_left = f(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + ratio * (high - low);
            at_right = f(right);
        }
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_scores_keep_the_order_of_the_input() {
        assert_eq!(rank(&[1.0_f32, 2.0, 1.0, 2.0]), [1, 3, 0, 2]);
        assert_eq!(rank(&[-0.0, 0.0, 1.0]), [2, 0, 1]);
        assert_eq!(rank(&[1.0, 1.0 + f64::EPSILON]), [1, 0]);
    }

    #[test]
    fn quantiles_lie_between_neighbours() {
        let values = [1.0, 2.0, 4.0];
        let shares = [0.0, 0.25, 0.5, 0.75, 1.0];
        assert_eq!(shares.map(|share| quantile(&values, share)), [1.0, 1.5, 2.0, 3.0, 4.0]);
        assert_eq!(quantile(&[7.0], 0.3), 7.0);
    }

    #[test]
    fn the_lowest_point_is_found_inside_and_at_the_ends() {
        assert!((minimize(-5.0, 5.0, 10, 1e-6, |x| (x - 1.234) * (x - 1.234)) - 1.234).abs() < 1e-5);
        assert!((minimize(-5.0, 5.0, 10, 1e-6, |x| x) + 5.0).abs() < 1e-5);
        assert!((minimize(-5.0, 5.0, 10, 1e-6, |x| -x) - 5.0).abs() < 1e-5);
    }
}
