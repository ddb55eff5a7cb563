//! Counts of several days as one: folders of counts enter, a folder leaves that is byte for byte that of counting all at once.
//!
//! Counts add up, so no log is needed again. Ids are numbered anew over all folders, each folder becomes a run of records in
//! the order of queries, and `Merge` adds the runs. Whole pages are those of the least keys of all folders: keys follow from
//! the texts of session and query, so these are the pages that one count would have kept.
//!
//! What is taken away is merged likewise and subtracted query by query. Old counts are thinned before they are added (`thin`).

mod folders;
mod less;
mod samples;
mod thin;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use folders::{Folder, Folders};
use less::Less;
use samples::Samples;
use thin::Thinning;

use super::count::{CountOptions, write};
use super::counted::{Counted, PartSummary};
use super::folder::{Meta, is_counts_file};
use super::merge::{Merge, RunWriter, SortedRun};
use super::origin::Origin;
use super::source::LogSource;
use super::store::Store;
use super::summary::LogSummary;
use super::tables::NumberedIds;
use super::used::UsedIds;
use super::view::Totals;
use crate::files::{Room, TemporaryFolder, write_folder};
use crate::log::Time;
use crate::memory::Memory;
use crate::named::named;
use crate::options::options;
use crate::progress::Progress;
use crate::{Error, Result};

/// What happens where a result page is in two folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnRepeatedPage {
    /// It is an error.
    Error,
    /// Both are counted.
    Keep,
}

named!(OnRepeatedPage, "what happens to repeated pages": Error "error", Keep "keep");

options! {
    /// What may be added to what.
    pub struct AddingOptions {
        /// Where counts are added: what to do where the same result page, by its session and query, is in both: stop, or count
        /// both.
        on_repeated_page: OnRepeatedPage = OnRepeatedPage::Error, value("WHAT");
        /// Add counts although their logs were read with different settings, such as another `click_when`.
        mixed: bool = false;
    }
}

options! {
    /// How counts of several days become one.
    ///
    /// ```
    /// use truerank::counts::{CountOptions, LogSource, MergeOptions};
    /// use truerank::log::ReadOptions;
    /// use truerank::progress::Silent;
    /// let folder = tempfile::tempdir().unwrap();
    /// let at = |name: &str| folder.path().join(name);
    /// for (day, session) in [("monday", 1), ("tuesday", 2)] {
    ///     let rows = format!("session,user,query,doc,position,click\n{session},ada,shoes,a,1,0\n{session},ada,shoes,b,2,1\n");
    ///     std::fs::write(at("log.csv"), rows).unwrap();
    ///     LogSource::files([at("log.csv")], ReadOptions::new()).count_into(&at(day), &CountOptions::new(), &Silent)?;
    /// }
    /// let (totals, _) = MergeOptions::new().merge(&[at("monday"), at("tuesday")], &at("week"), &Silent)?;
    /// assert_eq!((totals.sessions, totals.clicks), (2, 2));
    /// # Ok::<(), truerank::Error>(())
    /// ```
    pub struct MergeOptions {
        /// Folders of counts to take away; all that they count must be among the others.
        without: Vec<PathBuf> = Vec::new(), value("FOLDER");
        /// Days after which a result page is kept with probability 1/2, so that counts follow what people want now.
        half_life: Option<f64> = None, above(0.0), value("DAYS");
        /// With `half_life`: the day of each folder, in their order, such as 2024-03-01.
        date: Vec<Time> = Vec::new(), value("DAY,DAY"), usual("one day from each folder to the next");
        /// With `half_life`: the age of each folder in days, in their order, instead of `date`.
        age: Vec<f64> = Vec::new(), value("DAYS,DAYS"), usual("that of the dates");
        /// Seed for thinning old counts, together with the counts themselves.
        seed: u64 = 1;
    }
    flatten {
        /// What may be added to what.
        adding: AddingOptions,
    }
    beside {
        /// How much memory to hold, and where the rest goes; without, all is held.
        room: Option<Room> = None,
    }
}

/// What should be known of merged counts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MergeSummary {
    /// Sentences for people.
    pub remarks: Vec<String>,
    /// The probability with which pages of each folder are kept, where old counts are thinned.
    pub weights: Vec<f64>,
    /// Bytes that did not fit into the memory that was allowed, and went to a temporary file.
    pub spooled: u64,
}

