//! Counts one partition: pages are grouped by query and session and checked, then rows become sorted cells.

use rayon::slice::ParallelSliceMut;

use super::conflict::{Clash, Conflict, NamedConflict};
use super::merge::RunWriter;
use super::model::{Cell, SessionCount, Shown};
use super::numbering::AllNumbers;
use super::origin::Origin;
use super::pages::{KeyedPages, PageSampler, page_key};
use super::pieces::{Piece, Row};
use super::record::Batch;
use super::summary::PageSummary;
use super::tables::NumberedIds;
use super::transitions::ListCounter;
use crate::Error;
use crate::ids::Ids;
use crate::log::ReadOptions;
use crate::random::hash_text;

/// What was seen while a partition was counted.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub pages: PageSummary,
    pub clicks: u64,
    /// Contradictions that were settled, and rows that were left out for other reasons.
    pub conflicts: Vec<Conflict>,
    pub of_two_users: u64,
    pub in_two_contexts: u64,
    pub outside: u64,
}

/// Why counting stops.
#[derive(Debug)]
pub(super) enum Stop<C = Conflict> {
    /// A page contradicts itself.
    Conflict(C),
    Error(Error),
}

impl Stop {
    /// The one that is reported: that of the least ids, and what went wrong on the way before all.
    pub fn first(a: Stop, b: Stop) -> Stop {
        match (a, b) {
            (Stop::Conflict(a), Stop::Conflict(b)) => Stop::Conflict(a.min(b)),
            (Stop::Error(error), _) | (_, Stop::Error(error)) => Stop::Error(error),
        }
    }

    pub fn named(self, names: &NumberedIds) -> Stop<NamedConflict> {
        match self {
            Stop::Conflict(conflict) => Stop::Conflict(NamedConflict::new(&conflict, names)),
            Stop::Error(error) => Stop::Error(error),
        }
    }
}

impl From<Conflict> for Stop {
    fn from(conflict: Conflict) -> Self {
        Stop::Conflict(conflict)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Error(error)
    }
}

/// How pages are counted.
#[derive(Debug, Default)]
pub(super) struct Rules {
    pub beside: Beside,
    /// Whether contradictions are settled by leaving rows out, instead of being an error.
    pub settles: bool,
    /// The range of time that pages must lie in.
    pub range: Option<ReadOptions>,
    /// How the log is read.
    pub origin: Origin,
    /// Whether sessions have no ids of their own, only numbers in the order of the log.
    pub numbered: bool,
}

/// What is counted beside cells and sessions.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Beside {
    pub patterns: bool,
    pub transitions: bool,
    /// Whether pages that have no transitions leave the log without, instead of being an error.
    pub if_possible: bool,
}

impl Rules {
    /// Whether whole pages may be left out.
    pub fn leaves_out(&self) -> bool {
        self.settles || self.range.is_some()
    }
}

/// A run with final numbers, and where its rows are.
#[derive(Debug, Clone, Copy)]
struct RunRef {
    session: u64,
    query: u32,
    user: u32,
    /// 0 where contexts are not counted.
    context: u32,
    piece: u32,
    /// Its number in the piece.
    run: u32,
    start: u32,
    end: u32,
}

/// Counts whole pages and puts their counts into `run`, in the order of queries.
pub(super) fn count_partition(
    pieces: &[Piece],
    numbers: &AllNumbers,
    queries: &Ids,
    rules: &Rules,
    sampler: &PageSampler,
    run: &mut RunWriter<'_>,
) -> Result<Part, Stop> {
    let runs = sorted_runs(pieces, numbers);
    let mut part = Part::default();
    let mut scratch = Scratch::default();
    let mut whole = KeyedPages::default();
    for runs in runs.chunk_by(|a, b| a.query == b.query) {
        scratch.clear();
        let query = hash_text(&queries.name(runs[0].query as usize));
        for page in runs.chunk_by(|a, b| a.session == b.session) {
            if scratch.push_page(page, pieces, numbers, rules, &mut part)? {
                scratch.keep_page(&page[0], query, sampler, &mut whole);
            }
        }
        if !scratch.users.is_empty() {
            run.push(runs[0].query, scratch.count_query(runs[0].query))?;
        }
    }
    sampler.add(whole);
    Ok(part)
}

fn sorted_runs(pieces: &[Piece], numbers: &AllNumbers) -> Vec<RunRef> {
    let mut runs = Vec::with_capacity(pieces.iter().map(|piece| piece.runs.len()).sum());
    for (piece, content) in pieces.iter().enumerate() {
        let mut start = 0;
        for (number, run) in content.runs.iter().enumerate() {
            let (query, user) = (numbers.queries.of(run.query), numbers.users.of(run.user));
            let context = content.contexts.get(number).map_or(0, |&code| numbers.contexts.of(code));
            let (piece, number) = (piece as u32, number as u32);
            runs.push(RunRef { session: run.session, query, user, context, piece, run: number, start, end: run.end });
            start = run.end;
        }
    }
    runs.par_sort_unstable_by_key(|run| (run.query, run.session, run.user, run.context));
    runs
}

