//! Thins counts: those of a day enter, those of a random part of its result pages leave.
//!
//! A page is kept with probability w = 2^(-age / half-life). What is left is a smaller log of the same kind: counts stay whole
//! numbers, a kept impression is clicked as often as before, and variances are those of the pages that are left, so that
//! priors, shrinkage, standard errors and tests need not know. Weights on counts would keep a little more information, but
//! every one of those would take w clicks for w independent observations, which they are not.
//!
//! Sessions are gone once they are counted, so pages are drawn from what is known of them:
//!
//! - Click patterns are pages with their numbers. Each is thinned, n' ~ Binomial(n, w), and all else follows.
//! - Click transitions are thinned as ways through a list: of the s sessions of a list and user, s' ~ Binomial(s, w) are kept; at
//!   every click, those that came are divided among the ways on without replacement (multivariate hypergeometric). Where what
//!   follows a click depends on that click alone, this has the law of drawing sessions. Cells and sessions follow.
//! - Cells: of the s sessions of a query and user, s' ~ Binomial(s, w) are kept. They are divided among the documents of each
//!   position without replacement, and the clicks of a cell among its impressions likewise. So every cell has the law of drawn
//!   sessions, a user of one session keeps all of it or nothing, and only how cells of a user with several sessions depend on each
//!   other is lost.

use std::collections::BTreeMap;

use rand_distr::{Binomial, Distribution, Hypergeometric};

use crate::counts::folder::Meta;
use crate::counts::model::{Cell, Pattern, Patterns, SessionCount};
use crate::counts::record::Batch;
use crate::counts::transitions::{Listed, Transition, Transitions};
use crate::random::{Random, hash, hash_text, stream};

/// How the counts of a folder are thinned.
pub(super) struct Thinning {
    weight: f64,
    seed: u64,
    /// Of the folder's own size: a folder that is thinned day after day is drawn from anew each time.
    folder: u64,
}

impl Thinning {
    /// Nothing where all is kept.
    pub fn new(weight: f64, seed: u64, meta: &Meta) -> Option<Self> {
        let folder = hash(hash(meta.sessions, meta.impressions), meta.clicks);
        (weight < 1.0).then_some(Thinning { weight, seed, folder })
    }

    /// A query's draws depend on its text and its folder, and on no other query.
    fn random(&self, query: &str) -> Random {
        stream(self.seed, "thinned counts", hash(hash_text(query), self.folder))
    }

    /// The counts of one query that are left, without click patterns.
    pub fn thin(&self, counts: Batch, query: &str) -> Batch {
        let mut random = self.random(query);
        match counts.transitions.lists.is_empty() {
            true => self.thin_cells(&counts, &mut random),
            false => self.thin_transitions(&counts, &mut random),
        }
    }

    /// The counts of one query that are left, all from click patterns.
    pub fn thin_patterns(&self, query: u32, patterns: &Patterns, has_transitions: bool, name: &str) -> Batch {
        let mut random = self.random(name);
        let mut left = Patterns::default();
        // In order by their new numbers, whatever the order of the folder.
        let mut order: Vec<&Pattern> = patterns.patterns.iter().collect();
        order.sort_unstable_by_key(|pattern| (&patterns.shown[pattern.shown.clone()], pattern.user));
        for pattern in order {
            let sessions = binomial(pattern.sessions, self.weight, &mut random);
            if sessions > 0 {
                left.push(query, pattern.user, &patterns.shown[pattern.shown.clone()], sessions);
            }
        }
        let (mut cells, mut sessions) = (Sums::default(), BTreeMap::new());
        for pattern in &left.patterns {
            *sessions.entry(pattern.user).or_insert(0) += pattern.sessions;
            for shown in &left.shown[pattern.shown.clone()] {
                let clicks = if shown.click { pattern.sessions } else { 0 };
                cells.add(shown.doc, shown.position, pattern.user, pattern.sessions, clicks);
            }
        }
        let transitions = if has_transitions { of_patterns(query, &left) } else { Transitions::default() };
        Batch { cells: cells.finish(query), sessions: counted(query, sessions), patterns: left, transitions }
    }

