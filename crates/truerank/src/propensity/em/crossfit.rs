//! γ by networks, each document scored by a network that never saw its query.

use rand::seq::SliceRandom;

use super::expectation::Weighted;
use super::learner::{BATCH, Learner};
use crate::Result;
use crate::data::Dataset;
use crate::network::Architecture;
use crate::random::stream;

/// One network for each part of the queries, trained on the other parts.
///
/// A network that had seen a document's own clicks would explain them by the document, and leave nothing for the
/// position: it would be a table of γ, under which one fixed ranking says nothing about positions. Scores of unseen
/// queries carry only what features tell.
pub(super) struct CrossFit<'a> {
    data: &'a Dataset,
    rows: &'a [u32],
    part_of_doc: Vec<u32>,
    learners: Vec<Learner>,
    seed: u64,
    epochs: u64,
    rate: f32,
}

/// Parts of the queries.
const PARTS: u32 = 4;

/// At first.
const LEARNING_RATE: f32 = 0.002;

impl<'a> CrossFit<'a> {
    pub fn new(
        architecture: &Architecture,
        data: &'a Dataset,
        rows: &'a [u32],
        docs: &[(u32, u32)],
        seed: u64,
    ) -> Result<Self> {
        let learner = |part: u32| Learner::new(architecture, data.feature_count(), seed.wrapping_add(u64::from(part)));
        Ok(CrossFit {
            data,
            rows,
            part_of_doc: parts(docs, seed),
            learners: (0..PARTS).map(learner).collect::<Result<_>>()?,
            seed,
            epochs: 0,
            rate: LEARNING_RATE,
        })
    }

    /// Every network sees each document of the other parts once.
    pub fn epoch(&mut self, weighted: &Weighted<'_>, examination: &[f64]) {
        for part in 0..PARTS {
            let mut docs: Vec<u32> =
                (0..self.rows.len() as u32).filter(|doc| self.part_of_doc[*doc as usize] != part).collect();
            docs.shuffle(&mut stream(self.seed, "em-epoch", self.epochs * u64::from(PARTS) + u64::from(part)));
            for batch in docs.chunks(BATCH) {
                self.step(part as usize, batch, weighted, examination);
            }
        }
        self.epochs += 1;
    }

    /// A step of one network up the log-likelihood of the clicks on `docs`.
    fn step(&mut self, part: usize, docs: &[u32], weighted: &Weighted<'_>, examination: &[f64]) {
        let batch: Vec<u32> = docs.iter().map(|doc| self.rows[*doc as usize]).collect();
        let relevance = self.learners[part].relevance(self.data, &batch);
        let shown = weighted.shown_of(docs);
        let slopes = docs
            .iter()
            .zip(&relevance)
            .map(|(doc, gamma)| weighted.score_gradient(*doc as usize, *gamma, examination) / shown);
        self.learners[part].climb(slopes, self.rate);
    }

    /// Takes steps half as long from now on.
    pub fn halve_rate(&mut self) {
        self.rate /= 2.0;
    }

    /// The logit of each document's γ, by the network that did not see it.
    pub fn scores(&mut self) -> Vec<f64> {
        let mut scores = vec![0.0; self.rows.len()];
        for (part, learner) in self.learners.iter_mut().enumerate() {
            let docs: Vec<usize> = (0..self.rows.len()).filter(|doc| self.part_of_doc[*doc] as usize == part).collect();
            let rows: Vec<u32> = docs.iter().map(|doc| self.rows[*doc]).collect();
            docs.iter().zip(learner.scores(self.data, &rows)).for_each(|(doc, score)| scores[*doc] = score);
        }
        scores
    }
}

/// The part of each document's query: queries are dealt out in random order.
fn parts(docs: &[(u32, u32)], seed: u64) -> Vec<u32> {
    let mut queries: Vec<u32> = docs.chunk_by(|a, b| a.0 == b.0).map(|of_query| of_query[0].0).collect();
    queries.shuffle(&mut stream(seed, "em-parts", 0));
    let most = queries.iter().max().map_or(0, |query| *query as usize + 1);
    let mut part_of_query = vec![0; most];
    queries.iter().enumerate().for_each(|(index, query)| part_of_query[*query as usize] = index as u32 % PARTS);
    docs.iter().map(|(query, _)| part_of_query[*query as usize]).collect()
}
