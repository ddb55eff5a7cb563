//! Folders of the ULTRA toolbox: `settings.json`, and per part `.feature`, `.init_list` and `.labels` files.
//!
//! `train/train.feature` has a line `document index:value …` per document, `train/train.init_list` a line
//! `query row row …` per query with rows of the feature file counted from 0, best first, and `train/train.labels`
//! the grades in the same order. Lists may be padded with -1.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::svmlight::{Cursor, Finding, SparseRows, read_features, read_number, shown};
use super::{Dataset, DatasetBuilder, ReadOptions, Splits};
use crate::error::Place;
use crate::files::{Limit, read_text};
use crate::ids::{Ids, Texts};
use crate::{Error, Result};

/// The file that makes a folder an ULTRA folder.
pub(super) const SETTINGS: &str = "settings.json";

/// Reads the three parts of an ULTRA folder. Documents keep the order of their initial lists.
///
/// The feature count comes from `settings.json`, and features that it removes are left out. The toolbox's own scripts
/// count features from 0 and its reader from 1, so the files themselves decide: where feature 0 occurs they count from
/// 0, where the last one occurs from 1, and from 0 where neither does.
/// Queries without relevant documents, which the toolbox drops when reading, are kept.
pub fn read_ultra(folder: &Path, options: &ReadOptions) -> Result<Splits> {
    let settings = Settings::read(folder)?;
    let parts = [&["train"][..], &["valid", "vali", "validation"], &["test"]];
    let parts = parts.iter().map(|names| Part::read(folder, names, &settings, options)).collect::<Result<Vec<_>>>()?;
    let first_index = find_first_index(&parts, &settings)?;
    let kept = settings.kept_columns(first_index);
    let mut parts = parts.into_iter().map(|part| part.into_dataset(&kept, first_index));
    let mut next = || parts.next().expect("three parts were read");
    Ok(Splits { train: next()?, validation: next()?, test: next()? })
}

#[derive(Debug, Deserialize)]
struct Settings {
    feature_size: usize,
    #[serde(default)]
    removed_feature_ids: Vec<usize>,
}

impl Settings {
    fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(SETTINGS);
        let settings: Settings = serde_json::from_str(&read_text(&path, Limit::Description)?)
            .map_err(|e| Error::input(&path, format!("is not the settings file of an ULTRA folder ({e})")))?;
        let options = ReadOptions::new().feature_count(settings.feature_size);
        options.check().map_err(|e| Error::input(&path, e.to_string()))?;
        Ok(settings)
    }

    /// For each column of the files, which start at `first_index`, its column in the data set.
    fn kept_columns(&self, first_index: usize) -> Vec<Option<usize>> {
        // The toolbox reads feature 0 of a file that counts from 0 as its last one.
        let name =
            |column: usize| if first_index == 0 && column == 0 { self.feature_size } else { column + first_index };
        let mut next = 0..;
        let is_kept = |column: usize| !self.removed_feature_ids.contains(&name(column));
        (0..self.feature_size).map(|column| if is_kept(column) { next.next() } else { None }).collect()
    }
}

/// Whether features count from 0 or 1 in these files.
fn find_first_index(parts: &[Part], settings: &Settings) -> Result<usize> {
    let has_zero = parts.iter().any(|part| part.has_zero);
    match parts.iter().find(|part| part.features.width > settings.feature_size) {
        None => Ok(0),
        Some(_) if !has_zero => Ok(1),
        Some(part) => Err(Error::input(
            &part.path("feature"),
            format!(
                "has features from 0 to {0}, but {SETTINGS} says that there are {0}; correct feature_size",
                settings.feature_size
            ),
        )),
    }
}

/// The three files of a part.
struct Part {
    prefix: PathBuf,
    /// Columns are the indices as they stand in the file.
    features: SparseRows,
    docs: Texts,
    has_zero: bool,
    queries: Ids,
    query_ends: Vec<usize>,
    /// Rows of the feature file, list after list.
    rows: Vec<usize>,
    grades: Vec<u8>,
}

impl Part {
    fn read(folder: &Path, names: &[&str], settings: &Settings, options: &ReadOptions) -> Result<Self> {
        let prefix = find_prefix(folder, names)?;
        let mut part = Part {
            prefix,
            features: SparseRows::default(),
            docs: Texts::default(),
            has_zero: false,
            queries: Ids::default(),
            query_ends: Vec::new(),
            rows: Vec::new(),
            grades: Vec::new(),
        };
        // One more than settings say, until it is known whether the file counts from 0 or 1.
        let indices = ReadOptions::new().zero_based(true).feature_count(settings.feature_size + 1);
        for_each_line(&part.path("feature"), |line| part.take_features(line, &indices))?;
        part.read_lists(options)?;
        Ok(part)
    }

    fn path(&self, ending: &str) -> PathBuf {
        self.prefix.with_extension(ending)
    }