/// What a page has two of that it should have one of; `first` and `last` are of the same page, sorted by user and context.
fn two_of(first: &RunRef, last: &RunRef) -> Option<Clash> {
    if first.user != last.user {
        return Some(Clash::Users(first.user, last.user));
    }
    (first.context != last.context).then_some(Clash::Contexts(first.context, last.context))
}

fn row_count(page: &[RunRef]) -> u64 {
    page.iter().map(|run| u64::from(run.end - run.start)).sum()
}

/// Whether the earliest row of a page lies in the range that is asked for.
fn is_in_range(page: &[RunRef], pieces: &[Piece], range: &ReadOptions) -> bool {
    let times = page.iter().filter_map(|run| pieces[run.piece as usize].times.get(run.run as usize));
    times.min().is_some_and(|&earliest| range.is_in_range(earliest))
}

/// The rows of one query while it is counted; its memory serves all queries of a partition.
#[derive(Default)]
struct Scratch {
    /// One for each row; sorted, equal cells stand together.
    keys: Vec<CellKey>,
    /// The user of each page.
    users: Vec<u32>,
    /// The rows of the current page, with final numbers of documents.
    page: Vec<Row>,
    /// The documents of the current page.
    docs: Vec<u32>,
    /// What each page showed, where patterns are counted, and the user, start and end of each page.
    shown: Vec<Shown>,
    pages: Vec<(u32, usize, usize)>,
    /// The steps of each page, where transitions are counted.
    lists: ListCounter,
    counts: Batch,
}

impl Scratch {
    fn clear(&mut self) {
        self.keys.clear();
        self.users.clear();
        self.shown.clear();
        self.pages.clear();
        self.counts.clear();
    }

    /// Takes the rows of one page, which may lie in several runs where the log is not in order; false if they are left out.
    fn push_page(
        &mut self,
        page: &[RunRef],
        pieces: &[Piece],
        numbers: &AllNumbers,
        rules: &Rules,
        part: &mut Part,
    ) -> Result<bool, Conflict> {
        let (first, last) = (page[0], page[page.len() - 1]);
        let conflict = |kind| Conflict { query: first.query, session: first.session, kind };
        if rules.range.as_ref().is_some_and(|range| !is_in_range(page, pieces, range)) {
            part.outside += row_count(page);
            return Ok(false);
        }
        if let Some(clash) = two_of(&first, &last) {
            if !rules.settles {
                return Err(conflict(clash));
            }
            let left_out =
                if matches!(clash, Clash::Users(..)) { &mut part.of_two_users } else { &mut part.in_two_contexts };
            *left_out += row_count(page);
            part.conflicts.push(conflict(clash));
            return Ok(false);
        }
        self.read_page(page, pieces, numbers);
        if let Some(doc) = repeated(&mut self.docs) {
            if !rules.settles {
                return Err(conflict(Clash::Doc(doc, 0)));
            }
            let settled = settle(&mut self.page, &mut part.pages.repeated_docs_dropped);
            part.conflicts.extend(settled.into_iter().map(conflict));
        }
        self.take_page(first.user, part);
        match self.take_shown(first.user, first.context, rules.beside) {
            None => Ok(true),
            Some(position) => Err(conflict(Clash::Position(position))),
        }
    }

    /// Keeps the current page whole if it is among the chosen ones; `query` is the hash of its query's text.
    fn keep_page(&self, first: &RunRef, query: u64, sampler: &PageSampler, whole: &mut KeyedPages) {
        let key = page_key(first.session, query);
        if sampler.wants(key) {
            whole.push(key, first.query, first.user, self.page.iter().map(shown));
        }
    }

    fn read_page(&mut self, page: &[RunRef], pieces: &[Piece], numbers: &AllNumbers) {
        self.page.clear();
        self.docs.clear();
        for run in page {
            for row in &pieces[run.piece as usize].rows[run.start as usize..run.end as usize] {
                let doc = numbers.docs.of(row.doc);
                self.docs.push(doc);
                self.page.push(Row { doc, shown: row.shown });
            }
        }
    }

    fn take_page(&mut self, user: u32, part: &mut Part) {
        self.users.push(user);
        self.keys.extend(self.page.iter().map(|row| cell_key(row.doc, row, user)));
        let clicks = self.page.iter().map(|row| u64::from(row.shown & 1)).sum();
        part.clicks += clicks;
        part.pages.add(self.page.iter().map(|row| row.shown >> 1), clicks);
    }

    /// Takes the page as a whole, where that is counted. Returns a position that two of its documents share, if that must not be.
    fn take_shown(&mut self, user: u32, context: u32, beside: Beside) -> Option<u32> {
        if !beside.patterns && !beside.transitions {
            return None;
        }
        let start = self.shown.len();
        self.shown.extend(self.page.iter().map(shown));
        let page = &mut self.shown[start..];
        page.sort_unstable();
        if beside.transitions {
            let shared = page.windows(2).find(|two| two[0].position == two[1].position);
            match shared {
                Some(shared) if !beside.if_possible => return Some(shared[0].position),
                // What is counted of the others is left out in the end.
                Some(_) => {}
                None => self.lists.add(user, context, page),
            }
        }
        match beside.patterns {
            true => self.pages.push((user, start, self.shown.len())),
            false => self.shown.truncate(start),
        }
        None
    }

