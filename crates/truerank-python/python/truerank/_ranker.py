"""Rankers with the interface of scikit-learn's estimators, with or without scikit-learn."""

from __future__ import annotations

import html
from os import PathLike
from typing import TYPE_CHECKING, Any, Callable

from ._params import Params, takes
from ._truerank import (
    Dataset,
    PairWeights,
    Relevance,
    Splits,
    TrainedRanker,
    _order_by_query,
    evaluate,
    train_ranker,
)

if TYPE_CHECKING:
    from numpy import float32, float64
    from numpy.typing import ArrayLike, NDArray

    from typing_extensions import Unpack

    from ._options import TrainingOptions
    from ._truerank import Evaluation, _RankerForm

    class _RankerOptions(TrainingOptions, total=False):
        validation_measure: str | None
        max_grade: int | None


class NotFitted(ValueError, AttributeError):
    """A ranker is used before it was fitted: what is raised where there is no scikit-learn."""


try:
    from sklearn.base import BaseEstimator as _Base
    from sklearn.exceptions import NotFittedError
except ImportError:
    _Base = Params  # type: ignore[assignment,misc]
    NotFittedError = NotFitted


@takes("Training", first="model", validation_measure=None, max_grade=None)
class Ranker(_Base):
    """Learns to rank from relevance weights, click pairs or human grades, as ``truerank train`` does.

    The same data, parameters and seed give the same bytes as the command line. Parameters are the options of training;
    None is the default of each, which for some depends on the model.

    Parameters
    ----------
    {options}
    validation_measure : What ``validation`` is judged by, such as nDCG@10 (by default: nDCG@5)
    max_grade : The highest grade of the scale (by default: 4)

    Attributes
    ----------
    n_features_in_ : int
        How many features documents have.
    feature_names_in_ : array of str
        The columns of the frame it was fitted on, where it was one.
    record_ : dict
        How training went: losses, validation values, steps, what it learned from.
    unmatched_ : tuple
        Queries, and documents of the others, that had weights but are not in the data.
    trained_ : TrainedRanker
        The ranker itself.

    Examples
    --------
    >>> data = truerank.generate("tiny")
    >>> ranker = truerank.Ranker(model="linear").fit(data)
    >>> ranker.record_["notes"]
    [['source', 'human grades']]
    >>> ranker.score(data.test) > 0.5
    True
    >>> len(ranker.predict(data.test)) == len(data.test)
    True
    """

    if TYPE_CHECKING:

        def __init__(self, *args: str, **options: Unpack[_RankerOptions]) -> None: ...

    def fit(
        self,
        X: Dataset | Splits | ArrayLike,
        y: Relevance | PairWeights | ArrayLike | None = None,
        *,
        query: ArrayLike | None = None,
        validation: Dataset | tuple[ArrayLike, ArrayLike, ArrayLike] | None = None,
        progress: bool | Callable[[str, int, int], object] | None = False,
    ) -> Ranker:
        """Trains on documents.

        Parameters
        ----------
        X : Dataset, Splits or matrix
            Documents. Of ``Splits``, the training part; its validation part then validates, unless another is given. A
            matrix has a row per document and needs ``query``.
        y : Relevance, PairWeights, array or None
            What to learn from: relevance weights, click pairs by the PRS loss, a weight of each row as it is (NaN where
            the document was not shown), or None for the grades of the data set. Whole numbers in an array are weights too;
            only svm-rank, which learns from nothing else, takes them as grades.
        query : array
            The id of each row's query, for a matrix. Where it is left out, ``y`` may carry them: a pandas series whose index is
            called ``query``. scikit-learn's cross-validation and pipelines hand that on without metadata routing.
        validation : Dataset, tuple or None
            Graded documents that choose among the parameters met in training: a data set or ``(X, grade, query)``.
        progress : bool or callable
            Shows how far training is.
        """
        data, y, given = _documents(self, X, y, query)
        graded = _validation(self, validation if validation is not None else given)
        names = _feature_names(data)
        trained = train_ranker(data, y, graded, progress=progress, **self.get_params(deep=False))
        _keep(self, trained, names)
        return self

    def predict(self, X: Dataset | ArrayLike) -> NDArray[float32]:
        """The score of each document of a data set or row of a matrix; higher ranks earlier."""
        trained = _trained(self)
        _check_features(self, X)
        return trained.score(X)

    def score(
        self, X: Dataset | ArrayLike, y: ArrayLike | None = None, *, query: ArrayLike | None = None
    ) -> float:
        """The mean nDCG@5 on graded documents: a data set, or a matrix with grades ``y`` and ``query``.

        As in ``fit``, ``y`` may carry the queries in its index. Of ``Splits`` the test part is judged.
        """
        trained = _trained(self)
        measure = "nDCG@5"
        if isinstance(X, Splits):
            X = X.test
        if isinstance(X, Dataset):
            return evaluate(X, trained.score(X), measures=measure, max_grade=self.max_grade)[measure]
        if y is None:
            raise ValueError("y is missing, but a matrix has no grades of its own")
        query = _query_of(y, query)
        return evaluate(y, self.predict(X), query=query, measures=measure, max_grade=self.max_grade)[measure]

    def evaluate(self, data: Dataset, **options: Any) -> Evaluation:
        """Evaluates the ranker on a data set: ``truerank.evaluate(data, self, …)``."""
        return evaluate(data, self, **{"max_grade": self.max_grade, **options})

    def importance(self, data: Dataset, *, seed: int | None = None) -> list[dict[str, Any]]:
        """How much each feature matters: a dict per feature, in their order, as ``truerank explain --json`` has them.

        ``order_change`` is the share of pairs of documents that change their order when the feature's values are exchanged at
        random between the documents of a query, ``half_width`` that of its 95 % interval, and ``ndcg_loss`` how much nDCG@10 is
        lower then, where documents have grades. Trees have ``gain`` (a share) and ``splits``, linear rankers ``weight``.
        Features are numbers, counted from 1, or the names of the frame that was fitted on.

        Examples
        --------
        >>> data = truerank.generate("tiny")
        >>> ranker = truerank.Ranker(model="linear-raw").fit(data)
        >>> found = ranker.importance(data.test)
        >>> first = max(found, key=lambda feature: feature["order_change"])
        >>> values, scores = ranker.partial_dependence(data.test, first["feature"])
        >>> len(values) == len(scores)
        True
        """
        found = _trained(self).importance(data, seed=seed)
        names = getattr(self, "feature_names_in_", None)
        if names is not None:
            found = [{**feature, "feature": name} for feature, name in zip(found, names)]
        return found

    def partial_dependence(
        self, data: Dataset, feature: int | str, *, seed: int | None = None
    ) -> tuple[NDArray[float32], NDArray[float64]]:
        """Values of a feature, and the mean score of documents if all of them had that value.

        Values are up to 20 quantiles of the feature. ``feature`` is its number, counted from 1, or its name in the frame that was fitted on.
        """
        if isinstance(feature, str):
            names = list(getattr(self, "feature_names_in_", []))
            if feature not in names:
                raise ValueError(f"feature is {feature!r}, but should be a number from 1 or a name that was fitted on")
            feature = names.index(feature) + 1
        return _trained(self).partial_dependence(data, feature, seed=seed)

    def write(self, path: str | PathLike[str]) -> None:
        """Writes the ranker as safetensors: the same file as ``truerank train`` writes."""
        _trained(self).write(path)

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Ranker:
        """Reads a ranker that ``write`` or ``truerank train`` wrote. Parameters of training are not kept in files."""
        ranker = cls()
        _keep(ranker, TrainedRanker.read(path), None)
        return ranker

    def export(
        self,
        path: str | PathLike[str],
        to: _RankerForm = "onnx",
        *,
        name: str | None = None,
        feature_names: list[str] | None = None,
    ) -> None:
        """Writes the ranker for another program.

        Parameters
        ----------
        path : path
            The file to write.
        to : str
            ``onnx``; ``elasticsearch``, also for OpenSearch, for trees, linear-raw and svm-rank; for trees also ``lightgbm`` and
            ``xgboost``, models that ``lightgbm.Booster`` and ``xgboost.Booster`` load.
        name : str
            For ``elasticsearch``: the name of the model (by default: that of the file).
        feature_names : list of str
            For all but ``onnx``: the names of the features (by default: those of the frame it was fitted on, else f1, f2, …).
        """
        if to != "onnx" and feature_names is None and hasattr(self, "feature_names_in_"):
            feature_names = list(self.feature_names_in_)
        _trained(self).export(path, to, name=name, feature_names=feature_names)

    @property
    def coef_(self) -> NDArray[float32]:
        """The weight of each feature, where scores are linear: of raw ones, or with scaling rank or paper of scaled ones."""
        return _coefficients(self)[0]

    @property
    def intercept_(self) -> float:
        """What is added to every score, where scores are linear."""
        return _coefficients(self)[1]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.positive_only = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.model == "trees"
        return tags

    def __sklearn_is_fitted__(self):
        return hasattr(self, "trained_")

    def _repr_html_(self):
        if not hasattr(self, "trained_"):
            return f"<pre>{html.escape(repr(self), quote=False)}</pre>"
        return self.trained_._repr_html_()

    def _repr_mimebundle_(self, **_):
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


