"""The paper's research questions, rerun: ``truerank.experiment.rq1(preset="tiny")``.

Each function takes the options of ``truerank experiment`` and returns :class:`Results`:

config
    An experiment in TOML; options override it.
preset, data
    Data to generate (``tiny``, ``small``, ``yahoo``, ``baidu``, ``hard``), or a folder with train, vali and test.
max_grade, zero_based, features
    How the files of ``data`` are read.
sessions, sizes
    Sessions, where their number is not the question; numbers of sessions of rq2.
seeds
    How often to run it all, each time with other users, clicks and initial weights; claims are tested from 3 on.
model
    ``linear``, ``mlp``, ``mlp:SIZE,SIZE,…`` or ``linear-raw``, one or a list.
standardise
    True for networks that see features brought to one scale first.
steps, patience
    Training steps at most for each MLP; checks without a better validation value before training stops.
log, columns
    For ``real``: files of a log of real users, and names of its columns by field.
folder
    Keeps every run as soon as it is finished, and the report; the same call goes on where it was stopped.
progress
    True for a bar, or a function of ``(what, done, total)``.

>>> from truerank import experiment
>>> results = experiment.rq1(preset="tiny", sessions=2000, seeds=2, model="linear")
>>> results
<Results: rq1; ...>
>>> results.claims[0]["question"]
'rq1'
"""

from typing import Any

from ._truerank import Results
from ._truerank import run_experiment as run

__all__ = ["Results", "real", "rq1", "rq2", "rq3", "rq4", "run"]


def rq1(**options: Any) -> Results:
    """The main table: all corrections, eight measures, error of relevance."""
    return run("rq1", **options)


def rq2(**options: Any) -> Results:
    """Learning curves over the number of sessions, linear and MLP."""
    return run("rq2", **options)


def rq3(**options: Any) -> Results:
    """5, 10 and 20 kinds of users."""
    return run("rq3", **options)


def rq4(**options: Any) -> Results:
    """Examination estimated from the clicks, by every method there is."""
    return run("rq4", **options)


def real(**options: Any) -> Results:
    """Many users with few sessions: a log of yours, or a simulated one."""
    return run("real", **options)
