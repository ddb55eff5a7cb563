//! Click transitions: how often users went from one click on a result page to the next, or to its end.
//!
//! A page with clicks at positions 2 and 5 contributes one to each of `0 → 2`, `2 → 5` and `5 → end`. In click models where what
//! follows a click depends on the past through that click alone, these counts say all that the sessions say. A page that shows two
//! documents at one position has no such way, so it is refused where transitions are counted.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::ops::Range;

use foldhash::fast::FixedState;
use rayon::slice::ParallelSliceMut;

use super::model::Shown;
use super::pages::Pages;

/// Where a page ends without a further click, as [`Transition::to`].
pub const END: u32 = u32::MAX;

/// The click transitions of a log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transitions {
    /// The lists that were shown, sorted by query, then by positions and documents, then by context; each once.
    pub lists: Vec<ShownList>,
    /// What the lists showed, one list after another, each sorted by position.
    pub shown: Vec<Listed>,
    /// Sorted by list, user, `from`, `to`; at most one for each such combination.
    pub rows: Vec<Transition>,
}

/// An ordered list of documents that was shown for a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownList {
    /// Number of the query.
    pub query: u32,
    /// Number of the context it was shown in, such as the device; 0 where contexts were not counted.
    pub context: u32,
    /// Its documents: this range of [`Transitions::shown`].
    pub shown: Range<usize>,
}

/// A document of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Listed {
    /// Position, counted from 1; rises within a list.
    pub position: u32,
    /// Number of the document.
    pub doc: u32,
}

/// How many sessions of `user` with `list` went from the click at one position to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Transition {
    /// Number of the list: its place in [`Transitions::lists`].
    pub list: u32,
    /// Number of the user.
    pub user: u32,
    /// Position of the click, 0 before the first.
    pub from: u32,
    /// Position of the next click, [`END`] if there is none.
    pub to: u32,
    /// How many sessions.
    pub sessions: u64,
}

impl Transitions {
    /// What a list showed, by position.
    pub fn of(&self, list: &ShownList) -> &[Listed] {
        &self.shown[list.shown.clone()]
    }

    /// The transitions of a page that is sorted by position, as pairs of `from` and `to`.
    pub fn steps(page: &[Shown]) -> impl Iterator<Item = (u32, u32)> {
        let clicked = page.iter().filter(|shown| shown.click).map(|shown| shown.position);
        let from = std::iter::once(0).chain(clicked.clone());
        from.zip(clicked.chain(std::iter::once(END)))
    }

    /// Every list with its transitions.
    pub fn by_list(&self) -> impl Iterator<Item = (&ShownList, &[Transition])> {
        let mut rest = &self.rows[..];
        self.lists.iter().zip(0..).map(move |(list, number)| {
            let (of_list, others) = rest.split_at(rest.partition_point(|row| row.list <= number));
            rest = others;
            (list, of_list)
        })
    }

    /// The transitions of the queries from `first` to `last`; their lists are numbered from 0.
    pub fn of_queries(&self, first: u32, last: u32) -> Transitions {
        let start = self.lists.partition_point(|list| list.query < first);
        let end = self.lists.partition_point(|list| list.query <= last);
        let rows = self.rows.partition_point(|row| (row.list as usize) < start)
            ..self.rows.partition_point(|row| (row.list as usize) < end);
        let mut part = Transitions::default();
        self.lists[start..end].iter().for_each(|list| part.push_as(list, self.of(list).iter().copied()));
        part.rows.extend(self.rows[rows].iter().map(|row| Transition { list: row.list - start as u32, ..*row }));
        part
    }

    /// The transitions of whole pages alone, which are sorted.
    pub(crate) fn of_pages(pages: &Pages) -> Transitions {
        let (mut all, mut lists) = (Transitions::default(), ListCounter::default());
        for of_query in pages.by_query() {
            of_query.iter().for_each(|page| lists.add(page.user, 0, pages.of(page)));
            lists.finish(of_query[0].query, &mut all);
        }
        all
    }

