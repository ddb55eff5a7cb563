//! Times the simulation of a log on Yahoo's sizes: draws users and traffic, then sessions, and writes them as Parquet.
//!
//! `cargo run --release -p truerank --example simulate_log -- --sessions 1000000 --queries 19944 --output clicks.parquet`
//!
//! Clicks do not depend on features, so few are generated, and random scores stand in for the production ranker.
//! The true propensities go beside the log.

use std::path::{Path, PathBuf};
use std::time::Instant;

use rand::RngExt;
use rayon::prelude::*;
use truerank::data::{Generator, Preset};
use truerank::log::LogWriter;
use truerank::random::stream;
use truerank::simulate::{ShownLists, Simulation, Simulator};

/// Documents shown in a session.
const LENGTH: usize = 10;
/// Pieces drawn at a time.
const PIECES: usize = 32;

fn main() -> truerank::Result<()> {
    let sessions: u64 = argument("--sessions", "1000000").parse().expect("--sessions is a number");
    let queries: usize = argument("--queries", "19944").parse().expect("--queries is a number");
    let output = PathBuf::from(argument("--output", "clicks.parquet"));
    let data = Generator::preset(Preset::Yahoo).queries(queries, 1, 1).features(12).generate()?.train;
    let mut random = stream(1, "scores", 0);
    let scores: Vec<f32> = (0..data.len()).map(|_| random.random()).collect();
    let lists = [ShownLists::top(&data, &scores, LENGTH)?];
    let start = Instant::now();
    let simulator = Simulation::new().sessions(sessions).prepare(&data, &lists)?;
    write_sessions(&simulator, &output)?;
    println!("{sessions} sessions, {:.6} s", start.elapsed().as_secs_f64());
    simulator.propensities().write(&output.with_extension("propensities.json"))
}

fn write_sessions(simulator: &Simulator<'_>, output: &Path) -> truerank::Result<()> {
    let ids = simulator.empty_log();
    let mut writer = LogWriter::create(output, &ids.users, &ids.queries, &ids.docs)?;
    let pieces: Vec<u64> = (0..simulator.piece_count()).collect();
    let mut room = vec![Vec::new(); PIECES];
    for some in pieces.chunks(PIECES) {
        let drawn = &mut room[..some.len()];
        drawn.par_iter_mut().zip(some).for_each(|(room, &piece)| simulator.piece_into(piece, room));
        drawn.iter().try_for_each(|impressions| writer.write(impressions))?;
    }
    writer.finish()
}

fn argument(name: &str, default: &str) -> String {
    let arguments: Vec<String> = std::env::args().collect();
    let place = arguments.iter().position(|argument| argument == name);
    place.and_then(|place| arguments.get(place + 1)).cloned().unwrap_or_else(|| default.to_string())
}
