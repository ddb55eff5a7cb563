//! What can go wrong, said as place, finding, rule and, where it helps, a way out.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::text;

/// The library's result type.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything the library refuses to do, with a message a user can act on.
///
/// Each message is one line that can be printed ([`text::line`]), whatever the data hold that it speaks of. A message about
/// a file starts with the file's name.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The content of a file breaks a rule.
    #[error("{}", text::line_of(format_args!("{place}: {finding}")))]
    Input {
        /// Where it was found.
        place: Place,
        /// What was found, which rule it breaks, and the way out.
        finding: String,
    },
    /// The operating system refused to open, read or write a file.
    #[error("{}", text::line_of(format_args!("{}: {}", text::path(path), describe_io(cause))))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system answered.
        cause: std::io::Error,
    },
    /// An option has a value that it cannot have, or two inputs do not fit together.
    #[error("{}", text::line(finding))]
    Parameter {
        /// The option that it is about, where it is about one.
        option: Option<String>,
        /// What was found, which rule it breaks, and the way out. Options are named in backticks, see [`Error::naming`].
        finding: String,
    },
    /// Whoever asked for the work wanted it to end; see [`Progress::advance`](crate::progress::Progress::advance).
    #[error("stopped before it was done")]
    Stopped,
}

impl Error {
    /// An error about the content of a whole file.
    pub fn input(path: &Path, finding: impl Into<String>) -> Self {
        Place::file(path).error(finding)
    }

    /// An error from the operating system about a file.
    pub fn io(path: &Path, cause: std::io::Error) -> Self {
        Error::Io { path: path.to_path_buf(), cause }
    }

    /// The same error, where a file below `from` is to be known as one below `to`.
    pub(crate) fn moved(self, from: &Path, to: &Path) -> Self {
        let moved = |path: PathBuf| path.strip_prefix(from).map(|rest| joined(to, rest)).unwrap_or(path);
        match self {
            Error::Input { place, finding } => {
                Error::Input { place: Place { path: moved(place.path), at: place.at }, finding }
            }
            Error::Io { path, cause } => Error::Io { path: moved(path), cause },
            other => other,
        }
    }

    /// An error about what was asked for as a whole.
    pub fn parameter(finding: impl Into<String>) -> Self {
        Error::Parameter { option: None, finding: finding.into() }
    }

    /// An error about an option: `Error::option("batch", "is 0, but should be at least 1")`.
    pub fn option(name: &str, finding: impl fmt::Display) -> Self {
        Self::option_as(name, format!(" {finding}"))
    }

    /// The same, where the finding says what stands between it and the option's name.
    pub(crate) fn option_as(name: &str, finding: impl fmt::Display) -> Self {
        Error::Parameter { option: Some(name.to_string()), finding: format!("`{name}`{finding}") }
    }

    /// The message with options as a front end knows them: `rename` turns the name of an option, such as `on_bad_row`, into
    /// what people typed, such as `--on-bad-row`, and everything else that stands in backticks into nothing, to leave it as it is.
    pub fn naming(&self, rename: impl Fn(&str) -> Option<String>) -> String {
        match self {
            Error::Parameter { finding, .. } => text::line(&text::rename_quoted(finding, rename)),
            Error::Input { place, finding } => {
                let finding = text::rename_quoted(finding, rename);
                text::line_of(format_args!("{place}: {finding}"))
            }
            other => other.to_string(),
        }
    }
}

/// Joining nothing would leave a slash at the end.
fn joined(folder: &Path, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() { folder.to_path_buf() } else { folder.join(rest) }
}

fn describe_io(cause: &std::io::Error) -> String {
    match cause.kind() {
        std::io::ErrorKind::NotFound => "no such file or folder".to_string(),
        std::io::ErrorKind::NotADirectory => "is a file, but a folder is expected here".to_string(),
        std::io::ErrorKind::IsADirectory => "is a folder, but a file is expected here".to_string(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_string(),
        std::io::ErrorKind::FileTooLarge => {
            "would be larger than the system lets a file be; raise the limit (ulimit -f), or write less".to_string()
        }
        std::io::ErrorKind::OutOfMemory => {
            "does not fit in memory; raise its limit (ulimit -v), or use a machine with more".to_string()
        }
        std::io::ErrorKind::StorageFull => "the disk is full; make room on it, or write to another one".to_string(),
        _ => cause.to_string(),
    }
}

/// A place in a file: the file alone, one of its lines, or one of its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    path: PathBuf,
    at: At,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    File,
    Line(u64),
    Row(u64),
}

impl Place {
    /// A whole file.
    pub fn file(path: &Path) -> Self {
        Place { path: path.to_path_buf(), at: At::File }
    }

    /// A line of a text file, counted from 1.
    pub fn line(path: &Path, line: u64) -> Self {
        Place { path: path.to_path_buf(), at: At::Line(line) }
    }

    /// A row of a table (Parquet), counted from 1.
    pub fn row(path: &Path, row: u64) -> Self {
        Place { path: path.to_path_buf(), at: At::Row(row) }
    }

    /// An error at this place.
    pub fn error(self, finding: impl Into<String>) -> Error {
        Error::Input { place: self, finding: finding.into() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = text::path(&self.path);
        match self.at {
            At::File => write!(f, "{path}"),
            At::Line(line) => write!(f, "{path}:{line}"),
            At::Row(row) => write!(f, "{path}: row {row}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_start_with_their_place() {
        let path = Path::new("clicks.tsv");
        let finding = "position is 0, but positions start at 1";
        assert_eq!(Place::line(path, 42).error(finding).to_string(), format!("clicks.tsv:42: {finding}"));
        assert_eq!(Place::row(path, 7).error(finding).to_string(), format!("clicks.tsv: row 7: {finding}"));
        assert_eq!(Error::input(path, finding).to_string(), format!("clicks.tsv: {finding}"));
    }

    #[test]
    fn errors_are_one_short_line_whatever_they_speak_of() {
        let evil = "\u{1b}[2J\u{202e}\n".repeat(1000);
        let (path, cause) = (Path::new(&evil), || std::io::Error::other(evil.clone()));
        let errors = [
            Place::line(path, 42).error(evil.clone()),
            Error::input(path, evil.clone()),
            Error::io(path, cause()),
            Error::parameter(evil.clone()),
        ];
        for error in errors {
            let text = error.to_string();
            assert!(text.chars().count() <= text::MOST_IN_LINE, "{text}");
            assert_eq!(text::printable(&text), text);
        }
        // The line is seen however long the path is.
        assert!(Place::line(path, 42).error("is bad").to_string().ends_with("\\n:42: is bad"));
    }
}
