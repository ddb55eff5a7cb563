"""Weights from sums that Spark made are those of summing here."""

import json

import duckdb
import pytest
from conftest import read, refusal, truerank

IDS = ["query", "doc", "impressions", "clicks"]
NUMBERS = ["weight", "exposure", "divisor", "variance"]


def rows(path, columns):
    return duckdb.sql(f"SELECT {', '.join(columns)} FROM '{path}'").fetchall()


def notes(path):
    """What the file's metadata says, numbers as such, without the digests of its bytes."""
    found = duckdb.sql(f"SELECT key::VARCHAR, value::VARCHAR FROM parquet_kv_metadata('{path}')").fetchall()
    said = {key: number(value) for key, value in found if key.startswith("truerank.")}
    return {key: value for key, value in said.items() if not key.startswith(("truerank.seal", "truerank.groups"))}


def number(text):
    try:
        return [float(word) for word in text.split()]
    except ValueError:
        return text


def by_hand(population):
    """What a file of propensities says."""
    head = {"type": "truerank/propensities", "version": 1, "method": "by hand", "scale": "true"}
    return head | {"positions": len(population), "population": population}


def assert_same_weights(here, there):
    """The same rows in the same order, and numbers that differ by the order of sums alone."""
    assert rows(here, IDS) == rows(there, IDS)
    for ours, theirs in zip(rows(here, NUMBERS), rows(there, NUMBERS), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-15)
    ours, theirs = notes(here), notes(there)
    assert ours.keys() == theirs.keys() and "truerank.estimator" in ours
    for key, value in ours.items():
        assert value == (pytest.approx(theirs[key], rel=1e-9) if isinstance(value, list) else theirs[key]), key


def assert_same_relevance(counts, propensities, engine, folder, *options):
    here, there = folder / "here.parquet", folder / "there.parquet"
    truerank("relevance", counts, "--propensities", propensities, *options, "-o", here)
    truerank("relevance", counts, "--propensities", propensities, *options, "--engine", engine, "-o", there)
    assert_same_weights(here, there)
    assert not list(folder.glob(".truerank-*"))


@pytest.fixture(scope="module")
def per_user(folder, simulated):
    """The simulation's own propensities: of users, some positions of whom are above the average by far."""
    return simulated.with_name("clicks.propensities.json")


@pytest.fixture(scope="module")
def alike(folder, counts):
    path = folder / "alike.parquet"
    truerank("propensity", counts, "--prior", "none", "--resamples", 0, "--iterations", 6, "-o", path)
    return path


@pytest.fixture(params=["local", "cluster"])
def engine(request):
    return request.getfixturevalue(request.param)


def test_the_default_by_users(engine, counts, per_user, tmp_path):
    assert read(per_user)["users"]
    assert_same_relevance(counts, per_user, engine, tmp_path)


def test_the_default_with_features(local, counts, folder, per_user, tmp_path):
    """The prior is predicted from them."""
    assert_same_relevance(counts, per_user, local, tmp_path, "--data", folder / "data")


def test_labels_alone_are_those_beside_features(local, counts, folder, per_user, tmp_path):
    weights, options = tmp_path / "weights.parquet", ["--data", folder / "data"]
    truerank("relevance", counts, "--propensities", per_user, *options, "--engine", local, "-o", weights)
    truerank("export", weights, "--to", "lightgbm", *options, "-o", tmp_path / "labels")
    lines = [line.split() for line in (tmp_path / "labels/train.svm").read_text().splitlines()]
    features = max(int(pair.split(":")[0]) for _, *pairs in lines for pair in pairs)
    truerank("export", weights, "--to", "parquet", "--features", features, "-o", tmp_path / "labels.parquet")
    alone = rows(tmp_path / "labels.parquet", ["label", "weight"])
    reliabilities = map(float, (tmp_path / "labels/train.svm.weight").read_text().split())
    beside = zip((float(label) for label, *_ in lines), reliabilities, strict=True)
    assert sorted(alone) == sorted(beside)


def test_every_estimator(local, counts, per_user, alike, tmp_path):
    for name, propensities in [("users", per_user), ("alike", alike)]:
        folder = tmp_path / name
        folder.mkdir()
        command = ["relevance", counts, "--propensities", propensities, "--estimator", "all"]
        truerank(*command, "-o", folder / "here")
        truerank(*command, "--engine", local, "-o", folder / "there")
        names = sorted(path.name for path in (folder / "here").iterdir())
        assert len(names) == 5 and names == sorted(path.name for path in (folder / "there").iterdir())
        for file in names:
            assert_same_weights(folder / "here" / file, folder / "there" / file)


@pytest.mark.parametrize(
    "options",
    [["--prior", "mean", "--shrink", 3, "--clip", 0.4], ["--beta", 7, "--prior", "none"], ["--prior", "position", "--shrink", "auto"]],
    ids=lambda options: " ".join(map(str, options)),
)
def test_priors_clips_and_strengths(local, counts, per_user, options, tmp_path):
    assert_same_relevance(counts, per_user, local, tmp_path, *options)


def test_ids_that_need_quoting(local, awkward, tmp_path):
    """Half of the users have propensities of their own; the others look like the average."""
    awkward.execute(f"COPY log TO '{tmp_path / 'log.parquet'}' (FORMAT parquet)")
    counts, propensities = tmp_path / "counts", tmp_path / "propensities.json"
    truerank("count", tmp_path / "log.parquet", "-o", counts)
    names = [name for (name,) in awkward.execute("SELECT name FROM names WHERE id % 2 = 0").fetchall()]
    users = [{"user": name, "propensity": [1.0, 0.8, 0.5 + number / 50, 0.3, 0.2]} for number, name in enumerate(names)]
    propensities.write_text(json.dumps(by_hand([1.0, 0.7, 0.5, 0.4, 0.3]) | {"users": users}))
    assert_same_relevance(counts, propensities, local, tmp_path, "--estimator", "straightforward")


def test_behaviours(local, counts, per_user, tmp_path):
    assert_same_relevance(counts, per_user, local, tmp_path, "--behaviour", counts, "--worth", 5)


def test_what_does_not_fit_is_refused_alike(local, counts, alike, tmp_path):
    short = tmp_path / "short.json"
    short.write_text(json.dumps(by_hand([1.0, 0.5])))
    command = ["relevance", counts, "--propensities", short, "-o", tmp_path / "r.parquet"]
    here = refusal(*command)
    assert "but the propensities end at position 2" in here
    assert refusal(*command, "--engine", local) == here
    assert not (tmp_path / "r.parquet").exists()


def test_clicks_where_nobody_looks(local, tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("session,user,query,doc,position,click\n1,u,q,a,1,0\n1,u,q,b,2,1\n")
    truerank("count", log, "-o", tmp_path / "counts")
    blind = tmp_path / "blind.json"
    blind.write_text(json.dumps(by_hand([1.0, 0.0])))
    for estimator in ("user-aware", "straightforward", "ips-pbm"):
        command = ["relevance", tmp_path / "counts", "--propensities", blind, "--estimator", estimator]
        assert "examination there is 0; these propensities do not fit" in refusal(*command, "-o", tmp_path / "r.parquet")
        message = refusal(*command, "--engine", local, "-o", tmp_path / "r.parquet")
        assert "document b of query q was clicked where its examination is 0" in message


def test_what_does_not_follow_from_sums(counts, alike, tmp_path):
    options = ["--propensities", alike, "--beta", "likelihood", "--engine", "sc://nowhere"]
    message = refusal("relevance", counts, *options, "-o", tmp_path / "r.parquet")
    assert "--beta likelihood is not for --engine" in message