    /// The transitions without what stands deeper than `last`: a way that leads there ends. Nothing where nothing would be left of
    /// a list, since its sessions would be lost.
    pub(crate) fn cut_below(self, last: u32) -> Option<Transitions> {
        if self.shown.iter().all(|shown| shown.position <= last) {
            return Some(self);
        }
        let mut cut = Transitions::default();
        for (list, rows) in self.by_list() {
            let shown = self.of(list).iter().filter(|shown| shown.position <= last);
            shown.clone().next()?;
            let number = cut.lists.len() as u32;
            cut.push_as(list, shown.copied());
            let to = |to: u32| if to > last { END } else { to };
            let row = |row: &Transition| Transition { list: number, to: to(row.to), ..*row };
            cut.rows.extend(rows.iter().filter(|row| row.from <= last).map(row));
        }
        // Lists that differed only below are the same now.
        Some(cut.merged())
    }

    /// The same, whatever the context.
    pub(crate) fn without_contexts(&self) -> Transitions {
        let mut all = self.clone();
        all.lists.iter_mut().for_each(|list| list.context = 0);
        all.merged()
    }

    /// Lists that are the same as one.
    fn merged(&self) -> Transitions {
        let mut merged = Transitions::default();
        for lists in self.lists.chunk_by(|a, b| a.query == b.query) {
            let query = lists[0].query;
            merged.add_parts(query, std::iter::once(&self.of_queries(query, query)));
        }
        merged
    }

    /// These without some, or nothing if those are not among them. Lists of which nothing is left are gone.
    pub(crate) fn less(&self, some: &Transitions) -> Option<Transitions> {
        let (mut left, mut taken) = (Transitions::default(), some.by_list().peekable());
        for (list, rows) in self.by_list() {
            let same = taken.next_if(|(other, _)| some.key_of(other) == self.key_of(list));
            let mut same = same.map_or(&[][..], |(_, rows)| rows).iter().peekable();
            let number = left.lists.len() as u32;
            let before = left.rows.len();
            left.rows.extend(rows.iter().filter_map(|row| {
                let key = |row: &Transition| (row.user, row.from, row.to);
                let less = same.next_if(|other| key(other) == key(row)).map_or(0, |other| other.sessions);
                let sessions = row.sessions.saturating_sub(less);
                (sessions > 0).then_some(Transition { list: number, sessions, ..*row })
            }));
            if left.rows.len() > before {
                left.push_as(list, self.of(list).iter().copied());
            }
        }
        let sum = |all: &Transitions| all.rows.iter().map(|row| row.sessions).sum::<u64>();
        (sum(&left).checked_add(sum(some)) == Some(sum(self))).then_some(left)
    }

    /// Those of the lists for which `keep` is true.
    pub(super) fn kept(&self, keep: impl Fn(&ShownList) -> bool) -> Transitions {
        let mut kept = Transitions::default();
        for (list, rows) in self.by_list().filter(|(list, _)| keep(list)) {
            let number = kept.lists.len() as u32;
            kept.push_as(list, self.of(list).iter().copied());
            kept.rows.extend(rows.iter().map(|row| Transition { list: number, ..*row }));
        }
        kept
    }

    /// Appends a list.
    pub(crate) fn push_list(&mut self, query: u32, context: u32, shown: impl IntoIterator<Item = Listed>) {
        let start = self.shown.len();
        self.shown.extend(shown);
        self.lists.push(ShownList { query, context, shown: start..self.shown.len() });
    }

    /// Appends a list of the same query and context.
    pub(crate) fn push_as(&mut self, list: &ShownList, shown: impl IntoIterator<Item = Listed>) {
        self.push_list(list.query, list.context, shown);
    }

    /// What tells a list from others.
    fn key_of(&self, list: &ShownList) -> (u32, &[Listed], u32) {
        (list.query, self.of(list), list.context)
    }

