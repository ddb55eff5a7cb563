//! Goes over two logs query by query: cells enter, sums over groups of users and of queries leave.

use std::borrow::Cow;

use super::swaps::Swaps;
use super::{Aspect, Change, Overlap, change};
use crate::counts::{Block, Cell, CountsView, SessionCount};
use crate::ids::{Ids, Interner};
use crate::progress::Progress;
use crate::{Error, Result};

/// Groups that users and queries are put into, at most.
const GROUPS: usize = 1 << 12;
/// Positions that are compared one by one.
const POSITIONS: usize = 10;
/// Random groups of queries, or users, whose shares are compared.
const BUCKETS: usize = 32;

/// Ratios that are compared: all, and those at positions.
const RATES: [Aspect; 4] = [Aspect::ClickRate, Aspect::ClicksPerPage, Aspect::ClickDepth, Aspect::PageLength];
const RATIOS: usize = RATES.len() + POSITIONS;

/// Sums of groups: numerators and denominators of both days.
#[derive(Clone)]
struct Group {
    ratios: [[(f64, f64); RATIOS]; 2],
    /// Parts of the difference on the same documents at the same positions: all, and those at positions.
    same_place: [f64; 1 + POSITIONS],
    /// Sessions by bucket of what is not grouped: of groups of users, those of queries.
    buckets: [[f64; BUCKETS]; 2],
}

impl Default for Group {
    fn default() -> Self {
        Group { ratios: [[(0.0, 0.0); RATIOS]; 2], same_place: [0.0; 1 + POSITIONS], buckets: [[0.0; BUCKETS]; 2] }
    }
}

/// Two logs by groups of users and of queries.
pub(super) struct Joined {
    users: Vec<Group>,
    queries: Vec<Group>,
    /// Of the same documents at the same positions: weight, and weighted click rates of both days.
    places: [(f64, [f64; 2]); 1 + POSITIONS],
    pub overlaps: Vec<Overlap>,
}

/// Users and documents of both logs under one number each.
struct Numbers {
    users: [Vec<u32>; 2],
    docs: [Vec<u32>; 2],
    queries: [Vec<u32>; 2],
    user_count: usize,
}

impl Numbers {
    fn new(views: [&dyn CountsView; 2]) -> Result<Self> {
        let (users, user_count) = numbers(views.map(|view| view.users()));
        let (docs, _) = numbers(views.map(|view| view.docs()));
        let (queries, _) = sorted_numbers(views.map(|view| view.queries()));
        if queries.iter().any(|numbers| !numbers.is_sorted()) {
            return Err(Error::parameter(
                "the queries of one log are numbers and those of the other are words, so they cannot be compared; are the columns \
                 of queries the same?",
            ));
        }
        Ok(Numbers { users, docs, queries, user_count })
    }
}

fn numbers(both: [&Ids; 2]) -> ([Vec<u32>; 2], usize) {
    let mut interner = Interner::default();
    let numbers = both.map(|ids| (0..ids.len()).map(|id| interner.id(ids, id)).collect());
    (numbers, interner.ids().len())
}

fn sorted_numbers(both: [&Ids; 2]) -> ([Vec<u32>; 2], usize) {
    let mut interner = Interner::default();
    let found: [Vec<u32>; 2] = both.map(|ids| (0..ids.len()).map(|id| interner.id(ids, id)).collect());
    let (ids, order) = interner.into_sorted();
    (found.map(|numbers| numbers.into_iter().map(|number| order[number as usize]).collect()), ids.len())
}

/// Reads one log query by query.
struct Queries<'a> {
    view: &'a dyn CountsView,
    blocks: Vec<Block>,
    next: usize,
    cells: Cow<'a, [Cell]>,
    sessions: Cow<'a, [SessionCount]>,
    at: (usize, usize),
}

impl<'a> Queries<'a> {
    fn new(view: &'a dyn CountsView) -> Result<Self> {
        let (cells, sessions) = (Cow::Borrowed(&[][..]), Cow::Borrowed(&[][..]));
        let mut queries = Queries { view, blocks: view.blocks(), next: 0, cells, sessions, at: (0, 0) };
        queries.load()?;
        Ok(queries)
    }

    /// Reads blocks until there is a query, or none is left.
    fn load(&mut self) -> Result<()> {
        while self.at.0 == self.cells.len() && self.at.1 == self.sessions.len() && self.next < self.blocks.len() {
            let block = &self.blocks[self.next];
            (self.cells, self.sessions) = (self.view.cells(block)?, self.view.sessions(block)?);
            (self.at, self.next) = ((0, 0), self.next + 1);
        }
        Ok(())
    }

