//! What weights people ask for: options enter, what they leave open is filled with the default.

use super::{Estimation, Estimator, KnownLog, Prior, PriorKind, RelevancePredictor, Shrink, Smoothing};
use crate::progress::Progress;
use crate::{Error, Result};

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
/// assert_eq!((all_open.prior(true), all_open.shrink()), (PriorKind::Model, Shrink::Auto));
/// assert_eq!(all_open.prior(false), PriorKind::Position);
/// let named = EstimationChoice { estimator: Some(Estimator::UserAware), ..EstimationChoice::default() };
/// assert_eq!((named.prior(true), named.shrink()), (PriorKind::None, Shrink::None));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct EstimationChoice {
    /// The estimator.
    pub estimator: Option<Estimator>,
    /// How it smooths, where it does.
    pub beta: Option<Smoothing>,
    /// What clicks correct.
    pub prior: Option<PriorKind>,
    /// τ: exposures below τ·n(q,d) are raised to it.
    pub clip: Option<f64>,
    /// How strongly weights are pulled toward the prior.
    pub shrink: Option<Shrink>,
}

impl EstimationChoice {
    /// The estimator, with its smoothing.
    pub fn estimator(&self) -> Estimator {
        let estimator = self.estimator.unwrap_or_default();
        self.beta.map_or(estimator, |beta| estimator.smoothed_by(beta))
    }

    /// Where the prior comes from, for a log with or without features.
    pub fn prior(&self, has_features: bool) -> PriorKind {
        match self.prior {
            Some(prior) => prior,
            None if self.estimator.is_some() || self.shrink == Some(Shrink::None) => PriorKind::None,
            None if has_features => PriorKind::Model,
            None => PriorKind::Position,
        }
    }

    /// How strongly weights are pulled toward the prior.
    pub fn shrink(&self) -> Shrink {
        match self.shrink {
            Some(shrink) => shrink,
            None if self.estimator.is_some() || self.prior == Some(PriorKind::None) => Shrink::None,
            None => Shrink::Auto,
        }
    }

    /// Whether the parts fit together, before anything is read.
    pub fn check(&self, has_features: bool) -> Result<()> {
        let kind = self.prior(has_features);
        kind.check(self.clip, self.shrink())?;
        if kind == PriorKind::Model && !has_features {
            return Err(Error::parameter("a model's prior needs features, but there are none; use --prior position"));
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
        let prior = match self.prior(log.data().is_some()) {
            PriorKind::None => Prior::None,
            PriorKind::Mean => Prior::Mean,
            PriorKind::Position => Prior::Position,
            PriorKind::Model => Prior::Model(log.predicted(predictor, progress)?),
        };
        Ok(self.with_prior(prior))
    }

    /// The estimation with a prior that is known already.
    pub fn with_prior(&self, prior: Prior) -> Estimation {
        Estimation::new(self.estimator()).prior(prior).clip(self.clip).shrink(self.shrink())
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
            assert_eq!((choice.prior(false), choice.shrink()), expected);
            choice.check(false).unwrap();
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let model = EstimationChoice { prior: Some(PriorKind::Model), ..EstimationChoice::default() };
        assert!(model.check(true).is_ok());
        assert!(model.check(false).unwrap_err().to_string().contains("use --prior position"));
        let naive = EstimationChoice {
            estimator: Some(Estimator::Naive),
            shrink: Some(Shrink::Auto),
            ..EstimationChoice::default()
        };
        assert!(naive.check(true).unwrap_err().to_string().contains("but the estimator is naive"));
    }
}
