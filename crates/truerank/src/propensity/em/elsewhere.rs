//! Estimates from sums over cells that are elsewhere are those from the cells themselves.

use std::collections::BTreeMap;

use super::{EmUsers, RegressionEm, RelevanceForm};
use crate::Result;
use crate::counts::{Cell, CountOptions, Counts, SessionCount, count_log};
use crate::data::{Dataset, Generator, Preset};
use crate::ids::Ids;
use crate::progress::Silent;
use crate::propensity::{CellsElsewhere, ClusterCount, Evidence, Grouping, Joined, Propensities, UserGroups};
use crate::simulate::{ShownLists, Simulation};

/// Counts of which only sums are given.
struct Summable {
    counts: Counts,
    sessions: Vec<u64>,
    positions: usize,
    /// The number of each cell's document.
    docs: Vec<u32>,
}

impl Summable {
    fn of(counts: Counts) -> Self {
        let mut docs = Vec::new();
        for (number, of_doc) in (0..).zip(counts.cells.chunk_by(|a, b| (a.query, a.doc) == (b.query, b.doc))) {
            docs.extend(of_doc.iter().map(|_| number));
        }
        Summable { sessions: counts.sessions_per_user(), positions: counts.max_position() as usize, counts, docs }
    }

    /// All users as one.
    fn together(&self) -> Counts {
        let alone = |cell: &Cell| (cell.query, cell.doc, cell.position, 0);
        let groups = vec![Some(0); self.counts.users.len()];
        let cells = self.grouped(&groups, None).unwrap();
        assert!(cells.is_sorted_by_key(alone));
        let sessions = (0..).zip(self.counts.sessions_per_query());
        Counts {
            queries: self.counts.queries.clone(),
            docs: self.counts.docs.clone(),
            users: Ids::numbered(1),
            cells,
            sessions: sessions.map(|(query, sessions)| SessionCount { query, user: 0, sessions }).collect(),
            ..Counts::default()
        }
    }

    fn slot(&self, cell: &Cell) -> usize {
        cell.user as usize * self.positions + cell.position as usize - 1
    }

    fn cells<'a>(&'a self, docs: Option<&'a [bool]>) -> impl Iterator<Item = (&'a Cell, usize)> {
        let cells = self.counts.cells.iter().zip(self.docs.iter().map(|doc| *doc as usize));
        cells.filter(move |(_, doc)| docs.is_none_or(|docs| docs[*doc]))
    }
}

impl CellsElsewhere for Summable {
    fn users(&self) -> &Ids {
        &self.counts.users
    }

    fn sessions(&self) -> &[u64] {
        &self.sessions
    }

    fn positions(&self) -> usize {
        self.positions
    }

    fn count(&self) -> u64 {
        self.counts.cells.len() as u64
    }

    fn grouped(&self, group_of_user: &[Option<u32>], docs: Option<&[bool]>) -> Result<Vec<Cell>> {
        let mut sums = BTreeMap::<(u32, u32, u32, u32), (u64, u64)>::new();
        for (cell, _) in self.cells(docs) {
            if let Some(group) = group_of_user[cell.user as usize] {
                let sum = sums.entry((cell.query, cell.doc, cell.position, group)).or_default();
                *sum = (sum.0 + cell.impressions, sum.1 + cell.clicks);
            }
        }
        let cell = |((query, doc, position, user), (impressions, clicks))| Cell {
            query,
            doc,
            position,
            user,
            impressions,
            clicks,
        };
        Ok(sums.into_iter().map(cell).collect())
    }

    fn slots(&self, docs: Option<&[bool]>) -> Result<Evidence> {
        let count = self.sessions.len() * self.positions;
        let (mut impressions, mut clicks) = (vec![0; count], vec![0; count]);
        for (cell, _) in self.cells(docs) {
            impressions[self.slot(cell)] += cell.impressions;
            clicks[self.slot(cell)] += cell.clicks;
        }
        Ok(Evidence { impressions, clicks, standard_errors: Vec::new() })
    }

    fn exposed(&self, relevance: &[f64]) -> Result<Vec<f64>> {
        let mut exposed = vec![0.0; self.sessions.len() * self.positions];
        for (cell, doc) in self.cells(None) {
            exposed[self.slot(cell)] += cell.impressions as f64 * relevance[doc];
        }
        Ok(exposed)
    }

