//! What several subcommands share.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use truerank::data::{Dataset, ReadOptions, Splits, grade_note, read_dataset, read_splits};
use truerank::progress::Progress;
use truerank::ranker::Ranker;

use crate::options::Typed;
use crate::progress::Shown;

/// Where the data is and how to read it.
#[derive(clap::Args)]
pub struct DataArguments {
    /// Folder with train, vali and test in LETOR/SVMlight text or Parquet, or in ULTRA's form
    pub data: PathBuf,

    #[command(flatten)]
    pub reading: ReadArguments,
}

/// How to read a data set.
pub type ReadArguments = Typed<ReadOptions>;

impl DataArguments {
    /// All three parts.
    pub fn read_splits(&self, progress: &Shown) -> Result<Splits> {
        read_folder(&self.data, &self.reading, progress)
    }
}

/// All three parts of a folder.
pub fn read_folder(path: &Path, reading: &ReadArguments, progress: &Shown) -> Result<Splits> {
    let splits = read_folder_for_features(path, reading, progress)?;
    tell_grades([&splits.train, &splits.validation, &splits.test], reading, progress);
    Ok(splits)
}

/// One file of documents.
pub fn read_file(path: &Path, reading: &ReadArguments, progress: &Shown) -> Result<Dataset> {
    let data = read_file_for_features(path, reading, progress)?;
    tell_grades([&data], reading, progress);
    Ok(data)
}

fn read_folder_for_features(path: &Path, reading: &ReadArguments, progress: &Shown) -> Result<Splits> {
    progress.begin(&format!("reading {}", path.display()), 1);
    Ok(read_splits(path, reading)?)
}

/// One file of documents, whose grades are not made into relevance.
pub fn read_file_for_features(path: &Path, reading: &ReadArguments, progress: &Shown) -> Result<Dataset> {
    progress.begin(&format!("reading {}", path.display()), 1);
    Ok(read_dataset(path, reading)?)
}

/// The training part of a folder, or a file as it is; grades are not made into relevance.
pub fn read_training_part(path: &Path, reading: &ReadArguments, progress: &Shown) -> Result<Dataset> {
    match path.is_dir() {
        true => Ok(read_folder_for_features(path, reading, progress)?.train),
        false => read_file_for_features(path, reading, progress),
    }
}

/// Says so where grades do not reach the highest one of the scale.
pub fn tell_grades<'a>(parts: impl IntoIterator<Item = &'a Dataset>, reading: &ReadArguments, progress: &Shown) {
    if let Some(note) = grade_note(parts, reading.max_grade) {
        progress.say(&note);
    }
}

/// The place of an error about two inputs that do not fit together.
pub fn together(a: &Path, b: &Path) -> String {
    format!("{} with {}", a.display(), b.display())
}

/// A ranker that knows its file.
pub struct LoadedRanker<'a> {
    path: &'a Path,
    ranker: Ranker,
}

impl<'a> LoadedRanker<'a> {
    pub fn load(path: &'a Path) -> Result<Self> {
        Ok(LoadedRanker { path, ranker: Ranker::load(path)? })
    }

    /// The scores of documents that were read from `data_path`.
    pub fn score(&self, data: &Dataset, data_path: &Path) -> Result<Vec<f32>> {
        self.ranker.score(data).with_context(|| together(self.path, data_path))
    }
}
