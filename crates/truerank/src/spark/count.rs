//! Counts a log on a cluster: files enter, the folder of counts leaves, byte for byte that of counting here.

use std::path::{Path, PathBuf};

use super::check::Checked;
use super::cluster::Cluster;
use super::copy::{copy_cells, copy_patterns, copy_sessions};
use super::copy_lists::{copy_lists, copy_transitions};
use super::far::add_files;
use super::paths::is_far;
use super::source::{FILE, IdKinds, SOURCE, make_source};
use crate::counts::{LogSource, LogSummary, Meta, Origin, Totals, is_counts_file};
use crate::files::{TemporaryFolder, write_folder};
use crate::log::{LogPart, LogShape, ReadOptions};
use crate::progress::Progress;
use crate::sql::{CountSql, CountView, Dialect};
use crate::{Error, Result};

/// Counts logs with Spark SQL.
///
/// The log and the output lie on storage that the cluster sees under the same path. The cluster groups and sorts; its
/// result passes through this machine a row group at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SparkCount {
    url: String,
    patterns: bool,
    transitions: bool,
}

impl SparkCount {
    /// Counts on the cluster whose Spark Connect server is at `url`, such as `sc://host:15002`.
    pub fn new(url: &str) -> Self {
        SparkCount { url: url.to_string(), patterns: false, transitions: false }
    }

    /// Whether to count click patterns too. Default: no.
    pub fn patterns(mut self, patterns: bool) -> Self {
        self.patterns = patterns;
        self
    }

    /// Whether to count click transitions too. Default: no.
    pub fn transitions(mut self, transitions: bool) -> Self {
        self.transitions = transitions;
        self
    }

    /// Counts log files and writes the folder of counts, which appears only when it is complete.
    ///
    /// Of the summary, what pages look like is not known. Bad rows are always an error.
    pub fn count(&self, log: &LogSource, output: &Path, progress: &dyn Progress) -> Result<(Totals, LogSummary)> {
        let (parts, options) = match log {
            LogSource::Rows(parts, options) => (parts, options),
            LogSource::Ubi(..) => {
                let finding = "is not for `engine`: OpenSearch's dumps are joined here; count without it";
                return Err(Error::option("ubi_queries", finding));
            }
            _ => return Err(Error::parameter("a cluster counts rows of log files, but these are counts already")),
        };
        check_options(options)?;
        let (far, near): (Vec<LogPart>, Vec<LogPart>) = parts.iter().cloned().partition(|part| is_far(part.path()));
        far.iter().try_for_each(|part| LogShape::check_far(part.path(), options))?;
        let mut log = if near.is_empty() { LogShape::default() } else { LogShape::find(&near, options)? };
        let steps = 4 + u64::from(self.patterns) + 2 * u64::from(self.transitions);
        progress.begin("counting on Spark", steps);
        // Outlives the connection, whose end stops what still writes there.
        let scratch = TemporaryFolder::create_beside(output)?;
        let cluster = Cluster::connect(&self.url)?;
        far.iter().try_for_each(|part| add_files(&cluster, &mut log, part.path(), options))?;
        let kinds = make_source(&cluster, &log)?;
        let counting = Counting {
            cluster: &cluster,
            scratch: scratch.path(),
            kinds,
            origin: Origin::of_reading(options),
            progress,
        };
        let checked = Checked { cluster: &cluster, paths: &log.paths, options };
        counting.make_shown(&checked)?;
        let lists = if self.transitions { Some(counting.make_lists(&checked)?) } else { None };
        let totals = counting.write(output, self.patterns, lists)?;
        let summary = LogSummary {
            rows: totals.impressions,
            files: log.paths.len() as u64,
            sessions: totals.sessions,
            columns: log.reads,
            anonymous: log.anonymous,
            notes: log.notes,
            ..LogSummary::default()
        };
        Ok((totals, summary))
    }
}

/// Refuses what only counting here can do.
fn check_options(options: &ReadOptions) -> Result<()> {
    let refused = |option: &str| Err(Error::option(option, "is not for `engine`; count without it"));
    match () {
        () if options.skips() => refused("on_bad_row"),
        () if options.since.is_some() => refused("since"),
        () if options.until.is_some() => refused("until"),
        () => Ok(()),
    }
}

/// A log at work: each step leaves its result in the scratch folder, so that the next one reads that and not the log.
struct Counting<'a> {
    cluster: &'a Cluster,
    scratch: &'a Path,
    kinds: IdKinds,
    origin: Origin,
    progress: &'a dyn Progress,
}

