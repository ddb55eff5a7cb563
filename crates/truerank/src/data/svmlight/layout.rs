//! Finds out which rows belong to which query and what the documents are called, and refuses what does not fit.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::chunk::{Chunk, Run, line_of_row};
use super::line::Finding;
use crate::error::Place;
use crate::files::{Limit, read_text};
use crate::ids::{Ids, Texts};
use crate::{Error, Result};

/// Queries and documents of a file.
#[derive(Debug)]
pub struct Layout {
    pub queries: Ids,
    pub query_ends: Vec<usize>,
    /// `None` where the file does not name its documents.
    pub docs: Option<Ids>,
    /// Whether the file names its queries; otherwise they are numbered from 1.
    pub queries_named: bool,
}

/// A row and what is wrong with it.
type BadRow = (usize, Finding);

/// Puts the runs of all chunks together. The error is about the first bad line of the file.
pub fn lay_out(path: &Path, text: &[u8], chunks: &[Chunk<'_>]) -> Result<Layout> {
    let runs = join_runs(chunks);
    let docs: Vec<Option<&str>> = chunks.iter().flat_map(|chunk| &chunk.docs).copied().collect();
    let at_row = |(row, finding): BadRow| Place::line(path, line_of_row(text, row)).error(finding);
    let queries_named = runs.first().is_some_and(|run| run.query.is_some());
    let ends: Vec<usize> = row_ends(&runs);

    let bad_rows = [
        find_odd_query(&runs),
        find_odd_doc(&docs),
        if queries_named { find_repeated_query(text, &runs) } else { None },
        if queries_named { find_repeated_doc(&docs, &ends) } else { None },
    ];
    if let Some(first) = bad_rows.into_iter().flatten().min_by_key(|(row, _)| *row) {
        return Err(at_row(first));
    }
    if let Some(finding) = chunks.last().and_then(|chunk| chunk.failure.clone()) {
        let line = chunks.iter().map(|chunk| chunk.lines).sum();
        return Err(Place::line(path, line).error(finding));
    }
    if docs.is_empty() {
        return Err(Error::input(path, "holds no documents"));
    }
    if queries_named {
        let queries = named(runs.iter().filter_map(|run| run.query));
        return Ok(Layout { queries, query_ends: ends, docs: named_docs(&docs), queries_named });
    }
    let query_ends = read_query_file(path, docs.len())?;
    match find_repeated_doc(&docs, &query_ends) {
        Some(bad) => Err(at_row(bad)),
        None => {
            Ok(Layout { queries: Ids::numbered(query_ends.len()), query_ends, docs: named_docs(&docs), queries_named })
        }
    }
}

/// The runs of all chunks, where a query that crosses a seam is one run.
fn join_runs<'a>(chunks: &[Chunk<'a>]) -> Vec<Run<'a>> {
    let mut joined: Vec<Run<'a>> = Vec::new();
    for run in chunks.iter().flat_map(|chunk| &chunk.runs) {
        match joined.last_mut() {
            Some(last) if last.query == run.query => last.rows += run.rows,
            _ => joined.push(*run),
        }
    }
    joined
}

fn row_ends(runs: &[Run<'_>]) -> Vec<usize> {
    runs.iter()
        .scan(0, |end, run| {
            *end += run.rows;
            Some(*end)
        })
        .collect()
}

fn named<'a>(names: impl Iterator<Item = &'a str>) -> Ids {
    let mut texts = Texts::default();
    names.for_each(|name| texts.push(name));
    Ids::Texts(texts).into_integers_if_all()
}

fn named_docs(docs: &[Option<&str>]) -> Option<Ids> {
    docs.first()?.map(|_| named(docs.iter().copied().flatten()))
}

