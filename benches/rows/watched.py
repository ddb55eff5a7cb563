"""Commands in processes of their own: seconds, peak memory, and disk."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass

from .common import Failed

# Of the memory that is free: who wants more is stopped before the system is.
MOST_SHARE = 0.85


@dataclass
class Run:
    seconds: float
    peak_mib: float
    disk_mib: float


def watch(setup, command):
    """Runs a command in an emptied folder, which is also its place for temporary files."""
    folder = scratch(setup)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    options = ["--folder", folder, "--most-memory", free_mib() * MOST_SHARE]
    words = [str(word) for word in [sys.executable, setup.root / "benches/watch.py", *options, "--", *command]]
    environment = os.environ | {"TMPDIR": str(folder)}
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=folder, env=environment)
    told = json.loads(done.stdout)
    seconds = Failed(reason(told)) if told["code"] or told["stopped"] else told["seconds"]
    return Run(seconds, told["peak_mib"], told["disk_mib"])


def scratch(setup):
    return setup.folder / "scratch"


def reason(told):
    after = f"after {told['seconds']:.0f} s at {told['peak_mib']:,.0f} MiB"
    if told["stopped"]:
        return f"took all memory; stopped {after}"
    if told["code"] < 0:
        return f"killed by signal {-told['code']} {after}"
    return f"failed {after}: {told['error'][:200]}"


def free_mib():
    with open("/proc/meminfo") as meminfo:
        return next(int(line.split()[1]) for line in meminfo if line.startswith("MemAvailable")) / 1024


def python(setup, module, call):
    """The command for a call of one of these modules in an interpreter of its own, which imports nothing else."""
    benches = str(setup.root / "benches")
    code = f"import sys; sys.path.insert(0, {benches!r}); from rows import {module}; {module}.{call}"
    return [sys.executable, "-c", code]
