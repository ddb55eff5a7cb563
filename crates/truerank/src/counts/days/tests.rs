//! Merged counts are those of one count, byte for byte; what does not fit together is refused.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use rand::RngExt;

use super::*;
use crate::counts::{CountOptions, Counts, CountsView, LogSource};
use crate::log::ReadOptions;
use crate::progress::Silent;
use crate::random::stream;

const HEADER: &str = "session,user,query,doc,position,click\n";

/// A log of pages of four documents in varying order; ids of `text` kind are no numbers.
fn rows(day: u64, pages: u64, text: bool) -> String {
    let mut random = stream(day, "test", 0);
    let mut rows = HEADER.to_string();
    for page in 0..pages {
        let query = random.random_range(0..12u32);
        let user = random.random_range(0..9u32) + 3 * day as u32;
        let first = random.random_range(0..6u32);
        for position in 1..=4u32 {
            let doc = 2 * query + (first + position) % 7 + day as u32 / 2;
            let click = u32::from(random.random::<f64>() < 0.8 / f64::from(position));
            let prefix = if text { "t" } else { "" };
            let session = day * 1_000_000 + page;
            writeln!(rows, "{session},{prefix}{user},{prefix}{query},{prefix}{doc},{position},{click}").unwrap();
        }
    }
    rows
}

struct Days {
    folder: tempfile::TempDir,
}

impl Days {
    fn new() -> Self {
        Days { folder: tempfile::tempdir().unwrap() }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn count(&self, name: &str, texts: &[String], reading: ReadOptions, what: &CountOptions) -> PathBuf {
        let file = |(number, text): (usize, &String)| {
            let path = self.at(&format!("{name}-{number}.csv"));
            std::fs::write(&path, text).unwrap();
            path
        };
        let files: Vec<PathBuf> = texts.iter().enumerate().map(file).collect();
        LogSource::files(files, reading).count_into(&self.at(name), what, &Silent).unwrap();
        self.at(name)
    }

    /// Folders of days, and the folder of all of them at once.
    fn counted(&self, texts: &[String], what: &CountOptions) -> (Vec<PathBuf>, PathBuf) {
        let day = |(number, text): (usize, &String)| {
            self.count(&format!("day{number}"), std::slice::from_ref(text), ReadOptions::new(), what)
        };
        (texts.iter().enumerate().map(day).collect(), self.count("all", texts, ReadOptions::new(), what))
    }

    fn refused(&self, options: &MergeOptions, folders: &[PathBuf], reason: &str) {
        let message = options.merge(folders, &self.at("unwanted"), &Silent).unwrap_err().to_string();
        assert!(message.contains(reason), "{message}");
        assert!(!self.at("unwanted").exists());
    }
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.map(|path| (name(&path), std::fs::read(&path).unwrap())).collect()
}

fn assert_same_files(a: &Path, b: &Path) {
    let (a, b) = (files(a), files(b));
    assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>());
    for (name, bytes) in &a {
        assert!(bytes == &b[name], "{name} differs");
    }
}

fn everything() -> CountOptions {
    CountOptions::new().patterns(true).transitions(true)
}

#[test]
fn merged_days_are_one_count() {
    for (what, text) in [(CountOptions::new(), false), (everything(), false), (everything(), true)] {
        let days = Days::new();
        let texts: Vec<String> = (0..5).map(|day| rows(day, 150, text)).collect();
        let (folders, all) = days.counted(&texts, &what);
        let little = Room::new(Memory::new(1 << 18)).temporary(days.folder.path());
        for room in [None, Some(little)] {
            let options = MergeOptions::new().room(room);
            options.merge(&folders, &days.at("merged"), &Silent).unwrap();
            assert_same_files(&days.at("merged"), &all);
        }
        // In any order, and in steps.
        let some = [folders[3].clone(), folders[1].clone()];
        MergeOptions::new().merge(&some, &days.at("some"), &Silent).unwrap();
        let rest = [days.at("some"), folders[4].clone(), folders[0].clone(), folders[2].clone()];
        MergeOptions::new().merge(&rest, &days.at("merged"), &Silent).unwrap();
        assert_same_files(&days.at("merged"), &all);
    }
}

#[test]
fn ids_that_become_text_are_sorted_anew() {
    // One day has numbers, the other words: together numbers are words, and 10 comes before 9.
    let days = Days::new();
    let texts = [rows(0, 200, false), rows(1, 50, true)];
    let (folders, all) = days.counted(&texts, &everything());
    MergeOptions::new().merge(&folders, &days.at("merged"), &Silent).unwrap();
    assert_same_files(&days.at("merged"), &all);
    MergeOptions::new().without(vec![folders[1].clone()]).merge(&[all], &days.at("left"), &Silent).unwrap();
    let (left, first) = (Counts::read(&days.at("left")).unwrap(), Counts::read(&folders[0]).unwrap());
    assert_eq!((left.totals().cells, left.click_count()), (first.totals().cells, first.click_count()));
}

