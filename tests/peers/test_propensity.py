"""Propensities: each estimate again from its formula, by NumPy, SciPy, pandas and scikit-learn, from the raw log."""

import json

import numpy as np
import pytest
from conftest import truerank
from scipy.optimize import brentq, minimize
from scipy.special import digamma, expit, gammaln
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from tables import read_parquet, read_propensities, read_svmlight

POSITIONS = 10
PAIR = ["query", "doc"]


@pytest.fixture(scope="module")
def shuffled(data, tmp_path_factory):
    """A log in which every document is seen at many positions, and its counts."""
    folder = tmp_path_factory.mktemp("shuffled")
    path = folder / "clicks.parquet"
    truerank("simulate", data, "--sessions", 6000, "--etas", "2,1,0.3", "--shuffle", 0.5, "--swap", 0.3, "-o", path)
    truerank("count", path, "-o", folder / "counts")
    return path, folder / "counts"


def read_log(path):
    log = read_parquet(path)
    log["click"] = log["click"].astype(int)
    return log


def estimate(counts, *options):
    """The file that `truerank propensity` writes."""
    path = counts.parent / "estimated.json"
    truerank("propensity", counts, *options, "-o", path)
    return json.loads(path.read_text())


def numbered(keys):
    """Rows of a table as numbers from 0, equal rows having the same."""
    return keys.groupby(list(keys), sort=True).ngroup().to_numpy()


def shares_of_sessions(log):
    return log.drop_duplicates("session")["user"].value_counts(normalize=True).sort_index().to_numpy()


def on_scale(theta, shares):
    """θ of groups of users by positions, divided so that the largest mean over users is 1."""
    return theta / (shares @ theta).max()


def em(click, slot, doc, iterations):
    """Plain EM on impressions: `P(e|no click) = θ(1−γ)/(1−θγ)`, `P(r|no click) = γ(1−θ)/(1−θγ)`; θ and γ are means.

    Gives θ and the mean log-likelihood of an impression.
    """
    impressions, shown = np.bincount(slot), np.bincount(doc)
    theta, gamma = np.full(len(impressions), 0.5), np.full(len(shown), 0.5)
    for _ in range(iterations):
        t, g = theta[slot], gamma[doc]
        missed = (1 - click) / np.maximum(1 - t * g, 1e-300)
        theta = np.bincount(slot, click + missed * t * (1 - g)) / impressions
        gamma = np.bincount(doc, click + missed * g * (1 - t)) / shown
    p = theta[slot] * gamma[doc]
    return theta, np.log(np.where(click == 1, p, 1 - p)).mean()


@pytest.mark.parametrize("per_user", [False, True])
def test_em_with_a_table_is_plain_em_over_sessions(shuffled, per_user):
    path, counts = shuffled
    log = read_log(path)
    options = ["--per-user", "--shrink", "none"] if per_user else []
    converge = ["--tolerance", 1e-10, "--iterations", 10_000, "--resamples", 0]
    found = estimate(counts, "--relevance", "table", "--prior", "none", *options, *converge)
    users = numbered(log[["user"]]) if per_user else np.zeros(len(log), dtype=int)
    slot = users * POSITIONS + log["position"].to_numpy() - 1
    theta, log_likelihood = em(log["click"].to_numpy(), slot, numbered(log[PAIR]), 1000)
    shares = shares_of_sessions(log) if per_user else np.ones(1)
    expected = on_scale(theta.reshape(-1, POSITIONS), shares)
    np.testing.assert_allclose(found["population"], shares @ expected, atol=2e-4)
    if per_user:
        rows = {row["user"]: row["propensity"] for row in found["users"]}
        np.testing.assert_allclose([rows[user] for user in sorted(rows)], expected, atol=2e-4)
    assert found["fit"]["converged"]
    np.testing.assert_allclose(found["fit"]["log_likelihood"][-1], log_likelihood, rtol=1e-6)


PSEUDO_CLICKS = 0.5


def held(theta):
    """What groups by positions of θ are held by: the mean of a position, or of all positions where there is one group."""
    return np.broadcast_to(theta.mean(axis=0 if len(theta) > 1 else None), theta.shape)


def of_pseudo_clicks(theta):
    """What pseudo-clicks add to the log-likelihood."""
    ratio = theta / held(theta)
    return PSEUDO_CLICKS * (np.log(ratio) - ratio).sum()


def log_marginal(shape, mean, clicks, exposure):
    """ln of the negative binomial `∫ Poisson(clicks | γ·exposure) Gamma(γ | shape, mean)`, up to what does not change."""
    rate = shape / mean
    return gammaln(shape + clicks) - gammaln(shape) + shape * np.log(rate) - (shape + clicks) * np.log(rate + exposure)


