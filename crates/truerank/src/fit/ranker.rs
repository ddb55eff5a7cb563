//! Which ranker is trained.

use std::fmt;
use std::str::FromStr;

use super::Fit;
use crate::data::Dataset;
use crate::network::Architecture;
use crate::progress::Progress;
use crate::ranker::{ModelForm, Ranker, Training, TrainingLists, Validation};
use crate::{Error, Result};

/// The forms of rankers that learn from relevance weights. Their texts are `linear-raw`, and those of [`Architecture`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RankerForm {
    /// A weight for each feature.
    LinearRaw,
    /// A network that starts with a layer norm over the features of a document.
    Network(Architecture),
}

/// Checks without a better validation value after which training stops: of an MLP every 10 steps one, of L-BFGS one an iteration.
const PATIENCE: usize = 20;

impl RankerForm {
    /// The forms that are tried where none is asked for, simple ones first.
    pub fn usual() -> Vec<Self> {
        let networks = [Architecture::Linear, Architecture::mlp()].map(RankerForm::Network);
        std::iter::once(RankerForm::LinearRaw).chain(networks).collect()
    }
}

impl fmt::Display for RankerForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RankerForm::LinearRaw => f.pad("linear-raw"),
            RankerForm::Network(architecture) => f.pad(&architecture.to_string()),
        }
    }
}

impl FromStr for RankerForm {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "linear-raw" => Ok(RankerForm::LinearRaw),
            _ => text.parse().map(RankerForm::Network),
        }
    }
}

impl Fit {
    /// Trains a ranker of a form: with validation to where it is best, else for so many `steps`.
    pub(super) fn fit_ranker(
        &self,
        form: &RankerForm,
        documents: &Dataset,
        lists: &TrainingLists,
        validation: Option<&Validation<'_>>,
        steps: Option<usize>,
        progress: &dyn Progress,
    ) -> Result<Ranker> {
        let training = match form {
            RankerForm::LinearRaw => Training::new().model(ModelForm::LinearRaw),
            RankerForm::Network(architecture) => {
                Training::network(architecture.clone()).seed(self.seed).standardise(self.standardise)
            }
        };
        let patience = validation.map(|_| PATIENCE);
        let training = Training { steps: steps.or(self.steps), patience, ..training };
        training.fit_targets(documents, lists, validation, progress)
    }
}
