//! SVM-rank: graded documents enter, the linear ranker of widest margin leaves.

use rayon::prelude::*;

use super::scale::FeatureScale;
use super::{Check, Ranker, Training, TrainingRecord};
use crate::data::Dataset;
use crate::options::Options;
use crate::progress::Progress;
use crate::{Error, Result};

/// The relative duality gap, `(objective − lower bound) / objective`, to stop at.
const GAP: f64 = 1e-3;

/// Cutting planes at most.
const PLANES: usize = 1000;

impl Training {
    /// Trains a linear ranker by the ranking SVM (Joachims 2002), with the cutting-plane method of Joachims (2006), on all
    /// rows of `data`, which needs grades.
    ///
    /// Minimises `½|w|² + C/|P| · Σ_(i,j)∈P max(0, 1 − w·(x_i − x_j))`, where `P` has all pairs of documents of one query with
    /// `grade_i > grade_j` and features are divided by their standard deviation over all rows (a constant feature gets weight
    /// 0). Dividing by the number of pairs makes `C`, which is `cost`, comparable between data sets. One pass costs
    /// `O(n log n + n · grades)` per query. Stops when the objective is proven to be within `tolerance` of the least.
    ///
    /// The record's loss is the objective, and its notes have `C`, the number of pairs and the gap.
    pub fn fit_svm_rank(&self, data: &Dataset, progress: &dyn Progress) -> Result<Ranker> {
        self.check_ranges()?;
        data.require_every_feature("svm-rank")?;
        let tolerance = self.tolerance_or(GAP);
        let problem = Problem::new(data)?;
        progress.begin("training SVM-rank", PLANES as u64);
        let mut bundle = Bundle::new(self.cost, data.feature_count());
        let mut checks = Vec::new();
        let mut weights = vec![0.0; data.feature_count()];
        let mut best = Best { objective: f64::INFINITY, weights: weights.clone(), step: 0 };
        let mut gap = f64::INFINITY;
        for step in 1..=PLANES {
            let plane = problem.plane(&weights);
            best.consider(step, self.cost, &plane, &weights);
            bundle.push(plane);
            let bound = bundle.solve(0.1 * tolerance * best.objective);
            gap = (best.objective - bound) / best.objective;
            checks.push(Check { step, loss: best.objective, validation: None });
            progress.advance(1)?;
            progress.note(&format!("gap {gap:.5}"));
            if gap <= tolerance {
                break;
            }
            weights = bundle.weights();
        }
        let notes = vec![
            ("C".to_string(), self.cost.to_string()),
            ("pairs".to_string(), problem.pairs.to_string()),
            ("relative duality gap".to_string(), format!("{gap:.3e}")),
        ];
        let record = TrainingRecord {
            loss: "pairwise hinge".to_string(),
            method: "cutting planes".to_string(),
            steps: checks.len(),
            best_step: best.step,
            lists: problem.lists,
            skipped_lists: data.query_count() - problem.lists,
            checks,
            notes,
            ..TrainingRecord::default()
        };
        Ok(Ranker { model: problem.scale.model(&best.weights), record })
    }
}

/// The best weights so far.
struct Best {
    objective: f64,
    weights: Vec<f64>,
    step: usize,
}

impl Best {
    fn consider(&mut self, step: usize, c: f64, plane: &Plane, weights: &[f64]) {
        let objective = 0.5 * dot(weights, weights) + c * plane.value(weights);
        if objective < self.objective {
            *self = Best { objective, weights: weights.to_vec(), step };
        }
    }
}

/// A lower bound on the mean hinge loss: `offset − normal · w`, exact where it was made.
#[derive(Debug, Clone)]
struct Plane {
    offset: f64,
    normal: Vec<f64>,
}

impl Plane {
    fn value(&self, weights: &[f64]) -> f64 {
        self.offset - dot(&self.normal, weights)
    }
}

/// The training data and its scale.
struct Problem<'a> {
    data: &'a Dataset,
    grades: &'a [u8],
    scale: FeatureScale,
    pairs: u64,
    lists: usize,
}

