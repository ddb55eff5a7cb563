//! Times reading a data set: reads the file given as the argument and prints its size and the seconds.

use std::path::PathBuf;
use std::time::Instant;

use truerank::data::{ReadOptions, read_dataset};

fn main() -> truerank::Result<()> {
    let path: PathBuf = std::env::args_os().nth(1).expect("the file to read").into();
    let start = Instant::now();
    let data = read_dataset(&path, &ReadOptions::new())?;
    let seconds = start.elapsed().as_secs_f64();
    println!("{} documents, {} features, {seconds:.6} s", data.len(), data.feature_count());
    Ok(())
}
