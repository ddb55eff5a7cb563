//! Takes impressions in any order and makes counts: rows are scattered by query into partitions, and each partition is
//! counted by itself.
//!
//! All rows of a query lie in one partition, so a partition needs nothing but its own rows and the numbers of the ids.
//! Rows, and then the counts of partitions, are held in memory as long as they may be, and on disk from then on.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::conflict::{Conflict, NamedConflict};
use super::counted::{Counted, PartSummary};
use super::merge::{RunWriter, SortedRun};
use super::model::Counts;
use super::numbering::{AllIds, AllNumbers};
use super::origin::Origin;
use super::pages::PageSampler;
use super::partition::{Part, Rules, Stop, count_partition};
use super::pieces::{PARTITIONS, Piece, ScatterBy, Stored, scatter, split};
use super::store::Store;
use super::tables::NumberedIds;
use super::used::UsedIds;
use crate::files::Room;
use crate::ids::Ids;
use crate::log::{Block, IdColumn, ReadOptions, Rows, shown};
use crate::progress::{Progress, Silent};
use crate::{Error, Result};

/// Rows of a block that are scattered at a time.
const ROWS: usize = 1 << 18;
/// Bytes that counting takes for each byte of rows.
const WORK: usize = 4;

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
    ids: AllIds,
    partitions: Mutex<Vec<Vec<Stored>>>,
    rows: AtomicU64,
    store: Store,
}

impl Counter {
    /// Counts cells and sessions, without click patterns and transitions.
    pub fn new() -> Self {
        Counter::default()
    }

    /// Whether to count click patterns too. Default: no.
    pub fn patterns(mut self, patterns: bool) -> Self {
        self.rules.beside.patterns = patterns;
        self
    }

    /// Whether to count click transitions too. Default: no.
    pub fn transitions(mut self, transitions: bool) -> Self {
        self.rules.beside.transitions = transitions;
        self
    }

    /// Whether a page with two documents at one position leaves the log without transitions; otherwise, by default, it is an
    /// error where they are counted.
    pub fn transitions_if_possible(mut self, if_possible: bool) -> Self {
        self.rules.beside.if_possible = if_possible;
        self
    }

    /// Counts as the options for reading say: contradictions are an error or left out, and pages may have to lie in a
    /// range of time.
    pub(super) fn reading(mut self, options: &ReadOptions) -> Self {
        self.rules.settles = options.skips();
        self.rules.origin = Origin::of_reading(options);
        self.rules.range = options.has_range().then(|| options.clone());
        self
    }

    /// Whether sessions have no ids of their own, only numbers in the order of the log. Default: no.
    pub(super) fn numbered(mut self, numbered: bool) -> Self {
        self.rules.numbered = numbered;
        self
    }

    /// Holds at most about as much memory as there is room, ids included; the rest goes to a temporary file. Default: all
    /// is held.
    pub fn room(mut self, room: &Room) -> Result<Self> {
        self.store = Store::bounded(room)?;
        Ok(self)
    }

    /// How many impressions were added.
    pub fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// Adds impressions; their numbers must lie within the block's ids, and positions count from 1.
    pub fn add(&self, block: Block<'_>) -> Result<()> {
        block
            .impressions
            .par_chunks(ROWS)
            .try_for_each(|impressions| self.add_rows(rows_of(&Block { impressions, ..block })?))
    }

    /// Adds rows as readers give them.
    pub(crate) fn add_rows(&self, mut rows: Rows) -> Result<()> {
        self.ids.users.absorb(&mut rows.users);
        self.ids.queries.absorb(&mut rows.queries);
        self.ids.docs.absorb(&mut rows.docs);
        self.ids.contexts.absorb(&mut rows.contexts);
        self.ids.check_room()?;
        let ids = self.ids.bytes();
        self.store.check_ids(ids)?;
        self.rows.fetch_add(rows.len() as u64, Ordering::Relaxed);
        let pieces = Stored::put_all(scatter(&rows), &self.store, ids)?;
        let mut partitions = self.partitions.lock().unwrap_or_else(PoisonError::into_inner);
        partitions.resize_with(PARTITIONS, Vec::new);
        for (partition, piece) in partitions.iter_mut().zip(pieces) {
            partition.push(piece);
        }
        Ok(())
    }

    /// The counts of all that was added.
    pub fn finish(self) -> Result<Counts> {
        match self.count(&Silent) {
            Ok(counted) => counted.into_counts(),
            Err(Stop::Conflict(conflict)) => Err(Error::parameter(conflict.describe(None))),
            Err(Stop::Error(error)) => Err(error),
        }
    }

