//! A sum of regression trees: features of documents enter, scores leave.

use rayon::prelude::*;

use crate::{Error, Result};

/// A sum of regression trees, made by boosting. Every score is the sum of one leaf of each tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Forest {
    feature_count: usize,
    trees: Vec<Tree>,
}

/// A regression tree: splits, the first of which is the root, and leaves. A tree of one leaf has no splits.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    /// The inner nodes; children come after their parent.
    pub splits: Vec<Split>,
    /// The leaves, one more than there are splits.
    pub leaves: Vec<Leaf>,
}

/// An inner node: documents whose feature is below the threshold go left, all others right.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Split {
    /// The feature, counted from 0.
    pub feature: u32,
    /// `feature < threshold` goes left.
    pub threshold: f32,
    /// Whether documents without the feature (NaN) go left.
    pub missing_left: bool,
    /// How much the split reduced the loss, by its second-order expansion.
    pub gain: f32,
    /// Where those on the left go.
    pub left: Child,
    /// Where those on the right go.
    pub right: Child,
}

/// What is below a split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Child {
    /// The split of this number.
    Split(u32),
    /// The leaf of this number.
    Leaf(u32),
}

/// The end of a path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Leaf {
    /// What it adds to a score.
    pub value: f32,
    /// How many training documents ended here.
    pub rows: u32,
}

/// How much a feature contributes to a forest.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Importance {
    /// How many splits are by this feature.
    pub splits: usize,
    /// The sum of their gains.
    pub gain: f64,
}

/// No tree has more leaves; a larger number is a mistake or a damaged file.
pub(in crate::ranker) const MOST_LEAVES: usize = 1 << 16;

/// Documents that one task scores.
const TASK: usize = 256;

impl Forest {
    /// A forest of these trees, each of which must be whole: children after their parent, everything reached once, features below
    /// `feature_count`, and all numbers finite.
    pub fn new(feature_count: usize, trees: Vec<Tree>) -> Result<Self> {
        for (number, tree) in trees.iter().enumerate() {
            tree.check(feature_count).map_err(|finding| Error::parameter(format!("tree {} {finding}", number + 1)))?;
        }
        Ok(Forest { feature_count, trees })
    }

    /// How many features a document must have.
    pub fn feature_count(&self) -> usize {
        self.feature_count
    }

    /// The trees, in the order in which they were added.
    pub fn trees(&self) -> &[Tree] {
        &self.trees
    }

    /// Scores the rows of a row-major matrix. A score is summed in double precision, in the order of the trees.
    pub fn score(&self, features: &[f32]) -> Vec<f32> {
        let width = self.feature_count.max(1);
        let mut scores = vec![0.0_f32; features.len() / width];
        let tasks = scores.par_chunks_mut(TASK).zip(features.par_chunks(TASK * width));
        tasks.for_each(|(scores, features)| {
            let mut sums = [0.0_f64; TASK];
            // Tree by tree, so that a tree stays in cache for many documents.
            for tree in &self.trees {
                for (sum, row) in sums.iter_mut().zip(features.chunks_exact(width)) {
                    *sum += f64::from(tree.value(row));
                }
            }
            scores.iter_mut().zip(sums).for_each(|(score, sum)| *score = sum as f32);
        });
        scores
    }

    /// How much each feature contributes, in order.
    pub fn importance(&self) -> Vec<Importance> {
        let mut all = vec![Importance::default(); self.feature_count];
        for split in self.trees.iter().flat_map(|tree| &tree.splits) {
            let of_feature = &mut all[split.feature as usize];
            of_feature.splits += 1;
            of_feature.gain += f64::from(split.gain);
        }
        all
    }
}

impl Tree {
    /// A tree that adds the same to every score.
    pub fn constant(value: f32, rows: u32) -> Self {
        Tree { splits: Vec::new(), leaves: vec![Leaf { value, rows }] }
    }

    /// What the tree adds to the score of a document.
    #[inline]
    pub fn value(&self, row: &[f32]) -> f32 {
        self.leaves[self.leaf(row)].value
    }

    /// The number of the leaf in which a document ends.
    #[inline]
    pub fn leaf(&self, row: &[f32]) -> usize {
        let mut node = if self.splits.is_empty() { Child::Leaf(0) } else { Child::Split(0) };
        loop {
            match node {
                Child::Split(number) => node = self.splits[number as usize].next(row),
                Child::Leaf(number) => return number as usize,
            }
        }
    }

    /// How many training documents each split divided.
    pub fn rows_of_splits(&self) -> Vec<u64> {
        let mut rows = vec![0_u64; self.splits.len()];
        // Children stand after their parent, so from the back all counts below a split are known.
        for (number, split) in self.splits.iter().enumerate().rev() {
            let of = |child: Child| match child {
                Child::Split(below) => rows[below as usize],
                Child::Leaf(leaf) => u64::from(self.leaves[leaf as usize].rows),
            };
            rows[number] = of(split.left) + of(split.right);
        }
        rows
    }

