"""What the tests share: small data, and the command line to compare with."""

import os
import subprocess
from pathlib import Path

import pytest

import truerank

ROOT = Path(__file__).resolve().parents[3]


def run(arguments, folder):
    """Runs the command line; its message fails the test where it fails."""
    binary = os.environ.get("TRUERANK")
    if not binary:
        pytest.skip("the environment variable TRUERANK does not name the command line's binary")
    command = [Path(binary).absolute(), "--quiet", *map(str, arguments)]
    # As wide as a pipe is, whatever the terminal: other tests may have set the width for programs below them.
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
    assert done.returncode == 0, f"truerank {' '.join(map(str, arguments))}: {done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def command():
    """Runs the command line with these arguments; returns what it prints."""
    return lambda *arguments: run(arguments, ROOT)


@pytest.fixture
def cli(tmp_path):
    """Runs the command line in the test's own folder, words as typed; returns what it prints."""
    return lambda line: run(line.split(), tmp_path)


@pytest.fixture(scope="session")
def splits():
    return truerank.generate("tiny", seed=1)
