//! Reads CSV and TSV logs: records to rows, in chunks that are cut at the ends of records and parsed independently.
//!
//! A field may stand in quotes; a quote inside is then doubled, and delimiters and newlines are ordinary. A quote
//! inside an unquoted field is an ordinary character. Empty lines are no records.

use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::columns::{Columns, FIELDS};
use super::rows::{IdColumn, Rows};
use super::values::{click_of_text, position_of_text, session_of_text};
use crate::error::Place;
use crate::files::read_bytes;
use crate::{Error, Result};

/// About how many bytes are parsed at a time: large enough that a chunk's dictionaries pay.
const CHUNK: usize = 4 << 20;

/// A CSV or TSV file in memory.
pub(crate) struct DelimitedFile {
    path: PathBuf,
    bytes: Vec<u8>,
    delimiter: u8,
    /// How many columns the header has.
    width: usize,
    /// Where the six fields stand among them.
    fields: [usize; 6],
    chunks: Vec<Range<usize>>,
}

/// What is wrong, and the byte of the file where.
struct Fault {
    offset: usize,
    finding: String,
}

/// A field inside its record, without its quotes.
#[derive(Clone, Copy)]
struct Span {
    start: usize,
    end: usize,
    /// Whether it holds doubled quotes.
    escaped: bool,
}

impl Span {
    fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let raw = &text[self.start..self.end];
        if self.escaped { Cow::Owned(raw.replace("\"\"", "\"")) } else { Cow::Borrowed(raw) }
    }
}

impl DelimitedFile {
    pub fn open(path: &Path, delimiter: u8, columns: &Columns) -> Result<Self> {
        Self::parse(path, read_bytes(path)?, delimiter, columns, CHUNK)
    }

    fn parse(path: &Path, bytes: Vec<u8>, delimiter: u8, columns: &Columns, chunk: usize) -> Result<Self> {
        let start = if bytes.starts_with("\u{feff}".as_bytes()) { 3 } else { 0 };
        if start == bytes.len() {
            return Err(Error::input(path, "holds no impressions: the file is empty"));
        }
        let mut spans = Vec::new();
        let header_end = split_record(&bytes, start, delimiter, &mut spans).map_err(|f| f.error(path, &bytes))?;
        let names = spans.iter().map(|span| header_name(path, &bytes, span)).collect::<Result<Vec<_>>>()?;
        let fields = columns.find(path, &names)?;
        let chunks = cut(&bytes, header_end, delimiter, chunk);
        Ok(DelimitedFile { path: path.to_path_buf(), bytes, delimiter, width: names.len(), fields, chunks })
    }

    pub fn chunk_count(&self) -> usize {
        self.chunks.len()
    }

    /// Parses one chunk.
    pub fn rows(&self, chunk: usize) -> Result<Rows> {
        let mut rows = Rows::default();
        let mut previous = Previous::default();
        self.for_each_record(chunk, |text, spans, _| {
            self.push_row(text, spans, &mut rows, &mut previous)?;
            Ok(true)
        })?;
        Ok(rows)
    }

    /// Where row `row` of a chunk stands, and the text of its session.
    pub fn locate(&self, chunk: usize, row: usize) -> Result<(Place, String)> {
        let mut left = row;
        let mut found = (Place::file(&self.path), String::new());
        self.for_each_record(chunk, |text, spans, offset| {
            if left == 0 {
                let line = line_of(&self.bytes, offset);
                found = (Place::line(&self.path, line), spans[self.fields[0]].text(text).into_owned());
                return Ok(false);
            }
            left -= 1;
            Ok(true)
        })?;
        Ok(found)
    }

    /// Hands each record of a chunk to `take` with its place in the file, until it returns `false` or finds a fault.
    fn for_each_record<'a>(
        &'a self,
        chunk: usize,
        mut take: impl FnMut(&'a str, &[Span], usize) -> Result<bool, String>,
    ) -> Result<()> {
        let base = self.chunks[chunk].start;
        let (text, damage) = good_prefix(&self.bytes[self.chunks[chunk].clone()], base);
        let fail = |fault: Fault| Err(fault.error(&self.path, &self.bytes));
        let mut spans = Vec::with_capacity(self.width);
        let mut start = 0;
        while start < text.len() {
            let next = match split_record(text.as_bytes(), start, self.delimiter, &mut spans) {
                Ok(next) => next,
                // Where the text breaks off at damage, so does its last record.
                Err(fault) => return fail(damage.unwrap_or(Fault { offset: base + fault.offset, ..fault })),
            };
            if next == text.len() && damage.is_some() && !text.ends_with('\n') {
                break;
            }
            if !spans.is_empty() {
                let finding = match self.check_width(&spans) {
                    Ok(()) => take(text, &spans, base + start),
                    Err(finding) => Err(finding),
                };
                match finding {
                    Ok(true) => {}
                    Ok(false) => return Ok(()),
                    Err(finding) => return fail(Fault { offset: base + start, finding }),
                }
            }
            start = next;
        }
        damage.map_or(Ok(()), fail)
    }

