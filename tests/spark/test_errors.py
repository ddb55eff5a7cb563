"""What cannot be counted on Spark is refused with one clear line, and older counts stay."""

import threading
import time

import duckdb
import pytest
from conftest import assert_same_content, content, refusal, run, truerank
from server import Spark, end, free_port

HEADER = "session,user,query,doc,position,click\n"
GOOD = "1,u,q,a,1,0\n1,u,q,b,2,1\n"

# Rows after the good ones, and what is said of them.
BAD_ROWS = {
    "a position below 1": "2,u,q,a,0,0\n",
    "a position that is no number": "2,u,q,a,first,0\n",
    "a fraction": "2,u,q,a,1.5,0\n",
    "an exponent": "2,u,q,a,1e1,0\n",
    "a position too large": "2,u,q,a,100001,0\n",
    "no click": "2,u,q,a,1,\n",
    "a click of another kind": "2,u,q,a,1,2\n",
    "no session": ",u,q,a,1,0\n",
    "no doc": "2,u,q,,1,0\n",
    "no query": "2,u,,a,1,0\n",
    "no user": '2,"",q,a,1,0\n',
    "too few fields": "2,u,q,a,1\n",
    "too many fields": "2,u,q,a,1,0,0\n",
    "a stray quote": '2,u,"q"x,a,1,0\n',
    "a document twice": "1,u,q,a,3,0\n",
    "a page of two users": "1,v,q,c,3,0\n",
}


@pytest.fixture
def output(tmp_path):
    """A folder with older counts, which must stay as they are."""
    path = tmp_path / "counts"
    (tmp_path / "good.csv").write_text(HEADER + GOOD)
    truerank("count", tmp_path / "good.csv", "-o", path)
    before = content(path)
    yield path
    assert content(path) == before
    assert not list(tmp_path.glob(".truerank-*"))


@pytest.mark.parametrize("rows", BAD_ROWS.values(), ids=BAD_ROWS)
def test_bad_rows_in_the_words_of_counting_here(local, output, rows):
    path = output.parent / "log.csv"
    path.write_text(HEADER + GOOD + rows)
    here = refusal("count", path, "-o", output)
    assert refusal("count", path, "--engine", local, "-o", output) == here
    assert "log.csv:4: " in here


def test_bad_rows_of_json_and_parquet(local, output):
    path = output.parent / "log.jsonl"
    good = '{"session":1,"user":1,"query":1,"doc":1,"position":1,"click":0}\n'
    for bad in ["nonsense\n", good.replace('"doc":1', '"doc":1.5'), good.replace('"click":0', '"click":null'), good]:
        path.write_text(good + bad)
        here = refusal("count", path, "-o", output)
        assert refusal("count", path, "--engine", local, "-o", output) == here


def test_logs_that_are_wrong_as_a_whole(local, output):
    path = output.parent / "log.csv"
    for text in [HEADER, "", HEADER + "1,u,q,a,1,1\n", "session,user,query,position,click\n1,u,q,1,0\n"]:
        path.write_text(text)
        here = refusal("count", path, "-o", output)
        assert refusal("count", path, "--engine", local, "-o", output) == here
    good = output.parent / "good.csv"
    wrong_column = refusal("count", good, "--engine", local, "--column", "user=who", "-o", output)
    assert "has no column 'who', but a log needs one; it has session, user" in wrong_column
    assert refusal("count", "nowhere.csv", "--engine", local, "-o", output) == "nowhere.csv: no such file or folder"


def test_a_page_over_several_files_that_contradicts_itself(local, output):
    logs = output.parent / "logs"
    logs.mkdir()
    (logs / "1.csv").write_text(HEADER + GOOD)
    (logs / "2.csv").write_text(HEADER + "2,u,q,a,1,0\n1,u,q,b,3,0\n")
    here = refusal("count", logs, "-o", output)
    assert refusal("count", logs, "--engine", local, "-o", output) == here
    assert "2.csv:3: doc 'b' appears twice in session '1' of query 'q'" in here


