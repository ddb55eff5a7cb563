//! Relevance as labels for trees: weights and a data set enter, a folder that LightGBM or XGBoost reads leaves.
//!
//! Trees that regress on relevance ranked better than trees that rank by it where we measured it (docs/lightgbm.md), so relevance
//! as our own rankers learn from it ([`Relevance::for_ranker`]), for regression, is what both get by default. The other parts
//! have human grades, by which nDCG says when to stop.

use std::io::Write;
use std::path::Path;

use rayon::prelude::*;
use serde_json::{Value, json};

use crate::data::{Dataset, nothing_matches, write_features};
use crate::files::{AtomicFile, write_folder};
use crate::ranker::Unmatched;
use crate::relevance::{Relevance, Weight};
use crate::{Error, Result};

/// Whose files are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trees {
    /// Text without query ids, group sizes in a `.query` file beside it.
    LightGbm,
    /// Text with `qid`, numbered from 1, or with a weight per document where groups are not needed.
    XgBoost,
}

/// What a label is. ŷ, the relevance that a ranker learns from, stands for the grade `y = y_max · (ŷ − ε) / (1 − ε)`, cut to
/// `0..=y_max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabelForm {
    /// Whole numbers: `y` times this many steps per grade, rounded, with the gain `2^(label / steps) − 1`. One step gives
    /// plain grades.
    Steps(usize),
    /// The gain itself, `2^y − 1`.
    Gains,
    /// ŷ itself, for regression; whole grades in judged parts.
    Weights,
}

impl LabelForm {
    /// The names of forms.
    pub const NAMES: [&str; 3] = ["weights", "steps", "gains"];

    /// The form of a name, `weights`, `gains` or `steps`; where steps per grade are not given, 8, or 1 for XGBoost.
    pub fn named(name: &str, steps: Option<usize>, trees: Trees) -> Result<Self> {
        match (name, steps) {
            ("steps", Some(steps)) => Ok(LabelForm::Steps(steps)),
            ("steps", None) if trees == Trees::LightGbm => Ok(LabelForm::Steps(8)),
            ("steps", None) => Ok(LabelForm::Steps(1)),
            ("weights" | "gains", Some(_)) => {
                Err(Error::option("steps", format!("are for labels that are steps, but they are {name}")))
            }
            ("weights", None) => Ok(LabelForm::Weights),
            ("gains", None) => Ok(LabelForm::Gains),
            _ => Err(Error::parameter(format!("'{name}' is not a form of labels; known are weights, gains, steps"))),
        }
    }
}

/// Labels of training documents: what [`Labels::write`] writes as `train.svm`, beside the features.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainingLabels {
    /// The rows of the data set that have a label, in order: those of documents that were shown.
    pub rows: Vec<usize>,
    /// Their labels.
    pub labels: Vec<f64>,
    /// How much each label is to count, where not all count alike.
    pub weights: Option<Vec<f64>>,
    /// How many of the rows each query has, for queries with any.
    pub sizes: Vec<usize>,
    /// The parameters with which a trainer reads the labels as they are meant.
    pub parameters: Value,
    /// What was found.
    pub summary: LabelSummary,
}

/// Writes labels.
///
/// ```no_run
/// use std::path::Path;
/// use truerank::data::read_splits;
/// use truerank::ranker::{Labels, Trees};
/// use truerank::relevance::Relevance;
///
/// let data = read_splits(Path::new("data"), &Default::default())?;
/// let relevance = Relevance::read(Path::new("relevance.parquet"))?;
/// let judged = [("vali", &data.validation), ("test", &data.test)];
/// Labels::new(Trees::LightGbm).write(&data.train, &relevance, &judged, Path::new("labels"))?;
/// # Ok::<(), truerank::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Labels {
    trees: Trees,
    form: LabelForm,
    max_grade: u8,
    noise: f64,
    features: Option<usize>,
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LabelSummary {
    /// Training queries.
    pub queries: usize,
    /// Training documents.
    pub documents: usize,
    /// Training documents whose ŷ is above 1 and was cut to the highest label.
    pub cut: usize,
    /// Weights that the data set does not know, left out.
    pub unmatched: Unmatched,
}

