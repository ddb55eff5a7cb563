//! Trains any form of ranker on whatever there is to learn from.

use std::fmt;
use std::str::FromStr;

use super::{
    LinearRaw, Method, Ranker, SvmRank, Trainer, TrainingLists, TrainingPairs, Unmatched, Validation, labelled_share,
};
use crate::data::Dataset;
use crate::network::Architecture;
use crate::progress::Progress;
use crate::relevance::{PairWeights, Relevance};
use crate::{Error, Result};

/// The forms of rankers by name: `linear-raw`, `svm-rank`, and the texts of [`Architecture`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelForm {
    /// A linear ranker on layer-normalised features, or an MLP.
    Network(Architecture),
    /// A weight for each feature, from relevance weights or grades.
    LinearRaw,
    /// A weight for each feature, by the ranking SVM from grades.
    SvmRank,
}

impl fmt::Display for ModelForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModelForm::Network(architecture) => f.pad(&architecture.to_string()),
            ModelForm::LinearRaw => f.pad("linear-raw"),
            ModelForm::SvmRank => f.pad("svm-rank"),
        }
    }
}

impl FromStr for ModelForm {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.split(':').next() {
            Some("linear" | "mlp") => text.parse().map(ModelForm::Network),
            _ if text == "linear-raw" => Ok(ModelForm::LinearRaw),
            _ if text == "svm-rank" => Ok(ModelForm::SvmRank),
            _ => {
                let known = "linear, mlp, mlp:SIZE,SIZE,…, linear-raw or svm-rank";
                Err(Error::parameter(format!("the model is '{text}', but should be {known}")))
            }
        }
    }
}

/// What a ranker learns from. Its text says so in the ranker's record, without the names of files: they move.
#[derive(Debug, Clone, Copy)]
pub enum LearnFrom<'a> {
    /// The grades of the data set.
    Grades,
    /// Weights of its rows, see [`TrainingLists::from_weights`].
    Weights(&'a [f32]),
    /// Relevance weights of queries and documents.
    Relevance(&'a Relevance),
    /// Weights of pairs, by the loss of PRS.
    Pairs(&'a PairWeights),
}

impl fmt::Display for LearnFrom<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LearnFrom::Grades => f.pad("human grades"),
            LearnFrom::Weights(_) => f.pad("weights of rows"),
            LearnFrom::Relevance(relevance) => write!(f, "weights by {}", relevance.estimator),
            LearnFrom::Pairs(pairs) => write!(f, "click pairs by {}", pairs.ratio),
        }
    }
}

/// Trains a ranker of any form; what does not belong to a form is refused.
///
/// ```
/// use truerank::data::{Generator, Preset};
/// use truerank::progress::Silent;
/// use truerank::ranker::{LearnFrom, ModelForm, RankerTraining};
///
/// let data = Generator::preset(Preset::Tiny).generate()?;
/// let training = RankerTraining::new().model(ModelForm::LinearRaw);
/// let (ranker, _) = training.fit(&data.train, LearnFrom::Grades, None, &Silent)?;
/// assert_eq!(ranker.record.notes, [("source".to_string(), "human grades".to_string())]);
/// # Ok::<(), truerank::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct RankerTraining {
    model: ModelForm,
    standardise: Option<bool>,
    method: Option<Method>,
    steps: Option<usize>,
    batch: Option<usize>,
    learning_rate: Option<f32>,
    clip: Option<f64>,
    l2: Option<f64>,
    patience: Option<usize>,
    check_every: Option<usize>,
    share: Option<f64>,
    cost: Option<f64>,
    max_grade: u8,
    seed: u64,
}

impl Default for RankerTraining {
    fn default() -> Self {
        RankerTraining {
            model: ModelForm::Network(Architecture::mlp()),
            standardise: None,
            method: None,
            steps: None,
            batch: None,
            learning_rate: None,
            clip: None,
            l2: None,
            patience: None,
            check_every: None,
            share: None,
            cost: None,
            max_grade: 4,
            seed: 1,
        }
    }
}

impl RankerTraining {
    /// All defaults; those that are not stated here are those of [`Trainer`], [`LinearRaw`] and [`SvmRank`].
    pub fn new() -> Self {
        RankerTraining::default()
    }

    /// The form of the ranker. Default: the paper's MLP.
    pub fn model(mut self, model: ModelForm) -> Self {
        self.model = model;
        self
    }

    /// For networks, see [`Trainer::standardise`].
    pub fn standardise(mut self, standardise: bool) -> Self {
        self.standardise = Some(standardise);
        self
    }

    /// For networks, see [`Trainer::method`].
    pub fn method(mut self, method: Method) -> Self {
        self.method = Some(method);
        self
    }

    /// The most steps or iterations, see [`Trainer::steps`] and [`LinearRaw::steps`].
    pub fn steps(mut self, steps: usize) -> Self {
        self.steps = Some(steps);
        self
    }

