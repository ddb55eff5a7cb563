"""The log of the large subjects: a hundred Parquet files, made once and kept where `--data` says."""

import json
import shutil
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FILES = 100
LENGTH = 10
DOCS = 12
FEATURES = 4
GRADES = [0.26, 0.36, 0.28, 0.08, 0.02]
# Twenty clusters of 250 users; queries by Zipf's law; one list in five is shuffled.
USERS = ["--users", 20, "--users-per-cluster", 250, "--user-noise", 0.1, "--zipf", 0.8, "--shuffle", 0.2]


def large(setup):
    """The files in order, of a hundredth of the impressions each."""
    settings = {"impressions": setup.pick(100_000_000, 1_000_000), "queries": setup.pick(120_000, 12_000), "version": 1}
    folder = setup.data / f"log-{settings['impressions']}"
    stamp = folder / "made.json"
    if not stamp.exists() or json.loads(stamp.read_text()) != settings:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        make(setup, folder, settings)
        stamp.write_text(json.dumps(settings))
    return sorted(folder.glob("part-*.parquet"))


def make(setup, folder, settings):
    print(f"making a log of {settings['impressions']:,} impressions …", file=sys.stderr)
    data, whole = folder / "data", folder / "whole.parquet"
    write_data(data, settings["queries"])
    setup.truerank("simulate", data, "--sessions", settings["impressions"] // LENGTH, *USERS, "-o", whole)
    cut(whole, folder)
    whole.unlink()
    shutil.rmtree(data)


def write_data(folder, queries, docs=DOCS):
    """Documents with grades at random and features that show them dimly; all that a simulation needs."""
    folder.mkdir(exist_ok=True)
    random, first = np.random.default_rng(1), 1
    for name, count in [("train", queries), ("vali", 10), ("test", 10)]:
        grades = random.choice(5, size=count * docs, p=GRADES)
        columns = {"query": np.repeat(np.arange(first, first + count), docs)}
        columns |= {"doc": np.arange(first * docs, (first + count) * docs), "grade": grades}
        for number in range(1, FEATURES + 1):
            columns[f"f{number}"] = (grades / 4 + random.normal(size=len(grades))).astype(np.float32)
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")
        first += count


def cut(whole, folder):
    """Into files of whole sessions: the simulation draws users and queries for every session anew, so all are alike."""
    file = pq.ParquetFile(whole)
    rows = file.metadata.num_rows // FILES
    assert rows * FILES == file.metadata.num_rows and rows % LENGTH == 0, "sessions would be torn"
    for number, table in enumerate(tables_of(file, rows)):
        pq.write_table(table, folder / f"part-{number:03}.parquet", compression="zstd", row_group_size=2**17)


def tables_of(file, rows):
    """The file's rows in order, as tables of this many."""
    kept, count = [], 0
    for batch in file.iter_batches(batch_size=rows):
        while len(batch):
            taken = batch.slice(0, rows - count)
            batch, count = batch.slice(len(taken)), count + len(taken)
            kept.append(taken)
            if count == rows:
                yield pa.Table.from_batches(kept)
                kept, count = [], 0
