//! Every model against sums over all of its latent paths: likelihood, expected counts, exposure, prediction.

use std::collections::BTreeMap;

use rand::RngExt;

use super::browsing::{logistic, logit};
use super::documents::Documents;
use super::em::{Em, Part, Totals};
use super::expectation::Sum;
use super::kind::Family;
use super::observed::{Apart, Observed};
use super::prior::BetaPrior;
use super::testing::{OwnPage, random_browsing, transitions_of};
use super::{Browsing, ClickModelKind, ListParameters, Session};
use crate::counts::Shown;
use crate::random::stream;

/// A parameter that a path tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tried {
    Attraction(usize),
    Satisfaction(usize),
    Browsing(usize),
}

/// One latent path: what was tried and won, examined and clicked, and how probable it is.
#[derive(Clone)]
struct Path {
    probability: f64,
    trials: Vec<(Tried, bool)>,
    examined: Vec<bool>,
    clicked: Vec<bool>,
}

impl Path {
    /// Both ends of a trial, those that can happen.
    fn tried(&self, what: Tried, chance: f64) -> Vec<(bool, Path)> {
        let end = |won: bool| {
            let mut path = self.clone();
            path.trials.push((what, won));
            path.probability *= if won { chance } else { 1.0 - chance };
            (won, path)
        };
        [end(true), end(false)].into_iter().filter(|(_, path)| path.probability > 0.0).collect()
    }

    fn then(mut self, examined: bool, clicked: bool) -> Path {
        self.examined.push(examined);
        self.clicked.push(clicked);
        self
    }
}

/// All paths down a page.
fn paths(browsing: &Browsing, page: &ListParameters) -> Vec<Path> {
    let start = Path { probability: 1.0, trials: Vec::new(), examined: Vec::new(), clicked: Vec::new() };
    let mut found = Vec::new();
    let mut open = vec![(start, true)];
    while let Some((path, reads)) = open.pop() {
        if path.clicked.len() == page.positions.len() {
            found.push(path);
        } else if !reads {
            open.push((path.then(false, false), false));
        } else if browsing.kind.family() == Family::Cascade {
            open.extend(cascade_step(browsing, page, &path));
        } else {
            open.extend(slot_step(browsing, page, &path).into_iter().map(|path| (path, true)));
        }
    }
    found
}

fn cascade_step(browsing: &Browsing, page: &ListParameters, path: &Path) -> Vec<(Path, bool)> {
    let at = path.clicked.len();
    let is_last = at + 1 == page.positions.len();
    let mut found = Vec::new();
    for (clicked, path) in path.tried(Tried::Attraction(at), page.attraction[at]) {
        let path = path.then(true, clicked);
        if is_last {
            found.push((path, false));
        } else if clicked {
            found.extend(after_click(browsing, page, &path, at));
        } else if let ClickModelKind::Dbn | ClickModelKind::Ccm = browsing.kind {
            found.extend(path.tried(Tried::Browsing(0), browsing.values[0]).into_iter().map(|(on, path)| (path, on)));
        } else {
            found.push((path, true));
        }
    }
    found
}

fn after_click(browsing: &Browsing, page: &ListParameters, path: &Path, at: usize) -> Vec<(Path, bool)> {
    let go_on = |path: &Path, place: usize| {
        let ends = path.tried(Tried::Browsing(place), browsing.values[place]);
        ends.into_iter().map(|(on, path)| (path, on)).collect::<Vec<_>>()
    };
    match browsing.kind {
        ClickModelKind::Dcm => go_on(path, page.positions[at] as usize - 1),
        ClickModelKind::Sdbn | ClickModelKind::Dbn => {
            let ends = path.tried(Tried::Satisfaction(at), page.satisfaction[at]).into_iter();
            ends.flat_map(|(pleased, path)| match (pleased, browsing.kind) {
                (true, _) => vec![(path, false)],
                (false, ClickModelKind::Dbn) => go_on(&path, 0),
                (false, _) => vec![(path, true)],
            })
            .collect()
        }
        ClickModelKind::Ccm => {
            let ends = path.tried(Tried::Attraction(at), page.attraction[at]).into_iter();
            ends.flat_map(|(pleased, path)| go_on(&path, if pleased { 2 } else { 1 })).collect()
        }
        _ => vec![(path.clone(), false)],
    }
}

