//! Who examines what: the probability that a user looks at a position.

mod model;

pub use model::Propensities;
