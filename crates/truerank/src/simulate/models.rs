//! Tests: logs of every click model against what the model predicts, drawn session by session and as transitions.

use super::sessions::tests::small_data;
use super::{ShownLists, Simulation, Simulator};
use crate::click_model::{ClickLog, ClickModel, ClickModelKind, ModelCell};
use crate::counts::{CountOptions, Counts, count_log};
use crate::data::Dataset;

/// Two loggers that show the same documents in opposite orders.
fn lists(data: &Dataset) -> [ShownLists; 2] {
    let scores: Vec<f32> = (0..data.len()).map(|row| (row % 7) as f32).collect();
    let opposite: Vec<f32> = scores.iter().map(|score| -score).collect();
    [&scores, &opposite].map(|scores| ShownLists::top(data, scores, 5).unwrap())
}

/// Several users in each of three clusters, whose lists are swapped.
fn simulation(models: &[ClickModelKind]) -> Simulation {
    let simulation = Simulation::new().etas(vec![2.0, 1.0, 0.3]).users_per_cluster(2).user_noise(0.2);
    simulation.sessions(60_000).swap(0.3).click_model(models.to_vec()).seed(5)
}

/// Each model alone, and all of them at once.
fn models() -> Vec<Vec<ClickModelKind>> {
    let mixed = vec![ClickModelKind::Pbm, ClickModelKind::Dbn, ClickModelKind::Ubm];
    ClickModelKind::ALL.into_iter().map(|kind| vec![kind]).chain([mixed]).collect()
}

fn counted(simulator: &Simulator<'_>) -> Counts {
    count_log(&simulator.log(), &CountOptions::new().transitions(true)).unwrap().0
}

fn cells(model: &ClickModel, counts: &Counts) -> Vec<ModelCell> {
    let transitions = counts.transitions.as_ref().unwrap();
    let Counts { queries, docs, users, contexts, .. } = counts;
    let log = ClickLog { transitions, queries, docs, users, contexts };
    model.on(&log).unwrap().cells()
}

/// Given the clicks above, clicks are binomial with the probabilities that the true model says: Pearson's statistic over
/// cells, and the sum of what is left over, each in standard deviations.
fn misfit(model: &ClickModel, counts: &Counts) -> [f64; 2] {
    let (mut squares, mut terms, mut left, mut variance) = (0.0, 0.0, 0.0, 0.0);
    for cell in cells(model, counts) {
        let (n, c, p) = (cell.shown as f64, cell.clicks as f64, cell.probability);
        assert!(p > 2e-6 || cell.clicks == 0, "what the model forbids has happened: {cell:?}");
        assert!(p < 1.0 - 2e-6 || cell.clicks == cell.shown, "what the model demands has not happened: {cell:?}");
        if n * p.min(1.0 - p) > 5.0 {
            squares += (c - n * p).powi(2) / (n * p * (1.0 - p));
            terms += 1.0;
        }
        (left, variance) = (left + c - n * p, variance + n * p * (1.0 - p));
    }
    assert!(terms > 100.0, "only {terms} cells");
    [(squares - terms) / (2.0 * terms).sqrt(), left / variance.sqrt()]
}

#[test]
fn clicks_come_as_often_as_the_true_model_predicts() {
    let data = small_data();
    let lists = lists(&data);
    for models in models() {
        let simulator = simulation(&models).prepare(&data, &lists).unwrap();
        let truth = simulator.click_model();
        truth.check().unwrap();
        let drawn = simulator.counts_with_transitions().unwrap();
        assert_eq!(drawn.session_count(), 60_000);
        for counts in [counted(&simulator), drawn] {
            let found = misfit(&truth, &counts);
            assert!(found.iter().all(|z| z.abs() < 4.0), "{models:?}: {found:?}");
        }
        // The test can fail: users of another depth click elsewhere, where they differ at all.
        let other = simulation(&models).etas(vec![1.0, 0.3, 2.0]).prepare(&data, &lists).unwrap().click_model();
        if models.iter().any(|kind| kind.parameter_count(1) > 0) {
            let found = misfit_of_any(&other, &counted(&simulator));
            assert!(found > 8.0, "{models:?}: {found}");
        }
    }
}

/// Pearson's statistic of a model that may be wrong, in standard deviations.
fn misfit_of_any(model: &ClickModel, counts: &Counts) -> f64 {
    let (mut squares, mut terms) = (0.0, 0.0);
    for cell in cells(model, counts) {
        let (n, c, p) = (cell.shown as f64, cell.clicks as f64, cell.probability);
        if n * p.min(1.0 - p) > 5.0 {
            squares += (c - n * p).powi(2) / (n * p * (1.0 - p));
            terms += 1.0;
        }
    }
    (squares - terms) / (2.0f64 * terms).sqrt()
}

