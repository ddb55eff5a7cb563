//! Which click model `doctor` and `fit --click-model auto` choose on logs of known models: tables of docs/doctor.md.
//!
//! `cargo run --release -p truerank --example suited_click_model -- doctor LOGS [KIND]` draws so many logs of each kind, or of those whose
//! name contains KIND, and counts verdicts and chosen models. With `fit` in place of `doctor` it fits each log with examination by
//! position and with `auto`, and compares relevance with the truth. `real FILE` says what the doctor finds in a log's file.

use std::collections::BTreeMap;

use rand::RngExt;
use rand::seq::SliceRandom;
use rayon::prelude::*;
use truerank::click_model::{Browsing, ClickModelKind, PageView, Session};
use truerank::counts::{CountOptions, Counts, LogSource, SplitBy, count_log};
use truerank::doctor::{ClickModels, Doctor};
use truerank::fit::{ClickModelChoice, Fit};
use truerank::ids::Ids;
use truerank::log::{Impression, Log, ReadOptions};
use truerank::progress::Silent;
use truerank::random::{Random, stream};
use truerank::relevance::Relevance;
use truerank::report::Verdict;

const SHOWN: usize = 10;

#[derive(Clone, Copy, PartialEq)]
enum Lists {
    Fixed,
    /// Rank 1 changes places with another in a third of the sessions.
    Swapped,
    Shuffled,
}

#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    model: ClickModelKind,
    queries: usize,
    sessions: usize,
    users: usize,
    /// How much users differ, from 0.
    spread: f64,
    lists: Lists,
    zipf: bool,
}

const BASE: Kind = Kind {
    name: "",
    model: ClickModelKind::Pbm,
    queries: 200,
    sessions: 10_000,
    users: 1,
    spread: 0.0,
    lists: Lists::Swapped,
    zipf: false,
};

fn kinds() -> Vec<Kind> {
    let pbm = [
        Kind { name: "pbm, swaps", ..BASE },
        Kind { name: "pbm, fixed lists", lists: Lists::Fixed, ..BASE },
        Kind { name: "pbm, shuffled lists", lists: Lists::Shuffled, ..BASE },
        Kind { name: "pbm, rare queries", queries: 4000, ..BASE },
        Kind { name: "pbm, Zipf queries", queries: 1000, zipf: true, ..BASE },
        Kind { name: "pbm, 20 users who differ", users: 20, spread: 1.0, ..BASE },
        Kind { name: "pbm, 500 users who differ", users: 500, spread: 1.0, ..BASE },
        Kind { name: "pbm, 5000 users who differ", users: 5000, spread: 1.0, ..BASE },
    ];
    let others = [
        ("ubm", "ubm, Zipf queries, 20 users who differ", ClickModelKind::Ubm),
        ("cm", "cm, Zipf queries, 20 users", ClickModelKind::Cm),
        ("dcm", "dcm, Zipf queries, 20 users who differ", ClickModelKind::Dcm),
        ("sdbn", "sdbn, Zipf queries, 20 users", ClickModelKind::Sdbn),
        ("dbn", "dbn, Zipf queries, 20 users who differ", ClickModelKind::Dbn),
        ("ccm", "ccm, Zipf queries, 20 users who differ", ClickModelKind::Ccm),
    ];
    let others = others.into_iter().flat_map(|(name, sparse, model)| {
        [
            Kind { name, model, ..BASE },
            Kind { name: sparse, model, queries: 1000, zipf: true, users: 20, spread: 1.0, ..BASE },
        ]
    });
    pbm.into_iter().chain(others).collect()
}

/// Queries with documents, production's order first.
struct World {
    attraction: Vec<Vec<f64>>,
    satisfaction: Vec<Vec<f64>>,
    users: Vec<Browsing>,
}

impl World {
    fn new(kind: &Kind, random: &mut Random) -> Self {
        let mut attraction: Vec<Vec<f64>> = (0..kind.queries)
            .map(|_| (0..SHOWN).map(|_| 0.02 + 0.6 * random.random::<f64>().powi(3)).collect())
            .collect();
        for of_query in &mut attraction {
            // A ranker that knows something: sorted by relevance and noise.
            let mut keyed: Vec<(f64, f64)> =
                of_query.iter().map(|&gamma| (gamma + 0.2 * random.random::<f64>(), gamma)).collect();
            keyed.sort_by(|a, b| b.0.total_cmp(&a.0));
            *of_query = keyed.into_iter().map(|(_, gamma)| gamma).collect();
        }
        let satisfaction =
            (0..kind.queries).map(|_| (0..SHOWN).map(|_| random.random_range(0.2..0.8)).collect()).collect();
        let users =
            (0..kind.users).map(|_| browsing(kind.model, kind.spread * random.random_range(-0.5..0.5))).collect();
        World { attraction, satisfaction, users }
    }
}

