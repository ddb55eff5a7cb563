//! The same run over several seeds: means, intervals, and tests against another.

use super::{Clicked, JudgedOn, Method, Outcome, Results, Run, Settings, Source, WorldId};
use crate::evaluate::{DifferenceTest, FEWEST_RUNS, Interval, Measure, mean, mean_interval};
use crate::ranker::{ModelForm, Unmatched};

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
    pub model: ModelForm,
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
    /// A simulated one whose users follow click models.
    Browsed {
        /// How they browse.
        clicked: Clicked,
        /// Millionths of the labelled queries that the production ranker learned from.
        labelled: u32,
        /// How many sessions they have.
        sessions: u64,
    },
    /// The log of real users, or what stands for it.
    Logged,
}

impl LogKind {
    /// The log of a seed.
    pub(super) fn world(self, settings: &Settings, seed: u64) -> WorldId {
        match self {
            LogKind::Simulated { clusters, sessions } => WorldId::Simulated { clusters, sessions, seed },
            LogKind::Browsed { clicked, labelled, sessions } => {
                WorldId::Browsed { clicked, clusters: settings.clusters, sessions, labelled, seed }
            }
            LogKind::Logged => WorldId::Logged,
        }
    }

    /// The same with users who browse otherwise.
    pub(super) fn clicked_by(self, clicked: Clicked) -> LogKind {
        match self {
            LogKind::Browsed { labelled, sessions, .. } => LogKind::Browsed { clicked, labelled, sessions },
            other => other,
        }
    }
}

/// The outcomes of one condition, one for each seed; a single one where seeds change nothing.
#[derive(Debug, Clone)]
pub struct Group<'a> {
    outcomes: Vec<&'a Outcome>,
    /// Whether all seeds learn from the same log.
    one_log: bool,
    /// Whether a single outcome stands for all seeds.
    seedless: bool,
}

/// A difference between two groups, and what it tells about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Compared {
    /// The test.
    pub test: DifferenceTest,
    /// What its p-value speaks about.
    pub scope: Scope,
}

/// What a p-value speaks about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The methods: everything that could come out otherwise was drawn several times, or there is only one of it.
    Methods,
    /// The rankers that were trained, on queries like these: too few runs to tell what others would give.
    TheseRuns,
}

