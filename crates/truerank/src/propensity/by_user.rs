//! A log as users saw it: cells enter in the order of documents, the entries of pieces of neighbouring users leave.

use std::borrow::Cow;
use std::ops::Range;

use crate::counts::{Cell, CountsView, by_document};
use crate::files::Spool;
use crate::files::varint::{put, take, take_u32};
use crate::{Error, Result};

/// What each user saw and clicked, kept where the counts are: compact in memory, or in a temporary file.
///
/// A piece of users is worked on by itself, so that nothing has to be held for all users at once.
pub(super) struct UserEntries {
    pub positions: usize,
    pub users: usize,
    /// How many documents there are.
    pub docs: usize,
    pieces: Vec<Piece>,
    spool: Option<Spool>,
}

/// Neighbouring users, and where their entries are: first in the temporary file, then in memory.
#[derive(Default)]
struct Piece {
    users: Range<usize>,
    stored: Vec<Range<u64>>,
    bytes: Vec<u8>,
    last_doc: u32,
}

/// What the users of a piece saw, by document.
pub(super) struct UserPiece<'a> {
    pub users: Range<usize>,
    bytes: Cow<'a, [u8]>,
    damaged: Option<&'a Spool>,
}

/// Entries of a piece, about; small in tests, so that their logs have many pieces.
const ENTRIES: u64 = if cfg!(test) { 1 << 8 } else { 1 << 17 };

/// Pieces at most, as each has a buffer while they are filled.
const PIECES: u64 = 1024;

/// Bytes of a piece that are gathered before they go to the temporary file.
const BUFFER: usize = 1 << 15;

impl UserEntries {
    /// The cells of `counts`, of the documents that are to be kept.
    pub fn of(counts: &dyn CountsView, keep: Option<&[bool]>) -> Result<Self> {
        let (piece_of_user, pieces) = pieces(counts)?;
        let spool = counts.room().map(|room| room.spool()).transpose()?;
        let (positions, users) = (counts.totals().max_position as usize, counts.users().len());
        let mut entries = UserEntries { positions, users, docs: 0, pieces, spool };
        let (mut shown, mut failed) = (0, None);
        counts.for_each_cells(|cells| {
            for of_doc in by_document(cells) {
                shown += 1;
                if failed.is_none() && keep.is_none_or(|keep| keep[shown - 1]) {
                    failed = entries.add(of_doc, &piece_of_user).err();
                }
            }
        })?;
        match failed {
            Some(error) => Err(error),
            None => Ok(entries),
        }
    }

    /// The cells of the next document.
    fn add(&mut self, of_doc: &[Cell], piece_of_user: &[u32]) -> Result<()> {
        let doc = self.docs as u32;
        self.docs += 1;
        for cell in of_doc {
            let piece = &mut self.pieces[piece_of_user[cell.user as usize] as usize];
            piece.push(doc, cell);
            if let Some(spool) = self.spool.as_ref().filter(|_| piece.bytes.len() >= BUFFER) {
                piece.stored.push(spool.append_range(&piece.bytes)?);
                piece.bytes.clear();
            }
        }
        Ok(())
    }

    /// How many pieces there are.
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    /// The users of a piece.
    pub fn users_of(&self, piece: usize) -> Range<usize> {
        self.pieces[piece].users.clone()
    }

    /// Reads a piece.
    pub fn piece(&self, piece: usize) -> Result<UserPiece<'_>> {
        let of_piece = &self.pieces[piece];
        let mut bytes = Cow::Borrowed(of_piece.bytes.as_slice());
        if let Some(spool) = self.spool.as_ref().filter(|_| !of_piece.stored.is_empty()) {
            let mut whole = Vec::new();
            for range in &of_piece.stored {
                whole.extend(spool.range(range.clone())?);
            }
            whole.extend(&of_piece.bytes);
            bytes = Cow::Owned(whole);
        }
        Ok(UserPiece { users: of_piece.users.clone(), bytes, damaged: self.spool.as_ref() })
    }
}

impl Piece {
    fn push(&mut self, doc: u32, cell: &Cell) {
        put(&mut self.bytes, u64::from(doc - self.last_doc));
        put(&mut self.bytes, u64::from(cell.user) - self.users.start as u64);
        put(&mut self.bytes, u64::from(cell.position) - 1);
        put(&mut self.bytes, cell.clicks);
        put(&mut self.bytes, cell.impressions - cell.clicks);
        self.last_doc = doc;
    }
}

