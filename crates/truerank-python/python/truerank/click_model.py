"""Fits models of how people browse and click: `pbm`, `ubm`, `cm`, `dcm`, `sdbn`, `dbn`, `ccm`, `trust` and `additive`.

Counts need click transitions (`transitions=True`). A model is for all users, with `per_user` for each, with `clusters` for
kinds of users; of several models, such as `["pbm", "dbn"]`, each user follows one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Union

from . import _truerank
from ._truerank import ClickModel, Counts, Dataset, Splits

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import ClickModelOptions

__all__ = ["ClickModel", "fit"]

_Progress = Union[bool, Callable[[str, int, int], object], None]


def fit(
    counts: Counts,
    data: Union[Dataset, Splits, None] = None,
    *,
    progress: _Progress = False,
    **options: Unpack[ClickModelOptions],
) -> ClickModel:
    """Fits a click model to counts with click transitions; relevance comes from a table, or from the features in `data`.

    >>> simulation = truerank.simulate(truerank.generate("tiny"), sessions=5000, swap=0.5)
    >>> counts = truerank.Counts.from_log(simulation.log(), transitions=True)
    >>> model = truerank.click_model.fit(counts, model="dbn")
    >>> model.kinds[0]["model"]
    'dbn'
    >>> sorted(model.measure(counts))[:3]
    ['conditional_perplexity', 'log_likelihood', 'perplexity']
    >>> truerank.relevance(counts, model, estimator="user-aware").estimator
    'user-aware'
    """
    return _truerank._fit_click_model(counts, data, progress=progress, **options)
