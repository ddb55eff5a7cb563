//! Data set files as people have them: bad ones are refused in one clear line, real ones read as published.

use std::io::Write;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tempfile::TempDir;
use truerank::data::{self, Dataset, ReadOptions};

/// A folder with one file in it.
fn file(name: &str, content: impl AsRef<[u8]>) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    (folder, path)
}

fn read(path: &Path) -> truerank::Result<Dataset> {
    data::read_dataset(path, &ReadOptions::new())
}

/// What is said about a bad file, after its name.
fn finding(name: &str, content: impl AsRef<[u8]>) -> String {
    let (_folder, path) = file(name, content);
    let message = read(&path).unwrap_err().to_string();
    assert!(!message.contains('\n'), "more than one line: {message}");
    let prefix = path.display().to_string();
    message.strip_prefix(&prefix).unwrap_or_else(|| panic!("does not start with its file: {message}")).to_string()
}

#[test]
fn bad_text_is_refused_with_its_line() {
    let good = "1 qid:1 1:1 2:0.5\n";
    let cases: [(&[u8], &str); 16] = [
        (b"", ": holds no documents"),
        (b"# only a comment\n\n", ": holds no documents"),
        (&[0; 4096], ":1: holds NUL bytes, but text is expected here; the file is damaged or of another kind"),
        (b"1 qid:1 1:\xff\n", ":2: byte 0xff is not UTF-8 text; convert the file to UTF-8"),
        (b"1 qid:\xe9 1:1\n", ":2: byte 0xe9 is not UTF-8 text; convert the file to UTF-8"),
        (b"1 qid:1 1:1 # \xe9\n", ":2: byte 0xe9 is not UTF-8 text; convert the file to UTF-8"),
        (b"1 qid:1 1:na\n", ":2: '1:na' is not a feature, but features look like 3:0.25"),
        (
            b"1 qid:1 2:-inf\n",
            ":2: feature 2 is -inf, but features must be finite numbers of 32 bits, or nan where one is missing",
        ),
        (
            b"1 qid:1 0:1\n",
            ":2: feature index is 0, but indices start at 1; pass `zero_based` if this file counts from 0",
        ),
        (b"1 qid:1 1000001:1\n", ":2: feature index is 1000001, but indices above 1000000 are not supported"),
        (b"7 qid:1 1:1\n", ":2: grade is 7, but grades go from 0 to 4; pass `max_grade` 7 if that is right"),
        (b"0.5 qid:1 1:1\n", ":2: grade is 0.5, but grades are whole numbers from 0 to 4"),
        (b"-1 qid:1 1:1\n", ":2: grade is -1, but grades go from 0 to 4"),
        (b"one qid:1 1:1\n", ":2: grade is 'one', but a line starts with a number"),
        (b"1 qid: 1:1\n", ":2: the query after 'qid:' is empty, but every document has a query"),
        (
            b"0 qid:2 1:1\n0 qid:1 1:1\n",
            ":3: query 1 started at line 1 and comes again here after other queries; sort the file by qid",
        ),
    ];
    for (bad, expected) in cases {
        let first = if expected.starts_with(":1") || expected.starts_with(": ") { "" } else { good };
        assert_eq!(finding("a.txt", [first.as_bytes(), bad].concat()), expected);
    }
}

#[test]
fn the_first_bad_line_of_a_large_file_is_found() {
    // Several megabytes, so that many chunks are read at once; bad lines are near the middle and the end.
    let mut text = String::new();
    for line in 1..=60_000 {
        let value = if line == 31_007 || line == 59_000 { "oops" } else { "0.125" };
        text += &format!("1 qid:{} 1:1 2:0.5 3:0.25 4:0.0625 5:12345 6:0.000001 7:1e-3 8:{value}\n", line / 10);
    }
    assert_eq!(finding("a.txt", text), ":31007: '8:oops' is not a feature, but features look like 3:0.25");
}

#[test]
fn side_files_must_be_there_and_fit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rank.train");
    std::fs::write(&path, "1 1:1\n0 1:2\n0 1:3\n").unwrap();
    let message = || read(&path).unwrap_err().to_string().replace(&format!("{}/", folder.path().display()), "");
    assert_eq!(
        message(),
        "rank.train: has no qid, and there is no rank.train.query with the number of documents of each query"
    );
    let side = folder.path().join("rank.train.query");
    for (sizes, expected) in [
        ("2\n2\n", "rank.train.query: group sizes add up to 4, but rank.train has 3 documents"),
        ("", "rank.train.query: group sizes add up to 0, but rank.train has 3 documents"),
        ("3\n0\n", "rank.train.query:2: group size is '0', but sizes are whole numbers from 1"),
        ("1\ntwo\n", "rank.train.query:2: group size is 'two', but sizes are whole numbers from 1"),
    ] {
        std::fs::write(&side, sizes).unwrap();
        assert_eq!(message(), expected);
    }
}

#[test]
fn truncated_gzip_is_refused() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    (0..5000).for_each(|line| writeln!(encoder, "1 qid:{line} 1:{line}").unwrap());
    let bytes = encoder.finish().unwrap();
    let finding = finding("a.txt.gz", &bytes[..bytes.len() / 2]);
    assert!(finding.starts_with(": the gzip data is truncated or damaged after "), "{finding}");
}

/// The bytes of a small Parquet data set.
fn parquet_bytes() -> Vec<u8> {
    let (folder, path) = file("a.txt", "1 qid:1 1:1 2:0.5 # x\n0 qid:1 1:0.25 # y\n2 qid:2 2:3 # z\n");
    let table = folder.path().join("a.parquet");
    data::write_parquet(&read(&path).unwrap(), &table).unwrap();
    std::fs::read(table).unwrap()
}