/// A label counts half as much as a perfect one when its document was examined this often, in expectation.
///
/// `E / (E + b)` is what inverse variances come to when the noise of one examination has b times the variance of relevance.
/// From 5 to 20 it hardly matters, without it sparse logs lose (docs/lightgbm.md).
const HALF_RELIABLE: f64 = 5.0;

/// How many rows are formatted at a time by one thread.
const ROWS_AT_A_TIME: usize = 1 << 10;

/// More would make the table of gains longer than any use of it.
const MOST_STEPS: usize = 64;

const NAMES: [&str; 3] = ["train", "vali", "test"];
const PARAMETERS: &str = "params.json";

impl Labels {
    /// Labels for `trees` with all defaults.
    pub fn new(trees: Trees) -> Self {
        Labels { trees, form: LabelForm::Weights, max_grade: 4, noise: 0.0, features: None }
    }

    /// What a label is. Default: weights.
    pub fn form(mut self, form: LabelForm) -> Self {
        self.form = form;
        self
    }

    /// The highest human grade. Default: 4.
    pub fn max_grade(mut self, grade: u8) -> Self {
        self.max_grade = grade;
        self
    }

    /// ε: how often a document of grade 0 is found relevant. Default: 0.
    pub fn click_noise(mut self, epsilon: f64) -> Self {
        self.noise = epsilon;
        self
    }

    /// How many features the trainer has of a document, where they are elsewhere. Default: not known, and then labels of tables have
    /// the whole prior.
    pub fn features(mut self, features: Option<usize>) -> Self {
        self.features = features;
        self
    }

    /// Writes `train.svm` with the weights' labels, a file for each of the `judged` parts by its name, side files, and
    /// `params.json` with the parameters that labels ask for.
    ///
    /// Training documents without a weight were never shown and are left out. An older folder of this kind is replaced; one
    /// that holds anything else is refused.
    pub fn write(
        &self,
        train: &Dataset,
        relevance: &Relevance,
        judged: &[(&str, &Dataset)],
        folder: &Path,
    ) -> Result<LabelSummary> {
        self.check()?;
        let (part, summary) = self.training_part(train, relevance)?;
        let mut parts = vec![("train", part)];
        for (name, data) in judged {
            parts.push((name, self.judged_part(data)?));
        }
        write_folder(folder, is_label_file, |folder| {
            for (name, part) in &parts {
                self.write_part(part, &folder.join(format!("{name}.svm")))?;
            }
            write_text(&folder.join(PARAMETERS), &format!("{:#}\n", self.parameters()))
        })?;
        Ok(summary)
    }

    /// The labels of training documents, in memory.
    pub fn training(&self, data: &Dataset, relevance: &Relevance) -> Result<TrainingLabels> {
        self.check()?;
        let (part, summary) = self.training_part(data, relevance)?;
        let Part { rows, labels, sizes, reliability: weights, .. } = part;
        Ok(TrainingLabels { rows, labels, weights, sizes, parameters: self.parameters(), summary })
    }

    pub(super) fn check(&self) -> Result<()> {
        if self.max_grade == 0 {
            return Err(Error::parameter("the highest grade should be at least 1, but is 0"));
        }
        if !(0.0..1.0).contains(&self.noise) {
            return Err(Error::parameter(format!(
                "the click noise should be from 0 to below 1, but is {}",
                self.noise
            )));
        }
        match (self.form, self.trees) {
            (LabelForm::Steps(steps), _) if !(1..=MOST_STEPS).contains(&steps) => {
                Err(Error::parameter(format!("steps per grade should be between 1 and {MOST_STEPS}, but are {steps}")))
            }
            (LabelForm::Steps(2..), Trees::XgBoost) => Err(Error::parameter(
                "XGBoost has no gains for steps of grades; use gains, weights, or one step per grade",
            )),
            (LabelForm::Gains, Trees::LightGbm) => Err(Error::parameter(
                "LightGBM ranks by whole numbers, but gains are not; use steps of grades, whose gains it is told",
            )),
            _ => Ok(()),
        }
    }

