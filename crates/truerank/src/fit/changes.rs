//! Which queries a ranker changes most: pages of each query enter, those that gain and lose most leave, with their lists.

use super::QueryChange;
use crate::data::Dataset;
use crate::evaluate::{ClickEvaluation, Counterfactual};
use crate::math::rank;

/// Queries of each kind.
const SHOWN: usize = 5;

/// Documents of a list.
const DOCUMENTS: usize = 5;

/// The queries that gain and that lose most by the first measure: the difference times the pages of the query, so that what is
/// asked often counts more.
pub(super) fn largest_changes(
    judge: &Counterfactual,
    ranker: &ClickEvaluation,
    as_shown: &ClickEvaluation,
    data: &Dataset,
    scores: &[f32],
) -> (Vec<QueryChange>, Vec<QueryChange>) {
    let measure = ranker.measures[0];
    let (Some(after), Some(before)) = (ranker.per_query(measure), as_shown.per_query(measure)) else {
        return (Vec::new(), Vec::new());
    };
    let total = |place: usize| (after[place] - before[place]) * judge.pages_of(place) as f64;
    let mut places: Vec<usize> = (0..after.len()).filter(|&place| total(place).is_finite()).collect();
    places.sort_by(|&a, &b| total(b).total_cmp(&total(a)).then(a.cmp(&b)));
    let change = |&place: &usize| {
        let (rows, number) = (judge.most_shown(place), query_of(data, judge.first_row(place)));
        let name = |&row: &u32| data.docs().name(row as usize).to_string();
        let names = |rows: &[u32]| rows.iter().take(DOCUMENTS).map(name).collect::<Vec<String>>();
        let of_page: Vec<f32> = rows.iter().map(|&row| scores[row as usize]).collect();
        let reordered: Vec<u32> = rank(&of_page).into_iter().map(|index| rows[index]).collect();
        QueryChange {
            query: data.queries().name(number).to_string(),
            pages: judge.pages_of(place),
            as_shown: before[place],
            ranker: after[place],
            shown: names(rows),
            reordered: names(&reordered),
        }
    };
    let gains = places.iter().filter(|&&place| total(place) > 0.0).take(SHOWN).map(change).collect();
    let losses = places.iter().rev().filter(|&&place| total(place) < 0.0).take(SHOWN).map(change).collect();
    (gains, losses)
}

/// The query whose documents start at a row.
fn query_of(data: &Dataset, row: usize) -> usize {
    let (mut low, mut high) = (0, data.query_count());
    while low + 1 < high {
        let middle = (low + high) / 2;
        if data.rows_of(middle).start <= row { low = middle } else { high = middle }
    }
    low
}
