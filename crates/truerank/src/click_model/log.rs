//! The click transitions of a log with the names of what they number.

use std::borrow::Cow;

use crate::counts::{Block, CountsView, Transitions};
use crate::ids::Ids;
use crate::{Error, Result};

/// Click transitions with the ids of queries, documents and users.
#[derive(Debug, Clone, Copy)]
pub struct ClickLog<'a> {
    /// The transitions.
    pub transitions: &'a Transitions,
    /// Queries, by number.
    pub queries: &'a Ids,
    /// Documents, by number.
    pub docs: &'a Ids,
    /// Users, by number.
    pub users: &'a Ids,
}

impl ClickLog<'_> {
    /// The transitions of a block of counts; an error where they were not counted.
    pub fn transitions_of<'c>(counts: &'c dyn CountsView, block: &Block) -> Result<Cow<'c, Transitions>> {
        counts.transitions(block)?.ok_or_else(|| {
            Error::parameter(
                "these counts have no click transitions, which click models need; count the log with `transitions`",
            )
        })
    }

    /// All transitions of counts, in memory; an error where they were not counted.
    pub fn all_transitions(counts: &dyn CountsView) -> Result<Transitions> {
        let mut all = Transitions::default();
        for block in counts.blocks() {
            all.append(&*ClickLog::transitions_of(counts, &block)?);
        }
        Ok(all)
    }

    /// Refuses a log without transitions.
    pub(super) fn check(&self) -> Result<()> {
        match self.transitions.rows.is_empty() {
            true => Err(Error::parameter(
                "the log has no click transitions, so there is nothing that a click model could tell",
            )),
            false => Ok(()),
        }
    }
}