impl<'a> Problem<'a> {
    fn new(data: &'a Dataset) -> Result<Self> {
        let grades = data.require_grades("SVM-rank")?;
        let counts: Vec<u64> = data.lists().map(|rows| count_pairs(&grades[rows])).collect();
        let pairs: u64 = counts.iter().sum();
        if pairs == 0 {
            return Err(Error::parameter(
                "SVM-rank needs a query with two different grades, but the data set has none",
            ));
        }
        let lists = counts.iter().filter(|&&count| count > 0).count();
        Ok(Problem { data, grades, scale: FeatureScale::of(data)?, pairs, lists })
    }

    /// The tangent of the mean hinge loss at `weights`: the most violated constraint of the one-slack form.
    fn plane(&self, weights: &[f64]) -> Plane {
        let raw = self.scale.raw(weights);
        let queries: Vec<usize> = (0..self.data.query_count()).collect();
        // At most 512 parts, whatever the threads: each brings a normal to add up.
        let part = queries.len().div_ceil(512).max(8);
        let parts: Vec<(u64, Vec<f32>)> = queries.par_chunks(part).map(|part| self.part(part, &raw)).collect();
        let mut plane = Plane { offset: 0.0, normal: vec![0.0; weights.len()] };
        let share = 1.0 / self.pairs as f64;
        for (violated, sums) in &parts {
            plane.offset += *violated as f64 * share;
            plane.normal.iter_mut().zip(self.scale.scaled(sums)).for_each(|(normal, sum)| *normal += sum * share);
        }
        plane
    }

    fn part(&self, queries: &[usize], raw: &[f32]) -> (u64, Vec<f32>) {
        let (mut violated, mut sums) = (0, vec![0.0; raw.len()]);
        for &query in queries {
            let rows = self.data.rows_of(query);
            let score = |row| self.scale.score(self.data.row(row), raw);
            let scores: Vec<f32> = rows.clone().map(score).collect();
            let (count, coefficients) = violations(&scores, &self.grades[rows.clone()]);
            violated += count;
            for (row, &coefficient) in rows.zip(&coefficients).filter(|(_, c)| **c != 0) {
                self.scale.add(&mut sums, self.data.row(row), coefficient as f32);
            }
        }
        (violated, sums)
    }
}

fn grade_counts(grades: &[u8]) -> [u64; 256] {
    let mut counts = [0; 256];
    grades.iter().for_each(|&grade| counts[usize::from(grade)] += 1);
    counts
}

/// How many pairs have different grades.
fn count_pairs(grades: &[u8]) -> u64 {
    let mut below = 0;
    let mut pairs = 0;
    for count in grade_counts(grades) {
        pairs += count * below;
        below += count;
    }
    pairs
}

/// Among pairs with `grade_i > grade_j`, those with `s_i − s_j < 1`: how many, and for each document as how many times i
/// less as how many times j.
///
/// Both ends of a violated pair are found by one sweep each over the documents in order of score: while i rises, the
/// documents with `s_j > s_i − 1` only leave.
fn violations(scores: &[f32], grades: &[u8]) -> (u64, Vec<i64>) {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
    let classes = grade_counts(grades);
    let classes: Vec<u8> = (0..=255).filter(|&grade| classes[usize::from(grade)] > 0).collect();
    let class = |item: usize| classes.partition_point(|&grade| grade < grades[item]);
    let margin = |i: usize, j: usize| f64::from(scores[i]) - f64::from(scores[j]) < 1.0;
    let mut coefficients = vec![0_i64; scores.len()];
    let mut violated = 0;

    // Documents j not yet left behind, by class.
    let mut present = vec![0_u64; classes.len()];
    order.iter().for_each(|&item| present[class(item)] += 1);
    let mut left = 0;
    for &i in &order {
        while left < order.len() && !margin(i, order[left]) {
            present[class(order[left])] -= 1;
            left += 1;
        }
        let count: u64 = present[..class(i)].iter().sum();
        violated += count;
        coefficients[i] += count as i64;
    }
    // Documents i already reached, by class.
    let mut present = vec![0_u64; classes.len()];
    let mut reached = 0;
    for &j in &order {
        while reached < order.len() && margin(order[reached], j) {
            present[class(order[reached])] += 1;
            reached += 1;
        }
        coefficients[j] -= present[class(j) + 1..].iter().sum::<u64>() as i64;
    }
    (violated, coefficients)
}