def of_trained(trained, names=None):
    """A ranker that was trained elsewhere."""
    ranker = Ranker()
    _keep(ranker, trained, _as_array(names))
    return ranker


def _keep(ranker, trained, names):
    ranker.trained_ = trained
    ranker.n_features_in_ = trained.feature_count
    ranker.record_ = trained.record
    ranker.unmatched_ = trained.unmatched
    if names is not None:
        ranker.feature_names_in_ = names
    elif hasattr(ranker, "feature_names_in_"):
        del ranker.feature_names_in_


def _documents(ranker, X, y, query):
    """The documents to learn from, what is known of their relevance, and documents to validate by."""
    if isinstance(X, (Dataset, Splits)):
        if query is not None:
            raise ValueError("a data set knows its queries; leave out query")
        return (X.train, y, X.validation) if isinstance(X, Splits) else (X, y, None)
    _check_shape(X)
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None: a matrix has no grades of its own")
    query = _query_of(y, query)
    if ranker.model == "svm-rank":
        return Dataset.from_arrays(X, y, query, max_grade=ranker.max_grade), None, None
    return Dataset.from_arrays(X, query=query), _in_order(y, query), None


def _query_of(y, query):
    """The queries of rows: those that were given, or those that the index of ``y`` holds."""
    if query is None and getattr(getattr(y, "index", None), "name", None) == "query":
        return y.index.to_numpy()
    if query is None:
        raise ValueError(
            "query is missing, but every row needs the id of its query; pass query=, or y as a pandas series whose index is "
            "called 'query'"
        )
    return query


