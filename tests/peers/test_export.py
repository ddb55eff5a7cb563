"""What leaves for other tools: ONNX in onnxruntime, model/linear, and labels in LightGBM and XGBoost."""

import json

import lightgbm
import numpy as np
import onnx
import onnxruntime
import pyarrow
import pyarrow.parquet
import pytest
import scipy.stats
import xgboost
from conftest import train, truerank
from tables import read_parquet, read_svmlight

MODELS = ["linear", "mlp", "standardised", "ranks", "paper", "svm_rank", "linear_raw"]


@pytest.fixture(scope="session")
def linear_raw(data):
    return train(data, "linear-raw")


def extreme_rows(width):
    """Random documents at several scales, zeros, constants, single spikes."""
    random = np.random.default_rng(3)
    ordinary = [random.normal(size=(20, width)) * scale for scale in (1e-3, 1, 1e3, 1e6)]
    constant = [np.full((1, width), value) for value in (0, 1, -0.7, 1e6)]
    spikes = [value * np.eye(width)[:5] for value in (1e-6, 1, 1e6)]
    return np.concatenate([*ordinary, *constant, *spikes]).astype(np.float32)


def write_rows(path, rows):
    """One query per document, so that scores come back in order."""
    with open(path, "w") as file:
        for number, row in enumerate(rows, start=1):
            cells = " ".join(f"{index}:{float(value)!r}" for index, value in enumerate(row, start=1))
            file.write(f"0 qid:{number} {cells}\n")


def our_scores(rows, ranker, folder):
    write_rows(folder / "rows.txt", rows)
    truerank("score", folder / "rows.txt", "--ranker", ranker, "-o", folder / "run.parquet")
    return read_parquet(folder / "run.parquet").sort_values("query")["score"].to_numpy()


def to_onnx(ranker, folder):
    truerank("export", ranker, "--to", "onnx", "-o", folder / "ranker.onnx")
    return folder / "ranker.onnx"


def run_onnx(path, rows):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(["scores"], {"features": rows})[0]


@pytest.mark.parametrize("model", MODELS)
def test_onnx_scores_as_we_do(data, model, request, tmp_path):
    ranker = request.getfixturevalue(model)
    rows = extreme_rows(read_svmlight(data / "test.txt")[2].shape[1])
    theirs = run_onnx(to_onnx(ranker, tmp_path), rows)
    ours = our_scores(rows, ranker, tmp_path)
    assert theirs.shape == (len(rows),) and theirs.dtype == np.float32
    # Relative to each score, or to what scores usually are where terms cancel.
    usual = np.abs(ours[:40]).mean()
    np.testing.assert_allclose(theirs, ours, rtol=1e-5, atol=1e-5 * usual)
    assert np.std(ours) > 0.01, "scores that are all alike would prove nothing"


@pytest.mark.parametrize("model", MODELS)
def test_onnx_files_are_valid(data, model, request, tmp_path):
    path = to_onnx(request.getfixturevalue(model), tmp_path)
    onnx.checker.check_model(str(path), full_check=True)
    graph = onnx.load(path)
    assert graph.producer_name == "truerank"
    about = json.loads({entry.key: entry.value for entry in graph.metadata_props}["truerank"])
    assert about["type"] == "truerank/ranker" and about["record"]["lists"] > 0
    width = about["features"]
    for count in (0, 1, 7):
        assert run_onnx(path, np.zeros((count, width), np.float32)).shape == (count,)
    with pytest.raises(Exception, match="(?i)dimension"):
        run_onnx(path, np.zeros((1, width + 1), np.float32))


@pytest.mark.parametrize("model", ["svm_rank", "linear_raw"])
def test_model_linear_ranks_as_we_do(data, model, request, tmp_path):
    """What the plugin computes: the sum of a weight, in single precision, times the feature of that name."""
    ranker = request.getfixturevalue(model)
    _, queries, features = read_svmlight(data / "test.txt")
    names = [f"feature {number}, α" for number in range(features.shape[1])]
    (tmp_path / "names.txt").write_text("\n".join(names) + "\n")
    options = ["--feature-names", tmp_path / "names.txt", "--name", "clicks"]
    truerank("export", ranker, "--to", "elasticsearch", *options, "-o", tmp_path / "model.json")
    model = json.loads((tmp_path / "model.json").read_text())["model"]
    assert (model["name"], model["model"]["type"]) == ("clicks", "model/linear")
    definition = model["model"]["definition"]
    assert list(definition) == names
    weights = np.array([definition[name] for name in names], np.float32)
    scores = features.astype(np.float64) @ weights
    truerank("score", data / "test.txt", "--ranker", ranker, "-o", tmp_path / "run.parquet")
    ours = read_parquet(tmp_path / "run.parquet").sort_values(["query", "doc"])
    assert np.array_equal(ours["query"], queries)
    # Scores differ by the bias, which no order sees; and by the rounding of ours to single precision.
    difference = scores - ours["score"].to_numpy()
    assert np.ptp(difference) < 1e-5 * np.ptp(scores) and np.ptp(scores) > 0.01


