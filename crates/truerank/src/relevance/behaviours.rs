//! Relevance by several behaviours on the same pages, such as clicks and purchases, becomes one.

use super::{Relevance, Weight};
use crate::{Error, Result};

impl Relevance {
    /// The mean of relevance by several behaviours, by what each is worth: `ŷ = Σ w·ŷ_b / Σ w`.
    ///
    /// Who examines what is the same for all of them, so each is corrected by the same examination, which is best estimated from the
    /// most frequent. Everything but weights and variances is the first one's. Behaviours depend on each other (who buys has clicked), in
    /// a way that counts do not tell, so the variance is the largest that it can be: `(Σ w·√v_b / Σ w)²`.
    ///
    /// # Errors
    ///
    /// If there is no behaviour, a worth is not positive, or behaviours are not of the same pages.
    pub fn of_behaviours(parts: &[(&Relevance, f64)]) -> Result<Relevance> {
        let Some(((first, _), others)) = parts.split_first() else {
            return Err(Error::parameter("relevance by behaviours needs at least one"));
        };
        if let Some((_, worth)) = parts.iter().find(|(_, worth)| !(*worth > 0.0 && worth.is_finite())) {
            return Err(Error::parameter(format!(
                "a behaviour is worth {worth}, but should be worth a number above 0"
            )));
        }
        if others.iter().any(|(other, _)| !has_same_pages(first, other)) {
            return Err(Error::parameter(
                "behaviours should be of the same pages, but queries, documents or impressions differ; count one log \
                 once for each behaviour, with another `click_when`",
            ));
        }
        let weights = (0..first.weights.len()).map(|place| blended(parts, place)).collect();
        Ok(Relevance { weights, ..(*first).clone() })
    }
}

fn blended(parts: &[(&Relevance, f64)], place: usize) -> Weight {
    let total: f64 = parts.iter().map(|(_, worth)| worth).sum();
    let mean = |value: fn(&Weight) -> f64| {
        parts.iter().map(|(part, worth)| worth * value(&part.weights[place])).sum::<f64>() / total
    };
    let deviation = mean(|weight| weight.variance.sqrt());
    Weight { weight: mean(|weight| weight.weight), variance: deviation * deviation, ..parts[0].0.weights[place] }
}

fn has_same_pages(a: &Relevance, b: &Relevance) -> bool {
    let shown = |weight: &Weight| (weight.query, weight.doc, weight.impressions);
    a.queries == b.queries && a.docs == b.docs && a.weights.iter().map(shown).eq(b.weights.iter().map(shown))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Ids;

    fn relevance(weight: f64, variance: f64, impressions: u64) -> Relevance {
        let one = Weight { query: 0, doc: 0, weight, impressions, clicks: 2, exposure: 4.0, divisor: 5.0, variance };
        let ids = || Ids::Integers(vec![7]);
        Relevance { queries: ids(), docs: ids(), weights: vec![one], ..Relevance::default() }
    }

    #[test]
    fn behaviours_are_averaged_by_what_they_are_worth() {
        let (clicks, purchases) = (relevance(0.5, 0.04, 8), relevance(0.2, 0.01, 8));
        let both = Relevance::of_behaviours(&[(&clicks, 1.0), (&purchases, 5.0)]).unwrap();
        let deviation: f64 = (0.2 + 5.0 * 0.1) / 6.0;
        assert!((both.weights[0].weight - (0.5 + 5.0 * 0.2) / 6.0).abs() < 1e-15);
        assert!((both.weights[0].variance - deviation * deviation).abs() < 1e-15);
        assert_eq!((both.weights[0].clicks, both.weights[0].exposure), (2, 4.0));
        assert_eq!(Relevance::of_behaviours(&[(&clicks, 3.0)]).unwrap().weights[0].weight, 0.5);
    }

    #[test]
    fn behaviours_of_other_pages_are_refused() {
        let (clicks, other) = (relevance(0.5, 0.04, 8), relevance(0.2, 0.01, 9));
        let message = |parts: &[(&Relevance, f64)]| Relevance::of_behaviours(parts).unwrap_err().to_string();
        assert!(message(&[(&clicks, 1.0), (&other, 5.0)]).contains("same pages"));
        assert!(
            message(&[(&clicks, 1.0), (&clicks, 0.0)]).contains("is worth 0, but should be worth a number above 0")
        );
        assert!(message(&[]).contains("at least one"));
    }
}