fn slot_step(browsing: &Browsing, page: &ListParameters, path: &Path) -> Vec<Path> {
    let at = path.clicked.len();
    let last = (0..at).rev().find(|&at| path.clicked[at]).map_or(0, |at| page.positions[at]);
    let slot = match browsing.kind {
        ClickModelKind::Ubm => (page.positions[at] * (page.positions[at] - 1) / 2 + last) as usize,
        _ => page.positions[at] as usize - 1,
    };
    if browsing.kind == ClickModelKind::Additive {
        let chance = logistic(logit(page.attraction[at]) + browsing.values[slot]);
        let ends = path.tried(Tried::Attraction(at), chance);
        return ends.into_iter().map(|(clicked, path)| path.then(clicked, clicked)).collect();
    }
    let mut found = Vec::new();
    for (relevant, path) in path.tried(Tried::Attraction(at), page.attraction[at]) {
        for (examined, path) in path.tried(Tried::Browsing(slot), browsing.values[slot]) {
            if browsing.kind == ClickModelKind::Trust && examined {
                let place = if relevant { browsing.positions + slot } else { 2 * browsing.positions + slot };
                let ends = path.tried(Tried::Browsing(place), browsing.values[place]).into_iter();
                found.extend(ends.map(|(clicked, path)| path.then(true, clicked)));
            } else {
                found.push(path.then(examined, examined && relevant));
            }
        }
    }
    found
}

/// A page of five documents; the third position is empty.
fn example(kind: ClickModelKind, number: u64) -> (Browsing, ListParameters) {
    let mut random = stream(number, "example", kind as u64);
    let positions = vec![1, 2, 4, 5, 6];
    let browsing = random_browsing(kind, 6, &mut random);
    let mut draw = || (0..positions.len()).map(|_| random.random_range(0.05..0.95)).collect::<Vec<f64>>();
    let page = ListParameters { attraction: draw(), satisfaction: draw(), unknown: 0, positions };
    (browsing, page)
}

fn by_pattern(paths: Vec<Path>) -> BTreeMap<Vec<bool>, Vec<Path>> {
    let mut patterns: BTreeMap<Vec<bool>, Vec<Path>> = BTreeMap::new();
    paths.into_iter().for_each(|path| patterns.entry(path.clicked.clone()).or_default().push(path));
    patterns
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-10 * (1.0 + b.abs())
}

fn sum<'p>(paths: impl IntoIterator<Item = &'p Path>) -> f64 {
    paths.into_iter().map(|path| path.probability).sum()
}

fn pages(user: u32, page: &ListParameters, clicked: &[bool]) -> OwnPage {
    let shown = (0..).zip(&page.positions).zip(clicked);
    let shown = shown.map(|((doc, &position), &click)| Shown { position, doc, click });
    (0, user, shown.collect())
}

/// The E-step at given parameters, for users who each browse in their own way, or all as the first.
fn expected(users: &[Browsing], per_user: bool, page: &ListParameters, pages: &[OwnPage]) -> Totals {
    expected_of((users, per_user), page, pages, false)
}

/// The same; if `summed`, over documents that so much is known of that one transition makes no difference.
fn expected_of(
    (users, per_user): (&[Browsing], bool),
    page: &ListParameters,
    pages: &[OwnPage],
    summed: bool,
) -> Totals {
    let kind = users[0].kind;
    let apart = if per_user { Apart::Users(users.len()) } else { Apart::Together };
    let observed = Observed::new(&transitions_of(pages), apart, &[kind]);
    let none = BetaPrior::new(6, 0.5, 0.0);
    let documents = |values: &[f64]| {
        let mut documents = Documents::new(&observed.place_of_doc, none.clone(), None, 0.5);
        documents.values = values.to_vec();
        if summed { documents.certain() } else { documents }
    };
    let mut part = Part::new(kind, 6, per_user.then_some(users.len()), (0.0, 0.0));
    part.values =
        users.iter().take(if per_user { users.len() } else { 1 }).flat_map(|user| user.values.clone()).collect();
    let em = Em {
        observed: &observed,
        parts: vec![part],
        shares: vec![1.0],
        attraction: documents(&page.attraction),
        satisfaction: kind.has_satisfaction().then(|| documents(&page.satisfaction)),
    };
    em.expect()
}

/// What the paths of a pattern tried and won, in expectation.
fn enumerated(paths: &[Path], what: Tried) -> (f64, f64) {
    let total = sum(paths);
    let (mut won, mut of) = (0.0, 0.0);
    for path in paths {
        for (_, success) in path.trials.iter().filter(|(tried, _)| *tried == what) {
            of += path.probability / total;
            won += if *success { path.probability / total } else { 0.0 };
        }
    }
    (won, of)
}

const EXAMPLES: u64 = 12;

