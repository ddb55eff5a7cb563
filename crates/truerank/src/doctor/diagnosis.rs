//! All that was found out about a log.

use serde::Serialize;
use serde_json::{Value, json};

use super::{
    AtPosition, Bias, Comparable, Dependence, Differences, Finding, Recommendation, Severity, Sizes, Spread, UserGroup,
    Variation,
};
use crate::counts::PageSummary;
use crate::relevance::{Diagnostics, ExpectedError};
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
    /// Whether users look at different depths; nothing where that cannot be tested.
    pub differences: Option<Differences>,
    /// How wrong a correction would be that does not know users.
    pub bias: Option<Bias>,
    /// Users by depth.
    pub groups: Vec<UserGroup>,
    /// p-values below this count as found.
    pub level: f64,
    /// The expected error of each estimator, where examination can be estimated.
    pub estimators: Vec<ExpectedError>,
    /// What the recommended estimator's weights would look like.
    pub weights: Option<Diagnostics>,
    /// What to use.
    pub recommendation: Recommendation,
    /// What to know, problems first.
    pub findings: Vec<Finding>,
}

impl Diagnosis {
    /// Whether the log can be learned from: no finding is a problem.
    pub fn is_fit(&self) -> bool {
        self.findings.iter().all(|finding| finding.severity != Severity::Problem)
    }

    /// Whether users differ both in what they search for and in how deep they look.
    ///
    /// Open where either cannot be tested, or was not found among so few sessions or clicks that it would not be.
    pub fn personalized_bias(&self) -> Verdict {
        let dependence = self.dependence.as_ref().map(|found| (found.test.p, found.repeated));
        let differences = self.differences.as_ref().map(|found| (found.test.p, found.clicks));
        match [dependence, differences].map(|test| self.decide(test)) {
            [Some(true), Some(true)] => Verdict::Holds,
            [Some(false), _] | [_, Some(false)] => Verdict::DoesNotHold,
            _ => Verdict::Open,
        }
    }

    /// All of it for programs, with what should be known of the log's rows.
    pub fn to_json(&self, remarks: &[String]) -> Value {
        json!({
            "type": "truerank/diagnosis", "version": 1,
            "fit": self.is_fit(),
            "personalized_bias": self.personalized_bias().name().to_lowercase(),
            "remarks": remarks,
            "diagnosis": self,
        })
    }

    /// Whether a test with this p-value and so many observations finds something.
    fn decide(&self, test: Option<(f64, u64)>) -> Option<bool> {
        let (p, observations) = test?;
        match p < self.level {
            true => Some(true),
            false => (observations >= ENOUGH).then_some(false),
        }
    }
}

/// Sessions or clicks below which a difference that is not found may well be there.
const ENOUGH: u64 = 300;
