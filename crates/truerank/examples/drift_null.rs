//! How often `drift` finds changes where there are none: one log dealt at random to two days, by the hundred; table of docs/every-day.md.
//!
//! `cargo run --release -p truerank --example drift_null -- LOGS` prints for each kind of log the share of p < .05 of each test, and how
//! often anything was called drift. The kinds `yandex` deal the real pages in `../shared/data/yandex-relpred` to two days; where these
//! are absent it says so.

use std::collections::BTreeMap;
use std::path::Path;

use rand::RngExt;
use rayon::prelude::*;
use truerank::counts::{CountOptions, Counts, LogSource, count_log};
use truerank::drift::{Aspect, Drift};
use truerank::ids::Ids;
use truerank::log::{Impression, Log, ReadOptions};
use truerank::progress::Silent;
use truerank::random::stream;

const SHOWN: u32 = 6;

#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    users: u32,
    queries: u32,
    pages: u32,
    /// Whether few users and queries have most of the pages.
    zipf: bool,
    /// Share of the pages that the first day gets.
    share: f64,
}

const BASE: Kind = Kind { name: "", users: 100, queries: 100, pages: 1500, zipf: false, share: 0.5 };

const KINDS: [Kind; 6] = [
    Kind { name: "100 users, 100 queries", ..BASE },
    Kind { name: "the same, Zipf", zipf: true, ..BASE },
    Kind { name: "the same, a day three times as long", zipf: true, share: 0.75, ..BASE },
    Kind { name: "1,500 users of a page each, Zipf queries", users: 1_000_000, zipf: true, ..BASE },
    Kind { name: "10 users, Zipf", users: 10, zipf: true, ..BASE },
    Kind { name: "one user, Zipf queries", users: 1, zipf: true, ..BASE },
];

fn main() -> truerank::Result<()> {
    let logs: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(200);
    println!(
        "| null logs | click rate | clicks per page | depth | same place | position 1 | queries | users | any drift |"
    );
    println!("|{}", "---|".repeat(9));
    for kind in KINDS {
        tally(kind.name, logs, |seed| Ok(kind.days(seed)))?;
    }
    yandex(logs)
}

fn tally(name: &str, logs: u64, days: impl Fn(u64) -> truerank::Result<[Counts; 2]> + Sync) -> truerank::Result<()> {
    let found: Vec<(BTreeMap<Aspect, f64>, bool)> = (0..logs)
        .into_par_iter()
        .map(|seed| {
            let [old, new] = days(seed)?;
            let found = Drift::new().permutations(199).seed(seed).compare(&old, &new, &Silent)?;
            let p = found.changes.iter().filter_map(|change| Some((change.aspect, change.p?))).collect();
            Ok((p, found.changes.iter().any(|change| change.drifted)))
        })
        .collect::<truerank::Result<_>>()?;
    let share = |aspect: Aspect| {
        let p: Vec<f64> = found.iter().filter_map(|(p, _)| p.get(&aspect).copied()).collect();
        let small = p.iter().filter(|&&p| p <= 0.05).count();
        if p.is_empty() { "–".to_string() } else { format!("{:.1} %", 100.0 * small as f64 / p.len() as f64) }
    };
    let aspects = [
        Aspect::ClickRate,
        Aspect::ClicksPerPage,
        Aspect::ClickDepth,
        Aspect::SamePlace,
        Aspect::AtPosition(1),
        Aspect::QueryMix,
        Aspect::UserMix,
    ];
    let any = found.iter().filter(|(_, any)| *any).count() as f64 / logs as f64;
    println!("| {name} | {} | {:.1} % |", aspects.map(share).join(" | "), 100.0 * any);
    Ok(())
}

impl Kind {
    fn days(&self, seed: u64) -> [Counts; 2] {
        let mut random = stream(seed, "null log", 0);
        let mut draw = |count: u32, power: i32| {
            let power = if self.zipf { power } else { 1 };
            (f64::from(count) * random.random::<f64>().powi(power)) as u32
        };
        let pages: Vec<(u32, u32)> = (0..self.pages).map(|_| (draw(self.users, 2), draw(self.queries, 3))).collect();
        let mut logs = [Vec::new(), Vec::new()];
        for (session, (user, query)) in (0..).zip(pages) {
            let day = usize::from(random.random::<f64>() >= self.share);
            let level = 0.2 + 0.8 * truth(user, 1);
            let shift = random.random_range(0..3u32);
            // People stop after a click with probability 1/2, so clicks of a page depend on each other.
            let mut stopped = false;
            for position in 1..=SHOWN {
                let doc = query * 10 + (position + shift) % 8;
                let click = !stopped && random.random::<f64>() < level * truth(doc, 2) / f64::from(position).sqrt();
                stopped |= click && random.random::<bool>();
                logs[day].push(Impression { session, user, query, doc, position, click });
            }
        }
        logs.map(|impressions| {
            let ids = |count: u32| Ids::numbered(count as usize);
            let log =
                Log { users: ids(self.users), queries: ids(self.queries), docs: ids(self.queries * 10), impressions };
            count_log(&log, &CountOptions::new()).expect("a log of pages").0
        })
    }
}

/// A number in [0, 1) that belongs to a user or a document.
fn truth(number: u32, what: u64) -> f64 {
    stream(u64::from(number), "truth", what).random()
}

/// Real pages, dealt to two days.
fn yandex(logs: u64) -> truerank::Result<()> {
    let file = "../shared/data/yandex-relpred/train.jsonl.gz";
    if !Path::new(file).exists() {
        println!("skipped: there is no {file}");
        return Ok(());
    }
    let log = LogSource::files([file], ReadOptions::new()).read()?;
    tally("yandex: real pages without users", logs, |seed| {
        let mut random = stream(seed, "deal", 0);
        let mut days = [Vec::new(), Vec::new()];
        for page in log.impressions.chunk_by(|a, b| a.session == b.session) {
            days[usize::from(random.random::<bool>())].extend_from_slice(page);
        }
        let count = |impressions| count_log(&Log { impressions, ..log.clone() }, &CountOptions::new());
        let [old, new] = days;
        Ok([count(old)?.0, count(new)?.0])
    })
}
