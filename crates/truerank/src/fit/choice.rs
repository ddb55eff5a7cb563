//! Which ranker is trained: every form is tried on queries that training does not see, and the best is trained on all.

use std::cell::RefCell;
use std::time::Instant;

use super::ranker::usual;
use super::warm::TrainedForm;
use super::{ChosenRanker, Fit, FitData, MeanDifference, TriedForm};
use crate::Result;
use crate::data::{Dataset, Join};
use crate::evaluate::{ClickMeasure, Counterfactual, Evaluator, Measure};
use crate::insight::{Explain, Explanation};
use crate::progress::{Progress, Quiet};
use crate::random::fraction;
use crate::ranker::{FeatureScaling, ModelForm, Ranker, TrainingLists, Unmatched, Validation};
use crate::relevance::{Estimator, KnownLog, Relevance, Weight};

/// Below so many training queries, each takes part in choosing: one part of them is too few to tell forms apart, which often differ by
/// less than .01.
const FEW_QUERIES: usize = 10_000;

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
    /// The documents to be scored.
    fn documents(&self) -> &Dataset {
        match self {
            Judge::Grades { graded, .. } => graded,
            Judge::Clicks(queries) => &queries.candidates,
        }
    }

    /// What scores are worth, and to each of the queries; nothing where they cannot be judged.
    ///
    /// Clicks judge the order of *all* documents, as the ranker will be used. By the shown ones alone, forms look best that order them
    /// well and make nothing of the others. Where the others earn nothing, those look best that find none of them, however good. So they
    /// earn what the last document of a page earns.
    fn judge(&self, scores: &[f32]) -> Option<(f64, Vec<f64>)> {
        match self {
            Judge::Grades { graded, max_grade } => {
                let evaluator = Evaluator::new(vec![BY_GRADES]).max_grade(*max_grade);
                let found = evaluator.evaluate(graded, scores).ok()?;
                Some((found.mean(BY_GRADES)?, found.per_query(BY_GRADES)?.to_vec()))
            }
            Judge::Clicks(queries) => {
                let found = queries.clicks.judge_candidates(scores).ok()?;
                Some((found.value(BY_CLICKS)?.value, found.per_query(BY_CLICKS)?))
            }
        }
    }

    /// How much it counts beside those of other folds.
    fn weight(&self) -> f64 {
        match self {
            Judge::Grades { .. } => 1.0,
            Judge::Clicks(queries) => queries.clicks.log.pages as f64,
        }
    }
}

/// What a form is worth after so many steps.
type Course = Vec<(usize, f64)>;

/// A form that was tried on all folds.
struct Trial {
    course: Course,
    /// What it is worth to each of the queries that choose, after as many steps on all folds: where each fold is at its own best, values
    /// are too high, and most so for forms that vary most from check to check.
    per_query: Vec<f64>,
}

/// A ranker, and the forms that were tried for it.
struct Chosen {
    ranker: Ranker,
    validated_by: String,
    tried: Vec<TriedForm>,
    /// Which of them it is.
    chosen: usize,
    course: Course,
}

