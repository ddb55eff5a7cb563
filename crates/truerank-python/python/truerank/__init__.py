"""Learns what people find relevant from what they clicked, for every kind of searcher."""

from typing import TYPE_CHECKING

from . import click_model, experiment, propensity
from ._truerank import (
    ClickEvaluation,
    ClickModel,
    Comparison,
    Counts,
    Dataset,
    Diagnosis,
    Evaluation,
    FitOutcome,
    Labels,
    LogWarning,
    PairWeights,
    Propensities,
    PropensityWarning,
    Relevance,
    Simulation,
    Splits,
    TTest,
    Table,
    TrainedRanker,
    __version__,
    doctor,
    drift,
    evaluate,
    evaluate_clicks,
    fit,
    generate,
    merge,
    pair_weights,
    paired_t_test,
    read_dataset,
    read_splits,
    read_svmlight,
    relevance,
    set_threads,
    simulate,
    split_by_query,
    threads,
    write_run,
)

__all__ = [
    "ClickEvaluation",
    "ClickModel",
    "Comparison",
    "Counts",
    "Dataset",
    "Diagnosis",
    "Evaluation",
    "FitOutcome",
    "Labels",
    "LogWarning",
    "PairWeights",
    "Propensities",
    "PropensityWarning",
    "Ranker",
    "Relevance",
    "Simulation",
    "Splits",
    "TTest",
    "Table",
    "TrainedRanker",
    "__version__",
    "doctor",
    "drift",
    "evaluate",
    "evaluate_clicks",
    "experiment",
    "fit",
    "generate",
    "merge",
    "pair_weights",
    "paired_t_test",
    "propensity",
    "read_dataset",
    "read_splits",
    "read_svmlight",
    "relevance",
    "set_threads",
    "simulate",
    "split_by_query",
    "threads",
    "write_run",
]


if TYPE_CHECKING:
    from ._ranker import Ranker


def __getattr__(name):
    # scikit-learn takes a second to import, so that only those who want rankers wait for it.
    if name == "Ranker":
        from ._ranker import Ranker

        return Ranker
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__():
    return sorted({*globals(), *__all__})
