//! The folder of a fit: what each step of the pipeline would have written, all of one run.

use std::path::Path;

use super::{FitData, FitLog, FitOutcome};
use crate::data::write_dataset;
use crate::files::table::FileType;
use crate::files::{StagedFolder, seal_json, write_file};
use crate::report::{foreign_file, is_report_file};
use crate::{Error, Result};

/// Where the artefacts of a fit are kept. The folder appears when all are there, and replaces that of an earlier fit whole.
pub struct FitFolder {
    staged: StagedFolder,
}

const TRAIN: &str = "counts";
const HELD_OUT: &str = "held-out";
const DOCUMENTS: &str = "documents.parquet";
pub(super) const PROPENSITIES: &str = "propensities.json";
const CLICK_MODEL: &str = "click-model.json";
const RELEVANCE: &str = "relevance.parquet";
const RANKER: &str = "ranker.safetensors";
pub(super) const OUTCOME: &str = "fit.json";
/// What `fit.json` says of itself.
pub(super) const FIT: FileType = FileType { name: "truerank/fit", version: 1 };
/// Rows of the log that were left out.
const BAD_ROWS: &str = "bad-rows.txt";

fn is_fit_file(name: &str) -> bool {
    let ours = [TRAIN, HELD_OUT, DOCUMENTS, PROPENSITIES, CLICK_MODEL, RELEVANCE, RANKER, OUTCOME, BAD_ROWS];
    ours.contains(&name) || is_report_file(name)
}

impl FitFolder {
    /// Checks that the folder can be written, before the work. One that holds anything but an earlier fit is refused.
    pub fn create(path: &Path) -> Result<Self> {
        let staged = StagedFolder::create(path, is_fit_file)?;
        match foreign_file(path) {
            None => Ok(FitFolder { staged }),
            Some(name) => {
                let finding = format!("holds {name}, which replacing the folder would remove; choose a new one");
                Err(Error::input(path, finding))
            }
        }
    }

    /// Where files that belong to the fit can be written meanwhile.
    pub fn path(&self) -> &Path {
        self.staged.path()
    }

    /// The error with the names that people know.
    pub fn named(&self, error: Error) -> Error {
        self.staged.named(error)
    }

    /// Writes everything, and makes the folder appear.
    pub fn write(self, outcome: &FitOutcome, log: &FitLog, data: Option<&FitData>) -> Result<()> {
        self.fill(outcome, log, data).map_err(|error| self.named(error))?;
        self.staged.commit()
    }

    fn fill(&self, outcome: &FitOutcome, log: &FitLog, data: Option<&FitData>) -> Result<()> {
        let place = |name: &str| self.path().join(name);
        let transitions = log.keeps_transitions(outcome);
        log.train.write(&place(TRAIN), transitions)?;
        log.held_out.write(&place(HELD_OUT), transitions)?;
        // Documents that were read from the log's own columns have no file yet, and are to be scored again.
        if let Some(data) = data.filter(|data| data.is_of_log) {
            write_dataset(&data.documents, &place(DOCUMENTS))?;
        }
        outcome.propensities.write(&place(PROPENSITIES))?;
        if let Some(model) = &outcome.click_model.model {
            model.write(&place(CLICK_MODEL))?;
        }
        outcome.relevance.write(&place(RELEVANCE))?;
        if let Some(training) = &outcome.training {
            training.ranker.save(&place(RANKER))?;
        }
        write_outcome(outcome, &place(OUTCOME))?;
        outcome.report().write(self.path())
    }
}

fn write_outcome(outcome: &FitOutcome, path: &Path) -> Result<()> {
    let text = serde_json::to_string_pretty(&outcome.to_json())
        .map_err(|error| Error::parameter(format!("the outcome cannot be written as JSON: {error}")))?;
    write_file(path, &seal_json(&text))
}