    /// For networks, see [`Trainer::batch`].
    pub fn batch(mut self, lists: usize) -> Self {
        self.batch = Some(lists);
        self
    }

    /// For networks, see [`Trainer::learning_rate`].
    pub fn learning_rate(mut self, rate: f32) -> Self {
        self.learning_rate = Some(rate);
        self
    }

    /// For networks, see [`Trainer::clip`].
    pub fn clip(mut self, norm: f64) -> Self {
        self.clip = Some(norm);
        self
    }

    /// The penalty on squared parameters, see [`Trainer::l2`] and [`LinearRaw::l2`].
    pub fn l2(mut self, l2: f64) -> Self {
        self.l2 = Some(l2);
        self
    }

    /// See [`Trainer::patience`] and [`LinearRaw::patience`].
    pub fn patience(mut self, checks: usize) -> Self {
        self.patience = Some(checks);
        self
    }

    /// For networks, see [`Trainer::check_every`].
    pub fn check_every(mut self, steps: usize) -> Self {
        self.check_every = Some(steps);
        self
    }

    /// For SVM-rank: the share of labelled queries to learn from. Default: all.
    pub fn share(mut self, share: f64) -> Self {
        self.share = Some(share);
        self
    }

    /// For SVM-rank, see [`SvmRank::c`].
    pub fn cost(mut self, cost: f64) -> Self {
        self.cost = Some(cost);
        self
    }

    /// The largest grade of the scale, where grades are learned from. Default: 4.
    pub fn max_grade(mut self, max_grade: u8) -> Self {
        self.max_grade = max_grade;
        self
    }

    /// The seed of initial weights, batches and shares. Default: 1.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Trains a ranker, and says what found no counterpart in `data`. SVM-rank needs no validation and ignores it.
    pub fn fit(
        &self,
        data: &Dataset,
        from: LearnFrom<'_>,
        validation: Option<&Validation<'_>>,
        progress: &dyn Progress,
    ) -> Result<(Ranker, Unmatched)> {
        self.check(from)?;
        let (mut ranker, unmatched) = match &self.model {
            ModelForm::SvmRank => (self.fit_svm(data, progress)?, Unmatched::default()),
            ModelForm::LinearRaw => {
                let (lists, unmatched) = self.lists(data, from)?;
                (self.linear_raw().fit(data, &lists, validation, progress)?, unmatched)
            }
            ModelForm::Network(architecture) => {
                self.fit_network(self.trainer(architecture), data, from, validation, progress)?
            }
        };
        ranker.record.notes.push(("source".to_string(), from.to_string()));
        Ok((ranker, unmatched))
    }

    /// Refuses what would be ignored.
    pub fn check(&self, from: LearnFrom<'_>) -> Result<()> {
        let refuse = |finding: &str| Err(Error::parameter(format!("{} {finding}", self.model)));
        let is_network = matches!(self.model, ModelForm::Network(_));
        if !is_network && self.standardise == Some(true) {
            return refuse("scales features on the way; leave out standardise");
        }
        if self.model != ModelForm::SvmRank && (self.share.is_some() || self.cost.is_some()) {
            let finding = format!("share and cost are for svm-rank, but the model is {}", self.model);
            return Err(Error::parameter(finding));
        }
        match (&self.model, from) {
            (ModelForm::SvmRank, LearnFrom::Grades) => {
                match self.method.is_some() || self.steps.is_some() || self.patience.is_some() {
                    true => refuse("is solved to a tolerance; leave out optimizer, steps and patience"),
                    false => Ok(()),
                }
            }
            (ModelForm::SvmRank, _) => {
                refuse("learns from human grades; leave out weights and pairs, or choose linear, mlp or linear-raw")
            }
            (ModelForm::LinearRaw, LearnFrom::Pairs(_)) => {
                refuse("learns from relevance weights or grades; leave out pairs, or choose linear or mlp")
            }
            (ModelForm::LinearRaw, _) if self.method.is_some_and(|method| method != Method::Lbfgs) => {
                refuse("is trained by lbfgs; leave out the optimizer")
            }
            _ => Ok(()),
        }
    }

    fn fit_svm(&self, data: &Dataset, progress: &dyn Progress) -> Result<Ranker> {
        let trainer = self.cost.map_or(SvmRank::new(), |cost| SvmRank::new().c(cost));
        match self.share {
            None => trainer.fit(data, progress),
            Some(share) => trainer.fit(&labelled_share(data, share, self.seed)?, progress),
        }
    }

    fn linear_raw(&self) -> LinearRaw {
        let trainer = given(LinearRaw::new(), self.l2, LinearRaw::l2);
        let trainer = given(trainer, self.steps, LinearRaw::steps);
        given(trainer, self.patience, LinearRaw::patience)
    }