    fn check_width(&self, spans: &[Span]) -> Result<(), String> {
        if spans.len() == self.width {
            return Ok(());
        }
        Err(format!(
            "has {} fields, but the header has {}; is a field with delimiters unquoted?",
            spans.len(),
            self.width
        ))
    }

    fn push_row<'a>(
        &self,
        text: &'a str,
        spans: &[Span],
        rows: &mut Rows,
        previous: &mut Previous<'a>,
    ) -> Result<(), String> {
        let [session, user, query, doc, position, click] = self.fields.map(|field| spans[field].text(text));
        rows.sessions.push(previous.session.get(session, 0, session_of_text)?);
        let user = previous.user.get(user, 1, |text| rows.users.code_of_text(text))?;
        let query = previous.query.get(query, 2, |text| rows.queries.code_of_text(text))?;
        rows.users.codes.push(user);
        rows.queries.codes.push(query);
        push_id(&mut rows.docs, &doc)?;
        rows.positions.push(position_of_text(&position)?);
        rows.clicks.push(click_of_text(&click)?);
        Ok(())
    }
}

fn push_id(column: &mut IdColumn, text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Err(empty(3));
    }
    let code = column.code_of_text(text);
    column.codes.push(code);
    Ok(())
}

fn empty(field: usize) -> String {
    format!("{} is empty, but every impression needs one", FIELDS[field])
}

/// The row before: rows of one result page mostly follow each other, and share three of their fields.
#[derive(Default)]
struct Previous<'a> {
    session: Last<'a, u64>,
    user: Last<'a, u32>,
    query: Last<'a, u32>,
}

#[derive(Default)]
struct Last<'a, T> {
    text: Cow<'a, str>,
    value: T,
}

impl<'a, T: Copy> Last<'a, T> {
    fn get(&mut self, text: Cow<'a, str>, field: usize, value: impl FnOnce(&str) -> T) -> Result<T, String> {
        if text.is_empty() {
            return Err(empty(field));
        }
        if text != self.text {
            self.value = value(&text);
            self.text = text;
        }
        Ok(self.value)
    }
}

impl Fault {
    fn error(self, path: &Path, bytes: &[u8]) -> Error {
        Place::line(path, line_of(bytes, self.offset)).error(self.finding)
    }
}

fn line_of(bytes: &[u8], offset: usize) -> u64 {
    1 + bytes[..offset].iter().filter(|&&b| b == b'\n').count() as u64
}

fn header_name(path: &Path, bytes: &[u8], span: &Span) -> Result<String> {
    let raw = &bytes[span.start..span.end];
    let (text, damage) = good_prefix(raw, span.start);
    match damage {
        Some(fault) => Err(fault.error(path, bytes)),
        None => Ok(Span { start: 0, end: text.len(), escaped: span.escaped }.text(text).into_owned()),
    }
}

/// The bytes as text up to the first that cannot be part of a text file, and what that is.
fn good_prefix(bytes: &[u8], base: usize) -> (&str, Option<Fault>) {
    let nul = if bytes.contains(&0) { bytes.iter().position(|&b| b == 0) } else { None };
    let clean = &bytes[..nul.unwrap_or(bytes.len())];
    let finding = |at: usize, finding: String| Some(Fault { offset: base + at, finding });
    match std::str::from_utf8(clean) {
        Ok(text) => (
            text,
            nul.and_then(|at| finding(at, "holds a NUL byte; is it text, and was it written to the end?".into())),
        ),
        Err(error) => {
            let at = error.valid_up_to();
            let byte = clean[at];
            let text = std::str::from_utf8(&clean[..at]).unwrap_or_default();
            (text, finding(at, format!("byte 0x{byte:02x} is not UTF-8 text; convert the file to UTF-8")))
        }
    }
}

/// Splits the record at `start` into its fields, none for an empty line; returns where the next record starts.
fn split_record(bytes: &[u8], start: usize, delimiter: u8, spans: &mut Vec<Span>) -> Result<usize, Fault> {
    spans.clear();
    let mut at = start;
    loop {
        let (span, end) = if bytes.get(at) == Some(&b'"') {
            quoted_field(bytes, at, delimiter)?
        } else {
            unquoted_field(bytes, at, delimiter)
        };
        spans.push(span);
        match bytes.get(end) {
            Some(&byte) if byte == delimiter => at = end + 1,
            _ => {
                let next = (end + 1).min(bytes.len());
                let is_blank = spans.len() == 1 && span.start == span.end && span.start == start;
                if is_blank {
                    spans.clear();
                }
                return Ok(next);
            }
        }
    }
}

