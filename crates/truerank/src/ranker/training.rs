//! Trains any form of ranker on whatever there is to learn from.

use std::fmt;

use super::kinds::{MINIMISED, NETWORKS, RATED, SOLVED, STEPPED, SVM_RANK, TREES};
use super::trees::{MOST_BINS, MOST_LEAVES, Monotone, TreeLoss};
use super::{
    Minimiser, ModelForm, Ranker, RankerKind, Targets, TrainingLists, TrainingPairs, Unmatched, Validation,
    labelled_share,
};
use crate::data::Dataset;
use crate::network::Architecture;
use crate::options::{Options, options};
use crate::progress::Progress;
use crate::relevance::{PairWeights, Relevance};
use crate::{Error, Result};

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

options! {
    /// How a ranker of any kind is trained; what a kind does not take is refused.
    ///
    /// Networks minimise the loss of batches: the sum of the losses of its lists over the sum of their weights. Each epoch
    /// passes over all lists once in a random order; its last batch may be short. The linear rankers are trained by L-BFGS
    /// where the loss is listwise, and everything else by AdaGrad on batches; `optimizer` chooses otherwise.
    ///
    /// ```
    /// use truerank::data::{Generator, Preset};
    /// use truerank::progress::Silent;
    /// use truerank::ranker::{LearnFrom, ModelForm, Training};
    ///
    /// let data = Generator::preset(Preset::Tiny).generate()?;
    /// let training = Training::new().model(ModelForm::LinearRaw);
    /// let (ranker, _) = training.fit(&data.train, LearnFrom::Grades, None, &Silent)?;
    /// assert_eq!(ranker.record.notes, [("source".to_string(), "human grades".to_string())]);
    /// # Ok::<(), truerank::Error>(())
    /// ```
    pub struct Training {
        /// The kind of ranker: linear, mlp, mlp:SIZE,SIZE,…, linear-raw, svm-rank or trees.
        model: ModelForm = ModelForm::mlp(), usual("mlp"), value("KIND");
        /// For linear and mlp: bring features to one scale first, for features of different scales; the paper's networks do
        /// without.
        ///
        /// Features get mean 0 and deviation 1 over all rows of the training data, and the ranker carries what that takes
        /// ([`Scaling`](crate::network::Scaling)). Layer norm over features of different scales sees only the largest; this
        /// makes them equal. It leaves the norm itself in place, which forgets the mean and the spread of a document's
        /// features: of two features only their order is left. For a handful of features `linear-raw` sees more.
        standardise: bool = false, alias("standardize"), only_for(NETWORKS);
        /// What minimises the loss: lbfgs, adagrad, adam, sgd or like sgd:0.9.
        optimizer: Option<Minimiser> = None, usual("lbfgs for linear and linear-raw, else adagrad"), value("NAME"),
            only_for(MINIMISED);
        /// Steps at most; for lbfgs, iterations; for trees, how many.
        steps: Option<usize> = None, usual("1000, or 200 for lbfgs, 500 for trees"), value("N"), at_least(1.0), only_for(STEPPED);
        /// Queries per step.
        batch: usize = 256, value("N"), at_least(1.0), only_for(NETWORKS);
        /// Size of steps; for trees, what leaves are multiplied by.
        learning_rate: Option<f32> = None, usual("0.01, or 0.05 for trees"), value("RATE"), above(0.0), only_for(RATED);
        /// Norm to which longer gradients are cut; inf cuts none.
        clip: f64 = 5.0, value("NORM"), above_or_infinite(0.0), only_for(NETWORKS);
        /// Penalty on squared parameters, `l2/2 · |parameters|²`; for trees, on the values of leaves.
        l2: f64 = 0.0, value("PENALTY"), at_least(0.0), only_for(STEPPED);
        /// Stop after this many checks without a better validation value; the best is kept either way.
        patience: Option<usize> = None, usual("never"), value("CHECKS"), only_for(STEPPED);
        /// Steps between checks; lbfgs checks every iteration.
        check_every: usize = 10, value("STEPS"), at_least(1.0), only_for(RATED);
        /// For lbfgs: stop when the gradient's norm is below this share of the norm at the start; for svm-rank: stop when the
        /// objective is proven to be within this share of the least.
        tolerance: Option<f64> = None, usual("0.0001 for lbfgs, 0.001 for svm-rank"), value("SHARE"), above(0.0),
            only_for(SOLVED);
        /// For svm-rank: share of labelled queries to learn from.
        share: Option<f64> = None, usual("all"), value("SHARE"), only_for(SVM_RANK);
        /// For svm-rank: cost of violated pairs; larger fits more closely.
        ///
        /// On LightGBM's ranking example, trained on all 201 queries and tested on the other 50, nDCG@5 is .630 at .01, .653 at
        /// 1, .628 at 10 and .613 at 100; trained on a tenth of the queries, .672, .654, .625 and .570. So 1 suits some hundred
        /// queries, fewer want less, and 50 queries tell no finer differences apart: choose by validation where it matters.
        cost: f64 = 1.0, value("COST"), above(0.0), only_for(SVM_RANK);
        /// For trees: what they minimise: softmax (listwise, as networks), lambdarank (LambdaMART), or squared (the squared error
        /// of relevance).
        ///
        /// LambdaMART weighs pairs of documents by how much nDCG changes if they change places, with relevance as the gain. With eight leaves
        /// and 5 random divisions each, mean nDCG@5 by softmax, lambdarank and squared was .436, .426, .428 on OHSUMED, .249, .210, .140 on
        /// ClueWeb09 (12 test queries each) and .691, .689, .694 on LightGBM's example.
        loss: Option<TreeLoss> = None, usual("softmax"), only_for(TREES);
        /// For trees: leaves of each at most.
        ///
        /// Few suit some hundred queries, with which 8 ranked best on all real features tried; from thousands of queries on, 31 are
        /// level with 8 and slower.
        leaves: usize = 8, value("N"), within(2.0, MOST_LEAVES as f64), only_for(TREES);
        /// For trees: training documents in each leaf at least.
        min_leaf: usize = 20, value("N"), at_least(1.0), only_for(TREES);
        /// For trees: bins into which the values of a feature are put.
        bins: usize = MOST_BINS, value("N"), within(2.0, MOST_BINS as f64), only_for(TREES);
        /// For trees: share of the features that each tree may use, drawn anew for each.
        feature_share: f64 = 1.0, value("SHARE"), share(), only_for(TREES);
        /// For trees: share of the queries that each tree learns from, drawn anew for each.
        query_share: f64 = 1.0, value("SHARE"), share(), only_for(TREES);
        /// For trees: features, counted from 1, that may only raise or only lower scores, such as 3:up,7:down.
        monotone: Option<Monotone> = None, value("LIST"), only_for(TREES);
        /// The same seed gives the same ranker: it draws initial weights, batches and shares.
        seed: u64 = 1, value("N");
    }
    beside {
        /// The largest grade of the scale, where grades are learned from.
        max_grade: u8 = 4
    }
}

