//! From a world, a method and θ to a trained ranker and what it achieves.

use super::as_shown::{self, AsShown};
use super::run::{Accuracy, JudgedOn};
use super::world::{Truth, World};
use super::{Assumed, Method, NDCG5, Outcome};
use crate::click_model::ClickModelOptions;
use crate::evaluate::{Evaluator, Measure};
use crate::progress::Progress;
use crate::propensity::Propensities;
use crate::ranker::{self, Ranker, Targets, TrainingLists, TrainingPairs, Unmatched};
use crate::relevance::{Estimation, Estimator, Exposures, Relevance, estimate, pair_weights};
use crate::{Error, Result};

/// Where an assumed model has converged: its fit is far less certain than this.
const TOLERANCE: f64 = 1e-6;

pub(super) struct Training<'a> {
    pub world: &'a World<'a>,
    pub how: &'a ranker::Training,
    pub progress: &'a dyn Progress,
}

impl Training<'_> {
    pub fn run(&self, method: Method, propensities: Option<&Propensities>) -> Result<Outcome> {
        let train = &self.world.data.train;
        let propensities =
            || propensities.ok_or_else(|| Error::parameter(format!("{method} needs examination probabilities")));
        let (mut accuracy, mut beta, mut left_out) = (None, None, Unmatched::default());
        let ranker = match method {
            Method::Production => match &self.world.production {
                Some((ranker, _)) => ranker.clone(),
                None => return self.as_shown(),
            },
            Method::Ideal => {
                let shown = self.shown();
                self.train((&self.how.graded_lists(train, self.world.max_grade, Some(&shown))?).into())?
            }
            Method::Pairs(ratio) => {
                let pairs = pair_weights(&self.world.counts, propensities()?, ratio)?;
                let (pairs, unmatched) = TrainingPairs::from_pair_weights(train, &pairs)?;
                left_out = unmatched;
                self.train((&pairs).into())?
            }
            Method::Estimated(estimator) => {
                let anything = self.no_correction();
                let propensities = if method.uses_examination() { propensities()? } else { &anything };
                let relevance = estimate(&self.world.counts, propensities, estimator)?;
                (accuracy, beta) = (self.accuracy_if_known(&relevance)?, relevance.beta);
                let (lists, unmatched) = TrainingLists::from_relevance(train, &relevance)?;
                left_out = unmatched;
                self.train((&lists).into())?
            }
            Method::Modelled(assumed) => {
                let relevance = self.relevance_under(assumed)?;
                accuracy = self.accuracy_if_known(&relevance)?;
                let (lists, unmatched) = TrainingLists::from_relevance(train, &relevance)?;
                left_out = unmatched;
                self.train((&lists).into())?
            }
        };
        let test = &self.world.data.test;
        let evaluation = self.evaluator(Measure::paper()).evaluate(test, &ranker.score(test)?)?;
        let outcome = Outcome::of(evaluation, JudgedOn::Test);
        Ok(Outcome { accuracy, beta, left_out, record: ranker.record, ..outcome })
    }

    /// Clicks over exposure by a click model that is fitted to them.
    fn relevance_under(&self, assumed: Assumed) -> Result<Relevance> {
        let options = ClickModelOptions::new().model(vec![assumed.kind]).per_user(assumed.per_user);
        let model = options.tolerance(TOLERANCE).fit_counts(&self.world.counts, None, self.progress)?;
        let exposures = Exposures::modelled(&self.world.counts, &model)?;
        Estimation::new(Estimator::UserAware).weigh(&exposures)?.relevance()
    }

    /// The lists of a log as they were shown: all that is known of who ranked them.
    fn as_shown(&self) -> Result<Outcome> {
        let evaluator = self.evaluator(Measure::paper());
        let (evaluation, judged_on) = as_shown::judge(&self.world.counts, self.world.data, &evaluator)?;
        Ok(Outcome::of(evaluation, judged_on))
    }

    /// θ = 1, for the estimator that corrects nothing.
    fn no_correction(&self) -> Propensities {
        let population = vec![1.0; self.world.counts.max_position() as usize];
        Propensities { method: "none".to_string(), population, ..Propensities::default() }
    }

    /// The rows of shown documents, by query.
    fn shown(&self) -> Vec<Vec<u32>> {
        match &self.world.production {
            Some((_, lists)) => (0..lists.query_count()).map(|query| lists.of(query).to_vec()).collect(),
            None => AsShown::new(&self.world.counts, &self.world.data.train).rows(),
        }
    }

    fn train(&self, targets: Targets<'_>) -> Result<Ranker> {
        let validation = self.evaluator(vec![NDCG5]).validation(&self.world.data.validation)?;
        let train = &self.world.data.train;
        self.how.fit_targets(train, targets, Some(&validation), self.progress)
    }

    fn evaluator(&self, measures: Vec<Measure>) -> Evaluator {
        Evaluator::new(measures).max_grade(self.world.max_grade)
    }

    fn accuracy_if_known(&self, relevance: &Relevance) -> Result<Option<Accuracy>> {
        self.world.truth.as_ref().map(|truth| self.accuracy(relevance, truth)).transpose()
    }

    /// How close the weights are to P(r=1), document by document.
    fn accuracy(&self, relevance: &Relevance, truth: &Truth) -> Result<Accuracy> {
        let train = &self.world.data.train;
        let grades = train.require_grades("the comparison of estimated with true relevance")?;
        let grade_count = usize::from(self.world.max_grade) + 1;
        let mut confusion = vec![vec![0; grade_count]; grade_count];
        let (mut sums, mut last, mut errors) = (Vec::<(f64, f64)>::new(), None, 0.0);
        for (weight, row) in relevance.weights.iter().zip(relevance.rows_in(train)) {
            let row = row.ok_or_else(|| Error::parameter("a shown document is not in the data"))? as usize;
            if last.replace(weight.query) != Some(weight.query) {
                sums.push((0.0, 0.0));
            }
            let sum = sums.last_mut().expect("just pushed");
            let error = weight.weight - truth.relevance[row];
            errors += error;
            *sum = (sum.0 + error.powi(2), sum.1 + 1.0);
            confusion[usize::from(grades[row])][usize::from(truth.simulation.nearest_grade(weight.weight))] += 1;
        }
        let total = sums.iter().fold((0.0, 0.0), |total, sum| (total.0 + sum.0, total.1 + sum.1));
        let by_query = sums.into_iter().map(|(sum, documents)| sum / documents).collect();
        Ok(Accuracy { mse: total.0 / total.1, bias: Some(errors / total.1), by_query, confusion })
    }
}
