//! The documents that a ranker is asked about: a data set enters, some of its queries leave, each with a part of a long list.

use rand::seq::SliceRandom;

use crate::data::{Dataset, DatasetBuilder};
use crate::random::stream;
use crate::{Error, Result};

/// Documents that are scored for all features together, which bounds the time whatever the data.
const SCORES: usize = 100_000;

/// Documents that are drawn: enough to tell features apart, however many there are; more would tell little more.
const FEWEST: usize = 200;
const MOST: usize = 2000;

/// Documents of one query at most, so that pairs stay few and queries many.
const LIST: usize = 50;

/// Queries drawn at random until there are enough documents; those that order nothing, having one document, only where there are no others.
pub(super) fn sample(data: &Dataset, seed: u64) -> Result<Dataset> {
    if data.is_empty() {
        return Err(Error::parameter("a ranker is explained by documents, but there are none"));
    }
    let wanted = (SCORES / data.feature_count().max(1)).clamp(FEWEST, MOST);
    let mut random = stream(seed, "explain", 0);
    let mut queries: Vec<usize> = (0..data.query_count()).collect();
    if data.lists().any(|list| list.len() > 1) {
        queries.retain(|&query| data.rows_of(query).len() > 1);
    }
    queries.shuffle(&mut random);
    let (mut rows, mut query_ends): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    for &query in &queries {
        if rows.len() >= wanted {
            break;
        }
        let mut list: Vec<usize> = data.rows_of(query).collect();
        list.shuffle(&mut random);
        list.truncate(LIST);
        list.sort_unstable();
        rows.extend(list);
        query_ends.push(rows.len());
    }
    queries.truncate(query_ends.len());
    DatasetBuilder {
        features: rows.iter().flat_map(|&row| data.row(row)).copied().collect(),
        feature_count: data.feature_count(),
        grades: data.grades().map(|grades| rows.iter().map(|&row| grades[row]).collect()),
        queries: data.queries().select(queries),
        query_ends,
        docs: Some(data.docs().select(rows)),
    }
    .build()
}
