//! A log, whatever holds it: files, tables in memory, dumps of OpenSearch or counts enter, counts leave.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::count::{CountOptions, count_into, count_log, count_rows, count_view};
use super::model::Counts;
use super::pages::Pages;
use super::stored::{Need, open_counts};
use super::summary::LogSummary;
use super::view::{CountsView, Totals};
use crate::data::Dataset;
use crate::log::{Log, LogPart, ReadColumn, ReadOptions, Table, UbiOptions, find_columns, read_log, read_ubi};
use crate::options::Options;
use crate::progress::Progress;
use crate::{Error, Result};

/// A log and how to read it.
///
/// ```
/// use truerank::counts::{CountOptions, LogSource};
/// use truerank::log::ReadOptions;
/// use truerank::progress::Silent;
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("clicks.csv");
/// std::fs::write(&path, "session,user,query,doc,position,click\n1,ada,shoes,a,1,0\n1,ada,shoes,b,2,1\n").unwrap();
/// let log = LogSource::files([path], ReadOptions::new());
/// let (counts, summary) = log.count(&CountOptions::new(), &Silent)?;
/// assert_eq!((counts.click_count(), summary.sessions), (1, 1));
/// # Ok::<(), truerank::Error>(())
/// ```
#[derive(Debug, Clone)]
pub enum LogSource {
    /// Rows of impressions, result pages or events, in files and tables.
    Rows(Vec<LogPart>, Box<ReadOptions>),
    /// Dumps of OpenSearch's `ubi_queries` and `ubi_events`.
    Ubi(Vec<PathBuf>, Vec<PathBuf>, UbiOptions),
    /// A folder of counts.
    Folder(PathBuf),
    /// Counts, and what is known of the log they came from.
    Counts(Arc<Counts>, Arc<LogSummary>),
}

impl From<Counts> for LogSource {
    fn from(counts: Counts) -> Self {
        LogSource::Counts(Arc::new(counts), Arc::default())
    }
}

impl LogSource {
    /// Log files, patterns (`logs/*.csv`) and folders of them, and `-` for standard input. Several files are one log: their
    /// ids meet by their text.
    pub fn files<P: Into<PathBuf>>(paths: impl IntoIterator<Item = P>, options: ReadOptions) -> Self {
        let parts = paths.into_iter().map(|path| LogPart::Path(path.into()));
        LogSource::Rows(parts.collect(), Box::new(options))
    }

    /// A table in memory.
    pub fn table(table: Table, options: ReadOptions) -> Self {
        LogSource::Rows(vec![LogPart::Table(table)], Box::new(options))
    }

    /// What paths name: a folder of counts, or else log files. Options that contradict each other are refused.
    pub fn open(paths: Vec<PathBuf>, options: ReadOptions) -> Result<Self> {
        options.check()?;
        match &paths[..] {
            [folder] if folder.join("meta.json").is_file() => LogSource::Folder(folder.clone()).reading(&options),
            _ => Ok(LogSource::files(paths, options)),
        }
    }

    /// The same, where these options are the default: what is not read as rows has no use for them.
    pub fn reading(self, options: &ReadOptions) -> Result<Self> {
        match (options.first_given(), self.why_no_rows()) {
            (Some(name), Some(why)) => {
                Err(Error::option(name, format!("is for reading a log, but {why}; leave it out")))
            }
            _ => Ok(self),
        }
    }

