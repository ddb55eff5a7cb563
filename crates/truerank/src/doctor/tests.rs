//! The tests for personalized bias, against simulated logs that have it and logs that do not.

use super::{Bias, Differences, Doctor, RelativeExamination};
use crate::counts::{CountOptions, Counts, Page, Pages, Shown, assert_same, count_log, everywhere};
use crate::data::{Dataset, Generator, Preset};
use crate::progress::Silent;
use crate::propensity::{Examination, Propensities};
use crate::random::{Random, stream};
use crate::report::Verdict;
use crate::simulate::{ShownLists, Simulation};
use rand::RngExt;
use rand::seq::SliceRandom;

const SEEDS: std::ops::Range<u64> = 0..10;

fn data() -> Dataset {
    Generator::preset(Preset::Tiny).queries(300, 10, 10).generate().unwrap().train
}

/// A log of production-like lists, and the θ behind it.
fn log(data: &Dataset, simulation: Simulation) -> (Counts, Propensities) {
    let scores: Vec<f32> = (0..data.len()).map(|row| (row * 7919 % 1009) as f32).collect();
    let lists = [ShownLists::top(data, &scores, 10).unwrap()];
    let simulator = simulation.prepare(data, &lists).unwrap();
    (count_log(&simulator.log(), &CountOptions::new()).unwrap().0, simulator.propensities())
}

/// In how many of 10 logs there is bias, and in how many there is none; in the others it is open.
fn found(simulation: impl Fn(u64) -> Simulation) -> (usize, usize) {
    let data = data();
    let verdict = |seed: u64| {
        let (counts, _) = log(&data, simulation(seed).seed(seed));
        let doctor = Doctor::new().permutations(199).click_models(false);
        doctor.examine(&counts, None, None, &Silent).unwrap().personalized_bias()
    };
    let verdicts: Vec<Verdict> = SEEDS.map(verdict).collect();
    let count = |verdict| verdicts.iter().filter(|found| **found == verdict).count();
    (count(Verdict::Holds), count(Verdict::DoesNotHold))
}

fn simulation() -> Simulation {
    Simulation::new().sessions(20_000)
}

#[test]
fn users_who_differ_in_queries_and_depth_are_found() {
    assert_eq!(found(|_| simulation()), (10, 0));
}

#[test]
fn users_who_differ_in_depth_only_are_no_bias() {
    assert_eq!(found(|_| simulation().shared_queries(true)).0, 0);
}

#[test]
fn users_who_differ_in_queries_only_are_no_bias() {
    let (yes, no) = found(|_| simulation().etas(vec![1.0; 10]));
    assert!(yes == 0 && no >= 8, "{yes} and {no}");
}

#[test]
fn many_users_with_few_sessions_each_are_found_too() {
    assert_eq!(found(|_| simulation().users_per_cluster(30).user_noise(0.1)), (10, 0));
    assert_eq!(found(|_| simulation().users_per_cluster(30).user_noise(0.1).shared_queries(true)).0, 0);
    assert_eq!(found(|_| simulation().etas(vec![1.0; 10]).users_per_cluster(30)).0, 0);
}

#[test]
fn a_real_difference_that_is_tiny_is_no_bias() {
    let etas = (0..10).map(|cluster| 1.0 + 0.002 * f64::from(cluster)).collect::<Vec<f64>>();
    let (counts, _) = log(&data(), simulation().sessions(60_000).etas(etas));
    let mut diagnosis = Doctor::new().click_models(false).examine(&counts, None, None, &Silent).unwrap();
    assert_eq!(diagnosis.personalized_bias(), Verdict::DoesNotHold);
    // As it would be with so many sessions that even these are found.
    for found in diagnosis.differences.iter_mut().flat_map(|found| [&mut found.level, &mut found.depth]).flatten() {
        found.test.p = 0.001;
    }
    assert_eq!(diagnosis.personalized_bias(), Verdict::DoesNotHold);
    assert!(diagnosis.bias_sentence().contains("but too little to matter"), "{}", diagnosis.bias_sentence());
}

#[test]
fn what_cannot_be_told_is_open_and_says_what_would_settle_it() {
    let data = data();
    let (counts, _) = log(&data, simulation());
    let sentence = |doctor: Doctor, counts: &Counts| {
        let diagnosis = doctor.click_models(false).examine(counts, None, None, &Silent).unwrap();
        (diagnosis.personalized_bias(), diagnosis.bias_sentence())
    };
    let (verdict, text) = sentence(Doctor::new().permutations(99), &counts);
    assert_eq!(verdict, Verdict::Open);
    assert!(text.contains("with 99 permutations no p-value falls below 0.01; at least 100 are needed"), "{text}");
    assert_eq!(sentence(Doctor::new().permutations(100), &counts).0, Verdict::Holds);
    let (verdict, text) = sentence(Doctor::new(), &Counts { pages: None, ..counts });
    assert_eq!(verdict, Verdict::Open);
    assert!(text.contains("count the log again"), "{text}");
    let (few, _) = log(&data, simulation().sessions(400).etas(vec![1.0; 10]));
    let (verdict, text) = sentence(Doctor::new(), &few);
    assert_eq!(verdict, Verdict::Open);
    assert!(text.contains("sessions of these users would tell"), "{text}");
}