/// How a user browses who is more (above 0) or less patient than most.
fn browsing(model: ClickModelKind, patience: f64) -> Browsing {
    let mut browsing = Browsing::constant(model, SHOWN, (0.65 + 0.4 * patience).clamp(0.05, 0.95));
    let eta = 0.8 * (1.0 - patience);
    match model {
        ClickModelKind::Pbm => browsing = Browsing::power_law(eta, SHOWN),
        ClickModelKind::Ubm => {
            let slots = (1..=SHOWN).flat_map(|k| (0..k).map(move |from| (from, k)));
            browsing.values = slots.map(|(from, k)| ((k - from) as f64).powf(-eta)).collect();
        }
        ClickModelKind::Dbn => browsing.values = vec![(0.85 + 0.2 * patience).min(0.99)],
        ClickModelKind::Ccm => {
            browsing.values = [0.88, 0.8, 0.4].map(|tau: f64| (tau + 0.2 * patience).clamp(0.05, 0.99)).to_vec();
        }
        _ => {}
    }
    browsing
}

fn draw(kind: &Kind, seed: u64) -> (World, Counts) {
    let mut random = stream(seed, "suited", kind.model as u64);
    let world = World::new(kind, &mut random);
    let weights: Vec<f64> = (1..=kind.queries).map(|rank| if kind.zipf { 1.0 / rank as f64 } else { 1.0 }).collect();
    let total: f64 = weights.iter().sum();
    let ends: Vec<f64> = weights
        .iter()
        .scan(0.0, |sum, weight| {
            Some({
                *sum += weight / total;
                *sum
            })
        })
        .collect();
    let (mut impressions, mut session) = (Vec::new(), Session::default());
    for number in 0..kind.sessions {
        let point: f64 = random.random();
        let query = ends.partition_point(|&end| end < point).min(kind.queries - 1);
        let user = random.random_range(0..kind.users);
        let mut order: Vec<usize> = (0..SHOWN).collect();
        match kind.lists {
            Lists::Fixed => {}
            Lists::Swapped if random.random_bool(1.0 / 3.0) => order.swap(0, random.random_range(1..SHOWN)),
            Lists::Swapped => {}
            Lists::Shuffled => order.shuffle(&mut random),
        }
        let values = |all: &[Vec<f64>]| -> Vec<f64> { order.iter().map(|&doc| all[query][doc]).collect() };
        let (attraction, satisfaction) = (values(&world.attraction), values(&world.satisfaction));
        let positions: Vec<u32> = (1..=SHOWN as u32).collect();
        let page = PageView { positions: &positions, attraction: &attraction, satisfaction: &satisfaction };
        world.users[user].draw(&page, &mut random, &mut session);
        impressions.extend(order.iter().zip(1..).zip(&session.clicked).map(|((&doc, position), &click)| Impression {
            session: number as u64,
            user: user as u32,
            query: query as u32,
            doc: (query * SHOWN + doc) as u32,
            position,
            click,
        }));
    }
    let log = Log {
        users: Ids::numbered(kind.users),
        queries: Ids::numbered(kind.queries),
        docs: Ids::numbered(kind.queries * SHOWN),
        impressions,
    };
    let counts = count_log(&log, &CountOptions::new().transitions(true)).unwrap().0;
    (world, counts)
}

fn spelled(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "yes",
        Verdict::DoesNotHold => "no",
        Verdict::Open => "open",
    }
}

fn told(counts: BTreeMap<String, usize>) -> String {
    counts.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
}

fn doctor(kind: &Kind, logs: u64) {
    let found: Vec<(Verdict, ClickModelKind, f64)> = (0..logs)
        .into_par_iter()
        .map(|seed| {
            let (_, counts) = draw(kind, seed);
            let doctor = Doctor::new().seed(seed);
            let found = doctor.compare_click_models(&counts, &Silent).unwrap().unwrap();
            (found.verdict(doctor.level), found.best().model, found.best().cut)
        })
        .collect();
    let (mut verdicts, mut best) = (BTreeMap::new(), BTreeMap::new());
    for (verdict, model, _) in &found {
        *verdicts.entry(spelled(*verdict).to_string()).or_default() += 1;
        *best.entry(model.to_string()).or_default() += 1;
    }
    let cut = found.iter().map(|(.., cut)| cut).sum::<f64>() / logs as f64;
    println!("| {} | {} | {} | {:.1} % |", kind.name, told(verdicts), told(best), 100.0 * cut);
}

