"""Runs both sides of a row in turn and tells the ratio."""

import os
import re
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable


@dataclass
class Row:
    """One line of the table: two callables that return seconds, unless the subject takes turns itself."""

    work: str
    peer: str
    target: str
    ours: Callable[[], float] | None = None
    theirs: Callable[[], float] | None = None


class AtLeast(float):
    """The seconds of a peer that was stopped before it was done."""


class Failed(float):
    """In place of seconds: why there are none."""

    def __new__(cls, reason):
        failed = super().__new__(cls, "nan")
        failed.reason = reason
        return failed


@dataclass
class Result:
    row: Row
    ours: list
    theirs: list

    def ratios(self):
        return [theirs / ours for ours, theirs in zip(self.ours, self.theirs)]


@dataclass
class Setup:
    folder: Path
    root: Path
    data: Path
    quick: bool
    threads: int
    repeats: int | None
    remarks: list = field(default_factory=list)

    def pick(self, full, quick):
        return quick if self.quick else full

    def turns(self):
        """How often subjects with long turns run each side."""
        return self.repeats or self.pick(3, 1)

    def run(self, *command):
        """What a command prints."""
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=self.folder)
        if done.returncode != 0:
            sys.exit(f"error: {' '.join(map(str, command))}: {done.stderr}")
        return done.stdout

    def target(self):
        return self.root / os.environ.get("CARGO_TARGET_DIR", "target") / "release"

    def truerank(self, *arguments):
        return self.run(self.target() / "truerank", "--quiet", "--threads", self.threads, *arguments)

    def example(self, name, *arguments):
        """What one of the library's examples prints."""
        return self.run(self.target() / "examples" / name, *arguments)

    def example_seconds(self, name, *arguments):
        """The seconds that an example measured; their median where it measured several times."""
        found = re.findall(r"([\d.]+) s\b", self.example(name, *arguments))
        return statistics.median(map(float, found))

    def measure(self, row):
        """Both sides in turn, so that a busy moment hits both; the first turn warms up and does not count."""
        repeats = self.repeats or self.pick(7, 2)
        turns = [(row.ours(), row.theirs()) for _ in range(repeats + 1)][1:]
        return Result(row, [ours for ours, _ in turns], [theirs for _, theirs in turns])


def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def spell(duration):
    return f"{duration * 1000:.1f} ms" if duration < 1 else f"{duration:.2f} s"


def cells(result):
    """One line of the table."""
    ours, theirs = summary(result.ours), summary(result.theirs)
    told = [result.row.work, result.row.peer, ours, theirs]
    if any(isinstance(time, Failed) for time in [*result.ours, *result.theirs]):
        return [*told, "–", "", result.row.target]
    ratios, bound = result.ratios(), "≥ " if theirs.startswith("≥") else ""
    spread = f"{min(ratios):.2f}–{max(ratios):.2f}"
    return [*told, f"{bound}{statistics.median(ratios):.2f}", spread, result.row.target]


def summary(times):
    """The median, or why there is none."""
    failed = [time.reason for time in times if isinstance(time, Failed)]
    bound = "≥ " if any(isinstance(time, AtLeast) for time in times) else ""
    return failed[0] if failed else bound + spell(statistics.median(times))


def print_table(results, circumstances, quick, remarks=()):
    """The ratio is the peer's time over ours: above 1 we are faster."""
    print(f"Measured {circumstances}; ratio = the peer's time / ours, median of the turns (least–most).")
    print("A peer marked ≥ was stopped before it reached the goal.\n")
    if quick:
        print("**Quick sizes: these numbers say nothing.**\n")
    print("| work | peer | ours | peer's | ratio | spread | target |")
    print("|---|---|---|---|---|---|---|")
    for result in results:
        print(f"| {' | '.join(cells(result))} |")
    for remark in remarks:
        print(f"\n{remark}")