/// The first row that names a query where the first row of the file does not, or the other way round.
fn find_odd_query(runs: &[Run<'_>]) -> Option<BadRow> {
    let [first, second, ..] = runs else { return None };
    match (first.query, second.query) {
        (None, Some(_)) => {
            Some((first.rows, "names a query, but the lines before do not; give every line a qid".into()))
        }
        (Some(_), _) => {
            let odd = runs.iter().position(|run| run.query.is_none())?;
            let row = runs[..odd].iter().map(|run| run.rows).sum();
            Some((row, "has no qid, but the lines before do; give every line a qid".into()))
        }
        (None, None) => None,
    }
}

fn find_odd_doc(docs: &[Option<&str>]) -> Option<BadRow> {
    let first = docs.first()?.is_some();
    let odd = docs.iter().position(|doc| doc.is_some() != first)?;
    let finding = if first {
        "has no document id in a comment, but the lines before do; name every document or none"
    } else {
        "names a document in its comment, but the lines before do not; name every document or none"
    };
    Some((odd, finding.into()))
}

fn find_repeated_query(text: &[u8], runs: &[Run<'_>]) -> Option<BadRow> {
    let mut seen = HashMap::with_capacity(runs.len());
    let mut row = 0;
    for run in runs {
        if let Some(earlier) = run.query.and_then(|query| seen.insert(query, row)) {
            let finding = format!(
                "query {} started at line {} and comes again here after other queries; sort the file by qid",
                run.query.unwrap_or_default(),
                line_of_row(text, earlier)
            );
            return Some((row, finding));
        }
        row += run.rows;
    }
    None
}

/// The first row whose document has been in its query before. Rows without a document id are let through.
fn find_repeated_doc(docs: &[Option<&str>], query_ends: &[usize]) -> Option<BadRow> {
    docs.first()?.as_ref()?;
    let row = (0..query_ends.len()).into_par_iter().find_map_first(|query| {
        let start = if query == 0 { 0 } else { query_ends[query - 1] };
        let mut seen = HashSet::new();
        (start..query_ends[query]).find(|&row| docs[row].is_some_and(|doc| !seen.insert(doc)))
    })?;
    let doc = docs[row].unwrap_or_default();
    Some((row, format!("document {doc} has been in this query before, but a query has each document once")))
}

/// Where each query's rows end, from the group sizes in a side file such as `rank.train.query`.
fn read_query_file(path: &Path, rows: usize) -> Result<Vec<usize>> {
    let candidates = query_files_of(path);
    let Some(file) = candidates.iter().find(|file| file.is_file()) else {
        let wanted = candidates.last().map(|file| file.display().to_string()).unwrap_or_default();
        return Err(Error::input(
            path,
            format!("has no qid, and there is no {wanted} with the number of documents of each query"),
        ));
    };
    let mut ends = Vec::new();
    let mut end: usize = 0;
    for (line, text) in (1..).zip(read_text(file, Limit::Data)?.lines()) {
        if text.trim().is_empty() {
            continue;
        }
        let size = text.trim().parse::<usize>().ok().filter(|&size| size > 0).ok_or_else(|| {
            let found = super::line::shown(text.trim().as_bytes());
            Place::line(file, line).error(format!("group size is '{found}', but sizes are whole numbers from 1"))
        })?;
        end = end.saturating_add(size);
        ends.push(end);
    }
    if end != rows {
        let finding = format!("group sizes add up to {end}, but {} has {rows} documents", path.display());
        return Err(Error::input(file, finding));
    }
    Ok(ends)
}

/// `rank.train.gz.query`, then `rank.train.query`.
fn query_files_of(path: &Path) -> Vec<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let plain = [".gz", ".zst", ".zstd"].iter().find_map(|end| name.strip_suffix(end));
    [Some(name.as_str()), plain]
        .into_iter()
        .flatten()
        .map(|name| path.with_file_name(format!("{name}.query")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::ReadOptions;
    use crate::data::svmlight::chunk::parse_chunks;

    fn lay_out_text(text: &str) -> Result<Layout> {
        let layouts: Vec<_> = (1..=text.len())
            .map(|size| {
                let chunks = parse_chunks(text.as_bytes(), &ReadOptions::new(), size);
                lay_out(Path::new("a.txt"), text.as_bytes(), &chunks)
            })
            .collect();
        let shown: Vec<_> = layouts.iter().map(|layout| format!("{layout:?}")).collect();
        assert!(shown.windows(2).all(|pair| pair[0] == pair[1]), "chunks matter: {shown:?}");
        layouts.into_iter().next().unwrap()
    }

    fn finding(text: &str) -> String {
        lay_out_text(text).unwrap_err().to_string()
    }

    #[test]
    fn queries_and_documents_keep_their_names() {
        let layout = lay_out_text("0 qid:7 # a\n0 qid:7 # b\n0 qid:3 # a\n").unwrap();
        assert_eq!(layout.queries, Ids::Integers(vec![7, 3]));
        assert_eq!(layout.query_ends, [2, 3]);
        assert_eq!(layout.docs.unwrap().name(1), "b");
        assert!(lay_out_text("0 qid:7\n").unwrap().docs.is_none());
    }

    #[test]
    fn the_first_bad_line_is_reported_whatever_is_wrong_with_it() {
        assert_eq!(
            finding("0 qid:1\n0 qid:2\n\n0 qid:1\n0 qid:1 1:x\n"),
            "a.txt:4: query 1 started at line 1 and comes again here after other queries; sort the file by qid"
        );
        assert!(finding("0 qid:1\n0 qid:2 1:x\n\n0 qid:1\n").starts_with("a.txt:2: '1:x' is not a feature"));
        assert!(finding("0 qid:1 # d\n0 qid:1 # d\n0 qid:1\n").starts_with("a.txt:2: document d has been"));
        assert!(finding("0 qid:1 # d\n0 qid:1\n0 qid:1 #d\n").starts_with("a.txt:2: has no document id"));
        assert!(finding("0 qid:1\n0 qid:1 # e\n").starts_with("a.txt:2: names a document"));
        assert!(finding("0 qid:1\n0 1:1\n").starts_with("a.txt:2: has no qid"));
        assert!(finding("0 1:1\n0 qid:1 1:1\n").starts_with("a.txt:2: names a query"));
    }

    #[test]
    fn side_files_are_found_beside_compressed_files() {
        let names = |path: &str| query_files_of(Path::new(path));
        assert_eq!(names("d/rank.train"), [Path::new("d/rank.train.query")]);
        assert_eq!(names("rank.train.gz"), [Path::new("rank.train.gz.query"), Path::new("rank.train.query")]);
    }
}
