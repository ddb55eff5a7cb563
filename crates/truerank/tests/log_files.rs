//! Logs to files and back, and to counts: the same whatever the form, order, division or number of threads.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use proptest::prelude::*;
use truerank::counts::{CountOptions, Counts, END, LogSource, ShownList, Transition, count_log};
use truerank::ids::{Ids, Texts};
use truerank::log::{BadKind, Columns, Impression, Log, LogWriter, ReadOptions, write_log};
use truerank::progress::Silent;

fn with_patterns() -> CountOptions {
    CountOptions::new().patterns(true)
}

fn texts(names: impl IntoIterator<Item = String>) -> Ids {
    let mut texts = Texts::default();
    names.into_iter().for_each(|name| texts.push(&name));
    Ids::Texts(texts)
}

/// Names that need care: integers in several spellings, quotes, delimiters, newlines, other scripts.
fn odd_names() -> Ids {
    let names = ["17", "017", "-3", "a b", "a\"b", "x,y", "x\ty", "new\nline", "été", " ", "268435456", "9"];
    texts(names.map(String::from))
}

fn odd_integers() -> Ids {
    Ids::Integers(vec![17, 0, -3, i64::MAX, i64::MIN, 1 << 28, (1 << 28) - 1, 70_000, 65_536, 4, 5, 6])
}

prop_compose! {
    /// Pages of some queries, each with one user and different documents, all rows shuffled.
    fn logs()(
        pages in proptest::collection::vec((0u64..6, 0u32..4, proptest::collection::vec((0u32..5, any::<bool>()), 1..8)), 1..30),
        kinds in proptest::array::uniform3(any::<bool>()),
        start in 0usize..12,
        users in proptest::collection::vec(0u32..5, 24),
        order in any::<u64>(),
    ) -> Log {
        let mut seen = BTreeSet::new();
        let mut impressions = Vec::new();
        for (session, query, shown) in pages {
            let user = users[session as usize * 4 + query as usize];
            for (i, (position, click)) in shown.into_iter().enumerate() {
                let doc = (i + start) as u32 % 12;
                if seen.insert((session, query, doc)) {
                    impressions.push(Impression { session, user, query, doc, position: position + 1, click });
                }
            }
        }
        // A log of clicks alone is refused.
        impressions[0].click = false;
        shuffle(&mut impressions, order);
        let [users, queries, docs] = kinds.map(|text| if text { odd_names() } else { odd_integers() });
        Log { users, queries, docs, impressions }
    }
}

fn shuffle<T>(items: &mut [T], mut state: u64) {
    for i in (1..items.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        items.swap(i, (state >> 33) as usize % (i + 1));
    }
}

type Cells = BTreeMap<(String, String, u32, String), (u64, u64)>;
type Shown = Vec<(u32, String, bool)>;
type Pages = BTreeMap<(String, Shown, String), u64>;

/// The obvious loop over the rows.
fn expected(log: &Log) -> (Cells, BTreeMap<(String, String), u64>, Pages) {
    let name = |ids: &Ids, i: u32| ids.name(i as usize).into_owned();
    let mut cells = Cells::new();
    let mut pages: HashMap<(u64, u32), (u32, Shown)> = HashMap::new();
    for row in &log.impressions {
        let (user, query, doc) = (name(&log.users, row.user), name(&log.queries, row.query), name(&log.docs, row.doc));
        let cell = cells.entry((query, doc.clone(), row.position, user)).or_default();
        cell.0 += 1;
        cell.1 += u64::from(row.click);
        let page = pages.entry((row.session, row.query)).or_insert((row.user, Vec::new()));
        page.1.push((row.position, doc, row.click));
    }
    let mut sessions = BTreeMap::new();
    let mut patterns = Pages::new();
    for ((_, query), (user, mut shown)) in pages {
        *sessions.entry((name(&log.queries, query), name(&log.users, user))).or_default() += 1;
        shown.sort();
        *patterns.entry((name(&log.queries, query), shown, name(&log.users, user))).or_default() += 1;
    }
    (cells, sessions, patterns)
}

