//! Counts that do not fit into memory: a folder of counts enters, blocks of a compact temporary file leave.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

use super::checks::Checks;
use super::folder::{CELLS, Meta, read_kept_pages};
use super::list_checks::ListChecks;
use super::list_tables::{RawTransitions, read_lists, read_transitions};
use super::model::{Cell, Counts, SessionCount, Shown};
use super::origin::Origin;
use super::pages::Pages;
use super::stored_lists::{Cutter, RowPlace, decode};
use super::tables::{NewIds, NumberedIds, Renumber, TablePaths, read_cells, read_patterns, read_sessions};
use super::transitions::Transitions;
use super::view::{BLOCK, Block, CountsView, Totals};
use crate::files::table::TableReader;
use crate::files::varint::{put, take, take_u32};
use crate::files::{Room, Spool};
use crate::ids::Ids;
use crate::memory::Memory;
use crate::{Error, Result};

/// What work makes of counts, as far as memory is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Sums over cells.
    Cells,
    /// Also the observations that estimation of examination goes over again and again.
    Estimation,
}

impl Need {
    /// Bytes that a cell takes: 32 as it is with its sessions' 8 at most, and for estimation 20 as an observation of a
    /// user, 20 of a cluster, 40 while evidence about users is sorted.
    fn bytes_per_cell(self) -> u64 {
        match self {
            Need::Cells => 40,
            Need::Estimation => 120,
        }
    }

    /// Bytes that so many cells take.
    pub(super) fn of_cells(self, cells: u64) -> u64 {
        cells * self.bytes_per_cell()
    }

    fn bytes(self, folder: &Path) -> Result<u64> {
        let meta = Meta::read(folder)?;
        let cells = TableReader::open_as(&TablePaths::new(folder).cells, CELLS)?.row_count();
        Ok(self.of_cells(cells as u64).saturating_add(meta.bytes_of_transitions()))
    }
}

/// Opens a folder of counts: in memory where they fit with what is made of them, on disk otherwise.
pub fn open_counts(folder: &Path, room: &Room, need: Need) -> Result<Box<dyn CountsView>> {
    match room.holds(need.bytes(folder)?) {
        true => Ok(Box::new(Counts::read(folder)?)),
        false => Ok(Box::new(StoredCounts::open(folder, room)?)),
    }
}

/// Reads a folder of counts into memory; it is an error if they do not fit.
pub fn held_counts(folder: &Path, room: &Room, need: Need) -> Result<Counts> {
    let bytes = need.bytes(folder)?;
    match room.holds(bytes) {
        true => Counts::read(folder),
        false => Err(Error::input(
            folder,
            format!(
                "takes about {} of memory here, but `memory` is {}; raise it, or use a method that reads counts in parts",
                Memory::new(bytes),
                room.memory()
            ),
        )),
    }
}

/// Counts in a temporary file without a name.
pub struct StoredCounts {
    ids: NumberedIds,
    numbers: Renumber,
    totals: Totals,
    pages: Option<Pages>,
    sessions_per_query: Vec<u64>,
    sessions_per_user: Vec<u64>,
    blocks: Vec<StoredBlock>,
    /// The lists and the transitions of each block, where they were counted.
    transitions: Option<(Vec<RowPlace>, Vec<RowPlace>)>,
    spool: Spool,
    origin: Origin,
    room: Room,
}

/// A block and where its bytes are.
#[derive(Debug, Clone)]
struct StoredBlock {
    block: Block,
    cells: Range<u64>,
    sessions: Range<u64>,
}

