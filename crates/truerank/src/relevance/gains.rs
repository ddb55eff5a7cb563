//! What priors, shrinkage and clipping gain, checked against the truth of simulated logs.

use super::{
    Correction, Estimation, Estimator, KnownLog, PredictedRelevance, Prior, Relevance, RelevancePredictor, Shrink,
};
use crate::counts::Counts;
use crate::data::{Dataset, Generator, Preset};
use crate::ids::Ids;
use crate::progress::Silent;
use crate::propensity::{Propensities, RelevanceForm};
use crate::simulate::{ShownLists, Simulation};

/// A log whose θ and γ are known.
struct Known {
    data: Dataset,
    counts: Counts,
    propensities: Propensities,
    /// γ of each row.
    truth: Vec<f64>,
}

/// A log of the `tiny` data, whose lists are ordered by a feature.
fn known(sessions_per_query: u64, seed: u64) -> Known {
    ranked_by(|data, row| data.row(row)[0], sessions_per_query, seed)
}

fn ranked_by(score: fn(&Dataset, usize) -> f32, sessions_per_query: u64, seed: u64) -> Known {
    let data = Generator::preset(Preset::Tiny).generate().unwrap().train;
    let scores: Vec<f32> = (0..data.len()).map(|row| score(&data, row)).collect();
    let lists = [ShownLists::top(&data, &scores, 10).unwrap()];
    let sessions = sessions_per_query * data.query_count() as u64;
    let simulator = Simulation::new().sessions(sessions).seed(seed).prepare(&data, &lists).unwrap();
    let (counts, propensities) = (simulator.counts().unwrap(), simulator.propensities());
    let truth = simulator.relevance().to_vec();
    Known { data, counts, propensities, truth }
}

impl Known {
    fn estimate(&self, estimation: &Estimation) -> Relevance {
        estimation.estimate(&self.counts, &self.propensities).unwrap()
    }

    fn mean_squared_error(&self, relevance: &Relevance) -> f64 {
        let rows = relevance.rows_in(&self.data);
        let error = |(weight, row): (f64, &Option<u32>)| (weight - self.truth[row.unwrap() as usize]).powi(2);
        let weights = relevance.weights.iter().map(|weight| weight.weight);
        weights.zip(&rows).map(error).sum::<f64>() / rows.len() as f64
    }

    fn predicted(&self, form: RelevanceForm) -> PredictedRelevance {
        let predictor = RelevancePredictor::new().prior_model(form);
        predictor.predict(&KnownLog::examined(&self.counts, Some(&self.data), &self.propensities), &Silent).unwrap()
    }

    fn priors(&self) -> [Prior; 4] {
        [Prior::None, Prior::Mean, Prior::Position, Prior::Model(self.predicted(RelevanceForm::Linear))]
    }
}

#[test]
fn shrinking_toward_better_priors_errs_less() {
    let known = known(50, 1);
    let errors = known.priors().map(|prior| {
        let estimation = Estimation::new(Estimator::UserAware).prior(prior).shrink(Shrink::Auto);
        known.mean_squared_error(&known.estimate(&estimation))
    });
    let plain = known.mean_squared_error(&known.estimate(&Estimation::new(Estimator::UserAware)));
    assert!(errors[1] < 0.5 * plain, "{errors:?} and {plain}");
    assert!(errors[3] < errors[1], "{errors:?}");
    assert!(errors[1] < errors[0] && errors[0] < plain, "{errors:?} and {plain}");
}

#[test]
fn a_prior_by_position_errs_less_where_the_logged_ranking_is_good() {
    let good = |data: &Dataset, row: usize| f32::from(data.grades().unwrap()[row]) + data.row(row)[0];
    for (known, most) in [(ranked_by(good, 5, 1), 0.9), (known(5, 1), 1.05)] {
        let [by_position, by_mean] = [Prior::Position, Prior::Mean].map(|prior| {
            let estimation = Estimation::new(Estimator::UserAware).prior(prior).shrink(Shrink::Auto);
            known.mean_squared_error(&known.estimate(&estimation))
        });
        assert!(by_position < most * by_mean, "{by_position} and {by_mean}");
    }
}

#[test]
fn the_fitted_strength_is_near_the_best() {
    let smoothed = Estimator::UserAwareSmoothed(Default::default());
    for (sessions, estimator) in [(5, Estimator::UserAware), (50, Estimator::UserAware), (15, smoothed)] {
        let known = known(sessions, sessions);
        for prior in known.priors() {
            let kind = prior.kind();
            let with = |shrink| {
                let estimation = Estimation::new(estimator).prior(prior.clone()).shrink(shrink);
                known.mean_squared_error(&known.estimate(&estimation))
            };
            let grid = (-8..=16).map(|step| 2f64.powf(f64::from(step) / 2.0));
            let best = grid.map(|b| with(Shrink::Fixed(b))).fold(f64::INFINITY, f64::min);
            let fitted = with(Shrink::Auto);
            // With 2,000 documents the log tells the strength only so well.
            assert!(fitted < 1.06 * best, "{estimator}, {sessions} sessions per query, {kind}: {fitted} and {best}");
        }
    }
}

