//! A click log as dual learning sees it: shown documents of each query with their clicks by slot, and both losses.

use super::super::Unmatched;
use super::super::loss::listwise_softmax;
use crate::counts::{Cell, CountsView, by_document};
use crate::data::{Dataset, RowFinder, nothing_matches};
use crate::{Error, Result};

/// All lists that have a click, and what their slots are.
///
/// A slot is a group and a position, `group · positions + position − 1`; the group is the user's number or 0 for all.
#[derive(Debug)]
pub(super) struct DualLists {
    pub positions: usize,
    pub groups: usize,
    /// The first position that ever held a document of the data set, counted from 0: what ratios of θ refer to.
    pub first: usize,
    pub lists: Vec<DualList>,
    /// How many lists had no click.
    pub skipped: usize,
    pub unmatched: Unmatched,
    /// Whether each slot ever held a document of the data set.
    pub seen: Vec<bool>,
}

/// The shown documents of one query.
#[derive(Debug, Default, PartialEq)]
pub(super) struct DualList {
    pub rows: Vec<u32>,
    /// For each row, the logarithm of how often it was shown.
    log_shown: Vec<f32>,
    /// Which row stands for the first position: the one that was shown there most.
    reference: usize,
    /// The slots that held a document, sorted, and the logarithm of how often they did.
    places: Vec<(u32, f32)>,
    clicks: Vec<Clicks>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Clicks {
    row: usize,
    place: usize,
    count: f64,
}

/// A loss and the sum of the weights in it.
pub(super) type Loss = (f64, f64);

/// How clicks are weighted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    pub positions: usize,
    pub first: usize,
    /// The largest ratio that a click is weighted by.
    pub clip: f64,
}

impl Rule {
    /// `e^difference`, clipped.
    fn ratio(&self, difference: f32) -> f64 {
        f64::from(difference).exp().min(self.clip)
    }

    fn group(&self, slot: u32) -> usize {
        slot as usize / self.positions
    }
}

impl DualLists {
    pub fn new(data: &Dataset, counts: &dyn CountsView, per_user: bool) -> Result<Self> {
        let positions = counts.totals().max_position as usize;
        let groups = if per_user { counts.users().len() } else { 1 };
        let slot = |cell: &Cell| {
            let group = if per_user { cell.user as usize } else { 0 };
            (group * positions + cell.position as usize - 1) as u32
        };
        let (found, unmatched) = match_cells(data, counts, slot)?;
        let mut seen = vec![false; groups * positions];
        found.iter().flatten().for_each(|shown| seen[shown.slot as usize] = true);
        let first = (0..positions).find(|&k| seen.iter().skip(k).step_by(positions).any(|&seen| seen));
        let first = first.expect("something was found, or it was an error");
        let all = found.len();
        let lists: Vec<DualList> = found
            .into_iter()
            .map(|shown| DualList::new(shown, positions))
            .filter(|list| !list.clicks.is_empty())
            .collect();
        let skipped = all - lists.len();
        Ok(DualLists { positions, groups, first, lists, skipped, unmatched, seen })
    }
}

/// What one cell says, after its document found its row.
#[derive(Debug, Clone, Copy)]
struct Shown {
    row: u32,
    slot: u32,
    impressions: u64,
    clicks: u64,
}

/// The cells of each query that the data set has, in the order of the data set.
fn match_cells(
    data: &Dataset,
    counts: &dyn CountsView,
    slot: impl Fn(&Cell) -> u32,
) -> Result<(Vec<Vec<Shown>>, Unmatched)> {
    let mut matching = Matching {
        finder: RowFinder::new(data, counts.queries(), counts.docs()),
        slot,
        unmatched: Unmatched::default(),
        by_query: vec![Vec::new(); data.query_count()],
    };
    counts.for_each_cells(|cells| {
        cells.chunk_by(|a, b| a.query == b.query).for_each(|of_query| matching.add(of_query))
    })?;
    let Matching { mut by_query, unmatched, .. } = matching;
    by_query.retain(|shown| !shown.is_empty());
    if by_query.is_empty() {
        return Err(match counts.totals().cells {
            0 => Error::parameter("dual learning needs impressions, but the counts have none"),
            _ => nothing_matches(data, counts.queries(), "document of the log", "log's"),
        });
    }
    Ok((by_query, unmatched))
}

/// Cells on their way to rows of the data set.
struct Matching<'a, S> {
    finder: RowFinder<'a>,
    slot: S,
    unmatched: Unmatched,
    by_query: Vec<Vec<Shown>>,
}

