//! Pages that contradict themselves: what is wrong with them, and in which rows of which files.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::tables::NumberedIds;
use crate::ids::Ids;
use crate::log::{
    BadKind, BadRow, BadRowsWriter, Fault, IdColumn, LogPart, Piece, ReadOptions, Rows, for_each_rows_in_order, shown,
};
use crate::{Error, Place, Result};

/// A page that contradicts itself, by numbers of ids. The least is reported, whatever partition it lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Conflict {
    pub query: u32,
    pub session: u64,
    pub kind: Clash,
}

/// How it contradicts itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Clash {
    /// The page belongs to two users.
    Users(u32, u32),
    /// A document is shown twice on it; where that is settled, it keeps this position.
    Doc(u32, u32),
    /// Two documents are shown at this position, but click transitions need to know which was clicked.
    Position(u32),
    /// The page was shown in two contexts.
    Contexts(u32, u32),
}

/// A contradiction in a log, with the names of what it is about.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NamedConflict {
    pub session: u64,
    pub query: String,
    pub kind: ConflictKind,
}

/// What contradicts itself.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ConflictKind {
    /// A document is shown twice on one page; where that is settled, it keeps this position.
    Doc(String, u32),
    /// A page belongs to two users.
    Users(String, String),
    /// A page shows two documents at one position, where click transitions are counted.
    Position(u32),
    /// A page was shown in two contexts.
    Contexts(String, String),
}

impl NamedConflict {
    pub(super) fn new(conflict: &Conflict, names: &NumberedIds) -> Self {
        let name = |ids: &Ids, number: u32| ids.name(number as usize).into_owned();
        let kind = match conflict.kind {
            Clash::Users(a, b) => ConflictKind::Users(name(&names.users, a), name(&names.users, b)),
            Clash::Doc(doc, position) => ConflictKind::Doc(name(&names.docs, doc), position),
            Clash::Position(position) => ConflictKind::Position(position),
            Clash::Contexts(a, b) => ConflictKind::Contexts(name(&names.contexts, a), name(&names.contexts, b)),
        };
        NamedConflict { session: conflict.session, query: name(&names.queries, conflict.query), kind }
    }

    /// The message, with the session's own text where it is known.
    pub fn describe(&self, session: Option<&str>) -> String {
        let number = self.session.to_string();
        let session = shown(session.unwrap_or(&number));
        let query = shown(&self.query);
        match &self.kind {
            ConflictKind::Doc(doc, _) => format!(
                "doc '{}' appears twice in session '{session}' of query '{query}', but a result page shows it once; \
                 remove repeated rows, or give each page its own session",
                shown(doc)
            ),
            ConflictKind::Users(a, b) => format!(
                "session '{session}' of query '{query}' belongs to users '{}' and '{}', but a session has one user; \
                 give each user's sessions their own ids, or join columns with `columns` session=USER+SESSION",
                shown(a),
                shown(b)
            ),
            ConflictKind::Position(position) => format!(
                "session '{session}' of query '{query}' shows two documents at position {position}, but click transitions \
                 need one at each; number the results of a page from 1, or count without `transitions`"
            ),
            ConflictKind::Contexts(a, b) => format!(
                "session '{session}' of query '{query}' was shown in contexts '{}' and '{}', but a result page has one; take a \
                 column for `context` that is the same in all rows of a page, or give each page its own session",
                shown(a),
                shown(b)
            ),
        }
    }
}

/// The error for a contradiction, at the row that brings it in. Reads the files again, in order: only bad logs pay.
pub(crate) fn locate(parts: &[LogPart], options: &ReadOptions, conflict: &NamedConflict) -> Error {
    let unplaced = || Error::parameter(conflict.describe(None));
    let found = Mutex::new(None);
    let search = Mutex::new(Search::new(std::slice::from_ref(conflict), true));
    let outcome = search_files(
        parts,
        options,
        |bad| {
            let mut first = found.lock().unwrap_or_else(PoisonError::into_inner);
            first.get_or_insert(bad.error());
        },
        &search,
    );
    match outcome {
        Ok(()) => found.into_inner().unwrap_or_else(PoisonError::into_inner).unwrap_or_else(unplaced),
        Err(error) => error,
    }
}

