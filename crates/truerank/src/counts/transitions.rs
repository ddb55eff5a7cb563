//! Click transitions: how often users went from one click on a result page to the next, or to its end.
//!
//! A page with clicks at positions 2 and 5 contributes one to each of `0 → 2`, `2 → 5` and `5 → end`. In click models where what
//! follows a click depends on the past through that click alone, these counts say all that the sessions say.

use std::ops::Range;

use super::model::Shown;

/// Where a page ends without a further click, as [`Transition::to`].
pub const END: u32 = u32::MAX;

/// The click transitions of a log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transitions {
    /// The lists that were shown, sorted by query, then by positions and documents; each once.
    pub lists: Vec<ShownList>,
    /// What the lists showed, one list after another, each sorted by position.
    pub shown: Vec<Listed>,
    /// Sorted by list, user, `from`, `to`; at most one for each such combination.
    pub rows: Vec<Transition>,
}

/// An ordered list of documents that was shown for a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownList {
    /// Number of the query.
    pub query: u32,
    /// Its documents: this range of [`Transitions::shown`].
    pub shown: Range<usize>,
}

/// A document of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listed {
    /// Position, counted from 1; rises within a list.
    pub position: u32,
    /// Number of the document.
    pub doc: u32,
}

/// How many sessions of `user` with `list` went from the click at one position to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Transition {
    /// Number of the list: its place in [`Transitions::lists`].
    pub list: u32,
    /// Number of the user.
    pub user: u32,
    /// Position of the click, 0 before the first.
    pub from: u32,
    /// Position of the next click, [`END`] if there is none.
    pub to: u32,
    /// How many sessions.
    pub sessions: u64,
}

impl Transitions {
    /// What a list showed, by position.
    pub fn of(&self, list: &ShownList) -> &[Listed] {
        &self.shown[list.shown.clone()]
    }

    /// The transitions of a page that is sorted by position, as pairs of `from` and `to`.
    pub fn steps(page: &[Shown]) -> impl Iterator<Item = (u32, u32)> {
        let clicked = page.iter().filter(|shown| shown.click).map(|shown| shown.position);
        let from = std::iter::once(0).chain(clicked.clone());
        from.zip(clicked.chain(std::iter::once(END)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_the_way_from_click_to_click() {
        let page = |clicks: &[u32]| -> Vec<Shown> {
            (1..=6).map(|position| Shown { position, doc: 10 + position, click: clicks.contains(&position) }).collect()
        };
        let steps = |clicks: &[u32]| Transitions::steps(&page(clicks)).collect::<Vec<_>>();
        assert_eq!(steps(&[]), [(0, END)]);
        assert_eq!(steps(&[2, 5]), [(0, 2), (2, 5), (5, END)]);
        assert_eq!(steps(&[6]), [(0, 6), (6, END)]);
    }
}
