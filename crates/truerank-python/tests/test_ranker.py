"""Rankers: the command line's bytes, and scikit-learn's interface."""

import json
import pickle
import subprocess
import sys

import numpy as np
import pytest

import truerank

sklearn = pytest.importorskip("sklearn")
from sklearn.base import clone  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402


@pytest.fixture(scope="module")
def data():
    return truerank.generate("tiny", seed=2)


@pytest.fixture(scope="module")
def clicks(data):
    return truerank.simulate(data, sessions=5000, seed=2)


@pytest.fixture(scope="module")
def relevance(clicks):
    return truerank.relevance(clicks.counts(), clicks.propensities, estimator="user-aware")


def arrays(data):
    return np.array(data.features), data.grades.astype(float), data.query


# Bytes


@pytest.mark.parametrize(
    "options, parameters",
    [
        ("--model linear", {"model": "linear"}),
        ("--model mlp:8 --steps 20", {"model": "mlp:8", "steps": 20}),
        (
            "--model mlp:8,4 --steps 30 --optimizer adam --batch 16 --learning-rate 0.02 --clip 2 --l2 0.001"
            " --check-every 5 --patience 2 --validation ARP --scaling standard --seed 7",
            dict(model="mlp:8,4", steps=30, optimizer="adam", batch=16, learning_rate=0.02, clip=2, l2=0.001)
            | dict(check_every=5, patience=2, validation_measure="ARP", scaling="standard", seed=7),
        ),
        ("--model linear-raw --steps 9", {"model": "linear-raw", "steps": 9}),
    ],
)
@pytest.mark.parametrize("source", ["grades", "weights"])
def test_the_same_bytes_as_the_command_line(cli, data, relevance, tmp_path, options, parameters, source):
    data.write(tmp_path / "data")
    relevance.write(tmp_path / "weights.parquet")
    weights = "--relevance weights.parquet" if source == "weights" else ""
    cli(f"train data {options} {weights} -o cli.safetensors")
    ranker = truerank.Ranker(**parameters).fit(data, relevance if source == "weights" else None)
    ranker.write(tmp_path / "python.safetensors")
    assert (tmp_path / "python.safetensors").read_bytes() == (tmp_path / "cli.safetensors").read_bytes()
    assert ranker.trained_.to_bytes() == (tmp_path / "cli.safetensors").read_bytes()


def test_the_same_bytes_of_svm_rank(cli, data, tmp_path):
    data.write(tmp_path / "data")
    cli("train data --model svm-rank --share 0.2 --cost 0.5 --seed 3 -o cli.st")
    truerank.Ranker("svm-rank", share=0.2, cost=0.5, seed=3).fit(data.train).write(tmp_path / "python.st")
    assert (tmp_path / "python.st").read_bytes() == (tmp_path / "cli.st").read_bytes()


def test_the_same_bytes_from_click_pairs(cli, data, clicks, tmp_path):
    data.write(tmp_path / "data")
    counts = truerank.Counts.from_log(clicks.log(), patterns=True)
    counts.write(tmp_path / "counts")
    clicks.propensities.write(tmp_path / "p.json")
    for ratio in ["prs", "prs-by-score"]:
        cli(f"train data --pairs counts --propensities p.json --pair-weights {ratio} --model mlp:8 --steps 10 -o cli.st")
        pairs = truerank.pair_weights(counts, clicks.propensities, ratio)
        ranker = truerank.Ranker("mlp:8", steps=10).fit(data, pairs)
        ranker.write(tmp_path / "python.st")
        assert (tmp_path / "python.st").read_bytes() == (tmp_path / "cli.st").read_bytes()
        assert ranker.record_["notes"] == [["source", f"click pairs by {ratio}"]]


def test_what_was_learned_is_what_the_command_line_says(cli, data, tmp_path):
    data.write(tmp_path / "data")
    cli("train data --model linear-raw --steps 9 -o r.safetensors")
    said = json.loads(cli("explain r.safetensors --data data/test.txt --seed 3 --json"))
    ranker = truerank.Ranker.read(tmp_path / "r.safetensors")
    assert ranker.importance(data.test, seed=3) == said["importance"]
    for first in said["dependence"]:
        values, scores = ranker.partial_dependence(data.test, first["feature"], seed=3)
        np.testing.assert_allclose(values, np.float32(first["values"]))
        np.testing.assert_array_equal(scores, first["scores"])
        # A line, as far as single precision tells.
        np.testing.assert_allclose(np.diff(scores), ranker.coef_[first["feature"] - 1] * np.diff(values), atol=1e-5)


