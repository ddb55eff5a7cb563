//! Judges rankings: measures per query, and whether a difference is more than chance.
//!
//! With grades by [`Evaluator`]; without, by the clicks of a log: [`Counterfactual`] judges a ranker that was never shown,
//! [`ClickPrediction`] a click model.

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
pub use by_clicks::{ByClicks, ClickJudge, JudgedRankers};
pub use clicks::{ClickLikelihood, ClickPrediction, PredictedPosition};
pub use counterfactual::{ClickMeasure, Counterfactual, JudgedLog, Judgement};
pub(crate) use evaluation::mean;
pub use evaluation::{Comparison, EmptyQueries, Evaluation, Evaluator, MeasureOptions};
pub use leakage::{Leakage, leakage};
pub use measure::Measure;
pub use run::{check_run, write_run};
pub use significance::{DifferenceTest, FEWEST_RUNS, Interval, TTest, mean_interval, paired_t_test};
