//! Cuts the text into chunks at line ends and parses them in parallel into grades, sparse rows and borrowed ids.

use rayon::prelude::*;

use super::line::{Cursor, Finding, SparseRows, doc_of_comment, read_features, read_grade, read_query, shown};
use crate::data::ReadOptions;

/// The rows of one piece of the text. Ids are borrowed from the text.
#[derive(Debug, Default)]
pub struct Chunk<'a> {
    pub grades: Vec<u8>,
    pub rows: SparseRows,
    /// Consecutive rows with the same query.
    pub runs: Vec<Run<'a>>,
    /// The document of each row, where its comment names one.
    pub docs: Vec<Option<&'a str>>,
    /// How many lines were read.
    pub lines: u64,
    /// Why reading stopped at line `lines`; the rows before it are whole.
    pub failure: Option<Finding>,
}

/// Consecutive rows of one query; no query where the lines name none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run<'a> {
    pub query: Option<&'a str>,
    pub rows: usize,
}

/// Parses the text up to its first bad line, which is the failure of the last chunk.
///
/// The result does not depend on the number of threads.
pub fn parse_chunks<'a>(text: &'a [u8], options: &ReadOptions, chunk_bytes: usize) -> Vec<Chunk<'a>> {
    let mut chunks: Vec<Chunk<'a>> =
        cut_at_lines(text, chunk_bytes).into_par_iter().map(|piece| parse_chunk(piece, options)).collect();
    if let Some(failed) = chunks.iter().position(|chunk| chunk.failure.is_some()) {
        chunks.truncate(failed + 1);
    }
    chunks
}

/// Pieces of at least `size` bytes (but the last) that end at line ends.
fn cut_at_lines(mut text: &[u8], size: usize) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    while !text.is_empty() {
        let from = size.min(text.len());
        let end = text[from..].iter().position(|&byte| byte == b'\n').map_or(text.len(), |at| from + at + 1);
        let (piece, rest) = text.split_at(end);
        pieces.push(piece);
        text = rest;
    }
    pieces
}

fn parse_chunk<'a>(text: &'a [u8], options: &ReadOptions) -> Chunk<'a> {
    let mut chunk = Chunk::default();
    let mut cursor = Cursor::new(text);
    while !cursor.rest().is_empty() {
        let start = cursor;
        chunk.lines += 1;
        if let Err(finding) = chunk.take_line(&mut cursor, options) {
            chunk.rows.drop_unfinished();
            chunk.failure = Some(damage(start).unwrap_or(finding));
            break;
        }
    }
    chunk
}

impl<'a> Chunk<'a> {
    /// Adds the row of a line, unless it is blank or a comment. On an error no part of the row stays in `grades`,
    /// `runs` and `docs`.
    fn take_line(&mut self, cursor: &mut Cursor<'a>, options: &ReadOptions) -> Result<(), Finding> {
        if cursor.at_last_field() {
            read_comment(cursor)?;
            return Ok(());
        }
        let grade = read_grade(cursor, options)?;
        let query = self.known_query(read_query(cursor))?;
        let rows = self.rows.len();
        read_features(cursor, options, &mut self.rows)?;
        let doc = read_comment(cursor).inspect_err(|_| self.rows.row_ends.truncate(rows))?;
        self.grades.push(grade);
        self.docs.push(doc);
        self.add_to_run(query);
        Ok(())
    }

    /// The query as text; looks at its bytes only where they differ from the row before.
    fn known_query(&self, query: Option<&'a [u8]>) -> Result<Option<&'a str>, Finding> {
        let Some(query) = query else { return Ok(None) };
        match self.runs.last() {
            Some(Run { query: Some(last), .. }) if last.as_bytes() == query => Ok(Some(*last)),
            _ if query.is_empty() => Err("the query after 'qid:' is empty, but every document has a query".into()),
            _ => match std::str::from_utf8(query) {
                Ok(query) => Ok(Some(query)),
                Err(_) => Err(format!("query '{}' is not UTF-8 text", shown(query))),
            },
        }
    }

    fn add_to_run(&mut self, query: Option<&'a str>) {
        match self.runs.last_mut() {
            Some(run) if run.query == query => run.rows += 1,
            _ => self.runs.push(Run { query, rows: 1 }),
        }
    }
}

/// The document that the rest of the line names, if any; moves to the next line.
fn read_comment<'a>(cursor: &mut Cursor<'a>) -> Result<Option<&'a str>, Finding> {
    let [b'#', comment @ ..] = cursor.finish_line() else { return Ok(None) };
    match std::str::from_utf8(comment) {
        Ok(comment) if !comment.contains('\0') => Ok(doc_of_comment(comment)),
        _ => Err("the comment is not UTF-8 text".into()),
    }
}

/// What is wrong with the whole line where it is not even text.
fn damage(mut line: Cursor<'_>) -> Option<Finding> {
    let line = line.finish_line();
    if line.contains(&0) {
        return Some("holds NUL bytes, but text is expected here; the file is damaged or of another kind".into());
    }
    let error = std::str::from_utf8(line).err()?;
    let byte = line[error.valid_up_to()];
    Some(format!("byte 0x{byte:02x} is not UTF-8 text; convert the file to UTF-8"))
}

/// The line, counted from 1, of row number `row`.
pub fn line_of_row(text: &[u8], row: usize) -> u64 {
    let mut cursor = Cursor::new(text);
    let (mut line, mut rows) = (0, 0);
    while !cursor.rest().is_empty() {
        line += 1;
        rows += usize::from(!cursor.at_last_field());
        if rows == row + 1 {
            break;
        }
        cursor.finish_line();
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_of_any_size_hold_the_same_rows() {
        let text = b"# head\n1 qid:a 1:1 2:2 # x\n\n0 qid:a 3:3#y\r\n2 qid:b # z\n0 qid:b 1:9 #w";
        for size in 1..text.len() + 1 {
            let chunks = parse_chunks(text, &ReadOptions::new(), size);
            let grades: Vec<u8> = chunks.iter().flat_map(|c| c.grades.clone()).collect();
            let docs: Vec<_> = chunks.iter().flat_map(|c| c.docs.clone()).flatten().collect();
            let rows: Vec<_> = chunks.iter().flat_map(|c| c.rows.iter()).map(<[_]>::to_vec).collect();
            assert_eq!(grades, [1, 0, 2, 0]);
            assert_eq!(docs, ["x", "y", "z", "w"]);
            assert_eq!(rows, [vec![(0, 1.0), (1, 2.0)], vec![(2, 3.0)], vec![], vec![(0, 9.0)]]);
            assert_eq!(chunks.iter().map(|c| c.lines).sum::<u64>(), 6);
        }
    }

    #[test]
    fn reading_stops_at_the_first_bad_line() {
        let text = b"1 qid:1 1:1\n1 qid:1 1:x\n1 qid:1 0:1\n";
        for size in 1..40 {
            let chunks = parse_chunks(text, &ReadOptions::new(), size);
            assert_eq!(chunks.iter().map(|c| c.lines).sum::<u64>(), 2);
            assert_eq!(chunks.iter().map(|c| c.rows.len()).sum::<usize>(), 1);
            assert!(chunks.last().unwrap().failure.as_ref().unwrap().starts_with("'1:x' is not a feature"));
        }
    }

    #[test]
    fn rows_are_found_again_by_line() {
        let text = b"# head\n\n1 qid:1 1:1\n \r\n0 qid:1\n0 qid:2";
        assert_eq!([0, 1, 2].map(|row| line_of_row(text, row)), [3, 5, 6]);
    }
}
