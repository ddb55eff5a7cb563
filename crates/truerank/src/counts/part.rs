//! Parts of counts, wherever these are kept: a view and what to keep of it enter; counts in memory, or a view that lies where the
//! whole does, leave. Ids that do not occur in a part are left out there.

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::folder::is_counts_file;
use super::model::{Cell, Counts, Pattern, Patterns, SessionCount};
use super::pages::{Page, Pages};
use super::partition::Beside;
use super::record::Batch;
use super::stored::StoredCounts;
use super::tables::{NumberedIds, Renumber};
use super::transitions::Transitions;
use super::used::UsedIds;
use super::view::{Block, CountsView, Totals};
use super::writer::{FolderWriter, Names};
use crate::files::{Room, write_folder};
use crate::ids::Ids;
use crate::{Error, Result};

/// A part of counts.
pub(crate) struct Part<'a> {
    whole: &'a dyn CountsView,
    /// Whether each query is in it; all are, where nothing is said.
    queries: Option<Vec<bool>>,
    /// What the last position is, where the part ends there.
    last: Option<u32>,
    /// Pages that are not in it.
    without: Option<PageCounts>,
    pages: Option<Pages>,
    patterns: Option<&'a Patterns>,
    /// The transitions, where they are not those of the whole.
    transitions: Option<Transitions>,
    /// Whether transitions are left away.
    no_transitions: AtomicBool,
}

/// What whole pages add up to.
struct PageCounts {
    cells: Vec<Cell>,
    sessions: Vec<SessionCount>,
    transitions: Transitions,
}

impl<'a> Part<'a> {
    /// All of it, but for click patterns.
    pub fn all(whole: &'a dyn CountsView) -> Self {
        Part {
            whole,
            queries: None,
            last: None,
            without: None,
            pages: whole.pages().cloned(),
            patterns: None,
            transitions: None,
            no_transitions: AtomicBool::new(!has_transitions(whole)),
        }
    }

    /// The queries for which `keep`, which has an entry for each, is true.
    pub fn queries(whole: &'a dyn CountsView, keep: Vec<bool>) -> Self {
        let pages = whole.pages().map(|pages| pages.kept(|page| keep[page.query as usize]));
        Part { pages, queries: Some(keep), ..Part::all(whole) }
    }

    /// What is left without some of the whole pages that the counts keep.
    pub fn without_pages(whole: &'a dyn CountsView, taken: &Pages, left: Pages) -> Self {
        let (cells, sessions) = taken.counted();
        let without = Some(PageCounts { cells, sessions, transitions: Transitions::of_pages(taken) });
        Part { without, pages: Some(left), ..Part::all(whole) }
    }

    /// With these click patterns of the whole.
    pub fn with_patterns(self, patterns: Option<&'a Patterns>) -> Self {
        Part { patterns, ..self }
    }

    /// Without what stands deeper than `last`. Transitions are left away where nothing would be left of a list.
    pub fn cut_below(self, last: u32) -> Self {
        Part { last: Some(last), pages: self.pages.map(|pages| pages.cut_below(last)), ..self }
    }

    /// With the transitions of the whole pages, where there are no others; all pages must have been kept.
    pub fn with_transitions_of_pages(self) -> Self {
        let transitions = self.pages.as_ref().map(Transitions::of_pages);
        Part { no_transitions: AtomicBool::new(transitions.is_none()), transitions, ..self }
    }

    /// In memory.
    pub fn counts(self) -> Result<Counts> {
        let (names, renumber) = self.used()?;
        let mut all = Batch::default();
        self.for_each(&renumber, |batch| {
            all.append(&batch);
            Ok(())
        })?;
        let transitions = self.has_transitions().then_some(all.transitions);
        let mut pages = self.pages;
        pages.iter_mut().for_each(|pages| renumber.renumber_pages(pages));
        let mut patterns = self.patterns.map(|patterns| patterns.of_queries(&self.queries));
        patterns.iter_mut().for_each(|patterns| renumber.renumber_patterns(patterns));
        let NumberedIds { queries, docs, users, contexts } = names;
        let (cells, sessions, origin) = (all.cells, all.sessions, self.whole.origin().clone());
        Ok(Counts { queries, docs, users, contexts, cells, sessions, patterns, transitions, pages, origin })
    }

    /// Where the whole is, in memory or in a temporary file; without click patterns.
    pub fn view(self) -> Result<Arc<dyn CountsView>> {
        match self.whole.room() {
            None => Ok(Arc::new(Part { patterns: None, ..self }.counts()?)),
            Some(room) => Ok(Arc::new(self.stored(room)?)),
        }
    }

