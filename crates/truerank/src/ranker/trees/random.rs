//! Forests and documents at random, for tests.

use rand::RngExt;

use super::{Child, Forest, Leaf, Split, Tree};
use crate::random::{Random, stream};

/// Thresholds and features are drawn from these, so that they are often equal; the last ones are as far as numbers go.
const VALUES: [f32; 12] =
    [0.0, -0.0, 0.5, -1.25, 0.1, 3.0, 1e-3, -7e5, 16_777_216.0, f32::MIN_POSITIVE / 4.0, f32::MAX, f32::MIN];

/// A forest of so many trees, each with at most so many leaves.
pub(in crate::ranker) fn random_forest(seed: u64, features: usize, trees: usize, most_leaves: usize) -> Forest {
    let mut random = stream(seed, "random forest", 0);
    let trees = (0..trees).map(|_| random_tree(&mut random, features, most_leaves)).collect();
    Forest::new(features, trees).unwrap()
}

/// Splits one of the leaves, again and again.
fn random_tree(random: &mut Random, features: usize, most_leaves: usize) -> Tree {
    let mut tree = Tree { splits: Vec::new(), leaves: vec![random_leaf(random)] };
    // Who points at each leaf: a split, and whether from its left.
    let mut parents = vec![None];
    for _ in 1..random.random_range(1..=most_leaves) {
        let (leaf, new, number) = (random.random_range(0..tree.leaves.len()), tree.leaves.len(), tree.splits.len());
        if let Some((parent, is_left)) = parents[leaf] {
            let parent: &mut Split = &mut tree.splits[parent];
            *(if is_left { &mut parent.left } else { &mut parent.right }) = Child::Split(number as u32);
        }
        tree.splits.push(Split {
            feature: random.random_range(0..features as u32),
            threshold: VALUES[random.random_range(0..VALUES.len())],
            missing_left: random.random_bool(0.5),
            gain: random.random_range(0.0..10.0),
            left: Child::Leaf(leaf as u32),
            right: Child::Leaf(new as u32),
        });
        tree.leaves.push(random_leaf(random));
        parents[leaf] = Some((number, true));
        parents.push(Some((number, false)));
    }
    tree
}

fn random_leaf(random: &mut Random) -> Leaf {
    Leaf { value: random.random_range(-1.0..1.0), rows: random.random_range(0..1000) }
}

/// Documents, some of whose features are missing, infinite, or next to a threshold.
pub(in crate::ranker) fn random_rows(seed: u64, count: usize, features: usize) -> Vec<f32> {
    let mut random = stream(seed, "random rows", 0);
    let mut value = || {
        let near = VALUES[random.random_range(0..VALUES.len())];
        match random.random_range(0..8) {
            0 => f32::NAN,
            1 => random.random_range(-2.0..2.0),
            2 => near.next_down(),
            3 => near.next_up(),
            _ => near,
        }
    };
    (0..count * features).map(|_| value()).collect()
}
