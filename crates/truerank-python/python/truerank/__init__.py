"""Learns what people find relevant from what they clicked, for every kind of searcher."""

from ._truerank import (
    Dataset,
    Splits,
    Table,
    __version__,
    generate,
    read_dataset,
    read_splits,
    read_svmlight,
    set_threads,
    split_by_query,
    threads,
)

__all__ = [
    "Dataset",
    "Splits",
    "Table",
    "__version__",
    "generate",
    "read_dataset",
    "read_splits",
    "read_svmlight",
    "set_threads",
    "split_by_query",
    "threads",
]