def gamma_poisson_em(cells, groups, iterations):
    """Plain EM for `c ~ Poisson(n·θ(slot)·γ(d))`, `γ(d) ~ Gamma(a, mean μ of where d was shown)`; θ has pseudo-clicks.

    Gives θ of groups by positions and the log-likelihood of an impression.
    """
    doc, slot, shown, clicks = cells
    docs, slots = doc.max() + 1, groups * POSITIONS
    of_doc, of_slot = np.bincount(doc, clicks), np.bincount(slot, clicks, slots)
    # Halves are rounded up.
    place = np.floor(np.bincount(doc, shown * (slot % POSITIONS + 1)) / np.bincount(doc, shown) + 0.5).astype(int) - 1
    theta, shape, means = np.full((groups, POSITIONS), 0.5), 1.0, np.full(POSITIONS, 0.1)
    for _ in range(iterations):
        exposure = np.bincount(doc, shown * theta.ravel()[slot], docs)
        mean = means[place]
        log_likelihood = log_marginal(shape, mean, of_doc, exposure).sum() + of_slot @ np.log(theta.ravel())
        log_likelihood += of_pseudo_clicks(theta)
        shape_after, rate_after = shape + of_doc, shape / mean + exposure
        relevance, log_relevance = shape_after / rate_after, digamma(shape_after) - np.log(rate_after)
        exposed = np.bincount(slot, shown * relevance[doc], slots).reshape(theta.shape)
        theta = (of_slot.reshape(theta.shape) + PSEUDO_CLICKS) / (exposed + PSEUDO_CLICKS / held(theta))
        places = np.bincount(place, minlength=POSITIONS)
        means = np.where(places > 0, np.bincount(place, relevance, POSITIONS) / np.maximum(places, 1), means)
        mean = means[place]
        gap = (relevance / mean - 1 - (log_relevance - np.log(mean))).mean()
        shape = brentq(lambda a: np.log(a) - digamma(a) - gap, 0.05, 2000)
    return theta, log_likelihood / shown.sum()


@pytest.mark.parametrize("per_user", [False, True])
def test_em_by_default_is_plain_em_with_a_gamma_prior(shuffled, per_user):
    path, counts = shuffled
    log = read_log(path)
    options = ["--per-user", "--shrink", "none"] if per_user else []
    found = estimate(counts, *options, "--tolerance", 1e-10, "--iterations", 10_000, "--resamples", 0)
    users = numbered(log[["user"]]) if per_user else np.zeros(len(log), dtype=int)
    log["pair"], log["slot"] = numbered(log[PAIR]), users * POSITIONS + log["position"] - 1
    cells = log.groupby(["pair", "slot"])["click"].agg(["size", "sum"]).reset_index().to_numpy().T
    theta, log_likelihood = gamma_poisson_em(cells, users.max() + 1, 3000)
    shares = shares_of_sessions(log) if per_user else np.ones(1)
    expected = on_scale(theta, shares)
    np.testing.assert_allclose(found["population"], shares @ expected, rtol=1e-3)
    if per_user:
        rows = {row["user"]: row["propensity"] for row in found["users"]}
        np.testing.assert_allclose([rows[user] for user in sorted(rows)], expected, rtol=1e-3)
    assert found["fit"]["converged"]
    np.testing.assert_allclose(found["fit"]["log_likelihood"][-1], log_likelihood, rtol=1e-6)


def test_users_are_a_level_times_a_shape(shuffled):
    """The level is where a line through `ln θ(u,k)/θ̄(k)` over `ln k` starts, positions by their clicks; the shape is the rest."""
    path, counts = shuffled
    found = estimate(counts, "--per-user", "--clusters", 2, "--resamples", 0)
    clicks = read_log(path).groupby("position")["click"].sum().to_numpy()
    assert len(found["users"]) > len(found["clusters"]) == 2
    for row in found["users"] + found["clusters"]:
        ratios = np.log(np.array(row["propensity"]) / found["population"])
        _, start = np.polyfit(np.log(np.arange(1, POSITIONS + 1)), ratios, 1, w=np.sqrt(clicks))
        level = np.exp(start)
        # Files round both to five digits after the point.
        np.testing.assert_allclose(row["level"], level, rtol=0, atol=5.001e-6)
        np.testing.assert_allclose(row["shape"], np.array(row["propensity"]) / level, rtol=0, atol=5.001e-6)


def standardised_features(data, pairs):
    """The features of (query, doc) pairs with mean 0 and deviation 1, after a constant."""
    _, queries, features = read_svmlight(data / "train.txt")
    row_of, seen = {}, {}
    for row, query in enumerate(queries):
        seen[query] = seen.get(query, 0) + 1
        row_of[query, seen[query]] = row
    rows = features[[row_of[pair] for pair in pairs]].astype(float)
    deviation = rows.std(axis=0)
    rows = (rows - rows.mean(axis=0)) / np.where(deviation > 0, deviation, 1)
    return np.column_stack([np.ones(len(rows)), rows])


