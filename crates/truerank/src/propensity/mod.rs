//! Who examines what: the probability that a user looks at a position.
//!
//! | method | needs | gives |
//! |---|---|---|
//! | [`RegressionEm`] | features, or documents seen at several positions | θ(k), θ(u,k) |
//! | [`SwapExperiment`] | sessions in which rank 1 changed places | θ(k), θ(u,k) |
//! | [`InterventionHarvesting`] | several rankers, swaps or shuffles | θ(k), θ(u,k) |
//! | [`Cpbm`] | the same, and users with ids or features | θ(u,k) |
//! | [`UserPbm`] | features | θ(k), θ(u,k) |
//! | [`Dla`](crate::ranker::Dla) | features | θ(k), θ(u,k) and a ranker |
//!
//! [`Identifiability`] tells before any fit what can be compared; [`UserGroups`] puts users who look alike together.
//!
//! Users without probabilities of their own get the population's; a position past the last known one is an error, never a
//! guess. Estimation sees the log as `Observations`: documents, each with what groups of users did at positions. One group is
//! standard estimation, one per user is personalized, clusters lie between; the code is the same. Observations are where the
//! counts are (`Observed`): in memory, or in a spool, of which pieces of documents are read as they are worked on.
//!
//! - `em` fits θ and γ together in two ways. `hierarchy` is the default: clicks by Poisson's law, γ summed over a Gamma
//!   `prior` whose mean is one per place or a function of features; a pass over documents gives their posterior means, and
//!   everything else follows in closed form. EM steps run under SQUAREM, or with features L-BFGS on the same likelihood.
//!   `fit` and `expectation` have Regression-EM as published, what gives γ being a trait: a table, a logistic regression,
//!   and, as one more column of it, networks that never score a query they saw. `kinds` chooses how many kinds of users there
//!   are and fits them; `second_opinion` compares with harvesting.
//! - `users`: given what users were exposed to, kinds of users and each user's θ: a mixture of negative binomials from two
//!   numbers per user and position, k-means for starts, the number of kinds by held-out clicks.
//! - `interventions`: swaps, harvesting and CPBM, from tables of clicks on documents that two positions share.
//! - `identifiability`: union–find over (user, position) by shared documents, equal feature vectors, or overlapping features;
//!   it names the pieces and what would connect them. It is a necessary condition, not a sufficient one.
//!
//! Standard errors resample whole queries (`bootstrap`). All estimates share one scale (`scale`): relative, with the
//! population's largest at 1. Deliberately not here: parametric curves of θ over positions; every position is free.

mod bootstrap;
mod by_user;
mod compare;
pub(crate) mod em;
mod file;
pub(crate) mod gamma;
mod identifiability;
mod interventions;
mod joined;
mod log_users;
mod lookup;
mod model;
mod observations;
mod sampled;
mod scale;
mod stored;
mod table;
mod user_pbm;
mod users;

pub use compare::PropensityError;
pub use em::{EmEstimate, EmUsers, RegressionEm, RelevanceForm, RelevancePrior, ShrinkUsers};
pub use identifiability::{Groups, Identifiability, Links, Piece, Slot};
pub use interventions::{Contexts, Cpbm, InterventionHarvesting, SwapExperiment, Weighting};
pub use joined::Joined;
pub(crate) use joined::made_once;
pub(crate) use log_users::CellsElsewhere;
pub(crate) use lookup::past_the_last_known;
pub use lookup::{Examination, Theta};
pub use model::{Details, Evidence, Fit, LevelAndShape, Propensities, UserClusters, mean_examined_position};
pub(crate) use scale::{SCALE, average, largest, rescale};
pub(crate) use table::{list_field, lists};
pub use user_pbm::UserPbm;
pub use users::{ClusterCount, Grouping, HeldOut, UserGroups, adjusted_rand_index};
