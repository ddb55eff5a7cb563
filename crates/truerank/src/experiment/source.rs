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
        /// Relevance by networks beside the logistic regression.
        mlp: bool,
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

impl Source {
    /// Personalized Regression-EM with linear relevance: the default where θ is not known.
    pub const EM: Source = Source::Em { mlp: false, per_user: true };

    /// The same with relevance by networks.
    pub const EM_MLP: Source = Source::Em { mlp: true, per_user: true };

    /// All of them.
    pub const ALL: [Source; 10] = [
        Source::Known,
        Source::EM.of_population(),
        Source::EM,
        Source::EM_MLP.of_population(),
        Source::EM_MLP,
        Source::Swap,
        Source::Harvesting,
        Source::Cpbm,
        Source::UserPbm,
        Source::Dla,
    ];

    /// The one of the population only, where there is such a form; the same otherwise.
    pub const fn of_population(self) -> Source {
        match self {
            Source::Em { mlp, .. } => Source::Em { mlp, per_user: false },
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
            Source::Em { mlp: false, per_user: true } => "em",
            Source::Em { mlp: false, per_user: false } => "em-standard",
            Source::Em { mlp: true, per_user: true } => "em-mlp",
            Source::Em { mlp: true, per_user: false } => "em-mlp-standard",
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
