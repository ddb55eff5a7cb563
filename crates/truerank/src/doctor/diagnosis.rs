//! All that was found out about a log.

use serde::Serialize;
use serde_json::{Value, json};

use super::{
    AtPosition, Bias, ClickModels, Comparable, Dependence, Differences, ExpectedQuality, Finding, PermutationTest,
    Recommendation, Severity, Sizes, Spread, UserGroup, Variation,
};
use crate::click_model::ClickModelKind;
use crate::counts::PageSummary;
use crate::relevance::Diagnostics;
use crate::report::Verdict;

/// What a log is fit for, and why.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diagnosis {
    /// How large it is.
    pub sizes: Sizes,
    /// What happened at each position.
    pub positions: Vec<AtPosition>,
    /// Sessions of each user.
    pub sessions_per_user: Spread,
    /// Sessions of each query.
    pub sessions_per_query: Spread,
    /// What its pages look like, where it was read as a log.
    pub pages: Option<PageSummary>,
    /// How much documents moved.
    pub variation: Variation,
    /// Which positions can be compared.
    pub comparable: Comparable,
    /// Whether users search for different things; nothing where that cannot be tested.
    pub dependence: Option<Dependence>,
    /// Whether users look at results differently; nothing where whole pages were not kept.
    pub differences: Option<Differences>,
    /// How wrong a correction would be that does not know users.
    pub bias: Option<Bias>,
    /// How well click models predict held-out pages; nothing where that was not asked or whole pages were not kept.
    pub click_models: Option<ClickModels>,
    /// Whether that was asked.
    #[serde(skip)]
    pub(super) asks_for_click_models: bool,
    /// Users by depth.
    pub groups: Vec<UserGroup>,
    /// p-values below this count as found.
    pub level: f64,
    /// Relabelings of each test, at most.
    pub permutations: usize,
    /// How well each estimator is expected to order documents, where examination can be estimated.
    pub estimators: Vec<ExpectedQuality>,
    /// What the recommended estimator's weights would look like.
    pub weights: Option<Diagnostics>,
    /// What to use.
    pub recommendation: Recommendation,
    /// What to know, problems first.
    pub findings: Vec<Finding>,
}

impl Diagnosis {
    /// Whether nothing forbids to learn from the log: no finding is a problem.
    pub fn is_fit(&self) -> bool {
        self.worst() != Some(Severity::Problem)
    }

    /// Whether the log is fit to learn from; open where that cannot be told.
    pub fn fitness(&self) -> Verdict {
        match self.worst() {
            Some(Severity::Problem) => Verdict::DoesNotHold,
            Some(Severity::Open) => Verdict::Open,
            _ => Verdict::Holds,
        }
    }

    fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).min()
    }

    /// Whether users differ both in what they search for and in how they look, so much that it matters.
    pub fn personalized_bias(&self) -> Verdict {
        let found = self.users_search_differently() && self.users_look_differently();
        match &self.bias {
            Some(bias) if found && bias.typical >= MATTERS => Verdict::Holds,
            Some(bias) if bias.at_most.is_some_and(|most| most < MATTERS) => Verdict::DoesNotHold,
            _ => Verdict::Open,
        }
    }

    /// The click model that predicts best, `pbm` where none is better than that by so much that it matters; nothing where
    /// that cannot be told.
    pub fn suited_click_model(&self) -> Option<ClickModelKind> {
        self.click_models.as_ref()?.suited(self.level)
    }

    pub(super) fn users_search_differently(&self) -> bool {
        self.dependence.as_ref().is_some_and(|found| self.is_found(&found.test))
    }

    pub(super) fn users_look_differently(&self) -> bool {
        let both = self.differences.iter().flat_map(|found| [&found.level, &found.depth]);
        both.flatten().any(|found| self.is_found(&found.test))
    }

    fn is_found(&self, test: &PermutationTest) -> bool {
        test.p < self.level
    }

    /// About how many sessions have so many clicks.
    pub(super) fn sessions_for(&self, clicks: u64) -> u64 {
        (clicks as f64 * self.sizes.sessions as f64 / self.sizes.clicks.max(1) as f64).ceil() as u64
    }

    /// The least number of relabelings with which something can be found, where there were fewer.
    pub(super) fn permutations_needed(&self) -> Option<usize> {
        let finds = |permutations: usize| 1.0 / (permutations as f64 + 1.0) < self.level;
        (!finds(self.permutations)).then(|| (self.permutations..).find(|&more| finds(more)).unwrap_or(usize::MAX))
    }

    /// All of it for programs, with what should be known of the log's rows.
    pub fn to_json(&self, remarks: &[String]) -> Value {
        json!({
            "type": "truerank/diagnosis", "version": 3,
            // Null where that is open.
            "fit": self.fitness().decided(),
            "personalized_bias": self.personalized_bias().name().to_lowercase(),
            // Null where that is open, or was not asked.
            "click_model": self.suited_click_model().map(|model| model.to_string()),
            "remarks": remarks,
            "diagnosis": self,
        })
    }
}

/// The relative error of a document's relevance from which on a bias matters.
pub(super) const MATTERS: f64 = 0.05;
