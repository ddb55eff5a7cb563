//! Data sets of examples: names of files or of a preset enter, queries that are divided at random leave.

use std::path::Path;

use rand::seq::SliceRandom;
use truerank::data::{Dataset, DatasetBuilder, Generator, Preset, ReadOptions, read_dataset};
use truerank::ids::Ids;
use truerank::random::stream;

/// The training part of a preset, or files of LETOR text that are put together, with commas between them.
pub fn load(what: &str) -> truerank::Result<Dataset> {
    if let Ok(preset) = what.parse::<Preset>() {
        return Ok(Generator::preset(preset).generate()?.train);
    }
    let parts: Vec<Dataset> =
        what.split(',').map(|path| read_dataset(Path::new(path), &ReadOptions::new())).collect::<Result<_, _>>()?;
    let width = parts.iter().map(Dataset::feature_count).max().unwrap_or(0);
    let parts: Vec<Dataset> = parts.into_iter().map(|part| part.widen(width)).collect();
    let lists = parts.iter().flat_map(|part| part.lists());
    let ends = lists.scan(0, |end, list| {
        *end += list.len();
        Some(*end)
    });
    let query_ends: Vec<usize> = ends.collect();
    DatasetBuilder {
        features: parts.iter().flat_map(|part| part.features().iter().copied()).collect(),
        feature_count: width,
        grades: Some(parts.iter().flat_map(|part| part.grades().unwrap_or_default().iter().copied()).collect()),
        queries: Ids::numbered(query_ends.len()),
        query_ends,
        docs: None,
    }
    .build()
}

/// The largest grade of a data set; 4 where it has none.
pub fn max_grade(data: &Dataset) -> u8 {
    data.grades().and_then(|grades| grades.iter().copied().max()).unwrap_or(4)
}

/// The queries of a data set, dealt at random by the number of the split: so many fifths for each part, and the rest for the last one.
pub fn divide<const PARTS: usize>(data: &Dataset, split: u64, fifths: [usize; PARTS]) -> [Dataset; PARTS] {
    let mut queries: Vec<usize> = (0..data.query_count()).collect();
    queries.shuffle(&mut stream(split, "splits", 0));
    let fifth = queries.len() / 5;
    let mut rest = &queries[..];
    std::array::from_fn(|part| {
        let count = if part + 1 == PARTS { rest.len() } else { fifths[part] * fifth };
        let (chosen, others) = rest.split_at(count);
        rest = others;
        let mut chosen = chosen.to_vec();
        chosen.sort_unstable();
        data.select(&chosen)
    })
}
