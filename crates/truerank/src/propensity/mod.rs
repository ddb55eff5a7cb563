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

mod bootstrap;
mod compare;
pub(crate) mod em;
mod file;
mod gamma;
mod identifiability;
mod interventions;
mod joined;
mod lookup;
mod model;
mod observations;
mod scale;
mod stored;
mod user_pbm;
mod users;

pub use compare::PropensityError;
pub use em::{EmEstimate, EmUsers, RegressionEm, RelevanceForm, RelevancePrior, ShrinkUsers, UserChoice};
pub use identifiability::{Groups, Identifiability, Links, Piece, Slot};
pub use interventions::{Contexts, Cpbm, InterventionHarvesting, SwapExperiment, Weighting};
pub use joined::Joined;
pub(crate) use joined::made_once;
pub use lookup::{Examination, Theta};
pub use model::{Details, Evidence, Fit, LevelAndShape, Propensities, UserClusters, mean_examined_position};
pub(crate) use scale::{SCALE, average, largest, rescale};
pub use user_pbm::UserPbm;
pub use users::{ClusterCount, Grouping, HeldOut, UserGroups, adjusted_rand_index};
