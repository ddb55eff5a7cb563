"""Counting CSV logs: ours beside DuckDB and Polars, which group the same columns of the same file; times and peak memory."""

import os
import re
import subprocess
import sys

import duckdb
import polars as pl

from .common import Row, seconds

CELL = ["query", "doc", "position", "user"]

PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def with_duckdb(path, threads):
    connection = duckdb.connect(config={"threads": threads})
    cells = f'SELECT query, doc, position, "user", count(*), sum(click) FROM read_csv(\'{path}\') GROUP BY ALL'
    return connection.sql(cells).to_arrow_table()


def with_polars(path):
    cells = pl.scan_csv(path).group_by(CELL).agg(impressions=pl.len(), clicks=pl.col("click").sum())
    return cells.collect(engine="streaming")


def peak_megabytes(*command):
    """The most memory that a command held."""
    done = subprocess.run([sys.executable, "-c", PEAK, *map(str, command)], capture_output=True, text=True, check=True)
    return int(done.stdout) / 1024


def peer_peak(setup, call):
    """The same for a function of this module, in an interpreter of its own."""
    code = f"import sys; sys.path.insert(0, '{setup.root / 'benches'}'); from rows import text; text.{call}"
    return peak_megabytes(sys.executable, "-c", code)


def tell_memory(setup, work, path):
    ours = peak_megabytes(setup.target() / "examples" / "count_log", "--once", path)
    peers = peer_peak(setup, f"with_duckdb('{path}', {setup.threads})"), peer_peak(setup, f"with_polars('{path}')")
    size = os.path.getsize(path) / 1e6
    setup.remarks.append(
        f"{work} ({size:,.0f} MB): peak memory {ours:,.0f} MiB, DuckDB {peers[0]:,.0f} MiB, Polars {peers[1]:,.0f} MiB."
    )


def rows(setup):
    found = []
    for ids, option, count in [("whole numbers", "--make", 38_000_000), ("texts", "--make-text", 12_000_000)]:
        count = setup.pick(count, count // 200)
        path = setup.folder / f"{option.strip('-')}.csv"
        ours = int(re.search(r"(\d+) cells", setup.example("count_log", option, count, path))[1])
        cells = [len(with_duckdb(path, setup.threads)), len(with_polars(path))]
        assert cells == [ours, ours], "different counts"
        work = f"count a CSV log of {count:,} rows, ids are {ids}"
        tell_memory(setup, work, path)

        def time_ours(path=path):
            return setup.example_seconds("count_log", "--once", path)

        peers = [
            ("DuckDB", lambda path=path: seconds(lambda: with_duckdb(path, setup.threads))),
            ("Polars, streaming", lambda path=path: seconds(lambda: with_polars(path))),
        ]
        found += [Row(work, peer, "≥ 1", time_ours, theirs) for peer, theirs in peers]
    return found