def test_features_have_the_names_of_a_frame():
    pandas = pytest.importorskip("pandas")
    random = np.random.default_rng(1)
    frame = pandas.DataFrame(random.random((200, 2)), columns=["price", "age"])
    query = np.repeat(np.arange(20), 10)
    ranker = truerank.Ranker("linear-raw").fit(frame, 2 * frame["age"], query=query)
    documents = truerank.Dataset.from_arrays(frame, query=query)
    price, age = ranker.importance(documents)
    assert (price["feature"], age["feature"]) == ("price", "age")
    assert age["order_change"] > price["order_change"] and age["ndcg_loss"] is None
    by_name, by_number = (ranker.partial_dependence(documents, feature) for feature in ["age", 2])
    np.testing.assert_array_equal(by_name, by_number)
    for feature in ["size", 3]:
        with pytest.raises(ValueError, match="feature is .*, but should be"):
            ranker.partial_dependence(documents, feature)


def test_what_was_learned_from_is_said(data, relevance):
    source = lambda y: truerank.Ranker("linear").fit(data, y).record_["notes"]
    assert source(None) == [["source", "human grades"]]
    assert source(relevance) == [["source", "weights by user-aware"]]
    assert source(data.train.grades) == [["source", "weights of rows"]]


# What is learned from


def test_grades_as_an_array_train_the_same_model(data):
    X, y, query = arrays(data.train)
    by_array = truerank.Ranker("mlp:8", steps=20).fit(X, y / 4, query=query)
    by_grades = truerank.Ranker("mlp:8", steps=20).fit(data.train)
    np.testing.assert_array_equal(by_array.predict(X), by_grades.predict(data.train))


def test_rows_that_are_nan_were_not_shown(data):
    X, y, query = arrays(data.train)
    shown = np.random.default_rng(1).random(len(y)) < 0.7
    # Other scalings are those of all documents that are given, shown or not.
    kept = truerank.Ranker("linear", scaling="paper").fit(X[shown], y[shown], query=query[shown])
    masked = truerank.Ranker("linear", scaling="paper").fit(X, np.where(shown, y, np.nan), query=query)
    np.testing.assert_array_equal(kept.predict(X), masked.predict(X))
    with pytest.raises(ValueError, match="the weight of row 1 is -1, but weights are finite and at least 0"):
        truerank.Ranker("linear").fit(X, -np.ones(len(X)), query=query)
    with pytest.raises(ValueError, match="the weight of row 1 is inf"):
        truerank.Ranker("linear").fit(X, np.full(len(X), np.inf), query=query)


def test_svm_rank_takes_arrays_as_grades(data):
    X, y, query = arrays(data.train)
    by_array = truerank.Ranker("svm-rank").fit(X, y, query=query)
    assert by_array.trained_ == truerank.Ranker("svm-rank").fit(data.train).trained_
    with pytest.raises(ValueError, match="svm-rank learns from human grades"):
        truerank.Ranker("svm-rank").fit(data.train, y)


def test_validation(data):
    _, _, query = arrays(data.validation)
    triple = (np.array(data.validation.features), data.validation.grades, query)
    by_splits = truerank.Ranker("linear").fit(data)
    for validation in [data.validation, triple]:
        assert truerank.Ranker("linear").fit(data.train, validation=validation).trained_ == by_splits.trained_
    without = truerank.Ranker("linear").fit(data.train)
    assert by_splits.record_["validation"] is not None and without.record_["validation"] is None
    with pytest.raises(TypeError, match=r"validation should be a Dataset or a tuple \(X, grade, query\)"):
        truerank.Ranker("linear").fit(data.train, validation=[1, 2])
    with pytest.raises(ValueError, match="patience needs validation"):
        truerank.Ranker("mlp:8", patience=3).fit(data.train)


