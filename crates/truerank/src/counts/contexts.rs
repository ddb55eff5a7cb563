//! Contexts of pages: lists in other contexts are other lists, everything else stays as it is, and what contradicts itself is refused.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use rand::RngExt;
use rand::seq::SliceRandom;

use super::{CountOptions, Counts, CountsView, LogSource, MergeOptions, SplitBy, StoredCounts, Transitions};
use crate::files::Room;
use crate::log::{OnBadRow, ReadOptions};
use crate::memory::Memory;
use crate::progress::Silent;
use crate::random::stream;

const HEADER: &str = "session,user,query,doc,position,click,device,layout\n";
const DEVICES: [&str; 3] = ["phone", "desktop", "tv"];

/// A page by its query, context and documents in order, and how often users with such a page went from where to where.
type Ways = BTreeMap<(String, Vec<String>, String), BTreeMap<(String, u32, u32), u64>>;

/// Rows of pages with few lists in several contexts, in no order, and the obvious counts of their ways.
fn log(seed: u64, pages: u64) -> (Vec<String>, Ways) {
    let mut random = stream(seed, "test", 0);
    let (mut rows, mut ways) = (Vec::new(), Ways::new());
    for page in 0..pages {
        let mut below = |end: u32| random.random_range(0..end);
        let (query, user, first) = (below(9), below(5), below(2));
        let (device, layout) = (DEVICES[below(3) as usize], below(2));
        let (mut docs, mut from, mut steps) = (Vec::new(), 0, Vec::new());
        for position in 1..=4 {
            let (doc, click) = (format!("d{}", (first + position) % 5), u32::from(below(3) == 0));
            rows.push(format!("{},u{user},q{query},{doc},{position},{click},{device},{layout}", seed * 100_000 + page));
            docs.push(doc);
            if click == 1 {
                steps.push((from, position));
                from = position;
            }
        }
        steps.push((from, 0));
        let of_list = ways.entry((format!("q{query}"), docs, format!("{device}+{layout}"))).or_default();
        steps.into_iter().for_each(|(from, to)| *of_list.entry((format!("u{user}"), from, to)).or_default() += 1);
    }
    rows.shuffle(&mut random);
    (rows, ways)
}

fn text(rows: &[String]) -> String {
    rows.iter().fold(HEADER.to_string(), |mut text, row| {
        writeln!(text, "{row}").unwrap();
        text
    })
}

/// The same of counts.
fn ways(counts: &Counts) -> Ways {
    let transitions = counts.transitions.as_ref().unwrap();
    let mut ways = Ways::new();
    for (list, rows) in transitions.by_list() {
        let docs =
            transitions.of(list).iter().map(|listed| counts.docs.name(listed.doc as usize).into_owned()).collect();
        let context = counts.contexts.name(list.context as usize).into_owned();
        let of_list = ways.entry((counts.queries.name(list.query as usize).into_owned(), docs, context)).or_default();
        for row in rows {
            let user = counts.users.name(row.user as usize).into_owned();
            of_list.insert((user, row.from, if row.to == super::END { 0 } else { row.to }), row.sessions);
        }
    }
    ways
}

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Place(tempfile::tempdir().unwrap())
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn source(&self, name: &str, text: &str) -> LogSource {
        std::fs::write(self.at(name), text).unwrap();
        LogSource::files([self.at(name)], ReadOptions::new())
    }

    fn count(&self, name: &str, text: &str, what: &CountOptions) -> PathBuf {
        self.source(&format!("{name}.csv"), text).count_into(&self.at(name), what, &Silent).unwrap();
        self.at(name)
    }
}

fn with(context: &str) -> CountOptions {
    CountOptions::new().transitions(true).context(context.to_string())
}

fn bytes_of(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap()))
        .collect()
}

#[test]
fn lists_in_contexts_are_those_of_a_loop_in_any_order_and_memory() {
    let place = Place::new();
    let (rows, expected) = log(1, 3000);
    let what = with("device+layout");
    let (counts, _) = place.source("log.csv", &text(&rows)).count(&what, &Silent).unwrap();
    assert_eq!(ways(&counts), expected);
    assert_eq!((counts.contexts.len(), counts.totals().contexts), (6, Some(6)));
    let written = place.count("counts", &text(&rows), &what);
    assert_eq!(Counts::read(&written).unwrap(), *counts);
    let backwards: Vec<String> = rows.iter().rev().cloned().collect();
    let little = Room::new(Memory::new(1 << 16)).temporary(place.0.path());
    let others = [
        place.count("backwards", &text(&backwards), &what),
        place.count("little", &text(&rows), &what.clone().room(Some(little.clone()))),
    ];
    others.iter().for_each(|other| assert!(bytes_of(other) == bytes_of(&written), "{}", other.display()));
    let stored = StoredCounts::open(&written, &little).unwrap();
    assert_eq!((stored.contexts(), stored.totals()), (&counts.contexts, counts.totals()));
    let mut all = Transitions::default();
    stored.blocks().iter().for_each(|block| all.append(&stored.transitions(block).unwrap().unwrap()));
    assert_eq!(Some(all), counts.transitions);
}

