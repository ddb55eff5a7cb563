//! Experiments against what they are made of: the same numbers by hand, and sources of θ near the truth.

use truerank::data::{Generator, Preset, Splits};
use truerank::evaluate::{Evaluator, Measure};
use truerank::experiment::{Method, Source, World, WorldOptions};
use truerank::progress::Silent;
use truerank::ranker::{FeatureScaling, Training, TrainingLists, production_ranker};
use truerank::relevance::{Estimator, estimate};
use truerank::simulate::{ShownLists, Simulation};

const NDCG5: Measure = Measure::Ndcg(Some(5));

fn data() -> Splits {
    Generator::preset(Preset::Tiny).generate().unwrap()
}

fn world(data: &Splits, sessions: u64, patterns: bool) -> World<'_> {
    let options = WorldOptions { patterns, ..WorldOptions::default() };
    World::simulate(data, &Simulation::new().sessions(sessions), &options, 1, &Silent).unwrap()
}

/// Every step of a run, one by one, as the stages have it.
#[test]
fn a_run_is_its_stages_in_order() {
    let data = data();
    let outcome = {
        let world = world(&data, 20_000, true);
        world
            .run(
                Method::USER_AWARE,
                world.propensities(),
                &Training::linear().scaling(FeatureScaling::Paper).seed(1),
                &Silent,
            )
            .unwrap()
    };
    let production = production_ranker(&data.train, 0.01, 1, &Silent).unwrap();
    let lists = [ShownLists::top(&data.train, &production.score(&data.train).unwrap(), 10).unwrap()];
    let simulator = Simulation::new().sessions(20_000).seed(1).prepare(&data.train, &lists).unwrap();
    let (counts, _) = truerank::counts::count_log(&simulator.log(), &Default::default()).unwrap();
    let relevance = estimate(&counts, &simulator.propensities(), Estimator::UserAware).unwrap();
    let rows = relevance.rows_in(&data.train);
    let errors: Vec<f64> = relevance
        .weights
        .iter()
        .zip(&rows)
        .map(|(weight, row)| (weight.weight - simulator.relevance()[row.unwrap() as usize]).powi(2))
        .collect();
    let accuracy = outcome.accuracy.as_ref().unwrap();
    assert!((accuracy.mse - errors.iter().sum::<f64>() / errors.len() as f64).abs() < 1e-12);
    let counted: u64 = accuracy.confusion.iter().flatten().sum();
    assert_eq!(counted as usize, errors.len());
    let (lists, _) = TrainingLists::from_relevance(&data.train, &relevance).unwrap();
    let evaluator = Evaluator::new(vec![NDCG5]);
    let value = |scores: &[f32]| evaluator.evaluate(&data.validation, scores).unwrap().mean(NDCG5).unwrap();
    let validation = truerank::ranker::Validation::new(&data.validation, value);
    let ranker = Training::linear()
        .scaling(FeatureScaling::Paper)
        .seed(1)
        .fit_targets(&data.train, &lists, Some(&validation), &Silent)
        .unwrap();
    let expected = evaluator.evaluate(&data.test, &ranker.score(&data.test).unwrap()).unwrap();
    assert_eq!(outcome.per_query(NDCG5), expected.per_query(NDCG5).unwrap());
}

/// Counts drawn without sessions have the same distribution as those of sessions.
#[test]
fn cells_and_sessions_teach_the_same() {
    let data = data();
    let mean = |patterns: bool| {
        let world = world(&data, 400_000, patterns);
        let trainer = Training::linear().scaling(FeatureScaling::Paper).seed(1);
        let outcome = world.run(Method::USER_AWARE, world.propensities(), &trainer, &Silent).unwrap();
        (outcome.mean(NDCG5), outcome.accuracy.unwrap().mse)
    };
    let ((sessions, sessions_mse), (cells, cells_mse)) = (mean(true), mean(false));
    assert!((sessions - cells).abs() < 0.02, "{sessions} and {cells}");
    assert!((sessions_mse / cells_mse - 1.0).abs() < 0.3, "{sessions_mse} and {cells_mse}");
}

#[test]
fn every_source_finds_examination() {
    let data = data();
    let world = world(&data, 200_000, false);
    let truth = world.propensities().unwrap();
    // Dual learning and the direct climb are baselines without a promise.
    for (source, most) in [
        (Source::Known, 1e-12),
        (Source::EM.of_population(), 0.10),
        (Source::EM, 0.10),
        (Source::Swap, 0.10),
        (Source::Harvesting, 0.10),
        (Source::Cpbm, 0.10),
    ] {
        let found = world.examination(source, 1, &Silent).unwrap();
        let error = found.error_against(truth, world.counts()).unwrap();
        assert!(error.population <= most, "{source}: {}", error.population);
    }
    for source in [Source::UserPbm, Source::Dla] {
        assert_eq!(world.examination(source, 1, &Silent).unwrap().positions(), 10, "{source}");
    }
}
