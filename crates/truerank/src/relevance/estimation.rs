//! From counts and propensities to relevance: an estimator, and where asked for a prior, clipping and shrinkage.

use super::correction::{Divisor, Documents};
use super::shrinkage::least_error_shrink;
use super::smoothing::{least_error_beta_of, likelihood_beta};
use super::{
    Correction, Estimator, EstimatorKind, Exposures, Prior, PriorKind, Relevance, Shrink, Smoothing, Weighing,
};
use crate::counts::CountsView;
use crate::propensity::Propensities;
use crate::{Error, Result};

/// The relevance weight of every shown document, by an estimator as it is.
pub fn estimate(counts: &dyn CountsView, propensities: &Propensities, estimator: Estimator) -> Result<Relevance> {
    Estimation::new(estimator).estimate(counts, propensities)
}

/// An estimator, and for those that divide by exposure a prior that clicks correct:
///
/// ```text
/// ŷ = r̂ + (c − r̂X) / D        D = max(X, τ·n(q,d)) + b
/// ```
///
/// with r̂ the prior, c the clicks, and X the exposure: `E(q,d)` for `user-aware`, its smoothed form for
/// `user-aware-smoothed`. With neither τ nor b, D is X and r̂ cancels. τ clips: a document that was examined in less
/// than a share τ of its impressions n(q,d) keeps a part of its prior. For right θ the weights are unbiased where nothing
/// is clipped or where the prior is right; for wrong θ they are biased whatever the prior, as X holds θ. b shrinks:
/// `(c + r̂b)/(X + b)`, the mean of what a Gamma prior and the clicks say.
///
/// The variance is that of the weight for the given sessions, `Σ_cells n·w²·θγ(1−θγ)`, with w what a click counts
/// (`1/D` here) and γ the relevance pulled a little toward the mean, `(c + γ̄)/(E + 1)`, so that a document without
/// clicks does not claim certainty. The prior is taken as given.
///
/// ```
/// use truerank::counts::{Cell, Counts, SessionCount};
/// use truerank::ids::Ids;
/// use truerank::propensity::Propensities;
/// use truerank::relevance::{Estimation, Estimator, Prior, Shrink};
///
/// let counts = Counts {
///     queries: Ids::numbered(1),
///     docs: Ids::numbered(1),
///     users: Ids::numbered(1),
///     contexts: Ids::default(),
///     cells: vec![Cell { query: 0, doc: 0, position: 1, user: 0, impressions: 8, clicks: 1 }],
///     sessions: vec![SessionCount { query: 0, user: 0, sessions: 8 }],
///     patterns: None,
///     transitions: None,
///     pages: None,
///     origin: Default::default(),
/// };
/// let propensities = Propensities { population: vec![0.5], ..Propensities::default() };
/// let estimation = Estimation::new(Estimator::UserAware).prior(Prior::Mean).shrink(Shrink::Fixed(2.0));
/// let relevance = estimation.estimate(&counts, &propensities)?;
/// let (clicks, exposure) = (1.0, 8.0 * 0.5);
/// let mean = clicks / exposure;
/// assert_eq!(relevance.weights[0].weight, (clicks + mean * 2.0) / (exposure + 2.0));
/// # Ok::<(), truerank::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Estimation {
    estimator: Estimator,
    prior: Prior,
    clip: Option<f64>,
    shrink: Shrink,
}

impl Estimation {
    /// The estimator as it is.
    pub fn new(estimator: Estimator) -> Self {
        Estimation { estimator, prior: Prior::None, clip: None, shrink: Shrink::None }
    }

    /// The estimator.
    pub fn estimator(&self) -> Estimator {
        self.estimator
    }

    /// What clicks correct; without effect where nothing is clipped or shrunk. Default: none, r̂ = 0.
    pub fn prior(mut self, prior: Prior) -> Self {
        self.prior = prior;
        self
    }

    /// τ: exposures below τ·n(q,d) are raised to it. Default: none.
    pub fn clip(mut self, clip: Option<f64>) -> Self {
        self.clip = clip;
        self
    }

    /// b: how strongly weights are pulled toward the prior. Default: not at all.
    pub fn shrink(mut self, shrink: Shrink) -> Self {
        self.shrink = shrink;
        self
    }

    /// The relevance weight of every shown document.
    pub fn estimate(&self, counts: &dyn CountsView, propensities: &Propensities) -> Result<Relevance> {
        self.weigh(&Exposures::new(counts, propensities)?)?.relevance()
    }