    /// Appends later transitions; their first list may be the last one here, of which there are more.
    pub(crate) fn append(&mut self, later: &Transitions) {
        let Some(first) = later.lists.first() else { return };
        let goes_on = self.is_last(later.key_of(first));
        let number = self.lists.len() as u32 - u32::from(goes_on);
        for list in &later.lists[usize::from(goes_on)..] {
            self.push_as(list, later.of(list).iter().copied());
        }
        self.rows.extend(later.rows.iter().map(|row| Transition { list: number + row.list, ..*row }));
    }

    /// Whether the last list has this query, these documents and this context.
    pub(super) fn is_last(&self, key: (u32, &[Listed], u32)) -> bool {
        self.lists.last().is_some_and(|last| self.key_of(last) == key)
    }

    pub(super) fn clear(&mut self) {
        self.lists.clear();
        self.shown.clear();
        self.rows.clear();
    }

    /// Appends the transitions of one query from several parts, those that are alike added up.
    pub(crate) fn add_parts<'a>(&mut self, query: u32, parts: impl Iterator<Item = &'a Transitions> + Clone) {
        let of_part = |(part, content): (usize, &'a Transitions)| {
            content.lists.iter().enumerate().map(move |(number, list)| (content.of(list), list.context, part, number))
        };
        let mut lists: Vec<(&[Listed], u32, usize, usize)> = parts.clone().enumerate().flat_map(of_part).collect();
        lists.sort_unstable();
        let mut new: Vec<Vec<u32>> = parts.clone().map(|part| vec![0; part.lists.len()]).collect();
        for same in lists.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            same.iter().for_each(|&(.., part, number)| new[part][number] = self.lists.len() as u32);
            self.push_list(query, same[0].1, same[0].0.iter().copied());
        }
        let start = self.rows.len();
        for (part, new) in parts.zip(&new) {
            self.rows.extend(part.rows.iter().map(|row| Transition { list: new[row.list as usize], ..*row }));
        }
        self.rows[start..].sort_unstable();
        let mut added: Vec<Transition> = Vec::with_capacity(self.rows.len() - start);
        for row in self.rows.drain(start..) {
            match added.last_mut().filter(|last| key(last) == key(&row)) {
                Some(last) => last.sessions += row.sessions,
                None => added.push(row),
            }
        }
        self.rows.append(&mut added);
    }
}

fn key(row: &Transition) -> (u32, u32, u32, u32) {
    (row.list, row.user, row.from, row.to)
}

/// Counts the transitions of one query after another, page by page.
#[derive(Default)]
pub(super) struct ListCounter {
    /// The lists so far, in the order in which they came.
    shown: Vec<Listed>,
    lists: Vec<KnownList>,
    /// The last list with such a hash; others with it follow from there.
    known: HashMap<u64, u32, FixedState>,
    /// One for each step of a page; sorted, equal ones stand together.
    steps: Vec<Step>,
}

struct KnownList {
    shown: Range<usize>,
    context: u32,
    /// Another list with the same hash.
    next: Option<u32>,
}

/// List, user, `from` and `to` of a step: 32 bits each for the first two, 17 for positions, which go up to 100,000.
type Step = u128;
const POSITION: u32 = 17;
const NO_POSITION: u32 = (1 << POSITION) - 1;
const _: () = assert!(crate::log::MAX_POSITION < NO_POSITION);

fn step(list: u32, user: u32, (from, to): (u32, u32)) -> Step {
    let to = if to == END { NO_POSITION } else { to };
    let positions = u64::from(from) << POSITION | u64::from(to);
    (Step::from(list) << 32 | Step::from(user)) << (2 * POSITION) | Step::from(positions)
}

fn transition(step: Step, sessions: u64) -> Transition {
    let position = |bits: Step| (bits as u32) & NO_POSITION;
    let (from, to) = (position(step >> POSITION), position(step));
    let to = if to == NO_POSITION { END } else { to };
    let ids = step >> (2 * POSITION);
    Transition { list: (ids >> 32) as u32, user: ids as u32, from, to, sessions }
}