    fn thin_cells(&self, counts: &Batch, random: &mut Random) -> Batch {
        // By user and position, so that the sessions of a user are divided position by position.
        let mut cells: Vec<&Cell> = counts.cells.iter().collect();
        cells.sort_unstable_by_key(|cell| (cell.user, cell.position, cell.doc));
        let mut of_users = cells.chunk_by(|a, b| a.user == b.user).peekable();
        let mut left = Batch::default();
        for count in &counts.sessions {
            let kept = binomial(count.sessions, self.weight, random);
            if kept > 0 {
                left.sessions.push(SessionCount { sessions: kept, ..*count });
            }
            let Some(cells) = of_users.next_if(|cells| cells[0].user == count.user) else { continue };
            for cells in cells.chunk_by(|a, b| a.position == b.position) {
                divide(cells, count.sessions, kept, random, &mut left.cells);
            }
        }
        left.cells.sort_unstable();
        left
    }

    fn thin_transitions(&self, counts: &Batch, random: &mut Random) -> Batch {
        let query = counts.transitions.lists[0].query;
        let (mut left, mut cells, mut sessions) = (Transitions::default(), Sums::default(), BTreeMap::new());
        for (list, rows) in counts.transitions.by_list() {
            let shown = counts.transitions.of(list);
            let number = left.lists.len() as u32;
            let before = left.rows.len();
            for rows in rows.chunk_by(|a, b| a.user == b.user) {
                let of_user = thin_ways(rows, self.weight, random);
                sum_ways(&of_user, shown, &mut cells, &mut sessions);
                left.rows.extend(of_user.into_iter().map(|row| Transition { list: number, ..row }));
            }
            if left.rows.len() > before {
                left.push_as(list, shown.iter().copied());
            }
        }
        let (cells, sessions) = (cells.finish(query), counted(query, sessions));
        Batch { cells, sessions, patterns: Patterns::default(), transitions: left }
    }
}

/// Divides the kept sessions of a user among the cells of one position, as they are divided among all sessions.
fn divide(cells: &[&Cell], sessions: u64, kept: u64, random: &mut Random, left: &mut Vec<Cell>) {
    let shown: u64 = cells.iter().map(|cell| cell.impressions).sum();
    // Several documents at one position: a session may show all of them, so each is drawn by itself.
    let is_shared = shown > sessions;
    let (mut of, mut rest) = (sessions, kept);
    for cell in cells {
        let impressions = hypergeometric(of, cell.impressions, rest, random);
        let clicks = hypergeometric(cell.impressions, cell.clicks, impressions, random);
        if !is_shared {
            (of, rest) = (of - cell.impressions, rest - impressions);
        }
        if impressions > 0 {
            left.push(Cell { impressions, clicks, ..**cell });
        }
    }
}

/// The transitions of a list and user that are left; `rows` are sorted by where they come from, and ways go down the page.
fn thin_ways(rows: &[Transition], weight: f64, random: &mut Random) -> Vec<Transition> {
    let mut left = Vec::new();
    // How many of the sessions that clicked at a position are kept.
    let mut came: BTreeMap<u32, u64> = BTreeMap::new();
    for ways in rows.chunk_by(|a, b| a.from == b.from) {
        let mut of: u64 = ways.iter().map(|way| way.sessions).sum();
        let mut rest = match ways[0].from {
            0 => binomial(of, weight, random),
            from => came.get(&from).copied().unwrap_or(0),
        };
        for way in ways {
            let sessions = hypergeometric(of, way.sessions, rest, random);
            (of, rest) = (of - way.sessions, rest - sessions);
            if sessions > 0 {
                *came.entry(way.to).or_insert(0) += sessions;
                left.push(Transition { sessions, ..*way });
            }
        }
    }
    left
}

