"""Counting on Spark gives the bytes of counting here."""

import gzip
import shutil

import pytest
from conftest import assert_same_counts, refusal, truerank


@pytest.fixture(params=["local", "cluster"])
def engine(request):
    return request.getfixturevalue(request.param)


def test_a_simulated_log(engine, simulated, tmp_path):
    printed = assert_same_counts(simulated, engine, tmp_path, "--patterns", "--transitions")
    assert "impressions  " in printed and "patterns" in printed


def test_the_totals_are_those_of_counting_here(local, simulated, tmp_path):
    here = truerank("count", simulated, "--json", "-o", tmp_path / "counts")
    there = truerank("count", simulated, "--engine", local, "--json", "-o", tmp_path / "counts")
    assert here == there


def test_a_real_log(engine, shared, tmp_path):
    log = shared / "lisp-user-study/impressions.tsv.gz"
    assert_same_counts(log, engine, tmp_path, "--column", "session=user+task+serp", "--patterns")


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "parquet", "jsonl"])
def test_ids_that_need_quoting(local, awkward, ending, tmp_path):
    path = tmp_path / f"a b{{c}},[d]*.{ending}"
    target = "'" + str(path).replace("'", "''") + "'"
    options = {
        "csv": "FORMAT csv, HEADER",
        "tsv": "FORMAT csv, HEADER, DELIMITER '\t'",
        "csv.gz": "FORMAT csv, HEADER, COMPRESSION gzip",
        "parquet": "FORMAT parquet",
        "jsonl": "FORMAT json",
    }
    awkward.execute(f"COPY log TO {target} ({options[ending]})")
    assert_same_counts(path, local, tmp_path, "--patterns")


def test_ids_that_need_quoting_on_a_cluster(cluster, awkward, tmp_path):
    awkward.execute(f"COPY log TO '{tmp_path / 'log.parquet'}' (FORMAT parquet)")
    assert_same_counts(tmp_path / "log.parquet", cluster, tmp_path)


def test_columns_whose_names_need_quoting(local, awkward, tmp_path):
    names = {"user": "`; DROP VIEW truerank_source; --", "doc": "do\"c'\\", "click": "${spark.app.name}", "query": "Query"}
    quoted = ", ".join(f'"{field}" AS "{name.replace(chr(34), chr(34) * 2)}"' for field, name in names.items())
    # Names that differ in case alone are different columns.
    query = f'SELECT {quoted}, session AS "a.b", position % 2 AS part, position, 1 AS "QUERY2", 2 AS "query2" FROM log'
    mappings = [f"--column={field}={name}" for field, name in names.items()]
    awkward.execute(f"COPY ({query}) TO '{tmp_path / 'replaced.parquet'}' (FORMAT parquet)")
    message = refusal("count", tmp_path / "replaced.parquet", *mappings, "--column=session=a.b", "--engine", local, "-o", tmp_path / "counts")
    assert "Spark replaces ${…} in names of Parquet columns" in message
    query, mappings = query.replace("${spark.app.name}", "$.{click}"), [m.replace("${spark.app.name}", "$.{click}") for m in mappings]
    for form in ("parquet", "csv, HEADER", "json"):
        path = tmp_path / f"log.{form.split(',')[0]}"
        awkward.execute(f"COPY ({query}) TO '{path}' (FORMAT {form})")
        folder = tmp_path / path.suffix[1:]
        folder.mkdir()
        assert_same_counts(path, local, folder, *mappings, "--column", "session=a.b+Query")


def test_logs_of_several_files_and_forms(local, awkward, tmp_path):
    logs = tmp_path / "logs"
    logs.mkdir()
    for part, (name, form) in enumerate([("a,1.csv", "csv, HEADER"), ("b.csv", "csv, HEADER"), ("c.parquet", "parquet"), ("d.jsonl", "json")]):
        awkward.execute(f"COPY (SELECT * FROM log WHERE hash(session) % 4 = {part}) TO '{logs / name}' (FORMAT {form})")
    (logs / "empty.csv").write_text("")
    (logs / "_SUCCESS").write_text("")
    assert_same_counts(logs, local, tmp_path)
    folder = tmp_path / "pattern"
    folder.mkdir()
    assert_same_counts(logs / "*.csv", local, folder)


def test_whole_numbers_and_text_meet_by_their_text(local, awkward, tmp_path):
    logs = tmp_path / "logs"
    logs.mkdir()
    row = "SELECT {0} AS session, {0} % 5 AS \"user\", {0} % 3 AS query, p AS doc, p AS position, ({0} + p) % 2 = 0 AS click"
    numbers = row.format("i::INTEGER") + " FROM range(50) AS a(i), range(1, 4) AS b(p)"
    longer = row.format("(i + 50)") + " FROM range(50) AS a(i), range(9, 12) AS b(p)"
    awkward.execute(f"COPY ({numbers}) TO '{logs / 'a.parquet'}' (FORMAT parquet)")
    awkward.execute(f"COPY ({longer}) TO '{logs / 'b.parquet'}' (FORMAT parquet)")
    assert_same_counts(logs, local, tmp_path)
    awkward.execute(f"COPY ({longer.replace('i + 50', 'i + 100')}) TO '{logs / 'c.jsonl'}' (FORMAT json)")
    shutil.rmtree(tmp_path / "here")
    assert_same_counts(logs, local, tmp_path)
    texts = f"SELECT session, \"user\"::VARCHAR AS \"user\", query, doc::VARCHAR AS doc, position, click FROM ({longer.replace('i + 50', 'i + 150')})"
    awkward.execute(f"COPY ({texts}) TO '{logs / 'd.jsonl'}' (FORMAT json)")
    shutil.rmtree(tmp_path / "here")
    assert_same_counts(logs, local, tmp_path)


def test_positions_and_clicks_in_all_spellings(local, tmp_path):
    spellings = [("1", "0"), ("2.0", "TRUE"), (" 3 ", "no"), ("+4", "1.0"), ("05", "f"), ("6", "Y"), ("100000", "0.00")]
    rows = [f"s,u,q,d{number},{position},{click}" for number, (position, click) in enumerate(spellings)]
    path = tmp_path / "log.csv"
    path.write_bytes(b"\r\n".join(row.encode() for row in ["session,user,query,doc,position,click", *rows]))
    assert_same_counts(path, local, tmp_path)
    mixed = "session,user,query,doc,position,click\n" + rows[0] + "\r\n\n" + rows[1] + "\n" + rows[2]
    path.write_text(mixed, newline="")
    assert_same_counts(path, local, tmp_path)


def test_floats_and_flags_of_parquet(local, awkward, tmp_path):
    query = "SELECT session, query, doc, position::DOUBLE AS position, -(click = 0)::INTEGER * 0.0::DOUBLE + click AS click FROM log"
    awkward.execute(f"COPY ({query}) TO '{tmp_path / 'floats.parquet'}' (FORMAT parquet)")
    assert_same_counts(tmp_path / "floats.parquet", local, tmp_path)
    awkward.execute(f"COPY (SELECT * REPLACE (click = 1 AS click) FROM log) TO '{tmp_path / 'flags.parquet'}' (FORMAT parquet)")
    assert_same_counts(tmp_path / "flags.parquet", local, tmp_path, "--column", "user=")


def test_gzip_of_several_members(local, tmp_path):
    header = "session,user,query,doc,position,click\n"
    path = tmp_path / "log.csv.gz"
    path.write_bytes(gzip.compress((header + "1,u,q,a,1,0\n").encode()) + gzip.compress(b"1,u,q,b,2,1\n"))
    assert_same_counts(path, local, tmp_path)
