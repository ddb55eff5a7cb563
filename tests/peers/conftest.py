"""Runs the truerank binary on the `tiny` preset; each artefact of the flow is a fixture, made once."""

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SESSIONS = 60_000


def truerank(*arguments):
    """What the command prints; its message fails the test where it fails."""
    binary = os.environ.get("TRUERANK", ROOT / "target/debug/truerank")
    done = subprocess.run([binary, "--quiet", *map(str, arguments)], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, f"truerank {' '.join(map(str, arguments))}: {done.stderr}"
    return done.stdout


def truerank_json(*arguments):
    return json.loads(truerank(*arguments, "--json"))


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("flow")


@pytest.fixture(scope="session")
def data(folder):
    """A folder with train, vali and test."""
    truerank("generate", "--preset", "tiny", "-o", folder / "data")
    return folder / "data"


@pytest.fixture(scope="session")
def log(folder, data):
    """A log in which every query has one ranking."""
    path = folder / "clicks.parquet"
    truerank("simulate", data, "--sessions", SESSIONS, "--users", 10, "-o", path)
    return path


@pytest.fixture(scope="session")
def moving_log(folder, data):
    """A log in which documents change places: swaps, shuffled lists, and several users in each cluster."""
    path = folder / "moving.parquet"
    knobs = ["--swap", 0.2, "--shuffle", 0.3, "--users-per-cluster", 3, "--user-noise", 0.2]
    truerank("simulate", data, "--sessions", 20_000, "--users", 5, *knobs, "-o", path)
    return path


def train(data, model, *options, name=None):
    path = data.parent / f"{name or model.partition(':')[0]}.safetensors"
    truerank("train", data, "--model", model, *options, "-o", path)
    return path


@pytest.fixture(scope="session")
def linear(data):
    return train(data, "linear")


@pytest.fixture(scope="session")
def mlp(data):
    return train(data, "mlp:32,16", "--steps", 100)


@pytest.fixture(scope="session")
def standardised(data):
    return train(data, "mlp:24,8", "--steps", 100, "--scaling", "standard", name="standardised")


@pytest.fixture(scope="session")
def ranks(data):
    return train(data, "mlp:24,8", "--steps", 100, "--scaling", "rank", name="ranks")


@pytest.fixture(scope="session")
def paper(data):
    return train(data, "mlp:24,8", "--steps", 100, "--scaling", "paper", name="paper")


@pytest.fixture(scope="session")
def svm_rank(data):
    return train(data, "svm-rank", "--share", 0.2)


@pytest.fixture(scope="session")
def shared():
    """Real data sets, which are not part of the repository."""
    path = Path(os.environ.get("TRUERANK_SHARED", ROOT.parent / "shared"))
    if not (path / "data").is_dir():
        pytest.skip(f"no real data at {path / 'data'}; TRUERANK_SHARED names another place")
    return path / "data"
