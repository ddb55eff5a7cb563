//! Takes counts away from others, query by query; what would be below zero is an error that names it.

use super::folders::Folders;
use crate::counts::merge::Merge;
use crate::counts::model::{Cell, Pattern, Patterns, SessionCount, Shown};
use crate::counts::record::Batch;
use crate::counts::tables::NumberedIds;
use crate::{Error, Result};

/// Counts by their ids, and the folders they come from.
pub(super) struct Less<'a> {
    pub names: &'a NumberedIds,
    pub folders: &'a Folders,
}

impl Less<'_> {
    /// Hands what is left of every query to `take`, in order; queries of which nothing is left are gone.
    pub fn for_each(
        &self,
        plus: &mut Merge<'_>,
        minus: &mut Merge<'_>,
        mut take: impl FnMut(u32, &Batch) -> Result<()>,
    ) -> Result<()> {
        let (mut all, mut some) = (Batch::default(), Batch::default());
        let mut next = minus.read_query(&mut some)?;
        while let Some(query) = plus.read_query(&mut all)? {
            if let Some(missing) = next.filter(|&missing| missing < query) {
                return Err(self.missing(missing));
            }
            if next == Some(query) {
                all = self.less(query, &all, &some)?;
                some.clear();
                next = minus.read_query(&mut some)?;
            }
            if !all.is_empty() {
                take(query, &all)?;
            }
            all.clear();
        }
        next.map_or(Ok(()), |missing| Err(self.missing(missing)))
    }

    fn less(&self, query: u32, all: &Batch, some: &Batch) -> Result<Batch> {
        Ok(Batch {
            cells: self.less_cells(&all.cells, &some.cells)?,
            sessions: self.less_sessions(&all.sessions, &some.sessions)?,
            patterns: less_patterns(&all.patterns, &some.patterns)
                .ok_or_else(|| self.refused(query, "click patterns"))?,
            transitions: all
                .transitions
                .less(&some.transitions)
                .ok_or_else(|| self.refused(query, "click transitions"))?,
        })
    }

    fn less_cells(&self, all: &[Cell], some: &[Cell]) -> Result<Vec<Cell>> {
        let key = |cell: &Cell| (cell.doc, cell.position, cell.user);
        let (mut left, mut some) = (Vec::with_capacity(all.len()), some.iter().peekable());
        for cell in all {
            let less = some.next_if(|less| key(less) == key(cell));
            let (shown, clicked) = less.map_or((0, 0), |less| (less.impressions, less.clicks));
            let rest = cell.impressions.checked_sub(shown).zip(cell.clicks.checked_sub(clicked));
            match rest.filter(|(impressions, clicks)| clicks <= impressions) {
                Some((0, _)) => {}
                Some((impressions, clicks)) => left.push(Cell { impressions, clicks, ..*cell }),
                None => return Err(self.too_few(less.unwrap_or(cell), cell)),
            }
        }
        some.next().map_or(Ok(left), |extra| Err(self.too_few(extra, &Cell { impressions: 0, clicks: 0, ..*extra })))
    }

    fn less_sessions(&self, all: &[SessionCount], some: &[SessionCount]) -> Result<Vec<SessionCount>> {
        let (mut left, mut some) = (Vec::with_capacity(all.len()), some.iter().peekable());
        for count in all {
            let less = some.next_if(|less| less.user == count.user).map_or(0, |less| less.sessions);
            match count.sessions.checked_sub(less) {
                Some(0) => {}
                Some(sessions) => left.push(SessionCount { sessions, ..*count }),
                None => return Err(self.refused(count.query, "sessions")),
            }
        }
        some.next().map_or(Ok(left), |extra| Err(self.refused(extra.query, "sessions")))
    }

    fn too_few(&self, less: &Cell, of: &Cell) -> Error {
        let name = |ids: &crate::ids::Ids, number: u32| crate::log::shown(&ids.name(number as usize)).to_string();
        self.error(format!(
            "counts {} clicks of {} impressions of document '{}' at position {} of query '{}' by user '{}', but {} counts {} of {}",
            less.clicks,
            less.impressions,
            name(&self.names.docs, less.doc),
            less.position,
            name(&self.names.queries, less.query),
            name(&self.names.users, less.user),
            self.others(),
            of.clicks,
            of.impressions,
        ))
    }

    fn missing(&self, query: u32) -> Error {
        let query = self.names.queries.name(query as usize);
        self.error(format!("counts query '{}', but {} does not", crate::log::shown(&query), self.others()))
    }

    fn refused(&self, query: u32, what: &str) -> Error {
        let query = self.names.queries.name(query as usize);
        let query = crate::log::shown(&query).to_string();
        self.error(format!("counts {what} of query '{query}' that {} does not", self.others()))
    }

    fn others(&self) -> String {
        match &self.folders.plus[..] {
            [only] => only.name.clone(),
            [first, rest @ ..] => format!("{} with {} more", first.name, rest.len()),
            [] => String::new(),
        }
    }

    fn error(&self, finding: String) -> Error {
        let way_out = "only what was added as it is can be taken away; name the folder that was added";
        self.folders.minus[0].error(format!("{finding}; {way_out}"))
    }
}

/// Patterns without some, or nothing if those are not among them.
fn less_patterns(all: &Patterns, some: &Patterns) -> Option<Patterns> {
    fn key<'a>(of: &'a Patterns, pattern: &Pattern) -> (&'a [Shown], u32) {
        (&of.shown[pattern.shown.clone()], pattern.user)
    }
    let (mut left, mut less) = (Patterns::default(), some.patterns.iter().peekable());
    for pattern in &all.patterns {
        let same = less.next_if(|other| key(some, other) == key(all, pattern));
        let sessions = pattern.sessions.checked_sub(same.map_or(0, |same| same.sessions))?;
        if sessions > 0 {
            left.push(pattern.query, pattern.user, &all.shown[pattern.shown.clone()], sessions);
        }
    }
    less.next().is_none().then_some(left)
}
