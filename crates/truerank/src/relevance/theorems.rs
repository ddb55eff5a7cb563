//! The paper's two theorems, and that cells say what sessions say, checked by simulation.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rayon::prelude::*;

use super::{Estimator, Relevance, Smoothing, estimate};
use crate::counts::{Cell, Counts, SessionCount};
use crate::data::{Dataset, DatasetBuilder};
use crate::ids::Ids;
use crate::propensity::Propensities;
use crate::simulate::{ShownLists, Simulation, Simulator};

const QUERIES: usize = 40;
const DOCS: usize = 6;
const LOGS: u64 = 400;

fn data() -> Dataset {
    DatasetBuilder {
        features: vec![0.0; QUERIES * DOCS],
        feature_count: 1,
        grades: Some((0..QUERIES * DOCS).map(|row| (row * 7 % 5) as u8).collect()),
        queries: Ids::numbered(QUERIES),
        query_ends: (1..=QUERIES).map(|query| query * DOCS).collect(),
        docs: None,
    }
    .build()
    .unwrap()
}

/// Mean and variance of what an estimator says about one document over many logs, and the truth.
#[derive(Debug, Clone, Copy)]
struct Repeated {
    logs: f64,
    mean: f64,
    variance: f64,
    /// The mean of the variances that the estimator claims.
    claimed: f64,
    truth: f64,
}

impl Repeated {
    /// How many standard errors the mean is from the truth.
    fn z(&self) -> f64 {
        (self.mean - self.truth) / (self.variance / self.logs).sqrt()
    }
}

/// Applies an estimator to many logs of one world of users.
fn repeat(estimator: Estimator, personal: bool) -> Vec<Repeated> {
    let data = data();
    let lists = [ShownLists::top(&data, &vec![0.0; data.len()], DOCS).unwrap()];
    let world =
        Simulation::new().etas(vec![2.0, 1.0, 0.0]).sessions(4000).shared_queries(!personal).world_seed(Some(1));
    let runs: Vec<(Relevance, Vec<f64>)> = (0..LOGS)
        .into_par_iter()
        .map(|seed| {
            let simulator: Simulator<'_> = world.clone().seed(seed).prepare(&data, &lists).unwrap();
            let counts = simulator.counts().unwrap();
            let relevance = estimate(&counts, &simulator.propensities(), estimator).unwrap();
            (relevance, simulator.relevance().to_vec())
        })
        .collect();
    let mut by_pair: BTreeMap<usize, Vec<(f64, f64)>> = BTreeMap::new();
    for (relevance, _) in &runs {
        for weight in &relevance.weights {
            by_pair.entry(row(relevance, weight.query, weight.doc)).or_default().push((weight.weight, weight.variance));
        }
    }
    by_pair.into_iter().map(|(row, values)| summarise(&values, runs[0].1[row])).collect()
}

fn row(relevance: &Relevance, query: u32, doc: u32) -> usize {
    let number = |ids: &Ids, index: u32| ids.name(index as usize).parse::<usize>().unwrap() - 1;
    number(&relevance.queries, query) * DOCS + number(&relevance.docs, doc)
}

fn summarise(values: &[(f64, f64)], truth: f64) -> Repeated {
    let logs = values.len() as f64;
    let mean = values.iter().map(|v| v.0).sum::<f64>() / logs;
    let variance = values.iter().map(|v| (v.0 - mean).powi(2)).sum::<f64>() / (logs - 1.0);
    let claimed = values.iter().map(|v| v.1).sum::<f64>() / logs;
    Repeated { logs, mean, variance, claimed, truth }
}

/// Documents that vary at all (certain ones have nothing to test) and are within three standard errors of the truth.
fn share_within_three(documents: &[Repeated]) -> f64 {
    let tested: Vec<f64> = documents.iter().filter(|d| d.variance > 0.0).map(Repeated::z).collect();
    assert!(tested.len() > 100, "too few documents to say anything: {}", tested.len());
    tested.iter().filter(|z| z.abs() < 3.0).count() as f64 / tested.len() as f64
}