def relevance(folder, log, estimator):
    """Weights of the simulated log by its true examination, as Parquet."""
    counts, path = folder / "counts", folder / f"{estimator}.parquet"
    if not counts.exists():
        truerank("count", log, "-o", counts)
    truth = log.with_suffix(".propensities.json")
    truerank("relevance", counts, "--propensities", truth, "--estimator", estimator, "-o", path)
    return path


def exported(folder, data, weights, to, *options):
    target = folder / f"{to}-{weights.stem}-{len(options)}"
    truerank("export", weights, "--to", to, "--data", data, *options, "-o", target)
    return target, json.loads((target / "params.json").read_text())


def per_query_ndcg(scores, grades, sizes, depth=5):
    """nDCG@5 of each query with gain 2^y − 1; ties in the order of the file."""
    values, start = [], 0
    discounts = 1 / np.log2(np.arange(2, depth + 2))
    for size in sizes:
        gains = np.exp2(grades[start : start + size]) - 1
        order = np.argsort(-scores[start : start + size], kind="stable")
        top, best = gains[order][:depth], np.sort(gains)[::-1][:depth]
        values.append((top @ discounts[: len(top)]) / (best @ discounts[: len(best)]) if best[0] > 0 else 0)
        start += size
    return np.array(values)


def train_lightgbm(folder, parameters):
    """Trained on the files as they are; the trees with the best nDCG of the validation part are kept."""
    parameters |= {"verbosity": -1, "num_threads": 1, "num_leaves": 7, "min_data_in_leaf": 10, "seed": 1}
    training = lightgbm.Dataset(str(folder / "train.svm"), params=parameters)
    validation = training.create_valid(str(folder / "vali.svm"))
    stop = lightgbm.early_stopping(20, verbose=False)
    measure = mean_ndcg if parameters["metric"] == "none" else None
    return lightgbm.train(parameters, training, 150, valid_sets=[validation], feval=measure, callbacks=[stop]), training


def mean_ndcg(scores, part):
    return "ndcg@5", per_query_ndcg(scores, part.get_label(), part.get_group()).mean(), True


def judged(folder):
    """Labels, features as LightGBM numbers them (from 0, which no file has), and sizes of the test part."""
    grades, _, features = read_svmlight(folder / "test.svm")
    sizes = np.loadtxt(folder / "test.svm.query", dtype=int)
    return grades, np.pad(features, ((0, 0), (1, 0))), sizes


def test_lightgbm_learns_more_from_our_labels_than_from_clicks(data, log, tmp_path):
    found = {}
    for estimator in ["naive", "user-aware-smoothed"]:
        folder, parameters = exported(tmp_path, data, relevance(tmp_path, log, estimator), "lightgbm")
        model, training = train_lightgbm(folder, parameters)
        table = read_parquet(tmp_path / f"{estimator}.parquet")
        assert np.allclose(np.sort(training.get_label()), np.sort(table["weight"]))
        share = table["exposure"] / (table["exposure"] + 5)
        assert np.allclose(np.sort(training.get_weight()), np.sort(share), atol=1e-6)
        assert np.array_equal(training.get_group(), table.groupby("query").size()[list(dict.fromkeys(queries_of(data)))])
        grades, features, sizes = judged(folder)
        found[estimator] = per_query_ndcg(model.predict(features), grades, sizes)
    ours, clicks = found["user-aware-smoothed"], found["naive"]
    assert ours.mean() > clicks.mean() and scipy.stats.ttest_rel(ours, clicks).pvalue < 0.05


def test_exported_labels_are_those_of_rankers(data, log, tmp_path):
    """docs/estimators.md: (c + λ·r̂·b)/(X + b) with λ = N/(N + 10·features), where a weight is (c + r̂·b)/(X + b)."""
    counts, weights = tmp_path / "counts", tmp_path / "default.parquet"
    truerank("count", log, "-o", counts)
    truerank("relevance", counts, "--propensities", log.with_suffix(".propensities.json"), "--data", data, "-o", weights)
    folder, _ = exported(tmp_path, data, weights, "lightgbm")
    table, notes = read_parquet(weights), pyarrow.parquet.read_metadata(weights).metadata
    b, clicked = float(notes[b"truerank.shrink"]), table["clicks"] / table["divisor"]
    clicks = (table["clicks"] * b / (table["exposure"] + b)).sum()
    share = clicks / (clicks + 10 * read_svmlight(data / "train.txt")[2].shape[1])
    expected = clicked + share * (table["weight"] - clicked)
    labels = read_svmlight(folder / "train.svm")[0]
    assert np.allclose(np.sort(labels), np.sort(expected), rtol=1e-6)
    assert not np.allclose(np.sort(labels), np.sort(table["weight"]), rtol=1e-2)


