//! Turns sorted Parquet that Spark wrote into the tables of a folder of counts, in bounded memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_schema::{DataType, Field};

use super::rows::{Id, IdsOf, Value, Writer};
use super::source::IdKinds;
use crate::counts::{CELLS, PATTERNS, SESSIONS, Totals};
use crate::files::table::{Columns, TableReader, integers};
use crate::{Error, Result};

/// Query, document, position and user.
type CellKey = (Id, Id, u32, Id);
/// A query, its page (positions, documents and clicks), and the user.
type PatternKey = (Id, Vec<(i64, Id, i64)>, Id);

fn add_cell(totals: &mut Totals, last: Option<&CellKey>, key: &CellKey, impressions: u64, clicks: u64) {
    totals.queries += u64::from(last.is_none_or(|last| last.0 != key.0));
    totals.shown += u64::from(last.is_none_or(|last| (&last.0, &last.1) != (&key.0, &key.1)));
    totals.max_position = totals.max_position.max(key.2);
    totals.impressions += impressions;
    totals.clicks += clicks;
    totals.cells += 1;
}

/// Copies cells, sorted by query, document, position and user.
pub(super) fn copy_cells(from: &Path, to: &Path, kinds: IdKinds) -> Result<Totals> {
    let fields = vec![
        id_field("query", kinds.queries),
        id_field("doc", kinds.docs),
        Field::new("position", DataType::Int32, false),
        id_field("user", kinds.users),
        Field::new("impressions", DataType::Int64, false),
        Field::new("clicks", DataType::Int64, false),
    ];
    let mut writer = Writer::create(to, CELLS, fields)?;
    let mut copied = Totals::default();
    let mut last: Option<CellKey> = None;
    for_each_batch(from, |columns| {
        let (queries, docs, users) = (ids(columns, "query")?, ids(columns, "doc")?, ids(columns, "user")?);
        let positions = columns.positions("position")?;
        let (impressions, clicks) = (columns.counts("impressions")?, columns.counts("clicks")?);
        for row in 0..columns.len() {
            let key = (queries.at(row), docs.at(row), positions[row], users.at(row));
            check_order(columns, row, last.as_ref(), &key)?;
            add_cell(&mut copied, last.as_ref(), &key, impressions[row], clicks[row]);
            let [impressions, clicks] = [impressions[row], clicks[row]].map(|count| Value::Number(count as i64));
            let [query, doc, user] = [&key.0, &key.1, &key.3].map(Value::Id);
            writer.row([query, doc, Value::Small(key.2 as i32), user, impressions, clicks])?;
            last = Some(key);
        }
        Ok(())
    })?;
    writer.finish()?;
    Ok(copied)
}

/// Copies sessions, sorted by query and user.
pub(super) fn copy_sessions(from: &Path, to: &Path, kinds: IdKinds) -> Result<Totals> {
    let fields = vec![
        id_field("query", kinds.queries),
        id_field("user", kinds.users),
        Field::new("sessions", DataType::Int64, false),
    ];
    let mut writer = Writer::create(to, SESSIONS, fields)?;
    let mut copied = Totals::default();
    let mut last: Option<(Id, Id)> = None;
    for_each_batch(from, |columns| {
        let (queries, users) = (ids(columns, "query")?, ids(columns, "user")?);
        let sessions = columns.counts("sessions")?;
        for (row, &count) in sessions.iter().enumerate() {
            let key = (queries.at(row), users.at(row));
            check_order(columns, row, last.as_ref(), &key)?;
            copied.sessions += count;
            writer.row([Value::Id(&key.0), Value::Id(&key.1), Value::Number(count as i64)])?;
            last = Some(key);
        }
        Ok(())
    })?;
    writer.finish()?;
    Ok(copied)
}

/// Copies patterns, sorted by query, then by what was shown and clicked, then by user.
pub(super) fn copy_patterns(from: &Path, to: &Path, kinds: IdKinds) -> Result<Totals> {
    let list = |name: &str, kind| Field::new(name, DataType::List(Arc::new(Field::new("item", kind, false))), false);
    let fields = vec![
        id_field("query", kinds.queries),
        id_field("user", kinds.users),
        list("docs", id_type(kinds.docs)),
        list("positions", DataType::Int32),
        list("clicks", DataType::Int8),
        Field::new("sessions", DataType::Int64, false),
    ];
    let mut writer = Writer::create(to, PATTERNS, fields)?;
    let mut copied = Totals::default();
    let mut last: Option<PatternKey> = None;
    for_each_batch(from, |columns| {
        let (queries, users) = (ids(columns, "query")?, ids(columns, "user")?);
        let sessions = columns.counts("sessions")?;
        for (row, &count) in sessions.iter().enumerate() {
            let key = (queries.at(row), page_at(columns, row)?, users.at(row));
            check_order(columns, row, last.as_ref(), &key)?;
            copied.patterns = Some(copied.patterns.unwrap_or_default() + 1);
            copied.sessions += count;
            writer.row([
                Value::Id(&key.0),
                Value::Id(&key.2),
                Value::Ids(key.1.iter().map(|(_, doc, _)| doc).collect()),
                Value::Numbers(key.1.iter().map(|(position, ..)| *position).collect()),
                Value::Numbers(key.1.iter().map(|(.., click)| *click).collect()),
                Value::Number(count as i64),
            ])?;
            last = Some(key);
        }
        Ok(())
    })?;
    writer.finish()?;
    Ok(copied)
}

