#!/usr/bin/env python3
"""The whole way on a Spark cluster of two workers, beside the same on this machine: seconds, and how far artefacts differ.

A log of millions of rows is simulated (`--sessions`, ten rows each), counted, and users' examination, weights by all estimators and labels are
made of it, by the same commands with and without `--engine`. Wants `duckdb` and `pyspark` (tests/spark/requirements.txt) and Java.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/spark"))
from server import Spark  # noqa: E402

BINARY = Path(os.environ.get("TRUERANK", ROOT / "target/release/truerank"))


def truerank(*arguments):
    """Seconds that a command takes."""
    start = time.monotonic()
    subprocess.run([BINARY, "--quiet", *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - start


def count(log, folder, *engine):
    return truerank("count", log, *engine, "-o", folder / "counts")


def propensity(data, folder, *engine):
    return truerank("propensity", folder / "counts", "--data", data, "--per-user", *engine, "-o", folder / "propensities.parquet")


def relevance(folder, *engine):
    given = ["--propensities", folder / "propensities.parquet", "--estimator", "all"]
    return truerank("relevance", folder / "counts", *given, *engine, "-o", folder / "relevance.parquet")


def labels(folder, *_):
    default = next(folder.glob("relevance*user-aware*"))
    return truerank("export", default, "--to", "parquet", "--features", 64, "-o", folder / "labels.parquet")


def same_bytes(here, there):
    """How many files of two folders are the same bytes; whole pages and what is said of them are here alone."""
    alone = ("pages.parquet", "meta.json")
    names = sorted(path.name for path in here.iterdir() if path.name not in alone)
    equal = sum((here / name).read_bytes() == (there / name).read_bytes() for name in names)
    return f"{equal} of {len(names)} files the same bytes"


def farthest(here, there):
    """The largest relative difference of numbers in two tables, whose other values must be equal."""
    ours, theirs = (duckdb.read_parquet(str(path)) for path in (here, there))
    assert ours.columns == theirs.columns, (ours.columns, theirs.columns)
    most, rows = 0.0, 0
    while block := ours.fetchmany(100_000):
        for our_row, their_row in zip(block, theirs.fetchmany(100_000), strict=True):
            rows += 1
            for our_value, their_value in zip(our_row, their_row, strict=True):
                most = max(most, apart(our_value, their_value))
    assert theirs.fetchmany(1) == []
    return f"{rows:,} rows, at most {most:.1e} apart"


def apart(ours, theirs):
    if isinstance(ours, list):
        return max((apart(a, b) for a, b in zip(ours, theirs, strict=True)), default=0.0)
    if isinstance(ours, float):
        return abs(ours - theirs) / max(abs(ours), abs(theirs), 1e-3)
    assert ours == theirs, (ours, theirs)
    return 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=400_000)
    parser.add_argument("--users-per-cluster", type=int, default=5_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, Spark(Path(name)) as spark:
        folder = Path(name)
        data, log = folder / "data", folder / "log"
        truerank("generate", "--preset", "small", "-o", data)
        knobs = ["--users-per-cluster", options.users_per_cluster, "--user-noise", 0.1, "--shuffle", 0.05]
        truerank("simulate", data, "--sessions", options.sessions, *knobs, "-o", log)
        master, _ = spark.cluster()
        settings = {"spark.executor.memory": "2g", "spark.executor.cores": 1, "spark.sql.shuffle.partitions": 8}
        engine = ["--engine", spark.connect_server(master, **settings)]
        here, there = folder / "here", folder / "there"
        here.mkdir(), there.mkdir()
        print("| step | here | two workers | artefacts |\n|---|---|---|---|")
        steps = [
            ("count", lambda to, *on: count(log, to, *on), lambda: same_bytes(here / "counts", there / "counts")),
            (
                "propensity --per-user --data",
                lambda to, *on: propensity(data, to, *on),
                lambda: farthest(here / "propensities.parquet", there / "propensities.parquet"),
            ),
            (
                "relevance --estimator all",
                relevance,
                lambda: "; ".join(farthest(path, there / path.name) for path in sorted(here.glob("relevance*"))),
            ),
            ("export --to parquet", labels, lambda: farthest(here / "labels.parquet", there / "labels.parquet")),
        ]
        for step, run, compare in steps:
            ours, theirs = run(here), run(there, *engine)
            print(f"| `{step}` | {ours:.1f} s | {theirs:.1f} s | {compare()} |", flush=True)
        meta = json.loads((here / "counts/meta.json").read_text())
        print(f"\n{meta['impressions']:,} impressions of {meta['users']:,} users")


if __name__ == "__main__":
    main()
