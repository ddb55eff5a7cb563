//! Divides the rows of a leaf in two, each part in the order they had.

use rayon::prelude::*;

/// Rows that one task divides.
const TASK: usize = 1 << 15;

/// Moves the rows that go left before the others; returns how many they are. `room` is memory to work in.
pub(super) fn partition(rows: &mut [u32], room: &mut Vec<u32>, goes_left: impl Fn(u32) -> bool + Sync) -> usize {
    room.resize(rows.len().max(room.len()), 0);
    let room = &mut room[..rows.len()];
    if rows.len() <= TASK {
        let left = divide(rows, room, &goes_left);
        rows.copy_from_slice(room);
        return left;
    }
    let lefts: Vec<usize> = rows
        .par_chunks(TASK)
        .zip(room.par_chunks_mut(TASK))
        .map(|(rows, room)| divide(rows, room, &goes_left))
        .collect();
    let total = lefts.iter().sum();
    let (mut to_left, mut to_right) = rows.split_at_mut(total);
    let mut moves = Vec::with_capacity(2 * lefts.len());
    for (room, left) in room.chunks(TASK).zip(lefts) {
        let (from_left, from_right) = room.split_at(left);
        let (left_place, left_rest) = to_left.split_at_mut(from_left.len());
        let (right_place, right_rest) = to_right.split_at_mut(from_right.len());
        (to_left, to_right) = (left_rest, right_rest);
        moves.push((left_place, from_left));
        moves.push((right_place, from_right));
    }
    moves.into_par_iter().for_each(|(to, from)| to.copy_from_slice(from));
    total
}

/// Writes the rows that go left to the front of `room` and the others behind them; returns how many go left.
fn divide(rows: &[u32], room: &mut [u32], goes_left: impl Fn(u32) -> bool) -> usize {
    let (mut left, mut right) = (0, rows.len());
    // Those that go right are written from the back, without a branch that nobody can predict, and turned around.
    for &row in rows {
        let is_left = goes_left(row);
        right -= usize::from(!is_left);
        room[if is_left { left } else { right }] = row;
        left += usize::from(is_left);
    }
    room[left..].reverse();
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_parts_keep_their_order() {
        for count in [0, 1, 7, TASK, 3 * TASK + 5] {
            let mut rows: Vec<u32> = (0..count as u32).map(|row| row * 7 % 1_000_003).collect();
            let is_left = |row: u32| row % 3 == 1;
            let (expected, rest): (Vec<u32>, Vec<u32>) = rows.iter().partition(|&&row| is_left(row));
            let left = partition(&mut rows, &mut Vec::new(), is_left);
            assert_eq!((left, &rows[..left], &rows[left..]), (expected.len(), &expected[..], &rest[..]));
        }
    }
}
