"""`truerank sql`: DuckDB runs it and counts what `truerank count` counts; a parser reads BigQuery's and Spark's."""

import duckdb
import pandas as pd
import pytest
import sqlglot
from conftest import truerank
from tables import read_parquet

NAMES = {"user": 'cli"ent', "query": "que ry; DROP TABLE log", "doc": "do'c", "position": "pos\\", "click": "{click}"}


def views(database, script):
    """Runs the script and returns its results by name."""
    for statement in sqlglot.parse(script, read="duckdb"):
        assert isinstance(statement, (sqlglot.exp.Create, sqlglot.exp.Select))
    database.execute(script)
    return lambda view: database.execute(f"SELECT * FROM truerank_{view}").df()


def assert_same(ours, theirs, keys):
    ours, theirs = (table.sort_values(keys, ignore_index=True) for table in (ours, theirs))
    pd.testing.assert_frame_equal(ours, theirs, check_dtype=False, check_column_type=False)


@pytest.fixture
def database(moving_log):
    database = duckdb.connect()
    database.execute(f"CREATE TABLE clicks AS SELECT * FROM '{moving_log}'")
    return database


def test_duckdb_counts_the_same(database, moving_log, tmp_path):
    truerank("count", moving_log, "--patterns", "--transitions", "-o", tmp_path / "counts")
    view = views(database, truerank("sql", "--dialect", "duckdb", "--log", "clicks"))
    assert view("checks").empty
    assert_same(read_parquet(tmp_path / "counts/cells.parquet"), view("cells"), ["query", "doc", "position", "user"])
    assert_same(read_parquet(tmp_path / "counts/sessions.parquet"), view("sessions"), ["query", "user"])
    patterns = database.execute('SELECT query, "user", shown, sessions FROM truerank_patterns ORDER BY query, shown, "user"').fetchall()
    ours = read_parquet(tmp_path / "counts/patterns.parquet")
    pages = [
        (row.query, row.user, [{"position": p, "doc": d, "click": c} for p, d, c in zip(row.positions, row.docs, row.clicks)], row.sessions)
        for row in ours.itertuples()
    ]
    assert patterns == pages
    assert view("shared_positions").empty
    lists = database.execute("SELECT * FROM truerank_lists ORDER BY query, list").fetchall()
    ours = read_parquet(tmp_path / "counts/lists.parquet").itertuples()
    assert lists == [(row.query, row.list, [{"position": p, "doc": d} for p, d in zip(row.positions, row.docs)]) for row in ours]
    ours = read_parquet(tmp_path / "counts/transitions.parquet")
    assert_same(ours, view("transitions"), ["query", "list", "user", "from_position", "to_position"])


def test_names_are_data(database, tmp_path):
    """Columns and a table whose names would end a statement, and a session of two columns."""
    quoted = {field: '"' + name.replace('"', '""') + '"' for field, name in NAMES.items()}
    columns = ", ".join(f'"{field}" AS {name}' for field, name in quoted.items())
    table = 'lo"g; DROP TABLE clicks'
    database.execute(f'CREATE TABLE "{table.replace(chr(34), chr(34) * 2)}" AS SELECT session AS a, session % 3 AS b, {columns} FROM clicks')
    mappings = [f"--column={field}={name}" for field, name in NAMES.items()]
    view = views(database, truerank("sql", "--dialect", "duckdb", "--log", table, *mappings, "--column", "session=a+b"))
    cells, sessions = view("cells"), view("sessions")
    assert database.execute("SELECT COUNT(*) FROM clicks").fetchone()[0] == cells["impressions"].sum()
    database.execute("COPY clicks TO '" + str(tmp_path / "log.parquet") + "' (FORMAT parquet)")
    truerank("count", tmp_path / "log.parquet", "-o", tmp_path / "counts")
    assert_same(read_parquet(tmp_path / "counts/cells.parquet"), cells, ["query", "doc", "position", "user"])
    assert_same(read_parquet(tmp_path / "counts/sessions.parquet"), sessions, ["query", "user"])


ROWS = {
    "position is missing": (1, "u", "q", "c", None, "0"),
    "position is no whole number": (1, "u", "q", "c", "1.5", "0"),
    "position is below 1": (1, "u", "q", "c", "0", "0"),
    "position is too large": (1, "u", "q", "c", "100001", "0"),
    "click is missing": (1, "u", "q", "c", "3", None),
    "click is something else": (1, "u", "q", "c", "3", "2"),
    "session is missing or empty": (None, "u", "q", "c", "3", "0"),
    "doc is missing or empty": (1, "u", "q", "", "3", "0"),
    "query is missing or empty": (1, "u", None, "c", "3", "0"),
    "user is missing or empty": (1, "", "q", "c", "3", "0"),
    "doc appears twice on a page": (1, "u", "q", "a", "3", "0"),
    "page belongs to two users": (1, "v", "q", "c", "3", "0"),
}


