//! What a fit starts from: a log in two parts, and the features of its documents.

use std::sync::Arc;

use super::{Fit, FitOutcome};
use crate::counts::{CountOptions, CountsView, LogSource, LogSummary, PageSummary, Part, SplitBy, SplitLog};
use crate::data::{Dataset, Splits};
use crate::files::Room;
use crate::progress::Progress;
use crate::{Error, Result};

/// A log, one part to learn from and one to judge by, in memory or in temporary files.
#[derive(Clone)]
pub struct FitLog {
    /// What is learned from.
    pub train: Arc<dyn CountsView>,
    /// What learning never sees.
    pub held_out: Arc<dyn CountsView>,
    /// What tells the parts apart.
    pub split: SplitBy,
    /// What the pages look like, where they were seen.
    pub pages: Option<PageSummary>,
    /// Held-out impressions that are left out, at positions which the training part does not have.
    pub too_deep: u64,
    /// Whether click transitions were made for a click model that may be needed, and not by somebody's wish.
    pub made_transitions: bool,
}

impl TryFrom<SplitLog> for FitLog {
    type Error = Error;

    /// What is held out and lies deeper than anything that was learned from is left out.
    fn try_from(log: SplitLog) -> Result<Self> {
        let SplitLog { train, mut held_out, by, summary, made_transitions } = log;
        let last = train.totals().max_position;
        let before = held_out.totals();
        if before.max_position > last {
            held_out = Part::all(held_out.as_ref()).cut_below(last).view()?;
        }
        let too_deep = before.impressions - held_out.totals().impressions;
        Ok(FitLog { train, held_out, split: by, pages: summary.pages, too_deep, made_transitions })
    }
}

impl Fit {
    /// Counts a log in two parts, with click transitions where a click model may be needed and the log or its pages have them. What
    /// does not fit into `room` goes to temporary files; without, all is held.
    pub fn read_log(
        &self,
        log: &LogSource,
        has_features: bool,
        room: Option<Room>,
        progress: &dyn Progress,
    ) -> Result<(FitLog, LogSummary)> {
        let needs = self.click_model.needs_transitions() && self.propensities.is_none();
        let what = CountOptions::new().transitions(needs).transitions_if_possible(true).room(room);
        let parts = log.split_counting(&what, self.split_for(has_features), self.held_out, self.seed, progress)?;
        let summary = parts.summary.clone();
        Ok((FitLog::try_from(parts)?, summary))
    }
}

impl FitLog {
    /// Whether click transitions are written with the counts: not those that were made for a click model where there is none in the
    /// end.
    pub(super) fn keeps_transitions(&self, outcome: &FitOutcome) -> bool {
        !self.made_transitions || outcome.click_model.model.is_some()
    }

    pub(super) fn check(&self) -> Result<()> {
        for (part, counts) in [("training", &self.train), ("held-out", &self.held_out)] {
            if counts.totals().clicks == 0 {
                let way_out = "use a longer log, or another share in `held_out`";
                return Err(Error::parameter(format!("the {part} part of the log has no clicks; {way_out}")));
            }
        }
        match (self.split, self.train.overlap(self.held_out.as_ref()).first()) {
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
