//! Pairs of a clicked and an unclicked document, weighted for the PRS loss.

use crate::counts::{Counts, Patterns, Shown};
use crate::ids::Ids;
use crate::math::discount;
use crate::propensity::{Examination, Propensities};
use crate::{Error, Result};

/// How much each pair of documents of each query says "the first is better".
#[derive(Debug, Clone, PartialEq)]
pub struct PairWeights {
    /// Queries, sorted.
    pub queries: Ids,
    /// Documents, sorted.
    pub docs: Ids,
    /// One entry per query with sessions, sorted by query.
    pub by_query: Vec<QueryPairs>,
}

/// The pairs of one query.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryPairs {
    /// Number of the query.
    pub query: u32,
    /// Numbers of its shown documents, sorted.
    pub docs: Vec<u32>,
    /// Row after row: entry `i·n + j` is the weight of "document i clicked, document j not".
    pub weights: Vec<f64>,
}

/// Propensity ratio scores (Wang et al. 2021): per session with clicked `i` and unclicked `j`,
/// `w_ij = θ̄(k_j)/θ̄(k_i)`, over the ideal DCG of the session's clicks and averaged over the query's sessions.
///
/// The click at a rarely examined position counts more; the missing click at such a position counts less. What
/// remains for the loss is the discount of the current ranks, so nothing of a session is needed in training.
///
/// In expectation the pair counts `γ_i·θ̄(k_j)·(1 − θ̄(k_j)γ_j)`. That puts relevant documents first where a relevant
/// document is certain to be clicked once examined (γ near 1). Where even good documents are often passed over, a
/// missing click at the top says little but counts fully, and the lower of two equal documents wins.
pub fn pair_weights(counts: &Counts, propensities: &Propensities) -> Result<PairWeights> {
    let examination = Examination::new(propensities, counts)?;
    let patterns = counts.patterns.as_ref().ok_or_else(|| {
        Error::parameter("PRS needs click patterns, but these counts have none; count the log again with --patterns")
    })?;
    let sessions = counts.sessions_per_query();
    let by_query = patterns
        .patterns
        .chunk_by(|a, b| a.query == b.query)
        .map(|of_query| query_pairs(patterns, of_query, sessions[of_query[0].query as usize] as f64, &examination))
        .collect::<Result<_>>()?;
    Ok(PairWeights { queries: counts.queries.clone(), docs: counts.docs.clone(), by_query })
}

fn query_pairs(
    patterns: &Patterns,
    of_query: &[crate::counts::Pattern],
    sessions: f64,
    examination: &Examination<'_>,
) -> Result<QueryPairs> {
    let pages = || of_query.iter().map(|pattern| (&patterns.shown[pattern.shown.clone()], pattern.sessions));
    let mut docs: Vec<u32> = pages().flat_map(|(page, _)| page.iter().map(|shown| shown.doc)).collect();
    docs.sort_unstable();
    docs.dedup();
    let mut weights = vec![0.0; docs.len() * docs.len()];
    for (page, count) in pages() {
        add_page(page, count as f64 / sessions, &docs, examination, &mut weights)?;
    }
    Ok(QueryPairs { query: of_query[0].query, docs, weights })
}

fn add_page(
    page: &[Shown],
    share: f64,
    docs: &[u32],
    examination: &Examination<'_>,
    weights: &mut [f64],
) -> Result<()> {
    let clicks = page.iter().filter(|shown| shown.click).count();
    let ideal_dcg: f64 = (1..=clicks).map(discount).sum();
    let index = |shown: &Shown| docs.binary_search(&shown.doc).expect("every shown document is listed");
    for clicked in page.iter().filter(|shown| shown.click) {
        let looked = examination.average_at(clicked.position);
        if looked == 0.0 {
            let position = clicked.position;
            return Err(Error::parameter(format!("position {position} has clicks, but its examination is 0")));
        }
        for skipped in page.iter().filter(|shown| !shown.click) {
            let ratio = examination.average_at(skipped.position) / looked;
            weights[index(clicked) * docs.len() + index(skipped)] += share * ratio / ideal_dcg;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::{CountOptions, Pattern, SessionCount, count_log};
    use crate::data::DatasetBuilder;
    use crate::simulate::{ShownLists, Simulation};

    /// Pair weights from simulated clicks on one query whose documents have these grades.
    fn simulated(grades: &[u8], click_noise: f64) -> QueryPairs {
        let data = DatasetBuilder {
            features: vec![0.0; grades.len()],
            feature_count: 1,
            grades: Some(grades.to_vec()),
            queries: Ids::numbered(1),
            query_ends: vec![grades.len()],
            docs: None,
        };
        let data = data.build().unwrap();
        let lists = [ShownLists::top(&data, &vec![0.0; data.len()], 10).unwrap()];
        let settings = Simulation::new().sessions(100_000).query_sparsity(0.0).click_noise(click_noise);
        let simulator = settings.prepare(&data, &lists).unwrap();
        let (counts, _) = count_log(&simulator.log(), &CountOptions::new().patterns(true)).unwrap();
        pair_weights(&counts, &simulator.propensities()).unwrap().by_query.remove(0)
    }

    #[test]
    fn certain_relevance_is_put_first_at_any_position() {
        let pairs = simulated(&[0, 4, 0, 4], 0.0);
        for (relevant, other) in [(1, 0), (1, 2), (3, 0), (3, 2)] {
            assert!(pairs.weights[relevant * 4 + other] > 0.0);
            assert_eq!(pairs.weights[other * 4 + relevant], 0.0);
        }
    }

    #[test]
    fn of_two_documents_often_passed_over_the_lower_one_wins() {
        // Both are found relevant with probability .1 + .9·¼: nothing speaks for either, yet the weights do.
        let pairs = simulated(&[1, 1], 0.1);
        let (upper, lower) = (pairs.weights[1], pairs.weights[2]);
        assert!(lower > 1.5 * upper, "{lower} and {upper}");
    }

    #[test]
    fn hand_computed_pairs() {
        let shown = |doc, position, click| Shown { doc, position, click };
        let counts = Counts {
            queries: Ids::numbered(1),
            docs: Ids::numbered(3),
            users: Ids::numbered(1),
            cells: Vec::new(),
            sessions: vec![SessionCount { query: 0, user: 0, sessions: 4 }],
            patterns: Some(Patterns {
                patterns: vec![
                    Pattern { query: 0, shown: 0..3, sessions: 3 },
                    Pattern { query: 0, shown: 3..6, sessions: 1 },
                ],
                shown: vec![
                    shown(0, 1, false),
                    shown(1, 2, true),
                    shown(2, 3, false),
                    shown(0, 1, true),
                    shown(1, 2, true),
                    shown(2, 3, false),
                ],
            }),
        };
        let propensities = Propensities {
            method: "oracle".into(),
            scale: "true".into(),
            population: vec![1.0, 0.5, 0.2],
            ..Propensities::default()
        };
        let pairs = pair_weights(&counts, &propensities).unwrap();
        let ideal_of_two = 1.0 + 1.0 / 3f64.log2();
        let expected = [
            [0.0, 0.0, 0.25 * (0.2 / 1.0) / ideal_of_two],
            [0.75 * (1.0 / 0.5), 0.0, 0.75 * (0.2 / 0.5) + 0.25 * (0.2 / 0.5) / ideal_of_two],
            [0.0, 0.0, 0.0],
        ];
        for (found, expected) in pairs.by_query[0].weights.iter().zip(expected.as_flattened()) {
            assert!((found - expected).abs() < 1e-12);
        }
    }
}
