"""The command line `truerank`, as `pip install` brings it: the same program as the binary, compiled into the package."""

from __future__ import annotations

import sys

from ._truerank import _command


def main() -> int:
    """Runs what was typed; returns the exit code."""
    return _command(["truerank", *sys.argv[1:]])
