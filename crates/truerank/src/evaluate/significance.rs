//! Whether a difference between two rankers, or a mean over seeds, is more than chance.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// A paired two-sided t-test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TTest {
    /// Mean of the differences, first minus second.
    pub difference: f64,
    /// Student's t.
    pub t: f64,
    /// Degrees of freedom: pairs less one.
    pub degrees: usize,
    /// The probability of a difference at least this large by chance.
    pub p: f64,
}

/// Tests whether `a` and `b`, paired by index, differ in mean: `t = mean(a−b) / (s/√n)`.
///
/// Pairs in which one value is missing (`NaN`) are left out. With fewer than two pairs there is no test. Where all
/// differences are equal, `p` is 1 if they are zero and 0 otherwise.
pub fn paired_t_test(a: &[f64], b: &[f64]) -> Option<TTest> {
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).filter(|d| !d.is_nan()).collect();
    let (mean, deviation) = mean_and_deviation(&differences)?;
    let degrees = differences.len() - 1;
    let t = if mean == 0.0 { 0.0 } else { mean / (deviation / (differences.len() as f64).sqrt()) };
    let p = if t.is_infinite() { 0.0 } else { 2.0 * students_t(degrees).cdf(-t.abs()) };
    Some(TTest { difference: mean, t, degrees, p })
}

/// A mean and how far it may be from the truth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// Half the width of the 95 % interval, `t(.975, n−1) · s/√n`.
    pub half_width: f64,
}

/// The mean of `values`, for instance of one measure over several seeds, with its 95 % interval.
/// `None` with fewer than two values.
pub fn mean_interval(values: &[f64]) -> Option<Interval> {
    let (mean, deviation) = mean_and_deviation(values)?;
    let quantile = students_t(values.len() - 1).inverse_cdf(0.975);
    Some(Interval { mean, half_width: quantile * deviation / (values.len() as f64).sqrt() })
}

fn students_t(degrees: usize) -> StudentsT {
    StudentsT::new(0.0, 1.0, degrees as f64).expect("at least one degree of freedom")
}

/// Mean and sample standard deviation.
fn mean_and_deviation(values: &[f64]) -> Option<(f64, f64)> {
    if values.len() < 2 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    Some((mean, (squares / (values.len() - 1) as f64).sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t_test_of_a_textbook_case() {
        // Differences 1, 2, 3: mean 2, s = 1, t = 2√3 with 2 degrees of freedom, where
        // P(|T| > t) = 1 − t/√(2+t²) has a closed form.
        let test = paired_t_test(&[2.0, 4.0, 6.0], &[1.0, 2.0, 3.0]).unwrap();
        let t = 2.0 * 3f64.sqrt();
        assert!((test.t - t).abs() < 1e-12);
        assert!((test.p - (1.0 - t / (2.0 + t * t).sqrt())).abs() < 1e-9, "{}", test.p);
        assert_eq!(test.degrees, 2);
    }

    #[test]
    fn equal_columns_do_not_differ() {
        assert_eq!(paired_t_test(&[1.0, 2.0], &[1.0, 2.0]).unwrap().p, 1.0);
        assert_eq!(paired_t_test(&[2.0, 3.0], &[1.0, 2.0]).unwrap().p, 0.0);
        assert_eq!(paired_t_test(&[1.0, f64::NAN], &[1.0, 2.0]), None);
    }

    #[test]
    fn interval_of_two_values() {
        // With one degree of freedom the .975 quantile is tan(.475π); mean ½, s = 1/√2, s/√2 = ½.
        let interval = mean_interval(&[0.0, 1.0]).unwrap();
        assert_eq!(interval.mean, 0.5);
        let expected = (0.475 * std::f64::consts::PI).tan() / 2.0;
        assert!((interval.half_width - expected).abs() < 1e-6, "{}", interval.half_width);
    }
}
