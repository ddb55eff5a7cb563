//! Denominators, checked on simulated logs: fixed lists give the paper's formulas, moved documents get their own.

use super::{Estimator, Relevance, Smoothing, estimate};
use crate::counts::{CountOptions, Counts, by_document, count_log};
use crate::data::{Dataset, Generator, Preset};
use crate::propensity::{Examination, Propensities};
use crate::simulate::{ShownLists, Simulation, Simulator};

fn data() -> Dataset {
    Generator::preset(Preset::Tiny).generate().unwrap().train
}

fn with_log<T>(simulation: Simulation, data: &Dataset, work: impl Fn(&Simulator<'_>, Counts) -> T) -> T {
    let lists = [ShownLists::top(data, &vec![0.0; data.len()], 10).unwrap()];
    let simulator = simulation.prepare(data, &lists).unwrap();
    let counts = count_log(&simulator.log(), &CountOptions::new()).unwrap().0;
    work(&simulator, counts)
}

/// The weights of the paper's estimators and of the smoothed one, which divide by n(q): right where every session of a query shows the same list.
fn by_sessions(counts: &Counts, propensities: &Propensities, estimator: Estimator, beta: f64) -> Vec<f64> {
    let (examination, sessions) = (Examination::new(propensities, counts).unwrap(), counts.sessions_per_query());
    let of_document = |cells: &[crate::counts::Cell]| {
        let n = sessions[cells[0].query as usize] as f64;
        let sum = |value: &dyn Fn(f64, f64, f64, f64) -> f64| -> f64 {
            let terms = cells.iter().map(|cell| {
                let (theta, average) =
                    (examination.of(cell.user, cell.position), examination.average_at(cell.position));
                value(cell.impressions as f64, cell.clicks as f64, theta, average)
            });
            terms.sum()
        };
        let clicks = sum(&|_, c, _, _| c);
        match estimator {
            Estimator::Naive => clicks / n,
            Estimator::IpsPbm => sum(&|_, c, _, average| c / average) / n,
            Estimator::Straightforward => sum(&|_, c, theta, _| c / theta) / n,
            Estimator::UserAware => clicks / sum(&|shown, _, theta, _| shown * theta),
            _ => {
                let (exposure, average) = (sum(&|n, _, theta, _| n * theta), sum(&|n, _, _, average| n * average));
                clicks / ((n * exposure + beta * average) / (n + beta))
            }
        }
    };
    by_document(&counts.cells).map(of_document).collect()
}

#[test]
fn on_fixed_lists_weights_are_those_of_the_paper() {
    with_log(Simulation::new().sessions(20_000), &data(), |simulator, counts| {
        let propensities = simulator.propensities();
        let user_aware = [Estimator::UserAware, Estimator::UserAwareSmoothed(Smoothing::LeastError)];
        let others = [Estimator::Naive, Estimator::IpsPbm, Estimator::Straightforward];
        for estimator in others.into_iter().chain(user_aware) {
            let found = estimate(&counts, &propensities, estimator).unwrap();
            let expected = by_sessions(&counts, &propensities, estimator, found.beta.unwrap_or(0.0));
            assert_eq!(found.weights.len(), expected.len());
            for (weight, expected) in found.weights.iter().zip(expected) {
                assert!((weight.weight - expected).abs() <= 1e-12 * (1.0 + expected), "{estimator}: {weight:?}");
            }
        }
    });
}

/// The mean of ŷ − γ and of its square over documents that were shown in less than half of their query's sessions.
fn errors_of_rare(counts: &Counts, relevance: &Relevance, data: &Dataset, truth: &[f64]) -> (f64, f64) {
    let (sessions, rows) = (counts.sessions_per_query(), relevance.rows_in(data));
    let rare = relevance.weights.iter().zip(rows);
    let rare = rare.filter(|(w, _)| w.impressions * 2 < sessions[w.query as usize]);
    let errors: Vec<f64> = rare.map(|(w, row)| w.weight - truth[row.unwrap() as usize]).collect();
    assert!(errors.len() > 200, "too few documents to say anything: {}", errors.len());
    let mean = |value: fn(&f64) -> f64| errors.iter().map(value).sum::<f64>() / errors.len() as f64;
    (mean(|error| *error), mean(|error| error * error))
}

/// Two rankers whose lists of 5 overlap in part, so that most documents are missing from some sessions.
fn varying(seed: u64, work: impl Fn(&Simulator<'_>, Counts, &Dataset)) {
    let data = data();
    let scores = |feature: usize| (0..data.len()).map(|row| data.row(row)[feature]).collect::<Vec<f32>>();
    let lists = [0, 0, 1].map(|feature| ShownLists::top(&data, &scores(feature), 5).unwrap());
    let simulation = Simulation::new().sessions(20_000).seed(seed).shuffle(0.3).shared_queries(true);
    let simulator = simulation.prepare(&data, &lists).unwrap();
    let counts = count_log(&simulator.log(), &CountOptions::new()).unwrap().0;
    work(&simulator, counts, &data);
}

#[test]
fn rarely_shown_documents_are_not_taken_for_irrelevant() {
    varying(1, |simulator, counts, data| {
        let truth = simulator.relevance();
        for estimator in [Estimator::IpsPbm, Estimator::Straightforward, Estimator::UserAware] {
            let found = estimate(&counts, &simulator.propensities(), estimator).unwrap();
            let (bias, _) = errors_of_rare(&counts, &found, data, truth);
            assert!(bias.abs() < 0.03, "{estimator}: {bias}");
        }
    });
}

#[test]
fn clicks_over_average_exposure_err_less_than_the_mean_of_weighted_clicks() {
    varying(2, |simulator, counts, data| {
        let shared = Propensities { users: Default::default(), by_user: Vec::new(), ..simulator.propensities() };
        // With one θ for all, `straightforward` is the mean of c/θ̄ over impressions.
        let [ratio, mean] = [Estimator::IpsPbm, Estimator::Straightforward].map(|estimator| {
            let found = estimate(&counts, &shared, estimator).unwrap();
            errors_of_rare(&counts, &found, data, simulator.relevance()).1
        });
        assert!(ratio < 0.95 * mean, "{ratio} and {mean}");
    });
}

#[test]
fn smoothing_ends_at_ips_pbm_wherever_documents_are_shown() {
    varying(3, |simulator, counts, _| {
        let of = |estimator| estimate(&counts, &simulator.propensities(), estimator).unwrap().weights;
        let smoothed = of(Estimator::UserAwareSmoothed(Smoothing::Fixed(1e14)));
        for (smoothed, ips) in smoothed.iter().zip(of(Estimator::IpsPbm)) {
            assert!((smoothed.weight - ips.weight).abs() <= 1e-9 * (1.0 + ips.weight), "{smoothed:?}, {ips:?}");
        }
    });
}
