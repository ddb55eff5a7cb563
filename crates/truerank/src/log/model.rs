//! A click log in memory: rows of numbers, beside the ids that the numbers stand for.

use crate::ids::Ids;

/// One document shown at one position on one result page, and whether it was clicked.
///
/// Users, queries and documents are numbers into the [`Ids`] beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Impression {
    /// The session: with the query it names one result page.
    pub session: u64,
    /// Number of the user.
    pub user: u32,
    /// Number of the query.
    pub query: u32,
    /// Number of the document.
    pub doc: u32,
    /// Position, counted from 1.
    pub position: u32,
    /// Whether it was clicked.
    pub click: bool,
}

/// A whole log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Log {
    /// Users.
    pub users: Ids,
    /// Queries.
    pub queries: Ids,
    /// Documents, each once; a document may belong to several queries.
    pub docs: Ids,
    /// The rows, in any order.
    pub impressions: Vec<Impression>,
}

impl Log {
    /// All of it as one block.
    pub fn block(&self) -> Block<'_> {
        Block { users: &self.users, queries: &self.queries, docs: &self.docs, impressions: &self.impressions }
    }
}

/// Some rows of a log, with the ids they refer to; both may be shared with other blocks.
#[derive(Debug, Clone, Copy)]
pub struct Block<'a> {
    /// Users.
    pub users: &'a Ids,
    /// Queries.
    pub queries: &'a Ids,
    /// Documents.
    pub docs: &'a Ids,
    /// The rows.
    pub impressions: &'a [Impression],
}