/// The cutting planes so far and their multipliers: `max Σ α offset − ½|Σ α normal|²` with `α ≥ 0`, `Σ α ≤ C`.
struct Bundle {
    c: f64,
    planes: Vec<Plane>,
    gram: Vec<Vec<f64>>,
    /// One multiplier per plane, and first that of the plane 0, which takes up what the others leave of `C`.
    alpha: Vec<f64>,
    features: usize,
}

impl Bundle {
    fn new(c: f64, features: usize) -> Self {
        let zero = Plane { offset: 0.0, normal: vec![0.0; features] };
        Bundle { c, planes: vec![zero], gram: vec![vec![0.0]], alpha: vec![c], features }
    }

    fn push(&mut self, plane: Plane) {
        let mut row: Vec<f64> = self.planes.iter().map(|other| dot(&other.normal, &plane.normal)).collect();
        self.gram.iter_mut().zip(&row).for_each(|(other, &product)| other.push(product));
        row.push(dot(&plane.normal, &plane.normal));
        self.gram.push(row);
        self.planes.push(plane);
        self.alpha.push(0.0);
    }

    fn weights(&self) -> Vec<f64> {
        let mut weights = vec![0.0; self.features];
        for (plane, &alpha) in self.planes.iter().zip(&self.alpha).filter(|(_, alpha)| **alpha > 0.0) {
            weights.iter_mut().zip(&plane.normal).for_each(|(w, n)| *w += alpha * n);
        }
        weights
    }

    /// Finds the multipliers to within `precision` of the best dual value; returns that value, a lower bound of the objective.
    ///
    /// Moves weight between the two planes that gain most by it. The gap of the bundle's own problem is at most
    /// `C · (largest slope − smallest slope in use)`.
    fn solve(&mut self, precision: f64) -> f64 {
        let count = self.planes.len();
        let product = |alpha: &[f64], row: &[f64]| dot(row, alpha);
        let mut slope: Vec<f64> =
            (0..count).map(|k| self.planes[k].offset - product(&self.alpha, &self.gram[k])).collect();
        for _ in 0..1000 * count {
            let Some((up, down)) = self.pair(&slope) else { break };
            if self.c * (slope[up] - slope[down]) <= precision {
                break;
            }
            let curvature = self.gram[up][up] + self.gram[down][down] - 2.0 * self.gram[up][down];
            let wish = if curvature > 0.0 { (slope[up] - slope[down]) / curvature } else { f64::INFINITY };
            let moved = wish.min(self.alpha[down]);
            self.alpha[up] += moved;
            self.alpha[down] = if wish < self.alpha[down] { self.alpha[down] - moved } else { 0.0 };
            for (k, slope) in slope.iter_mut().enumerate() {
                *slope -= moved * (self.gram[up][k] - self.gram[down][k]);
            }
        }
        let linear: f64 = self.planes.iter().zip(&self.alpha).map(|(plane, alpha)| alpha * plane.offset).sum();
        let weights = self.weights();
        linear - 0.5 * dot(&weights, &weights)
    }

