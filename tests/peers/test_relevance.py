"""Relevance weights: every estimator computed again with pandas, impression by impression, from its formula."""

import json

import numpy as np
import pytest
from conftest import truerank
from tables import notes, read_parquet, read_propensities

PAIR = ["query", "doc"]
ESTIMATORS = ["naive", "ips-pbm", "straightforward", "user-aware", "user-aware-smoothed"]


class Sessions:
    """A log with the examination of each impression, and what the formulas need of it."""

    def __init__(self, log, propensities):
        theta = read_propensities(propensities)
        log["theta"] = [theta[key] for key in zip(log["user"], log["position"])]
        self.log = log
        visits = log.drop_duplicates("session")
        self.share = visits["user"].value_counts(normalize=True)
        self.of_query = visits["query"].value_counts()
        self.of_query_and_user = visits.groupby(["query", "user"]).size()
        positions = range(1, log["position"].max() + 1)
        average = {k: sum(theta[user, k] * share for user, share in self.share.items()) for k in positions}
        log["average"] = log["position"].map(average)
        log["shown"] = log.groupby(PAIR)["position"].transform("size")
        self.theta = theta
        self.exposure = log.groupby(PAIR)["theta"].transform("sum")
        self.average_exposure = log.groupby(PAIR)["average"].transform("sum")

    def click_weight(self, estimator, beta):
        """How much a click counts, for each impression."""
        log = self.log
        n = log["shown"]
        return 1 / {
            "naive": n,
            "ips-pbm": self.average_exposure,
            "straightforward": n * log["theta"],
            "user-aware": self.exposure,
            "user-aware-smoothed": (n * self.exposure + beta * self.average_exposure) / (n + beta),
        }[estimator]

    def relevance(self):
        """γ behind the variance: clicks over exposure, pulled a little toward the mean."""
        log = self.log
        mean = min(1, log["click"].sum() / log["theta"].sum())
        clicks = log.groupby(PAIR)["click"].transform("sum")
        return ((clicks + mean) / (self.exposure + 1)).clip(upper=1)

    def weights(self, estimator, beta):
        log, w = self.log, self.click_weight(estimator, beta)
        p = log["theta"] * self.relevance()
        table = log[PAIR].assign(
            weight=log["click"] * w,
            impressions=1,
            clicks=log["click"],
            exposure=log["theta"],
            variance=w**2 * p * (1 - p),
        )
        return table.groupby(PAIR, as_index=False).sum()

    def papers_user_aware(self, beta):
        """`(c/n(q)) / Σ_u θ(u,k) P̃(u|q)`: the form for documents that keep their position."""
        def expected_examination(query, k):
            n = self.of_query[query]
            counted = self.of_query_and_user.loc[query]
            shares = {u: (counted.get(u, 0) + beta * share) / (n + beta) for u, share in self.share.items()}
            return sum(self.theta[u, k] * share for u, share in shares.items())

        pairs = self.log.groupby([*PAIR, "position"], as_index=False)["click"].sum()
        assert not pairs.duplicated(PAIR).any(), "documents keep their position in this log"
        rate = pairs["click"] / pairs["query"].map(self.of_query)
        return rate / [expected_examination(query, k) for query, k in zip(pairs["query"], pairs["position"])]


def weigh(path, folder):
    """A log as pandas sees it, and the folder of our weights."""
    propensities = path.with_suffix(".propensities.json")
    truerank("count", path, "-o", folder / "counts")
    options = ["--propensities", propensities, "--estimator", "all"]
    truerank("relevance", folder / "counts", *options, "-o", folder / "weights")
    log = read_parquet(path)
    log["click"] = log["click"].astype(int)
    return Sessions(log, propensities), folder / "weights"


@pytest.fixture(scope="module")
def fixed(log, tmp_path_factory):
    return weigh(log, tmp_path_factory.mktemp("fixed"))


@pytest.fixture(scope="module")
def moving(moving_log, tmp_path_factory):
    return weigh(moving_log, tmp_path_factory.mktemp("moving"))


def read_weights(folder, estimator):
    path = folder / f"{estimator}.parquet"
    facts = notes(path)
    assert facts["truerank.estimator"] == estimator
    return read_parquet(path), float(facts.get("truerank.beta", 0))


@pytest.mark.parametrize("case", ["fixed", "moving"])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_weights_and_variance(case, estimator, request):
    sessions, folder = request.getfixturevalue(case)
    ours, beta = read_weights(folder, estimator)
    ours = ours.sort_values(PAIR, ignore_index=True)
    theirs = sessions.weights(estimator, beta)
    divisor = ours.pop("divisor")
    assert list(ours) == list(theirs)
    if estimator != "straightforward":
        np.testing.assert_allclose(ours["weight"], ours["clicks"] / divisor, rtol=1e-9, atol=1e-9)
    assert (beta > 0) == (estimator == "user-aware-smoothed")
    for column in PAIR + ["impressions", "clicks"]:
        assert np.array_equal(ours[column], theirs[column])
    for column in ["weight", "exposure", "variance"]:
        np.testing.assert_allclose(ours[column], theirs[column], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("estimator", ["user-aware", "user-aware-smoothed"])
def test_the_papers_form_on_fixed_rankings(fixed, estimator):
    sessions, folder = fixed
    ours, beta = read_weights(folder, estimator)
    theirs = sessions.papers_user_aware(beta)
    np.testing.assert_allclose(ours.sort_values(PAIR)["weight"], theirs, rtol=1e-9, atol=1e-9)


def test_text_ids_and_users_without_propensities(log, tmp_path):
    """Unknown users get the population's examination, also in the average."""
    table = read_parquet(log).head(20_000)
    table["click"] = table["click"].astype(int)
    table["query"] = "q" + table["query"].astype(str)
    table["user"] = table["user"].map(lambda user: user if user <= 8 else 1000 + user)
    path = tmp_path / "some.parquet"
    table.to_parquet(path)
    propensities = log.with_suffix(".propensities.json")
    truerank("count", path, "-o", tmp_path / "counts")
    options = ["--propensities", propensities, "--estimator", "ips-pbm"]
    truerank("relevance", tmp_path / "counts", *options, "-o", tmp_path / "ips.parquet")
    document = json.loads(propensities.read_text())
    known = {row["user"]: row["propensity"] for row in document["users"]}
    share = table.drop_duplicates("session")["user"].value_counts(normalize=True)
    average = sum(np.array(known.get(user, document["population"])) * part for user, part in share.items())
    table["exposure"] = average[table["position"] - 1]
    table["weight"] = table["click"] / table.groupby(PAIR)["exposure"].transform("sum")
    theirs = table.groupby(PAIR, as_index=False)["weight"].sum()
    ours = read_parquet(tmp_path / "ips.parquet").sort_values(PAIR, ignore_index=True)
    np.testing.assert_allclose(ours["weight"], theirs["weight"], rtol=1e-9, atol=1e-9)
