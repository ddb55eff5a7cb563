//! Writes ranked lists: TREC run files for the field's tools, Parquet for everything else.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{Float32Array, Int32Array};
use arrow_schema::{DataType, Field};

use super::{Score, rank};
use crate::data::Dataset;
use crate::files::table::{FileType, TableWriter, ids_array, ids_field};
use crate::files::{AtomicFile, FileFormat};
use crate::text::printable_within;
use crate::{Error, Result};

const FILE_TYPE: FileType = FileType { name: "truerank/run", version: 1 };

/// Writes the documents of each query ordered by `scores`: as Parquet (`query, doc, rank, score`) if `path` ends in
/// `.parquet`, otherwise as a TREC run (`query Q0 doc rank score tag`).
pub fn write_run<S: Score>(data: &Dataset, scores: &[S], tag: &str, path: &Path) -> Result<()> {
    if scores.len() != data.len() {
        return Err(Error::parameter(format!("there are {} scores for {} documents", scores.len(), data.len())));
    }
    check_run(path, tag)?;
    match FileFormat::of(path) {
        FileFormat::Parquet => write_parquet(data, scores, path),
        _ => write_trec(data, scores, tag, path),
    }
}

/// Refuses a tag that would be no single column of a TREC run, or more than one line of it.
pub fn check_run(path: &Path, tag: &str) -> Result<()> {
    if FileFormat::of(path) == FileFormat::Parquet || is_column(tag) {
        return Ok(());
    }
    let tag = printable_within(tag, 60);
    Err(Error::parameter(format!(
        "the tag of a TREC run is '{tag}', but its columns are separated by white space; use a tag of letters, digits and signs"
    )))
}

/// Whether readers see a text as one column: readers differ in which control characters separate.
fn is_column(text: &str) -> bool {
    !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || c.is_control())
}

/// Calls `take(query, row, rank)` for every document, best first within each query.
fn for_each_ranked<S: Score>(
    data: &Dataset,
    scores: &[S],
    mut take: impl FnMut(usize, usize, usize) -> Result<()>,
) -> Result<()> {
    for (query, rows) in data.lists().enumerate() {
        for (above, index) in rank(&scores[rows.clone()]).into_iter().enumerate() {
            take(query, rows.start + index, above + 1)?;
        }
    }
    Ok(())
}

fn write_trec<S: Score>(data: &Dataset, scores: &[S], tag: &str, path: &Path) -> Result<()> {
    let mut file = AtomicFile::create(path)?;
    for_each_ranked(data, scores, |query, row, rank| {
        let (query, doc) = (data.queries().name(query), data.docs().name(row));
        for id in [&query, &doc] {
            if !is_column(id) {
                let id = printable_within(id, 60);
                return Err(Error::input(
                    path,
                    format!(
                        "the id '{id}' is empty or has a space, but TREC runs are separated by spaces; write .parquet"
                    ),
                ));
            }
        }
        writeln!(file, "{query} Q0 {doc} {rank} {} {tag}", scores[row]).map_err(|e| Error::io(path, e))
    })?;
    file.commit()
}

fn write_parquet<S: Score>(data: &Dataset, scores: &[S], path: &Path) -> Result<()> {
    let (mut queries, mut rows, mut ranks) = (Vec::new(), Vec::new(), Vec::new());
    for_each_ranked(data, scores, |query, row, rank| {
        queries.push(query);
        rows.push(row);
        ranks.push(rank as i32);
        Ok(())
    })?;
    let fields = vec![
        ids_field("query", data.queries()),
        ids_field("doc", data.docs()),
        Field::new("rank", DataType::Int32, false),
        Field::new("score", DataType::Float32, false),
    ];
    let mut table = TableWriter::create(path, FILE_TYPE, fields, &[])?;
    table.write(vec![
        ids_array(data.queries(), queries.into_iter()),
        ids_array(data.docs(), rows.iter().copied()),
        Arc::new(Int32Array::from(ranks)),
        Arc::new(Float32Array::from_iter_values(rows.iter().map(|&row| scores[row].into() as f32))),
    ])?;
    table.finish()
}