#[test]
fn a_hundred_clicks_leave_open_whether_a_log_is_fit() {
    let data = data();
    let fitness = |sessions| {
        let (counts, _) = log(&data, simulation().sessions(sessions));
        let diagnosis = Doctor::new().click_models(false).examine(&counts, None, Some(&data), &Silent).unwrap();
        (diagnosis.sizes.clicks, diagnosis.fitness(), diagnosis.is_fit())
    };
    let (clicks, verdict, is_fit) = fitness(150);
    assert!((100..1000).contains(&clicks) && verdict == Verdict::Open && is_fit, "{clicks}: {verdict:?}");
    let (clicks, verdict, is_fit) = fitness(50);
    assert!(clicks < 100 && verdict == Verdict::DoesNotHold && !is_fit, "{clicks}: {verdict:?}");
    let (clicks, verdict, _) = fitness(2000);
    assert!(clicks >= 1000 && verdict == Verdict::Holds, "{clicks}: {verdict:?}");
}

/// How the pages of a null log come to be.
#[derive(Clone, Copy)]
struct Null {
    users: u32,
    /// Lists are in random order.
    shuffled: bool,
    /// Some users click twice as often as others, at all positions.
    levels: bool,
}

/// Pages of 20 queries; half of them are looked at in rank 1 only, so that clicks on a page depend on each other.
fn null_pages(null: Null, random: &mut Random) -> Pages {
    let mut pages = Pages::default();
    for query in 0..20 {
        for _ in 0..50 {
            let user = random.random_range(0..null.users);
            let mut docs: Vec<u32> = (0..8).collect();
            if null.shuffled {
                docs.shuffle(random);
            }
            let last = if random.random::<bool>() { 1 } else { 8 };
            let level = if null.levels { 0.5 + 0.5 * f64::from(user % 2) } else { 1.0 };
            let shown = docs.iter().zip(1..).map(|(&doc, position)| {
                let click = position <= last && random.random::<f64>() < level * f64::from(1 + doc) / 12.0;
                Shown { position, doc, click }
            });
            let start = pages.shown.len();
            pages.shown.extend(shown);
            pages.pages.push(Page { query, user, shown: start..pages.shown.len(), key: None });
        }
    }
    pages
}

/// In how many of 200 null logs each test has p < .05.
fn rejected(null: Null) -> [usize; 2] {
    let mut counts = [0; 2];
    for seed in 0..200 {
        let pages = null_pages(null, &mut stream(seed, "null", 0));
        let found = Differences::of(&pages, 99, seed, &Silent).unwrap();
        counts[0] += usize::from(found.level.unwrap().test.p < 0.05);
        counts[1] += usize::from(found.depth.unwrap().test.p < 0.05);
    }
    counts
}

#[test]
fn users_alike_are_found_different_in_one_log_of_twenty() {
    // 3 to 7 % and some chance: 10 ± 3.1 of 200.
    let plausible = 2..=19;
    for users in [10, 100] {
        for shuffled in [false, true] {
            let found = rejected(Null { users, shuffled, levels: false });
            assert!(found.iter().all(|count| plausible.contains(count)), "{users} users, {shuffled}: {found:?}");
        }
    }
    for shuffled in [false, true] {
        let [level, depth] = rejected(Null { users: 20, shuffled, levels: true });
        assert!(level >= 195 && plausible.contains(&depth), "{shuffled}: {level} and {depth}");
    }
}

#[test]
fn real_pages_with_users_dealt_at_random_have_no_differences() {
    use crate::counts::LogSource;
    use crate::log::ReadOptions;
    let file =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/yandex-relpred/test.jsonl.gz");
    if !file.exists() {
        println!("skipped: there is no {}", file.display());
        return;
    }
    let mut log = LogSource::files([file], ReadOptions::new()).read().unwrap();
    log.users = crate::ids::Ids::numbered(500);
    let mut found = [0; 2];
    for seed in 0..40 {
        let mut random = stream(seed, "deal", 0);
        for page in log.impressions.chunk_by_mut(|a, b| a.session == b.session) {
            let user = random.random_range(0..500);
            page.iter_mut().for_each(|shown| shown.user = user);
        }
        let (counts, _) = count_log(&log, &CountOptions::new()).unwrap();
        let both = Doctor::new().permutations(99).differences(&counts, &Silent).unwrap().unwrap();
        found[0] += usize::from(both.level.unwrap().test.p < 0.05);
        found[1] += usize::from(both.depth.unwrap().test.p < 0.05);
    }
    // 2 ± 1.4 of 40.
    assert!(found.iter().all(|&count| count <= 7), "{found:?}");
}

