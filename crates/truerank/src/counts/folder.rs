//! Counts on disk: a folder of `cells.parquet`, `sessions.parquet`, `patterns.parquet` where counted, and `meta.json`.

use std::cmp::Ordering;
use std::path::Path;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use serde::{Deserialize, Serialize};

use super::model::{Cell, Counts, Pattern, Patterns, SessionCount, Shown};
use super::summary::CountTotals;
use crate::error::Place;
use crate::files::table::{Columns, FileType, TableReader, integers};
use crate::ids::Interner;
use crate::{Error, Result};

pub(super) const COUNTS: FileType = FileType { name: "truerank/counts", version: 1 };
pub(super) const CELLS: FileType = FileType { name: "truerank/cells", version: 1 };
pub(super) const SESSIONS: FileType = FileType { name: "truerank/sessions", version: 1 };
pub(super) const PATTERNS: FileType = FileType { name: "truerank/patterns", version: 1 };

/// What `meta.json` says.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Meta {
    #[serde(rename = "type")]
    name: String,
    version: u64,
    sessions: u64,
    impressions: u64,
    clicks: u64,
    queries: u64,
    docs: u64,
    users: u64,
    max_position: u32,
    patterns: bool,
}

impl Meta {
    pub(super) fn new(totals: &CountTotals) -> Self {
        Meta {
            name: COUNTS.name.to_string(),
            version: u64::from(COUNTS.version),
            sessions: totals.sessions,
            impressions: totals.impressions,
            clicks: totals.clicks,
            queries: totals.queries,
            docs: totals.docs,
            users: totals.users,
            max_position: totals.max_position,
            patterns: totals.patterns.is_some(),
        }
    }

    fn of(counts: &Counts) -> Self {
        Meta::new(&CountTotals {
            sessions: counts.session_count(),
            impressions: counts.impression_count(),
            clicks: counts.click_count(),
            queries: counts.queries.len() as u64,
            docs: counts.docs.len() as u64,
            users: counts.users.len() as u64,
            max_position: counts.max_position(),
            patterns: counts.patterns.as_ref().map(|patterns| patterns.patterns.len() as u64),
            ..CountTotals::default()
        })
    }

    fn read(folder: &Path) -> Result<Self> {
        let path = folder.join("meta.json");
        if !path.is_file() {
            let finding = "is not a folder of counts: it has no meta.json; make one with truerank count";
            return Err(if folder.exists() { Error::input(folder, finding) } else { not_found(folder) });
        }
        let text = crate::files::read_text(&path)?;
        let value: serde_json::Value =
            serde_json::from_str(&text).map_err(|e| Error::input(&path, format!("is not JSON: {e}")))?;
        COUNTS.check(&path, value["type"].as_str(), value["version"].as_u64())?;
        serde_json::from_value(value).map_err(|e| Error::input(&path, format!("is not complete: {e}")))
    }
}

/// Whether a folder of counts may hold a file of this name.
pub fn is_counts_file(name: &str) -> bool {
    ["cells.parquet", "sessions.parquet", "patterns.parquet", "meta.json"].contains(&name)
}

fn not_found(path: &Path) -> Error {
    Error::io(path, std::io::ErrorKind::NotFound.into())
}

impl Counts {
    /// Reads counts from a folder and checks that they are whole.
    pub fn read(folder: &Path) -> Result<Self> {
        let meta = Meta::read(folder)?;
        let mut tables = Tables::default();
        let cells_path = folder.join("cells.parquet");
        let sessions_path = folder.join("sessions.parquet");
        let patterns_path = folder.join("patterns.parquet");
        tables.read_cells(&cells_path)?;
        tables.read_sessions(&sessions_path)?;
        if meta.patterns {
            tables.read_patterns(&patterns_path)?;
        }
        let counts = tables.into_counts(meta.patterns);
        counts.check_cells(&cells_path)?;
        counts.check_sessions(&sessions_path)?;
        counts.check_patterns(&patterns_path)?;
        counts.check_totals(folder, &meta)?;
        Ok(counts)
    }