#[test]
fn truncated_parquet_is_refused() {
    let bytes = parquet_bytes();
    for length in [0, 3, 4, 11, bytes.len() / 2, bytes.len() - 1] {
        let finding = finding("a.parquet", &bytes[..length]);
        assert!(finding.starts_with(": is not a complete Parquet file ("), "{finding}");
    }
    let finding = finding("a.parquet", [0; 4096]);
    assert!(finding.starts_with(": is not a complete Parquet file ("), "{finding}");
}

#[test]
fn missing_files_and_folders_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("no.txt");
    assert!(read(&missing).unwrap_err().to_string().ends_with("no.txt: no such file or folder"));
    let error = data::read_splits(&missing, &ReadOptions::new()).unwrap_err().to_string();
    assert!(error.ends_with("no.txt: no such file or folder"), "{error}");
}

/// Text that looks like a data set, with some of its bytes replaced.
fn mutated_text() -> impl Strategy<Value = Vec<u8>> {
    let text =
        "2 qid:1 1:0.5 3:-1e-3 # d1\n0 qid:1 2:.25 #docid = d2 inc = 1\r\n\n# note\n1 qid:q2 1:7 4:123456789.5 # d1\n";
    let odd = prop_oneof![any::<u8>(), prop::sample::select(b"#:. \n\r\tqid0129eE+-".to_vec())];
    proptest::collection::vec((0..text.len(), odd), 0..6).prop_map(move |changes| {
        let mut bytes = text.as_bytes().to_vec();
        changes.into_iter().for_each(|(at, byte)| bytes[at] = byte);
        bytes
    })
}

/// Reading ends in a data set that writes and reads back, or in one line about this file.
fn reads_or_says_why(name: &str, content: &[u8]) {
    let (folder, path) = file(name, content);
    match read(&path) {
        Ok(data) => {
            let copy = folder.path().join("copy.parquet");
            data::write_parquet(&data, &copy).unwrap();
            assert_eq!(read(&copy).unwrap(), data);
        }
        Err(error) => {
            let message = error.to_string();
            assert!(message.starts_with(&path.display().to_string()) && !message.contains('\n'), "{message}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_bytes_read_or_say_why(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        reads_or_says_why("a.txt", &bytes);
        reads_or_says_why("a.parquet", &bytes);
    }

    #[test]
    fn any_text_reads_or_says_why(text in "([-0-9.:#qidnaeE \t]|\n|qid:| 1:|# ){0,60}") {
        reads_or_says_why("a.txt", text.as_bytes());
    }

    #[test]
    fn mutated_text_reads_or_says_why(bytes in mutated_text()) {
        reads_or_says_why("a.txt", &bytes);
    }

    #[test]
    fn mutated_parquet_reads_or_says_why(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut bytes = parquet_bytes();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        reads_or_says_why("a.parquet", &bytes);
    }
}

/// The folder with real data, where it is at hand.
fn shared(name: &str) -> Option<PathBuf> {
    let root = match std::env::var_os("TRUERANK_SHARED") {
        Some(root) => PathBuf::from(root),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
    };
    let folder = root.join(name);
    if !folder.is_dir() {
        println!("skipped: {} is not there", folder.display());
        return None;
    }
    Some(folder)
}

#[test]
fn lightgbm_example_reads_as_published() {
    let Some(folder) = shared("lightgbm-lambdarank") else { return };
    let train = read(&folder.join("rank.train")).unwrap();
    assert_eq!((train.query_count(), train.len(), train.feature_count()), (201, 3005, 300));
    let test = read(&folder.join("rank.test")).unwrap();
    assert_eq!((test.query_count(), test.len()), (50, 768));
    // The first line starts "0 10:0.89 11:0.75".
    assert_eq!(train.row(0)[8..12], [0.0, 0.89, 0.75, 0.01]);
    assert!(train.grades().unwrap().iter().all(|&grade| grade <= 4));
    let error = data::read_splits(&folder, &ReadOptions::new()).unwrap_err().to_string();
    assert!(error.contains("has no vali part"), "{error}");
}

#[test]
fn clueweb_parts_read_as_published() {
    let Some(folder) = shared("clueweb09-webis") else { return };
    let parts: Vec<Dataset> = (1..=5).map(|part| read(&folder.join(format!("S{part}.txt.gz"))).unwrap()).collect();
    assert_eq!(parts.iter().map(Dataset::query_count).sum::<usize>(), 61);
    assert_eq!(parts.iter().map(Dataset::len).sum::<usize>(), 26_646);
    assert!(parts.iter().all(|part| part.feature_count() == 42));
    assert!(parts.iter().flat_map(Dataset::lists).all(|rows| (230..=728).contains(&rows.len())));
    assert_eq!(parts[0].docs().name(0), "clueweb09-en0006-78-20618");
    let mut grades = [0; 5];
    parts.iter().flat_map(|part| part.grades().unwrap()).for_each(|&grade| grades[usize::from(grade)] += 1);
    assert_eq!(grades, [21_808, 3_274, 1_242, 172, 150]);
}

#[test]
fn real_text_writes_and_reads_back() {
    let Some(folder) = shared("clueweb09-webis") else { return };
    let data = read(&folder.join("S2.txt.gz")).unwrap();
    let target = tempfile::tempdir().unwrap();
    for name in ["copy.txt", "copy.txt.zst", "copy.parquet"] {
        let path = target.path().join(name);
        data::write_dataset(&data, &path).unwrap();
        assert_eq!(read(&path).unwrap(), data, "{name}");
    }
}