/// The field at `start`, and where its delimiter or newline stands.
fn unquoted_field(bytes: &[u8], start: usize, delimiter: u8) -> (Span, usize) {
    let length = bytes[start..].iter().position(|&b| b == delimiter || b == b'\n');
    let end = length.map_or(bytes.len(), |length| start + length);
    let is_line_end = bytes.get(end).is_none_or(|&b| b == b'\n');
    let carriage_return = is_line_end && end > start && bytes[end - 1] == b'\r';
    (Span { start, end: end - usize::from(carriage_return), escaped: false }, end)
}

fn quoted_field(bytes: &[u8], quote: usize, delimiter: u8) -> Result<(Span, usize), Fault> {
    let (close, escaped) = closing_quote(bytes, quote)
        .ok_or_else(|| Fault { offset: quote, finding: "a quote opens here and never closes".into() })?;
    let span = Span { start: quote + 1, end: close, escaped };
    let rest = &bytes[close + 1..];
    match rest {
        [] | [b'\n', ..] => Ok((span, close + 1)),
        [b'\r', b'\n', ..] | [b'\r'] => Ok((span, close + 2)),
        [byte, ..] if *byte == delimiter => Ok((span, close + 1)),
        _ => Err(Fault {
            offset: close,
            finding: "text follows a closing quote; quote the whole field and double the quotes inside".into(),
        }),
    }
}

/// Where the quote that closes the one at `quote` stands, and whether doubled ones lie between.
fn closing_quote(bytes: &[u8], quote: usize) -> Option<(usize, bool)> {
    let mut at = quote + 1;
    let mut escaped = false;
    loop {
        let close = at + bytes[at..].iter().position(|&b| b == b'"')?;
        if bytes.get(close + 1) != Some(&b'"') {
            return Some((close, escaped));
        }
        escaped = true;
        at = close + 2;
    }
}

/// Cuts the records from `start` on into chunks of about `size` bytes, each ending at the end of a record.
fn cut(bytes: &[u8], start: usize, delimiter: u8, size: usize) -> Vec<Range<usize>> {
    let mut cuts = vec![start];
    let mut from = start;
    // Without quotes every newline ends a record.
    let mut has_quotes = bytes[start..].contains(&b'"');
    while from < bytes.len() {
        let quote = if has_quotes { opening_quote(bytes, from, start, delimiter) } else { None };
        has_quotes = quote.is_some();
        cut_unquoted(bytes, from..quote.unwrap_or(bytes.len()), size, &mut cuts);
        let Some(quote) = quote else { break };
        from = closing_quote(bytes, quote).map_or(bytes.len(), |(close, _)| close + 1);
    }
    cuts.push(bytes.len());
    cuts.windows(2).map(|w| w[0]..w[1]).filter(|chunk| !chunk.is_empty()).collect()
}

/// The next quote from `from` on that starts a field.
fn opening_quote(bytes: &[u8], from: usize, start: usize, delimiter: u8) -> Option<usize> {
    let mut at = from;
    loop {
        let quote = at + bytes[at..].iter().position(|&b| b == b'"')?;
        if quote == start || bytes[quote - 1] == delimiter || bytes[quote - 1] == b'\n' {
            return Some(quote);
        }
        at = quote + 1;
    }
}