    fn check_cells(&self, path: &Path) -> Result<()> {
        let key = |cell: &Cell| (cell.query, cell.doc, cell.position, cell.user);
        check_order(path, &self.cells, |a, b| key(a).cmp(&key(b)), "query, doc, position, user")?;
        match self.cells.iter().position(|cell| cell.clicks > cell.impressions || cell.impressions == 0) {
            None => Ok(()),
            Some(row) => {
                let Cell { clicks, impressions, .. } = self.cells[row];
                let finding =
                    format!("has {clicks} clicks of {impressions} impressions, but a click needs an impression");
                Err(Place::row(path, row as u64 + 1).error(finding))
            }
        }
    }

    fn check_sessions(&self, path: &Path) -> Result<()> {
        let key = |count: &SessionCount| (count.query, count.user);
        check_order(path, &self.sessions, |a, b| key(a).cmp(&key(b)), "query, user")?;
        if let Some(row) = self.sessions.iter().position(|count| count.sessions == 0) {
            return Err(Place::row(path, row as u64 + 1).error("sessions is 0, but counts of sessions start at 1"));
        }
        for cell in &self.cells {
            let found = self.sessions.binary_search_by_key(&(cell.query, cell.user), key);
            let sessions = found.map_or(0, |at| self.sessions[at].sessions);
            if sessions < cell.impressions {
                let (query, user) = (self.queries.name(cell.query as usize), self.users.name(cell.user as usize));
                return Err(Error::input(
                    path,
                    format!(
                        "has {sessions} sessions of query '{query}' by user '{user}', but a cell of theirs has {} \
                         impressions; count the log again",
                        cell.impressions
                    ),
                ));
            }
        }
        Ok(())
    }

    fn check_patterns(&self, path: &Path) -> Result<()> {
        let Some(patterns) = &self.patterns else { return Ok(()) };
        let sessions: u64 = patterns.patterns.iter().map(|pattern| pattern.sessions).sum();
        let expected = self.session_count();
        if sessions != expected {
            let finding = format!("has {sessions} sessions, but sessions.parquet has {expected}; count the log again");
            return Err(Error::input(path, finding));
        }
        Ok(())
    }

    fn check_totals(&self, folder: &Path, meta: &Meta) -> Result<()> {
        let found = Meta::of(self);
        let pairs = [
            ("sessions", meta.sessions, found.sessions),
            ("impressions", meta.impressions, found.impressions),
            ("clicks", meta.clicks, found.clicks),
            ("queries", meta.queries, found.queries),
            ("docs", meta.docs, found.docs),
            ("users", meta.users, found.users),
            ("max_position", u64::from(meta.max_position), u64::from(found.max_position)),
        ];
        match pairs.into_iter().find(|(_, said, found)| said != found) {
            None => Ok(()),
            Some((what, said, found)) => Err(Error::input(
                folder,
                format!("meta.json says {what} {said}, but the tables have {found}; count the log again"),
            )),
        }
    }
}

/// Each row must come after the one before it.
fn check_order<T>(path: &Path, rows: &[T], compare: impl Fn(&T, &T) -> Ordering, by: &str) -> Result<()> {
    match rows.windows(2).position(|pair| compare(&pair[0], &pair[1]) != Ordering::Less) {
        None => Ok(()),
        Some(row) => Err(Place::row(path, row as u64 + 2)
            .error(format!("does not come after the row before it, but rows are sorted by {by}, each once"))),
    }
}

/// The tables of a folder while they are read, ids numbered as they appear.
#[derive(Default)]
struct Tables {
    queries: Interner,
    docs: Interner,
    users: Interner,
    cells: Vec<Cell>,
    sessions: Vec<SessionCount>,
    patterns: Patterns,
}

impl Tables {
    fn read_cells(&mut self, path: &Path) -> Result<()> {
        TableReader::open_as(path, CELLS)?.for_each(|columns| {
            let query = columns.ids("query", &mut self.queries)?;
            let doc = columns.ids("doc", &mut self.docs)?;
            let position = columns.positions("position")?;
            let user = columns.ids("user", &mut self.users)?;
            let impressions = columns.counts("impressions")?;
            let clicks = columns.counts("clicks")?;
            self.cells.extend((0..columns.len()).map(|i| Cell {
                query: query[i],
                doc: doc[i],
                position: position[i],
                user: user[i],
                impressions: impressions[i],
                clicks: clicks[i],
            }));
            Ok(())
        })
    }

