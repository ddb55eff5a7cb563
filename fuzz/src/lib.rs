//! Bytes that a fuzzer makes enter; the readers of `crates/truerank/tests/force` read and use them.
//!
//! The first byte of an input chooses among the readers of a target, the second how the file is read; the rest is the file.

#[path = "../../crates/truerank/tests/force/readers.rs"]
pub mod readers;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use readers::Reader;

/// Every target with its readers, by how their names begin.
const TARGETS: &[(&str, &[&str])] = &[
    ("text_logs", &["csv", "tsv", "pages in csv"]),
    ("json_logs", &["json", "pages in json"]),
    ("parquet_logs", &["parquet log"]),
    ("event_logs", &["events", "yandex", "ubi"]),
    ("data_sets", &["svmlight", "parquet data", "parquet parts", "query file", "ultra"]),
    ("counts", &["counts"]),
    ("propensities", &["propensities", "user features"]),
    ("relevance", &["relevance"]),
    ("ranker", &["ranker"]),
    ("experiments", &["experiment", "settings"]),
    ("options", &["options"]),
];

/// The readers of a target, with files in folders of their own.
struct Target {
    readers: Vec<Reader>,
    folder: PathBuf,
    /// One thread, so that an input is read in the same way again.
    pool: rayon::ThreadPool,
}

impl Target {
    /// Finds the readers and writes the files beside the one that changes.
    fn new(name: &str) -> Self {
        let folder = own_folder(name);
        let parts = TARGETS.iter().find(|(target, _)| *target == name).expect("a target of TARGETS").1;
        let samples = folder.join("samples");
        std::fs::create_dir_all(&samples).unwrap();
        let mut readers = readers::all(&samples);
        readers.retain(|reader| parts.iter().any(|part| reader.name.starts_with(part)));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let target = Target { readers, folder, pool };
        for (number, reader) in target.readers.iter().enumerate() {
            reader.others.iter().for_each(|(name, bytes)| write(&target.path(number, name), bytes));
            write(&target.path(number, &reader.target), &reader.seeds[0]);
        }
        target
    }

    fn path(&self, number: usize, name: &str) -> PathBuf {
        self.folder.join(number.to_string()).join(name)
    }

    /// Writes files that are read well into the corpus: libFuzzer, which looks there every second, goes on from them.
    fn write_seeds(&self, name: &str) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
        for (number, reader) in self.readers.iter().enumerate() {
            for (place, seed) in reader.seeds.iter().enumerate() {
                write(&folder.join(format!("seed-{number}-{place}")), &[&[number as u8, 0], &seed[..]].concat());
            }
        }
    }

    fn read(&self, input: &[u8]) {
        let [number, how, file @ ..] = input else { return };
        let number = usize::from(*number) % self.readers.len();
        let reader = &self.readers[number];
        let path = self.path(number, &reader.target);
        std::fs::write(&path, file).unwrap();
        self.pool.install(|| drop((reader.read)(&path, u64::from(*how))));
    }
}

/// A folder of this process, in memory where the system has one. libFuzzer ends processes without clean-up, so the next one removes
/// what those before it left.
fn own_folder(name: &str) -> PathBuf {
    let shared = Path::new("/dev/shm");
    let base = if shared.is_dir() { shared.to_path_buf() } else { std::env::temp_dir() };
    let is_left = |path: &PathBuf| {
        let found = path.file_name().and_then(|name| name.to_str()?.strip_prefix("truerank-fuzz-")?.split_once('-'));
        let process = |(process, _)| Path::new("/proc").join(process);
        Path::new("/proc/self").exists() && found.is_some_and(|found| !process(found).exists())
    };
    let others = std::fs::read_dir(&base).unwrap().filter_map(|entry| Some(entry.ok()?.path()));
    others.filter(is_left).for_each(|path| drop(std::fs::remove_dir_all(path)));
    base.join(format!("truerank-fuzz-{}-{name}", std::process::id()))
}

fn write(path: &Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

/// Reads one input of a target. libFuzzer ends the process at a panic, but those that the library makes errors of are none.
pub fn read(target: &str, input: &[u8]) {
    static TARGET: OnceLock<Target> = OnceLock::new();
    let start = || {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !truerank::files::table::panic_becomes_error() {
                usual(panic);
            }
        }));
        let readers = Target::new(target);
        readers.write_seeds(target);
        readers
    };
    TARGET.get_or_init(start).read(input);
}
