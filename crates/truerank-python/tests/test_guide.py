"""What the documentation tells Python's people to type runs: docs/python.md, the lines of docs/lightgbm.md, the README's lines, and the tutorial."""

import re

import lightgbm
import nbclient
import nbformat
import pytest
import xgboost
from conftest import ROOT

import truerank


def blocks(path):
    return re.findall(r"```python\n(.*?)```", path.read_text(), re.S)


@pytest.mark.filterwarnings("ignore::truerank.PropensityWarning")
def test_the_guide_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks(ROOT / "docs/python.md"):
        exec(compile(block, "docs/python.md", "exec"), names)
    assert names["search"].best_params_.keys() == {"l2"}
    assert (tmp_path / "results/report.html").exists()
    assert names["diagnosis"].personalized_bias is True, "the log is simulated with bias"


@pytest.mark.filterwarnings("ignore::truerank.PropensityWarning")
def test_the_lines_for_lightgbm_and_xgboost_run():
    data = truerank.generate("tiny", seed=1)
    names = {"truerank": truerank, "lightgbm": lightgbm, "xgboost": xgboost, "data": data}
    names["clicks"] = truerank.simulate(data, sessions=20_000, seed=1).log()
    scores = []
    programs = [block for block in blocks(ROOT / "docs/lightgbm.md") if "weights.to_" in block]
    assert len(programs) == 2
    for program in programs:
        exec(compile(program, "docs/lightgbm.md", "exec"), names)
        rows = data.test.features if "lightgbm" in program else xgboost.DMatrix(data.test.features)
        scores.append(names["model"].predict(rows))
    values = [truerank.evaluate(data.test, of_model)["nDCG@5"] for of_model in scores]
    clicked = truerank.relevance(names["counts"], names["examination"], estimator="naive")
    params, training = clicked.to_lightgbm(data)
    naive = lightgbm.train(params, training, 100)
    assert min(values) > truerank.evaluate(data.test, naive.predict(data.test.features))["nDCG@5"]


@pytest.mark.filterwarnings("ignore::truerank.PropensityWarning")
def test_the_readmes_lines_run(capsys, tmp_path, monkeypatch):
    """On a log and data of the names that the README has."""
    monkeypatch.chdir(tmp_path)
    data = truerank.generate("tiny", seed=1)
    data.write("data")
    truerank.simulate(data, sessions=20_000, seed=1).log().to_pandas().to_csv("clicks.csv.gz", index=False)
    [program] = blocks(ROOT / "README.md")
    exec(compile(program, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "Is the log fit to learn from?" in printed and "Is the new ranker better?" in printed
    assert 0.3 < float(printed.split()[-1]) < 1
    assert (tmp_path / "out/report.html").exists()


def test_the_demos_numbers_are_those_of_its_steps(tmp_path):
    """Step by step, on small data, one finds what the experiment finds."""
    results = truerank.experiment.rq1(preset="tiny", sessions=20_000, seeds=1, model="mlp:16", steps=30)
    table = next(frame for frame in results.tables.values() if "nDCG@5" in frame.columns)
    data = truerank.generate("tiny", seed=1)
    simulation = truerank.simulate(data, sessions=20_000, seed=1)
    counts = truerank.Counts.from_log(simulation.log())
    for estimator in ["naive", "ips-pbm", "straightforward", "user-aware"]:
        weights = truerank.relevance(counts, simulation.propensities, estimator=estimator)
        ranker = truerank.Ranker("mlp:16", scaling="paper", batch=256, steps=30, patience=10)
        ranker.fit(data.train, weights, validation=data.validation)
        row = table[table.iloc[:, 0] == estimator].iloc[0]
        assert truerank.evaluate(data.test, ranker)["nDCG@5"] == pytest.approx(row["nDCG@5"], abs=1e-12)


def test_the_notebook_about_your_own_log_runs(tmp_path):
    notebook = nbformat.read(ROOT / "docs/own-log.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=1200, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert sum("image/png" in output.get("data", {}) for output in outputs) == 3
    [values] = [output.data["text/plain"] for output in outputs if "clicks as they are" in output.get("data", {}).get("text/plain", "")]
    clicks, ours = (float(line.split()[-1]) for line in values.splitlines()[:2])
    assert clicks < ours
    assert all((tmp_path / name).stat().st_size > 0 for name in ["ranker.onnx", "ranker.safetensors", "ratings.csv"])


def test_the_tutorial_runs(tmp_path):
    notebook = nbformat.read(ROOT / "docs/tutorial.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=1200, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert not [output for output in outputs if output.output_type == "error"]
    assert sum("image/png" in output.get("data", {}) for output in outputs) == 4
    [table] = [output.data["text/plain"] for output in outputs if "grades of people" in output.get("data", {}).get("text/plain", "")]
    value = {line.rsplit(maxsplit=4)[0].strip(): float(line.split()[-3]) for line in table.splitlines()[1:]}
    assert value["click-through rate"] < value["truerank"] < value["grades of people"] + 0.01