fn cut_unquoted(bytes: &[u8], range: Range<usize>, size: usize, cuts: &mut Vec<usize>) {
    let mut last = cuts.last().copied().unwrap_or(0);
    while last + size < range.end {
        let from = range.start.max(last + size);
        let Some(newline) = bytes[from..range.end].iter().position(|&b| b == b'\n') else { break };
        last = from + newline + 1;
        cuts.push(last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEADER: &str = "session,user,query,doc,position,click\n";

    type Record = (u64, String, String, String, u32, bool);

    fn read(content: &[u8], chunk: usize) -> Result<Vec<Record>> {
        let path = Path::new("clicks.csv");
        let file = DelimitedFile::parse(path, content.to_vec(), b',', &Columns::default(), chunk)?;
        let mut rows = Vec::new();
        for chunk in 0..file.chunk_count() {
            let r = file.rows(chunk)?;
            rows.extend((0..r.len()).map(|i| {
                let [user, query, doc] = [&r.users, &r.queries, &r.docs].map(|c| c.name(c.codes[i]).into_owned());
                (r.sessions[i], user, query, doc, r.positions[i], r.clicks[i])
            }));
        }
        Ok(rows)
    }

    fn error(rows: &str) -> String {
        let content = format!("{HEADER}{rows}");
        let errors: Vec<_> = [1, 20, 1000].map(|chunk| read(content.as_bytes(), chunk).unwrap_err().to_string()).into();
        assert!(errors.iter().all(|e| *e == errors[0]), "{errors:?}");
        errors[0].clone()
    }

    #[test]
    fn quotes_newlines_and_carriage_returns_are_read() {
        let content = "\u{feff}\"session\",user,query,doc,position,click\r\n\
                       1,ann,\"a \"\"b\"\",\nc\",d1,1,1\r\n\r\n2,5\" disk,q,\"d2\",2,0";
        let expected = [
            (1, "ann".into(), "a \"b\",\nc".into(), "d1".into(), 1, true),
            (2, "5\" disk".into(), "q".into(), "d2".into(), 2, false),
        ];
        for chunk in [1, 10, 1000] {
            assert_eq!(read(content.as_bytes(), chunk).unwrap(), expected);
        }
    }

    #[test]
    fn bad_rows_are_named_with_their_line() {
        let good = "1,u,q,d,1,0\n";
        assert_eq!(error(&format!("{good}1,u,q,e,0,0\n")), "clicks.csv:3: position is 0, but positions start at 1");
        assert_eq!(error(&format!("{good}1,u,q,e,2,2\n")), "clicks.csv:3: click is 2, but a click is 0 or 1");
        assert_eq!(error("1,,q,d,1,0\n"), "clicks.csv:2: user is empty, but every impression needs one");
        assert_eq!(error("1,u,q,,1,0\n"), "clicks.csv:2: doc is empty, but every impression needs one");
        assert_eq!(
            error(&format!("{good}1,u,q,d,1\n1,u,q,d,0,0\n")),
            "clicks.csv:3: has 5 fields, but the header has 6; is a field with delimiters unquoted?"
        );
        assert_eq!(
            error(&format!("{good}{good}1,u,\"q,d,1,0\n{good}")),
            "clicks.csv:4: a quote opens here and never closes"
        );
        assert!(error("1,u,\"q\"x,d,1,0\n").starts_with("clicks.csv:2: text follows a closing quote"));
        assert!(error("1,u,\"a\n\nb\",d,1,0\n1,u,q,d,x,0").starts_with("clicks.csv:5: position is x"));
    }

    #[test]
    fn damage_is_named_with_its_line_but_after_earlier_errors() {
        let damaged = |rows: &[u8]| read(&[HEADER.as_bytes(), rows].concat(), 1000).unwrap_err().to_string();
        assert_eq!(
            damaged(b"1,u,q,d,1,0\n1,u,\"q\xff\",d,1,0\n"),
            "clicks.csv:3: byte 0xff is not UTF-8 text; convert the file to UTF-8"
        );
        assert_eq!(
            damaged(b"1,u,q,d,1,0\n1,u,q,d\0,1,0\n"),
            "clicks.csv:3: holds a NUL byte; is it text, and was it written to the end?"
        );
        assert!(damaged(b"1,u,q,d,0,0\n\xff,u,q,d,1,0\n").starts_with("clicks.csv:2: position is 0"));
    }

    #[test]
    fn files_without_impressions_are_refused() {
        assert_eq!(read(b"", 9).unwrap_err().to_string(), "clicks.csv: holds no impressions: the file is empty");
        assert!(read(HEADER.as_bytes(), 9).unwrap().is_empty());
    }

    proptest! {
        #[test]
        fn any_bytes_give_rows_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200), chunk in 1usize..50) {
            let _ = read(&bytes, chunk);
        }

        #[test]
        fn chunks_do_not_change_what_is_read(
            rows in proptest::collection::vec(
                ("[a-z\",\n\r]{1,4}", "[a-z\",\n\r]{1,4}", 1u32..5, any::<bool>(), any::<bool>()), 1..12),
            noise in proptest::option::of((0usize..200, any::<u8>())),
            chunk in 1usize..60,
        ) {
            let mut content = HEADER.to_string();
            for (user, doc, position, click, crlf) in rows {
                let quoted = |t: &str| format!("\"{}\"", t.replace('"', "\"\""));
                let end = if crlf { "\r\n" } else { "\n" };
                content += &format!("1,{},q,{},{position},{click}{end}", quoted(&user), quoted(&doc));
            }
            let mut bytes = content.into_bytes();
            if let Some((at, byte)) = noise {
                let at = HEADER.len() + at % (bytes.len() - HEADER.len());
                bytes[at] = byte;
            }
            let whole = read(&bytes, 1 << 20).map_err(|e| e.to_string());
            prop_assert_eq!(read(&bytes, chunk).map_err(|e| e.to_string()), whole);
        }
    }
}
