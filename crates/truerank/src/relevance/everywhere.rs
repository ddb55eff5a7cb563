//! Weights are the same bytes wherever counts are kept, on any number of threads.

use super::{
    CellSums, Estimation, Estimator, Exposures, KnownLog, PairSums, Prior, Relevance, RelevancePredictor, Shrink,
    Smoothing, SummedExposures, expected_errors,
};
use crate::counts::{Cell, CountOptions, Counts, CountsView, assert_same, by_document, count_log, everywhere};
use crate::data::{Dataset, Generator, Preset};
use crate::progress::Silent;
use crate::propensity::{Examination, Propensities};
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

/// Exposures from the sums of cells alone, each sum by its definition.
fn summed(counts: &Counts, propensities: &Propensities) -> Exposures<'static> {
    let examination = Examination::new(propensities, counts).unwrap();
    let theta = |cell: &Cell| examination.of(cell.user, cell.position);
    let sum = |cells: &[Cell], value: &dyn Fn(&Cell) -> f64| cells.iter().map(value).sum::<f64>();
    let shown = |cell: &Cell| cell.impressions as f64;
    let shared = |cells: &[Cell]| PairSums {
        query: cells[0].query,
        doc: cells[0].doc,
        impressions: cells.iter().map(|cell| cell.impressions).sum(),
        clicks: cells.iter().map(|cell| cell.clicks).sum(),
        exposure: sum(cells, &|cell| shown(cell) * theta(cell)),
        squared_exposure: sum(cells, &|cell| shown(cell) * theta(cell).powi(2)),
        average_exposure: sum(cells, &|cell| shown(cell) * examination.average_at(cell.position)),
        positions: sum(cells, &|cell| shown(cell) * f64::from(cell.position)),
        ..PairSums::default()
    };
    let pairs = by_document(&counts.cells).map(shared).collect();
    let exposures = SummedExposures::new(counts.queries.clone(), counts.docs.clone(), pairs);
    let mean = exposures.mean_relevance();
    let own = |cells: &[Cell]| {
        let shared = shared(cells);
        let gamma = ((shared.clicks as f64 + mean) / (shared.exposure + 1.0)).clamp(0.0, 1.0);
        let spread = |cell: &Cell| {
            let click = (theta(cell) * gamma).min(1.0);
            shown(cell) * click * (1.0 - click)
        };
        CellSums {
            relative_clicks: sum(cells, &|cell| cell.clicks as f64 / theta(cell)),
            has_unexamined_clicks: false,
            spread: sum(cells, &spread),
            relative_spread: sum(cells, &|cell| spread(cell) / theta(cell).powi(2)),
        }
    };
    Exposures::summed(exposures, by_document(&counts.cells).map(own).collect())
}

#[test]
fn weights_follow_from_sums_over_cells() {
    let (data, counts, mut propensities) = log();
    // Relative θ above 1, where a click's probability is bounded.
    propensities.by_user.iter_mut().step_by(3).for_each(|theta| *theta *= 2.5);
    let (from_cells, from_sums) = (Exposures::new(&counts, &propensities).unwrap(), summed(&counts, &propensities));
    let likelihood = Estimation::new(Estimator::UserAwareSmoothed(Smoothing::Likelihood));
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(1e-6);
    let assert_close = |ours: &Relevance, theirs: &Relevance| {
        assert_eq!((&ours.estimator, &ours.queries, &ours.docs), (&theirs.estimator, &theirs.queries, &theirs.docs));
        assert!(close(ours.beta.unwrap_or(0.0), theirs.beta.unwrap_or(0.0)), "{:?} {:?}", ours.beta, theirs.beta);
        for (a, b) in ours.weights.iter().zip(&theirs.weights) {
            assert_eq!((a.query, a.doc, a.impressions, a.clicks), (b.query, b.doc, b.impressions, b.clicks));
            let pairs =
                [(a.weight, b.weight), (a.exposure, b.exposure), (a.divisor, b.divisor), (a.variance, b.variance)];
            assert!(pairs.into_iter().all(|(a, b)| close(a, b)), "{a:?} {b:?}");
        }
    };
    for estimation in estimations(&counts, &propensities, &data) {
        let weighing = estimation.weigh(&from_sums);
        match estimation == likelihood {
            true => assert!(weighing.err().unwrap().to_string().contains("looks at single cells")),
            false => {
                let ours = estimation.weigh(&from_cells).unwrap().relevance().unwrap();
                assert_close(&ours, &weighing.unwrap().relevance().unwrap());
            }
        }
    }
    assert!(Estimation::default().weigh(&from_sums).unwrap().diagnostics().is_err());
}
