"""Propensities: the bytes of the command line, scikit-learn's interface, arrays in and out."""

import json
import pickle
import warnings

import numpy as np
import pytest

import truerank
from truerank import propensity


@pytest.fixture(scope="module")
def world(splits, tmp_path_factory):
    """Data and counts in files; counts have swaps, so that every method can work."""
    folder = tmp_path_factory.mktemp("propensity")
    splits.write(folder / "data")
    data = truerank.read_splits(folder / "data")
    simulation = truerank.simulate(data, sessions=20_000, swap=0.3, seed=2)
    counts = simulation.counts()
    counts.write(folder / "counts")
    return folder, data, counts, simulation.propensities


METHODS = {
    "em": (propensity.RegressionEM(resamples=2), True, "--resamples 2"),
    "em by table": (propensity.RegressionEM(iterations=30, resamples=0), False, "--iterations 30 --resamples 0"),
    "em as published": (
        propensity.RegressionEM(prior="none", resamples=0, tolerance=1e-5),
        True,
        "--prior none --resamples 0 --tolerance 1e-5",
    ),
    "em per user": (propensity.RegressionEM(per_user=True, resamples=0, seed=3), True, "--per-user --resamples 0 --seed 3"),
    "em of each": (
        propensity.RegressionEM(per_user=True, shrink="none", resamples=0, tolerance=1e-5),
        True,
        "--per-user --shrink none --resamples 0 --tolerance 1e-5",
    ),
    "em of each as published": (
        propensity.RegressionEM(per_user=True, prior="none", shrink="none", resamples=0, tolerance=1e-5),
        True,
        "--per-user --prior none --shrink none --resamples 0 --tolerance 1e-5",
    ),
    "em in clusters": (
        propensity.RegressionEM(per_user=True, clusters=3, grouping="k-means", resamples=0),
        True,
        "--per-user --clusters 3 --grouping k-means --resamples 0",
    ),
    "em in chosen clusters": (
        propensity.RegressionEM(per_user=True, shrink="clusters", resamples=0),
        True,
        "--per-user --shrink clusters --resamples 0",
    ),
    "swap": (propensity.SwapExperiment(), False, "--method swap"),
    "swap per user": (propensity.SwapExperiment(per_user=True, resamples=5), False, "--method swap --per-user --resamples 5"),
    "harvesting": (propensity.InterventionHarvesting(resamples=5), False, "--method harvesting --resamples 5"),
    "harvesting by documents": (
        propensity.InterventionHarvesting(weighting="documents", resamples=5),
        False,
        "--method harvesting --weighting documents --resamples 5",
    ),
    "cpbm": (propensity.CPBM(iterations=20), False, "--method cpbm --iterations 20"),
    "cpbm by documents": (
        propensity.CPBM(weighting="documents", iterations=20),
        False,
        "--method cpbm --weighting documents --iterations 20",
    ),
    "user-pbm": (propensity.UserPBM(iterations=2), True, "--method user-pbm --iterations 2"),
    "user-pbm per user": (propensity.UserPBM(per_user=True, iterations=2), True, "--method user-pbm --per-user --iterations 2"),
    "dla": (propensity.DLA(iterations=20), True, "--method dla --iterations 20"),
    "dla by mlp": (propensity.DLA(per_user=True, model="mlp:8", iterations=20), True, "--method dla --per-user --model mlp:8 --iterations 20"),
}


@pytest.mark.filterwarnings("ignore::truerank.PropensityWarning")
@pytest.mark.parametrize("name", METHODS)
def test_estimates_are_those_of_the_command_line(name, world, command, tmp_path):
    folder, data, counts, _ = world
    method, has_data, arguments = METHODS[name]
    with_data = ["--data", folder / "data"] if has_data else []
    command("propensity", folder / "counts", *with_data, *arguments.split(), "-o", tmp_path / "theirs.json")
    found = method.fit(counts, data if has_data else None)
    assert found is method
    method.propensities_.write(tmp_path / "ours.json")
    assert (tmp_path / "ours.json").read_bytes() == (tmp_path / "theirs.json").read_bytes()
    assert truerank.Propensities.read(tmp_path / "theirs.json") == method.propensities_


@pytest.mark.filterwarnings("ignore::truerank.PropensityWarning")
def test_rankers_of_dual_learning_are_those_of_the_command_line(world, command, tmp_path):
    folder, data, counts, _ = world
    arguments = ["--method", "dla", "--iterations", 10, "--ranker", tmp_path / "theirs.safetensors"]
    command("propensity", folder / "counts", "--data", folder / "data", *arguments, "-o", tmp_path / "theirs.json")
    propensity.DLA(iterations=10, ranker=tmp_path / "ours.safetensors").fit(counts, data)
    assert (tmp_path / "ours.safetensors").read_bytes() == (tmp_path / "theirs.safetensors").read_bytes()


