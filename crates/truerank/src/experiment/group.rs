//! The same run over several seeds: means, intervals, and tests against another.

use super::{Method, Outcome, Results, Run, Source, WorldId};
use crate::evaluate::{Interval, Measure, TTest, mean_interval, paired_t_test};
use crate::network::Architecture;

/// A difference counts as more than chance below this p-value, as in the paper.
pub const SIGNIFICANCE: f64 = 0.05;

/// A run without its seed.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// The log.
    pub log: LogKind,
    /// What is learned from.
    pub method: Method,
    /// Where its θ comes from.
    pub source: Source,
    /// The form of the ranker.
    pub model: Architecture,
}

/// A log without its seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogKind {
    /// A simulated one.
    Simulated {
        /// How many kinds of users there are.
        clusters: usize,
        /// How many sessions they have.
        sessions: u64,
    },
    /// The log of real users, or what stands for it.
    Logged,
}

/// The outcomes of one condition, one for each seed.
#[derive(Debug, Clone)]
pub struct Group<'a> {
    outcomes: Vec<&'a Outcome>,
}

impl Results {
    /// The outcomes of a condition, if all its runs are finished.
    pub fn group(&self, condition: &Condition) -> Option<Group<'_>> {
        let Condition { log, method, source, model } = condition;
        let seeds = match log {
            LogKind::Simulated { .. } => &self.settings.seeds,
            LogKind::Logged => &self.settings.real.seeds,
        };
        let run = |&seed: &u64| match *log {
            LogKind::Simulated { clusters, sessions } => {
                Run::new(WorldId::Simulated { clusters, sessions, seed }, *method, *source, model)
            }
            LogKind::Logged => Run::new(WorldId::Logged, *method, *source, model).seed(seed),
        };
        let outcomes: Option<Vec<&Outcome>> = seeds.iter().map(|seed| self.outcome(&run(seed))).collect();
        outcomes.map(|outcomes| Group { outcomes })
    }

    /// The log of the main table.
    pub fn main_log(&self) -> LogKind {
        LogKind::Simulated { clusters: self.settings.clusters, sessions: self.settings.sessions }
    }
}

impl Group<'_> {
    /// The mean over queries and seeds.
    pub fn mean(&self, measure: Measure) -> f64 {
        mean(&self.means(measure))
    }

    /// The mean over seeds with its 95 % interval, where there are several seeds.
    pub fn interval(&self, measure: Measure) -> Option<Interval> {
        mean_interval(&self.means(measure))
    }

    fn means(&self, measure: Measure) -> Vec<f64> {
        self.outcomes.iter().map(|outcome| outcome.mean(measure)).collect()
    }

    /// Each test query's value, averaged over seeds.
    pub fn per_query(&self, measure: Measure) -> Vec<f64> {
        average(self.outcomes.iter().map(|outcome| outcome.per_query(measure)))
    }

    /// Tests query by query whether this differs from `other`.
    pub fn test(&self, other: &Group<'_>, measure: Measure) -> Option<TTest> {
        paired_t_test(&self.per_query(measure), &other.per_query(measure))
    }

    /// The mean squared error of estimated relevance, where it is estimated and the truth is known.
    pub fn mse(&self) -> Option<f64> {
        self.accuracies(|accuracy| accuracy.mse).map(|values| mean(&values))
    }

    /// Its 95 % interval over seeds.
    pub fn mse_interval(&self) -> Option<Interval> {
        mean_interval(&self.accuracies(|accuracy| accuracy.mse)?)
    }

    /// Tests training query by training query whether the squared errors differ from those of `other`; the queries of
    /// all seeds together, since each seed has other users.
    pub fn test_mse(&self, other: &Group<'_>) -> Option<TTest> {
        let all = |group: &Group<'_>| group.accuracies(|a| a.by_query.clone()).map(|errors| errors.concat());
        paired_t_test(&all(self)?, &all(other)?)
    }

    /// How many documents of each true grade (rows) were estimated to have each grade (columns), in all seeds.
    pub fn confusion(&self) -> Option<Vec<Vec<f64>>> {
        let matrices = self.accuracies(|accuracy| accuracy.confusion.clone())?;
        let size = matrices.first()?.len();
        let sum = |row: usize, column: usize| matrices.iter().map(|matrix| matrix[row][column] as f64).sum();
        Some((0..size).map(|row| (0..size).map(|column| sum(row, column)).collect()).collect())
    }

    fn accuracies<T>(&self, value: impl Fn(&super::Accuracy) -> T) -> Option<Vec<T>> {
        self.outcomes.iter().map(|outcome| outcome.accuracy.as_ref().map(&value)).collect()
    }

    /// The strength of smoothing, averaged over seeds.
    pub fn beta(&self) -> Option<f64> {
        let betas: Option<Vec<f64>> = self.outcomes.iter().map(|outcome| outcome.beta).collect();
        betas.map(|betas| mean(&betas))
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The mean of several series, entry by entry.
pub(super) fn average<T: AsRef<[f64]>>(series: impl ExactSizeIterator<Item = T>) -> Vec<f64> {
    let count = series.len() as f64;
    let mut sums: Vec<f64> = Vec::new();
    for values in series {
        sums.resize(values.as_ref().len(), 0.0);
        sums.iter_mut().zip(values.as_ref()).for_each(|(sum, value)| *sum += value / count);
    }
    sums
}
