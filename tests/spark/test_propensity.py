"""EM whose cells stay on Spark finds what EM here finds without a prior of relevance."""

import pytest
from conftest import read, refusal, run, truerank


def propensities(document):
    return [document["population"], *(row["propensity"] for row in document["users"])]


def assert_close(ours, theirs, tolerance):
    for our_row, their_row in zip(ours, theirs, strict=True):
        for our_value, their_value in zip(our_row, their_row, strict=True):
            assert abs(our_value - their_value) <= tolerance


@pytest.mark.parametrize("per_user", [False, True], ids=["population", "users"])
def test_the_same_iteration(local, counts, per_user, tmp_path):
    """The same number of steps from the same start, so all but the order of sums is the same."""
    users = ["--per-user", "--shrink", "none"] if per_user else []
    options = [*users, "--relevance", "table", "--iterations", 6, "--resamples", 0]
    here, there = tmp_path / "here.json", tmp_path / "there.json"
    truerank("propensity", counts, *options, "--prior", "none", "-o", here)
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
    options = ["--prior", "none", "--resamples", 0, "--tolerance", 1e-4]
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
    "options",
    [
        ["--method", "swap"],
        ["--per-user", "--shrink", "population"],
        ["--prior", "fitted"],
        ["--resamples", 10],
        ["--relevance", "linear", "--data", "x"],
    ],
    ids=lambda options: " ".join(map(str, options)),
)
def test_options_of_estimating_here_alone(counts, options, tmp_path):
    message = refusal("propensity", counts, *options, "--engine", "sc://nowhere", "-o", tmp_path / "p.json")
    assert message.endswith("is not for --engine; estimate without it")


def test_folders_that_are_no_counts(tmp_path):
    done = run("propensity", tmp_path, "--engine", "sc://nowhere", "-o", tmp_path / "p.json")
    assert done.returncode == 2 and "is not a folder of counts" in done.stderr
