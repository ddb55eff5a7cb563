//! Counts logs, estimates examination and weighs clicks on a cluster: files that it sees enter, the same artefacts leave.
//!
//! [`SparkCount`] counts with the statements of [`sql`](crate::sql); [`SparkEm`] asks for the sums over cells that EM needs, and
//! [`SparkRelevance`] for those of each document. The cluster is named by the address of its Spark Connect server,
//! `sc://host:port`. Only the client of that server is left out of builds without the feature `spark`, which refuse every
//! address.

mod by_document;
mod check;
#[cfg(feature = "spark")]
mod cluster;
#[cfg(not(feature = "spark"))]
#[path = "no_cluster.rs"]
mod cluster;
mod copy;
mod copy_lists;
mod count;
mod em;
mod em_each;
mod em_tables;
mod far;
mod paths;
mod relevance;
mod rows;
#[cfg(feature = "spark")]
mod session;
mod source;
mod statements;
mod user_sums;
mod users;
#[cfg(feature = "spark")]
mod values;

pub use count::SparkCount;
pub use em::SparkEm;
pub use relevance::SparkRelevance;
