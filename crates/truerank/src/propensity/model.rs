//! Examination probabilities per position, for the population and for each known user.

use crate::ids::Ids;
use crate::{Error, Result};

/// θ(u,k): the probability that user `u` examines position `k`.
#[derive(Debug, Clone, PartialEq)]
pub struct Propensities {
    /// How they were found, such as `oracle`.
    pub method: String,
    /// What fixes their scale: θ and relevance are identified only up to a factor.
    pub scale: String,
    /// θ̄(k) for positions 1, 2, …: what holds for a user nobody knows.
    pub population: Vec<f64>,
    /// The users with probabilities of their own.
    pub users: Ids,
    /// Their probabilities, one row of `population.len()` per user.
    pub by_user: Vec<f64>,
}

impl Propensities {
    /// How many positions are known.
    pub fn positions(&self) -> usize {
        self.population.len()
    }

    /// The probabilities of known user number `user`, for positions 1, 2, ….
    pub fn of_user(&self, user: usize) -> &[f64] {
        &self.by_user[user * self.positions()..][..self.positions()]
    }

    /// Checks that every value is a probability and that the parts fit together.
    pub fn check(&self) -> Result<()> {
        if self.population.is_empty() {
            return Err(Error::parameter("propensities should have at least one position, but have none"));
        }
        if self.by_user.len() != self.users.len() * self.positions() {
            return Err(Error::parameter(format!(
                "propensities should have {} values for each of {} users, but have {} in all",
                self.positions(),
                self.users.len(),
                self.by_user.len()
            )));
        }
        let values = self.population.iter().chain(&self.by_user);
        match values.into_iter().find(|value| !(0.0..=1.0).contains(*value)) {
            Some(value) => Err(Error::parameter(format!("examination should be between 0 and 1, but is {value}"))),
            None => Ok(()),
        }
    }
}
