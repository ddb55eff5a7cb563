//! Parameters are found again in sparse logs: few sessions per query, lists that vary, documents that move.

use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

use super::documents::Documents;
use super::em::{Em, Part};
use super::observed::{Apart, Observed};
use super::prior::BetaPrior;
use super::testing::{OwnLog, OwnPage, transitions_of};
use super::{Browsing, ClickModelKind, ClickModelOptions, OfUsers, PageView, Session};
use crate::counts::Shown;
use crate::ids::Ids;
use crate::progress::Silent;
use crate::random::{Random, stream};

const DOCS: usize = 10;
const POSITIONS: usize = 8;

/// One to three sessions for most queries, more for the first; the engine's scores go with relevance and change a little from
/// session to session.
fn log(users: &[Browsing], queries: usize, seed: u64) -> OwnLog {
    let mut random = stream(seed, "sparse", 0);
    let normal = |random: &mut Random| -> f64 { StandardNormal.sample(random) };
    let positions: Vec<u32> = (1..=POSITIONS as u32).collect();
    let (mut pages, mut session): (Vec<OwnPage>, Session) = (Vec::new(), Session::default());
    for query in 0..queries {
        let quality: Vec<f64> = (0..DOCS).map(|_| random.random()).collect();
        let satisfaction: Vec<f64> = (0..DOCS).map(|_| random.random_range(0.1..0.7)).collect();
        let scores: Vec<f64> = quality.iter().map(|quality| quality + 0.35 * normal(&mut random)).collect();
        let popular = (0.02 * queries as f64 / (query + 1) as f64) as usize;
        for _ in 0..random.random_range(1..=3) + popular {
            let shown: Vec<f64> = scores.iter().map(|score| score + 0.2 * normal(&mut random)).collect();
            let order = &crate::math::rank(&shown)[..POSITIONS];
            let attraction: Vec<f64> = order.iter().map(|&doc| 0.04 + 0.6 * quality[doc].powi(2)).collect();
            let satisfaction: Vec<f64> = order.iter().map(|&doc| satisfaction[doc]).collect();
            let page = PageView { positions: &positions, attraction: &attraction, satisfaction: &satisfaction };
            let user = random.random_range(0..users.len());
            users[user].draw(&page, &mut random, &mut session);
            let shown = positions.iter().zip(order).zip(&session.clicked);
            let shown =
                shown.map(|((&position, &doc), &click)| Shown { position, doc: (query * DOCS + doc) as u32, click });
            pages.push((query as u32, user as u32, shown.collect()));
        }
    }
    OwnLog {
        transitions: transitions_of(&pages),
        queries: Ids::numbered(queries),
        docs: Ids::numbered(queries * DOCS),
        users: Ids::numbered(users.len()),
        contexts: Ids::default(),
    }
}

fn browsing(kind: ClickModelKind) -> Browsing {
    let values = match kind {
        ClickModelKind::Pbm => (1..=POSITIONS).map(|k| 1.0 / k as f64).collect(),
        ClickModelKind::Ubm => (1..=POSITIONS).flat_map(|k| (0..k).map(move |from| 1.0 / (k - from) as f64)).collect(),
        ClickModelKind::Dcm => vec![0.7, 0.6, 0.55, 0.5, 0.45, 0.4, 0.35, 0.0],
        ClickModelKind::Dbn => vec![0.8],
        ClickModelKind::Ccm => vec![0.85, 0.7, 0.4],
        _ => Vec::new(),
    };
    Browsing { kind, positions: POSITIONS, values }
}

/// The parameters that are compared: those with enough clicks, on one scale.
fn told(kind: ClickModelKind, values: &[f64]) -> Vec<f64> {
    match kind {
        ClickModelKind::Pbm => (1..4).map(|k| values[k] / values[0]).collect(),
        // Without a click above, or with one just above.
        ClickModelKind::Ubm => [(0, 2), (1, 2), (0, 3), (2, 3)]
            .into_iter()
            .map(|(from, k)| values[kind.slot(from, k)] / values[kind.slot(0, 1)])
            .collect(),
        ClickModelKind::Dcm => values[..3].to_vec(),
        // τ₂ and τ₃ are told apart by what follows clicks on documents of different γ, which few sessions hardly show.
        ClickModelKind::Ccm => values[..1].to_vec(),
        _ => values.to_vec(),
    }
}

