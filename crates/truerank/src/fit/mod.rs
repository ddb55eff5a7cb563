//! All the way from a log to a ranker: counts and features enter; θ, relevance, a ranker and what it achieves leave.
//!
//! [`Fit`] puts the stages together with defaults for people's own logs: personalized Regression-EM with shrinkage,
//! smoothed user-aware weights that are shrunk toward a prior, the form of ranker that does best on held-out queries. Everything is judged on queries, or on a time, that training never saw: by clicks,
//! and by human grades where there are any.

mod changes;
mod choice;
mod click_model;
mod click_model_choice;
mod folder;
mod input;
mod judge;
mod model;
mod outcome;
mod page;
mod ranker;
#[cfg(test)]
mod tests;
mod warm;

pub use crate::counts::SplitBy;
pub use click_model::{ChosenClickModel, MovedDocuments};
pub use click_model_choice::ClickModelChoice;
pub use folder::FitFolder;
pub use input::{FitData, FitLog};
pub use model::ModelChoice;
pub use outcome::{
    ChosenRanker, FitOutcome, Graded, GradedPages, GradedResult, Judged, MeanDifference, PartSizes, QueryChange,
    TriedForm,
};
pub use warm::WarmStart;

use std::sync::OnceLock;

use crate::data::Dataset;
use crate::doctor::{Diagnosis, Doctor, Severity};
use crate::evaluate::leakage;
use crate::options::{Options, options};
use crate::progress::Progress;
use crate::propensity::{EmUsers, Propensities, RegressionEm, RelevanceForm};
use crate::ranker::FeatureScaling;
use crate::relevance::{EstimationChoice, KnownLog, RelevancePredictor};
use crate::report::Provenance;
use crate::{Error, Result};
use warm::TrainedForm;

options! {
    /// The way from a log to a ranker.
    ///
    /// ```
    /// use truerank::counts::{LogSource, SplitBy};
    /// use truerank::data::{Generator, Preset};
    /// use truerank::fit::{Fit, FitData};
    /// use truerank::progress::Silent;
    /// use truerank::ranker::{ModelForm, Production};
    /// use truerank::simulate::Simulation;
    ///
    /// let data = Generator::preset(Preset::Tiny).generate()?;
    /// let simulation = Simulation::new().sessions(20_000);
    /// let lists = [Production::new().production_share(0.1).lists(&data.train, 1, &Silent)?];
    /// let counts = simulation.prepare(&data.train, &lists)?.counts()?;
    ///
    /// let fit = Fit::new().model(ModelForm::LinearRaw);
    /// let log = LogSource::from(counts).split(SplitBy::Queries, fit.held_out, fit.seed, &Silent)?;
    /// let outcome = fit.run(&log.try_into()?, Some(&FitData::of_splits(data)), &Silent)?;
    /// println!("{}", outcome.summary().text());
    /// # Ok::<(), truerank::Error>(())
    /// ```
    pub struct Fit {
        /// How the held-out part is chosen: query (some queries), page (some result pages), or time (what happened last).
        split: Option<SplitBy> = None, usual("query with features, else page"), value("BY"), heading("Judging");
        /// The share of queries, of pages, or of the log's end, that is held out.
        held_out: f64 = 0.2, between(0.0, 1.0), value("SHARE"), heading("Judging");
        /// What gives relevance while examination is estimated: linear, mlp, mlp:SIZE,… or table.
        relevance: Option<RelevanceForm> = None, usual("linear with features, else table"), value("FORM"),
            heading("Examination");
        /// What corrects clicks: none (examination by position), a click model, or auto (the model that predicts clicks significantly better, where its
        /// relevance predicts clicks on moved documents as well; else none).
        click_model: ClickModelChoice = ClickModelChoice::None, value("MODEL"), heading("Examination");
        /// The kind of ranker: linear-raw, linear, mlp, mlp:SIZE,SIZE,… or trees; auto chooses between linear, linear-raw, mlp:32 and trees
        /// on held-out training queries.
        model: ModelChoice = ModelChoice::Auto, value("KIND"), heading("Ranker");
        /// Training steps at most; how many are best is found out.
        steps: Option<usize> = None, usual("1000, or 200 for linear-raw, 500 for trees"), heading("Ranker");
        /// How a network's features are brought to one scale first: rank (ranks among all documents), standard (mean 0, deviation 1),
        /// none, or paper (a layer norm over each document).
        scaling: FeatureScaling = FeatureScaling::Rank, value("HOW"), heading("Ranker");
        /// Seed of everything that has chance in it.
        seed: u64 = 1;
    }
    flatten {
        /// What turns clicks into relevance.
        weights: EstimationChoice
    }
    beside {
        /// Examination probabilities that are known; without, they are estimated.
        propensities: Option<Propensities> = None,
        /// How examination is estimated. By default by personalized Regression-EM as suits the number of users.
        examination: Option<RegressionEm> = None,
        /// An earlier fit, whose choices are taken over.
        warm: Option<WarmStart> = None,
        /// How the log is examined before; its seed is its own.
        doctor: Doctor = Doctor::new(),
        /// The largest grade of the scale, where there are grades.
        max_grade: u8 = 4
    }
}