impl StoredCounts {
    /// Reads a folder of counts once, checks that they are whole, and keeps them in the room's folder.
    pub fn open(folder: &Path, room: &Room) -> Result<Self> {
        let meta = Meta::read(folder)?;
        let tables = TablePaths::new(folder);
        let (mut ids, mut writer) = (NewIds::default(), BlockWriter::new(room.spool()?));
        read_cells(&tables.cells, &mut ids, |cell| writer.cell(cell))?;
        writer.end_cells()?;
        read_sessions(&tables.sessions, &mut ids, |count| writer.session(count))?;
        writer.end_sessions()?;
        let mut of_patterns = meta.patterns.then_some(0);
        if let Some(sum) = &mut of_patterns {
            let add = |_, _, _: &[Shown], sessions| {
                *sum = u64::saturating_add(*sum, sessions);
                Ok(())
            };
            read_patterns(&tables.patterns, meta.max_position, &mut ids, add)?;
        }
        let transitions = match meta.has_transitions() {
            true => Some(writer.keep_transitions(&meta, &tables, &mut ids)?),
            false => None,
        };
        let mut pages = read_kept_pages(&meta, &tables, &mut ids)?;
        let (ids, numbers) = ids.into_sorted();
        pages.iter_mut().for_each(|pages| numbers.renumber_pages(pages));
        let mut counts = StoredCounts {
            sessions_per_query: vec![0; ids.queries.len()],
            sessions_per_user: vec![0; ids.users.len()],
            totals: Totals::default(),
            pages,
            ids,
            numbers,
            blocks: writer.blocks,
            transitions,
            spool: writer.spool,
            origin: meta.origin.clone(),
            room: room.clone(),
        };
        counts.check(&tables)?;
        meta.check(folder, &counts.totals, of_patterns)?;
        counts.check_transitions(&tables)?;
        let totals = &mut counts.totals;
        (totals.lists, totals.transitions, totals.contexts) = (meta.lists, meta.transitions, meta.contexts);
        Ok(counts)
    }

    /// Goes over the blocks once, for all that needs the ids' final numbers.
    fn check(&mut self, tables: &TablePaths) -> Result<()> {
        let mut checks = Checks::new(tables, &self.ids, self.pages.as_ref());
        let (mut per_query, mut per_user) = (vec![0; self.ids.queries.len()], vec![0; self.ids.users.len()]);
        (self as &dyn CountsView).for_each_block(|cells, sessions| {
            checks.add(cells, sessions);
            for count in sessions {
                // Sums that are too large are refused below.
                for sum in [&mut per_query[count.query as usize], &mut per_user[count.user as usize]] {
                    *sum = u64::saturating_add(*sum, count.sessions);
                }
            }
        })?;
        let pages = self.pages.as_ref().map(|pages| pages.pages.len() as u64);
        self.totals = Totals { pages, ..checks.finish()? };
        (self.sessions_per_query, self.sessions_per_user) = (per_query, per_user);
        Ok(())
    }

    /// Goes over the blocks once more, where there are transitions.
    fn check_transitions(&self, tables: &TablePaths) -> Result<()> {
        let Some((lists, rows)) = &self.transitions else { return Ok(()) };
        for block in self.blocks() {
            let (lists_before, rows_before) = (lists[block.index].rows.start, rows[block.index].rows.start);
            let (lists_before, rows_before) = (lists_before as u64, rows_before as u64);
            let checks = ListChecks { tables, ids: &self.ids, lists_before, rows_before };
            if let Some(raw) = self.raw_transitions(&block)? {
                checks.check(&raw, &self.cells(&block)?, &self.sessions(&block)?)?;
            }
        }
        Ok(())
    }

    fn raw_transitions(&self, block: &Block) -> Result<Option<RawTransitions>> {
        let Some((lists, rows)) = &self.transitions else { return Ok(None) };
        let (lists, rows) = (&lists[block.index], &rows[block.index]);
        let bytes = (self.spool.range(lists.bytes.clone())?, self.spool.range(rows.bytes.clone())?);
        let raw = decode(&bytes.0, lists.rows.len(), &bytes.1, rows.rows.len());
        let mut raw = raw.ok_or_else(|| self.spool.damaged())?;
        self.numbers.renumber_raw(&mut raw);
        Ok(Some(raw))
    }
}

impl CountsView for StoredCounts {
    fn queries(&self) -> &Ids {
        &self.ids.queries
    }

    fn docs(&self) -> &Ids {
        &self.ids.docs
    }

    fn users(&self) -> &Ids {
        &self.ids.users
    }

    fn contexts(&self) -> &Ids {
        &self.ids.contexts
    }

    fn totals(&self) -> Totals {
        self.totals
    }

    fn sessions_per_query(&self) -> Vec<u64> {
        self.sessions_per_query.clone()
    }

    fn sessions_per_user(&self) -> Vec<u64> {
        self.sessions_per_user.clone()
    }