impl MergeSummary {
    /// For programs: the totals of the counts, and what should be known.
    pub fn to_json(&self, totals: &Totals) -> Value {
        let totals = totals.named().into_iter().map(|(name, count)| (name.to_string(), json!(count)));
        let weights =
            (!self.weights.iter().all(|&weight| weight == 1.0)).then(|| ("weights".into(), json!(self.weights)));
        Value::Object(totals.chain(weights).chain([("remarks".to_string(), json!(self.remarks))]).collect())
    }
}

impl LogSource {
    /// Counts the log and adds its counts to those of a folder, which changes only when all is done; what is counted beside
    /// cells is what the folder has. Returns the totals of all counts, and what is known of the log.
    pub fn append_to(
        &self,
        folder: &Path,
        what: &CountOptions,
        adding: &AddingOptions,
        progress: &dyn Progress,
    ) -> Result<(Totals, LogSummary)> {
        let meta = Meta::read(folder)?;
        let mut what = what.clone();
        (what.patterns, what.transitions) = (what.patterns | meta.patterns, what.transitions | meta.has_transitions());
        what.context = what.context.or_else(|| meta.origin.context());
        let temporary = match what.held_within() {
            Some(room) => room.temporary_folder()?,
            None => TemporaryFolder::create_beside(folder)?,
        };
        let counts = temporary.path().join("counts");
        let (_, mut summary) = self.count_into(&counts, &what, progress)?;
        let name = self.name().unwrap_or_else(|| "the log".to_string());
        let merging = MergeOptions { adding: adding.clone(), room: what.held_within().cloned(), ..MergeOptions::new() };
        let bad_rows = Some(folder.join("bad-rows.txt")).filter(|path| path.is_file());
        let folders = [(folder.to_path_buf(), folder.display().to_string()), (counts, name)];
        let (totals, merged) = merging.merge_named(&folders, folder, bad_rows.as_slice(), progress)?;
        summary.notes.extend(merged.remarks);
        summary.spooled += merged.spooled;
        Ok((totals, summary))
    }
}

impl MergeOptions {
    /// Adds the counts of folders into another one, which appears only when it is complete and may be one of them.
    pub fn merge(&self, folders: &[PathBuf], output: &Path, progress: &dyn Progress) -> Result<(Totals, MergeSummary)> {
        let named: Vec<(PathBuf, String)> =
            folders.iter().map(|path| (path.clone(), path.display().to_string())).collect();
        self.merge_named(&named, output, &[], progress)
    }

    /// The same, with names for people; files of `kept` are copied into the folder.
    pub(super) fn merge_named(
        &self,
        folders: &[(PathBuf, String)],
        output: &Path,
        kept: &[PathBuf],
        progress: &dyn Progress,
    ) -> Result<(Totals, MergeSummary)> {
        let weights = self.weights(folders.len())?;
        let folders = Folders::open(folders, &self.without, self)?;
        let (counted, mut summary) = self.add(&folders, &weights, progress)?;
        summary.spooled = counted.spooled();
        progress.begin("writing counts", folders.impressions());
        let totals = write_folder(output, is_counts_file, |folder| {
            for path in kept {
                let target = folder.join(path.file_name().unwrap_or_default());
                std::fs::copy(path, target).map_err(|error| Error::io(path, error))?;
            }
            write(counted, folder, progress)
        })?;
        Ok((totals, MergeSummary { weights, ..summary }))
    }