/// The mean of z² is 1 for an unbiased estimator; over 200 documents it stays below 1.5 with near certainty.
fn mean_square(documents: &[Repeated]) -> f64 {
    let squares: Vec<f64> = documents.iter().filter(|d| d.variance > 0.0).map(|d| d.z().powi(2)).collect();
    squares.iter().sum::<f64>() / squares.len() as f64
}

#[test]
fn theorem_1_user_aware_and_straightforward_are_unbiased() {
    for estimator in [Estimator::UserAware, Estimator::Straightforward] {
        let documents = repeat(estimator, true);
        assert!(share_within_three(&documents) > 0.98, "{estimator}: {}", share_within_three(&documents));
        assert!(mean_square(&documents) < 1.5, "{estimator}: {}", mean_square(&documents));
    }
}

#[test]
fn ips_pbm_is_biased_exactly_where_users_differ_in_their_queries() {
    let personal = repeat(Estimator::IpsPbm, true);
    assert!(share_within_three(&personal) < 0.5, "{}", share_within_three(&personal));
    let shared = repeat(Estimator::IpsPbm, false);
    assert!(share_within_three(&shared) > 0.98, "{}", share_within_three(&shared));
    assert!(mean_square(&shared) < 1.5, "{}", mean_square(&shared));
}

#[test]
fn theorem_2_user_aware_varies_less_than_straightforward() {
    let (aware, straight) = (repeat(Estimator::UserAware, true), repeat(Estimator::Straightforward, true));
    // A variance from 400 logs is itself off by about 7 %, so a single document may exceed by that much.
    let excess = aware.iter().zip(&straight).filter(|(a, s)| a.variance > s.variance * 1.15).count();
    assert_eq!(excess, 0);
    let total = |documents: &[Repeated]| documents.iter().map(|d| d.variance).sum::<f64>();
    assert!(total(&aware) < 0.8 * total(&straight), "{} and {}", total(&aware), total(&straight));
}

#[test]
fn the_claimed_variance_is_the_observed_one() {
    for estimator in [Estimator::UserAware, Estimator::Straightforward] {
        let documents = repeat(estimator, true);
        let (claimed, observed) = documents.iter().fold((0.0, 0.0), |s, d| (s.0 + d.claimed, s.1 + d.variance));
        assert!((claimed / observed - 1.0).abs() < 0.1, "{estimator}: {claimed} and {observed}");
    }
}

/// One session: who saw what for which query, and clicked where.
#[derive(Debug, Clone)]
struct Session {
    user: u32,
    query: u32,
    page: Vec<(u32, bool)>,
}

const USERS: usize = 3;
const POSITIONS: usize = 4;

fn sessions() -> impl Strategy<Value = Vec<Session>> {
    let page = prop::collection::vec(any::<bool>(), 1..=POSITIONS);
    let session = (0..USERS as u32, 0..3u32, page, 0..3u32).prop_map(|(user, query, clicks, shift)| Session {
        user,
        query,
        page: clicks.into_iter().enumerate().map(|(k, click)| ((k as u32 + shift) % 5, click)).collect(),
    });
    prop::collection::vec(session, 1..40)
}

fn propensities() -> impl Strategy<Value = Propensities> {
    prop::collection::vec(0.05..1.0f64, USERS * POSITIONS).prop_map(|by_user| Propensities {
        method: "test".into(),
        scale: "test".into(),
        population: vec![0.5; POSITIONS],
        users: Ids::numbered(USERS),
        by_user,
        ..Propensities::default()
    })
}

