"""Trees in other programs: the same scores from ONNX, LightGBM and XGBoost, and from the plugins of search servers as documented."""

import json
import os
import subprocess
from pathlib import Path

import forests
import lightgbm
import numpy as np
import onnx
import onnxruntime
import pytest
import xgboost
from conftest import ROOT, truerank

WIDTH = 5
NAMES = ["bm25", "age", "clicks", "title_length", "größe"]
# Thresholds and features are of these, so that many are equal.
GRID = np.array([0, -0.0, 0.5, 0.1, -1.25, 3, 1e-3, -7e5, 2**24, 1e-39, 3e38], np.float32)


@pytest.fixture(scope="module", params=["usual", "one leaf", "no trees", "large"])
def forest(request, tmp_path_factory):
    """Trees, and their file."""
    random = np.random.default_rng(5)
    sizes = {"usual": random.integers(1, 40, size=60), "one leaf": [1], "no trees": [], "large": [3000, 2]}
    trees = [forests.random_tree(random, WIDTH, int(leaves), GRID) for leaves in sizes[request.param]]
    path = tmp_path_factory.mktemp("forest") / "trees.safetensors"
    return trees, forests.write(path, trees, WIDTH)


@pytest.fixture(scope="module")
def rows():
    """Values on, next to and between thresholds, and missing ones."""
    random = np.random.default_rng(6)
    values = random.choice(GRID, size=(3000, WIDTH))
    draw = random.random(values.shape)
    values = np.where(draw < 0.15, np.nextafter(values, np.float32(np.inf)), values)
    values = np.where(draw > 0.85, np.nextafter(values, np.float32(-np.inf)), values)
    values = np.where((draw > 0.4) & (draw < 0.5), random.normal(size=values.shape), values)
    return np.where((draw > 0.7) & (draw < 0.8), np.nan, values).astype(np.float32)


