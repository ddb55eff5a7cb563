//! Pairs of a clicked and an unclicked document, weighted for the PRS loss.

use std::fmt;
use std::str::FromStr;

use crate::counts::{Counts, Pattern, Patterns, Shown};
use crate::ids::Ids;
use crate::math::discount;
use crate::named::find_named;
use crate::propensity::{Examination, Propensities};
use crate::{Error, Result};

/// Which ratio of examinations weighs a pair of a clicked document `i` and an unclicked `j`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PairRatio {
    /// `prs`, as published (Wang et al. 2021): `θ̄(k_j)/θ̄(k_i)`, unclicked over clicked.
    #[default]
    Clicked,
    /// `prs-by-score`, as in the program behind the paper's table: θ̄ of the document that is scored lower at present
    /// over θ̄ of the one that is scored higher, whichever was clicked.
    ByScore,
    /// `prs-by-user`: the published ratio with the examination of the page's own user, `θ(u,k_j)/θ(u,k_i)`.
    ByUser,
}

impl PairRatio {
    /// All, the published one first.
    pub const ALL: [PairRatio; 3] = [PairRatio::Clicked, PairRatio::ByScore, PairRatio::ByUser];
    /// Their names.
    pub const NAMES: [&'static str; 3] = ["prs", "prs-by-score", "prs-by-user"];
}

impl fmt::Display for PairRatio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(PairRatio::NAMES[*self as usize])
    }
}

impl FromStr for PairRatio {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        find_named(&PairRatio::ALL, text, "a weight of click pairs")
    }
}

/// How much each pair of documents of each query says "the first is better".
#[derive(Debug, Clone, PartialEq)]
pub struct PairWeights {
    /// What weighs a pair.
    pub ratio: PairRatio,
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
    /// Row after row: entry `i·n + j` is the weight of "document i clicked, document j not". For
    /// [`PairRatio::ByScore`] it is the weight while i is scored above j.
    pub weights: Vec<f64>,
    /// For [`PairRatio::ByScore`], what is needed beside `weights`.
    pub by_score: Option<ScoredPairs>,
}

/// What the weights of one query's pairs are where they depend on the scores.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoredPairs {
    /// As [`QueryPairs::weights`], while i is scored below j.
    pub if_below: Vec<f64>,
    /// The mean ideal DCG of the clicks of a session; a batch is divided by the sum over its queries.
    pub ideal_dcg: f64,
}

/// Propensity ratio scores (Wang et al. 2021): pairs of a clicked `i` and an unclicked `j` of the same session.
///
/// A pair's weight is averaged over the sessions that showed both documents:
///
/// ```text
/// prs            W_ij = Σ_s [i clicked, j not] · θ̄(k_j)/θ̄(k_i) / IDCG(s)  /  #{s : i and j shown}
/// prs-by-score   A_ij = Σ_s [i clicked, j not] · θ̄(k_j)/θ̄(k_i)            /  #{s : i and j shown}   while i is scored above j
///                B_ij = Σ_s [i clicked, j not] · θ̄(k_i)/θ̄(k_j)            /  #{s : i and j shown}   while i is scored below j
/// prs-by-user    as prs, with θ(u,k) of the session's user instead of θ̄(k)
/// ```
///
/// Where a user has no probabilities of their own, θ(u,k) is θ̄(k). By user, the ratio is that of the person who clicked: a click
/// far down counts little more from someone who always reads to the end, and much more from someone who seldom does.
///
/// IDCG(s) is the ideal DCG of the session's clicks. By score it stands outside: the loss of a batch of queries is divided by
/// the sum of their sessions' mean IDCG. What remains for the loss is the discount of the current ranks, so nothing of a
/// session is needed in training, wherever its documents were shown.
///
/// As published, the click at a rarely examined position counts more; the missing click at such a position counts less. In
/// expectation the pair counts `γ_i·θ̄(k_j)·(1 − θ̄(k_j)γ_j)`. That puts relevant documents first where a relevant
/// document is certain to be clicked once examined (γ near 1). Where even good documents are often passed over, a
/// missing click at the top says little but counts fully, and the lower of two equal documents wins.
///
/// By score both orders of two documents get the same ratio, so what decides between them is which was clicked more often
/// without the other: the correction for position is lost, and with it the reversal.
pub fn pair_weights(counts: &Counts, propensities: &Propensities, ratio: PairRatio) -> Result<PairWeights> {
    let examination = Examination::new(propensities, counts)?;
    let patterns = counts.patterns.as_ref().ok_or_else(|| {
        Error::parameter("PRS needs click patterns, but these counts have none; count the log again with `patterns`")
    })?;
    let by_query = patterns
        .patterns
        .chunk_by(|a, b| a.query == b.query)
        .map(|of_query| query_pairs(patterns, of_query, ratio, &examination))
        .collect::<Result<_>>()?;
    Ok(PairWeights { ratio, queries: counts.queries.clone(), docs: counts.docs.clone(), by_query })
}

