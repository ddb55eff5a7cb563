//! A folder of results: the experiment, and every finished run, so that work can stop and go on at any time.

use std::fs::{File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Outcome, Run, Settings, Source, WorldId};
use crate::files::table::FileType;
use crate::files::{
    Limit, check_seal, is_temporary, read_text, remove_leftovers, seal, with_blank_seal, write_file, zstd_encoder,
};
use crate::propensity::{Propensities, PropensityError};
use crate::{Error, Result};

const RUN: FileType = FileType { name: "truerank/run", version: 1 };
const WORLD: FileType = FileType { name: "truerank/world", version: 1 };
const ERRORS: FileType = FileType { name: "truerank/propensity-error", version: 1 };

/// The name of the file that says what the experiment is.
pub const EXPERIMENT: &str = "experiment.toml";

/// The folder of finished runs.
const RUNS: &str = "runs";

/// A folder of results.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    /// Held while an experiment writes: two in one folder would do the same work twice.
    _lock: Option<File>,
}

/// What there is to say about a log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorldFacts {
    /// How many sessions it has.
    pub sessions: u64,
    /// How many users.
    pub users: usize,
    /// How many distinct queries.
    pub queries: usize,
    /// How many distinct shown documents.
    pub documents: usize,
    /// Clicks per impression at positions 1, 2, ….
    pub click_rates: Vec<f64>,
}

/// The envelope of our JSON files.
#[derive(Serialize, Deserialize)]
struct Typed<T> {
    r#type: String,
    version: u64,
    #[serde(flatten)]
    content: T,
}

#[derive(Serialize, Deserialize)]
struct StoredRun {
    run: Run,
    outcome: Outcome,
}

impl Store {
    /// What the file of settings says about itself.
    pub(super) const EXPERIMENT_TYPE: FileType = FileType { name: "truerank/experiment", version: 1 };

    /// Opens a folder for an experiment: a new one, an empty one, or one that holds the same experiment begun earlier.
    ///
    /// Questions add up: one that was asked before stays part of the experiment.
    pub fn create(folder: &Path, settings: &mut Settings) -> Result<Self> {
        Store::check(folder)?;
        make_folder(folder)?;
        let lock = lock(folder)?;
        let file = folder.join(EXPERIMENT);
        if file.is_file() {
            let earlier = Settings::read(&file)?;
            check_same(folder, &earlier, settings)?;
            settings.questions.extend(&earlier.questions);
            settings.questions.sort();
            settings.questions.dedup();
        }
        remove_all_leftovers(folder);
        write_file(&file, settings.to_toml()?.as_bytes())?;
        make_folder(&folder.join(RUNS))?;
        Ok(Store { folder: folder.to_path_buf(), _lock: Some(lock) })
    }

    /// Fails where [`create`](Store::create) would fail whatever the experiment, before its data is read.
    pub fn check(folder: &Path) -> Result<()> {
        let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
        match parent {
            Some(parent) if !parent.is_dir() => Err(Error::io(parent, std::io::ErrorKind::NotFound.into())),
            _ if folder.join(EXPERIMENT).is_file() => Ok(()),
            _ => check_empty(folder),
        }
    }

    /// Opens a folder of results, and says what they are of.
    pub fn open(folder: &Path) -> Result<(Self, Settings)> {
        let file = folder.join(EXPERIMENT);
        if !file.is_file() {
            let finding = format!("has no {EXPERIMENT}; name a folder that `truerank experiment` wrote");
            return Err(Error::input(folder, finding));
        }
        let settings = Settings::read(&file)?;
        let made = settings.made_with.as_ref();
        let version = made.map(|made| u64::from(made.version));
        Store::EXPERIMENT_TYPE.check(&file, made.map(|made| made.file_type.as_str()), version)?;
        settings.check_values().map_err(|error| Error::input(&file, error.to_string()))?;
        Ok((Store { folder: folder.to_path_buf(), _lock: None }, settings))
    }

    /// The outcome of a run, if it is finished.
    pub fn run(&self, run: &Run) -> Result<Option<Outcome>> {
        let path = self.run_path(run);
        let Some(stored) = read_json::<StoredRun>(&path, RUN)? else { return Ok(None) };
        if stored.run != *run {
            return Err(Error::input(&path, "holds another run than its name says; remove it to run it again"));
        }
        stored.outcome.check().map_err(|e| Error::input(&path, format!("{e}; remove it to run it again")))?;
        Ok(Some(stored.outcome))
    }

    /// Keeps the outcome of a run.
    pub fn keep_run(&self, run: &Run, outcome: &Outcome) -> Result<()> {
        let stored = StoredRun { run: run.clone(), outcome: outcome.clone() };
        self.write_json(&self.run_path(run), RUN, stored)
    }

    /// The facts about a log, if they are known.
    pub fn world(&self, world: WorldId) -> Result<Option<WorldFacts>> {
        read_json(&self.world_path(world), WORLD)
    }

    /// Keeps the facts about a log.
    pub fn keep_world(&self, world: WorldId, facts: &WorldFacts) -> Result<()> {
        self.write_json(&self.world_path(world), WORLD, facts.clone())
    }

    /// θ of a log by a source, if it was found already, with its errors where the truth is known.
    pub fn examination(
        &self,
        world: WorldId,
        source: Source,
    ) -> Result<Option<(Propensities, Option<PropensityError>)>> {
        let [propensities, error] = self.examination_paths(world, source);
        // Written last: where it is, both are.
        let Some(error) = read_json::<StoredError>(&error, ERRORS)? else { return Ok(None) };
        Ok(Some((Propensities::read(&propensities)?, error.relative_error)))
    }