    /// The relevance that labels are of, for each weighed document whether its features are known or not.
    pub(super) fn learned(&self, relevance: &Relevance) -> Vec<f64> {
        match self.features {
            Some(features) => relevance.for_ranker(features),
            None => relevance.weights.iter().map(|found| found.weight).collect(),
        }
    }

    /// The label of a document of this relevance.
    pub(super) fn label(&self, relevance: f64) -> f64 {
        match self.form {
            LabelForm::Weights => relevance,
            _ => {
                let most = f64::from(self.max_grade);
                self.label_of_grade((most * (relevance - self.noise) / (1.0 - self.noise)).clamp(0.0, most))
            }
        }
    }

    /// The label of a document of grade `grade`, which may lie between two.
    fn label_of_grade(&self, grade: f64) -> f64 {
        match self.form {
            LabelForm::Steps(steps) => (grade * steps as f64).round(),
            LabelForm::Gains => gain(grade),
            LabelForm::Weights => grade,
        }
    }

    /// The parameters with which training and nDCG read the labels as they are meant.
    fn parameters(&self) -> Value {
        match (self.trees, self.form) {
            (Trees::LightGbm, LabelForm::Steps(steps)) => {
                let gains: Vec<f64> =
                    (0..=steps * usize::from(self.max_grade)).map(|label| gain(label as f64 / steps as f64)).collect();
                json!({ "objective": "lambdarank", "label_gain": gains, "metric": "ndcg", "eval_at": [5] })
            }
            // LightGBM's own nDCG wants whole numbers, in the training part too.
            (Trees::LightGbm, _) => json!({ "objective": "regression", "metric": "none" }),
            (Trees::XgBoost, form) => {
                let objective = if form == LabelForm::Weights { "reg:squarederror" } else { "rank:ndcg" };
                let exponential = form != LabelForm::Gains;
                json!({ "objective": objective, "ndcg_exp_gain": exponential, "eval_metric": "ndcg@5" })
            }
        }
    }

    fn training_part<'a>(&self, data: &'a Dataset, relevance: &Relevance) -> Result<(Part<'a>, LabelSummary)> {
        let (rows, labels) = (relevance.rows_in(data), relevance.for_ranker(data.feature_count()));
        let mut found: Vec<Option<(&Weight, f64)>> = vec![None; data.len()];
        for ((row, weight), label) in rows.iter().zip(&relevance.weights).zip(labels) {
            if let Some(row) = row {
                found[*row as usize] = Some((weight, label));
            }
        }
        let mut part = Part::new(data, |row| found[row].map(|(_, relevance)| self.label(relevance)));
        let shown = || found.iter().flatten();
        part.reliability = self.has_reliability().then(|| shown().map(|(weight, _)| reliability(weight)).collect());
        if part.rows.is_empty() {
            return Err(nothing_matches(data, &relevance.queries, "document with a weight", "weights'"));
        }
        let cut = self.cut(shown().map(|(_, relevance)| *relevance));
        let (queries, documents) = (part.sizes.len(), part.rows.len());
        Ok((part, LabelSummary { queries, documents, cut, unmatched: unmatched(relevance, &rows) }))
    }

    /// How many documents have the highest label though their relevance is above it.
    pub(super) fn cut(&self, relevance: impl Iterator<Item = f64>) -> usize {
        match self.form {
            LabelForm::Weights => 0,
            _ => relevance.filter(|relevance| *relevance > 1.0).count(),
        }
    }

    fn judged_part<'a>(&self, data: &'a Dataset) -> Result<Part<'a>> {
        let grades = data.require_grades("a judged part")?;
        match grades.iter().find(|&&grade| grade > self.max_grade) {
            Some(grade) => {
                Err(Error::parameter(format!("grades should be at most {}, but one is {grade}", self.max_grade)))
            }
            None => Ok(Part::new(data, |row| Some(self.label_of_grade(f64::from(grades[row]))))),
        }
    }

    fn write_part(&self, part: &Part<'_>, path: &Path) -> Result<()> {
        let mut file = AtomicFile::create(path)?;
        let rows: Vec<usize> = (0..part.rows.len()).collect();
        for wave in rows.chunks(4 * ROWS_AT_A_TIME * rayon::current_num_threads()) {
            let texts: Vec<Vec<u8>> =
                wave.par_chunks(ROWS_AT_A_TIME).map(|rows| part.format(rows, self.trees)).collect();
            for text in texts {
                file.write_all(&text).map_err(|e| Error::io(path, e))?;
            }
        }
        file.commit()?;
        if self.trees == Trees::LightGbm {
            write_lines(&path.with_extension("svm.query"), &part.sizes)?;
            if let Some(reliability) = &part.reliability {
                write_lines(&path.with_extension("svm.weight"), reliability)?;
            }
        }
        Ok(())
    }

    /// XGBoost's ranking objectives take a weight per query only.
    fn has_reliability(&self) -> bool {
        self.trees == Trees::LightGbm || self.form == LabelForm::Weights
    }
}

