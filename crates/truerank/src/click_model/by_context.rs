//! Parameters by context are found again where people browse otherwise on a phone than at a desk, and relevance is then unbiased; a
//! model that does not know of contexts is biased.

use rand::RngExt;

use super::testing::{OwnLog, World, by_context, random_browsing};
use super::{Browsing, ClickModel, ClickModelKind, ClickModelOptions, ModelPrior};
use crate::ids::Ids;
use crate::progress::Silent;
use crate::random::{Random, stream};

const LOGS: usize = 8;
const SESSIONS: usize = 16_000;

/// Two queries with five documents, and two contexts in which people browse otherwise.
fn world(kind: ClickModelKind) -> World {
    let mut random = stream(3, "contexts", kind as u64);
    let contexts = [0.55, 1.0].map(|depth| {
        let mut browsing = random_browsing(kind, 5, &mut random);
        match kind {
            ClickModelKind::Pbm => (0..5).for_each(|k| browsing.values[k] = f64::powi(depth * 0.9, k as i32)),
            ClickModelKind::Additive => (0..5).for_each(|k| browsing.values[k] = -0.3 * k as f64 / depth),
            ClickModelKind::Ubm => {
                let skipped = (1..=5).flat_map(|k: i32| (0..k).map(move |from| k - from - 1));
                browsing.values = skipped.map(|skipped| f64::powi(depth * 0.9, skipped)).collect();
            }
            _ => browsing.values.iter_mut().for_each(|value| *value *= depth),
        }
        browsing
    });
    let world = World::new(2, 5, contexts.to_vec(), 4);
    // Away from 1, so that no estimate ends at a bound.
    World {
        attraction: world.attraction.iter().map(|row| row.iter().map(|gamma| 0.9 * gamma).collect()).collect(),
        ..world
    }
}

/// The first query is mostly asked in the first context, the second in the other.
fn draw_context(query: usize, random: &mut Random) -> usize {
    let most = usize::from(random.random_bool(0.85));
    if query == 0 { 1 - most } else { most }
}

fn log(world: &World, sessions: usize, seed: u64) -> OwnLog {
    by_context(world, &world.pages_by(sessions, seed, draw_context))
}

/// Parameters of both contexts, where a log tells them, on the scale of the first one of the first context.
fn told(kind: ClickModelKind, rows: &[f64]) -> Vec<f64> {
    match kind {
        ClickModelKind::Pbm | ClickModelKind::Ubm => rows.iter().map(|value| value / rows[0]).collect(),
        ClickModelKind::Additive => rows.iter().map(|value| value - rows[0]).collect(),
        // After the last position nobody goes on.
        ClickModelKind::Dcm => rows.chunks_exact(5).flat_map(|row| &row[..4]).copied().collect(),
        _ => rows.to_vec(),
    }
}

/// γ over the mean of all, since only their ratios are known in slot models.
fn relative(attraction: impl Iterator<Item = f64>) -> Vec<f64> {
    let values: Vec<f64> = attraction.collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|value| value / mean).collect()
}

/// Which values are off by more than chance allows, over several logs; all must be told to within .05.
fn off(truth: &[f64], logs: &[Vec<f64>]) -> Vec<String> {
    let mut off = Vec::new();
    for (place, truth) in truth.iter().enumerate() {
        let mean = logs.iter().map(|values| values[place]).sum::<f64>() / LOGS as f64;
        let square = logs.iter().map(|values| (values[place] - mean).powi(2)).sum::<f64>();
        let error = (square / (LOGS * (LOGS - 1)) as f64).sqrt();
        assert!(error < 0.05, "{place}: {error}");
        // t of 7 degrees of freedom is beyond 6.1 once in two thousand; estimates have a bias of their variance's order.
        if (mean - truth).abs() > 6.1 * error + error * error * 10.0 + 1e-6 {
            off.push(format!("{place}: {mean:.3} ± {error:.3} is not {truth:.3}"));
        }
    }
    off
}

fn attraction(model: &ClickModel) -> Vec<f64> {
    relative(model.documents.iter().map(|document| document.attraction))
}

#[test]
fn parameters_and_relevance_are_found_again_by_context_and_biased_without() {
    use ClickModelKind::{Additive, Dbn, Dcm, Pbm, Ubm};
    for kind in [Pbm, Ubm, Dcm, Dbn, Additive] {
        let world = world(kind);
        let options = ClickModelOptions::new().model(vec![kind]).prior(ModelPrior::None).tolerance(1e-9);
        let fit = |options: &ClickModelOptions| -> Vec<ClickModel> {
            let fit = |seed| options.fit(&log(&world, SESSIONS, seed).view(), None, &Silent).unwrap();
            (0..LOGS as u64).map(fit).collect()
        };
        let (by_context, alike) = (fit(&options), fit(&options.clone().ignore_context(true)));
        let truth: Vec<f64> = world.users.iter().flat_map(|browsing| browsing.values.clone()).collect();
        let found: Vec<Vec<f64>> = by_context.iter().map(|model| told(kind, &model.of_contexts)).collect();
        assert_eq!(off(&told(kind, &truth), &found), [""; 0], "{kind}");
        let rows: Vec<Vec<f64>> =
            alike.iter().map(|model| told(kind, &model.kinds[0].browsing.values.repeat(2))).collect();
        assert!(off(&told(kind, &truth), &rows).len() >= world.users[0].values.len() / 2, "{kind}");
        let truth = relative(world.attraction.concat().into_iter());
        let [known, unknown] =
            [&by_context, &alike].map(|models| off(&truth, &models.iter().map(attraction).collect::<Vec<_>>()));
        assert_eq!(known, [""; 0], "{kind}");
        println!("{kind} without contexts: {unknown:?}");
        // In `dcm` the way to the first click tells γ, whatever people do after it.
        assert!(unknown.len() >= 4 || kind == Dcm, "{kind}: {unknown:?}");
    }
}

