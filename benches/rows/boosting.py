"""Boosted trees trained on human grades: ours beside LightGBM, with the same number of trees, leaves and bins."""

import re
import time

import lightgbm

from .common import Result, Row, spell
from .tables import read_part

BINS, LEAST = 255, 20
# Our loss, and what it is called in LightGBM; its `rank_xendcg` is a softmax over lists with randomised labels.
LOSSES = [("lambdarank", "lambdarank"), ("softmax", "rank_xendcg"), ("squared", "regression")]


def results(setup):
    folder = setup.folder / "boosting"
    setup.truerank("generate", "--preset", setup.pick("small", "tiny"), "--format", "parquet", "-o", folder)
    part = read_part(folder / "train.parquet")
    sizes = [(setup.pick(100, 5), leaves) for leaves in (31, 8)]
    return [measure(setup, folder, part, trees, leaves, *loss) for trees, leaves in sizes for loss in LOSSES]


def measure(setup, folder, part, trees, leaves, loss, objective):
    """Both in turn; the first turn warms up. Processor time stands in a remark: it does not depend on who else works."""
    turns = [(ours(setup, folder, trees, leaves, loss), theirs(setup, part, trees, leaves, objective)) for _ in range((setup.repeats or setup.pick(7, 1)) + 1)][1:]
    documents, width = part[0].shape
    row = Row(
        f"train {trees} trees of {leaves} leaves and {BINS} bins by {loss} on {documents:,} documents of {width} features, bins included",
        f"LightGBM, {objective}",
        "≥ 1",
    )
    best = [min(side[place] for side in sides) for sides in zip(*turns) for place in (0, 1)]
    setup.remarks.append(
        f"{loss}, {leaves} leaves: best turns {spell(best[0])} and {spell(best[2])} by the clock (ratio {best[2] / best[0]:.2f}), "
        f"{spell(best[1])} and {spell(best[3])} of processors (ratio {best[3] / best[1]:.2f})."
    )
    return Result(row, [mine[0] for mine, _ in turns], [yours[0] for _, yours in turns])


def ours(setup, folder, trees, leaves, loss):
    """Seconds by the clock and of all processors."""
    options = ["--trees", trees, "--leaves", leaves, "--bins", BINS, "--min-leaf", LEAST, "--loss", loss, "--threads", setup.threads]
    text = setup.example("train_trees", folder / "train.parquet", *options)
    return tuple(float(number) for number in re.search(r"([\d.]+) s, processors ([\d.]+)", text).groups())


def theirs(setup, part, trees, leaves, objective):
    parameters = {"objective": objective, "num_leaves": leaves, "max_bin": BINS, "min_data_in_leaf": LEAST, "learning_rate": 0.05}
    parameters |= {"verbosity": -1, "num_threads": setup.threads, "metric": "none"}
    clock, processors = time.perf_counter(), time.process_time()
    features, grades, sizes = part
    data = lightgbm.Dataset(features, grades, group=sizes, params=parameters)
    lightgbm.train(parameters, data, trees)
    return time.perf_counter() - clock, time.process_time() - processors