/// Rows of a data set with a label each.
struct Part<'a> {
    data: &'a Dataset,
    rows: Vec<usize>,
    labels: Vec<f64>,
    /// The query of each row, counted from 1 among those with rows.
    queries: Vec<usize>,
    /// How many rows each of these queries has.
    sizes: Vec<usize>,
    /// How much each label is to count, where not all count alike.
    reliability: Option<Vec<f64>>,
}

impl<'a> Part<'a> {
    /// The rows for which there is a label.
    fn new(data: &'a Dataset, label: impl Fn(usize) -> Option<f64>) -> Self {
        let mut part = Part {
            data,
            rows: Vec::new(),
            labels: Vec::new(),
            queries: Vec::new(),
            sizes: Vec::new(),
            reliability: None,
        };
        for rows in data.lists() {
            let before = part.rows.len();
            for (row, label) in rows.filter_map(|row| label(row).map(|label| (row, label))) {
                part.rows.push(row);
                part.labels.push(label);
                part.queries.push(part.sizes.len() + 1);
            }
            if part.rows.len() > before {
                part.sizes.push(part.rows.len() - before);
            }
        }
        part
    }

    fn format(&self, places: &[usize], trees: Trees) -> Vec<u8> {
        let mut text = Vec::new();
        for &place in places {
            let row = self.data.row(self.rows[place]);
            // Writing to memory cannot fail.
            let _ = write!(text, "{}", self.labels[place]);
            // XGBoost takes a weight per document or groups, but not both.
            let _ = match (trees, &self.reliability) {
                (Trees::XgBoost, Some(reliability)) => write!(text, ":{}", reliability[place]),
                (Trees::XgBoost, None) => write!(text, " qid:{}", self.queries[place]),
                (Trees::LightGbm, _) => Ok(()),
            };
            write_features(&mut text, row);
            // The first line names the last feature, so that all parts are read as equally wide.
            if place == 0 && row.last().is_some_and(|value| value.to_bits() == 0) {
                let _ = write!(text, " {}:0", row.len());
            }
            text.push(b'\n');
        }
        text
    }
}

/// The queries none of whose documents have a row, and the other documents without one.
fn unmatched(relevance: &Relevance, mut rows: &[Option<u32>]) -> Unmatched {
    let mut unmatched = Unmatched::default();
    for weights in relevance.weights.chunk_by(|a, b| a.query == b.query) {
        let of_query = rows.split_off(..weights.len()).unwrap_or_default();
        match of_query.iter().filter(|row| row.is_none()).count() {
            missing if missing == weights.len() => unmatched.queries += 1,
            missing => unmatched.docs += missing,
        }
    }
    unmatched
}

/// What a document of this grade adds to DCG at the first rank.
fn gain(grade: f64) -> f64 {
    grade.exp2() - 1.0
}

/// How much a label is to count: 0 for a document that nobody examined, 1 in the limit of many.
pub(super) fn reliability(weight: &Weight) -> f64 {
    let share = weight.exposure / (weight.exposure + HALF_RELIABLE);
    // Six digits are more than it is worth.
    (1e6 * share).round() / 1e6
}

/// Whether [`Labels::write`] writes a file of this name.
pub fn is_label_file(name: &str) -> bool {
    let part = |name: &str| name.strip_suffix(".svm").is_some_and(|name| NAMES.contains(&name));
    let side = |ending: &str| name.strip_suffix(ending).is_some_and(part);
    name == PARAMETERS || part(name) || side(".query") || side(".weight")
}

