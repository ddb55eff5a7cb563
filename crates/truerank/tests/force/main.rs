//! Inputs found by force: every reader of the library gets valid files, changed at random, and must neither panic, nor hang,
//! nor ask for memory without bound.
//!
//! Cases have numbers and follow from them alone. `TRUERANK_FORCE_CASES` says how many there are over all readers,
//! `TRUERANK_FORCE_FROM` where they start, and `TRUERANK_FORCE_READER` which readers take part (a part of their names); so a
//! case that was reported is run again with its reader and its number.

mod memory;
mod mutate;
mod readers;

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use mutate::{Random, mutated};
use readers::Reader;
use tempfile::TempDir;

#[global_allocator]
static MEMORY: memory::Counting = memory::Counting;

/// Cases of the short form: some seconds in the dev profile.
const CASES: u64 = 40_000;

/// What reading may hold, whatever the input: blocks of logs, and a page of Parquet that says it is large.
const MOST_HELD: usize = 128 << 20;
/// And for each byte of input.
const HELD_PER_BYTE: usize = 512;

/// What a case may take; a second for each MB beside it. Programs without optimisation get more.
const MOST_TIME: Duration = Duration::from_secs(if cfg!(development) { 10 } else { 1 });

/// Cases from one number on that one thread does.
const PIECE: u64 = 64;

/// What a thread works on: the case, and when it began, in milliseconds.
#[derive(Default)]
struct Now {
    case: AtomicU64,
    since: AtomicU64,
    bytes: AtomicU64,
}

/// The whole campaign.
struct Force {
    readers: Vec<Reader>,
    /// The readers whose turn it is, case after case, again and again.
    turns: Vec<usize>,
    seed: u64,
    next: AtomicU64,
    end: u64,
    begin: Instant,
    workers: Vec<Now>,
    /// Cases that were read well, by reader.
    good: Vec<AtomicU64>,
    /// What was found: reader, case and what is wrong.
    found: Mutex<Vec<String>>,
    /// Where inputs that failed are kept.
    kept: PathBuf,
}

thread_local! {
    /// Whether a case is run, whose panic is told in the report.
    static IN_CASE: Cell<bool> = const { Cell::new(false) };
    /// The place and message of its panic.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} should be a whole number")))
}

/// A folder in memory, where the system has one: files are written millions of times.
fn memory_folder() -> TempDir {
    let shared = Path::new("/dev/shm");
    let folder = if shared.is_dir() { tempfile::tempdir_in(shared) } else { tempfile::tempdir() };
    folder.or_else(|_| tempfile::tempdir()).unwrap()
}

#[test]
fn changed_inputs_neither_panic_nor_hang_nor_fill_memory() {
    let folder = memory_folder();
    let mut readers = readers::all(folder.path());
    if let Ok(name) = std::env::var("TRUERANK_FORCE_READER") {
        readers.retain(|reader| reader.name.contains(&name));
    }
    assert!(!readers.is_empty(), "TRUERANK_FORCE_READER names no reader");
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| match IN_CASE.get() {
        true => PANIC.set(info.to_string().replace('\n', " ")),
        false => usual(info),
    }));
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let from = number("TRUERANK_FORCE_FROM", 0);
    let force = Force {
        turns: turns(&readers),
        good: readers.iter().map(|_| AtomicU64::new(0)).collect(),
        readers,
        seed: number("TRUERANK_FORCE_SEED", 17),
        next: AtomicU64::new(from),
        end: from + number("TRUERANK_FORCE_CASES", CASES),
        begin: Instant::now(),
        workers: (0..workers).map(|_| Now::default()).collect(),
        found: Mutex::default(),
        kept: std::env::temp_dir().join("truerank-force"),
    };
    force.run(folder.path());
    for (reader, good) in force.readers.iter().zip(&force.good) {
        println!("{:>9} read well by '{}'", good.load(Ordering::Relaxed), reader.name);
    }
    let found = force.found.into_inner().unwrap();
    let (count, seconds) = (force.end - from, force.begin.elapsed().as_secs_f64());
    println!(
        "{count} cases over {} readers in {seconds:.1} s, {:.0} per second",
        force.readers.len(),
        count as f64 / seconds
    );
    assert!(found.is_empty(), "{} of {count} cases failed:\n{}", found.len(), found[..found.len().min(20)].join("\n"));
}

