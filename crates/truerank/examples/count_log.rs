//! Times counting: reads the logs given as arguments into counts, and prints rows, seconds and cells.
//! With `--make ROWS PATH` it first writes a log to count; with `--make-text` one whose ids are texts.
//! With `--once` it counts once instead of three times.

use std::path::PathBuf;
use std::time::Instant;

use truerank::counts::{CountOptions, LogSource};
use truerank::ids::{Ids, Texts};
use truerank::log::{Impression, Log, ReadOptions, write_log};
use truerank::progress::Silent;

fn main() -> truerank::Result<()> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|a| a.starts_with("--make")) {
        let rows = arguments[1].parse().expect("the number of rows");
        let path = PathBuf::from(&arguments[2]);
        let mut log = make(rows);
        if arguments[0] == "--make-text" {
            log.users = named("client-", &log.users);
            log.queries = named("buy a red bicycle of size ", &log.queries);
            log.docs = named("https://example.org/product/", &log.docs);
        }
        let start = Instant::now();
        write_log(&log, &path)?;
        println!("{rows} rows written in {:.3} s", start.elapsed().as_secs_f64());
        arguments.drain(..2);
    }
    let is_once = arguments.first().is_some_and(|a| a == "--once");
    if is_once {
        arguments.remove(0);
    }
    let log = LogSource::files(&arguments, ReadOptions::new());
    for _ in 0..if is_once { 1 } else { 3 } {
        let start = Instant::now();
        let (counts, summary) = log.count(&CountOptions::new(), &Silent)?;
        let seconds = start.elapsed().as_secs_f64();
        println!("{} rows, {seconds:.3} s, {} cells, {} sessions", summary.rows, counts.cells.len(), summary.sessions);
    }
    Ok(())
}

/// The ids as texts with this in front.
fn named(prefix: &str, ids: &Ids) -> Ids {
    let mut texts = Texts::default();
    (0..ids.len()).for_each(|i| texts.push(&format!("{prefix}{}", ids.name(i))));
    Ids::Texts(texts)
}

/// Pages of ten of each query's thirty documents, in one of several orders; queries and users differ in traffic.
fn make(rows: usize) -> Log {
    const QUERIES: u64 = 20_000;
    const USERS: u64 = 1_000;
    let mut state = 1u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut impressions = Vec::with_capacity(rows);
    for session in 0..rows.div_ceil(10) as u64 {
        let query = draw(QUERIES).min(draw(QUERIES));
        let (user, shift) = (draw(USERS), draw(4));
        impressions.extend((0..10).map(|k| Impression {
            session,
            user: user as u32,
            query: query as u32,
            doc: (query * 30 + (k * 7 + shift * 3) % 30) as u32,
            position: k as u32 + 1,
            click: draw(k + 2) == 0,
        }));
    }
    Log {
        users: Ids::numbered(USERS as usize),
        queries: Ids::numbered(QUERIES as usize),
        docs: Ids::numbered(QUERIES as usize * 30),
        impressions,
    }
}
