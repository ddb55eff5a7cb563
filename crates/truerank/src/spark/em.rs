//! Regression-EM of users whose cells stay on a cluster: a folder of counts enters, θ of positions and users leaves.

use std::path::Path;

use super::cluster::Cluster;
use super::em_each::EachUser;
use super::far::{far_meta, near_meta};
use super::user_sums::{UserSums, read_together};
use crate::data::Dataset;
use crate::files::TemporaryFolder;
use crate::progress::Progress;
use crate::propensity::{EmEstimate, Joined, RegressionEm, RelevanceForm, RelevancePrior, ShrinkUsers};
use crate::{Error, Result};

/// Estimates examination as [`RegressionEm`] does, from counts that a cluster reads.
///
/// What all users did together is summed there and estimated here, by the same code as ever. So are users who are drawn toward others:
/// the part of the log that kinds are fitted to comes here, and then every step with all users is two sums over the cells on the
/// cluster. Logs of at most 1,000,000 cells so give the same numbers; of larger ones they differ by the order of sums alone. This machine
/// holds the sums of documents and positions, features, and θ and ids of users.
///
/// Where θ of each user is free, relevance is a table that never leaves the cluster, [without a prior](RelevancePrior::None) and
/// without standard errors.
#[derive(Debug, Clone, PartialEq)]
pub struct SparkEm {
    url: String,
    em: RegressionEm,
}

impl SparkEm {
    /// Estimates what `em` says on the cluster whose Spark Connect server is at `url`.
    pub fn new(url: &str, em: RegressionEm) -> Self {
        SparkEm { url: url.to_string(), em }
    }

    /// Refuses what a cluster cannot do, before anything is read.
    pub fn check(em: &RegressionEm, has_data: bool) -> Result<()> {
        em.check_data(has_data)?;
        let table = match &em.relevance {
            Some(form) => *form == RelevanceForm::Table,
            None => !has_data,
        };
        let needed = match () {
            () if !is_each(em) => return Ok(()),
            () if !table => ("relevance", "table"),
            () if em.prior != RelevancePrior::None => ("prior", "none"),
            () if em.resamples > 0 => ("resamples", "0"),
            () => return Ok(()),
        };
        let (option, only) = needed;
        Err(Error::option(
            option,
            format!(
                "other than {only} is not for `engine` with `shrink` none; let it be {only}, draw users toward clusters, or estimate here"
            ),
        ))
    }

    /// Estimates θ from a folder of counts, with the features of documents where relevance is a regression on them; steps of
    /// the work are kept in a temporary folder beside `output`.
    pub fn estimate(
        &self,
        counts: &Path,
        data: Option<&Dataset>,
        output: &Path,
        progress: &dyn Progress,
    ) -> Result<EmEstimate> {
        Self::check(&self.em, data.is_some())?;
        let near = near_meta(counts)?;
        // Outlives the connection, whose end stops what still writes there.
        let scratch = TemporaryFolder::create_beside(output)?;
        let cluster = Cluster::connect(&self.url)?;
        let meta = near.map_or_else(|| far_meta(&cluster, counts), Ok)?;
        if meta.clicks == 0 {
            return Err(Error::parameter("the log has no clicks, so nothing can be said about examination"));
        }
        let (em, scratch) = (&self.em, scratch.path());
        if is_each(em) {
            let each = EachUser { cluster: &cluster, counts, scratch, squarem: em.squarem(), strict: em.strict };
            let propensities = each.estimate(meta.max_position as usize, progress)?;
            return Ok(EmEstimate { propensities, relevance: Vec::new(), held_out: Vec::new() });
        }
        progress.begin("summing cells on Spark", 1);
        let together = read_together(&cluster, counts, scratch)?;
        let log = Joined::new(&together, data);
        if !em.per_user {
            return em.estimate_of(&log, progress);
        }
        let users = UserSums::make(&cluster, counts, scratch, &together)?;
        em.estimate_elsewhere(&log, &users, progress)
    }
}

/// Whether θ of each user is free.
fn is_each(em: &RegressionEm) -> bool {
    em.per_user && em.shrink == Some(ShrinkUsers::None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::propensity::EmUsers;

    #[test]
    fn free_users_have_a_table_without_a_prior() {
        let each = RegressionEm::new().users(EmUsers::Each);
        let refusal = |em: &RegressionEm, has_data| SparkEm::check(em, has_data).unwrap_err().to_string();
        assert!(
            refusal(&each, true).starts_with("`relevance` other than table is not for `engine` with `shrink` none")
        );
        assert!(refusal(&each, false).starts_with("`prior` other than none"));
        let each = each.prior(RelevancePrior::None);
        assert!(refusal(&each, false).starts_with("`resamples` other than 0"));
        assert!(SparkEm::check(&each.resamples(0), false).is_ok());
        let table = RegressionEm::new().relevance(RelevanceForm::Table);
        assert!(refusal(&table, true).contains("makes no use of features"));
        assert!(SparkEm::check(&RegressionEm::new(), true).is_ok());
        assert!(SparkEm::check(&RegressionEm::new().users(EmUsers::Shrunk), true).is_ok());
    }
}
