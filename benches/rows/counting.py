"""Counting a Parquet log: ours beside DuckDB and Polars, which group the same columns of the same file."""

import re

import duckdb
import polars as pl

from .common import Row, seconds

CELL = ["query", "doc", "position", "user"]


def with_duckdb(connection, path):
    """Both tables of the counts, in memory."""
    log = f"read_parquet('{path}')"
    cells = f'SELECT query, doc, position, "user", count(*) AS impressions, sum(click) AS clicks FROM {log} GROUP BY ALL'
    sessions = f'SELECT query, "user", count(DISTINCT session) AS sessions FROM {log} GROUP BY ALL'
    return [connection.sql(query).to_arrow_table() for query in (cells, sessions)]


def with_polars(path):
    log = pl.scan_parquet(path)
    cells = log.group_by(CELL).agg(impressions=pl.len(), clicks=pl.col("click").sum())
    sessions = log.group_by("query", "user").agg(sessions=pl.col("session").n_unique())
    return pl.collect_all([cells, sessions], engine="streaming")


def check_cells(setup, connection, path):
    """All three must have counted the same, or their times say nothing."""
    ours = int(re.search(r"(\d+) cells", setup.example("count_log", path))[1])
    cells = [with_duckdb(connection, path)[0], with_polars(path)[0]]
    assert [len(table) for table in cells] == [ours, ours], "different counts"


def rows(setup):
    count = setup.pick(10_000_000, 200_000)
    path = setup.folder / "log.parquet"
    setup.example("count_log", "--make", count, path)
    connection = duckdb.connect(config={"threads": setup.threads})
    work = f"count a Parquet log of {count:,} rows"
    check_cells(setup, connection, path)

    def time_ours():
        return setup.example_seconds("count_log", path)

    return [
        Row(work, "DuckDB", "≥ 1", time_ours, lambda: seconds(lambda: with_duckdb(connection, path))),
        Row(work, "Polars, streaming", "≥ 1", time_ours, lambda: seconds(lambda: with_polars(path))),
    ]
