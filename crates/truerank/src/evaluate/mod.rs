//! Judges rankings: measures per query, and whether a difference is more than chance.

mod evaluation;
mod measure;
mod run;
mod significance;

pub use crate::math::rank;
pub(crate) use evaluation::mean;
pub use evaluation::{EmptyQueries, Evaluation, Evaluator};
pub use measure::Measure;
pub use run::write_run;
pub use significance::{Interval, TTest, mean_interval, paired_t_test};
