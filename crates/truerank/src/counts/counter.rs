//! Takes impressions in any order and makes counts: rows are scattered by query into partitions, and each partition is
//! counted by itself.
//!
//! All rows of a query lie in one partition, so a partition needs nothing but its own rows and the numbers of the ids.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::assemble::assemble;
use super::compact::compact;
use super::conflict::{Conflict, NamedConflict};
use super::model::Counts;
use super::numbering::{Numbers, SharedIds};
use super::partition::{Part, Rules, count_partition};
use super::summary::PageSummary;
use crate::ids::Ids;
use crate::log::{Block, IdColumn, OTHER, ReadOptions, Rows};
use crate::{Error, Result};

/// Enough to keep many cores busy and each partition's sorting in cache.
const PARTITIONS: usize = 64;
/// Rows of a block that are scattered at a time.
const ROWS: usize = 1 << 18;

/// Counts impressions.
///
/// A result page is a session *of a query*: the same session id with another query is another page, so an id of a
/// whole visit counts right. A page belongs to one user and shows a document once; several documents may share a
/// position, as in grids.
///
/// Rows may come in any order and from several threads; the counts are the same.
///
/// ```
/// use truerank::counts::Counter;
/// use truerank::ids::Ids;
/// use truerank::log::{Impression, Log};
/// let shown = |session, click| Impression { session, user: 0, query: 0, doc: 0, position: 1, click };
/// let ids = Ids::numbered(1);
/// let log = Log { users: ids.clone(), queries: ids.clone(), docs: ids, impressions: vec![shown(7, true), shown(8, false)] };
/// let counter = Counter::new();
/// counter.add(log.block())?;
/// let counts = counter.finish()?;
/// assert_eq!((counts.cells[0].impressions, counts.cells[0].clicks, counts.session_count()), (2, 1, 2));
/// # Ok::<(), truerank::Error>(())
/// ```
#[derive(Default)]
pub struct Counter {
    rules: Rules,
    users: SharedIds,
    queries: SharedIds,
    docs: SharedIds,
    partitions: Mutex<Vec<Vec<Piece>>>,
    rows: AtomicU64,
}

/// Consecutive rows of one result page, as they came: most logs keep pages together, and then only pages are sorted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    pub session: u64,
    pub query: u32,
    pub user: u32,
    /// Where its rows end in the piece; they start where those of the run before it end.
    pub end: u32,
}

/// What is left of a row beside its run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub doc: u32,
    /// Twice the position, plus one for a click.
    pub shown: u32,
}

/// Rows of one partition from one block.
#[derive(Debug, Default)]
pub(super) struct Piece {
    pub runs: Vec<Run>,
    pub rows: Vec<Row>,
    /// The earliest time of each run; empty where times do not matter.
    pub times: Vec<i64>,
}

/// Counts, and what was seen on the way.
pub(super) struct Counted {
    pub counts: Counts,
    pub pages: PageSummary,
    /// Rows on pages outside of the time that is asked for.
    pub outside: u64,
    /// Contradictions that were settled by leaving rows out, sorted.
    pub conflicts: Vec<NamedConflict>,
    /// Rows that were left out on pages of two users.
    pub of_two_users: u64,
}

/// The numbers of all ids.
pub(super) struct AllNumbers {
    pub users: Numbers,
    pub queries: Numbers,
    pub docs: Numbers,
}

impl Counter {
    /// Counts cells and sessions, without click patterns.
    pub fn new() -> Self {
        Counter::default()
    }

    /// Whether to count click patterns too. Default: no.
    pub fn patterns(mut self, patterns: bool) -> Self {
        self.rules.patterns = patterns;
        self
    }

    /// Counts as the options for reading say: contradictions are an error or left out, and pages may have to lie in a
    /// range of time.
    pub(super) fn reading(mut self, options: &ReadOptions) -> Self {
        self.rules.settles = options.skips();
        self.rules.range = options.has_range().then(|| options.clone());
        self
    }

    /// How many impressions were added.
    pub fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// Adds impressions; their numbers must lie within the block's ids, and positions count from 1.
    pub fn add(&self, block: Block<'_>) -> Result<()> {
        block.impressions.par_chunks(ROWS).try_for_each(|impressions| {
            self.add_rows(rows_of(&Block { impressions, ..block })?);
            Ok(())
        })
    }

    /// Adds rows as readers give them.
    pub(crate) fn add_rows(&self, mut rows: Rows) {
        self.users.absorb(&mut rows.users);
        self.queries.absorb(&mut rows.queries);
        self.docs.absorb(&mut rows.docs);
        self.rows.fetch_add(rows.len() as u64, Ordering::Relaxed);
        let pieces = scatter(&rows);
        let mut partitions = self.partitions.lock().unwrap_or_else(PoisonError::into_inner);
        partitions.resize_with(PARTITIONS, Vec::new);
        for (partition, piece) in partitions.iter_mut().zip(pieces) {
            partition.push(piece);
        }
    }

    /// The counts of all that was added.
    pub fn finish(self) -> Result<Counts> {
        self.count().map(|counted| counted.counts).map_err(|conflict| Error::parameter(conflict.describe(None)))
    }