    fn stored(self, room: &Room) -> Result<StoredCounts> {
        let (names, renumber) = self.used()?;
        let folder = room.temporary_folder()?;
        let counts = folder.path().join("counts");
        write_folder(&counts, is_counts_file, |folder| {
            let beside = Beside { transitions: self.has_transitions(), ..Beside::default() };
            let mut writer =
                FolderWriter::create(folder, Names::of(&names), beside)?.origin(self.whole.origin().clone());
            let mut pages = self.pages.clone();
            pages.iter_mut().for_each(|pages| renumber.renumber_pages(pages));
            pages.iter().try_for_each(|pages| writer.write_pages(pages))?;
            self.for_each(&renumber, |batch| writer.push(&batch))?;
            writer.finish()
        })?;
        StoredCounts::open(&counts, room)
    }

    fn has_transitions(&self) -> bool {
        !self.no_transitions.load(Ordering::Relaxed)
    }

    /// The ids that occur, and their numbers. Whether transitions can be kept is known from here on.
    fn used(&self) -> Result<(NumberedIds, Renumber)> {
        let whole = self.whole;
        let (queries, docs, users) = (whole.queries().clone(), whole.docs().clone(), whole.users().clone());
        let mut names = NumberedIds { queries, docs, users, contexts: whole.contexts().clone() };
        let used = UsedIds::none_of(&names);
        let mark = |block: &Block| {
            used.mark(&self.of_block(block)?);
            Ok(())
        };
        whole.in_order(mark, |()| ())?;
        if self.without.is_some() || !self.has_transitions() {
            names.contexts = Ids::default();
        }
        Ok(used.select(names))
    }

    /// Hands what is in the part to `take`, some queries at a time, with new numbers.
    fn for_each(&self, renumber: &Renumber, mut take: impl FnMut(Batch) -> Result<()>) -> Result<()> {
        let made = |block: &Block| {
            let mut batch = self.of_block(block)?;
            renumber.renumber(&mut batch);
            Ok(batch)
        };
        let mut outcome = Ok(());
        self.whole.in_order(made, |batch| {
            if outcome.is_ok() {
                outcome = take(batch);
            }
        })?;
        outcome
    }

    fn of_block(&self, block: &Block) -> Result<Batch> {
        let mut batch = Batch {
            cells: self.whole.cells(block)?.into_owned(),
            sessions: self.whole.sessions(block)?.into_owned(),
            ..Batch::default()
        };
        let range = queries_of(&batch);
        if self.has_transitions() {
            batch.transitions = self.transitions_of(block, &range)?;
        }
        if let Some(keep) = &self.queries {
            batch.cells.retain(|cell| keep[cell.query as usize]);
            batch.sessions.retain(|count| keep[count.query as usize]);
            batch.transitions = batch.transitions.kept(|list| keep[list.query as usize]);
        }
        if let Some(without) = &self.without {
            without.take_from(&mut batch, &range, self.has_transitions())?;
        }
        if let Some(last) = self.last {
            batch.cells.retain(|cell| cell.position <= last);
            match std::mem::take(&mut batch.transitions).cut_below(last) {
                Some(transitions) => batch.transitions = transitions,
                None => self.no_transitions.store(true, Ordering::Relaxed),
            }
        }
        Ok(batch)
    }

    /// The transitions of a block. Whole pages do not know what they were shown in, so where some are taken, contexts are forgotten.
    fn transitions_of(&self, block: &Block, range: &RangeInclusive<u32>) -> Result<Transitions> {
        if let Some(transitions) = &self.transitions {
            return Ok(transitions.of_queries(*range.start(), *range.end()));
        }
        let all = self.whole.transitions(block)?.map(Cow::into_owned).unwrap_or_default();
        let forgets = self.without.is_some() && !self.whole.contexts().is_empty();
        Ok(if forgets { all.without_contexts() } else { all })
    }
}

/// The queries of a block, the first and the last.
fn queries_of(batch: &Batch) -> RangeInclusive<u32> {
    let ends = [
        batch.cells.first().map(|cell| cell.query),
        batch.cells.last().map(|cell| cell.query),
        batch.sessions.first().map(|count| count.query),
        batch.sessions.last().map(|count| count.query),
    ];
    let ends = || ends.into_iter().flatten();
    ends().min().unwrap_or(0)..=ends().max().unwrap_or(0)
}