fn found(counts: &Counts) -> (Cells, BTreeMap<(String, String), u64>, Pages) {
    let name = |ids: &Ids, i: u32| ids.name(i as usize).into_owned();
    let (q, d, u) = (&counts.queries, &counts.docs, &counts.users);
    let cells = counts
        .cells
        .iter()
        .map(|c| ((name(q, c.query), name(d, c.doc), c.position, name(u, c.user)), (c.impressions, c.clicks)));
    let sessions = counts.sessions.iter().map(|s| ((name(q, s.query), name(u, s.user)), s.sessions));
    let patterns = counts.patterns.as_ref().unwrap();
    let pages = patterns.patterns.iter().map(|p| {
        let mut shown: Vec<_> =
            patterns.shown[p.shown.clone()].iter().map(|s| (s.position, name(d, s.doc), s.click)).collect();
        shown.sort();
        ((name(q, p.query), shown, name(u, p.user)), p.sessions)
    });
    (cells.collect(), sessions.collect(), pages.collect())
}

/// Query, list, user, and positions from and to, 0 for the end; how many sessions.
type Steps = BTreeMap<(String, Vec<(u32, String)>, String, u32, u32), u64>;

/// The obvious loop over the pages.
fn expected_steps(log: &Log) -> Steps {
    let name = |ids: &Ids, i: u32| ids.name(i as usize).into_owned();
    let mut pages: BTreeMap<(u64, u32), Vec<Impression>> = BTreeMap::new();
    log.impressions.iter().for_each(|row| pages.entry((row.session, row.query)).or_default().push(*row));
    let mut steps = Steps::new();
    for mut page in pages.into_values() {
        page.sort_by_key(|row| row.position);
        let list: Vec<(u32, String)> = page.iter().map(|row| (row.position, name(&log.docs, row.doc))).collect();
        let (query, user) = (name(&log.queries, page[0].query), name(&log.users, page[0].user));
        let mut from = 0;
        let ends = page.iter().filter(|row| row.click).map(|row| row.position).chain([0]);
        for to in ends {
            *steps.entry((query.clone(), list.clone(), user.clone(), from, to)).or_default() += 1;
            from = to;
        }
    }
    steps
}

fn found_steps(counts: &Counts) -> Steps {
    let name = |ids: &Ids, i: u32| ids.name(i as usize).into_owned();
    let all = counts.transitions.as_ref().unwrap();
    let rows = all.by_list().flat_map(|(list, rows)| rows.iter().map(move |row| (list, row)));
    let step = |(list, row): (&ShownList, &Transition)| {
        let shown = all.of(list).iter().map(|shown| (shown.position, name(&counts.docs, shown.doc))).collect();
        let to = if row.to == END { 0 } else { row.to };
        ((name(&counts.queries, list.query), shown, name(&counts.users, row.user), row.from, to), row.sessions)
    };
    rows.map(step).collect()
}

/// The log with one document at each position of a page: later ones stand below, with gaps.
fn one_by_one(log: &Log) -> Log {
    let mut log = log.clone();
    let mut last: HashMap<(u64, u32), u32> = HashMap::new();
    for row in &mut log.impressions {
        let last = last.entry((row.session, row.query)).or_default();
        row.position += *last;
        *last = row.position;
    }
    log
}

fn with_all() -> CountOptions {
    with_patterns().transitions(true)
}

/// Sorted and without repeats, ids in their natural order.
fn assert_ordered(counts: &Counts) {
    let cells: Vec<_> = counts.cells.iter().map(|c| (c.query, c.doc, c.position, c.user)).collect();
    assert!(cells.windows(2).all(|w| w[0] < w[1]));
    assert!(counts.sessions.windows(2).all(|w| (w[0].query, w[0].user) < (w[1].query, w[1].user)));
    for ids in [&counts.queries, &counts.docs, &counts.users] {
        assert!((1..ids.len()).all(|i| ids.compare(i - 1, i).is_lt()));
    }
}

/// All bytes of an artefact, by file name.
fn bytes_of(counts: &Counts) -> BTreeMap<String, Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("counts");
    counts.write(&target).unwrap();
    let files = std::fs::read_dir(&target).unwrap().map(|entry| {
        let path = entry.unwrap().path();
        (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap())
    });
    files.collect()
}

fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

fn count(paths: &[PathBuf]) -> truerank::Result<Counts> {
    let counted = LogSource::files(paths, ReadOptions::new()).count(&with_patterns(), &Silent);
    counted.map(|(counts, _)| Arc::unwrap_or_clone(counts))
}

/// The log with all ids as text, as a text file has them.
fn as_text(log: &Log) -> Log {
    let mut log = log.clone();
    [&mut log.users, &mut log.queries, &mut log.docs].into_iter().for_each(|ids| _ = ids.make_texts());
    log
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn counting_equals_the_obvious_loop(log in logs()) {
        let (counts, summary) = count_log(&log, &with_patterns()).unwrap();
        prop_assert_eq!(found(&counts), expected(&log));
        assert_ordered(&counts);
        prop_assert_eq!(summary.rows, log.impressions.len() as u64);
        prop_assert_eq!(summary.sessions, counts.sessions.iter().map(|s| s.sessions).sum::<u64>());
    }

    #[test]
    fn transitions_equal_the_obvious_loop_in_any_order(log in logs(), order in any::<u64>()) {
        let log = one_by_one(&log);
        let (counts, _) = count_log(&log, &with_all()).unwrap();
        prop_assert_eq!(found_steps(&counts), expected_steps(&log));
        // Beside them nothing changes.
        let (without, _) = count_log(&log, &with_patterns()).unwrap();
        prop_assert_eq!(&Counts { transitions: None, ..counts.clone() }, &without);
        let mut shuffled = log.clone();
        shuffle(&mut shuffled.impressions, order);
        let reference = bytes_of(&counts);
        for threads in 1..=3 {
            let again = on_threads(threads, || count_log(&shuffled, &with_all()).unwrap().0);
            prop_assert!(bytes_of(&again) == reference);
        }
        let folder = tempfile::tempdir().unwrap();
        counts.write(&folder.path().join("counts")).unwrap();
        prop_assert_eq!(Counts::read(&folder.path().join("counts")).unwrap(), counts);
    }

    #[test]
    fn artefacts_do_not_depend_on_order_threads_or_files(log in logs(), order in any::<u64>()) {
        let folder = tempfile::tempdir().unwrap();
        let whole = folder.path().join("whole.parquet");
        write_log(&log, &whole).unwrap();
        let reference = bytes_of(&count(std::slice::from_ref(&whole)).unwrap());

        let mut shuffled = log.clone();
        shuffle(&mut shuffled.impressions, order);
        let size = shuffled.impressions.len().div_ceil(3);
        let mut parts = Vec::new();
        for (i, rows) in shuffled.impressions.chunks(size).enumerate() {
            let part = folder.path().join(format!("part{i}.parquet"));
            write_log(&Log { impressions: rows.to_vec(), ..shuffled.clone() }, &part).unwrap();
            parts.push(part);
        }
        for threads in 1..=3 {
            let divided = on_threads(threads, || bytes_of(&count(&parts).unwrap()));
            prop_assert!(divided == reference);
        }
        let in_memory = bytes_of(&count_log(&shuffled, &with_patterns()).unwrap().0);
        prop_assert!(in_memory == reference);
    }

    #[test]
    fn every_form_gives_the_same_counts(log in logs()) {
        let folder = tempfile::tempdir().unwrap();
        let text = count_log(&as_text(&log), &with_patterns()).unwrap().0;
        for name in ["a.csv", "a.tsv", "a.csv.gz", "a.tsv.zst"] {
            let path = folder.path().join(name);
            write_log(&log, &path).unwrap();
            prop_assert_eq!(&count(&[path]).unwrap(), &text);
        }
        let path = folder.path().join("a.parquet");
        write_log(&log, &path).unwrap();
        let counts = count(&[path]).unwrap();
        prop_assert_eq!(&counts, &count_log(&log, &with_patterns()).unwrap().0);
        let saved = folder.path().join("counts");
        counts.write(&saved).unwrap();
        prop_assert_eq!(Counts::read(&saved).unwrap(), counts);
    }

    #[test]
    fn damaged_files_give_an_error_or_rows(log in logs(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()) {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.csv", "a.tsv.gz", "a.parquet"] {
            let path = folder.path().join(name);
            write_log(&log, &path).unwrap();
            let mut bytes = std::fs::read(&path).unwrap();
            let at = at.index(bytes.len());
            if cut { bytes.truncate(at) } else { bytes[at] = byte }
            std::fs::write(&path, bytes).unwrap();
            if let Err(error) = count(&[path]) {
                prop_assert_eq!(error.to_string().lines().count(), 1, "{}", error);
            }
        }
    }

    #[test]
    fn any_bytes_give_an_error_or_rows(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.csv", "a.tsv", "a.parquet"] {
            let path = folder.path().join(name);
            std::fs::write(&path, &bytes).unwrap();
            let _ = count(&[path]);
        }
    }
}

