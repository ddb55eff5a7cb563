//! Boosted regression trees: training lists enter, a forest leaves.

mod model;

pub use model::{Child, Forest, Importance, Leaf, Split, Tree};
