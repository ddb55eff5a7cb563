"""Data sets: NumPy's memory as it is, files as others read them, bytes as the command line writes them."""

import pickle
import subprocess
import sys

import numpy as np
import pandas
import pytest
import scipy.sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import truerank


def small(**changes):
    arguments = {"X": np.eye(4, dtype=np.float32), "grade": [0, 1, 2, 4], "query": ["b", "b", "a", "a"]}
    return truerank.Dataset.from_arrays(**{**arguments, **changes})


def test_arrays_come_back():
    data = small(doc=["x", "y", "x", "z"])
    np.testing.assert_array_equal(data.features, np.eye(4))
    assert data.grades.tolist() == [0, 1, 2, 4]
    assert data.query.tolist() == ["b", "b", "a", "a"] and data.queries.tolist() == ["b", "a"]
    assert data.docs.tolist() == ["x", "y", "x", "z"]
    assert data.query_sizes.tolist() == [2, 2]
    assert (len(data), data.query_count, data.feature_count) == (4, 2, 4)


def test_a_float32_matrix_is_not_copied():
    X = np.random.default_rng(1).random((4, 3), dtype=np.float32)
    data = small(X=X)
    assert np.shares_memory(data.features, X)
    assert not data.features.flags.writeable
    X[0, 0] = 7
    assert data.features[0, 0] == 7


def test_the_matrix_lives_as_long_as_its_users():
    features = small(X=np.full((4, 3), 5, dtype=np.float32)).features
    assert (features == 5).all()


@pytest.mark.parametrize("form", [
    lambda X: X.astype(np.float64), np.asfortranarray, lambda X: X.astype(np.int64), lambda X: X.tolist(),
    scipy.sparse.csr_matrix, lambda X: np.repeat(X, 2, axis=1)[:, ::2],
])
def test_other_matrices_are_converted(form):
    X = np.arange(12, dtype=np.float32).reshape(4, 3)
    np.testing.assert_array_equal(small(X=form(X)).features, X)


def test_ids_are_numbers_or_text():
    import pandas
    import polars

    for query in [[7, 7, 9, 9], np.array([7, 7, 9, 9], dtype=np.uint8), pandas.Series([7, 7, 9, 9]), polars.Series([7, 7, 9, 9])]:
        assert small(query=query).queries.tolist() == [7, 9]
    for query in [["7", "7", "é", "é"], np.array(["7", "7", "é", "é"]), pandas.Series(["7", "7", "é", "é"], dtype="category"),
                  polars.Series(["7", "7", "é", "é"]), ["7", 7, "é", "é"]]:
        assert small(query=query).queries.tolist() == ["7", "é"]
    assert small(query=[2**63, 2**63, 1, 1]).queries.tolist() == [str(2**63), "1"]


@pytest.mark.parametrize("changes, text", [
    ({"X": [1, 2]}, "X should have two dimensions, a row per document and a column per feature"),
    ({"X": np.zeros((4, 0))}, "X has no columns, but documents need at least one feature"),
    ({"X": np.full((4, 2), 1e300)}, "X: row 1: feature 1 is inf, but features must be finite numbers of 32 bits, or NaN where one is missing"),
    ({"query": [1, 1, 2]}, "X has 4 rows, but query has 3 values"),
    ({"grade": [1]}, "X has 4 rows, but grade has 1 values"),
    ({"grade": [0, 1, 1.5, 2]}, "grade: row 3: grade is 1.5, but grades are whole numbers from 0 to 4"),
    ({"doc": ["x", "x", "x", "y"]}, "doc: row 2: 'x' stands twice in query 'b', but a document stands once in its query"),
    ({"query": None}, "query is missing, but every row needs the id of its query"),
])
def test_what_does_not_fit_is_said(changes, text):
    with pytest.raises(ValueError) as error:
        small(**changes)
    assert str(error.value) == text


def test_interleaved_queries_are_sorted_and_that_is_reported():
    X, grade, query = np.arange(8, dtype=np.float32).reshape(4, 2), [1, 2, 3, 4], ["b", "a", "b", "a"]
    with pytest.warns(truerank.DataWarning, match="sorted by query") as told:
        data = truerank.Dataset.from_arrays(X, grade, query, doc=["p", "q", "r", "s"])
    assert len(told) == 1
    # As queries first occur, and rows of a query as they came.
    order = [0, 2, 1, 3]
    np.testing.assert_array_equal(data.features, X[order])
    assert data.queries.tolist() == ["b", "a"] and data.query.tolist() == ["b", "b", "a", "a"]
    assert data.grades.tolist() == [1, 3, 2, 4] and data.docs.tolist() == ["p", "r", "q", "s"]


def test_columns_of_a_frame_keep_their_names(splits):
    frame = pandas.DataFrame(np.random.default_rng(1).random((6, 2)), columns=["bm25", "age"])
    query = ["a", "a", "b", "b", "c", "c"]
    data = truerank.Dataset.from_arrays(frame, query=query)
    kept = [data, data.select([0]), data[2:], data.head(3), pickle.loads(pickle.dumps(data))]
    kept += [truerank.split_by_query(data, (0.4, 0.3, 0.3)).train]
    assert all(found.feature_names == ["bm25", "age"] for found in kept)
    for frame in [data.to_pandas(), data.to_polars(), data.to_arrow()]:
        names = getattr(frame, "column_names", None) or list(frame.columns)
        assert names == ["query", "doc", "bm25", "age"]
    for back in [truerank.Dataset.from_frame(data.to_pandas()), truerank.Dataset.from_frame(data.to_polars())]:
        assert back == data and back.feature_names == ["bm25", "age"]
    assert splits.train.feature_names is None
    assert splits.train.to_pandas().columns[-1] == f"f{splits.train.feature_count}"
    with pytest.raises(ValueError, match="there are 1 feature_names, but X has 2 columns"):
        truerank.Dataset.from_arrays(data.features, query=query, feature_names=["x"])
    with pytest.raises(ValueError, match="query is 'qid', but the frame has no such column; it has query, doc, bm25, age"):
        truerank.Dataset.from_frame(data.to_pandas(), query="qid")


