//! The user-aware estimator past the position-based model: unbiased under UBM, DCM, DBN and trust bias, where the one that
//! takes all users for average is not (the method's table of personalized bias, by a t-test over logs).

use super::{Estimation, Estimator, Exposures, Relevance};
use crate::click_model::testing::{OwnPage, World, by_context};
use crate::click_model::{Browsing, ClickModel, ClickModelKind, DocumentParameters, OfUsers, UserKind};
use crate::counts::{CountOptions, Counts, count_log};
use crate::ids::Ids;
use crate::log::{Impression, Log};
use crate::propensity::Fit;
use crate::random::Random;
use rand::RngExt;

const TRUTH: [f64; 6] = [0.6, 0.2, 0.5, 0.1, 0.4, 0.3];
const LOGS: u64 = 12;
const SESSIONS: usize = 8000;

/// How an impatient and a patient user browse.
fn users(kind: ClickModelKind) -> Vec<Browsing> {
    let user = |patience: f64| {
        let mut browsing = Browsing::constant(kind, 6, patience);
        match kind {
            ClickModelKind::Ubm => {
                let skipped = (1..=6).flat_map(|k: i32| (0..k).map(move |from| k - from - 1));
                browsing.values = skipped.map(|skipped| patience.powi(skipped)).collect();
            }
            ClickModelKind::Trust => {
                let theta = (0..6).map(|skipped| patience.powi(skipped));
                let wrong = (0..6).map(|skipped| 0.5 * patience.powi(skipped + 1));
                browsing.values = theta.chain([0.95; 6]).chain(wrong).collect();
            }
            _ => {}
        }
        browsing
    };
    vec![user(0.45), user(0.9)]
}

fn world(kind: ClickModelKind) -> World {
    World {
        attraction: vec![TRUTH.to_vec()],
        satisfaction: vec![vec![0.3, 0.6, 0.2, 0.5, 0.4, 0.7]],
        users: users(kind),
        lists: 8,
    }
}

/// The truth as a model: every user is of one kind, and half of all people are of each.
fn truth(world: &World) -> ClickModel {
    let has_satisfaction = world.users[0].kind.has_satisfaction();
    ClickModel {
        kinds: world.users.iter().map(|user| UserKind { browsing: user.clone(), share: 0.5, users: 1 }).collect(),
        users: Ids::numbered(2),
        of_users: OfUsers::Shares(vec![1.0, 0.0, 0.0, 1.0]),
        contexts: Ids::default(),
        of_contexts: Vec::new(),
        queries: Ids::numbered(1),
        docs: Ids::numbered(6),
        documents: (0..6)
            .map(|doc| DocumentParameters {
                query: 0,
                doc,
                attraction: TRUTH[doc as usize],
                satisfaction: has_satisfaction.then(|| world.satisfaction[0][doc as usize]),
            })
            .collect(),
        unseen_attraction: vec![0.5],
        unseen_satisfaction: if has_satisfaction { vec![0.5] } else { Vec::new() },
        fit: Fit::default(),
        notes: Vec::new(),
    }
}

fn counted(pages: &[OwnPage]) -> Counts {
    let rows = pages.iter().enumerate().flat_map(|(session, (query, user, page))| {
        page.iter().map(move |shown| Impression {
            session: session as u64,
            user: *user,
            query: *query,
            doc: shown.doc,
            position: shown.position,
            click: shown.click,
        })
    });
    let impressions = rows.collect();
    let log = Log { users: Ids::numbered(2), queries: Ids::numbered(1), docs: Ids::numbered(6), impressions };
    count_log(&log, &CountOptions::new().transitions(true)).unwrap().0
}

/// 70 % of the sessions of this query are impatient.
fn draw_user(_: usize, random: &mut Random) -> usize {
    usize::from(random.random_bool(0.3))
}

fn estimates(kind: ClickModelKind, estimator: Estimator) -> Vec<Relevance> {
    let world = world(kind);
    let model = truth(&world);
    let log = |seed| {
        let counts = counted(&world.pages_by(SESSIONS, seed, draw_user));
        let exposures = Exposures::modelled(&counts, &model).unwrap();
        Estimation::new(estimator).weigh(&exposures).unwrap().relevance().unwrap()
    };
    (0..LOGS).map(log).collect()
}

/// Mean and t of the error of each document's weight, and the variance of weights over that which they claim.
fn errors(found: &[Relevance]) -> (Vec<f64>, Vec<f64>, f64) {
    let (mut means, mut ts, mut ratio) = (Vec::new(), Vec::new(), 0.0);
    for (doc, truth) in TRUTH.iter().enumerate() {
        let values: Vec<f64> = found.iter().map(|relevance| relevance.weights[doc].weight).collect();
        let mean = values.iter().sum::<f64>() / LOGS as f64;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (LOGS - 1) as f64;
        let claimed = found.iter().map(|relevance| relevance.weights[doc].variance).sum::<f64>() / LOGS as f64;
        means.push(mean);
        ts.push((mean - truth) / (variance / LOGS as f64).sqrt());
        ratio += variance / claimed / TRUTH.len() as f64;
    }
    (means, ts, ratio)
}

