use rand::RngExt;
use rayon::prelude::*;

use super::*;
use crate::counts::{CountOptions, Counts, count_log};
use crate::data::{DatasetBuilder, RowFinder};
use crate::ids::Ids;
use crate::math::discount;
use crate::propensity::Propensities;
use crate::random::stream;
use crate::simulate::{ShownLists, Simulation};

const DOCS: usize = 6;
const SHOWN: usize = 5;
const WORLDS: u64 = 200;

/// Queries with documents of random grades; a ranker knows them with noise.
struct World {
    data: Dataset,
    scores: Vec<f32>,
    counts: Counts,
    propensities: Propensities,
    /// The values that γ in place of ŷ would give.
    truth: Vec<f64>,
}

impl World {
    fn known(&self) -> KnownLog<'_> {
        KnownLog::examined(&self.counts, Some(&self.data), &self.propensities)
    }
}

fn world(seed: u64, queries: usize, sessions: u64) -> World {
    let mut random = stream(seed, "world", 0);
    let grades: Vec<u8> = (0..queries * DOCS).map(|_| random.random_range(0..=4)).collect();
    let scores: Vec<f32> = grades.iter().map(|&grade| f32::from(grade) + 3.0 * random.random::<f32>()).collect();
    let data = DatasetBuilder {
        features: vec![0.0; grades.len()],
        feature_count: 1,
        grades: Some(grades),
        queries: Ids::numbered(queries),
        query_ends: (1..=queries).map(|query| query * DOCS).collect(),
        docs: None,
    }
    .build()
    .unwrap();
    let lists = [ShownLists::top(&data, &vec![0.0; data.len()], SHOWN).unwrap()];
    let simulation = Simulation::new().etas(vec![2.0, 1.0, 0.0]).sessions(sessions).seed(seed);
    let simulator = simulation.prepare(&data, &lists).unwrap();
    let (counts, propensities) = (simulator.counts().unwrap(), simulator.propensities());
    let truth = truth(&data, &scores, simulator.relevance(), &counts);
    World { counts, propensities, truth, data, scores }
}

/// Mean DCG@5 and ARP of the ranking by `scores` over sessions, and mean DCG@5 over queries, with γ of shown documents as gains.
fn truth(data: &Dataset, scores: &[f32], gamma: &[f64], counts: &Counts) -> Vec<f64> {
    let (mut dcg, mut positions, mut total, mut over_queries) = (0.0, 0.0, 0.0, 0.0);
    for (query, sessions) in counts.queries.numbers_in(data.queries()).into_iter().zip(counts.sessions_per_query()) {
        let rows = data.rows_of(query.unwrap() as usize);
        for (above, index) in rank(&scores[rows.clone()]).into_iter().enumerate() {
            let gain = if index < SHOWN { sessions as f64 * gamma[rows.start + index] } else { 0.0 };
            let discounted = if above < 5 { gain * discount(above + 1) } else { 0.0 };
            dcg += discounted;
            over_queries += discounted / sessions as f64 / counts.queries.len() as f64;
            positions += gain * (above + 1) as f64;
            total += gain;
        }
    }
    vec![dcg / counts.session_count() as f64, positions / total, over_queries]
}

const MEASURES: [ClickMeasure; 2] = [ClickMeasure::Dcg(5), ClickMeasure::Arp];

fn judge(world: &World, estimator: Estimator) -> ClickEvaluation {
    Counterfactual::new(&world.known(), estimator, None)
        .unwrap()
        .measures(MEASURES.to_vec())
        .resamples(200)
        .judge_candidates(&world.scores)
        .unwrap()
}

