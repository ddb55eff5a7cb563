//! The log of real users, or one of its size that is simulated where nobody has one.

use std::path::Path;
use std::sync::Arc;

use super::checks::GENERATED_MAX_GRADE;
use super::{Settings, World, WorldOptions};
use crate::counts::{CountOptions, Counts};
use crate::data::{Generator, Preset, Splits};
use crate::progress::Progress;
use crate::simulate::Simulation;
use crate::{Error, Result};

/// How much users of one kind differ in η.
const USER_NOISE: f64 = 0.2;

/// How steeply traffic falls from the first query to the last: with it, the paper's number of sessions reaches about the
/// paper's number of distinct queries.
const ZIPF: f64 = 0.6;

/// Kinds of users, as in the paper's figure.
const CLUSTERS: usize = 10;

/// Labelled queries that the ranker behind the log learned from: as many as 1 % of the `small` preset, so that there is
/// something left to learn.
const PRODUCTION_QUERIES: f64 = 30.0;

/// The median of documents per labelled query: their mean then is the paper's, 14,762 for 360 queries.
const LABELLED_DOCS: f64 = 34.0;

/// The most of them.
const MOST_LABELLED_DOCS: usize = 200;

impl Settings {
    /// The documents of the simulated log that stands for a real one: those of a training query are all shown.
    pub(super) fn generate_real_data(&self) -> Result<Splits> {
        let [validation, test] = self.real.labelled;
        let (queries, length) = (self.real.queries, self.simulation.length);
        let world = Generator::preset(Preset::Small).features(self.real.features).seed(self.data.seed);
        // Nearly every query has more documents than are shown, and only those are kept.
        let shown = world.clone().queries(queries, 0, 0).documents(4.0 * length as f64, length);
        let labelled =
            world.first_query(queries).queries(0, validation, test).documents(LABELLED_DOCS, MOST_LABELLED_DOCS);
        let train = shown.generate()?.train;
        let Splits { validation, test, .. } = labelled.generate()?;
        Ok(Splits { train, validation, test })
    }

    pub(super) fn simulate_real_log<'a>(&self, data: &'a Splits, progress: &dyn Progress) -> Result<World<'a>> {
        let per_cluster = self.real.users.div_ceil(CLUSTERS);
        let simulation = Simulation::new().sessions(self.real.sessions).click_noise(self.simulation.click_noise);
        let simulation = simulation.users_per_cluster(per_cluster).user_noise(USER_NOISE).zipf(ZIPF);
        let production_share = (PRODUCTION_QUERIES / self.real.queries.max(1) as f64).min(1.0);
        let (length, max_grade) = (self.simulation.length, GENERATED_MAX_GRADE);
        let options = WorldOptions { length, production_share, max_grade, patterns: true };
        World::simulate(data, &simulation, &options, self.data.seed, progress)
    }

    pub(super) fn read_real_log<'a>(&self, data: &'a Splits, progress: &dyn Progress) -> Result<World<'a>> {
        let (counts, _) = self.log_source()?.count(&CountOptions::new().patterns(true), progress)?;
        check_log(&self.real.log[0], &counts)?;
        Ok(World::logged(data, Arc::unwrap_or_clone(counts), self.data.max_grade))
    }
}

fn check_log(path: &Path, counts: &Counts) -> Result<()> {
    match (counts.click_count(), counts.users.len()) {
        (0, _) => Err(Error::input(path, "has no clicks, so nothing can be learned from it")),
        (_, 0 | 1) => {
            Err(Error::input(path, "has one user, but the protocol compares users; map the column of user ids"))
        }
        _ => Ok(()),
    }
}
