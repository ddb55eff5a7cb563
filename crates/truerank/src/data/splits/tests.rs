//! Folders in and out.

use super::*;
use crate::ids::Ids;

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    files.iter().for_each(|(name, text)| std::fs::write(folder.path().join(name), text).unwrap());
    folder
}

fn read(files: &[(&str, &str)]) -> Result<Splits> {
    read_splits(folder(files).path(), &ReadOptions::new())
}

const PARTS: [(&str, &str); 3] =
    [("train.txt", "1 qid:1 1:1\n0 qid:2 1:1\n"), ("vali.txt", "1 qid:3 3:1\n"), ("test.txt", "1 qid:4 2:1\n")];

#[test]
fn parts_are_widened_to_the_same_features() {
    let splits = read(&PARTS).unwrap();
    assert_eq!(splits.train.row(1), [1.0, 0.0, 0.0]);
    assert_eq!(splits.validation.row(0), [0.0, 0.0, 1.0]);
    assert_eq!(splits.test.row(0), [0.0, 1.0, 0.0]);
}

#[test]
fn a_query_in_two_parts_is_a_leak() {
    let error = read(&[PARTS[0], PARTS[1], ("test.txt", "0 qid:2 1:1\n")]).unwrap_err().to_string();
    assert!(error.contains("query 2 is in train.txt and in test.txt, but a query may be in one part only"), "{error}");
}

#[test]
fn queries_numbered_by_side_files_are_not_a_leak() {
    let text = "1 1:1\n0 1:2\n";
    let files = ["rank.train", "rank.vali", "rank.test"].map(|name| (name, text));
    let sides = ["rank.train.query", "rank.vali.query", "rank.test.query"].map(|name| (name, "2\n"));
    let splits = read(&[files, sides].concat()).unwrap();
    assert_eq!(splits.test.queries(), &Ids::numbered(1));
}

#[test]
fn missing_and_ambiguous_parts_are_listed() {
    let error = read(&[PARTS[0], PARTS[2]]).unwrap_err().to_string();
    assert!(
        error.ends_with(
            "has no vali part, but needs a file such as vali.txt or vali.parquet; it holds test.txt, train.txt"
        ),
        "{error}"
    );
    let error = read(&[PARTS[0], PARTS[1], PARTS[2], ("set2.train.txt", "")]).unwrap_err().to_string();
    assert!(error.contains("has more than one train part (set2.train.txt, train.txt), but one is needed"), "{error}");
    assert!(read(&[]).unwrap_err().to_string().ends_with("it holds no files"));
}

#[test]
fn written_splits_read_back() {
    let splits = read(&PARTS).unwrap();
    let parent = tempfile::tempdir().unwrap();
    let target = parent.path().join("data");
    for format in [DatasetFormat::Svmlight, DatasetFormat::Parquet] {
        write_splits(&splits, &target, format).unwrap();
        assert_eq!(read_splits(&target, &ReadOptions::new()).unwrap(), splits);
        assert_eq!(std::fs::read_dir(&target).unwrap().count(), 3, "the older form is gone");
    }
    std::fs::write(target.join("thesis.tex"), "years of work").unwrap();
    let error = write_splits(&splits, &target, DatasetFormat::Parquet).unwrap_err().to_string();
    assert!(error.contains("holds thesis.tex, which replacing the folder would remove"), "{error}");
}

#[test]
fn content_decides_where_the_name_does_not() {
    let folder = folder(&PARTS);
    let data = read_dataset(&folder.path().join("train.txt"), &ReadOptions::new()).unwrap();
    let path = folder.path().join("a.parquet");
    write_dataset(&data, &path).unwrap();
    let renamed = folder.path().join("table");
    std::fs::rename(&path, &renamed).unwrap();
    assert_eq!(read_dataset(&renamed, &ReadOptions::new()).unwrap(), data);
    std::fs::write(folder.path().join("log.csv"), "a,b").unwrap();
    let error = read_dataset(&folder.path().join("log.csv"), &ReadOptions::new()).unwrap_err().to_string();
    assert!(error.ends_with("is not a data set by its name; use LETOR/SVMlight text or Parquet"), "{error}");
    let error = read_dataset(folder.path(), &ReadOptions::new()).unwrap_err().to_string();
    assert!(error.ends_with("is a folder, but a data set file is expected here"), "{error}");
}

#[test]
fn random_parts_share_no_query_and_lose_none() {
    let text: String = (1..=20).map(|query| format!("1 qid:{query} 1:{query}\n0 qid:{query} 1:1\n")).collect();
    let folder = folder(&[("all.txt", &text)]);
    let data = read_dataset(&folder.path().join("all.txt"), &ReadOptions::new()).unwrap();
    let splits = split_by_query(&data, [0.5, 0.25, 0.25], 3).unwrap();
    let parts = [&splits.train, &splits.validation, &splits.test];
    assert_eq!(parts.map(Dataset::query_count), [10, 5, 5]);
    assert!(check_leaks(Path::new(""), &PART_NAMES.map(String::from), &parts.map(Some)).is_ok());
    assert_eq!(parts.iter().map(|part| part.len()).sum::<usize>(), data.len());
}