#[test]
fn a_day_that_is_taken_away_leaves_no_trace() {
    for what in [CountOptions::new(), everything()] {
        let days = Days::new();
        let texts: Vec<String> = (0..4).map(|day| rows(day, 150, false)).collect();
        let (folders, all) = days.counted(&texts, &what);
        let left = days.count("expected", &[texts[0].clone(), texts[3].clone()], ReadOptions::new(), &what);
        let options = MergeOptions::new().without(vec![folders[1].clone(), folders[2].clone()]);
        options.merge(std::slice::from_ref(&all), &days.at("left"), &Silent).unwrap();
        assert_same_files(&days.at("left"), &left);
        days.refused(
            &MergeOptions::new().without(vec![folders[1].clone()]),
            std::slice::from_ref(&folders[0]),
            "only what was added as it is can be taken away",
        );
    }
}

#[test]
fn a_day_that_is_counted_twice_is_named() {
    let days = Days::new();
    let texts: Vec<String> = (0..3).map(|day| rows(day, 100, false)).collect();
    let (folders, all) = days.counted(&texts, &CountOptions::new());
    let twice = [folders[0].clone(), folders[1].clone(), folders[0].clone()];
    days.refused(&MergeOptions::new(), &twice, "has the same counts as");
    // A copy, in rows of another order, and a month that has the day.
    let mut lines: Vec<&str> = texts[1].lines().skip(1).collect();
    lines.reverse();
    let copy =
        days.count("copy", &[format!("{HEADER}{}\n", lines.join("\n"))], ReadOptions::new(), &CountOptions::new());
    days.refused(&MergeOptions::new(), &[folders[1].clone(), copy], "has too: 100 of the 100 compared");
    days.refused(&MergeOptions::new(), &[all.clone(), folders[2].clone()], "has result pages that");
    let keep = MergeOptions::new().adding(AddingOptions::new().on_repeated_page(OnRepeatedPage::Keep));
    let (totals, _) = keep.merge(&[all, folders[2].clone()], &days.at("kept"), &Silent).unwrap();
    assert_eq!((totals.sessions, totals.pages), (400, Some(400)));
    assert!(Counts::read(&days.at("kept")).is_ok());
}

#[test]
fn other_settings_are_refused() {
    let days = Days::new();
    let text = rows(0, 50, false).replace("click\n", "dwell\n");
    let counted = |name: &str, when: &str, what: &CountOptions, text: &String| {
        let reading = ReadOptions::new().click_when(when.parse().unwrap());
        days.count(name, std::slice::from_ref(text), reading, what)
    };
    let other = rows(1, 50, false).replace("click\n", "dwell\n");
    let first = counted("first", "dwell>0", &CountOptions::new(), &text);
    let strict = counted("strict", "dwell>=1", &CountOptions::new(), &other);
    let same = counted("same", "dwell>0", &CountOptions::new(), &other);
    let patterns = counted("patterns", "dwell>0", &CountOptions::new().patterns(true), &other);
    let both = |folder: &PathBuf| [first.clone(), folder.clone()];
    days.refused(&MergeOptions::new(), &both(&strict), "strict: was counted with `click_when` 'dwell>=1', but");
    days.refused(&MergeOptions::new(), &both(&patterns), "has click patterns, but");
    MergeOptions::new()
        .adding(AddingOptions::new().mixed(true))
        .merge(&both(&strict), &days.at("mixed"), &Silent)
        .unwrap();
    MergeOptions::new().merge(&both(&same), &days.at("alike"), &Silent).unwrap();
    let meta = std::fs::read_to_string(days.at("alike").join("meta.json")).unwrap();
    assert!(meta.contains("dwell>0"), "{meta}");
    days.refused(&MergeOptions::new(), &[days.at("nowhere")], "nowhere");
    days.refused(&MergeOptions::new(), &[], "name at least one folder");
    days.refused(&MergeOptions::new().age(vec![1.0]), &both(&same), "is for `half_life`");
    days.refused(
        &MergeOptions::new().half_life(7.0).age(vec![1.0]),
        &both(&same),
        "has 1 values, but there are 2 folders",
    );
}

