//! How often `doctor` finds differences between users where there are none: null logs by the hundred, tables of docs/doctor.md.
//!
//! `cargo run --release -p truerank --example doctor_null -- LOGS [KIND]` draws so many logs of each kind, or of those whose name
//! contains KIND, and prints the share of p < .05 of each test. Clicks on a page depend on each other in all of them. The kinds `yandex`
//! deal users at random to the real pages in `../shared/data/yandex-relpred`; where these are absent it says so.

use std::path::Path;

use rand::RngExt;
use rand::seq::SliceRandom;
use rayon::prelude::*;
use truerank::counts::{CountOptions, Counts, LogSource, count_log};
use truerank::doctor::{Difference, Doctor};
use truerank::ids::Ids;
use truerank::log::{Impression, Log, ReadOptions};
use truerank::progress::Silent;
use truerank::random::{Random, stream};
use truerank::report::Verdict;

const SHOWN: usize = 10;

/// How people go down a page.
#[derive(Clone, Copy, PartialEq)]
enum Clicks {
    /// Half of the pages are looked at in rank 1 only.
    TopOnly,
    /// From the top, until content.
    Cascade,
    /// Each position by itself.
    Independent,
}

/// What is shown.
#[derive(Clone, Copy, PartialEq)]
enum Lists {
    Fixed,
    Shuffled,
    HalfShuffled,
    TwoRankers,
    /// One ranker for each half of the users.
    ByGroup,
    /// An order of their own for each user and query.
    OfUser,
}

#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    queries: usize,
    users: usize,
    sessions: usize,
    zipf: bool,
    clicks: Clicks,
    lists: Lists,
    /// The standard deviation of how much users click.
    level: f64,
    /// Whether users have queries of their own.
    personal: bool,
    /// The share of sessions in which a user searches again for the same as before.
    again: f64,
}

const BASE: Kind = Kind {
    name: "",
    queries: 100,
    users: 20,
    sessions: 3000,
    zipf: false,
    clicks: Clicks::TopOnly,
    lists: Lists::Fixed,
    level: 0.0,
    personal: true,
    again: 0.0,
};

const KINDS: [Kind; 23] = [
    Kind { name: "half look at rank 1 only, fixed lists", ..BASE },
    Kind { name: "the same, 500 users", users: 500, ..BASE },
    Kind { name: "the same, shuffled lists", lists: Lists::Shuffled, ..BASE },
    Kind { name: "the same, half shuffled lists", lists: Lists::HalfShuffled, ..BASE },
    Kind { name: "the same, two rankers", lists: Lists::TwoRankers, ..BASE },
    Kind { name: "the same, a ranker for each half of the users", lists: Lists::ByGroup, ..BASE },
    Kind { name: "the same, own lists of each user", lists: Lists::OfUser, ..BASE },
    Kind { name: "the same, Zipf queries and users", zipf: true, users: 200, ..BASE },
    Kind { name: "the same, rare queries", queries: 1500, users: 100, ..BASE },
    Kind { name: "until content, fixed lists", clicks: Clicks::Cascade, ..BASE },
    Kind { name: "until content, 500 users", clicks: Clicks::Cascade, users: 500, ..BASE },
    Kind { name: "until content, shuffled lists", clicks: Clicks::Cascade, lists: Lists::Shuffled, ..BASE },
    Kind { name: "until content, a ranker for each half", clicks: Clicks::Cascade, lists: Lists::ByGroup, ..BASE },
    Kind { name: "until content, own lists of each user", clicks: Clicks::Cascade, lists: Lists::OfUser, ..BASE },
    Kind { name: "until content, Zipf queries and users", clicks: Clicks::Cascade, zipf: true, users: 200, ..BASE },
    Kind { name: "shared queries, fixed lists", personal: false, ..BASE },
    Kind { name: "shared queries, Zipf queries and users", personal: false, zipf: true, users: 200, ..BASE },
    Kind { name: "shared queries, a third of them again", personal: false, again: 0.33, ..BASE },
    Kind { name: "levels differ, fixed lists", level: 0.4, ..BASE },
    Kind { name: "levels differ, 200 users", level: 0.4, users: 200, ..BASE },
    Kind {
        name: "levels differ, independent clicks",
        level: 0.4,
        clicks: Clicks::Independent,
        sessions: 10_000,
        ..BASE
    },
    Kind { name: "levels differ, shuffled lists", level: 0.4, lists: Lists::Shuffled, ..BASE },
    Kind { name: "levels differ, Zipf queries and users", level: 0.4, zipf: true, users: 200, ..BASE },
];

