//! Turns sorted lists and click transitions that Spark wrote into the tables of a folder of counts, in bounded memory.

use std::path::Path;
use std::sync::Arc;

use arrow_schema::{DataType, Field};

use super::copy::{check_order, for_each_batch, id_field, id_type, ids, list_at};
use super::rows::{Id, IdsOf, Value, Writer};
use super::source::IdKinds;
use crate::Result;
use crate::counts::{FROM, LISTS, TO, TRANSITIONS};
use crate::files::table::integers;

/// Copies lists, sorted by query and number, and says how many there are.
pub(super) fn copy_lists(from: &Path, to: &Path, kinds: IdKinds) -> Result<u64> {
    let list = |name: &str, kind| Field::new(name, DataType::List(Arc::new(Field::new("item", kind, false))), false);
    let fields = vec![
        id_field("query", kinds.queries),
        small("list"),
        list("docs", id_type(kinds.docs)),
        list("positions", DataType::Int32),
    ];
    let mut writer = Writer::create(to, LISTS, fields)?;
    let (mut copied, mut last): (u64, Option<(Id, i64)>) = (0, None);
    for_each_batch(from, |columns| {
        let (queries, numbers) = (ids(columns, "query")?, columns.integers("list")?);
        for (row, &number) in numbers.iter().enumerate() {
            let key = (queries.at(row), number);
            check_order(columns, row, last.as_ref(), &key)?;
            let (docs, positions) = (list_at(columns, "docs", row)?, list_at(columns, "positions", row)?);
            let count = docs.len();
            let (Some(docs), Some(positions)) = (IdsOf::of(docs), integers(&positions)) else {
                return Err(columns.place(row).error("has lists of other types than a list of documents"));
            };
            let docs: Vec<Id> = (0..count).map(|at| docs.at(at)).collect();
            let (docs, positions) = (Value::Ids(docs.iter().collect()), Value::Numbers(positions));
            writer.row([Value::Id(&key.0), Value::Small(number as i32), docs, positions])?;
            (copied, last) = (copied + 1, Some(key));
        }
        Ok(())
    })?;
    writer.finish()?;
    Ok(copied)
}

/// Copies transitions, sorted by query, list, user and positions, the end of a page last, and says how many there are.
pub(super) fn copy_transitions(from: &Path, to: &Path, kinds: IdKinds) -> Result<u64> {
    let sessions = Field::new("sessions", DataType::Int64, false);
    let (query, user) = (id_field("query", kinds.queries), id_field("user", kinds.users));
    let mut writer =
        Writer::create(to, TRANSITIONS, vec![query, small("list"), user, small(FROM), small(TO), sessions])?;
    let (mut copied, mut last) = (0, None);
    for_each_batch(from, |columns| {
        let (queries, users) = (ids(columns, "query")?, ids(columns, "user")?);
        let (lists, from, to) = (columns.integers("list")?, columns.integers(FROM)?, columns.integers(TO)?);
        for (row, &sessions) in columns.counts("sessions")?.iter().enumerate() {
            let key = (queries.at(row), lists[row], users.at(row), from[row], to[row] == 0, to[row]);
            check_order(columns, row, last.as_ref(), &key)?;
            let [list, from, to] = [key.1, key.3, key.5].map(|number| Value::Small(number as i32));
            writer.row([Value::Id(&key.0), list, Value::Id(&key.2), from, to, Value::Number(sessions as i64)])?;
            (copied, last) = (copied + 1, Some(key));
        }
        Ok(())
    })?;
    writer.finish()?;
    Ok(copied)
}

fn small(name: &str) -> Field {
    Field::new(name, DataType::Int32, false)
}

#[cfg(test)]
mod tests {
    use arrow_array::builder::{Int64Builder, ListBuilder};
    use arrow_array::{ArrayRef, Int64Array};

    use super::super::copy::tests::{KIND, KINDS, counts};
    use super::*;
    use crate::counts::{Counts, END, Transitions};
    use crate::files::table::{TableWriter, ids_array, ids_field};

