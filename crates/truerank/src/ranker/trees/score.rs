//! Forests laid out for scoring: features of documents enter, sums of leaves leave.
//!
//! The nodes of a tree stand in one array, level by level, the two children of a split side by side, so that a comparison is an offset
//! and no branch that a processor would have to guess. Several documents walk down a tree at once: while one waits for memory, the
//! others go on. Who has reached a leaf stays there until all have.
//!
//! Features are compared as whole numbers of the same order, [`key`], in which what is missing is least; a split from which the missing
//! go right subtracts 1, which makes it the largest.

use rayon::prelude::*;

use super::model::{Child, Tree};

/// Documents that one task scores: their features stay in cache while all trees pass over them.
const TASK: usize = 64;
/// Documents that walk at once.
const WALKERS: usize = 8;
/// The bit of [`Node::feature`] that says whether missing values go right.
const MISSING_RIGHT: u32 = 1 << 31;

/// All trees of a forest.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Layout {
    nodes: Vec<Node>,
    /// Where the nodes of each tree end.
    ends: Vec<usize>,
}

/// A split or a leaf, in a quarter of a cache line.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Node {
    /// Keys from here on go right. Of a leaf it is above all keys.
    threshold: u32,
    /// The feature, and [`MISSING_RIGHT`].
    feature: u32,
    /// The left child, right before the right one; of a leaf, itself.
    left: u32,
    /// What a leaf adds to a score.
    value: f32,
}

impl Layout {
    /// Trees that were checked.
    pub(super) fn new(trees: &[Tree]) -> Self {
        let mut layout = Layout { nodes: Vec::new(), ends: Vec::with_capacity(trees.len()) };
        for tree in trees {
            layout.nodes.extend(tree.in_levels().into_iter().map(|(child, left)| Node::new(tree, child, left as u32)));
            layout.ends.push(layout.nodes.len());
        }
        layout
    }

    /// Scores the rows of a row-major matrix of this width.
    pub(super) fn score(&self, features: &[f32], width: usize) -> Vec<f32> {
        let mut scores = vec![0.0_f32; features.len() / width];
        let tasks = scores.par_chunks_mut(TASK).zip(features.par_chunks(TASK * width));
        tasks.for_each_init(Vec::new, |keys, (scores, features)| {
            keys.clear();
            keys.extend(features.iter().map(|&value| key(value)));
            let mut sums = [0.0_f64; TASK];
            self.add_to(&mut sums[..scores.len()], keys, width);
            scores.iter_mut().zip(sums).for_each(|(score, sum)| *score = sum as f32);
        });
        scores
    }

    /// Adds the leaf of each tree, in their order, to the sum of each row of keys.
    fn add_to(&self, sums: &mut [f64], keys: &[u32], width: usize) {
        let mut start = 0;
        for &end in &self.ends {
            let nodes = &self.nodes[start..end];
            start = end;
            let (groups, rest) = sums.as_chunks_mut::<WALKERS>();
            let (rows, rows_left) = keys.split_at(groups.len() * WALKERS * width);
            for (sums, rows) in groups.iter_mut().zip(rows.chunks_exact(WALKERS * width)) {
                walk(nodes, rows, width, sums);
            }
            for (sum, row) in rest.iter_mut().zip(rows_left.chunks_exact(width)) {
                walk(nodes, row, width, std::array::from_mut(sum));
            }
        }
    }
}

/// Takes `N` documents down a tree and adds their leaves to their sums.
#[inline]
fn walk<const N: usize>(nodes: &[Node], rows: &[u32], width: usize, sums: &mut [f64; N]) {
    let rows: [&[u32]; N] = std::array::from_fn(|walker| &rows[walker * width..(walker + 1) * width]);
    let mut places = [0_u32; N];
    loop {
        let mut moved = 0;
        for (place, row) in places.iter_mut().zip(rows) {
            let next = nodes[*place as usize].next(row);
            moved |= next ^ *place;
            *place = next;
        }
        if moved == 0 {
            break;
        }
    }
    for (sum, place) in sums.iter_mut().zip(places) {
        *sum += f64::from(nodes[place as usize].value);
    }
}

