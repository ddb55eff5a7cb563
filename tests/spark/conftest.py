"""Runs the truerank binary with and without Spark; servers and logs are fixtures, made once."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import duckdb
import pytest
from server import Spark

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("TRUERANK", ROOT / "target/debug/truerank"))


def pytest_collection_modifyitems(items):
    if shutil.which("java") is None:
        for item in items:
            item.add_marker(pytest.mark.skip(reason="no Java; on Debian: apt-get install openjdk-17-jre-headless"))


def run(*arguments):
    return subprocess.run([BINARY, "--quiet", *map(str, arguments)], capture_output=True, text=True, timeout=600)


def truerank(*arguments):
    """What the command prints; its message fails the test where it fails."""
    done = run(*arguments)
    assert done.returncode == 0, f"truerank {' '.join(map(str, arguments))}: {done.stderr}"
    return done.stdout


def refusal(*arguments):
    """The one line that the command refuses with."""
    done = run(*arguments)
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1, done.stderr
    return done.stderr.removeprefix("error: ").strip()


def read(path):
    return json.loads(Path(path).read_text())


def content(folder):
    """The bytes of each file of a folder."""
    return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


def assert_same_counts(log, engine, folder, *options):
    """Counting here and there gives the same bytes, and leaves nothing else behind. Whole pages are kept here only."""
    here, there = folder / "here", folder / "there"
    truerank("count", log, *options, "-o", here)
    printed = truerank("count", log, *options, "--engine", engine, "-o", there)
    assert_same_content(here, there)
    assert not list(folder.glob(".truerank-*"))
    return printed


def assert_same_content(here, there):
    """Two folders of counts are the same bytes, but for whole pages, which are kept in the first only."""
    ours, theirs = content(here), content(there)
    metas = [json.loads(part["meta.json"]) for part in (ours, theirs)]
    assert [meta.pop("truerank.seal") is not None for meta in metas] == [True, True]
    assert ours.pop("pages.parquet") and metas[0].pop("pages") > 0
    assert metas[0] == metas[1] and list(ours) == list(theirs)
    del ours["meta.json"]
    for name, expected in ours.items():
        assert theirs[name] == expected, f"{name} differs"


@pytest.fixture(scope="session")
def local(tmp_path_factory):
    """A Connect server that works in its own process."""
    with Spark(tmp_path_factory.mktemp("local")) as spark:
        yield spark.connect_server("local[2]")


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    """A Connect server whose jobs run on two workers."""
    with Spark(tmp_path_factory.mktemp("cluster")) as spark:
        master, _ = spark.cluster()
        yield spark.connect_server(master, **{"spark.executor.memory": "700m", "spark.executor.cores": 1})


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("logs")


@pytest.fixture(scope="session")
def simulated(folder):
    """A log of whole-number ids in which documents change places."""
    truerank("generate", "--preset", "tiny", "-o", folder / "data")
    path = folder / "clicks.parquet"
    knobs = ["--swap", 0.2, "--shuffle", 0.3, "--users-per-cluster", 3, "--user-noise", 0.2]
    truerank("simulate", folder / "data", "--sessions", 20_000, "--users", 5, *knobs, "-o", path)
    return path


@pytest.fixture(scope="session")
def counts(folder, simulated):
    path = folder / "counts"
    truerank("count", simulated, "-o", path)
    return path


@pytest.fixture(scope="session")
def awkward(folder):
    """A log whose ids need quoting, as a table of DuckDB."""
    users = ["007", "7", "+7", " 7 ", "'; DROP TABLE log; --", "`", "``a``", 'say "hi"', "a\\b", "\\", "${spark.master}", "NULL"]
    users += ["null", "NaN", "true", "1e3", "-0", "Zoë", "Zoe\u0308", "👩‍👩‍👧‍👦", "łódź 東京", "{a,b}*?[c]", "%20", "\u00a0", "c,d;e|f\tg"]
    users += ["two\nlines", "win\r\ndows", "\ufeffbom", "-- comment", "/* c */", "#", "anonymous", "\U0001d54f", "z" * 3000]
    database = duckdb.connect()
    database.execute("CREATE TABLE names (id INTEGER, name VARCHAR)")
    database.executemany("INSERT INTO names VALUES (?, ?)", list(enumerate(users)))
    count = len(users)
    database.execute(
        f"""
        CREATE TABLE log AS
        SELECT
            's' || page AS session,
            u.name AS "user",
            'q ' || q.name AS query,
            CASE WHEN p % 3 = 0 THEN d.name || p ELSE p::VARCHAR || d.name END AS doc,
            p::INTEGER AS position,
            (hash(page, p) % 4 = 0)::INTEGER AS click
        FROM range(400) AS pages(page), range(1, 6) AS positions(p)
        JOIN names AS u ON u.id = page % {count}
        JOIN names AS q ON q.id = (page // 3) % {count}
        JOIN names AS d ON d.id = (page + 7 * p) % {count}
        """
    )
    return database


@pytest.fixture(scope="session")
def shared():
    """Real data sets, which are not part of the repository."""
    path = Path(os.environ.get("TRUERANK_SHARED", ROOT.parent / "shared"))
    if not (path / "data").is_dir():
        pytest.skip(f"no real data at {path / 'data'}; TRUERANK_SHARED names another place")
    return path / "data"