impl PageCounts {
    fn take_from(&self, batch: &mut Batch, range: &RangeInclusive<u32>, transitions: bool) -> Result<()> {
        batch.cells = less_cells(&batch.cells, within(&self.cells, range, |cell| cell.query));
        batch.sessions = less_sessions(&batch.sessions, within(&self.sessions, range, |count| count.query));
        if transitions {
            let taken = self.transitions.of_queries(*range.start(), *range.end());
            let finding = "the result pages of these counts are not among their click transitions; count the log again";
            batch.transitions = batch.transitions.less(&taken).ok_or_else(|| Error::parameter(finding))?;
        }
        Ok(())
    }
}

/// The rows of some queries, of rows in the order of queries.
fn within<'r, T>(rows: &'r [T], range: &RangeInclusive<u32>, query: impl Fn(&T) -> u32) -> &'r [T] {
    let start = rows.partition_point(|row| query(row) < *range.start());
    let end = rows.partition_point(|row| query(row) <= *range.end());
    &rows[start..end.max(start)]
}

/// The cells without those of some pages; both are sorted, and the latter are among the former.
fn less_cells(all: &[Cell], some: &[Cell]) -> Vec<Cell> {
    let key = |cell: &Cell| (cell.query, cell.doc, cell.position, cell.user);
    let mut some = some.iter().peekable();
    let less = |cell: &Cell| {
        let taken =
            some.next_if(|taken| key(taken) == key(cell)).map_or((0, 0), |cell| (cell.impressions, cell.clicks));
        Cell { impressions: cell.impressions - taken.0, clicks: cell.clicks - taken.1, ..*cell }
    };
    all.iter().map(less).filter(|cell| cell.impressions > 0).collect()
}

fn less_sessions(all: &[SessionCount], some: &[SessionCount]) -> Vec<SessionCount> {
    let key = |count: &SessionCount| (count.query, count.user);
    let mut some = some.iter().peekable();
    let less = |count: &SessionCount| {
        let taken = some.next_if(|taken| key(taken) == key(count)).map_or(0, |count| count.sessions);
        SessionCount { sessions: count.sessions - taken, ..*count }
    };
    all.iter().map(less).filter(|count| count.sessions > 0).collect()
}

fn has_transitions(view: &dyn CountsView) -> bool {
    view.totals().transitions.is_some()
}

impl dyn CountsView + '_ {
    /// Writes the counts to a folder, which appears only when it is complete; as [`Counts::write`] does, but for click patterns, and
    /// for transitions where these are not wanted.
    pub fn write(&self, folder: &Path, transitions: bool) -> Result<Totals> {
        write_folder(folder, is_counts_file, |folder| {
            let names =
                Names { queries: self.queries(), docs: self.docs(), users: self.users(), contexts: self.contexts() };
            let transitions = transitions && has_transitions(self);
            let beside = Beside { transitions, ..Beside::default() };
            let mut writer = FolderWriter::create(folder, names, beside)?.origin(self.origin().clone());
            self.pages().map_or(Ok(()), |pages| writer.write_pages(pages))?;
            for block in self.blocks() {
                writer.push_cells(&self.cells(&block)?)?;
                writer.push_sessions(&self.sessions(&block)?)?;
                if let Some(rows) = self.transitions(&block)?.filter(|_| transitions) {
                    writer.push_transitions(&rows)?;
                }
            }
            writer.finish()
        })
    }

    /// Whether every page is kept whole, with one document at a position: then they say what transitions there are.
    pub(crate) fn has_all_pages(&self) -> bool {
        let Some(pages) = self.pages() else { return false };
        let is_plain = |page: &Page| pages.of(page).windows(2).all(|two| two[0].position < two[1].position);
        pages.pages.len() as u64 == self.totals().sessions && pages.pages.iter().all(is_plain)
    }
}

impl Patterns {
    /// Those of the queries that are kept.
    fn of_queries(&self, keep: &Option<Vec<bool>>) -> Patterns {
        let mut kept = Patterns::default();
        let keeps = |pattern: &&Pattern| keep.as_ref().is_none_or(|keep| keep[pattern.query as usize]);
        for pattern in self.patterns.iter().filter(keeps) {
            let page = self.shown[pattern.shown.clone()].to_vec();
            kept.push(pattern.query, pattern.user, &page, pattern.sessions);
        }
        kept
    }
}

impl Pages {
    /// Those for which `keep` is true.
    pub(super) fn kept(&self, keep: impl Fn(&Page) -> bool) -> Pages {
        let mut kept = Pages::default();
        self.pages.iter().filter(|page| keep(page)).for_each(|page| kept.push_of(self, page));
        kept
    }
}