impl Fit {
    /// How the held-out part is chosen, for a log with or without features.
    pub fn split_for(&self, has_features: bool) -> SplitBy {
        self.split.unwrap_or(if has_features { SplitBy::Queries } else { SplitBy::Pages })
    }

    /// What can be said before anything is read.
    pub fn check(&self, has_features: bool) -> Result<()> {
        self.check_ranges()?;
        if self.propensities.is_some() && self.relevance.is_some() {
            let finding = "is for the estimation of examination, but `propensities` are given";
            return Err(Error::option("relevance", finding));
        }
        if let (Some(_), ClickModelChoice::Only(model)) = (&self.propensities, self.click_model) {
            return Err(Error::option(
                "click_model",
                format!("is {model}, but `propensities` are given: leave out one"),
            ));
        }
        if let Some(model) = self.model.asked().filter(|model| !model.kind().learns_from_weights) {
            return Err(Error::option("model", format!("is {model}, which does not learn from clicks")));
        }
        if let (Some(asked), Some(known)) = (self.model.asked(), self.known_form())
            && *asked != known.form
        {
            let finding = format!("is {asked}, but the fit to start from has {}: leave out one", known.form);
            return Err(Error::option("model", finding));
        }
        self.weights.check(has_features)
    }

    /// The kind of ranker that an earlier fit chose.
    fn known_form(&self) -> Option<&TrainedForm> {
        self.warm.as_ref().and_then(WarmStart::ranker)
    }

    /// Goes all the way; a [`FitFolder`] keeps what comes out.
    ///
    /// Without features there is no ranker: what is left are examination, relevance, and how well they predict clicks.
    pub fn run(&self, log: &FitLog, data: Option<&FitData>, progress: &dyn Progress) -> Result<FitOutcome> {
        self.check(data.is_some())?;
        log.check()?;
        let train = self.known(log, data.map(|data| &data.documents));
        let documents = data.map(|data| &data.documents);
        let doctor = self.doctor.clone().click_models(self.compares_click_models());
        let diagnosis = doctor.examine_known(&train, log.pages.as_ref(), progress)?;
        require_fit(&diagnosis)?;
        let click_model = self.choose_click_model(log, documents, &diagnosis, progress)?;
        let modelled = |model| KnownLog::modelled(log.train.as_ref(), documents, model);
        let modelled = click_model.model.as_ref().map(modelled).transpose()?;
        let weighed = modelled.as_ref().unwrap_or(&train);
        let predictor = RelevancePredictor::new().seed(self.seed);
        let estimation = self.weights.estimation(weighed, &predictor, progress)?;
        let (relevance, weights) = {
            let weighing = estimation.weigh(weighed.exposures(progress)?)?;
            (weighing.relevance()?, weighing.diagnostics()?)
        };
        let training = data.map(|data| self.train(weighed, &relevance, data, progress)).transpose()?;
        progress.begin("judging", 1);
        let model = click_model.model.as_ref();
        let (judged, clicks) = self.judge(log, &train, weighed, model, &relevance, data.zip(training.as_ref()))?;
        drop(modelled);
        let propensities = train.into_propensities().unwrap_or_default();
        Ok(FitOutcome {
            split: log.split,
            sizes: PartSizes::of(log),
            shared_queries: leakage(log.train.as_ref(), log.held_out.as_ref()).queries.len(),
            diagnosis,
            click_model,
            propensities,
            relevance,
            weights,
            training,
            judged,
            clicks,
            provenance: Some(Provenance::default().seed(self.seed).options(self)),
            page: OnceLock::new(),
        })
    }

    /// Whether the doctor is asked which click model suits the log.
    fn compares_click_models(&self) -> bool {
        self.click_model == ClickModelChoice::Auto && self.propensities.is_none() && self.doctor.click_models
    }

    /// The part to learn from, with examination that is known or to be estimated.
    fn known<'a>(&'a self, log: &'a FitLog, data: Option<&'a Dataset>) -> KnownLog<'a> {
        let train = log.train.as_ref();
        match &self.propensities {
            Some(propensities) => KnownLog::examined(train, data, propensities),
            None => KnownLog::estimated(train, data, self.regression_em(train.users().len(), data.is_some())),
        }
    }

    fn regression_em(&self, users: usize, has_features: bool) -> RegressionEm {
        if let Some(em) = &self.examination {
            return em.clone();
        }
        let usual = if has_features { RelevanceForm::Linear } else { RelevanceForm::Table };
        let form = self.relevance.clone().unwrap_or(usual);
        let em = RegressionEm::new().users(EmUsers::suited_to(users)).relevance(form).seed(self.seed);
        match &self.warm {
            Some(warm) => warm.examination(em, users),
            None => em,
        }
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
