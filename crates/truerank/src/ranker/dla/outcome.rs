//! From trained logits to propensities on the common scale.

use super::Logits;
use super::lists::DualLists;
use crate::Result;
use crate::counts::CountsView;
use crate::propensity::{Details, Evidence, Propensities, SCALE};

/// How much of itself θ̄(k) may change in the last tenth of the steps before a note says so.
const STEADY: f64 = 0.01;

/// θ from the best logits, scaled so that the largest θ̄(k) is 1, with the evidence of `counts`.
pub(super) fn propensities(
    lists: &DualLists,
    logits: &Logits,
    counts: &dyn CountsView,
    per_user: bool,
) -> Result<Propensities> {
    let positions = lists.positions;
    let mut by_group = ratios(lists, &logits.best);
    let shares = group_weights(counts, per_user);
    let mut population = averages(&by_group, &shares, positions);
    let most = population.iter().flatten().fold(0.0_f64, |most, &theta| most.max(theta));
    population.iter_mut().flatten().for_each(|theta| *theta /= most);
    by_group.iter_mut().flatten().for_each(|theta| *theta /= most);
    let evidence = Evidence::of_positions(counts)?;
    let mut notes = notes(lists, &population, per_user);
    let average = |logits: &[f32]| averages(&ratios(lists, logits), &shares, positions);
    notes.extend(drift_note(&average(&logits.earlier), &average(&logits.last), &evidence.clicks));
    let population: Vec<f64> = population.into_iter().map(Option::unwrap_or_default).collect();
    let mut propensities = Propensities {
        method: "dla".to_string(),
        scale: SCALE.to_string(),
        details: Details { population: evidence, notes, ..Details::default() },
        population,
        ..Propensities::default()
    };
    if per_user {
        let value = |(slot, theta): (usize, &Option<f64>)| theta.unwrap_or(propensities.population[slot % positions]);
        propensities.by_user = by_group.iter().enumerate().map(value).collect();
        propensities.users = counts.users().clone();
        propensities.details.by_user = Evidence::of_users(counts)?;
    }
    Ok(propensities)
}

/// `θ(g,k)/θ(g,1) = e^(b(g,k) − b(g,1))` for each slot; none where it was not seen, or the group's first position was not.
fn ratios(lists: &DualLists, logits: &[f32]) -> Vec<Option<f64>> {
    let ratio = |slot: usize| {
        let first = slot / lists.positions * lists.positions + lists.first;
        (lists.seen[slot] && lists.seen[first]).then(|| f64::from(logits[slot] - logits[first]).exp())
    };
    (0..logits.len()).map(ratio).collect()
}

/// How much each group counts in the population: its sessions.
fn group_weights(counts: &dyn CountsView, per_user: bool) -> Vec<f64> {
    if !per_user {
        return vec![1.0];
    }
    counts.sessions_per_user().into_iter().map(|sessions| sessions as f64).collect()
}

/// For each position the mean over the groups that saw it; none where no group did.
fn averages(by_group: &[Option<f64>], weights: &[f64], positions: usize) -> Vec<Option<f64>> {
    let mut sums = vec![(0.0, 0.0); positions];
    for (row, &weight) in by_group.chunks_exact(positions).zip(weights) {
        for (sum, theta) in sums.iter_mut().zip(row) {
            if let Some(theta) = theta {
                *sum = (sum.0 + weight * theta, sum.1 + weight);
            }
        }
    }
    sums.into_iter().map(|(sum, weight)| (weight > 0.0).then_some(sum / weight)).collect()
}

/// A note if θ̄ at a position with clicks was still moving when training ended, on its way or by the
/// noise of batches; more steps help against both. Without clicks it falls for ever.
fn drift_note(earlier: &[Option<f64>], last: &[Option<f64>], clicks: &[u64]) -> Option<String> {
    let change = |(earlier, last): (&Option<f64>, &Option<f64>)| Some((last.as_ref()? / earlier.as_ref()? - 1.0).abs());
    let changes = earlier.iter().zip(last).zip(clicks).filter(|(_, clicks)| **clicks > 0);
    let most = changes.filter_map(|(pair, _)| change(pair)).fold(0.0, f64::max);
    (most > STEADY).then(|| {
        format!("examination still moved by up to {:.0} % in the last tenth of the steps: train longer", 100.0 * most)
    })
}

fn notes(lists: &DualLists, population: &[Option<f64>], per_user: bool) -> Vec<String> {
    let mut notes = Vec::new();
    let unmatched = lists.unmatched;
    if unmatched.queries + unmatched.docs > 0 {
        notes.push(format!(
            "{} queries of the log and {} documents of other queries are not in the data set and were left out",
            unmatched.queries, unmatched.docs
        ));
    }
    if per_user {
        notes.push(
            "only ratios within a user are learned: all users are taken to examine the first position alike".into(),
        );
    }
    let unseen: Vec<String> =
        (1..=population.len()).filter(|&k| population[k - 1].is_none()).map(|k| k.to_string()).collect();
    if !unseen.is_empty() {
        notes.push(format!("no document of the data set was seen at position {}: set to 0", unseen.join(", ")));
    }
    notes
}
