//! Predicts relevance from features, each document by a model that saw no click on its query.

use super::correction::Documents;
use super::shrinkage::least_error_shrink;
use super::{Estimator, Exposures, KnownLog, PredictedRelevance, Prior};
use crate::data::Dataset;
use crate::network::Architecture;
use crate::options::options;
use crate::progress::Progress;
use crate::propensity::em::{CrossFit, Design, Logistic, MARGIN, PARTS, RelevanceModel, parts, sigmoid};
use crate::propensity::{Joined, RelevanceForm};
use crate::{Error, Result};

options! {
    /// Cross-fitted predictions of P(r=1) from features, for given examination.
    ///
    /// Queries are dealt into four parts. Each part is predicted by a regression of clicks on features, fitted to the other
    /// three: `c` clicks in `E` examinations, so that `Σ x·w·(c − E·γ) = 0`, which holds in expectation whatever the positions
    /// and users were. Features do not say all about a document: a thousand examinations of one tell less of them than one
    /// examination of a thousand. So a document counts by `w = b/(E + b)`, with b the strength that shrinks weights toward the mean. At the end one line through all logits, two numbers, is fitted to all queries, so that predictions are
    /// calibrated also where a model learned its own part too well.
    #[derive(PartialEq)]
    pub struct RelevancePredictor {
        /// What predicts relevance for `prior` model: linear, mlp, or like mlp:64,32; no document is predicted from clicks on its query.
        prior_model: RelevanceForm = RelevanceForm::Linear, value("MODEL");
        /// Seed of the model.
        seed: u64 = 1;
    }
}

/// Newton steps at most; ten mostly do.
const STEPS: usize = 100;

/// Steps end when no probability moves by more.
const TOLERANCE: f64 = 1e-5;

impl RelevancePredictor {
    /// The predicted relevance of each shown document whose features are known.
    pub fn predict(&self, log: &KnownLog<'_>, progress: &dyn Progress) -> Result<PredictedRelevance> {
        let (counts, data, exposures) = (log.counts(), log.log.require_data()?, log.exposures(progress)?);
        let regression = Regression::new(&log.log, exposures)?.counting_by_information(strength(exposures));
        let part_of_doc = parts(&regression.docs, self.seed);
        let scores = match &self.prior_model {
            RelevanceForm::Table => {
                return Err(Error::option(
                    "prior_model",
                    "is table, but predictions come from features, of which a table has none",
                ));
            }
            RelevanceForm::Linear => regression.linear_scores(data, &part_of_doc, progress)?,
            RelevanceForm::Mlp(architecture) => regression.network_scores(architecture, data, self.seed, progress)?,
        };
        let values = regression.calibrated(&scores);
        let values = regression.docs.iter().zip(values).map(|(&(query, doc), value)| (query, doc, value));
        PredictedRelevance::new(counts.queries().clone(), counts.docs().clone(), values.collect())
    }
}

/// Scores as probabilities of relevance, for the shown documents of the log `unseen`.
///
/// One line through the logits, two numbers, is fitted to the clicks of `seen`: `c` clicks in `E` examinations.
/// `scores` has a value for each row of the data set that both are joined with.
pub fn calibrate(
    scores: &[f32],
    seen: &KnownLog<'_>,
    unseen: &Joined<'_>,
    progress: &dyn Progress,
) -> Result<PredictedRelevance> {
    let mut regression = Regression::new(&seen.log, seen.exposures(progress)?)?;
    let rows = unseen.docs()?.iter().zip(&unseen.join()?.rows);
    let known: Vec<((u32, u32), u32)> = rows.filter_map(|(doc, row)| Some((*doc, (*row)?))).collect();
    let seen = regression.rows.len();
    regression.rows.extend(known.iter().map(|(_, row)| row));
    let column: Vec<f64> = regression.rows.iter().map(|&row| f64::from(scores[row as usize])).collect();
    // Documents without examination do not count in the fit, and get a value all the same.
    regression.clicks.resize(column.len(), 0.0);
    regression.exposure.resize(column.len(), 0.0);
    let values = regression.calibrated(&column);
    let values = known.iter().zip(&values[seen..]).map(|(&((query, doc), _), &value)| (query, doc, value));
    PredictedRelevance::new(unseen.counts.queries().clone(), unseen.counts.docs().clone(), values.collect())
}

/// Clicks to be explained by features.
struct Regression {
    docs: Vec<(u32, u32)>,
    rows: Vec<u32>,
    clicks: Vec<f64>,
    exposure: Vec<f64>,
}

/// How many examinations a document's own relevance is worth beside its features.
fn strength(exposures: &Exposures<'_>) -> f64 {
    least_error_shrink(&Documents::new(exposures, Estimator::UserAware, None, &Prior::Mean), 0.0)
}

