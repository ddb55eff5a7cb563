//! Is a log fit to learn from? Counts enter, findings, tests for personalized bias and a recommendation leave.
//!
//! Users who differ both in what they search for and in how they look bias every correction that treats them alike. Both
//! differences are tested on the log itself, without a model: users shuffled over sessions tell whether users and queries depend
//! on each other, and users shuffled over whole pages with the same list tell whether some click more, or deeper.
//!
//! `strata` says which pages have the same query and list, `differences` tests them, so that clicks on a page may depend on
//! each other. `RelativeExamination` compares users at the same position only, so it is known even where positions cannot be
//! compared. A verdict needs a size, and may be open. `click_models` compares models of browsing by held-out pages. `quality` draws logs anew to choose an estimator; table and advice are
//! the same numbers. Of long logs a random part is tested, so cost does not grow with them: at most 100,000 sessions and as many pages, and
//! the users of about 4,000,000 cells (`compared`).

mod advice;
mod bias;
mod click_models;
mod click_models_page;
mod comparable;
mod compared;
mod dependence;
mod diagnosis;
mod differences;
mod groups;
mod overview;
mod page;
mod permutation;
mod quality;
mod relative;
mod strata;
#[cfg(test)]
mod tests;

pub use advice::{Finding, Recommendation, Severity};
pub use bias::Bias;
pub use click_models::{COMPARED, ClickModels, ComparedModel};
pub use comparable::Comparable;
pub(crate) use comparable::sentence;
pub use dependence::Dependence;
pub use diagnosis::Diagnosis;
pub use differences::{Difference, Differences};
pub use groups::UserGroup;
pub use overview::{AtPosition, Sizes, Spread, Variation};
pub use permutation::PermutationTest;
pub use quality::ExpectedQuality;
pub use relative::RelativeExamination;

use crate::Result;
use crate::counts::{CountsView, PageSummary};
use crate::data::Dataset;
use crate::options::{Options, options};
use crate::progress::Progress;
use crate::propensity::{EmUsers, RegressionEm, RelevanceForm};
use crate::relevance::{Estimation, EstimationChoice, KnownLog, RelevancePredictor};

options! {
    /// Examines a log.
    ///
    /// ```
    /// use truerank::data::{Generator, Preset};
    /// use truerank::doctor::Doctor;
    /// use truerank::progress::Silent;
    /// use truerank::ranker::Production;
    /// use truerank::simulate::Simulation;
    ///
    /// let data = Generator::preset(Preset::Tiny).generate()?;
    /// let simulation = Simulation::new().sessions(20_000);
    /// let lists = [Production::new().production_share(0.1).lists(&data.train, 1, &Silent)?];
    /// let counts = simulation.prepare(&data.train, &lists)?.counts()?;
    /// let diagnosis = Doctor::new().permutations(99).examine(&counts, None, Some(&data.train), &Silent)?;
    /// assert_eq!(diagnosis.sizes.sessions, 20_000);
    /// println!("{}", diagnosis.report("A simulated log").text());
    /// # Ok::<(), truerank::Error>(())
    /// ```
    #[derive(PartialEq)]
    pub struct Doctor {
        /// Relabelings of each permutation test, at most.
        permutations: usize = 999, at_least(1.0), value("N");
        /// The p-value below which a difference counts as found.
        level: f64 = 0.01, between(0.0, 1.0), value("P");
        /// Seed of the permutations.
        seed: u64 = 1;
    }
    beside {
        /// Whether click models are compared.
        click_models: bool = true,
    }
}

impl Doctor {
    /// Looks at everything that can be said about the log, `pages` and features being optional.
    pub fn examine(
        &self,
        counts: &dyn CountsView,
        pages: Option<&PageSummary>,
        data: Option<&Dataset>,
        progress: &dyn Progress,
    ) -> Result<Diagnosis> {
        let form = if data.is_some() { RelevanceForm::Linear } else { RelevanceForm::Table };
        let users = EmUsers::suited_to(counts.users().len());
        let em = RegressionEm::new().users(users).relevance(form).resamples(0).evidence_of_users(false).seed(self.seed);
        self.examine_known(&KnownLog::estimated(counts, data, em), pages, progress)
    }

