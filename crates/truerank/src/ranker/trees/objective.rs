//! What trees minimise: scores and relevance enter, the first and second derivatives of the loss by each score leave.

use std::ops::Range;

use rayon::prelude::*;

use super::fast::{exp, sum, sum_of_sizes};
use crate::math::{discount, rank};
use crate::named::named;

/// The losses of trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeLoss {
    /// LambdaMART: pairs of documents, each as important as nDCG would change by exchanging them; relevance is the gain.
    LambdaRank,
    /// The listwise softmax loss of networks.
    Softmax,
    /// The squared error of relevance.
    Squared,
}

named!(TreeLoss, "a loss of trees": LambdaRank "lambdarank", Softmax "softmax", Squared "squared");

/// Pairs count in which one document is among so many first ones: what is exchanged further down changes nothing that people see,
/// and long lists do not cost their square.
const TOP: usize = 30;

/// Lists that one task works on.
const TASK: usize = 8;

/// Lists of rows and what is known of each row.
pub(super) struct Objective<'a> {
    pub(super) loss: TreeLoss,
    /// The places of each list, in order.
    pub(super) lists: &'a [Range<usize>],
    /// The relevance of each row.
    pub(super) relevance: &'a [f32],
}

/// The derivatives of one row by its score.
pub(super) type Derivatives = (f32, f32);

impl Objective<'_> {
    /// Fills the derivatives of each row at these scores; returns the mean loss of a list.
    pub(super) fn fill(&self, scores: &[f32], derivatives: &mut [Derivatives]) -> f64 {
        let (mut rest, mut begin) = (derivatives, 0);
        let mut pieces = Vec::with_capacity(self.lists.len());
        for list in self.lists {
            let (piece, after) = rest[list.start - begin..].split_at_mut(list.len());
            pieces.push((list.clone(), piece));
            (rest, begin) = (after, list.end);
        }
        let losses: Vec<f64> = pieces
            .into_par_iter()
            .with_min_len(TASK)
            .map_init(Room::default, |room, (list, derivatives)| {
                let relevance = &self.relevance[list.clone()];
                match self.loss {
                    TreeLoss::Squared => squared(&scores[list], relevance, derivatives),
                    TreeLoss::Softmax => softmax(&scores[list], relevance, derivatives, room),
                    TreeLoss::LambdaRank => lambdarank(&scores[list], relevance, derivatives, room),
                }
            })
            .collect();
        losses.iter().sum::<f64>() / losses.len().max(1) as f64
    }

    /// The score that all rows begin with.
    pub(super) fn start(&self) -> f32 {
        if self.loss != TreeLoss::Squared {
            return 0.0;
        }
        let count: usize = self.lists.iter().map(|list| list.len()).sum();
        let total: f64 = self.lists.iter().flat_map(Clone::clone).map(|row| f64::from(self.relevance[row])).sum();
        if count > 0 { (total / count as f64) as f32 } else { 0.0 }
    }
}

/// Room for one list, used again for the next.
#[derive(Default)]
struct Room {
    scores: Vec<f32>,
    gains: Vec<f32>,
    discounts: Vec<f32>,
    pulls: Vec<f32>,
    bends: Vec<f32>,
    gradients: Vec<f32>,
    curvatures: Vec<f32>,
}

fn squared(scores: &[f32], relevance: &[f32], derivatives: &mut [Derivatives]) -> f64 {
    let mut loss = 0.0;
    for ((derivatives, &score), &relevance) in derivatives.iter_mut().zip(scores).zip(relevance) {
        *derivatives = (score - relevance, 1.0);
        loss += 0.5 * f64::from(score - relevance).powi(2);
    }
    loss / scores.len().max(1) as f64
}

/// `Σ ŷ·(log Σ e^s − s)`, of which `Σŷ·p − ŷ` is the first derivative and `Σŷ·p(1 − p)` the diagonal of the second.
fn softmax(scores: &[f32], relevance: &[f32], derivatives: &mut [Derivatives], room: &mut Room) -> f64 {
    let top = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    room.pulls.clear();
    room.pulls.extend(scores.iter().map(|&score| exp(score - top)));
    let total = sum(&room.pulls);
    let weight = sum(relevance);
    let log_total = f64::from(total).ln() + f64::from(top);
    let mut loss = 0.0;
    for (place, derivatives) in derivatives.iter_mut().enumerate() {
        let p = room.pulls[place] / total;
        *derivatives = (weight * p - relevance[place], weight * p * (1.0 - p));
        loss += f64::from(relevance[place]) * (log_total - f64::from(scores[place]));
    }
    loss
}