impl UserPiece<'_> {
    /// Hands each entry to `take`: its slot (`user · positions + position − 1`, users counted from the first of the piece), its
    /// document, clicks and impressions. Those of a user come in the order of documents.
    pub fn for_each(&self, positions: usize, take: impl FnMut(usize, usize, f64, f64)) -> Result<()> {
        decode(&self.bytes, positions, take).ok_or_else(|| match self.damaged {
            Some(spool) => spool.damaged(),
            None => Error::parameter("entries of users in memory are damaged"),
        })
    }
}

fn decode(mut bytes: &[u8], positions: usize, mut give: impl FnMut(usize, usize, f64, f64)) -> Option<()> {
    let mut doc = 0u32;
    while !bytes.is_empty() {
        doc = doc.checked_add(take_u32(&mut bytes)?)?;
        let (user, position) = (take_u32(&mut bytes)?, take_u32(&mut bytes)?);
        let (clicks, misses) = (take(&mut bytes)?, take(&mut bytes)?);
        give(user as usize * positions + position as usize, doc as usize, clicks as f64, (clicks + misses) as f64);
    }
    Some(())
}

/// Neighbouring users with about equally many cells, and the piece of each user. Users alone decide, not the memory.
fn pieces(counts: &dyn CountsView) -> Result<(Vec<u32>, Vec<Piece>)> {
    let mut cells_of_user = vec![0u32; counts.users().len()];
    counts.for_each_cells(|cells| {
        for cell in cells {
            let count = &mut cells_of_user[cell.user as usize];
            *count = count.saturating_add(1);
        }
    })?;
    let enough = ENTRIES.max(counts.totals().cells / PIECES);
    let (mut pieces, mut start, mut entries) = (Vec::<Piece>::new(), 0, 0);
    let mut end = |start: &mut usize, end: usize| {
        pieces.push(Piece { users: *start..end, ..Piece::default() });
        *start = end;
    };
    for (user, &cells) in cells_of_user.iter().enumerate() {
        entries += u64::from(cells);
        if entries >= enough {
            end(&mut start, user + 1);
            entries = 0;
        }
    }
    if start < cells_of_user.len() {
        end(&mut start, cells_of_user.len());
    }
    // From here on the piece of each user.
    for (number, piece) in pieces.iter().enumerate() {
        cells_of_user[piece.users.clone()].fill(number as u32);
    }
    Ok((cells_of_user, pieces))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::{Counts, SessionCount, assert_same, everywhere};
    use crate::ids::Ids;

    #[test]
    fn every_cell_is_an_entry_of_its_user_wherever_counts_are() {
        let cell =
            |query, doc, user| Cell { query, doc, position: 1 + (query + user) % 3, user, impressions: 3, clicks: 1 };
        let docs = (0..40).flat_map(|query| (0..2).map(move |doc| (query, doc)));
        let users = |query: u32| (0..50u32).filter(move |user| !(query + user).is_multiple_of(4));
        let mut cells: Vec<Cell> =
            docs.flat_map(|(query, doc)| users(query).map(move |user| cell(query, doc, user))).collect();
        cells.sort();
        let sessions =
            (0..40).flat_map(|query| users(query).map(move |user| SessionCount { query, user, sessions: 3 }));
        let counts = Counts {
            sessions: sessions.collect(),
            queries: Ids::numbered(40),
            docs: Ids::numbered(2),
            users: Ids::numbered(50),
            cells,
            ..Counts::default()
        };
        let keep: Vec<bool> = (0..80).map(|doc| doc % 5 > 0).collect();
        let found = everywhere(&counts, |counts: &dyn CountsView| {
            let entries = UserEntries::of(counts, Some(&keep)).unwrap();
            assert!(entries.len() > 5 && entries.docs == 64);
            let mut all = Vec::new();
            for piece in 0..entries.len() {
                let piece = entries.piece(piece).unwrap();
                let first = piece.users.start * 3;
                piece.for_each(3, |slot, doc, clicks, shown| all.push((first + slot, doc, clicks, shown))).unwrap();
            }
            all.sort_by_key(|entry| (entry.1, entry.0));
            all
        });
        let mut expected = Vec::new();
        let kept = by_document(&counts.cells).zip(&keep).filter(|(_, keep)| **keep);
        for (doc, (of_doc, _)) in kept.enumerate() {
            expected.extend(of_doc.iter().map(|c| (c.user as usize * 3 + c.position as usize - 1, doc, 1.0, 3.0)));
        }
        expected.sort_by_key(|entry| (entry.1, entry.0));
        assert_eq!(found[0], expected);
        assert_same(&found);
    }
}