fn many(pages: u64) -> Log {
    let rows = (0..pages).flat_map(|session| {
        let query = (session * 7919 % 23) as u32;
        (0..10).map(move |k| Impression {
            session,
            user: (session * 31 % 17) as u32,
            query,
            doc: query * 10 + (k + session as u32) % 10,
            position: k + 1,
            click: (session + u64::from(k)) % 5 == 0,
        })
    });
    Log {
        users: Ids::numbered(17),
        queries: texts((0..23).map(|q| format!("query {q}"))),
        docs: Ids::numbered(230),
        impressions: rows.collect(),
    }
}

#[test]
fn many_row_groups_are_the_same_on_any_number_of_threads_and_calls() {
    let log = many(30_000);
    let folder = tempfile::tempdir().unwrap();
    for name in ["log.parquet", "log.csv"] {
        let path = |threads: usize| folder.path().join(format!("{threads}{name}"));
        for threads in 1..=3 {
            on_threads(threads, || {
                let mut writer = LogWriter::create(&path(threads), &log.users, &log.queries, &log.docs).unwrap();
                log.impressions.chunks(40_000 * threads).for_each(|rows| writer.write(rows).unwrap());
                writer.finish().unwrap();
            });
            assert!(std::fs::read(path(threads)).unwrap() == std::fs::read(path(1)).unwrap());
        }
        let read = LogSource::files([path(1)], ReadOptions::new()).read().unwrap();
        assert_eq!(read.impressions.len(), log.impressions.len());
        let in_order = read.impressions.iter().zip(&log.impressions);
        assert!(in_order.into_iter().all(|(a, b)| a.session == b.session && a.position == b.position));
        assert_eq!(count(&[path(1)]).unwrap().cells.len(), count_log(&log, &with_patterns()).unwrap().0.cells.len());
    }
}

/// The one line that a bad text file gives.
fn error_of(name: &str, content: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    let error = count(std::slice::from_ref(&path)).unwrap_err().to_string();
    assert_eq!(error.lines().count(), 1, "{error}");
    error.replace(&format!("{}/", folder.path().display()), "")
}

#[test]
fn bad_text_gives_one_line_with_its_place() {
    const HEADER: &str = "session,user,query,doc,position,click\n";
    let cases: [(&str, &str); 10] = [
        ("", "clicks.csv: holds no impressions: the file is empty"),
        (HEADER, "clicks.csv: holds no impressions, only a header"),
        (
            "s,user,query,doc,position,click\n",
            "clicks.csv: has no column 'session', but impressions must say which were shown together; it has s, user",
        ),
        ("H1,u,q,d,0,1\n", "clicks.csv:2: position is 0, but positions start at 1"),
        ("H1,u,q,d,2024-01-02,1\n", "clicks.csv:2: position is 2024-01-02, but positions are whole numbers from 1"),
        ("H1,u,q,d,1,2\n", "clicks.csv:2: click is 2, but a click is 0 or 1"),
        ("H1,u,q,,1,1\n", "clicks.csv:2: doc is empty, but every impression needs one"),
        ("H1,u,q,d,1\n", "clicks.csv:2: has 5 fields, but the header has 6"),
        ("H1,u,q,d,1,1\n1,u,q,\"d,1,1\n", "clicks.csv:3: a quote opens here and never closes"),
        ("H1,u,q,d,200000,1\n", "clicks.csv:2: position is 200000, but positions go up to 100000"),
    ];
    for (content, expected) in cases {
        let error = error_of("clicks.csv", content.replace('H', HEADER).as_bytes());
        assert!(error.starts_with(expected), "{error}\n{expected}");
    }
    assert!(error_of("clicks.txt", b"x").starts_with("clicks.txt: does not say its form"));
    assert!(error_of("clicks.parquet", b"PAR1xPAR1").starts_with("clicks.parquet: is not a complete Parquet file"));
}