#[test]
fn the_sizes_are_those_of_the_simulation() {
    // θ(u,k) = k^−η with η of .8 or 1.2: b is ±.2, whether or not users of one kind have queries of their own.
    for personal in [false, true] {
        let simulation = simulation().sessions(40_000).etas(vec![0.8, 1.2]).cluster_ratio(1.0).users_per_cluster(20);
        let (counts, _) = log(&data(), simulation.shared_queries(!personal));
        let both = Doctor::new().permutations(199).differences(&counts, &Silent).unwrap().unwrap();
        let depth = both.depth.unwrap();
        assert!(
            (depth.size - 0.2).abs() < 0.04 && depth.at_most > Some(depth.size) && depth.at_most < Some(0.3),
            "{depth:?}"
        );
    }
    let levels = null_pages(Null { users: 20, shuffled: false, levels: true }, &mut stream(1, "null", 0));
    let level = Differences::of(&levels, 199, 1, &Silent).unwrap().level.unwrap();
    // Halves of the users with .5 and 1: 1 ± 1/3 of their mean.
    assert!((level.size - 1.0 / 3.0).abs() < 0.08, "{level:?}");
}

#[test]
fn a_user_with_one_page_tells_nothing() {
    let mut random = stream(1, "null", 0);
    let mut pages = null_pages(Null { users: 10, shuffled: false, levels: false }, &mut random);
    pages.pages.iter_mut().zip(0..).for_each(|(page, user)| page.user = user);
    let found = Differences::of(&pages, 99, 1, &Silent).unwrap();
    assert_eq!(found, Differences { level: None, depth: None });
}

/// The root mean squared relative bias of ips-pbm with the true θ, and queries' users as counted.
fn true_bias(counts: &Counts, truth: &Propensities) -> f64 {
    let examination = Examination::new(truth, counts).unwrap();
    let (mut squares, mut shown) = (0.0, 0.0);
    for users in counts.sessions.chunk_by(|a, b| a.query == b.query) {
        let n: f64 = users.iter().map(|u| u.sessions as f64).sum();
        for cell in counts.cells.iter().filter(|cell| cell.query == users[0].query) {
            let k = cell.position;
            let mean = users.iter().map(|u| u.sessions as f64 * examination.of(u.user, k)).sum::<f64>() / n;
            squares += cell.impressions as f64 * (mean / examination.average_at(k) - 1.0).powi(2);
            shown += cell.impressions as f64;
        }
    }
    (squares / shown).sqrt()
}

fn typical_bias(counts: &Counts) -> f64 {
    Bias::of(counts, &RelativeExamination::of(counts).unwrap(), None, None, &[]).unwrap().typical
}

#[test]
fn the_size_of_the_bias_is_that_of_the_true_examination() {
    // So many sessions per query that chance makes little of the users of a query.
    let data = data();
    let (counts, truth) = log(&data, simulation().sessions(1_000_000));
    let expected = true_bias(&counts, &truth);
    let estimated = typical_bias(&counts);
    assert!((estimated / expected - 1.0).abs() < 0.1, "{estimated} is not {expected}");
    let (few, _) = log(&data, simulation());
    let estimated = typical_bias(&few);
    assert!((estimated / expected - 1.0).abs() < 0.25, "{estimated} is not {expected}");
    let (alike, _) = log(&data, simulation().shared_queries(true));
    let estimated = typical_bias(&alike);
    assert!(estimated < 0.1 * expected, "{estimated} where there is none");
}

#[test]
fn a_diagnosis_does_not_depend_on_where_counts_are() {
    let data = data();
    let lists = [ShownLists::top(&data, &vec![0.0; data.len()], 10).unwrap()];
    let simulation = simulation().sessions(3000).users_per_cluster(8).user_noise(0.1).shuffle(0.3);
    let log = simulation.prepare(&data, &lists).unwrap().log();
    let (counts, _) = count_log(&log, &CountOptions::new()).unwrap();
    for features in [None, Some(&data)] {
        let found = everywhere(&counts, |counts| {
            let doctor = Doctor::new().permutations(19).click_models(features.is_none());
            doctor.examine(counts, None, features, &Silent).unwrap()
        });
        assert!(found[0].bias.is_some() && found[0].weights.is_some() && !found[0].groups.is_empty());
        assert_same(&found);
    }
}
