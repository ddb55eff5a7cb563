//! What a ranker may learn from.

use std::fmt;
use std::str::FromStr;

use super::Assumed;
use crate::named::find_named;
use crate::relevance::{Estimator, PairRatio, Smoothing};
use crate::{Error, Result};

/// A row of the tables.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Method {
    /// The ranker that showed the lists; it learns nothing.
    Production,
    /// Trained on the grades of the shown documents: what could be reached.
    Ideal,
    /// Trained on click pairs, [`pair_weights`](crate::relevance::pair_weights).
    Pairs(PairRatio),
    /// Trained on estimated relevance.
    Estimated(Estimator),
    /// Trained on relevance by the exposures of a click model that was fitted to the clicks.
    Modelled(Assumed),
}

impl Method {
    /// Click pairs weighted as published.
    pub const PRS: Method = Method::Pairs(PairRatio::Clicked);
    /// Click pairs weighted as in the program behind the paper's table: what its numbers and claims are about.
    pub const PRS_BY_SCORE: Method = Method::Pairs(PairRatio::ByScore);
    /// Clicks taken for relevance.
    pub const NAIVE: Method = Method::Estimated(Estimator::Naive);
    /// Clicks corrected for the average user.
    pub const IPS_PBM: Method = Method::Estimated(Estimator::IpsPbm);
    /// Each click corrected for its own user.
    pub const STRAIGHTFORWARD: Method = Method::Estimated(Estimator::Straightforward);
    /// Clicks corrected for the users of their query: the method under test.
    pub const USER_AWARE: Method = Method::Estimated(Estimator::UserAware);
    /// The same with the users of rare queries smoothed.
    pub const SMOOTHED: Method = Method::Estimated(Estimator::UserAwareSmoothed(Smoothing::LeastError));

    /// The rows of the paper's table, with both forms of PRS, and the smoothed estimator.
    pub const ALL: [Method; 9] = [
        Method::Production,
        Method::Ideal,
        Method::NAIVE,
        Method::IPS_PBM,
        Method::PRS,
        Method::PRS_BY_SCORE,
        Method::STRAIGHTFORWARD,
        Method::USER_AWARE,
        Method::SMOOTHED,
    ];

    /// Whether it learns from clicks.
    pub fn learns_from_clicks(self) -> bool {
        !matches!(self, Method::Production | Method::Ideal)
    }

    /// Whether it makes use of examination probabilities.
    pub fn uses_examination(self) -> bool {
        self.learns_from_clicks() && self != Method::NAIVE && !matches!(self, Method::Modelled(_))
    }

    /// Whether all it knows of examination is that of the population.
    pub fn knows_population_only(self) -> bool {
        matches!(self, Method::IPS_PBM | Method::Pairs(_))
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Method::Production => f.pad("production"),
            Method::Ideal => f.pad("ideal"),
            Method::Pairs(ratio) => ratio.fmt(f),
            Method::Estimated(estimator) => estimator.fmt(f),
            Method::Modelled(assumed) => assumed.fmt(f),
        }
    }
}

impl FromStr for Method {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let modelled = Assumed::all().map(Method::Modelled).find(|method| method.to_string() == text);
        modelled.map_or_else(|| find_named(&Method::ALL, text, "a method"), Ok)
    }
}
