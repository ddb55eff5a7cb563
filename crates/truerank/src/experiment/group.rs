//! The same run over several seeds: means, intervals, and tests against another.

use super::{Method, Outcome, Results, Run, Source, WorldId};
use crate::evaluate::{Interval, Measure, TTest, mean, mean_interval, paired_t_test};
use crate::network::Architecture;
use crate::ranker::Unmatched;

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

    /// The outcomes of a method on a log, with θ from a source.
    pub(super) fn on(&self, log: LogKind, method: Method, source: Source, model: &Architecture) -> Option<Group<'_>> {
        self.group(&Condition { log, method, source, model: model.clone() })
    }

    /// The outcomes of a method with known θ, on a log of so many sessions of the main table's users.
    pub(super) fn at_size(&self, sessions: u64, method: Method, model: &Architecture) -> Option<Group<'_>> {
        self.on(LogKind::Simulated { clusters: self.settings.clusters, sessions }, method, Source::Known, model)
    }

    /// The log of the main table.
    pub fn main_log(&self) -> LogKind {
        LogKind::Simulated { clusters: self.settings.clusters, sessions: self.settings.sessions() }
    }
}

impl Group<'_> {
    /// The mean over queries and seeds.
    pub fn mean(&self, measure: Measure) -> f64 {
        mean(&self.means(measure))
    }

    /// The mean over seeds with its 95 % interval, where there are several seeds and they matter: a linear ranker trained
    /// on one log is the same whatever the seed.
    pub fn interval(&self, measure: Measure) -> Option<Interval> {
        mean_interval(&self.means(measure)).filter(|interval| interval.half_width > 0.0)
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

    /// What the log has and the data does not; the same for each seed.
    pub fn left_out(&self) -> Unmatched {
        self.outcomes.first().map_or(Unmatched::default(), |outcome| outcome.left_out)
    }

    /// The strength of smoothing, averaged over seeds.
    pub fn beta(&self) -> Option<f64> {
        let betas: Option<Vec<f64>> = self.outcomes.iter().map(|outcome| outcome.beta).collect();
        betas.map(|betas| mean(&betas))
    }
}

/// The mean of several series, entry by entry; each entry of those that reach so far.
pub(super) fn average<'v>(series: impl Iterator<Item = &'v [f64]>) -> Vec<f64> {
    let mut sums: Vec<(f64, f64)> = Vec::new();
    for values in series {
        sums.resize(values.len().max(sums.len()), (0.0, 0.0));
        sums.iter_mut().zip(values).for_each(|(sum, value)| *sum = (sum.0 + value, sum.1 + 1.0));
    }
    sums.into_iter().map(|(sum, count)| sum / count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::fixtures::{outcome, results};

    #[test]
    fn seeds_are_averaged_before_queries_are_compared() {
        let results = results(&[
            (Method::NAIVE, vec![outcome(&[0.1, 0.2, 0.3], &[0.5]), outcome(&[0.3, 0.4, 0.5], &[0.7])]),
            (Method::USER_AWARE, vec![outcome(&[0.4, 0.5, 0.7], &[0.1]), outcome(&[0.4, 0.5, 0.7], &[0.3])]),
        ]);
        let of = |method| {
            let condition =
                Condition { log: results.main_log(), method, source: Source::Known, model: Architecture::Linear };
            results.group(&condition)
        };
        let (naive, aware) = (of(Method::NAIVE).unwrap(), of(Method::USER_AWARE).unwrap());
        let measure = Measure::Ndcg(Some(5));
        assert_eq!(naive.per_query(measure), [(0.1 + 0.3) / 2.0, (0.2 + 0.4) / 2.0, (0.3 + 0.5) / 2.0]);
        let test = aware.test(&naive, measure).unwrap();
        assert_eq!(Some(test), paired_t_test(&[0.4, 0.5, 0.7], &naive.per_query(measure)));
        let half_width = naive.interval(measure).unwrap().half_width;
        assert!((half_width - mean_interval(&[0.2, 0.4]).unwrap().half_width).abs() < 1e-12);
        assert_eq!(naive.mse(), Some((0.5 + 0.7) / 2.0));
        assert!(of(Method::Ideal).is_none(), "it was not run");
    }
}
