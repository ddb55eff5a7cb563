//! Regression-EM whose cells stay on a cluster: a folder of counts enters, θ of positions and users leaves.

use std::path::Path;

use super::cluster::Cluster;
use super::em_tables::{Slots, Tables};
use super::far::{far_meta, near_meta};
use crate::counts::Counts;
use crate::files::TemporaryFolder;
use crate::ids::Ids;
use crate::progress::Progress;
use crate::propensity::em::{Iteration, MARGIN, Squarem, first_guess, jump_length, jump_of, squared_lengths};
use crate::propensity::{
    Details, Evidence, Fit, Groups, Identifiability, Propensities, RegressionEm, SCALE, average, largest, rescale,
};
use crate::{Error, Result};

/// Estimates examination as [`RegressionEm`](crate::propensity::RegressionEm) does with a table of relevance and
/// [without a prior](crate::propensity::RelevancePrior::None), from counts that a cluster reads.
///
/// Every iteration's sums are SQL over the cells, with θ and γ as joined tables. γ of the documents never leaves the
/// cluster; this machine holds θ and the ids of users. The iteration is the same, SQUAREM over θ and γ with the same start
/// and stop, so the result differs by the order of sums alone. There are no standard errors, and users are not shrunk.
#[derive(Debug, Clone, PartialEq)]
pub struct SparkEm {
    url: String,
    per_user: bool,
    strict: bool,
    squarem: Squarem,
}

impl SparkEm {
    /// The options of EM that can be chosen on a cluster, and where that is one value alone, the value.
    pub const TAKES: [(&str, Option<&str>); 9] = [
        ("per_user", None),
        ("strict", None),
        ("iterations", None),
        ("tolerance", None),
        ("seed", None),
        ("relevance", Some("table")),
        ("prior", Some("none")),
        ("shrink", Some("none")),
        ("resamples", Some("0")),
    ];

    /// Estimates what `em` says on the cluster whose Spark Connect server is at `url`, of its options those that a cluster
    /// [takes](SparkEm::TAKES).
    pub fn new(url: &str, em: &RegressionEm) -> Self {
        SparkEm { url: url.to_string(), per_user: em.per_user, strict: em.strict, squarem: em.squarem() }
    }

    /// Estimates θ from a folder of counts; steps of the work are kept in a temporary folder beside `output`.
    pub fn estimate(&self, counts: &Path, output: &Path, progress: &dyn Progress) -> Result<Propensities> {
        let near = near_meta(counts)?;
        // Outlives the connection, whose end stops what still writes there.
        let scratch = TemporaryFolder::create_beside(output)?;
        let cluster = Cluster::connect(&self.url)?;
        let meta = near.map_or_else(|| far_meta(&cluster, counts), Ok)?;
        if meta.clicks == 0 {
            return Err(Error::parameter("the log has no clicks, so nothing can be said about examination"));
        }
        progress.begin("preparing cells on Spark", 1);
        let mut tables = Tables::make(&cluster, counts, scratch.path(), self.per_user, meta.max_position as usize)?;
        let users = tables.users.clone();
        let slots = tables.slots()?;
        let notes = self.identify(&mut tables, &slots, &users)?;
        progress.begin("estimating examination", self.squarem.iterations as u64);
        let (theta, gamma) = first_guess(slots.positions, slots.groups(), &slots.shown, &slots.clicks);
        let start = Point { theta, gamma: tables.start(gamma)? };
        let found = self.squarem.run(start, &mut Em { tables: &mut tables, slots: &slots }, progress)?;
        let fit = Fit {
            log_likelihood: found.log_likelihood.iter().map(|value| value / slots.impressions()).collect(),
            converged: found.converged,
        };
        let sessions = if self.per_user { tables.sessions.clone() } else { vec![meta.sessions as f64] };
        Ok(self.propensities(found.x.theta, &sessions, &slots, users, fit, notes))
    }

    /// Says what cannot be compared; an error if nothing can, or not everything and that was asked for.
    fn identify(&self, tables: &mut Tables<'_>, slots: &Slots, users: &Ids) -> Result<Vec<String>> {
        let groups = if self.per_user { Groups::Users } else { Groups::Population };
        let shown: Vec<u64> = slots.shown.iter().map(|shown| *shown as u64).collect();
        let graph = Identifiability::of_links(slots.positions, &shown, &slots.clicks, &tables.links(slots)?, groups);
        let mut notes = graph.explain(&Counts { users: users.clone(), ..Counts::default() });
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
        sessions: &[f64],
        slots: &Slots,
        users: Ids,
        fit: Fit,
        mut notes: Vec<String>,
    ) -> Propensities {
        if !fit.converged {
            let iterations = self.squarem.iterations;
            notes.push(format!(
                "the fit did not converge in {iterations} iterations: give it more, or a wider tolerance"
            ));
        }
        let mut population = average(&by_user, slots.positions, sessions);
        let reference = largest(&population);
        let scale = population[reference];
        rescale(&mut population, reference);
        by_user.iter_mut().for_each(|theta| *theta /= scale);
        let details = Details {
            population: slots.evidence_of_positions(),
            by_user: if self.per_user { slots.evidence() } else { Evidence::default() },
            fit: Some(fit),
            clusters: None,
            harvested: None,
            notes,
        };
        Propensities {
            method: format!(
                "{}em, relevance by table, without a prior",
                if self.per_user { "personalized " } else { "" }
            ),
            scale: SCALE.to_string(),
            population,
            users: if self.per_user { users } else { Ids::default() },
            by_user: if self.per_user { by_user } else { Vec::new() },
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
