"""What `truerank count` makes of Parquet files, stated for DuckDB and Polars: cells and sessions, written as Parquet.

Imports are inside of functions, so that a process holds only the peer that it runs.
"""

CELL = ["query", "doc", "position", "user"]


def with_duckdb(files, threads, memory, everything):
    """`everything`: cells and sessions, both sorted; else cells alone, as they come.

    Pages are grouped before they are counted, which is faster than `count(DISTINCT session)`. DuckDB's manual
    advises not to keep the order of rows where memory is short.
    """
    import duckdb

    connection = duckdb.connect(config={"threads": threads, "memory_limit": memory, "temp_directory": "spilled"})
    connection.sql("SET preserve_insertion_order = false")
    log = f"read_parquet({files!r})"
    cells = f"""
        SELECT query, doc, position, "user", count(*) AS impressions, sum(click)::BIGINT AS clicks
        FROM {log} GROUP BY ALL"""
    sessions = f"""
        SELECT query, "user", count(*) AS sessions
        FROM (SELECT DISTINCT session, query, "user" FROM {log}) GROUP BY ALL"""
    sorted_cells, sorted_sessions = f'{cells} ORDER BY query, doc, position, "user"', f'{sessions} ORDER BY query, "user"'
    tables = {"cells": sorted_cells, "sessions": sorted_sessions} if everything else {"cells": cells}
    for name, query in tables.items():
        connection.sql(f"COPY ({query}) TO '{name}.parquet' (FORMAT parquet, COMPRESSION zstd)")


def with_polars(files, everything):
    """The same with the streaming engine, which has no limit of memory."""
    import polars as pl

    log = pl.scan_parquet(files)
    cells = log.group_by(CELL).agg(impressions=pl.len().cast(pl.Int64), clicks=pl.col("click").cast(pl.Int64).sum())
    if not everything:
        return cells.sink_parquet("cells.parquet", compression="zstd", engine="streaming")
    sessions = log.group_by("query", "user").agg(sessions=pl.col("session").n_unique())
    for name, table, order in [("cells", cells, CELL), ("sessions", sessions, ["query", "user"])]:
        table.sort(order).sink_parquet(f"{name}.parquet", compression="zstd", engine="streaming")


def fingerprint(path):
    """The number of cells and a sum over them that depends on every value and not on their order."""
    import duckdb

    columns = ", ".join(f'"{name}"::BIGINT' for name in [*CELL, "impressions", "clicks"])
    query = f"SELECT count(*), sum(hash({columns})) FROM read_parquet('{path}')"
    return duckdb.sql(query).fetchall()[0]
