//! Draws cells without sessions: clicks of a cell are binomial, so their cost does not depend on their number.

use rand_distr::{Binomial, Distribution};
use rayon::prelude::*;

use super::Simulator;
use crate::counts::{Cell, Counts, SessionCount, Transitions};
use crate::ids::{Ids, Interner};
use crate::random::{Random, stream};
use crate::{Error, Result};

/// Queries drawn from one stream; part of what a seed means.
pub(super) const QUERIES_PER_PIECE: usize = 64;

impl Simulator<'_> {
    /// Counts with the distribution of those of [`log`](Simulator::log), drawn without a session.
    ///
    /// Sessions of a query and user are multinomial, and in the position-based model the clicks on one document are
    /// independent of those on another. Where clusters follow other models the counts are
    /// [`counts_with_transitions`](Simulator::counts_with_transitions). A billion sessions cost what a million do. Whole lists
    /// shuffled per session have too many outcomes for this, and click patterns are not available.
    pub fn counts(&self) -> Result<Counts> {
        if !self.settings.is_position_based() {
            return self.counts_with_transitions();
        }
        self.check_lists_are_few()?;
        let visits = self.draw_visits();
        let queries: Vec<usize> = (0..self.queries.len()).collect();
        let pieces: Vec<(Vec<Cell>, Vec<SessionCount>)> = queries
            .par_chunks(QUERIES_PER_PIECE)
            .enumerate()
            .map(|(piece, queries)| self.draw_cells(piece as u64, queries, &visits))
            .collect();
        let (cells, sessions): (Vec<_>, Vec<_>) = pieces.into_iter().unzip();
        let cells = cells.concat();
        Ok(self.numbering(&cells).counts(cells, sessions.concat(), None))
    }

    /// Refuses shuffled lists.
    pub(super) fn check_lists_are_few(&self) -> Result<()> {
        match self.settings.shuffle > 0.0 {
            true => Err(Error::option("shuffle", "cannot be drawn as cells; draw a log and count it")),
            false => Ok(()),
        }
    }

    /// How many sessions each cluster has for each query: `visits[cluster][query]`.
    pub(super) fn draw_visits(&self) -> Vec<Vec<u64>> {
        (0..self.traffic.len())
            .into_par_iter()
            .map(|cluster| {
                let mut random = stream(self.settings.seed, "visits", cluster as u64);
                multinomial(self.cluster_sessions[cluster], &self.traffic[cluster], &mut random)
            })
            .collect()
    }

    fn draw_cells(&self, piece: u64, queries: &[usize], visits: &[Vec<u64>]) -> (Vec<Cell>, Vec<SessionCount>) {
        let mut random = stream(self.settings.seed, "cells", piece);
        let (mut cells, mut sessions) = (Vec::new(), Vec::new());
        for &query in queries {
            let take = &mut |user, page: &[u32], count, random: &mut Random| {
                self.draw_page(query, user, page, count, random, &mut cells);
            };
            sessions.extend(self.draw_pages(query, visits, &mut random, take));
        }
        (cells, sessions)
    }

    /// Spreads the sessions of a query over users and pages. `take` gets a user, the rows of a page, and how many sessions of
    /// that user saw it; the sessions of each user are returned.
    pub(super) fn draw_pages(
        &self,
        query: usize,
        visits: &[Vec<u64>],
        random: &mut Random,
        take: &mut impl FnMut(usize, &[u32], u64, &mut Random),
    ) -> Vec<SessionCount> {
        let in_cluster = vec![1.0; self.settings.users_per_cluster];
        let mut sessions = Vec::new();
        for (cluster, visits) in visits.iter().enumerate() {
            for (i, count) in multinomial(visits[query], &in_cluster, random).into_iter().enumerate() {
                if count == 0 {
                    continue;
                }
                let user = cluster * self.settings.users_per_cluster + i;
                sessions.push(SessionCount { query: query as u32, user: user as u32, sessions: count });
                self.draw_user_pages(query, count, random, &mut |page, count, random| take(user, page, count, random));
            }
        }
        sessions
    }

    /// Spreads `count` sessions of one user for one query over loggers and swaps.
    fn draw_user_pages(
        &self,
        query: usize,
        count: u64,
        random: &mut Random,
        take: &mut impl FnMut(&[u32], u64, &mut Random),
    ) {
        let by_logger = multinomial(count, &vec![1.0; self.lists.len()], random);
        for (logger, count) in self.lists.iter().zip(by_logger) {
            let rows = logger.of(query);
            let mut outcomes = vec![1.0 - self.settings.swap];
            if rows.len() > 1 && self.settings.swap > 0.0 {
                outcomes.extend(vec![self.settings.swap / (rows.len() - 1) as f64; rows.len() - 1]);
            }
            for (swapped, count) in multinomial(count, &outcomes, random).into_iter().enumerate() {
                let mut page = rows.to_vec();
                page.swap(0, swapped);
                if count > 0 {
                    take(&page, count, random);
                }
            }
        }
    }

    fn draw_page(
        &self,
        query: usize,
        user: usize,
        page: &[u32],
        count: u64,
        random: &mut Random,
        cells: &mut Vec<Cell>,
    ) {
        // In the position-based model parameters are examination by position.
        for (k, (&row, theta)) in page.iter().zip(&self.users[user].values).enumerate() {
            cells.push(Cell {
                query: query as u32,
                doc: self.doc_of_row[row as usize],
                position: k as u32 + 1,
                user: user as u32,
                impressions: count,
                clicks: binomial(count, theta * self.relevance[row as usize], random),
            });
        }
    }

    /// The ids that occur in cells, in their natural order.
    pub(super) fn numbering(&self, cells: &[Cell]) -> Numbering {
        Numbering {
            queries: sorted_subset(self.queries, cells.iter().map(|cell| cell.query)),
            docs: sorted_subset(&self.docs, cells.iter().map(|cell| cell.doc)),
            users: sorted_subset(&self.user_ids(), cells.iter().map(|cell| cell.user)),
        }
    }
}