#[test]
fn user_aware_weights_are_unbiased_under_any_click_model_and_oblivious_ones_are_not() {
    for kind in
        [ClickModelKind::Ubm, ClickModelKind::Dcm, ClickModelKind::Dbn, ClickModelKind::Ccm, ClickModelKind::Trust]
    {
        let (aware, ts, ratio) = errors(&estimates(kind, Estimator::UserAware));
        let (oblivious, oblivious_ts, _) = errors(&estimates(kind, Estimator::IpsPbm));
        println!("{kind}: aware {aware:.3?}, oblivious {oblivious:.3?}, variance {ratio:.2} of what is claimed");
        // t of 11 degrees of freedom is beyond 4.4 once in a thousand.
        assert!(ts.iter().all(|t| t.abs() < 4.4), "{kind}: {aware:.3?} with t {ts:.1?}");
        assert!(
            oblivious_ts.iter().filter(|t| t.abs() > 4.4).count() >= 4,
            "{kind}: {oblivious:.3?} {oblivious_ts:.1?}"
        );
        // Of six documents and twelve logs, the mean ratio has a deviation of about .17.
        assert!((0.5..1.6).contains(&ratio), "{kind}: {ratio}");
    }
}

#[test]
fn under_the_position_based_model_both_ways_are_the_same() {
    let world = World { users: vec![Browsing::constant(ClickModelKind::Pbm, 6, 0.5); 2], ..world(ClickModelKind::Pbm) };
    let theta = [1.0, 0.8, 0.6, 0.5, 0.4, 0.3];
    let deep = [1.0, 0.9, 0.8, 0.8, 0.7, 0.6];
    let users = [theta, deep].map(|values| Browsing { values: values.to_vec(), ..world.users[0].clone() });
    let world = World { users: users.to_vec(), ..world };
    let model = truth(&world);
    let counts = counted(&world.pages_by(2000, 1, draw_user));
    let propensities = crate::propensity::Propensities {
        population: theta.to_vec(),
        users: Ids::numbered(2),
        by_user: [theta, deep].concat(),
        ..Default::default()
    };
    let estimation = Estimation::new(Estimator::UserAware);
    let by_position = estimation.estimate(&counts, &propensities).unwrap();
    let exposures = Exposures::modelled(&counts, &model).unwrap();
    let by_model = estimation.weigh(&exposures).unwrap().relevance().unwrap();
    for (a, b) in by_position.weights.iter().zip(&by_model.weights) {
        assert!((a.weight - b.weight).abs() < 1e-12 && (a.variance - b.variance).abs() < 1e-12, "{a:?} {b:?}");
    }
    let without = Counts { transitions: None, ..counts };
    let error = Exposures::modelled(&without, &model).err().unwrap().to_string();
    assert!(error.contains("count the log with `transitions`"), "{error}");
}

/// Where the first query of all is asked on phones alone, a model that takes all contexts for one thinks its documents less relevant.
#[test]
fn weights_by_context_are_unbiased_and_those_without_are_not() {
    for kind in [ClickModelKind::Ubm, ClickModelKind::Dcm] {
        let world = world(kind);
        let known = ClickModel {
            contexts: Ids::numbered(2),
            of_contexts: world.users.iter().flat_map(|user| user.values.clone()).collect(),
            kinds: vec![UserKind { browsing: mean_of(&world.users), share: 1.0, users: 1 }],
            users: Ids::default(),
            of_users: OfUsers::Alike,
            ..truth(&world)
        };
        let alike = ClickModel { contexts: Ids::default(), of_contexts: Vec::new(), ..known.clone() };
        let estimates = |model: &ClickModel| -> Vec<Relevance> {
            let log = |seed| {
                let pages = world.pages_by(SESSIONS, seed, draw_user);
                let in_contexts = by_context(&world, &pages);
                let same_user: Vec<OwnPage> = pages.into_iter().map(|(query, _, page)| (query, 0, page)).collect();
                let counts = Counts {
                    contexts: in_contexts.contexts,
                    transitions: Some(in_contexts.transitions),
                    ..counted(&same_user)
                };
                let exposures = Exposures::modelled(&counts, model).unwrap();
                Estimation::new(Estimator::UserAware).weigh(&exposures).unwrap().relevance().unwrap()
            };
            (0..LOGS).map(log).collect()
        };
        let (by_context, ts, ratio) = errors(&estimates(&known));
        let (without, without_ts, _) = errors(&estimates(&alike));
        println!("{kind}: by context {by_context:.3?}, without {without:.3?}, variance {ratio:.2} of what is claimed");
        assert!(ts.iter().all(|t| t.abs() < 4.4), "{kind}: {by_context:.3?} with t {ts:.1?}");
        assert!(without_ts.iter().filter(|t| t.abs() > 4.4).count() >= 4, "{kind}: {without:.3?} {without_ts:.1?}");
        assert!((0.5..1.6).contains(&ratio), "{kind}: {ratio}");
    }
}

fn mean_of(users: &[Browsing]) -> Browsing {
    let mean = |place: usize| users.iter().map(|user| user.values[place]).sum::<f64>() / users.len() as f64;
    Browsing { values: (0..users[0].values.len()).map(mean).collect(), ..users[0].clone() }
}
