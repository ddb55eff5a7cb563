//! Single changed bits in everything that truerank writes: none goes unnoticed.
//!
//! `TRUERANK_FLIPS=10000` changes so many bits of each file, and not some hundred.

use std::path::{Path, PathBuf};

use truerank::counts::{CountOptions, Counts, LogSource, count_log};
use truerank::data::{Generator, Preset, ReadOptions as DataOptions, Splits, read_dataset, write_dataset};
use truerank::log::{ReadOptions, write_log};
use truerank::progress::Silent;
use truerank::propensity::Propensities;
use truerank::ranker::{Child, Forest, Leaf, Model, Ranker, Split, Training, TrainingLists, TrainingRecord, Tree};
use truerank::relevance::{Estimator, Relevance, estimate};
use truerank::simulate::{ShownLists, Simulation};

/// Reads a file, or the folder that it is a part of, and tells what it holds.
type Read = fn(&Path) -> truerank::Result<String>;

fn of_debug(value: impl std::fmt::Debug) -> String {
    format!("{value:?}")
}

fn read_counts(path: &Path) -> truerank::Result<String> {
    Counts::read(path.parent().unwrap_or(path)).map(of_debug)
}

fn read_log(path: &Path) -> truerank::Result<String> {
    let log = LogSource::files([path], ReadOptions::new());
    log.count(&CountOptions::new(), &Silent).map(|(counts, _)| of_debug(counts))
}

/// One artefact of each kind, and how it is read.
fn artefacts(folder: &Path) -> truerank::Result<Vec<(PathBuf, Read)>> {
    let Splits { train, .. } = Generator::preset(Preset::Tiny).queries(20, 1, 1).generate()?;
    let scores: Vec<f32> = (0..train.len()).map(|row| (row % 7) as f32).collect();
    let simulation = Simulation::new().sessions(3000).shuffle(0.5);
    let lists = [ShownLists::top(&train, &scores, 10)?];
    let simulator = simulation.prepare(&train, &lists)?;
    let log = simulator.log();
    let place = |name: &str| folder.join(name);
    write_dataset(&train, &place("data.parquet"))?;
    for name in ["log.parquet", "log.csv.zst", "log.csv.gz"] {
        write_log(&log, &place(name))?;
    }
    let (counts, _) = count_log(&log, &CountOptions::new().patterns(true).transitions(true))?;
    counts.write(&place("counts"))?;
    let propensities = simulator.propensities();
    propensities.write(&place("propensities.json"))?;
    propensities.write(&place("propensities.parquet"))?;
    estimate(&counts, &propensities, Estimator::UserAware)?.write(&place("relevance.parquet"))?;
    let lists = TrainingLists::from_grades(&train, 4, None)?;
    Training::linear().steps(3).fit_targets(&train, &lists, None, &Silent)?.save(&place("ranker.safetensors"))?;
    trees(train.feature_count())?.save(&place("trees.safetensors"))?;
    let data: Read = |path| read_dataset(path, &DataOptions::new()).map(of_debug);
    let all: [(&str, Read); 16] = [
        ("data.parquet", data),
        ("log.parquet", read_log),
        ("log.csv.zst", read_log),
        ("log.csv.gz", read_log),
        ("counts/cells.parquet", read_counts),
        ("counts/sessions.parquet", read_counts),
        ("counts/patterns.parquet", read_counts),
        ("counts/lists.parquet", read_counts),
        ("counts/transitions.parquet", read_counts),
        ("counts/pages.parquet", read_counts),
        ("counts/meta.json", read_counts),
        ("propensities.json", |path| Propensities::read(path).map(of_debug)),
        ("propensities.parquet", |path| Propensities::read(path).map(of_debug)),
        ("relevance.parquet", |path| Relevance::read(path).map(of_debug)),
        ("ranker.safetensors", |path| Ranker::load(path).map(of_debug)),
        ("trees.safetensors", |path| Ranker::load(path).map(of_debug)),
    ];
    Ok(all.map(|(name, read)| (place(name), read)).to_vec())
}

/// Trees of two leaves.
fn trees(features: usize) -> truerank::Result<Ranker> {
    let tree = |number: u32| {
        let (left, right) = (Child::Leaf(0), Child::Leaf(1));
        let split =
            Split { feature: number, threshold: 0.5, missing_left: number.is_multiple_of(2), gain: 1.0, left, right };
        Tree { splits: vec![split], leaves: [0.25, -1.0].map(|value| Leaf { value, rows: 7 }).to_vec() }
    };
    let forest = Forest::new(features, (0..9).map(tree).collect())?;
    Ok(Ranker { model: Model::Trees(forest), record: TrainingRecord::default() })
}

/// How many of some flipped bits are not noticed, and how many change what is read and are not noticed.
fn unnoticed(path: &Path, read: Read, flips: usize) -> (usize, usize) {
    let good = std::fs::read(path).unwrap();
    let expected = read(path).unwrap();
    let bits = 8 * good.len();
    let (mut unnoticed, mut changed) = (0, 0);
    // A stride that shares no factor with the number of bits in a byte meets all of them.
    let stride = (bits / flips).max(1) | 1;
    for bit in (0..bits).step_by(stride) {
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(path, &bytes).unwrap();
        if let Ok(found) = read(path) {
            unnoticed += 1;
            changed += usize::from(found != expected);
        }
    }
    std::fs::write(path, good).unwrap();
    (unnoticed, changed)
}

#[test]
fn no_changed_bit_goes_unnoticed() {
    // Decoders panic on some damage, which becomes an error: it need not be told twice.
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let flips = std::env::var("TRUERANK_FLIPS").ok().and_then(|flips| flips.parse().ok()).unwrap_or(150);
    let folder = tempfile::tempdir().unwrap();
    let mut bad = Vec::new();
    for (path, read) in artefacts(folder.path()).unwrap() {
        let (unnoticed, changed) = unnoticed(&path, read, flips);
        let name = path.strip_prefix(folder.path()).unwrap().display().to_string();
        println!("{name}: about {flips} flips, {unnoticed} unnoticed, {changed} of them change what is read");
        // Headers of compressed text have bits that mean nothing, such as the time in gzip.
        let is_text = name.contains(".csv.");
        if changed > 0 || (unnoticed > 0 && !is_text) {
            bad.push(name);
        }
    }
    std::panic::set_hook(usual);
    assert!(bad.is_empty(), "damage goes unnoticed in {bad:?}");
}
