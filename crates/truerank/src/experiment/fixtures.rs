//! Small made-up results for tests.

use super::run::{Accuracy, JudgedOn};
use super::{MeasureValues, Method, Outcome, Question, Results, Run, Settings, Source, WorldId};
use crate::evaluate::Measure;
use crate::ranker::{ModelForm, TrainingRecord};

/// An outcome that has the same values for each measure, and squared errors by training query.
pub fn outcome(values: &[f64], errors: &[f64]) -> Outcome {
    let measures = Measure::paper().into_iter().map(|measure| MeasureValues { measure, values: values.to_vec() });
    let mse = errors.iter().sum::<f64>() / errors.len().max(1) as f64;
    let accuracy = (!errors.is_empty()).then(|| Accuracy {
        bias: None,
        mse,
        by_query: errors.to_vec(),
        confusion: vec![vec![1, 2], vec![3, 4]],
    });
    Outcome {
        measures: measures.collect(),
        accuracy,
        beta: None,
        left_out: Default::default(),
        judged_on: JudgedOn::Test,
        record: TrainingRecord::default(),
    }
}

/// The main table of these methods with known θ and linear rankers, one outcome per seed.
pub fn results(methods: &[(Method, Vec<Outcome>)]) -> Results {
    let seeds: Vec<u64> = (1..=methods[0].1.len() as u64).collect();
    let settings = Settings {
        questions: vec![Question::Rq1],
        seeds: seeds.clone(),
        models: vec![ModelForm::LINEAR],
        ..Settings::default()
    };
    let mut results = Results::new(settings.clone());
    for (method, outcomes) in methods {
        for (&seed, outcome) in seeds.iter().zip(outcomes) {
            let world = WorldId::Simulated { clusters: settings.clusters, sessions: settings.sessions(), seed };
            results.add_run(&Run::new(world, *method, Source::Known, &ModelForm::LINEAR), outcome.clone());
        }
    }
    results
}
