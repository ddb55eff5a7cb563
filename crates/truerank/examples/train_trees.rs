//! Times how boosted trees are trained on human grades: features are put into bins, then trees are grown. Reading is not timed.
//!
//! `cargo run --release -p truerank --example train_trees -- data/train.parquet --trees 100 --leaves 31 --loss lambdarank --threads 2`
//!
//! `--ranker FILE` keeps the forest of the last repeat. The seconds are those of a clock; where the system tells (Linux), those of all
//! processors stand beside them.

use std::path::Path;
use std::time::Instant;

use truerank::data::{ReadOptions, read_dataset};
use truerank::progress::Silent;
use truerank::ranker::{LearnFrom, ModelForm, Training, TreeLoss};

fn main() -> truerank::Result<()> {
    let path = std::env::args().nth(1).expect("a data set");
    let number = |name: &str, usual: &str| -> usize { argument(name, usual).parse().expect("a number") };
    let loss: TreeLoss = argument("--loss", "softmax").parse()?;
    rayon::ThreadPoolBuilder::new().num_threads(number("--threads", "2")).build_global().expect("threads start");
    let data = read_dataset(Path::new(&path), &ReadOptions::new())?;
    let training = Training::new()
        .model(ModelForm::Trees)
        .loss(loss)
        .steps(number("--trees", "100"))
        .leaves(number("--leaves", "31"))
        .bins(number("--bins", "255"))
        .min_leaf(number("--min-leaf", "20"))
        .check_every(usize::MAX);
    for _ in 0..number("--repeats", "1") {
        let (start, processors) = (Instant::now(), processor_seconds());
        let (ranker, _) = training.fit(&data, LearnFrom::Grades, None, &Silent)?;
        let seconds = start.elapsed().as_secs_f64();
        let processors = processor_seconds().zip(processors).map(|(now, then)| now - then);
        println!("{seconds:.4} s, processors {:.2}", processors.unwrap_or(f64::NAN));
        if let Some(path) = optional("--ranker") {
            ranker.save(Path::new(&path))?;
        }
    }
    Ok(())
}

/// Seconds that all threads of this process have worked.
fn processor_seconds() -> Option<f64> {
    // After the name in brackets, fields 14 and 15 are hundredths of seconds in the program and in the system.
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let ticks: u64 = fields.get(11..13)?.iter().filter_map(|field| field.parse::<u64>().ok()).sum();
    Some(ticks as f64 / 100.0)
}

fn argument(name: &str, default: &str) -> String {
    optional(name).unwrap_or_else(|| default.to_string())
}

fn optional(name: &str) -> Option<String> {
    let arguments: Vec<String> = std::env::args().collect();
    let place = arguments.iter().position(|argument| argument == name);
    place.and_then(|place| arguments.get(place + 1)).cloned()
}