/// Tells all rows that were left out to settle contradictions. Reads the files again, in order.
pub(super) fn report(
    parts: &[LogPart],
    options: &ReadOptions,
    conflicts: &[NamedConflict],
    writer: &mut BadRowsWriter,
    counts: [(BadKind, u64); 3],
) -> Result<()> {
    if conflicts.is_empty() {
        return Ok(());
    }
    if parts.iter().any(LogPart::is_stdin) {
        // It cannot be read again: the rows are counted, and not named.
        counts.into_iter().for_each(|(kind, count)| writer.add(kind, count));
        return Ok(());
    }
    let search = Mutex::new(Search::new(conflicts, false));
    let sink = Mutex::new((writer, Ok(())));
    search_files(
        parts,
        options,
        |bad| {
            let mut sink = sink.lock().unwrap_or_else(PoisonError::into_inner);
            if sink.1.is_ok() {
                sink.1 = sink.0.push(&bad);
            }
        },
        &search,
    )?;
    sink.into_inner().unwrap_or_else(PoisonError::into_inner).1
}

/// Hands every row that a search is about to `take`, in the order of the files.
fn search_files(
    parts: &[LogPart],
    options: &ReadOptions,
    take: impl Fn(BadRow) + Sync,
    search: &Mutex<Search<'_>>,
) -> Result<()> {
    let options = options.with_places();
    for_each_rows_in_order(parts, &options, |Piece { part, rows, .. }| {
        let part = &parts[part];
        let mut search = search.lock().unwrap_or_else(PoisonError::into_inner);
        let unit = part.unit(&options);
        for row in 0..rows.len() {
            if let Some((kind, conflict)) = search.look(&rows, row) {
                let trace = &rows.traces[row];
                let place: Place = unit.place(part.path(), trace.place);
                let fault = Fault::new(kind, conflict.describe(Some(&trace.session)));
                take(BadRow { place, fault, raw: trace.raw.clone() });
            }
        }
        Ok(())
    })?;
    Ok(())
}

/// Looks for the rows that contradict others.
struct Search<'a> {
    /// The contradictions of each page, by session and query.
    pages: HashMap<(u64, String), Vec<State<'a>>>,
    /// Whether nothing was left out: then the row that comes second is the bad one.
    is_error: bool,
}

/// A contradiction, and what was seen of it.
struct State<'a> {
    conflict: &'a NamedConflict,
    /// Whether the row that stays was seen, or any row of the page.
    seen: bool,
    /// The user or the context of the last row that was seen.
    last: String,
}

impl<'a> Search<'a> {
    fn new(conflicts: &'a [NamedConflict], is_error: bool) -> Self {
        let mut pages: HashMap<(u64, String), Vec<State<'a>>> = HashMap::new();
        for conflict in conflicts {
            let state = State { conflict, seen: false, last: String::new() };
            pages.entry((conflict.session, conflict.query.clone())).or_default().push(state);
        }
        Search { pages, is_error }
    }

    /// What a row breaks, if it does.
    fn look(&mut self, rows: &Rows, row: usize) -> Option<(BadKind, &'a NamedConflict)> {
        let query = name(&rows.queries, row);
        let is_error = self.is_error;
        let states = self.pages.get_mut(&(rows.sessions[row], query))?;
        states.iter_mut().find_map(|state| state.look(rows, row, is_error))
    }
}

impl<'a> State<'a> {
    fn look(&mut self, rows: &Rows, row: usize, is_error: bool) -> Option<(BadKind, &'a NamedConflict)> {
        let is_bad = match &self.conflict.kind {
            ConflictKind::Doc(doc, _) if name(&rows.docs, row) != *doc => false,
            ConflictKind::Doc(_, kept) => {
                let stays = !self.seen && (is_error || rows.positions[row] == *kept);
                self.seen |= stays;
                !stays
            }
            ConflictKind::Position(position) if rows.positions[row] != *position => false,
            ConflictKind::Position(_) => std::mem::replace(&mut self.seen, true),
            ConflictKind::Users(..) | ConflictKind::Contexts(..) if !is_error => true,
            ConflictKind::Users(..) => self.is_other(name(&rows.users, row)),
            ConflictKind::Contexts(..) => self.is_other(name(&rows.contexts, row)),
        };
        let kind = match self.conflict.kind {
            ConflictKind::Doc(..) => BadKind::RepeatedDoc,
            ConflictKind::Users(..) => BadKind::TwoUsers,
            ConflictKind::Position(_) => BadKind::Position,
            ConflictKind::Contexts(..) => BadKind::TwoContexts,
        };
        is_bad.then_some((kind, self.conflict))
    }

    /// Whether a row has another user or context than the one before it.
    fn is_other(&mut self, name: String) -> bool {
        let is_other = self.seen && name != self.last;
        (self.seen, self.last) = (true, name);
        is_other
    }
}

fn name(column: &IdColumn, row: usize) -> String {
    column.name(column.codes[row]).into_owned()
}
