//! Writes a data set as LETOR/SVMlight text that reads back bit for bit.

use std::io::Write;
use std::ops::Range;
use std::path::Path;

use rayon::prelude::*;

use crate::data::Dataset;
use crate::files::{AtomicFile, zstd_encoder};
use crate::ids::Ids;
use crate::{Error, Result};

/// Writes a data set as LETOR/SVMlight text; compressed where the name ends in `.gz` or `.zst`.
///
/// Zeros are left out, so a reader needs the feature count where the last features are zero in all documents.
/// Documents are named in comments unless they are numbered from 1 within each query.
pub fn write_svmlight(data: &Dataset, path: &Path) -> Result<()> {
    let grades = data.require_grades("SVMlight text")?;
    check_ids(data)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let mut file = AtomicFile::create(path)?;
    if name.ends_with(".gz") {
        let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::default());
        write_queries(data, grades, &mut encoder).map_err(|e| Error::io(path, e))?;
        file = encoder.finish().map_err(|e| Error::io(path, e))?;
    } else if name.ends_with(".zst") || name.ends_with(".zstd") {
        let mut encoder = zstd_encoder(file, 3).map_err(|e| Error::io(path, e))?;
        write_queries(data, grades, &mut encoder).map_err(|e| Error::io(path, e))?;
        file = encoder.finish().map_err(|e| Error::io(path, e))?;
    } else {
        write_queries(data, grades, &mut file).map_err(|e| Error::io(path, e))?;
    }
    file.commit()
}

/// Refuses ids that the text could not give back.
fn check_ids(data: &Dataset) -> Result<()> {
    for (kind, ids) in [("query", data.queries()), ("document", data.docs())] {
        let Ids::Texts(texts) = ids else { continue };
        let breaks_text =
            |id: &&str| id.is_empty() || id.contains(|c: char| c == '#' || c == '\0' || c.is_whitespace());
        if let Some(id) = texts.iter().find(breaks_text) {
            return Err(Error::parameter(format!(
                "{kind} id '{id}' is empty or holds a blank or '#', which SVMlight text cannot hold; write Parquet"
            )));
        }
    }
    Ok(())
}

/// How many rows are formatted at a time by one thread.
const ROWS_AT_A_TIME: usize = 1 << 10;

/// Formats some queries per thread in parallel, writes them in order, and goes on.
fn write_queries(data: &Dataset, grades: &[u8], out: &mut impl Write) -> std::io::Result<()> {
    let numbered = docs_are_numbered(data);
    let pieces = pieces(data);
    for wave in pieces.chunks(4 * rayon::current_num_threads()) {
        let texts: Vec<Vec<u8>> =
            wave.par_iter().map(|queries| format(data, grades, numbered, queries.clone())).collect();
        for text in texts {
            out.write_all(&text)?;
        }
    }
    Ok(())
}

fn docs_are_numbered(data: &Dataset) -> bool {
    let Ids::Integers(docs) = data.docs() else { return false };
    data.lists().all(|rows| docs[rows].iter().zip(1..).all(|(&doc, number)| doc == number))
}

/// Runs of whole queries with at least [`ROWS_AT_A_TIME`] rows each, but the last.
fn pieces(data: &Dataset) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut start = 0;
    for query in 0..data.query_count() {
        let rows = data.rows_of(query).end - data.rows_of(start).start;
        if rows >= ROWS_AT_A_TIME || query + 1 == data.query_count() {
            pieces.push(start..query + 1);
            start = query + 1;
        }
    }
    pieces
}

fn format(data: &Dataset, grades: &[u8], numbered: bool, queries: Range<usize>) -> Vec<u8> {
    let mut text = Vec::new();
    for query in queries {
        let name = data.queries().name(query);
        for row in data.rows_of(query) {
            // Writing to memory cannot fail.
            let _ = write!(text, "{} qid:{name}", grades[row]);
            write_features(&mut text, data.row(row));
            if !numbered {
                write_doc(&mut text, &data.docs().name(row));
            }
            text.push(b'\n');
        }
    }
    text
}

/// Appends ` index:value` for each feature that is not zero, indices from 1.
pub(crate) fn write_features(text: &mut Vec<u8>, row: &[f32]) {
    for (value, index) in row.iter().zip(1..) {
        if value.to_bits() != 0 {
            let _ = write!(text, " {index}:{value}");
        }
    }
}

/// An id that starts like the `docid = …` of LETOR is written in that form, or it would be read as one.
fn write_doc(text: &mut Vec<u8>, doc: &str) {
    let prefix = if doc.starts_with("docid") { "docid = " } else { "" };
    let _ = write!(text, " # {prefix}{doc}");
}
