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
//! # Few sessions: γ is summed over
//!
//! Most documents of a real log were shown a few times. With a γ of its own for each, even the most probable one under a good
//! prior, parameters of users are biased, whatever the number of documents (Neyman and Scott 1948): γ has adapted to the very
//! clicks that θ is to explain. With a fitted prior γ and σ are therefore summed over. The likelihood of all transitions
//! does not factorise in the cascade family, but that of one given all others nearly does: let q(γ) be what the others say.
//!
//! - In all models but `additive` and `trust` the probability of a transition is linear in γ of each document in it, and no
//!   document is in it twice. So if q is independent between documents, the sum of `P(transition | γ)·q(γ)` is
//!   `P(transition | means of q)`, exactly. Users' parameters solve `Σ ∂ ln P(transition | means of q without it) = 0`, whose
//!   terms have mean 0 at the truth: the score of Besag's pseudo-likelihood (1975), in which each datum is predicted from the rest.
//! - q is kept as a Beta distribution with successes and trials. A trial that took place with probability r leaves a mixture of two
//!   Beta distributions; its mean `m·(1 − r/(T+1))`, with T trials before, is that of `r·T/(T+1−r)` trials, and so many are
//!   added (assumed-density filtering). Leaving a transition out takes its own trials off again. So the
//!   only approximations are that q is Beta in shape and that documents of a page are independent given all other pages.
//! - The prior's means by place move in every step, to the mean of what documents are found to be; its strength is where what is
//!   evident is likeliest, each click with the chance that it had given the clicks above, integrated over γ (`evidence`).
//!
//! `sparse` has what is found on sparse simulated logs: θ of `pbm` at position 4 is still about a tenth too small, so this is no
//! cure for all. Where users have their own θ, it is summed over in the same way.
//!
//! [`Browsing`] is a model with the parameters of one kind of user. It draws sessions with their latents (`draw`) and predicts
//! clicks; tests compare it, and the expectation steps, with sums over all latent paths (`enumeration`). `measures` has
//! log-likelihood and perplexity as PyClick and CLAX define them. [`FreeDirections`] says what no clicks on the lists of a log tell.

mod browsing;
#[cfg(test)]
mod by_context;
mod cascade;
mod cells;
mod contexts;
mod documents;
mod draw;
mod em;
#[cfg(test)]
mod enumeration;
mod evidence;
mod expectation;
mod file;
mod fit;
#[cfg(test)]
mod golden;
mod identifiability;
mod kind;
mod left_out;
mod log;
mod measures;
mod model;
mod networks;
mod observed;
mod prior;
#[cfg(test)]
mod recovery;
#[cfg(test)]
mod sparse;
#[cfg(test)]
pub(crate) mod testing;

pub use browsing::{Browsing, Exposed, FLOOR, PageView};
pub use cells::ModelCell;
use contexts::linked_contexts;
pub use draw::Session;
pub use fit::{ClickModelOptions, ModelPrior};
pub use identifiability::FreeDirections;
pub use kind::{About, ClickModelKind};
pub(crate) use log::NO_CONTEXTS;
pub use log::{ClickLog, CountedClicks};
pub use measures::{ClickMeasures, PositionMeasures};
pub use model::{
    ClickModel, DocumentParameters, Followed, KnownUser, ListParameters, ModelOnLog, OfUsers, UserKind, exposed_after,
};

#[cfg(doc)]
use crate::counts::Transitions;
