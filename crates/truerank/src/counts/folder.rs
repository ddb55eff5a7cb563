//! Counts on disk: a folder of `cells.parquet`, `sessions.parquet`, `meta.json`, and where there are any, `pages.parquet`,
//! `patterns.parquet`, and `lists.parquet` with `transitions.parquet`.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::checks::Checks;
use super::list_checks::ListChecks;
use super::list_tables::RawTransitions;
use super::model::{Counts, Pattern, Patterns};
use super::origin::Origin;
use super::pages::Pages;
use super::tables::{NewIds, NumberedIds, TablePaths, read_cells, read_pages, read_patterns, read_sessions};
use super::transitions::Transitions;
use super::view::Totals;
use super::whole_pages::check_patterns;
use crate::files::table::FileType;
use crate::files::{Limit, read_sealed_text, seal_json, write_file};
use crate::{Error, Result};

const COUNTS: FileType = FileType { name: "truerank/counts", version: 1 };
pub(crate) const CELLS: FileType = FileType { name: "truerank/cells", version: 1 };
pub(crate) const SESSIONS: FileType = FileType { name: "truerank/sessions", version: 1 };
pub(crate) const PATTERNS: FileType = FileType { name: "truerank/patterns", version: 2 };

pub(crate) const PAGES: FileType = FileType { name: "truerank/pages", version: 1 };

/// The column of `pages.parquet` that says which page it is, where sessions have ids of their own.
pub(crate) const KEY: &str = "key";

/// What `meta.json` says.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Meta {
    #[serde(rename = "type")]
    name: String,
    version: u64,
    pub sessions: u64,
    pub impressions: u64,
    pub clicks: u64,
    queries: u64,
    docs: u64,
    users: u64,
    pub max_position: u32,
    pub patterns: bool,
    /// How many lists of documents and click transitions there are, where they were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lists: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transitions: Option<u64>,
    /// How many contexts lists were shown in, where that was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contexts: Option<u64>,
    /// How many whole pages there are, where any were kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<u64>,
    #[serde(flatten)]
    pub origin: Origin,
}

