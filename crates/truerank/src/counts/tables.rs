//! Reads the tables of a folder of counts row after row, ids numbered as they appear.

use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};

use super::folder::{CELLS, KEY, PAGES, PATTERNS, SESSIONS};
use super::list_tables::{NumberedRow, RawTransitions};
use super::model::{Cell, Patterns, SessionCount, Shown};
use super::pages::Pages;
use super::record::Batch;
use super::transitions::Transitions;
use crate::files::table::{Columns, TableReader, integers};
use crate::ids::{Ids, Interner};
use crate::{Error, Result};

/// The files of a folder of counts.
pub(super) struct TablePaths {
    pub cells: PathBuf,
    pub sessions: PathBuf,
    pub patterns: PathBuf,
    pub lists: PathBuf,
    pub transitions: PathBuf,
    pub pages: PathBuf,
}

impl TablePaths {
    pub fn new(folder: &Path) -> Self {
        let file = |name: &str| folder.join(name);
        TablePaths {
            cells: file("cells.parquet"),
            sessions: file("sessions.parquet"),
            patterns: file("patterns.parquet"),
            lists: file("lists.parquet"),
            transitions: file("transitions.parquet"),
            pages: file("pages.parquet"),
        }
    }
}

/// Ids while tables are read.
#[derive(Clone, Default)]
pub(super) struct NewIds {
    pub queries: Interner,
    pub docs: Interner,
    pub users: Interner,
    pub contexts: Interner,
}

/// Ids in their natural order.
#[derive(Debug, Default)]
pub(super) struct NumberedIds {
    pub queries: Ids,
    pub docs: Ids,
    pub users: Ids,
    /// Empty where contexts were not counted.
    pub contexts: Ids,
}

/// The new number of each id, by its old one.
pub(super) struct Renumber {
    pub queries: Vec<u32>,
    pub docs: Vec<u32>,
    pub users: Vec<u32>,
    pub contexts: Vec<u32>,
}

impl NewIds {
    /// The ids in their natural order, and their numbers in it.
    pub fn into_sorted(self) -> (NumberedIds, Renumber) {
        let (queries, query) = self.queries.into_sorted();
        let (docs, doc) = self.docs.into_sorted();
        let (users, user) = self.users.into_sorted();
        let (contexts, context) = self.contexts.into_sorted();
        let numbers = Renumber { queries: query, docs: doc, users: user, contexts: context };
        (NumberedIds { queries, docs, users, contexts }, numbers)
    }
}

impl Renumber {
    pub fn renumber(&self, counts: &mut Batch) {
        counts.cells.iter_mut().for_each(|cell| self.renumber_cell(cell));
        counts.sessions.iter_mut().for_each(|count| self.renumber_session(count));
        self.renumber_patterns(&mut counts.patterns);
        self.renumber_transitions(&mut counts.transitions);
    }

    #[inline]
    pub fn renumber_cell(&self, cell: &mut Cell) {
        cell.query = self.queries[cell.query as usize];
        cell.doc = self.docs[cell.doc as usize];
        cell.user = self.users[cell.user as usize];
    }

    pub fn renumber_session(&self, count: &mut SessionCount) {
        count.query = self.queries[count.query as usize];
        count.user = self.users[count.user as usize];
    }

    pub fn renumber_patterns(&self, patterns: &mut Patterns) {
        for pattern in &mut patterns.patterns {
            pattern.query = self.queries[pattern.query as usize];
            pattern.user = self.users[pattern.user as usize];
        }
        patterns.shown.iter_mut().for_each(|shown| shown.doc = self.docs[shown.doc as usize]);
    }

    pub fn renumber_transitions(&self, transitions: &mut Transitions) {
        for list in &mut transitions.lists {
            (list.query, list.context) = (self.queries[list.query as usize], self.context(list.context));
        }
        transitions.shown.iter_mut().for_each(|listed| listed.doc = self.docs[listed.doc as usize]);
        transitions.rows.iter_mut().for_each(|row| row.user = self.users[row.user as usize]);
    }

    /// The new number of a context; 0 where there are none.
    fn context(&self, old: u32) -> u32 {
        self.contexts.get(old as usize).copied().unwrap_or(0)
    }