#[test]
fn the_first_bad_file_is_named_whatever_the_threads() {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<_> = ["0,1", "1,1", "0,1", "x,1"]
        .iter()
        .enumerate()
        .map(|(i, end)| {
            let path = folder.path().join(format!("{i}.csv"));
            let rows = format!("session,user,query,doc,position,click\n{i},u,q,d,1,0\n{i},u,q,e,{end}\n");
            std::fs::write(&path, rows).unwrap();
            path
        })
        .collect();
    for threads in 1..=4 {
        let error = on_threads(threads, || count(&paths[1..]).unwrap_err().to_string());
        assert!(error.ends_with("2.csv:3: position is 0, but positions start at 1"), "{error}");
    }
    assert!(count(&[folder.path().join("none.csv")]).unwrap_err().to_string().ends_with("no such file or folder"));
}

fn row(session: u64, user: u32, query: u32, doc: u32, position: u32) -> Impression {
    Impression { session, user, query, doc, position, click: false }
}

#[test]
fn contradictions_are_named_at_the_row_that_brings_them_in() {
    let folder = tempfile::tempdir().unwrap();
    let header = "session,user,query,doc,position,click\n";
    let (first, second) = (folder.path().join("a.csv"), folder.path().join("b.csv"));
    std::fs::write(&first, format!("{header}s1,u,q,d7,1,0\ns2,u,q,d7,1,0\n")).unwrap();
    std::fs::write(&second, format!("{header}s1,u,q,d8,2,0\ns1,u,\"q\",d7,3,0\n")).unwrap();
    let error = count(&[first.clone(), second.clone()]).unwrap_err().to_string();
    assert!(error.contains("b.csv:3: doc 'd7' appears twice in session 's1' of query 'q'"), "{error}");

    std::fs::write(&second, format!("{header}s1,u,other,d7,1,1\ns2,v,q,d9,3,0\n")).unwrap();
    let error = count(&[first, second]).unwrap_err().to_string();
    assert!(error.contains("b.csv:3: session 's2' of query 'q' belongs to users 'u' and 'v'"), "{error}");

    let ids = Ids::numbered(3);
    let impressions = vec![row(5, 0, 0, 0, 1), row(5, 0, 1, 0, 1), row(5, 0, 0, 1, 1), row(5, 0, 0, 0, 2)];
    let log = Log { users: ids.clone(), queries: ids.clone(), docs: ids, impressions };
    let error = count_log(&log, &with_patterns()).unwrap_err().to_string();
    assert!(error.starts_with("doc '1' appears twice in session '5' of query '1'"), "{error}");
    let path = folder.path().join("a.parquet");
    write_log(&log, &path).unwrap();
    let error = count(&[path]).unwrap_err().to_string();
    assert!(error.contains("a.parquet: row 4: doc '1' appears twice in session '5' of query '1'"), "{error}");
}

#[test]
fn documents_may_share_a_position_and_sessions_may_span_queries() {
    let ids = Ids::numbered(2);
    let impressions = vec![row(5, 0, 0, 0, 1), row(5, 0, 0, 1, 1), row(5, 1, 1, 0, 1)];
    let log = Log { users: ids.clone(), queries: ids.clone(), docs: ids, impressions };
    let (counts, summary) = count_log(&log, &with_patterns()).unwrap();
    assert_eq!((counts.cells.len(), summary.sessions), (3, 2));
}

