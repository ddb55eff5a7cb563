"""From Python, `engine=` does what `--engine` does."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT, assert_same_content, truerank
from test_relevance import assert_same_weights

# An environment with the package; Spark's own has none.
PYTHON = Path(os.environ.get("TRUERANK_PYTHON", ROOT / ".venv-python/bin/python"))

SCRIPT = """
import sys, types, urllib.parse
import truerank

log, folder, engine = sys.argv[1:]
session = types.SimpleNamespace(client=types.SimpleNamespace(_builder=types.SimpleNamespace(
    url=urllib.parse.urlparse(engine.replace("sc", "http", 1)))))
print(truerank.count(log, f"{folder}/there", engine=session)["clicks"])
em = truerank.propensity.RegressionEM(iterations=2, relevance="table").fit(f"{folder}/there", engine=engine)
em.propensities_.write(f"{folder}/propensities.json")
truerank.relevance(f"{folder}/there", em, estimator="user-aware", shrink="auto", engine=engine).write(f"{folder}/there.parquet")
"""


@pytest.fixture(scope="module")
def python():
    probe = "import truerank; truerank.count"
    if not PYTHON.exists() or subprocess.run([PYTHON, "-c", probe], capture_output=True).returncode != 0:
        pytest.skip(f"no truerank for Python in {PYTHON}; TRUERANK_PYTHON names another interpreter")
    return PYTHON


def test_the_whole_way_from_python(local, python, simulated, tmp_path):
    done = subprocess.run([python, "-W", "ignore", "-c", SCRIPT, simulated, tmp_path, local], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    here = json.loads(truerank("count", simulated, "--json", "-o", tmp_path / "here"))
    assert int(done.stdout) == here["clicks"]
    assert_same_content(tmp_path / "here", tmp_path / "there")
    options = ["--propensities", tmp_path / "propensities.json", "--estimator", "user-aware", "--shrink", "auto"]
    truerank("relevance", tmp_path / "here", *options, "-o", tmp_path / "here.parquet")
    assert_same_weights(tmp_path / "here.parquet", tmp_path / "there.parquet")
    assert not list(tmp_path.glob(".truerank-*"))


def test_sessions_of_pyspark_keep_their_address_where_it_is_looked_for():
    """Its client needs grpc to be imported, so its source is read."""
    import pyspark

    connect = Path(pyspark.__file__).parent / "sql/connect"
    client, session = (connect / "client/core.py").read_text(), (connect / "session.py").read_text()
    assert "self.url = urllib.parse.urlparse(tmp_url)" in client and "self._builder = (" in client
    assert 'def client(self) -> "SparkConnectClient":' in session