fn query_pairs(
    patterns: &Patterns,
    of_query: &[Pattern],
    ratio: PairRatio,
    examination: &Examination<'_>,
) -> Result<QueryPairs> {
    let page = |pattern: &Pattern| &patterns.shown[pattern.shown.clone()];
    let mut docs: Vec<u32> = of_query.iter().flat_map(|pattern| page(pattern).iter().map(|shown| shown.doc)).collect();
    docs.sort_unstable();
    docs.dedup();
    let mut sums = PairSums::new(docs, ratio, examination);
    // Patterns that differ in the user alone stand together.
    let is_same = |a: &Pattern, b: &Pattern| ratio != PairRatio::ByUser && page(a) == page(b);
    for same in of_query.chunk_by(is_same) {
        let sessions: u64 = same.iter().map(|pattern| pattern.sessions).sum();
        sums.add(page(&same[0]), same[0].user, sessions as f64)?;
    }
    Ok(sums.means(of_query[0].query))
}

/// Sums over the sessions of one query.
struct PairSums<'a> {
    docs: Vec<u32>,
    ratio: PairRatio,
    examination: &'a Examination<'a>,
    sessions: f64,
    /// Sessions that showed both documents of a pair.
    shown: Vec<f64>,
    weights: Vec<f64>,
    if_below: Vec<f64>,
    ideal_dcg: f64,
}

impl<'a> PairSums<'a> {
    fn new(docs: Vec<u32>, ratio: PairRatio, examination: &'a Examination<'a>) -> Self {
        let [shown, weights, if_below] = [(); 3].map(|()| vec![0.0; docs.len() * docs.len()]);
        PairSums { docs, ratio, examination, sessions: 0.0, shown, weights, if_below, ideal_dcg: 0.0 }
    }

    fn add(&mut self, page: &[Shown], user: u32, sessions: f64) -> Result<()> {
        let place = |shown: &Shown| self.docs.binary_search(&shown.doc).expect("every shown document is listed");
        let places: Vec<usize> = page.iter().map(place).collect();
        let clicks = page.iter().filter(|shown| shown.click).count();
        let ideal_dcg: f64 = (1..=clicks).map(discount).sum();
        self.sessions += sessions;
        self.ideal_dcg += sessions * ideal_dcg;
        for (first, &i) in page.iter().zip(&places) {
            for (second, &j) in page.iter().zip(&places) {
                let pair = i * self.docs.len() + j;
                self.shown[pair] += sessions;
                if first.click && !second.click {
                    let theta = [first, second].map(|shown| self.theta(user, shown.position));
                    self.add_pair(pair, [first, second].map(|shown| shown.position), theta, [sessions, ideal_dcg])?;
                }
            }
        }
        Ok(())
    }

