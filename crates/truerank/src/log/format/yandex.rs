//! Reads the events of Yandex's Relevance Prediction Challenge: lines between tabs, with as many fields as they need.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::text::{Parsed, TextForm, bad_rows_of};
use crate::error::Place;
use crate::log::bad_rows::{BadKind, BadRow, Fault};
use crate::log::blocks::{Block, Blocks, Cut, Lines, cut_at_lines, damage};
use crate::log::build::RowBuilder;
use crate::log::layout::Layout;
use crate::log::missing::refuse_header;
use crate::log::options::{ClickList, ReadOptions};
use crate::log::pages::Lists;
use crate::log::record::{Record, Value};
use crate::{Error, Result};

/// What the fields of a line are called; the last two are the list of a query and the document of a click.
const COLUMNS: [&str; 7] = ["session", "time", "event", "query", "region", "docs", "doc"];

/// How to read the lines of a file.
pub(super) struct YandexForm {
    path: PathBuf,
    layout: Layout,
    stops: bool,
    places: bool,
}

impl YandexForm {
    /// Finds the columns, if the file is not empty.
    pub fn open(path: &Path, blocks: &mut Blocks, options: &ReadOptions) -> Result<Option<Self>> {
        refuse_header(path, options, "a log of Yandex")?;
        if blocks.head(1)?.is_empty() {
            return blocks.damage().map_or(Ok(None), |finding| Err(Error::input(path, finding)));
        }
        let mut layout = Layout::find(path, &COLUMNS.map(String::from), options)?;
        layout.lists = Some(Lists { separator: None, clicks: ClickList::Flags });
        // Nothing of this form is guessed.
        layout.reads.iter_mut().for_each(|read| read.guessed = false);
        Ok(Some(YandexForm { path: path.to_path_buf(), layout, stops: !options.skips(), places: options.more.places }))
    }

    fn push(&self, line: &[u8], number: u64, builder: &mut RowBuilder<'_>) -> Result<(), Fault> {
        if let Some(fault) = damage(line) {
            return Err(fault);
        }
        let raw = std::str::from_utf8(line).unwrap_or_default();
        let fields: Vec<&str> = raw.split('\t').map(str::trim).collect();
        match (fields.get(2), fields.len()) {
            (Some(&"Q"), 6..) | (Some(&"C"), 4) => builder.push(&Event { fields, raw, number }),
            (_, count) => Err(Fault::new(
                BadKind::Fields,
                format!(
                    "has {count} fields between tabs, but a line is 'session time Q query region url …' or 'session time C url'"
                ),
            )),
        }
    }
}

/// A line as its fields.
struct Event<'a> {
    fields: Vec<&'a str>,
    raw: &'a str,
    number: u64,
}

impl Record for Event<'_> {
    fn value(&self, column: usize) -> Value<'_> {
        let text = |at: usize| Value::Text(Cow::Borrowed(self.fields[at]));
        match (COLUMNS[column], self.fields[2]) {
            ("session" | "time" | "event", _) => text(column),
            ("query" | "region", "Q") => text(column),
            ("docs", "Q") => Value::List((5..self.fields.len()).map(text).collect()),
            ("doc", "C") => text(3),
            _ => Value::Missing,
        }
    }

    fn place(&self) -> u64 {
        self.number
    }

    fn raw(&self) -> String {
        self.raw.to_string()
    }
}

impl TextForm for YandexForm {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn columns(&self) -> Vec<(String, crate::log::shape::ColumnKind)> {
        COLUMNS.iter().map(|name| (name.to_string(), crate::log::shape::ColumnKind::Text)).collect()
    }

    fn cut(&self) -> Cut {
        cut_at_lines()
    }

    fn parse(&self, block: &Block) -> Parsed {
        let mut builder = RowBuilder::new(&self.layout, self.places);
        let mut bad = Vec::new();
        let mut lines = Lines::new(block);
        let mut start = 0;
        for line in block.bytes.split_inclusive(|&byte| byte == b'\n') {
            let at = start;
            start += line.len();
            let line = line.trim_ascii_end();
            let number = if self.places { lines.line(at) } else { 0 };
            let outcome = if line.is_empty() { Ok(()) } else { self.push(line, number, &mut builder) };
            if let Err(fault) = outcome {
                let place = Place::line(&self.path, lines.line(at));
                bad.push(BadRow { place, fault, raw: String::from_utf8_lossy(line).into_owned() });
                if self.stops {
                    break;
                }
            }
        }
        bad_rows_of(&self.path, block, &mut bad);
        Parsed { rows: builder.into_rows(), bad }
    }
}
