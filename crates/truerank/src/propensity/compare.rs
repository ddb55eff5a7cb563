//! How far propensities are from others that are taken for the truth.

use serde::{Deserialize, Serialize};

use super::Propensities;
use crate::counts::CountsView;
use crate::{Error, Result};

/// Mean relative errors, `|found/truth − 1|`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PropensityError {
    /// Of the population, over positions past the first.
    pub population: f64,
    /// Of users and positions with at least [`RARE`](PropensityError::RARE) expected examinations, users by sessions.
    pub users: Option<f64>,
    /// Of the other users and positions.
    pub rare: Option<f64>,
}

impl PropensityError {
    /// Expected examinations, `n(u)·θ(u,k)`, from which a user's position is not rare.
    pub const RARE: f64 = 1000.0;
}

impl Propensities {
    /// The errors of these propensities of the users of `counts`. Users that `truth` does not know are left out.
    pub fn error_against(&self, truth: &Propensities, counts: &dyn CountsView) -> Result<PropensityError> {
        if truth.positions() < self.positions() {
            return Err(Error::parameter(format!(
                "the propensities to compare with end at position {}, but the log goes to {}",
                truth.positions(),
                self.positions()
            )));
        }
        let past_first = self.population.iter().zip(&truth.population).skip(1);
        let errors: Vec<f64> = past_first.map(|(found, truth)| relative_error(*found, *truth)).collect();
        let sessions = counts.sessions_per_user();
        let (own, known) = (counts.users().numbers_in(&self.users), counts.users().numbers_in(&truth.users));
        let mut sums = [(0.0, 0.0); 2];
        for ((own, known), sessions) in own.into_iter().zip(known).zip(sessions) {
            let (Some(own), Some(known)) = (own, known) else { continue };
            let weight = sessions as f64;
            for (found, truth) in self.of_user(own as usize).iter().zip(truth.of_user(known as usize)) {
                let sum = &mut sums[usize::from(weight * truth < PropensityError::RARE)];
                *sum = (sum.0 + weight * relative_error(*found, *truth), sum.1 + weight);
            }
        }
        let [users, rare] = sums.map(|(sum, weight)| (weight > 0.0).then_some(sum / weight));
        Ok(PropensityError { population: errors.iter().sum::<f64>() / errors.len().max(1) as f64, users, rare })
    }
}

/// Where the truth is 0 there is nothing to be relative to.
fn relative_error(found: f64, truth: f64) -> f64 {
    if truth > 0.0 { (found / truth - 1.0).abs() } else { found.abs() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::{Counts, SessionCount};
    use crate::ids::Ids;

    #[test]
    fn errors_are_shares_of_the_truth() {
        let counts = Counts {
            users: Ids::numbered(2),
            sessions: vec![
                SessionCount { query: 0, user: 0, sessions: 3000 },
                SessionCount { query: 0, user: 1, sessions: 1000 },
            ],
            ..Counts::default()
        };
        let propensities = |population: [f64; 3], by_user: [f64; 6]| Propensities {
            population: population.to_vec(),
            users: Ids::numbered(2),
            by_user: by_user.to_vec(),
            ..Propensities::default()
        };
        let truth = propensities([1.0, 0.5, 0.2], [1.0, 0.5, 0.2, 1.0, 0.5, 0.0]);
        let found = propensities([1.0, 0.6, 0.2], [1.0, 0.4, 0.3, 1.1, 0.5, 0.25]);
        let error = found.error_against(&truth, &counts).unwrap();
        let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        close(error.population, (0.1 / 0.5 + 0.0) / 2.0);
        // User 1 at positions 1 and 2, user 2 at position 1 have at least 1,000 expected examinations.
        close(error.users.unwrap(), (3000.0 * (0.1 / 0.5) + 1000.0 * 0.1) / 7000.0);
        close(error.rare.unwrap(), (3000.0 * (0.1 / 0.2) + 1000.0 * 0.25) / 5000.0);
        let short = Propensities { population: vec![1.0], ..Propensities::default() };
        assert!(found.error_against(&short, &counts).is_err());
    }
}