impl ListCounter {
    /// Adds a page, which is sorted by position.
    pub fn add(&mut self, user: u32, context: u32, page: &[Shown]) {
        let list = self.number(context, page);
        self.steps.extend(Transitions::steps(page).map(|from_to| step(list, user, from_to)));
    }

    /// The number of a page's list, by its place among those that came.
    fn number(&mut self, context: u32, page: &[Shown]) -> u32 {
        let start = self.shown.len();
        self.shown.extend(page.iter().map(|shown| Listed { position: shown.position, doc: shown.doc }));
        let (known, new) = self.shown.split_at(start);
        let is_new = |list: &KnownList| list.context == context && known[list.shown.clone()] == *new;
        // Most pages show what the one before them did.
        if self.lists.last().is_some_and(is_new) {
            self.shown.truncate(start);
            return self.lists.len() as u32 - 1;
        }
        let number = self.lists.len() as u32;
        let hash = hash_of(context, new);
        let same_hash = self.known.insert(hash, number);
        let mut other = same_hash;
        while let Some(list) = other {
            let of_list = &self.lists[list as usize];
            if is_new(of_list) {
                // The entry leads to it as before.
                self.known.insert(hash, same_hash.unwrap_or(list));
                self.shown.truncate(start);
                return list;
            }
            other = of_list.next;
        }
        self.lists.push(KnownList { shown: start..self.shown.len(), context, next: same_hash });
        number
    }

    /// Appends the transitions of the pages that were added, all of this query, and forgets them.
    pub fn finish(&mut self, query: u32, sum: &mut Transitions) {
        let mut order: Vec<u32> = (0..self.lists.len() as u32).collect();
        let shown = |list: u32| &self.shown[self.lists[list as usize].shown.clone()];
        let context = |list: u32| self.lists[list as usize].context;
        order.sort_unstable_by(|&a, &b| (shown(a), context(a)).cmp(&(shown(b), context(b))));
        let first = sum.lists.len() as u32;
        let mut new = vec![0; order.len()];
        for (&list, number) in order.iter().zip(first..) {
            new[list as usize] = number;
            sum.push_list(query, context(list), shown(list).iter().copied());
        }
        const LIST: u32 = 32 + 2 * POSITION;
        for step in &mut self.steps {
            let list = (*step >> LIST) as usize;
            *step = *step & ((1 << LIST) - 1) | Step::from(new[list]) << LIST;
        }
        // One query may be most of a log: then its pages are worth several threads.
        const MANY: usize = 1 << 17;
        if self.steps.len() < MANY {
            self.steps.sort_unstable()
        } else {
            self.steps.par_sort_unstable()
        }
        let same = self.steps.chunk_by(|a, b| a == b);
        sum.rows.extend(same.map(|same| transition(same[0], same.len() as u64)));
        self.clear();
    }

    fn clear(&mut self) {
        self.shown.clear();
        self.lists.clear();
        self.steps.clear();
        // Emptying takes as long as there is room, and small queries follow large ones.
        const ROOM: usize = 1 << 10;
        if self.known.capacity() > ROOM { self.known = HashMap::default() } else { self.known.clear() }
    }
}

/// Lists are compared where their hashes are the same, so it need not be strong.
fn hash_of(context: u32, list: &[Listed]) -> u64 {
    HASHER.hash_one((context, list))
}

