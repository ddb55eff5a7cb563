//! Times how a ranker scores documents, and writes the scores.
//!
//! `cargo run --release -p truerank --example score_trees -- ranker.safetensors rows.f32 scores.f32 --repeats 5 --threads 2`
//!
//! Rows are the features of one document after another, single precision, as NumPy's `tofile` writes them; scores are of the same
//! kind. Features may be missing (NaN).

use std::path::Path;
use std::time::Instant;

use truerank::ranker::Ranker;

fn main() -> truerank::Result<()> {
    let path = |number: usize| std::env::args().nth(number).expect("a ranker, a file of rows, and one for scores");
    let repeats: usize = argument("--repeats", "1").parse().expect("--repeats is a number");
    let threads: usize = argument("--threads", "2").parse().expect("--threads is a number");
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().expect("threads start");
    let ranker = Ranker::load(Path::new(&path(1)))?;
    let bytes = std::fs::read(path(2)).expect("the file of rows");
    let features: Vec<f32> = bytes.as_chunks().0.iter().map(|&number| f32::from_le_bytes(number)).collect();
    let mut scores = Vec::new();
    for _ in 0..repeats {
        let start = Instant::now();
        scores = ranker.score_rows(&features, ranker.feature_count())?;
        let seconds = start.elapsed().as_secs_f64();
        println!("{seconds:.6} s, {:.0} documents/s", scores.len() as f64 / seconds);
    }
    let bytes: Vec<u8> = scores.into_iter().flat_map(f32::to_le_bytes).collect();
    std::fs::write(path(3), bytes).expect("the file of scores");
    Ok(())
}

fn argument(name: &str, default: &str) -> String {
    let arguments: Vec<String> = std::env::args().collect();
    let place = arguments.iter().position(|argument| argument == name);
    place.and_then(|place| arguments.get(place + 1)).cloned().unwrap_or_else(|| default.to_string())
}
