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
    /// What lists were shown in, by number; empty where contexts were not counted.
    pub contexts: &'a Ids,
}

/// Contexts of a log that has none.
pub(crate) static NO_CONTEXTS: Ids = Ids::Integers(Vec::new());

/// The click transitions of counts, read once for everything that is done with them.
///
/// ```
/// use truerank::click_model::{ClickModelOptions, CountedClicks};
/// use truerank::counts::{CountOptions, LogSource};
/// use truerank::log::ReadOptions;
/// use truerank::progress::Silent;
///
/// let text = "session,query,doc,position,click\n1,q,a,1,0\n1,q,b,2,1\n2,q,b,1,1\n2,q,a,2,0\n";
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("clicks.csv");
/// std::fs::write(&path, text).unwrap();
/// let source = LogSource::files([path], ReadOptions::new());
/// let (counts, _) = source.count(&CountOptions::new().transitions(true), &Silent)?;
/// let clicks = CountedClicks::of(&*counts)?;
/// let model = ClickModelOptions::new().fit_clicks(&clicks, &*counts, None, &Silent)?;
/// assert_eq!(model.measure(&clicks.log())?.sessions, 2);
/// # Ok::<(), truerank::Error>(())
/// ```
pub struct CountedClicks<'c> {
    transitions: Cow<'c, Transitions>,
    queries: &'c Ids,
    docs: &'c Ids,
    users: &'c Ids,
    contexts: &'c Ids,
}

impl<'c> CountedClicks<'c> {
    /// Reads them into memory, or borrows those that are there; an error where they were not counted.
    pub fn of(counts: &'c dyn CountsView) -> Result<Self> {
        let transitions = match &counts.blocks()[..] {
            [block] => ClickLog::transitions_of(counts, block)?,
            _ => Cow::Owned(ClickLog::all_transitions(counts)?),
        };
        let (queries, docs, users) = (counts.queries(), counts.docs(), counts.users());
        Ok(CountedClicks { transitions, queries, docs, users, contexts: counts.contexts() })
    }

    /// With the names of what they number.
    pub fn log(&self) -> ClickLog<'_> {
        let CountedClicks { transitions, queries, docs, users, contexts } = self;
        ClickLog { transitions, queries, docs, users, contexts }
    }
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