impl Training {
    /// The paper's linear ranker.
    pub fn linear() -> Self {
        Training::new().model(ModelForm::LINEAR)
    }

    /// A network of these layers.
    pub fn network(architecture: Architecture) -> Self {
        Training::new().model(ModelForm::Network(architecture))
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
        self.check_features(data, validation)?;
        let (mut ranker, unmatched) = match (&self.model, from) {
            (ModelForm::SvmRank, _) => {
                let labelled = self.share.map(|share| labelled_share(data, share, self.seed)).transpose()?;
                (self.fit_svm_rank(labelled.as_ref().unwrap_or(data), progress)?, Unmatched::default())
            }
            (_, LearnFrom::Pairs(pairs)) => {
                let (pairs, unmatched) = TrainingPairs::from_pair_weights(data, pairs)?;
                (self.fit_targets(data, &pairs, validation, progress)?, unmatched)
            }
            _ => {
                let (lists, unmatched) = self.lists(data, from)?;
                (self.fit_targets(data, &lists, validation, progress)?, unmatched)
            }
        };
        ranker.record.notes.push(("source".to_string(), from.to_string()));
        Ok((ranker, unmatched))
    }

    /// Trains a ranker on what a listwise or pairwise loss takes. With validation, the parameters with the best value are kept;
    /// without, the last ones.
    pub fn fit_targets<'a>(
        &self,
        data: &Dataset,
        targets: impl Into<Targets<'a>>,
        validation: Option<&Validation<'_>>,
        progress: &dyn Progress,
    ) -> Result<Ranker> {
        self.check_kind()?;
        self.check_features(data, validation)?;
        match (&self.model, targets.into()) {
            (ModelForm::Network(architecture), targets) => {
                self.fit_network(architecture, data, &targets, validation, progress)
            }
            (ModelForm::LinearRaw, Targets::Lists(lists)) => self.fit_linear_raw(data, lists, validation, progress),
            (ModelForm::Trees, Targets::Lists(lists)) => self.fit_trees(data, lists, validation, progress),
            (ModelForm::LinearRaw | ModelForm::Trees, _) => {
                Err(self.refused("learns from relevance weights or grades; leave out pairs"))
            }
            (ModelForm::SvmRank, _) => Err(self.refused("learns from human grades")),
        }
    }

    /// Refuses what would be ignored.
    pub fn check(&self, from: LearnFrom<'_>) -> Result<()> {
        self.check_kind()?;
        let kind = self.model.kind();
        let is_pairs = matches!(from, LearnFrom::Pairs(_));
        if is_pairs && !kind.learns_from_pairs && kind.learns_from_weights {
            let others = "learns from relevance weights or grades; leave out pairs, or choose linear or mlp";
            return Err(self.refused(others));
        }
        if !matches!(from, LearnFrom::Grades) && !kind.learns_from_weights {
            let others =
                "learns from human grades; leave out weights and pairs, or choose linear, mlp, linear-raw or trees";
            return Err(self.refused(others));
        }
        Ok(())
    }

    /// Refuses documents that lack features, where the kind of ranker cannot do without.
    fn check_features(&self, data: &Dataset, validation: Option<&Validation<'_>>) -> Result<()> {
        if self.model.kind().takes_missing {
            return Ok(());
        }
        let parts = std::iter::once(data).chain(validation.map(|validation| validation.data));
        parts.into_iter().try_for_each(|part| part.require_every_feature(&self.model.to_string()))
    }

    fn check_kind(&self) -> Result<()> {
        self.check_ranges()?;
        let name = self.model.kind().name;
        self.refuse_others(("model", name), str::to_string, RankerKind::taking)?;
        match (&self.model, self.optimizer) {
            (ModelForm::LinearRaw, Some(minimiser)) if minimiser != Minimiser::Lbfgs => {
                Err(self.refused("is trained by lbfgs; leave out `optimizer`"))
            }
            _ => Ok(()),
        }
    }

    fn refused(&self, finding: &str) -> Error {
        Error::parameter(format!("{} {finding}", self.model))
    }

    /// The norm or gap to stop at.
    pub(super) fn tolerance_or(&self, usual: f64) -> f64 {
        self.tolerance.unwrap_or(usual)
    }

    /// What a listwise loss learns from.
    fn lists(&self, data: &Dataset, from: LearnFrom<'_>) -> Result<(TrainingLists, Unmatched)> {
        let all = |lists: TrainingLists| (lists, Unmatched::default());
        match from {
            LearnFrom::Relevance(relevance) => TrainingLists::from_relevance(data, relevance),
            LearnFrom::Weights(weights) => TrainingLists::from_weights(data, weights).map(all),
            _ => self.graded_lists(data, self.max_grade, None).map(all),
        }
    }

    /// Grades as this kind of ranker learns from them, of all documents or of those that are in `lists`.
    pub(crate) fn graded_lists(
        &self,
        data: &Dataset,
        max_grade: u8,
        lists: Option<&[Vec<u32>]>,
    ) -> Result<TrainingLists> {
        let lists = TrainingLists::from_grades(data, max_grade, lists)?;
        // Trees take relevance for the gain of nDCG, which doubles from grade to grade.
        Ok(if self.model == ModelForm::Trees { lists.into_gains(max_grade) } else { lists })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{DatasetBuilder, Generator, Preset};
    use crate::progress::Silent;

    fn data() -> Dataset {
        Generator::preset(Preset::Tiny).generate().unwrap().train
    }

    #[test]
    fn weights_of_rows_train_as_the_same_grades_do() {
        let data = data();
        let grades = data.grades().unwrap();
        let weights: Vec<f32> = grades.iter().map(|&grade| f32::from(grade) / 4.0).collect();
        let training = Training::new().model("mlp:4".parse().unwrap()).steps(5);
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
    fn only_trees_take_documents_that_lack_features() {
        let whole = data();
        let mut features = whole.features().to_vec();
        features[whole.feature_count() + 2] = f32::NAN;
        let builder = DatasetBuilder {
            feature_count: whole.feature_count(),
            grades: whole.grades().map(<[u8]>::to_vec),
            queries: whole.queries().clone(),
            query_ends: whole.lists().map(|rows| rows.end).collect(),
            docs: Some(whole.docs().clone()),
            ..Default::default()
        };
        let lacking = builder.build_on(features.into()).unwrap();
        let (query, doc) = (lacking.queries().name(0), lacking.docs().name(1));
        for kind in &RankerKind::ALL {
            let training = Training::new().model(kind.name.parse().unwrap());
            let training = if kind.takes("steps") { training.steps(2) } else { training };
            let found = training.fit(&lacking, LearnFrom::Grades, None, &Silent);
            let (ranker, _) = training.fit(&whole, LearnFrom::Grades, None, &Silent).unwrap();
            let scores = (ranker.score(&lacking), ranker.score_rows(lacking.features(), lacking.feature_count()));
            let validated = |scores: &[f32]| f64::from(scores[0]);
            let validation = Validation::new(&lacking, validated);
            if kind.takes_missing {
                assert!(found.is_ok() && scores.0.unwrap() == scores.1.unwrap());
                continue;
            }
            let lacks = format!("document {doc} of query {query} has no feature 3 (NaN), but ");
            let message = found.unwrap_err().to_string();
            assert!(message.starts_with(&lacks) && message.contains("needs every feature; fill in"), "{message}");
            assert!(scores.0.unwrap_err().to_string().starts_with(&lacks));
            assert!(scores.1.unwrap_err().to_string().starts_with("row 2 has no feature 3 (NaN), but "));
            if kind.learns_from_weights {
                let found = training.fit(&whole, LearnFrom::Grades, Some(&validation), &Silent);
                assert!(found.unwrap_err().to_string().starts_with(&lacks));
            }
        }
    }

    #[test]
    fn what_would_be_ignored_is_refused() {
        let refused = |training: Training| training.check(LearnFrom::Grades).unwrap_err().to_string();
        let (raw, svm) = (ModelForm::LinearRaw, ModelForm::SvmRank);
        assert_eq!(
            refused(Training::new().model(raw.clone()).standardise(true)),
            "`standardise` is for linear or mlp, but `model` is linear-raw"
        );
        assert_eq!(refused(Training::new().cost(2.0)), "`cost` is for svm-rank, but `model` is mlp");
        let steps = "`steps` is for linear, mlp, linear-raw or trees, but `model` is svm-rank";
        assert_eq!(refused(Training::new().model(svm).steps(3)), steps);
        let adam = Training::new().model(raw).optimizer("adam".parse().unwrap());
        assert!(refused(adam).contains("lbfgs"));
        assert_eq!(refused(Training::new().batch(0)), "`batch` is 0, but should be at least 1");
        assert_eq!(refused(Training::new().l2(f64::NAN)), "`l2` is NaN, but should be at least 0");
    }
}
