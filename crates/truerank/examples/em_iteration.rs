//! Times one iteration of personalized EM with a table of relevance, beside one pass over the memory it reads.
//!
//! `cargo run --release -p truerank --example em_iteration -- --cells 1000000 --threads 2`

use std::time::Instant;

use rayon::prelude::*;
use truerank::counts::{Cell, Counts, SessionCount};
use truerank::ids::Ids;
use truerank::progress::Silent;
use truerank::propensity::{EmUsers, RegressionEm, RelevanceForm};

const DOCS: u32 = 10;
const USERS: u32 = 10;

fn main() {
    let cells: u32 = argument("--cells", "1000000").parse().expect("--cells is a number");
    let threads: usize = argument("--threads", "2").parse().expect("--threads is a number");
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().expect("threads start");
    let counts = counts(cells / (DOCS * USERS));
    // The time past the iterations is in both and falls out of the difference.
    let (few, many) = (30, 330);
    let mut times: Vec<f64> =
        (0..5).map(|_| (seconds(&counts, many) - seconds(&counts, few)) * 1000.0 / (many - few) as f64).collect();
    times.sort_by(f64::total_cmp);
    let pass = memory_pass(counts.cells.len());
    println!("{:.2} ms median, {:.2} ms least; one pass over the memory {pass:.2} ms", times[2], times[0]);
}

fn argument(name: &str, default: &str) -> String {
    let arguments: Vec<String> = std::env::args().collect();
    let place = arguments.iter().position(|argument| argument == name);
    place.and_then(|place| arguments.get(place + 1)).cloned().unwrap_or_else(|| default.to_string())
}

fn seconds(counts: &Counts, iterations: usize) -> f64 {
    let em = RegressionEm::new().relevance(RelevanceForm::Table).users(EmUsers::Each).resamples(0);
    let start = Instant::now();
    em.iterations(iterations).tolerance(1e-300).estimate(counts, None, &Silent).expect("the counts are connected");
    start.elapsed().as_secs_f64()
}

/// Every document is seen by every user, by half of them one position further down.
fn counts(queries: u32) -> Counts {
    let cell = |index: u32| {
        let (query, doc, user) = (index / (DOCS * USERS), index / USERS % DOCS, index % USERS);
        let position = (doc + user % 2) % DOCS + 1;
        let clicks = u64::from(index.wrapping_mul(2_654_435_761) >> 28) / u64::from(position);
        Cell { query, doc, position, user, impressions: 20, clicks }
    };
    let mut cells: Vec<Cell> = (0..queries * DOCS * USERS).map(cell).collect();
    cells.sort();
    let session = |index: u32| SessionCount { query: index / USERS, user: index % USERS, sessions: 20 };
    Counts {
        queries: Ids::numbered(queries as usize),
        docs: Ids::numbered(DOCS as usize),
        users: Ids::numbered(USERS as usize),
        contexts: Default::default(),
        cells,
        sessions: (0..queries * USERS).map(session).collect(),
        patterns: None,
        transitions: None,
        pages: None,
        ..Counts::default()
    }
}

/// Milliseconds to read a slot, clicks and misses of each cell: 20 bytes.
fn memory_pass(cells: usize) -> f64 {
    let (slots, values) = (vec![1u32; cells], vec![1.0f64; 2 * cells]);
    let pass = || {
        let start = Instant::now();
        let sum: f64 = values.par_chunks(1 << 16).map(|chunk| chunk.iter().sum::<f64>()).sum();
        let slots: u64 =
            slots.par_chunks(1 << 16).map(|chunk| chunk.iter().map(|&slot| u64::from(slot)).sum::<u64>()).sum();
        assert!(sum > 0.0 && slots > 0);
        start.elapsed().as_secs_f64() * 1000.0
    };
    let mut times: Vec<f64> = (0..20).map(|_| pass()).collect();
    times.sort_by(f64::total_cmp);
    times[10]
}
