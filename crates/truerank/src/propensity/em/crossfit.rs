//! γ by networks, each document scored by a network that never saw its query.

use rand::seq::SliceRandom;

use super::learner::{BATCH, Learner};
use crate::Result;
use crate::data::Dataset;
use crate::network::{Architecture, Network, rank_scaling};
use crate::progress::Progress;
use crate::random::stream;

/// One network for each part of the queries, trained on the other parts.
///
/// A network that had seen a document's own clicks would explain them by the document, and leave nothing for the
/// position: it would be a table of γ, under which one fixed ranking says nothing about positions. Scores of unseen
/// queries carry only what features tell.
pub(crate) struct CrossFit<'a> {
    data: &'a Dataset,
    rows: &'a [u32],
    part_of_doc: Vec<u32>,
    learners: Vec<Learner>,
    seed: u64,
    epochs: u64,
    rate: f32,
}

/// Parts of the queries.
pub(crate) const PARTS: u32 = 4;

/// At first.
const LEARNING_RATE: f32 = 0.002;

/// Epochs at most; they mostly stop after 15 to 25.
const EPOCHS: usize = 60;

/// Epochs in a row that predict unseen queries no better before the networks stop; each halves the learning rate.
const PATIENCE: usize = 3;

impl<'a> CrossFit<'a> {
    pub fn new(
        architecture: &Architecture,
        data: &'a Dataset,
        rows: &'a [u32],
        docs: &[(u32, u32)],
        seed: u64,
    ) -> Result<Self> {
        // Not the paper's network, which forgets how high all features of a document are.
        let (features, scaling) = (data.feature_count(), rank_scaling(data.features(), data.feature_count())?);
        let learner = |part: u32| -> Result<Learner> {
            let network = Network::keeping_level(architecture.clone(), features, seed.wrapping_add(u64::from(part)))?;
            Ok(Learner::new(network.scaled(scaling.clone())?))
        };
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

    /// The best scores of unseen queries. `epoch` trains for an [`epoch`](CrossFit::epoch) and says how likely the
    /// clicks are under the [`scores`](CrossFit::scores) that follow.
    pub fn train(
        &mut self,
        progress: &dyn Progress,
        mut epoch: impl FnMut(&mut Self) -> Result<(f64, Vec<f64>)>,
    ) -> Result<Vec<f64>> {
        let (mut best, mut best_scores, mut since_best) = (f64::NEG_INFINITY, Vec::new(), 0);
        progress.begin("training networks", EPOCHS as u64);
        for _ in 0..EPOCHS {
            let (value, scores) = epoch(self)?;
            progress.advance(1)?;
            progress.note(&format!("log-likelihood of unseen queries {value:.6}"));
            if value > best {
                (best, best_scores, since_best) = (value, scores, 0);
                continue;
            }
            since_best += 1;
            self.rate /= 2.0;
            if since_best == PATIENCE {
                break;
            }
        }
        Ok(best_scores)
    }

    /// Every network sees each document of the other parts once. `slopes` are those of the log-likelihood in the logits
    /// of a batch of documents, given their γ.
    pub fn epoch(&mut self, slopes: impl Fn(&[u32], &[f64]) -> Result<Vec<f64>>) -> Result<()> {
        for part in 0..PARTS {
            let mut docs: Vec<u32> =
                (0..self.rows.len() as u32).filter(|doc| self.part_of_doc[*doc as usize] != part).collect();
            docs.shuffle(&mut stream(self.seed, "em-epoch", self.epochs * u64::from(PARTS) + u64::from(part)));
            for batch in docs.chunks(BATCH) {
                self.step(part as usize, batch, &slopes)?;
            }
        }
        self.epochs += 1;
        Ok(())
    }

    /// A step of one network up the log-likelihood of the clicks on `docs`.
    fn step(&mut self, part: usize, docs: &[u32], slopes: &impl Fn(&[u32], &[f64]) -> Result<Vec<f64>>) -> Result<()> {
        let batch: Vec<u32> = docs.iter().map(|doc| self.rows[*doc as usize]).collect();
        let relevance = self.learners[part].relevance(self.data, &batch);
        self.learners[part].climb(slopes(docs, &relevance)?.into_iter(), self.rate);
        Ok(())
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
pub(crate) fn parts(docs: &[(u32, u32)], seed: u64) -> Vec<u32> {
    let mut queries: Vec<u32> = docs.chunk_by(|a, b| a.0 == b.0).map(|of_query| of_query[0].0).collect();
    queries.shuffle(&mut stream(seed, "em-parts", 0));
    let most = queries.iter().max().map_or(0, |query| *query as usize + 1);
    let mut part_of_query = vec![0; most];
    queries.iter().enumerate().for_each(|(index, query)| part_of_query[*query as usize] = index as u32 % PARTS);
    docs.iter().map(|(query, _)| part_of_query[*query as usize]).collect()
}
