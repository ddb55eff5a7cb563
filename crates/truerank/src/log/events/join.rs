//! Result pages and clicks: rows of events enter, pages whose documents know their clicks leave.

use std::collections::HashMap;

use super::summary::EventSummary;
use crate::Result;
use crate::ids::{Ids, Interner};
use crate::log::load::number;
use crate::log::read::Piece;
use crate::log::rows::{IdColumn, Part, Rows, Trace};

/// Rows handed over at a time.
const ROWS: usize = 1 << 18;

/// All pages and clicks so far.
#[derive(Default)]
pub(super) struct Pages {
    users: Interner,
    queries: Interner,
    docs: Interner,
    pages: Vec<Page>,
    clicks: Vec<Click>,
    /// Pages whose documents come in rows of their own, by session, query and user.
    open: HashMap<(u64, u32, u32), usize>,
    /// Records so far.
    records: u64,
    /// Whether rows are in their order even where they have no times.
    is_ordered: bool,
    /// Whether some rows have no time.
    lacks_times: bool,
    traces: Traces,
    summary: EventSummary,
}

/// Where each document of each page stands, by the page's number and the document, and in which file; empty where places
/// are not asked for.
type Traces = HashMap<(u32, u32), (usize, Trace)>;

/// One result page.
struct Page {
    /// How many pages came before it.
    number: u32,
    session: u64,
    user: u32,
    query: u32,
    moment: Moment,
    docs: Vec<Shown>,
}

/// A document of a page.
struct Shown {
    doc: u32,
    position: u32,
    click: bool,
}

/// A click that looks for its page.
struct Click {
    session: u64,
    doc: u32,
    /// None where the event does not tell.
    query: Option<u32>,
    moment: Moment,
}

/// When something happened: its time, and its place among the records.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Moment {
    time: i64,
    record: u64,
}

/// Why a click has no page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NoPage {
    UnknownSession,
    OffPage,
    SeveralPages,
}

impl Pages {
    pub fn new(is_ordered: bool) -> Self {
        Pages { is_ordered, ..Pages::default() }
    }

    /// Takes in events, in the order of the log.
    pub fn add(&mut self, piece: &Piece) {
        let rows = &piece.rows;
        for (name, count) in &rows.others {
            *self.summary.others.entry(name.clone()).or_default() += count;
        }
        self.lacks_times |= rows.times.is_empty() && rows.len() > 0;
        for row in 0..rows.len() {
            let moment = Moment { time: rows.times.get(row).copied().unwrap_or(0), record: self.records };
            let is_same_page = row > 0 && rows.parts[row] == rows.parts[row - 1];
            match rows.parts[row] {
                Part::Page(_) if is_same_page => self.show(self.pages.len() - 1, piece, row),
                Part::Page(_) => {
                    let page = self.start_page(rows, row, moment);
                    self.show(page, piece, row);
                }
                Part::Shown => self.add_shown(piece, row, moment),
                Part::Click { has_query } => self.add_click(rows, row, moment, has_query),
            }
            self.records += 1;
        }
    }

    fn start_page(&mut self, rows: &Rows, row: usize, moment: Moment) -> usize {
        let user = number(&rows.users, row, &mut self.users);
        let query = number(&rows.queries, row, &mut self.queries);
        let number = self.pages.len();
        let session = rows.sessions[row];
        self.pages.push(Page { number: number as u32, session, user, query, moment, docs: Vec::new() });
        number
    }

    /// Rows of one document make a page of all that a session shows for a query.
    fn add_shown(&mut self, piece: &Piece, row: usize, moment: Moment) {
        let rows = &piece.rows;
        let user = number(&rows.users, row, &mut self.users);
        let query = number(&rows.queries, row, &mut self.queries);
        let key = (rows.sessions[row], query, user);
        let page = match self.open.get(&key) {
            Some(&page) => page,
            None => self.start_page(rows, row, moment),
        };
        self.open.insert(key, page);
        self.pages[page].moment = self.pages[page].moment.min(moment);
        self.show(page, piece, row);
    }

    /// A document that is there twice stays where it is nearest to the top, whatever the order of rows.
    fn show(&mut self, page: usize, piece: &Piece, row: usize) {
        let rows = &piece.rows;
        let doc = number(&rows.docs, row, &mut self.docs);
        let (position, docs) = (rows.positions[row], &mut self.pages[page].docs);
        let stays = match docs.iter_mut().find(|shown| shown.doc == doc) {
            Some(shown) => {
                self.summary.repeated_docs += 1;
                let is_nearer = position < shown.position;
                shown.position = shown.position.min(position);
                is_nearer
            }
            None => {
                docs.push(Shown { doc, position, click: false });
                true
            }
        };
        if let Some(trace) = rows.traces.get(row).filter(|_| stays) {
            self.traces.insert((self.pages[page].number, doc), (piece.part, trace.clone()));
        }
    }

    fn add_click(&mut self, rows: &Rows, row: usize, moment: Moment, has_query: bool) {
        let doc = number(&rows.docs, row, &mut self.docs);
        let query = has_query.then(|| number(&rows.queries, row, &mut self.queries));
        self.clicks.push(Click { session: rows.sessions[row], doc, query, moment });
    }

