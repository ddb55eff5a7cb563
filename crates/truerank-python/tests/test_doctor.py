"""A log's fitness, and all the way from a log to a ranker."""

import json

import pytest

import truerank


@pytest.fixture(scope="module")
def data():
    return truerank.generate("tiny", seed=4)


@pytest.fixture(scope="module")
def log(data):
    return truerank.simulate(data, sessions=4000, seed=4).log()


@pytest.fixture(scope="module")
def diagnosis(data, log):
    return truerank.doctor(log, data, permutations=199)


def test_a_diagnosis(diagnosis):
    assert diagnosis.is_fit is True and diagnosis.personalized_bias is True
    assert {"severity", "text", "help"} == set(diagnosis.findings[0]) if diagnosis.findings else True
    assert set(diagnosis.recommendation) == {"estimator", "is_default", "why"}
    differences = diagnosis.to_dict()["diagnosis"]["differences"]
    assert differences["level"]["p"] < 0.01 and differences["depth"]["p"] < 0.01
    assert "The log is fit to learn from." in str(diagnosis) and "Is another click model better?" in str(diagnosis)
    models = diagnosis.to_dict()["diagnosis"]["click_models"]["models"]
    assert [row["model"] for row in models] == ["pbm", "ubm", "cm", "dcm", "sdbn", "dbn", "ccm"]
    assert diagnosis.click_model in {None, "pbm"}
    assert repr(diagnosis).startswith("<Diagnosis: fit to learn from, personalized bias; use ")
    page = diagnosis._repr_html_()
    assert "<script" not in page and "Is the log fit to learn from?" in page
    assert "<script" in diagnosis.html


def test_the_command_line_says_the_same(cli, data, log, diagnosis, tmp_path):
    pyarrow = pytest.importorskip("pyarrow.parquet")
    import pyarrow as arrow

    data.write(tmp_path / "data")
    pyarrow.write_table(arrow.table(log), tmp_path / "clicks.parquet")
    text = cli("doctor clicks.parquet --data data --permutations 199 --json")
    assert truerank.doctor(tmp_path / "clicks.parquet", data, permutations=199).to_dict() == json.loads(text)
    assert diagnosis.to_dict() == json.loads(text)
    printed = cli("doctor clicks.parquet --data data --permutations 199")
    # The command line adds commands to go on with.
    assert str(diagnosis) == printed.split("\nNext:\n")[0]


def test_counts_are_a_log_too(data, log, diagnosis, tmp_path):
    counts = truerank.Counts.from_log(log)
    assert truerank.doctor(counts, data, permutations=199).to_dict() == diagnosis.to_dict()
    counts.write(tmp_path / "counts")
    by_folder = truerank.doctor(tmp_path / "counts", data.train, permutations=199)
    assert by_folder.recommendation == diagnosis.recommendation
    with pytest.raises(ValueError, match="columns is for reading a log, but counts were read already"):
        truerank.doctor(counts, columns={"user": "client"})


def test_a_log_that_is_not_fit():
    few = {"session": [1, 1], "user": ["u", "u"], "query": ["q", "q"], "doc": ["a", "b"], "position": [1, 2], "click": [1, 0]}
    found = truerank.doctor(few)
    assert not found.is_fit and found.findings[0]["severity"] == "problem"
    with pytest.raises(ValueError, match="no clicks|not fit"):
        truerank.fit(few)


def test_what_cannot_be_told(data, log):
    found = truerank.doctor(log, data, permutations=99)
    assert found.personalized_bias is None and "at least 100 are needed" in str(found)
    found = truerank.doctor(truerank.simulate(data, sessions=150, seed=4).log(), data)
    assert found.is_fit is None and found.findings[0]["severity"] == "open"
    assert repr(found).startswith("<Diagnosis: open whether fit to learn from, ")
    # Cells that are drawn directly have no pages.
    cells = truerank.doctor(truerank.simulate(data, sessions=4000, seed=4).counts(), data)
    assert cells.personalized_bias is None and "count the log again" in str(cells)