#[test]
fn logs_without_sessions_keep_all_pages_too() {
    let days = Days::new();
    let page =
        |day: u32, row: u32| format!("u{},q{},{}|b|c,{}|0|0\n", row % 3, row % 4, ["a", "d"][day as usize], row % 2);
    let text = |day: u32| format!("user,query,docs,clicks\n{}", (0..40).map(|row| page(day, row)).collect::<String>());
    let (folders, all) = days.counted(&[text(0), text(1)], &CountOptions::new());
    MergeOptions::new().merge(&folders, &days.at("merged"), &Silent).unwrap();
    assert_same_files(&days.at("merged"), &all);
    let copy = days.count("copy", &[text(0)], ReadOptions::new(), &CountOptions::new());
    days.refused(&MergeOptions::new(), &[folders[0].clone(), copy], "has the same counts as");
}

#[test]
fn old_days_are_thinned_to_their_weight() {
    for what in
        [CountOptions::new(), CountOptions::new().patterns(true), CountOptions::new().transitions(true), everything()]
    {
        let days = Days::new();
        let texts: Vec<String> = (0..3).map(|day| rows(day, 4000, false)).collect();
        let (folders, _) = days.counted(&texts, &what);
        let options = MergeOptions::new().half_life(2.0).age(vec![4.0, 2.0, 0.0]);
        let (totals, summary) = options.merge(&folders, &days.at("decayed"), &Silent).unwrap();
        assert_eq!(summary.weights, [0.25, 0.5, 1.0]);
        assert_eq!(totals.pages, None);
        // Sessions are sums of three binomials.
        let expected = 4000.0 * (0.25 + 0.5 + 1.0);
        let deviation = (4000.0f64 * (0.25 * 0.75 + 0.5 * 0.5)).sqrt();
        assert!((totals.sessions as f64 - expected).abs() < 5.0 * deviation, "{}", totals.sessions);
        // Reading checks that transitions and patterns add up to cells and sessions.
        let read = Counts::read(&days.at("decayed")).unwrap();
        assert_eq!(read.impression_count(), 4 * totals.sessions);
        options.merge(&folders, &days.at("again"), &Silent).unwrap();
        assert_same_files(&days.at("decayed"), &days.at("again"));
        // Thinned counts are thinned further, and never added as they are.
        days.refused(
            &MergeOptions::new(),
            &[days.at("decayed")],
            "was thinned with `half_life` 2, but there is none now",
        );
        let day_later = MergeOptions::new().half_life(2.0).age(vec![2.0]);
        let (later, _) = day_later.merge(&[days.at("decayed")], &days.at("later"), &Silent).unwrap();
        let half = totals.sessions as f64 / 2.0;
        assert!((later.sessions as f64 - half).abs() < 5.0 * (half / 2.0).sqrt(), "{later:?}");
    }
}

#[test]
fn a_sample_of_many_pages_is_that_of_one_count() {
    // More pages than are kept, so that the sample decides.
    let days = Days::new();
    let page = |day: u64, row: u64| {
        format!("{},{},{},{},1,{}\n", day * 500_000 + row, row % 50, row % 300, row % 7, row % 3 / 2)
    };
    let text = |day: u64| format!("{HEADER}{}", (0..80_000).map(|row| page(day, row)).collect::<String>());
    let texts = [text(0), text(1)];
    let (folders, all) = days.counted(&texts, &CountOptions::new());
    MergeOptions::new().merge(&folders, &days.at("merged"), &Silent).unwrap();
    assert_same_files(&days.at("merged"), &all);
    let without = MergeOptions::new().without(vec![folders[1].clone()]);
    let (totals, _) = without.merge(&[all], &days.at("left"), &Silent).unwrap();
    // About 5/8 of the first day's pages were in the sample; they are a random part of it.
    assert!((totals.pages.unwrap() as f64 - 50_000.0).abs() < 1000.0, "{totals:?}");
    assert!(Counts::read(&days.at("left")).is_ok());
}

#[test]
fn a_log_is_appended_to_counts_in_place() {
    for what in [CountOptions::new(), everything()] {
        let days = Days::new();
        let texts: Vec<String> = (0..2).map(|day| rows(day, 100, false)).collect();
        let (folders, all) = days.counted(&texts, &what);
        let log = LogSource::files([days.at("day1-0.csv")], ReadOptions::new());
        // What the folder has is counted, whatever is asked for.
        let adding = AddingOptions::new();
        let (totals, summary) = log.append_to(&folders[0], &CountOptions::new(), &adding, &Silent).unwrap();
        assert_eq!((totals.sessions, summary.sessions), (200, 100));
        assert_same_files(&folders[0], &all);
        let again = log.append_to(&folders[0], &CountOptions::new(), &adding, &Silent).unwrap_err().to_string();
        assert!(again.contains("day1-0.csv: has result pages that"), "{again}");
        assert_same_files(&folders[0], &all);
    }
}