/// Ids in their natural order without those that do not occur, each with the new numbers of the simulation's.
pub(super) struct Numbering {
    pub queries: (Ids, Vec<u32>),
    pub docs: (Ids, Vec<u32>),
    pub users: (Ids, Vec<u32>),
}

impl Numbering {
    /// Counts of cells and sessions that get new numbers, equal cells merged; transitions have theirs.
    pub fn counts(
        self,
        mut cells: Vec<Cell>,
        mut sessions: Vec<SessionCount>,
        transitions: Option<Transitions>,
    ) -> Counts {
        let (queries, query_number) = self.queries;
        let (docs, doc_number) = self.docs;
        let (users, user_number) = self.users;
        for cell in &mut cells {
            cell.query = query_number[cell.query as usize];
            cell.doc = doc_number[cell.doc as usize];
            cell.user = user_number[cell.user as usize];
        }
        for count in &mut sessions {
            count.query = query_number[count.query as usize];
            count.user = user_number[count.user as usize];
        }
        cells.par_sort_unstable();
        sessions.par_sort_unstable();
        Counts { queries, docs, users, cells: merge(cells), sessions, transitions, ..Counts::default() }
    }
}

/// The ids that occur among `numbers`, in natural order, and for each old number its new one (meaningful only for
/// those that occur).
pub(super) fn sorted_subset(ids: &Ids, numbers: impl Iterator<Item = u32>) -> (Ids, Vec<u32>) {
    let mut interner = Interner::default();
    let mut first_number = vec![None; ids.len()];
    for number in numbers {
        first_number[number as usize].get_or_insert_with(|| interner.id(ids, number as usize));
    }
    let (sorted, sorted_number) = interner.into_sorted();
    (sorted, first_number.into_iter().map(|n| n.map_or(u32::MAX, |n| sorted_number[n as usize])).collect())
}

/// Sums cells that differ only in their counts. Expects them sorted.
fn merge(cells: Vec<Cell>) -> Vec<Cell> {
    let mut merged: Vec<Cell> = Vec::with_capacity(cells.len());
    for cell in cells {
        match merged.last_mut() {
            Some(last)
                if (last.query, last.doc, last.position, last.user)
                    == (cell.query, cell.doc, cell.position, cell.user) =>
            {
                last.impressions += cell.impressions;
                last.clicks += cell.clicks;
            }
            _ => merged.push(cell),
        }
    }
    merged
}

pub(super) fn binomial(trials: u64, probability: f64, random: &mut Random) -> u64 {
    Binomial::new(trials, probability.clamp(0.0, 1.0)).expect("a probability").sample(random)
}

