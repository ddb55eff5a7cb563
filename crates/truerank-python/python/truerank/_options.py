"""The types of keywords, generated from the declarations of options; do not edit."""

from __future__ import annotations

import datetime
from os import PathLike
from typing import Any, Literal, Mapping, Sequence, TypedDict, Union

_Path = Union[str, "PathLike[str]"]
_Time = Union[str, datetime.date, datetime.datetime, Any]
_Any = Any


class GenerationOptions(TypedDict, total=False):
    """Generating data."""

    preset: Literal["tiny", "small", "yahoo", "baidu", "hard"] | None
    seed: int | None
    queries: Sequence[int] | int | None
    features: int | None


class DataOptions(TypedDict, total=False):
    """Reading a data set."""

    max_grade: int | None
    zero_based: bool | None
    feature_count: int | None


class SimulationOptions(TypedDict, total=False):
    """Simulating a log."""

    sessions: int | None
    users: int | None
    etas: Sequence[float] | float | None
    click_model: Sequence[Literal["pbm", "ubm", "cm", "dcm", "sdbn", "dbn", "ccm", "trust", "additive"]] | Literal["pbm", "ubm", "cm", "dcm", "sdbn", "dbn", "ccm", "trust", "additive"] | None
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


class LogOptions(TypedDict, total=False):
    """Reading a log."""

    columns: Mapping[str, str | None] | None
    click_when: str | None
    no_header: bool | None
    header: bool | Sequence[str] | None
    format: Literal["parquet", "csv", "tsv", "jsonl", "yandex"] | None
    on_bad_row: _Path | None
    quarantine: _Path | None
    since: _Time | None
    until: _Time | None
    list_separator: str | None
    clicks: Literal["flags", "docs", "positions"] | None
    event_column: str | None
    query_event: Sequence[str] | str | None
    click_event: Sequence[str] | str | None


class UbiOptions(TypedDict, total=False):
    """Reading dumps of OpenSearch's User Behavior Insights."""

    ubi_click: Sequence[str] | str | None
    ubi_view: Sequence[str] | str | None
    ubi_depth: int | None


class CountOptions(TypedDict, total=False):
    """Counting a log."""

    patterns: bool | None
    transitions: bool | None
    context: str | None


class AddingOptions(TypedDict, total=False):
    """Adding a log to counts."""

    on_repeated_page: Literal["error", "keep"] | None
    mixed: bool | None


class MergeOptions(TypedDict, total=False):
    """Merging counts of several logs."""

    without: Sequence[_Path] | _Path | None
    half_life: float | None
    date: Sequence[str] | str | None
    age: Sequence[float] | float | None
    seed: int | None
    on_repeated_page: Literal["error", "keep"] | None
    mixed: bool | None


class MemoryOptions(TypedDict, total=False):
    """Memory, and the disk for what does not fit."""

    memory: str | float | None
    temporary: _Path | None


class SqlOptions(TypedDict, total=False):
    """Counting a log in a warehouse."""

    dialect: Literal["spark", "duckdb", "bigquery"] | None
    columns: Mapping[str, str | None] | None
    click_when: str | None
    log: str | None


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
    scaling: Literal["standard", "rank", "none", "paper"] | None
    iterations: int | None
    seed: int | None


class ClickModelOptions(TypedDict, total=False):
    """Fitting a click model."""

    model: Sequence[Literal["pbm", "ubm", "cm", "dcm", "sdbn", "dbn", "ccm", "trust", "additive"]] | Literal["pbm", "ubm", "cm", "dcm", "sdbn", "dbn", "ccm", "trust", "additive"] | None
    per_user: bool | None
    ignore_context: bool | None
    clusters: int | None
    prior: Literal["fitted", "laplace", "none"] | None
    relevance: str | None
    iterations: int | None
    tolerance: float | None
    seed: int | None


class RelevanceOptions(TypedDict, total=False):
    """Turning clicks into relevance."""

    estimator: Literal["naive", "ips-pbm", "straightforward", "user-aware", "user-aware-smoothed", "all"] | None
    beta: str | float | None
    prior: Literal["none", "mean", "position", "model"] | None
    clip: float | None
    shrink: str | float | None
    prior_model: str | None
    seed: int | None


class TrainingOptions(TypedDict, total=False):
    """Training a ranker."""

    model: str | None
    scaling: Literal["standard", "rank", "none", "paper"] | None
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
    loss: Literal["lambdarank", "softmax", "squared"] | None
    leaves: int | None
    min_leaf: int | None
    bins: int | None
    feature_share: float | None
    query_share: float | None
    monotone: str | None
    seed: int | None


class ExportOptions(TypedDict, total=False):
    """Writing for other programs."""

    labels: str | None
    steps: int | None
    click_noise: float | None
    features: int | None
    name: str | None


class MeasureOptions(TypedDict, total=False):
    """Judging a ranker by grades."""

    measures: Sequence[str] | str | None
    empty: Literal["zero", "one", "skip"] | None


class ClicksOptions(TypedDict, total=False):
    """Judging a ranker by clicks."""

    estimator: Literal["naive", "ips-pbm", "straightforward", "user-aware", "user-aware-smoothed"] | None
    clip: float | None
    self_normalised: bool | None
    resamples: int | None
    seed: int | None


class ResamplingOptions(TypedDict, total=False):
    """Predicting clicks."""

    resamples: int | None
    seed: int | None


class InterleavingOptions(TypedDict, total=False):
    """Judging interleaved rankers."""

    team: str | None
    teams: Sequence[str] | str | None
    resamples: int | None
    seed: int | None


class ExplainOptions(TypedDict, total=False):
    """Explaining a ranker."""

    top: int | None
    seed: int | None


class DoctorOptions(TypedDict, total=False):
    """Examining a log."""

    permutations: int | None
    level: float | None
    seed: int | None


class DriftOptions(TypedDict, total=False):
    """Comparing two logs."""

    permutations: int | None
    level: float | None
    least: float | None
    seed: int | None


class FitOptions(TypedDict, total=False):
    """From a log to a ranker."""

    split: Literal["query", "time", "page"] | None
    held_out: float | None
    relevance: str | None
    click_model: Literal["auto", "none", "pbm", "ubm", "cm", "dcm", "sdbn", "dbn", "ccm", "trust", "additive"] | None
    model: str | None
    steps: int | None
    scaling: Literal["standard", "rank", "none", "paper"] | None
    seed: int | None
    estimator: Literal["naive", "ips-pbm", "straightforward", "user-aware", "user-aware-smoothed", "all"] | None
    beta: str | float | None
    prior: Literal["none", "mean", "position", "model"] | None
    clip: float | None
    shrink: str | float | None


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
    scaling: Literal["standard", "rank", "none", "paper"] | None
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
