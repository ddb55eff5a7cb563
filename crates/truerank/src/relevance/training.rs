//! Weights as a ranker learns from them: relevance and a number of features enter, labels leave.

use super::{PriorKind, Relevance, Weight};

/// Clicks per feature at which half of the prior is in the labels. Ten events per coefficient is an old rule of thumb for
/// regressions; 5 and 20 were no better on generated data (docs/results.md).
const CLICKS_PER_FEATURE: f64 = 10.0;

impl Relevance {
    /// The labels of a listwise loss for a ranker on `features` features, in the order of the weights.
    ///
    /// A shrunk weight is `(c + r̂·b)/(X + b)`, the best estimate of one document's relevance. A ranker asks for something else:
    /// it has as many weights to find as there are features, and few clicks do not tell them. Without the prior's part,
    /// `c/(X + b)`, documents that were rarely examined look bad, so what is learned stays near the ranking that was logged;
    /// with it, that ranking is forgotten. So labels are
    ///
    /// ```text
    /// (c + λ·r̂·b)/(X + b)        λ = N/(N + 10·features)        N = Σ c·b/(E + b)
    /// ```
    ///
    /// with N the clicks, those on much examined documents counting less. A prior by position counts as its mean: its
    /// differences are the logged ranking once more. Weights that are not shrunk are taken as they are.
    pub fn for_ranker(&self, features: usize) -> Vec<f64> {
        let as_it_is = || self.weights.iter().map(|weight| weight.weight).collect();
        let Some(b) = self.correction.shrink.filter(|_| self.correction.prior != PriorKind::None) else {
            return as_it_is();
        };
        // Files from before divisors were kept have none.
        if !self.weights.iter().all(|weight| weight.divisor > 0.0) {
            return as_it_is();
        }
        let informative = |weight: &Weight| weight.clicks as f64 * b / (weight.exposure + b);
        let clicks: f64 = self.weights.iter().map(informative).sum();
        let share = clicks / (clicks + CLICKS_PER_FEATURE * features.max(1) as f64);
        let label = |weight: &Weight| {
            let clicked = weight.clicks as f64 / weight.divisor;
            clicked + share * self.prior_part(weight, clicked, b)
        };
        self.weights.iter().map(label).collect()
    }

    /// What the prior adds to a weight.
    fn prior_part(&self, weight: &Weight, clicked: f64, b: f64) -> f64 {
        match (self.correction.prior, self.correction.mean, self.correction.clip) {
            (PriorKind::Position, Some(mean), None) => mean * b / weight.divisor,
            _ => (weight.weight - clicked).max(0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relevance::Correction;

    fn relevance(prior: PriorKind, shrink: Option<f64>) -> Relevance {
        let weight = |doc, clicks: u64, exposure: f64, prior: f64| Weight {
            query: 0,
            doc,
            weight: (clicks as f64 + prior * 2.0) / (exposure + 2.0),
            impressions: 10,
            clicks,
            exposure,
            divisor: exposure + 2.0,
            variance: 0.0,
        };
        Relevance {
            correction: Correction { prior, shrink, mean: Some(0.5), ..Correction::default() },
            weights: vec![weight(0, 30, 8.0, 0.75), weight(1, 0, 2.0, 0.25)],
            ..Relevance::default()
        }
    }

    #[test]
    fn the_prior_counts_as_far_as_clicks_tell_the_features() {
        let clicks = 30.0 * 2.0 / (8.0 + 2.0);
        let share = |features: f64| clicks / (clicks + 10.0 * features);
        let close = |found: Vec<f64>, expected: [f64; 2]| {
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?} is not {expected:?}");
        };
        let model = relevance(PriorKind::Model, Some(2.0));
        close(model.for_ranker(3), [(30.0 + share(3.0) * 0.75 * 2.0) / 10.0, share(3.0) * 0.25 * 2.0 / 4.0]);
        let position = relevance(PriorKind::Position, Some(2.0));
        close(position.for_ranker(3), [(30.0 + share(3.0) * 0.5 * 2.0) / 10.0, share(3.0) * 0.5 * 2.0 / 4.0]);
    }

    #[test]
    fn plain_weights_stay_what_they_are() {
        let plain = [relevance(PriorKind::None, None), relevance(PriorKind::None, Some(2.0))];
        let mut old = relevance(PriorKind::Mean, Some(2.0));
        old.weights[1].divisor = f64::NAN;
        for relevance in plain.into_iter().chain([old]) {
            let weights: Vec<f64> = relevance.weights.iter().map(|weight| weight.weight).collect();
            assert_eq!(relevance.for_ranker(5), weights);
        }
    }
}