#[test]
fn numbers_without_an_id_are_refused() {
    let log = Log {
        impressions: vec![row(1, 0, 0, 9, 1)],
        users: Ids::numbered(1),
        queries: Ids::numbered(1),
        docs: Ids::numbered(2),
    };
    assert_eq!(
        count_log(&log, &with_patterns()).unwrap_err().to_string(),
        "doc number 9 has no id: there are 2 of them"
    );
}

#[test]
fn integer_and_text_files_meet_by_the_text_of_ids() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (folder.path().join("a.parquet"), folder.path().join("b.csv"));
    let ids = Ids::Integers(vec![10]);
    let log = Log { users: ids.clone(), queries: ids.clone(), docs: ids, impressions: vec![row(1, 0, 0, 0, 1)] };
    write_log(&log, &a).unwrap();
    std::fs::write(&b, "session,user,query,doc,position,click\n2,10,10,10,1,TRUE\n1,10,10,9,2,0.0\n").unwrap();
    let counts = count(&[a, b]).unwrap();
    assert_eq!((counts.users.len(), counts.queries.len(), counts.docs.len()), (1, 1, 2));
    assert_eq!((counts.cells[0].impressions, counts.cells[0].clicks, counts.session_count()), (2, 1, 2));
    assert!(matches!(counts.docs, Ids::Texts(_)));
}

/// Columns that may miss values, as tables of others have them.
fn table_with_bad_rows(path: &Path) {
    let texts = |values: Vec<Option<&str>>| Arc::new(StringArray::from(values)) as ArrayRef;
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("session", Arc::new(Int64Array::from(vec![1, 1, 1, 2, 2, 2, 3]))),
        ("user", texts(vec![Some("u"), Some("u"), Some("w"), Some("v"), None, Some(""), Some("v")])),
        ("query", texts(vec![Some("q"); 7])),
        ("doc", Arc::new(Int64Array::from(vec![1, 2, 3, 1, 2, 3, 1]))),
        ("position", Arc::new(Float64Array::from(vec![1.0, 2.0, 0.5, 1.0, 2.0, 3.0, -1.0]))),
        ("click", Arc::new(BooleanArray::from(vec![true, false, true, false, true, true, true]))),
    ];
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true)))
            .unwrap();
    let mut writer = ArrowWriter::try_new(std::fs::File::create(path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

#[test]
fn bad_rows_of_parquet_are_refused_or_left_out_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (path, kept) = (folder.path().join("a.parquet"), folder.path().join("kept.txt"));
    table_with_bad_rows(&path);
    let paths = [path];
    let error = count(&paths).unwrap_err().to_string();
    assert!(error.ends_with("a.parquet: row 3: position is 0.5, but positions are whole numbers from 1"), "{error}");
    let options = ReadOptions::new().quarantine(kept.clone());
    let (counts, summary) = LogSource::files(&paths, options).count(&with_patterns(), &Silent).unwrap();
    assert_eq!((summary.rows, counts.click_count(), summary.sessions), (3, 1, 2));
    // A user who stands in bad rows only is none.
    assert_eq!((counts.users.len(), summary.bad_rows.count), (2, 4));
    assert_eq!(summary.bad_rows.by_kind, [(BadKind::Missing, 2), (BadKind::Position, 2)]);
    let lines = std::fs::read_to_string(kept).unwrap();
    let row = r#"{"session":1,"user":"w","query":"q","doc":3,"position":0.5,"click":true}"#;
    assert!(lines.lines().next().unwrap().ends_with(&format!("\t{row}")), "{lines}");
}

#[test]
fn pages_are_described_while_they_are_counted() {
    let ids = Ids::numbered(3);
    let impressions =
        vec![row(5, 0, 0, 0, 1), row(5, 0, 0, 1, 3), row(6, 0, 0, 2, 2), row(5, 1, 1, 0, 1), row(5, 1, 1, 1, 1)];
    let log = Log { users: ids.clone(), queries: ids.clone(), docs: ids, impressions };
    let pages = count_log(&log, &with_patterns()).unwrap().1.pages.unwrap();
    assert_eq!((pages.pages, pages.longest, pages.shown, pages.without_clicks), (3, 2, 5, 3));
    assert_eq!((pages.with_gaps, pages.not_from_one, pages.with_shared_positions, pages.of_one_doc), (1, 1, 1, 1));
}

#[test]
fn damaged_counts_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("counts");
    let (counts, _) = count_log(&many(50), &with_patterns()).unwrap();
    let refusal = |counts: &Counts| {
        counts.write(&target).unwrap();
        Counts::read(&target).unwrap_err().to_string()
    };
    let change = |change: &dyn Fn(&mut Counts)| {
        let mut changed = counts.clone();
        change(&mut changed);
        changed
    };
    assert!(refusal(&change(&|c| c.cells.swap(0, 1))).contains("cells.parquet: row 2: does not come after"));
    assert!(refusal(&change(&|c| c.cells[3].clicks = 1000)).contains("cells.parquet: row 4: has 1000 clicks"));
    assert!(refusal(&change(&|c| _ = c.sessions.remove(0))).contains("sessions.parquet: has 0 sessions of query"));
    assert!(refusal(&change(&|c| c.patterns.as_mut().unwrap().patterns[0].sessions += 1)).contains("patterns.parquet"));
    std::fs::remove_file(target.join("meta.json")).unwrap();
    assert!(Counts::read(&target).unwrap_err().to_string().contains("it has no meta.json"));
    assert!(Counts::read(Path::new("nowhere")).unwrap_err().to_string().ends_with("no such file or folder"));
    counts.write(&target).unwrap();
    let meta = target.join("meta.json");
    let text = std::fs::read_to_string(&meta).unwrap();
    std::fs::write(&meta, text.replace("\"clicks\": ", "\"clicks\": 1")).unwrap();
    assert!(Counts::read(&target).unwrap_err().to_string().contains("meta.json: was damaged or changed"));
    // As if edited by hand, with the seal taken out.
    let text = text.split_once(",\n  \"truerank.seal\"").unwrap().0.to_string() + "\n}\n";
    std::fs::write(&meta, text.replace("\"version\": 1", "\"version\": 2")).unwrap();
    assert!(Counts::read(&target).unwrap_err().to_string().contains("has version 2"));
    std::fs::write(&meta, text.replace("\"clicks\": ", "\"clicks\": 1")).unwrap();
    assert!(Counts::read(&target).unwrap_err().to_string().contains("meta.json says clicks"));
}

