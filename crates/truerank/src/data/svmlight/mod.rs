//! LETOR/SVMlight text, `grade qid:query 1:value 2:value … # document`, to a data set and back.
//!
//! Reading takes three steps: [`chunk`] parses pieces of the text in parallel into sparse rows, [`layout`] puts the
//! queries together, and the sparse rows go into the one dense matrix when the text is no longer needed.

mod chunk;
mod layout;
mod line;
mod number;
mod write;

use std::path::Path;

use rayon::prelude::*;

use super::{Dataset, DatasetBuilder, ReadOptions};
use crate::files::{Limit, read_bytes};
use crate::memory::ask;
use crate::{Error, Result};

use chunk::parse_chunks;
use layout::lay_out;
pub(super) use line::{Cursor, FINITE, Finding, SparseRows, read_features, shown};
pub(super) use number::read_number;
pub(crate) use write::write_features;
pub use write::write_svmlight;

/// Large enough to make the work of a chunk dwarf its hand-over, small enough to share out evenly.
const CHUNK_BYTES: usize = 1 << 20;

/// Reads LETOR/SVMlight text, compressed or not.
///
/// - Queries come from `qid:`, which every line has, or from a side file as LightGBM has it: `rank.train.query` holds
///   the number of documents of each query, one per line. Those queries are numbered from 1.
/// - The lines of a query are consecutive.
/// - A document is called by the first word of its line's comment, or by what follows `docid =`. Where no line has a
///   comment, documents are numbered from 1 within their query.
/// - Grades are whole numbers from 0 to [`ReadOptions::max_grade`].
/// - Features that a line leaves out are 0, and those that are `nan` are missing. They may stand in any order, each once.
/// - Blank lines and lines that are only a comment are skipped.
///
/// The error is about the first bad line of the file.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("train.txt");
/// std::fs::write(&path, "2 qid:1 1:0.5 3:1 # a\n0 qid:1 2:0.25 # b\n")?;
/// let data = truerank::data::read_svmlight(&path, &Default::default())?;
/// assert_eq!(data.row(0), [0.5, 0.0, 1.0]);
/// assert_eq!(data.docs().name(1), "b");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_svmlight(path: &Path, options: &ReadOptions) -> Result<Dataset> {
    Ok(load(path, options)?.0)
}

/// The data set, and whether the file names its queries itself.
pub(super) fn load(path: &Path, options: &ReadOptions) -> Result<(Dataset, bool)> {
    load_in_chunks(path, options, CHUNK_BYTES)
}

fn load_in_chunks(path: &Path, options: &ReadOptions, chunk_bytes: usize) -> Result<(Dataset, bool)> {
    options.check()?;
    let bytes = read_bytes(path, Limit::Data)?;
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let chunks = parse_chunks(text, options, chunk_bytes);
    let layout = lay_out(path, text, &chunks)?;
    let (grades, rows): (Vec<_>, Vec<_>) = chunks.into_iter().map(|chunk| (chunk.grades, chunk.rows)).unzip();
    drop(bytes);
    let feature_count = options.width(rows.iter().map(|rows| rows.width).max().unwrap_or(0));
    let data = DatasetBuilder {
        features: to_dense(path, rows, feature_count)?,
        feature_count,
        grades: Some(grades.concat()),
        queries: layout.queries,
        query_ends: layout.query_ends,
        docs: layout.docs,
    };
    Ok((data.build()?, layout.queries_named))
}

/// The rows as one row-major matrix. Each piece is freed as soon as it is copied.
pub(super) fn to_dense(path: &Path, pieces: Vec<SparseRows>, width: usize) -> Result<Vec<f32>> {
    if width == 0 {
        return Err(Error::input(path, "holds no features, but a ranker needs some"));
    }
    let rows = pieces.iter().map(SparseRows::len).sum();
    let mut features = zeros(path, rows, width)?;
    let mut rest = &mut features[..];
    let mut targets = Vec::with_capacity(pieces.len());
    for piece in &pieces {
        let (target, after) = rest.split_at_mut(piece.len() * width);
        targets.push(target);
        rest = after;
    }
    pieces.into_par_iter().zip(targets).for_each(|(piece, target)| scatter(&piece, target, width));
    Ok(features)
}

fn scatter(piece: &SparseRows, target: &mut [f32], width: usize) {
    for (entries, row) in piece.iter().zip(target.chunks_exact_mut(width)) {
        for &(column, value) in entries {
            row[column as usize] = value;
        }
    }
}

/// A matrix of zeros, or an error where the memory does not hold it.
pub(super) fn zeros(path: &Path, rows: usize, width: usize) -> Result<Vec<f32>> {
    // Asking first, because a failed allocation would end the program; zeroed memory comes lazily from the system.
    let values = rows.checked_mul(width).filter(|&values| ask(|| Vec::<f32>::new().try_reserve_exact(values).is_ok()));
    match values {
        Some(values) => Ok(vec![0.0; values]),
        None => {
            let finding = format!("{rows} documents with {width} features do not fit in memory; use fewer features");
            Err(Error::input(path, finding))
        }
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(super) use tests::datasets;
