//! Reads CSV and TSV logs: blocks of records to rows, each block by itself.

mod record;

use std::path::{Path, PathBuf};

use super::text::{Parsed, TextForm, bad_rows_of};
use crate::error::Place;
use crate::log::bad_rows::{BadKind, BadRow, Fault};
use crate::log::blocks::{After, Block, Blocks, Cut, Lines, MAX_RECORD, damage, is_text};
use crate::log::build::RowBuilder;
use crate::log::layout::Layout;
use crate::log::options::{Header, ReadOptions};
use crate::log::pages::{Lists, find_lists};
use crate::log::record::{Record, Value};
use crate::{Error, Result};
use record::{BadQuote, Span, records_end, split_record};

/// So many of the first records show whether a file has lists, and of what.
const SAMPLE: usize = 1000;

/// What the header of a CSV or TSV file says, and how to read its records.
pub(super) struct DelimitedForm {
    path: PathBuf,
    delimiter: u8,
    /// What the first line is called in messages.
    first: &'static str,
    /// How many columns it has.
    width: usize,
    layout: Layout,
    stops: bool,
    places: bool,
}

/// A record as fields of a text.
struct Fields<'a> {
    text: &'a str,
    /// Where the text starts in its block.
    base: usize,
    spans: &'a [Span],
    /// From where to where the record goes in the block.
    range: (usize, usize),
    line: u64,
}

impl Record for Fields<'_> {
    #[inline]
    fn value(&self, column: usize) -> Value<'_> {
        self.spans.get(column).map_or(Value::Missing, |span| Value::Text(span.text(self.text, self.base)))
    }

    fn place(&self) -> u64 {
        self.line
    }

    fn raw(&self) -> String {
        self.text[self.range.0 - self.base..self.range.1 - self.base].to_string()
    }
}

impl DelimitedForm {
    /// Reads the header, if there is one, and leaves the blocks at the first record.
    pub fn open(
        path: &Path,
        blocks: &mut Blocks,
        delimiter: u8,
        options: &ReadOptions,
        notes: &mut Vec<String>,
    ) -> Result<Option<Self>> {
        let Some((names, end)) = read_names(path, blocks, delimiter, options.header_kind())? else { return Ok(None) };
        blocks.skip(end);
        let layout = Layout::find(path, &names, options)?;
        let mut form = DelimitedForm {
            path: path.to_path_buf(),
            delimiter,
            first: if options.header_kind() == Header::First { "header" } else { "first line" },
            width: names.len(),
            layout,
            stops: !options.skips(),
            places: options.more.places,
        };
        let length = blocks.head(0)?.len();
        let is_end = blocks.is_end();
        let head = blocks.head(length)?;
        // The last record may be cut off.
        let whole = if is_end { head } else { &head[..records_end(head, delimiter)] };
        let lists = form.lists(whole, &names, options)?;
        form.layout.lists = lists.map(|(lists, note)| {
            notes.push(note);
            lists
        });
        form.layout.check(path, &names, options)?;
        Ok(Some(form))
    }

    fn lists(&self, whole: &[u8], names: &[String], options: &ReadOptions) -> Result<Option<(Lists, String)>> {
        let mut spans = Vec::new();
        let mut sample = Vec::new();
        let mut start = 0;
        while start < whole.len() && sample.len() < SAMPLE {
            match split_record(whole, start, self.delimiter, &mut spans) {
                Ok(next) => {
                    if let (Ok(text), true) = (std::str::from_utf8(&whole[start..next]), spans.len() == self.width) {
                        sample.push((text, start, spans.clone(), next));
                    }
                    start = next;
                }
                Err(bad) => start = bad.next,
            }
        }
        let sample: Vec<Fields<'_>> = sample
            .iter()
            .map(|(text, base, spans, next)| Fields { text, base: *base, spans, range: (*base, *next), line: 0 })
            .collect();
        find_lists(&self.path, &self.layout, &names[self.layout.doc], options, &sample)
    }

    fn wrong_width(&self, found: usize) -> Fault {
        let finding = format!(
            "has {found} fields, but the {} has {}; is a field with delimiters unquoted?",
            self.first, self.width
        );
        Fault::new(BadKind::Fields, finding)
    }
}

impl TextForm for DelimitedForm {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn columns(&self) -> Vec<(String, crate::log::shape::ColumnKind)> {
        (0..self.width).map(|at| (format!("c{at}"), crate::log::shape::ColumnKind::Text)).collect()
    }

    fn cut(&self) -> Cut {
        let delimiter = self.delimiter;
        Box::new(move |bytes, _| (records_end(bytes, delimiter), After::Record))
    }

