"""Estimates from clicks who examines which position.

=========================  =================================================  ====================
estimator                  needs                                              gives
=========================  =================================================  ====================
`RegressionEM`             features, or documents seen at several positions   θ(k), θ(u,k)
`SwapExperiment`           sessions in which rank 1 changed places            θ(k), θ(u,k)
`InterventionHarvesting`   several rankers, swaps or shuffles                 θ(k), θ(u,k)
`CPBM`                     the same, and users with ids or features           θ(u,k)
`UserPBM`                  features                                           θ(k), θ(u,k)
`DLA`                      features                                           θ(k), θ(u,k)
=========================  =================================================  ====================

Each has `fit(counts, data=None, *, engine=None, progress=False)`, which leaves the result in `propensities_`. `estimate` does the same
by the name of a method. With `engine`, the address of a Spark Connect server (`"sc://host:15002"`) or a session that
`SparkSession.builder.remote` made, a cluster sums up the cells for `RegressionEM`: `counts` is then a folder that it sees, too. `data` is a data set with the features of the documents, or splits, whose training part is used.
Parameters, with their defaults, are the options of `truerank propensity` that the method takes; an unknown one is refused.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar, Union

from . import _truerank
from ._params import Params, takes
from ._truerank import Counts, Dataset, Propensities, PropensityWarning, Splits

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import (
        CpbmOptions,
        DlaOptions,
        InterventionHarvestingOptions,
        RegressionEmOptions,
        SwapExperimentOptions,
        UserPbmOptions,
    )

__all__ = ["CPBM", "DLA", "InterventionHarvesting", "RegressionEM", "SwapExperiment", "UserPBM", "estimate"]


_Data = Union[Dataset, Splits, None]
_Path = Union[str, "PathLike[str]"]
_Counts = Union[Counts, _Path]
_Progress = Union[bool, Callable[[str, int, int], object], None]
_Self = TypeVar("_Self", bound="_Estimator")


class _Estimator(Params):
    """An estimator of propensities by a method of the library."""

    _method: str

    propensities_: Propensities
    held_out_: list[dict[str, Any]]

    def fit(
        self: _Self, counts: _Counts, data: _Data = None, *, engine: Any = None, progress: _Progress = False
    ) -> _Self:
        """Estimates from counts, and the features in `data` where they are of use; returns the estimator."""
        params = self.get_params()
        self.propensities_, self.held_out_ = _estimate(counts, data, self._method, engine, progress, params)
        return self


def estimate(
    counts: _Counts, data: _Data = None, *, method: str, engine: Any = None, progress: _Progress = False, **options: Any
) -> Propensities:
    """Estimates by the method of this name, as on the command line, with its options as keywords.

    >>> counts = truerank.simulate(truerank.generate("tiny"), sessions=50_000, swap=0.5).counts()
    >>> truerank.propensity.estimate(counts, method="swap", resamples=0).positions
    10
    """
    return _estimate(counts, data, method, engine, progress, options)[0]


def _estimate(
    counts: _Counts, data: _Data, method: str, engine: Any, progress: _Progress, options: dict[str, Any]
) -> tuple[Propensities, list[dict[str, Any]]]:
    files = {"user_features": None, "ranker": None, **options}
    found = _truerank._estimate_examination(counts, data, method=method, engine=engine, progress=progress, **files)
    for note in found[0].notes:
        # Whoever called `fit` or `estimate` reads it.
        warnings.warn(note, PropensityWarning, stacklevel=3)
    return found


@takes("RegressionEm")
class RegressionEM(_Estimator):
    """Regression-EM (Wang et al. 2018), for all together or, personalized, for each user.

    `relevance="table"` needs no features but documents seen at several positions. With `per_user=True` each user's propensities
    are pulled toward the population or clusters of users, unless `shrink="none"`; that needs a fitted prior.

    After `fit`: `propensities_`, and `held_out_`, how well each number of clusters that was tried predicted clicks.

    Parameters
    ----------
    {options}

    >>> data = truerank.generate("tiny")
    >>> counts = truerank.simulate(data, sessions=20_000).counts()
    >>> em = truerank.propensity.RegressionEM(per_user=True, resamples=0).fit(counts, data)
    >>> em.propensities_.by_user.shape
    (10, 10)
    >>> float(em.propensities_.population[0])
    1.0
    """

    _method = "em"

    if TYPE_CHECKING:

        def __init__(self, **options: Unpack[RegressionEmOptions]) -> None: ...


@takes("SwapExperiment")
class SwapExperiment(_Estimator):
    """θ(k)/θ(1) from documents that were shown at both (Joachims et al. 2017), as where rank 1 was swapped at random.

    Parameters
    ----------
    {options}

    >>> counts = truerank.simulate(truerank.generate("tiny"), sessions=50_000, swap=0.5).counts()
    >>> truerank.propensity.SwapExperiment(resamples=0).fit(counts).propensities_.positions
    10
    """

    _method = "swap"

    if TYPE_CHECKING:

        def __init__(self, **options: Unpack[SwapExperimentOptions]) -> None: ...


@takes("InterventionHarvesting")
class InterventionHarvesting(_Estimator):
    """θ from all pairs of positions at which the same documents were shown (Agarwal et al. 2019, all-pairs).

    Parameters
    ----------
    {options}
    """

    _method = "harvesting"

    if TYPE_CHECKING:

        def __init__(self, **options: Unpack[InterventionHarvestingOptions]) -> None: ...


@takes("Cpbm", user_features=None)
class CPBM(_Estimator):
    """The contextual position-based model (Fang et al. 2019): examination by who the user is, or by features of users.

    Parameters
    ----------
    {options}
    user_features : A CSV or TSV file with the id first, or a pair: the ids of users, and a matrix with a row for each
    """

    _method = "cpbm"

    if TYPE_CHECKING:

        def __init__(self, *, user_features: Any = None, **options: Unpack[CpbmOptions]) -> None: ...


@takes("UserPbm")
class UserPBM(_Estimator):
    """The click likelihood of the position-based model climbed directly, as a baseline.

    Parameters
    ----------
    {options}
    """

    _method = "user-pbm"

    if TYPE_CHECKING:

        def __init__(self, **options: Unpack[UserPbmOptions]) -> None: ...


@takes("Dla", ranker=None)
class DLA(_Estimator):
    """The dual learning algorithm (Ai et al. 2018): propensities and a ranker, each learned with the help of the other.

    Parameters
    ----------
    {options}
    ranker : Where to save the ranker
    """

    _method = "dla"

    if TYPE_CHECKING:

        def __init__(self, *, ranker: _Path | None = None, **options: Unpack[DlaOptions]) -> None: ...