    fn theta(&self, user: u32, position: u32) -> f64 {
        match self.ratio {
            PairRatio::ByUser => self.examination.of(user, position),
            _ => self.examination.average_at(position),
        }
    }

    /// Adds sessions with a clicked and an unclicked document, of which positions and examination are given in this order.
    fn add_pair(
        &mut self,
        pair: usize,
        [position, other]: [u32; 2],
        [of_clicked, of_other]: [f64; 2],
        [sessions, ideal_dcg]: [f64; 2],
    ) -> Result<()> {
        if of_clicked == 0.0 {
            return Err(Error::parameter(format!("position {position} has clicks, but its examination is 0")));
        }
        match self.ratio {
            PairRatio::Clicked | PairRatio::ByUser => {
                self.weights[pair] += sessions * (of_other / of_clicked) / ideal_dcg
            }
            PairRatio::ByScore if of_other == 0.0 => {
                return Err(Error::parameter(format!(
                    "prs-by-score divides by the examination of every position shown, but that of position {other} is 0"
                )));
            }
            PairRatio::ByScore => {
                self.weights[pair] += sessions * (of_other / of_clicked);
                self.if_below[pair] += sessions * (of_clicked / of_other);
            }
        }
        Ok(())
    }

    fn means(self, query: u32) -> QueryPairs {
        let mean = |sums: Vec<f64>| -> Vec<f64> {
            sums.iter().zip(&self.shown).map(|(&sum, &shown)| if sum == 0.0 { 0.0 } else { sum / shown }).collect()
        };
        let by_score = (self.ratio == PairRatio::ByScore)
            .then(|| ScoredPairs { if_below: mean(self.if_below), ideal_dcg: self.ideal_dcg / self.sessions });
        QueryPairs { query, weights: mean(self.weights), docs: self.docs, by_score }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::counts::{CountOptions, SessionCount, count_log};
    use crate::data::DatasetBuilder;
    use crate::simulate::{ShownLists, Simulation};

    /// Pair weights from simulated clicks on one query whose documents have these grades.
    fn simulated(grades: &[u8], click_noise: f64, ratio: PairRatio) -> QueryPairs {
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
        pair_weights(&counts, &simulator.propensities(), ratio).unwrap().by_query.remove(0)
    }

    #[test]
    fn certain_relevance_is_put_first_at_any_position() {
        let pairs = simulated(&[0, 4, 0, 4], 0.0, PairRatio::Clicked);
        for (relevant, other) in [(1, 0), (1, 2), (3, 0), (3, 2)] {
            assert!(pairs.weights[relevant * 4 + other] > 0.0);
            assert_eq!(pairs.weights[other * 4 + relevant], 0.0);
        }
    }

    #[test]
    fn of_two_documents_often_passed_over_the_lower_one_wins() {
        // Both are found relevant with probability .1 + .9·¼: nothing speaks for either, yet the weights do.
        let pairs = simulated(&[1, 1], 0.1, PairRatio::Clicked);
        let (upper, lower) = (pairs.weights[1], pairs.weights[2]);
        assert!(lower > 1.5 * upper, "{lower} and {upper}");
    }

    #[test]
    fn by_score_the_upper_of_two_equal_documents_wins() {
        // In either order of scores both pairs get the same ratio, so the more clicked one wins: that shown first.
        let pairs = simulated(&[1, 1], 0.1, PairRatio::ByScore);
        let if_below = pairs.by_score.unwrap().if_below;
        for (upper, lower) in [(pairs.weights[1], if_below[2]), (if_below[1], pairs.weights[2])] {
            assert!(upper > 1.5 * lower, "{upper} and {lower}");
        }
    }

    fn shown(doc: u32, position: u32, click: bool) -> Shown {
        Shown { doc, position, click }
    }

    /// One query with these pages, each seen so many times.
    fn counts(pages: &[(Vec<Shown>, u64)]) -> Counts {
        let mut patterns = Patterns { patterns: Vec::new(), shown: Vec::new() };
        for (page, sessions) in pages {
            let start = patterns.shown.len();
            patterns.shown.extend(page.iter().cloned());
            let shown = start..patterns.shown.len();
            patterns.patterns.push(Pattern { query: 0, user: 0, shown, sessions: *sessions });
        }
        let docs = pages.iter().flat_map(|(page, _)| page.iter().map(|shown| shown.doc + 1)).max().unwrap_or(0);
        Counts {
            queries: Ids::numbered(1),
            docs: Ids::numbered(docs as usize),
            users: Ids::numbered(1),
            contexts: Default::default(),
            cells: Vec::new(),
            sessions: vec![SessionCount { query: 0, user: 0, sessions: pages.iter().map(|(_, n)| n).sum() }],
            patterns: Some(patterns),
            transitions: None,
            pages: None,
            origin: Default::default(),
        }
    }

    fn examined(population: &[f64]) -> Propensities {
        Propensities {
            method: "oracle".into(),
            scale: "true".into(),
            population: population.to_vec(),
            ..Propensities::default()
        }
    }

    fn pairs_of(pages: &[(Vec<Shown>, u64)], theta: &[f64], ratio: PairRatio) -> QueryPairs {
        pair_weights(&counts(pages), &examined(theta), ratio).unwrap().by_query.remove(0)
    }

    fn assert_close(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12 * (1.0 + expected.abs()), "{found} and {expected}");
        }
    }

    #[test]
    fn hand_computed_pairs() {
        let pages = [
            (vec![shown(0, 1, false), shown(1, 2, true), shown(2, 3, false)], 3),
            (vec![shown(0, 1, true), shown(1, 2, true), shown(2, 3, false)], 1),
        ];
        let theta = [1.0, 0.5, 0.2];
        let ideal_of_two = 1.0 + 1.0 / 3f64.log2();
        let expected = [
            [0.0, 0.0, 0.25 * (0.2 / 1.0) / ideal_of_two],
            [0.75 * (1.0 / 0.5), 0.0, 0.75 * (0.2 / 0.5) + 0.25 * (0.2 / 0.5) / ideal_of_two],
            [0.0, 0.0, 0.0],
        ];
        assert_close(&pairs_of(&pages, &theta, PairRatio::Clicked).weights, expected.as_flattened());

        let by_score = pairs_of(&pages, &theta, PairRatio::ByScore);
        let if_above = [[0.0, 0.0, 0.25 * (0.2 / 1.0)], [0.75 * (1.0 / 0.5), 0.0, 0.2 / 0.5], [0.0; 3]];
        let if_below = [[0.0, 0.0, 0.25 * (1.0 / 0.2)], [0.75 * (0.5 / 1.0), 0.0, 0.5 / 0.2], [0.0; 3]];
        assert_close(&by_score.weights, if_above.as_flattened());
        let scored = by_score.by_score.unwrap();
        assert_close(&scored.if_below, if_below.as_flattened());
        assert_close(&[scored.ideal_dcg], &[0.75 + 0.25 * ideal_of_two]);
    }

    #[test]
    fn a_pair_is_averaged_over_the_pages_that_showed_both() {
        // Documents 0 and 1 met on 4 of 100 pages, once in either order; 1 was clicked and 0 not on 1 + 2 of them.
        let pages = [
            (vec![shown(0, 1, false), shown(1, 2, true)], 1),
            (vec![shown(0, 1, false), shown(1, 2, false)], 1),
            (vec![shown(1, 1, true), shown(0, 2, false)], 2),
            (vec![shown(0, 1, true), shown(2, 2, false)], 96),
        ];
        let theta = [1.0, 0.5];
        let found = pairs_of(&pages, &theta, PairRatio::Clicked);
        assert_close(&found.weights[3..4], &[(1.0 * (1.0 / 0.5) + 2.0 * (0.5 / 1.0)) / 4.0]);
        assert_close(&found.weights[2..3], &[0.5 / 1.0]);
        let found = pairs_of(&pages, &theta, PairRatio::ByScore);
        assert_close(&found.weights[3..4], &[(1.0 * (1.0 / 0.5) + 2.0 * (0.5 / 1.0)) / 4.0]);
        assert_close(&found.by_score.unwrap().if_below[3..4], &[(1.0 * (0.5 / 1.0) + 2.0 * (1.0 / 0.5)) / 4.0]);
    }

    #[test]
    fn positions_that_nobody_examines_are_errors() {
        let message = |pages: &[(Vec<Shown>, u64)], ratio| {
            let theta = examined(&[1.0, 0.0]);
            pair_weights(&counts(pages), &theta, ratio).unwrap_err().to_string()
        };
        let clicked = [(vec![shown(0, 1, false), shown(1, 2, true)], 1)];
        for ratio in PairRatio::ALL {
            assert_eq!(message(&clicked, ratio), "position 2 has clicks, but its examination is 0");
        }
        let unclicked = [(vec![shown(0, 1, true), shown(1, 2, false)], 1)];
        assert_eq!(pairs_of(&unclicked, &[1.0, 0.0], PairRatio::Clicked).weights, [0.0; 4]);
        assert!(message(&unclicked, PairRatio::ByScore).ends_with("but that of position 2 is 0"));
    }

    #[test]
    fn users_weigh_their_own_pages_and_are_added_up_otherwise() {
        let page = vec![shown(0, 1, false), shown(1, 2, true)];
        let mut counts = counts(&[(page.clone(), 3), (page.clone(), 1)]);
        counts.users = Ids::numbered(2);
        counts.patterns.as_mut().unwrap().patterns[1].user = 1;
        let mut theta = examined(&[1.0, 0.5]);
        (theta.users, theta.by_user) = (Ids::numbered(2), vec![1.0, 0.8, 1.0, 0.1]);
        let weights = |counts: &Counts, ratio| pair_weights(counts, &theta, ratio).unwrap().by_query.remove(0);
        let by_user = weights(&counts, PairRatio::ByUser).weights;
        assert_close(&by_user, &[0.0, 0.0, (3.0 / 0.8 + 1.0 / 0.1) / 4.0, 0.0]);
        // Whose pages they are makes no difference to the others, to the last bit.
        let mut merged = counts.clone();
        merged.patterns.as_mut().unwrap().patterns.truncate(1);
        merged.patterns.as_mut().unwrap().patterns[0].sessions = 4;
        for ratio in [PairRatio::Clicked, PairRatio::ByScore] {
            assert_eq!(weights(&counts, ratio), weights(&merged, ratio));
        }
    }

    #[test]
    fn ratios_have_names() {
        for (ratio, name) in PairRatio::ALL.into_iter().zip(PairRatio::NAMES) {
            assert_eq!((ratio.to_string().as_str(), name.parse::<PairRatio>().unwrap()), (name, ratio));
        }
        let message = "by-score".parse::<PairRatio>().unwrap_err().to_string();
        assert_eq!(message, "'by-score' is not a weight of click pairs; known are prs, prs-by-score, prs-by-user");
    }

    /// Pages of four of six documents, clicked at random.
    fn pages() -> impl Strategy<Value = Vec<(Vec<Shown>, u64)>> {
        let order = Just((0..6u32).collect::<Vec<_>>()).prop_shuffle();
        let page = (order, prop::collection::vec(any::<bool>(), 4)).prop_map(|(docs, clicks)| {
            docs.into_iter().zip(clicks).zip(1..).map(|((doc, click), position)| shown(doc, position, click)).collect()
        });
        prop::collection::vec((page, 1..20u64), 1..8)
    }

    const THETA: [f64; 4] = [1.0, 0.6, 0.25, 0.1];

    proptest! {
        #[test]
        fn with_one_fixed_list_the_mean_is_over_the_sessions_of_the_query(pages in pages()) {
            let fixed: Vec<(Vec<Shown>, u64)> = pages
                .into_iter()
                .map(|(page, n)| (page.iter().zip(0..).map(|(s, doc)| shown(doc, s.position, s.click)).collect(), n))
                .collect();
            // The formula from before lists could vary: every page counts by its share of the query's sessions.
            let sessions: u64 = fixed.iter().map(|(_, n)| n).sum();
            let mut expected = vec![0.0; 16];
            for (page, n) in &fixed {
                let ideal_dcg: f64 = (1..=page.iter().filter(|shown| shown.click).count()).map(discount).sum();
                for (i, clicked) in page.iter().enumerate().filter(|(_, shown)| shown.click) {
                    for (j, other) in page.iter().enumerate().filter(|(_, shown)| !shown.click) {
                        let ratio = THETA[other.position as usize - 1] / THETA[clicked.position as usize - 1];
                        expected[i * 4 + j] += *n as f64 / sessions as f64 * ratio / ideal_dcg;
                    }
                }
            }
            assert_close(&pairs_of(&fixed, &THETA, PairRatio::Clicked).weights, &expected);
        }

        #[test]
        fn the_loss_by_score_is_that_of_all_sessions(
            pages in pages(),
            order in Just((0..6usize).collect::<Vec<_>>()).prop_shuffle(),
        ) {
            let pairs = pairs_of(&pages, &THETA, PairRatio::ByScore);
            let of_all: Vec<f32> = order.iter().map(|&place| place as f32 / 4.0).collect();
            let scores: Vec<f32> = pairs.docs.iter().map(|&doc| of_all[doc as usize]).collect();
            let narrow = |weights: &[f64]| weights.iter().map(|&weight| weight as f32).collect::<Vec<_>>();
            let (if_above, if_below) = (narrow(&pairs.weights), narrow(&pairs.by_score.unwrap().if_below));
            let mut gradient = vec![0.0; scores.len()];
            let found = crate::ranker::pairwise_prs_by_score(&scores, &if_above, &if_below, &mut gradient);
            let expected = session_by_session(&pages, &pairs.docs, &scores);
            prop_assert!((found - expected).abs() < 1e-5 * (1.0 + expected), "{found} and {expected}");
        }
    }

    /// The loss by its definition: session after session, each pair of it over the number of sessions with both documents.
    fn session_by_session(pages: &[(Vec<Shown>, u64)], docs: &[u32], scores: &[f32]) -> f64 {
        let sessions: Vec<&Vec<Shown>> = pages.iter().flat_map(|(page, n)| vec![page; *n as usize]).collect();
        let score = |doc: u32| f64::from(scores[docs.binary_search(&doc).unwrap()]);
        let rank = |doc: u32| 1 + docs.iter().filter(|&&other| score(other) > score(doc)).count();
        let theta = |shown: &Shown| THETA[shown.position as usize - 1];
        let has = |page: &[Shown], doc: u32| page.iter().any(|shown| shown.doc == doc);
        let mut loss = 0.0;
        for page in &sessions {
            for clicked in page.iter().filter(|shown| shown.click) {
                for other in page.iter().filter(|shown| !shown.click) {
                    let with_both = sessions.iter().filter(|s| has(s, clicked.doc) && has(s, other.doc)).count();
                    let is_above = score(clicked.doc) > score(other.doc);
                    let (higher, lower) = if is_above { (clicked, other) } else { (other, clicked) };
                    let gain = discount(rank(higher.doc)) - discount(rank(lower.doc));
                    let margin = score(clicked.doc) - score(other.doc);
                    loss += theta(lower) / theta(higher) * gain * (-margin).exp().ln_1p() / with_both as f64;
                }
            }
        }
        loss
    }
}
