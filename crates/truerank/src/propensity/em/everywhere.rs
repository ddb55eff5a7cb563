//! Estimates are the same bytes wherever counts are kept, on any number of threads.

use super::{EmUsers, RegressionEm, RelevanceForm};
use crate::counts::{CountOptions, Counts, CountsView, assert_same, count_log, everywhere};
use crate::data::{Dataset, Generator, Preset};
use crate::progress::Silent;
use crate::propensity::observations::observe;
use crate::propensity::{ClusterCount, Grouping, Groups, Identifiability, Joined, Links, UserGroups};
use crate::simulate::{ShownLists, Simulation};

/// A log of several blocks and of more users than are worked on at once.
fn log() -> (Dataset, Counts) {
    let data = Generator::preset(Preset::Tiny).generate().unwrap().train;
    let lists = [ShownLists::top(&data, &vec![0.0; data.len()], 6).unwrap()];
    let simulation =
        Simulation::new().etas(vec![1.8, 0.6, 0.1]).users_per_cluster(60).user_noise(0.1).sessions(6000).shuffle(0.5);
    let log = simulation.prepare(&data, &lists).unwrap().log();
    let (counts, _) = count_log(&log, &CountOptions::new()).unwrap();
    assert!(counts.blocks().len() > 10);
    (data, counts)
}

/// The same estimate everywhere, with the documents' features or without.
fn check(em: RegressionEm, with_features: bool) {
    let (data, counts) = log();
    let data = with_features.then_some(&data);
    let em = em.iterations(30);
    assert_same(&everywhere(&counts, |counts| em.estimate(counts, data, &Silent).unwrap()));
}

#[test]
fn of_the_population() {
    check(RegressionEm::new().relevance(RelevanceForm::Table).resamples(3), false);
    check(RegressionEm::new().relevance(RelevanceForm::Linear).resamples(3), true);
}

#[test]
fn by_networks() {
    check(RegressionEm::new().relevance("mlp:4".parse().unwrap()).resamples(0), true);
}

#[test]
fn of_each_user() {
    check(RegressionEm::new().users(EmUsers::Each).relevance(RelevanceForm::Linear).resamples(2), true);
    check(RegressionEm::new().users(EmUsers::Shrunk).relevance(RelevanceForm::Table).resamples(0), false);
}

#[test]
fn of_clusters() {
    let groups = |clusters, method| EmUsers::Grouped(UserGroups::new().clusters(clusters).method(method));
    let mixture = groups(ClusterCount::Chosen { most: 4 }, Grouping::Mixture);
    check(RegressionEm::new().users(mixture).relevance(RelevanceForm::Linear).resamples(2), true);
    let k_means = groups(ClusterCount::Given(3), Grouping::KMeans);
    check(RegressionEm::new().users(k_means).relevance(RelevanceForm::Table).resamples(0), false);
}

#[test]
fn of_documents_that_are_not_all_in_the_data() {
    let (data, counts) = log();
    let part = counts.queries.len() / 2;
    let data = data.select(&(0..part).collect::<Vec<_>>());
    let em = RegressionEm::new().users(EmUsers::Each).relevance(RelevanceForm::Linear).resamples(0).iterations(10);
    let found = everywhere(&counts, |counts| em.estimate(counts, Some(&data), &Silent).unwrap());
    assert!(found[0].propensities.details.notes.iter().any(|note| note.contains("shown documents have no features")));
    assert_same(&found);
}

#[test]
fn what_can_be_compared() {
    let (data, counts) = log();
    assert_same(&everywhere(&counts, |counts| {
        let log = Joined::new(counts, Some(&data));
        [Links::Documents, Links::Regression].map(|links| Identifiability::of(&log, Groups::Users, links).unwrap())
    }));
}

#[test]
fn entries_of_every_document() {
    let (_, counts) = log();
    let keep: Vec<bool> = (0..counts.shown_count()).map(|doc| doc % 3 > 0).collect();
    let groups: Vec<u32> = (0..counts.users.len() as u32).map(|user| user % 7).collect();
    let found = everywhere(&counts, |counts: &dyn CountsView| {
        let observations = observe(counts, &groups, Some(&keep)).unwrap();
        let mut entries = Vec::new();
        for docs in observations.pieces(100) {
            let part = observations.part(docs.clone()).unwrap();
            entries.extend(docs.flat_map(|doc| part.of(doc).iter()));
        }
        let alone = observations.part(17..18).unwrap().of(17).iter().collect::<Vec<_>>();
        (observations.docs().to_vec(), observations.ends().to_vec(), entries, alone)
    });
    assert_eq!(found[0].0.len(), keep.iter().filter(|keep| **keep).count());
    assert_same(&found);
}
