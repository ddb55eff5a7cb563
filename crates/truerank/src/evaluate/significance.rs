//! Whether a difference between two rankers or two methods, or a mean over seeds, is more than chance.

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

/// Runs that a test over runs and queries needs at least: of two, nobody knows the spread (its level was up to 9 % at 5 %).
pub const FEWEST_RUNS: usize = 3;

/// A mean difference with its standard error and degrees of freedom: what a t-test needs to know.
///
/// ```
/// use truerank::evaluate::DifferenceTest;
/// // Three runs (log and initial weights) of two methods: the differences of their nDCG for each of four queries.
/// let runs = [[0.1, 0.3, 0.1, 0.2], [0.1, 0.2, 0.1, 0.1], [0.1, 0.2, 0.1, 0.2]].map(Vec::from);
/// let test = DifferenceTest::of_runs_and_queries(&runs).unwrap();
/// assert!((test.difference - 1.8 / 12.0).abs() < 1e-12);
/// assert!(test.p() < 0.05 && test.p_from(test.difference) == 1.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DifferenceTest {
    /// The mean difference.
    pub difference: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Degrees of freedom of the standard error; a mixture's are no whole number.
    pub degrees: f64,
}

impl DifferenceTest {
    /// Of differences that are independent of each other: `s/√n` with n − 1 degrees of freedom. What is missing (`NaN`) is
    /// left out; nothing with fewer than two.
    pub fn of_values(differences: &[f64]) -> Option<Self> {
        let known: Vec<f64> = differences.iter().copied().filter(|difference| !difference.is_nan()).collect();
        let (difference, deviation) = mean_and_deviation(&known)?;
        let count = known.len() as f64;
        Some(DifferenceTest { difference, standard_error: deviation / count.sqrt(), degrees: count - 1.0 })
    }

    /// Of the differences of two methods, `differences[run][query]`: both runs (log, initial weights) and queries are
    /// draws, and the same queries judge every run.
    ///
    /// A difference is `μ + run + query + rest`. From the mean squares of a two-way table of R runs and Q queries, the mean's variance is
    ///
    /// ```text
    /// V = V_runs + V_queries,  V_runs = MS_runs / RQ,  V_queries = max(0, MS_queries − MS_rest) / RQ
    /// ```
    ///
    /// and its degrees of freedom are those of its parts, weighted harmonically by their shares:
    /// `1/ν = (V_runs/V) / (R−1) + (V_queries/V) / (Q−1)`. Satterthwaite's rule squares the shares and rejects too
    /// often with three runs; this one 3.6 to 6.0 % at a level of 5 %, by how much runs differ (docs/experiments.md).
    ///
    /// Queries with a missing value (`NaN`) are left out; nothing with fewer than [`FEWEST_RUNS`] runs or two queries.
    pub fn of_runs_and_queries(differences: &[Vec<f64>]) -> Option<Self> {
        let table = TwoWay::new(differences)?;
        let (runs, queries) = (table.of_runs(), table.of_queries());
        let variance = runs + queries;
        let [fewer, more] = [table.runs, table.queries].map(|count| count as f64 - 1.0);
        let degrees = if variance > 0.0 { variance / (runs / fewer + queries / more) } else { fewer };
        Some(DifferenceTest { difference: table.mean, standard_error: variance.sqrt(), degrees })
    }

    /// The probability of a difference at least this far from 0 by chance.
    pub fn p(&self) -> f64 {
        self.p_from(0.0)
    }

    /// The probability of a difference at least this far from `boundary`, were the true one `boundary`. Without any spread it is
    /// 1 at the boundary and 0 elsewhere.
    pub fn p_from(&self, boundary: f64) -> f64 {
        let distance = (self.difference - boundary).abs();
        match distance == 0.0 {
            true => 1.0,
            false if self.standard_error == 0.0 => 0.0,
            false => 2.0 * self.distribution().cdf(-distance / self.standard_error),
        }
    }

    /// Half the width of the 95 % interval.
    pub fn half_width(&self) -> f64 {
        self.distribution().inverse_cdf(0.975) * self.standard_error
    }