    /// The next query.
    fn query(&self) -> Option<u32> {
        let of_cell = self.cells.get(self.at.0).map(|cell| cell.query);
        let of_session = self.sessions.get(self.at.1).map(|count| count.query);
        of_cell.into_iter().chain(of_session).min()
    }

    /// The cells and sessions of the next query, which then is done.
    fn take(&mut self, query: u32, mut with: impl FnMut(&[Cell], &[SessionCount])) -> Result<()> {
        let cells = self.cells[self.at.0..].partition_point(|cell| cell.query == query);
        let sessions = self.sessions[self.at.1..].partition_point(|count| count.query == query);
        with(&self.cells[self.at.0..self.at.0 + cells], &self.sessions[self.at.1..self.at.1 + sessions]);
        self.at = (self.at.0 + cells, self.at.1 + sessions);
        self.load()
    }
}

/// A cell of either day.
#[derive(Clone, Copy)]
struct Seen {
    doc: u32,
    position: u32,
    user: u32,
    day: usize,
    impressions: f64,
    clicks: f64,
}

impl Joined {
    pub fn read(old: &dyn CountsView, new: &dyn CountsView, progress: &dyn Progress) -> Result<Self> {
        let numbers = Numbers::new([old, new])?;
        progress.begin("comparing counts", old.totals().impressions + new.totals().impressions);
        let mut joined = Joined {
            users: vec![Group::default(); GROUPS.min(numbers.user_count.max(1))],
            queries: vec![Group::default(); GROUPS.min(old.queries().len().max(new.queries().len()).max(1))],
            places: [(0.0, [0.0; 2]); 1 + POSITIONS],
            overlaps: Vec::new(),
        };
        let mut docs = OverlapOf::new("documents of a query");
        let mut days = [Queries::new(old)?, Queries::new(new)?];
        let mut seen = Vec::new();
        loop {
            let next: [Option<u32>; 2] =
                [0, 1].map(|day: usize| days[day].query().map(|query| numbers.queries[day][query as usize]));
            let Some(query) = next.into_iter().flatten().min() else { break };
            seen.clear();
            for day in (0..2).filter(|&day| next[day] == Some(query)) {
                let Some(own) = days[day].query() else { continue };
                days[day].take(own, |cells, sessions| {
                    joined.add_sessions(day, query, sessions, &numbers);
                    seen.extend(cells.iter().map(|cell| Seen {
                        doc: numbers.docs[day][cell.doc as usize],
                        position: cell.position,
                        user: numbers.users[day][cell.user as usize],
                        day,
                        impressions: cell.impressions as f64,
                        clicks: cell.clicks as f64,
                    }));
                })?;
            }
            joined.add_cells(query, &mut seen, &mut docs);
            progress.advance(seen.iter().map(|cell| cell.impressions as u64).sum())?;
        }
        joined.overlaps = overlaps([old, new], &numbers);
        joined.overlaps.push(docs.finish());
        Ok(joined)
    }

    fn add_sessions(&mut self, day: usize, query: u32, sessions: &[SessionCount], numbers: &Numbers) {
        let (users, queries) = (self.users.len(), self.queries.len());
        let of_query = &mut self.queries[query as usize % queries];
        for count in sessions {
            let user = numbers.users[day][count.user as usize] as usize;
            let sessions = count.sessions as f64;
            let of_user = &mut self.users[user % users];
            for group in [&mut *of_query, of_user] {
                // Clicks per page, documents per page.
                group.ratios[day][1].1 += sessions;
                group.ratios[day][3].1 += sessions;
            }
            of_query.buckets[day][bucket(user)] += sessions;
            self.users[user % users].buckets[day][bucket(query as usize)] += sessions;
        }
    }

    fn add_cells(&mut self, query: u32, seen: &mut [Seen], docs: &mut OverlapOf) {
        let (users, queries) = (self.users.len(), self.queries.len());
        for cell in seen.iter() {
            for group in [&mut self.queries[query as usize % queries], &mut self.users[cell.user as usize % users]] {
                let ratios = &mut group.ratios[cell.day];
                let mut add = |ratio: usize, a: f64, b: f64| ratios[ratio] = (ratios[ratio].0 + a, ratios[ratio].1 + b);
                add(0, cell.clicks, cell.impressions);
                add(1, cell.clicks, 0.0);
                add(2, cell.clicks * f64::from(cell.position), cell.clicks);
                add(3, cell.impressions, 0.0);
                if cell.position as usize <= POSITIONS {
                    add(RATES.len() + cell.position as usize - 1, cell.clicks, cell.impressions);
                }
            }
        }
        seen.sort_by_key(|cell| (cell.doc, cell.position, cell.day, cell.user));
        for cells in seen.chunk_by(|a, b| a.doc == b.doc) {
            docs.add([0, 1].map(|day| cells.iter().filter(|cell| cell.day == day).map(|cell| cell.impressions).sum()));
            for cells in cells.chunk_by(|a, b| a.position == b.position) {
                self.add_place(query, cells);
            }
        }
    }

