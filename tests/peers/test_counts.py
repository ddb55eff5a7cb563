"""The log and its counts: pyarrow reads them, and pandas counts the same."""

import json

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


def test_transitions_are_those_of_pandas(moving_log, tmp_path):
    truerank("count", moving_log, "--transitions", "-o", tmp_path / "counts")
    log = read_parquet(moving_log).sort_values(["query", "session", "position"])
    page = ["query", "session"]
    lists = log.groupby(page).agg(user=("user", "first"), docs=("doc", tuple), positions=("position", tuple)).reset_index()
    clicks = log[log["click"].astype(bool)]
    steps = pd.DataFrame({
        **{name: clicks[name] for name in page},
        "from_position": clicks.groupby(page)["position"].shift(fill_value=0),
        "to_position": clicks["position"],
    })
    last = clicks.groupby(page)["position"].max().rename("from_position").reset_index()
    ends = lists[page].merge(last, how="left", on=page).fillna({"from_position": 0}).assign(to_position=0)
    steps = pd.concat([steps, ends]).merge(lists, on=page)
    key = ["query", "docs", "positions", "user", "from_position", "to_position"]
    expected = steps.groupby(key, as_index=False).size().rename(columns={"size": "sessions"})
    ours = read_parquet(tmp_path / "counts/lists.parquet").merge(read_parquet(tmp_path / "counts/transitions.parquet"), on=["query", "list"])
    for name in ["docs", "positions"]:
        ours[name] = ours[name].map(tuple)
    ours, expected = (table[[*key, "sessions"]].sort_values(key, ignore_index=True) for table in (ours, expected))
    assert len(ours) > 1000
    pd.testing.assert_frame_equal(ours, expected, check_dtype=False, check_column_type=False)


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


@pytest.mark.parametrize("ending", ["jsonl", "ndjson.gz", "json"])
def test_counts_of_json(awkward, ending, tmp_path):
    path = tmp_path / f"awkward.{ending}"
    awkward.to_json(path, orient="records", lines=ending != "json", force_ascii=False)
    truerank("count", path, "-o", tmp_path / "counts")
    assert_same_counts(awkward, tmp_path / "counts")


@pytest.fixture
def pages(awkward):
    """One row per result page, its documents and clicks as lists."""
    ordered = awkward.sort_values(["session", "position"])
    keys = ["session", "user", "query"]
    return ordered.groupby(keys, as_index=False).agg(docs=("doc", list), positions=("position", list), clicks=("click", list))


@pytest.mark.parametrize("ending", ["parquet", "jsonl.gz", "csv", "tsv.gz"])
@pytest.mark.parametrize("clicks", ["flags", "docs", "positions"])
def test_counts_of_result_pages(awkward, pages, ending, clicks, tmp_path):
    if clicks != "flags":
        rows = zip(pages["docs" if clicks == "docs" else "positions"], pages["clicks"])
        pages["clicks"] = [[value for value, click in zip(values, flags) if click] for values, flags in rows]
    path = tmp_path / f"pages.{ending}"
    if ending == "parquet":
        pages.to_parquet(path)
    elif "json" in ending:
        pages.to_json(path, orient="records", lines=True, force_ascii=False)
    else:
        lists = ["docs", "positions", "clicks"]
        pages[lists] = pages[lists].map(lambda values: json.dumps(values, ensure_ascii=False))
        pages.to_csv(path, index=False, sep="\t" if "tsv" in ending else ",")
    truerank("count", path, "-o", tmp_path / "counts")
    assert_same_counts(awkward, tmp_path / "counts")


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_of_parquet_choose_pages(moving_log, unit, tmp_path):
    log = read_parquet(moving_log)
    log["click"] = log["click"].astype(int)
    start = pd.Timestamp("2024-03-01T00:00:00Z")
    log["time"] = (start + pd.to_timedelta(log["session"].astype("int64"), unit="min")).dt.as_unit(unit)
    path = tmp_path / "timed.parquet"
    log.to_parquet(path)
    middle = log["time"].median().floor("min")
    truerank("count", path, "--until", middle.isoformat(), "-o", tmp_path / "counts")
    assert_same_counts(log[log["time"] < middle], tmp_path / "counts")


def test_mixed_ids_meet_by_their_text(awkward, tmp_path):
    log = awkward.assign(user=awkward["session"].str.len(), doc=awkward["position"])
    halves = log[: len(log) // 2], log[len(log) // 2 :]
    halves[0].to_parquet(tmp_path / "a.parquet")
    halves[1].astype({"user": str, "doc": str}).to_json(tmp_path / "b.jsonl", orient="records", lines=True)
    truerank("count", tmp_path / "a.parquet", tmp_path / "b.jsonl", "-o", tmp_path / "counts")
    assert_same_counts(log.astype({"user": str, "doc": str}), tmp_path / "counts")
