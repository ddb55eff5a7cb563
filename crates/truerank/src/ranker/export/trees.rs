//! What all forms of trees share: a ranker enters, its trees leave.

use std::borrow::Cow;

use crate::ranker::{Forest, Model, Ranker, Tree};
use crate::{Error, Result};

/// The forest of a ranker for a form that holds nothing else.
pub(super) fn forest<'a>(ranker: &'a Ranker, whose: &str) -> Result<&'a Forest> {
    match &ranker.model {
        Model::Trees(forest) => Ok(forest),
        _ => Err(Error::parameter(format!(
            "models of {whose} are trees, but this ranker has none; train the model trees, or export it to ONNX"
        ))),
    }
}

/// The trees of a forest, at least one: other programs do not know a model without any.
pub(super) fn at_least_one(forest: &Forest) -> Cow<'_, [Tree]> {
    match forest.trees() {
        [] => Cow::Owned(vec![Tree::constant(0.0, 0)]),
        trees => Cow::Borrowed(trees),
    }
}

/// How many trees there are, as people read it.
pub(super) fn counted(forest: &Forest) -> String {
    match forest.trees().len() {
        1 => "1 tree".to_string(),
        trees => format!("{trees} trees"),
    }
}