    /// Takes from the log what is left open (β, b, the mean); several estimations can share `exposures`.
    pub fn weigh<'e>(&self, exposures: &'e Exposures<'e>) -> Result<Weighing<'e>> {
        self.check()?;
        let beta = self.beta(exposures)?;
        let documents = Documents::new(exposures, self.estimator, beta, &self.prior);
        let clip = self.clip.unwrap_or(0.0);
        let shrink = match self.shrink {
            Shrink::None => None,
            Shrink::Auto => Some(least_error_shrink(&documents, clip)),
            Shrink::Fixed(b) => Some(b),
        };
        let divisor = Divisor { clip, shrink: shrink.unwrap_or(0.0) };
        let correction = Correction {
            prior: self.prior.kind(),
            mean: documents.mean(divisor),
            unpredicted: documents.unpredicted(),
            clip: self.clip,
            shrink,
            ..Correction::default()
        };
        Ok(Weighing { documents, estimator: self.estimator, beta, divisor, correction })
    }

    /// Whether the parts fit together, before anything is read.
    pub(crate) fn check(&self) -> Result<()> {
        let asked = self.prior.kind() != PriorKind::None || self.clip.is_some() || self.shrink != Shrink::None;
        if asked && !self.estimator.divides_by_exposure() {
            return Err(Error::parameter(format!(
                "`prior`, `clip` and `shrink` are for {}, but `estimator` is {}",
                EstimatorKind::taking("prior"),
                self.estimator
            )));
        }
        if let Some(clip) = self.clip.filter(|clip| !(*clip > 0.0 && *clip <= 1.0)) {
            return Err(Error::option("clip", format!("is {clip}, but should be above 0 and at most 1")));
        }
        match self.shrink {
            Shrink::Fixed(b) if !(b >= 0.0 && b.is_finite()) => {
                Err(Error::option("shrink", format!("is {b}, but should be finite and not negative")))
            }
            _ => Ok(()),
        }
    }

