//! Is θ identified? Counts and what links their slots enter, the pieces that can be compared leave.

mod explain;
mod features;
mod union_find;

use std::borrow::Cow;

use crate::counts::{Cell, CountsView, by_document};
use crate::propensity::{CellsElsewhere, Joined};
use crate::{Error, Result};
use union_find::UnionFind;

/// Whose examination is to be estimated.
#[derive(Debug, Clone, Copy)]
pub enum Groups<'a> {
    /// All users together: one θ(k) per position.
    Population,
    /// Each user alone: θ(u,k).
    Users,
    /// The group of each user of the counts, numbered from 0.
    Given(&'a [u32]),
}

/// What makes slots comparable. Documents that are not in the data keep a γ of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// One free γ for each (query, document).
    Documents,
    /// One free γ for each distinct feature vector.
    Vectors,
    /// γ is one function of the features.
    Regression,
}

/// A group of users at a position: what has one θ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot {
    /// Number of the group; the user's number where each user is a group.
    pub group: u32,
    /// Position, counted from 1.
    pub position: u32,
}

/// Slots that can be compared with each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Sorted by group, then position.
    pub slots: Vec<Slot>,
    /// How many impressions they have.
    pub impressions: u64,
}

/// Which examination probabilities can be compared, before any is fitted.
///
/// Clicks show only the products `θ(g,k) γ(q,d)` of a group's examination and a document's relevance. Two slots `(g,k)`
/// are comparable when something with *one* γ was seen in both, and then along chains of such pairs; every piece of this
/// graph has a scale of its own, which no amount of data fixes. What has one γ depends on [`Links`]:
///
/// 1. a (query, document) that was shown in both slots;
/// 2. with features, any documents with the same feature vector, bit for bit (0 and −0 are the same);
/// 3. with a regression of γ on the features, documents that are alike. Before the fit this is judged by position: for each
///    feature take the central 90 % of its values over the documents shown there, each counted once (at most 2,000 of
///    them, evenly spaced over the queries). Two positions are linked unless the intervals are disjoint on some feature,
///    and a slot joins its position as soon as one of its documents has features. Positions with fewer than 10
///    documents are linked by no feature: with so few, chance separates some feature or hides a gap.
///
/// Documents that were never clicked link nothing: γ = 0 explains them whatever θ is. Slots without clicks have θ = 0
/// whatever they are compared with and would be false bridges: they are in no piece, but in [`silent`](Self::silent).
///
/// The check is necessary, not sufficient. Features may overlap one by one and still not together (on a diagonal, say); a
/// regression that can fit every document alone compares nothing; users who saw documents unlike all others at a
/// position join it nevertheless; and a comparison in which one side has no click on the shared documents bounds the
/// ratio of two θ on one side only. Near linear in the cells, and in the sampled values for (3).
///
/// ```
/// use truerank::counts::{Cell, Counts};
/// use truerank::ids::Ids;
/// use truerank::propensity::{Groups, Identifiability, Joined, Links};
///
/// let shown = |doc, position| Cell { query: 0, doc, position, user: 0, impressions: 10, clicks: 2 };
/// let mut counts = Counts {
///     queries: Ids::numbered(1),
///     docs: Ids::numbered(2),
///     users: Ids::numbered(1),
///     cells: vec![shown(0, 1), shown(1, 2)],
///     ..Counts::default()
/// };
/// let fixed = Identifiability::of(&Joined::new(&counts, None), Groups::Population, Links::Documents)?;
/// assert!(fixed.nothing_connects_positions());
/// counts.cells = vec![shown(0, 1), shown(0, 2), shown(1, 2)];
/// assert!(Identifiability::of(&Joined::new(&counts, None), Groups::Population, Links::Documents)?.is_connected());
/// # Ok::<(), truerank::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identifiability {
    /// The pieces, the one with the most impressions first.
    pub pieces: Vec<Piece>,
    /// How many slots of each position have impressions but no click: their θ is estimated at 0.
    pub silent: Vec<u64>,
    /// Sets of positions that hang together when users are merged, by their first position.
    position_pieces: Vec<Vec<u32>>,
    grouping: Grouping,
    linking: Links,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grouping {
    Population,
    Users,
    Given,
}

