//! Features for a log: from a data set, or from columns of the log itself.

use std::path::PathBuf;

use anyhow::Result;
use truerank::counts::LogSource;
use truerank::data::Dataset;
use truerank::progress::Progress;

use super::common::{ReadArguments, read_training_part, tell_grades};
use crate::progress::Shown;

/// Where the features of the log's documents are.
#[derive(clap::Args)]
pub struct FeatureArguments {
    /// Features of the documents: a folder (its training part) or a file
    #[arg(long, value_name = "PATH")]
    pub data: Option<PathBuf>,

    /// A column of the log that is a feature of its document; may be given several times
    #[arg(long, value_name = "COLUMN", conflicts_with = "data")]
    pub feature: Vec<String>,

    /// With --feature: a column of the log that is a human grade of the document
    #[arg(long, value_name = "COLUMN", requires = "feature")]
    pub grade: Option<String>,

    #[command(flatten)]
    pub reading: ReadArguments,
}

impl FeatureArguments {
    /// The documents that the log is about, where they have features.
    pub fn read_documents(&self, log: &LogSource, progress: &Shown) -> Result<Option<Dataset>> {
        match &self.data {
            Some(path) => read_training_part(path, &self.reading, progress).map(Some),
            None if self.feature.is_empty() => Ok(None),
            None => self.read_columns(log, progress).map(Some),
        }
    }

    /// Columns of the log as features.
    pub fn read_columns(&self, log: &LogSource, progress: &Shown) -> Result<Dataset> {
        log.check_features()?;
        progress.begin("reading features from the log", 1);
        let (data, notes) = log.features(&self.feature, self.grade.as_deref(), self.reading.max_grade)?;
        notes.iter().for_each(|note| progress.say(note));
        tell_grades([&data], &self.reading, progress);
        Ok(data)
    }
}