    fn blocks(&self) -> Vec<Block> {
        self.blocks.iter().map(|stored| stored.block.clone()).collect()
    }

    fn cells(&self, block: &Block) -> Result<Cow<'_, [Cell]>> {
        let bytes = self.spool.range(self.blocks[block.index].cells.clone())?;
        let mut cells = decode_cells(&bytes, block.cells.len()).ok_or_else(|| self.spool.damaged())?;
        cells.iter_mut().for_each(|cell| self.numbers.renumber_cell(cell));
        Ok(Cow::Owned(cells))
    }

    fn sessions(&self, block: &Block) -> Result<Cow<'_, [SessionCount]>> {
        let bytes = self.spool.range(self.blocks[block.index].sessions.clone())?;
        let mut sessions = decode_sessions(&bytes, block.sessions.len()).ok_or_else(|| self.spool.damaged())?;
        sessions.iter_mut().for_each(|count| self.numbers.renumber_session(count));
        Ok(Cow::Owned(sessions))
    }

    fn transitions(&self, block: &Block) -> Result<Option<Cow<'_, Transitions>>> {
        Ok(self.raw_transitions(block)?.map(|raw| Cow::Owned(Transitions::from(raw))))
    }

    fn pages(&self) -> Option<&Pages> {
        self.pages.as_ref()
    }

    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn room(&self) -> Option<&Room> {
        Some(&self.room)
    }
}

/// Cuts rows into blocks: first all cells, then all sessions.
struct BlockWriter {
    spool: Spool,
    blocks: Vec<StoredBlock>,
    /// The last query of each block.
    last_queries: Vec<u32>,
    bytes: Vec<u8>,
    rows: Range<usize>,
    last_cell: Option<Cell>,
    last_session: Option<SessionCount>,
    /// The block whose sessions come.
    at: usize,
}

impl BlockWriter {
    fn new(spool: Spool) -> Self {
        BlockWriter {
            spool,
            blocks: Vec::new(),
            last_queries: Vec::new(),
            bytes: Vec::new(),
            rows: 0..0,
            last_cell: None,
            last_session: None,
            at: 0,
        }
    }

    fn cell(&mut self, cell: Cell) -> Result<()> {
        if self.rows.len() >= BLOCK && self.last_cell.is_some_and(|last| last.query != cell.query) {
            self.end_cells()?;
        }
        encode_cell(&mut self.bytes, self.last_cell.filter(|_| !self.rows.is_empty()), &cell);
        self.rows.end += 1;
        self.last_cell = Some(cell);
        Ok(())
    }

    /// Ends a block, if there are cells in it.
    fn end_cells(&mut self) -> Result<()> {
        let Some(last) = self.last_cell.filter(|_| !self.rows.is_empty()) else { return Ok(()) };
        let block = Block { index: self.blocks.len(), cells: self.rows.clone(), sessions: 0..0 };
        self.blocks.push(StoredBlock { block, cells: self.spool.append_range(&self.bytes)?, sessions: 0..0 });
        self.last_queries.push(last.query);
        self.bytes.clear();
        self.rows = self.rows.end..self.rows.end;
        Ok(())
    }

    /// Sessions of a block end with those of its last query; all that are left belong to the last block.
    fn session(&mut self, count: SessionCount) -> Result<()> {
        if let Some(last) = self.last_session {
            let is_next = last.query != count.query && self.last_queries.get(self.at) == Some(&last.query);
            if is_next && self.at + 1 < self.blocks.len() {
                self.end_block_sessions()?;
            }
        } else {
            self.rows = 0..0;
        }
        let before = self.last_session.filter(|_| !self.rows.is_empty());
        encode_session(&mut self.bytes, before, &count);
        self.rows.end += 1;
        self.last_session = Some(count);
        Ok(())
    }

    fn end_block_sessions(&mut self) -> Result<()> {
        if self.blocks.is_empty() {
            let block = Block { index: 0, cells: 0..0, sessions: 0..0 };
            self.blocks.push(StoredBlock { block, cells: 0..0, sessions: 0..0 });
        }
        let stored = &mut self.blocks[self.at];
        stored.block.sessions = self.rows.clone();
        stored.sessions = self.spool.append_range(&self.bytes)?;
        self.bytes.clear();
        self.rows = self.rows.end..self.rows.end;
        self.at += 1;
        Ok(())
    }

