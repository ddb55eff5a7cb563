//! Turns impressions into cells: how often each user saw and clicked each document of each query at each position.

mod model;

pub use model::{Cell, Counts, Pattern, Patterns, SessionCount, Shown};
