//! Weighted clicks and non-clicks for each ordered pair of positions: what intervention harvesting keeps of a log.

use super::{WAY_OUT, Weighting, named, positions_are};
use crate::propensity::observations::{Entries, Observed};
use crate::{Error, Result};

/// The most entries of a table, over all groups: 1 GB in clicks and non-clicks together.
const MOST_ENTRIES: usize = 1 << 26;

/// ĉ(k,k′) and ¬ĉ(k,k′) of each group: over the documents shown at both k and k′ (to anybody), what the group clicked and
/// did not click *at k*, each impression with the weight 1/n(q,d,k), n counted over all groups.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tables {
    pub positions: usize,
    pub groups: usize,
    /// `clicks[(group · positions + k) · positions + k′]`, k and k′ from 0.
    clicks: Vec<f64>,
    misses: Vec<f64>,
    /// Impressions behind `[group · positions + k]`.
    shown: Vec<f64>,
}

/// Two positions, k < k′ from 0, with clicks and non-clicks at each on the documents they share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pair {
    pub positions: (usize, usize),
    pub clicks: (f64, f64),
    pub misses: (f64, f64),
}

impl Tables {
    /// The tables with each query counted `weights[query]` times.
    pub fn new(observations: &dyn Observed, weighting: Weighting, weights: &[f64]) -> Result<Self> {
        let (groups, positions) = (observations.groups(), observations.positions());
        let mut tables = Tables {
            positions,
            groups,
            clicks: vec![0.0; groups * positions * positions],
            misses: vec![0.0; groups * positions * positions],
            shown: vec![0.0; groups * positions],
        };
        let mut at = ShownAt { impressions: vec![0.0; positions], positions: Vec::new() };
        observations.for_each_doc(|(query, _), entries| {
            let weight = weights[query as usize];
            if weight > 0.0 {
                at.fill(entries);
                tables.add(entries, &at, weighting, weight);
            }
        })?;
        Ok(tables)
    }

    fn add(&mut self, entries: Entries<'_>, at: &ShownAt, weighting: Weighting, weight: f64) {
        if at.positions.len() < 2 {
            return;
        }
        for (slot, clicks, misses) in entries.iter() {
            let position = slot % self.positions;
            self.shown[slot] += weight * (clicks + misses);
            for &other in at.positions.iter().filter(|&&other| other != position) {
                let (n, n_other) = (at.impressions[position], at.impressions[other]);
                let each = weight * weighting.of_document(n, n_other) / n;
                self.clicks[slot * self.positions + other] += each * clicks;
                self.misses[slot * self.positions + other] += each * misses;
            }
        }
    }

    /// Whether tables of this size are kept at all.
    pub fn check_size(groups: usize, positions: usize) -> Result<()> {
        let most = MOST_ENTRIES / (positions * positions).max(1);
        match groups <= most {
            true => Ok(()),
            false => Err(Error::parameter(format!(
                "with {positions} positions there should be at most {most} users, but there are {groups}; \
                 take users together in clusters, or describe them by features that many share"
            ))),
        }
    }

    /// The pairs of a group that say anything: with a click at one position at least.
    pub fn pairs(&self, group: usize) -> Vec<Pair> {
        let mut pairs = Vec::new();
        for first in 0..self.positions {
            for second in first + 1..self.positions {
                let pair = self.pair(group, first, second);
                if pair.clicks.0 + pair.clicks.1 > 0.0 {
                    pairs.push(pair);
                }
            }
        }
        pairs
    }

    fn pair(&self, group: usize, first: usize, second: usize) -> Pair {
        let start = group * self.positions;
        let (there, back) = ((start + first) * self.positions + second, (start + second) * self.positions + first);
        Pair {
            positions: (first, second),
            clicks: (self.clicks[there], self.clicks[back]),
            misses: (self.misses[there], self.misses[back]),
        }
    }

    /// Turns half an impression into a click at each position of a group that has none; says which they are.
    pub fn add_half_clicks(&mut self, group: usize) -> Vec<bool> {
        let half = |position: usize| {
            let slot = group * self.positions + position;
            let row = slot * self.positions..(slot + 1) * self.positions;
            let without = self.shown[slot] > 0.0 && self.clicks[row.clone()].iter().all(|&clicks| clicks == 0.0);
            if without {
                for entry in row {
                    let part = (0.5 / self.shown[slot]).min(0.5) * self.misses[entry];
                    self.clicks[entry] += part;
                    self.misses[entry] -= part;
                }
            }
            without
        };
        (0..self.positions).map(half).collect()
    }

    /// Checks that the only group's clicks link all positions.
    pub fn check(&self) -> Result<()> {
        if self.clicks.iter().chain(&self.misses).all(|&value| value == 0.0) {
            return Err(Error::parameter(format!(
                "no document was shown at two positions, so positions cannot be compared; {WAY_OUT}"
            )));
        }
        let pairs = self.pairs(0);
        let linked = linked_to(0, self.positions, &pairs);
        let which = |wanted: bool| -> Vec<usize> {
            (0..self.positions).filter(|&position| linked[position] == wanted).map(|position| position + 1).collect()
        };
        let (with_first, apart) = (which(true), which(false));
        if !apart.is_empty() {
            return Err(Error::parameter(format!(
                "{} not linked to {}: no clicked document was shown at both; {WAY_OUT}",
                positions_are(&apart),
                named(&with_first)
            )));
        }
        let clicked = |position: usize| {
            self.clicks[position * self.positions..(position + 1) * self.positions].iter().any(|&clicks| clicks > 0.0)
        };
        let unclicked: Vec<usize> =
            (0..self.positions).filter(|&position| !clicked(position)).map(|position| position + 1).collect();
        match unclicked.is_empty() {
            true => Ok(()),
            false => Err(Error::parameter(format!(
                "{} without a click on documents that were also shown elsewhere; a longer log may have some",
                positions_are(&unclicked)
            ))),
        }
    }
}