fn main() -> truerank::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let logs: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(200);
    let asked = arguments.next().unwrap_or_default();
    println!(
        "| null logs | level: p < .05 | depth: p < .05 | queries: p < .05 | p < .01 of level, depth | mean size of level, depth | bias: \
         yes, no, open |"
    );
    println!("|{}", "---|".repeat(7));
    for kind in KINDS.iter().filter(|kind| kind.name.contains(&asked)) {
        tally(kind.name, logs, kind.lists == Lists::Fixed, |log| Ok(kind.counts(log)))?;
    }
    for users in [20, 500, 5000] {
        let name = format!("yandex: real pages, {users} users dealt");
        if name.contains(&asked) {
            deal(&name, users, logs)?;
        }
    }
    Ok(())
}

/// Real pages with users dealt at random.
fn deal(name: &str, users: usize, logs: u64) -> truerank::Result<()> {
    let files = ["train", "test"].map(|part| format!("../shared/data/yandex-relpred/{part}.jsonl.gz"));
    if let Some(missing) = files.iter().find(|file| !Path::new(file).exists()) {
        println!("skipped: there is no {missing}");
        return Ok(());
    }
    let mut log = LogSource::files(files, ReadOptions::new()).read()?;
    log.users = Ids::numbered(users);
    tally(name, logs, false, |seed| {
        let mut log = log.clone();
        let mut random = stream(seed, "deal", 0);
        for page in log.impressions.chunk_by_mut(|a, b| a.session == b.session) {
            let user = random.random_range(0..users) as u32;
            page.iter_mut().for_each(|shown| shown.user = user);
        }
        Ok(count_log(&log, &CountOptions::new())?.0)
    })
}

/// What is said of one null log.
struct Said {
    level: (f64, f64),
    depth: (f64, f64),
    queries: f64,
    /// Of logs with fixed lists, whose examination cannot be estimated and takes no time.
    bias: Option<Verdict>,
}

impl Said {
    fn of(counts: &Counts, fixed: bool, seed: u64) -> truerank::Result<Self> {
        let doctor = Doctor::new().seed(seed);
        let diagnosis = fixed.then(|| doctor.examine(counts, None, None, &Silent)).transpose()?;
        let (dependence, differences) = match &diagnosis {
            Some(diagnosis) => (diagnosis.dependence.clone(), diagnosis.differences.clone()),
            None => (doctor.dependence(counts, &Silent)?, doctor.differences(counts, &Silent)?),
        };
        let both = differences.expect("pages of a log are kept");
        let of = |found: Option<Difference>| found.map_or((1.0, 0.0), |found| (found.test.p, found.size));
        Ok(Said {
            level: of(both.level),
            depth: of(both.depth),
            queries: dependence.map_or(1.0, |found| found.test.p),
            bias: diagnosis.map(|diagnosis| diagnosis.personalized_bias()),
        })
    }
}

/// Prints what is said of so many logs.
fn tally(
    name: &str,
    logs: u64,
    fixed: bool,
    counts: impl Fn(u64) -> truerank::Result<Counts> + Sync,
) -> truerank::Result<()> {
    let said = (0..logs).into_par_iter().map(|log| Said::of(&counts(log)?, fixed, log));
    let said = said.collect::<truerank::Result<Vec<_>>>()?;
    let count = |is: &dyn Fn(&Said) -> bool| said.iter().filter(|said| is(said)).count();
    let share = |is: &dyn Fn(&Said) -> bool| 100.0 * count(is) as f64 / logs as f64;
    let mean = |of: &dyn Fn(&Said) -> f64| said.iter().map(of).sum::<f64>() / logs as f64;
    let verdicts = [Verdict::Holds, Verdict::DoesNotHold, Verdict::Open];
    let verdicts = verdicts.map(|verdict| count(&|said| said.bias == Some(verdict)).to_string()).join(", ");
    println!(
        "| {name} | {:.1} % | {:.1} % | {:.1} % | {:.1} %, {:.1} % | {:.3}, {:.3} | {} |",
        share(&|said| said.level.0 < 0.05),
        share(&|said| said.depth.0 < 0.05),
        share(&|said| said.queries < 0.05),
        share(&|said| said.level.0 < 0.01),
        share(&|said| said.depth.0 < 0.01),
        mean(&|said| said.level.1),
        mean(&|said| said.depth.1),
        if fixed { verdicts.as_str() } else { "" }
    );
    Ok(())
}