    /// Why there are no rows to read, if so.
    fn why_no_rows(&self) -> Option<&'static str> {
        match self {
            LogSource::Rows(..) => None,
            LogSource::Ubi(..) => Some("dumps of OpenSearch have columns of their own"),
            LogSource::Folder(_) | LogSource::Counts(..) => Some("counts were read already"),
        }
    }

    /// The log in a few words; a table and counts in memory have no name.
    pub fn name(&self) -> Option<String> {
        let paths: Vec<&Path> = match self {
            LogSource::Rows(parts, _) => parts.iter().filter_map(LogPart::file).collect(),
            LogSource::Ubi(queries, ..) => queries.iter().map(PathBuf::as_path).collect(),
            LogSource::Folder(folder) => vec![folder],
            LogSource::Counts(..) => Vec::new(),
        };
        match paths[..] {
            [] => None,
            [path] => Some(path.display().to_string()),
            [first, ref rest @ ..] => Some(format!("{} and {} more", first.display(), rest.len())),
        }
    }

    /// What a report on it is called.
    pub fn title(&self) -> String {
        self.name().map_or("Click log".to_string(), |name| format!("Click log: {name}"))
    }

    /// Whether it was counted before.
    pub fn is_counted(&self) -> bool {
        matches!(self, LogSource::Folder(_) | LogSource::Counts(..))
    }

    /// Whether it can be read again: standard input cannot.
    pub fn can_be_read_again(&self) -> bool {
        !matches!(self, LogSource::Rows(parts, _) if parts.iter().any(LogPart::is_stdin))
    }

    /// Opens all files and finds where the fields are read from; nothing where there are no rows.
    pub fn columns(&self) -> Result<Vec<ReadColumn>> {
        match self {
            LogSource::Rows(parts, options) => find_columns(parts, options),
            _ => Ok(Vec::new()),
        }
    }

    /// All rows in memory, in the order of the files. Counting does not need this.
    pub fn read(&self) -> Result<Log> {
        match self {
            LogSource::Rows(parts, options) => read_log(parts, options),
            LogSource::Ubi(queries, events, options) => Ok(read_ubi(queries, events, options)?.0),
            LogSource::Folder(_) | LogSource::Counts(..) => Err(Error::parameter("counts hold no rows of a log")),
        }
    }

    /// Counts the impressions, in one pass on all threads. All counts are held in memory whatever the options say of it;
    /// [`LogSource::count_into`] holds neither the log nor its counts.
    pub fn count(&self, what: &CountOptions, progress: &dyn Progress) -> Result<(Arc<Counts>, LogSummary)> {
        if self.is_counted() {
            what.check_no_context("counts were read already")?;
        }
        let (counts, summary) = match self {
            LogSource::Rows(parts, options) => count_rows(parts, options, what, progress)?,
            LogSource::Ubi(queries, events, options) => count_ubi(queries, events, options, what, progress)?,
            LogSource::Folder(folder) => (Counts::read(folder)?, LogSummary::default()),
            LogSource::Counts(counts, summary) => return Ok((counts.clone(), LogSummary::clone(summary))),
        };
        Ok((Arc::new(counts), summary))
    }

    /// Counts into a folder that appears only when it is complete and replaces an older one whole. The bytes are those of
    /// [`Counts::write`], whatever the memory.
    pub fn count_into(
        &self,
        folder: &Path,
        what: &CountOptions,
        progress: &dyn Progress,
    ) -> Result<(Totals, LogSummary)> {
        match self {
            LogSource::Rows(parts, options) => count_into(folder, parts, options, what, progress),
            LogSource::Ubi(..) => {
                let (counts, summary) = self.count(what, progress)?;
                Ok((counts.write(folder)?, summary))
            }
            LogSource::Folder(path) => Err(Error::input(path, "is a folder of counts, so there is nothing to count")),
            LogSource::Counts(..) => Err(Error::parameter("counts were read already, so there is nothing to count")),
        }
    }

    /// Counts, and keeps the counts in memory or on disk, so that they and what `need` makes of them stay within the room of
    /// the options.
    pub fn view(
        &self,
        what: &CountOptions,
        need: Need,
        progress: &dyn Progress,
    ) -> Result<(Arc<dyn CountsView>, LogSummary)> {
        match (self, what.held_within()) {
            (LogSource::Rows(parts, options), _) => {
                let (counts, summary) = count_view(parts, options, what, need, progress)?;
                Ok((Arc::from(counts), summary))
            }
            (LogSource::Folder(folder), Some(room)) => {
                Ok((Arc::from(open_counts(folder, room, need)?), LogSummary::default()))
            }
            _ => self.count(what, progress).map(|(counts, summary)| (counts as Arc<dyn CountsView>, summary)),
        }
    }

    /// Reads the columns `features` as the features of the documents, and `grade` as their grades.
    ///
    /// A document of a query gets the mean over its rows where a feature varies, and the largest grade it was given; both
    /// are the same in any order of rows. Queries and documents come in the order of their ids. A row without one of the
    /// numbers is a bad row. Where a range of time is asked for, each row counts by its own time.
    ///
    /// Beside the data set it returns notes: a feature that differs between rows of the same document and query is one of
    /// users or of moments, and a ranker of documents sees no more of it than the mean.
    pub fn features(&self, features: &[String], grade: Option<&str>, max_grade: u8) -> Result<(Dataset, Vec<String>)> {
        self.check_features()?;
        match self {
            LogSource::Rows(parts, options) => crate::log::read_features(parts, options, features, grade, max_grade),
            _ => Err(Error::parameter("features are columns of a log's rows, but there are none")),
        }
    }

    /// Refuses a log whose rows hold no features, or that cannot be read once more for them.
    pub fn check_features(&self) -> Result<()> {
        let finding = match (self.why_no_rows(), self) {
            (Some(why), _) => why,
            (None, LogSource::Rows(_, options)) if options.is_event_log() => "this is a log of events",
            _ if self.can_be_read_again() => return Ok(()),
            _ => {
                return Err(Error::parameter(
                    "standard input can be read once only, but features from the log need a second look; save it as a file",
                ));
            }
        };
        Err(Error::parameter(format!("features are columns of shown documents, but {finding}; use `data`")))
    }
}

