//! What a fit starts from: a log in two parts, and the features of its documents.

use crate::counts::{Counts, PageSummary, SplitBy, SplitLog};
use crate::data::{Dataset, Splits};
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

impl From<SplitLog> for FitLog {
    /// What is held out and lies deeper than anything that was learned from is left out.
    fn from(log: SplitLog) -> Self {
        let SplitLog { train, mut held_out, by, summary } = log;
        let last = train.max_position();
        let before = held_out.impression_count();
        held_out.cells.retain(|cell| cell.position <= last);
        held_out.pages = held_out.pages.map(|pages| pages.to_depth(last));
        let too_deep = before - held_out.impression_count();
        FitLog { train, held_out, split: by, pages: summary.pages, too_deep }
    }
}

impl FitLog {
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
