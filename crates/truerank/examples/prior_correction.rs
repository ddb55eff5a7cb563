//! Compares priors, shrinkage and clipping at 1, 5, 15 and 50 sessions per query.
//!
//! `cargo run --release -p truerank --example prior_correction [PRESET]` prints, for each size, the mean squared error of
//! the weights, that with the best b of a grid, and nDCG@5 of a linear ranker trained on the weights.

use truerank::data::{Generator, Preset, Splits};
use truerank::evaluate::{Evaluator, Measure};
use truerank::network::Architecture;
use truerank::progress::Silent;
use truerank::propensity::RelevanceForm;
use truerank::ranker::{Training, TrainingLists, production_ranker};
use truerank::relevance::{
    Estimation, Estimator, Exposures, KnownLog, PredictedRelevance, Prior, Relevance, RelevancePredictor, Shrink,
    Smoothing,
};
use truerank::simulate::{ShownLists, Simulation};

const NDCG5: Measure = Measure::Ndcg(Some(5));

fn main() -> truerank::Result<()> {
    let preset: Preset = std::env::args().nth(1).as_deref().unwrap_or("small").parse()?;
    let data = Generator::preset(preset).generate()?;
    let production = production_ranker(&data.train, 0.01, 1, &Silent)?;
    let lists = [ShownLists::top(&data.train, &production.score(&data.train)?, 10)?];
    for per_query in [1, 5, 15, 50] {
        let sessions = per_query * data.train.query_count() as u64;
        let simulator = Simulation::new().sessions(sessions).prepare(&data.train, &lists)?;
        let (counts, theta) = (simulator.counts()?, simulator.propensities());
        let log = KnownLog::examined(&counts, Some(&data.train), &theta);
        let predict = |form| RelevancePredictor::new().prior_model(form).predict(&log, &Silent);
        let (linear, mlp) = (predict(RelevanceForm::Linear)?, predict(RelevanceForm::mlp())?);
        let exposures = log.exposures(&Silent)?;
        println!("\n{per_query} sessions per query\n");
        println!("| estimator | b | MSE | MSE with the best b | nDCG@5 |\n|---|---|---|---|---|");
        for (name, estimation) in estimations(&linear, &mlp) {
            let error = |relevance: &Relevance| mean_squared_error(&data, relevance, simulator.relevance());
            let relevance = estimation.weigh(exposures)?.relevance()?;
            let best = match relevance.correction.shrink {
                Some(_) => format!("{:.4}", least_error(&estimation, exposures, error)?),
                None => String::new(),
            };
            let b = relevance.correction.shrink.map_or(String::new(), |b| format!("{b:.1}"));
            println!("| {name} | {b} | {:.4} | {best} | {:.4} |", error(&relevance), ndcg(&data, &relevance)?);
        }
    }
    Ok(())
}

fn estimations(linear: &PredictedRelevance, mlp: &PredictedRelevance) -> Vec<(&'static str, Estimation)> {
    let aware = || Estimation::new(Estimator::UserAware);
    let smoothed = || Estimation::new(Estimator::UserAwareSmoothed(Smoothing::default()));
    let (linear, mlp) = (|| Prior::Model(linear.clone()), || Prior::Model(mlp.clone()));
    vec![
        ("user-aware", aware()),
        ("shrunk toward 0", aware().shrink(Shrink::Auto)),
        ("shrunk toward the mean", aware().prior(Prior::Mean).shrink(Shrink::Auto)),
        ("shrunk toward a linear model", aware().prior(linear()).shrink(Shrink::Auto)),
        ("shrunk toward an MLP", aware().prior(mlp()).shrink(Shrink::Auto)),
        ("clipped at .1", aware().clip(Some(0.1))),
        ("clipped at .1, a linear model's prior", aware().prior(linear()).clip(Some(0.1))),
        ("user-aware-smoothed", smoothed()),
        ("smoothed, shrunk toward the mean", smoothed().prior(Prior::Mean).shrink(Shrink::Auto)),
        ("smoothed, shrunk toward a linear model", smoothed().prior(linear()).shrink(Shrink::Auto)),
    ]
}

fn mean_squared_error(data: &Splits, relevance: &Relevance, truth: &[f64]) -> f64 {
    let rows = relevance.rows_in(&data.train);
    let pairs = relevance.weights.iter().zip(rows).filter_map(|(weight, row)| Some((weight.weight, row?)));
    let (sum, count) =
        pairs.fold((0.0, 0.0), |(sum, count), (w, row)| (sum + (w - truth[row as usize]).powi(2), count + 1.0));
    sum / count
}

/// The least error over strengths from 1/16 to 4096.
fn least_error(
    estimation: &Estimation,
    exposures: &Exposures<'_>,
    error: impl Fn(&Relevance) -> f64,
) -> truerank::Result<f64> {
    let mut least = f64::INFINITY;
    for step in -8..=24 {
        let b = 2f64.powf(f64::from(step) / 2.0);
        let relevance = estimation.clone().shrink(Shrink::Fixed(b)).weigh(exposures)?.relevance()?;
        least = least.min(error(&relevance));
    }
    Ok(least)
}

fn ndcg(data: &Splits, relevance: &Relevance) -> truerank::Result<f64> {
    let (lists, _) = TrainingLists::from_relevance(&data.train, relevance)?;
    let evaluator = Evaluator::new(vec![NDCG5]);
    let validation = evaluator.validation(&data.validation)?;
    let trainer = Training::network(Architecture::Linear);
    let ranker = trainer.fit_targets(&data.train, &lists, Some(&validation), &Silent)?;
    Ok(evaluator.evaluate(&data.test, &ranker.score(&data.test)?)?.mean(NDCG5).unwrap_or(f64::NAN))
}