impl Meta {
    pub fn new(totals: &Totals, origin: Origin) -> Self {
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
            lists: totals.lists,
            transitions: totals.transitions,
            contexts: totals.contexts,
            pages: totals.pages,
            origin,
        }
    }

    /// Writes `meta.json` into a folder.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let path = folder.join("meta.json");
        let text = serde_json::to_string_pretty(self).map_err(|e| Error::io(&path, e.into()))?;
        write_file(&path, &seal_json(&text))
    }

    /// Reads `meta.json` of a folder.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join("meta.json");
        if !path.is_file() {
            let finding = "is not a folder of counts: it has no meta.json; make one with truerank count";
            return Err(if folder.exists() { Error::input(folder, finding) } else { not_found(folder) });
        }
        let text = read_sealed_text(&path, Limit::Description)?;
        let value: serde_json::Value =
            serde_json::from_str(&text).map_err(|e| Error::input(&path, format!("is not JSON: {e}")))?;
        COUNTS.check(&path, value["type"].as_str(), value["version"].as_u64())?;
        serde_json::from_value(value).map_err(|e| Error::input(&path, format!("is not complete: {e}")))
    }

    /// Whether click transitions were counted.
    pub fn has_transitions(&self) -> bool {
        self.lists.is_some() || self.transitions.is_some()
    }

    /// Bytes that lists and transitions take in memory: 24 each, and 8 for each document of a list.
    pub(super) fn bytes_of_transitions(&self) -> u64 {
        let (lists, rows) = (self.lists.unwrap_or(0), self.transitions.unwrap_or(0));
        let length = self.impressions.div_ceil(self.sessions.max(1));
        lists.saturating_mul(24u64.saturating_add(length.saturating_mul(8))).saturating_add(rows.saturating_mul(24))
    }

    /// Compares the numbers of lists, of transitions and of contexts with what it says.
    pub(super) fn check_transitions(
        &self,
        tables: &TablePaths,
        lists: u64,
        transitions: u64,
        ids: &NewIds,
    ) -> Result<()> {
        let (said, found) = (self.contexts.unwrap_or(0), ids.contexts.ids().len() as u64);
        if said != found {
            let finding = format!("has {found} contexts, but meta.json says {said}; count the log again");
            return Err(Error::input(&tables.lists, finding));
        }
        let found = [(&tables.lists, self.lists, lists), (&tables.transitions, self.transitions, transitions)];
        match found.into_iter().find(|(_, said, found)| said.unwrap_or(0) != *found) {
            None => Ok(()),
            Some((path, said, found)) => {
                let said = said.unwrap_or(0);
                let finding = format!("has {found} rows, but meta.json says {said}; count the log again");
                Err(Error::input(path, finding))
            }
        }
    }

    /// Compares what it says with what the tables have; `of_patterns` are the sessions of patterns, where there are any.
    pub(super) fn check(&self, folder: &Path, totals: &Totals, of_patterns: Option<u64>) -> Result<()> {
        if let Some(sessions) = of_patterns.filter(|sessions| *sessions != totals.sessions) {
            let expected = totals.sessions;
            let finding = format!("has {sessions} sessions, but sessions.parquet has {expected}; count the log again");
            return Err(Error::input(&TablePaths::new(folder).patterns, finding));
        }
        let pairs = [
            ("sessions", self.sessions, totals.sessions),
            ("impressions", self.impressions, totals.impressions),
            ("clicks", self.clicks, totals.clicks),
            ("queries", self.queries, totals.queries),
            ("docs", self.docs, totals.docs),
            ("users", self.users, totals.users),
            ("max_position", u64::from(self.max_position), u64::from(totals.max_position)),
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

/// Whether a folder of counts may hold a file of this name.
pub fn is_counts_file(name: &str) -> bool {
    let tables = ["cells", "sessions", "patterns", "lists", "transitions", "pages"];
    let is_table = |name: &str| name.strip_suffix(".parquet").is_some_and(|name| tables.contains(&name));
    is_table(name) || ["meta.json", "bad-rows.txt"].contains(&name)
}

fn not_found(path: &Path) -> Error {
    Error::io(path, std::io::ErrorKind::NotFound.into())
}

impl Counts {
    /// Reads counts from a folder and checks that they are whole.
    pub fn read(folder: &Path) -> Result<Self> {
        let meta = Meta::read(folder)?;
        let (mut ids, mut cells, mut sessions, mut patterns) =
            (NewIds::default(), Vec::new(), Vec::new(), Patterns::default());
        let tables = TablePaths::new(folder);
        read_cells(&tables.cells, &mut ids, |cell| {
            cells.push(cell);
            Ok(())
        })?;
        read_sessions(&tables.sessions, &mut ids, |count| {
            sessions.push(count);
            Ok(())
        })?;
        if meta.patterns {
            let last = meta.max_position;
            read_patterns(&tables.patterns, last, &mut ids, |query, user, page, count| {
                patterns.push(query, user, page, count);
                Ok(())
            })?;
        }
        let mut transitions =
            meta.has_transitions().then(|| read_kept_transitions(&meta, &tables, &mut ids)).transpose()?;
        let mut pages = read_kept_pages(&meta, &tables, &mut ids)?;
        let (numbered, numbers) = ids.into_sorted();
        cells.iter_mut().for_each(|cell| numbers.renumber_cell(cell));
        sessions.iter_mut().for_each(|count| numbers.renumber_session(count));
        numbers.renumber_patterns(&mut patterns);
        transitions.iter_mut().for_each(|transitions| numbers.renumber_raw(transitions));
        pages.iter_mut().for_each(|pages| numbers.renumber_pages(pages));
        let mut checks = Checks::new(&tables, &numbered, pages.as_ref());
        checks.add(&cells, &sessions);
        let totals = checks.finish()?;
        let add = |sum: u64, pattern: &Pattern| sum.saturating_add(pattern.sessions);
        let of_patterns = meta.patterns.then(|| patterns.patterns.iter().fold(0, add));
        meta.check(folder, &totals, of_patterns)?;
        let misfit = meta.patterns.then(|| check_patterns(&tables, &numbered, &patterns, &cells)).flatten();
        misfit.map_or(Ok(()), Err)?;
        let checks = ListChecks { tables: &tables, ids: &numbered, lists_before: 0, rows_before: 0 };
        transitions.iter().try_for_each(|raw| checks.check(raw, &cells, &sessions))?;
        let transitions = transitions.map(Transitions::from);
        let NumberedIds { queries, docs, users, contexts } = numbered;
        let patterns = meta.patterns.then_some(patterns);
        Ok(Counts {
            queries,
            docs,
            users,
            contexts,
            cells,
            sessions,
            patterns,
            transitions,
            pages,
            origin: meta.origin,
        })
    }
}

/// The click transitions of a folder that has them.
fn read_kept_transitions(meta: &Meta, tables: &TablePaths, ids: &mut NewIds) -> Result<RawTransitions> {
    let raw = RawTransitions::read(tables, meta.max_position, ids)?;
    meta.check_transitions(tables, raw.lists.len() as u64, raw.rows.len() as u64, ids)?;
    Ok(raw)
}

/// The whole pages of a folder, where it has any.
pub(super) fn read_kept_pages(meta: &Meta, tables: &TablePaths, ids: &mut NewIds) -> Result<Option<Pages>> {
    let Some(said) = meta.pages else { return Ok(None) };
    let pages = read_pages(&tables.pages, meta.max_position, ids)?;
    match pages.pages.len() as u64 == said {
        true => Ok(Some(pages)),
        false => {
            let finding = format!("has {} pages, but meta.json says {said}; count the log again", pages.pages.len());
            Err(Error::input(&tables.pages, finding))
        }
    }
}
