//! Which ranker is trained.

use std::fmt;
use std::str::FromStr;

use super::Fit;
use crate::data::Dataset;
use crate::network::Architecture;
use crate::progress::Progress;
use crate::ranker::{LinearRaw, Ranker, Trainer, TrainingLists, Validation, scales_differ};
use crate::{Error, Result};

/// The forms of rankers that learn from relevance weights. Their texts are `linear-raw`, and those of [`Architecture`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RankerForm {
    /// A weight for each feature.
    LinearRaw,
    /// A network that starts with a layer norm over the features of a document.
    Network(Architecture),
}

/// Features below which a layer norm over them leaves too little: of one nothing, of two their order.
const FEW_FEATURES: usize = 8;

/// Checks without a better validation value after which training stops: of an MLP every 10 steps one.
const PATIENCE: usize = 10;

impl RankerForm {
    /// The paper's MLP; on few features a weight for each.
    pub fn suited_to(features: usize) -> Self {
        match features < FEW_FEATURES {
            true => RankerForm::LinearRaw,
            false => RankerForm::Network(Architecture::mlp()),
        }
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
    pub(super) fn fit_ranker(
        &self,
        documents: &Dataset,
        lists: &TrainingLists,
        validation: Option<&Validation<'_>>,
        progress: &dyn Progress,
    ) -> Result<Ranker> {
        match self.ranker_form(documents) {
            RankerForm::LinearRaw => {
                let trainer = LinearRaw::new().patience(PATIENCE);
                let trainer = self.steps.map_or(trainer.clone(), |steps| trainer.steps(steps));
                trainer.fit(documents, lists, validation, progress)
            }
            RankerForm::Network(architecture) => {
                let standardise = self.standardise.unwrap_or_else(|| scales_differ(documents));
                let trainer = Trainer::new().architecture(architecture).patience(PATIENCE).seed(self.seed);
                let trainer = trainer.standardise(standardise);
                let trainer = self.steps.map_or(trainer.clone(), |steps| trainer.steps(steps));
                trainer.fit(documents, lists, validation, progress)
            }
        }
    }

    pub(super) fn ranker_form(&self, documents: &Dataset) -> RankerForm {
        self.model.clone().unwrap_or_else(|| RankerForm::suited_to(documents.feature_count()))
    }
}