@pytest.mark.parametrize("finding", ROWS)
def test_broken_rules_are_found(finding):
    database = duckdb.connect()
    database.execute('CREATE TABLE log (session INTEGER, "user" VARCHAR, query VARCHAR, doc VARCHAR, position VARCHAR, click VARCHAR)')
    good = [(1, "u", "q", "a", " 1.0", "no"), (1, "u", "q", "b", "+2", "TRUE")]
    database.executemany("INSERT INTO log VALUES (?, ?, ?, ?, ?, ?)", [*good, ROWS[finding]])
    checks = views(database, truerank("sql", "--dialect", "duckdb"))("checks")
    assert len(checks) == 1 and checks["finding"][0].startswith(finding), checks


def test_logs_of_clicks_and_empty_logs_are_found():
    database = duckdb.connect()
    database.execute('CREATE TABLE log AS SELECT 1 AS session, 1 AS "user", 1 AS query, 1 AS doc, 1 AS position, TRUE AS click')
    script = truerank("sql", "--dialect", "duckdb")
    assert views(database, script)("checks")["finding"][0].startswith("log holds clicks alone")
    database.execute("DELETE FROM log")
    assert views(database, script)("checks")["finding"].tolist() == ["log holds no impressions"]


@pytest.mark.parametrize("dialect", ["bigquery", "spark", "duckdb"])
def test_every_dialect_parses_with_any_names(dialect):
    mappings = [f"--column={field}={name}" for field, name in NAMES.items()]
    script = truerank("sql", "--dialect", dialect, *mappings, "--column", "session=a`b+c", "--log", "it's.`; DROP TABLE x; --")
    statements = sqlglot.parse(script, read=dialect)
    assert [type(statement).__name__ for statement in statements] == ["Create"] * 12 + ["Select"] * 7
    assert not any(list(statement.find_all(sqlglot.exp.Drop)) for statement in statements)


VALUES = ["", " ", "0", "1", "1.0", "7.5", "-2", "1e1", "true", "False", "click", "purchase", "NaN", "null", "NULL", "\\N", "Click"]


@pytest.mark.parametrize("condition", [
    "value>0", "value>=1", "value<1", "value<=7.5", "value=1", "value!=1", "value=click|purchase", "value!=click|7.5",
    "value", "value=it's", "value=true",
])
def test_duckdb_makes_the_same_clicks(condition, tmp_path):
    """Numbers, names and missing values in all their spellings; comparisons see numbers only."""
    compares = condition[5:6] in ("<", ">")
    values = [value for value in VALUES if not (compares and value.lower() in ("click", "purchase"))]
    log = pd.DataFrame({"session": 1, "land": "x", "query": "q", "doc": range(len(values)), "position": 1, "value": values})
    log.to_csv(tmp_path / "log.csv", index=False)
    options = [f"--click-when={condition}", "--column", "user=", "--column", "query=land+query"]
    truerank("count", tmp_path / "log.csv", *options, "-o", tmp_path / "counts")
    database = duckdb.connect()
    database.execute("CREATE TABLE log AS SELECT * FROM log")
    view = views(database, truerank("sql", "--dialect", "duckdb", *options))
    assert view("checks").empty
    ours, theirs = read_parquet(tmp_path / "counts/cells.parquet"), view("cells")
    key = lambda table: {(row.query, str(row.doc)): row.clicks for row in table.itertuples()}
    assert key(ours) == key(theirs)
    for dialect in ("bigquery", "spark"):
        assert sqlglot.parse(truerank("sql", "--dialect", dialect, *options), read=dialect)


def test_values_that_cannot_be_compared_are_found(tmp_path):
    database = duckdb.connect()
    database.execute("CREATE TABLE log AS SELECT 1 AS session, 'u' AS \"user\", 'q' AS query, 'd' AS doc, 1 AS position, 'long' AS dwell")
    view = views(database, truerank("sql", "--dialect", "duckdb", "--click-when=dwell>0"))
    assert view("checks")["finding"].tolist()[0] == "click is something else, but a click is 0 or 1"
