//! A linear ranker without layer norm: training lists enter, a weight for each raw feature leaves.

use super::lbfgs::LinearObjective;
use super::scale::FeatureScale;
use super::trainer::{Course, ITERATIONS, TOLERANCE, diverged};
use super::{Ranker, Targets, Training, TrainingLists, Validation};
use crate::Result;
use crate::data::Dataset;
use crate::minimise::minimise;
use crate::progress::Progress;

impl Training {
    /// Trains a linear ranker on features as they are, for servers that know weights and nothing else.
    ///
    /// Minimises the listwise softmax loss, which is convex, by L-BFGS. Features are brought to mean 0 and deviation 1 over all
    /// rows on the way, and the scale goes into the weights: the result is `Σ weight · feature + bias`.
    pub(super) fn fit_linear_raw(
        &self,
        data: &Dataset,
        lists: &TrainingLists,
        validation: Option<&Validation<'_>>,
        progress: &dyn Progress,
    ) -> Result<Ranker> {
        let targets = Targets::Lists(lists);
        targets.check(data)?;
        let active = targets.require_active()?;
        let scale = FeatureScale::of(data)?;
        let objective = LinearObjective::scaled(data, &targets, &active, self.l2, &scale);
        let mut course = Course::new(validation, self.patience, data)?;
        let mut raw = vec![0.0; data.feature_count()];
        let steps = self.steps.unwrap_or(ITERATIONS);
        progress.begin("training", steps as u64);
        let start = vec![0.0; data.feature_count()];
        minimise(
            |w| objective.at(w),
            start,
            steps,
            self.tolerance_or(TOLERANCE),
            |step, loss, weights| {
                if !loss.is_finite() {
                    return Err(diverged(step, loss, 1.0));
                }
                raw = scale.raw(weights);
                progress.advance(1)?;
                course.check(step, loss, &raw, |features| scale.model(weights).score(features), progress)
            },
        )?;
        course.keep_best(&mut raw);
        let record = course.record(&targets, "l-bfgs on raw features", 0, active.len());
        Ok(Ranker { model: scale.model_of_raw(raw), record })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::DatasetBuilder;
    use crate::ids::Ids;
    use crate::progress::Silent;
    use crate::ranker::{Model, ModelForm};

    /// Queries of 4 documents whose grade is their first feature; the second is huge and tells nothing, the third constant.
    fn data() -> Dataset {
        let row = |i: usize| [(i % 4) as f32, 1e6 + ((i * 7) % 5) as f32, 3.0];
        DatasetBuilder {
            features: (0..80).flat_map(row).collect(),
            feature_count: 3,
            grades: Some((0..80).map(|i| (i % 4) as u8).collect()),
            queries: Ids::numbered(20),
            query_ends: (1..=20).map(|query| 4 * query).collect(),
            docs: None,
        }
        .build()
        .unwrap()
    }

    #[test]
    fn weights_of_raw_features_order_the_documents() {
        let data = data();
        let lists = TrainingLists::from_grades(&data, 3, None).unwrap();
        let ranker =
            Training::new().model(ModelForm::LinearRaw).l2(1e-3).fit_targets(&data, &lists, None, &Silent).unwrap();
        let Model::Weights { weights, bias } = &ranker.model else { panic!("{:?}", ranker.model) };
        assert!(weights[0] > 0.5 && weights[1].abs() < 0.1 && weights[2] == 0.0, "{weights:?}");
        let scores = ranker.score(&data).unwrap();
        assert!(scores.chunks(4).all(|list| list.is_sorted()), "{scores:?}");
        let by_hand =
            |i: usize| data.row(i).iter().zip(weights).map(|(&x, &w)| f64::from(x) * f64::from(w)).sum::<f64>();
        assert!((0..80).all(|i| (by_hand(i) + f64::from(*bias) - f64::from(scores[i])).abs() < 1e-3));
    }

    #[test]
    fn the_best_weights_are_kept() {
        let data = data();
        let lists = TrainingLists::from_grades(&data, 3, None).unwrap();
        // Best where scores are small: the first iterate.
        let measure = |scores: &[f32]| -f64::from(scores[3] - scores[0]);
        let validation = Validation::new(&data, measure);
        let ranker =
            Training::new().model(ModelForm::LinearRaw).fit_targets(&data, &lists, Some(&validation), &Silent).unwrap();
        assert_eq!((ranker.record.best_step, ranker.record.steps > 1), (1, true));
        let kept = ranker.score(&data).unwrap();
        assert_eq!(Some(-f64::from(kept[3] - kept[0])), ranker.record.validation);
    }

    #[test]
    fn parameters_are_checked() {
        let data = data();
        let lists = TrainingLists::from_grades(&data, 3, None).unwrap();
        let refused = |trainer: Training| trainer.fit_targets(&data, &lists, None, &Silent).unwrap_err().to_string();
        assert!(refused(Training::new().model(ModelForm::LinearRaw).steps(0)).contains("steps"));
        let message = refused(Training::new().model(ModelForm::LinearRaw).l2(-1.0));
        assert_eq!(message, "`l2` is -1, but should be at least 0");
        assert!(refused(Training::new().model(ModelForm::LinearRaw).tolerance(0.0)).contains("tolerance"));
    }
}