def test_what_is_not_in_the_data_is_counted(data, relevance):
    few = data.train.select(np.arange(20))
    ranker = truerank.Ranker("linear").fit(few, relevance)
    assert ranker.unmatched_[0] > 100
    assert truerank.Ranker("linear").fit(data.train, relevance).unmatched_ == (0, 0)


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"model": "tree"}, "the model is 'tree', but should be linear, mlp"),
        ({"model": "mlp:0"}, "hidden size"),
        ({"optimizer": "newton"}, "the optimizer is 'newton', but should be lbfgs"),
        ({"learning_rate": -1}, "learning_rate is -1, but should be above 0"),
        ({"steps": 0}, "steps"),
        ({"cost": 2}, "cost is for svm-rank, but model is mlp"),
        ({"model": "svm-rank", "steps": 3}, "steps is for linear, mlp, linear-raw or trees, but model is svm-rank"),
        ({"model": "linear-raw", "scaling": "paper"}, "scaling is for linear or mlp, but model is linear-raw"),
        ({"validation_measure": "accuracy"}, "'accuracy' is not a measure"),
    ],
)
def test_wrong_parameters_are_refused_when_fitted(data, parameters, message):
    ranker = truerank.Ranker(**parameters)
    with pytest.raises(ValueError, match=message):
        ranker.fit(data.train)
    assert not hasattr(ranker, "trained_")


def test_wrong_types_are_refused(data):
    with pytest.raises(ValueError, match="steps is 'many', but should be a whole number"):
        truerank.Ranker(steps="many").fit(data.train)
    with pytest.raises(TypeError, match="y is not a column of numbers"):
        truerank.Ranker().fit(data.train, ["a"] * len(data.train))
    with pytest.raises(ValueError, match="query is missing"):
        truerank.Ranker().fit(np.ones((3, 2)), [1, 0, 1])
    with pytest.raises(ValueError, match="leave out query"):
        truerank.Ranker().fit(data.train, query=data.train.query)


# Files


def test_saving_loading_and_pickling(data, tmp_path):
    ranker = truerank.Ranker("mlp:8", steps=5).fit(data)
    ranker.write(tmp_path / "ranker.safetensors")
    scores = ranker.predict(data.test)
    for copy in [truerank.Ranker.read(tmp_path / "ranker.safetensors"), pickle.loads(pickle.dumps(ranker))]:
        np.testing.assert_array_equal(copy.predict(data.test), scores)
        assert copy.record_ == ranker.record_ and copy.n_features_in_ == 20
    with pytest.raises(FileNotFoundError, match="nowhere"):
        truerank.Ranker.read(tmp_path / "nowhere")
    (tmp_path / "bad").write_bytes(b"no ranker")
    with pytest.raises(ValueError, match="not a whole safetensors file"):
        truerank.Ranker.read(tmp_path / "bad")


def test_exports(cli, data, tmp_path):
    ranker = truerank.Ranker("linear-raw").fit(data)
    ranker.write(tmp_path / "ranker.st")
    ranker.export(tmp_path / "ranker.onnx")
    ranker.export(tmp_path / "model.json", to="elasticsearch")
    for name, to in [("cli.onnx", "onnx"), ("cli.json", "elasticsearch --name model")]:
        cli(f"export ranker.st --to {to} -o {name}")
    assert (tmp_path / "ranker.onnx").read_bytes() == (tmp_path / "cli.onnx").read_bytes()
    assert (tmp_path / "model.json").read_bytes() == (tmp_path / "cli.json").read_bytes()
    with pytest.raises(ValueError, match="to is 'pmml', but should be onnx, elasticsearch, lightgbm or xgboost"):
        ranker.export(tmp_path / "x", to="pmml")
    with pytest.raises(ValueError, match="models of LightGBM are trees, but this ranker has none"):
        ranker.export(tmp_path / "x", to="lightgbm")


