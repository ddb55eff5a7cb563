//! A sum of regression trees: features of documents enter, scores leave.

use super::score::Layout;
use crate::{Error, Result};

/// A sum of regression trees, made by boosting. Every score is the sum of one leaf of each tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Forest {
    feature_count: usize,
    trees: Vec<Tree>,
    layout: Layout,
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

/// Other programs count features in 32 bits, and scoring needs a bit.
const MOST_FEATURES: usize = i32::MAX as usize;

impl Forest {
    /// A forest of these trees, each of which must be whole: children after their parent, everything reached once, features below
    /// `feature_count`, and all numbers finite.
    pub fn new(feature_count: usize, trees: Vec<Tree>) -> Result<Self> {
        if !(1..=MOST_FEATURES).contains(&feature_count) {
            return Err(Error::parameter(format!(
                "trees should be on 1 to {MOST_FEATURES} features, but are on {feature_count}"
            )));
        }
        for (number, tree) in trees.iter().enumerate() {
            tree.check(feature_count).map_err(|finding| Error::parameter(format!("tree {} {finding}", number + 1)))?;
        }
        let layout = Layout::new(&trees);
        Ok(Forest { feature_count, trees, layout })
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
        self.layout.score(features, self.feature_count)
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
        let mut node = self.root();
        loop {
            match node {
                Child::Split(number) => node = self.splits[number as usize].next(row),
                Child::Leaf(number) => return number as usize,
            }
        }
    }

    /// Where documents start.
    pub(in crate::ranker) fn root(&self) -> Child {
        if self.splits.is_empty() { Child::Leaf(0) } else { Child::Split(0) }
    }

    /// The number of a node where splits and leaves are numbered together: first the splits, the root among them, then the leaves.
    pub(in crate::ranker) fn node(&self, child: Child) -> usize {
        match child {
            Child::Split(number) => number as usize,
            Child::Leaf(number) => self.splits.len() + number as usize,
        }
    }

    /// All nodes, level by level, the two children of a split side by side. With each is the place of its left child; with a leaf,
    /// its own.
    pub(in crate::ranker) fn in_levels(&self) -> Vec<(Child, usize)> {
        let mut nodes = vec![(self.root(), 0)];
        let mut at = 0;
        while let Some(&(child, _)) = nodes.get(at) {
            nodes[at].1 = match child {
                Child::Leaf(_) => at,
                Child::Split(number) => {
                    let (split, place) = (&self.splits[number as usize], nodes.len());
                    nodes.extend([(split.left, 0), (split.right, 0)]);
                    place
                }
            };
            at += 1;
        }
        nodes
    }

    /// How many splits there are above the lowest leaf.
    pub(in crate::ranker) fn depth(&self) -> usize {
        self.up_from_leaves(|_| 0, |left: usize, right| 1 + left.max(right)).first().copied().unwrap_or(0)
    }

    /// How many training documents each split divided.
    pub fn rows_of_splits(&self) -> Vec<u64> {
        self.up_from_leaves(|leaf| u64::from(leaf.rows), |left, right| left + right)
    }

    /// The mean leaf value of the training documents that each split divided; 0 where there were none.
    pub(in crate::ranker) fn means_of_splits(&self) -> Vec<f64> {
        let sum = |leaf: &Leaf| f64::from(leaf.rows) * f64::from(leaf.value);
        let sums = self.up_from_leaves(sum, |left, right| left + right);
        let mean = |(sum, rows): (f64, u64)| if rows == 0 { 0.0 } else { sum / rows as f64 };
        sums.into_iter().zip(self.rows_of_splits()).map(mean).collect()
    }

    /// A value of each split, made of those of its children.
    fn up_from_leaves<T: Copy + Default>(&self, of_leaf: impl Fn(&Leaf) -> T, join: impl Fn(T, T) -> T) -> Vec<T> {
        let mut values = vec![T::default(); self.splits.len()];
        // Children stand after their parent, so from the back everything below a split is known.
        for (number, split) in self.splits.iter().enumerate().rev() {
            let of = |child: Child| match child {
                Child::Split(below) => values[below as usize],
                Child::Leaf(leaf) => of_leaf(&self.leaves[leaf as usize]),
            };
            values[number] = join(of(split.left), of(split.right));
        }
        values
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
                let feature = u64::from(split.feature) + 1;
                return Err(format!("splits by feature {feature}, but there are {feature_count}"));
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
    fn nodes_are_numbered_and_their_depth_is_known() {
        let nodes = [Child::Split(0), Child::Split(1), Child::Leaf(0), Child::Leaf(2)].map(|child| tree().node(child));
        assert_eq!(nodes, [0, 1, 2, 4]);
        let constant = Tree::constant(0.5, 6);
        assert_eq!((constant.node(constant.root()), tree().node(tree().root())), (0, 0));
        assert_eq!((tree().depth(), constant.depth()), (2, 0));
        let levels =
            [(Child::Split(0), 1), (Child::Split(1), 3), (Child::Leaf(2), 2), (Child::Leaf(0), 3), (Child::Leaf(1), 4)];
        assert_eq!((tree().in_levels(), constant.in_levels()), (levels.to_vec(), vec![(Child::Leaf(0), 0)]));
        // Every leaf has two rows.
        assert_eq!(tree().means_of_splits(), [(1.0 + 2.0 + 4.0) / 3.0, (1.0 + 2.0) / 2.0]);
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
        for features in [0, 1 << 40] {
            let message = Forest::new(features, vec![Tree::constant(0.5, 6)]).unwrap_err().to_string();
            assert_eq!(message, format!("trees should be on 1 to 2147483647 features, but are on {features}"));
        }
        assert!(refused(|tree| tree.splits[0].threshold = f32::NAN).contains("finite thresholds"));
        assert!(refused(|tree| tree.leaves[0].value = f32::INFINITY).ends_with("but one is inf"));
    }
}