    fn count_query(&mut self, query: u32) -> &Batch {
        self.count_cells(query);
        self.users.sort_unstable();
        let users = self.users.chunk_by(|a, b| a == b);
        self.counts.sessions.extend(users.map(|u| SessionCount { query, user: u[0], sessions: u.len() as u64 }));
        self.count_patterns(query);
        self.lists.finish(query, &mut self.counts.transitions);
        &self.counts
    }

    fn count_cells(&mut self, query: u32) {
        sort_keys(&mut self.keys);
        self.counts.cells.extend(self.keys.chunk_by(|a, b| a >> 1 == b >> 1).map(|rows| {
            // Clicks sort last.
            let clicks = rows.len() - rows.partition_point(|key| key & 1 == 0);
            cell_of(query, rows[0], rows.len() as u64, clicks as u64)
        }));
    }

    fn count_patterns(&mut self, query: u32) {
        let shown = &self.shown;
        let page = |&(user, start, end): &(u32, usize, usize)| (&shown[start..end], user);
        self.pages.sort_unstable_by(|a, b| page(a).cmp(&page(b)));
        for same in self.pages.chunk_by(|a, b| page(a) == page(b)) {
            let (shown, user) = page(&same[0]);
            self.counts.patterns.push(query, user, shown, same.len() as u64);
        }
    }
}

fn shown(row: &Row) -> Shown {
    Shown { position: row.shown >> 1, doc: row.doc, click: row.shown & 1 == 1 }
}

/// Document, position, user and click of a row, so that rows sort as cells do: 32 + 31 + 32 + 1 bits.
type CellKey = u128;

fn cell_key(doc: u32, row: &Row, user: u32) -> CellKey {
    let click = row.shown & 1;
    CellKey::from(doc) << 64 | CellKey::from(row.shown >> 1) << 33 | CellKey::from(user) << 1 | CellKey::from(click)
}

fn cell_of(query: u32, key: CellKey, impressions: u64, clicks: u64) -> Cell {
    let position = (key >> 33) as u32 & (u32::MAX >> 1);
    Cell { query, doc: (key >> 64) as u32, position, user: (key >> 1) as u32, impressions, clicks }
}

fn sort_keys(keys: &mut [CellKey]) {
    // One query may be most of a log: then its rows are worth several threads.
    const MANY: usize = 1 << 17;
    if keys.len() < MANY { keys.sort_unstable() } else { keys.par_sort_unstable() }
}

/// Leaves each document once on a page, nearest to the top, clicked if any of its rows is. Returns what was settled: the
/// documents and the positions that they keep.
fn settle(page: &mut Vec<Row>, dropped: &mut u64) -> Vec<Clash> {
    page.sort_unstable_by_key(|row| (row.doc, row.shown));
    let mut kept: Vec<Row> = Vec::with_capacity(page.len());
    let mut settled = Vec::new();
    for rows in page.chunk_by(|a, b| a.doc == b.doc) {
        let click = rows.iter().fold(0, |click, row| click | row.shown & 1);
        kept.push(Row { doc: rows[0].doc, shown: rows[0].shown & !1 | click });
        if rows.len() > 1 {
            *dropped += rows.len() as u64 - 1;
            settled.push(Clash::Doc(rows[0].doc, rows[0].shown >> 1));
        }
    }
    *page = kept;
    settled
}

/// The least document that stands twice in `docs`.
fn repeated(docs: &mut [u32]) -> Option<u32> {
    // On a page of usual length, comparing all pairs is faster than sorting.
    const SHORT: usize = 16;
    if docs.len() <= SHORT {
        let is_repeated = (1..docs.len()).any(|i| docs[..i].contains(&docs[i]));
        if !is_repeated {
            return None;
        }
    }
    docs.sort_unstable();
    docs.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_hold_their_cell_and_sort_like_it() {
        let key =
            |doc, position: u32, user, click: u32| cell_key(doc, &Row { doc: 0, shown: position << 1 | click }, user);
        let cell = cell_of(7, key(u32::MAX, 100_000, u32::MAX, 1), 3, 2);
        let expected = Cell { query: 7, doc: u32::MAX, position: 100_000, user: u32::MAX, impressions: 3, clicks: 2 };
        assert_eq!(cell, expected);
        let sorted = [key(0, 1, 0, 0), key(0, 1, 0, 1), key(0, 1, 1, 0), key(0, 2, 0, 0), key(1, 1, 0, 0)];
        assert!(sorted.is_sorted());
    }

    #[test]
    fn the_least_repeated_document_is_found_on_short_and_long_pages() {
        assert_eq!(repeated(&mut [3, 1, 2]), None);
        assert_eq!(repeated(&mut [3, 1, 3, 1]), Some(1));
        let mut long: Vec<u32> = (0..100).rev().collect();
        assert_eq!(repeated(&mut long.clone()), None);
        long.push(40);
        assert_eq!(repeated(&mut long), Some(40));
    }
}