    /// Reads lists and transitions, and says where those of each block are.
    fn keep_transitions(
        &self,
        meta: &Meta,
        tables: &TablePaths,
        ids: &mut NewIds,
    ) -> Result<(Vec<RowPlace>, Vec<RowPlace>)> {
        let last = meta.max_position;
        let mut lists = Cutter::new(&self.spool, &self.last_queries);
        read_lists(&tables.lists, last, ids, |list, shown| lists.list(list, shown))?;
        let mut rows = Cutter::new(&self.spool, &self.last_queries);
        read_transitions(&tables.transitions, last, ids, |row| rows.transition(row))?;
        let (lists, rows) = (lists.finish(self.blocks.len())?, rows.finish(self.blocks.len())?);
        let count = |places: &[RowPlace]| places.last().map_or(0, |place| place.rows.end as u64);
        meta.check_transitions(tables, count(&lists), count(&rows), ids)?;
        Ok((lists, rows))
    }

    /// Ends the last block; those that no session is left for have none.
    fn end_sessions(&mut self) -> Result<()> {
        if self.last_session.is_none() {
            self.rows = 0..0;
        }
        while self.at < self.blocks.len() || (self.at == 0 && self.last_session.is_some()) {
            self.end_block_sessions()?;
        }
        Ok(())
    }
}

/// A cell as the differences to the one before it in its block: mostly five to seven bytes.
fn encode_cell(out: &mut Vec<u8>, last: Option<Cell>, cell: &Cell) {
    let last = last.unwrap_or(NO_CELL);
    put(out, u64::from(zigzag(last.query, cell.query)));
    put(out, u64::from(zigzag(last.doc, cell.doc)));
    put(out, u64::from(cell.position));
    put(out, u64::from(zigzag(last.user, cell.user)));
    put(out, cell.impressions);
    put(out, cell.clicks);
}

const NO_CELL: Cell = Cell { query: 0, doc: 0, position: 0, user: 0, impressions: 0, clicks: 0 };

fn decode_cells(mut bytes: &[u8], count: usize) -> Option<Vec<Cell>> {
    let (mut cells, mut last) = (Vec::with_capacity(count), NO_CELL);
    for _ in 0..count {
        last = Cell {
            query: unzigzag(last.query, take_u32(&mut bytes)?),
            doc: unzigzag(last.doc, take_u32(&mut bytes)?),
            position: take_u32(&mut bytes)?,
            user: unzigzag(last.user, take_u32(&mut bytes)?),
            impressions: take(&mut bytes)?,
            clicks: take(&mut bytes)?,
        };
        cells.push(last);
    }
    Some(cells)
}

fn encode_session(out: &mut Vec<u8>, last: Option<SessionCount>, count: &SessionCount) {
    let (query, user) = last.map_or((0, 0), |last| (last.query, last.user));
    put(out, u64::from(zigzag(query, count.query)));
    put(out, u64::from(zigzag(user, count.user)));
    put(out, count.sessions);
}

fn decode_sessions(mut bytes: &[u8], count: usize) -> Option<Vec<SessionCount>> {
    let (mut sessions, mut query, mut user) = (Vec::with_capacity(count), 0, 0);
    for _ in 0..count {
        query = unzigzag(query, take_u32(&mut bytes)?);
        user = unzigzag(user, take_u32(&mut bytes)?);
        sessions.push(SessionCount { query, user, sessions: take(&mut bytes)? });
    }
    Some(sessions)
}

/// The way from one number to another; short ways in either direction are small numbers.
fn zigzag(from: u32, to: u32) -> u32 {
    let step = to.wrapping_sub(from) as i32;
    ((step << 1) ^ (step >> 31)) as u32
}

