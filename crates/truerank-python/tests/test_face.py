"""What every value has in common: pickles, frames, plots and cells of notebooks; signatures; the command that comes with the package."""

import inspect
import pickle
import subprocess
import sys
from pathlib import Path

import matplotlib
import numpy as np
import pandas
import polars
import pyarrow
import pytest

import truerank
from truerank import experiment

matplotlib.use("agg")


@pytest.fixture(scope="module")
def simulation(splits):
    return truerank.simulate(splits, sessions=4000, seed=2)


@pytest.fixture(scope="module")
def counts(simulation):
    return truerank.Counts.from_log(simulation.log(), transitions=True, patterns=True)


@pytest.fixture(scope="module")
def relevance(counts, simulation):
    return truerank.relevance(counts, simulation.propensities, estimator="user-aware")


@pytest.fixture(scope="module")
def evaluation(splits):
    scores = splits.test.features
    return truerank.evaluate(splits.test, scores[:, 0], against=scores[:, 1])


@pytest.fixture(scope="module")
def outcome(counts, splits):
    return truerank.fit(counts, splits, model="linear", steps=5)


@pytest.fixture(scope="module")
def clicked(splits, counts, simulation):
    return truerank.evaluate_clicks(splits.train, splits.train.features[:, 0], counts, simulation.propensities, resamples=20)


def again(value):
    return pickle.loads(pickle.dumps(value))


def test_pickles_of_what_can_be_compared_are_equal(splits, simulation, counts, relevance, outcome):
    model = truerank.click_model.fit(counts, model="pbm")
    pairs = truerank.pair_weights(counts, simulation.propensities)
    by_score = truerank.pair_weights(counts, simulation.propensities, "prs-by-score")
    values = [splits.train, counts, counts.cells, counts.transitions, relevance, simulation.propensities, model, pairs, by_score]
    for value in [*values, outcome.ranker.trained_]:
        assert again(value) == value


def test_pickles_of_results_say_the_same(evaluation, clicked, relevance, splits, outcome, counts, tmp_path):
    results = experiment.rq1(preset="tiny", sessions=1000, seeds=1, model="linear", steps=2)
    change = truerank.drift(counts, counts)
    for number, value in enumerate([outcome.diagnosis, outcome, results, change]):
        copy = again(again(value))
        assert copy.to_dict() == value.to_dict() and repr(copy) == repr(value) and str(copy) == str(value)
        assert copy.html == value.html and copy._repr_html_() == value._repr_html_()
        for one, name in [(value, "made"), (copy, "kept")]:
            one.report(tmp_path / f"{name}{number}")
        made, kept = ({str(f.relative_to(folder)): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()}
                      for folder in (tmp_path / f"made{number}", tmp_path / f"kept{number}"))
        assert made == kept and "report.html" in made
    assert again(results).claims == results.claims and again(results).tables.keys() == results.tables.keys()
    assert again(change).changes == change.changes and again(change).drifted is False
    copy = again(outcome)
    assert copy.propensities == outcome.propensities and copy.relevance == outcome.relevance
    assert (copy.ranker.predict(splits.test) == outcome.ranker.predict(splits.test)).all()
    assert copy.diagnosis.findings == outcome.diagnosis.findings
    copy = again(evaluation)
    assert dict(copy.items()) == dict(evaluation.items()) and copy.against["nDCG@5"] == evaluation.against["nDCG@5"]
    assert copy.compare(copy.against) == evaluation.compare(evaluation.against)
    copy = again(clicked)
    assert dict(copy.items()) == dict(clicked.items()) and copy.to_dict() == clicked.to_dict()
    measure = clicked.measures[0]
    np.testing.assert_array_equal(copy.per_query(measure), clicked.per_query(measure))
    assert copy.interval(measure) == clicked.interval(measure) and copy.as_shown == clicked.as_shown
    labels = relevance.labels(splits, to="xgboost")
    copy = again(labels)
    assert copy.params == labels.params and repr(copy) == repr(labels)
    np.testing.assert_array_equal(copy.by_row, labels.by_row)
    test = truerank.paired_t_test([0.6, 0.8, 0.7], [0.5, 0.6, 0.4])
    assert repr(again(test)) == repr(test)


def test_a_pickled_simulation_draws_the_same(simulation, splits):
    assert again(simulation).log() == simulation.log()
    other = truerank.simulate(splits, sessions=500, seed=3, loggers=[splits.train.features[:, 0]], click_model=["pbm", "dbn"], length=4)
    copy = again(other)
    assert copy.log() == other.log() and copy.click_model == other.click_model and copy.data == splits.train


def test_tables_go_to_every_frame(counts, relevance, simulation, evaluation):
    for value in [counts, counts.cells, relevance, simulation.propensities]:
        frames = [value.to_pandas(), value.to_polars(), value.to_arrow()]
        assert [type(frame) for frame in frames] == [pandas.DataFrame, polars.DataFrame, pyarrow.Table]
        assert all(frame.shape == value.shape for frame in frames)
        head = value.head(3)
        assert head.shape == (3, value.shape[1])
        pandas.testing.assert_frame_equal(head.to_pandas(), value.to_pandas().head(3))
        assert value.head(10**9).shape == value.shape
    assert evaluation.to_polars().shape == evaluation.to_pandas().shape == evaluation.to_arrow().shape