    fn beta(&self, exposures: &Exposures<'_>) -> Result<Option<f64>> {
        let Estimator::UserAwareSmoothed(smoothing) = self.estimator else { return Ok(None) };
        Ok(Some(match smoothing {
            Smoothing::LeastError => least_error_beta_of(&exposures.pairs, exposures.moments),
            Smoothing::Likelihood => likelihood_beta(exposures.cells()?.counts)?,
            Smoothing::Fixed(beta) if beta >= 0.0 && beta.is_finite() => beta,
            Smoothing::Fixed(beta) => {
                return Err(Error::option("beta", format!("is {beta}, but should be finite and not negative")));
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::{Cell, Counts, SessionCount};
    use crate::ids::Ids;
    use crate::relevance::PredictedRelevance;

    /// One query with one document at position 2. User 1: three sessions, one click, θ = .5. User 2: one session, one
    /// click, θ = .25. A second query gives user 2 eight more sessions.
    fn example() -> (Counts, Propensities) {
        let cell = |query, user, impressions, clicks| Cell { query, doc: 0, position: 2, user, impressions, clicks };
        let counts = Counts {
            queries: Ids::numbered(2),
            docs: Ids::numbered(1),
            users: Ids::numbered(2),
            contexts: Default::default(),
            cells: vec![cell(0, 0, 3, 1), cell(0, 1, 1, 1), cell(1, 1, 8, 2)],
            sessions: vec![
                SessionCount { query: 0, user: 0, sessions: 3 },
                SessionCount { query: 0, user: 1, sessions: 1 },
                SessionCount { query: 1, user: 1, sessions: 8 },
            ],
            patterns: None,
            transitions: None,
            pages: None,
            origin: Default::default(),
        };
        let propensities = Propensities {
            method: "oracle".into(),
            scale: "true".into(),
            population: vec![1.0, 0.4],
            users: Ids::numbered(2),
            by_user: vec![1.0, 0.5, 1.0, 0.25],
            ..Propensities::default()
        };
        (counts, propensities)
    }

    fn first_weight(estimator: Estimator) -> f64 {
        let (counts, propensities) = example();
        estimate(&counts, &propensities, estimator).unwrap().weights[0].weight
    }

    #[test]
    fn hand_computed_weights() {
        let average = 0.5 * 3.0 / 12.0 + 0.25 * 9.0 / 12.0;
        let close = |estimator, expected: f64| {
            let found = first_weight(estimator);
            assert!((found - expected).abs() < 1e-12, "{estimator}: {found} is not {expected}");
        };
        close(Estimator::Naive, 2.0 / 4.0);
        close(Estimator::IpsPbm, 2.0 / 4.0 / average);
        close(Estimator::Straightforward, (1.0 / 0.5 + 1.0 / 0.25) / 4.0);
        close(Estimator::UserAware, 2.0 / (3.0 * 0.5 + 1.0 * 0.25));
        // The paper's form: (c/n(q)) / Σ_u θ(u,k) P(u|q).
        close(Estimator::UserAware, (2.0 / 4.0) / (0.5 * 3.0 / 4.0 + 0.25 * 1.0 / 4.0));
        let beta = 6.0;
        let share = |sessions: f64, overall: f64| (sessions + beta * overall) / (4.0 + beta);
        let smoothed = 0.5 * share(3.0, 3.0 / 12.0) + 0.25 * share(1.0, 9.0 / 12.0);
        close(Estimator::UserAwareSmoothed(Smoothing::Fixed(beta)), (2.0 / 4.0) / smoothed);
    }

    #[test]
    fn smoothing_runs_from_user_aware_to_ips_pbm() {
        let smoothed = |beta| first_weight(Estimator::UserAwareSmoothed(Smoothing::Fixed(beta)));
        assert!((smoothed(0.0) - first_weight(Estimator::UserAware)).abs() < 1e-12);
        assert!((smoothed(1e12) - first_weight(Estimator::IpsPbm)).abs() < 1e-9);
    }

    #[test]
    fn the_variance_is_the_papers() {
        let (counts, propensities) = example();
        let weights = estimate(&counts, &propensities, Estimator::UserAware).unwrap().weights;
        let exposure: f64 = 3.0 * 0.5 + 0.25;
        let mean: f64 = (2.0 + 2.0) / (exposure + 8.0 * 0.25);
        let gamma: f64 = ((2.0 + mean) / (exposure + 1.0)).min(1.0);
        let term = |n: f64, theta: f64| n * theta * gamma * (1.0 - theta * gamma);
        let expected = (term(3.0, 0.5) + term(1.0, 0.25)) / (exposure * exposure);
        assert!((weights[0].variance - expected).abs() < 1e-12);
        assert_eq!((weights[0].impressions, weights[0].clicks, weights[0].exposure), (4, 2, exposure));
    }

    #[test]
    fn clicks_where_nobody_looks_are_refused() {
        let (counts, mut propensities) = example();
        propensities.by_user[1] = 0.0;
        let message = estimate(&counts, &propensities, Estimator::Straightforward).unwrap_err().to_string();
        assert!(message.contains("user 1 clicked document 1 of query 1 at position 2"), "{message}");
        let aware = estimate(&counts, &propensities, Estimator::UserAware).unwrap();
        assert_eq!(aware.weights[0].weight, 2.0 / 0.25);
    }

    #[test]
    fn positions_past_the_last_known_one_are_refused() {
        let (mut counts, propensities) = example();
        counts.cells[2].position = 3;
        let message = estimate(&counts, &propensities, Estimator::Naive).unwrap_err().to_string();
        assert!(message.contains("position 3, but the propensities end at position 2"), "{message}");
    }

    #[test]
    fn corrections_by_hand() {
        let (counts, propensities) = example();
        let weight = |estimation: Estimation| estimation.estimate(&counts, &propensities).unwrap().weights[0].weight;
        let aware = || Estimation::new(Estimator::UserAware);
        let (clicks, sessions, exposure): (f64, f64, f64) = (2.0, 4.0, 3.0 * 0.5 + 0.25);
        let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
        close(weight(aware().shrink(Shrink::Fixed(2.0))), clicks / (exposure + 2.0));
        close(weight(aware().clip(Some(0.5))), clicks / (0.5 * sessions));
        let mean = |d: fn(f64, f64) -> f64| {
            let (first, second) = (d(exposure, sessions), d(8.0 * 0.25, 8.0));
            ((2.0 / first + 2.0 / second) / (exposure / first + 8.0 * 0.25 / second)).min(1.0)
        };
        let prior = mean(|exposure, _| exposure + 2.0);
        close(weight(aware().prior(Prior::Mean).shrink(Shrink::Fixed(2.0))), (clicks + 2.0 * prior) / (exposure + 2.0));
        let prior = mean(|exposure, sessions| exposure.max(0.5 * sessions) + 1.0);
        let expected = prior + (clicks - prior * exposure) / (0.5 * sessions + 1.0);
        close(weight(aware().prior(Prior::Mean).clip(Some(0.5)).shrink(Shrink::Fixed(1.0))), expected);
        let smoothed = Estimator::UserAwareSmoothed(Smoothing::Fixed(6.0));
        let base = clicks / first_weight(smoothed);
        close(weight(Estimation::new(smoothed).shrink(Shrink::Fixed(2.0))), clicks / (base + 2.0));
    }

    #[test]
    fn documents_without_a_prediction_get_the_mean() {
        let (counts, propensities) = example();
        let predicted = PredictedRelevance::new(Ids::numbered(1), Ids::numbered(1), vec![(0, 0, 0.9)]).unwrap();
        let estimation =
            Estimation::new(Estimator::UserAware).prior(Prior::Model(predicted)).shrink(Shrink::Fixed(2.0));
        let relevance = estimation.estimate(&counts, &propensities).unwrap();
        let mean = relevance.correction.mean.unwrap();
        assert_eq!(relevance.correction.unpredicted, 1);
        let expected = [(2.0 + 2.0 * 0.9) / (1.75 + 2.0), (2.0 + 2.0 * mean) / (2.0 + 2.0)];
        let close = |w: &crate::relevance::Weight, expected: f64| (w.weight - expected).abs() < 1e-12;
        assert!(relevance.weights.iter().zip(expected).all(|(w, expected)| close(w, expected)), "{relevance:?}");
    }
}
