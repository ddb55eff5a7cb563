"""What lies where only the cluster sees it is named by an address, which nothing here opens."""

import shutil

from conftest import assert_same_content, refusal, truerank


def test_logs_and_counts_by_their_address(local, simulated, tmp_path):
    log = tmp_path / "log"
    log.mkdir()
    shutil.copy(simulated, log / "part.parquet")
    here, there = tmp_path / "here", tmp_path / "there"
    truerank("count", log, "--patterns", "-o", here)
    for address in (f"file://{log}", f"file://{log}/*.parquet"):
        truerank("count", address, "--patterns", "--engine", local, "-o", there)
        assert_same_content(here, there)
    far, near = tmp_path / "far.json", tmp_path / "near.json"
    options = ["--iterations", 2, "--engine", local]
    truerank("propensity", f"file://{there}", *options, "-o", far)
    truerank("relevance", f"file://{there}", "--propensities", far, "--engine", local, "-o", tmp_path / "far.parquet")
    truerank("propensity", there, *options, "-o", near)
    assert far.read_text().count("population") == near.read_text().count("population")
    assert not list(tmp_path.glob(".truerank-*"))


def test_addresses_and_paths_are_counted_together(local, awkward, tmp_path):
    parts = [tmp_path / "a b.parquet", tmp_path / "b.csv"]
    for part, (path, form) in enumerate(zip(parts, ["parquet", "csv, HEADER"])):
        awkward.execute(f"COPY (SELECT * FROM log WHERE hash(session) % 2 = {part}) TO '{path}' (FORMAT {form})")
    truerank("count", *parts, "-o", tmp_path / "here")
    truerank("count", f"file://{parts[0]}", parts[1], "--engine", local, "-o", tmp_path / "there")
    assert_same_content(tmp_path / "here", tmp_path / "there")


def test_what_is_wrong_is_said_with_the_address(local, awkward, tmp_path):
    path, output = tmp_path / "log.parquet", tmp_path / "counts"
    command = ["count", f"file://{path}", "--engine", local, "-o", output]
    awkward.execute(f"COPY (SELECT * REPLACE (position - 1 AS position) FROM log) TO '{path}' (FORMAT parquet)")
    message = refusal(*command)
    assert message.startswith(f"file://{path}: position") and "Spark found 400 such rows, with values like '0'" in message
    awkward.execute(f"COPY (SELECT * REPLACE (1 AS session, 1 AS query) FROM log) TO '{path}' (FORMAT parquet)")
    assert f"file://{path}: " in refusal(*command)
    awkward.execute(f"COPY (SELECT session, position, click FROM log) TO '{path}' (FORMAT parquet)")
    message = refusal(*command)
    assert message.startswith(f"file://{path}: lacks 2 columns: 'query', 'doc'")
    nowhere = refusal("count", f"file://{tmp_path}/nowhere/", "--engine", local, "-o", output)
    assert "Path does not exist" in nowhere
    csv = refusal("count", f"file://{tmp_path}/log.csv", "--engine", local, "-o", output)
    assert csv.endswith("lies where only the cluster sees it, and there Parquet alone is read; convert it to Parquet")
    assert not output.exists() and not list(tmp_path.glob(".truerank-*"))
