//! Examination from documents that were shown at several positions: cells enter, θ relative to position 1 leaves.
//!
//! A document is as relevant at one position as at another, so where the same document of the same query was shown at
//! two positions, the clicks it got there compare how often the two were examined. No features and no model of
//! relevance are needed; what is needed are interventions: swapped or shuffled sessions, or several rankers.
//!
//! Comparisons within a user say nothing about how two users compare: each user's θ is known up to a factor. All
//! three estimators settle it by taking every user to examine position 1 alike.

mod contexts;
mod cpbm;
mod harvest;
mod swap;
mod tables;
#[cfg(test)]
mod worlds;

pub use cpbm::{Contexts, Cpbm};
pub use harvest::{InterventionHarvesting, Weighting};
pub use swap::SwapExperiment;

use super::bootstrap::{check_resamples, standard_errors};
use super::{Details, Evidence, Fit, Propensities, SCALE, average, largest, rescale};
use crate::counts::CountsView;
use crate::ids::Ids;
use crate::{Error, Result};

/// What every message about missing interventions ends with.
const WAY_OUT: &str = "log some sessions with swapped or shuffled results, or several rankers, \
                       or use em with features";

/// θ(·,k)/θ(·,1) of the population and of each user.
#[derive(Debug, Clone, Default)]
struct Relative {
    population: Vec<f64>,
    /// One row of positions per user; empty where only the population was asked for.
    by_user: Vec<f64>,
    fit: Option<Fit>,
    notes: Vec<String>,
}

/// What a user's own cells say about one position.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Own {
    /// θ(u,k)/θ(u,1).
    Ratio(f64),
    /// No click at the position: what half a click there would have given.
    HalfAClick(f64),
    /// Nothing compares the position with position 1.
    Nothing,
}

/// Users' values with those of the population where their own cells say nothing, and notes that count these.
///
/// A user without a click at a position gets the smaller of the population's value and what half a click would have
/// given: many impressions without a click are evidence that the user looks there less than people do, and 0 itself
/// would make the weight 1/θ of a later click infinite.
fn fill_users(own: &[Own], population: &[f64]) -> (Vec<f64>, Vec<String>) {
    let (mut borrowed, mut halves) = (0_usize, 0_usize);
    let fill = |(own, &of_population): (&Own, &f64)| match *own {
        Own::Ratio(ratio) => ratio,
        Own::HalfAClick(most) if most < of_population => {
            halves += 1;
            most
        }
        _ => {
            borrowed += 1;
            of_population
        }
    };
    let values = own.iter().zip(population.iter().cycle()).map(fill).collect();
    let mut notes = Vec::new();
    if borrowed > 0 {
        notes.push(format!(
            "{borrowed} of {} values of users are the population's: too little of what the user saw was shown at both \
             position 1 and that position, or was clicked",
            own.len()
        ));
    }
    if halves > 0 {
        notes.push(format!("{halves} of {} values of users stand on no click and count half a click", own.len()));
    }
    (values, notes)
}

/// The estimate with its evidence, on the scale where the largest θ̄(k) is 1.
///
/// `estimate` takes how often each query counts. Where it gives users, `θ̄(k) = Σ_u P(u) θ(u,k)` with `P(u) = n(u)/N`.
fn finish(
    counts: &dyn CountsView,
    method: &str,
    resamples: usize,
    seed: u64,
    estimate: impl Fn(&[f64]) -> Result<Relative> + Sync,
) -> Result<Propensities> {
    let queries = counts.queries().len();
    let ones = vec![1.0; queries];
    let point = estimate(&ones)?;
    check_resamples(resamples, point.population.len() + point.by_user.len())?;
    let positions = point.population.len();
    let personal = !point.by_user.is_empty();
    let mut values = averaged(&point, counts, &ones)?;
    let reference = largest(&values[..positions]);
    rescale(&mut values, reference);
    let mut errors = standard_errors(queries, resamples, seed, |weights| {
        let mut values = averaged(&estimate(weights)?, counts, weights)?;
        rescale(&mut values, reference);
        Ok(values)
    })?;
    let user_errors = errors.split_off(positions.min(errors.len()));
    let by_user = values.split_off(positions);
    let evidence_of_users = if personal { Evidence::of_users(counts)? } else { Evidence::default() };
    Ok(Propensities {
        method: method.to_string(),
        scale: scale(personal),
        population: values,
        users: if personal { counts.users().clone() } else { Ids::default() },
        by_user,
        details: Details {
            population: Evidence { standard_errors: errors, ..Evidence::of_positions(counts)? },
            by_user: Evidence { standard_errors: user_errors, ..evidence_of_users },
            fit: point.fit,
            clusters: None,
            harvested: None,
            notes: point.notes,
        },
    })
}

fn scale(personal: bool) -> String {
    match personal {
        true => format!(
            "{SCALE}, where θ̄(k) is the mean over users by sessions; every user is taken to examine position 1 alike"
        ),
        false => SCALE.to_string(),
    }
}

/// θ̄ and then the users' θ, in one vector.
fn averaged(relative: &Relative, counts: &dyn CountsView, weights: &[f64]) -> Result<Vec<f64>> {
    let positions = relative.population.len();
    if relative.by_user.is_empty() {
        return Ok(relative.population.clone());
    }
    let mut sessions = vec![0.0; counts.users().len()];
    counts.for_each_sessions(|block| {
        for count in block {
            sessions[count.user as usize] += weights[count.query as usize] * count.sessions as f64;
        }
    })?;
    let mut values = average(&relative.by_user, positions, &sessions);
    values.extend(&relative.by_user);
    Ok(values)
}

fn check_positive(what: &str, value: f64) -> Result<()> {
    match value > 0.0 && value.is_finite() {
        true => Ok(()),
        false => Err(Error::parameter(format!("{what} should be positive and finite, but is {value}"))),
    }
}

/// Positions as people read them: `2, 3 and 7`.
fn named(positions: &[usize]) -> String {
    match positions {
        [] => String::new(),
        [one] => one.to_string(),
        [first @ .., last] => {
            let first: Vec<String> = first.iter().map(usize::to_string).collect();
            format!("{} and {last}", first.join(", "))
        }
    }
}

/// `position 2 is` or `positions 2 and 3 are`.
fn positions_are(positions: &[usize]) -> String {
    match positions.len() {
        1 => format!("position {} is", positions[0]),
        _ => format!("positions {} are", named(positions)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_borrow_what_their_cells_do_not_say() {
        let own = [
            Own::Ratio(1.0),
            Own::Nothing,
            Own::Ratio(2.0),
            Own::HalfAClick(0.1),
            Own::Ratio(1.0),
            Own::HalfAClick(0.9),
        ];
        let (values, notes) = fill_users(&own, &[1.0, 0.5]);
        assert_eq!(values, [1.0, 0.5, 2.0, 0.1, 1.0, 0.5]);
        assert!(notes[0].starts_with("2 of 6 values of users are the population's"), "{notes:?}");
        assert_eq!(notes[1], "1 of 6 values of users stand on no click and count half a click");
    }

    #[test]
    fn positions_are_named_in_words() {
        assert_eq!(positions_are(&[4]), "position 4 is");
        assert_eq!(positions_are(&[2, 3, 7]), "positions 2, 3 and 7 are");
    }
}