    fn distribution(&self) -> StudentsT {
        StudentsT::new(0.0, 1.0, self.degrees).expect("more than no degrees of freedom")
    }
}

/// The sums of squares of a table of runs and queries, one value each.
struct TwoWay {
    runs: usize,
    queries: usize,
    mean: f64,
    /// The mean squares of runs, of queries, and of what neither explains.
    of_run: f64,
    of_query: f64,
    rest: f64,
}

impl TwoWay {
    fn new(values: &[Vec<f64>]) -> Option<Self> {
        let length = values.iter().map(Vec::len).min()?;
        let known: Vec<usize> = (0..length).filter(|&query| values.iter().all(|run| !run[query].is_nan())).collect();
        let (runs, queries) = (values.len(), known.len());
        if runs < FEWEST_RUNS || queries < 2 {
            return None;
        }
        let run_means: Vec<f64> = values.iter().map(|run| mean_of(known.iter().map(|&query| run[query]))).collect();
        let query_means: Vec<f64> = known.iter().map(|&query| mean_of(values.iter().map(|run| run[query]))).collect();
        let mean = mean_of(run_means.iter().copied());
        let rest: f64 = values
            .iter()
            .zip(&run_means)
            .map(|(run, run_mean)| {
                let residual =
                    |(&query, query_mean): (&usize, &f64)| (run[query] - run_mean - query_mean + mean).powi(2);
                known.iter().zip(&query_means).map(residual).sum::<f64>()
            })
            .sum();
        let squares = |means: &[f64]| means.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        let [fewer, more] = [runs, queries].map(|count| count as f64 - 1.0);
        Some(TwoWay {
            runs,
            queries,
            mean,
            of_run: queries as f64 * squares(&run_means) / fewer,
            of_query: runs as f64 * squares(&query_means) / more,
            rest: rest / (fewer * more),
        })
    }

    /// What runs, and the rest, add to the variance of the mean.
    fn of_runs(&self) -> f64 {
        self.of_run / (self.runs * self.queries) as f64
    }

    /// What queries add.
    fn of_queries(&self) -> f64 {
        (self.of_query - self.rest).max(0.0) / (self.runs * self.queries) as f64
    }
}