/// Adds the cells and sessions of the ways of one user through a list.
fn sum_ways(ways: &[Transition], shown: &[Listed], cells: &mut Sums, sessions: &mut BTreeMap<u32, u64>) {
    let kept: u64 = ways.iter().filter(|way| way.from == 0).map(|way| way.sessions).sum();
    let Some(user) = ways.first().map(|way| way.user) else { return };
    *sessions.entry(user).or_insert(0) += kept;
    for listed in shown {
        let clicks = ways.iter().filter(|way| way.to == listed.position).map(|way| way.sessions).sum();
        cells.add(listed.doc, listed.position, user, kept, clicks);
    }
}

/// Sessions of each user that went from one click to another.
type Ways = BTreeMap<(u32, u32, u32), u64>;

/// The click transitions of patterns.
fn of_patterns(query: u32, patterns: &Patterns) -> Transitions {
    let mut lists: BTreeMap<Vec<Listed>, Ways> = BTreeMap::new();
    for pattern in &patterns.patterns {
        let page = &patterns.shown[pattern.shown.clone()];
        let list = page.iter().map(|shown| Listed { position: shown.position, doc: shown.doc }).collect();
        let rows = lists.entry(list).or_default();
        for (from, to) in Transitions::steps(page) {
            *rows.entry((pattern.user, from, to)).or_insert(0) += pattern.sessions;
        }
    }
    let mut all = Transitions::default();
    for (list, (shown, rows)) in (0..).zip(lists) {
        all.push_list(query, 0, shown);
        let row = |((user, from, to), sessions)| Transition { list, user, from, to, sessions };
        all.rows.extend(rows.into_iter().map(row));
    }
    all
}

/// Impressions and clicks by document, position and user.
#[derive(Default)]
struct Sums(BTreeMap<(u32, u32, u32), (u64, u64)>);

impl Sums {
    fn add(&mut self, doc: u32, position: u32, user: u32, impressions: u64, clicks: u64) {
        let sum = self.0.entry((doc, position, user)).or_insert((0, 0));
        *sum = (sum.0 + impressions, sum.1 + clicks);
    }

    fn finish(self, query: u32) -> Vec<Cell> {
        let cell =
            |((doc, position, user), (impressions, clicks))| Cell { query, doc, position, user, impressions, clicks };
        self.0.into_iter().map(cell).collect()
    }
}

fn counted(query: u32, sessions: BTreeMap<u32, u64>) -> Vec<SessionCount> {
    sessions.into_iter().map(|(user, sessions)| SessionCount { query, user, sessions }).collect()
}

fn binomial(trials: u64, probability: f64, random: &mut Random) -> u64 {
    Binomial::new(trials, probability).map_or(trials, |binomial| binomial.sample(random))
}