impl Identifiability {
    /// The pieces of a log. It is an error if given groups do not fit the users, or if features link but there are none.
    pub fn of(log: &Joined<'_>, groups: Groups<'_>, links: Links) -> Result<Self> {
        let slots = groups.slots(log.counts)?;
        let seen = Seen::of(log.counts, &slots)?;
        let sets = link(log, &seen, links, |take| {
            let mut doc = 0;
            log.counts.for_each_cells(|cells| {
                for of_doc in by_document(cells) {
                    let shown = of_doc.iter().filter(|cell| cell.impressions > 0);
                    shown.for_each(|cell| take(doc, slots.of(cell)));
                    doc += 1;
                }
            })
        })?;
        let (mut pieces, piece_of_slot) = pieces(slots.positions, &seen.live, sets);
        log.counts.for_each_cells(|cells| {
            for cell in cells {
                if let Some(piece) = pieces.get_mut(piece_of_slot[slots.of(cell) as usize] as usize) {
                    piece.impressions += cell.impressions;
                }
            }
        })?;
        let silent = silent(slots.positions, &seen.live, |slot| seen.shown[slot]);
        Ok(Self::of_pieces(slots.positions, pieces, silent, groups.grouping(), links))
    }

    /// The pieces of users whose cells are elsewhere. `log` has all users together.
    pub(super) fn elsewhere(log: &Joined<'_>, cells: &dyn CellsElsewhere, by_features: bool) -> Result<Self> {
        let links = if by_features { Links::Regression } else { Links::Documents };
        let of_slots = cells.slots(None)?;
        let is_any = |counts: &[u64]| counts.iter().map(|&count| count > 0).collect::<Vec<bool>>();
        let seen = Seen {
            positions: cells.positions(),
            shown: is_any(&of_slots.impressions),
            live: is_any(&of_slots.clicks),
            clicked: clicked(log.counts)?,
        };
        let sets = link(log, &seen, links, |take| cells.for_each_shown(take))?;
        Ok(Self::of_sets(&seen, sets, &of_slots.impressions, Grouping::Users, links))
    }

    /// The pieces of slots of which these pairs are linked by a clicked document; a value for each slot.
    pub(crate) fn of_links(
        positions: usize,
        impressions: &[u64],
        clicks: &[f64],
        pairs: &[(u32, u32)],
        groups: Groups<'_>,
    ) -> Self {
        let live: Vec<bool> = clicks.iter().map(|&clicks| clicks > 0.0).collect();
        let shown = impressions.iter().map(|&impressions| impressions > 0).collect();
        let mut sets = UnionFind::new(live.len() + positions);
        pairs.iter().for_each(|&(a, b)| sets.unite(a, b));
        let seen = Seen { positions, shown, live, clicked: Vec::new() };
        Self::of_sets(&seen, sets, impressions, groups.grouping(), Links::Documents)
    }

    fn of_sets(seen: &Seen, sets: UnionFind, impressions: &[u64], grouping: Grouping, links: Links) -> Self {
        let (mut pieces, piece_of_slot) = pieces(seen.positions, &seen.live, sets);
        for (&piece, impressions) in piece_of_slot.iter().zip(impressions) {
            if let Some(piece) = pieces.get_mut(piece as usize) {
                piece.impressions += impressions;
            }
        }
        let silent = silent(seen.positions, &seen.live, |slot| seen.shown[slot]);
        Self::of_pieces(seen.positions, pieces, silent, grouping, links)
    }

    fn of_pieces(
        positions: usize,
        mut pieces: Vec<Piece>,
        silent: Vec<u64>,
        grouping: Grouping,
        linking: Links,
    ) -> Self {
        // Stable: pieces of equal size stay in the order of their first slots.
        pieces.sort_by_key(|piece| std::cmp::Reverse(piece.impressions));
        Identifiability { position_pieces: position_pieces(&pieces, positions), silent, pieces, grouping, linking }
    }

    /// Whether all slots with clicks can be compared.
    pub fn is_connected(&self) -> bool {
        self.pieces.len() == 1
    }

    /// Whether all positions with clicks can be compared when users are merged: a chain may pass from one user's
    /// position to another user's same position.
    pub fn positions_connected(&self) -> bool {
        self.position_pieces.len() == 1
    }