def _in_order(y, query):
    """Weights of rows as the data set has the rows: rows of a query together."""
    import numpy

    order = None if isinstance(y, (Relevance, PairWeights)) else _order_by_query(query)
    return y if order is None else numpy.asarray(y)[order]


def _validation(ranker, validation):
    if validation is None or isinstance(validation, Dataset):
        return validation
    if isinstance(validation, tuple) and len(validation) == 3:
        X, grade, query = validation
        return Dataset.from_arrays(X, grade, query, max_grade=ranker.max_grade)
    raise TypeError("validation should be a Dataset or a tuple (X, grade, query)")


def _feature_names(X):
    """The names of a data set's features, or of a frame's columns, where all are text."""
    if isinstance(X, Dataset):
        return _as_array(X.feature_names)
    columns = getattr(X, "columns", None)
    if columns is None or not all(isinstance(column, str) for column in columns):
        return None
    return _as_array(columns)


def _as_array(names):
    """Names as scikit-learn keeps them."""
    import numpy

    return None if names is None else numpy.asarray(list(names), dtype=object)


def _check_features(ranker, X):
    """Refuses other features than those that were learned from."""
    known, names = getattr(ranker, "feature_names_in_", None), _feature_names(X)
    if known is not None and names is not None and list(known) != list(names):
        raise ValueError(
            "The feature names should match those that were passed during fit: "
            f"those were {', '.join(known)}, but these are {', '.join(names)}"
        )
    if not isinstance(X, Dataset):
        _check_shape(X)
    count = X.feature_count if isinstance(X, Dataset) else _columns(X)
    if count is not None and count != ranker.n_features_in_:
        name, expected = type(ranker).__name__, ranker.n_features_in_
        raise ValueError(f"X has {count} features, but {name} is expecting {expected} features as input")


def _check_shape(X):
    """Refuses what is no matrix of real numbers, in scikit-learn's words."""
    import numpy

    if numpy.iscomplexobj(X):
        raise ValueError("Complex data not supported: features are real numbers")
    if numpy.ndim(X) == 1:
        raise ValueError("Expected 2D array, got 1D array instead: X has a row per document. Reshape your data")


def _columns(X):
    shape = getattr(X, "shape", None)
    return shape[1] if shape is not None and len(shape) == 2 else None


def _trained(ranker):
    if not hasattr(ranker, "trained_"):
        name = type(ranker).__name__
        raise NotFittedError(f"This {name} instance is not fitted yet. Call 'fit' with appropriate arguments first.")
    return ranker.trained_


def _coefficients(ranker):
    found = _trained(ranker).coefficients
    if found is None:
        raise AttributeError(f"scores of {ranker.trained_.form} are not linear, so they have no coefficients")
    return found
