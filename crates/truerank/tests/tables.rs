//! Tables in memory give what a Parquet file of the same rows gives: counts, errors and bad rows, in any form.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{FixedSizeListBuilder, LargeListBuilder, ListBuilder, ListViewBuilder, StringBuilder};
use arrow_array::types::*;
use arrow_array::*;
use arrow_buffer::ArrowNativeType;
use parquet::arrow::ArrowWriter;
use proptest::prelude::*;
use truerank::counts::{CountOptions, LogSource, LogSummary, SplitBy};
use truerank::log::{LogPart, OnBadRow, ReadOptions, Table};
use truerank::progress::Silent;

const NAME: &str = "log";

fn write(path: &Path, batches: &[RecordBatch]) {
    let mut writer = ArrowWriter::try_new(std::fs::File::create(path).unwrap(), batches[0].schema(), None).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.close().unwrap();
}

fn batch(columns: &[(&str, ArrayRef)]) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.iter().map(|(name, column)| (name, column.clone(), true))).unwrap()
}

fn table(batches: &[RecordBatch]) -> LogPart {
    LogPart::Table(Table::new(NAME, batches[0].schema(), batches.to_vec()).unwrap())
}

fn source(batches: &[RecordBatch], options: &ReadOptions) -> LogSource {
    LogSource::Rows(vec![table(batches)], Box::new(options.clone()))
}

fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

/// All that counting says and writes, with the log's name in place of the file's.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    error: Option<String>,
    summary: Option<LogSummary>,
    files: BTreeMap<String, Vec<u8>>,
}

fn outcome(log: &LogPart, options: &ReadOptions, quarantine: bool) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept.txt");
    let options = match quarantine {
        true => options.clone().quarantine(kept.clone()),
        false => options.clone(),
    };
    let renamed = |text: String| text.replace(&log.path().display().to_string(), NAME);
    let target = folder.path().join("counts");
    let source = LogSource::Rows(vec![log.clone()], Box::new(options));
    let counted = source.count_into(&target, &CountOptions::new().patterns(true), &Silent);
    let entries = std::fs::read_dir(&target).into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut files: BTreeMap<_, _> = entries
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap()))
        .collect();
    if let Ok(text) = std::fs::read_to_string(kept) {
        files.insert("kept".into(), renamed(text).into_bytes());
    }
    match counted {
        Ok((_, mut summary)) => {
            summary.bad_rows.first.iter_mut().for_each(|text| *text = renamed(std::mem::take(text)));
            Outcome { error: None, summary: Some(summary), files }
        }
        Err(error) => Outcome { error: Some(renamed(error.to_string())), summary: None, files },
    }
}

/// Asserts that batches give what a file of the batches `plain` gives.
fn assert_same(batches: &[RecordBatch], plain: &[RecordBatch], options: &ReadOptions) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.parquet");
    write(&path, plain);
    let (table, file) = (table(batches), LogPart::from(path));
    for quarantine in [false, true] {
        let expected = outcome(&file, options, quarantine);
        for threads in 1..=3 {
            let found = on_threads(threads, || outcome(&table, options, quarantine));
            assert_eq!(found, expected);
        }
    }
}

fn distinct<T: Clone + PartialEq>(values: &[T]) -> Vec<T> {
    let mut distinct: Vec<T> = Vec::new();
    values.iter().for_each(|value| {
        if !distinct.contains(value) {
            distinct.push(value.clone())
        }
    });
    distinct
}

/// A dictionary of texts, some of which no row has, with missing values as keys or as values.
fn text_dictionary<K: ArrowDictionaryKeyType>(
    values: &[Option<String>],
    null_values: bool,
    make: impl Fn(Vec<Option<String>>) -> ArrayRef,
) -> ArrayRef {
    let mut known = vec![Some("unused".to_string()), None, Some(String::new())];
    known.extend(distinct(values).into_iter().filter(|value| value.is_some()));
    let key = |value: &Option<String>| {
        let at = known.iter().rposition(|known| known == value).unwrap();
        (null_values || value.is_some()).then(|| K::Native::from_usize(at).unwrap())
    };
    let keys: PrimitiveArray<K> = values.iter().map(key).collect();
    Arc::new(DictionaryArray::new(keys, make(known)))
}

const TEXT_FORMS: usize = 7;