/// How many of `marked` among `all` are in a draw of `drawn` without replacement.
fn hypergeometric(all: u64, marked: u64, drawn: u64, random: &mut Random) -> u64 {
    // What is certain takes no draw, and most counts are 1.
    match (marked, drawn) {
        (0, _) | (_, 0) => 0,
        _ if marked >= all => drawn,
        _ if drawn >= all => marked,
        _ => Hypergeometric::new(all, marked, drawn).map_or(0, |draw| draw.sample(random)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::transitions::END;

    fn thinning(weight: f64, seed: u64) -> Thinning {
        Thinning { weight, seed, folder: 7 }
    }

    fn cell(doc: u32, position: u32, user: u32, impressions: u64, clicks: u64) -> Cell {
        Cell { query: 0, doc, position, user, impressions, clicks }
    }

    /// Two users; the first saw two documents in both orders, the second one page.
    fn counts() -> Batch {
        Batch {
            cells: vec![
                cell(0, 1, 0, 600, 300),
                cell(0, 1, 1, 1, 1),
                cell(0, 2, 0, 400, 40),
                cell(1, 1, 0, 400, 100),
                cell(1, 2, 0, 600, 6),
                cell(1, 2, 1, 1, 0),
            ],
            sessions: vec![
                SessionCount { query: 0, user: 0, sessions: 1000 },
                SessionCount { query: 0, user: 1, sessions: 1 },
            ],
            ..Batch::default()
        }
    }

    /// Mean and variance of `of` over thinned counts.
    fn moments(weight: f64, of: impl Fn(&Batch) -> u64) -> (f64, f64) {
        let draws = 4000;
        let values: Vec<f64> =
            (0..draws).map(|seed| of(&thinning(weight, seed).thin(counts(), "shoes")) as f64).collect();
        let mean = values.iter().sum::<f64>() / draws as f64;
        (mean, values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (draws - 1) as f64)
    }

    #[test]
    fn cells_have_the_law_of_drawn_sessions() {
        let find = |batch: &Batch, doc, position| {
            batch.cells.iter().find(|cell| (cell.doc, cell.position, cell.user) == (doc, position, 0)).copied()
        };
        for (doc, position, n, c) in [(0, 1, 600.0, 300.0), (1, 2, 600.0, 6.0), (0, 2, 400.0, 40.0)] {
            let weight = 0.3;
            let near = |found: (f64, f64), n: f64| {
                let variance = n * weight * (1.0 - weight);
                assert!((found.0 - n * weight).abs() < 5.0 * (variance / 4000.0).sqrt(), "{found:?}");
                // The variance of a variance of 4,000 draws: about 2.3 %.
                assert!((found.1 / variance - 1.0).abs() < 0.12, "{found:?} {variance}");
            };
            near(moments(weight, |batch| find(batch, doc, position).map_or(0, |cell| cell.impressions)), n);
            near(moments(weight, |batch| find(batch, doc, position).map_or(0, |cell| cell.clicks)), c);
        }
    }

    #[test]
    fn what_is_left_is_a_log() {
        for seed in 0..200 {
            let left = thinning(0.4, seed).thin(counts(), "shoes");
            let sessions =
                |user: u32| left.sessions.iter().find(|count| count.user == user).map_or(0, |it| it.sessions);
            for position in [1, 2] {
                for user in [0, 1] {
                    let shown = left.cells.iter().filter(|cell| (cell.position, cell.user) == (position, user));
                    assert_eq!(shown.map(|cell| cell.impressions).sum::<u64>(), sessions(user));
                }
            }
            assert!(left.cells.iter().all(|cell| cell.clicks <= cell.impressions && cell.impressions > 0));
            assert!(left.cells.is_sorted());
        }
    }

    #[test]
    fn ways_that_are_left_end_as_often_as_they_begin() {
        let ways = [(0, 1, 50), (0, 3, 30), (0, END, 20), (1, 3, 25), (1, END, 25), (3, END, 55)];
        let rows: Vec<Transition> =
            ways.iter().map(|&(from, to, sessions)| Transition { list: 0, user: 4, from, to, sessions }).collect();
        let mut kept = 0;
        for seed in 0..2000 {
            let left = thin_ways(&rows, 0.5, &mut stream(seed, "test", 0));
            let sum = |is: &dyn Fn(&Transition) -> bool| -> u64 {
                left.iter().filter(|row| is(row)).map(|row| row.sessions).sum()
            };
            for position in [1, 3] {
                assert_eq!(sum(&|row| row.to == position), sum(&|row| row.from == position));
            }
            assert_eq!(sum(&|row| row.from == 0), sum(&|row| row.to == END));
            kept += sum(&|row| (row.from, row.to) == (1, 3));
        }
        let mean = kept as f64 / 2000.0;
        assert!((mean - 12.5).abs() < 5.0 * (25.0 * 0.25 / 2000.0f64).sqrt(), "{mean}");
    }
}
