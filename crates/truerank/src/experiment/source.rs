//! Where the examination probabilities of a run come from.

use std::fmt;
use std::str::FromStr;

use crate::named::find_named;
use crate::{Error, Result};

/// How θ is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The simulation's own.
    Known,
    /// Regression-EM on the clicks and features.
    Em {
        /// What gives relevance.
        relevance: EmRelevance,
        /// θ of each user instead of one for all.
        per_user: bool,
    },
    /// Swaps of rank 1 with others, in a log of their own.
    Swap,
    /// Harvesting from shuffled lists, in a log of their own.
    Harvesting,
    /// The contextual position-based model, from the same shuffled lists.
    Cpbm,
    /// The click likelihood climbed directly.
    UserPbm,
    /// Dual learning of a ranker and propensities.
    Dla,
}

/// What gives relevance in Regression-EM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmRelevance {
    /// A logistic regression on the features.
    Linear,
    /// That, and networks.
    Mlp,
}

impl Source {
    /// Personalized Regression-EM with linear relevance: the default where θ is not known.
    pub const EM: Source = Source::em(EmRelevance::Linear, true);

    /// All of them.
    pub const ALL: [Source; 10] = [
        Source::Known,
        Source::em(EmRelevance::Linear, false),
        Source::EM,
        Source::em(EmRelevance::Mlp, false),
        Source::em(EmRelevance::Mlp, true),
        Source::Swap,
        Source::Harvesting,
        Source::Cpbm,
        Source::UserPbm,
        Source::Dla,
    ];

    /// Regression-EM.
    pub const fn em(relevance: EmRelevance, per_user: bool) -> Source {
        Source::Em { relevance, per_user }
    }

    /// The one of the population only, where there is such a form; the same otherwise.
    pub fn of_population(self) -> Source {
        match self {
            Source::Em { relevance, .. } => Source::em(relevance, false),
            other => other,
        }
    }

    /// Whether it needs to be estimated.
    pub fn is_estimated(self) -> bool {
        self != Source::Known
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Source::Known => "known",
            Source::Em { relevance: EmRelevance::Linear, per_user: true } => "em",
            Source::Em { relevance: EmRelevance::Linear, per_user: false } => "em-standard",
            Source::Em { relevance: EmRelevance::Mlp, per_user: true } => "em-mlp",
            Source::Em { relevance: EmRelevance::Mlp, per_user: false } => "em-mlp-standard",
            Source::Swap => "swap",
            Source::Harvesting => "harvesting",
            Source::Cpbm => "cpbm",
            Source::UserPbm => "user-pbm",
            Source::Dla => "dla",
        })
    }
}

impl FromStr for Source {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        find_named(&Source::ALL, text, "a source of examination probabilities")
    }
}