fn page_at(columns: &Columns<'_>, row: usize) -> Result<Vec<(i64, Id, i64)>> {
    let [docs, positions, clicks] = ["docs", "positions", "clicks"].map(|name| list_at(columns, name, row));
    match (IdsOf::of(docs?), integers(&positions?), integers(&clicks?)) {
        (Some(docs), Some(positions), Some(clicks)) => {
            let shown = positions.into_iter().zip(clicks).enumerate();
            Ok(shown.map(|(at, (position, click))| (position, docs.at(at), click)).collect())
        }
        _ => Err(columns.place(row).error("has lists of other types than a pattern's")),
    }
}

/// Rows come in ascending order, each once; else the result would not be what was asked for.
pub(super) fn check_order<K: Ord>(columns: &Columns<'_>, row: usize, last: Option<&K>, key: &K) -> Result<()> {
    match last.is_none_or(|last| last < key) {
        true => Ok(()),
        false => {
            Err(columns.place(row).error("does not come after the row before it, but Spark was asked to sort them"))
        }
    }
}

/// Hands over what Spark wrote, part after part in their order.
pub(super) fn for_each_batch(folder: &Path, mut take: impl FnMut(&Columns<'_>) -> Result<()>) -> Result<()> {
    for part in parts(folder)? {
        TableReader::open(&part)?.for_each(&mut take)?;
    }
    Ok(())
}

/// The files of a folder that Spark wrote, by their numbers: `part-00000-…`.
fn parts(folder: &Path) -> Result<Vec<PathBuf>> {
    let failed = |e| Error::io(folder, e);
    let mut parts = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
        let number = name.strip_prefix("part-").and_then(|rest| rest.split('-').next()?.parse::<u64>().ok());
        parts.extend(number.map(|number| (number, name)));
    }
    parts.sort();
    match parts.is_empty() {
        true => Err(Error::input(folder, "is empty, but Spark wrote into it; it must lie on storage that both see")),
        false => Ok(parts.into_iter().map(|(_, name)| folder.join(name)).collect()),
    }
}

pub(super) fn ids(columns: &Columns<'_>, name: &str) -> Result<IdsOf> {
    let column = columns.get(name)?;
    IdsOf::of(column.clone())
        .ok_or_else(|| columns.place(0).error(format!("{name} is neither text nor a whole number")))
}

pub(super) fn list_at(columns: &Columns<'_>, name: &str, row: usize) -> Result<ArrayRef> {
    let column = columns.get(name)?;
    let lists = column.as_list_opt::<i32>().ok_or_else(|| columns.place(row).error(format!("{name} is not a list")))?;
    Ok(lists.value(row))
}

pub(super) fn id_type(is_text: bool) -> DataType {
    if is_text { DataType::Utf8 } else { DataType::Int64 }
}

pub(super) fn id_field(name: &str, is_text: bool) -> Field {
    Field::new(name, id_type(is_text), false)
}

#[cfg(test)]
pub(super) mod tests {
    use arrow_array::{Int64Array, builder::Int64Builder, builder::ListBuilder, builder::StringBuilder};

    use super::*;
    use crate::counts::{CountOptions, Counts, count_log};
    use crate::files::table::{FileType, TableWriter, ids_array, ids_field};
    use crate::ids::Interner;
    use crate::log::{Impression, Log};

    pub(crate) const KIND: FileType = FileType { name: "other", version: 1 };

    /// Text queries and whole-number users, in more than one row group.
    pub(crate) fn counts() -> Counts {
        let mut queries = Interner::default();
        let numbers: Vec<u32> = (0..700).map(|query| queries.text(&format!("q'{query}"))).collect();
        let page = |session: u64| (0..4).map(move |place| (session, place));
        let impressions = (0..90_000).flat_map(page).map(|(session, place)| Impression {
            session,
            user: (session % 11) as u32,
            query: numbers[(session % 700) as usize],
            doc: (session as u32 / 700 + place) % 60,
            position: place + 1,
            click: (session + u64::from(place)) % 7 == 0,
        });
        let ids = |count| crate::ids::Ids::numbered(count);
        let log =
            Log { users: ids(11), docs: ids(60), impressions: impressions.collect(), queries: queries.into_ids() };
        count_log(&log, &CountOptions::new().patterns(true).transitions(true)).unwrap().0
    }

    pub(crate) const KINDS: IdKinds = IdKinds { users: false, queries: true, docs: false };

