//! Which ranker is trained: every form is tried on queries that training does not see, and the best is trained on all.

use std::time::Instant;

use super::ranker::usual;
use super::{ChosenRanker, Fit, FitData, MeanDifference, TriedForm};
use crate::Result;
use crate::data::{Dataset, Join};
use crate::evaluate::{ClickMeasure, Counterfactual, Evaluator, Measure};
use crate::insight::Explain;
use crate::progress::{Progress, Quiet};
use crate::random::fraction;
use crate::ranker::{ModelForm, Ranker, TrainingLists, Validation};
use crate::relevance::{Estimator, KnownLog, Relevance, Weight};

/// Below so many training queries, each takes part in choosing: one part of them is too few to tell forms apart.
const FEW_QUERIES: usize = 1000;

/// Parts into which few queries are divided.
const FOLDS: usize = 5;

/// One part in so many chooses where queries are many.
const PARTS: usize = 6;

const BY_GRADES: Measure = Measure::Ndcg(Some(5));
const BY_CLICKS: ClickMeasure = ClickMeasure::Dcg(10);

/// Queries that choose, and what is learned from the others meanwhile.
struct Fold<'a> {
    lists: TrainingLists,
    judge: Judge<'a>,
}

enum Judge<'a> {
    Grades { graded: &'a Dataset, max_grade: u8 },
    Clicks(Box<ClickedQueries>),
}

/// Queries of the log with all their documents.
struct ClickedQueries {
    candidates: Dataset,
    clicks: Counterfactual,
}

impl Judge<'_> {
    fn validation(&self) -> Result<Validation<'_>> {
        match self {
            Judge::Grades { graded, max_grade } => {
                Evaluator::new(vec![BY_GRADES]).max_grade(*max_grade).validation(graded)
            }
            Judge::Clicks(queries) => Ok(Validation::new(&queries.candidates, |scores| value(&queries.clicks, scores))),
        }
    }

    /// What a ranker is worth to each of the queries.
    fn per_query(&self, ranker: &Ranker) -> Result<Vec<f64>> {
        let found = match self {
            Judge::Grades { graded, max_grade } => {
                let evaluator = Evaluator::new(vec![BY_GRADES]).max_grade(*max_grade);
                evaluator.evaluate(graded, &ranker.score(graded)?)?.per_query(BY_GRADES).map(<[f64]>::to_vec)
            }
            Judge::Clicks(queries) => {
                queries.clicks.judge_candidates(&ranker.score(&queries.candidates)?)?.per_query(BY_CLICKS)
            }
        };
        Ok(found.unwrap_or_default())
    }

    /// How much it counts beside those of other folds.
    fn weight(&self) -> f64 {
        match self {
            Judge::Grades { .. } => 1.0,
            Judge::Clicks(queries) => queries.clicks.log.pages as f64,
        }
    }
}

/// What clicks say of the order of *all* documents, as the ranker will be used. By the shown ones alone, forms look best that order
/// them well and make nothing of the others. Where the others earn nothing, those look best that find none of them, however good. So
/// they earn what the last document of a page earns.
fn value(clicks: &Counterfactual, scores: &[f32]) -> f64 {
    let found = clicks.judge_candidates(scores).ok().and_then(|found| found.value(BY_CLICKS));
    found.map_or(f64::NAN, |found| found.value)
}

/// What a form is worth after so many steps.
type Course = Vec<(usize, f64)>;

/// A form that was tried on all folds.
struct Trial {
    course: Course,
    /// What it is worth to each of the queries that choose.
    per_query: Vec<f64>,
}

