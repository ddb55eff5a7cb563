"""Parquet data sets as pandas and pyarrow write them: read by us, written as text, read by scikit-learn."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import truerank
from tables import read_dataset, read_svmlight, same_bits

ROWS, WIDTH = 400, 7


@pytest.fixture
def made():
    """Queries of uneven length, grades and features."""
    random = np.random.default_rng(3)
    queries = np.sort(random.integers(100, 130, ROWS))
    grades = random.integers(0, 5, ROWS)
    return queries, grades, random.normal(size=(ROWS, WIDTH)).astype(np.float32)


def columns(queries, grades, features):
    singles = {f"f{number + 1}": features[:, number] for number in range(WIDTH)}
    return {"query": queries, "doc": np.arange(ROWS), "grade": grades, **singles}


def assert_reads(path, made, folder):
    target = folder / "back.txt"
    truerank("convert", path, "-o", target)
    queries, grades, features = made
    peer_grades, peer_queries, peer_features = read_svmlight(target, WIDTH)
    assert np.array_equal(peer_queries, queries)
    assert np.array_equal(peer_grades, grades)
    assert same_bits(peer_features, features)


@pytest.mark.parametrize("kind", ["int32", "uint8", "int64", "float64", "Int64", "UInt8"])
def test_types_of_grades_from_pandas(made, kind, tmp_path):
    path = tmp_path / "made.parquet"
    table = pd.DataFrame(columns(*made)).astype({"grade": kind})
    table.to_parquet(path)
    assert_reads(path, made, tmp_path)


@pytest.mark.parametrize("kind", ["int32", "uint32", "uint8", "Int32"])
def test_types_of_ids_from_pandas(made, kind, tmp_path):
    path = tmp_path / "made.parquet"
    pd.DataFrame(columns(*made)).astype({"query": kind}).to_parquet(path)
    assert_reads(path, made, tmp_path)


@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd", "lz4"])
def test_compressions_and_pages(made, compression, tmp_path):
    path = tmp_path / "made.parquet"
    pq.write_table(pa.table(columns(*made)), path, compression=compression, row_group_size=37, data_page_version="2.0")
    assert_reads(path, made, tmp_path)


@pytest.mark.parametrize("element", [pa.float32(), pa.float64()])
@pytest.mark.parametrize("fixed", [True, False])
def test_list_column(made, element, fixed, tmp_path):
    queries, grades, features = made
    kind = pa.list_(element, WIDTH) if fixed else pa.list_(element)
    table = pa.table(
        {
            "query": queries,
            "doc": pa.array(np.arange(ROWS)),
            "grade": pa.array(grades, pa.uint8()),
            "features": pa.array(features.tolist(), kind),
        }
    )
    path = tmp_path / "lists.parquet"
    pq.write_table(table, path)
    assert_reads(path, made, tmp_path)


def test_dictionary_encoded_text_ids(made, tmp_path):
    queries, grades, features = made
    table = pd.DataFrame(columns(*made))
    table["query"] = pd.Categorical([f"q{query}" for query in queries])
    table["doc"] = pd.Categorical([f"münchen-{row}" for row in range(ROWS)])
    path, target = tmp_path / "categories.parquet", tmp_path / "back.parquet"
    table.to_parquet(path)
    truerank("convert", path, "-o", target)
    our_queries, docs, our_grades, our_features = read_dataset(target)
    assert our_queries.tolist() == table["query"].tolist()
    assert docs.tolist() == table["doc"].tolist()
    assert np.array_equal(our_grades, grades) and same_bits(our_features, features)


@pytest.mark.parametrize("form", ["float32", "float64", "Float32", "Float64", "double[pyarrow]", "list"])
def test_missing_values(made, form, tmp_path):
    queries, grades, features = made
    lacking = np.where(np.random.default_rng(4).random(features.shape) < 0.2, np.float32(np.nan), features)
    path, target = tmp_path / "missing.parquet", tmp_path / "back.txt"
    if form == "list":
        rows = [[None if np.isnan(value) else value for value in row] for row in lacking.tolist()]
        pq.write_table(pa.table({"query": queries, "grade": grades, "features": pa.array(rows, pa.list_(pa.float32()))}), path)
    else:
        table = pd.DataFrame(columns(queries, grades, lacking))
        names = [name for name in table if name[0] == "f"]
        table[names] = table[names].astype(form)
        table.to_parquet(path)
    truerank("convert", path, "-o", target)
    peer_grades, peer_queries, peer_features = read_svmlight(target, WIDTH)
    assert np.array_equal(peer_queries, queries) and np.array_equal(peer_grades, grades)
    assert np.array_equal(peer_features, lacking, equal_nan=True) and np.isnan(lacking).any()
