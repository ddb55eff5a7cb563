//! Regression-EM of each user alone, whose cells and relevance stay on a cluster: a folder of counts enters, θ leaves.

use std::path::Path;

use super::cluster::Cluster;
use super::em_tables::{Slots, Tables};
use crate::progress::Progress;
use crate::propensity::em::{Iteration, MARGIN, Squarem, first_guess, jump_length, jump_of, squared_lengths};
use crate::propensity::{Details, Fit, Groups, Identifiability, Propensities, SCALE, average, largest, rescale};
use crate::{Error, Result};

/// Estimates θ of each user alone, with a table of relevance and [without a prior](crate::propensity::RelevancePrior::None).
///
/// Every iteration's sums are SQL over the cells, with θ and γ as joined tables. γ of the documents never leaves the
/// cluster; this machine holds θ and the ids of users. The iteration is the same, SQUAREM over θ and γ with the same start
/// and stop, so the result differs by the order of sums alone.
pub(super) struct EachUser<'a> {
    pub cluster: &'a Cluster,
    pub counts: &'a Path,
    pub scratch: &'a Path,
    pub squarem: Squarem,
    pub strict: bool,
}

impl EachUser<'_> {
    /// Estimates θ from counts with so many positions.
    pub fn estimate(&self, positions: usize, progress: &dyn Progress) -> Result<Propensities> {
        progress.begin("preparing cells on Spark", 1);
        let mut tables = Tables::make(self.cluster, self.counts, self.scratch, positions)?;
        let slots = tables.slots()?;
        let notes = self.identify(&mut tables, &slots)?;
        progress.begin("estimating examination", self.squarem.iterations as u64);
        let (theta, gamma) = first_guess(slots.positions, tables.users.len(), &slots.shown, &slots.clicks);
        let start = Point { theta, gamma: tables.start(gamma)? };
        let found = self.squarem.run(start, &mut Em { tables: &mut tables, slots: &slots }, progress)?;
        let fit = Fit {
            log_likelihood: found.log_likelihood.iter().map(|value| value / slots.impressions()).collect(),
            converged: found.converged,
        };
        Ok(self.propensities(found.x.theta, &tables, &slots, fit, notes))
    }

    /// Says what cannot be compared; an error if nothing can, or not everything and that was asked for.
    fn identify(&self, tables: &mut Tables<'_>, slots: &Slots) -> Result<Vec<String>> {
        let shown: Vec<u64> = slots.shown.iter().map(|shown| *shown as u64).collect();
        let links = tables.links(slots)?;
        let graph = Identifiability::of_links(slots.positions, &shown, &slots.clicks, &links, Groups::Users);
        let mut notes = graph.explain(&tables.users);
        if graph.nothing_connects_positions() || (self.strict && !graph.is_connected()) {
            let finding = format!("examination is not identifiable from this log: {}", notes.join("; "));
            return Err(Error::parameter(finding));
        }
        notes.extend(graph.explain_silent());
        Ok(notes)
    }

    fn propensities(
        &self,
        mut by_user: Vec<f64>,
        tables: &Tables<'_>,
        slots: &Slots,
        fit: Fit,
        mut notes: Vec<String>,
    ) -> Propensities {
        if !fit.converged {
            let iterations = self.squarem.iterations;
            notes.push(format!(
                "the fit did not converge in {iterations} iterations: give it more, or a wider tolerance"
            ));
        }
        let mut population = average(&by_user, slots.positions, &tables.sessions);
        let reference = largest(&population);
        let scale = population[reference];
        rescale(&mut population, reference);
        by_user.iter_mut().for_each(|theta| *theta /= scale);
        let details = Details {
            population: slots.evidence_of_positions(),
            by_user: slots.evidence(),
            fit: Some(fit),
            clusters: None,
            harvested: None,
            notes,
        };
        Propensities {
            method: "personalized em, relevance by table, without a prior".to_string(),
            scale: SCALE.to_string(),
            population,
            users: tables.users.clone(),
            by_user,
            details,
        }
    }
}

/// θ of each slot, and the number of the table of γ.
#[derive(Debug, Clone)]
struct Point {
    theta: Vec<f64>,
    gamma: u64,
}

/// EM as a fixed-point iteration on θ here and γ there.
struct Em<'a, 'c> {
    tables: &'a mut Tables<'c>,
    slots: &'a Slots,
}

impl Iteration for Em<'_, '_> {
    type Point = Point;

    fn step(&mut self, x: &mut Point) -> Result<f64> {
        self.tables.set_theta(&x.theta, self.slots)?;
        let (examined, log_misses) = self.tables.expected(x.gamma, self.slots)?;
        x.gamma = self.tables.relevance(x.gamma)?;
        let clicks = self.slots.clicks.iter().zip(&x.theta).filter(|(clicks, _)| **clicks > 0.0);
        let log_clicks: f64 = clicks.map(|(clicks, theta)| clicks * theta.ln()).sum();
        for (slot, theta) in x.theta.iter_mut().enumerate() {
            if self.slots.shown[slot] > 0.0 {
                *theta = (self.slots.clicks[slot] + examined[slot]) / self.slots.shown[slot];
            }
        }
        Ok(log_clicks + log_misses)
    }

    fn jump(&mut self, [start, first, second]: [&Point; 3], farthest: f64) -> Result<(Point, f64)> {
        let thetas = [&start.theta, &first.theta, &second.theta].map(Vec::as_slice);
        let (here, there) = (squared_lengths(thetas), self.tables.squared_lengths(second.gamma)?);
        let length = jump_length((here.0 + there.0, here.1 + there.1), farthest);
        let mut theta = jump_of(thetas, length);
        theta.iter_mut().for_each(|theta| *theta = theta.clamp(MARGIN, 1.0 - MARGIN));
        Ok((Point { theta, gamma: self.tables.jump(second.gamma, length)? }, length))
    }
}
