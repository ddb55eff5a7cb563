//! Whose θ is estimated, as people ask for it: what they leave open suits the log.

use std::fmt;
use std::str::FromStr;

use super::{EmUsers, RegressionEm, RelevancePrior};
use crate::named::find_named;
use crate::propensity::{ClusterCount, UserGroups};
use crate::{Error, Result};

/// What the examination of each user is pulled toward, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShrinkUsers {
    /// `none`: each user alone.
    None,
    /// `population`.
    Population,
    /// `clusters`: those who look alike.
    Clusters,
}

impl ShrinkUsers {
    /// The names, in the order of the values.
    pub const NAMES: [&str; 3] = ["none", "population", "clusters"];
}

impl fmt::Display for ShrinkUsers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(ShrinkUsers::NAMES[*self as usize])
    }
}

impl FromStr for ShrinkUsers {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let all = [ShrinkUsers::None, ShrinkUsers::Population, ShrinkUsers::Clusters];
        find_named(&all, text, "what users are pulled toward")
    }
}

impl RegressionEm {
    /// Whose θ is estimated: sets `per_user`, `shrink`, `clusters` and `grouping`.
    pub fn users(mut self, users: EmUsers) -> Self {
        self.per_user = users != EmUsers::Together;
        (self.shrink, self.clusters, self.grouping) = match users {
            EmUsers::Together => (None, None, None),
            EmUsers::Each => (Some(ShrinkUsers::None), None, None),
            EmUsers::Shrunk => (Some(ShrinkUsers::Population), None, None),
            EmUsers::Grouped(groups) => (Some(ShrinkUsers::Clusters), Some(groups.count()), Some(groups.grouping())),
        };
        self
    }

    /// Refuses options that would have no effect.
    pub(super) fn check_users(&self) -> Result<()> {
        let clusters = self.clusters.map(|_| "clusters").or(self.grouping.map(|_| "grouping"));
        let of_users = self.shrink.map(|_| "shrink").or(clusters);
        match (self.per_user, of_users, self.shrink, clusters) {
            (false, Some(given), ..) => {
                Err(Error::option(given, "is for the examination of each user: add `per_user`"))
            }
            (true, _, Some(shrink @ (ShrinkUsers::None | ShrinkUsers::Population)), Some(given)) => {
                Err(Error::option(given, format!("is for `shrink` clusters, but `shrink` is {shrink}")))
            }
            _ => Ok(()),
        }
    }

    /// Whose θ is estimated in a log with so many users.
    pub(super) fn users_among(&self, users: usize) -> Result<EmUsers> {
        let asked_for_clusters = self.clusters.is_some() || self.grouping.is_some();
        let users = match (self.per_user, self.shrink) {
            (false, _) => EmUsers::Together,
            (true, Some(ShrinkUsers::None)) => EmUsers::Each,
            (true, Some(ShrinkUsers::Population)) => EmUsers::Shrunk,
            (true, None) if !asked_for_clusters => EmUsers::suited_to(users),
            (true, _) => EmUsers::Grouped(self.groups()),
        };
        match users {
            EmUsers::Shrunk | EmUsers::Grouped(_) if self.prior == RelevancePrior::None => Err(Error::parameter(
                "users are drawn toward others only with a fitted prior of relevance, but `prior` is none; do not \
                 shrink users, or leave out the prior",
            )),
            users => Ok(users),
        }
    }

    fn groups(&self) -> UserGroups {
        let groups = UserGroups::new().clusters(self.clusters.unwrap_or(ClusterCount::auto()));
        groups.method(self.grouping.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::propensity::Grouping;

    fn per_user() -> RegressionEm {
        RegressionEm::new().per_user(true)
    }

    #[test]
    fn what_is_left_open_suits_the_number_of_users() {
        let among = |em: RegressionEm, users: usize| em.users_among(users).unwrap();
        assert_eq!(among(RegressionEm::new(), 7), EmUsers::Together);
        assert_eq!((among(per_user(), 1), among(per_user(), 51)), (EmUsers::suited_to(1), EmUsers::suited_to(51)));
        assert_eq!(among(per_user().shrink(ShrinkUsers::None), 51), EmUsers::Each);
        let three = per_user().clusters(ClusterCount::Given(3)).grouping(Grouping::KMeans);
        let groups = UserGroups::new().clusters(ClusterCount::Given(3)).method(Grouping::KMeans);
        assert_eq!(among(three, 2), EmUsers::Grouped(groups));
    }

    #[test]
    fn users_that_are_asked_for_are_those_that_are_estimated() {
        for users in [EmUsers::Together, EmUsers::Each, EmUsers::Shrunk, EmUsers::Grouped(UserGroups::new())] {
            let em = RegressionEm::new().users(users.clone());
            em.check_users().unwrap();
            assert_eq!(em.users_among(7).unwrap(), users);
        }
    }

    #[test]
    fn what_would_have_no_effect_is_refused() {
        let refusal = |em: RegressionEm| em.check_users().unwrap_err().to_string();
        let clusters = RegressionEm::new().clusters(ClusterCount::Given(3));
        assert_eq!(refusal(clusters.clone()), "`clusters` is for the examination of each user: add `per_user`");
        let alone = clusters.per_user(true).shrink(ShrinkUsers::None);
        assert_eq!(refusal(alone), "`clusters` is for `shrink` clusters, but `shrink` is none");
        let grouping = per_user().shrink(ShrinkUsers::Population).grouping(Grouping::Mixture);
        assert_eq!(refusal(grouping), "`grouping` is for `shrink` clusters, but `shrink` is population");
        assert!(per_user().shrink(ShrinkUsers::Clusters).check_users().is_ok());
        assert!(
            per_user().prior(RelevancePrior::None).users_among(2).unwrap_err().to_string().contains("fitted prior")
        );
    }
}