    fn parse(&self, block: &Block) -> Parsed {
        let bytes = &block.bytes[..];
        let mut builder = RowBuilder::new(&self.layout, self.places);
        let mut bad: Vec<BadRow> = Vec::new();
        let mut lines = Lines::new(block);
        let mut spans = Vec::with_capacity(self.width);
        let text = if is_text(bytes) { std::str::from_utf8(bytes).ok() } else { None };
        let mut start = 0;
        while start < bytes.len() {
            let (at, next, outcome) = match split_record(bytes, start, self.delimiter, &mut spans) {
                Ok(next) => {
                    let line = if self.places { lines.line(start) } else { 0 };
                    (start, next, self.push(bytes, text, &spans, (start, next), line, &mut builder))
                }
                Err(BadQuote { at, next, finding }) => (at, next, Err(Fault::new(BadKind::Quote, finding))),
            };
            if let Err(fault) = outcome {
                let place = Place::line(&self.path, lines.line(at));
                bad.push(BadRow { place, fault, raw: String::from_utf8_lossy(&bytes[start..next]).into_owned() });
                if self.stops {
                    break;
                }
            }
            start = next;
        }
        bad_rows_of(&self.path, block, &mut bad);
        Parsed { rows: builder.into_rows(), bad }
    }
}

impl DelimitedForm {
    /// Appends the rows of a record; `text` is the block, where all of it is text.
    #[inline]
    fn push(
        &self,
        bytes: &[u8],
        text: Option<&str>,
        spans: &[Span],
        range: (usize, usize),
        line: u64,
        builder: &mut RowBuilder<'_>,
    ) -> Result<(), Fault> {
        if spans.is_empty() {
            return Ok(());
        }
        let (text, base) = match text {
            Some(text) => (text, 0),
            None => (text_of(&bytes[range.0..range.1])?, range.0),
        };
        if spans.len() != self.width {
            return Err(self.wrong_width(spans.len()));
        }
        builder.push(&Fields { text, base, spans, range, line })
    }
}

fn text_of(record: &[u8]) -> Result<&str, Fault> {
    match damage(record) {
        Some(fault) => Err(fault),
        None => Ok(std::str::from_utf8(record).unwrap_or_default()),
    }
}

/// The names of the columns, and where records start; none if the file is empty.
fn read_names(
    path: &Path,
    blocks: &mut Blocks,
    delimiter: u8,
    header: Header<'_>,
) -> Result<Option<(Vec<String>, usize)>> {
    let Some((fields, end)) = read_first(path, blocks, delimiter)? else { return Ok(None) };
    let mark = if blocks.head(3)?.starts_with("\u{feff}".as_bytes()) { 3 } else { 0 };
    match header {
        Header::First => Ok(Some((fields, end))),
        Header::Numbered => Ok(Some(((1..=fields.len()).map(|number| number.to_string()).collect(), mark))),
        Header::Names(names) if names.len() == fields.len() => Ok(Some((names.to_vec(), mark))),
        Header::Names(names) => {
            let (found, said) = (fields.len(), names.len());
            Err(Place::line(path, 1)
                .error(format!("has {found} fields, but `header` gives {said} names; name each column")))
        }
    }
}

/// The fields of the first record, and where it ends; none if the file is empty.
fn read_first(path: &Path, blocks: &mut Blocks, delimiter: u8) -> Result<Option<(Vec<String>, usize)>> {
    let mut length = 0;
    let (head, end) = loop {
        length = blocks.head(length)?.len();
        let is_end = blocks.is_end();
        let head = blocks.head(length)?;
        let end = header_end(path, head, delimiter, is_end)?;
        match end {
            Some(end) => break (&head[..end], end),
            None if length > MAX_RECORD => {
                return Err(Place::line(path, 1).error("has no end of line in its first 16 MiB"));
            }
            None => length *= 2,
        }
    };
    if head.is_empty() {
        let damage = blocks.damage().map(|finding| Error::input(path, finding));
        return damage.map_or(Ok(None), Err);
    }
    if let Some(fault) = damage(head) {
        return Err(Place::line(path, 1).error(fault.finding));
    }
    let text = String::from_utf8_lossy(head);
    let start = text.len() - text.trim_start_matches('\u{feff}').len();
    let mut spans = Vec::new();
    let bad = |bad: BadQuote| Place::line(path, 1).error(bad.finding);
    split_record(head, start, delimiter, &mut spans).map_err(bad)?;
    Ok(Some((spans.iter().map(|span| span.text(&text, 0).into_owned()).collect(), end)))
}

/// Where the first record ends, if it does within these bytes.
fn header_end(path: &Path, head: &[u8], delimiter: u8, is_end: bool) -> Result<Option<usize>> {
    let start = if head.starts_with("\u{feff}".as_bytes()) { 3 } else { 0 };
    if start == head.len() && is_end {
        return Ok(Some(0));
    }
    match split_record(head, start, delimiter, &mut Vec::new()) {
        Ok(end) if end < head.len() || is_end => Ok(Some(end)),
        Err(bad) if is_end => {
            let finding = damage(head).map_or(bad.finding.to_string(), |fault| fault.finding);
            Err(Place::line(path, 1).error(finding))
        }
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests;