/// The mean difference from the truth over worlds in standard errors, for each measure, and for the mean over queries.
fn bias(estimator: Estimator) -> Vec<f64> {
    let errors: Vec<Vec<f64>> = (0..WORLDS)
        .into_par_iter()
        .map(|seed| {
            let world = world(seed, 40, 4000);
            let found = judge(&world, estimator);
            let per_query = found.per_query(MEASURES[0]).unwrap();
            let over_queries = per_query.iter().sum::<f64>() / per_query.len() as f64;
            let values = found.values.iter().map(|bounds| bounds.value).chain([over_queries]);
            values.zip(&world.truth).map(|(value, truth)| value - truth).collect()
        })
        .collect();
    (0..errors[0].len())
        .map(|m| {
            let values: Vec<f64> = errors.iter().map(|of_world| of_world[m]).collect();
            let interval = crate::evaluate::mean_interval(&values).unwrap();
            interval.mean / (interval.half_width / 1.96)
        })
        .collect()
}

#[test]
fn user_aware_judgements_are_unbiased_and_ips_pbm_ones_are_not() {
    let aware = bias(Estimator::UserAware);
    assert!(aware.iter().all(|z| z.abs() < 3.0), "{aware:?}");
    let straight = bias(Estimator::Straightforward);
    assert!(straight.iter().all(|z| z.abs() < 3.0), "{straight:?}");
    // Over sessions its errors cancel: what it takes from one query's users it gives to another's.
    let oblivious = bias(Estimator::IpsPbm);
    assert!(oblivious[2].abs() > 5.0, "{oblivious:?}");
}

#[test]
fn intervals_cover_the_value_over_all_queries() {
    let worlds: Vec<(Vec<Bounds>, Vec<f64>)> = (0..WORLDS)
        .into_par_iter()
        .map(|seed| {
            let world = world(seed, 60, 1500);
            (judge(&world, Estimator::UserAware).values, world.truth)
        })
        .collect();
    for m in 0..MEASURES.len() {
        let truth = worlds.iter().map(|(_, truth)| truth[m]).sum::<f64>() / worlds.len() as f64;
        let covered = worlds.iter().filter(|(found, _)| found[m].low <= truth && truth <= found[m].high).count();
        // 95 % of 200 are 190, with a deviation of 3; percentile intervals of 60 queries are a little short.
        assert!((178..=198).contains(&covered), "{}: {covered} of {WORLDS}", MEASURES[m]);
    }
}

#[test]
fn paired_differences_tell_what_single_intervals_do_not() {
    let world = world(1, 300, 20_000);
    let judge = Counterfactual::new(&world.known(), Estimator::UserAware, None).unwrap();
    let better: Vec<f32> =
        world.scores.iter().zip(world.data.grades().unwrap()).map(|(s, g)| s + f32::from(*g)).collect();
    let (a, b) = (judge.judge_candidates(&better).unwrap(), judge.judge_candidates(&world.scores).unwrap());
    for (measure, difference) in a.measures.iter().zip(a.minus(&b)) {
        let (low, high) = (difference.bounds.low, difference.bounds.high);
        assert!(if measure.larger_is_better() { low > 0.0 } else { high < 0.0 }, "{measure}: {difference:?}");
        assert!(difference.p < 0.01);
        let own = a.value(*measure).unwrap();
        assert!(high - low < own.high - own.low, "{measure}: {difference:?} {own:?}");
    }
    assert!(a.minus(&a).iter().all(|difference| difference.bounds.value == 0.0 && difference.p == 1.0));
}

#[test]
fn a_ranking_like_the_shown_one_is_judged_like_the_log() {
    let world = world(5, 50, 3000);
    let judge = Counterfactual::new(&world.known(), Estimator::UserAware, None).unwrap();
    // Equal scores keep the order, and the last of six documents, which is never shown, is the last of all candidates.
    let flat = vec![0.0; world.data.len()];
    let (pages, candidates) = (judge.judge(&flat).unwrap(), judge.judge_candidates(&flat).unwrap());
    let shown = judge.as_shown();
    for ((a, b), c) in pages.values.iter().zip(&candidates.values).zip(&shown.values) {
        assert!((a.value - c.value).abs() < 1e-9 && (b.value - c.value).abs() < 1e-9, "{a:?} {b:?} {c:?}");
    }
    let queries = world.counts.queries.len();
    assert_eq!((candidates.never_shown, candidates.top, judge.log.queries), (queries, queries * DOCS, queries));
    assert_eq!((pages.never_shown, pages.top, judge.log.pages), (0, 0, world.counts.session_count()));
    let reversed: Vec<f32> = (0..world.data.len()).map(|row| (row % DOCS) as f32).collect();
    let mirrored = SHOWN as f64 + 1.0 - shown.value(ClickMeasure::Arp).unwrap().value;
    assert!((judge.judge(&reversed).unwrap().value(ClickMeasure::Arp).unwrap().value - mirrored).abs() < 1e-9);
}

