//! θ(u,k) for the users and positions of given counts.

use std::ops::Deref;
use std::sync::Arc;

use super::Propensities;
use crate::counts::CountsView;
use crate::ids::Ids;
use crate::{Error, Result};

/// Examination probabilities that are someone else's, or shared.
#[derive(Debug, Clone)]
pub enum Theta<'a> {
    /// Someone else's.
    Borrowed(&'a Propensities),
    /// Shared.
    Shared(Arc<Propensities>),
}

impl Deref for Theta<'_> {
    type Target = Propensities;

    fn deref(&self) -> &Propensities {
        match self {
            Theta::Borrowed(propensities) => propensities,
            Theta::Shared(propensities) => propensities,
        }
    }
}

impl Theta<'_> {
    /// A value of one's own; copied where others hold it too.
    pub fn into_owned(self) -> Propensities {
        match self {
            Theta::Borrowed(propensities) => propensities.clone(),
            Theta::Shared(propensities) => Arc::unwrap_or_clone(propensities),
        }
    }
}

impl<'a> From<&'a Propensities> for Theta<'a> {
    fn from(propensities: &'a Propensities) -> Self {
        Theta::Borrowed(propensities)
    }
}

impl From<Arc<Propensities>> for Theta<'_> {
    fn from(propensities: Arc<Propensities>) -> Self {
        Theta::Shared(propensities)
    }
}

/// Examination probabilities by the user numbers of given counts.
///
/// Users without probabilities of their own get the population's. The population's are, where users are known, the
/// users' averaged by their share of sessions, `θ̄(k) = Σ_u θ(u,k) P(u)`; otherwise those of the file.
pub struct Examination<'a> {
    propensities: Theta<'a>,
    number: Vec<Option<u32>>,
    population: Vec<f64>,
}

impl<'a> Examination<'a> {
    /// Looks up the users of `counts`. Counts with a position past the last known one are an error: there is no
    /// sound guess for it.
    pub fn new(propensities: impl Into<Theta<'a>>, counts: &dyn CountsView) -> Result<Self> {
        let propensities = propensities.into();
        let known = propensities.positions() as u32;
        if counts.totals().max_position > known {
            return Err(past_the_last(counts, known)?);
        }
        let sessions = if propensities.users.is_empty() { Vec::new() } else { counts.sessions_per_user() };
        Ok(Examination::of_users(propensities, counts.users(), &sessions))
    }

    /// The same by the numbers of these users, who have so many sessions each.
    pub(crate) fn of_users(propensities: impl Into<Theta<'a>>, users: &Ids, sessions: &[u64]) -> Self {
        let propensities = propensities.into();
        let number = users.numbers_in(&propensities.users);
        let population = propensities.population.clone();
        let mut examination = Examination { propensities, number, population };
        if !examination.propensities.users.is_empty() {
            examination.population = examination.average(sessions);
        }
        examination
    }

    fn average(&self, sessions: &[u64]) -> Vec<f64> {
        let total: u64 = sessions.iter().sum();
        let mut average = vec![0.0; self.population.len()];
        for (user, &count) in sessions.iter().enumerate() {
            let share = count as f64 / total.max(1) as f64;
            average.iter_mut().zip(self.of_user(user as u32)).for_each(|(sum, theta)| *sum += share * theta);
        }
        average
    }

    /// θ(u,·) of the counts' user number `user`.
    pub(crate) fn of_user(&self, user: u32) -> &[f64] {
        match self.number[user as usize] {
            Some(number) => self.propensities.of_user(number as usize),
            None => &self.propensities.population,
        }
    }

    /// θ(u,k) of the counts' user number `user` at `position` (from 1).
    pub fn of(&self, user: u32, position: u32) -> f64 {
        self.of_user(user)[position as usize - 1]
    }

    /// θ̄(k) at `position` (from 1).
    pub fn average_at(&self, position: u32) -> f64 {
        self.population[position as usize - 1]
    }

    /// θ̄.
    pub(crate) fn average_by_position(&self) -> &[f64] {
        &self.population
    }

    /// How many users of the counts have no probabilities of their own, where others have.
    pub fn unknown_users(&self) -> usize {
        if self.propensities.users.is_empty() { 0 } else { self.number.iter().filter(|n| n.is_none()).count() }
    }
}

/// The error about the first cell at a position past the last known one.
fn past_the_last(counts: &dyn CountsView, known: u32) -> Result<Error> {
    let mut first = None;
    counts
        .for_each_cells(|cells| first = first.or_else(|| cells.iter().find(|cell| cell.position > known).copied()))?;
    let (query, position) = first.map_or((String::new(), known), |cell| {
        (counts.queries().name(cell.query as usize).into_owned(), cell.position)
    });
    Ok(past_the_last_known(&query, position, known))
}

pub(crate) fn past_the_last_known(query: &str, position: u32, known: u32) -> Error {
    Error::parameter(format!(
        "query {query} has a document at position {position}, but the propensities end at position {known}; estimate them \
         for all positions"
    ))
}