#[test]
fn a_strength_that_nothing_tells_is_four() {
    let mut known = known(1, 1);
    known.counts.cells.retain(|cell| cell.impressions == 1);
    known.counts.cells.dedup_by_key(|cell| (cell.query, cell.doc));
    let estimation = Estimation::new(Estimator::UserAware).prior(Prior::Mean).shrink(Shrink::Auto);
    let found = estimation.estimate(&known.counts, &known.propensities).unwrap();
    assert_eq!(found.correction.shrink, Some(4.0));
}

#[test]
fn the_claimed_variance_of_corrected_weights_is_the_observed_one() {
    let estimation = Estimation::new(Estimator::UserAware)
        .prior(Prior::Model(PredictedRelevance::new(Ids::default(), Ids::default(), Vec::new()).unwrap()))
        .clip(Some(0.2))
        .shrink(Shrink::Fixed(1.0));
    let logs: Vec<Relevance> = (0..60).map(|seed| fixed_sessions(&estimation, seed)).collect();
    let (mut observed, mut claimed) = (0.0, 0.0);
    for doc in 0..logs[0].weights.len() {
        let values: Vec<f64> = logs.iter().map(|log| log.weights[doc].weight).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        observed += values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64;
        claimed += logs.iter().map(|log| log.weights[doc].variance).sum::<f64>() / values.len() as f64;
    }
    assert!((claimed / observed - 1.0).abs() < 0.1, "{claimed} and {observed}");
}

/// Clicks drawn anew on the same sessions, since the variance is that for given sessions.
fn fixed_sessions(estimation: &Estimation, seed: u64) -> Relevance {
    use rand_distr::{Binomial, Distribution};
    let mut known = known(30, 1);
    let mut random = crate::random::stream(seed, "clicks", 0);
    let relevance = known.estimate(&Estimation::new(Estimator::UserAware));
    let rows = relevance.rows_in(&known.data);
    let mut pair = 0;
    let ids = known.counts.users.numbers_in(&known.propensities.users);
    for index in 0..known.counts.cells.len() {
        let cell = known.counts.cells[index];
        if (relevance.weights[pair].query, relevance.weights[pair].doc) != (cell.query, cell.doc) {
            pair += 1;
        }
        let theta = known.propensities.of_user(ids[cell.user as usize].unwrap() as usize)[cell.position as usize - 1];
        let gamma = known.truth[rows[pair].unwrap() as usize];
        known.counts.cells[index].clicks = Binomial::new(cell.impressions, theta * gamma).unwrap().sample(&mut random);
    }
    known.estimate(estimation)
}

#[test]
fn with_right_theta_and_a_good_prior_clipping_costs_no_bias() {
    // With the true θ, and the true γ as prior, weights are unbiased however much is clipped. Not so with wrong θ.
    let known = known(50, 3);
    let plain = known.estimate(&Estimation::new(Estimator::UserAware));
    let rows = plain.rows_in(&known.data);
    let values = plain.weights.iter().zip(&rows).map(|(w, row)| (w.query, w.doc, known.truth[row.unwrap() as usize]));
    let perfect = PredictedRelevance::new(plain.queries.clone(), plain.docs.clone(), values.collect()).unwrap();
    let bias = |prior: Prior| {
        let relevance = known.estimate(&Estimation::new(Estimator::UserAware).prior(prior).clip(Some(0.5)));
        let rows = relevance.rows_in(&known.data);
        let error = relevance.weights.iter().zip(rows).map(|(w, row)| w.weight - known.truth[row.unwrap() as usize]);
        error.sum::<f64>() / relevance.weights.len() as f64
    };
    let (with, without) = (bias(Prior::Model(perfect)), bias(Prior::None));
    assert!(with.abs() < 0.01 && without < -0.1, "{with} and {without}");
}