    /// A document at a position, as both days saw it.
    fn add_place(&mut self, query: u32, cells: &[Seen]) {
        let sum =
            |day: usize, of: fn(&Seen) -> f64| -> f64 { cells.iter().filter(|cell| cell.day == day).map(of).sum() };
        let shown = [0, 1].map(|day| sum(day, |cell| cell.impressions));
        if shown[0] == 0.0 || shown[1] == 0.0 {
            return;
        }
        let clicked = [0, 1].map(|day| sum(day, |cell| cell.clicks));
        let all = shown[0] + shown[1];
        let (rate, weight) = ((clicked[0] + clicked[1]) / all, shown[0] * shown[1] / all);
        let position = cells[0].position as usize;
        let (users, queries) = (self.users.len(), self.queries.len());
        let places = |position: usize| [Some(0), (position <= POSITIONS).then_some(position)].into_iter().flatten();
        for place in places(position) {
            let (sum, rates) = &mut self.places[place];
            *sum += weight;
            (0..2).for_each(|day| rates[day] += weight * clicked[day] / shown[day]);
        }
        for cell in cells {
            let other = shown[1 - cell.day] / all;
            let sign = if cell.day == 1 { 1.0 } else { -1.0 };
            let part = sign * other * (cell.clicks - rate * cell.impressions);
            for place in places(position) {
                self.queries[query as usize % queries].same_place[place] += part;
                self.users[cell.user as usize % users].same_place[place] += part;
            }
        }
    }

    /// All changes with their p-values.
    pub fn changes(&self, swaps: &Swaps) -> Vec<Change> {
        let mut tests: Vec<(Change, Vec<Vec<f64>>)> = Vec::new();
        for (ratio, aspect) in (0..RATIOS).zip(RATES.into_iter().chain((1..).map(Aspect::AtPosition))) {
            tests.extend(self.ratio(ratio, aspect));
        }
        for place in 0..=POSITIONS {
            let aspect = if place == 0 { Aspect::SamePlace } else { Aspect::SamePlaceAt(place as u32) };
            tests.extend(self.same_place(place, aspect));
        }
        tests.extend(self.mix(&self.users, Aspect::QueryMix, "users"));
        tests.extend(self.mix(&self.queries, Aspect::UserMix, "queries"));
        let sums: Vec<Vec<Vec<f64>>> = tests.iter().map(|(_, sums)| sums.clone()).collect();
        let p = swaps.p_values(&sums);
        let mut changes: Vec<Change> =
            tests.into_iter().zip(p).map(|((change, _), p)| Change { p, ..change }).collect();
        changes.sort_by_key(|change| change.aspect);
        changes
    }

    /// Users or queries, whichever makes the difference less certain; `parts` are those of each group.
    fn less_certain(&self, parts: impl Fn(&Group) -> f64) -> (&'static str, Vec<f64>, f64) {
        let of = |groups: &[Group]| -> (Vec<f64>, f64) {
            let parts: Vec<f64> = groups.iter().map(&parts).collect();
            let variance = parts.iter().map(|part| part * part).sum();
            (parts, variance)
        };
        let (users, queries) = (of(&self.users), of(&self.queries));
        // One user is no sample of users.
        let by_users = self.users.len() > 1 && (users.1 >= queries.1 || self.queries.len() < 2);
        let (by, (parts, variance)) = if by_users { ("users", users) } else { ("queries", queries) };
        (by, parts, variance.sqrt())
    }

    fn ratio(&self, ratio: usize, aspect: Aspect) -> Option<(Change, Vec<Vec<f64>>)> {
        let sums = [0, 1].map(|day: usize| {
            let add = |sum: (f64, f64), group: &Group| {
                let (a, b) = group.ratios[day][ratio];
                (sum.0 + a, sum.1 + b)
            };
            self.queries.iter().fold((0.0, 0.0), add)
        });
        if sums.iter().any(|sum| sum.1 == 0.0) {
            return None;
        }
        let rates = sums.map(|(a, b)| a / b);
        let pooled = (sums[0].0 + sums[1].0) / (sums[0].1 + sums[1].1);
        let part = |group: &Group, rates: [f64; 2]| {
            let of = |day: usize| {
                let (a, b) = group.ratios[day][ratio];
                (a - rates[day] * b) / sums[day].1
            };
            of(1) - of(0)
        };
        let (by, parts, _) = self.less_certain(|group| part(group, [pooled; 2]));
        let (.., error) = self.less_certain(|group| part(group, rates));
        let found = Change { standard_error: Some(error), by, ..change(aspect, rates[0], rates[1]) };
        Some((found, vec![parts]))
    }

