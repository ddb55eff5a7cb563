//! Weights are the same bytes wherever counts are kept, on any number of threads.

use super::{
    Estimation, Estimator, Exposures, KnownLog, Prior, RelevancePredictor, Shrink, Smoothing, expected_errors,
};
use crate::counts::{CountOptions, Counts, CountsView, assert_same, count_log, everywhere};
use crate::data::{Dataset, Generator, Preset};
use crate::progress::Silent;
use crate::propensity::Propensities;
use crate::simulate::{ShownLists, Simulation};

/// A log of several blocks.
fn log() -> (Dataset, Counts, Propensities) {
    let data = Generator::preset(Preset::Tiny).generate().unwrap().train;
    let lists = [ShownLists::top(&data, &vec![0.0; data.len()], 10).unwrap()];
    let simulator = Simulation::new().sessions(4000).shuffle(0.3).prepare(&data, &lists).unwrap();
    let (counts, _) = count_log(&simulator.log(), &CountOptions::new()).unwrap();
    let propensities = simulator.propensities();
    assert!(counts.blocks().len() > 10);
    (data, counts, propensities)
}

/// Every estimator, every way to choose β, every prior with a clip and shrinkage.
fn estimations(counts: &dyn CountsView, propensities: &Propensities, data: &Dataset) -> Vec<Estimation> {
    let predicted =
        RelevancePredictor::new().predict(&KnownLog::examined(counts, Some(data), propensities), &Silent).unwrap();
    let priors = [Prior::None, Prior::Mean, Prior::Position, Prior::Model(predicted)];
    let likely = Estimator::UserAwareSmoothed(Smoothing::Likelihood);
    let plain = Estimator::all().into_iter().chain([likely]).map(Estimation::new);
    let corrected = priors.into_iter().flat_map(|prior| {
        let aware = Estimation::new(Estimator::UserAware).prior(prior.clone()).clip(Some(0.2));
        let smoothed = Estimation::new(Estimator::UserAwareSmoothed(Smoothing::LeastError)).prior(prior);
        [aware.clone(), aware.shrink(Shrink::Fixed(2.0)), smoothed.shrink(Shrink::Auto)]
    });
    plain.chain(corrected).collect()
}

#[test]
fn weights_diagnostics_and_expected_errors_do_not_depend_on_where_counts_are() {
    let (data, counts, propensities) = log();
    let found = everywhere(&counts, |counts| {
        let exposures = Exposures::new(counts, &propensities).unwrap();
        let all: Vec<_> = estimations(counts, &propensities, &data)
            .iter()
            .map(|estimation| {
                let weighing = estimation.weigh(&exposures).unwrap();
                (weighing.relevance().unwrap(), weighing.diagnostics().unwrap(), weighing.click_weights().unwrap())
            })
            .collect();
        (all, expected_errors(&exposures, &Estimator::all()).unwrap())
    });
    assert_eq!(found[0].0.len(), Estimator::all().len() + 1 + 12);
    assert_same(&found);
}

#[test]
fn impossible_clicks_are_told_alike() {
    let (_, counts, mut propensities) = log();
    let positions = propensities.positions();
    (0..propensities.users.len()).for_each(|user| propensities.by_user[user * positions + 3] = 0.0);
    let refused = |counts: &dyn CountsView| {
        let estimated = Estimation::new(Estimator::Straightforward).estimate(counts, &propensities);
        estimated.unwrap_err().to_string()
    };
    let found = everywhere(&counts, refused);
    assert!(found[0].contains("at position 4, but its examination there is 0"), "{}", found[0]);
    assert_same(&found);
    propensities.population.truncate(5);
    propensities.by_user.clear();
    propensities.users = Default::default();
    let refused = |counts: &dyn CountsView| Exposures::new(counts, &propensities).err().unwrap().to_string();
    let found = everywhere(&counts, refused);
    assert!(found[0].contains("but the propensities end at position 5"), "{}", found[0]);
    assert_same(&found);
}