    fn exposure(&self, theta: &[f64]) -> Result<Vec<f64>> {
        let mut exposure = vec![0.0; self.docs.last().map_or(0, |last| *last as usize + 1)];
        for (cell, doc) in self.cells(None) {
            exposure[doc] += cell.impressions as f64 * theta[self.slot(cell)];
        }
        Ok(exposure)
    }

    fn for_each_shown(&self, take: &mut dyn FnMut(u32, u32)) -> Result<()> {
        let shown = self.counts.cells.iter().zip(&self.docs).filter(|(cell, _)| cell.impressions > 0);
        shown.rev().for_each(|(cell, &doc)| take(doc, self.slot(cell) as u32));
        Ok(())
    }
}

/// Documents of a tenth of the queries are not in the data.
fn log(users: usize, sessions: u64) -> (Dataset, Counts) {
    let data = Generator::preset(Preset::Tiny).generate().unwrap().train;
    let lists = [ShownLists::top(&data, &vec![0.0; data.len()], 6).unwrap()];
    let simulation = Simulation::new().etas(vec![1.8, 0.6, 0.1]).users_per_cluster(users).user_noise(0.1);
    let log = simulation.sessions(sessions).shuffle(0.5).prepare(&data, &lists).unwrap().log();
    let (counts, _) = count_log(&log, &CountOptions::new()).unwrap();
    let most: Vec<usize> = (0..data.query_count()).filter(|query| query % 10 > 0).collect();
    (data.select(&most), counts)
}

/// The estimate from cells, and from sums over them.
fn both(em: &RegressionEm, data: Option<&Dataset>, counts: Counts) -> [Propensities; 2] {
    let here = em.estimate(&counts, data, &Silent).unwrap().propensities;
    let cells = Summable::of(counts);
    let together = cells.together();
    let log = Joined::new(&together, data);
    [here, em.estimate_elsewhere(&log, &cells, &Silent).unwrap().propensities]
}

/// Where cells are few, they are all collected: the same to the last bit.
fn check(users: EmUsers, relevance: RelevanceForm) {
    let (data, counts) = log(60, 4000);
    let data = (relevance != RelevanceForm::Table).then_some(&data);
    let em = RegressionEm::new().users(users).relevance(relevance).iterations(30).resamples(2);
    let [here, elsewhere] = both(&em, data, counts);
    assert_eq!(here, elsewhere);
}

#[test]
fn of_the_population() {
    check(EmUsers::Together, RelevanceForm::Table);
    check(EmUsers::Together, RelevanceForm::Linear);
}

#[test]
fn of_shrunk_users() {
    check(EmUsers::Shrunk, RelevanceForm::Table);
    check(EmUsers::Shrunk, RelevanceForm::Linear);
}

#[test]
fn of_clusters() {
    let groups = |clusters, method| EmUsers::Grouped(UserGroups::new().clusters(clusters).method(method));
    check(groups(ClusterCount::Chosen { most: 4 }, Grouping::Mixture), RelevanceForm::Linear);
    check(groups(ClusterCount::Given(3), Grouping::KMeans), RelevanceForm::Table);
}

/// Where they are many, sums of the last steps are taken in another order.
#[test]
fn of_many_users() {
    for relevance in [RelevanceForm::Table, RelevanceForm::Linear] {
        let (data, counts) = log(1000, 10_000);
        let data = (relevance != RelevanceForm::Table).then_some(&data);
        assert!(counts.cells.len() > 50_000);
        let em = RegressionEm::new().users(EmUsers::Shrunk).relevance(relevance).iterations(40).resamples(2);
        let [here, elsewhere] = both(&em, data, counts);
        assert_eq!(here.details.notes, elsewhere.details.notes);
        assert_eq!(here.details.by_user.clicks, elsewhere.details.by_user.clicks);
        let apart = |a: &[f64], b: &[f64]| {
            assert_eq!(a.len(), b.len());
            a.iter().zip(b).map(|(a, b)| (a - b).abs() / a.abs().max(1e-3)).fold(0.0, f64::max)
        };
        assert!(apart(&here.population, &elsewhere.population) < 1e-9);
        assert!(apart(&here.by_user, &elsewhere.by_user) < 1e-9);
        // Errors are differences of fits that are nearly the same.
        let errors = [&here, &elsewhere].map(|found| &found.details.by_user.standard_errors[..]);
        assert!(apart(errors[0], errors[1]) < 1e-6, "{}", apart(errors[0], errors[1]));
    }
}
