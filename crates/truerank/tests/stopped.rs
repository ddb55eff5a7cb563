//! Whoever asked for long work can stop it: it ends with `Error::Stopped` soon after, and writes nothing.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use truerank::counts::{CountOptions, LogSource};
use truerank::data::{Generator, Preset, Splits};
use truerank::doctor::Doctor;
use truerank::experiment::{Question, Settings, Store, World, WorldOptions};
use truerank::log::{ReadOptions, write_log};
use truerank::progress::{Progress, Silent};
use truerank::propensity::{EmUsers, RegressionEm, RelevanceForm, UserGroups};
use truerank::ranker::{Dla, Training, TrainingLists};
use truerank::simulate::{ShownLists, Simulation};
use truerank::{Error, Result};

/// Lets so many asks pass, then stops; counts how often it was asked.
struct StopAfter {
    most: u64,
    asked: AtomicU64,
}

impl StopAfter {
    fn new(most: u64) -> Self {
        StopAfter { most, asked: AtomicU64::new(0) }
    }
}

impl Progress for StopAfter {
    fn begin(&self, _what: &str, _total: u64) {}

    fn advance(&self, _steps: u64) -> Result<()> {
        match self.asked.fetch_add(1, Ordering::Relaxed) < self.most {
            true => Ok(()),
            false => Err(Error::Stopped),
        }
    }
}

/// Runs `work` undisturbed to see how often it asks, then stops it early, in the middle, and at the end.
fn stops<T>(what: &str, work: impl Fn(&dyn Progress) -> Result<T>) {
    let undisturbed = StopAfter::new(u64::MAX);
    assert!(work(&undisturbed).is_ok(), "{what}");
    let asks = undisturbed.asked.into_inner();
    assert!(asks > 1, "{what} asks {asks} times whether to go on");
    for most in [0, asks / 2, asks - 1] {
        let stop = StopAfter::new(most);
        assert!(matches!(work(&stop), Err(Error::Stopped)), "{what} goes on after {most} of {asks}");
        // Threads that are under way may each ask once more.
        let asked = stop.asked.into_inner();
        assert!(asked <= most + 64, "{what} asks {asked} times, {most} of which were answered with yes");
    }
}

fn data() -> Splits {
    Generator::preset(Preset::Tiny).generate().unwrap()
}

fn simulation() -> Simulation {
    Simulation::new().sessions(20_000)
}

#[test]
fn generating_stops() {
    stops("generating", |progress| Generator::preset(Preset::Tiny).generate_with(progress));
}

#[test]
fn simulating_stops() {
    let data = data();
    let lists = [ShownLists::top(&data.train, &vec![0.0; data.train.len()], 10).unwrap()];
    let simulation = simulation().sessions(300_000);
    let simulator = simulation.prepare(&data.train, &lists).unwrap();
    stops("simulating", |progress| simulator.for_each_piece(progress, |_| Ok(())));
}

#[test]
fn counting_stops_and_writes_nothing() {
    let data = data();
    let lists = [ShownLists::top(&data.train, &vec![0.0; data.train.len()], 10).unwrap()];
    let log = simulation().prepare(&data.train, &lists).unwrap().log();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clicks.csv");
    write_log(&log, &path).unwrap();
    let (log, what) = (LogSource::files([path], ReadOptions::new()), CountOptions::new());
    stops("counting", |progress| log.count(&what, progress));
    let target: PathBuf = folder.path().join("counts");
    let asks = StopAfter::new(u64::MAX);
    log.count_into(&target, &what, &asks).unwrap();
    std::fs::remove_dir_all(&target).unwrap();
    let stop = StopAfter::new(asks.asked.into_inner() - 1);
    assert!(matches!(log.count_into(&target, &what, &stop), Err(Error::Stopped)));
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["clicks.csv"]);
}

#[test]
fn estimating_examination_stops() {
    let data = data();
    let world = World::simulate(&data, &simulation(), &WorldOptions::default(), 1, &Silent).unwrap();
    let em = RegressionEm::new().relevance(RelevanceForm::Linear).iterations(30).resamples(3);
    for users in [EmUsers::Together, EmUsers::Grouped(UserGroups::new())] {
        let em = em.clone().users(users);
        stops("EM", |progress| em.estimate(world.counts(), Some(&data.train), progress));
    }
    stops("dual learning", |progress| Dla::new().iterations(20).fit(&data.train, world.counts(), None, progress));
    stops("doctor", |progress| Doctor::new().examine(world.counts(), None, Some(&data.train), progress));
}

#[test]
fn training_stops() {
    let data = data();
    let lists = TrainingLists::from_grades(&data.train, 4, None).unwrap();
    stops("training", |progress| Training::linear().steps(20).fit_targets(&data.train, &lists, None, progress));
    stops("SVM-rank", |progress| Training::new().fit_svm_rank(&data.train, progress));
}

#[test]
fn an_experiment_stops_and_goes_on() {
    let mut settings = Settings { questions: vec![Question::Rq1], seeds: vec![1], ..Settings::default() };
    settings.models = vec!["linear".parse().unwrap()];
    settings.data.preset = Preset::Tiny;
    settings.sessions = Some(5_000);
    let data = settings.data.load().unwrap();
    let settings = settings.for_data(&data).unwrap();
    stops("an experiment", |progress| settings.run(&data, None, progress));
    let folder = tempfile::tempdir().unwrap();
    let mut stored = settings.clone();
    let store = Store::create(&folder.path().join("results"), &mut stored).unwrap();
    let asks = StopAfter::new(u64::MAX);
    let whole = settings.run(&data, None, &asks).unwrap();
    let stop = StopAfter::new(asks.asked.into_inner() / 2);
    assert!(matches!(stored.run(&data, Some(&store), &stop), Err(Error::Stopped)));
    let resumed = stored.run(&data, Some(&store), &Silent).unwrap();
    for run in settings.runs() {
        assert_eq!(resumed.outcome(&run), whole.outcome(&run), "{}", run.name());
    }
}