/// A number above 0 for every value, larger for larger ones and the same for both zeros; 0 for NaN.
#[inline]
fn key(value: f32) -> u32 {
    // Adding 0 takes the sign from −0. Negative numbers are ordered from the back, so all their bits change.
    let bits = (value + 0.0).to_bits();
    let ordered = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
    if value.is_nan() { 0 } else { ordered }
}

impl Node {
    fn new(tree: &Tree, child: Child, left: u32) -> Self {
        match child {
            Child::Leaf(leaf) => {
                Node { threshold: u32::MAX, feature: 0, left, value: tree.leaves[leaf as usize].value }
            }
            Child::Split(number) => {
                let split = &tree.splits[number as usize];
                let missing = if split.missing_left { 0 } else { MISSING_RIGHT };
                let threshold = key(split.threshold) - u32::from(missing > 0);
                Node { threshold, feature: split.feature | missing, left, value: 0.0 }
            }
        }
    }

    /// Where a document goes.
    #[inline]
    fn next(&self, row: &[u32]) -> u32 {
        let key = row[(self.feature & !MISSING_RIGHT) as usize].wrapping_sub(self.feature >> 31);
        self.left + u32::from(key >= self.threshold)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Forest;
    use super::super::random::{random_forest, random_rows};
    use super::*;

    /// One document after another, one tree after another.
    fn plainly(forest: &Forest, features: &[f32]) -> Vec<f32> {
        let score = |row: &[f32]| forest.trees().iter().map(|tree| f64::from(tree.value(row))).sum::<f64>() as f32;
        features.chunks_exact(forest.feature_count()).map(score).collect()
    }

    proptest! {
        #[test]
        fn keys_are_ordered_as_values_are(first: u32, second: u32) {
            let (first, second) = (f32::from_bits(first), f32::from_bits(second));
            for (first, second) in [(first, second), (first, first.next_up()), (first, -first)] {
                if first.is_nan() || second.is_nan() {
                    prop_assert_eq!(key(first) == 0, first.is_nan());
                } else {
                    prop_assert_eq!(first.partial_cmp(&second).unwrap(), key(first).cmp(&key(second)));
                    prop_assert!((1..u32::MAX).contains(&key(first)));
                }
            }
        }

        #[test]
        fn documents_walk_together_as_alone(
            seed: u64, features in 1usize..6, trees in 0usize..12, leaves in 1usize..40, rows in 0usize..200,
        ) {
            let forest = random_forest(seed, features, trees, leaves);
            let rows = random_rows(seed, rows, features);
            prop_assert_eq!(forest.score(&rows), plainly(&forest, &rows));
        }
    }

    #[test]
    fn keys_of_the_ends_of_numbers() {
        assert_eq!((key(-0.0), key(f32::NAN), key(-f32::NAN)), (key(0.0), 0, 0));
        let ordered =
            [f32::NEG_INFINITY, f32::MIN, -f32::MIN_POSITIVE, 0.0, f32::from_bits(1), 1.0, f32::MAX, f32::INFINITY];
        assert!(ordered.map(key).is_sorted_by(|a, b| a < b) && key(f32::NEG_INFINITY) > 0);
    }

    #[test]
    fn a_tree_may_be_as_deep_as_it_has_splits() {
        let split = |number: u32| super::super::Split {
            feature: 0,
            threshold: number as f32,
            missing_left: number.is_multiple_of(2),
            gain: 0.0,
            left: Child::Leaf(number),
            right: if number == 4_999 { Child::Leaf(number + 1) } else { Child::Split(number + 1) },
        };
        let leaf = |number: u32| super::super::Leaf { value: number as f32, rows: 1 };
        let tree = Tree { splits: (0..5_000).map(split).collect(), leaves: (0..5_001).map(leaf).collect() };
        assert_eq!(tree.depth(), 5_000);
        let forest = Forest::new(1, vec![tree]).unwrap();
        assert_eq!(forest.score(&[-1.0, 0.0, 2_500.5, 1e9, f32::NAN]), [0.0, 1.0, 2_501.0, 5_000.0, 0.0]);
    }
}
