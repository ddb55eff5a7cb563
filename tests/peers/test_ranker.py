"""Ranker files: read with the safetensors package, and scores computed again with NumPy in double precision."""

import json

import numpy as np
import pytest
import scipy.stats
from conftest import truerank
from safetensors import safe_open
from tables import read_parquet, read_svmlight

EPSILON = 1e-5


def normalise(rows, gain, shift):
    centred = rows - rows.mean(axis=1, keepdims=True)
    return centred / np.sqrt(rows.var(axis=1, keepdims=True) + EPSILON) * gain + shift


def elu(values):
    return np.where(values > 0, values, np.expm1(np.minimum(values, 0)))


def forward(tensors, rows):
    """Features of one scale where the file has one; layer norm where it has one and a linear map in every layer, ELU between layers."""
    if "scaling.mean" in tensors:
        rows = (rows - tensors["scaling.mean"]) * tensors["scaling.scale"]
    if "scaling.values" in tensors:
        curves = zip(rows.T, tensors["scaling.values"], tensors["scaling.scaled"], strict=True)
        rows = np.stack([np.interp(*distinct(column, *curve)) for column, *curve in curves], axis=1)
    layers = 1 + max(int(name.split(".")[1]) for name in tensors if name.startswith("layers."))
    for number in range(layers):
        norm, linear = f"layers.{number}.norm", f"layers.{number}.linear"
        rows = rows if number == 0 else elu(rows)
        if f"{norm}.weight" in tensors:
            rows = normalise(rows, tensors[f"{norm}.weight"], tensors[f"{norm}.bias"])
        rows = rows @ tensors[f"{linear}.weight"].T + tensors[f"{linear}.bias"]
    return rows[:, 0]


def distinct(column, values, scaled):
    """A curve without the equal points at its end."""
    values, first = np.unique(values, return_index=True)
    return column, values, scaled[first]


def load(path):
    with safe_open(path, framework="numpy") as file:
        tensors = {name: file.get_tensor(name).astype(np.float64) for name in file.keys()}
        return tensors, json.loads(file.metadata()["truerank"])


def our_scores(data, ranker, folder):
    """Scores in the order of the file."""
    path = folder / "run.parquet"
    truerank("score", data / "test.txt", "--ranker", ranker, "-o", path)
    table = read_parquet(path).sort_values(["query", "doc"])
    return table["score"].to_numpy(), table["query"].to_numpy()


@pytest.mark.parametrize("model", ["linear", "mlp", "standardised", "ranks", "paper", "svm_rank"])
def test_scores(data, model, request, tmp_path):
    tensors, about = load(request.getfixturevalue(model))
    _, queries, features = read_svmlight(data / "test.txt", about["features"])
    features = features.astype(np.float64)
    expected = features @ tensors["weight"] + tensors["bias"] if "weight" in tensors else forward(tensors, features)
    scores, our_queries = our_scores(data, request.getfixturevalue(model), tmp_path)
    assert np.array_equal(queries, our_queries)
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-4)
    assert np.std(expected) > 0.01, "scores that are all alike would prove nothing"


def test_metadata(mlp, data):
    tensors, about = load(mlp)
    assert (about["type"], about["version"], about["model"]) == ("truerank/ranker", 4, "mlp:32,16")
    assert about["input"] == {"scaling": {"curve": {"points": 33}}, "normalised": False}
    shapes = [tensors[f"layers.{number}.linear.weight"].shape for number in range(3)]
    assert shapes == [(32, about["features"]), (16, 32), (1, 16)]


def test_the_papers_form_is_the_first_version(paper, ranks):
    tensors, about = load(paper)
    assert about["version"] == 1 and "layers.0.norm.weight" in tensors
    tensors, about = load(ranks)
    assert about["version"] == 4 and "layers.0.norm.weight" not in tensors
    assert about["input"] == {"scaling": {"curve": {"points": 33}}, "normalised": False}


def test_ranks_are_those_of_the_training_part(ranks, data):
    """Each point is a quantile of the training part; what it becomes is the normal quantile of its mean rank."""
    tensors, about = load(ranks)
    features = read_svmlight(data / "train.txt", about["features"])[2].astype(np.float32).astype(np.float64)
    for column, values, scaled in zip(features.T, tensors["scaling.values"], tensors["scaling.scaled"], strict=True):
        ordered = np.sort(column)
        assert (values[0], values[-1]) == (ordered[0], ordered[-1])
        mean_rank = (np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")) / 2
        np.testing.assert_allclose(scaled, scipy.stats.norm.ppf(mean_rank / len(column)), atol=1e-5)


def test_scaling_is_that_of_the_training_part(standardised, data):
    tensors, about = load(standardised)
    assert about["version"] == 4
    features = read_svmlight(data / "train.txt", about["features"])[2].astype(np.float64)
    np.testing.assert_allclose(tensors["scaling.mean"], features.mean(axis=0), rtol=1e-5, atol=1e-6)
    deviation = features.std(axis=0)
    varied = deviation > 1e-6
    np.testing.assert_allclose(tensors["scaling.scale"][varied], 1 / deviation[varied], rtol=1e-4)
