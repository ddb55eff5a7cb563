"""Counting ever longer logs under the same limit of memory: time per million impressions, and peak memory."""

import statistics
import sys

from . import large, logs
from .common import Failed
from .watched import watch

# Files of the log, each of a hundredth of it.
SIZES = [1, 3, 10, 30, 100]


def results(setup):
    files = logs.large(setup)
    large.read_once(files)
    # More turns than others: at the smallest size a moment's noise is a large share.
    turns = setup.repeats or setup.pick(5, 1)
    runs = {size: [] for size in SIZES}
    for _ in range(turns):
        for size in SIZES:
            runs[size].append(run(setup, files[:size]))
    millions = {size: size * setup.pick(1.0, 0.01) for size in SIZES}
    setup.remarks.append(tell(runs, millions, ' '.join(['truerank count', *large.limits(setup)])))
    return []


def run(setup, files):
    found = watch(setup, large.counting(setup, files))
    if isinstance(found.seconds, Failed):
        sys.exit(f"error: truerank: {found.seconds.reason}")
    return found


def tell(runs, millions, command):
    per_million = {size: statistics.median(run.seconds for run in runs[size]) / millions[size] for size in runs}
    lines = [f"`{command}` on parts of one log, medians of {len(runs[SIZES[0]])} turns:", ""]
    lines += ["| impressions | time | per million | peak resident memory | most on disk |", "|---|---|---|---|---|"]
    for size, of_size in runs.items():
        peak, disk = (max(getattr(run, field) for run in of_size) for field in ("peak_mib", "disk_mib"))
        times = f"{per_million[size] * millions[size]:.2f} s | {per_million[size]:.3f} s"
        lines.append(f"| {millions[size]:g} M | {times} | {peak:,.0f} MiB | {disk:,.0f} MiB |")
    ratio = per_million[SIZES[-1]] / per_million[SIZES[0]]
    spread = max(per_million.values()) / min(per_million.values())
    lines += ["", f"Time per million, largest log over smallest: {ratio:.2f}; most over least of all sizes: {spread:.2f}."]
    return "\n".join(lines)
