//! Click transitions on disk: `lists.parquet` has what was shown, `transitions.parquet` how users clicked on it.
//!
//! Both are written as counts come and read row after row. A list has a number within its query, from 1. Position 0 of a
//! transition is outside of the list: before the first click, after the last.

use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::{ArrayRef, Int32Array, Int64Array};
use arrow_schema::{DataType, Field};

use super::tables::{ListColumn, NewIds, TablePaths, known_position};
use super::transitions::{END, Listed, ShownList, Transition, Transitions};
use super::writer::{Names, create, doc_lists, enough, shown_fields, write_groups};
use crate::Result;
use crate::files::GroupWriter;
use crate::files::table::{Columns, FileType, TableReader, ids_array, ids_field};

pub(crate) const LISTS: FileType = FileType { name: "truerank/lists", version: 1 };
pub(crate) const TRANSITIONS: FileType = FileType { name: "truerank/transitions", version: 1 };

/// Columns of `transitions.parquet` beside `query` and `user`.
pub(crate) const FROM: &str = "from_position";
pub(crate) const TO: &str = "to_position";

/// The column of `lists.parquet` that says what a list was shown in, where contexts were counted.
pub(crate) const CONTEXT: &str = "context";

/// A list with its number within its query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NumberedList {
    pub query: u32,
    pub number: u32,
    /// 0 where there are no contexts.
    pub context: u32,
    pub shown: std::ops::Range<usize>,
}

/// A transition; its list is the number within its query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NumberedRow {
    pub query: u32,
    pub row: Transition,
}

/// Lists and transitions as files have them.
#[derive(Debug, Default)]
pub(super) struct RawTransitions {
    pub lists: Vec<NumberedList>,
    pub shown: Vec<Listed>,
    pub rows: Vec<NumberedRow>,
}

impl RawTransitions {
    pub fn of(&self, list: &NumberedList) -> &[Listed] {
        &self.shown[list.shown.clone()]
    }

    pub fn push_list(&mut self, query: u32, number: u32, context: u32, shown: &[Listed]) {
        let start = self.shown.len();
        self.shown.extend_from_slice(shown);
        self.lists.push(NumberedList { query, number, context, shown: start..self.shown.len() });
    }

    /// The transitions of a folder.
    pub fn read(tables: &TablePaths, last: u32, ids: &mut NewIds) -> Result<Self> {
        let mut raw = RawTransitions::default();
        read_lists(&tables.lists, last, ids, |list, shown| {
            raw.push_list(list.query, list.number, list.context, shown);
            Ok(())
        })?;
        read_transitions(&tables.transitions, last, ids, |row| {
            raw.rows.push(row);
            Ok(())
        })?;
        Ok(raw)
    }
}

impl From<RawTransitions> for Transitions {
    /// Lists are numbered one after another; these are checked, so rows and lists have the same queries in the same order.
    fn from(raw: RawTransitions) -> Self {
        let mut transitions = Transitions::default();
        let (mut first, mut query) = (0, None);
        for &NumberedRow { query: of_row, row } in &raw.rows {
            if query != Some(of_row) {
                first += raw.lists[first..].iter().position(|list| list.query == of_row).unwrap_or(0);
                query = Some(of_row);
            }
            transitions.rows.push(Transition { list: first as u32 + row.list - 1, ..row });
        }
        for list in raw.lists {
            let NumberedList { query, context, shown, .. } = list;
            transitions.lists.push(ShownList { query, context, shown });
        }
        Transitions { shown: raw.shown, ..transitions }
    }
}