    fn add(&self, folders: &Folders, weights: &[f64], progress: &dyn Progress) -> Result<(Counted, MergeSummary)> {
        let rows = folders.all().map(|folder| folder.meta.impressions).sum();
        progress.begin("reading counts", rows);
        let store = self.room.as_ref().map_or(Ok(Store::default()), Store::bounded)?;
        let ids = folders.ids(&store)?;
        let is_thinned = weights.iter().any(|&weight| weight < 1.0);
        let used = (is_thinned || !folders.minus.is_empty()).then(|| UsedIds::none_of(&ids.names));
        let mut samples = Samples::new(folders, is_thinned);
        // What is taken away leaves ids that occur nowhere, so they are noted in what is left.
        let of_folders = used.as_ref().filter(|_| folders.minus.is_empty());
        let mut work = Work { store: &store, ids, used: of_folders, room: self.reading_room(), progress };
        let mut plus = Vec::new();
        for (folder, &weight) in folders.plus.iter().zip(weights) {
            let thinning = Thinning::new(weight, self.seed, &folder.meta);
            plus.extend(work.runs(folder, thinning.as_ref(), &mut samples)?);
        }
        samples.check_repeated(self.adding.on_repeated_page, folders, &work.ids.names)?;
        let mut minus = Vec::new();
        for folder in &folders.minus {
            minus.extend(work.runs(folder, None, &mut samples)?);
        }
        let runs = if folders.minus.is_empty() { plus } else { work.less(plus, minus, folders, used.as_ref())? };
        let names = work.ids.names;
        let remarks = samples.remarks();
        let pages = samples.finish();
        let origin = Origin { reading: folders.reading(), half_life: self.half_life.map(|days| days.to_string()) };
        let counted = Counted::new(names, used, folders.beside, pages, runs, store, PartSummary::default());
        Ok((counted.origin(origin), MergeSummary { remarks, ..MergeSummary::default() }))
    }

    /// A quarter of the memory is for reading one folder after another; runs and ids take their part of it all.
    fn reading_room(&self) -> Option<Room> {
        self.room.as_ref().map(|room| room.with_memory(Memory::new(room.memory().bytes() / 4)))
    }

    /// The probability with which pages of each folder are kept.
    fn weights(&self, count: usize) -> Result<Vec<f64>> {
        let given = [("date", self.date.len()), ("age", self.age.len())];
        if let Some((name, _)) = given.into_iter().find(|&(_, len)| len > 0 && self.half_life.is_none()) {
            return Err(Error::option(name, "is for `half_life`, but that is not given"));
        }
        if let Some((name, len)) = given.into_iter().find(|&(_, len)| len > 0 && len != count) {
            let finding = format!("has {len} values, but there are {count} folders; give one for each, in their order");
            return Err(Error::option(name, finding));
        }
        if !self.date.is_empty() && !self.age.is_empty() {
            return Err(Error::option("age", "says how old folders are, and so does `date`; leave one out"));
        }
        if let Some(age) = self.age.iter().find(|&&age| !(0.0..f64::INFINITY).contains(&age)) {
            return Err(Error::option("age", format!("is {age}, but should be a number of days from 0 on")));
        }
        let Some(half_life) = self.half_life else { return Ok(vec![1.0; count]) };
        Ok(self.ages(count).into_iter().map(|age| (-age / half_life).exp2()).collect())
    }

    fn ages(&self, count: usize) -> Vec<f64> {
        const DAY: f64 = 86_400_000.0;
        if let Some(last) = self.date.iter().map(|date| date.milliseconds()).max() {
            return self.date.iter().map(|date| (last - date.milliseconds()) as f64 / DAY).collect();
        }
        if !self.age.is_empty() {
            return self.age.clone();
        }
        (0..count).rev().map(|age| age as f64).collect()
    }
}

/// Ids of all folders: how each is found, and its number.
struct AllIds {
    interners: super::tables::NewIds,
    numbers: super::tables::Renumber,
    names: NumberedIds,
    bytes: u64,
}

/// Folders while they are read.
struct Work<'a> {
    store: &'a Store,
    ids: AllIds,
    used: Option<&'a UsedIds>,
    room: Option<Room>,
    progress: &'a dyn Progress,
}

impl Work<'_> {
    /// Reads a folder, checks it, and puts its counts away in the order of queries, its pages into `samples`.
    fn runs(&mut self, folder: &Folder, thinning: Option<&Thinning>, samples: &mut Samples) -> Result<Vec<SortedRun>> {
        folders::read_runs(folder, self, thinning, samples)
    }

    /// What is left of `plus` without `minus`.
    fn less(
        &self,
        plus: Vec<SortedRun>,
        minus: Vec<SortedRun>,
        folders: &Folders,
        used: Option<&UsedIds>,
    ) -> Result<Vec<SortedRun>> {
        let (mut plus, mut minus) = (Merge::new(plus, self.store)?, Merge::new(minus, self.store)?);
        let less = Less { names: &self.ids.names, folders };
        let mut run = RunWriter::new(self.store, self.ids.bytes, used);
        less.for_each(&mut plus, &mut minus, |query, left| run.push(query, left))?;
        Ok(vec![run.finish()?])
    }
}

#[cfg(test)]
mod tests;