impl Regression {
    /// Counts E examinations of a document as `E·b/(E + b)`, and its clicks likewise.
    fn counting_by_information(mut self, b: f64) -> Self {
        for (clicks, exposure) in self.clicks.iter_mut().zip(&mut self.exposure) {
            let share = b / (*exposure + b);
            (*clicks, *exposure) = (share * *clicks, share * *exposure);
        }
        self
    }

    fn new(log: &Joined<'_>, exposures: &Exposures<'_>) -> Result<Self> {
        let found = log.require_rows()?;
        let known = || exposures.pairs.iter().zip(found).filter(|(_, row)| row.is_some()).map(|(pair, _)| pair);
        Ok(Regression {
            docs: known().map(|pair| (pair.query, pair.doc)).collect(),
            rows: found.iter().copied().flatten().collect(),
            clicks: known().map(|pair| pair.earned().max(0.0)).collect(),
            exposure: known().map(|pair| pair.exposure).collect(),
        })
    }

    /// Clicks over exposure, to start from.
    fn mean(&self) -> f64 {
        let (clicks, exposure): (f64, f64) = (self.clicks.iter().sum(), self.exposure.iter().sum());
        (clicks / exposure.max(f64::MIN_POSITIVE)).clamp(MARGIN, 1.0 - MARGIN)
    }

    /// The logits of each part by the regression on the others.
    fn linear_scores(&self, data: &Dataset, part_of_doc: &[u32], progress: &dyn Progress) -> Result<Vec<f64>> {
        let design = Design::new(data, self.rows.clone());
        let mut scores = vec![0.0; self.docs.len()];
        progress.begin("predicting relevance", u64::from(PARTS));
        for part in 0..PARTS {
            let fitted = self.fit(&design, |doc| part_of_doc[doc] != part);
            let of_part = (0..scores.len()).filter(|doc| part_of_doc[*doc] == part);
            of_part.for_each(|doc| scores[doc] = fitted.scores()[doc]);
            progress.advance(1)?;
        }
        Ok(scores)
    }

    /// The logits of each part by a network trained on the others.
    fn network_scores(
        &self,
        architecture: &Architecture,
        data: &Dataset,
        seed: u64,
        progress: &dyn Progress,
    ) -> Result<Vec<f64>> {
        let mut networks = CrossFit::new(architecture, data, &self.rows, &self.docs, seed)?;
        let total = self.exposure.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        networks.train(progress, |networks| {
            networks.epoch(|docs, relevance| Ok(self.slopes(docs, relevance)))?;
            let scores = networks.scores();
            Ok((self.log_likelihood(&scores) / total, scores))
        })
    }

    /// The slopes of the mean log-likelihood per examination in the logits of `docs`: `c − E·γ`.
    fn slopes(&self, docs: &[u32], relevance: &[f64]) -> Vec<f64> {
        let exposure = docs.iter().map(|doc| self.exposure[*doc as usize]).sum::<f64>().max(1.0);
        let slope = |(doc, gamma): (&u32, &f64)| self.clicks[*doc as usize] - self.exposure[*doc as usize] * gamma;
        docs.iter().zip(relevance).map(|pair| slope(pair) / exposure).collect()
    }

    /// `Σ c·ln γ + (E − c)·ln(1 − γ)`.
    fn log_likelihood(&self, scores: &[f64]) -> f64 {
        let of_doc = |((score, clicks), exposure): ((&f64, &f64), &f64)| {
            let gamma = sigmoid(*score);
            clicks * gamma.ln() + (exposure - clicks) * (1.0 - gamma).ln()
        };
        scores.iter().zip(&self.clicks).zip(&self.exposure).map(of_doc).sum()
    }

    /// γ as a function of the scores alone.
    fn calibrated(&self, scores: &[f64]) -> Vec<f64> {
        self.fit(&Design::of_column(scores), |_| true).values().to_vec()
    }

    /// The logistic regression on the documents that `seen` lets it see.
    fn fit<'d>(&self, design: &'d Design<'d>, seen: impl Fn(usize) -> bool) -> Logistic<'d> {
        let only_seen = |values: &[f64]| -> Vec<f64> {
            values.iter().enumerate().map(|(doc, value)| if seen(doc) { *value } else { 0.0 }).collect()
        };
        let (clicks, exposure) = (only_seen(&self.clicks), only_seen(&self.exposure));
        let mut model = Logistic::new(design, self.mean());
        for _ in 0..STEPS {
            let before = model.values().to_vec();
            model.update(&clicks, &exposure);
            let moved = before.iter().zip(model.values()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            if moved <= TOLERANCE {
                break;
            }
        }
        model
    }
}