    /// The same of a log that may have been looked at before; its examination is asked for only where positions can be compared.
    pub fn examine_known(
        &self,
        log: &KnownLog<'_>,
        pages: Option<&PageSummary>,
        progress: &dyn Progress,
    ) -> Result<Diagnosis> {
        let (counts, data) = (log.counts(), log.data());
        self.check_ranges()?;
        progress.begin("looking at users and queries", 3);
        let dependence = self.dependence(counts, progress)?;
        progress.advance(1)?;
        let differences = self.differences(counts, progress)?;
        progress.advance(1)?;
        let positions = AtPosition::all(counts)?;
        let several = counts.users().len() > 1;
        let tests = (dependence.as_ref(), differences.as_ref());
        let users = several.then(|| self.compare_users(counts, tests, &positions)).transpose()?;
        let (groups, bias) = users.unzip();
        let comparable = Comparable::of(&log.log)?;
        progress.advance(1)?;
        let mut diagnosis = Diagnosis {
            sizes: Sizes::of(counts, data),
            sessions_per_user: Spread::of(counts.sessions_per_user()),
            sessions_per_query: Spread::of(counts.sessions_per_query()),
            pages: pages.cloned(),
            variation: Variation::of(counts)?,
            dependence,
            differences,
            bias,
            click_models: self.compare_click_models(counts, progress)?,
            asks_for_click_models: self.click_models,
            groups: groups.unwrap_or_default(),
            level: self.level,
            permutations: self.permutations,
            estimators: Vec::new(),
            weights: None,
            recommendation: Recommendation::default(),
            findings: Vec::new(),
            positions,
            comparable,
        };
        match diagnosis.comparable.positions {
            true => self.weigh(&mut diagnosis, log, progress)?,
            false => diagnosis.recommendation = advice::recommend(&diagnosis),
        }
        diagnosis.findings = advice::findings(&diagnosis);
        Ok(diagnosis)
    }

    /// Whether users search for different things; nothing where there is one user or one query.
    pub fn dependence(&self, counts: &dyn CountsView, progress: &dyn Progress) -> Result<Option<Dependence>> {
        dependence::dependence(counts, self.permutations, self.seed, progress)
    }

    /// Whether users look at results differently; nothing where whole pages were not kept.
    pub fn differences(&self, counts: &dyn CountsView, progress: &dyn Progress) -> Result<Option<Differences>> {
        let test = |pages| Differences::of(pages, self.permutations, self.seed, progress);
        counts.pages().map(test).transpose()
    }

    /// Users in groups by depth, and how wrong a correction would be that does not know them; of a long log by a part of its users.
    fn compare_users(
        &self,
        counts: &dyn CountsView,
        (dependence, differences): (Option<&Dependence>, Option<&Differences>),
        positions: &[AtPosition],
    ) -> Result<(Vec<UserGroup>, Bias)> {
        let part = compared::compared_part(counts, self.seed)?;
        let counts = part.as_ref().map_or(counts, |part| part as &dyn CountsView);
        let relative = RelativeExamination::of(counts)?;
        let bias = Bias::of(counts, &relative, dependence, differences, positions)?;
        Ok((groups::user_groups(counts, positions, &relative), bias))
    }

    /// How well click models predict held-out pages; nothing where whole pages were not kept, or are too few.
    pub fn compare_click_models(
        &self,
        counts: &dyn CountsView,
        progress: &dyn Progress,
    ) -> Result<Option<ClickModels>> {
        match counts.pages().filter(|_| self.click_models) {
            Some(pages) => ClickModels::of(pages, self.seed, progress),
            None => Ok(None),
        }
    }

    /// How well each estimator is expected to order documents, and what the weights of the recommended one look like.
    fn weigh(&self, diagnosis: &mut Diagnosis, log: &KnownLog<'_>, progress: &dyn Progress) -> Result<()> {
        let theta = log.theta(progress)?;
        let predictor = RelevancePredictor::new().seed(self.seed);
        let default = EstimationChoice::default().estimation(log, &predictor, progress)?;
        diagnosis.estimators = quality::expected_quality(log.counts(), theta, &default, self.seed, progress)?;
        diagnosis.recommendation = advice::recommend(diagnosis);
        let chosen = match diagnosis.recommendation.is_default {
            true => default,
            false => Estimation::new(diagnosis.recommendation.estimator),
        };
        diagnosis.weights = Some(chosen.weigh(log.exposures(progress)?)?.diagnostics()?);
        Ok(())
    }
}