fn mean_of(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
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
    use rand::Rng;
    use rand_distr::{Distribution, StandardNormal};

    use super::*;
    use crate::random;

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

    /// Differences of one comparison without any true difference: deviations of runs, queries and rest are given.
    fn null_table(runs: usize, queries: usize, [run, query, rest]: [f64; 3], rng: &mut impl Rng) -> Vec<Vec<f64>> {
        let mut draw = |deviation: f64| deviation * Distribution::<f64>::sample(&StandardNormal, rng);
        let of_query: Vec<f64> = (0..queries).map(|_| draw(query)).collect();
        let of_run = |_| {
            let shift = draw(run);
            of_query.iter().map(|effect| shift + effect + draw(rest)).collect()
        };
        (0..runs).map(of_run).collect()
    }

    /// The share of `p < .05` in 2,000 comparisons without a difference: of this test, and of one over queries alone.
    fn levels(runs: usize, deviations: [f64; 3]) -> [f64; 2] {
        const TIMES: u64 = 2000;
        let mut rejected = [0.0; 2];
        for time in 0..TIMES {
            let table = null_table(runs, 40, deviations, &mut random::stream(1, "null", time));
            let averaged: Vec<f64> = (0..40).map(|query| mean_of(table.iter().map(|run| run[query]))).collect();
            let tests = [DifferenceTest::of_runs_and_queries(&table), DifferenceTest::of_values(&averaged)];
            for (count, test) in rejected.iter_mut().zip(tests) {
                *count += f64::from(u8::from(test.unwrap().p() < 0.05));
            }
        }
        rejected.map(|count| count / TIMES as f64)
    }

    #[test]
    fn five_of_a_hundred_equal_methods_seem_to_differ() {
        // The standard error of a share of .05 in 2,000 is .005: a test of level .036 to .060 stays within .025 and .070.
        for runs in [3, 5, 10] {
            for deviations in [[0.2, 0.0, 1.0], [0.2, 1.0, 1.0], [0.5, 1.0, 0.3], [0.0, 1.0, 0.5], [0.05, 0.0, 1.0]] {
                let [found, _] = levels(runs, deviations);
                assert!((0.025..=0.070).contains(&found), "{runs} runs, {deviations:?}: {found}");
            }
        }
        // What queries alone would say of runs that differ by chance.
        let [_, over_queries] = levels(3, [0.2, 0.0, 1.0]);
        assert!(over_queries > 0.15, "{over_queries}");
    }

    #[test]
    fn a_test_over_runs_and_queries_by_hand() {
        // Means of runs 1, 2, 3, of queries 1.5 and 2.5, no rest: MS_runs = 2·2/2, MS_queries = 3·.5, so V = (2 + 1.5) / 6.
        let table = [[0.5, 1.5], [1.5, 2.5], [2.5, 3.5]].map(Vec::from);
        let test = DifferenceTest::of_runs_and_queries(&table).unwrap();
        assert!((test.difference - 2.0).abs() < 1e-12);
        assert!((test.standard_error.powi(2) - 3.5 / 6.0).abs() < 1e-12);
        let shares = [2.0 / 3.5, 1.5 / 3.5];
        assert!((1.0 / test.degrees - (shares[0] / 2.0 + shares[1] / 1.0)).abs() < 1e-12);
        // Runs that agree on every query leave queries alone, and queries that are alike leave runs alone.
        let same =
            DifferenceTest::of_runs_and_queries(&[vec![1.0, 2.0, 4.0], vec![1.0, 2.0, 4.0], vec![1.0, 2.0, 4.0]]);
        let (same, queries) = (same.unwrap(), DifferenceTest::of_values(&[1.0, 2.0, 4.0]).unwrap());
        assert!((same.p() - queries.p()).abs() < 1e-9 && (same.degrees - 2.0).abs() < 1e-9);
        let alike = DifferenceTest::of_runs_and_queries(&[vec![1.0; 9], vec![2.0; 9], vec![4.0; 9]]).unwrap();
        assert!((alike.p() - queries.p()).abs() < 1e-9);
    }

    #[test]
    fn differences_are_tested_from_any_boundary() {
        let test = DifferenceTest::of_values(&[1.0, 2.0, 3.0]).unwrap();
        let t_test = paired_t_test(&[2.0, 4.0, 6.0], &[1.0, 2.0, 3.0]).unwrap();
        assert!((test.p() - t_test.p).abs() < 1e-12);
        let moved = DifferenceTest::of_values(&[1.5, 2.5, 3.5]).unwrap();
        assert!((moved.p_from(0.5) - test.p()).abs() < 1e-12);
        assert!((test.half_width() - mean_interval(&[1.0, 2.0, 3.0]).unwrap().half_width).abs() < 1e-9);
        let certain = DifferenceTest::of_values(&[1.0, 1.0]).unwrap();
        assert_eq!((certain.p(), certain.p_from(1.0)), (0.0, 1.0));
    }

    #[test]
    fn what_cannot_be_tested_is_not() {
        let row = || vec![0.1, 0.2, 0.3];
        assert!(DifferenceTest::of_runs_and_queries(&[row(), row()]).is_none(), "two runs");
        assert!(DifferenceTest::of_runs_and_queries(&[vec![0.1], vec![0.2], vec![0.3]]).is_none(), "one query");
        assert!(DifferenceTest::of_runs_and_queries(&[]).is_none());
        let missing = DifferenceTest::of_runs_and_queries(&[row(), vec![0.2, f64::NAN, 0.1], row()]).unwrap();
        let without = DifferenceTest::of_runs_and_queries(&[vec![0.1, 0.3], vec![0.2, 0.1], vec![0.1, 0.3]]).unwrap();
        assert_eq!(missing, without);
    }
}