/// Counts by the obvious loop, with all ids kept.
fn count(sessions: &[Session]) -> Counts {
    let mut cells = BTreeMap::<(u32, u32, u32, u32), (u64, u64)>::new();
    let mut visits = BTreeMap::<(u32, u32), u64>::new();
    for session in sessions {
        *visits.entry((session.query, session.user)).or_default() += 1;
        for (k, &(doc, click)) in session.page.iter().enumerate() {
            let cell = cells.entry((session.query, doc, k as u32 + 1, session.user)).or_default();
            *cell = (cell.0 + 1, cell.1 + u64::from(click));
        }
    }
    let cell = |(&(query, doc, position, user), &(impressions, clicks)): (&(u32, u32, u32, u32), &(u64, u64))| Cell {
        query,
        doc,
        position,
        user,
        impressions,
        clicks,
    };
    Counts {
        queries: Ids::numbered(3),
        docs: Ids::numbered(5),
        users: Ids::numbered(USERS),
        contexts: Default::default(),
        cells: cells.iter().map(cell).collect(),
        sessions: visits.iter().map(|(&(query, user), &sessions)| SessionCount { query, user, sessions }).collect(),
        patterns: None,
        transitions: None,
        pages: None,
        origin: Default::default(),
    }
}

/// ŷ by the definitions, one session after another.
fn weight_by_sessions(sessions: &[Session], theta: &Propensities, estimator: Estimator, query: u32, doc: u32) -> f64 {
    let of_query: Vec<&Session> = sessions.iter().filter(|s| s.query == query).collect();
    let examined = |user: u32, k: usize| theta.of_user(user as usize)[k];
    let average = |k: usize| sessions.iter().map(|s| examined(s.user, k)).sum::<f64>() / sessions.len() as f64;
    let sum = |value: &dyn Fn(u32, usize, bool) -> f64| -> f64 {
        let shown = of_query.iter().flat_map(|s| s.page.iter().enumerate().map(move |(k, page)| (s.user, k, page)));
        shown.filter(|(_, _, page)| page.0 == doc).map(|(user, k, page)| value(user, k, page.1)).sum()
    };
    let n = sum(&|_, _, _| 1.0);
    let clicks = sum(&|_, _, click| f64::from(click));
    let exposure = sum(&|user, k, _| examined(user, k));
    match estimator {
        Estimator::Naive => clicks / n,
        Estimator::IpsPbm => clicks / sum(&|_, k, _| average(k)),
        Estimator::Straightforward => sum(&|user, k, click| f64::from(click) / examined(user, k)) / n,
        Estimator::UserAware => clicks / exposure,
        Estimator::UserAwareSmoothed(Smoothing::Fixed(beta)) => {
            clicks * (n + beta) / (n * exposure + beta * sum(&|_, k, _| average(k)))
        }
        Estimator::UserAwareSmoothed(_) => unreachable!("tested with a fixed beta"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn cells_say_what_sessions_say(sessions in sessions(), theta in propensities(), beta in 0.0..20.0f64) {
        let counts = count(&sessions);
        let smoothed = Estimator::UserAwareSmoothed(Smoothing::Fixed(beta));
        let fixed = |estimator| if matches!(estimator, Estimator::UserAwareSmoothed(_)) { smoothed } else { estimator };
        for estimator in Estimator::all().into_iter().map(fixed) {
            for weight in estimate(&counts, &theta, estimator).unwrap().weights {
                let expected = weight_by_sessions(&sessions, &theta, estimator, weight.query, weight.doc);
                prop_assert!((weight.weight - expected).abs() <= 1e-9 * (1.0 + expected), "{estimator}: {weight:?}, {expected}");
            }
        }
    }

    #[test]
    fn by_formula_user_aware_never_varies_more(sessions in sessions(), theta in propensities()) {
        let counts = count(&sessions);
        let aware = estimate(&counts, &theta, Estimator::UserAware).unwrap();
        let straight = estimate(&counts, &theta, Estimator::Straightforward).unwrap();
        for (aware, straight) in aware.weights.iter().zip(&straight.weights) {
            prop_assert!(aware.variance <= straight.variance * (1.0 + 1e-9));
        }
    }
}