fn count_ubi(
    queries: &[PathBuf],
    events: &[PathBuf],
    options: &UbiOptions,
    what: &CountOptions,
    progress: &dyn Progress,
) -> Result<(Counts, LogSummary)> {
    what.check_no_context("dumps of OpenSearch have columns of their own")?;
    progress.begin("joining queries and events", 1);
    let (log, joined) = read_ubi(queries, events, options)?;
    let (mut counts, summary) = count_log(&log, what)?;
    // Their pages are numbered in the order of the dumps.
    counts.pages.iter_mut().for_each(Pages::forget_keys);
    counts.pages = counts.pages.map(|pages| pages.sorted());
    let files = (queries.len() + events.len()) as u64;
    Ok((counts, LogSummary { files, notes: joined.remarks(), ..summary }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::SplitBy;
    use crate::progress::Silent;

    const ROWS: &str = "session,query,doc,position,click,time\n1,q,a,1,0,1\n1,q,b,2,1,2\n2,p,a,1,1,3\n2,p,b,2,0,4\n";

    fn sources(folder: &Path) -> [LogSource; 3] {
        let (file, counts) = (folder.join("log.csv"), folder.join("counts"));
        std::fs::write(&file, ROWS).unwrap();
        let log = LogSource::open(vec![file], ReadOptions::new()).unwrap();
        log.count_into(&counts, &CountOptions::new(), &Silent).unwrap();
        let (held, summary) = log.count(&CountOptions::new(), &Silent).unwrap();
        let folder = LogSource::open(vec![counts], ReadOptions::new()).unwrap();
        [log, folder, LogSource::Counts(held, Arc::new(summary))]
    }

    #[test]
    fn a_log_gives_the_same_counts_whatever_holds_it() {
        let folder = tempfile::tempdir().unwrap();
        let [file, written, held] = sources(folder.path());
        let all = [&file, &written, &held].map(|log| log.count(&CountOptions::new(), &Silent).unwrap());
        assert!(all[0].0 == all[1].0 && all[1].0 == all[2].0);
        let pages = all.map(|(_, summary)| summary.pages.map(|pages| pages.pages));
        assert_eq!(pages, [Some(2), None, Some(2)]);
        assert_eq!([&file, &written, &held].map(LogSource::is_counted), [false, true, true]);
        assert_eq!(file.title(), format!("Click log: {}", folder.path().join("log.csv").display()));
        assert_eq!(held.title(), "Click log");
        let two = LogSource::files(["a.csv", "b.csv"], ReadOptions::new());
        assert_eq!(two.name().unwrap(), "a.csv and 1 more");
        assert!(file.columns().unwrap().iter().any(|read| read.field == "doc"));
    }

    #[test]
    fn what_a_log_cannot_do_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let [file, written, held] = sources(folder.path());
        let refused = |outcome: Result<()>, reason: &str| {
            let message = outcome.unwrap_err().to_string();
            assert!(message.contains(reason), "{message}");
        };
        let ubi = LogSource::Ubi(vec!["q".into()], vec!["e".into()], UbiOptions::new());
        let stdin = LogSource::files(["-"], ReadOptions::new());
        for log in [&written, &held, &ubi] {
            refused(log.check_split(SplitBy::Time, 0.5), "have no times");
            refused(log.check_features(), "features are columns of shown documents");
        }
        refused(stdin.check_split(SplitBy::Time, 0.5), "can be read once only");
        refused(stdin.check_features(), "can be read once only");
        refused(file.check_split(SplitBy::Pages, 1.0), "`held_out` is 1, but should be between 0 and 1");
        refused(written.count_into(folder.path(), &CountOptions::new(), &Silent).map(drop), "nothing to count");
        refused(held.read().map(drop), "counts hold no rows");
        let options = ReadOptions::new().list_separator('|');
        refused(written.reading(&options).map(drop), "counts were read already");
        assert!(file.reading(&options).is_ok());
        let parts = file_split(folder.path());
        assert_eq!([parts.train, parts.held_out].map(|part| part.totals().impressions), [2, 2]);
    }

    fn file_split(folder: &Path) -> crate::counts::SplitLog {
        let log = LogSource::files([folder.join("log.csv")], ReadOptions::new());
        log.split(SplitBy::Time, 0.5, 1, &Silent).unwrap()
    }
}