    /// Whether no two different positions are linked at all; then clicks alone say nothing about θ and no fit is
    /// meaningful. A log with a single position has nothing to compare and is not meant.
    pub fn nothing_connects_positions(&self) -> bool {
        let mut positions: Vec<u32> = self.position_pieces.concat();
        positions.extend((1..).zip(&self.silent).filter(|(_, slots)| **slots > 0).map(|(position, _)| position));
        let several = positions.iter().any(|&position| position != positions[0]);
        several
            && self.pieces.iter().all(|piece| piece.slots.iter().all(|slot| slot.position == piece.slots[0].position))
    }
}

impl Piece {
    /// Its positions, sorted.
    pub fn positions(&self) -> Vec<u32> {
        let most = self.slots.iter().map(|slot| slot.position).max().unwrap_or(0);
        let mut has = vec![false; most as usize + 1];
        self.slots.iter().for_each(|slot| has[slot.position as usize] = true);
        (0..=most).filter(|&position| has[position as usize]).collect()
    }

    /// Its groups, sorted.
    pub fn groups(&self) -> Vec<u32> {
        let mut groups: Vec<u32> = self.slots.iter().map(|slot| slot.group).collect();
        groups.dedup();
        groups
    }
}

impl<'a> Groups<'a> {
    fn slots(&self, counts: &dyn CountsView) -> Result<Slots<'a>> {
        let (users, positions) = (counts.users().len(), counts.totals().max_position as usize);
        let group_of_user: Cow<'a, [u32]> = match *self {
            Groups::Population => vec![0; users].into(),
            Groups::Users => (0..users as u32).collect(),
            Groups::Given(groups) => self.check(groups, users)?.into(),
        };
        Ok(Slots { positions, groups: group_of_user.iter().max().map_or(1, |&most| most as usize + 1), group_of_user })
    }

    fn check<'g>(&self, groups: &'g [u32], users: usize) -> Result<&'g [u32]> {
        if groups.len() != users {
            let found = groups.len();
            return Err(Error::parameter(format!("each of {users} users should have a group, but {found} have one")));
        }
        match groups.iter().find(|&&group| group as usize >= users) {
            Some(group) => Err(Error::parameter(format!(
                "groups should be numbered from 0 and not be more than the {users} users, but one is {group}"
            ))),
            None => Ok(groups),
        }
    }

    fn grouping(&self) -> Grouping {
        match self {
            Groups::Population => Grouping::Population,
            Groups::Users => Grouping::Users,
            Groups::Given(_) => Grouping::Given,
        }
    }
}

/// Groups of users at positions, numbered `group · positions + position − 1`.
struct Slots<'a> {
    positions: usize,
    groups: usize,
    group_of_user: Cow<'a, [u32]>,
}

impl Slots<'_> {
    fn count(&self) -> usize {
        self.groups * self.positions
    }

    fn of(&self, cell: &Cell) -> u32 {
        self.group_of_user[cell.user as usize] * self.positions as u32 + cell.position - 1
    }
}

/// What one pass over the cells tells.
struct Seen {
    positions: usize,
    /// Whether each slot has impressions.
    shown: Vec<bool>,
    /// Whether each slot has clicks.
    live: Vec<bool>,
    /// Whether each document was clicked.
    clicked: Vec<bool>,
}

impl Seen {
    fn of(counts: &dyn CountsView, slots: &Slots<'_>) -> Result<Self> {
        let (shown, live) = (vec![false; slots.count()], vec![false; slots.count()]);
        let mut seen = Seen { positions: slots.positions, shown, live, clicked: Vec::new() };
        counts.for_each_cells(|cells| by_document(cells).for_each(|of_doc| seen.add(of_doc, slots)))?;
        Ok(seen)
    }

    fn add(&mut self, of_doc: &[Cell], slots: &Slots<'_>) {
        for cell in of_doc {
            let slot = slots.of(cell) as usize;
            self.shown[slot] |= cell.impressions > 0;
            self.live[slot] |= cell.clicks > 0;
        }
        self.clicked.push(is_clicked(of_doc));
    }
}

fn is_clicked(of_doc: &[Cell]) -> bool {
    of_doc.iter().any(|cell| cell.clicks > 0)
}

