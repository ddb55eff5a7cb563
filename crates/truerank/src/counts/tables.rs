//! Reads the tables of a folder of counts row after row, ids numbered as they appear.

use std::path::{Path, PathBuf};

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;

use super::folder::{CELLS, PAGES, PATTERNS, SESSIONS};
use super::model::{Cell, Patterns, SessionCount, Shown};
use super::pages::Pages;
use super::record::Batch;
use crate::Result;
use crate::files::table::{Columns, TableReader, integers};
use crate::ids::{Ids, Interner};

/// The files of a folder of counts.
pub(super) struct TablePaths {
    pub cells: PathBuf,
    pub sessions: PathBuf,
    pub patterns: PathBuf,
    pub pages: PathBuf,
}

impl TablePaths {
    pub fn new(folder: &Path) -> Self {
        let [cells, sessions, patterns, pages] =
            ["cells.parquet", "sessions.parquet", "patterns.parquet", "pages.parquet"].map(|name| folder.join(name));
        TablePaths { cells, sessions, patterns, pages }
    }
}

/// Ids while tables are read.
#[derive(Default)]
pub(super) struct NewIds {
    queries: Interner,
    docs: Interner,
    users: Interner,
}

/// Ids in their natural order.
#[derive(Debug, Default)]
pub(super) struct NumberedIds {
    pub queries: Ids,
    pub docs: Ids,
    pub users: Ids,
}

/// The new number of each id, by its old one.
pub(super) struct Renumber {
    pub queries: Vec<u32>,
    pub docs: Vec<u32>,
    pub users: Vec<u32>,
}

impl NewIds {
    /// The ids in their natural order, and their numbers in it.
    pub fn into_sorted(self) -> (NumberedIds, Renumber) {
        let (queries, query) = self.queries.into_sorted();
        let (docs, doc) = self.docs.into_sorted();
        let (users, user) = self.users.into_sorted();
        (NumberedIds { queries, docs, users }, Renumber { queries: query, docs: doc, users: user })
    }
}

impl Renumber {
    pub fn renumber(&self, counts: &mut Batch) {
        counts.cells.iter_mut().for_each(|cell| self.renumber_cell(cell));
        counts.sessions.iter_mut().for_each(|count| self.renumber_session(count));
        self.renumber_patterns(&mut counts.patterns);
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
        patterns.patterns.iter_mut().for_each(|pattern| pattern.query = self.queries[pattern.query as usize]);
        patterns.shown.iter_mut().for_each(|shown| shown.doc = self.docs[shown.doc as usize]);
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

/// Hands the query, the page and the sessions of every pattern to `take`; no position is past the `last` of the cells.
pub(super) fn read_patterns(
    path: &Path,
    last: u32,
    ids: &mut NewIds,
    mut take: impl FnMut(u32, &[Shown], u64),
) -> Result<()> {
    let mut page = Vec::new();
    TableReader::open_as(path, PATTERNS)?.for_each(|columns| {
        let query = columns.ids("query", &mut ids.queries)?;
        let sessions = columns.counts("sessions")?;
        for row in 0..columns.len() {
            page.clear();
            read_page(columns, row, last, &mut ids.docs, &mut page)?;
            take(query[row], &page, sessions[row]);
        }
        Ok(())
    })
}

/// All whole pages; no position is past the `last` of the cells.
pub(super) fn read_pages(path: &Path, last: u32, ids: &mut NewIds) -> Result<Pages> {
    let mut pages = Pages::default();
    let mut page = Vec::new();
    TableReader::open_as(path, PAGES)?.for_each(|columns| {
        let query = columns.ids("query", &mut ids.queries)?;
        let user = columns.ids("user", &mut ids.users)?;
        for row in 0..columns.len() {
            page.clear();
            read_page(columns, row, last, &mut ids.docs, &mut page)?;
            pages.push(query[row], user[row], page.iter().copied());
        }
        Ok(())
    })?;
    Ok(pages)
}

fn read_page(
    columns: &Columns<'_>,
    row: usize,
    last: u32,
    doc_ids: &mut Interner,
    page: &mut Vec<Shown>,
) -> Result<()> {
    let place = || columns.place(row);
    let list = |name: &str| -> Result<ArrayRef> {
        let column = columns.get(name)?;
        let lists = column.as_list_opt::<i32>();
        lists.map(|lists| lists.value(row)).ok_or_else(|| place().error(format!("{name} is not a list")))
    };
    let numbers = |name: &str| -> Result<Vec<i64>> {
        integers(&list(name)?).ok_or_else(|| place().error(format!("{name} is not a list of whole numbers")))
    };
    let docs = doc_numbers(&list("docs")?, doc_ids)
        .ok_or_else(|| place().error("docs is not a list of text or whole numbers"))?;
    let (positions, clicks) = (numbers("positions")?, numbers("clicks")?);
    if docs.len() != positions.len() || docs.len() != clicks.len() {
        return Err(place().error("docs, positions and clicks differ in length, but each document has one of each"));
    }
    for ((doc, position), click) in docs.into_iter().zip(positions).zip(clicks) {
        let known = u32::try_from(position).ok().filter(|known| (1..=last).contains(known));
        let position = known.ok_or_else(|| {
            let rule = format!("but positions go from 1 to {last}, the last of cells.parquet; count the log again");
            place().error(format!("a position is {position}, {rule}"))
        })?;
        if !(0..=1).contains(&click) {
            return Err(place().error(format!("a click is {click}, but clicks are 0 or 1")));
        }
        page.push(Shown { position, doc, click: click == 1 });
    }
    Ok(())
}

fn doc_numbers(list: &ArrayRef, docs: &mut Interner) -> Option<Vec<u32>> {
    if let Some(values) = integers(list) {
        return Some(values.into_iter().map(|value| docs.integer(value)).collect());
    }
    let texts = list.as_string_opt::<i32>()?;
    Some(texts.iter().flatten().map(|text| docs.text(text)).collect())
}
