//! Rankers: relevance weights and features enter, a model that scores documents leaves.
//!
//! [`Training`] says how; [`LearnFrom`] what there is to learn from: relevance weights, click pairs or human grades; [`RankerKind`] which
//! kinds of rankers there are. [`Dla`] fits a ranker and propensities to clicks. All make a [`Ranker`], which scores data sets
//! and is saved as safetensors.
//!
//! Losses are listwise softmax and PRS; optimizers AdaGrad, Adam, SGD, and L-BFGS for the linear ranker, whose loss is
//! convex. SVM-rank works by cutting planes with a stated duality gap; its most violated constraint is found by sorting, so
//! long lists do not cost their square. `dla` is the one loop that reads clicks instead of weights, because each model weighs
//! the other's clicks anew in every step. Training refuses what a kind of ranker would ignore, and the record says what was
//! learned from, without names of files.
//!
//! `export` writes what other tools take. ONNX needs a few kinds of fields, only written, so its protocol buffers are written
//! by hand: 70 lines, where a library would bring a code generator or more lines of message types. A form that cannot hold a
//! ranker exactly is refused with the way out.

mod dla;
mod export;
mod file;
mod join;
mod kinds;
mod labelled;
mod lbfgs;
mod linear_raw;
mod loss;
mod production;
mod scale;
mod svm_rank;
mod targets;
mod trainer;
mod training;
mod trees;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::data::{Dataset, first_missing};
use crate::network::{Network, Scaling};
use crate::{Error, Result};

pub use dla::Dla;
pub use export::{Export, ExportFormat, LabelForm, LabelSummary, Labels, TrainingLabels, Trees, Writes, is_label_file};
pub use join::Unmatched;
pub use kinds::{ModelForm, RankerKind};
pub use labelled::labelled_share;
pub use loss::{listwise_softmax, pairwise_prs, pairwise_prs_by_score};
pub use production::{Production, production_ranker};
pub use scale::scales_differ;
pub use targets::{ScoredTrainingPairs, Targets, TrainingLists, TrainingPairs};
pub use trainer::{Minimiser, ScoreMeasure, Validation};
pub use training::{LearnFrom, Training};
pub use trees::{Child, Forest, Importance, Leaf, Monotone, Split, Tree, TreeLoss};

/// A trained model and how it came to be.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranker {
    /// What scores.
    pub model: Model,
    /// How it was trained.
    pub record: TrainingRecord,
}

/// The forms of a ranker.
#[derive(Debug, Clone, PartialEq)]
pub enum Model {
    /// A linear ranker on layer-normalised features, or an MLP.
    Network(Network),
    /// A weight for each raw feature: `score = Σ weight · feature + bias`.
    Weights {
        /// One weight per feature.
        weights: Vec<f32>,
        /// Added to every score: changes no ranking, but keeps scores near 0.
        bias: f32,
    },
    /// A sum of regression trees.
    Trees(Forest),
}

/// How a ranker was trained; saved with it, so it has nothing in it that changes from run to run, such as seconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TrainingRecord {
    /// The loss that was minimised, such as `listwise softmax`.
    pub loss: String,
    /// What minimised it, such as `adagrad`.
    pub method: String,
    /// The seed of initial weights and batches.
    pub seed: u64,
    /// How many steps (or iterations) were made.
    pub steps: usize,
    /// The step whose parameters were kept.
    pub best_step: usize,
    /// The validation value at that step, where there was validation.
    pub validation: Option<f64>,
    /// How many lists were trained on.
    pub lists: usize,
    /// How many lists had no weight above 0 and were skipped.
    pub skipped_lists: usize,
    /// Loss and validation value over time.
    pub checks: Vec<Check>,
    /// Anything else worth keeping, by name, in this order.
    pub notes: Vec<(String, String)>,
}

/// The state of training at one step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// After how many steps.
    pub step: usize,
    /// The mean batch loss since the check before, or the loss over all lists for a full-batch method.
    pub loss: f64,
    /// The validation value, where there is validation; larger is better.
    pub validation: Option<f64>,
}

impl Ranker {
    /// How many features a document must have.
    pub fn feature_count(&self) -> usize {
        match &self.model {
            Model::Network(network) => network.inputs(),
            Model::Weights { weights, .. } => weights.len(),
            Model::Trees(forest) => forest.feature_count(),
        }
    }