/// Whether each document was clicked.
fn clicked(counts: &dyn CountsView) -> Result<Vec<bool>> {
    let mut clicked = Vec::with_capacity(counts.totals().shown as usize);
    counts.for_each_cells(|cells| clicked.extend(by_document(cells).map(is_clicked)))?;
    Ok(clicked)
}

/// Sets of slots, and after them of one hub per position.
///
/// `for_each_shown` hands over the document and the slot of every cell that was shown, in any order: live slots that saw documents of
/// one γ are linked.
fn link(
    log: &Joined<'_>,
    seen: &Seen,
    links: Links,
    for_each_shown: impl Fn(&mut dyn FnMut(u32, u32)) -> Result<()>,
) -> Result<UnionFind> {
    let mut sets = UnionFind::new(seen.live.len() + seen.positions);
    let gamma = match links {
        Links::Documents => (0..seen.clicked.len() as u32).collect(),
        Links::Vectors | Links::Regression => features::same_vectors(&log.join()?.rows, log.require_data()?),
    };
    let mut by_position = match links {
        Links::Regression => Some(features::ByPosition::new(log.require_data()?, &log.join()?.rows, seen)),
        Links::Documents | Links::Vectors => None,
    };
    let mut clicked = vec![false; gamma.len()];
    gamma.iter().zip(&seen.clicked).for_each(|(&gamma, of_doc)| clicked[gamma as usize] |= of_doc);
    let mut first = vec![None; gamma.len()];
    for_each_shown(&mut |doc, slot| {
        if !seen.live[slot as usize] {
            return;
        }
        let gamma = gamma[doc as usize] as usize;
        if clicked[gamma] {
            sets.unite(slot, *first[gamma].get_or_insert(slot));
        }
        if let Some(by_position) = &mut by_position {
            by_position.add(doc, slot, &mut sets);
        }
    })?;
    if let Some(by_position) = by_position {
        by_position.link(&mut sets);
    }
    Ok(sets)
}

/// The pieces, in the order of their first slots and without their impressions, and the piece of each slot.
fn pieces(positions: usize, live: &[bool], mut sets: UnionFind) -> (Vec<Piece>, Vec<u32>) {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut piece_of_slot = vec![NO_PIECE; live.len()];
    for slot in (0..live.len()).filter(|&slot| live[slot]) {
        // The root is the smallest member of its set, and hubs come last: it is a slot, and was here first.
        let root = sets.find(slot as u32) as usize;
        if piece_of_slot[root] == NO_PIECE {
            piece_of_slot[root] = pieces.len() as u32;
            pieces.push(Piece { slots: Vec::new(), impressions: 0 });
        }
        piece_of_slot[slot] = piece_of_slot[root];
        pieces[piece_of_slot[slot] as usize].slots.push(slot_of(slot, positions));
    }
    (pieces, piece_of_slot)
}

/// The piece of slots without clicks.
const NO_PIECE: u32 = u32::MAX;

/// How many slots of each position were shown something and have no clicks.
fn silent(positions: usize, live: &[bool], shown: impl Fn(usize) -> bool) -> Vec<u64> {
    let mut silent = vec![0; positions];
    (0..live.len()).filter(|&slot| shown(slot) && !live[slot]).for_each(|slot| silent[slot % positions] += 1);
    silent
}

/// The pieces of the graph in which the slots of a position are one node.
fn position_pieces(pieces: &[Piece], positions: usize) -> Vec<Vec<u32>> {
    let mut sets = UnionFind::new(positions + 1);
    let mut shown = vec![false; positions + 1];
    for piece in pieces {
        for slot in &piece.slots {
            sets.unite(slot.position, piece.slots[0].position);
            shown[slot.position as usize] = true;
        }
    }
    let mut by_root = vec![Vec::new(); positions + 1];
    (1..=positions as u32)
        .filter(|&position| shown[position as usize])
        .for_each(|position| by_root[sets.find(position) as usize].push(position));
    by_root.into_iter().filter(|positions| !positions.is_empty()).collect()
}

fn slot_of(slot: usize, positions: usize) -> Slot {
    Slot { group: (slot / positions) as u32, position: (slot % positions) as u32 + 1 }
}

fn sorted_distinct(values: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut values: Vec<u32> = values.collect();
    values.sort_unstable();
    values.dedup();
    values
}

#[cfg(test)]
mod tests;
