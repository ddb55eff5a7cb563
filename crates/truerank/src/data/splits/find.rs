//! Finds the files of the training, validation and test parts in a folder by their names.

use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// What our own files are called.
pub const PART_NAMES: [&str; 3] = ["train", "vali", "test"];

/// What others call them.
const SPELLINGS: [&[&str]; 3] =
    [&["train", "training"], &["vali", "valid", "validation", "val", "dev"], &["test", "testing"]];

/// Endings of data set files; a name may also end in the part itself, as `rank.train` does.
const ENDINGS: [&str; 9] = ["txt", "dat", "data", "svm", "svmlight", "libsvm", "letor", "parquet", "pq"];

/// The files of the three parts. Each part needs exactly one file.
pub fn find_parts(folder: &Path) -> Result<[PathBuf; 3]> {
    let names = list_files(folder)?;
    let find = |part: usize| {
        let found: Vec<&String> = names.iter().filter(|name| part_of(name) == Some(part)).collect();
        match found[..] {
            [name] => Ok(folder.join(name)),
            [] => Err(Error::input(folder, missing(part, &names))),
            _ => {
                let found = found.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ");
                let finding = format!(
                    "has more than one {} part ({found}), but one is needed; give each data set a folder of its own",
                    PART_NAMES[part]
                );
                Err(Error::input(folder, finding))
            }
        }
    };
    Ok([find(0)?, find(1)?, find(2)?])
}

fn missing(part: usize, names: &[String]) -> String {
    // Enough to see what kind of folder it is.
    let shown = names.iter().take(8).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = if names.len() > 8 { ", …" } else { "" };
    let found = if names.is_empty() { "no files".to_string() } else { format!("{shown}{more}") };
    format!("has no {0} part, but needs a file such as {0}.txt or {0}.parquet; it holds {found}", PART_NAMES[part])
}

/// The names in a folder, sorted.
pub fn list_files(folder: &Path) -> Result<Vec<String>> {
    let entries = std::fs::read_dir(folder).map_err(|e| Error::io(folder, e))?;
    let mut names = entries
        .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()))
        .collect::<std::io::Result<Vec<String>>>()
        .map_err(|e| Error::io(folder, e))?;
    names.sort();
    Ok(names)
}

/// Whether a file of this name is one part of a data set or its side file.
pub fn is_part_file(name: &str) -> bool {
    part_of(name.strip_suffix(".query").unwrap_or(name)).is_some()
}

/// 0 for a training, 1 for a validation, 2 for a test file; `None` for any other.
fn part_of(name: &str) -> Option<usize> {
    let name = name.to_lowercase();
    let name = [".gz", ".zst", ".zstd"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    let words: Vec<&str> = name.split(['.', '_', '-']).collect();
    let last = words.last()?;
    let part = |word: &str| SPELLINGS.iter().position(|spellings| spellings.contains(&word));
    if name.starts_with('.') || !(ENDINGS.contains(last) || part(last).is_some()) {
        return None;
    }
    words.iter().rev().find_map(|word| part(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_recognised_by_a_word_of_their_name() {
        let train =
            ["train.txt", "train.txt.gz", "set1.train.txt", "rank.train", "MSLR_train.parquet", "Train.TXT", "train"];
        let vali = ["vali.txt", "valid.dat", "set1.valid.txt.zst", "validation.parquet"];
        let test = ["test.txt", "rank.test.gz", "test.svmlight"];
        assert!(train.iter().all(|name| part_of(name) == Some(0)));
        assert!(vali.iter().all(|name| part_of(name) == Some(1)));
        assert!(test.iter().all(|name| part_of(name) == Some(2)));
        let others = ["rank.train.query", "training-notes.md", "README.txt", "train.csv", ".train.txt", "trainset.txt"];
        assert!(others.iter().all(|name| part_of(name).is_none()), "{:?}", others.map(part_of));
        assert!(is_part_file("rank.train.query") && !is_part_file("notes.query"));
    }
}