impl<S: Fn(&Cell) -> u32> Matching<'_, S> {
    /// Adds the cells of one query.
    fn add(&mut self, cells: &[Cell]) {
        let docs: Vec<&[Cell]> = by_document(cells).collect();
        let Some((query, rows)) = self.finder.find(cells[0].query, docs.iter().map(|cells| cells[0].doc)) else {
            self.unmatched.queries += 1;
            return;
        };
        self.unmatched.docs += rows.iter().filter(|row| row.is_none()).count();
        for (row, cells) in rows.into_iter().zip(docs) {
            let Some(row) = row else { continue };
            self.by_query[query].extend(cells.iter().filter(|cell| cell.impressions > 0).map(|cell| Shown {
                row,
                slot: (self.slot)(cell),
                impressions: cell.impressions,
                clicks: cell.clicks,
            }));
        }
    }
}

impl DualList {
    fn new(mut shown: Vec<Shown>, positions: usize) -> Self {
        // Cells of one document may become one slot when users are merged; sums do not depend on their order.
        shown.sort_by_key(|shown| (shown.slot, shown.row));
        let mut list = DualList { rows: distinct(shown.iter().map(|shown| shown.row)), ..DualList::default() };
        let slots = distinct(shown.iter().map(|shown| shown.slot));
        let (mut row_sums, mut slot_sums) = (vec![0; list.rows.len()], vec![0; slots.len()]);
        for same in shown.chunk_by(|a, b| (a.slot, a.row) == (b.slot, b.row)) {
            let row = list.rows.binary_search(&same[0].row).expect("a row of the list");
            let place = slots.binary_search(&same[0].slot).expect("a slot of the list");
            let impressions: u64 = same.iter().map(|shown| shown.impressions).sum();
            row_sums[row] += impressions;
            slot_sums[place] += impressions;
            let count = same.iter().map(|shown| shown.clicks).sum::<u64>() as f64;
            if count > 0.0 {
                list.clicks.push(Clicks { row, place, count });
            }
        }
        list.log_shown = row_sums.iter().map(|&sum| (sum as f64).ln() as f32).collect();
        list.places = slots.iter().zip(slot_sums).map(|(&slot, sum)| (slot, (sum as f64).ln() as f32)).collect();
        list.reference = list.most_shown_first(&shown, positions);
        list
    }

    /// The row that was shown most at the list's first position; of equals the first in the data set.
    fn most_shown_first(&self, shown: &[Shown], positions: usize) -> usize {
        let position = |shown: &Shown| shown.slot as usize % positions;
        let first = shown.iter().map(position).min().unwrap_or(0);
        let mut sums = vec![0; self.rows.len()];
        for shown in shown.iter().filter(|shown| position(shown) == first) {
            sums[self.rows.binary_search(&shown.row).expect("a row of the list")] += shown.impressions;
        }
        let most = sums.iter().max().copied().unwrap_or(0);
        sums.iter().position(|&sum| sum == most).unwrap_or(0)
    }

    /// The ranker's loss `−Σ_d w(d) log softmax(s + ln n)_d` with `w(d) = Σ c · θ(1)/θ(k)`, where `n` is how often a
    /// document was shown; fills `gradient` with its gradient by the scores.
    pub fn relevance_loss(&self, scores: &[f32], logits: &[f32], rule: Rule, gradient: &mut [f32]) -> Loss {
        let mut weights = vec![0.0; self.rows.len()];
        for clicks in &self.clicks {
            let slot = self.places[clicks.place].0;
            let first = rule.group(slot) * rule.positions + rule.first;
            weights[clicks.row] += clicks.count * rule.ratio(logits[first] - logits[slot as usize]);
        }
        let shifted: Vec<f32> = scores.iter().zip(&self.log_shown).map(|(score, shown)| score + shown).collect();
        softmax_loss(&shifted, &weights, gradient)
    }

    /// The propensity model's loss `−Σ_k v(k) log softmax(b + ln m)_k` with `v(k) = Σ c · r(d₁)/r(d)`, summed over groups,
    /// where `m` is how often a slot held a document; fills `gradient` with its gradient by the logits of
    /// [`slots`](DualList::slots).
    pub fn examination_loss(&self, scores: &[f32], logits: &[f32], rule: Rule, gradient: &mut Vec<f32>) -> Loss {
        let mut weights = vec![0.0; self.places.len()];
        for clicks in &self.clicks {
            weights[clicks.place] += clicks.count * rule.ratio(scores[self.reference] - scores[clicks.row]);
        }
        let shifted: Vec<f32> = self.places.iter().map(|&(slot, shown)| logits[slot as usize] + shown).collect();
        gradient.clear();
        gradient.resize(weights.len(), 0.0);
        let (mut sum, mut start) = ((0.0, 0.0), 0);
        for of_group in self.places.chunk_by(|a, b| rule.group(a.0) == rule.group(b.0)) {
            let range = start..start + of_group.len();
            let loss = softmax_loss(&shifted[range.clone()], &weights[range.clone()], &mut gradient[range.clone()]);
            sum = (sum.0 + loss.0, sum.1 + loss.1);
            start = range.end;
        }
        sum
    }

    /// The slots that the gradient of the examination loss is about.
    pub fn slots(&self) -> impl Iterator<Item = u32> {
        self.places.iter().map(|place| place.0)
    }
}