/// A column of text in one of its forms, the first of which Parquet has.
fn texts(values: &[Option<String>], form: usize) -> ArrayRef {
    let small = |values: Vec<Option<String>>| Arc::new(StringArray::from(values)) as ArrayRef;
    let large = |values: Vec<Option<String>>| Arc::new(LargeStringArray::from(values)) as ArrayRef;
    let view = |values: Vec<Option<String>>| Arc::new(StringViewArray::from_iter(values)) as ArrayRef;
    match form {
        0 => small(values.to_vec()),
        1 => large(values.to_vec()),
        2 => view(values.to_vec()),
        3 => text_dictionary::<Int8Type>(values, false, small),
        4 => text_dictionary::<UInt32Type>(values, false, view),
        5 => text_dictionary::<Int64Type>(values, false, large),
        _ => text_dictionary::<UInt16Type>(values, true, small),
    }
}

const INTEGER_FORMS: usize = 8;

/// A column of small whole numbers in one of its forms, the first of which Parquet has.
fn integers(values: &[Option<u8>], form: usize) -> ArrayRef {
    let values = values.iter().copied();
    match form {
        0 => Arc::new(values.map(|v| v.map(i64::from)).collect::<Int64Array>()),
        1 => Arc::new(values.map(|v| v.map(i32::from)).collect::<Int32Array>()),
        2 => Arc::new(values.map(|v| v.map(|v| v as i8)).collect::<Int8Array>()),
        3 => Arc::new(values.collect::<UInt8Array>()),
        4 => Arc::new(values.map(|v| v.map(u32::from)).collect::<UInt32Array>()),
        5 => Arc::new(values.map(|v| v.map(u64::from)).collect::<UInt64Array>()),
        6 => Arc::new(DictionaryArray::new(values.collect::<UInt8Array>(), integers(&all_small(), 1))),
        _ => Arc::new(DictionaryArray::new(
            values.map(|v| v.map(i16::from)).collect::<Int16Array>(),
            integers(&all_small(), 5),
        )),
    }
}

fn all_small() -> Vec<Option<u8>> {
    (0..100).map(Some).collect()
}

const NUMBER_FORMS: usize = 4 + INTEGER_FORMS;

/// Positions or clicks in a form that tables have, and in the one that Parquet has for it.
fn numbers(values: &[Option<u8>], form: usize) -> [ArrayRef; 2] {
    let floats = || Arc::new(values.iter().map(|v| v.map(f64::from)).collect::<Float64Array>()) as ArrayRef;
    let names: Vec<_> = values.iter().map(|v| v.map(|v| v.to_string())).collect();
    match form {
        0 => [Arc::new(values.iter().map(|v| v.map(f32::from)).collect::<Float32Array>()), floats()],
        1 => [floats(), floats()],
        2 => [texts(&names, 2), texts(&names, 0)],
        3 => [texts(&names, 6), texts(&names, 0)],
        _ => [integers(values, form - 4), integers(values, 0)],
    }
}

#[derive(Debug, Clone)]
struct Row {
    session: Option<u8>,
    user: Option<u8>,
    query: Option<u8>,
    doc: Option<u8>,
    position: Option<u8>,
    click: Option<u8>,
}

/// Stands for an id that is no name.
const EMPTY: u8 = 90;

/// Names that need care.
fn named(values: &[Option<u8>]) -> Vec<Option<String>> {
    let names = ["17", "017", "-3", "a b", "été", "a text that no view holds inline", "268435456"];
    let name = |value: u8| match value {
        EMPTY => String::new(),
        small if small < 7 => names[usize::from(small)].to_string(),
        large => format!("{}{}", names[usize::from(large % 7)], large / 7),
    };
    values.iter().map(|value| value.map(name)).collect()
}

/// Mostly `good`, sometimes `bad` or missing.
fn mostly(good: std::ops::Range<u8>, bad: u8) -> impl Strategy<Value = Option<u8>> {
    prop_oneof![200 => good.prop_map(Some), 1 => Just(Some(bad)), 1 => Just(None)]
}

/// Rows most of which are good; a session mostly has one user.
fn rows() -> impl Strategy<Value = Vec<Row>> {
    let ids = (mostly(0..EMPTY, EMPTY), mostly(0..7, EMPTY), mostly(0..12, EMPTY), mostly(0..1, 1));
    let row = (ids, mostly(1..9, 0), mostly(0..2, 2)).prop_map(|((session, query, doc, stray), position, click)| {
        let user = stray.map(|stray| (session.unwrap_or(0) + stray) % 7);
        Row { session, user, query, doc, position, click }
    });
    proptest::collection::vec(row, 1..60)
}