    /// Its form: `linear`, `mlp:…`, `trees`, or `weights` where it is a weight for each raw feature.
    pub fn form(&self) -> String {
        match &self.model {
            Model::Network(network) => network.architecture().to_string(),
            Model::Weights { .. } => "weights".to_string(),
            Model::Trees(_) => "trees".to_string(),
        }
    }

    /// How features are brought to one scale before they are scored, where they are; plain weights have it in them.
    pub fn scaling(&self) -> Option<&Scaling> {
        match &self.model {
            Model::Network(network) => network.scaling(),
            Model::Weights { .. } | Model::Trees(_) => None,
        }
    }

    /// The weight of each feature and what is added to every score, where scores are linear: in raw features, or for a
    /// linear network in features that were normalised (and scaled) first.
    pub fn coefficients(&self) -> Option<(Vec<f32>, f32)> {
        match &self.model {
            Model::Trees(_) => None,
            Model::Weights { weights, bias } => Some((weights.clone(), *bias)),
            Model::Network(network) => {
                let [layer] = network.layers() else { return None };
                let parameters = network.parameters();
                let (gain, shift) = (&parameters[layer.gain()], &parameters[layer.shift()]);
                let (weight, bias) = (&parameters[layer.weight()], parameters[layer.bias().start]);
                let shifted: f32 = weight.iter().zip(shift).map(|(weight, shift)| weight * shift).sum();
                Some((weight.iter().zip(gain).map(|(weight, gain)| weight * gain).collect(), bias + shifted))
            }
        }
    }

    /// The score of each row of `data`; higher ranks earlier.
    pub fn score(&self, data: &Dataset) -> Result<Vec<f32>> {
        self.check_width(data.feature_count())?;
        if !self.takes_missing() {
            data.require_every_feature(&self.described())?;
        }
        Ok(self.model.score(data.features()))
    }

    /// The score of each row of a row-major matrix with so many features. Trees take features that are missing (NaN); others refuse
    /// them.
    pub fn score_rows(&self, features: &[f32], feature_count: usize) -> Result<Vec<f32>> {
        self.check_width(feature_count)?;
        match first_missing(features, feature_count).filter(|_| !self.takes_missing()) {
            None => Ok(self.model.score(features)),
            Some((row, feature)) => Err(Error::parameter(format!(
                "row {} has no feature {} (NaN), but {} needs every feature; fill in what is missing, or train trees, which \
                 take it as it is",
                row + 1,
                feature + 1,
                self.described()
            ))),
        }
    }

    /// Whether documents may lack features (NaN).
    pub fn takes_missing(&self) -> bool {
        matches!(self.model, Model::Trees(_))
    }

    /// The ranker as messages name it.
    fn described(&self) -> String {
        format!("a ranker of the form {}", self.form())
    }

    fn check_width(&self, feature_count: usize) -> Result<()> {
        if feature_count != self.feature_count() {
            let (trained, found) = (self.feature_count(), feature_count);
            let way_out = match found < trained {
                true => format!("pass `feature_count` {trained} if sparse text leaves out the last ones"),
                false => "use data of the same kind".to_string(),
            };
            return Err(Error::parameter(format!(
                "the ranker was trained on {trained} features, but the data set has {found}; {way_out}"
            )));
        }
        Ok(())
    }
}

impl Model {
    /// The scores of all rows of a row-major matrix of as many features as the model has.
    fn score(&self, features: &[f32]) -> Vec<f32> {
        match self {
            Model::Network(network) => network.score(features),
            Model::Weights { weights, bias } => score_weights(weights, *bias, features),
            Model::Trees(forest) => forest.score(features),
        }
    }
}

fn score_weights(weights: &[f32], bias: f32, features: &[f32]) -> Vec<f32> {
    let rows = features.par_chunks_exact(weights.len()).with_min_len(256);
    rows.map(|row| {
        // In f64: raw features may be large and nearly alike, and then all that tells them apart is in the last digits.
        let products = row.iter().zip(weights).map(|(&x, &w)| f64::from(x) * f64::from(w));
        (products.sum::<f64>() + f64::from(bias)) as f32
    })
    .collect()
}