fn softmax_loss(scores: &[f32], weights: &[f64], gradient: &mut [f32]) -> Loss {
    let narrow: Vec<f32> = weights.iter().map(|&weight| weight as f32).collect();
    (listwise_softmax(scores, &narrow, gradient), weights.iter().sum())
}

fn distinct(values: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut values: Vec<u32> = values.collect();
    values.sort_unstable();
    values.dedup();
    values
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RULE: Rule = Rule { positions: 3, first: 0, clip: f64::INFINITY };

    fn shown(row: u32, slot: u32, impressions: u64, clicks: u64) -> Shown {
        Shown { row, slot, impressions, clicks }
    }

    #[test]
    fn a_list_gathers_what_its_cells_say() {
        let list = DualList::new(
            vec![shown(7, 0, 4, 1), shown(7, 0, 2, 2), shown(5, 1, 6, 0), shown(5, 0, 5, 1), shown(7, 1, 1, 0)],
            3,
        );
        assert_eq!(list.rows, [5, 7]);
        assert_eq!(list.log_shown, [11_f64.ln() as f32, 7_f64.ln() as f32]);
        assert_eq!(list.places, [(0, 11_f64.ln() as f32), (1, 7_f64.ln() as f32)]);
        assert_eq!(list.clicks, [Clicks { row: 0, place: 0, count: 1.0 }, Clicks { row: 1, place: 0, count: 3.0 }]);
        assert_eq!(list.reference, 1);
    }

    #[test]
    fn with_full_lists_the_losses_are_the_published_ones() {
        let list = DualList::new(vec![shown(0, 0, 9, 2), shown(1, 1, 9, 1), shown(2, 2, 9, 0)], 3);
        let (scores, logits) = ([0.5_f32, -0.25, 0.0], [0.0_f32, -1.0, -2.0]);
        let log_softmax = |values: &[f32; 3], index: usize| {
            f64::from(values[index]) - values.iter().map(|&value| f64::from(value).exp()).sum::<f64>().ln()
        };
        let (found, total) = list.relevance_loss(&scores, &logits, RULE, &mut [0.0; 3]);
        let weight = 1_f64.exp();
        let expected = -2.0 * log_softmax(&scores, 0) - weight * log_softmax(&scores, 1);
        assert!((found - expected).abs() < 1e-5 && total == 2.0 + weight, "{found} {expected} {total}");
        let (found, _) = list.examination_loss(&scores, &logits, RULE, &mut Vec::new());
        let expected = -2.0 * log_softmax(&logits, 0) - 0.75_f64.exp() * log_softmax(&logits, 1);
        assert!((found - expected).abs() < 1e-5, "{found} {expected}");
        let clipped = Rule { clip: 1.5, ..RULE };
        assert_eq!(list.relevance_loss(&scores, &logits, clipped, &mut [0.0; 3]).1, 2.0 + 1.5);
    }

    fn differences(at: &[f32], loss: impl Fn(&[f32]) -> f64) -> Vec<f64> {
        let step = 1.0 / 256.0;
        let moved = |index: usize, by: f32| {
            let mut at = at.to_vec();
            at[index] += by;
            loss(&at)
        };
        (0..at.len()).map(|index| (moved(index, step) - moved(index, -step)) / f64::from(2.0 * step)).collect()
    }

    proptest! {
        #[test]
        fn gradients_are_those_of_finite_differences(
            cells in prop::collection::btree_map((0u32..4, 0u32..6), (1u64..9, 0u64..4), 1..12),
            scores in prop::collection::vec(-1.0f32..1.0, 4),
            logits in prop::collection::vec(-1.0f32..1.0, 6),
        ) {
            let cells = cells.into_iter().map(|((row, slot), (more, clicks))| shown(row, slot, clicks + more, clicks));
            let list = DualList::new(cells.collect(), 3);
            let scores = &scores[..list.rows.len()];
            let close = |found: f32, expected: f64| (f64::from(found) - expected).abs() < 2e-3 * (1.0 + expected.abs());

            let mut gradient = vec![0.0; scores.len()];
            list.relevance_loss(scores, &logits, RULE, &mut gradient);
            let loss = |scores: &[f32]| list.relevance_loss(scores, &logits, RULE, &mut vec![0.0; scores.len()]).0;
            for (&found, expected) in gradient.iter().zip(differences(scores, loss)) {
                prop_assert!(close(found, expected), "{} {}", found, expected);
            }

            let mut gradient = Vec::new();
            list.examination_loss(scores, &logits, RULE, &mut gradient);
            let mut by_slot = [0.0; 6];
            list.slots().zip(&gradient).for_each(|(slot, &slope)| by_slot[slot as usize] = slope);
            let loss = |logits: &[f32]| list.examination_loss(scores, logits, RULE, &mut Vec::new()).0;
            for (&found, expected) in by_slot.iter().zip(differences(&logits, loss)) {
                prop_assert!(close(found, expected), "{} {}", found, expected);
            }
        }
    }
}
