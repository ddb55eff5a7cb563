"""One iteration of EM over cells: ours beside the same in NumPy, and beside one pass over the memory."""

import re
import statistics

import numpy as np

from .common import Row, seconds

DOCS, USERS = 10, 10


def cells(count):
    """The cells of the `em_iteration` example: slot, document, clicks, misses."""
    index = np.arange(count, dtype=np.uint64)
    doc, user = index // USERS % DOCS, index % USERS
    position = (doc + user % 2) % DOCS
    clicks = ((index * 2_654_435_761 & 0xFFFFFFFF) >> np.uint64(28)) // (position + 1)
    return (user * DOCS + position).astype(np.int64), (index // USERS).astype(np.int64), clicks.astype(float), 20.0 - clicks


def numpy_step(count):
    """A function that makes one iteration with tables of θ and γ."""
    slot, pair, clicks, misses = cells(count)
    theta, gamma = np.full(USERS * DOCS, 0.5), np.full(count // USERS, 0.3)
    shown_in_slot = np.bincount(slot, clicks + misses)
    shown = np.bincount(pair, clicks + misses)

    def step():
        nonlocal theta, gamma
        t, g = theta[slot], gamma[pair]
        miss = 1 - t * g
        log_likelihood = np.sum(clicks * np.log(t * g) + misses * np.log(miss))
        examined = clicks + misses * t * (1 - g) / miss
        relevant = clicks + misses * g * (1 - t) / miss
        theta = np.bincount(slot, examined) / shown_in_slot
        gamma = np.bincount(pair, relevant) / shown
        return log_likelihood

    return step


def rows(setup):
    count, times = setup.pick(1_000_000, 10_000), setup.pick(10, 2)
    step = numpy_step(count)

    def ours():
        return setup.example("em_iteration", "--cells", count, "--threads", setup.threads)

    def time_ours():
        return float(re.search(r"([\d.]+) ms median", ours())[1]) / 1000

    def memory():
        return float(re.search(r"memory ([\d.]+) ms", ours())[1]) / 1000

    work = f"EM iteration over {count:,} cells, tables"
    return [
        Row(work, "NumPy", "20 ms", time_ours, lambda: statistics.median(seconds(step) for _ in range(times))),
        Row(work, "one pass over the memory it reads", "≥ 0.33", time_ours, memory),
    ]