def test_everything_plots_onto_axes(counts, relevance, simulation, evaluation, clicked, outcome, splits):
    from matplotlib import pyplot

    em = truerank.propensity.RegressionEM(per_user=True, clusters=2, iterations=5, resamples=0).fit(counts, splits.train)
    values = [counts, relevance, simulation.propensities, em.propensities_, evaluation, clicked, outcome, outcome.diagnosis]
    for value in values:
        ax = pyplot.subplots()[1]
        assert value.plot(ax=ax) is ax and (ax.lines or ax.patches or ax.collections)
        assert ax.get_xlabel()
        assert value.plot() is not ax
        pyplot.close("all")
    moved = truerank.simulate(splits, sessions=4000, seed=2, swap=0.5).log()
    without_ranker = truerank.fit(moved, split="page")
    assert without_ranker.plot().get_ylabel() == "examination"
    rates = counts.plot().lines[0].get_ydata()
    cells = counts.to_pandas().groupby("position")[["impressions", "clicks"]].sum()
    np.testing.assert_allclose(rates, cells["clicks"] / cells["impressions"])
    pyplot.close("all")


def test_a_plot_without_matplotlib_says_what_is_missing(counts, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        counts.plot()


def test_cells_of_notebooks_have_a_small_figure(counts, relevance, simulation, splits, outcome):
    graded = truerank.evaluate(splits.test, splits.test.features[:, 0])
    for value in [counts, relevance, simulation.propensities, graded, outcome]:
        cell = value._repr_html_()
        assert cell.count("<img ") == 1 and "data:image/svg+xml" in cell and "<style" not in cell and "<script" not in cell


def test_propensities_are_a_mapping_of_users(simulation):
    theta = simulation.propensities
    user = theta.users[0]
    np.testing.assert_array_equal(theta[user], theta.by_user[0])
    np.testing.assert_array_equal(theta[str(user)], theta.by_user[0])
    assert user in theta and "nobody" not in theta and list(theta) == list(theta.users)
    with pytest.raises(KeyError, match="nobody"):
        theta["nobody"]
    np.testing.assert_array_equal(theta.of_user("nobody"), theta.population)


FUNCTIONS = [truerank.fit, truerank.doctor, truerank.relevance, truerank.simulate, truerank.Counts.from_log, truerank.evaluate,
             truerank.evaluate_clicks, truerank.generate, truerank.merge, truerank.drift, truerank.interleaving,
             truerank.read_dataset, truerank.Relevance.labels, experiment.run, experiment.rq1, experiment.robustness]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__qualname__)
def test_signatures_have_options_with_their_defaults(function):
    parameters = inspect.signature(function).parameters
    assert not any(parameter.kind == parameter.VAR_KEYWORD for parameter in parameters.values())
    assert "Options\n" in function.__doc__


def test_defaults_in_signatures_are_those_of_the_library():
    defaults = {name: found.default for name, found in inspect.signature(truerank.evaluate_clicks).parameters.items()}
    assert defaults["resamples"] == 1000 and defaults["seed"] == 1
    assert inspect.signature(truerank.Counts.from_log).parameters["transitions"].default is False


@pytest.mark.parametrize("call", [
    lambda counts, splits: experiment.rq1(sesions=5),
    lambda counts, splits: truerank.fit(counts, splits, sesions=5),
    lambda counts, splits: truerank.doctor(counts, permutation=5),
    lambda counts, splits: truerank.Counts.from_log({}, transition=True),
    lambda counts, splits: truerank.simulate(splits, sesions=5),
    lambda counts, splits: truerank.generate("tiny", sead=1),
    lambda counts, splits: truerank.Ranker(layers=3),
    lambda counts, splits: truerank.propensity.RegressionEM(peruser=True),
    lambda counts, splits: truerank.propensity.estimate(counts, method="em", peruser=True),
    lambda counts, splits: truerank.click_model.fit(counts, modle="pbm"),
    lambda counts, splits: truerank.interleaving({}, teem="a"),
    lambda counts, splits: truerank.evaluate(splits.test, splits.test.features[:, 0], mesure="MRR"),
])
def test_unknown_options_are_refused(call, counts, splits):
    with pytest.raises(TypeError):
        call(counts, splits)


def test_a_data_set_can_be_cross_validated(splits):
    from sklearn.model_selection import GroupKFold, cross_val_score

    data, folds = splits.train, GroupKFold(3)
    ranker = truerank.Ranker("linear", steps=20)
    scores = cross_val_score(ranker, data, groups=data.query, cv=folds)
    by_hand = [truerank.Ranker("linear", steps=20).fit(data[train]).score(data[test])
               for train, test in folds.split(data.features, groups=data.query)]
    assert scores.tolist() == by_hand and len(scores) == 3


