//! Data sets by file name, and data sets in three parts: found in folders, cut at random, written.

mod divide;
mod find;
mod fingerprint;

use std::path::Path;

use super::parquet::{read_parquet, write_parquet};
use super::svmlight::{self, write_svmlight};
use super::ultra::{self, read_ultra};
use super::{Dataset, ReadOptions, Splits};
use crate::files::{FileFormat, write_folder};
use crate::ids::IdIndex;
use crate::{Error, Result};

pub use divide::split_by_query;
pub use find::is_part_file;
use find::{PART_NAMES, find_parts};

/// The form of a data set file that we write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatasetFormat {
    /// LETOR/SVMlight text.
    Svmlight,
    /// A Parquet table.
    Parquet,
}

impl DatasetFormat {
    /// The form that a file's name asks for: Parquet for `.parquet` and `.pq`, text otherwise.
    pub fn of(path: &Path) -> Result<Self> {
        match FileFormat::of(path) {
            FileFormat::Parquet => Ok(DatasetFormat::Parquet),
            FileFormat::Text => Ok(DatasetFormat::Svmlight),
            _ => Err(Error::input(path, "is not a data set by its name; use LETOR/SVMlight text or Parquet")),
        }
    }

    fn ending(self) -> &'static str {
        match self {
            DatasetFormat::Svmlight => "txt",
            DatasetFormat::Parquet => "parquet",
        }
    }
}

/// Reads a data set file: Parquet where its name or its first bytes say so, LETOR/SVMlight text otherwise.
pub fn read_dataset(path: &Path, options: &ReadOptions) -> Result<Dataset> {
    Ok(read_part(path, options)?.0)
}

/// Writes a data set file in the form its name asks for.
pub fn write_dataset(data: &Dataset, path: &Path) -> Result<()> {
    match DatasetFormat::of(path)? {
        DatasetFormat::Svmlight => write_svmlight(data, path),
        DatasetFormat::Parquet => write_parquet(data, path),
    }
}

/// The data set, and whether its file names its queries itself.
fn read_part(path: &Path, options: &ReadOptions) -> Result<(Dataset, bool)> {
    if starts_like_parquet(path)? || DatasetFormat::of(path)? == DatasetFormat::Parquet {
        Ok((read_parquet(path, options)?, true))
    } else {
        svmlight::load(path, options)
    }
}

fn starts_like_parquet(path: &Path) -> Result<bool> {
    use std::io::Read;
    if path.is_dir() {
        return Err(Error::input(path, "is a folder, but a data set file is expected here"));
    }
    let mut start = [0; 4];
    let mut file = std::fs::File::open(path).map_err(|e| Error::io(path, e))?;
    Ok(file.read_exact(&mut start).is_ok() && &start == b"PAR1")
}

/// Reads a folder with a training, a validation and a test part, all widened to the same number of features.
///
/// The parts are files with `train`, `vali` (or `valid`, `validation`) and `test` in their names, such as `train.txt`,
/// `set1.valid.txt.gz` or `test.parquet`; or the folder is one of the ULTRA toolbox, with a `settings.json`.
/// A query that is in two parts is an error, because what is learned would leak into what is judged.
/// Queries that side files number from 1 in each part are exempt.
pub fn read_splits(folder: &Path, options: &ReadOptions) -> Result<Splits> {
    options.check()?;
    if folder.join(ultra::SETTINGS).is_file() {
        let splits = read_ultra(folder, options)?;
        let parts = [&splits.train, &splits.validation, &splits.test];
        check_leaks(folder, &PART_NAMES.map(String::from), &parts.map(Some))?;
        return Ok(splits);
    }
    let paths = find_parts(folder)?;
    let parts = [read_part(&paths[0], options)?, read_part(&paths[1], options)?, read_part(&paths[2], options)?];
    let names = paths.each_ref().map(|path| path.file_name().unwrap_or_default().to_string_lossy().into_owned());
    check_leaks(folder, &names, &parts.each_ref().map(|(data, named)| named.then_some(data)))?;
    let width = parts.iter().map(|(data, _)| data.feature_count()).max().unwrap_or(0);
    let [train, validation, test] = parts.map(|(data, _)| data.widen(width));
    Ok(Splits { train, validation, test })
}

/// Refuses a query that is in two of the parts; `None` stands for a part whose queries have no names.
fn check_leaks(folder: &Path, names: &[String; 3], parts: &[Option<&Dataset>; 3]) -> Result<()> {
    for (first, second) in [(0, 1), (0, 2), (1, 2)] {
        let (Some(a), Some(b)) = (parts[first], parts[second]) else { continue };
        let known = IdIndex::new(a.queries());
        let shared = (0..b.query_count()).map(|query| b.queries().name(query)).find(|name| known.find(name).is_some());
        if let Some(query) = shared {
            let finding = format!(
                "query {query} is in {} and in {}, but a query may be in one part only; \
                 move or rename it",
                names[first], names[second]
            );
            return Err(Error::input(folder, finding));
        }
    }
    Ok(())
}

/// Writes the parts as `train`, `vali` and `test` into a folder, which appears only when it is complete.
///
/// An older folder of this kind is replaced; one that holds anything else is refused.
pub fn write_splits(splits: &Splits, folder: &Path, format: DatasetFormat) -> Result<()> {
    write_folder(folder, is_part_file, |content| {
        let parts = [&splits.train, &splits.validation, &splits.test];
        for (name, data) in PART_NAMES.iter().zip(parts) {
            write_dataset(data, &content.join(format!("{name}.{}", format.ending())))?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests;
