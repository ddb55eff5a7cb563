"""The types of keywords, generated from the declarations of options; do not edit."""

from __future__ import annotations

from os import PathLike
from typing import Any, Literal, Sequence, TypedDict, Union

_Path = Union[str, "PathLike[str]"]
_Any = Any


class GenerationOptions(TypedDict, total=False):
    """Generating data."""

    preset: Literal["tiny", "small", "yahoo", "baidu", "hard"] | None
    seed: int | None
    queries: Sequence[int] | int | None
    features: int | None


class SimulationOptions(TypedDict, total=False):
    """Simulating a log."""

    sessions: int | None
    users: int | None
    etas: Sequence[float] | float | None
    users_per_cluster: int | None
    user_noise: float | None
    zipf: float | None
    shared_queries: bool | None
    click_noise: float | None
    swap: float | None
    shuffle: float | None
    seed: int | None


class ProductionOptions(TypedDict, total=False):
    """Lists of a simulated log."""

    length: int | None
    production_share: float | None


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


class ExperimentOptions(TypedDict, total=False):
    """Experiments."""

    preset: Literal["tiny", "small", "yahoo", "baidu", "hard"] | None
    max_grade: int | None
    zero_based: bool | None
    features: int | None
    sessions: int | None
    sizes: Sequence[int] | int | None
    seeds: int | None
    model: Sequence[str] | str | None
    standardise: bool | None
    steps: int | None
    patience: int | None
    columns: Sequence[str] | str | None


class DemoOptions(TypedDict, total=False):
    """The demo."""

    preset: Literal["tiny", "small", "yahoo", "baidu", "hard"] | None
    sessions: int | None
    model: str | None
    steps: int | None
    seeds: int | None
    seed: int | None
