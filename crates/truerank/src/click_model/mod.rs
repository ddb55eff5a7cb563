//! Click models: click transitions enter, a model of how people browse leaves, for all, for kinds of users or for each.
//!
//! The position-based model is one of many. In all models here what follows a click depends on the past through that click
//! alone, so counts of transitions from click to click ([`Transitions`]) say all that sessions say, per user too.
//! [`ClickModelKind`] is the registry; [`ClickModelOptions::fit`] fits; a [`ClickModel`] predicts and says how exposed each
//! document was, given the clicks above it and the user.
//!
//! # How fitting works
//!
//! `observed` turns transitions into what an expectation step reads: for slot models cells of (document, user, slot), for the
//! cascade family the steps of each list and user. `expectation` has one step for each family: expected successes over trials of
//! every parameter. `em` adds them up over pieces of whole queries, in their order, and divides; SQUAREM shortens the way. γ and
//! σ come from `documents`, a table with a Beta prior by place or a regression on features; users' parameters are shrunk toward
//! Beta priors fitted over users (`prior`), or shared by kinds of users, of one model or of several: a mixture over users with
//! `π_ug ∝ π_g·exp Σ T·ln P_g`.
//!
//! [`Browsing`] is a model with the parameters of one kind of user. It draws sessions with their latents (`draw`) and predicts
//! clicks; tests compare it, and the expectation steps, with sums over all latent paths (`enumeration`). `measures` has
//! log-likelihood and perplexity as PyClick and CLAX define them.

mod browsing;
mod cells;
mod documents;
mod draw;
mod em;
#[cfg(test)]
mod enumeration;
mod expectation;
mod file;
mod fit;
#[cfg(test)]
mod golden;
mod kind;
mod log;
mod measures;
mod model;
mod observed;
mod prior;
#[cfg(test)]
mod recovery;
#[cfg(test)]
pub(crate) mod testing;

pub use browsing::{Browsing, Exposed, FLOOR, PageView};
pub use cells::ModelCell;
pub use draw::Session;
pub use fit::{ClickModelOptions, ModelPrior};
pub use kind::{About, ClickModelKind};
pub use log::ClickLog;
pub use measures::{ClickMeasures, PositionMeasures};
pub use model::{
    ClickModel, DocumentParameters, Followed, ListParameters, ModelOnLog, OfUsers, UserKind, exposed_after,
};

#[cfg(doc)]
use crate::counts::Transitions;