/// Hands every list to `take`, and its documents; no position is past the `last` of the cells.
pub(super) fn read_lists(
    path: &Path,
    last: u32,
    ids: &mut NewIds,
    mut take: impl FnMut(&NumberedList, &[Listed]) -> Result<()>,
) -> Result<()> {
    let mut shown = Vec::new();
    TableReader::open_as(path, LISTS)?.for_each(|columns| {
        let query = columns.ids("query", &mut ids.queries)?;
        let number = columns.positions("list")?;
        let contexts = match columns.has(CONTEXT) {
            true => columns.ids(CONTEXT, &mut ids.contexts)?,
            false => vec![0; columns.len()],
        };
        let all_docs = ListColumn::of_docs(columns, &mut ids.docs)?;
        let all_positions = ListColumn::of_numbers(columns, "positions")?;
        for row in 0..columns.len() {
            shown.clear();
            let (docs, positions) = (all_docs.of(row), all_positions.of(row));
            if docs.len() != positions.len() {
                let finding = "docs and positions differ in length, but each document has a position";
                return Err(columns.place(row).error(finding));
            }
            for (&doc, &position) in docs.iter().zip(positions) {
                shown.push(Listed { position: known_position(columns, row, position, last)?, doc });
            }
            let list =
                NumberedList { query: query[row], number: number[row], context: contexts[row], shown: 0..shown.len() };
            take(&list, &shown)?;
        }
        Ok(())
    })
}

/// Hands every transition to `take`; no position is past the `last` of the cells.
pub(super) fn read_transitions(
    path: &Path,
    last: u32,
    ids: &mut NewIds,
    mut take: impl FnMut(NumberedRow) -> Result<()>,
) -> Result<()> {
    TableReader::open_as(path, TRANSITIONS)?.for_each(|columns| {
        let query = columns.ids("query", &mut ids.queries)?;
        let list = columns.positions("list")?;
        let user = columns.ids("user", &mut ids.users)?;
        let (from, to) = (positions(columns, FROM, last)?, positions(columns, TO, last)?);
        let sessions = columns.counts("sessions")?;
        let row = |i: usize| {
            let to = if to[i] == 0 { END } else { to[i] };
            let row = Transition { list: list[i], user: user[i], from: from[i], to, sessions: sessions[i] };
            NumberedRow { query: query[i], row }
        };
        (0..columns.len()).try_for_each(|i| take(row(i)))
    })
}

/// Positions, or 0 for what is outside of the list.
fn positions(columns: &Columns<'_>, name: &str, last: u32) -> Result<Vec<u32>> {
    let known = |(row, position)| if position == 0 { Ok(0) } else { known_position(columns, row, position, last) };
    columns.integers(name)?.into_iter().enumerate().map(known).collect()
}

/// Writes both tables as transitions come.
pub(super) struct ListWriter {
    lists: GroupWriter,
    waiting: RawTransitions,
    rows: GroupWriter,
    /// What came last: a list, and what it shows.
    last: Option<(NumberedList, Vec<Listed>)>,
    /// How many lists and transitions came.
    pub counts: (u64, u64),
}

impl ListWriter {
    pub fn create(folder: &Path, names: Names<'_>) -> Result<Self> {
        Ok(ListWriter {
            lists: create(folder, "lists.parquet", LISTS, list_fields(names))?,
            waiting: RawTransitions::default(),
            rows: create(folder, "transitions.parquet", TRANSITIONS, row_fields(names))?,
            last: None,
            counts: (0, 0),
        })
    }

    /// Appends transitions, which come after those before; the first list may be the last one.
    pub fn push(&mut self, transitions: &Transitions, names: Names<'_>) -> Result<()> {
        for (list, rows) in transitions.by_list() {
            let number = self.number(list, transitions.of(list));
            let row = |row: &Transition| NumberedRow { query: list.query, row: Transition { list: number, ..*row } };
            self.waiting.rows.extend(rows.iter().map(row));
        }
        self.counts.1 += transitions.rows.len() as u64;
        let is_enough = self.waiting.lists.len().max(self.waiting.rows.len()) >= enough();
        if is_enough { self.write(names, false) } else { Ok(()) }
    }