/// Where a document was shown, and how often.
struct ShownAt {
    impressions: Vec<f64>,
    /// From 0, ascending.
    positions: Vec<usize>,
}

impl ShownAt {
    fn fill(&mut self, entries: Entries<'_>) {
        self.positions.drain(..).for_each(|position| self.impressions[position] = 0.0);
        for (slot, clicks, misses) in entries.iter() {
            let position = slot % self.impressions.len();
            self.impressions[position] += clicks + misses;
            self.positions.push(position);
        }
        self.positions.sort_unstable();
        self.positions.dedup();
    }
}

/// Which positions (from 0) a chain of pairs connects with `start`.
pub(super) fn linked_to(start: usize, positions: usize, pairs: &[Pair]) -> Vec<bool> {
    let mut linked = vec![false; positions];
    linked[start] = true;
    // Each round links one more position or is the last.
    for _ in 0..positions {
        let before = linked.clone();
        for &Pair { positions: (first, second), .. } in pairs {
            let either = linked[first] || linked[second];
            (linked[first], linked[second]) = (either, either);
        }
        if linked == before {
            break;
        }
    }
    linked
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::{Cell, Counts};
    use crate::ids::Ids;
    use crate::propensity::observations::Observations;

    fn observations() -> (Observations, Observations) {
        let cell =
            |doc, position, user, impressions, clicks| Cell { query: 0, doc, position, user, impressions, clicks };
        let counts = Counts {
            queries: Ids::numbered(1),
            docs: Ids::numbered(2),
            users: Ids::numbered(2),
            cells: vec![
                cell(0, 1, 0, 6, 3),
                cell(0, 1, 1, 2, 1),
                cell(0, 3, 1, 5, 1),
                cell(1, 1, 0, 3, 1),
                cell(1, 2, 0, 4, 0),
                cell(1, 3, 0, 2, 2),
            ],
            ..Counts::default()
        };
        (Observations::of_population(&counts), Observations::of_users(&counts))
    }

    #[test]
    fn entries_are_clicks_at_a_position_over_impressions_there() {
        let (population, users) = observations();
        let tables = Tables::new(&population, Weighting::Documents, &[1.0]).unwrap();
        let pair = tables.pair(0, 0, 2);
        assert_eq!(pair.clicks, (4.0 / 8.0 + 1.0 / 3.0, 1.0 / 5.0 + 2.0 / 2.0));
        assert!((pair.clicks.0 + pair.misses.0 - 2.0).abs() < 1e-12);
        assert_eq!(tables.pair(0, 0, 1).clicks, (1.0 / 3.0, 0.0));
        let by_user = Tables::new(&users, Weighting::Documents, &[1.0]).unwrap();
        assert_eq!(by_user.pair(0, 0, 2).clicks, (3.0 / 8.0 + 1.0 / 3.0, 1.0));
        assert_eq!(by_user.pair(1, 0, 2).clicks, (1.0 / 8.0, 1.0 / 5.0));
        assert_eq!(by_user.pair(1, 0, 1).clicks, (0.0, 0.0));
        assert_eq!(by_user.pairs(1).len(), 1);
    }

    #[test]
    fn overlap_gives_a_document_the_harmonic_weight_of_the_pair() {
        let (population, _) = observations();
        let tables = Tables::new(&population, Weighting::Overlap, &[1.0]).unwrap();
        let (doc_0, doc_1) = (8.0 * 5.0 / 13.0, 3.0 * 2.0 / 5.0);
        let expected = doc_0 * 4.0 / 8.0 + doc_1 * 1.0 / 3.0;
        assert!((tables.pair(0, 0, 2).clicks.0 - expected).abs() < 1e-12);
    }

    #[test]
    fn queries_count_as_often_as_they_weigh() {
        let (population, _) = observations();
        let (once, twice) = (
            Tables::new(&population, Weighting::Documents, &[1.0]).unwrap(),
            Tables::new(&population, Weighting::Documents, &[2.0]).unwrap(),
        );
        assert!(once.clicks.iter().zip(&twice.clicks).all(|(once, twice)| 2.0 * once == *twice));
    }

    #[test]
    fn half_a_click_stands_where_there_is_none() {
        let (_, users) = observations();
        let mut tables = Tables::new(&users, Weighting::Documents, &[1.0]).unwrap();
        assert_eq!(tables.add_half_clicks(0), [false, true, false]);
        assert_eq!(tables.pair(0, 0, 1).clicks, (1.0 / 3.0, 1.0 / 8.0));
        assert_eq!(tables.pair(0, 0, 1).misses, (2.0 / 3.0, 7.0 / 8.0));
    }

    #[test]
    fn links_are_followed_in_any_order() {
        let pair = |first, second| Pair { positions: (first, second), clicks: (1.0, 1.0), misses: (0.0, 0.0) };
        assert_eq!(linked_to(0, 5, &[pair(2, 3), pair(1, 2), pair(0, 3)]), [true, true, true, true, false]);
    }
}
