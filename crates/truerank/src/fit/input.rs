//! What a fit starts from: a log in two parts, and the features of its documents.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::counts::Counts;
use crate::counts::PageSummary;
use crate::data::{Dataset, Splits};
use crate::named::find_named;
use crate::{Error, Result};

/// A log, one part to learn from and one to judge by.
#[derive(Debug, Clone)]
pub struct FitLog {
    /// What is learned from.
    pub train: Counts,
    /// What learning never sees.
    pub held_out: Counts,
    /// What tells the parts apart.
    pub split: SplitBy,
    /// What the pages look like, where they were seen.
    pub pages: Option<PageSummary>,
    /// Held-out impressions that are left out, at positions which the training part does not have.
    pub too_deep: u64,
}

/// How a log is cut into a part to learn from and a part to judge by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SplitBy {
    /// Each query is in one part only.
    Queries,
    /// What happened before a time, and after it; queries may be in both.
    Time,
    /// Some result pages, whatever their query.
    Pages,
}

impl SplitBy {
    /// The names, in the order of the values.
    pub const NAMES: [&str; 3] = ["query", "time", "page"];
}

impl fmt::Display for SplitBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(SplitBy::NAMES[*self as usize])
    }
}

impl FromStr for SplitBy {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        find_named(&[SplitBy::Queries, SplitBy::Time, SplitBy::Pages], text, "a way to split a log")
    }
}

impl FitLog {
    /// A log of which about `share` of the queries are held out, chosen by a hash of their text and the seed.
    pub fn by_queries(counts: &Counts, share: f64, seed: u64) -> Result<Self> {
        let (train, held_out) = counts.split_queries(share, seed)?;
        Ok(FitLog::new(train, held_out, SplitBy::Queries))
    }

    /// A log of which about `share` of the result pages are held out, at random: of logs so long that only a part of their pages is
    /// kept whole, at most half of that part.
    ///
    /// For logs without features: nothing is known of a document that was never shown, so clicks can be predicted only where
    /// queries are known.
    pub fn by_pages(counts: &Counts, share: f64, seed: u64) -> Result<Self> {
        let (train, held_out) = counts.split_pages(share, seed)?;
        Ok(FitLog::new(train, held_out, SplitBy::Pages))
    }

    /// A log whose parts were read apart.
    pub fn by_time(before: Counts, after: Counts) -> Self {
        FitLog::new(before, after, SplitBy::Time)
    }

    fn new(train: Counts, mut held_out: Counts, split: SplitBy) -> Self {
        let last = train.max_position();
        let before = held_out.impression_count();
        held_out.cells.retain(|cell| cell.position <= last);
        held_out.pages = held_out.pages.map(|pages| pages.to_depth(last));
        let too_deep = before - held_out.impression_count();
        FitLog { train, held_out, split, pages: None, too_deep }
    }

    /// The log with what its pages look like.
    pub fn pages(self, pages: PageSummary) -> Self {
        FitLog { pages: Some(pages), ..self }
    }

    pub(super) fn check(&self) -> Result<()> {
        for (part, counts) in [("training", &self.train), ("held-out", &self.held_out)] {
            if counts.click_count() == 0 {
                let way_out = "use a longer log, or another share in `held_out`";
                return Err(Error::parameter(format!("the {part} part of the log has no clicks; {way_out}")));
            }
        }
        match (self.split, self.train.overlap(&self.held_out).first()) {
            (SplitBy::Queries, Some(query)) => {
                Err(Error::parameter(format!("query '{query}' is in both parts of the log, but must be in one")))
            }
            _ => Ok(()),
        }
    }
}

/// The features of a log's documents, and graded documents beside them.
#[derive(Debug, Clone)]
pub struct FitData {
    /// What the log shows.
    pub documents: Dataset,
    /// Graded documents of other queries that choose among the rankers met in training.
    pub validation: Option<Dataset>,
    /// Graded documents of other queries that judge the ranker.
    pub test: Option<Dataset>,
    /// Whether the documents were read from columns of the log itself, and have no file of their own yet.
    pub is_of_log: bool,
}

impl FitData {
    /// Documents alone. Where they have grades, those of held-out queries judge the ranker.
    pub fn of_documents(documents: Dataset) -> Self {
        FitData { documents, validation: None, test: None, is_of_log: false }
    }

    /// Documents from columns of the log.
    pub fn of_log(documents: Dataset) -> Self {
        FitData { is_of_log: true, ..FitData::of_documents(documents) }
    }

    /// The log shows the training part; the other parts help where they have grades.
    pub fn of_splits(splits: Splits) -> Self {
        let graded = |data: Dataset| data.grades().is_some().then_some(data);
        FitData {
            documents: splits.train,
            validation: graded(splits.validation),
            test: graded(splits.test),
            is_of_log: false,
        }
    }
}