#[test]
fn likelihood_and_expected_counts_are_those_of_all_paths() {
    for kind in ClickModelKind::ALL.into_iter().filter(|kind| *kind != ClickModelKind::Cm) {
        for number in 0..EXAMPLES {
            let (browsing, page) = example(kind, number);
            let patterns = by_pattern(paths(&browsing, &page));
            assert!(close(patterns.values().map(sum).sum(), 1.0));
            assert_eq!(patterns.len(), 32, "{kind}");
            for (clicked, paths) in &patterns {
                let totals = expected(std::slice::from_ref(&browsing), false, &page, &[pages(0, &page, clicked)]);
                assert!(close(totals.log_likelihood, sum(paths).ln()), "{kind} {clicked:?}");
                assert!(close(browsing.log_probability(&page.view(), clicked), sum(paths).ln()), "{kind} {clicked:?}");
                if kind != ClickModelKind::Additive {
                    check_counts(&totals, paths, &format!("{kind} {clicked:?}"));
                }
            }
        }
    }
}

fn check_counts(totals: &Totals, paths: &[Path], place: &str) {
    let check = |sum: &Sum, what: Tried| {
        let (won, of) = enumerated(paths, what);
        assert!(close(sum.won, won) && close(sum.of, of), "{place} {what:?}: {sum:?}, but {won} of {of}");
    };
    (0..).zip(&totals.attraction).for_each(|(at, sum)| check(sum, Tried::Attraction(at)));
    (0..).zip(&totals.satisfaction).for_each(|(at, sum)| check(sum, Tried::Satisfaction(at)));
    (0..).zip(&totals.browsing[0]).for_each(|(place, sum)| check(sum, Tried::Browsing(place)));
}

/// In the cascade family transitions are explained one by one where documents are summed over, and all at once where not.
#[test]
fn transitions_one_by_one_say_the_same() {
    use super::kind::Family;
    for kind in ClickModelKind::ALL.into_iter().filter(|kind| kind.family() == Family::Cascade) {
        for number in 0..EXAMPLES {
            let (browsing, page) = example(kind, number);
            let users = (std::slice::from_ref(&browsing), false);
            let all = by_pattern(paths(&browsing, &page)).into_keys().map(|clicked| pages(0, &page, &clicked));
            let all: Vec<OwnPage> = all.collect();
            let (whole, single) = (expected_of(users, &page, &all, false), expected_of(users, &page, &all, true));
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-8 * (1.0 + b.abs());
            assert!(near(single.log_likelihood, whole.log_likelihood), "{kind} {number}");
            let sums = |totals: &Totals| -> Vec<Sum> {
                [&totals.attraction, &totals.satisfaction, &totals.browsing[0]].into_iter().flatten().copied().collect()
            };
            for (single, whole) in sums(&single).iter().zip(sums(&whole)) {
                assert!(near(single.won, whole.won) && near(single.of, whole.of), "{kind}: {single:?} {whole:?}");
            }
        }
    }
}

#[test]
fn the_cascade_model_is_that_of_first_clicks() {
    let (browsing, page) = example(ClickModelKind::Cm, 1);
    let patterns = by_pattern(paths(&browsing, &page));
    assert_eq!(patterns.len(), 6, "a click at one of five positions, or none");
    for (clicked, paths) in &patterns {
        let totals = expected(std::slice::from_ref(&browsing), false, &page, &[pages(0, &page, clicked)]);
        assert!(close(totals.log_likelihood, sum(paths).ln()), "{clicked:?}");
        check_counts(&totals, paths, &format!("{clicked:?}"));
    }
}

#[test]
fn users_have_their_own_sums() {
    for kind in ClickModelKind::ALL.into_iter().filter(|kind| kind.parameter_count(1) > 0) {
        let (first, page) = example(kind, 1);
        let second = example(kind, 2).0;
        let patterns = [vec![true, false, false, true, false], vec![false, true, false, false, false]];
        let both = [pages(0, &page, &patterns[0]), pages(1, &page, &patterns[1]), pages(0, &page, &patterns[1])];
        let users = [first.clone(), second.clone()];
        let totals = expected(&users, true, &page, &both);
        let alone = [
            expected(&users[..1], false, &page, &[both[0].clone(), both[2].clone()]),
            expected(&users[1..], false, &page, &[pages(0, &page, &patterns[1])]),
        ];
        let likelihood = alone.iter().map(|totals| totals.log_likelihood).sum();
        assert!(close(totals.log_likelihood, likelihood), "{kind}");
        let width = kind.parameter_count(6);
        for (user, alone) in alone.iter().enumerate() {
            let own = &totals.browsing[0][user * width..][..width];
            let same = own.iter().zip(&alone.browsing[0]);
            assert!(same.into_iter().all(|(a, b)| close(a.won, b.won) && close(a.of, b.of)), "{kind} {user}");
        }
    }
}