    pub fn renumber_raw(&self, raw: &mut RawTransitions) {
        for list in &mut raw.lists {
            (list.query, list.context) = (self.queries[list.query as usize], self.context(list.context));
        }
        raw.shown.iter_mut().for_each(|listed| listed.doc = self.docs[listed.doc as usize]);
        for NumberedRow { query, row } in &mut raw.rows {
            *query = self.queries[*query as usize];
            row.user = self.users[row.user as usize];
        }
    }

    pub fn renumber_pages(&self, pages: &mut Pages) {
        for page in &mut pages.pages {
            page.query = self.queries[page.query as usize];
            page.user = self.users[page.user as usize];
        }
        pages.shown.iter_mut().for_each(|shown| shown.doc = self.docs[shown.doc as usize]);
    }
}

/// Hands every cell to `take`.
pub(super) fn read_cells(path: &Path, ids: &mut NewIds, mut take: impl FnMut(Cell) -> Result<()>) -> Result<()> {
    TableReader::open_as(path, CELLS)?.for_each(|columns| {
        let query = columns.ids("query", &mut ids.queries)?;
        let doc = columns.ids("doc", &mut ids.docs)?;
        let position = columns.positions("position")?;
        let user = columns.ids("user", &mut ids.users)?;
        let impressions = columns.counts("impressions")?;
        let clicks = columns.counts("clicks")?;
        let cell = |i: usize| Cell {
            query: query[i],
            doc: doc[i],
            position: position[i],
            user: user[i],
            impressions: impressions[i],
            clicks: clicks[i],
        };
        (0..columns.len()).try_for_each(|i| take(cell(i)))
    })
}

/// Hands every count of sessions to `take`.
pub(super) fn read_sessions(
    path: &Path,
    ids: &mut NewIds,
    mut take: impl FnMut(SessionCount) -> Result<()>,
) -> Result<()> {
    TableReader::open_as(path, SESSIONS)?.for_each(|columns| {
        let query = columns.ids("query", &mut ids.queries)?;
        let user = columns.ids("user", &mut ids.users)?;
        let sessions = columns.counts("sessions")?;
        let count = |i: usize| SessionCount { query: query[i], user: user[i], sessions: sessions[i] };
        (0..columns.len()).try_for_each(|i| take(count(i)))
    })
}

/// Hands the query, the user, the page and the sessions of every pattern to `take`; no position is past the `last` of the cells.
pub(super) fn read_patterns(
    path: &Path,
    last: u32,
    ids: &mut NewIds,
    mut take: impl FnMut(u32, u32, &[Shown], u64) -> Result<()>,
) -> Result<()> {
    let mut page = Vec::new();
    let reader = TableReader::open_as(path, PATTERNS)?;
    if reader.note("version").as_deref() == Some("1") {
        let finding = "has version 1, in which click patterns had no users; count the log again";
        return Err(Error::input(path, finding));
    }
    reader.for_each(|columns| {
        let query = columns.ids("query", &mut ids.queries)?;
        let user = columns.ids("user", &mut ids.users)?;
        let sessions = columns.counts("sessions")?;
        let pages = PageColumns::new(columns, &mut ids.docs)?;
        for row in 0..columns.len() {
            page.clear();
            pages.read(columns, row, last, &mut page)?;
            take(query[row], user[row], &page, sessions[row])?;
        }
        Ok(())
    })
}

/// All whole pages; no position is past the `last` of the cells.
pub(super) fn read_pages(path: &Path, last: u32, ids: &mut NewIds) -> Result<Pages> {
    let mut pages = Pages::default();
    let mut page = Vec::new();
    let reader = TableReader::open_as(path, PAGES)?;
    let are_keyed = reader.schema().column_with_name(KEY).is_some();
    reader.for_each(|columns| {
        let query = columns.ids("query", &mut ids.queries)?;
        let user = columns.ids("user", &mut ids.users)?;
        let keys = are_keyed.then(|| columns.integers(KEY)).transpose()?;
        let of_rows = PageColumns::new(columns, &mut ids.docs)?;
        for row in 0..columns.len() {
            page.clear();
            of_rows.read(columns, row, last, &mut page)?;
            let key = keys.as_ref().map(|keys| keys[row] as u64);
            pages.push_keyed(key, query[row], user[row], page.iter().copied());
        }
        Ok(())
    })?;
    Ok(pages)
}

