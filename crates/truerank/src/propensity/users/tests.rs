//! Kinds of users on simulated logs.