impl Chosen {
    fn explained(self, unmatched: Unmatched, explanation: Explanation) -> ChosenRanker {
        let Chosen { ranker, validated_by, tried, chosen, course } = self;
        let form = tried[chosen].form.clone();
        ChosenRanker { form, ranker, unmatched, validated_by, tried, course, explanation }
    }
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
        let chosen = match self.known_form() {
            Some(known) => self.as_before(known, documents, &lists, progress)?,
            None => self.choose_ranker(log, relevance, data, &lists, progress)?,
        };
        let explanation = Explain::new().seed(self.seed).explain(&chosen.ranker, documents, progress)?;
        Ok(chosen.explained(unmatched, explanation))
    }

    /// The form that an earlier fit chose, trained for as long.
    fn as_before(
        &self,
        known: &TrainedForm,
        documents: &Dataset,
        lists: &TrainingLists,
        progress: &dyn Progress,
    ) -> Result<Chosen> {
        let ranker = self.fit_ranker(&known.form, documents, lists, None, known.steps, progress)?;
        let mut tried = best(known.form.clone(), &Course::new());
        tried.steps = known.steps.unwrap_or(ranker.record.steps);
        let validated_by = "the fit that this one started from".to_string();
        Ok(Chosen { ranker, validated_by, tried: vec![tried], chosen: 0, course: Course::new() })
    }

    /// Tries every form, and trains the best on all queries.
    fn choose_ranker(
        &self,
        log: &KnownLog<'_>,
        relevance: &Relevance,
        data: &FitData,
        lists: &TrainingLists,
        progress: &dyn Progress,
    ) -> Result<Chosen> {
        let documents = &data.documents;
        let (folds, validated_by) = match &data.validation {
            Some(graded) => self.by_grades(lists, graded),
            None => self.by_clicks(log, relevance, documents)?,
        };
        let forms = self.forms(data);
        progress.begin("choosing the kind of ranker", (forms.len() * folds.len()) as u64);
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
        let ranker = self.fit_ranker(&tried[chosen].form, documents, lists, None, steps, progress)?;
        let course = trials.swap_remove(chosen).course;
        Ok(Chosen { ranker, validated_by, tried, chosen, course })
    }

    /// The forms to try. The paper's layer norm over a single feature leaves nothing, and only some forms take documents that
    /// lack features.
    fn forms(&self, data: &FitData) -> Vec<ModelForm> {
        if let Some(model) = self.model.asked() {
            return vec![model.clone()];
        }
        let is_erased = data.documents.feature_count() < 2 && self.scaling == FeatureScaling::Paper;
        let lacks = |part: &Dataset| part.first_missing().is_some();
        let is_lacking = lacks(&data.documents) || data.validation.as_ref().is_some_and(lacks);
        let can = |form: &ModelForm| match form {
            ModelForm::Network(_) if is_erased => false,
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
            _ => {
                format!("{BY_CLICKS} by clicks of all documents of training queries, by {FOLDS}-fold cross-validation")
            }
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
        let (mut rankers, mut checks) = (Vec::with_capacity(folds.len()), Vec::with_capacity(folds.len()));
        for fold in folds {
            let seen = RefCell::new(Vec::new());
            let validation = Validation::new(fold.judge.documents(), |scores| {
                let (value, per_query) = fold.judge.judge(scores).unwrap_or((f64::NAN, Vec::new()));
                seen.borrow_mut().push(per_query);
                value
            });
            rankers.push(self.fit_ranker(form, documents, &fold.lists, Some(&validation), None, &Quiet(progress))?);
            drop(validation);
            checks.push(seen.into_inner());
            progress.advance(1)?;
        }
        let course = mean_course(&rankers, &folds.iter().map(|fold| fold.judge.weight()).collect::<Vec<_>>());
        let steps = best(form.clone(), &course).steps;
        let at_best = rankers.iter().zip(checks).filter_map(|(ranker, mut checks)| {
            let place = check_at(ranker, steps)?;
            (place < checks.len()).then(|| checks.swap_remove(place))
        });
        Ok(Trial { course, per_query: at_best.flatten().collect() })
    }
}

/// By how many standard errors of the difference a form must be below the best to be passed over: as a test of 5 % would.
const CLEARLY: f64 = 2.0;

/// The first form that is not clearly below the best, over queries. Forms stand in the order in which they are taken where clicks do not
/// tell them apart: by less than [`CLEARLY`] they differ by chance, and the best of several by chance loses on other queries. (Breiman,
/// Friedman, Olshen and Stone 1984 take one standard error for the size of trees; docs/results.md compares.)
fn choose(tried: &[TriedForm], trials: &[Trial]) -> usize {
    let best = (0..tried.len()).rev().max_by(|&a, &b| tried[a].value.total_cmp(&tried[b].value)).unwrap_or(0);
    let first = (0..best).find(|&form| !is_clearly_below(&trials[form].per_query, &trials[best].per_query));
    first.unwrap_or(best)
}

/// Whether the mean of `values` is below that of `others` by more than chance makes it.
fn is_clearly_below(values: &[f64], others: &[f64]) -> bool {
    difference(values, others).is_some_and(|difference| difference.mean > CLEARLY * difference.standard_error)
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
        check_at(ranker, step).and_then(|place| ranker.record.checks[place].validation).unwrap_or(f64::NAN)
    };
    let mean = |step: usize| rankers.iter().zip(weights).map(|(ranker, w)| w * at(ranker, step)).sum::<f64>() / total;
    longest.map_or(Vec::new(), |checks| checks.iter().map(|check| (check.step, mean(check.step))).collect())
}

/// The last check of a ranker up to this step.
fn check_at(ranker: &Ranker, step: usize) -> Option<usize> {
    ranker.record.checks.partition_point(|check| check.step <= step).checked_sub(1)
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
    fn the_first_form_that_is_not_clearly_below_the_best_is_chosen() {
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
        // Differences .2, .1, 0, .1: their mean is 2.45 standard errors above 0; with -.1 in place of the 0, 1.19.
        assert_eq!(chosen(&[simple(), trial([0.6, 0.6, 0.6, 0.8])]), 1, "past two standard errors");
        assert_eq!(chosen(&[simple(), trial([0.6, 0.6, 0.5, 0.8])]), 0, "past one standard error");
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