/// LambdaMART (Burges 2010) with relevance itself as the gain, so that what clicks make of it counts as it is.
///
/// A pair counts by the change of nDCG if the two were exchanged, over .01 and the distance of their scores, and the sum `S` of a list
/// by `log2(1 + S)/S`: lists with many pairs, or with pairs that are far apart already, would drown the others (as in LightGBM). The loss is 1 − nDCG@30.
fn lambdarank(scores: &[f32], relevance: &[f32], derivatives: &mut [Derivatives], room: &mut Room) -> f64 {
    derivatives.fill((0.0, 0.0));
    let ideal = ideal_dcg(relevance);
    if ideal <= 0.0 {
        return 0.0;
    }
    let order = rank(scores);
    room.sort(scores, relevance, &order);
    let spread = room.scores[0] != room.scores[order.len() - 1];
    let mut total = 0.0;
    for i in 0..TOP.min(order.len() - 1) {
        total += 2.0 * f64::from(room.add_pairs_of(i, (1.0 / ideal) as f32, spread));
    }
    let norm = if total > 0.0 { ((1.0 + total).log2() / total) as f32 } else { 1.0 };
    for (place, &row) in order.iter().enumerate() {
        derivatives[row] = (norm * room.gradients[place], norm * room.curvatures[place]);
    }
    1.0 - dcg(&room.gains) / ideal
}

/// The largest DCG that a list can have.
fn ideal_dcg(relevance: &[f32]) -> f64 {
    let mut gains = relevance.to_vec();
    gains.sort_unstable_by(|a, b| b.total_cmp(a));
    dcg(&gains)
}

/// The DCG of the first documents of a list.
fn dcg(gains: &[f32]) -> f64 {
    gains.iter().take(TOP).enumerate().map(|(place, &gain)| f64::from(gain) * discount(place + 1)).sum()
}

impl Room {
    /// The documents of a list by falling score.
    fn sort(&mut self, scores: &[f32], relevance: &[f32], order: &[usize]) {
        let fill = |room: &mut Vec<f32>, value: &dyn Fn(usize, usize) -> f32| {
            room.clear();
            room.extend(order.iter().enumerate().map(|(place, &row)| value(place, row)));
        };
        fill(&mut self.scores, &|_, row| scores[row]);
        fill(&mut self.gains, &|_, row| relevance[row]);
        fill(&mut self.discounts, &|place, _| discount(place + 1) as f32);
        fill(&mut self.gradients, &|_, _| 0.0);
        fill(&mut self.curvatures, &|_, _| 0.0);
    }

