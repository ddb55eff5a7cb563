//! Splits CSV and TSV into records and fields, and finds where records end.
//!
//! A field may stand in quotes; a quote inside is then doubled, and delimiters and newlines are ordinary. A quote
//! inside an unquoted field is an ordinary character. After a quote that does not close as it should, records go on at
//! the next line, so that one stray quote costs one record.

use std::borrow::Cow;

use memchr::{memchr, memrchr};

use crate::log::blocks::MAX_RECORD;

/// A field inside its block, without its quotes.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub start: usize,
    pub end: usize,
    /// Whether it holds doubled quotes.
    pub escaped: bool,
}

impl Span {
    /// The field, from the text that starts at `base` in the block.
    #[inline]
    pub fn text<'a>(&self, text: &'a str, base: usize) -> Cow<'a, str> {
        let raw = &text[self.start - base..self.end - base];
        if self.escaped { Cow::Owned(raw.replace("\"\"", "\"")) } else { Cow::Borrowed(raw) }
    }
}

/// A quote that does not close as it should.
#[derive(Debug)]
pub(super) struct BadQuote {
    pub at: usize,
    /// Where the next record starts.
    pub next: usize,
    pub finding: &'static str,
}

const NEVER_CLOSES: &str = "a quote opens here and never closes";
const TEXT_FOLLOWS: &str = "text follows a closing quote; quote the whole field and double the quotes inside";

/// Splits the record at `start` into its fields, none for an empty line; returns where the next record starts.
#[inline]
pub(super) fn split_record(
    bytes: &[u8],
    start: usize,
    delimiter: u8,
    spans: &mut Vec<Span>,
) -> Result<usize, BadQuote> {
    spans.clear();
    let mut at = start;
    loop {
        let (span, end) = match bytes.get(at) {
            Some(b'"') => quoted_field(bytes, at, delimiter)?,
            _ => unquoted_field(bytes, at, delimiter),
        };
        spans.push(span);
        match bytes.get(end) {
            Some(&byte) if byte == delimiter => at = end + 1,
            _ => {
                let is_blank = spans.len() == 1 && span.start == span.end && span.start == start;
                if is_blank {
                    spans.clear();
                }
                return Ok((end + 1).min(bytes.len()));
            }
        }
    }
}

/// The field at `start`, and where its delimiter or newline stands.
#[inline]
fn unquoted_field(bytes: &[u8], start: usize, delimiter: u8) -> (Span, usize) {
    // Most fields are short: a plain loop beats a call.
    let length = bytes[start..].iter().position(|&b| b == delimiter || b == b'\n');
    let end = length.map_or(bytes.len(), |length| start + length);
    let is_line_end = bytes.get(end).is_none_or(|&b| b == b'\n');
    let carriage_return = is_line_end && end > start && bytes[end - 1] == b'\r';
    (Span { start, end: end - usize::from(carriage_return), escaped: false }, end)
}

fn quoted_field(bytes: &[u8], quote: usize, delimiter: u8) -> Result<(Span, usize), BadQuote> {
    match closing(bytes, quote, delimiter) {
        Closing::Good { close, escaped, end } => Ok((Span { start: quote + 1, end: close, escaped }, end)),
        Closing::TextFollows(_) => Err(BadQuote { at: quote, next: next_line(bytes, quote), finding: TEXT_FOLLOWS }),
        Closing::Open => Err(BadQuote { at: quote, next: next_line(bytes, quote), finding: NEVER_CLOSES }),
    }
}

fn next_line(bytes: &[u8], from: usize) -> usize {
    memchr(b'\n', &bytes[from..]).map_or(bytes.len(), |newline| from + newline + 1)
}

/// How a quoted field ends.
enum Closing {
    /// At the quote `close`, with its delimiter or newline at `end`.
    Good { close: usize, escaped: bool, end: usize },
    /// At a quote that neither a delimiter nor a newline follows.
    TextFollows(usize),
    /// Not within these bytes.
    Open,
}

fn closing(bytes: &[u8], quote: usize, delimiter: u8) -> Closing {
    let mut at = quote + 1;
    let mut escaped = false;
    let close = loop {
        let Some(found) = memchr(b'"', &bytes[at..]) else { return Closing::Open };
        let close = at + found;
        if bytes.get(close + 1) != Some(&b'"') {
            break close;
        }
        escaped = true;
        at = close + 2;
    };
    match bytes[close + 1..] {
        [] | [b'\n', ..] => Closing::Good { close, escaped, end: close + 1 },
        [b'\r', b'\n', ..] | [b'\r'] => Closing::Good { close, escaped, end: close + 2 },
        [byte, ..] if byte == delimiter => Closing::Good { close, escaped, end: close + 1 },
        _ => Closing::TextFollows(close),
    }
}

/// Where the last whole record of `bytes` ends, which start at a record and may end anywhere; 0 if none does.
pub(super) fn records_end(bytes: &[u8], delimiter: u8) -> usize {
    let mut from = 0;
    let mut end = 0;
    // Up to here the bytes are looked at together: what is wrong with a quote is seen where it closes.
    let mut together = 0;
    loop {
        let quote = opening_quote(bytes, from, delimiter);
        let stretch = &bytes[from..quote.unwrap_or(bytes.len())];
        if let Some(newline) = memrchr(b'\n', stretch).map(|at| from + at + 1).filter(|&at| at >= together) {
            end = newline;
        }
        let Some(quote) = quote else { return end };
        from = match closing(bytes, quote, delimiter) {
            // The byte after a quote decides what it is.
            Closing::Good { end: after, .. } if after >= bytes.len() => return end,
            Closing::Good { end: after, .. } => after,
            Closing::TextFollows(close) => {
                together = together.max(close + 1);
                next_line(bytes, quote)
            }
            // No record is that long: the quote never closes.
            Closing::Open if end == 0 && bytes.len() > MAX_RECORD => {
                let next = next_line(bytes, quote);
                end = if next < bytes.len() && next >= together { next } else { 0 };
                next
            }
            Closing::Open => return end,
        };
    }
}

/// The next quote from `from` on that starts a field.
fn opening_quote(bytes: &[u8], from: usize, delimiter: u8) -> Option<usize> {
    let mut at = from;
    loop {
        let quote = at + memchr(b'"', &bytes[at..])?;
        if quote == 0 || bytes[quote - 1] == delimiter || bytes[quote - 1] == b'\n' {
            return Some(quote);
        }
        at = quote + 1;
    }
}