fn unzigzag(from: u32, step: u32) -> u32 {
    from.wrapping_add((step >> 1) ^ (step & 1).wrapping_neg())
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::Path;

    use proptest::prelude::*;
    use rand::RngExt;

    use super::*;
    use crate::counts::{Pattern, Patterns};
    use crate::ids::Texts;
    use crate::random::stream;

    /// As little memory as there can be.
    fn little() -> Room {
        Room::new(Memory::new(1 << 20))
    }

    /// The same counts on disk.
    pub(crate) fn stored(counts: &Counts) -> StoredCounts {
        let folder = tempfile::tempdir().unwrap();
        counts.write(&folder.path().join("counts")).unwrap();
        StoredCounts::open(&folder.path().join("counts"), &little()).unwrap()
    }

    /// What `work` makes of the counts in memory and on disk, on one and on two threads.
    pub(crate) fn everywhere<T: Send>(counts: &Counts, work: impl Fn(&dyn CountsView) -> T + Sync) -> Vec<T> {
        let stored = stored(counts);
        let on = |threads: usize, counts: &dyn CountsView| {
            rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| work(counts))
        };
        vec![on(1, counts), on(2, counts), on(1, &stored), on(2, &stored)]
    }

    /// That all are the same.
    pub(crate) fn assert_same<T: PartialEq + std::fmt::Debug>(found: &[T]) {
        found.windows(2).for_each(|two| assert_eq!(two[0], two[1]));
    }

    fn texts(count: usize) -> Ids {
        let mut texts = Texts::default();
        (0..count).for_each(|index| texts.push(&format!("ü {:04}", index)));
        Ids::Texts(texts)
    }

    /// Counts of `queries` queries with up to 60 cells each, of all kinds of numbers; every id stands in them.
    fn drawn(queries: u32, text: bool, seed: u64) -> Counts {
        let mut random = stream(seed, "test", 0);
        let mut counts = Counts::default();
        let most = 40;
        for query in 0..queries {
            let mut draw = |below: u32| random.random_range(0..below);
            let mut cells: Vec<Cell> = (0..1 + draw(60))
                .map(|_| {
                    let impressions = 1 + (1 << draw(40)) / 3;
                    let clicks = impressions.min(u64::from(draw(5)));
                    Cell { query, doc: draw(most), position: 1 + draw(12), user: draw(most), impressions, clicks }
                })
                .collect();
            cells.push(Cell { query, doc: query % most, position: 1, user: query % most, impressions: 1, clicks: 0 });
            cells.sort();
            cells.dedup_by_key(|cell| (cell.query, cell.doc, cell.position, cell.user));
            for user in 0..most {
                let seen = cells.iter().filter(|cell| cell.user == user).map(|cell| cell.impressions).max();
                // Some sessions without a cell, too.
                if let Some(sessions) = seen.or((draw(50) == 0).then_some(0)) {
                    let sessions = sessions.max(1) + u64::from(draw(3));
                    counts.sessions.push(SessionCount { query, user, sessions });
                }
            }
            counts.cells.extend(cells);
        }
        let ids = |count: u32| if text { texts(count as usize) } else { Ids::numbered(count as usize) };
        let used = |value: fn(&Cell) -> u32| counts.cells.iter().map(value).max().unwrap_or(0) + 1;
        let users = counts.sessions.iter().map(|count| count.user).max().unwrap_or(0) + 1;
        Counts { queries: ids(queries), docs: ids(used(|cell| cell.doc)), users: ids(users), ..counts }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn any_counts_are_the_same_on_disk(queries in 41u32..120, text: bool, seed: u64) {
            let counts = drawn(queries, text, seed);
            let stored = stored(&counts);
            // Ids that stand nowhere are not in the folder: the numbers of the others would differ.
            prop_assume!(stored.docs().len() == counts.docs.len() && stored.users().len() == counts.users.len());
            let held: &dyn CountsView = &counts;
            prop_assert_eq!((stored.queries(), stored.docs(), stored.users()), (held.queries(), held.docs(), held.users()));
            prop_assert_eq!(stored.totals(), held.totals());
            prop_assert_eq!(stored.sessions_per_query(), held.sessions_per_query());
            prop_assert_eq!(stored.sessions_per_user(), held.sessions_per_user());
            prop_assert_eq!(stored.blocks(), held.blocks());
            prop_assert!(stored.blocks().len() > 2);
            for block in stored.blocks() {
                prop_assert_eq!(stored.cells(&block).unwrap(), held.cells(&block).unwrap());
                prop_assert_eq!(stored.sessions(&block).unwrap(), held.sessions(&block).unwrap());
            }
        }

        #[test]
        fn other_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..100), count in 0usize..40) {
            let _ = (decode_cells(&bytes, count), decode_sessions(&bytes, count));
        }
    }

    /// What both ways of reading say about a folder that `damage` was done to.
    fn refused(counts: &Counts, damage: impl Fn(&Path)) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("counts");
        counts.write(&path).unwrap();
        damage(&path);
        let held = Counts::read(&path).unwrap_err().to_string();
        assert_eq!(StoredCounts::open(&path, &little()).err().unwrap().to_string(), held);
        assert_eq!(open_counts(&path, &little(), Need::Cells).err().unwrap().to_string(), held);
        held
    }

    #[test]
    fn counts_that_are_not_whole_are_refused_alike() {
        let good = drawn(60, false, 3);
        for at in [1, 300, good.cells.len() - 1] {
            let mut bad = good.clone();
            bad.cells.swap(at - 1, at);
            assert!(refused(&bad, |_| ()).contains("rows are sorted by query, doc, position, user, each once"));
            // A fault of another kind before it is told after it.
            bad.cells[0].clicks = bad.cells[0].impressions + 1;
            assert!(refused(&bad, |_| ()).contains("rows are sorted by query"));
            let mut bad = good.clone();
            bad.cells[at].clicks = bad.cells[at].impressions + 1;
            assert!(refused(&bad, |_| ()).contains(&format!("row {}: has ", at + 1)));
            let mut bad = good.clone();
            bad.cells[at].impressions = 1 << 50;
            assert!(refused(&bad, |_| ()).contains("but a cell of theirs has 1125899906842624 impressions"));
        }
        for at in [1, 200, good.sessions.len() - 1] {
            let mut bad = good.clone();
            bad.sessions.swap(at - 1, at);
            assert!(refused(&bad, |_| ()).contains("rows are sorted by query, user, each once"));
            let mut bad = good.clone();
            bad.sessions[at].sessions = 0;
            assert!(refused(&bad, |_| ()).contains(&format!("row {}: sessions is 0", at + 1)));
            let mut bad = good.clone();
            bad.sessions.truncate(at);
            assert!(refused(&bad, |_| ()).contains("has 0 sessions of query"));
        }
    }

    #[test]
    fn folders_that_are_not_whole_are_refused_alike() {
        let mut good = drawn(20, true, 5);
        let edit = |name: &'static str, edit: &dyn Fn(Vec<u8>) -> Vec<u8>| {
            refused(&good, |folder| {
                let path = folder.join(name);
                std::fs::write(&path, edit(std::fs::read(&path).unwrap())).unwrap();
            })
        };
        for name in ["cells.parquet", "sessions.parquet", "meta.json"] {
            edit(name, &|bytes| bytes[..bytes.len() / 2].to_vec());
            edit(name, &|_| Vec::new());
            refused(&good, |folder| std::fs::remove_file(folder.join(name)).unwrap());
        }
        let meta = |from: &str, to: &str| {
            let (from, to) = (from.to_string(), to.to_string());
            edit("meta.json", &move |bytes| {
                let text = String::from_utf8(bytes).unwrap().replacen(&from, &to, 1);
                let (fields, _) = text.split_once(",\n  \"truerank.seal\"").unwrap();
                format!("{fields}\n}}\n").into_bytes()
            })
        };
        let damaged = edit("meta.json", &|bytes| String::from_utf8(bytes).unwrap().replacen('1', "7", 1).into_bytes());
        assert!(damaged.contains("meta.json: was damaged or changed since it was written: its seal does not fit"));
        assert!(meta("\"clicks\": ", "\"clicks\": 1").contains("meta.json says clicks 1"));
        assert!(meta("\"docs\": ", "\"docs\": 7").contains("meta.json says docs 7"));
        assert!(meta("\"version\": 1", "\"version\": 9").contains("version 9"));
        let shown = vec![Shown { position: 1, doc: 0, click: false }];
        let patterns = vec![Pattern { query: 0, user: 0, shown: 0..1, sessions: 1 }];
        good.patterns = Some(Patterns { patterns, shown });
        assert!(refused(&good, |_| ()).contains("patterns.parquet: has 1 sessions, but sessions.parquet has"));
    }

    /// A log's counts with its pages and patterns.
    fn with_pages() -> Counts {
        let mut random = stream(7, "test", 0);
        let rows = (0..400u64).flat_map(|row| {
            let (session, position) = (row / 4, 1 + (row % 4) as u32);
            let (user, query, doc) = ((session % 3) as u32, (session % 7) as u32, 10 * (session % 7) as u32 + position);
            [crate::log::Impression { session, user, query, doc, position, click: random.random_range(0..4) == 0 }]
        });
        let log = crate::log::Log {
            users: texts(3),
            queries: Ids::numbered(7),
            docs: Ids::numbered(70),
            impressions: rows.collect(),
        };
        let options = crate::counts::CountOptions::new().patterns(true).transitions(true);
        crate::counts::count_log(&log, &options).unwrap().0
    }

    #[test]
    fn pages_that_do_not_belong_to_their_cells_are_refused_alike() {
        let good = with_pages();
        let damaged = |damage: &dyn Fn(&mut Pages)| {
            let mut bad = good.clone();
            damage(bad.pages.as_mut().unwrap());
            refused(&bad, |_| ())
        };
        let message = damaged(&|pages| pages.shown[3].position = 900);
        assert!(message.contains("pages.parquet: row 1: a position is 900, but positions go from 1 to 4"), "{message}");
        let message = damaged(&|pages| pages.shown[3].doc = 0);
        assert!(message.contains("row 1: shows document '") && message.contains("count the log again"), "{message}");
        let message = damaged(&|pages| pages.shown.iter_mut().for_each(|shown| shown.click = true));
        assert!(message.contains("clicks document '"), "{message}");
        let message = damaged(&|pages| pages.shown.swap(0, 3));
        assert!(message.contains("documents in the order of their positions"), "{message}");
        let message = damaged(&|pages| pages.pages.swap(0, 99));
        assert!(message.contains("rows are sorted by query, user, positions"), "{message}");
        let mut bad = good.clone();
        bad.cells.retain(|cell| cell.query < 6);
        bad.sessions.retain(|count| count.query < 6);
        let message = refused(&bad, |_| ());
        assert!(message.contains("pages.parquet: row ") && message.contains(" of query '7' "), "{message}");
        let message = damaged(&|pages| {
            let last = pages.pages[99].clone();
            pages.pages.push(last);
        });
        assert!(message.contains("pages.parquet: row 101: ") && message.contains("has no such count"), "{message}");
    }

    #[test]
    fn transitions_are_the_same_on_disk_and_those_of_the_pages() {
        let counts = with_pages();
        let whole = counts.transitions.clone().unwrap();
        // All pages are kept, so they say what transitions there are.
        assert_eq!(whole, Transitions::of_pages(counts.pages.as_ref().unwrap()));
        let stored = stored(&counts);
        // How many patterns there are is not known there: they are not kept.
        let totals = Totals { patterns: None, ..CountsView::totals(&counts) };
        assert_eq!((stored.totals(), stored.blocks()), (totals, counts.blocks()));
        let mut sum = Transitions::default();
        for block in stored.blocks() {
            let of_block = stored.transitions(&block).unwrap().unwrap();
            assert_eq!(of_block, CountsView::transitions(&counts, &block).unwrap().unwrap());
            sum.append(&of_block);
        }
        assert_eq!(sum, whole);
        let without = Counts { transitions: None, ..counts };
        let held = CountsView::transitions(&without, &without.blocks()[0]).unwrap();
        assert!(held.is_none() && self::stored(&without).transitions(&without.blocks()[0]).unwrap().is_none());
    }

    #[test]
    fn transitions_that_do_not_belong_to_their_cells_are_refused_alike() {
        let good = with_pages();
        let damaged = |damage: &dyn Fn(&mut Transitions)| {
            let mut bad = good.clone();
            damage(bad.transitions.as_mut().unwrap());
            refused(&bad, |_| ())
        };
        let contains = |message: String, part: &str| assert!(message.contains(part), "{message}");
        let message = damaged(&|all| all.shown[3].position = 900);
        contains(message, "lists.parquet: row 1: a position is 900, but positions go from 1 to 4");
        contains(damaged(&|all| all.shown.swap(0, 3)), "lists.parquet: row 1: does not show one document at each");
        contains(damaged(&|all| all.shown[3].doc = 0), "other counts of query '1' than cells.parquet has");
        contains(damaged(&|all| all.rows.swap(0, 1)), "transitions.parquet: row 2: does not come after the row");
        contains(damaged(&|all| all.rows[0].sessions = 0), "row 1: goes to or from a position that its list does");
        contains(damaged(&|all| all.rows[0].sessions += 1), "transitions.parquet: ");
        contains(damaged(&|all| _ = all.rows.pop()), "transitions.parquet: ");
        let twice = damaged(&|all| all.rows.iter_mut().for_each(|row| row.sessions *= 2));
        contains(twice, "transitions.parquet: adds up to other counts of query '1' than cells.parquet has");
        let moved = damaged(&|all| all.lists.iter_mut().for_each(|list| list.query = list.query.max(1)));
        contains(moved, "lists.parquet: row 1: should be of query '1', whose sessions come next");
        let fewer = |folder: &Path| {
            let meta = std::fs::read_to_string(folder.join("meta.json")).unwrap();
            let (fields, _) = meta.split_once(",\n  \"truerank.seal\"").unwrap();
            let other = fields.replacen("\"lists\": ", "\"lists\": 1", 1);
            std::fs::write(folder.join("meta.json"), format!("{other}\n}}\n")).unwrap();
        };
        contains(refused(&good, fewer), "lists.parquet: has 7 rows, but meta.json says 17; count the log again");
        for name in ["lists.parquet", "transitions.parquet"] {
            refused(&good, |folder| std::fs::remove_file(folder.join(name)).unwrap());
        }
    }

    #[test]
    fn patterns_that_do_not_belong_to_their_cells_are_refused() {
        let good = with_pages();
        let refusal = |damage: &dyn Fn(&mut Patterns)| {
            let mut bad = good.clone();
            damage(bad.patterns.as_mut().unwrap());
            let folder = tempfile::tempdir().unwrap();
            bad.write(&folder.path().join("counts")).unwrap();
            Counts::read(&folder.path().join("counts")).unwrap_err().to_string()
        };
        assert!(refusal(&|patterns| patterns.shown[3].position = 900).contains("row 1: a position is 900"));
        let message = refusal(&|patterns| patterns.shown[3].doc = 0);
        assert!(message.contains("of query '1' at position 4 for user 'ü 0000', but cells.parquet has "), "{message}");
        let message = refusal(&|patterns| patterns.shown[3].click = !patterns.shown[3].click);
        assert!(message.contains("patterns.parquet"), "{message}");
        assert!(refusal(&|patterns| patterns.patterns.swap(0, 1)).contains("row 2: does not come after"));
    }

    #[test]
    fn sums_that_overflow_and_positions_past_the_last_are_refused_alike() {
        let good = drawn(60, false, 3);
        let mut bad = good.clone();
        bad.sessions[0].sessions = 1 << 61;
        assert!(refused(&bad, |_| ()).contains("sessions.parquet: counts add up to more than 2^60"));
        let mut bad = good.clone();
        let cell = bad.cells.last_mut().unwrap();
        cell.position = u32::MAX >> 1;
        assert!(refused(&bad, |_| ()).contains("position is 2147483647, but positions go up to 100000"));
    }

    #[test]
    fn what_fits_is_held_and_what_does_not_is_refused_or_stored() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("counts");
        drawn(100, false, 1).write(&path).unwrap();
        let plenty = Room::new(Memory::new(1 << 30));
        // About 3,000 cells: 40 bytes each are less than 1 MiB, and 120 too.
        let least = Room::new(Memory::new(1000));
        assert!(open_counts(&path, &plenty, Need::Estimation).unwrap().room().is_none());
        assert!(open_counts(&path, &least, Need::Cells).unwrap().room().is_some());
        assert!(held_counts(&path, &plenty, Need::Estimation).is_ok());
        let message = held_counts(&path, &least, Need::Estimation).unwrap_err().to_string();
        assert!(message.contains("but `memory` is 1000B; raise it, or use a method"), "{message}");
        let missing = folder.path().join("missing");
        let message = StoredCounts::open(&path, &least.temporary(&missing)).err().unwrap().to_string();
        assert_eq!(message, format!("{}: no such folder for temporary files; create it first", missing.display()));
    }
}
