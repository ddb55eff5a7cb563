//! All the way from a log to a ranker: counts and features enter; θ, relevance, a ranker and what it achieves leave.
//!
//! [`Fit`] puts the stages together with defaults for people's own logs: personalized Regression-EM with shrinkage,
//! smoothed user-aware weights that are shrunk toward a prior, the form of ranker that does best on held-out queries. Everything is judged on queries, or on a time, that training never saw: by clicks,
//! and by human grades where there are any.

mod choice;
mod folder;
mod input;
mod judge;
mod outcome;
mod page;
mod ranker;
#[cfg(test)]
mod tests;

pub use folder::FitFolder;
pub use input::{FitData, FitLog, SplitBy};
pub use outcome::{FitOutcome, Graded, GradedPages, GradedResult, Judged, PartSizes, Training, TriedForm};
pub use ranker::RankerForm;

use std::sync::OnceLock;

use crate::data::Dataset;
use crate::doctor::{Diagnosis, Doctor, Severity};
use crate::evaluate::leakage;
use crate::progress::Progress;
use crate::propensity::{EmUsers, Propensities, RegressionEm, RelevanceForm};
use crate::relevance::{EstimationChoice, KnownLog, RelevancePredictor};
use crate::{Error, Result};

/// The way from a log to a ranker.
#[derive(Debug, Clone)]
pub struct Fit {
    propensities: Option<Propensities>,
    em: Option<RegressionEm>,
    form: Option<RelevanceForm>,
    weights: EstimationChoice,
    model: Option<RankerForm>,
    steps: Option<usize>,
    standardise: bool,
    doctor: Doctor,
    max_grade: u8,
    seed: u64,
}

impl Default for Fit {
    fn default() -> Self {
        Self::new()
    }
}

impl Fit {
    /// The seed where no other is given.
    pub const SEED: u64 = 1;

    /// All defaults.
    pub fn new() -> Self {
        Fit {
            propensities: None,
            em: None,
            form: None,
            weights: EstimationChoice::default(),
            model: None,
            steps: None,
            standardise: true,
            doctor: Doctor::new(),
            max_grade: 4,
            seed: Fit::SEED,
        }
    }

    /// Examination probabilities that are known. Default: none, they are estimated.
    pub fn propensities(mut self, propensities: Propensities) -> Self {
        self.propensities = Some(propensities);
        self
    }

    /// How examination is estimated. Default: personalized Regression-EM as suits the number of users, with
    /// [`relevance_form`](Fit::relevance_form).
    pub fn examination(mut self, em: RegressionEm) -> Self {
        self.em = Some(em);
        self
    }

    /// What gives relevance while examination is estimated. Default: linear with features, a table without.
    pub fn relevance_form(mut self, form: RelevanceForm) -> Self {
        self.form = Some(form);
        self
    }

    /// What turns clicks into relevance. Default: as [`EstimationChoice`] says.
    pub fn weights(mut self, weights: EstimationChoice) -> Self {
        self.weights = weights;
        self
    }

    /// The form of the ranker. Default: the best of [`RankerForm::usual`] on training queries that are held out meanwhile.
    pub fn model(mut self, model: RankerForm) -> Self {
        self.model = Some(model);
        self
    }

    /// Training steps at most; how many are best is chosen with the form. Default: 1000, or 200 for a linear ranker.
    pub fn steps(mut self, steps: usize) -> Self {
        self.steps = Some(steps);
        self
    }

    /// Whether a network's features are brought to one scale first. Default: true.
    pub fn standardise(mut self, standardise: bool) -> Self {
        self.standardise = standardise;
        self
    }

    /// How the log is examined before. Default: as [`Doctor::new`].
    pub fn doctor(mut self, doctor: Doctor) -> Self {
        self.doctor = doctor;
        self
    }

    /// The largest grade of the scale, where there are grades. Default: 4.
    pub fn max_grade(mut self, max_grade: u8) -> Self {
        self.max_grade = max_grade;
        self
    }

    /// The seed of everything that has chance in it, beside what [`doctor`](Fit::doctor) sets. Default: 1.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Goes all the way; a [`FitFolder`] keeps what comes out.
    ///
    /// Without features there is no ranker: what is left are examination, relevance, and how well they predict clicks.
    pub fn run(&self, log: &FitLog, data: Option<&FitData>, progress: &dyn Progress) -> Result<FitOutcome> {
        self.check(data.is_some())?;
        log.check()?;
        let train = self.known(log, data.map(|data| &data.documents));
        let diagnosis = self.doctor.examine_known(&train, log.pages.as_ref(), progress)?;
        require_fit(&diagnosis)?;
        let predictor = RelevancePredictor::new().seed(self.seed);
        let estimation = self.weights.estimation(&train, &predictor, progress)?;
        let (relevance, weights) = {
            let weighing = estimation.weigh(train.exposures(progress)?)?;
            (weighing.relevance()?, weighing.diagnostics()?)
        };
        let training = data.map(|data| self.train(&train, &relevance, data, progress)).transpose()?;
        progress.begin("judging", 1);
        let (judged, clicks) = self.judge(log, &train, &relevance, data.zip(training.as_ref()))?;
        let propensities = train.into_propensities().unwrap_or_default();
        Ok(FitOutcome {
            split: log.split,
            sizes: PartSizes::of(log),
            shared_queries: leakage(&log.train, &log.held_out).queries.len(),
            diagnosis,
            propensities,
            relevance,
            weights,
            training,
            judged,
            clicks,
            page: OnceLock::new(),
        })
    }

    /// What can be said before anything is estimated.
    fn check(&self, has_features: bool) -> Result<()> {
        self.weights.check(has_features)
    }

    /// The part to learn from, with examination that is known or to be estimated.
    fn known<'a>(&'a self, log: &'a FitLog, data: Option<&'a Dataset>) -> KnownLog<'a> {
        match &self.propensities {
            Some(propensities) => KnownLog::examined(&log.train, data, propensities),
            None => KnownLog::estimated(&log.train, data, self.regression_em(log.train.users.len(), data.is_some())),
        }
    }

    fn regression_em(&self, users: usize, has_features: bool) -> RegressionEm {
        if let Some(em) = &self.em {
            return em.clone();
        }
        let usual = if has_features { RelevanceForm::Linear } else { RelevanceForm::Table };
        let form = self.form.clone().unwrap_or(usual);
        RegressionEm::new().users(EmUsers::suited_to(users)).relevance(form).seed(self.seed)
    }
}

/// An error that says why not, where the log is not fit to learn from.
fn require_fit(diagnosis: &Diagnosis) -> Result<()> {
    if diagnosis.is_fit() {
        return Ok(());
    }
    let problems = diagnosis.findings.iter().filter(|finding| finding.severity == Severity::Problem);
    let reasons: Vec<String> = problems.map(|problem| format!("{} {}", problem.text, problem.help)).collect();
    Err(Error::parameter(format!("this log is not fit to learn from: {}", reasons.join(" "))))
}
