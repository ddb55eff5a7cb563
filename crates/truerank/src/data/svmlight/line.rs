//! Takes one line of SVMlight text apart: grade, query, features, document.

use super::number::{read_number, token};
use crate::data::ReadOptions;

/// What features must be, as errors say it.
pub const FINITE: &str = "features must be finite numbers of 32 bits, or nan where one is missing";

/// What breaks a rule, without its place.
pub type Finding = String;

/// Sparse rows, one after another. Zeros are left out.
#[derive(Debug, Default)]
pub struct SparseRows {
    pub row_ends: Vec<usize>,
    pub entries: Vec<(u32, f32)>,
    /// One more than the highest column seen, zeros included.
    pub width: usize,
}

impl SparseRows {
    pub fn len(&self) -> usize {
        self.row_ends.len()
    }

    /// The entries of each row in turn.
    pub fn iter(&self) -> impl Iterator<Item = &[(u32, f32)]> {
        let mut start = 0;
        self.row_ends.iter().map(move |&end| &self.entries[std::mem::replace(&mut start, end)..end])
    }

    /// Drops the entries of a row that was not finished.
    pub fn drop_unfinished(&mut self) {
        self.entries.truncate(self.row_ends.last().copied().unwrap_or(0));
    }
}

/// A place in the text, moving forwards.
#[derive(Clone, Copy)]
pub struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub fn new(text: &'a [u8]) -> Self {
        Cursor { rest: text }
    }

    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    fn skip(&mut self, count: usize) {
        self.rest = &self.rest[count..];
    }

    /// The next byte that is not blank; a carriage return counts as blank.
    #[inline]
    pub fn peek(&mut self) -> Option<u8> {
        while let [b' ' | b'\t' | b'\r', rest @ ..] = self.rest {
            self.rest = rest;
        }
        self.rest.first().copied()
    }

    /// Whether no more fields follow on this line.
    #[inline]
    pub fn at_last_field(&mut self) -> bool {
        matches!(self.peek(), None | Some(b'\n' | b'#'))
    }

    /// The next field of the line; empty at its end.
    pub fn field(&mut self) -> &'a [u8] {
        self.peek();
        let field = token(self.rest);
        self.skip(field.len());
        field
    }

    /// What is left of the line; moves to the next line.
    pub fn finish_line(&mut self) -> &'a [u8] {
        let end = self.rest.iter().position(|&byte| byte == b'\n');
        let line = &self.rest[..end.unwrap_or(self.rest.len())];
        self.skip(end.map_or(self.rest.len(), |end| end + 1));
        line
    }

    fn number(&mut self) -> Option<f32> {
        let (value, length) = read_number(self.rest)?;
        self.skip(length);
        Some(value)
    }

    /// The digits before a colon, and past the colon.
    #[inline]
    fn index(&mut self) -> Option<u64> {
        let mut index: u64 = 0;
        for (at, &byte) in self.rest.iter().enumerate() {
            match byte {
                b'0'..=b'9' => index = index.saturating_mul(10).saturating_add(u64::from(byte - b'0')),
                b':' if at > 0 => {
                    self.skip(at + 1);
                    return Some(index);
                }
                _ => return None,
            }
        }
        None
    }
}

/// The grade at the start of a line.
pub fn read_grade(cursor: &mut Cursor<'_>, options: &ReadOptions) -> Result<u8, Finding> {
    let field = *cursor;
    match cursor.number() {
        Some(value) => options.grade(f64::from(value)),
        None => Err(format!("grade is '{}', but a line starts with a number", shown(token(field.rest)))),
    }
}

/// The query after the grade, where the line names one.
pub fn read_query<'a>(cursor: &mut Cursor<'a>) -> Option<&'a [u8]> {
    cursor.peek();
    if !cursor.rest.starts_with(b"qid:") {
        return None;
    }
    cursor.skip(b"qid:".len());
    let query = token(cursor.rest);
    cursor.skip(query.len());
    Some(query)
}

/// The features up to the line's end or comment, as one more row of `rows`.
#[inline]
pub fn read_features(cursor: &mut Cursor<'_>, options: &ReadOptions, rows: &mut SparseRows) -> Result<(), Finding> {
    let start = *cursor;
    let mut next = 0;
    let mut ascending = true;
    while !cursor.at_last_field() {
        let (column, value) = read_feature(cursor, options)?;
        ascending &= column >= next;
        next = column + 1;
        rows.width = rows.width.max(next as usize);
        // Minus zero is kept, so that a file reads back bit for bit.
        if value.to_bits() != 0 {
            rows.entries.push((column, value));
        }
    }
    if !ascending {
        check_distinct(start, options)?;
    }
    rows.row_ends.push(rows.entries.len());
    Ok(())
}