def test_y_carries_queries_through_a_pipeline(splits):
    from sklearn.model_selection import GroupKFold, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    data = splits.train
    grades = pandas.Series(data.grades / 4, index=pandas.Index(data.query, name="query"))
    whole = pandas.Series(data.grades, index=grades.index)
    pipeline = make_pipeline(StandardScaler(), truerank.Ranker("linear", steps=20))
    found = pipeline.fit(data.features, grades).score(data.features, whole)
    scaled = StandardScaler().fit_transform(data.features)
    ranker = truerank.Ranker("linear", steps=20).fit(scaled, data.grades / 4, query=data.query)
    assert found == ranker.score(scaled, data.grades, query=data.query)
    assert (cross_val_score(pipeline, data.features, whole, groups=data.query, cv=GroupKFold(3)) > 0.3).all()
    with pytest.raises(ValueError, match="query is missing.*index is called 'query'"):
        pipeline.fit(data.features, data.grades)


def test_rows_in_any_order_train_the_same(splits):
    data = splits.train
    order = np.random.default_rng(1).permutation(len(data))
    rows = order[np.argsort(np.unique(data.query[order], return_inverse=True)[1], kind="stable")]
    together = truerank.Ranker("linear", steps=5)
    with pytest.warns(truerank.DataWarning):
        mixed = truerank.Ranker("linear", steps=5).fit(data.features[order], data.grades[order] / 4, query=data.query[order])
    first = {query: place for place, query in reversed(list(enumerate(data.query[order])))}
    rows = np.array(sorted(range(len(order)), key=lambda row: first[data.query[order][row]]))
    together.fit(data.features[order][rows], data.grades[order][rows] / 4, query=data.query[order][rows])
    assert mixed.trained_ == together.trained_


def test_names_of_features_reach_rankers_and_trainers(splits, counts, relevance):
    names = [f"feature {number}" for number in range(splits.train.feature_count)]
    frame = splits.train.to_pandas().rename(columns=dict(zip(splits.train.to_pandas().columns[3:], names)))
    data = truerank.Dataset.from_frame(frame)
    ranker = truerank.Ranker("linear", steps=2).fit(data)
    assert list(ranker.feature_names_in_) == names == [found["feature"] for found in ranker.importance(data)]
    params, training = relevance.to_lightgbm(data)
    assert training.construct().get_feature_name() == [name.replace(" ", "_") for name in names]
    assert relevance.to_xgboost(data)[1].feature_names == names
    assert list(truerank.fit(counts, data, model="linear", steps=2).ranker.feature_names_in_) == names
    assert truerank.simulate(data, sessions=10).data.feature_names == names


def script():
    """The command as pip installs it, beside the interpreter."""
    return Path(sys.executable).parent / "truerank"


@pytest.mark.parametrize("command", [[script()], [sys.executable, "-m", "truerank"]], ids=["script", "module"])
def test_the_command_comes_with_the_package(command, tmp_path, cli):
    run = lambda *arguments: subprocess.run([*command, *arguments], capture_output=True, text=True, cwd=tmp_path)
    assert run("--version").stdout == f"truerank {truerank.__version__}\n"
    assert run("generate", "--preset", "tiny", "--quiet", "-o", "ours").returncode == 0
    cli("generate --preset tiny -o theirs")
    for file in sorted((tmp_path / "theirs").iterdir()):
        assert file.read_bytes() == (tmp_path / "ours" / file.name).read_bytes()
    wrong = run("count", "nowhere.csv", "-o", "counts")
    assert wrong.returncode == 2 and wrong.stderr.endswith("error: nowhere.csv: no such file or folder\n")
    assert run("count", "--nothing").returncode == 2


def test_interleaved_rankers_are_judged_as_by_the_command(tmp_path, cli):
    random = np.random.default_rng(1)
    rows = [(page, page % 40, doc, place + 1, team, int(random.random() < (0.6 if team == "new" else 0.2)))
            for page in range(400)
            for place, (doc, team) in enumerate([("a", "new"), ("b", "old")][:: 1 if random.random() < 0.5 else -1])]
    frame = pandas.DataFrame(rows, columns=["session", "query", "doc", "position", "who", "click"])
    found = truerank.interleaving(frame, team="who", teams=["new", "old"])
    assert found["winner"] == "new" and found["preference"]["low"] > 0
    frame.to_csv(tmp_path / "log.csv", index=False)
    import json

    assert json.loads(cli("interleaving log.csv --team who --teams new,old --json")) == found


def test_progress_in_a_notebook_is_one_line_of_html(monkeypatch):
    from truerank import _progress

    shown = []
    handle = type("Handle", (), {"update": lambda self, value: shown.append(value.data)})()
    display = lambda value, display_id: shown.append(value.data) or handle
    monkeypatch.setattr("IPython.display.display", display)
    monkeypatch.setattr(_progress, "_in_notebook", lambda: True)
    monkeypatch.setattr(_progress._Notebook, "_PAUSE", 0)
    bar = _progress.Bar()
    bar("training <b>", 1, 4)
    bar("training <b>", 3, 4)
    bar.close()
    assert "<progress" in shown[0] and "training &lt;b&gt;: 75 %" in shown[-2] and shown[-1] == ""