const HASHER: FixedState = FixedState::with_seed(3);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_the_way_from_click_to_click() {
        let page = |clicks: &[u32]| -> Vec<Shown> {
            (1..=6).map(|position| Shown { position, doc: 10 + position, click: clicks.contains(&position) }).collect()
        };
        let steps = |clicks: &[u32]| Transitions::steps(&page(clicks)).collect::<Vec<_>>();
        assert_eq!(steps(&[]), [(0, END)]);
        assert_eq!(steps(&[2, 5]), [(0, 2), (2, 5), (5, END)]);
        assert_eq!(steps(&[6]), [(0, 6), (6, END)]);
    }

    /// Pages of two queries that share lists in no order.
    fn pages() -> Pages {
        let mut pages = Pages::default();
        for page in 0..200u32 {
            let shown = (1..=4).map(|position| {
                let doc = (position + page % 3) % 5;
                Shown { position: 2 * position, doc, click: (page * 7 + position * 5) % 4 == 0 }
            });
            pages.push(page % 2, page % 7, shown);
        }
        pages.sorted()
    }

    /// The obvious loop over pages.
    fn expected(pages: &Pages) -> Vec<(u32, Vec<Listed>, u32, u32, u32, u64)> {
        let mut sums = std::collections::BTreeMap::new();
        for page in &pages.pages {
            let shown = pages.of(page);
            let list: Vec<Listed> = shown.iter().map(|s| Listed { position: s.position, doc: s.doc }).collect();
            let mut from = 0;
            for clicked in shown.iter().filter(|shown| shown.click) {
                *sums.entry((page.query, list.clone(), page.user, from, clicked.position)).or_default() += 1;
                from = clicked.position;
            }
            *sums.entry((page.query, list, page.user, from, END)).or_default() += 1;
        }
        sums.into_iter().map(|((query, list, user, from, to), count)| (query, list, user, from, to, count)).collect()
    }

    fn spelled(transitions: &Transitions) -> Vec<(u32, Vec<Listed>, u32, u32, u32, u64)> {
        let rows = transitions.by_list().flat_map(|(list, rows)| {
            let shown = transitions.of(list).to_vec();
            rows.iter().map(move |row| (list.query, shown.clone(), row.user, row.from, row.to, row.sessions))
        });
        rows.collect()
    }

    #[test]
    fn transitions_of_pages_are_those_of_a_loop() {
        let transitions = Transitions::of_pages(&pages());
        assert_eq!(spelled(&transitions), expected(&pages()));
        assert_eq!(transitions.lists.len(), 2 * 3);
        assert!(transitions.rows.is_sorted());
    }

    #[test]
    fn parts_add_up_and_can_be_taken_away() {
        let (whole, mut parts) = (pages(), [Pages::default(), Pages::default()]);
        for (number, page) in whole.pages.iter().enumerate() {
            parts[usize::from(number % 3 == 0)].push(page.query, page.user, whole.of(page).iter().copied());
        }
        let all = Transitions::of_pages(&whole);
        let [some, rest] = parts.map(|part| Transitions::of_pages(&part));
        assert_eq!(all.less(&some).unwrap(), rest);
        assert_eq!(all.less(&all).unwrap(), Transitions::default());
        assert!(some.less(&all).is_none() && Transitions::default().less(&some).is_none());
        let mut sum = Transitions::default();
        for query in 0..2 {
            let of_query = [some.of_queries(query, query), rest.of_queries(query, query)];
            sum.add_parts(query, of_query.iter());
        }
        assert_eq!(sum, all);
        let mut joined = all.of_queries(0, 0);
        joined.append(&all.of_queries(1, 1));
        assert_eq!(joined, all);
    }

    #[test]
    fn cut_lists_are_those_of_cut_pages() {
        let pages = pages();
        let all = Transitions::of_pages(&pages);
        for last in [2, 5, 6, 8] {
            let cut = pages.cut_below(last).sorted();
            assert_eq!(spelled(&all.clone().cut_below(last).unwrap()), expected(&cut), "{last}");
        }
        assert_eq!(all.clone().cut_below(1), None);
    }

    #[test]
    fn steps_hold_their_numbers_and_sort_like_them() {
        let most = step(u32::MAX, u32::MAX - 1, (crate::log::MAX_POSITION, END));
        let row = Transition { list: u32::MAX, user: u32::MAX - 1, from: 100_000, to: END, sessions: 3 };
        assert_eq!(transition(most, 3), row);
        let sorted =
            [step(0, 0, (0, 7)), step(0, 0, (0, END)), step(0, 0, (1, 2)), step(0, 1, (0, 1)), step(1, 0, (0, 1))];
        assert!(sorted.is_sorted());
    }
}
