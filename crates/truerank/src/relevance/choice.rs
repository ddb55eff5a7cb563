//! What weights people ask for: options enter, what they leave open is filled with the default.

use super::{Estimation, Estimator, Estimators, KnownLog, Prior, PriorKind, RelevancePredictor, Shrink, Smoothing};
use crate::options::options;
use crate::progress::Progress;
use crate::{Error, Result};

options! {
    /// How weights are estimated, as far as someone said.
    ///
    /// The default, where no estimator is named, is `user-aware-smoothed`, shrunk as far as the log says (`auto`) toward a
    /// prior: predicted from features where there are any (`model`), else by position. `prior none` or `shrink none` turns
    /// that off. An estimator that is named is taken as it is, with what else is asked for.
    ///
    /// ```
    /// use truerank::relevance::{Estimator, EstimationChoice, PriorKind, Shrink};
    ///
    /// let all_open = EstimationChoice::default();
    /// assert_eq!((all_open.prior_for(true), all_open.shrinkage()), (PriorKind::Model, Shrink::Auto));
    /// assert_eq!(all_open.prior_for(false), PriorKind::Position);
    /// let named = EstimationChoice::of(Estimator::UserAware);
    /// assert_eq!((named.prior_for(true), named.shrinkage()), (PriorKind::None, Shrink::None));
    /// ```
    #[derive(Copy, PartialEq)]
    pub struct EstimationChoice {
        /// Estimator, taken as it is; all is each of them, where weights are written.
        estimator: Option<Estimators> = None, usual("user-aware-smoothed, shrunk toward a prior"), heading("Relevance");
        /// Strength of smoothing: auto (least estimated error), likelihood, or a number.
        beta: Smoothing = Smoothing::LeastError, value("RULE"), heading("Relevance");
        /// What clicks correct: none (0), mean (of the log), position (mean of documents shown there), or model (predicted from
        /// features).
        prior: Option<PriorKind> = None, usual("model with features, else position; none for a named estimator"),
            value("PRIOR"), heading("Relevance");
        /// Raise exposures below this share of the document's impressions to it.
        clip: Option<f64> = None, value("SHARE"), heading("Relevance");
        /// Pull weights toward the prior, as if it had been examined so often: auto (least estimated error), none or a number.
        shrink: Option<Shrink> = None, usual("auto; none for a named estimator"), value("RULE"), heading("Relevance");
    }
}

impl EstimationChoice {
    /// An estimator as it is.
    pub fn of(estimator: Estimator) -> Self {
        EstimationChoice::new().estimator(Estimators::One(estimator))
    }

    /// One choice for each estimator that was asked for.
    pub fn each(&self) -> Vec<Self> {
        match self.estimator {
            Some(Estimators::All) => {
                Estimator::all().into_iter().map(|one| self.estimator(Estimators::One(one))).collect()
            }
            _ => vec![*self],
        }
    }

    /// The estimator, with its smoothing.
    pub fn smoothed(&self) -> Estimator {
        let estimator = match self.estimator {
            Some(Estimators::One(estimator)) => estimator,
            _ => Estimator::default(),
        };
        estimator.smoothed_by(self.beta)
    }

    /// Where the prior comes from, for a log with or without features.
    pub fn prior_for(&self, has_features: bool) -> PriorKind {
        match self.prior {
            Some(prior) => prior,
            None if self.estimator.is_some() || self.shrink == Some(Shrink::None) => PriorKind::None,
            None if has_features => PriorKind::Model,
            None => PriorKind::Position,
        }
    }

    /// How strongly weights are pulled toward the prior.
    pub fn shrinkage(&self) -> Shrink {
        match self.shrink {
            Some(shrink) => shrink,
            None if self.estimator.is_some() || self.prior == Some(PriorKind::None) => Shrink::None,
            None => Shrink::Auto,
        }
    }

