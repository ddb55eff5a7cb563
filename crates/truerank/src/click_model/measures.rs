//! Log-likelihood and perplexity as PyClick and CLAX define them, from click transitions.

use rayon::prelude::*;

use super::browsing::floored;
use super::model::{ModelOnLog, exposed_after};
use super::{ClickLog, ClickModel, Followed, ListParameters};
use crate::Result;
use crate::counts::{END, Transition};

/// Rows per piece of work, about; pieces end with lists.
const PIECE: usize = 1 << 13;

/// How well a model predicts the clicks of a log.
#[derive(Debug, Clone, PartialEq)]
pub struct ClickMeasures {
    /// Sessions that were predicted.
    pub sessions: u64,
    /// The mean over sessions of the mean over positions of `ln P(c_k | c_<k)`.
    pub log_likelihood: f64,
    /// `2^(−mean log2 P(c_k))` of each position, from unconditional probabilities, and of these the mean over positions.
    pub perplexity: f64,
    /// The same from probabilities given the clicks above.
    pub conditional_perplexity: f64,
    /// Each position that occurs.
    pub positions: Vec<PositionMeasures>,
    /// Impressions of documents that the model does not know, which got what holds for unseen ones.
    pub unknown_impressions: u64,
    /// Users whom it does not know, where it tells users apart.
    pub unknown_users: usize,
    /// Contexts that it does not know, where it tells contexts apart; their pages got what holds on average.
    pub unknown_contexts: usize,
}

/// How well the clicks at one position were predicted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PositionMeasures {
    /// The position, from 1.
    pub position: u32,
    /// Its impressions.
    pub impressions: u64,
    /// From unconditional probabilities.
    pub perplexity: f64,
    /// From probabilities given the clicks above.
    pub conditional_perplexity: f64,
}

/// Sums over some lists.
#[derive(Clone)]
struct Sums {
    sessions: f64,
    log_likelihood: f64,
    unknown: f64,
    /// Of each position: impressions, Σ ln P(c_k), Σ ln P(c_k | c_<k).
    positions: Vec<[f64; 3]>,
}

impl Sums {
    fn new(positions: usize) -> Self {
        Sums { sessions: 0.0, log_likelihood: 0.0, unknown: 0.0, positions: vec![[0.0; 3]; positions] }
    }

    fn add(&mut self, other: &Sums) {
        self.sessions += other.sessions;
        self.log_likelihood += other.log_likelihood;
        self.unknown += other.unknown;
        for (sum, part) in self.positions.iter_mut().zip(&other.positions) {
            sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        }
    }
}

impl ClickModel {
    /// How well it predicts the clicks of a log.
    pub fn measure(&self, log: &ClickLog<'_>) -> Result<ClickMeasures> {
        let on = self.on(log)?;
        let mut whole = Sums::new(self.positions());
        for sums in pieces(&log.transitions.rows).par_iter().map(|rows| on.measure(rows)).collect::<Vec<Sums>>() {
            whole.add(&sums);
        }
        Ok(ClickMeasures { unknown_contexts: on.unknown_contexts(), ..whole.finish(on.unknown_users()) })
    }
}

impl ClickModel {
    /// Of each query of a log: the sum over its sessions of the mean over positions of `ln P(c_k | c_<k)`, and its sessions.
    pub fn log_likelihoods(&self, log: &ClickLog<'_>) -> Result<Vec<(f64, f64)>> {
        let on = self.on(log)?;
        let query = |row: &Transition| log.transitions.lists[row.list as usize].query;
        let queries: Vec<&[Transition]> = log.transitions.rows.chunk_by(|a, b| query(a) == query(b)).collect();
        let found: Vec<Sums> = queries.par_iter().map(|rows| on.measure(rows)).collect();
        let mut all = vec![(0.0, 0.0); log.queries.len()];
        for (rows, sums) in queries.iter().zip(found) {
            all[query(&rows[0]) as usize] = (sums.log_likelihood, sums.sessions);
        }
        Ok(all)
    }
}