    /// What is wrong with it, if anything.
    fn check(&self, feature_count: usize) -> Result<(), String> {
        let (splits, leaves) = (self.splits.len(), self.leaves.len());
        if leaves != splits + 1 || leaves > MOST_LEAVES {
            return Err(format!(
                "should have one leaf more than splits and at most {MOST_LEAVES}, but has {leaves} leaves and {splits} splits"
            ));
        }
        let (mut reached, mut ended) = (vec![false; splits], vec![false; leaves]);
        for (number, split) in self.splits.iter().enumerate() {
            if split.feature as usize >= feature_count {
                return Err(format!("splits by feature {}, but there are {feature_count}", split.feature + 1));
            }
            if !(split.threshold.is_finite() && split.gain.is_finite()) {
                return Err(format!("should have finite thresholds and gains, but split {number} has not"));
            }
            for child in [split.left, split.right] {
                let place = match child {
                    Child::Split(below) if below as usize > number => reached.get_mut(below as usize),
                    Child::Split(_) => None,
                    Child::Leaf(leaf) => ended.get_mut(leaf as usize),
                };
                match place {
                    Some(place) if !*place => *place = true,
                    _ => return Err(format!("should be a tree, but below split {number} it is none")),
                }
            }
        }
        match self.leaves.iter().find(|leaf| !leaf.value.is_finite()) {
            Some(leaf) => Err(format!("should have finite leaves, but one is {}", leaf.value)),
            None => Ok(()),
        }
    }
}

impl Split {
    /// Where a document goes.
    #[inline]
    pub fn next(&self, row: &[f32]) -> Child {
        let value = row[self.feature as usize];
        match value < self.threshold || (self.missing_left && value.is_nan()) {
            true => self.left,
            false => self.right,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(feature: u32, threshold: f32, left: Child, right: Child) -> Split {
        Split { feature, threshold, missing_left: false, gain: 1.0, left, right }
    }

    fn leaf(value: f32) -> Leaf {
        Leaf { value, rows: 2 }
    }

    /// `x1 < .5 ? (x0 < 2 ? 1 : 2) : 4`; without x0 to the left, without x1 to the right.
    fn tree() -> Tree {
        let left = Split { missing_left: true, ..split(0, 2.0, Child::Leaf(0), Child::Leaf(1)) };
        let root = Split { gain: 3.0, ..split(1, 0.5, Child::Split(1), Child::Leaf(2)) };
        Tree { splits: vec![root, left], leaves: vec![leaf(1.0), leaf(2.0), leaf(4.0)] }
    }

    #[test]
    fn documents_walk_to_their_leaf() {
        let forest = Forest::new(2, vec![tree(), Tree::constant(0.5, 6)]).unwrap();
        let rows = [[1.0, 0.0], [2.0, 0.0], [f32::NAN, 0.0], [0.0, 0.5], [0.0, f32::NAN]];
        let scores = forest.score(&rows.concat());
        assert_eq!(scores, [1.5, 2.5, 1.5, 4.5, 4.5]);
        assert_eq!(tree().rows_of_splits(), [6, 4]);
    }

    #[test]
    fn many_documents_score_as_each_does() {
        let forest = Forest::new(2, vec![tree(), tree()]).unwrap();
        let features: Vec<f32> = (0..2000).map(|i| (i % 7) as f32 / 2.0 - 0.5).collect();
        let one_by_one: Vec<f32> = features.chunks(2).map(|row| tree().value(row) * 2.0).collect();
        assert_eq!(forest.score(&features), one_by_one);
    }

    #[test]
    fn importance_counts_splits_and_their_gains() {
        let forest = Forest::new(3, vec![tree(), tree()]).unwrap();
        let expected = [(2, 2.0), (2, 6.0), (0, 0.0)].map(|(splits, gain)| Importance { splits, gain });
        assert_eq!(forest.importance(), expected);
    }

    #[test]
    fn what_is_no_tree_is_refused() {
        let refused = |change: fn(&mut Tree)| {
            let mut changed = tree();
            change(&mut changed);
            Forest::new(2, vec![tree(), changed]).unwrap_err().to_string()
        };
        assert!(refused(|tree| tree.leaves.truncate(2)).starts_with("tree 2 should have one leaf more than splits"));
        assert_eq!(refused(|tree| tree.splits[1].feature = 2), "tree 2 splits by feature 3, but there are 2");
        for circle in [Child::Split(0), Child::Split(1), Child::Leaf(3), Child::Leaf(1)] {
            let mut changed = tree();
            changed.splits[1].left = circle;
            let message = Forest::new(2, vec![changed]).unwrap_err().to_string();
            assert_eq!(message, "tree 1 should be a tree, but below split 1 it is none");
        }
        assert!(refused(|tree| tree.splits[0].threshold = f32::NAN).contains("finite thresholds"));
        assert!(refused(|tree| tree.leaves[0].value = f32::INFINITY).ends_with("but one is inf"));
    }
}