    fn numbers(values: impl Iterator<Item = i64>) -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(values))
    }

    /// The number of each list within its query.
    fn within_queries(transitions: &Transitions) -> Vec<i64> {
        let queries = transitions.lists.chunk_by(|a, b| a.query == b.query);
        queries.flat_map(|lists| 1..=lists.len() as i64).collect()
    }

    /// Lists as Spark writes them, all numbers of 64 bits.
    fn write_lists(counts: &Counts, transitions: &Transitions, path: &Path) {
        let mut lists = [(); 2].map(|()| ListBuilder::new(Int64Builder::new()));
        for list in &transitions.lists {
            for listed in transitions.of(list) {
                let doc = counts.docs.name(listed.doc as usize).parse().unwrap();
                let values = [doc, i64::from(listed.position)];
                lists.iter_mut().zip(values).for_each(|(list, value)| list.values().append_value(value));
            }
            lists.iter_mut().for_each(|list| list.append(true));
        }
        let list = |name: &str| Field::new_list(name, Field::new("item", DataType::Int64, true), false);
        let number = Field::new("list", DataType::Int64, false);
        let fields = vec![ids_field("query", &counts.queries), number, list("docs"), list("positions")];
        let mut writer = TableWriter::create(path, KIND, fields, &[]).unwrap();
        let query = ids_array(&counts.queries, transitions.lists.iter().map(|list| list.query as usize));
        let [docs, positions] = lists.map(|mut list| Arc::new(list.finish()) as ArrayRef);
        writer.write(vec![query, numbers(within_queries(transitions).into_iter()), docs, positions]).unwrap();
        writer.finish().unwrap();
    }

    fn write_rows(counts: &Counts, transitions: &Transitions, path: &Path) {
        let number = |name: &str| Field::new(name, DataType::Int64, false);
        let (query, user) = (ids_field("query", &counts.queries), ids_field("user", &counts.users));
        let fields = vec![query, number("list"), user, number(FROM), number(TO), number("sessions")];
        let (within, rows) = (within_queries(transitions), || transitions.rows.iter());
        let mut writer = TableWriter::create(path, KIND, fields, &[]).unwrap();
        let columns = vec![
            ids_array(&counts.queries, rows().map(|row| transitions.lists[row.list as usize].query as usize)),
            numbers(rows().map(|row| within[row.list as usize])),
            ids_array(&counts.users, rows().map(|row| row.user as usize)),
            numbers(rows().map(|row| i64::from(row.from))),
            numbers(rows().map(|row| if row.to == END { 0 } else { i64::from(row.to) })),
            numbers(rows().map(|row| row.sessions as i64)),
        ];
        writer.write(columns).unwrap();
        writer.finish().unwrap();
    }

    #[test]
    fn lists_and_transitions_are_copied_to_the_bytes_of_counts() {
        let folder = tempfile::tempdir().unwrap();
        let counts = counts();
        counts.write(&folder.path().join("counts")).unwrap();
        let transitions = counts.transitions.as_ref().unwrap();
        let place = |name: &str| folder.path().join(name);
        ["lists", "rows"].iter().for_each(|name| std::fs::create_dir(place(name)).unwrap());
        write_lists(&counts, transitions, &place("lists/part-0-a"));
        write_rows(&counts, transitions, &place("rows/part-0-a"));
        let lists = copy_lists(&place("lists"), &place("copied-lists"), KINDS).unwrap();
        let rows = copy_transitions(&place("rows"), &place("copied-rows"), KINDS).unwrap();
        assert_eq!((lists, rows), (transitions.lists.len() as u64, transitions.rows.len() as u64));
        let bytes = |name: &str| std::fs::read(place(name)).unwrap();
        assert!(bytes("copied-lists") == bytes("counts/lists.parquet"));
        assert!(bytes("copied-rows") == bytes("counts/transitions.parquet"));
    }
}
