//! Who examines what: the probability that a user looks at a position.

mod file;
mod lookup;
mod model;

pub use lookup::Examination;
pub use model::Propensities;