    /// Keeps θ of a log.
    pub fn keep_examination(
        &self,
        world: WorldId,
        source: Source,
        propensities: &Propensities,
        relative_error: Option<PropensityError>,
    ) -> Result<()> {
        let [path, error] = self.examination_paths(world, source);
        make_folder_of(&path)?;
        propensities.write(&path)?;
        self.write_json(&error, ERRORS, StoredError { relative_error })
    }

    fn run_path(&self, run: &Run) -> PathBuf {
        self.folder.join(RUNS).join(format!("{}.json.zst", run.name()))
    }

    fn world_path(&self, world: WorldId) -> PathBuf {
        self.folder.join(RUNS).join(world.to_string()).join("log.json")
    }

    fn examination_paths(&self, world: WorldId, source: Source) -> [PathBuf; 2] {
        let folder = self.folder.join(RUNS).join(world.to_string());
        [format!("examination-{source}.json"), format!("examination-{source}-error.json")].map(|name| folder.join(name))
    }

    fn write_json<T: Serialize>(&self, path: &Path, file_type: FileType, content: T) -> Result<()> {
        make_folder_of(path)?;
        let typed = Typed { r#type: file_type.name.to_string(), version: u64::from(file_type.version), content };
        let failed = |e: std::io::Error| Error::io(path, e);
        let text = serde_json::to_string(&typed).map_err(|e| Error::input(path, e.to_string()))?;
        let mut bytes = (with_blank_seal(&text) + "\n").into_bytes();
        seal(&mut bytes);
        if path.extension().is_some_and(|extension| extension == "zst") {
            let mut encoder = zstd_encoder(Vec::new(), COMPRESSION).map_err(failed)?;
            bytes = encoder.write_all(&bytes).and_then(|()| encoder.finish()).map_err(failed)?;
        }
        write_file(path, &bytes)
    }
}

/// The level of zstd: values of measures repeat, and more effort gains little.
const COMPRESSION: i32 = 6;

#[derive(Serialize, Deserialize)]
struct StoredError {
    relative_error: Option<PropensityError>,
}

fn lock(folder: &Path) -> Result<File> {
    let failed = |e| Error::io(folder, e);
    let file = File::open(folder).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(Error::input(folder, "is in use by another experiment; wait for it, or name another folder"))
        }
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

/// Removes the unfinished files of a run that was killed, wherever in the folder they are.
fn remove_all_leftovers(folder: &Path) {
    remove_leftovers(folder);
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let folders = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.for_each(|entry| remove_all_leftovers(&entry.path()));
}

fn make_folder(folder: &Path) -> Result<()> {
    match folder.is_dir() {
        true => Ok(()),
        false => std::fs::create_dir(folder).map_err(|e| Error::io(folder, e)),
    }
}

fn make_folder_of(path: &Path) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))
}

/// The content of a file of ours, or nothing where there is none yet.
fn read_json<T: DeserializeOwned>(path: &Path, file_type: FileType) -> Result<Option<T>> {
    if !path.exists() {
        return Ok(None);
    }
    let damaged = |e: serde_json::Error| Error::input(path, format!("{e}; remove it to run it again"));
    let text = read_text(path, Limit::Data)?;
    check_seal(text.as_bytes())
        .map_err(|finding| Error::input(path, format!("{finding}; remove it to run it again")))?;
    let value: serde_json::Value = serde_json::from_str(&text).map_err(damaged)?;
    file_type.check(path, value["type"].as_str(), value["version"].as_u64())?;
    let typed: Typed<T> = serde_json::from_value(value).map_err(damaged)?;
    Ok(Some(typed.content))
}

/// What a killed experiment had not even begun to keep does not count.
fn check_empty(folder: &Path) -> Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    let failed = |e| Error::io(folder, e);
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        if !is_temporary(&entry.map_err(failed)?.path()) {
            let finding =
                format!("is not empty and has no {EXPERIMENT}; name a new folder, or one with earlier results");
            return Err(Error::input(folder, finding));
        }
    }
    Ok(())
}

/// Refuses to mix runs of two experiments: all settings but the questions must agree. Where data and log stand does not
/// matter, their fingerprints do.
fn check_same(folder: &Path, earlier: &Settings, now: &Settings) -> Result<()> {
    let table = |settings: &Settings| {
        let mut settings = settings.clone();
        (settings.questions, settings.data.folder, settings.real.log) = Default::default();
        toml::Table::try_from(&settings).map_err(|e| Error::input(folder, e.to_string()))
    };
    match first_difference("", &table(earlier)?, &table(now)?) {
        None => Ok(()),
        Some(difference) => {
            let finding = format!("holds results with {difference}; name another folder for another experiment");
            Err(Error::input(folder, finding))
        }
    }
}

/// The first setting that differs, as people would write it.
fn first_difference(prefix: &str, earlier: &toml::Table, now: &toml::Table) -> Option<String> {
    let names: std::collections::BTreeSet<&String> = earlier.keys().chain(now.keys()).collect();
    names.into_iter().find_map(|name| match (earlier.get(name), now.get(name)) {
        (Some(toml::Value::Table(a)), Some(toml::Value::Table(b))) => {
            first_difference(&format!("{prefix}{name}."), a, b)
        }
        (a, b) if a == b => None,
        (a, b) => {
            let text = |value: Option<&toml::Value>| value.map_or("none".to_string(), ToString::to_string);
            Some(format!("{prefix}{name} = {}, but now it is {}", text(a), text(b)))
        }
    })
}