/// How each column is held: sessions, users, queries and documents are numbers or text.
#[derive(Debug, Clone)]
struct Forms {
    ids: [Result<usize, usize>; 4],
    numbers: [usize; 2],
    flags: bool,
}

fn forms() -> impl Strategy<Value = Forms> {
    let id = || prop_oneof![(0..TEXT_FORMS).prop_map(Ok), (0..INTEGER_FORMS).prop_map(Err)];
    let ids = [id(), id(), id(), id()];
    (ids, [0..NUMBER_FORMS, 0..NUMBER_FORMS], any::<bool>()).prop_map(|(ids, numbers, flags)| Forms {
        ids,
        numbers,
        flags,
    })
}

/// Some rows in the forms of a table and in those of Parquet.
fn columns(rows: &[Row], forms: &Forms) -> [RecordBatch; 2] {
    let get = |field: fn(&Row) -> Option<u8>| rows.iter().map(field).collect::<Vec<_>>();
    let id = |values: Vec<Option<u8>>, form: Result<usize, usize>| match form {
        Ok(form) => [texts(&named(&values), form), texts(&named(&values), 0)],
        Err(form) => [integers(&values, form), integers(&values, 0)],
    };
    let [session, user, query, doc] = forms.ids;
    let clicks = get(|row| row.click);
    let flags: ArrayRef = Arc::new(clicks.iter().map(|click| click.map(|click| click > 0)).collect::<BooleanArray>());
    let all = [
        ("session", id(get(|row| row.session), session)),
        ("user", id(get(|row| row.user), user)),
        ("query", id(get(|row| row.query), query)),
        ("doc", id(get(|row| row.doc), doc)),
        ("position", numbers(&get(|row| row.position), forms.numbers[0])),
        ("click", if forms.flags { [flags.clone(), flags] } else { numbers(&clicks, forms.numbers[1]) }),
    ];
    [0, 1].map(|side| batch(&all.each_ref().map(|(name, columns)| (*name, columns[side].clone()))))
}

/// The rows in batches of these lengths, each a part of a longer one.
fn in_batches(rows: &[Row], forms: &Forms, lengths: &[usize]) -> Vec<RecordBatch> {
    let mut batches = Vec::new();
    let (mut start, mut lengths) = (0, lengths.iter().cycle());
    while start < rows.len() {
        let end = (start + lengths.next().unwrap()).min(rows.len());
        let around = [&rows[..1], &rows[start..end], &rows[..1]].concat();
        batches.push(columns(&around, forms)[0].slice(1, end - start));
        start = end;
    }
    batches
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn tables_are_read_as_parquet_is(rows in rows(), forms in forms(), lengths in proptest::collection::vec(1usize..40, 1..4)) {
        let [_, plain] = columns(&rows, &forms);
        assert_same(&in_batches(&rows, &forms, &lengths), &[plain], &ReadOptions::new());
    }
}

