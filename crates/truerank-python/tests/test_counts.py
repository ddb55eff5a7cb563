"""Counts: the same from every form of a log, and the bytes of the command line."""

import builtins
import datetime
import json
import pickle
import sys

import numpy as np
import pandas
import polars
import pyarrow
import pytest

import truerank


@pytest.fixture(scope="module")
def log(splits):
    return truerank.simulate(splits, sessions=2000, seed=5).log()


@pytest.fixture(scope="module")
def columns(log):
    return {name: log[name] for name in log.columns}


@pytest.fixture(scope="module")
def texts(columns):
    """The same with ids as text, unusual ones among them."""
    name = np.frompyfunc(lambda value: f"id {value}, é\"\n", 1, 1)
    return {field: name(values) if field in ["session", "user", "query", "doc"] else values
            for field, values in columns.items()}


@pytest.fixture(scope="module")
def counts(log):
    return truerank.Counts.from_log(log)


def without_pyarrow(monkeypatch):
    real = builtins.__import__
    for name in [name for name in sys.modules if name.split(".")[0] == "pyarrow"]:
        monkeypatch.delitem(sys.modules, name)

    def refuse(name, *rest, **more):
        if name.split(".")[0] == "pyarrow":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)


FORMS = {
    "arrays": dict,
    "lists": lambda columns: {name: values.tolist() for name, values in columns.items()},
    "objects": lambda columns: {name: values.astype(object) for name, values in columns.items()},
    "objects of NumPy": lambda columns: {name: np.array([*values, None], dtype=object)[:-1] for name, values in columns.items()},
    "pandas": pandas.DataFrame,
    "pandas categories": lambda columns: pandas.DataFrame(columns).astype({"user": "category", "doc": "category"}),
    "pandas with an index": lambda columns: pandas.DataFrame(columns).set_index(columns["user"], drop=False).rename_axis("click"),
    "pandas with other columns": lambda columns: pandas.DataFrame(columns).assign(junk=[object()] * len(columns["doc"])),
    "polars": lambda columns: polars.DataFrame(FORMS["lists"](columns)),
    "pyarrow": lambda columns: pyarrow.table(FORMS["lists"](columns)),
    "pyarrow batches": lambda columns: pyarrow.Table.from_batches(FORMS["pyarrow"](columns).to_batches(max_chunksize=777)),
    "pyarrow slice": lambda columns: pyarrow.concat_tables([FORMS["pyarrow"](columns)] * 2).slice(len(columns["doc"])),
    "clicks as booleans": lambda columns: {**columns, "click": columns["click"].astype(bool)},
    "small integers": lambda columns: {**columns, "position": columns["position"].astype(np.uint8)},
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_log_is_counted_alike(form, columns, texts, counts):
    assert truerank.Counts.from_log(FORMS[form](columns)) == counts
    assert truerank.Counts.from_log(FORMS[form](texts)) == truerank.Counts.from_log(texts)


def test_pandas_needs_no_pyarrow(monkeypatch, columns, texts, counts):
    expected = truerank.Counts.from_log(texts)
    without_pyarrow(monkeypatch)
    assert truerank.Counts.from_log(pandas.DataFrame(columns)) == counts
    assert truerank.Counts.from_log(pandas.DataFrame(texts).astype({"query": "category"})) == expected


def test_text_and_numbers_as_ids_meet_by_their_text(columns, counts):
    as_text = truerank.Counts.from_log({**columns, "user": columns["user"].astype(str)})
    assert sorted(as_text.users) == sorted(map(str, counts.users))
    mixed = truerank.Counts.from_log({**columns, "user": [value if value % 2 else str(value) for value in columns["user"].tolist()]})
    assert mixed == as_text


def test_result_pages_as_rows():
    pages = {"session": [1, 2, 3], "user": ["a", "b", "b"], "query": ["x", "x", "y"],
             "docs": [["d1", "d2"], ["d2", "d1"], ["d3"]], "clicks": [[0, 1], [0, 0], [1]]}
    rows = {"session": [1, 1, 2, 2, 3], "user": list("aabbb"), "query": list("xxxxy"), "doc": ["d1", "d2", "d2", "d1", "d3"],
            "position": [1, 2, 1, 2, 1], "click": [0, 1, 0, 0, 1]}
    expected = truerank.Counts.from_log(rows)
    for log in [pages, pandas.DataFrame(pages), polars.DataFrame(pages), pyarrow.table(pages)]:
        assert truerank.Counts.from_log(log) == expected
    even = {**pages, "docs": [["d1", "d2"], ["d2", "d1"], ["d3", "d4"]], "clicks": np.array([[0, 1], [0, 0], [1, 0]])}
    assert truerank.Counts.from_log(even).impression_count == 6


def test_counts_are_those_of_the_command_line(columns, texts, command, tmp_path):
    for number, log in enumerate([columns, texts]):
        file, ours, theirs = (tmp_path / f"{name}{number}" for name in ["log.parquet", "ours", "theirs"])
        file = file.with_suffix(".parquet")
        pandas.DataFrame(log).to_parquet(file)
        printed = command("count", file, "--patterns", "--json", "-o", theirs)
        counts = truerank.Counts.from_log(pandas.DataFrame(log), patterns=True)
        counts.write(ours)
        names = sorted(path.name for path in theirs.iterdir())
        assert names == sorted(path.name for path in ours.iterdir())
        for name in names:
            assert (ours / name).read_bytes() == (theirs / name).read_bytes(), name
        assert counts.summary == json.loads(printed)
        assert truerank.Counts.read(theirs) == counts


def test_transitions_are_those_of_a_loop(columns, command, tmp_path):
    log = pandas.DataFrame(columns).drop_duplicates(["session", "query", "position"])
    counts = truerank.Counts.from_log(log, transitions=True)
    lists = {}
    for query, number, doc, position in zip(*(counts.lists[name] for name in counts.lists.columns)):
        lists.setdefault((query, number), []).append((position, doc))
    found = {}
    for query, number, user, *step, sessions in zip(*(counts.transitions[name] for name in counts.transitions.columns)):
        found[query, tuple(lists[query, number]), user, *step] = sessions
    expected = {}
    for (_, query), page in log.sort_values("position").groupby(["session", "query"]):
        clicked = [0, *page.position[page.click.astype(bool)], 0]
        for step in zip(clicked, clicked[1:]):
            key = (query, tuple(zip(page.position, page.doc)), page.user.iloc[0], *step)
            expected[key] = expected.get(key, 0) + 1
    assert found == expected
    log.to_parquet(tmp_path / "log.parquet")
    command("count", tmp_path / "log.parquet", "--transitions", "-o", tmp_path / "theirs")
    assert truerank.Counts.read(tmp_path / "theirs") == counts
    assert truerank.Counts.from_log(log).transitions is None and truerank.Counts.from_log(log).lists is None


def test_little_memory_changes_nothing(log, counts, tmp_path):
    assert truerank.Counts.from_log(log, memory="1MiB", temporary=tmp_path) == counts
    assert not list(tmp_path.iterdir())


def test_paths_are_files_lists_and_patterns(columns, counts, tmp_path):
    frame = pandas.DataFrame(columns)
    half = len(frame) // 2
    frame[:half].to_parquet(tmp_path / "a.parquet")
    frame[half:].to_parquet(tmp_path / "b.parquet")
    for log in [tmp_path, str(tmp_path / "*.parquet"), [tmp_path / "a.parquet", str(tmp_path / "b.parquet")]]:
        assert truerank.Counts.from_log(log) == counts


def test_columns_are_found_under_other_names(columns, counts):
    frame = pandas.DataFrame(columns).rename(columns={"user": "who", "position": "rank"})
    named = truerank.Counts.from_log(frame, columns={"user": "who"})
    assert named == counts and named.remarks == ["position is read from rank"]
    anonymous = truerank.Counts.from_log(frame, columns={"user": None})
    assert anonymous.users.tolist() == ["anonymous"]


def test_times_choose_pages(columns):
    start = np.datetime64("2024-03-01", "ms")
    times = start + columns["session"].astype("timedelta64[h]")
    kept = (times >= np.datetime64("2024-03-10")) & (times < np.datetime64("2024-04-01"))
    expected = truerank.Counts.from_log({name: values[kept] for name, values in columns.items()})
    logs = [{**columns, "time": times}, {**columns, "time": times.astype(object)}, {**columns, "time": times.astype(str)},
            pandas.DataFrame({**columns, "time": times}), polars.DataFrame({**columns, "time": times})]
    since = ["2024-03-10", datetime.date(2024, 3, 10), datetime.datetime(2024, 3, 10), pandas.Timestamp("2024-03-10"),
             np.datetime64("2024-03-10")]
    for log, time in zip(logs, since):
        assert truerank.Counts.from_log(log, since=time, until="2024-04-01") == expected


def test_bad_rows_are_errors_or_left_out_aloud(columns, tmp_path):
    position = columns["position"].copy()
    position[6] = 0
    bad = {**columns, "position": position}
    finding = "log: row 7: position is 0, but positions start at 1"
    for log in [bad, pandas.DataFrame(bad), polars.DataFrame(bad)]:
        with pytest.raises(ValueError, match=f"^{finding}$"):
            truerank.Counts.from_log(log)
    with pytest.warns(truerank.LogWarning, match=f"1 row left out: 1 bad position; the first: {finding}"):
        counts = truerank.Counts.from_log(bad, on_bad_row="skip")
    assert counts.impression_count == len(position) - 1
    assert (counts.summary["rows_left_out"], counts.summary["rows_left_out_by_kind"]) == (1, {"bad position": 1})
    with pytest.warns(truerank.LogWarning):
        truerank.Counts.from_log(bad, on_bad_row=tmp_path / "bad.txt")
    assert (tmp_path / "bad.txt").read_text().startswith("log: row 7\t")


def test_what_is_missing_is_a_bad_row(columns):
    doc = columns["doc"].astype(object)
    doc[3] = None
    for log in [{**columns, "doc": doc}, pandas.DataFrame({**columns, "doc": doc}).astype({"doc": "Int64"}),
                pyarrow.table({**FORMS["lists"](columns), "doc": doc.tolist()})]:
        with pytest.raises(ValueError, match="log: row 4: doc is"):
            truerank.Counts.from_log(log)


@pytest.mark.parametrize("change, kind, message", [
    ({"doc": None}, TypeError, "doc is one value"),
    ({"doc": [1, 2]}, ValueError, "log: doc has 2 values, but session has"),
    ({"doc": np.zeros(3, dtype=complex)}, TypeError, "doc has type complex128"),
    ({"doc": [{}]}, TypeError, "log: row 1: doc has type dict, but should be text"),
    ({"doc": ["a", 0.5]}, ValueError, "has 2 values"),
    ({"doc": np.array(["a", 0.5], dtype=object)}, TypeError, "log: row 2: doc has type float, but the rows before have another"),
    ({"user": [None, None]}, ValueError, "has 2 values"),
])
def test_columns_that_cannot_be_read_are_refused(columns, change, kind, message):
    with pytest.raises(kind, match=message):
        truerank.Counts.from_log({**columns, **change})


@pytest.mark.parametrize("log, kind, message", [
    (3, TypeError, "log is a int, but should be a path, a table"),
    ([], ValueError, "log is an empty list"),
    ([1], TypeError, "a list of logs should hold paths"),
    ("nowhere.csv", FileNotFoundError, "nowhere.csv: no such file"),
    ({"session": [1]}, ValueError, "log: lacks 4 columns: 'query', 'doc', 'click', 'position'; it has session"),
    (polars.LazyFrame({"session": [1]}), TypeError, "collect\\(\\) it first"),
    (pandas.DataFrame({"session": [1]}), ValueError, "log: lacks 4 columns"),
])
def test_what_is_no_log_is_refused(log, kind, message):
    with pytest.raises(kind, match=message):
        truerank.Counts.from_log(log)


@pytest.mark.parametrize("options, kind, message", [
    ({"columns": {"who": "x"}}, ValueError, "a log has no field 'who'"),
    ({"columns": {"user": 3}}, TypeError, "columns"),
    ({"format": "xls"}, ValueError, "'xls' is not a form of logs"),
    ({"since": "yesterday"}, ValueError, "'yesterday' is not a time"),
    ({"memory": "1"}, ValueError, "at least 1MiB"),
    ({"clicks": "x"}, ValueError, "flags, docs, positions"),
    ({"temporary": "nowhere"}, ValueError, "nowhere: no such folder for temporary files"),
])
def test_options_that_cannot_be_are_refused(columns, options, kind, message):
    with pytest.raises(kind, match=message):
        truerank.Counts.from_log(columns, **options)


def test_cells_add_up(counts, columns):
    cells = counts.cells
    assert cells["impressions"].sum() == counts.impression_count == len(columns["doc"])
    assert cells["clicks"].sum() == counts.click_count == columns["click"].sum()
    assert counts.sessions["sessions"].sum() == counts.session_count == 2000
    assert (len(cells), cells["position"].max()) == (len(counts), counts.max_position)
    frame = counts.to_pandas()
    by_hand = pandas.DataFrame(columns).groupby(["query", "doc", "position", "user"])["click"].agg(["size", "sum"]).reset_index()
    np.testing.assert_array_equal(frame.to_numpy(), by_hand.to_numpy())


def test_queries_are_divided(counts):
    learned, held_out = counts.split_queries(0.3, seed=2)
    assert sorted([*learned.queries, *held_out.queries]) == sorted(counts.queries)
    assert learned.session_count + held_out.session_count == counts.session_count
    with pytest.raises(ValueError, match="from 0 to 1, but is 2"):
        counts.split_queries(2.0)


def test_counts_are_pickled_and_shown(log, texts):
    for counts in [truerank.Counts.from_log(log, patterns=True), truerank.Counts.from_log(texts)]:
        assert pickle.loads(pickle.dumps(counts)) == counts
    assert repr(counts).startswith("<Counts: 2,000 sessions, ")
    assert "<td" in counts._repr_html_()
    nasty = {"session": [1, 1], "query": ["q", "q"], "doc": ["a", "b"], "rank": [1, 2], "click": [0, 1]}
    assert "position is read from rank" in truerank.Counts.from_log(nasty)._repr_html_()


def test_tables_go_to_other_libraries(counts, texts):
    for made in [counts, truerank.Counts.from_log(texts)]:
        expected = made.to_pandas()
        assert polars.DataFrame(made.cells).to_pandas().astype(expected.dtypes.to_dict()).equals(expected)
        assert pyarrow.table(made.cells).num_rows == len(made)


def test_a_measurement_makes_clicks(columns, counts):
    """Seconds instead of 0 and 1, and nothing where a document was not opened."""
    dwell = np.where(columns["click"] == 1, 12.5, np.nan)
    log = {**{name: values for name, values in columns.items() if name != "click"}, "dwell": dwell}
    for condition in ["dwell", "dwell present", "dwell>0", "dwell>=12.5", "dwell=12.5", "dwell!=3"]:
        assert truerank.Counts.from_log(log, click_when=condition) == counts
        assert truerank.Counts.from_log(pandas.DataFrame(log), click_when=condition) == counts
    assert truerank.Counts.from_log(log, click_when="dwell>20").click_count == 0
    with pytest.raises(ValueError, match="=> is none of"):
        truerank.Counts.from_log(log, click_when="dwell=>3")
    with pytest.raises(ValueError, match="has no column 'dwel'"):
        truerank.Counts.from_log(log, click_when="dwel>3")


def test_logs_may_lack_queries_sessions_and_headers(tmp_path):
    log = {"item": ["a", "b", "a"], "position": [1, 2, 2], "click": [0, 1, 0], "land": ["x", "x", "y"], "day": [1, 1, 2]}
    counts = truerank.Counts.from_log(log, columns={"session": None, "query": None})
    assert (counts.session_count, len(counts.queries)) == (3, 1)
    assert truerank.Counts.from_log(log, columns={"session": None, "query": "land+day"}).queries.tolist() == ["x+1", "y+2"]
    path = tmp_path / "log.csv"
    path.write_text("1,u,q,a,1,0\n1,u,q,b,2,1\n")
    names = ["session", "user", "query", "doc", "position", "click"]
    named = truerank.Counts.from_log(path, header=names)
    numbered = truerank.Counts.from_log(path, header=False, columns={name: str(at) for at, name in enumerate(names, 1)})
    assert named == numbered and named.click_count == 1
    with pytest.raises(TypeError, match="header should be"):
        truerank.Counts.from_log(path, header="session")


def test_events_are_joined(tmp_path):
    events = {
        "type": ["search", "scroll", "open", "search"],
        "session": ["s", "s", "s", "t"],
        "query": ["q", None, None, "q"],
        "docs": [["a", "b"], None, None, ["b", "a"]],
        "doc": [None, None, "b", None],
    }
    for log in (events, pandas.DataFrame(events)):
        counts = truerank.Counts.from_log(log, events={"column": "type", "click": "open"})
        assert (counts.session_count, counts.impression_count, counts.click_count) == (2, 4, 1)
    path = tmp_path / "train.txt"
    path.write_text("1\t0\tQ\t7\t2\ta\tb\n1\t3\tC\tb\n")
    assert truerank.Counts.from_log(path, format="yandex").click_count == 1
    with pytest.raises(TypeError, match="events should be the name of a column"):
        truerank.Counts.from_log(path, events=3)