    /// Adds the pairs of the document at place `i` with all after it; returns how much they pull.
    fn add_pairs_of(&mut self, i: usize, over_ideal: f32, spread: bool) -> f32 {
        let (score, gain, discount) = (self.scores[i], self.gains[i], self.discounts[i]);
        let rest = i + 1..self.scores.len();
        self.pulls.resize(rest.len(), 0.0);
        self.bends.resize(rest.len(), 0.0);
        let others = self.scores[rest.clone()].iter().zip(&self.gains[rest.clone()]).zip(&self.discounts[rest.clone()]);
        for (((&other, &other_gain), &other_discount), (pull, bend)) in
            others.zip(self.pulls.iter_mut().zip(&mut self.bends))
        {
            let (apart, gap) = (score - other, gain - other_gain);
            let closeness = if spread { 1.0 / (0.01 + apart) } else { 1.0 };
            let weight = gap.abs() * (discount - other_discount) * over_ideal * closeness;
            // The probability that the better one is below; a pair of equals has no weight.
            let wrong = 1.0 / (1.0 + exp(apart * gap.signum()));
            *pull = gap.signum() * weight * wrong;
            *bend = weight * wrong * (1.0 - wrong);
        }
        self.gradients[i] -= sum(&self.pulls);
        self.curvatures[i] += sum(&self.bends);
        self.gradients[rest.clone()].iter_mut().zip(&self.pulls).for_each(|(gradient, pull)| *gradient += pull);
        self.curvatures[rest].iter_mut().zip(&self.bends).for_each(|(curvature, bend)| *curvature += bend);
        sum_of_sizes(&self.pulls)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fill(loss: TreeLoss, scores: &[f32], relevance: &[f32]) -> (f64, Vec<Derivatives>) {
        let mut derivatives = vec![(f32::NAN, f32::NAN); scores.len()];
        let list = 0..scores.len();
        let objective = Objective { loss, lists: std::slice::from_ref(&list), relevance };
        (objective.fill(scores, &mut derivatives), derivatives)
    }

    fn close(found: f32, expected: f64) -> bool {
        (f64::from(found) - expected).abs() < 2e-3 * (1.0 + expected.abs())
    }

    /// Pair by pair, as it is defined.
    fn slow_lambdarank(scores: &[f32], relevance: &[f32]) -> Vec<(f64, f64)> {
        let count = scores.len();
        let order = rank(scores);
        let place = |row: usize| order.iter().position(|&other| other == row).unwrap();
        let spread = scores[order[0]] != scores[order[count - 1]];
        let ideal = ideal_dcg(relevance);
        let (mut sums, mut total) = (vec![(0.0, 0.0); count], 0.0);
        for better in 0..count {
            for worse in 0..count {
                let counts = relevance[better] > relevance[worse] && place(better).min(place(worse)) < TOP;
                if !counts {
                    continue;
                }
                let apart = f64::from(scores[better]) - f64::from(scores[worse]);
                let gap = f64::from(relevance[better]) - f64::from(relevance[worse]);
                let swap = (discount(place(better) + 1) - discount(place(worse) + 1)).abs();
                let weight = gap * swap / ideal / if spread { 0.01 + apart.abs() } else { 1.0 };
                let wrong = 1.0 / (1.0 + apart.exp());
                sums[better] = (sums[better].0 - weight * wrong, sums[better].1 + weight * wrong * (1.0 - wrong));
                sums[worse] = (sums[worse].0 + weight * wrong, sums[worse].1 + weight * wrong * (1.0 - wrong));
                total += 2.0 * weight * wrong;
            }
        }
        let norm = if total > 0.0 { (1.0 + total).log2() / total } else { 1.0 };
        sums.into_iter().map(|(g, h)| (norm * g, norm * h)).collect()
    }

    proptest! {
        #[test]
        fn lambdas_are_sums_over_pairs(list in prop::collection::vec((-4.0f32..4.0, 0.0f32..1.0), 1..45)) {
            let (scores, relevance): (Vec<f32>, Vec<f32>) = list.into_iter().unzip();
            let (_, found) = fill(TreeLoss::LambdaRank, &scores, &relevance);
            for (found, expected) in found.iter().zip(slow_lambdarank(&scores, &relevance)) {
                prop_assert!(close(found.0, expected.0) && close(found.1, expected.1), "{found:?} {expected:?}");
            }
        }

        #[test]
        fn first_derivatives_are_differences_of_the_loss(
            list in prop::collection::vec((-4.0f32..4.0, 0.0f32..1.0), 1..12),
        ) {
            let (scores, relevance): (Vec<f32>, Vec<f32>) = list.into_iter().unzip();
            for (loss, lists) in [(TreeLoss::Softmax, 1.0), (TreeLoss::Squared, scores.len() as f64)] {
                let (_, found) = fill(loss, &scores, &relevance);
                for row in 0..scores.len() {
                    let at = |step: f32| {
                        let mut moved = scores.clone();
                        moved[row] += step;
                        fill(loss, &moved, &relevance).0 * lists
                    };
                    let step = 1.0 / 64.0;
                    let slope = (at(step) - at(-step)) / f64::from(2.0 * step);
                    prop_assert!(close(found[row].0, slope), "{loss} {:?} {slope}", found[row]);
                }
            }
        }
    }

    #[test]
    fn lists_without_relevance_pull_nothing() {
        for loss in [TreeLoss::LambdaRank, TreeLoss::Softmax] {
            assert_eq!(fill(loss, &[1.0, 2.0], &[0.0, 0.0]), (0.0, vec![(0.0, 0.0); 2]), "{loss}");
        }
        assert_eq!(fill(TreeLoss::LambdaRank, &[1.0], &[0.5]).1, [(0.0, 0.0)]);
    }

    #[test]
    fn squared_errors_begin_at_the_mean() {
        let lists = [0..2, 2..3];
        let objective = |loss| Objective { loss, lists: &lists, relevance: &[0.0, 1.0, 1.0] };
        assert_eq!(objective(TreeLoss::Squared).start(), 2.0 / 3.0);
        assert_eq!(objective(TreeLoss::Softmax).start(), 0.0);
    }
}
