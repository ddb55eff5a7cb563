//! Where nothing changed, p-values are honest although users and queries differ; what changed is found.

use rand::RngExt;

use super::*;
use crate::counts::{Cell, Counts, Pages, Shown};
use crate::ids::Ids;
use crate::progress::Silent;
use crate::random::stream;

const USERS: u32 = 80;
const QUERIES: u32 = 40;

/// Two logs of users and queries of very different sizes, each with its own level of clicks. Clicks of the second log are `factor`
/// times as likely.
fn logs(pages: u32, factor: f64, seed: u64) -> [Counts; 2] {
    let mut random = stream(seed, "test", 0);
    let levels: Vec<f64> = (0..USERS).map(|_| 0.2 + 0.8 * random.random::<f64>()).collect();
    let relevance: Vec<f64> = (0..QUERIES * 8).map(|_| random.random::<f64>()).collect();
    let mut days = [Pages::default(), Pages::default()];
    for _ in 0..pages {
        // The square of a uniform number: few users and queries have most pages.
        let user = (f64::from(USERS) * random.random::<f64>().powi(2)) as u32;
        let query = (f64::from(QUERIES) * random.random::<f64>().powi(3)) as u32;
        let day = usize::from(random.random::<bool>());
        let shift = random.random_range(0..3u32);
        let shown: Vec<Shown> = (1..=5u32)
            .map(|position| {
                let doc = query * 8 + (position + shift) % 8;
                let chance = levels[user as usize] * relevance[doc as usize] / f64::from(position);
                let chance = if day == 1 { factor * chance } else { chance };
                Shown { position, doc, click: random.random::<f64>() < chance }
            })
            .collect();
        days[day].push(query, user, shown);
    }
    days.map(|pages| {
        let pages = pages.sorted();
        let (cells, sessions): (Vec<Cell>, _) = pages.counted();
        let ids = |count: u32| Ids::numbered(count as usize);
        Counts {
            queries: ids(QUERIES),
            docs: ids(QUERIES * 8),
            users: ids(USERS),
            cells,
            sessions,
            ..Counts::default()
        }
    })
}

#[test]
fn where_nothing_changed_few_p_values_are_small() {
    let runs = 300;
    let drift = Drift::new().permutations(99);
    let mut small: std::collections::BTreeMap<Aspect, usize> = Default::default();
    let mut families = 0;
    for seed in 0..runs {
        let [old, new] = logs(600, 1.0, seed);
        let found = drift.clone().seed(seed).compare(&old, &new, &Silent).unwrap();
        for change in &found.changes {
            *small.entry(change.aspect).or_default() += usize::from(change.p.is_some_and(|p| p <= 0.05));
        }
        families += usize::from(found.changes.iter().any(|change| change.drifted));
    }
    // Five standard deviations above 5 %.
    let most = runs as f64 * 0.05 + 5.0 * (runs as f64 * 0.05 * 0.95).sqrt();
    for (aspect, count) in &small {
        assert!((*count as f64) < most, "{aspect:?}: {count} of {runs}");
    }
    assert!(small[&Aspect::ClickRate] > 0, "never below the level: {small:?}");
    assert!((families as f64) < most, "{families} of {runs} call drift what is none");
}

#[test]
fn what_changed_is_found_with_its_size() {
    let [old, new] = logs(8000, 1.3, 7);
    let found = Drift::new().compare(&old, &new, &Silent).unwrap();
    let of = |aspect| found.changes.iter().find(|change| change.aspect == aspect).unwrap();
    for aspect in [Aspect::ClickRate, Aspect::ClicksPerPage, Aspect::SamePlace, Aspect::AtPosition(1)] {
        let change = of(aspect);
        assert!(change.drifted, "{change:?}");
        assert!((change.relative() - 0.3).abs() < 0.15, "{change:?}");
    }
    for aspect in [Aspect::PageLength, Aspect::QueryMix, Aspect::UserMix] {
        assert!(!of(aspect).drifted, "{:?}", of(aspect));
    }
    assert_eq!(found.stability(), Verdict::DoesNotHold);
    let report = found.report("Two days");
    assert!(report.text().contains("Click rate"));
    assert!(report.html().is_ok());
    assert_eq!(found.to_json()["drifted"], true);
    // The same whatever the threads.
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert_eq!(one.install(|| Drift::new().compare(&old, &new, &Silent).unwrap()), found);
}

#[test]
fn intervals_cover_the_truth() {
    // The expected difference of this log: 30 % of the old rate.
    let covered = (0..100).filter(|&seed| {
        let [old, new] = logs(1500, 1.3, seed);
        let found = Drift::new().permutations(19).compare(&old, &new, &Silent).unwrap();
        let change = &found.changes[0];
        let truth = 0.3 * change.old.unwrap();
        // The old rate varies as well: its part of the error is 1.3 times, so this interval is a little too short.
        (change.difference - truth).abs() < 2.2 * change.standard_error.unwrap()
    });
    let covered = covered.count();
    assert!((88..=100).contains(&covered), "{covered} of 100");
}

#[test]
fn one_user_and_one_query_tell_nothing() {
    let cell = |clicks| Cell { query: 0, doc: 0, position: 1, user: 0, impressions: 100, clicks };
    let log = |clicks| Counts {
        queries: Ids::numbered(1),
        docs: Ids::numbered(1),
        users: Ids::numbered(1),
        cells: vec![cell(clicks)],
        sessions: vec![crate::counts::SessionCount { query: 0, user: 0, sessions: 100 }],
        ..Counts::default()
    };
    let found = Drift::new().compare(&log(10), &log(90), &Silent).unwrap();
    assert_eq!(found.stability(), Verdict::Open);
    assert!(found.changes.iter().all(|change| change.p.is_none()));
}

#[test]
fn new_and_gone_are_counted() {
    let [mut old, new] = logs(4000, 1.0, 3);
    old.cells.retain(|cell| cell.user < 40);
    old.sessions.retain(|count| count.user < 40);
    let found = Drift::new().compare(&old, &new, &Silent).unwrap();
    let users = found.overlaps.iter().find(|overlap| overlap.what == "users").unwrap();
    let expected = new.sessions.iter().filter(|count| count.user >= 40).map(|count| count.sessions).sum::<u64>();
    assert!(users.new > 20);
    assert!(users.new_share >= expected as f64 / new.session_count() as f64);
    let who = found.changes.iter().find(|change| change.aspect == Aspect::UserMix).unwrap();
    assert!(who.drifted, "{who:?}");
}

#[test]
fn examination_is_compared_by_its_standard_errors() {
    let estimate = |population: [f64; 3], errors: &[f64]| {
        let mut propensities = Propensities { population: population.to_vec(), ..Propensities::default() };
        propensities.details.population.standard_errors = errors.to_vec();
        propensities
    };
    let old = estimate([1.0, 0.5, 0.3], &[0.0, 0.01, 0.01]);
    let new = estimate([1.0, 0.6, 0.301], &[0.0, 0.01, 0.01]);
    let found = Drift::new().compare_propensities(&old, &new).unwrap();
    let drifted: Vec<bool> = found.changes.iter().map(|change| change.drifted).collect();
    assert_eq!(drifted, [false, true, false]);
    let z = (0.001 / (0.01f64 * 2.0f64.sqrt())).abs();
    assert!((found.changes[2].p.unwrap() - swaps::two_sided(z)).abs() < 1e-12);
    let other = Propensities { scale: "other".into(), ..old.clone() };
    let refused = Drift::new().compare_propensities(&old, &other).unwrap_err().to_string();
    assert!(refused.contains("only numbers of one scale"), "{refused}");
}