impl Fit {
    pub(super) fn train(
        &self,
        log: &KnownLog<'_>,
        relevance: &Relevance,
        data: &FitData,
        progress: &dyn Progress,
    ) -> Result<ChosenRanker> {
        let documents = &data.documents;
        let (lists, unmatched) = TrainingLists::from_joined(documents, relevance, log.log.join()?)?;
        let (folds, validated_by) = match &data.validation {
            Some(graded) => self.by_grades(&lists, graded),
            None => self.by_clicks(log, relevance, documents)?,
        };
        let forms = self.forms(data);
        progress.begin("choosing the form of the ranker", (forms.len() * folds.len()) as u64);
        let mut trials = Vec::with_capacity(forms.len());
        for form in &forms {
            let begin = Instant::now();
            let trial = self.try_form(form, documents, &folds, progress)?;
            progress.done(&format!("tried {form} in {:.1} s", begin.elapsed().as_secs_f64()));
            trials.push(trial);
        }
        let mut tried: Vec<TriedForm> =
            forms.into_iter().zip(&trials).map(|(form, trial)| best(form, &trial.course)).collect();
        let chosen = choose(&tried, &trials);
        for (form, trial) in tried.iter_mut().zip(&trials) {
            form.above_chosen = difference(&trials[chosen].per_query, &trial.per_query);
        }
        tried[chosen].above_chosen = None;
        let steps = (!trials[chosen].course.is_empty()).then_some(tried[chosen].steps);
        let ranker = self.fit_ranker(&tried[chosen].form, documents, &lists, None, steps, progress)?;
        let (form, course) = (tried[chosen].form.clone(), trials.swap_remove(chosen).course);
        let explanation = Explain::new().seed(self.seed).explain(&ranker, documents, progress)?;
        Ok(ChosenRanker { form, ranker, unmatched, validated_by, tried, course, explanation })
    }

    /// The forms to try, simple ones first. A layer norm over a single feature leaves nothing, and only some forms take documents that
    /// lack features.
    fn forms(&self, data: &FitData) -> Vec<ModelForm> {
        if let Some(model) = self.model.asked() {
            return vec![model.clone()];
        }
        let is_single = data.documents.feature_count() < 2;
        let lacks = |part: &Dataset| part.first_missing().is_some();
        let is_lacking = lacks(&data.documents) || data.validation.as_ref().is_some_and(lacks);
        let can = |form: &ModelForm| match form {
            ModelForm::Network(_) if is_single => false,
            form => !is_lacking || form.kind().takes_missing,
        };
        usual().into_iter().filter(can).collect()
    }

    /// Graded queries beside those of the log choose.
    fn by_grades<'a>(&self, lists: &TrainingLists, graded: &'a Dataset) -> (Vec<Fold<'a>>, String) {
        let judge = Judge::Grades { graded, max_grade: self.max_grade };
        (vec![Fold { lists: lists.clone(), judge }], format!("{BY_GRADES} of graded queries"))
    }

    /// Queries of the log choose, by their debiased clicks; the ranker learns from the others meanwhile.
    fn by_clicks(
        &self,
        log: &KnownLog<'_>,
        relevance: &Relevance,
        documents: &Dataset,
    ) -> Result<(Vec<Fold<'static>>, String)> {
        let queries = log.counts().queries().len();
        let (parts, used) = if queries < FEW_QUERIES { (FOLDS, FOLDS) } else { (PARTS, 1) };
        let part_of: Vec<usize> =
            (0..queries as u64).map(|query| (fraction(self.seed, query, PART) * parts as f64) as usize).collect();
        let mut folds = Vec::new();
        for part in 0..used {
            let choosing: Vec<bool> = part_of.iter().map(|&of| of == part).collect();
            folds.extend(fold(log, &choosing, relevance, documents)?);
        }
        let validated_by = match (folds.len(), used) {
            (0, _) => "nothing: there are too few clicks".to_string(),
            (_, 1) => format!("{BY_CLICKS} by clicks of all documents of a sixth of the training queries"),
            _ => format!("{BY_CLICKS} by clicks of all documents of held-out training queries, in {FOLDS} turns"),
        };
        Ok((folds, validated_by))
    }

    /// The value of a form by steps, over all folds, and where it is at its best by queries.
    fn try_form(
        &self,
        form: &ModelForm,
        documents: &Dataset,
        folds: &[Fold<'_>],
        progress: &dyn Progress,
    ) -> Result<Trial> {
        let (mut rankers, mut per_query) = (Vec::with_capacity(folds.len()), Vec::new());
        for fold in folds {
            let quiet = Quiet(progress);
            let validation = fold.judge.validation()?;
            let ranker = self.fit_ranker(form, documents, &fold.lists, Some(&validation), None, &quiet)?;
            per_query.extend(fold.judge.per_query(&ranker)?);
            rankers.push(ranker);
            progress.advance(1)?;
        }
        let course = mean_course(&rankers, &folds.iter().map(|fold| fold.judge.weight()).collect::<Vec<_>>());
        Ok(Trial { course, per_query })
    }
}

