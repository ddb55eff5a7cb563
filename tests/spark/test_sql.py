"""The SQL that `truerank sql` prints runs on Spark as it is, and counts the same."""

import duckdb
import pytest
from conftest import truerank


@pytest.fixture(scope="module")
def session():
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    local = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.sql.shuffle.partitions": "4"}
    session = builder.config(map=local).getOrCreate()
    yield session
    session.stop()


def run(session, script):
    for statement in script.split(";\n"):
        if "CREATE" in statement:
            session.sql(statement)


def test_the_printed_statements_count_the_same(session, simulated, counts):
    session.read.parquet(str(simulated)).createOrReplaceTempView("clicks")
    run(session, truerank("sql", "--log", "clicks"))
    assert session.sql("SELECT * FROM truerank_checks").collect() == []
    for view, order in [("cells", "query, doc, position, `user`"), ("sessions", "query, `user`")]:
        found = [tuple(row) for row in session.sql(f"SELECT * FROM truerank_{view} ORDER BY {order}").collect()]
        assert found == duckdb.sql(f"SELECT * FROM '{counts / view}.parquet'").fetchall()


def test_names_are_data(session):
    row = "SELECT 1 AS `a``b`, 2 AS `c d`, 'u' AS `; DROP VIEW odd; --`, 'q' AS query, 'd' AS doc, '1.0' AS position, 'x' AS click"
    session.sql(row).createOrReplaceTempView("odd")
    run(session, truerank("sql", "--log", "odd", "--column", "session=a`b+c d", "--column", "user=; DROP VIEW odd; --"))
    (finding,) = session.sql("SELECT * FROM truerank_checks WHERE finding LIKE 'click%'").collect()
    assert (finding["session"], finding["example"], finding["found"]) == ("1\x1f2", "x", 1)
    assert session.table("odd").count() == 1
