//! Reads JSON logs: an object per line, or one array of objects, to rows.

mod array;
mod value;

use std::path::{Path, PathBuf};

use memchr::memchr;

use super::text::{Parsed, TextForm, bad_rows_of};
use crate::error::Place;
use crate::log::bad_rows::{BadKind, BadRow, Fault};
use crate::log::blocks::{After, Block, Blocks, Cut, Lines, cut_at_lines, damage, is_text, lines_end};
use crate::log::build::RowBuilder;
use crate::log::layout::Layout;
use crate::log::missing::refuse_header;
use crate::log::options::ReadOptions;
use crate::log::pages::find_lists;
use crate::log::record::{Record, Value};
use crate::{Error, Result};
use array::{Piece, Pieces, elements_end};
pub(in crate::log) use value::parse_list;
use value::{read_keys, read_object};

/// So many of the first objects tell the columns.
const SAMPLE: usize = 1000;

/// How to read the objects of a file.
pub(super) struct JsonForm {
    path: PathBuf,
    is_array: bool,
    /// The columns that are read; others are passed over.
    names: Vec<String>,
    layout: Layout,
    stops: bool,
    places: bool,
}

/// An object as the values of the columns that are read.
struct Object<'a> {
    values: Vec<Value<'a>>,
    raw: &'a str,
    line: u64,
}

impl Record for Object<'_> {
    fn value(&self, column: usize) -> Value<'_> {
        self.values[column].clone()
    }

    fn place(&self) -> u64 {
        self.line
    }

    fn raw(&self) -> String {
        self.raw.to_string()
    }
}

impl JsonForm {
    /// Finds the columns by the first objects, if there are any.
    pub fn open(
        path: &Path,
        blocks: &mut Blocks,
        options: &ReadOptions,
        notes: &mut Vec<String>,
    ) -> Result<Option<Self>> {
        refuse_header(path, options, "JSON")?;
        let Some(is_array) = skip_opening(blocks)? else {
            return blocks.damage().map_or(Ok(None), |finding| Err(Error::input(path, finding)));
        };
        let length = blocks.head(0)?.len();
        let is_end = blocks.is_end();
        let head = blocks.head(length)?;
        // Up to here the records are whole.
        let end = match is_end {
            true => head.len(),
            false if is_array => elements_end(head, After::Start).0,
            false => lines_end(head),
        };
        let texts = pieces(&head[..end], After::Start, false, is_array).filter(|piece| piece.finding.is_none());
        let texts = texts.filter_map(|piece| std::str::from_utf8(&head[piece.start..piece.end]).ok());
        let sample: Vec<&str> = texts.take(SAMPLE).collect();
        let (names, layout) = find_columns(path, &sample, options, notes)?;
        let (stops, places) = (!options.skips(), options.more.places);
        Ok(Some(JsonForm { path: path.to_path_buf(), is_array, names, layout, stops, places }))
    }

    fn push(&self, record: &[u8], is_text: bool, line: u64, builder: &mut RowBuilder<'_>) -> Result<(), Fault> {
        if let Some(fault) = if is_text { None } else { damage(record) } {
            return Err(fault);
        }
        let raw = std::str::from_utf8(record).unwrap_or_default();
        let values = read_object(raw, &self.names).map_err(|finding| Fault::new(BadKind::Json, finding))?;
        builder.push(&Object { values, raw, line })
    }
}

impl TextForm for JsonForm {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn columns(&self) -> Vec<(String, crate::log::shape::ColumnKind)> {
        self.names.iter().map(|name| (name.clone(), crate::log::shape::ColumnKind::Any)).collect()
    }

    fn is_array(&self) -> bool {
        self.is_array
    }

    fn cut(&self) -> Cut {
        if self.is_array { Box::new(elements_end) } else { cut_at_lines() }
    }