def our_scores(ranker, rows, folder):
    """What `Ranker::score_rows` makes of the rows."""
    binary = Path(os.environ.get("TRUERANK", ROOT / "target/debug/truerank"))
    rows.tofile(folder / "rows.f32")
    command = [binary.absolute().parent / "examples/score_trees", ranker, folder / "rows.f32", folder / "scores.f32"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return np.fromfile(folder / "scores.f32", np.float32)


def export(ranker, to, path, *options):
    truerank("export", ranker, "--to", to, "-o", path, *options)
    return path


def named(folder):
    (folder / "names.txt").write_text("\n".join(NAMES) + "\n")
    return "--feature-names", folder / "names.txt"


def test_files_by_hand_score_as_documented(forest, rows, tmp_path):
    trees, path = forest
    expected = forests.scores(trees, rows)
    assert np.array_equal(our_scores(path, rows, tmp_path), expected)
    if len(trees) > 1:
        assert np.std(expected) > 0.5, "scores that are all alike would prove nothing"


def test_onnx_scores_the_same(forest, rows, tmp_path):
    trees, path = forest
    model = export(path, "onnx", tmp_path / "trees.onnx")
    onnx.checker.check_model(str(model), full_check=True)
    about = json.loads({entry.key: entry.value for entry in onnx.load(model).metadata_props}["truerank"])
    assert (about["model"], about["features"]) == ("trees", WIDTH)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    for part in [rows, rows[:1], rows[:7], rows[:0]]:
        found = session.run(["scores"], {"features": part})[0]
        assert found.dtype == np.float32 and np.array_equal(found, forests.scores(trees, part))


def test_lightgbm_scores_the_same(forest, rows, tmp_path):
    trees, path = forest
    booster = lightgbm.Booster(model_file=export(path, "lightgbm", tmp_path / "model.txt", *named(tmp_path)))
    assert booster.feature_name() == NAMES and booster.num_trees() == max(len(trees), 1)
    rows = as_lightgbm_reads(rows)
    assert np.array_equal(booster.predict(rows).astype(np.float32), forests.scores(trees, rows))
    # Features in double precision are those that round to ours.
    random = np.random.default_rng(7)
    exact = rows * (1 + random.normal(size=rows.shape) * 2.0**-25)
    assert not np.array_equal(exact, rows, equal_nan=True)
    assert np.array_equal(booster.predict(exact).astype(np.float32), forests.scores(trees, exact.astype(np.float32)))


def test_lightgbm_knows_gains_and_counts(forest, rows, tmp_path):
    trees, path = forest
    booster = lightgbm.Booster(model_file=export(path, "lightgbm", tmp_path / "model.txt"))
    assert booster.feature_name() == [f"f{number}" for number in range(1, WIDTH + 1)]
    gains, splits = importances(trees)
    rows = as_lightgbm_reads(rows)
    np.testing.assert_allclose(booster.feature_importance("gain"), gains, rtol=1e-5)
    assert np.array_equal(booster.feature_importance("split"), splits)
    if max(len(tree.value) for tree in trees or [forests.Tree()]) < 100:
        parts = booster.predict(rows[:50], pred_contrib=True)
        np.testing.assert_allclose(parts.sum(axis=1), forests.scores(trees, rows[:50]), atol=1e-5)
    # It can be saved and loaded again, and dumped as JSON.
    booster.save_model(tmp_path / "again.txt")
    again = lightgbm.Booster(model_file=tmp_path / "again.txt")
    assert np.array_equal(again.predict(rows), booster.predict(rows))
    assert len(booster.dump_model()["tree_info"]) == max(len(trees), 1)


def as_lightgbm_reads(rows):
    """LightGBM takes what is within 1e-35 of 0 as 0."""
    return np.where(np.abs(rows) <= 1e-35, np.float32(0), rows)


def importances(trees):
    gains, splits = np.zeros(WIDTH), np.zeros(WIDTH)
    for tree in trees:
        np.add.at(gains, tree.feature, tree.gain)
        np.add.at(splits, tree.feature, 1)
    return gains, splits


def test_xgboost_scores_the_same_but_for_its_sums(forest, rows, tmp_path):
    """XGBoost sums in single precision, tree after tree."""
    trees, path = forest
    booster = xgboost.Booster(model_file=export(path, "xgboost", tmp_path / "model.json"))
    expected = forests.scores(trees, rows, np.float32)
    assert np.array_equal(booster.predict(xgboost.DMatrix(rows)), expected)
    assert np.array_equal(booster.inplace_predict(rows), expected)
    np.testing.assert_allclose(expected, forests.scores(trees, rows), rtol=1e-6, atol=1e-6 * max(len(trees), 1))


def test_xgboost_knows_names_gains_and_counts(forest, rows, tmp_path):
    trees, path = forest
    booster = xgboost.Booster(model_file=export(path, "xgboost", tmp_path / "model.json", *named(tmp_path)))
    assert booster.feature_names == NAMES
    data = xgboost.DMatrix(rows, feature_names=NAMES)
    assert np.array_equal(booster.predict(data), forests.scores(trees, rows, np.float32))
    gains, splits = importances(trees)
    found = booster.get_score(importance_type="total_gain")
    np.testing.assert_allclose([found.get(name, 0) for name in NAMES], gains, rtol=1e-5)
    found = booster.get_score(importance_type="weight")
    assert [found.get(name, 0) for name in NAMES] == splits.tolist()
    if max(len(tree.value) for tree in trees or [forests.Tree()]) < 100:
        parts = booster.predict(data, pred_contribs=True)
        np.testing.assert_allclose(parts.sum(axis=1), forests.scores(trees, rows), atol=1e-4)
    booster.save_model(tmp_path / "again.json")
    again = xgboost.Booster(model_file=tmp_path / "again.json")
    assert np.array_equal(again.predict(data), booster.predict(data))


class Plugin:
    """The plugins' `model/xgboost+json`: a text that is an array of nodes.

    Splits have nodeid, depth, split, split_condition, yes, no, missing and two children, yes first; leaves have nodeid and leaf; any
    other field is refused. Numbers are single precision. What a document has not is 0 in older versions and goes where
    `missing` says in newer ones.
    """

    SPLIT = {"nodeid", "depth", "split", "split_condition", "yes", "no", "missing", "children"}

    def __init__(self, path, name):
        model = json.loads(path.read_text())["model"]
        assert (model["name"], model["model"]["type"]) == (name, "model/xgboost+json")
        self.trees = json.loads(model["model"]["definition"])
        assert self.trees

    def scores(self, columns, missing_as_zero):
        columns = {name: np.nan_to_num(values) if missing_as_zero else values for name, values in columns.items()}
        count = len(next(iter(columns.values())))
        sums = np.zeros(count, np.float32)
        for tree in self.trees:
            self.add(tree, columns, np.arange(count), sums, 0)
        return sums

    def add(self, node, columns, documents, sums, depth):
        if "leaf" in node:
            assert set(node) == {"nodeid", "leaf"}
            sums[documents] += np.float32(node["leaf"])
            return
        assert set(node) == self.SPLIT and node["depth"] == depth
        first, second = node["children"]
        assert (first["nodeid"], second["nodeid"]) == (node["yes"], node["no"]) and node["missing"] in (node["yes"], node["no"])
        values = columns[node["split"]][documents]
        yes = (values < np.float32(node["split_condition"])) | (np.isnan(values) & (node["missing"] == node["yes"]))
        self.add(first, columns, documents[yes], sums, depth + 1)
        self.add(second, columns, documents[~yes], sums, depth + 1)


def test_search_servers_score_the_same_but_for_their_sums(forest, rows, tmp_path):
    trees, path = forest
    model = export(path, "elasticsearch", tmp_path / "model.json", "--name", "clicks", *named(tmp_path))
    plugin, columns = Plugin(model, "clicks"), dict(zip(NAMES, rows.T))
    assert np.array_equal(plugin.scores(columns, missing_as_zero=False), forests.scores(trees, rows, np.float32))
    zeros = np.nan_to_num(rows)
    assert np.array_equal(plugin.scores(columns, missing_as_zero=True), forests.scores(trees, zeros, np.float32))
