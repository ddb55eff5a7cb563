//! Is a log fit to learn from? Counts enter, findings, tests for personalized bias and a recommendation leave.
//!
//! Users who differ both in what they search for and in how deep they look bias every correction that treats them
//! alike. Both differences are tested on the counts themselves, without a model: users shuffled over sessions tell
//! whether users and queries depend on each other, and clicks shuffled among those who saw the same document at the
//! same position tell whether users look differently.

mod advice;
mod bias;
mod comparable;
mod dependence;
mod diagnosis;
mod groups;
mod overview;
mod page;
mod permutation;
mod relative;
mod strata;
#[cfg(test)]
mod tests;

pub use advice::{Finding, Recommendation, Severity};
pub use bias::Bias;
pub use comparable::Comparable;
pub(crate) use comparable::sentence;
pub use dependence::Dependence;
pub use diagnosis::Diagnosis;
pub use groups::UserGroup;
pub use overview::{AtPosition, Sizes, Spread, Variation};
pub use permutation::PermutationTest;
pub use relative::RelativeExamination;
pub use strata::Differences;

use crate::counts::{CountsView, PageSummary};
use crate::data::Dataset;
use crate::progress::Progress;
use crate::propensity::{EmUsers, Propensities, RegressionEm, RelevanceForm};
use crate::relevance::{Estimation, EstimationChoice, Estimator, Exposures, RelevancePredictor, expected_errors};
use crate::{Error, Result};

/// Examines a log.
#[derive(Debug, Clone, PartialEq)]
pub struct Doctor {
    permutations: usize,
    level: f64,
    seed: u64,
}

impl Default for Doctor {
    fn default() -> Self {
        Self::new()
    }
}

impl Doctor {
    /// 999 permutations, found at p < .01.
    pub fn new() -> Self {
        Doctor { permutations: 999, level: 0.01, seed: 1 }
    }

    /// Relabelings drawn by each test, at most. Default: 999.
    pub fn permutations(mut self, permutations: usize) -> Self {
        self.permutations = permutations;
        self
    }

    /// The p-value below which a difference counts as found. Default: 0.01.
    pub fn level(mut self, level: f64) -> Self {
        self.level = level;
        self
    }

    /// The seed of relabelings. Default: 1.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Looks at everything that can be said about the log, `pages` and features being optional.
    pub fn examine(
        &self,
        counts: &dyn CountsView,
        pages: Option<&PageSummary>,
        data: Option<&Dataset>,
        progress: &dyn Progress,
    ) -> Result<Diagnosis> {
        let find = || self.examination(counts, data, progress);
        Ok(self.examine_by(counts, pages, data, &find, progress)?.0)
    }

    /// The same with examination as `find` estimates it, which is asked only where positions can be compared; its
    /// answer is returned too.
    pub fn examine_by(
        &self,
        counts: &dyn CountsView,
        pages: Option<&PageSummary>,
        data: Option<&Dataset>,
        find: &dyn Fn() -> Result<Propensities>,
        progress: &dyn Progress,
    ) -> Result<(Diagnosis, Option<Propensities>)> {
        self.check()?;
        progress.begin("looking at users and queries", 3);
        let dependence = dependence::dependence(counts, self.permutations, self.seed, progress)?;
        progress.advance(1)?;
        let differences = strata::differences(counts, self.permutations, self.seed, progress)?;
        progress.advance(1)?;
        let positions = AtPosition::all(counts)?;
        let relative = differences.as_ref().map(|_| RelativeExamination::of(counts)).transpose()?;
        let groups = relative.as_ref().map(|relative| groups::user_groups(counts, &positions, relative));
        let comparable = Comparable::of(counts, data)?;
        progress.advance(1)?;
        let mut diagnosis = Diagnosis {
            sizes: Sizes::of(counts),
            sessions_per_user: Spread::of(counts.sessions_per_user()),
            sessions_per_query: Spread::of(counts.sessions_per_query()),
            pages: pages.cloned(),
            variation: Variation::of(counts)?,
            dependence,
            differences,
            bias: relative.as_ref().map(|relative| Bias::of(counts, relative)).transpose()?,
            groups: groups.unwrap_or_default(),
            level: self.level,
            estimators: Vec::new(),
            weights: None,
            recommendation: Recommendation { estimator: String::new(), why: String::new() },
            findings: Vec::new(),
            positions,
            comparable,
        };
        let propensities = if diagnosis.comparable.positions { Some(find()?) } else { None };
        self.weigh(&mut diagnosis, counts, propensities.as_ref(), data, progress)?;
        diagnosis.findings = advice::findings(&diagnosis);
        Ok((diagnosis, propensities))
    }

    fn check(&self) -> Result<()> {
        if self.permutations == 0 {
            return Err(Error::parameter("permutations should be at least 1, but are 0"));
        }
        match self.level > 0.0 && self.level < 1.0 {
            true => Ok(()),
            false => Err(Error::parameter(format!("level should be between 0 and 1, but is {}", self.level))),
        }
    }

    fn examination(
        &self,
        counts: &dyn CountsView,
        data: Option<&Dataset>,
        progress: &dyn Progress,
    ) -> Result<Propensities> {
        let form = if data.is_some() { RelevanceForm::Linear } else { RelevanceForm::Table };
        let users = EmUsers::suited_to(counts.users().len());
        let em = RegressionEm::new().users(users).relevance(form).resamples(0).seed(self.seed);
        Ok(em.estimate(counts, data, progress)?.propensities)
    }

    /// What each estimator would make of the log, where examination is known, and what the weights of the default look like.
    fn weigh(
        &self,
        diagnosis: &mut Diagnosis,
        counts: &dyn CountsView,
        propensities: Option<&Propensities>,
        data: Option<&Dataset>,
        progress: &dyn Progress,
    ) -> Result<()> {
        if let Some(propensities) = propensities {
            let exposures = Exposures::new(counts, propensities)?;
            diagnosis.estimators = expected_errors(&exposures, &Estimator::all())?;
            let estimation = match data {
                Some(data) => EstimationChoice::default().estimation(true, || {
                    RelevancePredictor::new().seed(self.seed).predict(counts, propensities, data, progress)
                })?,
                None => Estimation::default(),
            };
            diagnosis.weights = Some(estimation.weigh(&exposures)?.diagnostics()?);
        }
        diagnosis.recommendation = advice::recommend(diagnosis);
        Ok(())
    }
}
