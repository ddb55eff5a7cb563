//! What the checks found on the cluster, said in the words of counting here.

use std::path::{Path, PathBuf};

use super::cluster::{Cluster, Row};
use super::paths::{is_far, path_of, text};
use super::source::FILE;
use crate::counts::{CLICKS_ALONE, ConflictKind, NamedConflict, locate};
use crate::log::{LogPart, ReadOptions, for_each_rows, session_of_text, shown};
use crate::progress::Silent;
use crate::sql::{CountView, Dialect};
use crate::{Error, Result};

/// A log whose checks are made.
pub(super) struct Checked<'a> {
    pub cluster: &'a Cluster,
    /// Its files, in order.
    pub paths: &'a [PathBuf],
    pub options: &'a ReadOptions,
}

/// A row of the checks.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Finding {
    finding: String,
    found: i64,
    session: String,
    query: String,
    example: String,
    other: String,
}

impl Finding {
    fn of(row: &Row) -> Self {
        let text = |name: &str| row.get_by_name(name).and_then(|v| v.as_str()).unwrap_or_default().to_string();
        Finding {
            finding: text("finding"),
            found: row.get_by_name("found").and_then(|v| v.as_i64()).unwrap_or_default(),
            session: text("session"),
            query: text("query"),
            example: text("example"),
            other: text("other"),
        }
    }

    /// Rows come first, then pages, then the log as a whole, as when counting here.
    fn rank(&self) -> usize {
        let kinds = ["doc appears twice", "page belongs to two users", "log holds"];
        kinds.iter().position(|kind| self.finding.starts_with(kind)).map_or(0, |kind| kind + 1)
    }
}

impl Checked<'_> {
    /// Fails with the first thing that is wrong.
    pub fn check(&self) -> Result<()> {
        let rows = self.cluster.rows(&format!("SELECT * FROM {}", CountView::Checks.name()))?;
        let mut findings: Vec<Finding> = rows.iter().map(Finding::of).collect();
        findings.sort_by_key(Finding::rank);
        match findings.first() {
            None => Ok(()),
            Some(first) => Err(self.error(first)?),
        }
    }

    /// Fails with the first page that shows several documents at one position.
    pub fn check_positions(&self) -> Result<()> {
        let query =
            format!("SELECT * FROM {} ORDER BY query, session, position LIMIT 1", CountView::SharedPositions.name());
        let rows = self.cluster.rows(&query)?;
        let Some(first) = rows.first() else { return Ok(()) };
        let position = first.get_by_name("position").and_then(|v| v.as_i64()).unwrap_or_default() as u32;
        Err(self.conflict(&Finding::of(first), ConflictKind::Position(position))?)
    }

    fn error(&self, finding: &Finding) -> Result<Error> {
        match finding.rank() {
            0 => self.bad_row(finding),
            1 => self.conflict(finding, ConflictKind::Doc(finding.example.clone(), 0)),
            2 => self.conflict(finding, ConflictKind::Users(finding.example.clone(), finding.other.clone())),
            _ if finding.found > 0 => Ok(Error::input(&self.paths[0], CLICKS_ALONE)),
            _ => Ok(Error::input(&self.paths[0], "holds no impressions, only a header")),
        }
    }

    /// The row with its place, found by reading the first file that has such rows.
    fn bad_row(&self, finding: &Finding) -> Result<Error> {
        let files = self.files_where("fault IS NOT NULL")?;
        let first = files.first().unwrap_or(&self.paths[0]);
        Ok(self.first_bad_row(first).unwrap_or_else(|| {
            let example = shown(&finding.example);
            Error::input(
                first,
                format!("{}; Spark found {} such rows, with values like '{example}'", finding.finding, finding.found),
            )
        }))
    }

    /// What reading a file here says of it, where that is an error.
    pub fn first_bad_row(&self, file: &Path) -> Option<Error> {
        if is_far(file) {
            return None;
        }
        for_each_rows(&[file.to_path_buf().into()], self.options, &Silent, |_| Ok(())).err()
    }

    /// The row with its place, found by reading the files that have rows of the page.
    fn conflict(&self, finding: &Finding, kind: ConflictKind) -> Result<Error> {
        let literal = |text: &str| Dialect::Spark.literal(text);
        let page = format!(
            "fault IS NULL AND session = {} AND CAST(query AS STRING) = {}",
            literal(&finding.session),
            literal(&finding.query)
        );
        let files = self.files_where(&page)?;
        let conflict = NamedConflict { session: session_of_text(&finding.session), query: finding.query.clone(), kind };
        if let Some(far) = files.iter().find(|file| is_far(file)) {
            return Ok(Error::input(far, conflict.describe(Some(&finding.session))));
        }
        let files: Vec<LogPart> = files.into_iter().map(LogPart::from).collect();
        Ok(locate(&files, self.options, &conflict))
    }

    /// The files that have such rows, in the order of the log; of those that only the cluster sees, its addresses, sorted.
    fn files_where(&self, condition: &str) -> Result<Vec<PathBuf>> {
        let query = format!("SELECT DISTINCT {FILE} FROM {} WHERE {condition}", CountView::Log.name());
        let rows = self.cluster.rows(&query)?;
        let mut addresses: Vec<&str> = rows.iter().filter_map(|row| row.get(0)?.as_str()).collect();
        let found: Vec<PathBuf> = addresses.iter().copied().map(path_of).collect();
        let is_found = |path: &&PathBuf| text(path).is_ok_and(|path| found.iter().any(|f| f.to_str() == Some(&path)));
        let near: Vec<PathBuf> = self.paths.iter().filter(|path| !is_far(path)).filter(is_found).cloned().collect();
        if !near.is_empty() || !self.paths.iter().any(|path| is_far(path)) {
            return Ok(near);
        }
        addresses.sort_unstable();
        Ok(addresses.into_iter().map(PathBuf::from).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_before_pages_and_pages_before_the_log() {
        let template = include_str!("../sql/count.sql");
        let rank = |text: &str| {
            assert!(template.contains(text), "{text}");
            let empty = String::new;
            Finding {
                finding: text.into(),
                found: 1,
                session: empty(),
                query: empty(),
                example: empty(),
                other: empty(),
            }
            .rank()
        };
        let findings = [
            "position is missing",
            "doc is missing",
            "doc appears twice on a page",
            "page belongs to two users",
            "log holds clicks alone",
            "log holds no impressions",
        ];
        assert_eq!(findings.map(rank), [0, 0, 1, 2, 3, 3]);
    }
}
