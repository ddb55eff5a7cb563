"""Relevance: the bytes of the command line, labels as it exports them, and the formula."""

import json
import pickle

import lightgbm
import numpy as np
import pandas
import pytest
import xgboost

import truerank


@pytest.fixture(scope="module")
def world(splits, tmp_path_factory):
    folder = tmp_path_factory.mktemp("relevance")
    splits.write(folder / "data")
    data = truerank.read_splits(folder / "data")
    simulation = truerank.simulate(data, sessions=4000, seed=2)
    counts = simulation.counts(patterns=True)
    counts.write(folder / "counts")
    simulation.propensities.write(folder / "theta.json")
    return folder, data, counts, simulation.propensities


ESTIMATORS = {
    "default": ({}, ""),
    "features": ({"seed": 3}, "--seed 3"),
    "as it is": ({"shrink": "none"}, "--shrink none"),
    "naive": ({"estimator": "naive"}, "--estimator naive"),
    "ips-pbm": ({"estimator": "ips-pbm"}, "--estimator ips-pbm"),
    "straightforward": ({"estimator": "straightforward"}, "--estimator straightforward"),
    "user-aware": ({"estimator": "user-aware", "clip": 0.05}, "--estimator user-aware --clip 0.05"),
    "likelihood": ({"beta": "likelihood"}, "--beta likelihood"),
    "number": ({"beta": 0.5, "prior": "mean", "shrink": 2}, "--beta 0.5 --prior mean --shrink 2"),
    "model": ({"prior": "model", "shrink": "auto", "seed": 4}, "--prior model --shrink auto --seed 4"),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_weights_are_those_of_the_command_line(name, world, command, tmp_path):
    folder, data, counts, theta = world
    options, arguments = ESTIMATORS[name]
    features = {"data": data} if options.get("prior") == "model" or name == "features" else {}
    with_data = ["--data", folder / "data"] if features else []
    theirs = tmp_path / "theirs.parquet"
    printed = command("relevance", folder / "counts", "--propensities", folder / "theta.json", *arguments.split(), *with_data,
                      "--diagnostics", "--json", "-o", theirs)
    weights = truerank.relevance(counts, theta, **options, **features)
    weights.write(tmp_path / "ours.parquet")
    assert (tmp_path / "ours.parquet").read_bytes() == theirs.read_bytes()
    assert truerank.Relevance.read(theirs) == weights == pickle.loads(pickle.dumps(weights))
    [summary] = json.loads(printed)
    assert weights.diagnostics() == summary["diagnostics"]
    assert (weights.beta, weights.estimator) == (summary["beta"], summary["estimator"])


def test_a_weight_is_clicks_over_exposure(world):
    _, _, counts, theta = world
    table = truerank.relevance(counts, theta, estimator="user-aware").to_pandas()
    cells = counts.to_pandas()
    place = {user: number for number, user in enumerate(theta.users)}
    examined = theta.by_user[cells.user.map(place), cells.position - 1]
    exposure = cells.assign(exposure=cells.impressions * examined).groupby(["query", "doc"]).exposure.sum().to_numpy()
    np.testing.assert_allclose(table.exposure, exposure)
    np.testing.assert_allclose(table.weight, table.clicks / exposure)


def test_fitted_estimators_are_propensities(world):
    _, data, counts, _ = world
    em = truerank.propensity.RegressionEM(resamples=0).fit(counts, data)
    assert truerank.relevance(counts, em) == truerank.relevance(counts, em.propensities_)
    with pytest.raises(TypeError, match="or an estimator that was fitted"):
        truerank.relevance(counts, truerank.propensity.RegressionEM())


def test_labels_are_those_that_are_exported(world, command, tmp_path):
    folder, data, counts, theta = world
    weights = truerank.relevance(counts, theta)
    weights.write(tmp_path / "weights.parquet")
    cases = [({}, ""), ({"form": "steps"}, "--labels steps"), ({"steps": 2, "click_noise": 0.1}, "--labels steps --steps 2 --click-noise 0.1"),
             ({"to": "xgboost", "form": "gains"}, "--labels gains")]
    for number, (options, arguments) in enumerate(cases):
        to, target = options.get("to", "lightgbm"), tmp_path / f"labels{number}"
        command("export", tmp_path / "weights.parquet", "--to", to, "--data", folder / "data", *arguments.split(), "-o", target)
        labels = weights.labels(data, **options)
        exported = [float(line.split(" ")[0]) for line in (target / "train.svm").read_text().splitlines()]
        assert labels.label.tolist() == exported
        assert labels.params == json.loads((target / "params.json").read_text())
        if to == "lightgbm":
            read = lambda ending: [float(line) for line in (target / f"train.svm.{ending}").read_text().split()]
            assert labels.group.tolist() == read("query")
            assert labels.weight.tolist() == read("weight")
        else:
            assert labels.weight is None


def test_labels_fit_the_rows_of_the_data(world):
    _, data, counts, theta = world
    weights = truerank.relevance(counts, theta, estimator="user-aware")
    labels = weights.labels(data.train)
    by_row = labels.by_row
    assert len(by_row) == len(data.train) and np.isnan(by_row).sum() == len(data.train) - len(labels)
    np.testing.assert_array_equal(by_row[labels.rows], labels.label)
    table = weights.to_pandas().set_index(["query", "doc"]).weight
    query, docs = data.train.query, data.train.docs
    for row in labels.rows[:50]:
        assert by_row[row] == table[(query[row], docs[row])]
    assert labels.group.sum() == len(labels.rows)


def test_labels_have_the_prior_as_far_as_clicks_tell_the_features(world):
    """docs/estimators.md: (c + λ·r̂·b)/(X + b), where a weight is (c + r̂·b)/(X + b)."""
    _, data, counts, theta = world
    weights = truerank.relevance(counts, theta, data=data, beta=1e-9)
    table, b = weights.to_pandas(), weights.shrink
    clicks = (table.clicks * b / (table.exposure + b)).sum()
    share = clicks / (clicks + 10 * data.train.feature_count)
    clicked = table.clicks / (table.exposure + b)
    expected = (clicked + share * (table.weight - clicked)).set_axis(pandas.MultiIndex.from_frame(table[["query", "doc"]]))
    labels = weights.labels(data)
    query, docs = data.train.query[labels.rows], data.train.docs[labels.rows]
    np.testing.assert_allclose(labels.label, expected[list(zip(query, docs))], rtol=1e-5)
    assert not np.allclose(labels.label, weights.on(data.train)[labels.rows], rtol=1e-2)


@pytest.mark.parametrize("options", [{}, {"form": "steps"}, {"max_grade": 4, "form": "steps", "steps": 2}], ids=str)
def test_lightgbm_trains_on_what_is_shown(world, options):
    _, data, counts, theta = world
    weights = truerank.relevance(counts, theta, data=data)
    names = [f"feature_{number}" for number in range(data.train.feature_count)]
    params, train = weights.to_lightgbm(data, feature_names=names, **options)
    labels = weights.labels(data, **options)
    train.construct()
    np.testing.assert_array_equal(train.get_label(), labels.label.astype(np.float32))
    np.testing.assert_array_equal(train.get_group(), labels.group)
    np.testing.assert_array_equal(train.get_weight(), labels.weight.astype(np.float32))
    assert (params, train.get_feature_name(), train.num_data()) == (labels.params, names, len(labels))
    model = lightgbm.train(params | {"verbosity": -1}, train, 30)
    assert_learned(data, model.predict(data.test.features), labels, model.predict(data.train.features))


@pytest.mark.parametrize("options", [{}, {"form": "gains"}, {"form": "steps"}], ids=str)
def test_xgboost_trains_on_what_is_shown(world, options):
    _, data, counts, theta = world
    weights = truerank.relevance(counts, theta, data=data)
    names = [f"feature_{number}" for number in range(data.train.feature_count)]
    params, train = weights.to_xgboost(data.train, feature_names=names, **options)
    labels = weights.labels(data, to="xgboost", **options)
    np.testing.assert_array_equal(train.get_label(), labels.label.astype(np.float32))
    assert (params, train.feature_names, train.num_row()) == (labels.params, names, len(labels))
    if labels.weight is None:
        np.testing.assert_array_equal(np.diff(train.get_uint_info("group_ptr")), labels.group)
    else:
        np.testing.assert_array_equal(train.get_weight(), labels.weight.astype(np.float32))
    model = xgboost.train(params, train, 30)
    scores = lambda part: model.predict(xgboost.DMatrix(part.features, feature_names=names))
    assert_learned(data, scores(data.test), labels, scores(data.train))


def assert_learned(data, test_scores, labels, train_scores):
    """The trainer understood the labels: scores follow them, and rank documents that it has not seen."""
    assert np.corrcoef(train_scores[labels.rows], labels.label)[0, 1] > 0.3
    random = np.random.default_rng(1).random(len(test_scores))
    found, of_chance = (truerank.evaluate(data.test, scores)["nDCG@5"] for scores in (test_scores, random))
    assert found > of_chance + 0.05


def test_trainers_without_names_and_with_names_that_do_not_fit(world):
    _, data, counts, theta = world
    weights = truerank.relevance(counts, theta)
    params, train = weights.to_lightgbm(data)
    assert lightgbm.train(params | {"verbosity": -1}, train, 2).feature_name()[0] == "Column_0"
    assert weights.to_xgboost(data)[1].feature_names is None
    with pytest.raises(ValueError, match="feature names"):
        weights.to_xgboost(data, feature_names=["one"])
    with pytest.raises(ValueError, match="feature_name"):
        weights.to_lightgbm(data, feature_names=["one"])[1].construct()
    with pytest.raises(TypeError, match="Dataset, or Splits"):
        weights.to_lightgbm(data.train.features)


@pytest.mark.parametrize("options, message", [
    ({"form": "grades"}, "'grades' is not a form of labels"),
    ({"form": "weights", "steps": 2}, "steps are for labels that are steps"),
    ({"form": "gains"}, "LightGBM ranks by whole numbers"),
    ({"to": "catboost"}, "to is 'catboost', but should be lightgbm or xgboost"),
])
def test_labels_that_cannot_be_are_refused(world, options, message):
    _, data, counts, theta = world
    with pytest.raises(ValueError, match=message):
        truerank.relevance(counts, theta).labels(data, **options)


@pytest.mark.parametrize("options, message", [
    ({"estimator": "best"}, "'best' is not an estimator; known are naive"),
    ({"beta": -1}, "beta: it is '-1'"),
    ({"estimator": "user-aware", "prior": "mean"}, "prior mean changes nothing without clip or shrink"),
    ({"prior": "model", "shrink": "auto"}, "prior model needs the features of the documents, but there are none; add data"),
    ({"estimator": "naive", "clip": 0.1}, "but estimator is naive"),
    ({"clip": 2.0}, "clip is 2, but should be above 0 and at most 1"),
])
def test_what_cannot_be_is_refused(world, options, message):
    _, _, counts, theta = world
    with pytest.raises(ValueError, match=message):
        truerank.relevance(counts, theta, **options)


def test_files_hold_weights_alone(world, tmp_path):
    _, _, counts, theta = world
    truerank.relevance(counts, theta).write(tmp_path / "weights.parquet")
    with pytest.raises(ValueError, match="estimate them anew"):
        truerank.Relevance.read(tmp_path / "weights.parquet").diagnostics()


def test_propensities_reach_as_far_as_the_log(world):
    _, _, counts, _ = world
    with pytest.raises(ValueError, match="the propensities end at position 2"):
        truerank.relevance(counts, truerank.Propensities.from_arrays([1.0, 0.5]))


def test_pairs_are_weighed(world):
    _, _, counts, theta = world
    pairs = truerank.pair_weights(counts, theta)
    assert pairs.queries.tolist() == counts.queries.tolist() and len(pairs) == len(pairs.queries)
    docs, weights = pairs.of_query(counts.queries[0])
    assert weights.shape == (len(docs), len(docs)) and (np.diag(weights) == 0).all() and (weights >= 0).all()
    assert set(docs) == set(counts.cells["doc"][counts.cells["query"] == counts.queries[0]])
    assert pairs.ratio == "prs" and pairs == truerank.pair_weights(counts, theta, "prs")
    scored = truerank.pair_weights(counts, theta, "prs-by-score")
    above, below = (scored.of_query(counts.queries[0], scored_below=side)[1] for side in [False, True])
    assert scored.ratio == "prs-by-score" and ((above > 0) == (below > 0)).all() and (above != below).any()
    with pytest.raises(ValueError, match="'by-score' is not a weight of click pairs; known are prs, prs-by-score"):
        truerank.pair_weights(counts, theta, "by-score")
    with pytest.raises(KeyError, match="nowhere"):
        pairs.of_query("nowhere")
    small = {"session": [1, 1], "user": [1, 1], "query": [1, 1], "doc": [1, 2], "position": [1, 2], "click": [0, 1]}
    with pytest.raises(ValueError, match="PRS needs click patterns"):
        truerank.pair_weights(truerank.Counts.from_log(small), theta)
