//! What a form of ranker can learn from in an experiment, and whether a seed matters to it.

use super::Method;
use crate::network::Architecture;
use crate::ranker::ModelForm;

impl ModelForm {
    /// What people call it: `MLP` is the paper's.
    pub(super) fn name(&self) -> String {
        match self {
            ModelForm::Network(architecture) => architecture.name(),
            other => other.to_string(),
        }
    }

    /// Whether such a ranker can learn by a method: pairs of clicks are learned by networks only.
    pub(super) fn learns_by(&self, method: Method) -> bool {
        matches!(self, ModelForm::Network(_)) || !matches!(method, Method::Pairs(_))
    }

    /// Whether training by a method draws anything at random. L-BFGS starts from 0 and sees all lists at once, so linear
    /// rankers with the listwise loss are the same whatever the seed; nobody trains the production ranker again.
    pub(super) fn is_seeded(&self, method: Method) -> bool {
        match (self, method) {
            (_, Method::Production) => false,
            (ModelForm::Network(Architecture::Mlp { .. }), _) => true,
            (ModelForm::Network(Architecture::Linear), method) => matches!(method, Method::Pairs(_)),
            _ => false,
        }
    }
}
