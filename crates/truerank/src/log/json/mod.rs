//! Reads JSON logs: an object per line, or one array of objects, to rows.

mod value;

use std::path::{Path, PathBuf};

use memchr::memchr;

use super::bad_rows::{BadKind, BadRow, Fault};
use super::blocks::{Block, Blocks, Cut, Lines, damage, is_text, lines_end};
use super::build::RowBuilder;
use super::layout::Layout;
use super::missing::refuse_header;
use super::options::ReadOptions;
use super::pages::find_lists;
use super::record::{Record, Value};
use super::text::{Parsed, TextForm, bad_rows_of};
use crate::error::Place;
use crate::{Error, Result};
pub(super) use value::parse_list;
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
        if blocks.head(3)?.starts_with("\u{feff}".as_bytes()) {
            blocks.skip(3);
        }
        let length = blocks.head(0)?.len();
        let is_end = blocks.is_end();
        let head = blocks.head(length)?;
        let Some(first) = head.iter().find(|byte| !byte.is_ascii_whitespace()) else {
            return blocks.damage().map_or(Ok(None), |finding| Err(Error::input(path, finding)));
        };
        let is_array = *first == b'[';
        let whole = if is_end { head } else { &head[..records_end(head, is_array)] };
        let texts = pieces(whole, is_array).filter_map(|(start, end)| std::str::from_utf8(&whole[start..end]).ok());
        let sample: Vec<&str> = texts.take(SAMPLE).collect();
        let (names, layout) = find_columns(path, &sample, options, notes)?;
        let (stops, places) = (!options.skips(), options.places);
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

    #[cfg(feature = "spark")]
    fn columns(&self) -> Vec<(String, super::shape::ColumnKind)> {
        self.names.iter().map(|name| (name.clone(), super::shape::ColumnKind::Any)).collect()
    }

    #[cfg(feature = "spark")]
    fn is_array(&self) -> bool {
        self.is_array
    }

    fn cut(&self) -> Cut {
        let is_array = self.is_array;
        Box::new(move |bytes| records_end(bytes, is_array))
    }

    fn parse(&self, block: &Block) -> Parsed {
        let bytes = &block.bytes[..];
        let is_text = is_text(bytes);
        let mut builder = RowBuilder::new(&self.layout, self.places);
        let mut bad = Vec::new();
        let mut lines = Lines::new(block);
        for (start, end) in pieces(bytes, self.is_array) {
            let line = if self.places { lines.line(start) } else { 0 };
            if let Err(fault) = self.push(&bytes[start..end], is_text, line, &mut builder) {
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

fn records_end(bytes: &[u8], is_array: bool) -> usize {
    if !is_array {
        return lines_end(bytes);
    }
    // Whether the last element is whole is seen by what follows it.
    elements(bytes).map(|(_, end)| end).filter(|&end| end < bytes.len()).last().unwrap_or(0)
}

/// Where the records of a block start and end.
fn pieces(bytes: &[u8], is_array: bool) -> Box<dyn Iterator<Item = (usize, usize)> + '_> {
    if is_array { Box::new(elements(bytes)) } else { Box::new(lines(bytes)) }
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

/// The elements of an array, or of a part of one; its brackets and commas lie between them.
fn elements(bytes: &[u8]) -> impl Iterator<Item = (usize, usize)> {
    let mut next = 0;
    let mut is_first = true;
    std::iter::from_fn(move || {
        let is_between = |byte: u8| byte.is_ascii_whitespace() || byte == b',' || byte == b']';
        loop {
            next += bytes[next..].iter().position(|&byte| !is_between(byte))?;
            // Only the bracket that opens the whole.
            if !(is_first && bytes[next] == b'[') {
                break;
            }
            is_first = false;
            next += 1;
        }
        is_first = false;
        let start = next;
        next = element_end(bytes, start);
        Some((start, next))
    })
}

/// Where the value at `start` ends: at its closing bracket, or before the next comma.
fn element_end(bytes: &[u8], start: usize) -> usize {
    let mut depth = 0usize;
    let mut at = start;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = string_end(bytes, at),
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth <= 1 => return at + usize::from(depth == 1),
            b'}' | b']' => depth -= 1,
            b',' if depth == 0 => return at,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// Where the quote stands that closes the one at `quote`.
fn string_end(bytes: &[u8], quote: usize) -> usize {
    let mut at = quote + 1;
    while let Some(found) = memchr::memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
        if bytes[at + found] == b'"' {
            return at + found;
        }
        at += found + 2;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::OnBadRow;
    use crate::log::blocks::BLOCK;
    use crate::log::input::Input;
    use crate::log::rows::Rows;

    fn read(content: &str, size: usize, on_bad_row: OnBadRow) -> Result<(Rows, Vec<String>)> {
        let path = Path::new("c.jsonl");
        let mut blocks = Blocks::new(path, Input::over(path, std::io::Cursor::new(content.as_bytes().to_vec()))?, size);
        let options = ReadOptions::new().on_bad_row(on_bad_row);
        // The columns are found in a block of the usual size.
        let mut head = Blocks::new(path, Input::over(path, std::io::Cursor::new(content.as_bytes().to_vec()))?, BLOCK);
        let form = JsonForm::open(path, &mut head, &options, &mut Vec::new())?.unwrap();
        let (mut rows, mut bad) = (Rows::default(), Vec::new());
        while let Some(block) = blocks.next(&form.cut())? {
            let parsed = form.parse(&block);
            rows.positions.extend(parsed.rows.positions);
            rows.clicks.extend(parsed.rows.clicks);
            rows.sessions.extend(parsed.rows.sessions);
            bad.extend(parsed.bad.into_iter().map(|bad| bad.error().to_string()));
        }
        Ok((rows, bad))
    }

    fn object(session: u32, rest: &str) -> String {
        format!(r#"{{"session":{session},"user":"u{{\"]","query":"q","doc":7,{rest}}}"#)
    }

    #[test]
    fn lines_and_arrays_are_read_in_blocks_of_any_size() {
        let rows = [object(1, r#""position":1,"click":true"#), object(2, r#""click":0,"x":[{"}":1}],"position":2.0"#)];
        let forms = [
            rows.join("\n"),
            format!("\r\n{}\r\n", rows.join("\r\n")),
            format!("[{}]", rows.join(",\n")),
            format!("\n[\n {}\n]\n", rows.join(" , ")),
        ];
        for content in forms {
            for size in [1, 7, 50, 1000] {
                let (rows, bad) = read(&content, size, OnBadRow::Error).unwrap();
                assert_eq!((rows.sessions, rows.positions, rows.clicks), (vec![1, 2], vec![1, 2], vec![true, false]));
                assert!(bad.is_empty(), "{bad:?}");
            }
        }
    }

    #[test]
    fn objects_that_cannot_be_read_are_named_and_left_out() {
        let good = object(1, r#""position":1,"click":1"#);
        let bad = [
            ("17", "is 17, but a record is a JSON object"),
            ("{\"session\":1", "is not whole JSON"),
            (r#"{"user":"a","user":"b"}"#, "has two values of 'user', but keys must differ"),
            (
                &object(2, r#""position":1,"click":1"#).replace("7", "7.5"),
                "doc is 7.5, but an id is text or a whole number",
            ),
            (&object(2, r#""position":1,"click":1"#).replace("7", "{}"), "doc is an object, but"),
            (&object(2, r#""position":1,"click":null"#), "click is missing, but every impression needs one"),
            (&object(2, r#""position":1"#), "click is missing"),
        ];
        for (line, finding) in bad {
            let (rows, bad) = read(&format!("{good}\n{line}\n{good}\n"), 20, OnBadRow::Skip).unwrap();
            assert_eq!((rows.sessions.len(), bad.len()), (2, 1), "{line}: {bad:?}");
            assert!(bad[0].starts_with("c.jsonl:2: ") && bad[0].contains(finding), "{bad:?}");
        }
    }

    #[test]
    fn files_without_objects_are_refused() {
        assert!(read("17\n", 9, OnBadRow::Skip).err().unwrap().to_string().contains("holds no JSON object"));
    }
}