#[test]
fn exposure_and_predictions_are_those_of_all_paths() {
    for kind in ClickModelKind::ALL {
        for number in 0..EXAMPLES {
            let (browsing, page) = example(kind, number);
            let all = paths(&browsing, &page);
            let view = page.view();
            for (at, predicted) in browsing.unconditional_clicks(&view).into_iter().enumerate() {
                let expected = sum(all.iter().filter(|path| path.clicked[at]));
                // What a model forbids has a small probability all the same.
                assert!((predicted - expected).abs() < 1e-5, "{kind} {at}: {predicted} is not {expected}");
            }
            for clicked in by_pattern(all.clone()).into_keys() {
                check_given(&browsing, &page, &all, &clicked);
            }
        }
    }
}

/// Exposure and clicks given the clicks above.
fn check_given(browsing: &Browsing, page: &ListParameters, all: &[Path], clicked: &[bool]) {
    let (view, kind) = (page.view(), browsing.kind);
    let predicted = browsing.conditional_clicks(&view, clicked);
    for at in 0..clicked.len() {
        let same: Vec<&Path> = all.iter().filter(|path| path.clicked[..at] == clicked[..at]).collect();
        let total = sum(same.iter().copied());
        let click = sum(same.iter().copied().filter(|path| path.clicked[at])) / total;
        assert!((predicted[at] - click).abs() < 2e-6, "{kind} {clicked:?} {at}: {} is not {click}", predicted[at]);
        let from = (0..at).rev().find(|&at| clicked[at]).map_or(0, |at| at + 1);
        let exposed = browsing.exposed_after(&view, from)[at - from];
        assert!((exposed.click(page.attraction[at]) - click).abs() < 2e-6);
        if !matches!(kind, ClickModelKind::Trust | ClickModelKind::Additive) {
            let examined = sum(same.iter().copied().filter(|path| path.examined[at])) / total;
            assert!(close(exposed.slope, examined), "{kind} {clicked:?} {at}: {} is not {examined}", exposed.slope);
        }
    }
}

#[test]
fn drawn_sessions_have_the_probabilities_of_the_model() {
    for kind in ClickModelKind::ALL {
        let (browsing, page) = example(kind, 3);
        let patterns = by_pattern(paths(&browsing, &page));
        let mut random = stream(5, "draw", 0);
        let (mut session, mut found, draws) = (Session::default(), BTreeMap::new(), 40_000);
        for _ in 0..draws {
            browsing.draw(&page.view(), &mut random, &mut session);
            *found.entry(session.clicked.clone()).or_insert(0.0) += 1.0;
            assert!((0..5).all(|at| session.examined[at] || !session.clicked[at]));
        }
        let (mut square, mut cells): (f64, f64) = (0.0, 0.0);
        for (clicked, paths) in &patterns {
            let expected = sum(paths) * f64::from(draws);
            if expected >= 5.0 {
                square += (found.get(clicked).copied().unwrap_or(0.0) - expected).powi(2) / expected;
                cells += 1.0;
            }
        }
        // χ² has mean cells − 1 and variance twice that.
        assert!(square < cells + 5.0 * (2.0 * cells).sqrt(), "{kind}: {square} in {cells}");
    }
}

#[test]
fn ends_meet() {
    let kinds = |kind: ClickModelKind, values: Vec<f64>| Browsing { kind, positions: 6, values };
    let page = ListParameters {
        positions: vec![1, 2, 3, 4, 5, 6],
        attraction: vec![0.6, 0.2, 0.5, 0.1, 0.4, 0.3],
        satisfaction: vec![0.3, 0.7, 0.2, 0.5, 0.9, 0.4],
        unknown: 0,
    };
    let theta = [0.9, 0.7, 0.6, 0.5, 0.3, 0.2];
    let by_last_click: Vec<f64> = (1..=6).flat_map(|k| std::iter::repeat_n(theta[k - 1], k)).collect();
    let pbm = kinds(ClickModelKind::Pbm, theta.to_vec());
    let sdbn = kinds(ClickModelKind::Sdbn, Vec::new());
    let trust = [theta.as_slice(), &[1.0; 6], &[0.0; 6]].concat();
    let pairs = [
        (kinds(ClickModelKind::Ubm, by_last_click), pbm.clone()),
        (kinds(ClickModelKind::Trust, trust), pbm),
        (kinds(ClickModelKind::Dbn, vec![1.0]), sdbn),
        (kinds(ClickModelKind::Dcm, vec![0.0; 6]), kinds(ClickModelKind::Cm, Vec::new())),
        (kinds(ClickModelKind::Ccm, vec![1.0, 0.6, 0.6]), kinds(ClickModelKind::Dcm, vec![0.6; 6])),
    ];
    for (special, general) in pairs {
        for pattern in 0..64u32 {
            let clicked: Vec<bool> = (0..6).map(|at| pattern >> at & 1 == 1).collect();
            let both = [&special, &general].map(|browsing| browsing.log_probability(&page.view(), &clicked));
            assert!(close(both[0], both[1]), "{} is not {}: {both:?}", special.kind, general.kind);
        }
    }
}