#[test]
fn drawn_transitions_fit_their_cells_and_sessions() {
    let data = small_data();
    let lists = lists(&data);
    let simulator = simulation(&[ClickModelKind::Dbn]).prepare(&data, &lists).unwrap();
    let counts = simulator.counts().unwrap();
    let folder = tempfile::tempdir().unwrap();
    // Reading checks transitions against cells and sessions.
    counts.write(&folder.path().join("counts")).unwrap();
    assert_eq!(Counts::read(&folder.path().join("counts")).unwrap(), counts);
    // Two loggers, each with its list and four swaps; rare ones may not have come up.
    let lists = counts.transitions.as_ref().unwrap().lists.len();
    assert!((20 * 2..=20 * 2 * 5).contains(&lists), "{lists}");
}

#[test]
fn latents_say_how_the_clicks_came_about() {
    let data = small_data();
    let lists = lists(&data);
    for models in models() {
        let simulator = simulation(&models).sessions(5_000).prepare(&data, &lists).unwrap();
        let (log, latents) = simulator.log_with_latents();
        assert_eq!(log, simulator.log());
        let model_of = |user: u32| simulator.users[user as usize].kind;
        for (i, impression) in log.impressions.iter().enumerate() {
            let (examined, relevant, satisfied) = (latents.examined[i], latents.relevant[i], latents.satisfied[i]);
            let kind = model_of(impression.user);
            assert!(!impression.click || examined, "{kind}: a click on what nobody looked at");
            assert!(!satisfied || impression.click, "{kind}: satisfied without a click");
            match kind {
                ClickModelKind::Additive => {}
                ClickModelKind::Trust => assert!(!(examined && relevant) || impression.click, "ε⁺ is 1"),
                _ => assert_eq!(impression.click, examined && relevant, "{kind}"),
            }
            let satisfies = kind.has_satisfaction() || kind == ClickModelKind::Ccm;
            assert!(satisfies || !satisfied, "{kind} has no satisfaction");
            // In these nobody goes on below a satisfying click.
            if satisfied && kind.has_satisfaction() {
                let below = log.impressions[i + 1..].iter().zip(&latents.examined[i + 1..]);
                let same_page = below.take_while(|(other, _)| other.session == impression.session);
                assert!(same_page.into_iter().all(|(_, examined)| !examined), "{kind}: looked on, satisfied");
            }
        }
    }
}

#[test]
fn clusters_get_the_models_in_turn_and_the_truth_knows_every_user() {
    let data = small_data();
    let lists = lists(&data);
    let models = [ClickModelKind::Pbm, ClickModelKind::Dbn];
    let truth = simulation(&models).prepare(&data, &lists).unwrap().click_model();
    let kinds: Vec<ClickModelKind> = truth.kinds.iter().map(|kind| kind.browsing.kind).collect();
    assert_eq!(kinds, [ClickModelKind::Pbm, ClickModelKind::Dbn, ClickModelKind::Pbm]);
    assert_eq!(truth.models(), models);
    assert_eq!(truth.users.len(), 6);
    assert!((truth.kinds.iter().map(|kind| kind.share).sum::<f64>() - 1.0).abs() < 1e-12);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("truth.json");
    truth.write(&path).unwrap();
    assert_eq!(ClickModel::read(&path).unwrap(), truth);
}

#[test]
fn satisfaction_is_between_half_of_relevance_and_all_of_it() {
    let data = small_data();
    let lists = lists(&data);
    let truth = |models: &[ClickModelKind]| simulation(models).prepare(&data, &lists).unwrap().click_model();
    for document in &truth(&[ClickModelKind::Sdbn]).documents {
        let share = document.satisfaction.unwrap() / document.attraction;
        assert!((0.5..=1.0).contains(&share), "{document:?}");
    }
    assert!(truth(&[ClickModelKind::Ubm]).documents.iter().all(|document| document.satisfaction.is_none()));
    let sure = |models: &[ClickModelKind]| truth(models).documents.iter().any(|document| document.attraction == 1.0);
    assert!(sure(&[ClickModelKind::Ubm]) && !sure(&[ClickModelKind::Additive]));
}

#[test]
fn every_model_gives_the_same_bytes_on_any_number_of_threads() {
    let data = small_data();
    let lists = lists(&data);
    for models in models() {
        let draw = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let simulator = simulation(&models).sessions(9_000).prepare(&data, &lists).unwrap();
            pool.install(|| (simulator.log(), simulator.counts().unwrap(), simulator.click_model()))
        };
        assert_eq!(draw(1), draw(3), "{models:?}");
    }
}

#[test]
fn models_that_cannot_be_dealt_are_refused() {
    let message = |models: Vec<ClickModelKind>| simulation(&models).check().unwrap_err().to_string();
    assert_eq!(message(Vec::new()), "`click_model` is empty, but should name a click model");
    assert_eq!(
        message(vec![ClickModelKind::Pbm; 4]),
        "`click_model` names 4 models, but there are 3 clusters of users, so some would have none"
    );
}