    /// Whether the parts fit together, before anything is read.
    pub fn check(&self, has_features: bool) -> Result<()> {
        if self.estimator == Some(Estimators::All) {
            return Err(Error::option("estimator", "is all, but one is needed here"));
        }
        let kind = self.prior_for(has_features);
        kind.check(self.clip, self.shrinkage())?;
        if kind == PriorKind::Model && !has_features {
            let finding =
                "model needs the features of the documents, but there are none; add `data`, or use `prior` position";
            return Err(Error::option("prior", finding));
        }
        // Which prior it is does not matter for whether it fits the estimator.
        let prior = if kind == PriorKind::None { Prior::None } else { Prior::Mean };
        self.with_prior(prior).check()
    }

    /// The estimation; where the prior is a model's, it is `predictor`'s.
    pub fn estimation(
        &self,
        log: &KnownLog<'_>,
        predictor: &RelevancePredictor,
        progress: &dyn Progress,
    ) -> Result<Estimation> {
        self.check(log.data().is_some())?;
        match self.prior_for(log.data().is_some()) {
            PriorKind::Model => Ok(self.with_prior(Prior::Model(log.predicted(predictor, progress)?))),
            PriorKind::None => Ok(self.with_prior(Prior::None)),
            PriorKind::Mean => Ok(self.with_prior(Prior::Mean)),
            PriorKind::Position => Ok(self.with_prior(Prior::Position)),
        }
    }

    /// The estimation with a prior that is known already.
    pub fn with_prior(&self, prior: Prior) -> Estimation {
        Estimation::new(self.smoothed()).prior(prior).clip(self.clip).shrink(self.shrinkage())
    }
}

options! {
    /// How counts become relevance.
    pub struct RelevanceOptions {}
    flatten {
        /// How weights are estimated.
        weights: EstimationChoice,
        /// What predicts relevance from features, where that is the prior.
        predictor: RelevancePredictor
    }
}

impl RelevanceOptions {
    /// Whether the parts fit together, before anything is read. Features without a use are an error too.
    pub fn check(&self, has_features: bool) -> Result<()> {
        if has_features && self.weights.prior_for(true) != PriorKind::Model {
            return Err(Error::option("data", "is for `prior` model"));
        }
        self.weights.each().iter().try_for_each(|choice| choice.check(has_features))
    }

    /// An estimation for each estimator that was asked for.
    pub fn estimations(&self, log: &KnownLog<'_>, progress: &dyn Progress) -> Result<Vec<Estimation>> {
        self.weights.each().iter().map(|choice| choice.estimation(log, &self.predictor, progress)).collect()
    }
}

impl Default for Estimation {
    /// That of a log without features where nothing is asked for.
    fn default() -> Self {
        let choice = EstimationChoice::default();
        choice.with_prior(Prior::Position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_can_be_turned_off() {
        let open = EstimationChoice::default();
        let cases = [
            (EstimationChoice { shrink: Some(Shrink::None), ..open }, (PriorKind::None, Shrink::None)),
            (EstimationChoice { prior: Some(PriorKind::None), ..open }, (PriorKind::None, Shrink::None)),
            (EstimationChoice { prior: Some(PriorKind::Mean), ..open }, (PriorKind::Mean, Shrink::Auto)),
            (EstimationChoice { shrink: Some(Shrink::Fixed(2.0)), ..open }, (PriorKind::Position, Shrink::Fixed(2.0))),
            (EstimationChoice { clip: Some(0.1), ..open }, (PriorKind::Position, Shrink::Auto)),
        ];
        for (choice, expected) in cases {
            assert_eq!((choice.prior_for(false), choice.shrinkage()), expected);
            choice.check(false).unwrap();
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let model = EstimationChoice { prior: Some(PriorKind::Model), ..EstimationChoice::default() };
        assert!(model.check(true).is_ok());
        assert!(model.check(false).unwrap_err().to_string().contains("use `prior` position"));
        let naive = EstimationChoice::of(Estimator::Naive).shrink(Shrink::Auto);
        assert!(naive.check(true).unwrap_err().to_string().contains("but `estimator` is naive"));
    }
}