    /// The counts, or what contradicts itself in the log.
    pub(super) fn count(self, progress: &dyn Progress) -> Result<Counted, Stop<NamedConflict>> {
        let ids = self.ids.bytes();
        let (names, numbers) = self.ids.into_numbers();
        let used = self.rules.leaves_out().then(|| UsedIds::none_of(&names));
        let (rules, sampler) = (self.rules, PageSampler::default());
        let work = Work { numbers, names: &names, rules, used, ids, store: self.store, sampler };
        let partitions = self.partitions.into_inner().unwrap_or_else(PoisonError::into_inner);
        progress.begin("counting", partitions.len() as u64);
        let count = |pieces| {
            let counted = work.count(pieces, &SPLITS)?;
            progress.advance(1)?;
            Ok(counted)
        };
        let parts: Vec<Result<Vec<(Part, SortedRun)>, Stop>> =
            partitions.into_par_iter().with_max_len(1).map(count).collect();
        let (parts, runs) = all_or_first(parts).map_err(|stop| stop.named(&names))?.into_iter().flatten().unzip();
        let named = |conflict: &Conflict| NamedConflict::new(conflict, &names);
        let summary = PartSummary::of(parts, named);
        let Work { used, rules, sampler, store, .. } = work;
        let used = used.filter(|_| summary.outside + summary.of_two_users + summary.in_two_contexts > 0);
        let mut pages = sampler.finish();
        if rules.numbered {
            pages.forget_keys();
            pages = pages.sorted();
        }
        Ok(Counted::new(names, used, rules.beside, Some(pages), runs, store, summary).origin(rules.origin))
    }
}

/// How a partition that is too large is split: by query, and where that does not help by page.
const SPLITS: [ScatterBy; 2] = [ScatterBy::Query, ScatterBy::Page];

/// What counting a partition needs.
struct Work<'a> {
    numbers: AllNumbers,
    names: &'a NumberedIds,
    rules: Rules,
    used: Option<UsedIds>,
    /// Bytes of ids.
    ids: u64,
    store: Store,
    sampler: PageSampler,
}

impl Work<'_> {
    /// Counts a partition, in parts where it is too large for the memory of one thread.
    fn count(&self, pieces: Vec<Stored>, splits: &[ScatterBy]) -> Result<Vec<(Part, SortedRun)>, Stop> {
        let size: usize = pieces.iter().map(Stored::size).sum();
        let most = (self.store.working() / WORK).max(1);
        if let [by, splits @ ..] = splits
            && size > most
        {
            let parts = split(pieces, size.div_ceil(most) + 1, *by, &self.store, self.ids)?;
            let counted = parts.into_iter().map(|pieces| self.count(pieces, splits)).collect();
            return all_or_first(counted).map(|parts| parts.into_iter().flatten().collect());
        }
        let pieces = pieces.into_iter().map(|piece| piece.fetch(&self.store)).collect::<Result<Vec<Piece>>>()?;
        if size > most {
            self.check_pages(&pieces)?;
        }
        let mut run = RunWriter::new(&self.store, self.ids, self.used.as_ref());
        let part = count_partition(&pieces, &self.numbers, &self.names.queries, &self.rules, &self.sampler, &mut run)?;
        Ok(vec![(part, run.finish()?)])
    }
}

/// The rows of a page are sorted, checked and counted together, at so many bytes each.
const PAGE_ROW: u64 = 64;

impl Work<'_> {
    /// A page is counted as a whole: one that would take more than all of the memory is refused.
    fn check_pages(&self, pieces: &[Piece]) -> Result<()> {
        let mut rows = HashMap::<(u64, u32), u64>::new();
        for (run, count) in pieces.iter().flat_map(Piece::runs) {
            *rows.entry((run.session, run.query)).or_default() += count as u64;
        }
        let largest = rows.into_iter().map(|((session, query), rows)| (rows, self.numbers.queries.of(query), session));
        let Some((rows, query, _)) = largest.max() else { return Ok(()) };
        let query = self.names.queries.name(query as usize);
        self.store
            .check_size(rows * PAGE_ROW, &format!("a result page of query '{}' has {rows} rows, which", shown(&query)))
    }
}

/// All results, or the first reason to stop in the order of ids, so that it does not depend on the order of rows.
fn all_or_first<T>(parts: Vec<Result<T, Stop>>) -> Result<Vec<T>, Stop> {
    let mut all = Vec::with_capacity(parts.len());
    let mut first = None;
    for part in parts {
        match part {
            Ok(part) => all.push(part),
            Err(stop) => {
                first = Some(match first {
                    Some(first) => Stop::first(first, stop),
                    None => stop,
                })
            }
        }
    }
    first.map_or(Ok(all), Err)
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