    /// The counts, or what contradicts itself in the log.
    pub(super) fn count(self) -> Result<Counted, NamedConflict> {
        let ((users, user_numbers), ((queries, query_numbers), (docs, doc_numbers))) = rayon::join(
            || self.users.into_numbers(),
            || rayon::join(|| self.queries.into_numbers(), || self.docs.into_numbers()),
        );
        let numbers = AllNumbers { users: user_numbers, queries: query_numbers, docs: doc_numbers };
        let partitions = self.partitions.into_inner().unwrap_or_else(PoisonError::into_inner);
        let rules = &self.rules;
        let parts: Vec<Result<Part, Conflict>> =
            partitions.into_par_iter().with_max_len(1).map(|pieces| count_partition(pieces, &numbers, rules)).collect();
        // The first in the order of the ids, so that the message does not depend on the order of rows.
        if let Some(conflict) = parts.iter().filter_map(|part| part.as_ref().err()).min() {
            return Err(NamedConflict::new(conflict, &users, &queries, &docs));
        }
        let parts: Vec<Part> = parts.into_iter().flatten().collect();
        let pages = parts.iter().map(|part| part.pages).fold(PageSummary::default(), PageSummary::merge);
        let outside = parts.iter().map(|part| part.outside).sum();
        let of_two_users = parts.iter().map(|part| part.of_two_users).sum();
        let mut conflicts: Vec<Conflict> = parts.iter().flat_map(|part| part.conflicts.iter().copied()).collect();
        conflicts.sort_unstable();
        let named = conflicts.iter().map(|conflict| NamedConflict::new(conflict, &users, &queries, &docs)).collect();
        let (cells, sessions, patterns) = assemble(parts, queries.len(), rules.patterns);
        let mut counts = Counts { queries, docs, users, cells, sessions, patterns };
        if outside + of_two_users > 0 {
            compact(&mut counts);
        }
        Ok(Counted { counts, pages, outside, conflicts: named, of_two_users })
    }
}

/// The rows of a block, ids as codes.
fn rows_of(block: &Block<'_>) -> Result<Rows> {
    let rows = block.impressions;
    if let Some(row) = rows.iter().find(|row| row.position == 0 || row.position > crate::log::MAX_POSITION) {
        let finding = format!("position is {}, but positions are 1 to {}", row.position, crate::log::MAX_POSITION);
        return Err(Error::parameter(finding));
    }
    Ok(Rows {
        sessions: rows.iter().map(|row| row.session).collect(),
        users: id_column(block.users, rows.iter().map(|row| row.user), "user")?,
        queries: id_column(block.queries, rows.iter().map(|row| row.query), "query")?,
        docs: id_column(block.docs, rows.iter().map(|row| row.doc), "doc")?,
        positions: rows.iter().map(|row| row.position).collect(),
        clicks: rows.iter().map(|row| row.click).collect(),
        ..Rows::default()
    })
}

fn id_column(ids: &Ids, mut numbers: impl Iterator<Item = u32>, field: &str) -> Result<IdColumn> {
    let mut column = IdColumn::default();
    let mut codes = Codes::new(ids);
    let outcome = numbers.try_for_each(|number| {
        let code = codes.of(number, &mut column).ok_or_else(|| {
            Error::parameter(format!("{field} number {number} has no id: there are {} of them", ids.len()))
        })?;
        column.codes.push(code);
        Ok(())
    });
    outcome.map(|()| column)
}

/// The codes of a block's ids; those of text are looked up once.
struct Codes<'a> {
    ids: &'a Ids,
    known: Vec<u32>,
}

const UNKNOWN: u32 = u32::MAX;

impl<'a> Codes<'a> {
    fn new(ids: &'a Ids) -> Self {
        let known = if matches!(ids, Ids::Texts(_)) { vec![UNKNOWN; ids.len()] } else { Vec::new() };
        Codes { ids, known }
    }

    fn of(&mut self, number: u32, column: &mut IdColumn) -> Option<u32> {
        match self.ids {
            Ids::Integers(values) => values.get(number as usize).map(|&value| column.code_of_integer(value)),
            Ids::Texts(texts) => {
                let known = self.known.get_mut(number as usize)?;
                if *known == UNKNOWN {
                    *known = column.code_of_text(texts.get(number as usize));
                }
                Some(*known)
            }
        }
    }
}

/// Rows by partition, as runs.
fn scatter(rows: &Rows) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = (0..PARTITIONS).map(|_| Piece::default()).collect();
    let users = &rows.users.codes;
    let queries = &rows.queries.codes;
    let mut start = 0;
    while start < rows.len() {
        let (session, query, user) = (rows.sessions[start], queries[start], users[start]);
        let same = |&i: &usize| rows.sessions[i] == session && queries[i] == query && users[i] == user;
        let end = start + 1 + (start + 1..rows.len()).take_while(same).count();
        let piece = &mut pieces[partition(query)];
        piece.rows.extend(
            (start..end)
                .map(|i| Row { doc: rows.docs.codes[i], shown: rows.positions[i] << 1 | u32::from(rows.clicks[i]) }),
        );
        piece.runs.push(Run { session, query, user, end: piece.rows.len() as u32 });
        if let Some(times) = rows.times.get(start..end) {
            piece.times.extend(times.iter().min());
        }
        start = end;
    }
    pieces
}

/// The partition of a query, by the upper bits of a multiplicative hash of its code.
fn partition(query: u32) -> usize {
    const { assert!(PARTITIONS.is_power_of_two() && OTHER.is_power_of_two()) };
    (query.wrapping_mul(0x9e37_79b1) >> (32 - PARTITIONS.trailing_zeros())) as usize
}
