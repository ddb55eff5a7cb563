//! The forms that log files have: one entry for each, from which help, messages and readers are made.
//!
//! A form of text is a file here that implements `TextForm`.

mod delimited;
mod json;
mod text;
mod yandex;

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use super::blocks::Blocks;
use super::options::ReadOptions;
use crate::files::ending;
use crate::named::find_named;
use crate::options::{listed, option_value};
use crate::{Error, Result};
use delimited::DelimitedForm;
use json::JsonForm;
pub(super) use json::parse_list;
pub(super) use text::TextForm;
use yandex::YandexForm;

/// The form of a log file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// Apache Parquet.
    Parquet,
    /// Comma-separated values with a header.
    Csv,
    /// Tab-separated values with a header.
    Tsv,
    /// One JSON object per line, or one array of objects.
    JsonLines,
    /// Events of Yandex's Relevance Prediction Challenge, between tabs and without a header: lines
    /// `session time Q query region url …` and `session time C url`.
    Yandex,
}

/// The records of a text, if it has any.
type OpenedText = Result<Option<Arc<dyn TextForm>>>;

/// Opens a text: its path, its bytes, how to read it, and where notes go.
type OpenText = fn(&Path, &mut Blocks, &ReadOptions, &mut Vec<String>) -> OpenedText;

/// What is known of a form.
struct Entry {
    format: LogFormat,
    name: &'static str,
    /// How names of files end that have it.
    endings: &'static [&'static str],
    /// What it is, in a few words.
    help: &'static str,
    /// What stands between values, of lines of values with a header.
    separator: Option<&'static str>,
    /// How text is cut into records; none where it is no text.
    open: Option<OpenText>,
}

const FORMATS: [Entry; 5] = [
    Entry {
        format: LogFormat::Parquet,
        name: "parquet",
        endings: &["parquet", "pq"],
        help: "Apache Parquet",
        separator: None,
        open: None,
    },
    Entry {
        format: LogFormat::Csv,
        name: "csv",
        endings: &["csv"],
        help: "values between commas",
        separator: Some(","),
        open: Some(|path, blocks, options, notes| text(DelimitedForm::open(path, blocks, b',', options, notes))),
    },
    Entry {
        format: LogFormat::Tsv,
        name: "tsv",
        endings: &["tsv"],
        help: "values between tabs",
        separator: Some("\t"),
        open: Some(|path, blocks, options, notes| text(DelimitedForm::open(path, blocks, b'\t', options, notes))),
    },
    Entry {
        format: LogFormat::JsonLines,
        name: "jsonl",
        endings: &["jsonl", "ndjson", "json"],
        help: "a JSON object per line, or an array of them",
        separator: None,
        open: Some(|path, blocks, options, notes| text(JsonForm::open(path, blocks, options, notes))),
    },
    Entry {
        format: LogFormat::Yandex,
        name: "yandex",
        endings: &[],
        help: "events of the Relevance Prediction Challenge",
        separator: None,
        open: Some(|path, blocks, options, _| text(YandexForm::open(path, blocks, options))),
    },
];

fn text<F: TextForm + 'static>(form: Result<Option<F>>) -> OpenedText {
    Ok(form?.map(|form| Arc::new(form) as Arc<dyn TextForm>))
}

impl LogFormat {
    /// The form that a file's ending names, if it does.
    pub fn of(path: &Path) -> Option<Self> {
        let ending = ending(path);
        FORMATS.iter().find(|entry| entry.endings.contains(&ending.as_str())).map(|entry| entry.format)
    }

    /// All of them.
    pub const ALL: [LogFormat; 5] =
        [LogFormat::Parquet, LogFormat::Csv, LogFormat::Tsv, LogFormat::JsonLines, LogFormat::Yandex];

    /// How names of files end that have it.
    pub fn endings(self) -> &'static [&'static str] {
        self.entry().endings
    }

    fn entry(self) -> &'static Entry {
        &FORMATS[self as usize]
    }

    /// What it is, in a few words.
    pub fn help(self) -> &'static str {
        self.entry().help
    }

    /// What stands between values, of lines of values with a header.
    pub fn separator(self) -> Option<&'static str> {
        self.entry().separator
    }

    /// Opens a text of this form.
    pub(super) fn open_text(
        self,
        path: &Path,
        blocks: &mut Blocks,
        options: &ReadOptions,
        notes: &mut Vec<String>,
    ) -> OpenedText {
        match self.entry().open {
            Some(open) => open(path, blocks, options, notes),
            None => Err(Error::input(
                path,
                "Parquet cannot be read from standard input: its directory stands at its end; give the file",
            )),
        }
    }
}

/// How the names of logs end.
pub fn log_endings() -> String {
    let all: Vec<String> = FORMATS.iter().flat_map(|entry| entry.endings).map(|ending| format!(".{ending}")).collect();
    format!("{} (text also with .gz or .zst)", listed(&all))
}

impl fmt::Display for LogFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry().name)
    }
}

impl FromStr for LogFormat {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        find_named(&LogFormat::ALL, text, "a form of logs")
    }
}

option_value!(LogFormat: Kind::Choice(FORMATS.iter().map(|entry| entry.name).collect()));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_found_by_name_and_by_ending() {
        for (number, entry) in FORMATS.iter().enumerate() {
            assert_eq!((entry.format as usize, entry.name.parse::<LogFormat>().unwrap()), (number, entry.format));
        }
        let of = |name: &str| LogFormat::of(Path::new(name)).map(|format| format.to_string());
        assert_eq!(
            ["a.PQ", "b.csv.gz", "c.json", "d.txt"].map(of),
            [Some("parquet".into()), Some("csv".into()), Some("jsonl".into()), None]
        );
        assert!(
            log_endings().starts_with(".parquet, .pq, .csv, .tsv, .jsonl, .ndjson or .json (text"),
            "{}",
            log_endings()
        );
    }
}