    /// The plane with the largest slope, and the one in use with the smallest.
    fn pair(&self, slope: &[f64]) -> Option<(usize, usize)> {
        let by_slope = |a: &usize, b: &usize| slope[*a].total_cmp(&slope[*b]);
        let up = (0..slope.len()).max_by(by_slope)?;
        let down = (0..slope.len()).filter(|&k| self.alpha[k] > 0.0).min_by(by_slope)?;
        (up != down).then_some((up, down))
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::RngExt;

    use super::*;
    use crate::data::DatasetBuilder;
    use crate::ids::Ids;
    use crate::progress::Silent;

    fn brute_force(scores: &[f32], grades: &[u8]) -> (u64, Vec<i64>) {
        let (mut violated, mut coefficients) = (0, vec![0; scores.len()]);
        for i in 0..scores.len() {
            for j in 0..scores.len() {
                if grades[i] > grades[j] && f64::from(scores[i]) - f64::from(scores[j]) < 1.0 {
                    violated += 1;
                    coefficients[i] += 1;
                    coefficients[j] -= 1;
                }
            }
        }
        (violated, coefficients)
    }

    proptest! {
        #[test]
        fn violations_are_those_of_the_obvious_loop(
            list in prop::collection::vec((-12i32..12, 0u8..5), 0..40), spread in 0.05f32..1.0,
        ) {
            let (scores, grades): (Vec<f32>, Vec<u8>) = list.iter().map(|&(s, g)| (s as f32 * spread, g)).unzip();
            prop_assert_eq!(violations(&scores, &grades), brute_force(&scores, &grades));
        }
    }

    /// Queries of 6 documents whose grades follow a noisy linear rule.
    fn example(queries: usize, noise: f32) -> Dataset {
        let mut random = crate::random::stream(5, "svm", 0);
        let rows = queries * 6;
        let features: Vec<f32> = (0..rows * 4)
            .map(|i| {
                random.random_range(-1.0_f32..1.0) * [1.0, 100.0, 0.01, 1.0][i % 4] + [0.0, 5000.0, 1.0, 0.0][i % 4]
            })
            .collect();
        let relevance = |row: &[f32]| row[0] + (row[1] - 5000.0) / 50.0 - (row[2] - 1.0) * 100.0;
        let grades = features
            .chunks_exact(4)
            .map(|row| (relevance(row) + random.random_range(-1.0_f32..1.0) * noise + 2.0).clamp(0.0, 4.0) as u8)
            .collect();
        DatasetBuilder {
            features,
            feature_count: 4,
            grades: Some(grades),
            queries: Ids::numbered(queries),
            query_ends: (1..=queries).map(|q| q * 6).collect(),
            docs: None,
        }
        .build()
        .unwrap()
    }

    #[test]
    fn the_objective_is_that_of_slow_descent() {
        let data = example(12, 1.5);
        let problem = Problem::new(&data).unwrap();
        for c in [0.5, 20.0] {
            let ranker = Training::new().cost(c).tolerance(1e-4).fit_svm_rank(&data, &Silent).unwrap();
            let found = ranker.record.checks.last().unwrap().loss;
            let mut best = Best { objective: f64::INFINITY, weights: vec![], step: 0 };
            let mut weights = vec![0.0; 4];
            for step in 1..=40_000 {
                let plane = problem.plane(&weights);
                best.consider(step, c, &plane, &weights);
                let rate = 1.0 / (step as f64 + 20.0);
                weights.iter_mut().zip(&plane.normal).for_each(|(w, n)| *w -= rate * (*w - c * n));
            }
            assert!((found / best.objective - 1.0).abs() < 1e-3, "C {c}: {found}, not {}", best.objective);
        }
    }

    #[test]
    fn recovers_a_planted_order_whatever_the_scale_of_features() {
        let data = example(60, 0.0);
        let ranker = Training::new().cost(1000.0).fit_svm_rank(&data, &Silent).unwrap();
        let scores = ranker.score(&data).unwrap();
        let grades = data.grades().unwrap();
        let (mut right, mut all) = (0.0, 0.0);
        for rows in data.lists() {
            for i in rows.clone() {
                for j in rows.clone().filter(|&j| grades[i] > grades[j]) {
                    all += 1.0;
                    right += f64::from(u8::from(scores[i] > scores[j]));
                }
            }
        }
        assert!(right / all > 0.99, "{}", right / all);
        assert!(ranker.record.notes.iter().any(|(name, _)| name == "relative duality gap"));
    }

    #[test]
    fn needs_two_grades_in_a_query() {
        let data = example(2, 0.0);
        let grades = Some(vec![1; data.len()]);
        let same = DatasetBuilder {
            features: data.features().to_vec(),
            feature_count: 4,
            grades,
            queries: Ids::numbered(2),
            query_ends: vec![6, 12],
            docs: None,
        };
        let error = Training::new().fit_svm_rank(&same.build().unwrap(), &Silent).unwrap_err();
        assert_eq!(error.to_string(), "SVM-rank needs a query with two different grades, but the data set has none");
        assert!(Training::new().cost(-1.0).fit_svm_rank(&data, &Silent).is_err());
    }
}
