//! One table out of several seeds, with marks where a difference is more than chance.

use super::{Method, MethodResult, TableResult};
use crate::evaluate::{Interval, Measure, TTest, mean_interval, paired_t_test};

/// A difference counts as more than chance below this p-value, as in the paper.
pub const SIGNIFICANCE: f64 = 0.05;

/// A method's row over all seeds.
#[derive(Debug, Clone)]
pub struct SummaryRow {
    /// The method.
    pub method: Method,
    /// One entry per measure, in the order of [`Measure::paper`].
    pub measures: Vec<SummaryCell>,
    /// The mean squared error of the relevance estimates, where the method estimates them.
    pub mse: Option<SummaryCell>,
    /// The strength of smoothing, averaged over seeds, where the method smooths.
    pub beta: Option<f64>,
}

/// A number of the table.
#[derive(Debug, Clone, Copy)]
pub struct SummaryCell {
    /// The mean over queries (or documents) and seeds.
    pub mean: f64,
    /// The mean over seeds with its 95 % interval, where there are several.
    pub interval: Option<Interval>,
    /// The paired t-test against the reference method; `None` for the reference itself.
    pub test: Option<TTest>,
    /// Whether larger is better.
    pub larger_is_better: bool,
}

impl SummaryCell {
    /// `+` if significantly better than the reference, `-` if significantly worse.
    pub fn mark(&self) -> Option<char> {
        let test = self.test.filter(|test| test.p < SIGNIFICANCE)?;
        Some(if (test.difference > 0.0) == self.larger_is_better { '+' } else { '-' })
    }
}

/// Summarises the same table run with several seeds; tests compare with `reference`.
///
/// Values of a test query are averaged over seeds before they are compared query by query. Squared errors are compared
/// document by document within each seed, all seeds together.
pub fn summarise(results: &[TableResult], reference: Method) -> Vec<SummaryRow> {
    let of = |method: Method| -> Vec<&MethodResult> {
        results.iter().flat_map(|result| result.rows.iter().filter(move |row| row.method == method)).collect()
    };
    let reference_runs = of(reference);
    let methods = results.first().map(|result| result.rows.iter().map(|row| row.method)).into_iter().flatten();
    methods
        .map(|method| {
            let runs = of(method);
            let compared = (method != reference).then_some(reference_runs.as_slice());
            SummaryRow {
                method,
                measures: Measure::paper().into_iter().map(|m| measure_cell(m, &runs, compared)).collect(),
                mse: mse_cell(&runs, compared),
                beta: runs.iter().map(|run| run.beta).sum::<Option<f64>>().map(|sum| sum / runs.len() as f64),
            }
        })
        .collect()
}

fn measure_cell(measure: Measure, runs: &[&MethodResult], reference: Option<&[&MethodResult]>) -> SummaryCell {
    let mean_of = |run: &&MethodResult| run.evaluation.mean(measure).unwrap_or(f64::NAN);
    let means: Vec<f64> = runs.iter().map(mean_of).collect();
    SummaryCell {
        mean: means.iter().sum::<f64>() / means.len() as f64,
        interval: mean_interval(&means),
        test: reference.and_then(|r| paired_t_test(&query_means(measure, runs), &query_means(measure, r))),
        larger_is_better: measure.larger_is_better(),
    }
}

/// Each query's value, averaged over runs.
fn query_means(measure: Measure, runs: &[&MethodResult]) -> Vec<f64> {
    let mut sums: Vec<f64> = Vec::new();
    for run in runs {
        let values = run.evaluation.per_query(measure).unwrap_or_default();
        sums.resize(values.len(), 0.0);
        sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value / runs.len() as f64);
    }
    sums
}

fn mse_cell(runs: &[&MethodResult], reference: Option<&[&MethodResult]>) -> Option<SummaryCell> {
    let all = |runs: &[&MethodResult]| -> Option<Vec<f64>> {
        let errors: Option<Vec<&Vec<f64>>> = runs.iter().map(|run| run.squared_errors.as_ref()).collect();
        errors.map(|errors| errors.into_iter().flatten().copied().collect())
    };
    let errors = all(runs)?;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let means: Vec<f64> = runs.iter().filter_map(|run| run.squared_errors.as_deref().map(mean)).collect();
    Some(SummaryCell {
        mean: mean(&errors),
        interval: mean_interval(&means),
        test: reference.and_then(all).and_then(|reference| paired_t_test(&errors, &reference)),
        larger_is_better: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::Evaluation;
    use crate::ranker::TrainingRecord;
    use crate::relevance::Estimator;

    fn run(method: Method, values: &[f64], errors: &[f64]) -> MethodResult {
        let measures = Measure::paper();
        let evaluation = Evaluation { values: vec![values.to_vec(); measures.len()], measures };
        let squared_errors = (!errors.is_empty()).then(|| errors.to_vec());
        MethodResult { method, evaluation, squared_errors, beta: None, record: TrainingRecord::default() }
    }

    #[test]
    fn marks_say_better_or_worse_than_the_reference() {
        let reference = Method::Estimated(Estimator::UserAware);
        let naive = Method::Estimated(Estimator::Naive);
        let result = |shift: f64| TableResult {
            rows: vec![
                run(naive, &[0.1, 0.21, 0.3 + shift], &[0.5, 0.61, 0.7]),
                run(reference, &[0.3, 0.4, 0.5], &[0.1, 0.2, 0.3]),
                run(Method::Ideal, &[0.3, 0.4, 0.5], &[]),
            ],
            sessions: 1,
            click_rates: Vec::new(),
            propensity_errors: Vec::new(),
        };
        let rows = summarise(&[result(0.0), result(0.02)], reference);
        assert_eq!(rows.iter().map(|row| row.measures[0].mark()).collect::<Vec<_>>(), [Some('-'), None, None]);
        assert_eq!(rows[0].mse.unwrap().mark(), Some('-'));
        assert!(rows[1].mse.unwrap().test.is_none() && rows[2].mse.is_none());
        assert!((rows[0].measures[0].mean - (0.1 + 0.21 + 0.31) / 3.0).abs() < 1e-12);
        assert!(rows[0].measures[0].interval.unwrap().half_width > 0.0);
    }
}