    fn take_features(&mut self, line: &str, indices: &ReadOptions) -> Result<(), Finding> {
        let mut cursor = Cursor::new(line.as_bytes());
        let doc = cursor.field();
        if doc.is_empty() {
            return Err("starts with a comment, but a line starts with a document".into());
        }
        let start = self.features.entries.len();
        read_features(&mut cursor, indices, &mut self.features)?;
        if let Some(rest) = cursor.peek() {
            return Err(format!("holds '{}', but features look like 3:0.25", char::from(rest)));
        }
        self.has_zero |= self.features.entries[start..].iter().any(|&(column, _)| column == 0);
        self.docs.push(&String::from_utf8_lossy(doc));
        Ok(())
    }

    /// Reads the lists and their grades side by side.
    fn read_lists(&mut self, options: &ReadOptions) -> Result<()> {
        let labels_path = self.path("labels");
        let labels = read_text(&labels_path, Limit::Data)?;
        let mut labels = (1..).zip(labels.lines()).filter(|(_, line)| !line.trim().is_empty());
        let mut known = HashSet::new();
        for_each_line(&self.path("init_list"), |line| {
            let query = line.split_ascii_whitespace().next().unwrap_or_default();
            if !known.insert(query.to_string()) {
                return Err(format!("query {query} has a list already, but each query has one"));
            }
            let Some((label_line, grades)) = labels.next() else {
                return Err(format!("query {query} has no line in {}", labels_path.display()));
            };
            self.take_list(line, grades, options)
                .map_err(|finding| format!("{finding} (its grades are line {label_line} of {})", labels_path.display()))
        })?;
        if let Some((line, _)) = labels.next() {
            let finding = format!("has no list in {}", self.path("init_list").display());
            return Err(Place::line(&labels_path, line).error(finding));
        }
        if self.rows.is_empty() {
            return Err(Error::input(&self.path("init_list"), "holds no documents"));
        }
        self.queries = std::mem::take(&mut self.queries).into_integers_if_all();
        Ok(())
    }

    fn take_list(&mut self, list: &str, grades: &str, options: &ReadOptions) -> Result<(), Finding> {
        let (mut list, mut grades) = (list.split_ascii_whitespace(), grades.split_ascii_whitespace());
        let (query, graded) = (list.next().unwrap_or_default(), grades.next().unwrap_or_default());
        if query != graded {
            return Err(format!("query is {query}, but the grades are those of query {graded}"));
        }
        let (list, grades): (Vec<&str>, Vec<&str>) = (list.collect(), grades.collect());
        if list.len() != grades.len() {
            return Err(format!("query {query} has {} documents, but {} grades", list.len(), grades.len()));
        }
        let start = self.rows.len();
        for (row, grade) in list.into_iter().zip(grades) {
            if row != "-1" {
                self.rows.push(self.known_row(row)?);
                self.grades.push(read_grade(grade, options)?);
            }
        }
        self.check_distinct(query, start)?;
        if self.rows.len() > start {
            self.queries.push_text(query);
            self.query_ends.push(self.rows.len());
        }
        Ok(())
    }

    fn known_row(&self, text: &str) -> Result<usize, Finding> {
        let count = self.docs.len();
        text.parse().ok().filter(|&row: &usize| row < count).ok_or_else(|| {
            let text = shown(text.as_bytes());
            format!("document is '{text}', but documents are rows of the feature file, from 0 to {}", count as i64 - 1)
        })
    }

    fn check_distinct(&self, query: &str, start: usize) -> Result<(), Finding> {
        let mut seen = HashSet::new();
        match self.rows[start..].iter().map(|&row| self.docs.get(row)).find(|doc| !seen.insert(*doc)) {
            Some(doc) => Err(format!("document {doc} stands twice in the list of query {query}")),
            None => Ok(()),
        }
    }

    fn into_dataset(self, kept: &[Option<usize>], first_index: usize) -> Result<Dataset> {
        let width = kept.iter().flatten().count();
        let mut features = super::svmlight::zeros(&self.prefix, self.rows.len(), width)?;
        let sparse: Vec<&[(u32, f32)]> = self.features.iter().collect();
        for (target, &row) in features.chunks_exact_mut(width.max(1)).zip(&self.rows) {
            for &(index, value) in sparse[row] {
                if let Some(column) = kept[index as usize - first_index] {
                    target[column] = value;
                }
            }
        }
        let docs = Ids::Texts(self.docs).select(self.rows).into_integers_if_all();
        DatasetBuilder {
            features,
            feature_count: width,
            grades: Some(self.grades),
            queries: self.queries,
            query_ends: self.query_ends,
            docs: Some(docs),
        }
        .build()
    }
}

fn read_grade(text: &str, options: &ReadOptions) -> Result<u8, Finding> {
    match read_number(text.as_bytes()) {
        Some((value, length)) if length == text.len() => options.grade(f64::from(value)),
        _ => Err(format!("grade is '{}', but grades are numbers", shown(text.as_bytes()))),
    }
}

