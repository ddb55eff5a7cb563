//! Whose θ is estimated, as people ask for it: what they leave open suits the log.

use std::fmt;
use std::str::FromStr;

use super::EmUsers;
use crate::named::find_named;
use crate::propensity::{ClusterCount, Grouping, UserGroups};
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

/// What is asked for; the rest suits the number of users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UserChoice {
    /// The examination of each user instead of one for all.
    pub per_user: bool,
    /// What users are pulled toward.
    pub shrink: Option<ShrinkUsers>,
    /// How many clusters there are to be.
    pub clusters: Option<ClusterCount>,
    /// How users are put into clusters.
    pub grouping: Option<Grouping>,
}

impl UserChoice {
    /// Refuses options that would have no effect; `option` says how a caller writes one of them, such as `per-user`.
    pub fn check(&self, option: impl Fn(&str) -> String) -> Result<()> {
        let clusters = self.clusters.map(|_| "clusters").or(self.grouping.map(|_| "grouping"));
        let of_users = self.shrink.map(|_| "shrink").or(clusters);
        match (self.per_user, of_users, self.shrink, clusters) {
            (false, Some(given), ..) => Err(Error::parameter(format!(
                "{} is for the examination of each user: add {}",
                option(given),
                option("per-user")
            ))),
            (true, _, Some(shrink @ (ShrinkUsers::None | ShrinkUsers::Population)), Some(given)) => {
                let (given, name) = (option(given), option("shrink"));
                Err(Error::parameter(format!("{given} is for {name} clusters, but {name} is {shrink}")))
            }
            _ => Ok(()),
        }
    }

    /// Whose θ that is in a log with so many users.
    pub fn of(&self, users: usize) -> EmUsers {
        let asked_for_clusters = self.clusters.is_some() || self.grouping.is_some();
        match (self.per_user, self.shrink) {
            (false, _) => EmUsers::Together,
            (true, Some(ShrinkUsers::None)) => EmUsers::Each,
            (true, Some(ShrinkUsers::Population)) => EmUsers::Shrunk,
            (true, None) if !asked_for_clusters => EmUsers::suited_to(users),
            (true, _) => EmUsers::Grouped(self.groups()),
        }
    }

    fn groups(&self) -> UserGroups {
        let groups = UserGroups::new().clusters(self.clusters.unwrap_or(ClusterCount::auto()));
        match self.grouping {
            Some(grouping) => groups.method(grouping),
            None => groups,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_open_suits_the_number_of_users() {
        let choice = UserChoice { per_user: true, ..UserChoice::default() };
        assert_eq!(UserChoice::default().of(7), EmUsers::Together);
        assert_eq!((choice.of(50), choice.of(51)), (EmUsers::suited_to(50), EmUsers::suited_to(51)));
        let none = UserChoice { shrink: Some(ShrinkUsers::None), ..choice };
        assert_eq!(none.of(51), EmUsers::Each);
        let three = UserChoice { clusters: Some(ClusterCount::Given(3)), grouping: Some(Grouping::KMeans), ..choice };
        let groups = UserGroups::new().clusters(ClusterCount::Given(3)).method(Grouping::KMeans);
        assert_eq!(three.of(2), EmUsers::Grouped(groups));
    }

    #[test]
    fn what_would_have_no_effect_is_refused_in_the_words_of_the_caller() {
        let refusal = |choice: UserChoice| choice.check(|name| format!("<{name}>")).unwrap_err().to_string();
        let clusters = UserChoice { clusters: Some(ClusterCount::Given(3)), ..UserChoice::default() };
        assert_eq!(refusal(clusters), "<clusters> is for the examination of each user: add <per-user>");
        let both = UserChoice { per_user: true, shrink: Some(ShrinkUsers::None), ..clusters };
        assert_eq!(refusal(both), "<clusters> is for <shrink> clusters, but <shrink> is none");
    }
}