/// Spreads `trials` over outcomes in proportion to `weights`, one conditional binomial after another.
fn multinomial(trials: u64, weights: &[f64], random: &mut Random) -> Vec<u64> {
    let mut weight_left: f64 = weights.iter().sum();
    let mut trials_left = trials;
    let last = weights.iter().rposition(|&weight| weight > 0.0).unwrap_or(0);
    let mut counts = vec![0; weights.len()];
    for (i, &weight) in weights.iter().enumerate() {
        if trials_left == 0 || i > last {
            break;
        }
        // The last outcome takes the rest, whatever rounding left of the weight.
        counts[i] = if i == last { trials_left } else { binomial(trials_left, weight / weight_left, random) };
        trials_left -= counts[i];
        weight_left -= weight;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{ShownLists, Simulation, sessions::tests::small_data};

    /// The mean and standard error of `value` over seeds.
    fn over_seeds(value: impl Fn(u64) -> f64 + Sync + Send) -> (f64, f64) {
        let values: Vec<f64> = (0..60).into_par_iter().map(value).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64;
        (mean, (variance / values.len() as f64).sqrt())
    }

    /// Per seed: summaries of how users, positions and clicks go together, which must not depend on the route.
    fn summaries(cells: impl Iterator<Item = (u32, u32, u64, u64)>) -> [f64; 4] {
        let mut sums = [0.0; 4];
        for (user, position, impressions, clicks) in cells {
            sums[0] += clicks as f64;
            sums[1] += clicks as f64 * f64::from(position);
            sums[2] += clicks as f64 * f64::from(user);
            sums[3] += (clicks as f64).powi(2) + (impressions as f64).powi(2) / 7.0;
        }
        sums
    }

    fn simulate(seed: u64) -> Simulation {
        Simulation::new().sessions(600).users_per_cluster(2).user_noise(0.2).swap(0.3).seed(seed)
    }

    #[test]
    fn cells_have_the_distribution_of_counted_sessions() {
        let data = small_data();
        let scores: Vec<f32> = (0..data.len()).map(|row| (row % 7) as f32).collect();
        let lists = [
            ShownLists::top(&data, &scores, 4).unwrap(),
            ShownLists::top(&data, &scores.iter().map(|s| -s).collect::<Vec<_>>(), 4).unwrap(),
        ];
        for which in 0..4 {
            let direct = over_seeds(|seed| {
                let counts = simulate(seed).prepare(&data, &lists).unwrap().counts().unwrap();
                assert_eq!(counts.session_count(), 600);
                summaries(counts.cells.iter().map(|c| (c.user, c.position, c.impressions, c.clicks)))[which]
            });
            let counted = over_seeds(|seed| {
                let log = simulate(seed + 1000).prepare(&data, &lists).unwrap().log();
                let mut cells = std::collections::BTreeMap::<_, (u64, u64)>::new();
                for i in &log.impressions {
                    let cell = cells.entry((i.query, i.doc, i.position, i.user)).or_default();
                    *cell = (cell.0 + 1, cell.1 + u64::from(i.click));
                }
                summaries(cells.iter().map(|(key, value)| (key.3, key.2, value.0, value.1)))[which]
            });
            let spread = (direct.1.powi(2) + counted.1.powi(2)).sqrt();
            assert!((direct.0 - counted.0).abs() < 4.0 * spread, "{which}: {direct:?} and {counted:?}");
        }
    }

    #[test]
    fn a_billion_sessions_are_drawn_like_a_thousand() {
        let data = small_data();
        let lists = [ShownLists::top(&data, &vec![0.0; data.len()], 5).unwrap()];
        let simulator = Simulation::new().sessions(1_000_000_000).prepare(&data, &lists).unwrap();
        let counts = simulator.counts().unwrap();
        assert_eq!(counts.session_count(), 1_000_000_000);
        assert!(counts.cells.is_sorted() && counts.sessions.is_sorted());
        // With so many sessions the clicks of each cell are close to their expectation.
        let theta = simulator.propensities();
        for cell in counts.cells.iter().filter(|cell| cell.impressions > 1_000_000) {
            let most = cell.impressions as f64 * theta.of_user(cell.user as usize)[cell.position as usize - 1];
            assert!(cell.clicks as f64 <= most * 1.01);
        }
    }
}
