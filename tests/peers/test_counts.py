"""The log and its counts: pyarrow reads them, and pandas counts the same."""

import pandas as pd
import pytest
from conftest import SESSIONS, truerank
from tables import read_parquet

COLUMNS = ["session", "user", "query", "doc", "position", "click"]
CELL = ["query", "doc", "position", "user"]


def group(log):
    """Cells and sessions per (query, user) of a log, sorted."""
    cells = log.groupby(CELL, as_index=False).agg(impressions=("click", "size"), clicks=("click", "sum"))
    sessions = log.groupby(["query", "user"], as_index=False).agg(sessions=("session", "nunique"))
    return cells, sessions


def assert_same_counts(log, counts):
    cells, sessions = group(log)
    ours = read_parquet(counts / "cells.parquet"), read_parquet(counts / "sessions.parquet")
    for our_table, peer, keys in [(ours[0], cells, CELL), (ours[1], sessions, ["query", "user"])]:
        assert list(our_table) == list(peer)
        our_table, peer = (table.sort_values(keys, ignore_index=True) for table in (our_table, peer))
        pd.testing.assert_frame_equal(our_table, peer, check_dtype=False, check_column_type=False)


def test_log_reads_in_pyarrow(log):
    table = read_parquet(log)
    assert list(table) == COLUMNS
    assert table["session"].nunique() == SESSIONS
    assert table["position"].min() == 1
    assert set(table["click"].astype(int)) == {0, 1}
    assert not table.duplicated(["session", "position"]).any()


@pytest.mark.parametrize("which", ["log", "moving_log"])
def test_counts_of_whole_number_ids(which, request, tmp_path):
    path = request.getfixturevalue(which)
    truerank("count", path, "-o", tmp_path / "counts")
    assert_same_counts(read_parquet(path), tmp_path / "counts")


@pytest.fixture
def awkward(moving_log):
    """A log whose ids hold what breaks careless CSV readers, and numbers that are different texts."""
    log = read_parquet(moving_log).head(30_000)
    log["click"] = log["click"].astype(int)
    log["session"] = "s-" + log["session"].astype(str)
    log["user"] = log["user"].map(lambda user: ["007", "7", "Zoë", "a,b", '"quoted"', "łódź 東京"][user % 6])
    log["query"] = log["query"].map(lambda query: f'best "pizza", near {query} – café')
    log["doc"] = log["doc"].map(lambda doc: f"https://example.org/?a={doc},b=“{doc}”")
    return log


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "parquet"])
def test_counts_of_text_ids(awkward, ending, tmp_path):
    path = tmp_path / f"awkward.{ending}"
    if ending == "parquet":
        awkward.to_parquet(path)
    else:
        awkward.to_csv(path, index=False, sep="\t" if ending == "tsv" else ",")
    truerank("count", path, "-o", tmp_path / "counts")
    assert_same_counts(awkward, tmp_path / "counts")


def test_other_names_extra_columns_and_any_order(moving_log, tmp_path):
    log = read_parquet(moving_log)
    log["click"] = log["click"].astype(int)
    shuffled = log.sample(frac=1, random_state=1).assign(device="phone, small")
    path = tmp_path / "renamed.csv"
    shuffled.rename(columns={"user": "client_id", "position": "rank"}).to_csv(path, index=False)
    names = ["--column", "user=client_id", "--column", "position=rank"]
    truerank("count", path, *names, "-o", tmp_path / "counts")
    # In CSV every id is text, and stays text.
    assert_same_counts(log.astype({"user": str, "query": str, "doc": str}), tmp_path / "counts")