#[test]
fn documents_that_were_never_shown_may_earn_what_the_last_of_a_page_does() {
    let world = world(5, 50, 3000);
    let judge = || {
        let judge = Counterfactual::new(&world.known(), Estimator::UserAware, None);
        judge.unwrap().measures(vec![ClickMeasure::Dcg(DOCS)]).resamples(0)
    };
    let value = |found: ClickEvaluation| found.values[0].value;
    // The sixth document of each query is never shown; here it is ranked last.
    let flat = vec![0.0; world.data.len()];
    let nothing = value(judge().judge_candidates(&flat).unwrap());
    let last = value(judge().judge_candidates(&flat).unwrap())
        - value(judge().measures(vec![ClickMeasure::Dcg(SHOWN - 1)]).as_shown());
    let mean_of_last = last / discount(SHOWN);
    let guessed = value(judge().unseen_as_last().judge_candidates(&flat).unwrap());
    assert!((guessed - nothing - mean_of_last * discount(DOCS)).abs() < 1e-9, "{guessed} {nothing} {mean_of_last}");
}

/// How a log's pages came about.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Lists {
    Fixed,
    Shuffled(f64),
    TwoRankers,
}

/// DCG@5 of the pages as shown and as reordered by scores, estimated over true.
fn ratios_to_truth(lists: Lists, zipf: bool, seed: u64) -> [f64; 2] {
    let world = world(seed, if zipf { 300 } else { 60 }, 10);
    let backward: Vec<f32> = (0..world.data.len()).map(|row| (row % DOCS) as f32).collect();
    let forward = ShownLists::top(&world.data, &vec![0.0; world.data.len()], SHOWN).unwrap();
    let shown = match lists {
        Lists::TwoRankers => vec![forward, ShownLists::top(&world.data, &backward, SHOWN).unwrap()],
        _ => vec![forward],
    };
    let simulation = Simulation::new().etas(vec![2.0, 1.0, 0.0]).sessions(12_000).seed(seed);
    let simulation = match lists {
        Lists::Shuffled(share) => simulation.shuffle(share),
        _ => simulation,
    };
    let simulation = if zipf { simulation.zipf(1.0) } else { simulation };
    let simulator = simulation.prepare(&world.data, &shown).unwrap();
    let (counts, _) = count_log(&simulator.log(), &CountOptions::new()).unwrap();
    let theta = simulator.propensities();
    let judge =
        Counterfactual::new(&KnownLog::examined(&counts, Some(&world.data), &theta), Estimator::UserAware, None)
            .unwrap()
            .resamples(100);
    let finder = RowFinder::new(&world.data, &counts.queries, &counts.docs);
    let (gamma, pages) = (simulator.relevance(), counts.pages.as_ref().unwrap());
    let mut truth = [0.0; 2];
    for page in &pages.pages {
        let (_, rows) = finder.find(page.query, pages.of(page).iter().map(|shown| shown.doc)).unwrap();
        let rows: Vec<usize> = rows.into_iter().map(|row| row.unwrap() as usize).collect();
        let scores: Vec<f32> = rows.iter().map(|&row| world.scores[row]).collect();
        let dcg = |order: Vec<usize>| -> f64 {
            order.into_iter().enumerate().map(|(above, i)| gamma[rows[i]] * discount(above + 1)).sum()
        };
        truth[0] += dcg((0..rows.len()).collect()) / pages.pages.len() as f64;
        truth[1] += dcg(rank(&scores)) / pages.pages.len() as f64;
    }
    let found = [judge.as_shown(), judge.judge(&world.scores).unwrap()];
    for value in found.iter().flat_map(|found| [ClickMeasure::Ndcg(5), ClickMeasure::Ndcg(10)].map(|m| found.value(m)))
    {
        let value = value.unwrap();
        assert!(0.0 <= value.low && value.low <= value.value && value.value <= value.high && value.high <= 1.0);
    }
    [0, 1].map(|i| found[i].value(ClickMeasure::Dcg(5)).unwrap().value / truth[i])
}