def regression(log, data):
    """The features of each document, and of each cell its document, position, clicks and misses."""
    grouped = read_log(log).groupby([*PAIR, "position"], as_index=False)["click"].agg(["sum", "size"])
    pairs = list(grouped[PAIR].drop_duplicates().sort_values(PAIR).itertuples(index=False, name=None))
    clicks = grouped["sum"].to_numpy()
    cells = numbered(grouped[PAIR]), grouped["position"].to_numpy() - 1, clicks, grouped["size"].to_numpy() - clicks
    return standardised_features(data, pairs), cells


def climb(x, cells):
    """θ(k) that maximises `Σ c·ln(θγ) + m·ln(1−θγ)` with `γ = σ(x·w)`, by L-BFGS over logits of θ and w."""
    doc, position, clicks, misses = cells

    def loss(parameters):
        theta, gamma = expit(parameters[:POSITIONS]), expit(x @ parameters[POSITIONS:])
        t, g = theta[position], gamma[doc]
        p = t * g
        by_log_p = (clicks - misses * p / (1 - p)) / total
        by_score = np.bincount(doc, by_log_p * (1 - g), minlength=len(x))
        slope = np.concatenate([np.bincount(position, by_log_p * (1 - t)), by_score @ x])
        return -(clicks * np.log(p) + misses * np.log1p(-p)).sum() / total, -slope

    total = (clicks + misses).sum()
    start = np.zeros(POSITIONS + x.shape[1])
    far = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-14, "gtol": 1e-8}
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options=far)
    return expit(found.x[:POSITIONS]), -found.fun


def test_em_with_a_regression_climbs_the_same_likelihood(log, data, tmp_path):
    truerank("count", log, "-o", tmp_path / "counts")
    converge = ["--tolerance", 1e-12, "--iterations", 20_000, "--resamples", 0]
    found = estimate(tmp_path / "counts", "--data", data, "--relevance", "linear", "--prior", "none", *converge)
    theta, log_likelihood = climb(*regression(log, data))
    np.testing.assert_allclose(found["population"], theta / theta.max(), rtol=1e-3)
    # Ours has a ridge penalty besides, too small to see.
    np.testing.assert_allclose(found["fit"]["log_likelihood"][-1], log_likelihood, rtol=1e-6)


RIDGE = 1e-5


def climb_with_a_prior(x, cells):
    """The same for `c ~ Poisson(n·θ(k)·γ)`, `γ ~ Gamma(a, mean σ(x·w))`, summed over γ, by L-BFGS over ln θ, ln a and w.

    A document that was shown at one position only counts `1 + n·(the position's click rate)` times.
    """
    doc, position, clicks, misses = cells
    shown, of_doc = clicks + misses, np.bincount(doc, clicks)
    rate = np.bincount(position, clicks) / np.bincount(position, shown)
    several = np.bincount(doc) > 1
    weight = np.where(several, 1, 1 + np.bincount(doc, shown * rate[position]))
    in_slot, total, ridge = np.bincount(position, weight[doc] * clicks), weight @ np.bincount(doc, shown), RIDGE * len(x)

    def loss(parameters):
        theta, a, w = np.exp(parameters[:POSITIONS]), np.exp(parameters[POSITIONS]), parameters[POSITIONS + 1 :]
        mean, exposure = expit(x @ w), np.bincount(doc, shown * theta[position])
        value = weight @ log_marginal(a, mean, of_doc, exposure) + in_slot @ np.log(theta)
        value += of_pseudo_clicks(theta[None]) - ridge / 2 * (w[1:] @ w[1:])
        shape_after, rate_after = a + of_doc, a / mean + exposure
        relevance, log_relevance = shape_after / rate_after, digamma(shape_after) - np.log(rate_after)
        by_theta = in_slot - theta * np.bincount(position, (weight * relevance)[doc] * shown)
        # How θ moves what it is held by adds up to nothing.
        by_theta += PSEUDO_CLICKS * (1 - theta / theta.mean())
        by_shape = a * weight @ (np.log(a / mean) + 1 - digamma(a) + log_relevance - relevance / mean)
        by_w = (weight * a * (relevance / mean - 1) * (1 - mean)) @ x - ridge * np.r_[0, w[1:]]
        return -value / total, -np.concatenate([by_theta, [by_shape], by_w]) / total

    start = np.concatenate([np.log(rate / rate.max()), np.zeros(1 + x.shape[1])])
    far = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-15, "gtol": 1e-9}
    bounds = [(None, None)] * POSITIONS + [tuple(np.log([0.05, 2000]))] + [(None, None)] * x.shape[1]
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=far)
    return np.exp(found.x[:POSITIONS]), -found.fun