def queries_of(data):
    """The training queries that were shown, in the order of the file."""
    return read_svmlight(data / "train.txt")[1]


def test_lightgbm_ranks_by_steps_and_reports_the_ndcg_of_grades(data, log, tmp_path):
    weights = relevance(tmp_path, log, "user-aware")
    folder, parameters = exported(tmp_path, data, weights, "lightgbm", "--labels", "steps")
    model, training = train_lightgbm(folder, parameters)
    expected = np.clip(np.floor(32 * read_parquet(weights)["weight"] + 0.5), 0, 32)
    assert np.array_equal(np.sort(training.get_label()), np.sort(expected))
    grades, queries, features = read_svmlight(data / "vali.txt")
    sizes = np.loadtxt(folder / "vali.svm.query", dtype=int)
    values = per_query_ndcg(model.predict(np.pad(features, ((0, 0), (1, 0)))), grades, sizes)
    # LightGBM gives queries without relevant documents 1, we give them 0.
    empty = np.array([part.max() == 0 for part in np.split(grades, np.cumsum(sizes)[:-1])])
    assert abs(model.best_score["valid_0"]["ndcg@5"] - np.where(empty, 1, values).mean()) < 1e-6


@pytest.mark.parametrize("form", ["weights", "gains", "steps"])
def test_xgboost_takes_the_files_as_they_are(data, log, form, tmp_path):
    weights = relevance(tmp_path, log, "user-aware")
    folder, parameters = exported(tmp_path, data, weights, "xgboost", "--labels", form)
    training = xgboost.DMatrix(f"{folder / 'train.svm'}?format=libsvm")
    validation = xgboost.DMatrix(f"{folder / 'vali.svm'}?format=libsvm")
    table = read_parquet(weights)
    grades = np.clip(4 * table["weight"], 0, 4)
    expected = {"weights": table["weight"], "gains": np.exp2(grades) - 1, "steps": np.floor(grades + 0.5)}[form]
    np.testing.assert_allclose(np.sort(training.get_label()), np.sort(expected), rtol=1e-6)
    assert training.num_row() == len(table) and training.num_col() == validation.num_col()
    if form == "weights":
        share = table["exposure"] / (table["exposure"] + 5)
        assert np.allclose(np.sort(training.get_weight()), np.sort(share), atol=1e-6)
    else:
        assert len(training.get_uint_info("group_ptr")) - 1 == table["query"].nunique()
    history = {}
    parameters |= {"nthread": 1, "max_depth": 3, "seed": 1}
    evals = [(validation, "vali")]
    xgboost.train(parameters, training, 30, evals=evals, evals_result=history, verbose_eval=False)
    values = history["vali"]["ndcg@5"]
    assert values[-1] > values[0]


def test_runs_hold_no_ids_with_spaces(tmp_path):
    """TREC's columns are separated by spaces, so such ids are refused there, and Parquet holds them."""
    table = pyarrow.table(
        {"query": ["red shoes"] * 2, "doc": ["a", "b"], "grade": pyarrow.array([1, 0], "int32"), "f1": [1.0, 2.0]}
    )
    pyarrow.parquet.write_table(table, tmp_path / "texts.parquet")
    data = tmp_path / "data"
    data.mkdir()
    for query, part in enumerate(["train", "vali", "test"]):
        (data / f"{part}.txt").write_text(f"1 qid:{query} 1:1\n0 qid:{query} 1:2\n")
    truerank("train", data, "--model", "svm-rank", "-o", tmp_path / "ranker.st")
    score = ["score", tmp_path / "texts.parquet", "--ranker", tmp_path / "ranker.st", "-o"]
    with pytest.raises(AssertionError, match="'red shoes' is empty or has a space.*write .parquet"):
        truerank(*score, tmp_path / "run.trec")
    assert not (tmp_path / "run.trec").exists()
    truerank(*score, tmp_path / "run.parquet")
    assert list(read_parquet(tmp_path / "run.parquet")["query"]) == ["red shoes"] * 2
