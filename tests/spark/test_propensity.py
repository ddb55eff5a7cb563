"""EM whose cells stay on Spark finds what EM here finds."""

import json

import duckdb
import pytest
from conftest import read, refusal, run, truerank


def propensities(document):
    return [document["population"], *(row["propensity"] for row in document["users"])]


def assert_close(ours, theirs, tolerance):
    for our_row, their_row in zip(ours, theirs, strict=True):
        for our_value, their_value in zip(our_row, their_row, strict=True):
            assert abs(our_value - their_value) <= tolerance


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--data", "--strict"],
        ["--data", "--prior", "none", "--relevance", "mlp:4"],
        ["--per-user"],
        ["--data", "--per-user"],
        ["--data", "--per-user", "--clusters", 3, "--grouping", "k-means"],
        ["--per-user", "--shrink", "population"],
    ],
    ids=lambda options: " ".join(map(str, options)) or "defaults",
)
def test_the_same_bytes_where_cells_are_few(local, counts, folder, options, tmp_path):
    """All that is not a sum over the cells of many users is done here, from whole numbers."""
    options = [part for option in options for part in ([option, folder / "data"] if option == "--data" else [option])]
    here, there = tmp_path / "here.json", tmp_path / "there.json"
    options += ["--iterations", 40, "--resamples", 3, "--json"]
    printed = truerank("propensity", counts, *options, "-o", here)
    assert printed == truerank("propensity", counts, *options, "--engine", local, "-o", there)
    assert here.read_bytes() == there.read_bytes()
    assert not list(tmp_path.glob(".truerank-*"))


def test_ids_of_any_text(local, awkward, tmp_path):
    # Documents that move, so that positions can be compared.
    moving = "SELECT * REPLACE ('\"d''' || (hash(session) + position) % 5 AS doc) FROM log"
    awkward.execute(f"COPY ({moving}) TO '{tmp_path / 'log.parquet'}'")
    truerank("count", tmp_path / "log.parquet", "-o", tmp_path / "counts")
    options = [tmp_path / "counts", "--per-user", "--shrink", "population", "--iterations", 20]
    truerank("propensity", *options, "-o", tmp_path / "here.json")
    truerank("propensity", *options, "--engine", local, "-o", tmp_path / "there.json")
    assert (tmp_path / "here.json").read_bytes() == (tmp_path / "there.json").read_bytes()


def test_many_users(local, folder, tmp_path):
    """Of more than a million cells, kinds are fitted to a part that comes here, and steps with all are sums there."""
    log, options = tmp_path / "log.parquet", ["--users-per-cluster", 10_000, "--shuffle", 0.3, "--swap", 0.2]
    truerank("simulate", folder / "data", "--sessions", 125_000, *options, "-o", log)
    truerank("count", log, "-o", tmp_path / "counts")
    summary = json.loads(truerank("propensity", tmp_path / "counts", *MANY, "--json", "-o", tmp_path / "here.parquet"))
    assert summary["users"] > 50_000
    truerank("propensity", tmp_path / "counts", *MANY, "--engine", local, "-o", tmp_path / "there.parquet")
    ours, theirs = (duckdb.read_parquet(str(tmp_path / name)) for name in ("here.parquet", "there.parquet"))
    assert ours.columns == theirs.columns
    for our_row, their_row in zip(ours.fetchall(), theirs.fetchall(), strict=True):
        for our_value, their_value in zip(our_row, their_row, strict=True):
            if isinstance(our_value, list):
                assert_close([our_value], [their_value], 1e-9)
            else:
                assert our_value == their_value
    assert not list(tmp_path.glob(".truerank-*"))


MANY = ["--per-user", "--clusters", 2, "--iterations", 6, "--resamples", 0]


def test_the_same_iteration(local, counts, tmp_path):
    """The same number of steps from the same start, so all but the order of sums is the same."""
    options = ["--per-user", "--shrink", "none", "--relevance", "table", "--iterations", 6, "--resamples", 0]
    options += ["--prior", "none"]
    here, there = tmp_path / "here.json", tmp_path / "there.json"
    truerank("propensity", counts, *options, "-o", here)
    truerank("propensity", counts, *options, "--engine", local, "-o", there)
    ours, theirs = read(here), read(there)
    assert_close(propensities(ours), propensities(theirs), 1e-9)
    assert_close([ours["fit"]["log_likelihood"]], [theirs["fit"]["log_likelihood"]], 1e-10)
    for key in ("type", "version", "method", "scale", "positions", "population_evidence", "notes"):
        assert ours[key] == theirs[key], key
    assert [(row["user"], row.get("impressions"), row.get("clicks")) for row in ours["users"]] == [
        (row["user"], row.get("impressions"), row.get("clicks")) for row in theirs["users"]
    ]
    assert not list(tmp_path.glob(".truerank-*"))


def test_until_it_converges_on_a_cluster(cluster, counts, tmp_path):
    here, there = tmp_path / "here.json", tmp_path / "there.json"
    options = ["--per-user", "--shrink", "none", "--prior", "none", "--resamples", 0, "--tolerance", 1e-4]
    truerank("propensity", counts, *options, "-o", here)
    truerank("propensity", counts, *options, "--engine", cluster, "-o", there)
    ours, theirs = read(here), read(there)
    assert ours["fit"]["converged"] and theirs["fit"]["converged"]
    assert_close(propensities(ours), propensities(theirs), 1e-6)
    # What was written is read like any other propensities.
    truerank("relevance", counts, "--propensities", there, "-o", tmp_path / "relevance.parquet")


def test_what_cannot_be_compared_is_refused(local, tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("session,user,query,doc,position,click\n1,u,q,a,1,1\n1,u,q,b,2,0\n2,u,q,a,1,0\n2,u,q,b,2,1\n")
    truerank("count", log, "-o", tmp_path / "counts")
    here = refusal("propensity", tmp_path / "counts", "-o", tmp_path / "p.json")
    assert refusal("propensity", tmp_path / "counts", "--engine", local, "-o", tmp_path / "p.json") == here
    assert "examination is not identifiable from this log: no two positions can be compared" in here
    assert not (tmp_path / "p.json").exists() and not list(tmp_path.glob(".truerank-*"))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--method", "swap"], "--method other than em is not for --engine"),
        (["--against", "x"], "--against is not for --engine"),
        (["--per-user", "--shrink", "none"], "--prior other than none is not for --engine with --shrink none"),
        (["--per-user", "--shrink", "none", "--data", "x"], "--relevance other than table is not for --engine"),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, list) else "",
)
def test_what_is_estimated_here_alone(counts, options, reason, tmp_path):
    message = refusal("propensity", counts, *options, "--engine", "sc://nowhere", "-o", tmp_path / "p.json")
    assert message.startswith(reason), message


def test_folders_that_are_no_counts(tmp_path):
    done = run("propensity", tmp_path, "--engine", "sc://nowhere", "-o", tmp_path / "p.json")
    assert done.returncode == 2 and "is not a folder of counts" in done.stderr
