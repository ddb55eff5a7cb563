"""Documents scored by boosted trees: ours beside LightGBM and onnxruntime, on the same trees."""

import sys

import lightgbm
import numpy as np
import onnxruntime

from .common import Row, seconds
from .tables import read_part


def rows(setup):
    folder = setup.folder / "scoring"
    setup.truerank("generate", "--preset", setup.pick("small", "tiny"), "--format", "parquet", "-o", folder)
    features, grades, _ = read_part(folder / "train.parquet")
    documents = np.resize(features, (setup.pick(100_000, 2_000), features.shape[1]))
    documents.tofile(folder / "rows.f32")
    sizes = [(300, 31), (300, 255)]
    return [
        row
        for trees, leaves in sizes
        for row in rows_of(setup, folder, documents, forest(setup, features, grades, setup.pick(trees, 10), leaves), leaves)
    ]


def forest(setup, features, grades, count, leaves):
    """Trees that LightGBM learns."""
    options = {"num_leaves": leaves, "min_data_in_leaf": 5, "verbosity": -1, "num_threads": setup.threads, "seed": 1}
    return lightgbm.train(options, lightgbm.Dataset(features, grades), count)


def rows_of(setup, folder, documents, learned, leaves):
    ranker, scores = folder / f"{leaves}.safetensors", folder / "scores.f32"
    trees = ours(setup, learned, documents.shape[1], ranker)
    model, graph = folder / f"{leaves}.txt", folder / f"{leaves}.onnx"
    setup.truerank("export", ranker, "--to", "lightgbm", "-o", model)
    setup.truerank("export", ranker, "--to", "onnx", "-o", graph)
    booster = lightgbm.Booster(model_file=model)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = setup.threads
    session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    score = ["score_trees", ranker, folder / "rows.f32", scores, "--threads", setup.threads]
    setup.example(*score)
    found = np.fromfile(scores, np.float32)
    assert np.array_equal(booster.predict(documents).astype(np.float32), found)
    assert np.array_equal(session.run(None, {"features": documents})[0], found)
    work = f"score {len(documents):,} documents of {documents.shape[1]} features by {trees} trees of {leaves} leaves"
    peers = {
        "LightGBM": lambda: booster.predict(documents, num_threads=setup.threads),
        "onnxruntime": lambda: session.run(None, {"features": documents}),
    }
    for name, predict in peers.items():
        yield Row(work, name, "≥ 1", lambda: setup.example_seconds(*score), lambda predict=predict: seconds(predict))


def ours(setup, learned, width, path):
    """Writes LightGBM's trees as a ranker of ours; how many there are."""
    # The tests make such files too.
    sys.path.append(str(setup.root / "tests/peers"))
    import forests

    trees = [of_lightgbm(forests.Tree(), info["tree_structure"]) for info in learned.dump_model()["tree_info"]]
    forests.write(path, trees, width)
    return len(trees)


def of_lightgbm(tree, root):
    """Splits in the order of a walk, left before right."""

    def add(node):
        if "split_feature" not in node:
            tree.value.append(node["leaf_value"])
            tree.rows.append(node.get("leaf_count", 0))
            return -len(tree.value)
        number = len(tree.feature)
        tree.feature.append(node["split_feature"])
        tree.threshold.append(above(node["threshold"]))
        tree.missing_left.append(node["default_left"])
        tree.gain.append(node["split_gain"])
        tree.left.append(0)
        tree.right.append(0)
        tree.left[number] = add(node["left_child"])
        tree.right[number] = add(node["right_child"])
        return number

    add(root)
    return tree


def above(threshold):
    """The least number of single precision above a threshold: LightGBM's go left up to it, ours below it."""
    nearest = np.float32(threshold)
    return float(np.nextafter(nearest, np.float32(np.inf)) if nearest <= threshold else nearest)