#[test]
fn all_else_stays_as_it_is() {
    let place = Place::new();
    let text = text(&log(2, 2000).0);
    let all = CountOptions::new().patterns(true).transitions(true);
    let (without, with) =
        (place.count("without", &text, &all), place.count("with", &text, &with("device").patterns(true)));
    let (without, with) = (bytes_of(&without), bytes_of(&with));
    for name in ["cells.parquet", "sessions.parquet", "patterns.parquet", "pages.parquet"] {
        assert!(without[name] == with[name], "{name}");
    }
    assert!(without["lists.parquet"] != with["lists.parquet"]);
    let [without, with] = ["without", "with"].map(|name| Counts::read(&place.at(name)).unwrap());
    assert_eq!(with.transitions.as_ref().unwrap().without_contexts(), *without.transitions.as_ref().unwrap());
    // Whole pages do not know their context, so parts by pages have none; parts by queries keep them.
    let (train, held_out) = with.split_pages(0.4, 1).unwrap();
    assert_eq!((train, held_out), without.split_pages(0.4, 1).unwrap());
    let (learned, _) = with.split_queries(0.5, 1).unwrap();
    let queries: Vec<String> =
        (0..learned.queries.len()).map(|query| learned.queries.name(query).into_owned()).collect();
    let expected = ways(&with).into_iter().filter(|((query, ..), _)| queries.contains(query)).collect::<Ways>();
    assert_eq!(ways(&learned), expected);
    let log = place.source("log.csv", &text);
    assert!(log.split(SplitBy::Queries, 0.5, 1, &Silent).is_ok());
}

#[test]
fn days_with_contexts_add_up_and_other_contexts_are_refused() {
    let place = Place::new();
    let days = [log(3, 900).0, log(4, 900).0];
    let what = with("device");
    let folders: Vec<PathBuf> = (0..2).map(|day| place.count(&format!("day{day}"), &text(&days[day]), &what)).collect();
    let all = place.count("all", &text(&days.concat()), &what);
    let merge = |options: MergeOptions, folders: &[PathBuf]| options.merge(folders, &place.at("merged"), &Silent);
    for room in [None, Some(Room::new(Memory::new(1 << 18)).temporary(place.0.path()))] {
        merge(MergeOptions::new().room(room), &folders).unwrap();
        assert!(bytes_of(&place.at("merged")) == bytes_of(&all));
    }
    merge(MergeOptions::new().without(vec![folders[0].clone()]), &[all.clone()]).unwrap();
    assert!(bytes_of(&place.at("merged")) == bytes_of(&folders[1]));
    // What is appended is read as the folder was.
    let later = place.source("later.csv", &text(&days[1]));
    later.append_to(&folders[0], &CountOptions::new(), &Default::default(), &Silent).unwrap();
    assert!(bytes_of(&folders[0]) == bytes_of(&all));
    // Thinned lists keep their context.
    merge(MergeOptions::new().half_life(1.0).age(vec![1.0]), &[all.clone()]).unwrap();
    let (thinned, whole) = (ways(&Counts::read(&place.at("merged")).unwrap()), ways(&Counts::read(&all).unwrap()));
    assert!(thinned.keys().all(|list| whole.contains_key(list)) && thinned.len() > whole.len() / 2);
    let refused = |folders: [PathBuf; 2], mixed: bool, reason: &str| {
        let options = MergeOptions::new().adding(super::AddingOptions::new().mixed(mixed));
        let error = merge(options, &folders).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    };
    let layout = place.count("layout", &text(&days[1]), &with("layout"));
    refused([all.clone(), layout], false, "was counted with `context` 'layout', but");
    let none = place.count("none", &text(&days[1]), &CountOptions::new().transitions(true));
    refused([all.clone(), none.clone()], false, "was counted with `context` the default, but");
    refused([all, none], true, "has no contexts, but");
}

#[test]
fn a_page_in_two_contexts_is_refused_with_its_place_or_left_out() {
    let place = Place::new();
    let rows = "1,u,q,a,1,0,phone,x\n1,u,q,b,2,1,phone,x\n2,u,q,a,1,0,tv,x\n2,u,q,b,2,1,phone,x\n";
    let log = place.source("log.csv", &format!("{HEADER}{rows}"));
    let error = log.count(&with("device"), &Silent).unwrap_err().to_string();
    let expected = format!(
        "{}:5: session '2' of query 'q' was shown in contexts 'phone' and 'tv', but a result page has one; take a column for \
         `context` that is the same in all rows of a page, or give each page its own session",
        place.at("log.csv").display()
    );
    assert_eq!(error, expected);
    let skipping = LogSource::files([place.at("log.csv")], ReadOptions::new().on_bad_row(OnBadRow::Skip));
    let (counts, summary) = skipping.count(&with("device"), &Silent).unwrap();
    assert_eq!((summary.rows, summary.bad_rows.count, counts.contexts.len()), (2, 2, 1));
    assert!(log.count(&with("layout"), &Silent).is_ok());
}

#[test]
fn what_cannot_have_a_context_is_refused() {
    let place = Place::new();
    let log = place.source("log.csv", &format!("{HEADER}1,u,q,a,1,0,,x\n1,u,q,b,2,1,,x\n"));
    let refused = |log: &LogSource, what: &CountOptions, reason: &str| {
        let error = log.count(what, &Silent).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    };
    refused(&log, &with("device").transitions(false), "`context` is kept with the lists of click transitions");
    refused(&log, &with("device+"), "`context` is 'device+', but should name a column");
    refused(&log, &with("device"), "log.csv:2: context is empty");
    refused(&log, &with("page"), "has no column 'page'");
    let counts = log.count(&with("layout"), &Silent).unwrap().0;
    refused(&LogSource::from(Counts::clone(&counts)), &with("layout"), "but counts were read already");
    let mut reading = ReadOptions::new();
    reading.events.event_column = Some("layout".to_string());
    let events = LogSource::files([place.at("log.csv")], reading);
    refused(&events, &with("device"), "but this is a log of events");
}
