//! Boosted regression trees: training lists enter, a forest leaves.

pub(super) mod file;
mod model;
#[cfg(test)]
pub(super) mod random;
mod score;

pub use model::{Child, Forest, Importance, Leaf, Split, Tree};