/// With the most probable γ in place of a sum over it.
fn at_the_mode(kind: ClickModelKind, log: &OwnLog) -> Vec<f64> {
    let observed = Observed::new(&log.transitions, Apart::Together, &[kind]);
    let documents = || Documents::new(&observed.place_of_doc, BetaPrior::new(POSITIONS, 0.3, 1.0), None, 0.5);
    let mut em = Em {
        observed: &observed,
        parts: vec![Part::new(kind, POSITIONS, None, (0.0, 0.0))],
        shares: vec![1.0],
        attraction: documents(),
        satisfaction: kind.has_satisfaction().then(|| documents().with_evidence_of_complement()),
    };
    ClickModelOptions::new().model(vec![kind]).climb(&mut em, &Silent).unwrap();
    em.parts[0].values.clone()
}

fn mean(logs: &[Vec<f64>]) -> Vec<f64> {
    (0..logs[0].len()).map(|place| logs.iter().map(|log| log[place]).sum::<f64>() / logs.len() as f64).collect()
}

#[test]
fn parameters_of_all_users_are_found_again() {
    use ClickModelKind::{Ccm, Dbn, Dcm, Pbm, Ubm};
    // The largest share that the mean over logs may be off.
    for (kind, allowed) in [(Pbm, 0.12), (Ubm, 0.12), (Dcm, 0.06), (Dbn, 0.03), (Ccm, 0.03)] {
        let truth = browsing(kind);
        let logs: Vec<OwnLog> = (1..=2).map(|seed| log(std::slice::from_ref(&truth), 4000, seed)).collect();
        let options = ClickModelOptions::new().model(vec![kind]);
        let fitted =
            |log: &OwnLog| told(kind, &options.fit(&log.view(), None, &Silent).unwrap().kinds[0].browsing.values);
        let truth = told(kind, &truth.values);
        let summed = mean(&logs.iter().map(fitted).collect::<Vec<_>>());
        println!("{kind}: truth {truth:.3?}, found {summed:.3?}");
        let farthest = |found: &[f64]| {
            found.iter().zip(&truth).map(|(found, truth)| (found / truth - 1.0).abs()).fold(0.0, f64::max)
        };
        assert!(farthest(&summed) < allowed, "{kind}: {summed:.3?} is not {truth:.3?}");
    }
}

#[test]
fn the_most_probable_relevance_misleads() {
    let truth = browsing(ClickModelKind::Ccm);
    let log = log(std::slice::from_ref(&truth), 3000, 4);
    let mode = at_the_mode(ClickModelKind::Ccm, &log);
    let options = ClickModelOptions::new().model(vec![ClickModelKind::Ccm]);
    let summed = options.fit(&log.view(), None, &Silent).unwrap().kinds[0].browsing.values.clone();
    println!("ccm: truth {:.3?}, summed over {summed:.3?}, most probable {mode:.3?}", truth.values);
    let error = |found: &[f64]| -> f64 { found.iter().zip(&truth.values).map(|(a, b)| (a - b).powi(2)).sum() };
    assert!(error(&summed) < 0.25 * error(&mode), "{summed:.3?} {mode:.3?}");
}

#[test]
fn users_with_few_sessions_are_found_again() {
    let kind = ClickModelKind::Pbm;
    let mut random = stream(3, "users", 0);
    let mut user = |_| {
        let depth = random.random_range(0.4..1.8);
        Browsing::power_law(depth, POSITIONS)
    };
    let users: Vec<Browsing> = (0..200).map(&mut user).collect();
    let of_place = |place: usize| users.iter().map(|user| user.values[place]).sum::<f64>() / users.len() as f64;
    let truth: Vec<f64> = (0..POSITIONS).map(of_place).collect();
    let log = log(&users, 3000, 7);
    let model = ClickModelOptions::new().model(vec![kind]).per_user(true).fit(&log.view(), None, &Silent).unwrap();
    let found = told(kind, &model.kinds[0].browsing.values);
    println!("users: truth {:.3?}, found {found:.3?}", told(kind, &truth));
    let near = |(found, truth): (&f64, f64)| (found / truth - 1.0).abs() < 0.2;
    assert!(found.iter().zip(told(kind, &truth)).all(near), "{found:.3?} is not {:.3?}", told(kind, &truth));
    let OfUsers::Parameters(values) = &model.of_users else { panic!("users have parameters") };
    let error = |of_user: &dyn Fn(usize, usize) -> f64| -> f64 {
        let square = |user: usize, k: usize| (of_user(user, k) - users[user].values[k]).powi(2);
        (0..users.len()).flat_map(|user| (1..5).map(move |k| (user, k))).map(|(user, k)| square(user, k)).sum()
    };
    let (own, alike) = (error(&|user, k| values[user * POSITIONS + k]), error(&|_, k| truth[k]));
    assert!(own < 0.9 * alike, "{own} {alike}");
}
