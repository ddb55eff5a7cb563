//! The folder of a fit: one artefact per step, each whole or not there.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::{FitLog, FitOutcome};
use crate::counts::is_counts_file;
use crate::data::{Dataset, write_dataset};
use crate::files::{AtomicFile, check_file, check_folder};
use crate::propensity::Propensities;
use crate::ranker::Ranker;
use crate::relevance::Relevance;
use crate::{Error, Result};

/// Where the artefacts of a fit are kept: what each step of the pipeline would have written.
#[derive(Debug, Clone)]
pub struct FitFolder {
    path: PathBuf,
}

const TRAIN: &str = "counts";
const HELD_OUT: &str = "held-out";
const DOCUMENTS: &str = "documents.parquet";
const PROPENSITIES: &str = "propensities.json";
const RELEVANCE: &str = "relevance.parquet";
const RANKER: &str = "ranker.safetensors";
const OUTCOME: &str = "fit.json";

impl FitFolder {
    /// Checks that everything can be written there. The folder itself is made with the first artefact.
    pub fn create(path: &Path) -> Result<Self> {
        let folder = FitFolder { path: path.to_path_buf() };
        if !path.exists() {
            check_file(path)?;
            return Ok(folder);
        }
        for counts in [TRAIN, HELD_OUT] {
            check_folder(&path.join(counts), is_counts_file)?;
        }
        for file in [DOCUMENTS, PROPENSITIES, RELEVANCE, RANKER, OUTCOME] {
            check_file(&path.join(file))?;
        }
        Ok(folder)
    }

    /// Where the artefact of this name goes, in a folder that exists.
    fn place(&self, name: &str) -> Result<PathBuf> {
        std::fs::create_dir_all(&self.path).map_err(|error| Error::io(&self.path, error))?;
        Ok(self.path.join(name))
    }

    /// Documents that were read from the log's own columns, so that they can be scored again.
    pub(super) fn documents(&self, documents: &Dataset) -> Result<()> {
        write_dataset(documents, &self.place(DOCUMENTS)?)
    }

    pub(super) fn counts(&self, log: &FitLog) -> Result<()> {
        log.train.write(&self.place(TRAIN)?)?;
        log.held_out.write(&self.place(HELD_OUT)?).map(drop)
    }

    pub(super) fn propensities(&self, propensities: &Propensities) -> Result<()> {
        propensities.write(&self.place(PROPENSITIES)?)
    }

    pub(super) fn relevance(&self, relevance: &Relevance) -> Result<()> {
        relevance.write(&self.place(RELEVANCE)?)
    }

    pub(super) fn ranker(&self, ranker: &Ranker) -> Result<()> {
        ranker.save(&self.place(RANKER)?)
    }

    /// The outcome as JSON, and its page.
    pub(super) fn outcome(&self, outcome: &FitOutcome) -> Result<()> {
        let path = self.place(OUTCOME)?;
        let text = serde_json::to_string_pretty(&outcome.to_json())
            .map_err(|error| Error::parameter(format!("the outcome cannot be written as JSON: {error}")))?;
        let mut file = AtomicFile::create(&path)?;
        file.write_all(text.as_bytes())
            .and_then(|()| file.write_all(b"\n"))
            .map_err(|error| Error::io(&path, error))?;
        file.commit()?;
        outcome.report().write(&self.path)
    }
}