@pytest.mark.parametrize(
    "options",
    [["--on-bad-row", "skip"], ["--on-bad-row", "quarantine"], ["--from", "2024-01-01"], ["--until", "2024-01-01"]],
    ids=" ".join,
)
def test_options_of_counting_here_alone(local, output, options):
    message = refusal("count", output.parent / "good.csv", *options, "--engine", local, "-o", output)
    assert message.endswith("not for --engine; count without it")


def test_forms_that_spark_reads_otherwise(local, output):
    pages = output.parent / "pages.csv"
    pages.write_text("session,user,query,docs,clicks\n1,u,q,a|b,0|1\n")
    assert "has one row per result page" in refusal("count", pages, "--engine", local, "-o", output)
    array = output.parent / "array.json"
    array.write_text('[{"session":1,"user":1,"query":1,"doc":1,"position":1,"click":0}]')
    assert "is one JSON array" in refusal("count", array, "--engine", local, "-o", output)
    assert "standard input" in refusal("count", "-", "--format", "csv", "--engine", local, "-o", output)
    ubi = ["--ubi-queries", array, "--ubi-events", array]
    assert "--ubi-queries is not for --engine" in refusal("count", *ubi, "--engine", local, "-o", output)


def test_servers_that_cannot_be_reached(output):
    def message(engine):
        return refusal("count", output.parent / "good.csv", "--engine", engine, "-o", output)

    refused = message(f"sc://127.0.0.1:{free_port()}")
    assert "no Spark Connect server can be reached: nobody listens there" in refused
    assert "the name of the host is not known" in message("sc://nowhere.invalid:15002")
    for url in ["127.0.0.1:15002", "spark://127.0.0.1:7077", "sc://", "sc://host:port"]:
        assert message(url) == f"the engine is '{url}', but should look like sc://host:15002"
    assert "secret" not in message("http://127.0.0.1/;token=secret")


def test_a_folder_that_spark_cannot_write(local, output):
    other = output.parent / "thesis"
    other.mkdir()
    (other / "chapter.tex").write_text("years")
    message = refusal("count", output.parent / "good.csv", "--engine", local, "-o", other)
    assert "holds chapter.tex, which replacing the folder would remove" in message


def test_a_worker_that_dies_is_made_good(tmp_path):
    """One of two workers is killed while the job runs; the other one does its share again."""
    with Spark(tmp_path) as spark:
        master, workers = spark.cluster()
        engine = spark.connect_server(master, **{"spark.executor.memory": "700m", "spark.executor.cores": 1})
        log = slow_log(tmp_path)
        truerank("count", log, "-o", tmp_path / "here")
        command = ["count", log, "--engine", engine, "-o", tmp_path / "there"]
        outcome = {}
        job = threading.Thread(target=lambda: outcome.update(done=run(*command)))
        job.start()
        wait_for(lambda: any(tmp_path.glob(".truerank-*/*/_temporary")) or not job.is_alive())
        assert job.is_alive(), "the job was over before a worker could be killed"
        end(workers[0])
        job.join(500)
        assert "Lost executor" in spark.log("connect")
    done = outcome["done"]
    assert not list(tmp_path.glob(".truerank-*"))
    assert done.returncode == 0, done.stderr
    assert_same_content(tmp_path / "here", tmp_path / "there")


def slow_log(folder):
    """A log of several files that takes a cluster of two cores some seconds."""
    logs = folder / "slow"
    logs.mkdir()
    for part in range(8):
        query = f"""
            SELECT s * 8 + {part} AS session, s % 50 AS "user", hash(s) % 300 AS query, (p * 7 + s % 5) % 40 AS doc,
                p AS position, (hash(s, p) % 5 = 0)::INTEGER AS click
            FROM range(20000) AS sessions(s), range(1, 11) AS positions(p)
        """
        duckdb.sql(query).write_csv(str(logs / f"{part}.csv"))
    return logs


def wait_for(ready, patience=120):
    begin = time.monotonic()
    while not ready() and time.monotonic() - begin < patience:
        time.sleep(0.02)