fn names(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

fn whole(values: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

/// A log of six columns, with some of them replaced.
fn small_log(replaced: &[(&'static str, ArrayRef)]) -> RecordBatch {
    let mut columns = vec![
        ("session", names(&["s", "s", "t"])),
        ("user", names(&["u", "u", "v"])),
        ("query", names(&["q", "q", "p"])),
        ("doc", names(&["a", "b", "a"])),
        ("position", whole(&[1, 2, 1])),
        ("click", whole(&[0, 1, 0])),
    ];
    for (name, column) in replaced {
        match columns.iter_mut().find(|(other, _)| other == name) {
            Some(known) => known.1 = column.clone(),
            None => columns.push((name, column.clone())),
        }
    }
    batch(&columns)
}

fn error_of(batches: &[RecordBatch], options: &ReadOptions) -> String {
    source(batches, options).count(&CountOptions::new(), &Silent).unwrap_err().to_string()
}

#[test]
fn bad_rows_are_named_by_their_number_in_the_table() {
    let good = small_log(&[]);
    let bad = small_log(&[("position", whole(&[0, 2, 1])), ("session", names(&["x", "x", "y"]))]);
    let error = error_of(&[good.clone(), good.slice(0, 0), bad.clone()], &ReadOptions::new());
    assert_eq!(error, "log: row 4: position is 0, but positions start at 1");
    let error = error_of(&[good.clone(), good.slice(1, 1)], &ReadOptions::new());
    assert!(error.starts_with("log: row 4: doc 'b' appears twice in session 's' of query 'q'"), "{error}");
    // What is good stays in its order, whatever way it was read.
    let options = ReadOptions::new().on_bad_row(OnBadRow::Skip);
    let log = source(&[good.clone(), bad, good], &options).read().unwrap();
    assert_eq!(log.impressions.iter().map(|row| row.position).collect::<Vec<_>>(), [1, 2, 1, 2, 1, 1, 2, 1]);
}

#[test]
fn columns_of_other_types_are_refused_as_in_parquet() {
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.0), None, Some(2.0)]));
    let days: ArrayRef = Arc::new(Date32Array::from(vec![1, 2, 3]));
    let bytes: ArrayRef = Arc::new(BinaryArray::from(vec![&b"a"[..], b"b", b"c"]));
    let packed: ArrayRef = Arc::new(DictionaryArray::new(Int8Array::from(vec![0, 1, 0]), floats.clone()));
    let nulls: ArrayRef = Arc::new(NullArray::new(3));
    let all = [
        ("user", floats.clone(), "column 'user' has type Float64, but user needs text or whole numbers"),
        ("user", packed, "column 'user' has type Float64, but user needs text or whole numbers"),
        ("query", nulls, "column 'query' has type Null, but query needs text or whole numbers"),
        ("session", bytes, "column 'session' has type Binary, but session needs text or whole numbers"),
        ("doc", floats, "column 'doc' has type Float64, but doc needs text or whole numbers, or lists of them"),
        ("position", days, "column 'position' has type Date32, but position needs numbers"),
    ];
    for (name, column, expected) in all {
        assert_eq!(error_of(&[small_log(&[(name, column)])], &ReadOptions::new()), format!("log: {expected}"));
    }
    let narrow = small_log(&[]).project(&[0, 1, 2, 3, 5]).unwrap();
    let error = error_of(&[narrow], &ReadOptions::new());
    assert!(error.starts_with("log: has no column 'position', but a log needs one; it has session, user,"), "{error}");
}

#[test]
fn logs_without_rows_or_users_are_as_in_parquet() {
    let log = small_log(&[]);
    assert_eq!(error_of(&[log.slice(0, 0)], &ReadOptions::new()), "log: holds no impressions, only a header");
    assert_same(&[log.slice(0, 0)], &[log.slice(0, 0)], &ReadOptions::new());
    let nobody = small_log(&[("user", Arc::new(StringArray::new_null(3)))]);
    let packed = small_log(&[(
        "user",
        text_dictionary::<Int8Type>(&[None, None, None], true, |values| Arc::new(StringArray::from(values))),
    )]);
    assert!(error_of(std::slice::from_ref(&packed), &ReadOptions::new()).ends_with("pass `columns` user="));
    assert_same(&[packed], std::slice::from_ref(&nobody), &ReadOptions::new());
    let without_users = log.project(&[0, 2, 3, 4, 5]).unwrap();
    assert_same(&[without_users.clone(), without_users.slice(0, 0)], &[without_users], &ReadOptions::new());
}

/// Result pages with their documents in every form of lists.
#[test]
fn lists_of_every_form_are_pages() {
    let pages = [["a", "b"], ["c", "a"], ["b", "d"]];
    let mut list = ListBuilder::new(StringBuilder::new());
    let mut large = LargeListBuilder::new(StringBuilder::new());
    let mut view = ListViewBuilder::new(StringBuilder::new());
    let mut fixed = FixedSizeListBuilder::new(StringBuilder::new(), 2);
    for page in pages {
        list.append_value(page.map(Some));
        large.append_value(page.map(Some));
        view.append_value(page.map(Some));
        page.iter().for_each(|doc| fixed.values().append_value(doc));
        fixed.append(true);
    }
    let list: ArrayRef = Arc::new(list.finish());
    let others: [ArrayRef; 3] = [Arc::new(large.finish()), Arc::new(view.finish()), Arc::new(fixed.finish())];
    let clicks =
        ListArray::from_iter_primitive::<Int64Type, _, _>([[0, 1], [0, 0], [1, 0]].map(|page| Some(page.map(Some))));
    let clicks: ArrayRef = Arc::new(clicks);
    let log = |docs: &ArrayRef| {
        batch(&[
            ("session", whole(&[1, 2, 3])),
            ("user", names(&["u", "u", "v"])),
            ("query", names(&["q", "q", "p"])),
            ("docs", docs.clone()),
            ("clicks", clicks.clone()),
        ])
    };
    for docs in others.iter().chain([&list]) {
        let cut = [log(docs).slice(0, 1), log(docs).slice(1, 2)];
        assert_same(&cut, &[log(&list)], &ReadOptions::new());
    }
}

