//! Counts that fade follow what people do now: examination and relevance of thinned counts against the truth of the last days.

use std::path::PathBuf;

use truerank::counts::{Counts, MergeOptions};
use truerank::data::{Dataset, Generator, Preset};
use truerank::progress::Silent;
use truerank::propensity::{Propensities, RegressionEm, RelevanceForm};
use truerank::relevance::{Estimation, Estimator};
use truerank::simulate::{ShownLists, Simulation};

/// Counts of a day on which people look down to `depth`, and the θ behind them.
fn day(data: &Dataset, lists: &[ShownLists], eta: f64, seed: u64) -> (Counts, Propensities) {
    let simulation = Simulation::new().sessions(40_000).swap(0.5).etas(vec![eta; 5]).seed(seed);
    let simulator = simulation.prepare(data, lists).unwrap();
    (simulator.counts().unwrap(), simulator.propensities())
}

#[test]
fn examination_and_relevance_of_recent_days_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let data = Generator::preset(Preset::Tiny).queries(60, 1, 1).generate().unwrap().train;
    let scores: Vec<f32> = (0..data.len()).map(|row| (row * 7919 % 1009) as f32).collect();
    let lists = [ShownLists::top(&data, &scores, 10).unwrap()];
    // Six days on which people look deep, then four on which they do not.
    let (mut folders, mut truth) = (Vec::new(), Propensities::default());
    for number in 0..10u64 {
        let path: PathBuf = folder.path().join(number.to_string());
        let counts;
        (counts, truth) = day(&data, &lists, if number < 6 { 0.3 } else { 1.2 }, number);
        counts.write(&path).unwrap();
        folders.push(path);
    }
    let merged = |options: MergeOptions, name: &str| {
        let path = folder.path().join(name);
        options.merge(&folders, &path, &Silent).unwrap();
        Counts::read(&path).unwrap()
    };
    let all = merged(MergeOptions::new(), "all");
    let recent = merged(MergeOptions::new().half_life(0.5), "recent");
    let found = |counts: &Counts| {
        let em = RegressionEm::new().relevance(RelevanceForm::Table).resamples(0);
        em.estimate(counts, None, &Silent).unwrap().propensities
    };
    // Ratios to position 1, on which scales agree.
    let error = |found: &Propensities| {
        let ratio = |of: &Propensities, at: usize| of.population[at] / of.population[0];
        (1..10).map(|at| (ratio(found, at) / ratio(&truth, at) - 1.0).abs()).sum::<f64>() / 9.0
    };
    let (of_all, of_recent) = (found(&all), found(&recent));
    // Of days before the change 2^-8 and less is left, .4 % of all: at position 10, where they have eight times the θ, that is 3 %.
    assert!(error(&of_recent) < 0.12, "{}", error(&of_recent));
    assert!(error(&of_all) > 0.5, "{}", error(&of_all));
    // With the recent θ, thinned counts give relevance without the bias that all counts have.
    let mean = |counts: &Counts| {
        let weights = Estimation::new(Estimator::IpsPbm).estimate(counts, &truth).unwrap().weights;
        weights.iter().map(|weight| weight.weight).sum::<f64>() / weights.len() as f64
    };
    let (last, _) = day(&data, &lists, 1.2, 99);
    let (expected, with_recent, with_all) = (mean(&last), mean(&recent), mean(&all));
    assert!((with_recent / expected - 1.0).abs() < 0.1, "{with_recent} instead of {expected}");
    assert!((with_all / expected - 1.0).abs() > 0.3, "{with_all} instead of {expected}");
}