/// The simplest form that is within a standard error of the best, over queries: by less than that, forms differ by chance, and the
/// larger ones lose more by it on other queries. (Breiman, Friedman, Olshen and Stone 1984, for the size of trees.) Forms stand in the
/// order of their simplicity.
fn choose(tried: &[TriedForm], trials: &[Trial]) -> usize {
    let best = (0..tried.len()).rev().max_by(|&a, &b| tried[a].value.total_cmp(&tried[b].value)).unwrap_or(0);
    let simpler = (0..best).find(|&form| !is_clearly_below(&trials[form].per_query, &trials[best].per_query));
    simpler.unwrap_or(best)
}

/// Whether the mean of `values` is below that of `others` by more than the standard error of their difference.
fn is_clearly_below(values: &[f64], others: &[f64]) -> bool {
    difference(values, others).is_some_and(|difference| difference.mean > difference.standard_error)
}

/// How much the mean of `others` is above that of `values`, query by query; none for fewer than two queries.
fn difference(values: &[f64], others: &[f64]) -> Option<MeanDifference> {
    let differences = others.iter().zip(values).map(|(other, value)| other - value);
    let differences: Vec<f64> = differences.filter(|difference| difference.is_finite()).collect();
    let count = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / count;
    let variance = differences.iter().map(|difference| (difference - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (count > 1.0).then(|| MeanDifference { mean, standard_error: (variance / count).sqrt() })
}

/// What tells the parts of queries from other uses of the same hash.
const PART: u64 = 0x7061_7274;

/// The mean over rankers of their validation values after each number of steps. One that stopped keeps its last value.
fn mean_course(rankers: &[Ranker], weights: &[f64]) -> Course {
    let total: f64 = weights.iter().sum();
    let longest = rankers.iter().map(|ranker| &ranker.record.checks).max_by_key(|checks| checks.len());
    let at = |ranker: &Ranker, step: usize| {
        let reached = ranker.record.checks.iter().take_while(|check| check.step <= step).last();
        reached.and_then(|check| check.validation).unwrap_or(f64::NAN)
    };
    let mean = |step: usize| rankers.iter().zip(weights).map(|(ranker, w)| w * at(ranker, step)).sum::<f64>() / total;
    longest.map_or(Vec::new(), |checks| checks.iter().map(|check| (check.step, mean(check.step))).collect())
}

/// The form where it is at its best.
fn best(form: ModelForm, course: &Course) -> TriedForm {
    let none = (0, f64::NEG_INFINITY);
    let (steps, value) =
        course.iter().fold(none, |best, &(step, value)| if value > best.1 { (step, value) } else { best });
    TriedForm { form, steps, value, above_chosen: None }
}

/// The queries for which `choosing` is true choose, and the others are learned from; nothing where there are no clicks to choose by, or
/// none left to learn from. Weights stand in the order of the log's documents.
fn fold(
    log: &KnownLog<'_>,
    choosing: &[bool],
    relevance: &Relevance,
    documents: &Dataset,
) -> Result<Option<Fold<'static>>> {
    let (join, chooses) = (log.log.join()?, |query: u32| choosing[query as usize]);
    let judge = Counterfactual::of_queries(log, Estimator::UserAware, None, &chooses);
    let learned = relevance.weights.iter().zip(&join.rows).filter(|(weight, _)| !chooses(weight.query));
    let (weights, rows): (Vec<Weight>, Vec<Option<u32>>) = learned.unzip();
    let learned = Relevance { weights, ..relevance.clone() };
    let lists = TrainingLists::from_joined(documents, &learned, &Join { rows, queries: join.queries.clone() });
    let (Ok(judge), Ok((lists, _))) = (judge, lists) else { return Ok(None) };
    if lists.weights.iter().all(|&weight| weight == 0.0) {
        return Ok(None);
    }
    let numbers = join.queries.iter().zip(choosing).filter(|(_, chooses)| **chooses).filter_map(|(number, _)| *number);
    let mut queries: Vec<usize> = numbers.map(|number| number as usize).collect();
    queries.sort_unstable();
    let clicks = judge.within(documents, &queries).measures(vec![BY_CLICKS]).resamples(0).unseen_as_last();
    let clicked = ClickedQueries { candidates: documents.select(&queries), clicks };
    Ok(Some(Fold { lists, judge: Judge::Clicks(Box::new(clicked)) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranker::{Check, Model, TrainingRecord};

    #[test]
    fn the_simplest_form_within_a_standard_error_of_the_best_is_chosen() {
        let trial = |per_query: [f64; 4]| Trial { course: Vec::new(), per_query: per_query.to_vec() };
        let chosen = |trials: &[Trial]| {
            let mean = |trial: &Trial| trial.per_query.iter().sum::<f64>() / 4.0;
            let tried =
                |trial| TriedForm { form: ModelForm::LinearRaw, steps: 1, value: mean(trial), above_chosen: None };
            choose(&trials.iter().map(tried).collect::<Vec<_>>(), trials)
        };
        let simple = || trial([0.4, 0.5, 0.6, 0.7]);
        assert_eq!(chosen(&[simple(), trial([0.5, 0.6, 0.7, 0.81])]), 1, "surely better");
        assert_eq!(chosen(&[simple(), trial([0.9, 0.1, 0.8, 0.5])]), 0, "better by chance");
        assert_eq!(chosen(&[simple(), trial([0.2, 0.3, 0.4, 0.51]), trial([0.9, 0.9, 0.9, 0.9])]), 2);
        assert_eq!(chosen(&[simple(), simple()]), 0);
    }

    fn ranker(values: &[(usize, f64)]) -> Ranker {
        let check = |&(step, value): &(usize, f64)| Check { step, loss: 0.0, validation: Some(value) };
        let record = TrainingRecord { checks: values.iter().map(check).collect(), ..TrainingRecord::default() };
        Ranker { model: Model::Weights { weights: vec![1.0], bias: 0.0 }, record }
    }

    #[test]
    fn differences_are_means_over_queries_with_their_standard_error() {
        let found = difference(&[0.1, 0.2, f64::NAN], &[0.2, 0.5, 0.3]).unwrap();
        assert!((found.mean - 0.2).abs() < 1e-12, "{found:?}");
        let variance: f64 = (0.1_f64 - 0.2).powi(2) + (0.3_f64 - 0.2).powi(2);
        assert!((found.standard_error - (variance / 2.0).sqrt()).abs() < 1e-12, "{found:?}");
        assert_eq!(difference(&[0.1], &[0.2]), None);
    }

    #[test]
    fn courses_are_means_over_folds_and_last_values_stay() {
        let rankers = [ranker(&[(1, 0.2), (2, 0.6), (3, 0.4)]), ranker(&[(1, 0.6), (2, 0.2)])];
        let course = mean_course(&rankers, &[3.0, 1.0]);
        let expected = [(1, 0.3), (2, 0.5), (3, 0.35)];
        assert!(course.iter().zip(expected).all(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() < 1e-12), "{course:?}");
        let tried = best(ModelForm::LinearRaw, &course);
        assert_eq!((course.len(), tried.steps), (3, 2));
        assert_eq!(best(ModelForm::LinearRaw, &Vec::new()).value, f64::NEG_INFINITY);
    }
}
