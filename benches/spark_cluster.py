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


def count(root, folder, *engine):
    return truerank("count", root / "log.parquet", *engine, "-o", folder / "counts")


def propensity(root, folder, *engine):
    options = ["--data", root / "data", "--per-user", *engine]
    return truerank("propensity", folder / "counts", *options, "-o", folder / "propensities.parquet")


def relevance(root, folder, *engine):
    options = ["--propensities", folder / "propensities.parquet", "--data", root / "data", *engine]
    return truerank("relevance", folder / "counts", *options, "-o", folder / "relevance.parquet")


def all_estimators(_, folder, *engine):
    options = ["--propensities", folder / "propensities.parquet", "--estimator", "all", *engine]
    return truerank("relevance", folder / "counts", *options, "-o", folder / "estimators")


def labels(_, folder, *__):
    options = ["--to", "parquet", "--features", 64]
    return truerank("export", folder / "relevance.parquet", *options, "-o", folder / "labels.parquet")


# A command, what runs it, and what it writes.
STEPS = [
    ("count", count, "counts"),
    ("propensity --per-user --data", propensity, "propensities.parquet"),
    ("relevance --data", relevance, "relevance.parquet"),
    ("relevance --estimator all", all_estimators, "estimators"),
    ("export --to parquet", labels, "labels.parquet"),
]


def compare(here, there):
    """In a few words, how far artefacts differ."""
    if here.name == "counts":
        return same_bytes(here, there)
    files = sorted(here.iterdir()) if here.is_dir() else [here]
    found = [farthest(path, there / path.name if here.is_dir() else there) for path in files]
    of_each = f" in each of {len(files)} files" if len(files) > 1 else ""
    return f"{found[0][0]:,} rows{of_each}, at most {max(most for _, most in found):.1e} apart"


def same_bytes(here, there):
    """How many files of two folders are the same bytes; whole pages and what is said of them are here alone."""
    alone = ("pages.parquet", "meta.json")
    names = sorted(path.name for path in here.iterdir() if path.name not in alone)
    equal = sum((here / name).read_bytes() == (there / name).read_bytes() for name in names)
    return f"{equal} of {len(names)} files the same bytes"


def farthest(here, there):
    """How many rows two tables have, and the largest relative difference of their numbers; other values must be equal."""
    ours, theirs = (duckdb.connect().execute("SELECT * FROM read_parquet(?)", [str(path)]) for path in (here, there))
    assert ours.description == theirs.description, (ours.description, theirs.description)
    most, rows = 0.0, 0
    while block := ours.fetchmany(100_000):
        for our_row, their_row in zip(block, theirs.fetchmany(100_000), strict=True):
            rows += 1
            for our_value, their_value in zip(our_row, their_row, strict=True):
                most = max(most, apart(our_value, their_value))
    assert theirs.fetchmany(1) == []
    return rows, most


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
        truerank("generate", "--preset", "small", "-o", folder / "data")
        knobs = ["--users-per-cluster", options.users_per_cluster, "--user-noise", 0.1, "--shuffle", 0.05]
        truerank("simulate", folder / "data", "--sessions", options.sessions, *knobs, "-o", folder / "log.parquet")
        master, _ = spark.cluster()
        settings = {"spark.executor.memory": "1g", "spark.executor.cores": 1, "spark.sql.shuffle.partitions": 8}
        engine = ["--engine", spark.connect_server(master, **settings)]
        here, there = folder / "here", folder / "there"
        here.mkdir(), there.mkdir()
        print("| step | here | two workers | artefacts |\n|---|---|---|---|")
        for step, run, artefact in STEPS:
            ours, theirs = run(folder, here), run(folder, there, *engine)
            print(f"| `{step}` | {ours:.1f} s | {theirs:.1f} s | {compare(here / artefact, there / artefact)} |", flush=True)
        meta = json.loads((here / "counts/meta.json").read_text())
        print(f"\n{meta['impressions']:,} impressions of {meta['users']:,} users")


if __name__ == "__main__":
    main()
