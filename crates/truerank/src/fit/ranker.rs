//! Trains the rankers of a fit.

use super::Fit;
use crate::Result;
use crate::data::Dataset;
use crate::progress::Progress;
use crate::ranker::{ModelForm, Ranker, Training, TrainingLists, Validation};

/// Checks without a better validation value after which training stops: of an MLP and of trees every 10 steps one, of L-BFGS one an
/// iteration.
const PATIENCE: usize = 20;

/// The same for trees, of which each does more than a step of a network.
const PATIENCE_OF_TREES: usize = 8;

/// The kinds that are tried where none is asked for, in the order in which they are preferred where clicks do not tell them apart. The first
/// two have as few parameters, but ranks of features do not follow their units and tails; the others have many more.
pub(super) fn usual() -> Vec<ModelForm> {
    vec![ModelForm::LINEAR, ModelForm::LinearRaw, ModelForm::small_mlp(), ModelForm::Trees]
}

impl Fit {
    /// Trains a ranker of a form: with validation to where it is best, else for so many `steps`.
    pub(super) fn fit_ranker(
        &self,
        form: &ModelForm,
        documents: &Dataset,
        lists: &TrainingLists,
        validation: Option<&Validation<'_>>,
        steps: Option<usize>,
        progress: &dyn Progress,
    ) -> Result<Ranker> {
        let training = Training::new().model(form.clone());
        let training = match form {
            ModelForm::Network(_) => training.seed(self.seed).scaling(self.scaling),
            _ => training,
        };
        let patience = if *form == ModelForm::Trees { PATIENCE_OF_TREES } else { PATIENCE };
        let patience = validation.filter(|_| form.kind().takes("patience")).map(|_| patience);
        let steps = steps.filter(|_| form.kind().takes("steps")).or(self.steps);
        let training = Training { steps, patience, ..training };
        training.fit_targets(documents, lists, validation, progress)
    }
}