/// What is changed must be read well as it is: otherwise the same error is met again and again.
#[test]
fn first_seeds_are_read_well() {
    let folder = memory_folder();
    let read = |(number, reader): (usize, &Reader)| {
        let own = folder.path().join(number.to_string());
        prepare(reader, &own);
        (reader.read)(&own.join(&reader.target), 0).err().map(|error| format!("{}: {error}", reader.name))
    };
    let refused: Vec<String> = readers::all(folder.path()).iter().enumerate().filter_map(read).collect();
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

impl Force {
    fn run(&self, folder: &Path) {
        std::thread::scope(|scope| {
            for worker in 0..self.workers.len() {
                let folder = folder.join(format!("worker-{worker}"));
                scope.spawn(move || self.work(worker, &folder));
            }
            scope.spawn(|| self.watch());
        });
    }

    /// Takes cases until none is left. All of a case runs on one thread, so that its memory is counted there.
    fn work(&self, worker: usize, folder: &Path) {
        self.readers.iter().enumerate().for_each(|(number, reader)| prepare(reader, &folder.join(number.to_string())));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        pool.install(|| {
            loop {
                let first = self.next.fetch_add(PIECE, Ordering::Relaxed);
                if first >= self.end {
                    break;
                }
                (first..(first + PIECE).min(self.end)).for_each(|case| self.case(worker, folder, case));
            }
        });
        self.workers[worker].since.store(u64::MAX, Ordering::Relaxed);
    }

    fn reader_of(&self, case: u64) -> usize {
        self.turns[(case % self.turns.len() as u64) as usize]
    }

    fn case(&self, worker: usize, folder: &Path, case: u64) {
        let number = self.reader_of(case);
        let reader = &self.readers[number];
        // By the reader's name, so that a reader alone gives the same cases.
        let name =
            reader.name.bytes().fold(self.seed, |hash, byte| hash.wrapping_mul(31).wrapping_add(u64::from(byte)));
        let mut random = Random(name ^ case.wrapping_mul(0x2545_f491_4f6c_dd1d));
        let input = mutated(&reader.seeds, &mut random);
        let path = folder.join(number.to_string()).join(&reader.target);
        std::fs::write(&path, &input).unwrap();
        let now = &self.workers[worker];
        now.case.store(case, Ordering::Relaxed);
        now.bytes.store(input.len() as u64, Ordering::Relaxed);
        now.since.store(self.begin.elapsed().as_millis() as u64, Ordering::Relaxed);
        let how = random.next();
        let begin = Instant::now();
        IN_CASE.set(true);
        let (outcome, held) = memory::most_held(|| catch_unwind(AssertUnwindSafe(|| (reader.read)(&path, how))));
        IN_CASE.set(false);
        let took = begin.elapsed();
        match outcome {
            Err(_) => self.report(case, &input, &PANIC.take()),
            Ok(outcome) => drop(self.good[number].fetch_add(u64::from(outcome.is_ok()), Ordering::Relaxed)),
        }
        if took > allowed(input.len()) && is_slow(|| drop((reader.read)(&path, how)), allowed(input.len())) {
            self.report(case, &input, &format!("took {took:?} for {} bytes", input.len()));
        }
        if held > MOST_HELD + HELD_PER_BYTE * input.len() {
            self.report(case, &input, &format!("held {held} bytes for {} bytes", input.len()));
        }
    }

    /// Ends the program where a case does not end by itself.
    fn watch(&self) {
        for tick in 1.. {
            if self.workers.iter().all(|now| now.since.load(Ordering::Relaxed) == u64::MAX) {
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
            if tick % 600 == 0 {
                println!("at case {} of {}", self.next.load(Ordering::Relaxed).min(self.end), self.end);
            }
            for now in &self.workers {
                let (since, bytes) = (now.since.load(Ordering::Relaxed), now.bytes.load(Ordering::Relaxed));
                let elapsed = (self.begin.elapsed().as_millis() as u64).saturating_sub(since);
                if Duration::from_millis(elapsed) > 20 * allowed(bytes as usize) {
                    let case = now.case.load(Ordering::Relaxed);
                    eprintln!("{}: does not end", self.name(case));
                    std::process::exit(1);
                }
            }
        }
    }

    fn name(&self, case: u64) -> String {
        let reader = &self.readers[self.reader_of(case)].name;
        format!("reader '{reader}', case {case}, seed {}", self.seed)
    }

    fn report(&self, case: u64, input: &[u8], finding: &str) {
        let reader = &self.readers[self.reader_of(case)];
        let _ = std::fs::create_dir_all(&self.kept);
        let kept = self.kept.join(format!("{case}-{}", reader.target.replace('/', "-")));
        let _ = std::fs::write(&kept, input);
        let line = format!("{}: {finding}; input kept as {}", self.name(case), kept.display());
        println!("{line}");
        self.found.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }
}

fn turns(readers: &[Reader]) -> Vec<usize> {
    let most = readers.iter().map(|reader| reader.turns).max().unwrap_or(0);
    (0..most).flat_map(|turn| (0..readers.len()).filter(move |&number| turn < readers[number].turns)).collect()
}

/// Whether work takes too long again and again, by the time that its thread computes: on a busy machine anything may wait.
fn is_slow(work: impl Fn(), allowed: Duration) -> bool {
    (0..3).all(|_| {
        let begin = computed();
        work();
        computed() - begin > allowed
    })
}

/// The time that this thread has computed so far.
#[cfg(unix)]
fn computed() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The time that has passed.
#[cfg(not(unix))]
fn computed() -> Duration {
    static BEGIN: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    BEGIN.elapsed()
}

fn allowed(bytes: usize) -> Duration {
    MOST_TIME + MOST_TIME * (bytes >> 20) as u32
}

fn prepare(reader: &Reader, folder: &Path) {
    let files = reader.others.iter().map(|(name, bytes)| (name, bytes)).chain([(&reader.target, &reader.seeds[0])]);
    for (name, bytes) in files {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}

/// Found by force: numbers of documents whose sum overflows, in the settings of an experiment.
#[test]
fn settings_of_an_experiment_are_checked_when_its_results_are_read() {
    let folder = memory_folder();
    let all = readers::all(folder.path());
    let reader = all.iter().find(|reader| reader.name == "experiment settings").unwrap();
    let text = String::from_utf8(reader.seeds[0].clone()).unwrap();
    let own = folder.path().join("changed");
    let said = |from: &str, to: &str| {
        prepare(reader, &own);
        assert!(text.contains(from), "{text}");
        std::fs::write(own.join(&reader.target), text.replacen(from, to, 1)).unwrap();
        (reader.read)(&own.join(&reader.target), 0).unwrap_err().to_string()
    };
    assert!(
        said("documents = [", "documents = [4294967296, 1, 2] # ").contains("should be below 2^32, but is 4294967296")
    );
    assert!(
        said("clusters = 10", "clusters = 0").contains("experiment.toml: the number of clusters should be 5, 10 or 20")
    );
}
