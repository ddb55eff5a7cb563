"""Counting tables in memory from Python, beside the command line's counting of the same rows in a Parquet file.

What the table's own library takes to hand its columns over as Arrow is measured by itself and not counted: it is the
conversion, and would be the same for whoever reads the table.
"""

import subprocess
import sys
import time

import pandas as pd
import polars as pl
import pyarrow

from .common import Row, seconds


def install(setup):
    """The package of this checkout, in a folder of its own."""
    folder = setup.folder / "site-packages"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "--target", folder, setup.root], check=True)
    sys.path.insert(0, str(folder))


def tables(path, text):
    """The rows of a Parquet file as pandas and Polars have them, numbers or text as ids."""
    frame = pl.read_parquet(path)
    if text:
        named = [pl.format(f"{name}-{{}}", pl.col(name)).alias(name) for name in ["user", "query", "doc"]]
        frame = frame.with_columns(named)
        frame.write_parquet(path)
    return {"pandas": pd.read_parquet(path), "Polars": frame}


def conversion(table):
    """Seconds until all batches are there as Arrow."""
    return seconds(lambda: [batch for batch in pyarrow.RecordBatchReader.from_stream(table)])


def rows(setup):
    install(setup)
    import truerank

    truerank.set_threads(setup.threads)
    count = setup.pick(10_000_000, 200_000)
    result = []
    for ids in ["whole numbers", "text"]:
        path = setup.folder / f"{ids.split()[-1]}.parquet"
        setup.example("count_log", "--make", count, path)
        for library, table in tables(path, ids == "text").items():
            result.append(row(setup, truerank, f"count a {library} log of {count:,} rows, ids {ids}", table, path))
    return result


def row(setup, truerank, work, table, path):
    def ours():
        converted = conversion(table)
        begin = time.perf_counter()
        truerank.Counts.from_log(table).write(setup.folder / "ours")
        return time.perf_counter() - begin - converted

    def theirs():
        return seconds(lambda: setup.truerank("count", path, "-o", setup.folder / "theirs"))

    ours(), theirs()
    names = ["cells.parquet", "sessions.parquet", "meta.json"]
    same = all((setup.folder / "ours" / name).read_bytes() == (setup.folder / "theirs" / name).read_bytes() for name in names)
    assert same, "different counts"
    return Row(work, "command line, from Parquet", "≥ 0.77", ours, theirs)
