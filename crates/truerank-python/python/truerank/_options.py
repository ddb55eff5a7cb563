"""The types of keywords, generated from the declarations of options; do not edit."""

from __future__ import annotations

from os import PathLike
from typing import Any, Literal, Sequence, TypedDict, Union

_Path = Union[str, "PathLike[str]"]
_Any = Any


class RegressionEmOptions(TypedDict, total=False):
    """Estimating examination by Regression-EM: `em`."""

    per_user: bool | None
    relevance: str | None
    prior: Literal["fitted", "none"] | None
    shrink: Literal["none", "population", "clusters"] | None
    clusters: str | float | None
    grouping: Literal["mixture", "k-means"] | None
    strict: bool | None
    iterations: int | None
    tolerance: float | None
    resamples: int | None
    seed: int | None


class SwapExperimentOptions(TypedDict, total=False):
    """Estimating examination by the swap experiment: `swap`."""

    per_user: bool | None
    resamples: int | None
    seed: int | None


class InterventionHarvestingOptions(TypedDict, total=False):
    """Estimating examination by intervention harvesting: `harvesting`."""

    per_user: bool | None
    weighting: Literal["documents", "overlap"] | None
    iterations: int | None
    tolerance: float | None
    resamples: int | None
    seed: int | None


class CpbmOptions(TypedDict, total=False):
    """Estimating examination by the contextual position-based model: `cpbm`."""

    weighting: Literal["documents", "overlap"] | None
    iterations: int | None
    tolerance: float | None
    resamples: int | None
    seed: int | None


class UserPbmOptions(TypedDict, total=False):
    """Estimating examination by the click likelihood: `user-pbm`."""

    per_user: bool | None
    iterations: int | None
    tolerance: float | None
    seed: int | None


class DlaOptions(TypedDict, total=False):
    """Estimating examination by dual learning: `dla`."""

    per_user: bool | None
    model: str | None
    iterations: int | None
    seed: int | None


class TrainingOptions(TypedDict, total=False):
    """Training a ranker."""

    model: str | None
    standardise: bool | None
    optimizer: str | None
    steps: int | None
    batch: int | None
    learning_rate: float | None
    clip: float | None
    l2: float | None
    patience: int | None
    check_every: int | None
    tolerance: float | None
    share: float | None
    cost: float | None
    seed: int | None


class ExportOptions(TypedDict, total=False):
    """Writing for other programs."""

    labels: str | None
    steps: int | None
    click_noise: float | None
    name: str | None
