"""The types of keywords, generated from the declarations of options; do not edit."""

from __future__ import annotations

import datetime
from os import PathLike
from typing import Any, Literal, Mapping, Sequence, TypedDict, Union

_Path = Union[str, "PathLike[str]"]
_Time = Union[str, datetime.date, datetime.datetime, Any]
_Any = Any


class DataOptions(TypedDict, total=False):
    """Reading a data set."""

    max_grade: int | None
    zero_based: bool | None
    feature_count: int | None


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
