//! The estimators by name: how clicks become relevance.

use std::fmt;
use std::mem::discriminant;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::named::find_named;
use crate::options::{listed, option_value};
use crate::{Error, Result};

/// How clicks become relevance. Each estimator is `ŷ(q,d) = Σ_cells c·w` with its own weight `w` of a click.
///
/// With θ the examination probability, `n(q,d)` the impressions of a document, `E(q,d) = Σ_cells n·θ(u,k)` its exposure, and
/// `Ē(q,d) = Σ_cells n·θ̄(k)` what its exposure would be to average users:
///
/// | estimator | w | |
/// |---|---|---|
/// | `naive` | `1/n(q,d)` | takes clicks for relevance |
/// | `ips-pbm` | `1/Ē(q,d)` | Joachims et al. 2017; biased where users differ in queries and in depth |
/// | `straightforward` | `1/(n(q,d)·θ(u,k))` | unbiased, large variance where some users rarely look |
/// | `user-aware` | `1/E(q,d)` | unbiased, less variance; Niu et al. |
/// | `user-aware-smoothed` | `1/D(q,d)` | user-aware with the users who saw the document shrunk toward all users |
///
/// where `D = (n(q,d)·E + β·Ē)/(n(q,d)+β)`. β → 0 gives `user-aware`, β → ∞ gives `ips-pbm`. Where every session of a query
/// shows the same list, `n(q,d)` is `n(q)`, the sessions of the query, and these are the paper's estimators.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Estimator {
    /// Clicks over impressions.
    Naive,
    /// Clicks over expected exposure to average users.
    IpsPbm,
    /// Each click over its own user's examination of its position.
    Straightforward,
    /// Clicks over expected exposure to the users of the query.
    UserAware,
    /// The same, with the users of rare queries smoothed toward all users.
    UserAwareSmoothed(Smoothing),
}

/// How β of the smoothed estimator is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Smoothing {
    /// The β with the least estimated mean squared error of the weights.
    #[default]
    LeastError,
    /// The β under which the counts of users per query are likeliest (Dirichlet-multinomial).
    Likelihood,
    /// A given β.
    Fixed(f64),
}

impl Estimator {
    /// The same, with this rule where it smooths.
    pub fn smoothed_by(self, smoothing: Smoothing) -> Self {
        match self {
            Estimator::UserAwareSmoothed(_) => Estimator::UserAwareSmoothed(smoothing),
            other => other,
        }
    }

    /// All of them, the smoothed one with its default rule.
    pub fn all() -> Vec<Estimator> {
        EstimatorKind::ALL.iter().map(|kind| kind.estimator).collect()
    }

    /// What is known of it.
    pub fn kind(self) -> &'static EstimatorKind {
        let same = |kind: &&EstimatorKind| discriminant(&kind.estimator) == discriminant(&self);
        EstimatorKind::ALL.iter().find(same).unwrap_or(&EstimatorKind::ALL[0])
    }

    /// Whether it divides the clicks on a document by its exposure, so that a prior can be corrected by them.
    pub fn divides_by_exposure(self) -> bool {
        self.kind().takes.contains(&"prior")
    }
}

/// What is known of an estimator. Help, errors, Python and tables of the documentation all read [`EstimatorKind::ALL`].
#[derive(Debug)]
pub struct EstimatorKind {
    /// Its name.
    pub name: &'static str,
    /// One line about it.
    pub help: &'static str,
    /// The options of [`EstimationChoice`](super::EstimationChoice) that not all estimators take, but this one does.
    pub takes: &'static [&'static str],
    /// The estimator, with its default rule where it smooths.
    pub estimator: Estimator,
}

impl EstimatorKind {
    /// All kinds, in the order in which they are listed.
    pub const ALL: &'static [EstimatorKind] = &[
        EstimatorKind { name: "naive", help: "clicks over impressions", takes: &[], estimator: Estimator::Naive },
        EstimatorKind {
            name: "ips-pbm",
            help: "corrected by the average user's examination of each position",
            takes: &[],
            estimator: Estimator::IpsPbm,
        },
        EstimatorKind {
            name: "straightforward",
            help: "corrected by each click's own user: unbiased, noisy",
            takes: &[],
            estimator: Estimator::Straightforward,
        },
        EstimatorKind {
            name: "user-aware",
            help: "corrected by the users of each query: unbiased, less noisy",
            takes: &["prior", "clip", "shrink"],
            estimator: Estimator::UserAware,
        },
        EstimatorKind {
            name: "user-aware-smoothed",
            help: "the same, with the few users who saw a document pulled toward all users",
            takes: &["beta", "prior", "clip", "shrink"],
            estimator: Estimator::UserAwareSmoothed(Smoothing::LeastError),
        },
    ];

    /// The names of all kinds.
    pub fn names() -> Vec<&'static str> {
        EstimatorKind::ALL.iter().map(|kind| kind.name).collect()
    }

    /// The names of the kinds that take an option, as people read them.
    pub(crate) fn taking(option: &str) -> String {
        let kinds = EstimatorKind::ALL.iter().filter(|kind| kind.takes.contains(&option));
        listed(&kinds.map(|kind| kind.name).collect::<Vec<_>>())
    }
}

/// An estimator, or each of them in turn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Estimators {
    /// This one.
    One(Estimator),
    /// `all`.
    All,
}

impl fmt::Display for Estimators {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Estimators::One(estimator) => estimator.fmt(f),
            Estimators::All => f.pad("all"),
        }
    }
}

impl FromStr for Estimators {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text == "all" { Ok(Estimators::All) } else { text.parse().map(Estimators::One) }
    }
}

option_value!(
    Estimator: Kind::Choice(EstimatorKind::names()),
    Estimators: Kind::Choice(EstimatorKind::names().into_iter().chain(["all"]).collect()),
    Smoothing: Kind::TextOrNumber,
);

impl Default for Estimator {
    /// `user-aware-smoothed` with its default rule.
    fn default() -> Self {
        Estimator::UserAwareSmoothed(Smoothing::default())
    }
}

impl FromStr for Smoothing {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match (text, text.parse::<f64>()) {
            ("auto", _) => Ok(Smoothing::LeastError),
            ("likelihood", _) => Ok(Smoothing::Likelihood),
            (_, Ok(beta)) if beta >= 0.0 && beta.is_finite() => Ok(Smoothing::Fixed(beta)),
            _ => Err(Error::parameter(format!("it is '{text}', but should be auto, likelihood or a number from 0"))),
        }
    }
}

impl fmt::Display for Smoothing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Smoothing::LeastError => f.pad("auto"),
            Smoothing::Likelihood => f.pad("likelihood"),
            Smoothing::Fixed(beta) => beta.fmt(f),
        }
    }
}

impl fmt::Display for Estimator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.kind().name)
    }
}

impl Serialize for Estimator {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl FromStr for Estimator {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        find_named(&Estimator::all(), text, "an estimator")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimators_print_as_they_parse() {
        for estimator in Estimator::all() {
            assert_eq!(estimator.to_string().parse::<Estimator>().unwrap(), estimator);
        }
        assert!("ips".parse::<Estimator>().unwrap_err().to_string().contains("known are naive, ips-pbm"));
    }
}
