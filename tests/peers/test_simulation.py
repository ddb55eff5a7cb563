"""The simulated log follows the paper's protocol, as far as a log can show it."""

import json

import numpy as np
import pytest
from conftest import SESSIONS
from tables import read_parquet, read_propensities, read_svmlight

ETAS = [2.5, 2, 1.8, 1.5, 1.2, 1, 0.8, 0.5, 0.2, 0]
NOISE = 0.1


@pytest.fixture(scope="module")
def clicks(log, data):
    """The log with each document's grade."""
    grades, queries, _ = read_svmlight(data / "train.txt")
    grade_of, seen = {}, {}
    for grade, query in zip(grades.astype(int), queries):
        seen[query] = seen.get(query, 0) + 1
        grade_of[query, seen[query]] = grade
    table = read_parquet(log)
    table["click"] = table["click"].astype(int)
    table["grade"] = [grade_of[pair] for pair in zip(table["query"], table["doc"])]
    return table


def test_sessions_fall_by_a_quarter_from_cluster_to_cluster(clicks):
    counts = clicks.drop_duplicates("session")["user"].value_counts().sort_index().to_numpy()
    shares = 1.25 ** -np.arange(10)
    assert np.abs(counts - SESSIONS * shares / shares.sum()).max() <= 1


def test_half_of_the_queries_are_silent_for_each_cluster(clicks, data):
    _, queries, _ = read_svmlight(data / "train.txt")
    half = len(set(queries)) // 2
    issued = clicks.groupby("user")["query"].agg(set)
    for user, of_user in issued.items():
        # A query with a tiny probability may stay unseen.
        assert 0.9 * half <= len(of_user) <= half
    overlaps = [len(issued[1] & issued[user]) for user in range(2, 11)]
    assert max(overlaps) < 0.75 * half, "each cluster has queries of its own"


def test_query_traffic_is_uniform_over_its_range(clicks):
    """Probabilities are uniform random numbers, so those of a cluster have a standard deviation of 1/√3 of their mean."""
    visits = clicks.drop_duplicates("session")
    for _, of_user in visits.groupby("user"):
        counts = of_user["query"].value_counts()
        spread = np.sqrt(max(0, counts.var() - counts.mean())) / counts.mean()
        assert abs(spread - 1 / np.sqrt(3)) < 0.12


def test_examination_falls_as_a_power_of_the_position(log):
    theta = read_propensities(log.with_suffix(".propensities.json"))
    for (user, position), probability in theta.items():
        assert abs(probability - position ** -ETAS[user - 1]) < 1e-12
    population = json.loads(log.with_suffix(".propensities.json").read_text())["population"]
    shares = 1.25 ** -np.arange(10) / (1.25 ** -np.arange(10)).sum()
    expected = [sum(share * k**-eta for share, eta in zip(shares, ETAS)) for k in range(1, 11)]
    np.testing.assert_allclose(population, expected, atol=1e-4)


@pytest.mark.parametrize("keys", [["user", "position", "grade"], ["user"], ["position"], ["grade"]])
def test_click_rates(clicks, keys):
    """Within five standard errors, cell by cell and summed up, where a small error of the rates would show."""
    etas = np.array(ETAS)[clicks["user"] - 1]
    rate = clicks["position"].astype(float) ** -etas * (NOISE + (1 - NOISE) * clicks["grade"] / 4)
    table = clicks.assign(difference=clicks["click"] - rate, variance=rate * (1 - rate))
    groups = table.groupby(keys)[["difference", "variance"]].sum()
    assert len(groups) >= (300 if len(keys) > 1 else 5)
    # Rates of exactly 1 leave no variance, only rounding.
    assert (groups["difference"].abs() <= 5 * np.sqrt(groups["variance"]) + 1e-9).all()


def test_documents_keep_their_position(clicks):
    assert clicks.groupby(["query", "doc"])["position"].nunique().max() == 1