    fn numbers(values: impl Iterator<Item = u64>) -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(values.map(|value| value as i64)))
    }

    fn number(name: &str) -> Field {
        Field::new(name, DataType::Int64, false)
    }

    /// Cells as Spark writes them: parts that follow each other, all numbers of 64 bits.
    fn write_cells(counts: &Counts, folder: &Path, order: [&str; 2]) {
        let fields = [ids_field("query", &counts.queries), ids_field("doc", &counts.docs), number("position")];
        let fields =
            fields.into_iter().chain([ids_field("user", &counts.users), number("impressions"), number("clicks")]);
        let fields: Vec<Field> = fields.collect();
        let (first, second) = counts.cells.split_at(counts.cells.len() / 3);
        for (cells, part) in [first, second].into_iter().zip(order) {
            let mut writer = TableWriter::create(&folder.join(part), KIND, fields.clone(), &[]).unwrap();
            writer
                .write(vec![
                    ids_array(&counts.queries, cells.iter().map(|cell| cell.query as usize)),
                    ids_array(&counts.docs, cells.iter().map(|cell| cell.doc as usize)),
                    numbers(cells.iter().map(|cell| u64::from(cell.position))),
                    ids_array(&counts.users, cells.iter().map(|cell| cell.user as usize)),
                    numbers(cells.iter().map(|cell| cell.impressions)),
                    numbers(cells.iter().map(|cell| cell.clicks)),
                ])
                .unwrap();
            writer.finish().unwrap();
        }
    }

    #[test]
    fn cells_are_copied_to_the_bytes_of_counts() {
        let folder = tempfile::tempdir().unwrap();
        let counts = counts();
        counts.write(&folder.path().join("counts")).unwrap();
        // Parts go by their numbers, and 100000 comes after 99999.
        write_cells(&counts, folder.path(), ["part-99999-a.parquet", "part-100000-a.parquet"]);
        let copied = copy_cells(folder.path(), &folder.path().join("cells"), KINDS).unwrap();
        let bytes = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
        assert!(bytes("cells") == bytes("counts/cells.parquet"));
        assert_eq!((copied.cells, copied.queries), (counts.cells.len() as u64, counts.queries.len() as u64));
        assert_eq!((copied.shown, copied.max_position), (counts.shown_count() as u64, 4));
        assert_eq!((copied.impressions, copied.clicks), (counts.impression_count(), counts.click_count()));
    }

    #[test]
    fn patterns_are_copied_to_the_bytes_of_counts() {
        let folder = tempfile::tempdir().unwrap();
        let counts = counts();
        counts.write(&folder.path().join("counts")).unwrap();
        let patterns = counts.patterns.as_ref().unwrap();
        let list = |name: &str| Field::new_list(name, Field::new("item", DataType::Int64, true), false);
        let mut lists = [(); 3].map(|()| ListBuilder::new(Int64Builder::new()));
        let mut queries = StringBuilder::new();
        let users = ids_array(&counts.users, patterns.patterns.iter().map(|pattern| pattern.user as usize));
        for pattern in &patterns.patterns {
            queries.append_value(counts.queries.name(pattern.query as usize));
            for shown in &patterns.shown[pattern.shown.clone()] {
                let doc: i64 = counts.docs.name(shown.doc as usize).parse().unwrap();
                let values = [doc, i64::from(shown.position), i64::from(shown.click)];
                lists.iter_mut().zip(values).for_each(|(list, value)| list.values().append_value(value));
            }
            lists.iter_mut().for_each(|list| list.append(true));
        }
        let fields = vec![
            ids_field("query", &counts.queries),
            ids_field("user", &counts.users),
            list("docs"),
            list("positions"),
            list("clicks"),
            number("sessions"),
        ];
        let mut writer = TableWriter::create(&folder.path().join("part-0-a"), KIND, fields, &[]).unwrap();
        let [docs, positions, clicks] = lists.map(|mut list| Arc::new(list.finish()) as ArrayRef);
        let sessions = numbers(patterns.patterns.iter().map(|pattern| pattern.sessions));
        writer.write(vec![Arc::new(queries.finish()), users, docs, positions, clicks, sessions]).unwrap();
        writer.finish().unwrap();
        let copied = copy_patterns(folder.path(), &folder.path().join("patterns"), KINDS).unwrap();
        let bytes = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
        assert!(bytes("patterns") == bytes("counts/patterns.parquet"));
        assert_eq!((copied.patterns, copied.sessions), (Some(patterns.patterns.len() as u64), counts.session_count()));
    }

    #[test]
    fn rows_out_of_order_and_empty_folders_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("cells");
        let error = |_: ()| copy_cells(folder.path(), &target, KINDS).unwrap_err().to_string();
        assert!(error(()).contains("is empty, but Spark wrote into it"));
        write_cells(&counts(), folder.path(), ["part-1-a", "part-0-a"]);
        assert!(error(()).contains("does not come after the row before it, but Spark was asked to sort them"));
        assert!(!target.exists());
    }
}