    fn parse(&self, block: &Block) -> Parsed {
        let bytes = &block.bytes[..];
        let is_text = is_text(bytes);
        let mut builder = RowBuilder::new(&self.layout, self.places);
        let mut bad = Vec::new();
        let mut lines = Lines::new(block);
        for Piece { start, end, finding } in pieces(bytes, block.after, block.is_last, self.is_array) {
            let line = if self.places { lines.line(start) } else { 0 };
            let outcome = match finding {
                Some(finding) => Err(Fault::new(BadKind::Json, finding)),
                None => self.push(&bytes[start..end], is_text, line, &mut builder),
            };
            if let Err(fault) = outcome {
                let place = Place::line(&self.path, lines.line(start));
                bad.push(BadRow { place, fault, raw: String::from_utf8_lossy(&bytes[start..end]).into_owned() });
                if self.stops {
                    break;
                }
            }
        }
        bad_rows_of(&self.path, block, &mut bad);
        Parsed { rows: builder.into_rows(), bad }
    }
}

/// Leaves out what stands before the first record, and says whether the file is one array; none where nothing is left.
///
/// The bracket that opens the array is left out too: a later block may well start with one, of a record in it.
fn skip_opening(blocks: &mut Blocks) -> Result<Option<bool>> {
    if blocks.head(3)?.starts_with("\u{feff}".as_bytes()) {
        blocks.skip(3);
    }
    loop {
        let head = blocks.head(1)?;
        let (length, first) = (head.len(), head.iter().position(|byte| !byte.is_ascii_whitespace()));
        match first {
            Some(at) => {
                let is_array = head[at] == b'[';
                blocks.skip(at + usize::from(is_array));
                return Ok(Some(is_array));
            }
            None if length == 0 => return Ok(None),
            None => blocks.skip(length),
        }
    }
}

/// The columns that are read, and which holds what: only those that are read get a place among the values.
fn find_columns(
    path: &Path,
    sample: &[&str],
    options: &ReadOptions,
    notes: &mut Vec<String>,
) -> Result<(Vec<String>, Layout)> {
    let found = column_names(sample);
    if found.is_empty() {
        let finding = "holds no JSON object at its beginning, but a log has one per line, or an array of them";
        return Err(Place::line(path, 1).error(finding));
    }
    let mut layout = Layout::find(path, &found, options)?;
    let columns = layout.columns();
    let names: Vec<String> = columns.iter().map(|&column| found[column].clone()).collect();
    let doc = &found[layout.doc];
    layout.renumber(|column| columns.partition_point(|&c| c < column));
    let object = |raw: &&'_ str| Some(read_object(raw, &names).ok()?.into_iter().map(Value::into_owned).collect());
    let objects: Vec<Object<'_>> =
        sample.iter().filter_map(object).map(|values| Object { values, raw: "", line: 0 }).collect();
    if let Some((lists, note)) = find_lists(path, &layout, doc, options, &objects)? {
        layout.lists = Some(lists);
        notes.push(note);
    }
    layout.check(path, &found, options)?;
    Ok((names, layout))
}

/// The keys of some objects, in the order in which they come up.
fn column_names(objects: &[&str]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for key in objects.iter().filter_map(|object| read_keys(object)).flatten() {
        if !names.contains(&key) {
            names.push(key);
        }
    }
    names
}

/// The records of a block, and what is wrong between them.
fn pieces(bytes: &[u8], after: After, is_last: bool, is_array: bool) -> Box<dyn Iterator<Item = Piece> + '_> {
    match is_array {
        true => Box::new(Pieces::new(bytes, after, is_last)),
        false => Box::new(lines(bytes).map(|(start, end)| Piece { start, end, finding: None })),
    }
}

/// The lines that are not blank.
fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, usize)> {
    let mut next = 0;
    std::iter::from_fn(move || {
        while next < bytes.len() {
            let start = next;
            let end = memchr(b'\n', &bytes[start..]).map_or(bytes.len(), |newline| start + newline);
            next = end + 1;
            if !bytes[start..end].iter().all(u8::is_ascii_whitespace) {
                return Some((start, end));
            }
        }
        None
    })
}

#[cfg(test)]
mod tests;
