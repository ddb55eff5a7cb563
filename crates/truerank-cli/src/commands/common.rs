//! What several subcommands share.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use truerank::data::{Dataset, ReadOptions, Splits, grade_note, read_dataset, read_splits};
use truerank::progress::Progress;
use truerank::ranker::Ranker;

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
#[derive(clap::Args)]
pub struct ReadArguments {
    /// The highest grade of the scale
    #[arg(long, default_value_t = 4, value_name = "GRADE")]
    pub max_grade: u8,

    /// Feature indices of text files start at 0 instead of 1
    #[arg(long)]
    pub zero_based: bool,

    /// How many features documents have, where sparse text leaves out the last ones [default: the most found]
    #[arg(long, value_name = "N")]
    pub features: Option<usize>,
}

impl ReadArguments {
    fn options(&self) -> ReadOptions {
        let options = ReadOptions::new().max_grade(self.max_grade).zero_based(self.zero_based);
        match self.features {
            Some(count) => options.feature_count(count),
            None => options,
        }
    }
}

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
    Ok(read_splits(path, &reading.options())?)
}

/// One file of documents, whose grades are not made into relevance.
pub fn read_file_for_features(path: &Path, reading: &ReadArguments, progress: &Shown) -> Result<Dataset> {
    progress.begin(&format!("reading {}", path.display()), 1);
    Ok(read_dataset(path, &reading.options())?)
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
