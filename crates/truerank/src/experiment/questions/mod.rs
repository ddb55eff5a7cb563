//! The paper's research questions: a file for each, with its settings, its runs, its claims and its section of the report.
//!
//! A new question is a file that implements [`Ask`], and a line of the table below.

mod real;
mod robustness;
mod rq1;
mod rq2;
mod rq3;
mod rq4;

use std::fmt;
use std::str::FromStr;

use super::page::{answer, comparisons};
use super::{Claim, Results, Run, Settings};
use crate::named::find_named;
use crate::report::{Answer, Block, Section};
use crate::{Error, Result};

pub use real::RealLog;
pub use robustness::BrowsingGrid;
pub use rq2::{CONVERGED, LearningCurves, NOT_BELOW};
pub use rq3::ClusterNumbers;
pub use rq4::EstimatedExamination;

/// Everything that the rest of an experiment does not know about a question.
pub(super) trait Ask {
    /// The heading of its section.
    fn title(&self) -> &'static str;

    /// The question in words.
    fn words(&self) -> &'static str;

    /// Whether its logs are simulated, seed by seed.
    fn is_simulated(&self) -> bool {
        true
    }

    /// Refuses settings of its own that cannot be run.
    fn check(&self, _settings: &Settings) -> Result<()> {
        Ok(())
    }

    /// The runs that answer it.
    fn runs(&self, settings: &Settings) -> Vec<Run>;

    /// What is claimed about it, where the runs behind a claim are finished.
    fn claims(&self, results: &Results) -> Vec<Claim>;

    /// What came out, a sentence for each claim.
    fn answers(&self, _results: &Results, claims: &[&Claim]) -> Vec<Answer> {
        claims.iter().map(|claim| answer(claim)).collect()
    }

    /// Tables and figures, where enough runs are finished to show any.
    fn blocks(&self, results: &Results) -> Option<Vec<Block>>;
}

/// The table of questions: each with its file, in the paper's order, and what it is about in a line.
macro_rules! questions {
    ($($(#[doc = $doc:literal])+ $question:ident = $file:ident, $help:literal;)+) => {
        /// A research question.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Question {
            $($(#[doc = $doc])+ $question,)+
        }

        impl Question {
            /// All of them, in the paper's order.
            pub const ALL: [Question; [$($help),+].len()] = [$(Question::$question),+];

            /// What people call it.
            pub const fn name(self) -> &'static str {
                match self { $(Question::$question => stringify!($file),)+ }
            }

            /// What it is about, in a line.
            pub const fn help(self) -> &'static str {
                match self { $(Question::$question => $help,)+ }
            }

            pub(super) fn ask(self) -> &'static dyn Ask {
                match self { $(Question::$question => &$file::$question,)+ }
            }
        }
    };
}

questions! {
    /// Is user-aware better than the others?
    Rq1 = rq1, "the main table: all corrections, eight measures, error of relevance";
    /// How do they do with fewer and with more sessions?
    Rq2 = rq2, "learning curves over the number of sessions, linear and MLP";
    /// With fewer and with more kinds of users?
    Rq3 = rq3, "5, 10 and 20 kinds of users";
    /// With examination estimated from the clicks?
    Rq4 = rq4, "examination estimated from the clicks, by every method there is";
    /// On a log of real users?
    Real = real, "many users with few sessions: a log of yours, or a simulated one";
    /// What if people browse otherwise than assumed?
    Robustness = robustness, "clicks of one click model taken for those of another; not in all";
}

impl Question {
    /// Those that are asked where none is named: the paper's, and its protocol for logs of real users.
    pub const USUAL: [Question; 5] = [Question::Rq1, Question::Rq2, Question::Rq3, Question::Rq4, Question::Real];

    /// The runs that answer it.
    pub fn runs(self, settings: &Settings) -> Vec<Run> {
        self.ask().runs(settings)
    }

    /// Its section of the report, where enough runs are finished; `claims` are those of all questions.
    pub(super) fn section(self, results: &Results, claims: &[Claim]) -> Option<Section> {
        let claims: Vec<&Claim> = claims.iter().filter(|claim| claim.question == self).collect();
        let mut blocks = self.ask().blocks(results)?;
        blocks.extend(comparisons(&claims));
        Some(Section {
            id: self.name().into(),
            title: self.ask().title().into(),
            question: self.ask().words().into(),
            answers: self.ask().answers(results, &claims),
            blocks,
        })
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Question {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        find_named(&Question::ALL, text, "a question")
    }
}