def test_methods_are_found_by_name(world):
    _, data, counts, _ = world
    for method, given in [(propensity.SwapExperiment(resamples=0), None), (propensity.RegressionEM(resamples=0), data)]:
        options = method.get_params()
        found = propensity.estimate(counts, given, method=method._method, **options)
        assert found == method.fit(counts, given).propensities_
    with pytest.raises(ValueError, match="there is em, swap, harvesting, cpbm, user-pbm or dla"):
        propensity.estimate(counts, method="magic")
    with pytest.raises(ValueError, match="tolerance is for em"):
        propensity.estimate(counts, method="swap", tolerance=0.1)


def test_estimates_find_the_truth(world):
    _, data, counts, truth = world
    em = propensity.RegressionEM(per_user=True, resamples=0).fit(counts, data.train)
    error = em.propensities_.error_against(truth, counts)
    assert error.keys() == {"population", "users", "rare"}
    assert error["population"] < 0.15 and error["users"] < 0.15
    assert truth.error_against(truth, counts) == {"population": 0.0, "users": 0.0, "rare": 0.0}
    assert em.propensities_.error_against(em, counts)["population"] == 0.0


@pytest.mark.filterwarnings("ignore::truerank.PropensityWarning")
def test_features_of_users_are_a_file_or_arrays(world, tmp_path):
    _, _, counts, _ = world
    features = np.round(np.random.default_rng(1).random((len(counts.users), 2)), 3)
    rows = [f"{user},{a},{b}" for user, (a, b) in zip(counts.users, features)]
    (tmp_path / "users.csv").write_text("user,a,b\n" + "\n".join(rows) + "\n")
    by_file, by_arrays = (
        propensity.CPBM(user_features=given, iterations=5).fit(counts).propensities_
        for given in [tmp_path / "users.csv", (counts.users, features)]
    )
    assert by_file == by_arrays
    with pytest.raises(ValueError, match="has 10 users, but 9 rows"):
        propensity.CPBM(user_features=(counts.users, features[1:])).fit(counts)
    with pytest.raises(ValueError, match="should be a file, or a pair"):
        propensity.CPBM(user_features=7).fit(counts)


@pytest.mark.parametrize("method, message", [
    (propensity.RegressionEM(clusters=3), "clusters is for the examination of each user: add per_user"),
    (propensity.RegressionEM(per_user=True, clusters="few"), "clusters: should be auto or a whole number from 1"),
    (propensity.RegressionEM(per_user=True, shrink="none", clusters=3), "clusters is for shrink clusters, but shrink is none"),
    (propensity.RegressionEM(per_user=True, shrink="much"), "known are none, population, clusters"),
    (propensity.RegressionEM(relevance="cubic"), "mlp:64,32"),
    (propensity.RegressionEM(prior="flat"), "known are fitted, none"),
    (propensity.RegressionEM(per_user=True, prior="none", clusters=3), "only with a fitted prior of relevance"),
    (propensity.RegressionEM(relevance="linear"), "learns from features"),
    (propensity.RegressionEM(tolerance=3.0), "tolerance is 3(.0)?, but should be between 0 and 1"),
    (propensity.RegressionEM(resamples=1), "is 1, but should be 0 for no standard errors, or at least 2"),
    (propensity.UserPBM(), "learns from features, but there are none: name them with data"),
    (propensity.DLA(), "learns from features, but there are none: name them with data"),
])
def test_what_cannot_be_is_refused(world, method, message):
    with pytest.raises(ValueError, match=message):
        method.fit(world[2])


def test_notes_are_warnings(world):
    _, data, counts, _ = world
    with pytest.warns(truerank.PropensityWarning, match="did not converge in 2 iterations"):
        em = propensity.RegressionEM(iterations=2, resamples=0).fit(counts, data)
    assert em.propensities_.converged is False and em.propensities_.notes
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        propensity.SwapExperiment(resamples=0).fit(counts)


def test_parameters_are_those_of_scikit_learn(world):
    from sklearn.base import clone

    em = propensity.RegressionEM(per_user=True, clusters=4)
    assert em.get_params()["clusters"] == 4 and em.get_params()["seed"] == 1
    assert em.set_params(clusters=5) is em and em.clusters == 5
    assert repr(em) == "RegressionEM(per_user=True, clusters=5)"
    assert clone(em).get_params() == em.get_params()
    with pytest.raises(ValueError, match="RegressionEM has no parameter 'depth'; known are per_user, "):
        em.set_params(depth=1)
    with pytest.raises(TypeError):
        propensity.RegressionEM(True)
    assert not hasattr(em, "propensities_")