/// Rows cut after whole lists.
fn pieces(rows: &[Transition]) -> Vec<&[Transition]> {
    let (mut pieces, mut left) = (Vec::new(), rows);
    while !left.is_empty() {
        let last = left[PIECE.min(left.len()) - 1].list;
        let (piece, rest) = left.split_at(left.partition_point(|row| row.list <= last));
        pieces.push(piece);
        left = rest;
    }
    pieces
}

impl ModelOnLog<'_> {
    fn measure(&self, rows: &[Transition]) -> Sums {
        let mut sums = Sums::new(self.positions());
        for of_list in rows.chunk_by(|a, b| a.list == b.list) {
            let number = of_list[0].list as usize;
            let list = self.list(number);
            for of_user in of_list.chunk_by(|a, b| a.user == b.user) {
                add_visits(&mut sums, &list, &self.on_list(number, of_user[0].user), of_user);
            }
        }
        sums
    }
}

/// What one user did with one list.
fn add_visits(sums: &mut Sums, list: &ListParameters, followed: &Followed, rows: &[Transition]) {
    let page = list.view();
    let sessions: f64 = rows.iter().filter(|row| row.from == 0).map(|row| row.sessions as f64).sum();
    sums.sessions += sessions;
    sums.unknown += sessions * list.unknown as f64;
    let mut clicks = vec![0.0; page.len()];
    for steps in rows.chunk_by(|a, b| a.from == b.from) {
        let from = list.positions.partition_point(|&position| position <= steps[0].from);
        let mut at_risk: f64 = steps.iter().map(|row| row.sessions as f64).sum();
        let exposed = exposed_after(followed, &page, from);
        for (offset, exposed) in exposed.iter().enumerate() {
            let (at, position) = (from + offset, list.positions[from + offset]);
            let clicked: f64 =
                steps.iter().filter(|row| row.to == position && row.to != END).map(|row| row.sessions as f64).sum();
            let log = log_of(clicked, at_risk, exposed.click(page.attraction[at]));
            sums.positions[position as usize - 1][2] += log;
            sums.log_likelihood += log / page.len() as f64;
            clicks[at] += clicked;
            at_risk -= clicked;
        }
    }
    let total: f64 = followed.iter().map(|(share, _)| share).sum();
    let mut predicted = vec![0.0; page.len()];
    for (share, browsing) in followed {
        let of_kind = browsing.unconditional_clicks(&page);
        predicted.iter_mut().zip(of_kind).for_each(|(sum, click)| *sum += share / total * click);
    }
    for (at, &position) in list.positions.iter().enumerate() {
        let sum = &mut sums.positions[position as usize - 1];
        sum[0] += sessions;
        sum[1] += log_of(clicks[at], sessions, predicted[at]);
    }
}

fn log_of(clicks: f64, shown: f64, probability: f64) -> f64 {
    let probability = floored(probability);
    clicks * probability.ln() + (shown - clicks) * (1.0 - probability).ln()
}

impl Sums {
    fn finish(self, unknown_users: usize) -> ClickMeasures {
        let shown = (1..).zip(&self.positions).filter(|(_, sums)| sums[0] > 0.0);
        let positions: Vec<PositionMeasures> = shown
            .map(|(position, [impressions, log, conditional])| PositionMeasures {
                position,
                impressions: *impressions as u64,
                perplexity: (-log / impressions).exp(),
                conditional_perplexity: (-conditional / impressions).exp(),
            })
            .collect();
        let mean = |value: fn(&PositionMeasures) -> f64| {
            positions.iter().map(value).sum::<f64>() / positions.len().max(1) as f64
        };
        ClickMeasures {
            sessions: self.sessions as u64,
            log_likelihood: self.log_likelihood / self.sessions.max(1.0),
            perplexity: mean(|at| at.perplexity),
            conditional_perplexity: mean(|at| at.conditional_perplexity),
            positions,
            unknown_impressions: self.unknown as u64,
            unknown_users,
            unknown_contexts: 0,
        }
    }
}
