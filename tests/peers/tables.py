"""Reads our artefacts the way other people's tools do."""

import json

import numpy as np
import pyarrow.parquet
from sklearn.datasets import load_svmlight_file


def read_parquet(path):
    return pyarrow.parquet.read_table(path).to_pandas()


def notes(path):
    """The key-value metadata of a Parquet file, as text."""
    metadata = pyarrow.parquet.read_metadata(path).metadata
    return {key.decode(): value.decode() for key, value in metadata.items()}


def read_dataset(path):
    """Queries, docs, grades and the feature matrix of a Parquet data set."""
    table = read_parquet(path)
    if "features" in table:
        features = np.stack(table["features"])
    else:
        names = [f"f{number}" for number in range(1, sum(name[0] == "f" for name in table) + 1)]
        features = table[names].to_numpy()
    return table["query"].to_numpy(), table["doc"].to_numpy(), table["grade"].to_numpy(), features


def read_svmlight(path, width=None):
    """Grades, queries and the dense feature matrix, as scikit-learn reads them."""
    features, grades, queries = load_svmlight_file(
        str(path), n_features=width, dtype=np.float32, zero_based=False, query_id=True
    )
    return grades, queries, features.toarray()


def read_propensities(path):
    """θ(u,k) as {(user, position): probability}, positions from 1."""
    document = json.loads(path.read_text())
    return {
        (row["user"], position): theta
        for row in document["users"]
        for position, theta in enumerate(row["propensity"], start=1)
    }


def same_bits(ours, theirs):
    """Whether two float32 arrays are equal bit for bit, but for the sign of zero, which sparse text does not hold."""
    assert ours.dtype == theirs.dtype == np.float32
    return np.array_equal((ours + 0).view(np.uint32), (theirs + 0).view(np.uint32))
