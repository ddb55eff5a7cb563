//! A log with the features of its documents: which rows they are in, and what can be compared, each found once.

use std::sync::OnceLock;

use super::{Groups, Identifiability, Links};
use crate::counts::CountsView;
use crate::data::{Dataset, Join, nothing_matches};
use crate::{Error, Result};

/// Counts and features, with what follows from both. Nothing is looked for before someone asks, and nothing twice.
///
/// ```
/// use truerank::counts::{Cell, Counts};
/// use truerank::data::{Generator, Preset};
/// use truerank::ids::Ids;
/// use truerank::propensity::Joined;
///
/// let data = Generator::preset(Preset::Tiny).generate()?.train;
/// let shown = |doc, position| Cell { query: 0, doc, position, user: 0, impressions: 10, clicks: 2 };
/// let counts = Counts {
///     queries: data.queries().select([1]),
///     docs: data.docs().select(data.rows_of(1).take(2)),
///     users: Ids::numbered(1),
///     cells: vec![shown(0, 1), shown(1, 2)],
///     ..Counts::default()
/// };
/// let log = Joined::new(&counts, Some(&data));
/// let first = data.rows_of(1).start as u32;
/// assert_eq!(log.join()?.rows, [Some(first), Some(first + 1)]);
/// # Ok::<(), truerank::Error>(())
/// ```
pub struct Joined<'a> {
    /// The log.
    pub counts: &'a dyn CountsView,
    /// The features of its documents, where there are any.
    pub data: Option<&'a Dataset>,
    docs: OnceLock<Vec<(u32, u32)>>,
    join: OnceLock<Join>,
    /// By documents, and by features.
    positions: [OnceLock<Identifiability>; 2],
    users: [OnceLock<Identifiability>; 2],
}

impl<'a> Joined<'a> {
    /// A log and its features.
    pub fn new(counts: &'a dyn CountsView, data: Option<&'a Dataset>) -> Self {
        let (docs, join, positions, users) = Default::default();
        Joined { counts, data, docs, join, positions, users }
    }

    /// The features; an error where there are none.
    pub fn require_data(&self) -> Result<&'a Dataset> {
        self.data.ok_or_else(|| Error::parameter("the features of the documents are needed, but there are none"))
    }

    /// The (query, document) of every shown document, in order.
    pub fn docs(&self) -> Result<&[(u32, u32)]> {
        made_once(&self.docs, || self.counts.shown_docs()).map(Vec::as_slice)
    }

    /// Where the log's documents are in the data set.
    pub fn join(&self) -> Result<&Join> {
        made_once(&self.join, || {
            Ok(Join::new(self.require_data()?, self.counts.queries(), self.counts.docs(), self.docs()?))
        })
    }

    /// The row of each shown document; it is an error if none has one.
    pub fn require_rows(&self) -> Result<&[Option<u32>]> {
        let rows = &self.join()?.rows;
        match rows.iter().any(Option::is_some) {
            true => Ok(rows),
            false => Err(nothing_matches(self.require_data()?, self.counts.queries(), "document of the log", "log's")),
        }
    }

    /// Which positions can be compared by documents that moved, or also by their features.
    pub fn comparable_positions(&self, by_features: bool) -> Result<&Identifiability> {
        self.comparable(&self.positions, Groups::Population, by_features)
    }

    /// The same for pairs of a user and a position.
    pub fn comparable_users(&self, by_features: bool) -> Result<&Identifiability> {
        self.comparable(&self.users, Groups::Users, by_features)
    }

    fn comparable<'s>(
        &'s self,
        found: &'s [OnceLock<Identifiability>; 2],
        groups: Groups<'_>,
        by_features: bool,
    ) -> Result<&'s Identifiability> {
        let links = if by_features { Links::Regression } else { Links::Documents };
        made_once(&found[usize::from(by_features)], || Identifiability::of(self, groups, links))
    }
}

/// What is in `cell`, or what `make` puts there; after an error it stays empty.
pub(crate) fn made_once<T>(cell: &OnceLock<T>, make: impl FnOnce() -> Result<T>) -> Result<&T> {
    if let Some(made) = cell.get() {
        return Ok(made);
    }
    let made = make()?;
    Ok(cell.get_or_init(|| made))
}
