"""Simulated logs: the bytes of the command line, and the truth beside them."""

import numpy as np
import pytest

import truerank


@pytest.fixture(scope="module")
def folder(splits, tmp_path_factory):
    """The data as a folder, for the command line."""
    path = tmp_path_factory.mktemp("simulate") / "data"
    splits.write(path)
    return path


OPTIONS = {
    "plain": ({"sessions": 3000, "seed": 7}, "--sessions 3000 --seed 7"),
    "swaps": (
        {"sessions": 2000, "users": 5, "swap": 0.2, "shuffle": 0.1, "length": 6, "zipf": 1.0},
        "--sessions 2000 --users 5 --swap 0.2 --shuffle 0.1 --length 6 --zipf 1",
    ),
    "people": (
        {"sessions": 2000, "etas": [2, 0.5], "users_per_cluster": 3, "user_noise": 0.3, "shared_queries": True,
         "click_noise": 0.05, "production_share": 0.1},
        "--sessions 2000 --etas 2,0.5 --users-per-cluster 3 --user-noise 0.3 --shared-queries --click-noise 0.05 "
        "--production-share 0.1",
    ),
}


MODELS = {
    "dbn": ({"sessions": 2000, "click_model": "dbn"}, "--sessions 2000 --click-model dbn"),
    "mixed": (
        {"sessions": 2000, "users": 5, "swap": 0.2, "user_noise": 0.1, "click_model": ["pbm", "ubm", "trust"]},
        "--sessions 2000 --users 5 --swap 0.2 --user-noise 0.1 --click-model pbm,ubm,trust",
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_logs_of_click_models_are_those_of_the_command_line(name, folder, command, tmp_path):
    options, arguments = MODELS[name]
    simulation = truerank.simulate(truerank.read_splits(folder), **options)
    ours, theirs = tmp_path / "python", tmp_path / "cli"
    ours.mkdir(), theirs.mkdir()
    command("simulate", folder, *arguments.split(), "-o", theirs / "clicks.parquet")
    simulation.write(ours / "clicks.parquet")
    for file in ["clicks.parquet", "clicks.click-model.json"]:
        assert (ours / file).read_bytes() == (theirs / file).read_bytes()
    truth = truerank.ClickModel.read(theirs / "clicks.click-model.json")
    assert truth == simulation.click_model
    assert truth.by_user.shape == (len(truth.users), len(truth.kinds))
    assert (truth.by_user.sum(axis=1) == 1).all()
    counts = simulation.counts()
    assert counts.transitions is not None
    assert truth.measure(counts)["unknown_impressions"] == 0
    truerank.relevance(counts, truth, estimator="user-aware")
    with pytest.raises(ValueError, match="`click_model` is not pbm|click_model is not pbm"):
        simulation.propensities


def test_the_position_based_model_has_a_truth_of_both_forms(splits):
    simulation = truerank.simulate(splits, sessions=3000, swap=0.2)
    counts = simulation.counts(transitions=True)
    by_model = truerank.relevance(counts, simulation.click_model, estimator="user-aware").weights
    by_propensities = truerank.relevance(counts, simulation.propensities, estimator="user-aware").weights
    np.testing.assert_allclose(by_model, by_propensities, rtol=1e-9)


@pytest.mark.parametrize("name", OPTIONS)
def test_logs_are_those_of_the_command_line(name, folder, command, tmp_path):
    options, arguments = OPTIONS[name]
    simulation = truerank.simulate(truerank.read_splits(folder), **options)
    # In folders of their own: the truth names the log that it belongs to.
    ours, theirs = tmp_path / "python", tmp_path / "cli"
    ours.mkdir(), theirs.mkdir()
    for form in ["clicks.parquet", "clicks.csv"]:
        command("simulate", folder, *arguments.split(), "-o", theirs / form)
        simulation.write(ours / form)
        assert (ours / form).read_bytes() == (theirs / form).read_bytes()
    truths = [(place / "clicks.propensities.json").read_bytes() for place in [ours, theirs]]
    assert truths[0] == truths[1]
    assert truerank.Propensities.read(theirs / "clicks.propensities.json") == simulation.propensities


def test_counts_without_sessions_are_those_of_the_command_line(folder, command, tmp_path):
    command("simulate", folder, "--sessions", 100_000, "--cells", "-o", tmp_path / "cells")
    counts = truerank.simulate(truerank.read_splits(folder), sessions=100_000).counts()
    assert counts == truerank.Counts.read(tmp_path / "cells")
    assert counts.session_count == 100_000


def test_the_table_counts_like_the_written_log(splits, tmp_path):
    simulation = truerank.simulate(splits, sessions=1500)
    simulation.write(tmp_path / "clicks.parquet")
    counts = truerank.Counts.from_log(simulation.log(), patterns=True)
    assert counts == truerank.Counts.from_log(tmp_path / "clicks.parquet", patterns=True)
    assert counts == simulation.counts(patterns=True)
    assert simulation.log()["session"].max() == 1500


def test_text_ids_stay_text():
    X = np.arange(8, dtype=np.float32).reshape(8, 1)
    data = truerank.Dataset.from_arrays(X, grade=[0, 1, 2, 4] * 2, query=["ä"] * 4 + ["b c"] * 4, doc=list("abcd") * 2)
    log = truerank.simulate(data, sessions=50, production_share=1.0).log()
    assert set(log["query"]) <= {"ä", "b c"} and set(log["doc"]) == set("abcd")


def test_relevance_grows_with_the_grade(splits):
    simulation = truerank.simulate(splits, sessions=10, click_noise=0.1)
    expected = 0.1 + 0.9 * splits.train.grades / 4
    np.testing.assert_allclose(simulation.relevance, expected)


def test_loggers_are_scores_or_whatever_predicts(splits):
    scores = splits.train.features[:, 0]

    class FirstFeature:
        def predict(self, data):
            return data.features[:, 0]

    by_scores, by_ranker = (
        truerank.simulate(splits, sessions=300, loggers=loggers).counts()
        for loggers in [[scores, -scores], [FirstFeature(), -scores]]
    )
    assert by_scores == by_ranker
    assert by_scores != truerank.simulate(splits, sessions=300).counts()


@pytest.mark.parametrize("options, message", [
    ({"users": 7}, "users is 7, but the paper has 5, 10 or 20; give etas instead"),
    ({"users": 5, "etas": [1.0]}, "users and etas both say"),
    ({"sessions": 0}, "sessions is 0, but should be at least 1"),
    ({"length": 0}, "length is 0, but should be at least 1"),
    ({"swap": 2.0}, "swap is 2, but should be from 0 to 1"),
    ({"loggers": [[1.0, 2.0]]}, "there are 2 scores for"),
    ({"loggers": []}, "at least one shown document"),
    ({"max_grade": 1}, "grades should be at most 1"),
])
def test_what_cannot_be_is_refused(splits, options, message):
    with pytest.raises(ValueError, match=message):
        truerank.simulate(splits, **options)


def test_unknown_options_are_refused(splits):
    with pytest.raises(TypeError, match="there is no option 'sesions'"):
        truerank.simulate(splits, sesions=5)
    with pytest.raises(TypeError, match="there is no option 'sed'"):
        truerank.generate("tiny", sed=5)
    with pytest.raises(ValueError, match="queries has 2 numbers, but should have three"):
        truerank.generate(preset="tiny", queries=(5, 5))


def test_shuffled_sessions_have_no_cells_to_draw(splits):
    with pytest.raises(ValueError, match="draw a log and count it"):
        truerank.simulate(splits, sessions=100, shuffle=0.5).counts()