@pytest.mark.parametrize("case", ["log", "moving_log"])
def test_em_by_default_with_features_climbs_the_same_likelihood(case, data, tmp_path, request):
    log = request.getfixturevalue(case)
    truerank("count", log, "-o", tmp_path / "counts")
    converge = ["--tolerance", 1e-11, "--iterations", 20_000, "--resamples", 0]
    found = estimate(tmp_path / "counts", "--data", data, *converge)
    theta, log_likelihood = climb_with_a_prior(*regression(log, data))
    np.testing.assert_allclose(found["population"], theta / theta.max(), rtol=1e-3)
    np.testing.assert_allclose(found["fit"]["log_likelihood"][-1], log_likelihood, rtol=1e-6)


def mantel_haenszel(log, strata):
    """`Σ c_k·n₁/(n₁+n_k) / Σ c₁·n_k/(n₁+n_k)` over the strata, for each position k and, if it is among them, user."""
    cells = log.groupby([*strata, "position"])["click"].agg(["sum", "size"]).reset_index("position")
    first = cells[cells["position"] == 1].drop(columns="position").add_suffix("_1")
    both = cells[cells["position"] > 1].join(first, how="inner").reset_index()
    total = both["size"] + both["size_1"]
    both["above"], both["below"] = both["sum"] * both["size_1"] / total, both["sum_1"] * both["size"] / total
    sums = both.groupby([key for key in strata if key == "user"] + ["position"])[["above", "below"]].sum()
    sums = sums[(sums["above"] > 0) & (sums["below"] > 0)]
    return sums["above"] / sums["below"]


def test_swap_is_the_mantel_haenszel_ratio(shuffled):
    path, counts = shuffled
    ratios = mantel_haenszel(read_log(path), PAIR)
    found = estimate(counts, "--method", "swap", "--resamples", 0)
    expected = np.concatenate([[1], ratios.to_numpy()])
    np.testing.assert_allclose(found["population"], expected / expected.max(), rtol=1e-12)


def test_swap_per_user_is_the_ratio_within_users(shuffled):
    path, counts = shuffled
    ratios = mantel_haenszel(read_log(path), [*PAIR, "user"])
    found = estimate(counts, "--method", "swap", "--per-user", "--resamples", 0)
    rows = {row["user"]: row["propensity"] for row in found["users"]}
    for (user, position), ratio in ratios.items():
        np.testing.assert_allclose(rows[user][position - 1] / rows[user][0], ratio, rtol=1e-12)
    assert len(ratios) > 0.9 * len(rows) * (POSITIONS - 1)


ETAS = [2.5, 1, 0]


@pytest.fixture(scope="module")
def crowd(data, tmp_path_factory):
    """Counts of 36 users in three groups that look far apart, and the true group of each."""
    folder = tmp_path_factory.mktemp("crowd")
    options = ["--etas", ",".join(map(str, ETAS)), "--users-per-cluster", 12, "--shuffle", 0.5]
    truerank("simulate", data, "--sessions", 30_000, *options, "-o", folder / "clicks.parquet")
    truerank("count", folder / "clicks.parquet", "-o", folder / "counts")
    theta = read_propensities(folder / "clicks.propensities.json")
    # θ(k) = k^-η.
    eta = {user: -np.log10(probability) for (user, position), probability in theta.items() if position == 10}
    return folder / "counts", {user: int(np.abs(np.array(ETAS) - value).argmin()) for user, value in eta.items()}


def clusters_of(found):
    return {row["user"]: row["cluster"] for row in found["users"]}


@pytest.mark.parametrize("grouping", ["k-means", "mixture"])
def test_clusters_are_those_of_scikit_learn_and_of_the_truth(crowd, data, grouping):
    counts, truth = crowd
    options = ["--data", data, "--per-user", "--resamples", 0]
    rows = {row["user"]: row["propensity"] for row in estimate(counts, *options, "--shrink", "none")["users"]}
    grouped = clusters_of(estimate(counts, *options, "--grouping", grouping, "--clusters", len(ETAS)))
    users = sorted(grouped)
    ours = [grouped[user] for user in users]
    peer = KMeans(len(ETAS), n_init=10, random_state=0).fit_predict([rows[user] for user in users])
    assert adjusted_rand_score(peer, ours) >= 0.95
    assert adjusted_rand_score([truth[user] for user in users], ours) >= 0.95
    # Clusters are sorted by how deep their users look: the largest η first.
    assert [grouped[user] - 1 for user in users] == [truth[user] for user in users]


def test_the_number_of_clusters_is_found(crowd, data):
    counts, truth = crowd
    found = estimate(counts, "--data", data, "--per-user", "--shrink", "clusters", "--resamples", 0)
    assert len(found["clusters"]) == len(set(truth.values()))
