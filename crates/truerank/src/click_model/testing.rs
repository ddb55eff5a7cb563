//! Logs of known models for tests: pages enter, transitions leave; models and lists enter, drawn sessions leave.

use std::collections::BTreeMap;

use rand::RngExt;
use rand::seq::SliceRandom;

use super::{Browsing, ClickLog, ListParameters, Session};
use crate::counts::{Listed, Shown, ShownList, Transition, Transitions};
use crate::ids::Ids;
use crate::random::{Random, stream};

/// Transitions with the ids of what they number.
pub(crate) struct OwnLog {
    pub transitions: Transitions,
    pub queries: Ids,
    pub docs: Ids,
    pub users: Ids,
    pub contexts: Ids,
}

impl OwnLog {
    pub fn view(&self) -> ClickLog<'_> {
        let OwnLog { transitions, queries, docs, users, contexts } = self;
        ClickLog { transitions, queries, docs, users, contexts }
    }
}

/// A page by its query, user, and what it showed by position.
pub(crate) type OwnPage = (u32, u32, Vec<Shown>);

/// Sessions by user, position of a click, and position of the next.
type Steps = BTreeMap<(u32, u32, u32), u64>;

/// The transitions of pages, by the plain loop over sessions.
pub(crate) fn transitions_of(pages: &[OwnPage]) -> Transitions {
    let mut rows: BTreeMap<(u32, Vec<Listed>), Steps> = BTreeMap::new();
    for (query, user, page) in pages {
        let list = page.iter().map(|shown| Listed { position: shown.position, doc: shown.doc }).collect();
        let of_list = rows.entry((*query, list)).or_default();
        Transitions::steps(page).for_each(|(from, to)| *of_list.entry((*user, from, to)).or_default() += 1);
    }
    let mut transitions = Transitions::default();
    for (number, ((query, list), steps)) in (0..).zip(rows) {
        let start = transitions.shown.len();
        transitions.shown.extend(list);
        transitions.lists.push(ShownList { query, context: 0, shown: start..transitions.shown.len() });
        let row = |((user, from, to), sessions)| Transition { list: number, user, from, to, sessions };
        transitions.rows.extend(steps.into_iter().map(row));
    }
    transitions
}

/// The transitions of pages that were shown in the contexts that their users stand for, all to one user.
pub(crate) fn by_context(world: &World, pages: &[OwnPage]) -> OwnLog {
    let of_context = |context: u32| {
        let pages: Vec<OwnPage> =
            pages.iter().filter(|page| page.1 == context).map(|(query, _, page)| (*query, 0, page.clone())).collect();
        let mut part = transitions_of(&pages);
        part.lists.iter_mut().for_each(|list| list.context = context);
        part
    };
    let parts: Vec<Transitions> = (0..world.users.len() as u32).map(of_context).collect();
    let mut transitions = Transitions::default();
    for query in 0..world.attraction.len() as u32 {
        let of_query: Vec<Transitions> = parts.iter().map(|part| part.of_queries(query, query)).collect();
        transitions.add_parts(query, of_query.iter());
    }
    let contexts = Ids::numbered(world.users.len());
    OwnLog { transitions, users: Ids::numbered(1), contexts, ..world.log_of(&[]) }
}

/// Queries with documents of known γ and σ, shown in random orders to users who browse as they do.
pub(crate) struct World {
    pub attraction: Vec<Vec<f64>>,
    pub satisfaction: Vec<Vec<f64>>,
    /// Of each user.
    pub users: Vec<Browsing>,
    /// Lists for each query; 0 for a new order every time.
    pub lists: usize,
}

impl World {
    /// `queries` of `docs` documents.
    pub fn new(queries: usize, docs: usize, users: Vec<Browsing>, seed: u64) -> Self {
        let mut random = stream(seed, "world", 0);
        let mut draw = |low: f64, high: f64| -> Vec<Vec<f64>> {
            (0..queries).map(|_| (0..docs).map(|_| random.random_range(low..high)).collect()).collect()
        };
        World { attraction: draw(0.1, 0.7), satisfaction: draw(0.1, 0.8), users, lists: 0 }
    }

    fn docs(&self) -> usize {
        self.attraction[0].len()
    }

    fn order(&self, query: usize, random: &mut Random) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.docs()).collect();
        match self.lists {
            0 => order.shuffle(random),
            lists => {
                let list = random.random_range(0..lists) as u64;
                order.shuffle(&mut stream(query as u64, "list", list));
            }
        }
        order
    }

    /// Sessions of random queries and users.
    pub fn pages(&self, sessions: usize, seed: u64) -> Vec<OwnPage> {
        let users = self.users.len();
        self.pages_by(sessions, seed, |_, random| random.random_range(0..users))
    }

    /// The same, with a user for each query as `user` draws them.
    pub fn pages_by(&self, sessions: usize, seed: u64, user: impl Fn(usize, &mut Random) -> usize) -> Vec<OwnPage> {
        let mut random = stream(seed, "pages", 0);
        let mut session = Session::default();
        let mut draw = |_| {
            let query = random.random_range(0..self.attraction.len());
            let user = user(query, &mut random);
            let order = self.order(query, &mut random);
            let page = ListParameters {
                positions: (1..=order.len() as u32).collect(),
                attraction: order.iter().map(|&doc| self.attraction[query][doc]).collect(),
                satisfaction: order.iter().map(|&doc| self.satisfaction[query][doc]).collect(),
                unknown: 0,
            };
            self.users[user].draw(&page.view(), &mut random, &mut session);
            let number = |doc: usize| (query * self.docs() + doc) as u32;
            let shown = (1..).zip(&order).zip(&session.clicked);
            let shown = shown.map(|((position, &doc), &click)| Shown { position, doc: number(doc), click });
            (query as u32, user as u32, shown.collect())
        };
        (0..sessions).map(&mut draw).collect()
    }

    pub fn log(&self, sessions: usize, seed: u64) -> OwnLog {
        self.log_of(&self.pages(sessions, seed))
    }

    pub fn log_of(&self, pages: &[OwnPage]) -> OwnLog {
        OwnLog {
            transitions: transitions_of(pages),
            queries: Ids::numbered(self.attraction.len()),
            docs: Ids::numbered(self.attraction.len() * self.docs()),
            users: Ids::numbered(self.users.len()),
            contexts: Ids::default(),
        }
    }
}

/// Random parameters of a kind.
pub(crate) fn random_browsing(kind: super::ClickModelKind, positions: usize, random: &mut Random) -> Browsing {
    let mut browsing = Browsing::constant(kind, positions, 0.0);
    browsing.values.iter_mut().for_each(|value| *value = random.random_range(0.15..0.95));
    browsing
}