fn write_lines(path: &Path, values: &[impl std::fmt::Display]) -> Result<()> {
    write_text(path, &values.iter().map(|value| format!("{value}\n")).collect::<String>())
}

pub(super) fn write_text(path: &Path, text: &str) -> Result<()> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(text.as_bytes()).map_err(|e| Error::io(path, e))?;
    file.commit()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::DatasetBuilder;
    use crate::ids::Ids;
    use crate::relevance::{Correction, PriorKind};

    /// Queries 7 and 3, with documents 1..=3 and 1..=2; the last feature is 0 everywhere.
    fn data() -> Dataset {
        DatasetBuilder {
            features: vec![1.0, 0.0, 2.0, 0.0, 3.0, 0.0, 4.0, 0.0, 0.0, 0.0],
            feature_count: 2,
            grades: Some(vec![0, 1, 4, 2, 3]),
            queries: Ids::Integers(vec![7, 3]),
            query_ends: vec![3, 5],
            docs: None,
        }
        .build()
        .unwrap()
    }

    fn relevance() -> Relevance {
        let weight = |query, doc, weight| Weight {
            query,
            doc,
            weight,
            impressions: 1,
            clicks: 1,
            exposure: 1.0,
            divisor: 1.0,
            variance: 0.0,
        };
        Relevance {
            estimator: "user-aware".into(),
            queries: Ids::Integers(vec![3, 7, 9]),
            docs: Ids::Integers(vec![1, 2, 3, 8]),
            weights: vec![
                weight(0, 1, 0.5),
                weight(0, 3, 1.0),
                weight(1, 0, 0.3),
                weight(1, 2, 1.5),
                weight(2, 0, 1.0),
            ],
            ..Relevance::default()
        }
    }

    fn written(labels: &Labels) -> (LabelSummary, impl Fn(&str) -> String + use<>) {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("labels");
        let summary = labels.write(&data(), &relevance(), &[("test", &data())], &target).unwrap();
        let read = move |name: &str| {
            let _ = &folder;
            std::fs::read_to_string(target.join(name)).unwrap_or_default()
        };
        (summary, read)
    }

    #[test]
    fn relevance_as_it_is_by_default() {
        let (summary, read) = written(&Labels::new(Trees::LightGbm));
        assert_eq!(read("train.svm"), "0.3 1:1 2:0\n1.5 1:3\n0.5\n");
        assert_eq!(read("train.svm.query"), "2\n1\n");
        // Examined once: 1 / (1 + 5).
        assert_eq!(read("train.svm.weight"), "0.166667\n0.166667\n0.166667\n");
        assert_eq!(read("test.svm"), "0 1:1 2:0\n1 1:2\n4 1:3\n2 1:4\n3\n");
        assert_eq!((read("test.svm.query").as_str(), read("test.svm.weight").as_str()), ("3\n2\n", ""));
        let unmatched = Unmatched { queries: 1, docs: 1 };
        assert_eq!(summary, LabelSummary { queries: 2, documents: 3, cut: 0, unmatched });
        let (_, read) = written(&Labels::new(Trees::XgBoost));
        assert_eq!(read("train.svm"), "0.3:0.166667 1:1 2:0\n1.5:0.166667 1:3\n0.5:0.166667\n");
        assert_eq!(read("test.svm").lines().nth(3), Some("2 qid:2 1:4"));
        assert_eq!(read("train.svm.query"), "");
    }

    #[test]
    fn trainers_learn_from_what_our_rankers_learn_from() {
        // One click, examined once, b = 3: the prior's part of a weight is what is above 1/4.
        let mut shrunk = relevance();
        shrunk.correction = Correction { prior: PriorKind::Model, shrink: Some(3.0), ..Correction::default() };
        shrunk.weights.iter_mut().for_each(|weight| weight.divisor = 4.0);
        let expected = shrunk.for_ranker(data().feature_count());
        let labels = Labels::new(Trees::LightGbm);
        let found = labels.training(&data(), &shrunk).unwrap();
        // Query 7 comes first in the data; what the data set does not know has no label.
        assert_eq!(found.labels, [expected[2], expected[3], expected[0]]);
        assert!(found.labels[0] < 0.3 && found.labels[0] > 0.25, "{:?}", found.labels);
        let steps = labels.form(LabelForm::Steps(64)).training(&data(), &shrunk).unwrap();
        assert_eq!(steps.labels[2], (4.0 * 64.0 * expected[0]).round());
        // One weight is above 1, but its label is not.
        assert_eq!((shrunk.weights[3].weight, steps.summary.cut), (1.5, 0));
    }

    #[test]
    fn labels_in_memory_are_those_of_the_files() {
        for labels in [Labels::new(Trees::LightGbm), Labels::new(Trees::XgBoost).form(LabelForm::Gains)] {
            let (summary, read) = written(&labels);
            let found = labels.training(&data(), &relevance()).unwrap();
            let of_files: Vec<f64> =
                read("train.svm").lines().map(|line| line.split([' ', ':']).next().unwrap().parse().unwrap()).collect();
            assert_eq!((found.rows, found.labels), (vec![0, 2, 4], of_files));
            assert_eq!((found.sizes, found.summary), (vec![2, 1], summary));
            assert_eq!(found.parameters, serde_json::from_str::<Value>(&read("params.json")).unwrap());
        }
    }

    #[test]
    fn steps_are_whole_numbers_with_gains() {
        let (summary, read) = written(&Labels::new(Trees::LightGbm).form(LabelForm::Steps(8)));
        // 8 steps in each of 4 grades: .3 is 9.6 of 32 steps, 1.5 is cut to 32, .5 is 16.
        assert_eq!((read("train.svm").as_str(), summary.cut), ("10 1:1 2:0\n32 1:3\n16\n", 1));
        assert_eq!(read("test.svm"), "0 1:1 2:0\n8 1:2\n32 1:3\n16 1:4\n24\n");
        let parameters: Value = serde_json::from_str(&read("params.json")).unwrap();
        let gains = parameters["label_gain"].as_array().unwrap();
        assert_eq!((gains.len(), &gains[0], &gains[8], &gains[32]), (33, &0.0.into(), &1.0.into(), &15.0.into()));
        let grades = Labels::new(Trees::LightGbm).form(LabelForm::Steps(1)).click_noise(0.1);
        // 4 · (.5 − .1) / .9 = 1.8 and 4 · (.3 − .1) / .9 = .9
        assert_eq!(written(&grades).1("train.svm"), "1 1:1 2:0\n4 1:3\n2\n");
    }

    #[test]
    fn gains_are_those_of_grades_in_between() {
        let (_, read) = written(&Labels::new(Trees::XgBoost).form(LabelForm::Gains));
        let gain = |share: f64| (4.0 * share).exp2() - 1.0;
        assert_eq!(read("train.svm"), format!("{} qid:1 1:1 2:0\n15 qid:1 1:3\n3 qid:2\n", gain(0.3)));
        assert_eq!(read("test.svm").lines().nth(3), Some("3 qid:2 1:4"));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |labels: Labels| {
            let judged = [("test", &data())];
            labels.write(&data(), &relevance(), &judged, &folder.path().join("l")).unwrap_err().to_string()
        };
        assert!(refused(Labels::new(Trees::LightGbm).form(LabelForm::Gains)).contains("whole numbers"));
        assert!(refused(Labels::new(Trees::XgBoost).form(LabelForm::Steps(8))).contains("no gains for steps"));
        assert!(refused(Labels::new(Trees::LightGbm).form(LabelForm::Steps(0))).contains("between 1 and 64"));
        assert!(refused(Labels::new(Trees::LightGbm).click_noise(1.0)).contains("below 1, but is 1"));
        assert!(refused(Labels::new(Trees::LightGbm).max_grade(3)).contains("at most 3, but one is 4"));
        std::fs::create_dir(folder.path().join("l")).unwrap();
        std::fs::write(folder.path().join("l/thesis.tex"), "years").unwrap();
        assert!(refused(Labels::new(Trees::LightGbm)).contains("thesis.tex"));
    }
}