/// `train/train` or `train`, for the first name whose feature file is there.
fn find_prefix(folder: &Path, names: &[&str]) -> Result<PathBuf> {
    let candidates = names.iter().flat_map(|name| [folder.join(name).join(name), folder.join(name)]);
    candidates.into_iter().find(|prefix| prefix.with_extension("feature").is_file()).ok_or_else(|| {
        let name = names[0];
        Error::input(folder, format!("has {SETTINGS}, but no {name}/{name}.feature, as an ULTRA folder has"))
    })
}

/// Hands over each line that is not blank; adds the place to what is wrong with it.
fn for_each_line(path: &Path, mut take: impl FnMut(&str) -> Result<(), Finding>) -> Result<()> {
    for (number, line) in (1..).zip(read_text(path, Limit::Data)?.lines()) {
        if !line.trim().is_empty() {
            take(line).map_err(|finding| Place::line(path, number).error(finding))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn folder(settings: &str, parts: [[&str; 3]; 3]) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(SETTINGS), settings).unwrap();
        for (name, files) in ["train", "valid", "test"].iter().zip(parts) {
            std::fs::create_dir(folder.path().join(name)).unwrap();
            for (ending, text) in ["feature", "init_list", "labels"].iter().zip(files) {
                std::fs::write(folder.path().join(name).join(format!("{name}.{ending}")), text).unwrap();
            }
        }
        folder
    }

    const PLAIN: [&str; 3] = ["d0 1:1\n", "9 0\n", "9 1\n"];

    fn read(settings: &str, train: [&str; 3]) -> Result<Splits> {
        read_ultra(folder(settings, [train, PLAIN, PLAIN]).path(), &ReadOptions::new())
    }

    const SIZE_3: &str = r#"{"feature_size": 3, "max_label": 2.0}"#;

    #[test]
    fn documents_come_in_the_order_of_their_lists() {
        let train = ["a 0:1\nb 1:2 2:3\nc\n", "7 1 0 -1\n5 2\n", "7 2.0 0.0 0\n5 1.0\n"];
        let data = read(SIZE_3, train).unwrap().train;
        assert_eq!(data.features(), [0.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(data.queries(), &Ids::Integers(vec![7, 5]));
        assert_eq!([0, 1, 2].map(|row| data.docs().name(row).into_owned()), ["b", "a", "c"]);
        assert_eq!(data.grades(), Some(&[2, 0, 1][..]));
        assert_eq!(data.lists().collect::<Vec<_>>(), [0..2, 2..3]);
    }

    #[test]
    fn files_that_count_from_one_are_recognised() {
        let splits = read(SIZE_3, ["a 1:1 3:3\n", "7 0\n", "7 0\n"]).unwrap();
        assert_eq!(splits.train.row(0), [1.0, 0.0, 3.0]);
        assert_eq!(splits.test.row(0), [1.0, 0.0, 0.0]);
    }

    #[test]
    fn removed_features_are_left_out() {
        let settings = r#"{"feature_size": 3, "max_label": 2, "removed_feature_ids": [1]}"#;
        assert_eq!(read(settings, ["a 1:1 2:2 3:3\n", "7 0\n", "7 0\n"]).unwrap().train.row(0), [2.0, 3.0]);
        assert_eq!(read(settings, ["a 0:1 1:2 2:3\n", "7 0\n", "7 0\n"]).unwrap().train.row(0), [1.0, 3.0]);
    }

    #[test]
    fn what_does_not_fit_is_refused_with_its_line() {
        let cases = [
            (["a 0:1 3:1\n", "7 0\n", "7 0\n"], "train.feature: has features from 0 to 3, but settings.json says"),
            (["a 4:1\n", "7 0\n", "7 0\n"], "train.feature:1: feature index is 4"),
            (["a 1:x\n", "7 0\n", "7 0\n"], "train.feature:1: '1:x' is not a feature"),
            (["a 1:1\n", "7 1\n", "7 0\n"], "train.init_list:1: document is '1', but documents are rows"),
            (["a 1:1\n", "7 0 0\n", "7 0 0\n"], "train.init_list:1: document a stands twice"),
            (["a 1:1\n", "7 0\n7 0\n", "7 0\n7 0\n"], "train.init_list:2: query 7 has a list already"),
            (["a 1:1\n", "7 0\n", "8 0\n"], "train.init_list:1: query is 7, but the grades are those of query 8"),
            (["a 1:1\n", "7 0\n", "7 0 1\n"], "train.init_list:1: query 7 has 1 documents, but 2 grades"),
            (["a 1:1\n", "7 0\n", "7 9\n"], "train.init_list:1: grade is 9, but grades go from 0 to 4"),
            (["a 1:1\n", "7 0\n", ""], "train.init_list:1: query 7 has no line in"),
            (["a 1:1\n", "7 0\n", "7 0\n8 0\n"], "train.labels:2: has no list in"),
            (["", "", ""], "train.init_list: holds no documents"),
        ];
        for (train, expected) in cases {
            let error = read(SIZE_3, train).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert!(read("{}", PLAIN).unwrap_err().to_string().contains("is not the settings file of an ULTRA folder"));
    }
}