type Half = <Float16Type as ArrowPrimitiveType>::Native;

#[test]
fn times_and_numbers_are_read() {
    let seconds = [1_709_251_200, 1_709_251_201, 1_709_337_600];
    let timestamps: ArrayRef = Arc::new(TimestampSecondArray::from(seconds.to_vec()).with_timezone("UTC"));
    let nanoseconds: ArrayRef = Arc::new(TimestampNanosecondArray::from(seconds.map(|s| s * 1_000_000_000).to_vec()));
    let halves: ArrayRef = Arc::new(Float16Array::from_iter_values([1.5, 2.5, 0.0].map(Half::from_f32)));
    for (times, numbers) in [(timestamps, whole(&[3, 5, 0])), (nanoseconds, halves)] {
        let log = small_log(&[("time", times), ("price", numbers.clone())]);
        let log = std::slice::from_ref(&log);
        let (table, time) = (source(log, &ReadOptions::new()), "2024-03-02".parse().unwrap());
        let parts = table.split(SplitBy::Time, 0.1, 1, &Silent);
        assert_eq!(parts.unwrap().held_out.totals().impressions, 1);
        assert_eq!(source(log, &ReadOptions::new().until(time)).read().unwrap().impressions.len(), 2);
        assert_same(log, log, &ReadOptions::new().since(time));
        let (data, _) = table.features(&["price".into()], None, 4).unwrap();
        // Queries and documents by name: p has a; q has a and b.
        let expected = if numbers.data_type().is_floating() { [0.0, 1.5, 2.5] } else { [0.0, 3.0, 5.0] };
        assert_eq!(data.features(), expected);
    }
}

/// More rows than a chunk has, in batches that are longer and shorter than one.
#[test]
fn long_tables_are_cut_and_their_rows_keep_their_numbers() {
    let rows = 300_000;
    let ids: Vec<i64> = (0..rows).collect();
    let log = |position: i64| {
        let positions = ids.iter().map(|&i| if i == 279_999 { position } else { i % 10 + 1 });
        batch(&[
            ("session", whole(&ids)),
            ("user", Arc::new(Int64Array::from_iter_values(ids.iter().map(|i| i % 1000))) as ArrayRef),
            ("query", Arc::new(Int64Array::from_iter_values(ids.iter().map(|i| i % 77)))),
            ("doc", Arc::new(Int64Array::from_iter_values(ids.iter().map(|i| i % 13)))),
            ("position", Arc::new(Int64Array::from_iter_values(positions))),
            ("click", Arc::new(Int64Array::from_iter_values(ids.iter().map(|i| i64::from(i % 3 == 0))))),
        ])
    };
    let (good, bad) = (log(7), log(0));
    let cut = |log: &RecordBatch| [log.slice(0, 10), log.slice(10, 270_000), log.slice(270_010, 29_990)];
    assert_same(&cut(&good), std::slice::from_ref(&good), &ReadOptions::new());
    assert_eq!(error_of(&cut(&bad), &ReadOptions::new()), "log: row 280000: position is 0, but positions start at 1");
}

#[test]
fn tables_have_names_of_their_own_and_batches_of_one_kind() {
    let log = small_log(&[]);
    for name in ["", "-"] {
        assert!(Table::new(name, log.schema(), vec![]).unwrap_err().to_string().contains("needs a name of its own"));
    }
    let other = small_log(&[("doc", whole(&[1, 2, 1]))]);
    assert_eq!(
        Table::new("log", log.schema(), vec![log.clone(), other]).unwrap_err().to_string(),
        "log: batch 2 has other columns than the table, but all should have the same"
    );
    // A table is itself, whatever its name, and stands beside files.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.csv");
    std::fs::write(&path, "session,query,doc,position,click\n1,q,a,1,0\n").unwrap();
    let name = path.display().to_string();
    let table = |rows| Table::new(name.clone(), log.schema(), vec![log.slice(0, rows)]).unwrap();
    let both = LogSource::Rows(vec![LogPart::Table(table(2)), path.into()], Box::default());
    assert_eq!(both.read().unwrap().impressions.len(), 3);
    assert_eq!(LogSource::table(table(2), ReadOptions::new()).name(), None);
    assert_eq!(format!("{:?}", table(2)), format!("Table {{ name: {name:?}, rows: 2, .. }}"));
    assert_ne!(table(2), table(2));
}