    fn trainer(&self, architecture: &Architecture) -> Trainer {
        let trainer = Trainer::new().architecture(architecture.clone()).seed(self.seed);
        let trainer = given(trainer, self.standardise, Trainer::standardise);
        let trainer = given(trainer, self.method, Trainer::method);
        let trainer = given(trainer, self.steps, Trainer::steps);
        let trainer = given(trainer, self.batch, Trainer::batch);
        let trainer = given(trainer, self.learning_rate, Trainer::learning_rate);
        let trainer = given(trainer, self.clip, Trainer::clip);
        let trainer = given(trainer, self.l2, Trainer::l2);
        let trainer = given(trainer, self.patience, Trainer::patience);
        given(trainer, self.check_every, Trainer::check_every)
    }

    fn fit_network(
        &self,
        trainer: Trainer,
        data: &Dataset,
        from: LearnFrom<'_>,
        validation: Option<&Validation<'_>>,
        progress: &dyn Progress,
    ) -> Result<(Ranker, Unmatched)> {
        if let LearnFrom::Pairs(pairs) = from {
            let (pairs, unmatched) = TrainingPairs::from_pair_weights(data, pairs)?;
            return Ok((trainer.fit(data, &pairs, validation, progress)?, unmatched));
        }
        let (lists, unmatched) = self.lists(data, from)?;
        Ok((trainer.fit(data, &lists, validation, progress)?, unmatched))
    }

    /// What a listwise loss learns from.
    fn lists(&self, data: &Dataset, from: LearnFrom<'_>) -> Result<(TrainingLists, Unmatched)> {
        let all = |lists: TrainingLists| (lists, Unmatched::default());
        match from {
            LearnFrom::Relevance(relevance) => TrainingLists::from_relevance(data, relevance),
            LearnFrom::Weights(weights) => TrainingLists::from_weights(data, weights).map(all),
            _ => TrainingLists::from_grades(data, self.max_grade, None).map(all),
        }
    }
}

/// The builder with an option where it was given.
fn given<B, T>(builder: B, value: Option<T>, set: impl FnOnce(B, T) -> B) -> B {
    match value {
        Some(value) => set(builder, value),
        None => builder,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Generator, Preset};
    use crate::progress::Silent;

    fn data() -> Dataset {
        Generator::preset(Preset::Tiny).generate().unwrap().train
    }

    #[test]
    fn weights_of_rows_train_as_the_same_grades_do() {
        let data = data();
        let grades = data.grades().unwrap();
        let weights: Vec<f32> = grades.iter().map(|&grade| f32::from(grade) / 4.0).collect();
        let training = RankerTraining::new().model("mlp:4".parse().unwrap()).steps(5);
        let (by_grades, _) = training.fit(&data, LearnFrom::Grades, None, &Silent).unwrap();
        let (by_weights, _) = training.fit(&data, LearnFrom::Weights(&weights), None, &Silent).unwrap();
        assert_eq!(by_grades.model, by_weights.model);
        let source = |ranker: &Ranker| ranker.record.notes[0].1.clone();
        assert_eq!([source(&by_grades), source(&by_weights)], ["human grades", "weights of rows"]);
    }

    #[test]
    fn rows_without_a_weight_are_not_in_their_list() {
        let data = data();
        let mut weights = vec![f32::NAN; data.len()];
        let second = data.rows_of(1).start;
        (weights[second], weights[second + 2]) = (0.5, 0.0);
        let lists = TrainingLists::from_weights(&data, &weights).unwrap();
        assert_eq!((lists.ends, lists.rows), (vec![2], vec![second as u32, second as u32 + 2]));
        assert_eq!(lists.weights, [0.5, 0.0]);
        weights[3] = -1.0;
        let message = TrainingLists::from_weights(&data, &weights).unwrap_err().to_string();
        assert_eq!(message, "the weight of row 4 is -1, but weights are finite and at least 0");
        let message = TrainingLists::from_weights(&data, &weights[1..]).unwrap_err().to_string();
        assert_eq!(message, format!("there are {} weights for {} documents", data.len() - 1, data.len()));
    }

    #[test]
    fn what_would_be_ignored_is_refused() {
        let refused = |training: RankerTraining| training.check(LearnFrom::Grades).unwrap_err().to_string();
        let (raw, svm) = (ModelForm::LinearRaw, ModelForm::SvmRank);
        assert!(refused(RankerTraining::new().model(raw.clone()).standardise(true)).starts_with("linear-raw scales"));
        assert!(refused(RankerTraining::new().cost(1.0)).contains("the model is mlp"));
        assert!(refused(RankerTraining::new().model(svm).steps(3)).starts_with("svm-rank is solved"));
        let adam = RankerTraining::new().model(raw).method("adam".parse().unwrap());
        assert!(refused(adam).contains("lbfgs"));
    }

    #[test]
    fn forms_print_and_parse_back() {
        for text in ["linear", "mlp:8,4", "linear-raw", "svm-rank"] {
            assert_eq!(text.parse::<ModelForm>().unwrap().to_string(), text);
        }
        assert_eq!("mlp".parse::<ModelForm>().unwrap().to_string(), "mlp:512,256,128");
        assert!("tree".parse::<ModelForm>().unwrap_err().to_string().contains("but should be linear, mlp"));
    }
}
