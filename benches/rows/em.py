"""EM over cells: ours beside the same in NumPy, one iteration and to the same log-likelihood; and one pass over the memory."""

import json
import re
import statistics

import numpy as np
import pyarrow.parquet as pq

from .common import AtLeast, Row, seconds

DOCS, USERS = 10, 10
# Of log-likelihood per impression: who comes this near to where ours converges has reached it.
TOLERANCE = 1e-6
MOST_ITERATIONS = 5_000


def cells(count):
    """The cells of the `em_iteration` example: slot, document, clicks, misses."""
    index = np.arange(count, dtype=np.uint64)
    doc, user = index // USERS % DOCS, index % USERS
    position = (doc + user % 2) % DOCS
    clicks = ((index * 2_654_435_761 & 0xFFFFFFFF) >> np.uint64(28)) // (position + 1)
    slot, pair = (user * DOCS + position).astype(np.int64), (index // USERS).astype(np.int64)
    return slot, pair, clicks.astype(float), 20.0 - clicks


def numpy_em(slot, pair, clicks, misses):
    """Plain EM with tables of θ by slot and γ by pair; yields the log-likelihood per impression before each iteration."""
    shown = clicks + misses
    shown_in_slot, shown_of_pair, impressions = np.bincount(slot, shown), np.bincount(pair, shown), np.sum(shown)
    theta, gamma = np.full(len(shown_in_slot), 0.5), np.full(len(shown_of_pair), 0.3)
    while True:
        t, g = theta[slot], gamma[pair]
        miss = 1 - t * g
        yield np.sum(clicks * np.log(t * g) + misses * np.log(miss)) / impressions
        examined = clicks + misses * t * (1 - g) / miss
        relevant = clicks + misses * g * (1 - t) / miss
        # A little away from 0 and 1, where logarithms and quotients do not exist.
        theta = np.clip(np.bincount(slot, examined) / shown_in_slot, 1e-12, 1 - 1e-12)
        gamma = np.clip(np.bincount(pair, relevant) / shown_of_pair, 1e-12, 1 - 1e-12)


def read_cells(path):
    """The cells of a log as `numpy_em` takes them."""
    table = pq.read_table(path).to_pandas()
    names = ["user", "position"], ["query", "doc"]
    slot, pair = (table.groupby(columns, sort=False).ngroup().to_numpy() for columns in names)
    clicks = table["clicks"].to_numpy(float)
    return slot, pair, clicks, table["impressions"].to_numpy(float) - clicks


def climb(path, target):
    """Seconds until NumPy has reached the log-likelihood, reading the cells included."""

    def work():
        for iteration, reached in enumerate(numpy_em(*read_cells(path))):
            if reached >= target or iteration == MOST_ITERATIONS:
                return reached

    found = []
    time = seconds(lambda: found.append(work()))
    return time if found[0] >= target else AtLeast(time)


def rows(setup):
    return [*iteration_rows(setup), convergence_row(setup)]


def iteration_rows(setup):
    count, times = setup.pick(1_000_000, 10_000), setup.pick(10, 2)
    iterations = numpy_em(*cells(count))

    def ours():
        return setup.example("em_iteration", "--cells", count, "--threads", setup.threads)

    def time_ours():
        return float(re.search(r"([\d.]+) ms median", ours())[1]) / 1000

    def memory():
        return float(re.search(r"memory ([\d.]+) ms", ours())[1]) / 1000

    def time_numpy():
        return statistics.median(seconds(lambda: next(iterations)) for _ in range(times))

    work = f"EM iteration over {count:,} cells, tables"
    return [
        Row(work, "NumPy", "20 ms", time_ours, time_numpy),
        Row(work, "one pass over the memory it reads", "≥ 0.33", time_ours, memory),
    ]


def convergence_row(setup):
    """Ours runs as a command, with start-up and all that it writes; both read the same counts."""
    folder = setup.folder / "em"
    make_counts(setup, folder)
    path = folder / "counts/cells.parquet"

    def fit(*options):
        form = ["--relevance", "table", "--per-user", "--shrink", "none", "--prior", "none", "--resamples", 0]
        setup.truerank("propensity", folder / "counts", *form, *options, "-o", folder / "theta.json")
        return json.loads((folder / "theta.json").read_text())["fit"]["log_likelihood"]

    course = fit()
    target = course[-1] - TOLERANCE
    reached = next(number for number, value in enumerate(course, 1) if value >= target)
    return Row(
        f"personalized EM over {pq.read_metadata(path).num_rows:,} cells, tables, to where ours converges − {TOLERANCE:g}",
        "NumPy, plain EM",
        "",
        lambda: seconds(lambda: fit("--iterations", reached)),
        lambda: climb(path, target),
    )


def make_counts(setup, folder):
    """Ten kinds of users; shuffled lists let positions be compared."""
    folder.mkdir()
    log = folder / "log.parquet"
    setup.truerank("generate", "--preset", setup.pick("small", "tiny"), "--format", "parquet", "-o", folder / "data")
    sessions = ["--sessions", setup.pick(1_000_000, 10_000), "--shuffle", 0.1]
    setup.truerank("simulate", folder / "data", *sessions, "-o", log)
    setup.truerank("count", log, "-o", folder / "counts")