    fn same_place(&self, place: usize, aspect: Aspect) -> Option<(Change, Vec<Vec<f64>>)> {
        let (weight, rates) = self.places[place];
        if weight == 0.0 {
            return None;
        }
        let (by, parts, error) = self.less_certain(|group| group.same_place[place] / weight);
        let found = change(aspect, rates[0] / weight, rates[1] / weight);
        Some((Change { standard_error: Some(error), by, ..found }, vec![parts]))
    }

    /// Shares of buckets, by independent groups.
    fn mix(&self, groups: &[Group], aspect: Aspect, by: &'static str) -> Option<(Change, Vec<Vec<f64>>)> {
        let totals = [0, 1].map(|day: usize| -> [f64; BUCKETS] {
            std::array::from_fn(|bucket| groups.iter().map(|group| group.buckets[day][bucket]).sum())
        });
        let sums = totals.map(|day| day.iter().sum::<f64>());
        let used = (0..BUCKETS).filter(|&bucket| totals[0][bucket] + totals[1][bucket] > 0.0);
        let used: Vec<usize> = used.collect();
        if sums[0] == 0.0 || sums[1] == 0.0 || used.len() < 2 || groups.len() < 2 {
            return None;
        }
        let distance: f64 =
            used.iter().map(|&bucket| (totals[1][bucket] / sums[1] - totals[0][bucket] / sums[0]).abs() / 2.0).sum();
        let parts = used.iter().map(|&bucket| {
            let pooled = (totals[0][bucket] + totals[1][bucket]) / (sums[0] + sums[1]);
            let part = |group: &Group| {
                let of = |day: usize| {
                    let all: f64 = group.buckets[day].iter().sum();
                    (group.buckets[day][bucket] - pooled * all) / sums[day]
                };
                // As in a chi-square statistic: shares vary as their roots.
                (of(1) - of(0)) / pooled.sqrt()
            };
            groups.iter().map(part).collect()
        });
        let found = Change { old: None, new: None, difference: distance, by, ..change(aspect, 0.0, 0.0) };
        Some((found, parts.collect()))
    }
}

/// A random bucket of a number.
fn bucket(number: usize) -> usize {
    (crate::random::hash(number as u64, 0) % BUCKETS as u64) as usize
}

/// What is in one log, in the other, in both.
struct OverlapOf {
    overlap: Overlap,
    sums: [f64; 2],
    alone: [f64; 2],
}

impl OverlapOf {
    fn new(what: &'static str) -> Self {
        let overlap = Overlap { what, shared: 0, gone: 0, new: 0, gone_share: 0.0, new_share: 0.0 };
        OverlapOf { overlap, sums: [0.0; 2], alone: [0.0; 2] }
    }

    /// Something, and how often each day has it.
    fn add(&mut self, counts: [f64; 2]) {
        (0..2).for_each(|day| self.sums[day] += counts[day]);
        match (counts[0] > 0.0, counts[1] > 0.0) {
            (true, true) => self.overlap.shared += 1,
            (true, false) => (self.overlap.gone, self.alone[0]) = (self.overlap.gone + 1, self.alone[0] + counts[0]),
            (false, true) => (self.overlap.new, self.alone[1]) = (self.overlap.new + 1, self.alone[1] + counts[1]),
            (false, false) => {}
        }
    }

    fn finish(self) -> Overlap {
        let share = |day: usize| if self.sums[day] > 0.0 { self.alone[day] / self.sums[day] } else { 0.0 };
        Overlap { gone_share: share(0), new_share: share(1), ..self.overlap }
    }
}

fn overlaps(views: [&dyn CountsView; 2], numbers: &Numbers) -> Vec<Overlap> {
    let of = |what, numbers: &[Vec<u32>; 2], sessions: [Vec<u64>; 2]| {
        let len = numbers.iter().flatten().max().map_or(0, |&last| last as usize + 1);
        let mut counts = vec![[0.0; 2]; len];
        for day in 0..2 {
            numbers[day].iter().zip(&sessions[day]).for_each(|(&id, &count)| counts[id as usize][day] = count as f64);
        }
        let mut overlap = OverlapOf::new(what);
        counts.into_iter().for_each(|counts| overlap.add(counts));
        overlap.finish()
    };
    vec![
        of("users", &numbers.users, views.map(|view| view.sessions_per_user())),
        of("queries", &numbers.queries, views.map(|view| view.sessions_per_query())),
    ]
}
