"""Learns what people find relevant from what they clicked, for every kind of searcher."""

from typing import TYPE_CHECKING

from . import click_model, experiment, propensity
from ._params import with_options as _with_options
from ._truerank import (
    ClickEvaluation,
    ClickModel,
    Comparison,
    Counts,
    DataWarning,
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
    count,
    doctor,
    drift,
    evaluate,
    evaluate_clicks,
    fit,
    generate,
    interleaving,
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
    "DataWarning",
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
    "click_model",
    "count",
    "doctor",
    "drift",
    "evaluate",
    "evaluate_clicks",
    "experiment",
    "fit",
    "generate",
    "interleaving",
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
else:
    # Signatures and documentation have every option with its default.
    for _name, _stages in {
        "count": ["Log", "Memory", "Count"],
        "doctor": ["Log", "Memory", "Doctor"],
        "drift": ["Drift", "Memory"],
        "evaluate": ["Measure"],
        "evaluate_clicks": ["Clicks"],
        "fit": ["Log", "Memory", "Fit"],
        "generate": ["Generation"],
        "interleaving": ["Interleaving", "Log"],
        "merge": ["Merge", "Memory"],
        "read_dataset": ["Data"],
        "read_splits": ["Data"],
        "read_svmlight": ["Data"],
        "relevance": ["Relevance"],
        "simulate": ["Simulation", "Production"],
    }.items():
        _more = {"events": None} if "Log" in _stages else {}
        globals()[_name] = _with_options(globals()[_name], *_stages, **_more)
    Counts.from_log = staticmethod(_with_options(Counts.from_log, "Log", "Memory", "Count", events=None))
    for _name in ["labels", "to_lightgbm", "to_xgboost"]:
        setattr(Relevance, _name, _with_options(getattr(Relevance, _name), "Export", form=None))
    del _name, _stages, _more


def __getattr__(name):
    # scikit-learn takes a second to import, so that only those who want rankers wait for it.
    if name == "Ranker":
        from ._ranker import Ranker

        return Ranker
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__():
    return sorted({*globals(), *__all__})
