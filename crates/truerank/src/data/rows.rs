//! Finds the rows of a data set that documents of a log are in.

use std::borrow::Cow;
use std::collections::HashMap;

use super::Dataset;
use crate::Error;
use crate::ids::Ids;

/// Finds documents of other numberings, query by query.
pub(crate) struct RowFinder<'a> {
    data: &'a Dataset,
    docs: &'a Ids,
    query_number: Vec<Option<u32>>,
}

impl<'a> RowFinder<'a> {
    pub fn new(data: &'a Dataset, queries: &Ids, docs: &'a Ids) -> Self {
        RowFinder { data, docs, query_number: queries.numbers_in(data.queries()) }
    }

    /// The data set's number of query `query`, and for each of its documents the row in the data set.
    pub fn find(&self, query: u32, docs: impl Iterator<Item = u32>) -> Option<(usize, Vec<Option<u32>>)> {
        let number = self.query_number[query as usize]? as usize;
        let rows: HashMap<Cow<'_, str>, u32> =
            self.data.rows_of(number).map(|row| (self.data.docs().name(row), row as u32)).collect();
        Some((number, docs.map(|doc| rows.get(&self.docs.name(doc as usize)).copied()).collect()))
    }

    /// The row of each (query, document); those of a query stand together.
    pub fn find_pairs(&self, pairs: &[(u32, u32)]) -> Vec<Option<u32>> {
        let of_query = |pairs: &[(u32, u32)]| match self.find(pairs[0].0, pairs.iter().map(|(_, doc)| *doc)) {
            Some((_, rows)) => rows,
            None => vec![None; pairs.len()],
        };
        pairs.chunk_by(|a, b| a.0 == b.0).flat_map(of_query).collect()
    }
}

/// Which rows of a data set the documents of a log are: ids are the same where their texts are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Join {
    /// The data set's number of each query of the log.
    pub queries: Vec<Option<u32>>,
    /// The row of each of the log's (query, document), in their order.
    pub rows: Vec<Option<u32>>,
}

impl Join {
    /// Looks up `pairs` of numbers in `queries` and `docs`; those of a query stand together.
    pub(crate) fn new(data: &Dataset, queries: &Ids, docs: &Ids, pairs: &[(u32, u32)]) -> Self {
        #[cfg(test)]
        JOINS.with(|joins| joins.set(joins.get() + 1));
        let finder = RowFinder::new(data, queries, docs);
        Join { rows: finder.find_pairs(pairs), queries: finder.query_number }
    }
}

#[cfg(test)]
thread_local! {
    /// How many joins this thread made.
    pub(crate) static JOINS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// The error when no `what`, such as a document of the log, is in the data set; `whose` queries are `queries`.
pub(crate) fn nothing_matches(data: &Dataset, queries: &Ids, what: &str, whose: &str) -> Error {
    let example = |ids: &Ids| if ids.is_empty() { "none".to_string() } else { format!("'{}'", ids.name(0)) };
    Error::parameter(format!(
        "no {what} is in the data set; the {whose} first query is {}, the data set's is {}; are they from the same data?",
        example(queries),
        example(data.queries())
    ))
}
