//! A part of graded queries: what a search engine that has few judgements learns from.

use rand::seq::SliceRandom;

use crate::data::Dataset;
use crate::random::stream;
use crate::{Error, Result};

/// A random share of the labelled queries, at least one that has something to learn from.
pub fn labelled_share(train: &Dataset, share: f64, seed: u64) -> Result<Dataset> {
    if !(share > 0.0 && share <= 1.0) {
        return Err(Error::parameter(format!("the share of labelled queries should be in (0, 1], but is {share}")));
    }
    let grades = train.require_grades("the production ranker")?;
    let varied = |query: &usize| {
        let of_query = &grades[train.rows_of(*query)];
        of_query.iter().any(|grade| *grade != of_query[0])
    };
    let mut queries: Vec<usize> = (0..train.query_count()).collect();
    queries.shuffle(&mut stream(seed, "production", 0));
    let wanted = ((train.query_count() as f64 * share).round() as usize).clamp(1, train.query_count());
    let mut chosen: Vec<usize> = queries[..wanted].to_vec();
    if !chosen.iter().any(varied) {
        chosen.extend(queries[wanted..].iter().copied().find(varied));
    }
    chosen.sort_unstable();
    Ok(train.select(&chosen))
}
