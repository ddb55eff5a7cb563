//! What a fit starts from: a log in two parts, and the features of its documents.

use super::{Fit, FitOutcome};
use crate::counts::{CountOptions, Counts, LogSource, LogSummary, Page, PageSummary, SplitBy, SplitLog, Transitions};
use crate::data::{Dataset, Splits};
use crate::progress::Progress;
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
    /// Whether click transitions were counted for a click model that may be needed, and not by somebody's wish.
    pub counted_transitions: bool,
}

/// The transitions of counts that keep all of their pages, each with one document at a position.
fn transitions_of_pages(counts: &Counts) -> Option<Transitions> {
    let pages = counts.pages.as_ref()?;
    let is_plain = |page: &Page| pages.of(page).windows(2).all(|two| two[0].position < two[1].position);
    let is_whole = pages.pages.len() as u64 == counts.session_count() && pages.pages.iter().all(is_plain);
    is_whole.then(|| Transitions::of_pages(pages))
}

impl From<SplitLog> for FitLog {
    /// What is held out and lies deeper than anything that was learned from is left out.
    fn from(log: SplitLog) -> Self {
        let SplitLog { train, mut held_out, by, summary } = log;
        let last = train.max_position();
        let before = held_out.impression_count();
        held_out.cells.retain(|cell| cell.position <= last);
        held_out.pages = held_out.pages.map(|pages| pages.cut_below(last));
        held_out.transitions = held_out.transitions.and_then(|transitions| transitions.cut_below(last));
        let too_deep = before - held_out.impression_count();
        FitLog { train, held_out, split: by, pages: summary.pages, too_deep, counted_transitions: false }
    }
}

impl Fit {
    /// Counts a log in two parts, with click transitions where a click model may be needed and the pages have them.
    pub fn read_log(
        &self,
        log: &LogSource,
        has_features: bool,
        progress: &dyn Progress,
    ) -> Result<(FitLog, LogSummary)> {
        let needs = self.click_model.needs_transitions() && self.propensities.is_none();
        let what = CountOptions::new().transitions(needs).transitions_if_possible(true);
        let parts = log.split_counting(&what, self.split_for(has_features), self.held_out, self.seed, progress)?;
        let summary = parts.summary.clone();
        let counted = needs && !log.is_counted();
        let mut log = FitLog { counted_transitions: counted, ..FitLog::from(parts) };
        if needs {
            log.take_transitions_of_pages();
        }
        Ok((log, summary))
    }
}

impl FitLog {
    /// Makes click transitions of whole pages where they were not counted and all pages were kept.
    fn take_transitions_of_pages(&mut self) {
        let parts = [&self.train, &self.held_out];
        if parts.iter().any(|part| part.transitions.is_some()) {
            return;
        }
        let [train, held_out] = parts.map(transitions_of_pages);
        if train.is_some() && held_out.is_some() {
            (self.train.transitions, self.held_out.transitions, self.counted_transitions) = (train, held_out, true);
        }
    }

    /// Forgets click transitions that were counted for a click model where there is none in the end.
    pub fn keep_what_was_used(&mut self, outcome: &FitOutcome) {
        if self.counted_transitions && outcome.click_model.model.is_none() {
            (self.train.transitions, self.held_out.transitions) = (None, None);
        }
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