impl Counting<'_> {
    /// Reads the log, once, and checks it.
    fn make_shown(&self, log: &Checked<'_>) -> Result<()> {
        let sql = CountSql::new(Dialect::Spark).table(SOURCE).place(FILE);
        self.cluster.view(CountView::Log.name(), &sql.query(CountView::Log))?;
        let shown = self.scratch.join("shown");
        self.cluster.save(&sql.query(CountView::Shown), &shown).map_err(|error| unreadable(error, log))?;
        self.cluster.parquet(CountView::Shown.name(), &shown)?;
        for view in CountView::ALL.into_iter().filter(|view| ![CountView::Log, CountView::Shown].contains(view)) {
            self.cluster.view(view.name(), &sql.query(view))?;
        }
        self.progress.advance(1)?;
        log.check()?;
        self.progress.advance(1)?;
        Ok(())
    }

    /// Sorts lists and transitions, and checks that a page shows one document at each position.
    fn make_lists(&self, log: &Checked<'_>) -> Result<(PathBuf, PathBuf)> {
        log.check_positions()?;
        let sql = CountSql::new(Dialect::Spark);
        // Numbers are given once: every use of a view would sort the pages again.
        let pages = self.scratch.join("page_lists");
        self.cluster.save(&sql.query(CountView::PageLists), &pages)?;
        self.cluster.parquet(CountView::PageLists.name(), &pages)?;
        for view in [CountView::Lists, CountView::Transitions] {
            self.cluster.view(view.name(), &sql.query(view))?;
        }
        let lists = self.sort(CountView::Lists, "query, list, listed.doc AS docs, listed.position AS positions")?;
        Ok((lists, self.sort(CountView::Transitions, "*")?))
    }

    fn write(&self, output: &Path, patterns: bool, lists: Option<(PathBuf, PathBuf)>) -> Result<Totals> {
        let cells = self.sort(CountView::Cells, "*")?;
        let sessions = self.sort(CountView::Sessions, "*")?;
        let pages = "query, `user`, shown.doc AS docs, shown.position AS positions, shown.click AS clicks, sessions";
        let pages = patterns.then(|| self.sort(CountView::Patterns, pages)).transpose()?;
        let (docs, users) = self.ids(&cells)?;
        write_folder(output, is_counts_file, |folder| {
            let found = copy_cells(&cells, &folder.join("cells.parquet"), self.kinds)?;
            let sessions = copy_sessions(&sessions, &folder.join("sessions.parquet"), self.kinds)?.sessions;
            let pages = pages.as_ref().map(|pages| copy_patterns(pages, &folder.join("patterns.parquet"), self.kinds));
            let patterns = pages.transpose()?.map(|copied| copied.patterns.unwrap_or_default());
            let mut totals = Totals { sessions, docs, users, patterns, ..found };
            if let Some((lists, transitions)) = &lists {
                totals.lists = Some(copy_lists(lists, &folder.join("lists.parquet"), self.kinds)?);
                let to = folder.join("transitions.parquet");
                totals.transitions = Some(copy_transitions(transitions, &to, self.kinds)?);
            }
            Meta::new(&totals, self.origin.clone()).write(folder)?;
            Ok(totals)
        })
    }

    /// Writes a result in its order.
    fn sort(&self, view: CountView, columns: &str) -> Result<PathBuf> {
        let folder = self.scratch.join(view.name());
        let order = view.order(Dialect::Spark).unwrap_or_default();
        self.cluster.save(&format!("SELECT {columns} FROM {} ORDER BY {order}", view.name()), &folder)?;
        self.progress.advance(1)?;
        Ok(folder)
    }

    /// How many documents and users there are.
    fn ids(&self, cells: &Path) -> Result<(u64, u64)> {
        self.cluster.parquet("truerank_written_cells", cells)?;
        let query = "SELECT COUNT(DISTINCT doc), COUNT(DISTINCT `user`) FROM truerank_written_cells";
        let rows = self.cluster.rows(query)?;
        let count = |at: usize| rows.first().and_then(|row| row.get(at)?.as_i64()).unwrap_or_default() as u64;
        Ok((count(0), count(1)))
    }
}

/// Where Spark names a file that it cannot read, what reading it here says is clearer.
fn unreadable(error: Error, log: &Checked<'_>) -> Error {
    let message = error.to_string();
    let is_named = |path: &&PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        message.contains("FAILED_READ_FILE") && name.is_some_and(|name| message.contains(&name))
    };
    log.paths.iter().filter(is_named).find_map(|path| log.first_bad_row(path)).unwrap_or(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::OnBadRow;
    use crate::progress::Silent;

    #[test]
    fn what_only_counting_here_can_do_is_refused_first() {
        let count = |options: ReadOptions| {
            let outcome = SparkCount::new("sc://nowhere").count(
                &LogSource::files(["no.csv"], options),
                Path::new("out"),
                &Silent,
            );
            outcome.unwrap_err().to_string()
        };
        let new = ReadOptions::new;
        let refused = |option: &str| format!("`{option}` is not for `engine`; count without it");
        assert_eq!(count(new().on_bad_row(OnBadRow::Skip)), refused("on_bad_row"));
        assert_eq!(count(new().on_bad_row(OnBadRow::Quarantine)), refused("on_bad_row"));
        assert_eq!(count(new().since("2024-03-01".parse().unwrap())), refused("since"));
        assert_eq!(count(new()), "no.csv: no such file or folder");
    }
}
