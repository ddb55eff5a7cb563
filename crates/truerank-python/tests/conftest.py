"""What the tests share: small data, and the command line to compare with."""

import os
import subprocess
from pathlib import Path

import pytest

import truerank

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def command():
    """Runs the command line; its message fails the test where it fails."""
    binary = os.environ.get("TRUERANK")
    if not binary:
        pytest.skip("the environment variable TRUERANK does not name the command line's binary")

    def run(*arguments):
        done = subprocess.run([binary, "--quiet", *map(str, arguments)], capture_output=True, text=True, cwd=ROOT)
        assert done.returncode == 0, f"truerank {' '.join(map(str, arguments))}: {done.stderr}"
        return done.stdout

    return run


@pytest.fixture(scope="session")
def splits():
    return truerank.generate("tiny", seed=1)
