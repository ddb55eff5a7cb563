//! γ by networks, each document scored by a network that never saw its query.

use rand::seq::SliceRandom;

use super::expectation::Weighted;
use super::logistic::sigmoid;
use crate::Result;
use crate::data::Dataset;
use crate::network::{Architecture, Network, Optimizer, OptimizerState, Workspace, clip_norm};
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

struct Learner {
    network: Network,
    optimizer: OptimizerState,
    workspace: Workspace,
}

/// Parts of the queries.
const PARTS: u32 = 4;

/// Documents per step.
const BATCH: usize = 512;

/// At first.
const LEARNING_RATE: f32 = 0.002;

/// Gradients longer than this are cut, as in the rankers' training.
const LONGEST: f64 = 5.0;

impl<'a> CrossFit<'a> {
    pub fn new(
        architecture: &Architecture,
        data: &'a Dataset,
        rows: &'a [u32],
        docs: &[(u32, u32)],
        seed: u64,
    ) -> Result<Self> {
        let learner = |part: u32| {
            let network = Network::new(architecture.clone(), data.feature_count(), seed.wrapping_add(u64::from(part)))?;
            let optimizer = Optimizer::Adam.start(network.parameters().len());
            Ok(Learner { workspace: Workspace::new(&network), optimizer, network })
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

    /// Every network sees each document of the other parts once.
    pub fn epoch(&mut self, weighted: &Weighted<'_>, examination: &[f64]) {
        for part in 0..PARTS {
            let mut docs: Vec<u32> =
                (0..self.rows.len() as u32).filter(|doc| self.part_of_doc[*doc as usize] != part).collect();
            docs.shuffle(&mut stream(self.seed, "em-epoch", self.epochs * u64::from(PARTS) + u64::from(part)));
            for batch in docs.chunks(BATCH) {
                self.learners[part as usize].step(self.data, self.rows, batch, weighted, examination, self.rate);
            }
        }
        self.epochs += 1;
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
            for docs in docs.chunks(1 << 14) {
                let rows: Vec<u32> = docs.iter().map(|doc| self.rows[*doc]).collect();
                let found = learner.workspace.forward(&learner.network, self.data.features(), &rows);
                docs.iter().zip(found).for_each(|(doc, score)| scores[*doc] = f64::from(*score));
            }
        }
        scores
    }
}

impl Learner {
    /// A step up the log-likelihood of the clicks on `docs`.
    fn step(
        &mut self,
        data: &Dataset,
        rows: &[u32],
        docs: &[u32],
        weighted: &Weighted<'_>,
        examination: &[f64],
        rate: f32,
    ) {
        let batch: Vec<u32> = docs.iter().map(|doc| rows[*doc as usize]).collect();
        let scores = self.workspace.forward(&self.network, data.features(), &batch);
        let shown: f64 = docs.iter().map(|doc| weighted.shown[*doc as usize]).sum::<f64>().max(1.0);
        let down = |(doc, score): (&u32, &f32)| {
            -(weighted.score_gradient(*doc as usize, sigmoid(f64::from(*score)), examination) / shown) as f32
        };
        let gradients: Vec<f32> = docs.iter().zip(scores).map(down).collect();
        let mut gradient = vec![0.0; self.network.parameters().len()];
        self.workspace.backward(&self.network, &gradients, &mut gradient);
        clip_norm(&mut gradient, LONGEST);
        self.optimizer.step(self.network.parameters_mut(), &gradient, rate, 0.0);
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
