"""Counting a log that does not fit: ours beside DuckDB under the same limit of memory, and beside Polars without one."""

import statistics
import sys

from . import grouping, logs
from .common import Failed, Result, Row, spell
from .watched import python, scratch, watch

OURS = "truerank: pages checked, cells and sessions, sorted"


def results(setup):
    files, memory = logs.large(setup), limit(setup)
    read_once(files)
    sides = {OURS: counting(setup, files), **peers(setup, files, memory)}
    runs, prints = take_turns(setup, sides)
    check_same(prints)
    impressions = setup.pick(100_000_000, 1_000_000)
    work = f"count {impressions:,} impressions into {prints[OURS][0]:,} cells, {' '.join(limits(setup)) or 'no limit'}"
    setup.remarks.append(tell(runs, work))
    return [result(work, name, runs) for name in sides if name != OURS]


def limit(setup):
    return setup.pick("1GiB", "256MiB")


def read_once(files):
    """Everyone then finds the files where the system keeps what was read."""
    for file in files:
        file.read_bytes()


def limits(setup):
    """The option that limits ours, as long as it knows one."""
    if "--memory" in setup.truerank("count", "--help"):
        return ["--memory", limit(setup)]
    message = "`truerank count` does not know --memory: it was run without a limit of memory."
    if message not in setup.remarks:
        print(f"warning: {message}", file=sys.stderr)
        setup.remarks.append(message)
    return []


def counting(setup, files):
    command = [setup.target() / "truerank", "--quiet", "--threads", setup.threads, "count", *files]
    return [*command, *limits(setup), "-o", scratch(setup) / "counts"]


def peers(setup, files, memory):
    names = [str(file) for file in files]
    duckdb = f"with_duckdb({names!r}, {setup.threads}, {memory!r}, "
    polars = f"with_polars({names!r}, "
    calls = {
        f"DuckDB, limit {memory}: cells and sessions, sorted": duckdb + "True)",
        f"DuckDB, limit {memory}: cells alone, unsorted": duckdb + "False)",
        "Polars, streaming, no limit: cells and sessions, sorted": polars + "True)",
        "Polars, streaming, no limit: cells alone, unsorted": polars + "False)",
    }
    return {name: python(setup, "grouping", call) for name, call in calls.items()}


def take_turns(setup, sides):
    """Runs of each side, and what came out of it; who failed once is not asked again."""
    runs, prints = {name: [] for name in sides}, {}
    for _ in range(setup.turns()):
        for name, command in sides.items():
            if runs[name] and isinstance(runs[name][-1].seconds, Failed):
                continue
            print(f"  {name} …", file=sys.stderr)
            runs[name].append(watch(setup, command))
            if name not in prints and not isinstance(runs[name][-1].seconds, Failed):
                folder = scratch(setup) / ("counts" if name == OURS else "")
                prints[name] = grouping.fingerprint(folder / "cells.parquet")
    if OURS not in prints:
        sys.exit(f"error: truerank: {runs[OURS][-1].seconds.reason}")
    return runs, prints


def check_same(prints):
    """All must have counted the same, or their times say nothing."""
    different = [name for name, found in prints.items() if found != prints[OURS]]
    assert not different, f"different counts: {different}"


def result(work, name, runs):
    ours, theirs = ([run.seconds for run in runs[side]] for side in (OURS, name))
    return Result(Row(work, name, "≥ 1"), ours[: len(theirs)], theirs)


def tell(runs, title):
    lines = [f"To {title}, each in a process of its own; the median time, the most memory and disk:", ""]
    lines += ["| | time | peak resident memory | most on disk, the result included |", "|---|---|---|---|"]
    for name, of_side in runs.items():
        times = [run.seconds for run in of_side]
        failed = [time.reason for time in times if isinstance(time, Failed)]
        peak, disk = (max(getattr(run, field) for run in of_side) for field in ("peak_mib", "disk_mib"))
        time = failed[0] if failed else spell(statistics.median(times))
        lines.append(f"| {name} | {time} | {peak:,.0f} MiB | {disk:,.0f} MiB |")
    return "\n".join(lines)
