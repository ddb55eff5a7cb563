"""The types of keywords, generated from the declarations of options; do not edit."""

from __future__ import annotations

from os import PathLike
from typing import Any, Literal, Sequence, TypedDict, Union

_Path = Union[str, "PathLike[str]"]
_Any = Any


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
