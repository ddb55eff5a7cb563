//! Judges rankings: measures per query, and whether a difference is more than chance.
//!
//! With grades by [`Evaluator`]; without, by the clicks of a log: [`Counterfactual`] judges a ranker that was never shown,
//! [`ClickPrediction`] a click model.
//!
//! Measures are values with a text form, computed per query; means, paired t-tests and intervals come after. Scores are of
//! single or of double precision, so that those of other rankers are not rounded into ties. [`Counterfactual`] judges pages
//! of the log, reordered and as shown, and, as a question of its own, one order of all documents. By clicks, values are
//! ratios of sums over queries, so one `bootstrap` of queries gives intervals, and paired differences from the same
//! resamples. `leakage` says which queries stand in two logs.

mod bootstrap;
mod by_clicks;
mod clicks;
mod counterfactual;
mod evaluation;
mod leakage;
mod measure;
mod run;
mod significance;

pub use crate::math::{Score, rank};
pub use bootstrap::{Bounds, PairedDifference, Resampling};
pub(crate) use bootstrap::{Ratio, resampled};
pub use by_clicks::{ByClicks, ClickJudge, JudgedRankers};
pub use clicks::{ClickLikelihood, ClickPrediction, PredictedPosition};
pub use counterfactual::{ClickEvaluation, ClickMeasure, Counterfactual, JudgedLog};
pub(crate) use evaluation::mean;
pub use evaluation::{Comparison, EmptyQueries, Evaluation, Evaluator, MeasureOptions};
pub use leakage::{Leakage, leakage};
pub use measure::Measure;
pub use run::{check_run, write_run};
pub use significance::{DifferenceTest, FEWEST_RUNS, Interval, TTest, mean_interval, paired_t_test};