#[test]
fn pages_are_worth_what_they_are_whatever_shows_them() {
    let kinds = [Lists::Fixed, Lists::Shuffled(1.0), Lists::Shuffled(0.5), Lists::TwoRankers];
    for (lists, zipf) in kinds.into_iter().flat_map(|lists| [(lists, false), (lists, true)]) {
        let ratios: Vec<[f64; 2]> = (1..=8).into_par_iter().map(|seed| ratios_to_truth(lists, zipf, seed)).collect();
        for which in 0..2 {
            let mean = ratios.iter().map(|ratio| ratio[which]).sum::<f64>() / ratios.len() as f64;
            assert!((mean - 1.0).abs() < 0.03, "{lists:?}, Zipf {zipf}: {ratios:?}");
        }
    }
}

#[test]
fn reordering_needs_to_know_what_was_shown_together() {
    let world = world(1, 10, 500);
    let mut counts = world.counts.clone();
    assert!(counts.pages.is_none(), "cells are drawn without pages");
    counts.cells[0].position = 3;
    let found = Counterfactual::new(
        &KnownLog::examined(&counts, Some(&world.data), &world.propensities),
        Estimator::UserAware,
        None,
    );
    assert!(found.err().unwrap().to_string().contains("count its log again"));
}

#[test]
fn noise_lowers_normalised_gains() {
    // By the true order nDCG is 1; clicks put another order first by chance.
    let ndcg = |sessions| {
        let world = world(2, 100, sessions);
        let gamma: Vec<f32> = world.data.grades().unwrap().iter().map(|&grade| f32::from(grade)).collect();
        let judge = Counterfactual::new(&world.known(), Estimator::UserAware, None).unwrap();
        judge.judge(&gamma).unwrap().value(ClickMeasure::Ndcg(5)).unwrap().value
    };
    let (few, many) = (ndcg(1000), ndcg(10_000_000));
    assert!(few < 0.95 && many > 0.999, "{few} {many}");
}

#[test]
fn self_normalised_gains_do_not_depend_on_the_scale_of_examination() {
    let world = world(3, 40, 2000);
    let value = |propensities: &Propensities| {
        let judge = Counterfactual::new(
            &KnownLog::examined(&world.counts, Some(&world.data), propensities),
            Estimator::UserAware,
            None,
        )
        .unwrap();
        judge.self_normalised(true).judge(&world.scores).unwrap().value(ClickMeasure::Dcg(5)).unwrap().value
    };
    let mut halved = world.propensities.clone();
    halved.by_user.iter_mut().chain(&mut halved.population).for_each(|theta| *theta /= 2.0);
    assert!((value(&world.propensities) - value(&halved)).abs() < 1e-9);
}

#[test]
fn logs_that_judge_nothing_are_refused() {
    let mut world = world(1, 10, 100);
    let refused = |world: &World| {
        let found = Counterfactual::new(&world.known(), Estimator::UserAware, None);
        found.err().unwrap().to_string()
    };
    world.counts.cells.iter_mut().for_each(|cell| cell.clicks = 0);
    assert!(refused(&world).contains("so it judges nothing"));
    world.counts.queries = Ids::Integers((101..=110).collect());
    assert!(refused(&world).contains("are they from the same data?"), "{}", refused(&world));
}