def test_clusters_and_evidence_are_arrays(world):
    _, data, counts, _ = world
    em = propensity.RegressionEM(per_user=True, shrink="clusters", resamples=2).fit(counts, data)
    found = em.propensities_
    positions = found.positions
    assert found.clusters.shape[1] == positions and found.cluster_of_user.max() == len(found.clusters) - 1
    assert found.by_user.shape == found.user_standard_errors.shape == (len(found.users), positions)
    assert found.standard_errors.shape == found.population.shape == (positions,)
    assert (np.diff(found.log_likelihood)[-1] >= 0 or found.converged) and "em" in found.method
    assert {row["clusters"] for row in em.held_out_} >= {1, 2, 3}
    assert min(row["below_best"] for row in em.held_out_) == 0
    frame = found.to_pandas()
    assert frame.columns.tolist() == ["user", "position", "propensity", "level", "shape", "standard_error"]
    np.testing.assert_array_equal(frame.propensity.to_numpy().reshape(found.by_user.shape), found.by_user)
    np.testing.assert_array_equal(frame.level.to_numpy().reshape(found.by_user.shape)[:, 0], found.levels)
    np.testing.assert_array_equal(frame["shape"].to_numpy().reshape(found.by_user.shape), found.shapes)


def test_levels_and_shapes_are_those_of_the_file(world, tmp_path):
    _, data, counts, _ = world
    found = propensity.RegressionEM(per_user=True, shrink="population", resamples=0).fit(counts, data).propensities_
    found.write(tmp_path / "found.json")
    rows = json.loads((tmp_path / "found.json").read_text())["users"]
    # Files round both to five digits after the point.
    np.testing.assert_allclose([row["level"] for row in rows], found.levels, rtol=0, atol=5.001e-6)
    np.testing.assert_allclose([row["shape"] for row in rows], found.shapes, rtol=0, atol=5.001e-6)
    np.testing.assert_allclose(found.levels[:, None] * found.shapes, found.by_user, rtol=1e-12)
    positions = np.arange(1, found.positions + 1)
    # Where a line through ln θ(u,k)/θ̄(k) over ln k starts, positions counting by their clicks.
    clicks = counts.cells.to_pandas().groupby("position").clicks.sum().to_numpy()
    ratios = np.log(found.by_user / found.population)
    lines = np.polyfit(np.log(positions), ratios.T, 1, w=np.sqrt(clicks))
    np.testing.assert_allclose(found.levels, np.exp(lines[1]), rtol=1e-9)
    np.testing.assert_allclose(found.depths, found.shapes @ positions / found.shapes.sum(axis=1), rtol=1e-12)


def test_arrays_make_propensities(tmp_path):
    theta = truerank.Propensities.from_arrays([1, 0.5], ["<b>", "é"], [[1, 0.8], [1.2, 0.2]])
    assert theta.users.tolist() == ["<b>", "é"] and theta.population.tolist() == [1, 0.5]
    assert theta.by_user.tolist() == [[1, 0.8], [1.2, 0.2]]
    assert theta.of_user("é").tolist() == [1.2, 0.2] and theta.of_user("nobody").tolist() == [1, 0.5]
    theta.write(tmp_path / "theta.json")
    assert truerank.Propensities.read(tmp_path / "theta.json") == theta == pickle.loads(pickle.dumps(theta))
    alone = truerank.Propensities.from_arrays(np.array([1, 0.5]))
    assert alone.by_user is None and alone.clusters is None and alone.standard_errors is None and alone.converged is None
    assert alone.levels is None and alone.shapes is None and alone.depths is None
    assert alone.to_pandas().columns.tolist() == ["position", "propensity"]
    assert truerank.Propensities.from_arrays([1.0], [7], [[0.5]]).of_user("7").tolist() == [0.5]
    noted = truerank.Propensities.from_arrays([1.0], method="<script>")
    assert "<script>" not in noted._repr_html_() and "&lt;script&gt;" in noted._repr_html_()


@pytest.mark.parametrize("arguments, kind, message", [
    (([],), ValueError, "at least one position"),
    (([2.0],), ValueError, "between 0 and 1, but is 2"),
    (([1.0], ["a"]), ValueError, "go together"),
    (([1.0], ["a", "a"], [[1], [1]]), ValueError, "'a' stands twice"),
    (([1.0], ["a"], [[1, 2]]), ValueError, "should have 1 values for each user"),
    (([1.0], ["a"], [[-1]]), ValueError, "at least 0, but is -1"),
    (("x",), TypeError, "population is not a column of numbers"),
    (([float("nan")],), ValueError, "between 0 and 1, but is NaN"),
])
def test_arrays_that_cannot_be_are_refused(arguments, kind, message):
    with pytest.raises(kind, match=message):
        truerank.Propensities.from_arrays(*arguments)