#[inline]
fn read_feature(cursor: &mut Cursor<'_>, options: &ReadOptions) -> Result<(u32, f32), Finding> {
    let field = *cursor;
    let Some(index) = cursor.index() else { return Err(not_a_feature(field)) };
    let column = options.column(index)?;
    match cursor.number() {
        Some(value) if value.is_finite() => Ok((column, value)),
        // C writes -nan for some: the sign says nothing, and the same bits make the same bytes.
        Some(value) if value.is_nan() => Ok((column, f32::NAN)),
        Some(_) => Err(not_finite(index, field)),
        None => Err(not_a_feature(field)),
    }
}

#[cold]
fn not_a_feature(field: Cursor<'_>) -> Finding {
    let field = shown(token(field.rest));
    if field.starts_with("qid:") {
        return format!("'{field}' comes after the features, but the query stands right after the grade");
    }
    format!("'{field}' is not a feature, but features look like 3:0.25")
}

#[cold]
fn not_finite(index: u64, field: Cursor<'_>) -> Finding {
    let field = shown(token(field.rest));
    let value = field.split_once(':').map_or("", |(_, value)| value);
    format!("feature {index} is {value}, but {FINITE}")
}

/// Features may come in any order, which is rare, but each once.
#[cold]
fn check_distinct(mut cursor: Cursor<'_>, options: &ReadOptions) -> Result<(), Finding> {
    let mut columns = Vec::new();
    while !cursor.at_last_field() {
        columns.push(read_feature(&mut cursor, options)?.0);
    }
    columns.sort_unstable();
    match columns.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => {
            let index = pair[0] as usize + options.first_index();
            Err(format!("feature {index} stands twice in this line, but each feature has one value"))
        }
        None => Ok(()),
    }
}

/// The document that a comment names: its first word, or what follows `docid =`, as in LETOR 4.0.
pub fn doc_of_comment(comment: &str) -> Option<&str> {
    let mut words = comment.split_ascii_whitespace();
    let first = words.next()?;
    match first.strip_prefix("docid") {
        Some("") => {}
        Some("=") => return words.next().or(Some(first)),
        Some(rest) => return rest.strip_prefix('=').or(Some(first)),
        None => return Some(first),
    }
    match words.next() {
        Some("=") => words.next().or(Some(first)),
        Some(second) => second.strip_prefix('=').or(Some(first)),
        None => Some(first),
    }
}

/// A field as a message shows it: readable, and short.
pub fn shown(field: &[u8]) -> String {
    // A field may be a whole file; more than this is not looked at.
    let start = &field[..field.len().min(1 << 10)];
    crate::text::printable_within(&String::from_utf8_lossy(start), 40)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(text: &str) -> Result<Vec<(u32, f32)>, Finding> {
        let mut rows = SparseRows::default();
        read_features(&mut Cursor::new(text.as_bytes()), &ReadOptions::new(), &mut rows)?;
        Ok(rows.entries)
    }

    #[test]
    fn features_come_in_any_order_but_once() {
        assert_eq!(features("3:1 1:0.5\t2:0 # x").unwrap(), [(2, 1.0), (0, 0.5)]);
        assert!(features("2:1 1:1 2:0").unwrap_err().starts_with("feature 2 stands twice"));
        assert!(features("1:0 1:0").unwrap_err().starts_with("feature 1 stands twice"));
    }

    #[test]
    fn features_may_be_missing() {
        let found = features("1:nan 2:NaN 4:-nan").unwrap();
        let bits: Vec<(u32, u32)> = found.iter().map(|(column, value)| (*column, value.to_bits())).collect();
        assert_eq!(bits, [0, 1, 3].map(|column| (column, f32::NAN.to_bits())));
    }

    #[test]
    fn what_is_not_a_feature_is_named() {
        assert_eq!(features("1:2 3").unwrap_err(), "'3' is not a feature, but features look like 3:0.25");
        for text in [":1", "1:", "1: 2", "a:1", "-1:2", "1:x", "1:1:1", "1.5:2"] {
            assert!(features(text).unwrap_err().contains("is not a feature"), "{text}");
        }
        assert!(features("1:2 qid:3").unwrap_err().contains("right after the grade"));
        assert_eq!(
            features("7:1e99").unwrap_err(),
            "feature 7 is 1e99, but features must be finite numbers of 32 bits, or nan where one is missing"
        );
        assert!(features("99999999999999999999999:1").unwrap_err().contains("above 1000000"));
    }

    #[test]
    fn comments_name_documents() {
        let letor = "docid = GX000-00-0000000 inc = 1 prob = 0.02";
        assert_eq!(doc_of_comment(letor), Some("GX000-00-0000000"));
        for comment in [" docid = d1 ", "docid=d1", "docid= d1", "docid =d1", "d1", "d1 and more"] {
            assert_eq!(doc_of_comment(comment), Some("d1"), "{comment}");
        }
        assert_eq!(doc_of_comment("docid"), Some("docid"));
        assert_eq!(doc_of_comment("docids"), Some("docids"));
        assert_eq!(doc_of_comment("  "), None);
    }
}