#[test]
fn what_is_clipped_is_counted() {
    let known = known(20, 1);
    let relevance = known.estimate(&Estimation::new(Estimator::UserAware).clip(Some(0.3)));
    let is_clipped = |w: &&super::Weight| w.exposure < 0.3 * w.impressions as f64;
    let sum = |value: fn(&super::Weight) -> f64, all: bool| {
        relevance.weights.iter().filter(|w| all || is_clipped(w)).map(value).sum::<f64>()
    };
    let clipped = relevance.correction.clipped;
    assert_eq!(clipped.documents as usize, relevance.weights.iter().filter(is_clipped).count());
    assert!(clipped.documents > 0);
    assert_eq!(clipped.clicks, sum(|w| w.clicks as f64, false) / sum(|w| w.clicks as f64, true));
    assert_eq!(clipped.exposure, sum(|w| w.exposure, false) / sum(|w| w.exposure, true));
    let plain = known.estimate(&Estimation::new(Estimator::UserAware).prior(Prior::Mean));
    assert_eq!(plain.correction.clipped, Correction::default().clipped);
    assert_eq!(plain.weights, known.estimate(&Estimation::new(Estimator::UserAware)).weights);
}

#[test]
fn predictions_do_not_see_the_clicks_of_their_query() {
    let mut known = known(30, 1);
    let query = 17;
    let of_query = |predicted: &PredictedRelevance, counts: &Counts| -> Vec<f64> {
        let pairs = counts.cells.chunk_by(|a, b| (a.query, a.doc) == (b.query, b.doc)).map(|pair| pair[0].query);
        let values = predicted.of_counts(counts);
        pairs.zip(values).filter(|(q, _)| *q == query).map(|(_, value)| value.unwrap()).collect()
    };
    let before = of_query(&known.predicted(RelevanceForm::Linear), &known.counts);
    known.counts.cells.iter_mut().filter(|cell| cell.query == query).for_each(|cell| cell.clicks = 0);
    let after = of_query(&known.predicted(RelevanceForm::Linear), &known.counts);
    // Only the line through all logits is moved by this one query of 200, and little.
    let logits = |values: &[f64]| values.iter().map(|v| (v / (1.0 - v)).ln()).collect::<Vec<f64>>();
    let (x, y) = (logits(&before), logits(&after));
    let slope = (y[1] - y[0]) / (x[1] - x[0]);
    let on_line = |index: usize| (y[0] + slope * (x[index] - x[0]) - y[index]).abs() < 0.01;
    assert!(x.len() > 5 && (0..x.len()).all(on_line), "{x:?} and {y:?}");
    assert!((slope - 1.0).abs() < 0.1 && (x[0] - y[0]).abs() < 0.1, "{x:?} and {y:?}");
}

#[test]
fn predictions_are_calibrated_and_tell_documents_apart() {
    let known = known(50, 2);
    for form in [RelevanceForm::Linear, "mlp:8".parse().unwrap()] {
        let predicted = known.predicted(form.clone());
        let relevance = known.estimate(&Estimation::new(Estimator::UserAware));
        let rows = relevance.rows_in(&known.data);
        let truth: Vec<f64> = rows.iter().map(|row| known.truth[row.unwrap() as usize]).collect();
        let values: Vec<f64> = predicted.of_counts(&known.counts).into_iter().map(Option::unwrap).collect();
        let mean = truth.iter().sum::<f64>() / truth.len() as f64;
        let error = |guess: &dyn Fn(usize) -> f64| -> f64 {
            truth.iter().enumerate().map(|(doc, truth)| (guess(doc) - truth).powi(2)).sum::<f64>() / truth.len() as f64
        };
        assert!(error(&|doc| values[doc]) < 0.95 * error(&|_| mean), "{form}");
        // In each third of the predictions, clicks over exposure are what was predicted.
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
        for third in order.chunks(order.len().div_ceil(3)) {
            let sum = |value: &dyn Fn(usize) -> f64| third.iter().map(|&doc| value(doc)).sum::<f64>();
            let predicted = sum(&|doc| values[doc] * relevance.weights[doc].exposure);
            let clicked = sum(&|doc| relevance.weights[doc].clicks as f64);
            assert!((predicted / clicked - 1.0).abs() < 0.1, "{form}: {predicted} and {clicked}");
        }
    }
}

#[test]
fn corrections_belong_to_estimators_that_divide_by_exposure() {
    let known = known(5, 1);
    let refused =
        |estimation: Estimation| estimation.estimate(&known.counts, &known.propensities).unwrap_err().to_string();
    for estimator in [Estimator::Naive, Estimator::IpsPbm, Estimator::Straightforward] {
        let message = refused(Estimation::new(estimator).clip(Some(0.1)));
        assert!(message.contains(&format!("but `estimator` is {estimator}")), "{message}");
    }
    let aware = Estimation::new(Estimator::UserAware);
    assert!(refused(aware.clone().clip(Some(0.0))).contains("`clip` is 0, but should be above 0 and at most 1"));
    assert!(
        refused(aware.shrink(Shrink::Fixed(-1.0))).contains("`shrink` is -1, but should be finite and not negative")
    );
}