impl Results {
    /// The outcomes of a condition, if all its runs are finished.
    pub fn group(&self, condition: &Condition) -> Option<Group<'_>> {
        let Condition { log, method, source, model } = condition;
        let seeds = match log {
            LogKind::Simulated { .. } | LogKind::Browsed { .. } => &self.settings.seeds,
            LogKind::Logged => &self.settings.real.seeds,
        };
        let run = |&seed: &u64| {
            let run = Run::new(log.world(&self.settings, seed), *method, *source, model);
            if *log == LogKind::Logged { run.seed(seed) } else { run }
        };
        let (one_log, seedless) = (*log == LogKind::Logged, run(&0) == run(&1));
        let different = if seedless { &seeds[..seeds.len().min(1)] } else { &seeds[..] };
        let outcomes: Option<Vec<&Outcome>> = different.iter().map(|seed| self.outcome(&run(seed))).collect();
        outcomes.map(|outcomes| Group { outcomes, one_log, seedless })
    }

    /// The outcomes of a method on a log, with θ from a source.
    pub(super) fn on(&self, log: LogKind, method: Method, source: Source, model: &ModelForm) -> Option<Group<'_>> {
        self.group(&Condition { log, method, source, model: model.clone() })
    }

    /// The outcomes of a method with known θ, on a log of so many sessions of the main table's users.
    pub(super) fn at_size(&self, sessions: u64, method: Method, model: &ModelForm) -> Option<Group<'_>> {
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
        mean_interval(&self.means(measure))
    }

    /// Which queries judged it.
    pub fn judged_on(&self) -> JudgedOn {
        self.outcomes.first().map_or(JudgedOn::Test, |outcome| outcome.judged_on)
    }

    fn means(&self, measure: Measure) -> Vec<f64> {
        self.outcomes.iter().map(|outcome| outcome.mean(measure)).collect()
    }

    /// Each query's value, averaged over seeds.
    pub fn per_query(&self, measure: Measure) -> Vec<f64> {
        average(self.outcomes.iter().map(|outcome| outcome.per_query(measure)))
    }

    /// Tests over seeds and queries together whether this differs from `other`: pairs have the same seed, which means the
    /// same log, and the same query. Nothing where other queries judged the two.
    pub fn test(&self, other: &Group<'_>, measure: Measure) -> Option<Compared> {
        test_tables(&[self.table(measure)], &[other.table(measure)], self.comparable(other)?)
    }

    /// The same of whole series of groups, such as the points of two learning curves: each query's and seed's value is its mean over
    /// the series.
    pub(super) fn test_series(series: &[Group<'_>], others: &[Group<'_>], measure: Measure) -> Option<Compared> {
        let (first, other) = (series.first()?, others.first()?);
        test_tables(&tables(series, measure), &tables(others, measure), first.comparable(other)?)
    }

    /// Each query's value, by seed.
    fn table(&self, measure: Measure) -> Vec<&[f64]> {
        self.outcomes.iter().map(|outcome| outcome.per_query(measure)).collect()
    }

    /// What can be said of two groups.
    fn comparable(&self, other: &Group<'_>) -> Option<Runs> {
        let [a, b] = [self, other].map(|group| group.outcomes.len());
        let paired = a == b || self.seedless || other.seedless;
        let fixed = self.seedless && other.seedless;
        (paired && self.judged_on() == other.judged_on()).then_some(Runs { count: a.max(b), fixed })
    }

    /// The mean squared error of estimated relevance, where it is estimated and the truth is known.
    pub fn mse(&self) -> Option<f64> {
        self.accuracies(|accuracy| accuracy.mse).map(|values| mean(&values))
    }

    /// Tests whether squared errors differ from those of `other`: over logs, each of which has one mean squared error. Errors
    /// of one log are tested over its queries, which speaks about that log.
    pub fn test_mse(&self, other: &Group<'_>) -> Option<Compared> {
        let differences = |of: fn(&super::Accuracy) -> Vec<f64>| -> Option<Vec<Vec<f64>>> {
            let pairs = self.accuracies(of)?.into_iter().zip(other.accuracies(of)?);
            Some(pairs.map(|(a, b)| a.iter().zip(&b).map(|(a, b)| a - b).collect()).collect())
        };
        if !self.one_log && self.outcomes.len() >= FEWEST_RUNS {
            let by_log = differences(|accuracy| vec![accuracy.mse])?.concat();
            return Some(Compared { test: DifferenceTest::of_values(&by_log)?, scope: Scope::Methods });
        }
        // Estimates of relevance do not depend on the seed of training.
        let logs = if self.one_log { 1 } else { self.outcomes.len() };
        let by_query = differences(|accuracy| accuracy.by_query.clone())?.into_iter().take(logs).flatten();
        let scope = if self.one_log { Scope::Methods } else { Scope::TheseRuns };
        Some(Compared { test: DifferenceTest::of_values(&by_query.collect::<Vec<_>>())?, scope })
    }

    /// The mean error of estimated relevance, where it is estimated and the truth is known.
    pub fn bias(&self) -> Option<f64> {
        self.biases().map(|values| mean(&values))
    }

    /// Tests over logs whether the size of the mean error differs from that of `other`; nothing where too few logs tell.
    pub(super) fn test_bias(&self, other: &Group<'_>) -> Option<Compared> {
        let pairs = self.biases()?.into_iter().zip(other.biases()?);
        let differences: Vec<f64> = pairs.map(|(a, b)| a.abs() - b.abs()).collect();
        let scope = if differences.len() >= FEWEST_RUNS { Scope::Methods } else { Scope::TheseRuns };
        Some(Compared { test: DifferenceTest::of_values(&differences)?, scope })
    }

    fn biases(&self) -> Option<Vec<f64>> {
        self.accuracies(|accuracy| accuracy.bias)?.into_iter().collect()
    }

    /// How many documents of each true grade (rows) were estimated to have each grade (columns), in all seeds.
    pub fn confusion(&self) -> Option<Vec<Vec<f64>>> {
        let matrices = self.accuracies(|accuracy| accuracy.confusion.clone())?;
        let size = matrices.first()?.len();
        // Each is square; seeds of one experiment have the same grades.
        if matrices.iter().any(|matrix| matrix.len() != size) {
            return None;
        }
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

fn tables<'v>(groups: &'v [Group<'_>], measure: Measure) -> Vec<Vec<&'v [f64]>> {
    groups.iter().map(|group| group.table(measure)).collect()
}

/// The runs behind a comparison: how many, and whether there is one because no other could come out.
struct Runs {
    count: usize,
    fixed: bool,
}

/// Tests the differences of two series of tables by seed and query, averaged over each series.
fn test_tables(a: &[Vec<&[f64]>], b: &[Vec<&[f64]>], runs: Runs) -> Option<Compared> {
    // A table with one row stands for all seeds.
    let of_run = |tables: &[Vec<&[f64]>], run: usize| {
        average(tables.iter().filter_map(|table| table.get(run.min(table.len().saturating_sub(1))).copied()))
    };
    let differences: Vec<Vec<f64>> =
        (0..runs.count).map(|run| of_run(a, run).iter().zip(of_run(b, run)).map(|(a, b)| a - b).collect()).collect();
    if let Some(test) = DifferenceTest::of_runs_and_queries(&differences) {
        return Some(Compared { test, scope: Scope::Methods });
    }
    let averaged = average(differences.iter().map(Vec::as_slice));
    let scope = if runs.fixed { Scope::Methods } else { Scope::TheseRuns };
    Some(Compared { test: DifferenceTest::of_values(&averaged)?, scope })
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
    use crate::experiment::Question;
    use crate::experiment::fixtures::{outcome, results};

    const NDCG5: Measure = Measure::Ndcg(Some(5));

    fn main_group(results: &Results, method: Method) -> Option<Group<'_>> {
        results.on(results.main_log(), method, Source::Known, &ModelForm::LINEAR)
    }

    #[test]
    fn two_seeds_tell_about_themselves_only() {
        let results = results(&[
            (Method::NAIVE, vec![outcome(&[0.1, 0.2, 0.3], &[0.5, 0.6]), outcome(&[0.3, 0.4, 0.5], &[0.7, 0.8])]),
            (Method::USER_AWARE, vec![outcome(&[0.4, 0.5, 0.7], &[0.1, 0.2]), outcome(&[0.4, 0.5, 0.7], &[0.3, 0.3])]),
        ]);
        let (naive, aware) =
            (main_group(&results, Method::NAIVE).unwrap(), main_group(&results, Method::USER_AWARE).unwrap());
        assert_eq!(naive.per_query(NDCG5), [(0.1 + 0.3) / 2.0, (0.2 + 0.4) / 2.0, (0.3 + 0.5) / 2.0]);
        let found = aware.test(&naive, NDCG5).unwrap();
        assert_eq!(found.scope, Scope::TheseRuns);
        assert!((found.test.difference - (0.2 + 0.2 + 0.3) / 3.0).abs() < 1e-12 && found.test.degrees == 2.0);
        let half_width = naive.interval(NDCG5).unwrap().half_width;
        assert!((half_width - mean_interval(&[0.2, 0.4]).unwrap().half_width).abs() < 1e-12);
        assert_eq!(naive.mse(), Some((0.55 + 0.75) / 2.0));
        let errors = naive.test_mse(&aware).unwrap();
        assert_eq!((errors.scope, errors.test.degrees), (Scope::TheseRuns, 3.0));
        assert!(main_group(&results, Method::Ideal).is_none(), "it was not run");
    }

    #[test]
    fn three_seeds_are_tested_with_their_queries() {
        let [low, high] = [[0.1, 0.2, 0.4], [0.3, 0.5, 0.6]];
        let shifted = |values: [f64; 3], by: f64| outcome(&values.map(|value| value + by), &[by, by + 0.1]);
        let results = results(&[
            (Method::NAIVE, [0.0, 0.1, 0.2].map(|by| shifted(low, by)).to_vec()),
            (Method::USER_AWARE, [0.01, 0.13, 0.17].map(|by| shifted(high, by)).to_vec()),
        ]);
        let (naive, aware) =
            (main_group(&results, Method::NAIVE).unwrap(), main_group(&results, Method::USER_AWARE).unwrap());
        let by_hand: Vec<Vec<f64>> = [0.01, 0.03, -0.03].map(|by| [0.2, 0.3, 0.2].map(|d| d + by).to_vec()).to_vec();
        let found = aware.test(&naive, NDCG5).unwrap();
        let expected = DifferenceTest::of_runs_and_queries(&by_hand).unwrap();
        assert_eq!(found.scope, Scope::Methods);
        assert!(
            (found.test.p() - expected.p()).abs() < 1e-9 && (found.test.difference - expected.difference).abs() < 1e-9
        );
        // Squared errors: one number per log.
        let errors = aware.test_mse(&naive).unwrap();
        assert_eq!((errors.scope, errors.test.degrees), (Scope::Methods, 2.0));
        assert!((errors.test.difference - (0.01 + 0.03 - 0.03) / 3.0).abs() < 1e-12);
        let curve = Group::test_series(&[aware.clone(), aware.clone()], &[naive.clone(), naive.clone()], NDCG5);
        assert!((curve.unwrap().test.p() - expected.p()).abs() < 1e-9);
    }

    #[test]
    fn what_no_seed_changes_is_run_once_and_tested_over_queries() {
        let mut results = results(&[(Method::NAIVE, vec![outcome(&[0.1, 0.2], &[])])]);
        results.settings.questions = vec![Question::Real];
        results.settings.models = vec![ModelForm::LINEAR, "mlp:4".parse().unwrap()];
        assert_eq!(results.settings.real.seeds.len(), 5);
        let mut runs: Vec<Run> = results.settings.runs();
        runs.retain(|run| run.method == Method::NAIVE || run.method == Method::IPS_PBM);
        assert_eq!(runs.len(), 2, "one of each");
        let values = [[0.1, 0.2, 0.4], [0.3, 0.3, 0.5]];
        runs.iter().zip(values).for_each(|(run, values)| results.add_run(run, outcome(&values, &[])));
        let of = |method| results.on(LogKind::Logged, method, Source::EM, &ModelForm::LINEAR).unwrap();
        let found = of(Method::IPS_PBM).test(&of(Method::NAIVE), NDCG5).unwrap();
        assert_eq!((found.scope, found.test.degrees), (Scope::Methods, 2.0));
        assert!(of(Method::NAIVE).interval(NDCG5).is_none());
        let mlp = &results.settings.models[1];
        let seeded = results
            .settings
            .real
            .seeds
            .iter()
            .map(|&seed| Run::new(WorldId::Logged, Method::NAIVE, Source::EM, mlp).seed(seed));
        let names: std::collections::BTreeSet<String> = seeded.map(|run| run.name()).collect();
        assert_eq!(names.len(), 5);
    }
}
