"""Seven click models to the same held-out log-likelihood: ours beside CLAX, JAX on the CPU.

Ours is `truerank count --transitions`, once for all models, and `truerank click-model`, start-ups included, to convergence. CLAX is given arrays in
memory instead of a log, and neither compiling nor predicting held-out clicks counts for it.
"""

import json

from . import clax
from .common import Failed, Result, Row, seconds, spell

MODELS = ["pbm", "ubm", "cm", "dcm", "sdbn", "dbn", "ccm"]
# Of the log-likelihood as both define it: who comes this near to the better of both has reached it.
TOLERANCE = 0.0005
# That of CLAX's own experiments.
RATE = 0.01


def results(setup):
    folder = setup.folder / "click-models"
    folder.mkdir()
    clax.make_logs(setup, folder)
    counting = seconds(lambda: count(setup, folder, "train"))
    count(setup, folder, "held-out")
    setup.remarks.append(f"Click models: counting with click transitions took {spell(counting)}, once; it is not in the rows")
    return [compare(setup, folder, model) for model in MODELS]


def count(setup, folder, name):
    setup.truerank("count", folder / f"{name}.parquet", "--transitions", "-o", folder / name)


def compare(setup, folder, model):
    """One row, with the log-likelihoods of both as a remark."""
    fitted, ours, curves = folder / f"{model}.json", [], []
    for _ in range(setup.turns()):
        fit = ["click-model", folder / "train", "--model", model, "-o", fitted]
        ours.append(seconds(lambda: setup.truerank(*fit)))
        curves.append(clax.fit_clax(setup, folder, RATE, model=model))
    told = setup.truerank("predict-clicks", folder / "held-out", "--click-model", fitted, "--json")
    reached = json.loads(told)["log_likelihood"]
    theirs = max(max(curve["held_out"]) for curve in curves)
    target = max(reached, theirs) - TOLERANCE
    setup.remarks.append(f"{model}: held-out log-likelihood {reached:.5f} ours, {theirs:.5f} CLAX at best; the goal is {target:.5f}")
    work = f"{model} of {setup.pick(900_000, 9_000):,} sessions to a held-out log-likelihood of {target:.4f}"
    times = [time if reached >= target else Failed("not reached") for time in ours]
    return Result(Row(work, f"CLAX, AdamW {RATE}", "≥ 10"), times, [clax.time_to(curve, target) for curve in curves])
