"""The paper's questions from Python."""

import json

import pytest

import truerank
from truerank import experiment

SMALL = dict(preset="tiny", sessions=2000, seeds=2, model="linear")


@pytest.fixture(scope="module")
def results():
    return experiment.rq1(**SMALL)


def test_claims_tables_and_pages(results):
    assert results.missing_runs == 0
    assert {claim["question"] for claim in results.claims} == {"rq1"}
    assert {"claim", "verdict", "p", "shown", "comparisons"} <= set(results.claims[0])
    # Two seeds cannot tell what others would give.
    assert {(claim["verdict"], claim["p"]) for claim in results.claims} == {("open", None)}
    assert results.tables["claims"]["holds?"].eq("open").all() and "claims" not in results.to_dict()["tables"]
    table = results.tables["rq1"]
    assert "user-aware" in table[table.columns[0]].tolist()
    assert table["nDCG@5"].between(0, 1).all()
    assert "user-aware" in str(results) and results.text == str(results)
    assert results.html.startswith("<!doctype html>") or results.html.lower().startswith("<!doctype html>")
    page = results._repr_html_()
    assert "<script" not in page and "user-aware" in page and "open" in page
    assert repr(results).startswith("<Results: rq1; ")


def test_robustness_crosses_models_that_clicked_with_models_that_are_assumed(tmp_path):
    config = tmp_path / "grid.toml"
    config.write_text(
        'models = ["linear"]\nseeds = [1]\n[robustness]\nclicked = ["ubm"]\nassumed = ["pbm", "ubm"]\n'
        "production-shares = [0.05]\nsessions = [2000]\n"
    )
    results = experiment.robustness(preset="tiny", config=config)
    table = results.tables["robustness"]
    assert table["assumed"].tolist() == ["pbm", "ubm"]
    assert {claim["question"] for claim in results.claims} == {"robustness"}


def test_the_same_bytes_as_the_command_line(cli, results, tmp_path):
    text = cli("experiment rq1 --preset tiny --sessions 2000 --seeds 2 --model linear --json -o cli")
    assert results.to_dict() == json.loads(text)
    results.report(tmp_path / "report")
    assert (tmp_path / "report/report.html").read_bytes() == (tmp_path / "cli/report.html").read_bytes()
    again = experiment.Results.read(tmp_path / "cli")
    assert again.to_dict() == results.to_dict()


def test_folders_keep_runs(tmp_path, results):
    kept = experiment.run("rq1", **SMALL, folder=tmp_path / "kept")
    assert kept.to_dict() == results.to_dict()
    begun = []
    told = lambda what, done, total: begun.append((what, total))
    experiment.run(["rq1"], **SMALL, folder=tmp_path / "kept", progress=told)
    assert (tmp_path / "kept/report.html").is_file()
    with pytest.raises(ValueError, match="sessions"):
        experiment.run("rq1", **{**SMALL, "sessions": 3000}, folder=tmp_path / "kept")


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"questions": "rq9"}, ValueError, "'rq9' is not a question; known are rq1, rq2, rq3, rq4, real, robustness and all"),
        ({"preset": "huge"}, ValueError, "'huge' is not a preset"),
        ({"model": "tree"}, ValueError, "tree"),
        ({"model": 3}, ValueError, "model.*'3'"),
        ({"sesions": 5}, TypeError, "there is no option 'sesions'"),
        ({"seeds": "many"}, ValueError, "seeds is 'many', but should be a whole number"),
        ({"preset": "tiny", "data": "nowhere"}, ValueError, "preset and data both say"),
        ({"data": "nowhere"}, FileNotFoundError, "nowhere"),
        ({"config": "nowhere.toml"}, FileNotFoundError, "nowhere.toml"),
    ],
)
def test_refusals(options, error, message):
    with pytest.raises(error, match=message):
        experiment.run(**{"questions": "rq1", **options})


def test_a_config_file(tmp_path):
    (tmp_path / "e.toml").write_text('questions = ["rq1"]\nseeds = [1]\nsessions = 500\nmodels = ["linear"]\n')
    found = experiment.run(config=tmp_path / "e.toml", preset="tiny")
    assert found.missing_runs == 0 and "500" in found.text
    assert truerank.experiment is experiment
