"""Rankers of trees as files of ours, made by hand from what docs/files.md says of them, and their scores by NumPy."""

import json
from dataclasses import dataclass, field

import numpy as np
from safetensors.numpy import save_file


@dataclass
class Tree:
    """A list for each number of a split or leaf. A child that is not negative is a split; −1 is the first leaf."""

    feature: list = field(default_factory=list)
    threshold: list = field(default_factory=list)
    missing_left: list = field(default_factory=list)
    gain: list = field(default_factory=list)
    left: list = field(default_factory=list)
    right: list = field(default_factory=list)
    value: list = field(default_factory=list)
    rows: list = field(default_factory=list)

    def values(self, features):
        """The leaf value of each row."""
        places = np.zeros(len(features), int) if self.feature else np.full(len(features), -1)
        while (walking := np.flatnonzero(places >= 0)).size:
            at = places[walking]
            values = features[walking, np.array(self.feature)[at]]
            left = (values < np.array(self.threshold, np.float32)[at]) | (
                np.isnan(values) & np.array(self.missing_left)[at]
            )
            places[walking] = np.where(left, np.array(self.left)[at], np.array(self.right)[at])
        return np.array(self.value, np.float32)[-1 - places]


def random_tree(random, width, leaves, grid):
    """Splits one of the leaves, again and again; thresholds are of the grid, gains and values at random."""
    tree = Tree(value=[0.0])
    parents = [None]
    for new in range(1, leaves):
        leaf, split = int(random.integers(new)), len(tree.feature)
        if parents[leaf]:
            side, parent = parents[leaf]
            getattr(tree, side)[parent] = split
        tree.feature.append(int(random.integers(width)))
        tree.threshold.append(float(random.choice(grid)))
        tree.missing_left.append(bool(random.integers(2)))
        tree.gain.append(float(random.exponential()))
        tree.left.append(-1 - leaf)
        tree.right.append(-1 - new)
        parents[leaf] = ("left", split)
        parents.append(("right", split))
        tree.value.append(0.0)
    tree.value = random.normal(size=leaves).astype(np.float32).tolist()
    tree.rows = random.integers(1, 100, size=leaves).tolist()
    return tree


def write(path, trees, width):
    """Writes a ranker; without a seal, which only truerank writes."""
    kinds = {"feature": np.uint32, "threshold": np.float32, "missing_left": bool, "gain": np.float32}
    kinds |= {"left": np.int32, "right": np.int32}

    def joined(name, kind):
        return np.array([value for tree in trees for value in getattr(tree, name)], kind)

    tensors = {f"splits.{name}": joined(name, kind) for name, kind in kinds.items()}
    tensors["trees.ends"] = np.cumsum([len(tree.feature) for tree in trees]).astype(np.uint32)
    tensors |= {"leaves.value": joined("value", np.float32), "leaves.rows": joined("rows", np.uint32)}
    record = {"loss": "", "method": "", "seed": 1, "steps": 0, "best_step": 0, "validation": None}
    record |= {"lists": 0, "skipped_lists": 0, "checks": [], "notes": []}
    about = {"type": "truerank/ranker", "version": 3, "model": "trees", "features": width, "record": record}
    save_file(tensors, path, {"truerank": json.dumps(about)})
    return path


def scores(trees, features, kind=np.float64):
    """The sum of the leaves in this precision, tree after tree; scores are single precision."""
    sums = np.zeros(len(features), kind)
    for tree in trees:
        sums += tree.values(features).astype(kind)
    return sums.astype(np.float32)
