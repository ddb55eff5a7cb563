"""The paper's research questions, rerun: ``truerank.experiment.rq1(preset="tiny")``.

Each function takes the options of ``truerank experiment`` and returns :class:`Results`:

{options}
config
    An experiment in TOML; options override it.
data
    A folder with train, vali and test, instead of generated data.
log
    For ``real``: files of a log of real users.
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

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Sequence

from ._params import with_options as _with_options
from ._truerank import Results, _options
from ._truerank import run_experiment as run

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import ExperimentOptions
    from ._truerank import _Path, _Progress

    class _Options(ExperimentOptions, total=False):
        config: _Path | None
        data: _Path | None
        log: _Path | Sequence[_Path] | None
        folder: _Path | None
        progress: _Progress


__all__ = ["Results", "real", "robustness", "rq1", "rq2", "rq3", "rq4", "run"]
__doc__ = (__doc__ or "").replace(
    "{options}", "\n".join(f"{name}\n    {help}." for name, _, help in _options("Experiment"))
)


def rq1(**options: Unpack[_Options]) -> Results:
    """The main table: all corrections, eight measures, error of relevance."""
    return run("rq1", **options)


def rq2(**options: Unpack[_Options]) -> Results:
    """Learning curves over the number of sessions, linear and MLP."""
    return run("rq2", **options)


def rq3(**options: Unpack[_Options]) -> Results:
    """5, 10 and 20 kinds of users."""
    return run("rq3", **options)


def rq4(**options: Unpack[_Options]) -> Results:
    """Examination estimated from the clicks, by every method there is."""
    return run("rq4", **options)


def real(**options: Unpack[_Options]) -> Results:
    """Many users with few sessions: a log of yours, or a simulated one."""
    return run("real", **options)


def robustness(**options: Unpack[_Options]) -> Results:
    """Clicks of one click model taken for those of another, with users and without; its grid is set in ``config``."""
    return run("robustness", **options)


if not TYPE_CHECKING:
    # Signatures have every option with its default.
    run = _with_options(run, "Experiment")
    for _name in ["rq1", "rq2", "rq3", "rq4", "real", "robustness"]:
        globals()[_name] = _with_options(globals()[_name], "Experiment")
        # They take what `run` takes, but for the question.
        globals()[_name].__signature__ = inspect.Signature(list(inspect.signature(run).parameters.values())[1:])
    del _name