    /// The pages with their clicks, and what was left out.
    pub fn join(mut self) -> (Joined, EventSummary) {
        if self.lacks_times {
            self.pages.iter_mut().for_each(|page| page.moment.time = 0);
            self.clicks.iter_mut().for_each(|click| click.moment.time = 0);
        }
        self.pages.sort_unstable_by_key(|page| (page.session, page.moment));
        let clicks = std::mem::take(&mut self.clicks);
        clicks.iter().for_each(|click| self.place(click));
        self.summary.pages = self.pages.len() as u64;
        self.summary.clicks = clicks.len() as u64;
        let (users, queries, docs) = (self.users.into_ids(), self.queries.into_ids(), self.docs.into_ids());
        (Joined { users, queries, docs, pages: self.pages, traces: self.traces }, self.summary)
    }

    fn place(&mut self, click: &Click) {
        let start = self.pages.partition_point(|page| page.session < click.session);
        let count = self.pages[start..].partition_point(|page| page.session == click.session);
        let session = &mut self.pages[start..start + count];
        match page_of(session, click, !self.lacks_times, self.is_ordered) {
            Ok(page) => {
                session[page]
                    .docs
                    .iter_mut()
                    .filter(|shown| shown.doc == click.doc)
                    .for_each(|shown| shown.click = true);
                self.summary.joined += 1;
            }
            Err(NoPage::UnknownSession) => self.summary.clicks_of_unknown_sessions += 1,
            Err(NoPage::OffPage) => self.summary.clicks_off_page += 1,
            Err(NoPage::SeveralPages) => self.summary.clicks_of_several_pages += 1,
        }
    }
}

/// The page of a session, whose pages are sorted, that a click is on: the last one before it that shows the document.
///
/// Without times, rows of a log that is not ordered may stand anywhere: then the only page that shows it will do.
fn page_of(session: &[Page], click: &Click, has_times: bool, is_ordered: bool) -> Result<usize, NoPage> {
    if session.is_empty() {
        return Err(NoPage::UnknownSession);
    }
    let shows = |page: &Page| {
        click.query.is_none_or(|query| query == page.query) && page.docs.iter().any(|shown| shown.doc == click.doc)
    };
    let is_before = |page: &Page| match has_times {
        // A click may come in the same second, and its row first.
        true => page.moment.time <= click.moment.time,
        false => page.moment < click.moment,
    };
    if let Some(page) = session.iter().rposition(|page| is_before(page) && shows(page)) {
        return Ok(page);
    }
    let mut later = (0..session.len()).filter(|&page| !has_times && !is_ordered && shows(&session[page]));
    match (later.next(), later.next()) {
        (Some(page), None) => Ok(page),
        (None, _) => Err(NoPage::OffPage),
        (Some(_), Some(_)) => Err(NoPage::SeveralPages),
    }
}

/// Pages with their clicks, sorted by session and time.
pub(super) struct Joined {
    users: Ids,
    queries: Ids,
    docs: Ids,
    pages: Vec<Page>,
    traces: Traces,
}

impl Joined {
    /// Hands over the impressions in numbered pieces; each page is a session of its own.
    ///
    /// A piece has rows of one file alone where places are asked for, else of any.
    pub fn for_each_rows(self, with_times: bool, mut take: impl FnMut(Piece) -> Result<()>) -> Result<()> {
        let mut piece = Piece { number: 0, part: 0, rows: Rows::default() };
        for (session, page) in self.pages.iter().enumerate() {
            for shown in &page.docs {
                let trace = self.traces.get(&(page.number, shown.doc));
                let part = trace.map_or(piece.part, |&(part, _)| part);
                if piece.rows.len() >= ROWS || part != piece.part {
                    let next = Piece { number: piece.number + 1, part, rows: Rows::default() };
                    take(std::mem::replace(&mut piece, next))?;
                }
                self.push(&mut piece.rows, session as u64, page, shown, with_times);
                piece.rows.traces.extend(trace.map(|(_, trace)| trace.clone()));
            }
        }
        if piece.rows.len() > 0 { take(piece) } else { Ok(()) }
    }

    fn push(&self, rows: &mut Rows, session: u64, page: &Page, shown: &Shown, with_times: bool) {
        rows.sessions.push(session);
        push_id(&mut rows.users, &self.users, page.user);
        push_id(&mut rows.queries, &self.queries, page.query);
        push_id(&mut rows.docs, &self.docs, shown.doc);
        rows.positions.push(shown.position);
        rows.clicks.push(shown.click);
        rows.times.extend(with_times.then_some(page.moment.time));
    }
}

fn push_id(column: &mut IdColumn, ids: &Ids, number: u32) {
    let code = match ids {
        Ids::Integers(values) => column.code_of_integer(values[number as usize]),
        Ids::Texts(_) => column.code_of_text(&ids.name(number as usize)),
    };
    column.codes.push(code);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What docs/logs.md says of memory.
    #[test]
    fn pages_and_clicks_are_small() {
        assert_eq!([size_of::<Shown>(), size_of::<Page>(), size_of::<Click>()], [12, 64, 40]);
    }
}
