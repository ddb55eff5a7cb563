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

Each has `fit(counts, data=None, *, progress=False)`, which leaves the result in `propensities_`. `data` is a data set with
the features of the documents, or splits, whose training part is used. Parameters that are None have the library's defaults,
which are those of `truerank propensity`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from os import PathLike
from typing import Any, TypeVar, Union

from . import _truerank
from ._params import Params
from ._truerank import Counts, Dataset, Propensities, PropensityWarning, Splits

__all__ = ["CPBM", "DLA", "InterventionHarvesting", "RegressionEM", "SwapExperiment", "UserPBM"]


_Data = Union[Dataset, Splits, None]
_Path = Union[str, "PathLike[str]"]
_Progress = Union[bool, Callable[[str, int, int], object], None]
_Self = TypeVar("_Self", bound="_Estimator")


class _Estimator(Params):
    """An estimator of propensities; `_estimate` does the work and may keep more than it returns."""

    propensities_: Propensities

    def _estimate(self, counts: Counts, data: _Data, progress: _Progress) -> Propensities:
        raise NotImplementedError

    def fit(self: _Self, counts: Counts, data: _Data = None, *, progress: _Progress = False) -> _Self:
        """Estimates from counts, and the features in `data` where they are of use; returns the estimator."""
        self.propensities_ = self._estimate(counts, data, progress)
        for note in self.propensities_.notes:
            warnings.warn(note, PropensityWarning, stacklevel=2)
        return self


class RegressionEM(_Estimator):
    """Regression-EM (Wang et al. 2018), for all together or, personalized, for each user.

    `relevance` is what gives relevance meanwhile: `"linear"`, `"mlp"`, `"mlp:64,32"`, or `"table"`, which needs no features but
    documents seen at several positions. `prior` is what is believed of a document's relevance before its clicks: `"fitted"` for a
    Gamma distribution that makes the log likeliest, or `"none"` for Regression-EM as published. With `per_user=True` each user's
    propensities are pulled toward `shrink`: `"none"`, `"population"` or `"clusters"`, the latter two only with a fitted prior. There
    are `clusters` of them (a number, or `"auto"` to choose it by held-out clicks, with 0 for all users alike) by `grouping`
    (`"mixture"` or `"k-means"`). `strict=True` makes it an error if not everything can be compared. `resamples` of queries
    give standard errors.

    After `fit`: `propensities_`, and `held_out_`, how well each number of clusters that was tried predicted clicks.

    >>> data = truerank.generate("tiny")
    >>> counts = truerank.simulate(data, sessions=20_000).counts()
    >>> em = truerank.propensity.RegressionEM(per_user=True, resamples=0).fit(counts, data)
    >>> em.propensities_.by_user.shape
    (10, 10)
    >>> float(em.propensities_.population[0])
    1.0
    """

    held_out_: list[dict[str, Any]]

    def __init__(
        self,
        *,
        per_user: bool | None = None,
        relevance: str | None = None,
        prior: str | None = None,
        shrink: str | None = None,
        clusters: int | str | None = None,
        grouping: str | None = None,
        strict: bool | None = None,
        iterations: int | None = None,
        tolerance: float | None = None,
        resamples: int | None = None,
        seed: int | None = None,
    ) -> None:
        self.per_user = per_user
        self.relevance = relevance
        self.prior = prior
        self.shrink = shrink
        self.clusters = clusters
        self.grouping = grouping
        self.strict = strict
        self.iterations = iterations
        self.tolerance = tolerance
        self.resamples = resamples
        self.seed = seed

    def _estimate(self, counts: Counts, data: _Data, progress: _Progress) -> Propensities:
        found, self.held_out_ = _truerank._regression_em(counts, data, progress=progress, **self.get_params())
        return found


class SwapExperiment(_Estimator):
    """θ(k)/θ(1) from documents that were shown at both (Joachims et al. 2017), as where rank 1 was swapped at random.

    >>> counts = truerank.simulate(truerank.generate("tiny"), sessions=50_000, swap=0.5).counts()
    >>> truerank.propensity.SwapExperiment(resamples=0).fit(counts).propensities_.positions
    10
    """

    def __init__(
        self,
        *,
        per_user: bool | None = None,
        resamples: int | None = None,
        seed: int | None = None,
    ) -> None:
        self.per_user = per_user
        self.resamples = resamples
        self.seed = seed

    def _estimate(self, counts: Counts, data: _Data, progress: _Progress) -> Propensities:
        return _truerank._swap_experiment(counts, **self.get_params())


class InterventionHarvesting(_Estimator):
    """θ from all pairs of positions at which the same documents were shown (Agarwal et al. 2019, all-pairs).

    `weighting` is how much each document counts that two positions share: `"overlap"` (the default) by how often both showed it,
    `"documents"` all alike, as published.
    """

    def __init__(
        self,
        *,
        per_user: bool | None = None,
        weighting: str | None = None,
        iterations: int | None = None,
        tolerance: float | None = None,
        resamples: int | None = None,
        seed: int | None = None,
    ) -> None:
        self.per_user = per_user
        self.weighting = weighting
        self.iterations = iterations
        self.tolerance = tolerance
        self.resamples = resamples
        self.seed = seed

    def _estimate(self, counts: Counts, data: _Data, progress: _Progress) -> Propensities:
        return _truerank._intervention_harvesting(counts, **self.get_params())


class CPBM(_Estimator):
    """The contextual position-based model (Fang et al. 2019): examination by who the user is, or by features of users.

    `user_features` is a CSV or TSV file with the id first, or a pair: the ids of users, and a matrix with a row for each.
    `weighting` is as for `InterventionHarvesting`.
    """

    def __init__(
        self,
        *,
        user_features: Any = None,
        weighting: str | None = None,
        iterations: int | None = None,
        tolerance: float | None = None,
        resamples: int | None = None,
        seed: int | None = None,
    ) -> None:
        self.user_features = user_features
        self.weighting = weighting
        self.iterations = iterations
        self.tolerance = tolerance
        self.resamples = resamples
        self.seed = seed

    def _estimate(self, counts: Counts, data: _Data, progress: _Progress) -> Propensities:
        return _truerank._cpbm(counts, progress=progress, **self.get_params())


class UserPBM(_Estimator):
    """The click likelihood of the position-based model climbed directly, as a baseline; for each user unless
    `per_user=False`."""

    def __init__(
        self,
        *,
        per_user: bool | None = None,
        iterations: int | None = None,
        tolerance: float | None = None,
        seed: int | None = None,
    ) -> None:
        self.per_user = per_user
        self.iterations = iterations
        self.tolerance = tolerance
        self.seed = seed

    def _estimate(self, counts: Counts, data: _Data, progress: _Progress) -> Propensities:
        return _truerank._user_pbm(counts, data, progress=progress, **self.get_params())


class DLA(_Estimator):
    """The dual learning algorithm (Ai et al. 2018): propensities and a ranker, each learned with the help of the other.

    `model` is the form of the ranker, `"linear"`, `"mlp"` or like `"mlp:64,32"`; where `ranker` is a path, it is saved there.
    """

    def __init__(
        self,
        *,
        per_user: bool | None = None,
        model: str | None = None,
        iterations: int | None = None,
        seed: int | None = None,
        ranker: _Path | None = None,
    ) -> None:
        self.per_user = per_user
        self.model = model
        self.iterations = iterations
        self.seed = seed
        self.ranker = ranker

    def _estimate(self, counts: Counts, data: _Data, progress: _Progress) -> Propensities:
        return _truerank._dla(counts, data, progress=progress, **self.get_params())
