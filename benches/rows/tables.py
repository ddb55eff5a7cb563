"""Data sets that `truerank generate --format parquet` wrote, as arrays."""

import re

import numpy as np
import pyarrow.parquet as pq


def read_part(path):
    """Features and grades of all documents, and how many documents each query has; queries are consecutive rows."""
    table = pq.read_table(path).to_pandas()
    names = [name for name in table if re.fullmatch(r"f\d+", name)]
    starts = np.flatnonzero(table["query"].diff().fillna(1))
    features, grades = table[names].to_numpy(np.float32), table["grade"].to_numpy(np.float32)
    return features, grades, np.diff(starts, append=len(table))