impl Kind {
    fn counts(&self, seed: u64) -> Counts {
        let mut random = stream(seed, self.name, 0);
        let relevance: Vec<f64> =
            (0..self.queries * SHOWN).map(|_| 0.05 + 0.6 * random.random::<f64>().powi(2)).collect();
        let levels: Vec<f64> = (0..self.users)
            .map(|_| (1.0 + self.level * 3f64.sqrt() * (2.0 * random.random::<f64>() - 1.0)).max(0.1))
            .collect();
        let (popular, busy) = (self.shares(self.queries), self.shares(self.users));
        let mut log = Log {
            users: Ids::numbered(self.users),
            queries: Ids::numbered(self.queries),
            docs: Ids::numbered(SHOWN),
            impressions: Vec::new(),
        };
        let mut before = vec![0; self.users];
        for session in 0..self.sessions {
            let user = draw(&busy, &mut random);
            // Users have four fifths of the queries for themselves, a different part each.
            let mut query = draw(&popular, &mut random);
            if random.random::<f64>() < self.again {
                query = before[user];
            }
            before[user] = query;
            while self.personal && (query + user * 7).is_multiple_of(5) {
                query = draw(&popular, &mut random);
            }
            let order = self.order(user, query, &mut random);
            let mut clicks = [false; SHOWN];
            self.browse(&order, &relevance[query * SHOWN..], levels[user], &mut clicks, &mut random);
            log.impressions.extend(order.iter().enumerate().map(|(k, &doc)| Impression {
                session: session as u64 + 1,
                user: user as u32,
                query: query as u32,
                doc: doc as u32,
                position: k as u32 + 1,
                click: clicks[k],
            }));
        }
        count_log(&log, &CountOptions::new()).expect("a simulated log can be counted").0
    }

    /// Cumulative shares: alike, or by Zipf's law.
    fn shares(&self, count: usize) -> Vec<f64> {
        let weights = (1..=count).map(|rank| if self.zipf { 1.0 / rank as f64 } else { 1.0 });
        let sums: Vec<f64> = weights
            .scan(0.0, |sum, weight| {
                *sum += weight;
                Some(*sum)
            })
            .collect();
        sums.iter().map(|sum| sum / sums[count - 1]).collect()
    }

    fn order(&self, user: usize, query: usize, random: &mut Random) -> [usize; SHOWN] {
        let mut order: [usize; SHOWN] = std::array::from_fn(|k| k);
        let ranker = |number: u64| stream(number, "ranker", query as u64);
        match self.lists {
            Lists::Fixed => {}
            Lists::Shuffled => order.shuffle(random),
            Lists::HalfShuffled if random.random::<bool>() => order.shuffle(random),
            Lists::HalfShuffled => {}
            Lists::TwoRankers => order.shuffle(&mut ranker(random.random_range(0..2))),
            Lists::ByGroup => order.shuffle(&mut ranker(user as u64 % 2)),
            Lists::OfUser => order.shuffle(&mut ranker(user as u64)),
        }
        order
    }

    fn browse(&self, order: &[usize], relevance: &[f64], level: f64, clicks: &mut [bool], random: &mut Random) {
        let top_only = self.clicks == Clicks::TopOnly && random.random::<bool>();
        for (k, &doc) in order.iter().enumerate() {
            let looks = match self.clicks {
                Clicks::TopOnly => !top_only || k == 0,
                Clicks::Cascade => true,
                Clicks::Independent => random.random::<f64>() < 1.0 / (k + 1) as f64,
            };
            clicks[k] = looks && random.random::<f64>() < relevance[doc];
            if self.clicks == Clicks::Cascade
                && (random.random::<f64>() < 0.1 || clicks[k] && random.random::<f64>() < 0.6)
            {
                break;
            }
        }
        // A user who clicks less passes over some of what others click, wherever it stands.
        clicks.iter_mut().for_each(|click| *click &= self.level == 0.0 || random.random::<f64>() < 0.5 * level);
    }
}

fn draw(cumulative: &[f64], random: &mut Random) -> usize {
    let draw = random.random::<f64>();
    cumulative.partition_point(|&share| share <= draw).min(cumulative.len() - 1)
}
