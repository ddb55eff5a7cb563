//! One scale for all estimates: clicks show only products of examination and relevance, so a convention decides.

/// The convention, as files state it.
pub(crate) const SCALE: &str = "relative: the largest of the population's θ̄(k) is 1";

/// Where the largest value is; the first of equals.
pub(crate) fn largest(values: &[f64]) -> usize {
    (1..values.len()).fold(0, |best, index| if values[index] > values[best] { index } else { best })
}

/// Divides all values by that at `reference`.
pub(crate) fn rescale(values: &mut [f64], reference: usize) {
    let factor = values[reference];
    values.iter_mut().for_each(|value| *value /= factor);
    // So that rounding cannot leave it beside 1.
    values[reference] = 1.0;
}

/// θ̄(k) = Σ_u P(u)·θ(u,k), with P(u) the user's share of all `sessions`.
pub(crate) fn average(by_user: &[f64], positions: usize, sessions: &[f64]) -> Vec<f64> {
    let total: f64 = sessions.iter().sum();
    let mut average = vec![0.0; positions];
    for (of_user, sessions) in by_user.chunks_exact(positions).zip(sessions) {
        average.iter_mut().zip(of_user).for_each(|(sum, theta)| *sum += sessions / total * theta);
    }
    average
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_average_becomes_one() {
        let mut values = average(&[0.2, 0.4, 0.6, 0.0], 2, &[3.0, 1.0]);
        let expected = [(3.0 * 0.2 + 0.6) / 4.0, 3.0 * 0.4 / 4.0];
        assert!(values.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-15));
        assert_eq!(largest(&values), 0);
        rescale(&mut values, 0);
        assert_eq!(values[0], 1.0);
        assert!((values[1] - expected[1] / expected[0]).abs() < 1e-15);
        assert_eq!(largest(&[0.5, 0.5]), 0);
    }
}