/// The pages of some rows.
struct PageColumns {
    docs: ListColumn<u32>,
    positions: ListColumn<i64>,
    clicks: ListColumn<i64>,
}

impl PageColumns {
    fn new(columns: &Columns<'_>, doc_ids: &mut Interner) -> Result<Self> {
        let docs = ListColumn::of_docs(columns, doc_ids)?;
        let [positions, clicks] = ["positions", "clicks"].map(|name| ListColumn::of_numbers(columns, name));
        Ok(PageColumns { docs, positions: positions?, clicks: clicks? })
    }

    /// Appends the page of a row.
    fn read(&self, columns: &Columns<'_>, row: usize, last: u32, page: &mut Vec<Shown>) -> Result<()> {
        let place = || columns.place(row);
        let (docs, positions, clicks) = (self.docs.of(row), self.positions.of(row), self.clicks.of(row));
        if docs.len() != positions.len() || docs.len() != clicks.len() {
            return Err(place().error("docs, positions and clicks differ in length, but each document has one of each"));
        }
        for ((&doc, &position), &click) in docs.iter().zip(positions).zip(clicks) {
            let position = known_position(columns, row, position, last)?;
            if !(0..=1).contains(&click) {
                return Err(place().error(format!("a click is {click}, but clicks are 0 or 1")));
            }
            page.push(Shown { position, doc, click: click == 1 });
        }
        Ok(())
    }
}

/// A column of lists, the values of all rows together.
pub(super) struct ListColumn<T> {
    /// Where the list of each row begins, and the last one ends.
    bounds: Vec<usize>,
    values: Vec<T>,
}

impl<T> ListColumn<T> {
    /// The list of a row.
    pub fn of(&self, row: usize) -> &[T] {
        &self.values[self.bounds[row]..self.bounds[row + 1]]
    }

    fn new(
        columns: &Columns<'_>,
        name: &str,
        (what, read): (&str, impl FnOnce(&ArrayRef) -> Option<Vec<T>>),
    ) -> Result<Self> {
        let lists = columns.get(name)?.as_list_opt::<i32>();
        let lists = lists.ok_or_else(|| columns.place(0).error(format!("{name} is not a list")))?;
        let offsets = lists.value_offsets();
        let (first, last) = (offsets[0] as usize, offsets[offsets.len() - 1] as usize);
        let values = read(&lists.values().slice(first, last - first));
        let values = values.ok_or_else(|| columns.place(0).error(format!("{name} is not a list of {what}")))?;
        Ok(ListColumn { bounds: offsets.iter().map(|&offset| offset as usize - first).collect(), values })
    }
}

impl ListColumn<i64> {
    /// Lists of whole numbers.
    pub fn of_numbers(columns: &Columns<'_>, name: &str) -> Result<Self> {
        ListColumn::new(columns, name, ("whole numbers", integers))
    }
}

impl ListColumn<u32> {
    /// Lists of documents in column `docs`, by their numbers.
    pub fn of_docs(columns: &Columns<'_>, ids: &mut Interner) -> Result<Self> {
        ListColumn::new(columns, "docs", ("text or whole numbers", |values| doc_numbers(values, ids)))
    }
}

/// A position, if it is none past the `last` of the cells.
pub(super) fn known_position(columns: &Columns<'_>, row: usize, position: i64, last: u32) -> Result<u32> {
    let known = u32::try_from(position).ok().filter(|known| (1..=last).contains(known));
    known.ok_or_else(|| {
        let rule = format!("but positions go from 1 to {last}, the last of cells.parquet; count the log again");
        columns.place(row).error(format!("a position is {position}, {rule}"))
    })
}

fn doc_numbers(values: &ArrayRef, docs: &mut Interner) -> Option<Vec<u32>> {
    if let Some(values) = integers(values) {
        return Some(values.into_iter().map(|value| docs.integer(value)).collect());
    }
    let texts = values.as_string_opt::<i32>().filter(|texts| texts.null_count() == 0)?;
    Some(texts.iter().flatten().map(|text| docs.text(text)).collect())
}