    fn read_sessions(&mut self, path: &Path) -> Result<()> {
        TableReader::open_as(path, SESSIONS)?.for_each(|columns| {
            let query = columns.ids("query", &mut self.queries)?;
            let user = columns.ids("user", &mut self.users)?;
            let sessions = columns.counts("sessions")?;
            let rows =
                (0..columns.len()).map(|i| SessionCount { query: query[i], user: user[i], sessions: sessions[i] });
            self.sessions.extend(rows);
            Ok(())
        })
    }

    fn read_patterns(&mut self, path: &Path) -> Result<()> {
        TableReader::open_as(path, PATTERNS)?.for_each(|columns| {
            let query = columns.ids("query", &mut self.queries)?;
            let sessions = columns.counts("sessions")?;
            for row in 0..columns.len() {
                let start = self.patterns.shown.len();
                self.push_page(columns, row)?;
                let shown = start..self.patterns.shown.len();
                self.patterns.patterns.push(Pattern { query: query[row], shown, sessions: sessions[row] });
            }
            Ok(())
        })
    }

    fn push_page(&mut self, columns: &Columns<'_>, row: usize) -> Result<()> {
        let place = || columns.place(row);
        let list = |name: &str| -> Result<ArrayRef> {
            let column = columns.get(name)?;
            let lists = column.as_list_opt::<i32>();
            lists.map(|lists| lists.value(row)).ok_or_else(|| place().error(format!("{name} is not a list")))
        };
        let numbers = |name: &str| -> Result<Vec<i64>> {
            integers(&list(name)?).ok_or_else(|| place().error(format!("{name} is not a list of whole numbers")))
        };
        let docs = doc_numbers(&list("docs")?, &mut self.docs)
            .ok_or_else(|| place().error("docs is not a list of text or whole numbers"))?;
        let (positions, clicks) = (numbers("positions")?, numbers("clicks")?);
        if docs.len() != positions.len() || docs.len() != clicks.len() {
            return Err(place().error("docs, positions and clicks differ in length, but each document has one of each"));
        }
        for ((doc, position), click) in docs.into_iter().zip(positions).zip(clicks) {
            let position = u32::try_from(position).ok().filter(|&p| p > 0);
            let position = position.ok_or_else(|| place().error("a position is below 1, but positions start at 1"))?;
            self.patterns.shown.push(Shown { position, doc, click: click != 0 });
        }
        Ok(())
    }

    /// Renumbers all ids in their natural order.
    fn into_counts(self, has_patterns: bool) -> Counts {
        let (queries, query) = self.queries.into_sorted();
        let (docs, doc) = self.docs.into_sorted();
        let (users, user) = self.users.into_sorted();
        let (mut cells, mut sessions, mut patterns) = (self.cells, self.sessions, self.patterns);
        for cell in &mut cells {
            cell.query = query[cell.query as usize];
            cell.doc = doc[cell.doc as usize];
            cell.user = user[cell.user as usize];
        }
        for count in &mut sessions {
            count.query = query[count.query as usize];
            count.user = user[count.user as usize];
        }
        patterns.patterns.iter_mut().for_each(|pattern| pattern.query = query[pattern.query as usize]);
        patterns.shown.iter_mut().for_each(|shown| shown.doc = doc[shown.doc as usize]);
        Counts { queries, docs, users, cells, sessions, patterns: has_patterns.then_some(patterns) }
    }
}

fn doc_numbers(list: &ArrayRef, docs: &mut Interner) -> Option<Vec<u32>> {
    if let Some(values) = integers(list) {
        return Some(values.into_iter().map(|value| docs.integer(value)).collect());
    }
    let texts = list.as_string_opt::<i32>()?;
    Some(texts.iter().flatten().map(|text| docs.text(text)).collect())
}