/// The mean over queries of the correlation of weights with the truth, and the error of weights brought to the same scale.
fn quality(relevance: &Relevance, world: &World) -> (f64, f64) {
    let truth = |query: u32, doc: u32| {
        let name = |ids: &Ids, number: u32| ids.name(number as usize).parse::<usize>().unwrap();
        // Ids count from 1.
        let doc = name(&relevance.docs, doc) - 1;
        world.attraction[name(&relevance.queries, query) - 1][doc % SHOWN]
    };
    let pairs: Vec<(f64, f64, f64)> =
        relevance.weights.iter().map(|w| (w.weight, truth(w.query, w.doc), w.impressions as f64)).collect();
    let sum = |value: &dyn Fn(&(f64, f64, f64)) -> f64| pairs.iter().map(value).sum::<f64>();
    let scale = sum(&|p| p.2 * p.0 * p.1) / sum(&|p| p.2 * p.0 * p.0);
    let error = (sum(&|p| p.2 * (scale * p.0 - p.1).powi(2)) / sum(&|p| p.2)).sqrt();
    let (mut ndcg, mut queries) = (0.0, 0.0);
    let mut start = 0;
    for of_query in relevance.weights.chunk_by(|a, b| a.query == b.query) {
        let values = &pairs[start..start + of_query.len()];
        start += of_query.len();
        let dcg = |order: &mut Vec<(f64, f64)>| {
            order.sort_by(|a, b| b.0.total_cmp(&a.0));
            order.iter().enumerate().map(|(rank, (_, gain))| gain / (rank as f64 + 2.0).log2()).sum::<f64>()
        };
        let ours = dcg(&mut values.iter().map(|p| (p.0, p.1)).collect());
        let best = dcg(&mut values.iter().map(|p| (p.1, p.1)).collect());
        (ndcg, queries) = (ndcg + ours / best, queries + 1.0);
    }
    (ndcg / queries, error)
}

#[allow(clippy::type_complexity, reason = "pairs of quality and error, by position and by choice")]
fn fit(kind: &Kind, logs: u64) {
    let found: Vec<(String, [(f64, f64); 2])> = (0..logs)
        .into_par_iter()
        .map(|seed| {
            let (world, counts) = draw(kind, seed);
            let log = LogSource::from(counts).split(SplitBy::Pages, 0.2, seed, &Silent).unwrap();
            let log = truerank::fit::FitLog::try_from(log).unwrap();
            let doctor = Doctor::new().permutations(1);
            let of = |choice| {
                Fit::new().doctor(doctor.clone()).seed(seed).click_model(choice).run(&log, None, &Silent).unwrap()
            };
            let (plain, auto) = (of(ClickModelChoice::None), of(ClickModelChoice::Auto));
            let qualities = [quality(&plain.relevance, &world), quality(&auto.relevance, &world)];
            (auto.click_model.used(), qualities)
        })
        .collect();
    let mut used = BTreeMap::new();
    found.iter().for_each(|(name, _)| *used.entry(name.clone()).or_default() += 1);
    let mean = |value: &dyn Fn(&[(f64, f64); 2]) -> f64| found.iter().map(|(_, q)| value(q)).sum::<f64>() / logs as f64;
    let deviation = |value: &dyn Fn(&[(f64, f64); 2]) -> f64| {
        let centre = mean(value);
        (mean(&|q| (value(q) - centre).powi(2)) / (logs as f64 - 1.0).max(1.0)).sqrt()
    };
    let above = |q: &[(f64, f64); 2]| q[1].0 - q[0].0;
    println!(
        "| {} | {} | {:.4} | {:.4} | {:+.4} ± {:.4} | {:.4} | {:.4} |",
        kind.name,
        told(used),
        mean(&|q| q[0].0),
        mean(&|q| q[1].0),
        mean(&above),
        deviation(&above),
        mean(&|q| q[0].1),
        mean(&|q| q[1].1)
    );
}

fn real(files: &[String]) {
    let (counts, _) =
        LogSource::files(files.iter().cloned(), ReadOptions::new()).count(&CountOptions::new(), &Silent).unwrap();
    for seed in 1..=5 {
        let pages = counts.pages.as_ref().unwrap();
        let found = ClickModels::of(pages, seed, &Silent).unwrap().unwrap();
        println!(
            "seed {seed}: {}, {} pages fitted, {} predicted",
            spelled(found.verdict(0.01)),
            found.fitted,
            found.held_out
        );
        for model in &found.models {
            println!(
                "  {:<5} {:.5}  {:.5}  {:+.5} ({:+.5} to {:+.5})  p {:.3}  cut {:.2} %",
                model.model.to_string(),
                model.log_likelihood,
                model.conditional_perplexity,
                model.above,
                model.interval.0,
                model.interval.1,
                model.p,
                100.0 * model.cut
            );
        }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (what, rest) = arguments.split_first().expect("doctor LOGS, fit LOGS or real FILE");
    if what == "real" {
        return real(rest);
    }
    let logs: u64 = rest.first().map_or(10, |logs| logs.parse().expect("a number of logs"));
    let wanted = rest.get(1).cloned().unwrap_or_default();
    match &what[..] {
        "doctor" => println!("| log | another is better | predicts best | perplexity cut |\n|---|---|---|---|"),
        _ => println!(
            "| log | used | nDCG by position | nDCG auto | difference | error by position | error auto |\n|---|---|---|---|---|---|---|"
        ),
    }
    for kind in kinds().iter().filter(|kind| kind.name.contains(&wanted)) {
        match &what[..] {
            "doctor" => doctor(kind, logs),
            _ => fit(kind, logs),
        }
    }
}
