//! Makes click logs from graded data and shown lists: user clusters, query traffic, click models.
//!
//! The protocol is the paper's (§4.1): each cluster of users has its own depth of looking and its own queries, and
//! all share one judgement of relevance. Who ranked the lists is not this module's business.
//!
//! A [`Browsing`](crate::click_model::Browsing) draws a session; `browsing` gives it its parameters. Clusters follow the
//! position-based model or others, and `truth` writes what only a simulation knows. Counts can also be drawn without sessions,
//! as cells (`cells`) or as click transitions (`transitions`): binomial clicks, so a billion sessions cost what a million do.

mod browsing;
mod cells;
mod lists;
mod sessions;
mod settings;
mod traffic;
mod transitions;
mod truth;
mod users;

#[cfg(test)]
mod models;

pub use lists::ShownLists;
pub use sessions::{Latents, Simulator};
pub use settings::Simulation;
pub use users::paper_etas;