def test_rows_of_a_data_set_can_be_chosen(splits):
    data = splits.train
    rows = np.flatnonzero(np.isin(data.query, data.queries[[1, 3]]))
    assert data[rows] == data.select([1, 3]) == data[np.isin(data.query, data.queries[[1, 3]])]
    # scikit-learn writes it so.
    assert data[rows, ...] == data[rows]
    # Rows of a query are put together.
    assert data[np.r_[rows[0], rows[-1], rows[1]]].query_sizes.tolist() == [2, 1]
    assert data[:5].shape == (5, data.feature_count) == data.head().shape and len(data[0]) == 1
    np.testing.assert_array_equal(np.asarray(data), data.features)
    with pytest.raises(IndexError):
        data[len(data)]
    with pytest.raises(ValueError, match="stands twice"):
        data[[0, 0]]


def test_svmlight_is_read_as_by_scikit_learn(tmp_path):
    random = np.random.default_rng(2)
    X = random.normal(size=(200, 30)).round(4) * (random.random((200, 30)) < 0.4)
    grade, query = random.integers(0, 5, 200), np.sort(random.integers(0, 20, 200))
    path = tmp_path / "train.txt"
    dump_svmlight_file(X, grade, str(path), query_id=query, zero_based=False)
    theirs, their_grades, their_queries = load_svmlight_file(str(path), query_id=True, zero_based=False, n_features=30)
    ours = truerank.read_svmlight(path, feature_count=30)
    np.testing.assert_array_equal(ours.features, theirs.toarray().astype(np.float32))
    np.testing.assert_array_equal(ours.grades, their_grades)
    np.testing.assert_array_equal(ours.query, their_queries)
    assert small(X=theirs[:4]).feature_count == 30


@pytest.mark.parametrize("ending", ["txt", "parquet"])
def test_files_come_back(ending, tmp_path):
    path = tmp_path / f"data.{ending}"
    data = truerank.Dataset.from_arrays(np.eye(3), grade=[0, 1, 2], query=[1, 1, 2], doc=["a", "b", "c"])
    data.write(path)
    back = truerank.read_dataset(path)
    np.testing.assert_array_equal(back.features, data.features)
    assert back.docs.tolist() == data.docs.tolist() and back.grades.tolist() == [0, 1, 2]


def test_parts_can_be_taken_and_pickled(splits):
    train = splits.train
    some = train.select([3, 1])
    assert some.queries.tolist() == [train.queries[3], train.queries[1]]
    assert train.select(np.arange(train.query_count) < 2) == train.select([0, 1])
    with pytest.raises(ValueError, match="query number 200 is not from 0 to 199"):
        train.select([200])
    assert pickle.loads(pickle.dumps(train)) == train
    assert pickle.loads(pickle.dumps(splits)).test == splits.test


def test_frames_of_pandas(splits):
    frame = splits.test.to_pandas()
    assert list(frame.columns[:4]) == ["query", "doc", "grade", "f1"]
    np.testing.assert_array_equal(frame["f20"], splits.test.features[:, 19])


def test_generated_bytes_are_the_command_lines(command, splits, tmp_path):
    command("generate", "--preset", "tiny", "-o", tmp_path / "theirs")
    splits.write(tmp_path / "ours")
    for name in ["train.txt", "vali.txt", "test.txt"]:
        assert (tmp_path / "ours" / name).read_bytes() == (tmp_path / "theirs" / name).read_bytes()
    back = truerank.read_splits(tmp_path / "theirs")
    assert back.train.grades.tolist() == splits.train.grades.tolist()


def test_ids_are_no_markup():
    data = small(query=["<b>", "<b>", "c", "c"])
    assert "<b>" not in data._repr_html_() and "documents" in data._repr_html_()


def test_memory_does_not_double():
    """A matrix of 400 MB is shared: the process grows by far less than another one."""
    program = (
        "import resource, numpy as np, truerank\n"
        "X = np.ones((1_000_000, 100), dtype=np.float32)\n"
        "query = np.arange(1_000_000) // 10\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "data = truerank.Dataset.from_arrays(X, query=query)\n"
        "features = data.features\n"
        "after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "print((after - before) / 1024)\n"
    )
    grown = float(subprocess.check_output([sys.executable, "-c", program], text=True))
    assert grown < 200, f"grew by {grown:.0f} MB"


def test_features_may_be_missing(tmp_path):
    lacking = np.array([[1, np.nan], [np.nan, 4], [5, 6], [np.nan, np.nan]], dtype=np.float32)
    data = small(X=lacking)
    assert np.array_equal(data.features, lacking, equal_nan=True) and np.shares_memory(data.features, lacking)
    assert data == small(X=lacking.copy()) and data != small(X=np.nan_to_num(lacking))
    assert pickle.loads(pickle.dumps(data)) == data
    for name in ["data.txt", "data.parquet"]:
        data.write(tmp_path / name)
        assert truerank.read_dataset(tmp_path / name) == data
    frame = data.to_pandas()
    assert frame["f1"].isna().tolist() == [False, True, False, True]
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [1.0, None, 5.0, None], "b": [None, 4.0, 6.0, None]})
    assert small(X=frame) == data
