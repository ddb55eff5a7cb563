//! Walks one array of records: its bytes, or a block of them, enter, where elements stand and what is wrong between
//! them leave.
//!
//! Why no streaming parser: one would have to read the whole file on one thread, and still leave each element to be
//! parsed a second time for its values. Blocks are cut by brackets and quotes alone, and elements are parsed by
//! `serde_json` on all threads; what is left is the grammar between elements, which is five states.

use memchr::{memchr, memchr2};

use crate::log::blocks::{After, lines_end};

const ELEMENT_MISSING: &str = "an element is missing before a comma; remove the comma";
const COMMA_BEFORE_END: &str = "the array ends after a comma; remove the comma, or was an element lost?";
const COMMA_MISSING: &str = "has no comma before it, but commas stand between the elements of an array";
const CLOSED_TWICE: &str = "has a closing bracket too many";
const NOT_CLOSED: &str = "the array is not closed; was the file written to its end?";
const AFTER_END: &str = "follows the end of the array, but a file holds one array, or one object per line";

/// An element, or something that should not be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub start: usize,
    pub end: usize,
    /// What is wrong with it, whatever it holds.
    pub finding: Option<&'static str>,
}

/// What may come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    ElementOrEnd,
    Element,
    CommaOrEnd,
    /// After a gap nobody knows.
    Anything,
    Nothing,
}

/// The pieces of an array, or of a block of one.
pub(super) struct Pieces<'a> {
    bytes: &'a [u8],
    at: usize,
    expected: Expected,
    /// Whether the array must be closed at the end of these bytes.
    is_last: bool,
    /// Where the closing bracket ends, as soon as it was passed.
    closed: Option<usize>,
    /// Where the last thing that is not blank ends.
    seen: usize,
}

impl<'a> Pieces<'a> {
    /// `after` says what lies before the bytes, of which the opening bracket is none.
    pub fn new(bytes: &'a [u8], after: After, is_last: bool) -> Self {
        let expected = match after {
            After::Start => Expected::ElementOrEnd,
            After::Record => Expected::CommaOrEnd,
            After::Gap => Expected::Anything,
            After::End => Expected::Nothing,
        };
        Pieces { bytes, at: 0, expected, is_last, closed: None, seen: 0 }
    }

    fn piece(&mut self, start: usize, end: usize, finding: Option<&'static str>) -> Option<Piece> {
        (self.at, self.seen) = (end, end);
        Some(Piece { start, end, finding })
    }

    /// Passes one bracket or comma that stands where it may.
    fn pass(&mut self, expected: Expected) {
        self.at += 1;
        self.seen = self.at;
        self.expected = expected;
        if expected == Expected::Nothing {
            self.closed = Some(self.at);
        }
    }

    fn element(&mut self, finding: Option<&'static str>) -> Option<Piece> {
        let start = self.at;
        let (end, is_whole) = element_end(self.bytes, start);
        if self.is_last && !is_whole {
            self.expected = Expected::Nothing;
            return self.piece(start, end, Some(NOT_CLOSED));
        }
        self.expected = Expected::CommaOrEnd;
        let finding = if self.bytes[start] == b'}' { Some(CLOSED_TWICE) } else { finding };
        self.piece(start, end, finding)
    }

    /// A run of commas without elements is one piece: so is a file of nothing else.
    fn commas(&mut self) -> Option<Piece> {
        let start = self.at;
        let is_run = |byte: &u8| *byte == b',' || byte.is_ascii_whitespace();
        let run = &self.bytes[start..][..self.bytes[start..].iter().take_while(|byte| is_run(byte)).count()];
        self.expected = Expected::Element;
        self.piece(start, start + run.trim_ascii_end().len(), Some(ELEMENT_MISSING))
    }

    fn line_after_end(&mut self) -> Option<Piece> {
        let rest = &self.bytes[self.at..];
        let line = &rest[..memchr(b'\n', rest).unwrap_or(rest.len())];
        self.piece(self.at, self.at + line.trim_ascii_end().len(), Some(AFTER_END))
    }

    fn end(&mut self) -> Option<Piece> {
        if !self.is_last || self.expected == Expected::Nothing {
            return None;
        }
        self.expected = Expected::Nothing;
        Some(Piece { start: self.seen, end: self.seen, finding: Some(NOT_CLOSED) })
    }
}

impl Iterator for Pieces<'_> {
    type Item = Piece;

    /// Every step passes at least one byte, or is the last one.
    fn next(&mut self) -> Option<Piece> {
        use Expected::{Anything, CommaOrEnd, Element, ElementOrEnd, Nothing};
        loop {
            let Some(blank) = self.bytes[self.at..].iter().position(|byte| !byte.is_ascii_whitespace()) else {
                return self.end();
            };
            self.at += blank;
            match (self.bytes[self.at], self.expected) {
                (_, Nothing) => return self.line_after_end(),
                (b']', Element) => {
                    self.pass(Nothing);
                    return Some(Piece { start: self.at - 1, end: self.at, finding: Some(COMMA_BEFORE_END) });
                }
                (b']', _) => self.pass(Nothing),
                (b',', CommaOrEnd | Anything) => self.pass(Element),
                (b',', ElementOrEnd | Element) => return self.commas(),
                (_, CommaOrEnd) => return self.element(Some(COMMA_MISSING)),
                (_, ElementOrEnd | Element | Anything) => return self.element(None),
            }
        }
    }
}

/// Where the last whole element ends, or the array where it does, and what then lies before the rest.
///
/// What follows the last element stays for the next block, so that the last block always exists and sees the end.
/// Where elements end does not depend on what is wrong between them, so neither does what blocks hold.
pub(super) fn elements_end(bytes: &[u8], after: After) -> (usize, After) {
    if after == After::End {
        return (lines_end(bytes), After::End);
    }
    let mut pieces = Pieces::new(bytes, after, false);
    let mut end = 0;
    while let Some(piece) = pieces.next() {
        if pieces.closed.is_some() {
            break;
        }
        // A comma too many may be one of several, of which the rest is still to come.
        if pieces.expected == Expected::CommaOrEnd && piece.end < bytes.len() {
            end = piece.end;
        }
    }
    pieces.closed.map_or((end, After::Record), |closed| (closed, After::End))
}

/// Where the value at `start` ends, at its closing bracket or before the next comma or bracket, and whether it does
/// within these bytes.
fn element_end(bytes: &[u8], start: usize) -> (usize, bool) {
    let mut depth = 0usize;
    let mut at = start;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = string_end(bytes, at),
            b'{' | b'[' => depth += 1,
            b']' if depth == 0 => return (at, true),
            b',' if depth == 0 => return (at, true),
            b'}' | b']' if depth == 1 => return (at + 1, true),
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    (bytes.len(), false)
}

/// Where the quote stands that closes the one at `quote`.
fn string_end(bytes: &[u8], quote: usize) -> usize {
    let mut at = quote + 1;
    while let Some(found) = memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
        if bytes[at + found] == b'"' {
            return at + found;
        }
        at += found + 2;
    }
    bytes.len()
}
