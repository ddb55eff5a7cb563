//! Counting in little memory: the same bytes as with plenty, and nothing left on disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use truerank::counts::{CountOptions, LogSource, LogSummary};
use truerank::files::Room;
use truerank::ids::{Ids, Texts};
use truerank::log::{Impression, Log, OnBadRow, ReadOptions, write_log};
use truerank::memory::Memory;
use truerank::progress::Silent;

/// Far less than the rows of the logs below take, and just enough for their ids.
fn little() -> Room {
    Room::new(Memory::new(1 << 20))
}

fn texts(prefix: &str, count: u32) -> Ids {
    let mut texts = Texts::default();
    (0..count).for_each(|i| texts.push(&format!("{prefix}{}", i.wrapping_mul(2_654_435_761) % 1_000_003)));
    Ids::Texts(texts)
}

/// Pages of five documents in no order; a third of them are of one query, which is more than a thread may hold.
fn log(pages: u64) -> Log {
    let mut impressions = Vec::new();
    for session in 0..pages {
        let hash = |salt: u64| (session ^ salt << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
        let chance = |salt: u64, of: u64| (hash(salt) % of) as u32;
        let query = if session % 3 == 0 { 0 } else { 1 + chance(1, 400) };
        for rank in 0..5 {
            let (doc, click) = (chance(2, 40) + rank * 40, chance(u64::from(rank) + 3, 4) == 0);
            let user = chance(9, 300);
            impressions.push(Impression { session, user, query, doc, position: rank + 1, click });
        }
    }
    let step = impressions.len() / 2 + 1;
    let shuffled = (0..impressions.len()).map(|i| impressions[i * step % impressions.len()]).collect();
    Log { users: Ids::numbered(300), queries: texts("query ", 401), docs: texts("d", 200), impressions: shuffled }
}

fn write_parts(log: &Log, folder: &Path) -> Vec<PathBuf> {
    let size = log.impressions.len().div_ceil(3);
    let parts = log.impressions.chunks(size).zip(["a.parquet", "b.csv", "c.tsv.gz"]);
    let write = |(rows, name): (&[Impression], &str)| {
        let path = folder.join(name);
        write_log(&Log { impressions: rows.to_vec(), ..log.clone() }, &path).unwrap();
        path
    };
    parts.map(write).collect()
}

fn bytes_of(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap()))
        .collect()
}

fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

/// What counting into a folder gives: all bytes, and the summary.
fn counted(paths: &[PathBuf], options: &ReadOptions, what: &CountOptions) -> (BTreeMap<String, Vec<u8>>, LogSummary) {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("counts");
    let (totals, summary) = LogSource::files(paths, options.clone()).count_into(&target, what, &Silent).unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "only the counts are left");
    assert_eq!(totals.impressions, summary.rows);
    (bytes_of(&target), summary)
}

#[test]
fn counts_are_the_same_bytes_in_any_memory() {
    let folder = tempfile::tempdir().unwrap();
    let paths = write_parts(&log(40_000), folder.path());
    let options = ReadOptions::new();
    let all = CountOptions::new().patterns(true).transitions(true);
    let (in_memory, _) = LogSource::files(&paths, options.clone()).count(&all, &Silent).unwrap();
    let written = folder.path().join("counts");
    in_memory.write(&written).unwrap();
    let (plenty, summary) = counted(&paths, &options, &all);
    assert_eq!(summary.spooled, 0);
    assert!(plenty == bytes_of(&written));
    for threads in 1..=3 {
        let (little, summary) = on_threads(threads, || counted(&paths, &options, &all.clone().room(Some(little()))));
        assert!(summary.spooled > 1 << 20, "{}", summary.spooled);
        assert!(little == plenty, "{threads} threads");
    }
}

#[test]
fn pages_that_are_left_out_are_left_out_in_any_memory() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = log(20_000);
    // Some pages get another user's row, some a document twice, and a user who then occurs nowhere else.
    log.users = Ids::numbered(301);
    for row in (0..log.impressions.len()).step_by(1000) {
        log.impressions[row].user = 300;
        let again = Impression { position: 7, ..log.impressions[row + 1] };
        log.impressions.push(again);
    }
    let paths = write_parts(&log, folder.path());
    let options = ReadOptions::new().on_bad_row(OnBadRow::Skip);
    let (plenty, all) = counted(&paths, &options, &CountOptions::new());
    let (little, summary) = counted(&paths, &options, &CountOptions::new().room(Some(little())));
    assert!(summary.spooled > 0 && summary.bad_rows.count > 100);
    assert_eq!(LogSummary { spooled: 0, ..summary }, all);
    assert!(little == plenty);
    let meta = String::from_utf8(plenty["meta.json"].clone()).unwrap();
    assert!(meta.contains("\"users\": 300"), "{meta}");
}

#[test]
fn contradictions_are_told_alike_in_any_memory() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = log(20_000);
    for row in [7, 50_000, 99_000] {
        let again = Impression { position: 9, ..log.impressions[row] };
        log.impressions.push(again);
    }
    let paths = write_parts(&log, folder.path());
    let message = |what: &CountOptions| {
        let target = folder.path().join("counts");
        let error = LogSource::files(&paths, ReadOptions::new()).count_into(&target, what, &Silent).unwrap_err();
        assert!(!target.exists());
        error.to_string()
    };
    assert_eq!(message(&CountOptions::new().room(Some(little()))), message(&CountOptions::new()));
    assert!(message(&CountOptions::new()).contains("appears twice in session"));
}

#[test]
fn ids_that_do_not_fit_are_an_error_with_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let shown =
        |i: u32| Impression { session: i.into(), user: 0, query: 0, doc: i, position: 1, click: i.is_multiple_of(2) };
    let impressions = (0..50_000).map(shown).collect();
    let log = Log { users: Ids::numbered(1), queries: Ids::numbered(1), docs: texts("d", 50_000), impressions };
    let path = folder.path().join("log.parquet");
    write_log(&log, &path).unwrap();
    let what = CountOptions::new().room(Some(little()));
    let error = LogSource::files([path], ReadOptions::new()).count_into(&folder.path().join("counts"), &what, &Silent);
    let message = error.unwrap_err().to_string();
    assert!(message.contains("but `memory` 1MiB leaves 640KiB for them; raise `memory`"), "{message}");
}

#[test]
fn a_missing_temporary_folder_is_said_before_reading() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let what = CountOptions::new().room(Some(little().temporary(&missing)));
    let log = LogSource::files([folder.path().join("no.csv")], ReadOptions::new());
    let error = log.count(&what, &Silent).unwrap_err();
    assert!(error.to_string().starts_with(&format!("{}: no such folder", missing.display())));
}
