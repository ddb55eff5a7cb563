"""What is said of clusters before one is asked; tests/spark has a cluster."""

from types import SimpleNamespace
from urllib.parse import urlparse

import pytest

import truerank

NOBODY = "sc://127.0.0.1:1"
LOG = {"session": [1, 1], "user": ["u", "u"], "query": [7, 7], "doc": ["a", "b"], "position": [1, 2], "click": [0, 1]}


@pytest.fixture
def counts(tmp_path):
    folder = tmp_path / "counts"
    truerank.Counts.from_log(LOG).write(folder)
    return folder


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.csv"
    rows = [",".join(map(str, row)) for row in zip(*LOG.values())]
    path.write_text("\n".join([",".join(LOG), *rows]))
    return path


def test_count_writes_what_counts_in_memory_write(tmp_path, log):
    truerank.Counts.from_log(log).write(tmp_path / "counts")
    said = truerank.count(log, tmp_path / "other", memory="16MiB")
    assert (said["impressions"], said["clicks"], said["documents"]) == (2, 1, 2)
    for name in ("cells.parquet", "sessions.parquet"):
        assert (tmp_path / "other" / name).read_bytes() == (tmp_path / "counts" / name).read_bytes()


def session(url):
    """As much of a session of pyspark as its address needs."""
    return SimpleNamespace(client=SimpleNamespace(_builder=SimpleNamespace(url=urlparse(url))))


@pytest.mark.parametrize("engine", [NOBODY, session("http://127.0.0.1:1"), session("http://127.0.0.1:1/;token=secret")])
def test_addresses_of_text_and_of_sessions(tmp_path, counts, log, engine):
    propensities = truerank.Propensities.from_arrays([1.0, 0.5])
    data, em = truerank.generate("tiny"), truerank.propensity.RegressionEM
    alone = em(relevance="table", per_user=True, shrink="none", prior="none", resamples=0)
    calls = [
        lambda: truerank.count(log, tmp_path / "out", engine=engine),
        lambda: truerank.relevance(counts, propensities, engine=engine),
        lambda: truerank.relevance(counts, propensities, data=data, prior="model", engine=engine),
        lambda: alone.fit(counts, engine=engine),
        lambda: em(per_user=True).fit(counts, data, engine=engine),
        lambda: truerank.propensity.estimate(str(counts), method="em", engine=engine, iterations=3),
    ]
    for call in calls:
        with pytest.raises((OSError, ValueError), match="sc://127.0.0.1:1") as error:
            call()
        assert "secret" not in str(error.value)
    assert not list(tmp_path.glob(".truerank-*"))


@pytest.mark.parametrize("engine", [SimpleNamespace(), SimpleNamespace(client=3), 7])
def test_what_has_no_address_is_refused(counts, engine):
    with pytest.raises(TypeError, match="should be the address of a Spark Connect server"):
        truerank.relevance(counts, truerank.Propensities.from_arrays([1.0, 0.5]), engine=engine)


def test_what_is_not_for_a_cluster_is_refused(tmp_path, counts, log):
    read, propensities = truerank.Counts.read(counts), truerank.Propensities.from_arrays([1.0, 0.5])
    em, data = truerank.propensity.RegressionEM, truerank.generate("tiny")
    refused = [
        (TypeError, "counts should be a folder", lambda: truerank.relevance(read, propensities, engine=NOBODY)),
        (ValueError, "likelihood", lambda: truerank.relevance(counts, propensities, beta="likelihood", engine=NOBODY)),
        (ValueError, "features", lambda: truerank.relevance(counts, propensities, prior="model", engine=NOBODY)),
        (ValueError, "memory", lambda: truerank.count(log, tmp_path / "out", memory="16MiB", engine=NOBODY)),
        (ValueError, "table in memory", lambda: truerank.count(LOG, tmp_path / "out", engine=NOBODY)),
        (ValueError, "prior", lambda: em(per_user=True, shrink="none").fit(counts, engine=NOBODY)),
        (ValueError, "resamples", lambda: em(per_user=True, shrink="none", prior="none").fit(counts, engine=NOBODY)),
        (ValueError, "other than em", lambda: truerank.propensity.SwapExperiment().fit(counts, engine=NOBODY)),
        (ValueError, "relevance", lambda: em(relevance="table").fit(counts, data, engine=NOBODY)),
        (TypeError, "Counts", lambda: truerank.relevance(str(counts), propensities)),
    ]
    for kind, expected, call in refused:
        with pytest.raises(kind, match=expected):
            call()