    /// The number of a list within its query, which is a new one if it is not the last.
    fn number(&mut self, list: &ShownList, shown: &[Listed]) -> u32 {
        let &ShownList { query, context, .. } = list;
        let number = match &self.last {
            Some((last, same)) if (last.query, last.context) == (query, context) && same == shown => {
                return last.number;
            }
            Some((last, _)) if last.query == query => last.number + 1,
            _ => 1,
        };
        self.last = Some((NumberedList { query, number, context, shown: 0..shown.len() }, shown.to_vec()));
        self.waiting.push_list(query, number, context, shown);
        self.counts.0 += 1;
        number
    }

    fn write(&mut self, names: Names<'_>, all: bool) -> Result<()> {
        let RawTransitions { lists, shown, rows } = &mut self.waiting;
        write_groups(&mut self.lists, lists, all, |group: &[NumberedList]| {
            let [docs, positions] = shown_columns(names, group.iter().map(|list| &shown[list.shown.clone()]));
            let number = Int32Array::from_iter_values(group.iter().map(|list| list.number as i32));
            let query = ids_array(names.queries, group.iter().map(|list| list.query as usize));
            let mut columns = vec![query, Arc::new(number) as ArrayRef];
            columns.extend(
                has_contexts(names).then(|| ids_array(names.contexts, group.iter().map(|list| list.context as usize))),
            );
            columns.extend([docs, positions]);
            columns
        })?;
        let written = lists.first().map_or(shown.len(), |list| list.shown.start);
        shown.drain(..written);
        lists.iter_mut().for_each(|list| list.shown = list.shown.start - written..list.shown.end - written);
        write_groups(&mut self.rows, rows, all, |group: &[NumberedRow]| row_columns(names, group))
    }

    pub fn finish(mut self, names: Names<'_>) -> Result<(u64, u64)> {
        self.write(names, true)?;
        self.lists.finish()?;
        self.rows.finish()?;
        Ok(self.counts)
    }
}

fn shown_columns<'a>(names: Names<'_>, lists: impl Iterator<Item = &'a [Listed]> + Clone) -> [ArrayRef; 2] {
    let item = Field::new("item", DataType::Int32, false);
    let mut positions = ListBuilder::new(Int32Builder::new()).with_field(item);
    for list in lists.clone() {
        list.iter().for_each(|listed| positions.values().append_value(listed.position as i32));
        positions.append(true);
    }
    let docs = doc_lists(names.docs, lists.map(|list| list.iter().map(|listed| listed.doc as usize)));
    [docs, Arc::new(positions.finish())]
}

fn row_columns(names: Names<'_>, rows: &[NumberedRow]) -> Vec<ArrayRef> {
    let small = |value: fn(&Transition) -> u32| -> ArrayRef {
        Arc::new(Int32Array::from_iter_values(rows.iter().map(|row| value(&row.row) as i32)))
    };
    vec![
        ids_array(names.queries, rows.iter().map(|row| row.query as usize)),
        small(|row| row.list),
        ids_array(names.users, rows.iter().map(|row| row.row.user as usize)),
        small(|row| row.from),
        small(|row| if row.to == END { 0 } else { row.to }),
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.row.sessions as i64))),
    ]
}

fn list_fields(names: Names<'_>) -> Vec<Field> {
    let [docs, positions, _] = shown_fields(names);
    let mut fields = vec![ids_field("query", names.queries), Field::new("list", DataType::Int32, false)];
    fields.extend(has_contexts(names).then(|| ids_field(CONTEXT, names.contexts)));
    fields.extend([docs, positions]);
    fields
}

/// Whether lists have contexts: all or none have one.
fn has_contexts(names: Names<'_>) -> bool {
    !names.contexts.is_empty()
}

fn row_fields(names: Names<'_>) -> Vec<Field> {
    let small = |name: &str| Field::new(name, DataType::Int32, false);
    vec![
        ids_field("query", names.queries),
        small("list"),
        ids_field("user", names.users),
        small(FROM),
        small(TO),
        Field::new("sessions", DataType::Int64, false),
    ]
}