def test_refusals(log):
    with pytest.raises(ValueError, match="permutations is 0, but should be at least 1"):
        truerank.doctor(log, permutations=0)
    with pytest.raises(TypeError, match="data should be a Dataset or Splits"):
        truerank.doctor(log, data=[1, 2])
    with pytest.raises(TypeError, match="log is a int"):
        truerank.doctor(5)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        truerank.doctor("nowhere.parquet")


def test_all_the_way(cli, data, log, tmp_path):
    pyarrow = pytest.importorskip("pyarrow.parquet")
    import pyarrow as arrow

    data.write(tmp_path / "data")
    pyarrow.write_table(arrow.table(log), tmp_path / "clicks.parquet")
    text = cli("fit clicks.parquet --data data --model linear --json -o cli")
    found = truerank.fit(log, data, tmp_path / "python", model="linear")
    # Only what was typed is known to the command line alone.
    without = lambda outcome: {name: value for name, value in outcome.items() if name != "provenance"}
    assert without(found.to_dict()) == without(json.loads(text))
    assert found.to_dict()["provenance"]["settings"] == json.loads(text)["provenance"]["settings"] == {"model": "linear"}
    for name in ["ranker.safetensors", "propensities.json", "relevance.parquet"]:
        assert (tmp_path / "python" / name).read_bytes() == (tmp_path / "cli" / name).read_bytes(), name
    body = lambda name: (tmp_path / name / "report.html").read_text().split("</header>")[1]
    assert body("python") == body("cli")
    assert found.ranker.trained_ == truerank.Ranker.read(tmp_path / "cli/ranker.safetensors").trained_


def test_a_fit_within_little_memory(data, log, tmp_path):
    truerank.count(log, tmp_path / "counts")
    for memory, folder in [("1MiB", "little"), ("4GiB", "plenty")]:
        truerank.fit(tmp_path / "counts", data.train, tmp_path / folder, model="linear-raw", steps=5, memory=memory)
    names = ["counts/cells.parquet", "held-out/pages.parquet", "relevance.parquet", "ranker.safetensors", "fit.json"]
    assert all((tmp_path / "little" / name).read_bytes() == (tmp_path / "plenty" / name).read_bytes() for name in names)
    with pytest.raises(ValueError, match="memory"):
        truerank.fit(log, memory="much")


def test_an_outcome(data, log):
    found = truerank.fit(truerank.Counts.from_log(log), data.train, model="linear-raw", steps=5, held_out=0.3)
    assert found.ranker.coef_.shape == (20,) and found.diagnosis.is_fit
    assert found.relevance.estimator == "user-aware-smoothed"
    assert "linear-raw" in repr(found) and "<script" not in found._repr_html_()
    swapped = truerank.simulate(data, sessions=4000, swap=0.5, seed=4)
    without = truerank.fit(swapped.log(), propensities=swapped.propensities)
    assert without.ranker is None and "no ranker" in repr(without)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"split": "user"}, "'user' is not a way to split a log; known are query, time, page"),
        ({"held_out": 1.5}, "held_out is 1.5, but should be between 0 and 1"),
        ({"model": "tree"}, "tree"),
        ({"prior": "model", "shrink": 1}, "features"),
    ],
)
def test_fits_that_are_refused(log, options, message):
    with pytest.raises(ValueError, match=message):
        truerank.fit(log, **options)


def test_counts_have_no_times(log):
    with pytest.raises(ValueError, match="counts have no times"):
        truerank.fit(truerank.Counts.from_log(log), split="time")


def test_a_fit_takes_a_click_model(tmp_path):
    data = truerank.generate("tiny", seed=4)
    log = truerank.simulate(data, sessions=4000, shuffle=0.3, seed=4).log()
    outcome = truerank.fit(log, click_model="dcm", output=tmp_path / "out")
    assert outcome.to_dict()["click_model"]["used"] == "dcm"
    assert outcome.click_model.kinds[0]["model"] == "dcm"
    assert (tmp_path / "out/click-model.json").is_file()
    plain = truerank.fit(log, click_model="none")
    assert plain.click_model is None
    with pytest.raises(ValueError, match="click_model"):
        truerank.fit(log, click_model="best")
