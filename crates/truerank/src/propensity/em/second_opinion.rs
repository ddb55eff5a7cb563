//! What intervention harvesting says of the same log, and whether it contradicts EM.

use crate::Result;
use crate::counts::CountsView;
use crate::propensity::InterventionHarvesting;
use crate::propensity::observations::observe_population;

/// Resamples for its standard errors.
const RESAMPLES: usize = 20;

/// Standard errors apart from which two estimates contradict each other, if they also differ by this share.
const FAR: f64 = 3.0;
const NOTEWORTHY: f64 = 0.1;

/// θ̄(k) by harvesting, with standard errors.
pub(super) struct SecondOpinion {
    pub population: Vec<f64>,
    errors: Vec<f64>,
}

impl SecondOpinion {
    /// Of counts whose documents link all positions.
    pub fn of(counts: &dyn CountsView, resamples: usize, seed: u64) -> Result<Option<Self>> {
        let overall = observe_population(counts)?;
        let harvesting = InterventionHarvesting::new().resamples(resamples.min(RESAMPLES)).seed(seed);
        let found = harvesting.of_population(overall.as_ref(), counts.queries().len())?;
        Ok(found.map(|(population, errors)| SecondOpinion { population, errors }))
    }

    /// What to say where EM finds something else, by more than both are uncertain; nothing without standard errors.
    pub fn contradiction(&self, theta: &[f64], errors: &[f64]) -> Option<String> {
        let pairs = theta.iter().zip(errors).zip(self.population.iter().zip(&self.errors)).enumerate();
        let far = pairs.filter_map(|(index, ((em, em_error), (other, other_error)))| {
            let apart = (em - other).abs() / (em_error * em_error + other_error * other_error).sqrt();
            (apart > FAR && (em / other - 1.0).abs() > NOTEWORTHY).then_some((index + 1, *em, *other, apart))
        });
        let (position, em, other, apart) = far.max_by(|a, b| a.3.total_cmp(&b.3))?;
        Some(format!(
            "intervention harvesting contradicts this: at position {position} it finds {other:.3}, and EM {em:.3}, {apart:.0} \
             standard errors apart; harvesting compares documents with themselves and needs no model of relevance, so \
             where lists vary by chance, rather trust it"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_apart_is_by_errors_and_by_size() {
        let opinion = SecondOpinion { population: vec![1.0, 0.5, 0.3], errors: vec![0.0, 0.01, 0.01] };
        let said = |theta: [f64; 3], error: f64| opinion.contradiction(&theta, &[0.0, error, error]);
        assert!(said([1.0, 0.51, 0.9], 0.01).unwrap().contains("at position 3 it finds 0.300, and EM 0.900"));
        // Uncertain, or hardly different.
        assert_eq!(said([1.0, 0.51, 0.9], 0.5), None);
        assert_eq!(said([1.0, 0.54, 0.3], 0.0), None);
        assert_eq!(opinion.contradiction(&[1.0, 0.9, 0.9], &[]), None);
    }
}
