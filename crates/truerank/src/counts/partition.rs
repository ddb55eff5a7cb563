//! Counts one partition: pages are grouped by query and session and checked, then rows become sorted cells.

use rayon::slice::ParallelSliceMut;

use super::counter::{AllNumbers, Piece, Row};
use super::model::{Cell, SessionCount, Shown};

/// The counts of a partition, query by query in the order of their numbers.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub queries: Vec<QueryEnd>,
    pub cells: Vec<Cell>,
    pub sessions: Vec<SessionCount>,
    /// Pages that differ in what was shown or clicked, as ends in `shown` and numbers of sessions.
    pub patterns: Vec<(usize, u64)>,
    pub shown: Vec<Shown>,
}

/// Where the counts of a query end; they start where those of the one before it end.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct QueryEnd {
    pub query: u32,
    pub cells: usize,
    pub sessions: usize,
    pub patterns: usize,
    pub shown: usize,
}

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
    /// A document is shown twice on it.
    Doc(u32),
}

/// A run with final numbers, and where its rows are.
#[derive(Debug, Clone, Copy)]
struct RunRef {
    session: u64,
    query: u32,
    user: u32,
    piece: u32,
    start: u32,
    end: u32,
}

pub(super) fn count_partition(pieces: Vec<Piece>, numbers: &AllNumbers, patterns: bool) -> Result<Part, Conflict> {
    let runs = sorted_runs(&pieces, numbers);
    // As many cells as rows at most; memory that is never touched costs nothing.
    let rows = pieces.iter().map(|piece| piece.rows.len()).sum();
    let mut part = Part { cells: Vec::with_capacity(rows), ..Part::default() };
    let mut scratch = Scratch::default();
    for runs in runs.chunk_by(|a, b| a.query == b.query) {
        scratch.clear();
        for page in runs.chunk_by(|a, b| a.session == b.session) {
            scratch.push_page(page, &pieces, numbers, patterns)?;
        }
        scratch.count_query(runs[0].query, &mut part);
    }
    Ok(part)
}

fn sorted_runs(pieces: &[Piece], numbers: &AllNumbers) -> Vec<RunRef> {
    let mut runs = Vec::with_capacity(pieces.iter().map(|piece| piece.runs.len()).sum());
    for (piece, content) in pieces.iter().enumerate() {
        let mut start = 0;
        for run in &content.runs {
            let (query, user) = (numbers.queries.of(run.query), numbers.users.of(run.user));
            runs.push(RunRef { session: run.session, query, user, piece: piece as u32, start, end: run.end });
            start = run.end;
        }
    }
    runs.par_sort_unstable_by_key(|run| (run.query, run.session, run.user));
    runs
}

/// The rows of one query while it is counted; its memory serves all queries of a partition.
#[derive(Default)]
struct Scratch {
    /// One for each row; sorted, equal cells stand together.
    keys: Vec<CellKey>,
    /// The user of each page.
    users: Vec<u32>,
    /// The documents of the current page.
    docs: Vec<u32>,
    /// What each page showed, where patterns are counted, and where each page starts.
    shown: Vec<Shown>,
    pages: Vec<(usize, usize)>,
}

impl Scratch {
    fn clear(&mut self) {
        self.keys.clear();
        self.users.clear();
        self.shown.clear();
        self.pages.clear();
    }

    /// Takes the rows of one page, which may lie in several runs where the log is not in order.
    fn push_page(
        &mut self,
        page: &[RunRef],
        pieces: &[Piece],
        numbers: &AllNumbers,
        patterns: bool,
    ) -> Result<(), Conflict> {
        let (first, last) = (page[0], page[page.len() - 1]);
        let conflict = |kind| Conflict { query: first.query, session: first.session, kind };
        if first.user != last.user {
            return Err(conflict(Clash::Users(first.user, last.user)));
        }
        self.users.push(first.user);
        self.docs.clear();
        let page_start = self.shown.len();
        for run in page {
            for row in &pieces[run.piece as usize].rows[run.start as usize..run.end as usize] {
                let doc = numbers.docs.of(row.doc);
                self.docs.push(doc);
                self.keys.push(cell_key(doc, row, first.user));
                if patterns {
                    self.shown.push(Shown { position: row.shown >> 1, doc, click: row.shown & 1 == 1 });
                }
            }
        }
        if patterns {
            self.shown[page_start..].sort_unstable();
            self.pages.push((page_start, self.shown.len()));
        }
        match repeated(&mut self.docs) {
            Some(doc) => Err(conflict(Clash::Doc(doc))),
            None => Ok(()),
        }
    }

    fn count_query(&mut self, query: u32, part: &mut Part) {
        self.count_cells(query, &mut part.cells);
        self.users.sort_unstable();
        let users = self.users.chunk_by(|a, b| a == b);
        part.sessions.extend(users.map(|u| SessionCount { query, user: u[0], sessions: u.len() as u64 }));
        self.count_patterns(part);
        part.queries.push(QueryEnd {
            query,
            cells: part.cells.len(),
            sessions: part.sessions.len(),
            patterns: part.patterns.len(),
            shown: part.shown.len(),
        });
    }

    fn count_cells(&mut self, query: u32, cells: &mut Vec<Cell>) {
        sort_keys(&mut self.keys);
        cells.extend(self.keys.chunk_by(|a, b| a >> 1 == b >> 1).map(|rows| {
            // Clicks sort last.
            let clicks = rows.len() - rows.partition_point(|key| key & 1 == 0);
            cell_of(query, rows[0], rows.len() as u64, clicks as u64)
        }));
    }

    fn count_patterns(&mut self, part: &mut Part) {
        let shown = &self.shown;
        let page = |&(start, end): &(usize, usize)| &shown[start..end];
        self.pages.sort_unstable_by(|a, b| page(a).cmp(page(b)));
        for same in self.pages.chunk_by(|a, b| page(a) == page(b)) {
            part.shown.extend_from_slice(page(&same[0]));
            part.patterns.push((part.shown.len(), same.len() as u64));
        }
    }
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