def forest():
    """The bytes of a ranker on two features: f1 < .5 ? 1 : 2, missing to the left, plus .25."""
    tensors = {
        "trees.ends": ("U32", [1, 1]), "splits.feature": ("U32", [0]), "splits.threshold": ("F32", [0.5]),
        "splits.missing_left": ("BOOL", [1]), "splits.gain": ("F32", [1]), "splits.left": ("I32", [-1]),
        "splits.right": ("I32", [-2]), "leaves.value": ("F32", [1, 2, 0.25]), "leaves.rows": ("U32", [5, 5, 10]),
    }  # fmt: skip
    kinds = {"U32": "<u4", "I32": "<i4", "F32": "<f4", "BOOL": "u1"}
    record = {"loss": "", "method": "", "seed": 1, "steps": 2, "best_step": 2, "validation": None}
    record |= {"lists": 1, "skipped_lists": 0, "checks": [], "notes": []}
    about = {"type": "truerank/ranker", "version": 3, "model": "trees", "features": 2, "record": record}
    header, data = {"__metadata__": {"truerank": json.dumps(about)}}, b""
    for name, (kind, values) in tensors.items():
        part = np.array(values, kinds[kind]).tobytes()
        header[name] = {"dtype": kind, "shape": [len(values)], "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def test_trees_leave_as_models(cli, tmp_path):
    import lightgbm

    (tmp_path / "cli").mkdir()
    (tmp_path / "ranker.st").write_bytes(forest())
    ranker = truerank.Ranker.read(tmp_path / "ranker.st")
    rows = np.array([[0, 0], [0.5, 0], [2, 7]], np.float32)
    assert ranker.trained_.form == "trees" and ranker.predict(rows).tolist() == [1.25, 2.25, 2.25]
    assert truerank.TrainedRanker.from_bytes(ranker.trained_.to_bytes()) == ranker.trained_
    for to, name in [("onnx", "m.onnx"), ("lightgbm", "m.txt"), ("xgboost", "m.json"), ("elasticsearch", "clicks.json")]:
        ranker.export(tmp_path / name, to=to)
        cli(f"export ranker.st --to {to} -o cli/{name}")
        assert (tmp_path / name).read_bytes() == (tmp_path / "cli" / name).read_bytes()
    model = lightgbm.Booster(model_file=tmp_path / "m.txt")
    assert model.feature_name() == ["f1", "f2"]
    assert np.array_equal(model.predict(rows), ranker.predict(rows)) and model.predict([[np.nan, 0]]) == [1.25]
    body = json.loads((tmp_path / "clicks.json").read_text())["model"]
    assert (body["name"], body["model"]["type"]) == ("clicks", "model/xgboost+json")
    ranker.export(tmp_path / "named.txt", to="lightgbm", feature_names=["a", "b"])
    assert lightgbm.Booster(model_file=tmp_path / "named.txt").feature_name() == ["a", "b"]
    with pytest.raises(ValueError, match="feature_names for LightGBM should be without spaces .*, but one is 'a b'"):
        ranker.export(tmp_path / "x", to="lightgbm", feature_names=["a b", "b"])
    with pytest.raises(AttributeError, match="scores of trees are not linear"):
        ranker.coef_


def test_coefficients_are_the_scores(data):
    for options in [dict(model="linear", scaling="standard"), dict(model="linear-raw"), dict(model="svm-rank")]:
        ranker = truerank.Ranker(**options).fit(data)
        by_hand = data.test.features.astype(float) @ ranker.coef_ + ranker.intercept_
        np.testing.assert_allclose(by_hand, ranker.predict(data.test), atol=1e-4)
    X = data.test.features.astype(float)
    normalised = (X - X.mean(axis=1, keepdims=True)) / X.std(axis=1, keepdims=True)
    ranker = truerank.Ranker("linear", scaling="paper").fit(data)
    np.testing.assert_allclose(normalised @ ranker.coef_ + ranker.intercept_, ranker.predict(data.test), atol=1e-2)
    with pytest.raises(AttributeError, match="are not linear"):
        truerank.Ranker("mlp:4", steps=2).fit(data).coef_


def test_looks(data):
    ranker = truerank.Ranker("mlp:8", steps=5)
    assert repr(ranker) == "Ranker(model='mlp:8', steps=5)"
    assert "Ranker" in ranker._repr_html_()
    assert "human grades" in ranker.fit(data)._repr_html_()
    assert repr(ranker.trained_) == "<TrainedRanker: mlp:8 on 20 features>"


# scikit-learn's interface


def test_importing_truerank_imports_no_scikit_learn():
    code = "import sys, truerank; assert 'sklearn' not in sys.modules; truerank.Ranker; assert 'sklearn' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_rankers_work_without_scikit_learn():
    code = """
import sys
sys.modules["sklearn"] = None
import truerank
data = truerank.generate("tiny")
ranker = truerank.Ranker("linear")
try:
    ranker.predict(data.test)
    raise SystemExit("should not be fitted")
except ValueError as error:
    assert "not fitted yet" in str(error)
assert ranker.fit(data) is ranker and ranker.score(data.test) > 0.5
assert ranker.set_params(steps=3).get_params()["steps"] == 3
assert repr(ranker) == "Ranker(model='linear', steps=3)"
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_parameters_and_clones(data):
    ranker = truerank.Ranker("linear", seed=3)
    before = ranker.get_params()
    assert before["model"] == "linear" and before["steps"] is None
    assert ranker.fit(data) is ranker
    assert ranker.get_params() == before
    copy = clone(ranker)
    assert copy.get_params() == before and not hasattr(copy, "trained_")
    assert copy.fit(data).trained_ == ranker.trained_
    assert ranker.set_params(model="linear-raw").model == "linear-raw"
    with pytest.raises(ValueError, match="Invalid parameter 'depth'"):
        ranker.set_params(depth=3)


def test_fitting_again_forgets_the_first_time(data):
    ranker = truerank.Ranker("mlp:8", steps=5)
    first = ranker.fit(data).trained_.to_bytes()
    assert ranker.fit(data).trained_.to_bytes() == first
    X, y, query = arrays(data.train)
    ranker.fit(X[:, :5], y, query=query)
    assert ranker.n_features_in_ == 5 and ranker.predict(X[:, :5]).shape == (len(X),)


def test_use_before_fit(data):
    ranker = truerank.Ranker()
    for use in [ranker.predict, ranker.score, ranker.write, lambda _: ranker.coef_]:
        with pytest.raises(NotFittedError, match="This Ranker instance is not fitted yet"):
            use(data.test)


def test_other_features_are_refused(data):
    pandas = pytest.importorskip("pandas")
    ranker = truerank.Ranker("linear").fit(data)
    with pytest.raises(ValueError, match="X has 3 features, but Ranker is expecting 20 features as input"):
        ranker.predict(np.ones((2, 3)))
    with pytest.raises(ValueError, match="X has 3 features"):
        ranker.predict(truerank.Dataset.from_arrays(np.ones((2, 3)), query=[1, 1]))
    X, y, query = arrays(data.train)
    frame = pandas.DataFrame(X, columns=[f"f{i}" for i in range(20)])
    ranker.fit(frame, y, query=query)
    assert ranker.feature_names_in_.tolist() == list(frame.columns)
    np.testing.assert_array_equal(ranker.predict(frame), ranker.predict(X))
    with pytest.raises(ValueError, match="feature names should match"):
        ranker.predict(frame[frame.columns[::-1]])


def test_scores_are_the_mean_ndcg(data):
    ranker = truerank.Ranker("linear").fit(data)
    X, y, query = arrays(data.test)
    expected = truerank.evaluate(data.test, ranker)["nDCG@5"]
    assert ranker.score(data.test) == ranker.score(X, y, query=query) == ranker.evaluate(data.test)["nDCG@5"] == expected


def test_a_grid_search_over_groups(data):
    from sklearn.model_selection import GridSearchCV, GroupKFold

    X, y, query = arrays(data.train)
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = truerank.Ranker("linear-raw").set_fit_request(query=True).set_score_request(query=True)
        search = GridSearchCV(ranker, {"l2": [0.0, 0.01], "steps": [2, 20]}, cv=GroupKFold(3), error_score="raise")
        search.fit(X, y, groups=query, query=query)
    table = search.cv_results_
    assert len(table["mean_test_score"]) == 4 and 0.4 < search.best_score_ < 1
    # One fold by hand.
    train, test = next(GroupKFold(3).split(X, y, query))
    first = truerank.Ranker("linear-raw", l2=0.0, steps=2).fit(X[train], y[train], query=query[train])
    assert table["split0_test_score"][0] == first.score(X[test], y[test], query=query[test])


class OneQuery(truerank.Ranker):
    """All rows are one query, so that scikit-learn's checks, which know no queries, can be run."""

    def fit(self, X, y=None):
        query = None if y is None else np.zeros(len(np.asarray(y)), dtype=int)
        return super().fit(X, np.ravel(y) if y is not None else None, query=query)

    def score(self, X, y=None):
        return super().score(X, y, query=np.zeros(len(y), dtype=int))


# Checks that do not apply, and why.
NOT_OURS = {
    "check_dtype_object": "wants scikit-learn's own words for a dict among the features; ours is a TypeError too",
    "check_fit2d_1sample": "one document is one list of one, of which there is nothing to learn; it is not an error",
    "check_dataframe_column_names_consistency": "wants a warning for unnamed columns, which we take as they come",
    "check_sample_weights_*": "there are no weights of samples beside y itself",
    "check_classifiers_*, check_regressors_*": "a ranker is neither",
}


def checks():
    from sklearn.utils import estimator_checks

    names = """
    check_estimator_cloneable check_estimator_tags_renamed check_valid_tag_types check_estimator_repr
    check_no_attributes_set_in_init check_parameters_default_constructible check_get_params_invariance
    check_set_params check_do_not_raise_errors_in_init_or_set_param check_dont_overwrite_attributes
    check_estimators_overwrite_params check_dict_unchanged check_estimators_fit_returns_self check_fit_score_takes_y
    check_estimators_pickle check_fit_idempotent check_fit_check_is_fitted check_n_features_in
    check_n_features_in_after_fitting check_estimators_unfitted check_methods_sample_order_invariance
    check_methods_subset_invariance check_fit2d_predict1d check_fit1d check_estimators_nan_inf
    check_complex_data check_estimators_dtypes check_fit2d_1feature check_pipeline_consistency check_readonly_memmap_input
    check_estimator_sparse_array check_estimator_sparse_matrix check_requires_y_none check_mixin_order
    """.split()
    return [(name, getattr(estimator_checks, name)) for name in names if hasattr(estimator_checks, name)]


@pytest.mark.parametrize("name, check", checks())
def test_checks_of_scikit_learn(name, check):
    check("Ranker", OneQuery("linear-raw", steps=5))


# Missing values


def test_trees_take_missing_features_as_lightgbm_does(data, tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    X, y, query = arrays(data.train)
    X[np.random.default_rng(3).random(X.shape) < 0.2] = np.nan
    ranker = truerank.Ranker("trees", steps=20).fit(X, y / 4, query=query)
    again = truerank.Ranker("trees", steps=20).fit(truerank.Dataset.from_arrays(X, query=query), y / 4)
    scores = ranker.predict(X)
    assert np.isfinite(scores).all() and np.array_equal(scores, again.predict(X))
    assert ranker.importance(truerank.Dataset.from_arrays(X, grade=y, query=query))
    ranker.export(tmp_path / "model.txt", to="lightgbm")
    model = lightgbm.Booster(model_file=tmp_path / "model.txt")
    assert np.array_equal(model.predict(X).astype(np.float32), scores)
    assert ranker.__sklearn_tags__().input_tags.allow_nan


@pytest.mark.parametrize("model", ["linear", "mlp:4", "linear-raw", "svm-rank"])
def test_other_rankers_refuse_missing_features(data, model):
    X, y, query = arrays(data.train)
    ranker = truerank.Ranker(model).fit(X, y, query=query) if model == "svm-rank" else truerank.Ranker(model, steps=2).fit(X, y / 4, query=query)
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"row 4 has no feature 2 \(NaN\), but a ranker of the form .* needs every feature"):
        ranker.predict(X)
    with pytest.raises(ValueError, match=r"has no feature 2 \(NaN\), but .* needs every feature; fill in what is missing, or use trees"):
        clone(ranker).fit(X, y if model == "svm-rank" else y / 4, query=query)
    assert not ranker.__sklearn_tags__().input_tags.allow_nan