#[test]
fn rare_contexts_are_like_most_and_unknown_ones_are_average() {
    for kind in [ClickModelKind::Pbm, ClickModelKind::Dbn] {
        let mut world = world(kind);
        // Like the second, but seen in a few sessions.
        world.users.push(world.users[1].clone());
        let rare = |query: usize, random: &mut Random| {
            if random.random_bool(0.001) { 2 } else { draw_context(query, random) }
        };
        let log = by_context(&world, &world.pages_by(10_000, 7, rare));
        let model = ClickModelOptions::new().model(vec![kind]).fit(&log.view(), None, &Silent).unwrap();
        let width = model.width();
        let (rare, all) = (&model.of_contexts[2 * width..], &model.kinds[0].browsing.values);
        let wild: Vec<f64> = rare.iter().zip(all).map(|(rare, all)| (rare - all).abs()).collect();
        assert!(wild.iter().all(|difference| *difference < 0.45), "{kind}: {rare:.2?} {all:.2?}");
        assert!(rare.iter().all(|value| (0.02..1.5).contains(value)), "{kind}: {rare:.2?}");
        // A log with a context that the model does not know.
        let other = OwnLog { contexts: Ids::Integers(vec![1, 2, 9]), ..log };
        let view = other.view();
        let on = model.on(&view).unwrap();
        assert_eq!((on.unknown_contexts(), model.measure(&view).unwrap().unknown_contexts), (1, 1));
        let of_context = |context: u32| view.transitions.lists.iter().position(|list| list.context == context).unwrap();
        assert_eq!(on.on_list(of_context(2), 0), on.population());
        assert_eq!(on.on_list(of_context(1), 0)[0].1.values, model.of_contexts[width..2 * width]);
    }
}

#[test]
fn what_does_not_fit_contexts_is_refused_or_said() {
    let world = world(ClickModelKind::Pbm);
    let (log, without) = (log(&world, 500, 1), world.log(500, 1));
    let of = |kind: &str| ClickModelOptions::new().iterations(5).model(vec![kind.parse().unwrap()]);
    let refused = |options: ClickModelOptions, log: &OwnLog, reason: &str| {
        let error = options.fit(&log.view(), None, &Silent).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    };
    refused(of("pbm").per_user(true), &log, "`per_user` tells users apart, but these counts have contexts");
    refused(of("pbm").clusters(2), &log, "`clusters` tells users apart, but these counts have contexts");
    refused(of("pbm").ignore_context(true), &without, "`ignore_context` is for counts with contexts");
    let model = of("pbm").fit(&log.view(), None, &Silent).unwrap();
    let error = model.measure(&without.view()).unwrap_err().to_string();
    assert!(error.contains("parameters by context, such as 1, but the log has no contexts"), "{error}");
    assert!(of("pbm").per_user(true).ignore_context(true).fit(&log.view(), None, &Silent).is_ok());
    let same = of("sdbn").fit(&log.view(), None, &Silent).unwrap();
    assert!(same.contexts.is_empty() && same.notes.iter().any(|note| note.contains("browse alike in all contexts")));
    // Contexts that share no document.
    let apart = |query: usize, _: &mut Random| query;
    let apart = by_context(&world, &world.pages_by(500, 1, apart));
    let notes = of("ubm").fit(&apart.view(), None, &Silent).unwrap().notes;
    assert!(
        notes.iter().any(|note| note.starts_with("no documents link these contexts to the others: 2;")),
        "{notes:?}"
    );
    assert!(!model.notes.iter().any(|note| note.contains("no documents link")), "{:?}", model.notes);
}

#[test]
fn the_same_browsing_in_all_contexts_is_found_the_same() {
    let browsing = Browsing { values: vec![0.7], ..Browsing::constant(ClickModelKind::Dbn, 5, 0.7) };
    let world = World { users: vec![browsing; 2], ..world(ClickModelKind::Dbn) };
    let model = ClickModelOptions::new().model(vec![ClickModelKind::Dbn]);
    let model = model.fit(&log(&world, 20_000, 2).view(), None, &Silent).unwrap();
    assert!(model.of_contexts.iter().all(|value| (value - 0.7).abs() < 0.02), "{:?}", model.of_contexts);
}
