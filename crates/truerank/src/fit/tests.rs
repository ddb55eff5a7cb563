//! How much work a fit does twice: none. What corrects its clicks.

use super::{ClickModelChoice, Fit, FitData, FitFolder, FitLog, FitOutcome, WarmStart};
use crate::click_model::testing::World;
use crate::click_model::{Browsing, ClickModelKind};
use crate::counts::{CountOptions, Counts, LogSource, SplitBy, count_log};
use crate::data::{Generator, JOINS, Preset, Splits};
use crate::doctor::Doctor;
use crate::ids::Ids;
use crate::log::{Impression, Log};
use crate::progress::Silent;
use crate::ranker::ModelForm;
use crate::relevance::SUMS;
use crate::simulate::{ShownLists, Simulation};

fn log() -> (Splits, Counts) {
    let data = Generator::preset(Preset::Tiny).generate().unwrap();
    let lists = [ShownLists::top(&data.train, &vec![0.0; data.train.len()], 10).unwrap()];
    let simulator = Simulation::new().sessions(4000).shuffle(0.3).prepare(&data.train, &lists).unwrap();
    let counts = count_log(&simulator.log(), &CountOptions::new()).unwrap().0;
    (data, counts)
}

#[test]
fn each_part_of_the_log_is_joined_with_the_features_once_and_summed_once() {
    let (data, counts) = log();
    let fit = Fit::new().model(ModelForm::LinearRaw).steps(5).doctor(Doctor::new().permutations(19));
    for data in [FitData::of_documents(data.train.clone()), FitData::of_splits(data)] {
        let parts = FitLog::try_from(LogSource::from(counts.clone()).split(SplitBy::Queries, 0.3, 1, &Silent).unwrap())
            .unwrap();
        let before = (JOINS.get(), SUMS.get());
        let outcome = fit.run(&parts, Some(&data), &Silent).unwrap();
        assert!(outcome.judged.is_some());
        assert_eq!(JOINS.get() - before.0, 2, "the part to learn from, and the one held out");
        // The third is that of the sample on which the doctor compares estimators.
        assert_eq!(SUMS.get() - before.1, 3);
    }
}

/// A log of 60 queries whose users browse as they do; each query has four lists.
fn browsed(users: Vec<Browsing>, sessions: usize) -> Counts {
    let world = World { lists: 4, ..World::new(60, 6, users, 3) };
    let pages = world.pages(sessions, 5);
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
    let (queries, docs, users) = (Ids::numbered(60), Ids::numbered(360), Ids::numbered(world.users.len()));
    count_log(&Log { users, queries, docs, impressions: rows.collect() }, &CountOptions::new()).unwrap().0
}

fn without_features(counts: Counts, choice: ClickModelChoice) -> (FitLog, FitOutcome) {
    let fit = Fit::new().click_model(choice).doctor(Doctor::new().permutations(19));
    let (log, _) = fit.read_log(&LogSource::from(counts), false, None, &Silent).unwrap();
    let outcome = fit.run(&log, None, &Silent).unwrap();
    (log, outcome)
}

#[test]
fn position_based_logs_are_fitted_as_without_click_models() {
    let counts = browsed(vec![Browsing::power_law(0.8, 6), Browsing::power_law(0.4, 6)], 5000);
    let (log, auto) = without_features(counts.clone(), ClickModelChoice::Auto);
    let (_, plain) = without_features(counts, ClickModelChoice::None);
    assert!(auto.click_model.model.is_none(), "{}", auto.click_model.why);
    assert!(auto.diagnosis.click_models.is_some() && plain.diagnosis.click_models.is_none());
    assert!(auto.relevance == plain.relevance && auto.propensities == plain.propensities);
    assert_eq!(auto.clicks, plain.clicks);
    assert!(!log.keeps_transitions(&auto), "nobody asked for them");
}

#[test]
fn a_click_model_that_is_surely_better_corrects_clicks() {
    let dbn = Browsing { values: vec![0.8], ..Browsing::constant(ClickModelKind::Dbn, 6, 0.8) };
    let counts = browsed(vec![dbn], 12_000);
    let (log, auto) = without_features(counts.clone(), ClickModelChoice::Auto);
    let moved = auto.click_model.moved.as_ref().expect(&auto.click_model.why);
    assert!(moved.above.bounds.value > 0.0 && moved.clicks >= 100, "{moved:?}");
    assert_eq!(auto.click_model.used(), moved.model.to_string());
    assert!(
        log.keeps_transitions(&auto) && log.train.totals().transitions.is_some(),
        "relevance can be made again from the folder's counts"
    );
    let (_, plain) = without_features(counts.clone(), ClickModelChoice::None);
    assert!(auto.clicks.model.log_likelihood.value > plain.clicks.model.log_likelihood.value);
    assert!(auto.relevance != plain.relevance && auto.propensities == plain.propensities);
    let text = auto.summary().text();
    assert!(text.contains("Clicks are corrected by the") && text.contains("moved documents"), "{text}");
    assert_eq!(auto.to_json()["click_model"]["used"], moved.model.to_string());
    let (_, asked) = without_features(counts, ClickModelChoice::Only(ClickModelKind::Ubm));
    assert_eq!((asked.click_model.used(), asked.click_model.moved.is_none()), ("ubm".to_string(), true));
}

#[test]
fn known_examination_leaves_no_room_for_a_click_model() {
    let theta = crate::propensity::Propensities { population: vec![1.0, 0.5], ..Default::default() };
    let fit = Fit::new().propensities(Some(theta)).click_model(ClickModelChoice::Only(ClickModelKind::Ubm));
    let message = fit.check(false).unwrap_err().to_string();
    assert!(message.contains("`click_model` is ubm, but `propensities` are given"), "{message}");
}

#[test]
fn a_warm_fit_chooses_nothing_again() {
    let (data, counts) = log();
    let (documents, seed) = (FitData::of_documents(data.train), 1);
    let parts = FitLog::try_from(LogSource::from(counts).split(SplitBy::Queries, 0.3, seed, &Silent).unwrap()).unwrap();
    let cold = Fit::new().steps(20).doctor(Doctor::new().permutations(19));
    let first = cold.run(&parts, Some(&documents), &Silent).unwrap();
    let chosen = first.training.as_ref().unwrap();
    assert!(chosen.tried.len() == 4 && chosen.is_chosen());

    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("out");
    FitFolder::create(&kept).unwrap().write(&first, &parts, Some(&documents)).unwrap();
    let warm = WarmStart::read(&kept).unwrap();
    assert_eq!(warm, WarmStart::of(&first));

    let again = cold.clone().warm(Some(warm.clone())).run(&parts, Some(&documents), &Silent).unwrap();
    let trained = again.training.as_ref().unwrap();
    assert_eq!((trained.tried.len(), &trained.form), (1, &chosen.form));
    assert_eq!(trained.ranker.record.steps, chosen.ranker.record.steps);
    for (theta, before) in again.propensities.population.iter().zip(&first.propensities.population) {
        assert!((theta / before - 1.0).abs() < 1e-3, "{theta} {before}");
    }
    let text = again.report().text();
    assert!(text.contains("chosen by the fit that this one started from"), "{text}");

    let other = if chosen.form == ModelForm::Trees { ModelForm::LinearRaw } else { ModelForm::Trees };
    let message = cold.model(other.clone()).warm(Some(warm)).check(true).unwrap_err().to_string();
    let expected = format!("`model` is {other}, but the fit to start from has {}: leave out one", chosen.form);
    assert_eq!(message, expected);
    assert!(WarmStart::read(folder.path()).unwrap_err().to_string().contains("fit.json"));
}