/// Real searches of 61 people, where the shared data are at hand.
#[test]
fn a_real_log_is_counted() {
    let shared = std::env::var_os("TRUERANK_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from);
    let path = shared.join("lisp-user-study/impressions.tsv.gz");
    if !path.is_file() {
        println!("skipped: {} is absent", path.display());
        return;
    }
    let mut columns = Columns::default();
    for (field, name) in [("session", "serp"), ("position", "rank"), ("click", "clicked")] {
        columns.map(field, name).unwrap();
    }
    let (counts, summary) =
        LogSource::files([path], ReadOptions::new().columns(columns)).count(&with_patterns(), &Silent).unwrap();
    assert_eq!((summary.sessions, summary.rows, counts.click_count()), (410, 10_088, 2_646));
    assert_eq!(counts.users.len(), 61);
    let at = |position| counts.cells.iter().filter(move |cell| cell.position == position);
    let rate = |position| {
        at(position).map(|c| c.clicks).sum::<u64>() as f64 / at(position).map(|c| c.impressions).sum::<u64>() as f64
    };
    assert!((rate(1) - 0.50).abs() < 0.005 && (rate(9) - 0.27).abs() < 0.005);
}

#[test]
fn pages_with_two_documents_at_a_position_have_no_transitions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.csv");
    let rows = "session,user,query,doc,position,click\n1,u,q,a,1,0\n1,u,q,b,2,1\n1,u,q,c,2,0\n";
    std::fs::write(&path, rows).unwrap();
    let log = LogSource::files([&path], ReadOptions::new());
    let message = log.count(&with_all(), &Silent).unwrap_err().to_string();
    let expected = format!(
        "{}:4: session '1' of query 'q' shows two documents at position 2, but click transitions need one at each; number \
         the results of a page from 1, or count without `transitions`",
        path.display()
    );
    assert_eq!(message, expected);
    assert!(log.count(&with_patterns(), &Silent).is_ok());
}
