"""The compiled part of truerank."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, Protocol, Union, final

import numpy as np
from typing_extensions import Unpack
from numpy.typing import ArrayLike, NDArray

from ._ranker import Ranker
from ._options import (
    ClickModelOptions,
    ClicksOptions,
    CountOptions,
    DataOptions,
    DoctorOptions,
    DriftOptions,
    ExperimentOptions,
    ExportOptions,
    FitOptions,
    GenerationOptions,
    InterleavingOptions,
    LogOptions,
    MeasureOptions,
    MemoryOptions,
    MergeOptions,
    ProductionOptions,
    RelevanceOptions,
    SimulationOptions,
    TrainingOptions,
)

__version__: str

def _options(stage: str) -> list[tuple[str, Any, str]]: ...

_Path = Union[str, PathLike[str]]
_Progress = Union[bool, Callable[[str, int, int], object], None]
_Ids = NDArray[Any]
_Floats = NDArray[np.float64]

class _Arrow(Protocol):
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...

class _Fitted(Protocol):
    propensities_: Propensities

# pandas' frames have no type of their own here, so that pandas need not be installed.
_Log = Union[_Path, Sequence[_Path], _Arrow, Mapping[str, Any], Any]

_RankerForm = Literal["onnx", "elasticsearch", "opensearch", "lightgbm", "xgboost"]

class _LogOptions(LogOptions, total=False):
    events: str | Mapping[str, str | Sequence[str]] | None

class _CountingOptions(_LogOptions, MemoryOptions, CountOptions, total=False): ...
class _DoctorOptions(_LogOptions, MemoryOptions, DoctorOptions, total=False): ...
class _MergingOptions(MergeOptions, MemoryOptions, total=False): ...
class _DriftOptions(DriftOptions, MemoryOptions, total=False): ...
class _InterleavingOptions(_LogOptions, InterleavingOptions, total=False): ...
class _FitOptions(_LogOptions, MemoryOptions, FitOptions, total=False): ...
class _LabelOptions(ExportOptions, total=False):
    form: Literal["weights", "steps", "gains"] | None

class DataWarning(UserWarning):
    """Documents were read, but not in the order they came in."""
    ...
class LogWarning(UserWarning):
    """A log was read, but not all of it."""
    ...
class PropensityWarning(UserWarning):
    """Propensities were estimated, but something should be known of them."""
    ...

@final
class Table:
    """A table of columns. Polars, PyArrow, DuckDB and others take it as it is (`polars.DataFrame(table)`)."""
    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        ...
    def __len__(self) -> int: ...
    def __getitem__(self, key: str, /) -> NDArray[Any]: ...
    def __eq__(self, value: object, /) -> bool: ...
    def to_pandas(self) -> Any:
        """The table as pandas frame."""
        ...
    def to_polars(self) -> Any:
        """The table as a frame of Polars, without a copy."""
        ...
    def to_arrow(self) -> Any:
        """The table as one of PyArrow, without a copy."""
        ...
    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and columns there are."""
        ...
    def head(self, n: int = 5) -> Table:
        """The first rows."""
        ...
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...
    @staticmethod
    def _restore(name: str, stream: bytes) -> Table: ...
    def _repr_html_(self) -> str: ...

@final
class Dataset:
    """Documents of queries: a matrix of features, and grades where people gave them."""
    @staticmethod
    def from_arrays(
        X: ArrayLike,
        grade: ArrayLike | None = None,
        query: ArrayLike | None = None,
        doc: ArrayLike | None = None,
        *,
        max_grade: int | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> Dataset:
        """A data set from arrays: one row of `X`, and one value of the others, per document."""
        ...
    @staticmethod
    def from_frame(
        frame: Any,
        *,
        query: str = "query",
        doc: str = "doc",
        grade: str = "grade",
        features: Sequence[str] | None = None,
        max_grade: int | None = None,
    ) -> Dataset:
        """A data set from a frame of pandas or Polars with a row per document."""
        ...
    @staticmethod
    def read(path: _Path, **options: Unpack[DataOptions]) -> Dataset:
        """Reads a file: Parquet, or LETOR/SVMlight text. The same as `read_dataset`, which has the options."""
        ...
    @property
    def feature_names(self) -> list[str] | None:
        """The names of the features, or None where they have none."""
        ...
    @property
    def shape(self) -> tuple[int, int]:
        """How many documents and features there are."""
        ...
    def head(self, n: int = 5) -> Dataset:
        """The first documents."""
        ...
    def __getitem__(self, key: Any, /) -> Dataset: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]: ...
    @property
    def features(self) -> NDArray[np.float32]:
        """The features, a row per document: a view that cannot be written to."""
        ...
    @property
    def grades(self) -> NDArray[np.uint8] | None:
        """The grade of each document, or None where nobody gave any."""
        ...
    @property
    def queries(self) -> _Ids:
        """The id of each query."""
        ...
    @property
    def query(self) -> _Ids:
        """The id of each row's query."""
        ...
    @property
    def docs(self) -> _Ids:
        """The id of each row's document."""
        ...
    @property
    def query_sizes(self) -> NDArray[np.int64]:
        """How many documents each query has: what LightGBM calls `group`."""
        ...
    @property
    def feature_count(self) -> int:
        """How many features a document has."""
        ...
    @property
    def query_count(self) -> int:
        """How many queries there are."""
        ...
    def select(self, queries: ArrayLike) -> Dataset:
        """Some of the queries: their numbers, counted from 0, or a mask of all."""
        ...
    def write(self, path: _Path) -> None:
        """Writes the data set: Parquet for `.parquet`, LETOR/SVMlight text otherwise."""
        ...
    def to_pandas(self) -> Any:
        """A pandas frame with a row per document: query, doc, grade, and a column per feature: f1, f2, … where they have no names."""
        ...
    def to_polars(self) -> Any:
        """The same as a frame of Polars."""
        ...
    def to_arrow(self) -> Any:
        """The same as a table of PyArrow."""
        ...
    def __len__(self) -> int: ...
    def __eq__(self, value: object, /) -> bool: ...
    def _repr_html_(self) -> str: ...
    @staticmethod
    def _from_pickle(
        features: Any, grade: Any, query: Any, doc: Any, feature_names: Sequence[str] | None = None
    ) -> Dataset: ...

@final
class Splits:
    """A data set in three parts: `train` to learn from, `validation` to choose by, `test` to judge by."""
    def __new__(cls, train: Dataset, validation: Dataset, test: Dataset) -> Splits: ...
    @property
    def train(self) -> Dataset: ...
    @property
    def validation(self) -> Dataset: ...
    @property
    def test(self) -> Dataset: ...
    @staticmethod
    def read(folder: _Path, **options: Unpack[DataOptions]) -> Splits:
        """Reads a folder with train, vali and test files. The same as `read_splits`, which has the options."""
        ...
    def write(self, folder: _Path, form: Literal["svmlight", "parquet"] = "svmlight") -> None:
        """Writes `train`, `vali` and `test` files into a folder; `form` is `"svmlight"` or `"parquet"`."""
        ...
    def _repr_html_(self) -> str: ...

def read_svmlight(
    path: _Path, **options: Unpack[DataOptions]
) -> Dataset:
    """Reads LETOR/SVMlight text, also compressed."""
    ...
def read_dataset(
    path: _Path, **options: Unpack[DataOptions]
) -> Dataset:
    """Reads a data set file: Parquet, or LETOR/SVMlight text."""
    ...
def read_splits(
    folder: _Path, **options: Unpack[DataOptions]
) -> Splits:
    """Reads a folder with train, vali and test files, or one of the ULTRA toolbox."""
    ...
def split_by_query(data: Dataset, shares: tuple[float, float, float], *, seed: int = 1) -> Splits:
    """Divides queries at random into training, validation and test parts with these shares."""
    ...
def generate(
    preset: Literal["tiny", "small", "yahoo", "baidu", "hard"] | None = None,
    /,
    *,
    progress: _Progress = None, **options: Unpack[GenerationOptions]
) -> Splits:
    """Generates a data set that looks like web search: `tiny`, `small`, `hard`, `yahoo` or `baidu`."""
    ...
def _order_by_query(query: ArrayLike) -> NDArray[np.int64] | None: ...
def _command(arguments: Sequence[str]) -> int: ...
def set_threads(count: int) -> None:
    """Sets how many threads work is spread on; 0 for one per core. Results do not depend on it."""
    ...
def threads() -> int:
    """How many threads work is spread on."""
    ...

@final
class Simulation:
    """A simulated log: what people were shown, what they clicked, and what only a simulation knows."""
    @property
    def propensities(self) -> Propensities:
        """The true examination probabilities of every user; an error where clicks do not come from "pbm"."""
        ...
    @property
    def click_model(self) -> ClickModel:
        """The true click model: how every user browses, and relevance and satisfaction of every document that can be shown."""
        ...
    @property
    def relevance(self) -> _Floats:
        """γ of each row of the training part: the probability that the document is found relevant once it is examined."""
        ...
    @property
    def data(self) -> Dataset:
        """The training part: the documents that are shown."""
        ...
    def log(self, *, progress: _Progress = None) -> Table:
        """The log as a table: session, user, query, doc, position, click."""
        ...
    def counts(self, *, patterns: bool = False, transitions: bool = False) -> Counts:
        """Counts of such a log, drawn without sessions: a billion sessions cost what a million do."""
        ...
    def write(self, path: _Path, *, progress: _Progress = None) -> None:
        """Writes the log (.parquet, .csv or .tsv, text also .gz or .zst), and the truth beside it: the propensities of `clicks.parquet` go to `clicks.propensities.json`, or where clicks do not come from "pbm" the click model to `clicks.click-model.json`. The bytes are those of `truerank simulate`."""
        ...

class _SimulateOptions(SimulationOptions, ProductionOptions, total=False): ...

def simulate(
    data: Dataset | Splits,
    *,
    loggers: Sequence[Any] | None = None,
    max_grade: int | None = None,
    progress: _Progress = None,
    **options: Unpack[_SimulateOptions],
) -> Simulation:
    """Simulates a click log on graded data, by the paper's protocol."""
    ...

def count(
    log: _Log,
    output: _Path,
    *,
    engine: Any = None,
    progress: _Progress = None,
    **options: Unpack[_CountingOptions],
) -> dict[str, Any]:
    """Counts a log into a folder, here or on a Spark cluster: what does not fit into memory as `Counts`."""
    ...
@final
class Counts:
    """How often each user saw and clicked each document of each query at each position: all that estimation needs of a log."""
    @staticmethod
    def from_log(
        log: _Log,
        *,
        progress: _Progress = None,
        **options: Unpack[_CountingOptions],
    ) -> Counts:
        """Counts a log: one row per shown document, clicked or not, or one row per result page with lists."""
        ...
    @staticmethod
    def read(folder: _Path) -> Counts:
        """Reads a folder that `write` or `truerank count` wrote."""
        ...
    def write(self, folder: _Path) -> None:
        """Writes a folder, as `truerank count` does; it appears when it is complete."""
        ...
    @property
    def cells(self) -> Table:
        """The cells, sorted: query, doc, position, user, impressions, clicks. The table is made anew each time."""
        ...
    @property
    def sessions(self) -> Table:
        """How many sessions of each query were by each user: query, user, sessions."""
        ...
    @property
    def transitions(self) -> Table | None:
        """How users went from click to click on each list of results: query, list, user, from_position, to_position, sessions."""
        ...
    @property
    def lists(self) -> Table | None:
        """The documents of the lists that transitions are counted on: query, list, doc, position, and context where that was counted; a row for each document. None where transitions were not counted."""
        ...
    @property
    def summary(self) -> dict[str, Any]:
        """The totals, the rows left out and what should be known, as `truerank count --json` prints them."""
        ...
    @property
    def remarks(self) -> list[str]:
        """What should be known of the log: guessed columns, rows left out."""
        ...
    @property
    def queries(self) -> _Ids:
        """The ids of the queries, sorted."""
        ...
    @property
    def docs(self) -> _Ids:
        """The ids of the documents, sorted. A document may belong to several queries."""
        ...
    @property
    def users(self) -> _Ids:
        """The ids of the users, sorted."""
        ...
    @property
    def contexts(self) -> _Ids:
        """What lists were shown in, sorted; empty where contexts were not counted."""
        ...
    @property
    def session_count(self) -> int:
        """How many sessions there are."""
        ...
    @property
    def impression_count(self) -> int:
        """How many documents were shown, over all sessions."""
        ...
    @property
    def click_count(self) -> int:
        """How many clicks there are."""
        ...
    @property
    def max_position(self) -> int:
        """The largest position at which anything was shown."""
        ...
    @property
    def has_patterns(self) -> bool:
        """Whether clicks that occur together were counted."""
        ...
    def split_queries(self, share: float, *, seed: int = 1) -> tuple[Counts, Counts]:
        """Divides the queries into those to learn from and those held out, about `share` of them."""
        ...
    def to_pandas(self) -> Any:
        """The cells as pandas frame."""
        ...
    def to_polars(self) -> Any:
        """The cells as a frame of Polars."""
        ...
    def to_arrow(self) -> Any:
        """The cells as a table of PyArrow."""
        ...
    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and columns the cells have."""
        ...
    def head(self, n: int = 5) -> Table:
        """The first rows of the cells."""
        ...
    def plot(self, ax: Any = None) -> Any:
        """Plots clicks per impression, and impressions, by position."""
        ...
    def __len__(self) -> int: ...
    def __eq__(self, value: object, /) -> bool: ...
    def _repr_html_(self) -> str: ...

@final
class Propensities:
    """θ: the probability that people, or a certain user, look at a position."""
    @staticmethod
    def from_arrays(
        population: ArrayLike,
        users: ArrayLike | None = None,
        by_user: ArrayLike | None = None,
        *,
        method: str = "given",
        scale: str = "as given",
    ) -> Propensities:
        """Propensities from arrays: θ̄ of positions 1, 2, …, and a row of them for each user who has their own."""
        ...
    @staticmethod
    def read(path: _Path) -> Propensities:
        """Reads a file that `write`, `truerank propensity` or `truerank simulate` wrote, or a hand-written one of this form."""
        ...
    def write(self, path: _Path) -> None:
        """Writes them as JSON, or as Parquet with a row per user where the name ends in `.parquet`: smaller and quicker where users are many."""
        ...
    @property
    def population(self) -> _Floats:
        """θ̄ of positions 1, 2, …: what holds for a user nobody knows."""
        ...
    @property
    def positions(self) -> int:
        """How many positions are known."""
        ...
    @property
    def users(self) -> _Ids:
        """The ids of users with probabilities of their own."""
        ...
    @property
    def by_user(self) -> _Floats | None:
        """Their probabilities: a row per user, a column per position; None where no user has their own."""
        ...
    @property
    def levels(self) -> _Floats | None:
        """The level of each user, in the order of `users`: who *clicks more*, at the top and as a multiple of what people do there; None where no user has probabilities of their own."""
        ...
    @property
    def shapes(self) -> _Floats | None:
        """The shape of each user's probabilities, on the scale of `population`: `by_user` without the level. A row per user, a column per position; None where no user has their own."""
        ...
    @property
    def depths(self) -> _Floats | None:
        """The mean position of each user's shape, in the order of `users`: who *looks deeper*; None where no user has probabilities of their own."""
        ...
    def of_user(self, user: int | str) -> _Floats:
        """The probabilities of one user; of one without their own, the population's."""
        ...
    @property
    def method(self) -> str:
        """How they were found."""
        ...
    @property
    def scale(self) -> str:
        """What fixes their scale: clicks show only products of examination and relevance."""
        ...
    @property
    def standard_errors(self) -> _Floats | None:
        """Standard errors of the population's, or None."""
        ...
    @property
    def user_standard_errors(self) -> _Floats | None:
        """Standard errors of the users', in the form of `by_user`, or None."""
        ...
    @property
    def log_likelihood(self) -> _Floats | None:
        """The mean log-likelihood per impression after each iteration of the fit, or None."""
        ...
    @property
    def converged(self) -> bool | None:
        """Whether the fit converged, or None where there was no fit."""
        ...
    @property
    def clusters(self) -> _Floats | None:
        """The probabilities of each cluster of users, sorted by how far down they look: a row per cluster, or None."""
        ...
    @property
    def cluster_of_user(self) -> NDArray[np.int64] | None:
        """The row of `clusters` that each user belongs to, in the order of `users`, or None."""
        ...
    @property
    def notes(self) -> list[str]:
        """What should be known: what could not be compared, what was assumed."""
        ...
    def error_against(self, truth: Propensities | _Fitted, counts: Counts) -> dict[str, float | None]:
        """Mean relative errors of these, `|found/truth − 1|`, against others that are taken for the truth."""
        ...
    @property
    def table(self) -> Table:
        """A row per user and position: user, position, propensity, the level and the shape it is the product of, standard_error."""
        ...
    def to_pandas(self) -> Any:
        """The table as pandas frame."""
        ...
    def to_polars(self) -> Any:
        """The rows of `table` as a frame of Polars."""
        ...
    def to_arrow(self) -> Any:
        """The rows of `table` as a table of PyArrow."""
        ...
    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and columns the rows of `table` have."""
        ...
    def head(self, n: int = 5) -> Table:
        """The first rows of the rows of `table`."""
        ...
    def plot(self, ax: Any = None) -> Any:
        """Plots examination by position: of all users, and of kinds of users or single users where there are any."""
        ...
    def __getitem__(self, key: int | str, /) -> _Floats: ...
    def __contains__(self, key: int | str, /) -> bool: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __eq__(self, value: object, /) -> bool: ...
    def _repr_html_(self) -> str: ...

def relevance(
    counts: Counts | _Path,
    propensities: Propensities | _Fitted | ClickModel,
    *,
    data: Dataset | Splits | None = None,
    engine: Any = None,
    progress: _Progress = None,
    **options: Unpack[RelevanceOptions],
) -> Relevance:
    """Turns counts into relevance weights, corrected for who examines what."""
    ...

@final
class ClickModel:
    """A fitted click model: relevance of documents, and how people go down a page."""
    @staticmethod
    def read(path: _Path) -> ClickModel:
        """Reads a file that `write` or `truerank click-model` wrote."""
        ...
    def write(self, path: _Path) -> None:
        """Writes it as JSON."""
        ...
    @property
    def kinds(self) -> list[dict[str, Any]]:
        """Kinds of users, each with its model, its share of users and its parameters by name."""
        ...
    @property
    def users(self) -> _Ids:
        """The users who are told apart."""
        ...
    @property
    def by_user(self) -> _Floats | None:
        """For each user the parameters, or where there are kinds of users the probability of each; None where all are alike. The truth of a simulation has the kind of each user, with probability 1."""
        ...
    @property
    def contexts(self) -> _Ids:
        """What pages are shown in, where parameters differ by it."""
        ...
    @property
    def by_context(self) -> _Floats | None:
        """For each context the parameters; None where they are the same in all."""
        ...
    @property
    def documents(self) -> Table:
        """A row per document: query, doc, attraction, and satisfaction where the model has it."""
        ...
    def predict(self, counts: Counts) -> Table:
        """What it says of every document of a log, by user and last click above: how often it was seen and clicked there, its exposure, and the probability of a click."""
        ...
    def exposure(self, counts: Counts) -> Table:
        """The exposure of every document of a log, `E = Σ n·ε`: how often it was examined, given the clicks above and the user."""
        ...
    def measure(self, counts: Counts) -> dict[str, Any]:
        """Log-likelihood, perplexity and conditional perplexity of a log, as PyClick and CLAX define them."""
        ...
    @property
    def converged(self) -> bool:
        """Whether the fit converged."""
        ...
    @property
    def notes(self) -> list[str]:
        """What a reader should know."""
        ...

def _fit_click_model(
    counts: Counts,
    data: Dataset | Splits | None,
    *,
    progress: _Progress,
    **options: Unpack[ClickModelOptions],
) -> ClickModel: ...

@final
class Relevance:
    """The relevance weight of every shown document of every query: what a ranker learns from."""
    @staticmethod
    def read(path: _Path) -> Relevance:
        """Reads a file that `write` or `truerank relevance` wrote."""
        ...
    @staticmethod
    def of_behaviours(parts: Sequence[tuple[Relevance, float]]) -> Relevance:
        """Relevance by several behaviours on the same pages, such as clicks and purchases: a list of pairs of relevance and what it is worth."""
        ...
    def write(self, path: _Path) -> None:
        """Writes them as Parquet."""
        ...
    @property
    def table(self) -> Table:
        """A row per shown document, sorted: query, doc, weight, impressions, clicks, exposure, variance."""
        ...
    @property
    def weights(self) -> _Floats:
        """The weights, in the order of `table`: estimates of the probability that a document is relevant."""
        ...
    @property
    def estimator(self) -> str:
        """The name of the estimator."""
        ...
    @property
    def beta(self) -> float | None:
        """The strength of smoothing, or None."""
        ...
    @property
    def shrink(self) -> float | None:
        """How strongly weights were pulled toward the prior, or None."""
        ...
    def on(self, data: Dataset) -> _Floats:
        """The weight of each document of a data set; not a number where it was never shown."""
        ...
    def diagnostics(self) -> dict[str, Any]:
        """How much the weights depend on few clicks, as `truerank relevance --diagnostics --json` says it."""
        ...
    def labels(
        self,
        data: Dataset | Splits,
        *,
        to: Literal["lightgbm", "xgboost"] = "lightgbm",
        max_grade: int | None = None,
        **options: Unpack[_LabelOptions],
    ) -> Labels:
        """The weights as labels for the training part of `data`, for LightGBM or (`to="xgboost"`) XGBoost."""
        ...
    def to_lightgbm(
        self,
        data: Dataset | Splits,
        *,
        feature_names: Sequence[str] | None = None,
        max_grade: int | None = None,
        **options: Unpack[_LabelOptions],
    ) -> tuple[dict[str, Any], Any]:
        """Parameters and a `lightgbm.Dataset` of the training part of `data`, as `lightgbm.train` takes them."""
        ...
    def to_xgboost(
        self,
        data: Dataset | Splits,
        *,
        feature_names: Sequence[str] | None = None,
        max_grade: int | None = None,
        **options: Unpack[_LabelOptions],
    ) -> tuple[dict[str, Any], Any]:
        """Parameters and an `xgboost.DMatrix` of the training part of `data`, as `xgboost.train` takes them."""
        ...
    def to_pandas(self) -> Any:
        """The table as pandas frame."""
        ...
    def to_polars(self) -> Any:
        """The weights as a frame of Polars."""
        ...
    def to_arrow(self) -> Any:
        """The weights as a table of PyArrow."""
        ...
    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and columns the weights have."""
        ...
    def head(self, n: int = 5) -> Table:
        """The first rows of the weights."""
        ...
    def plot(self, ax: Any = None) -> Any:
        """Plots how many documents have which weight."""
        ...
    def __len__(self) -> int: ...
    def __eq__(self, value: object, /) -> bool: ...
    def _repr_html_(self) -> str: ...

@final
class Labels:
    """Labels of the documents that were shown, for trainers of trees."""
    @property
    def rows(self) -> NDArray[np.int64]:
        """The rows of the data set that have a label: those of documents that were shown."""
        ...
    @property
    def label(self) -> _Floats:
        """Their labels."""
        ...
    @property
    def weight(self) -> _Floats | None:
        """How much each of them is to count, or None where all count alike."""
        ...
    @property
    def group(self) -> NDArray[np.int64]:
        """How many of the rows each query has, for queries with any."""
        ...
    @property
    def params(self) -> dict[str, Any]:
        """The parameters with which a trainer reads the labels as they are meant."""
        ...
    @property
    def by_row(self) -> _Floats:
        """One label per row of the data set, NaN for documents that were never shown."""
        ...
    def __len__(self) -> int: ...
    @staticmethod
    def _restore(kept: Any) -> Labels: ...

def pair_weights(
    counts: Counts,
    propensities: Propensities | _Fitted,
    ratio: Literal["prs", "prs-by-score", "prs-by-user"] | None = None,
) -> PairWeights:
    """Weighs pairs of a clicked and an unclicked document by propensity ratios, for the PRS loss (Wang et al. 2021)."""
    ...

@final
class PairWeights:
    """How much each pair of documents of each query says that the first is better: what the PRS loss learns from."""
    @property
    def ratio(self) -> str:
        """What weighs a pair: `"prs"`, `"prs-by-score"` or `"prs-by-user"`."""
        ...
    @property
    def queries(self) -> _Ids:
        """The ids of the queries, sorted."""
        ...
    def of_query(self, query: int | str, *, scored_below: bool = False) -> tuple[_Ids, _Floats]:
        """The shown documents of a query, and a matrix: entry (i, j) is the weight of "document i clicked, document j not"."""
        ...
    def __len__(self) -> int: ...
    def __eq__(self, value: object, /) -> bool: ...
    @staticmethod
    def _restore(ratio: str, queries: Any, docs: Any, by_query: Any) -> PairWeights: ...

def _estimate_examination(
    counts: Counts | _Path,
    data: Dataset | Splits | None,
    *,
    user_features: _Path | tuple[ArrayLike, ArrayLike] | None,
    ranker: _Path | None,
    engine: Any,
    progress: _Progress,
    **options: Any,
) -> tuple[Propensities, list[dict[str, Any]]]: ...

# Rankers

@final
class TrainedRanker:
    """A trained ranker without scikit-learn's interface: what `Ranker.trained_` is."""
    @property
    def feature_count(self) -> int:
        """How many features a document must have."""
        ...
    @property
    def form(self) -> str:
        """The form of the ranker: `linear`, `mlp:…`, `trees`, or `weights` where it is a weight for each raw feature."""
        ...
    @property
    def record(self) -> dict[str, Any]:
        """How it was trained."""
        ...
    @property
    def unmatched(self) -> tuple[int, int]:
        """Queries, and documents of the others, that had weights but are not in the data it was trained on."""
        ...
    @property
    def coefficients(self) -> tuple[NDArray[np.float32], float] | None:
        """The weight of each feature and what is added to every score, or None where scores are not linear."""
        ...
    def score(self, X: Dataset | ArrayLike) -> NDArray[np.float32]:
        """The score of each document of a data set, or of each row of a matrix; higher ranks earlier."""
        ...
    def importance(
        self, data: Dataset, *, seed: int | None = None, progress: _Progress = None
    ) -> list[dict[str, Any]]:
        """How much each feature matters: a dict per feature, counted from 1, in their order."""
        ...
    def partial_dependence(
        self, data: Dataset, feature: int, *, seed: int | None = None
    ) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Values of a feature, counted from 1, and the mean score of documents if all had that value."""
        ...
    def write(self, path: _Path) -> None:
        """Writes the ranker as safetensors, as `truerank train` does."""
        ...
    @staticmethod
    def read(path: _Path) -> TrainedRanker:
        """Reads a ranker that `write` or `truerank train` wrote."""
        ...
    def export(
        self, path: _Path, to: _RankerForm, *, name: str | None = None, feature_names: Sequence[str] | None = None
    ) -> None:
        """Writes the ranker for another program: `onnx`, `elasticsearch` (also for OpenSearch; of trees and plain weights), and of trees the models of `lightgbm` and `xgboost`."""
        ...
    def to_bytes(self) -> bytes:
        """The bytes of its file."""
        ...
    @staticmethod
    def from_bytes(bytes: bytes) -> TrainedRanker:
        """A ranker from the bytes of its file."""
        ...
    def _repr_html_(self) -> str: ...

def train_ranker(
    data: Dataset,
    y: Relevance | PairWeights | ArrayLike | None = None,
    validation: Dataset | None = None,
    *,
    validation_measure: str | None = None,
    max_grade: int | None = None,
    progress: _Progress = None,
    **options: Unpack[TrainingOptions],
) -> TrainedRanker:
    """Trains a ranker as `truerank train` does, with its options as keywords; None is the default of each."""
    ...

# Evaluation

@final
class Evaluation:
    """The values of measures for every query: a mapping from a measure to its mean."""
    @property
    def measures(self) -> list[str]:
        """What was measured."""
        ...
    @property
    def queries(self) -> NDArray[Any]:
        """The id of each query."""
        ...
    @property
    def against(self) -> Evaluation | None:
        """The evaluation of what `against` named."""
        ...
    def per_query(self, measure: str) -> NDArray[np.float64]:
        """The value of a measure for each query; NaN where a query was left out."""
        ...
    def compare(self, other: Evaluation) -> Table:
        """Compares with another evaluation of the same queries: means, difference, and t and p of a paired t-test."""
        ...
    def to_dict(self, *, per_query: bool = False) -> list[dict[str, Any]]:
        """A dict for each measure, as in `truerank evaluate --json`: its mean, with `against` also difference, t and p."""
        ...
    def to_pandas(self) -> Any:
        """A pandas frame with a row per query and a column per measure."""
        ...
    def to_polars(self) -> Any:
        """The frame as one of Polars."""
        ...
    def to_arrow(self) -> Any:
        """The frame as a table of PyArrow."""
        ...
    def plot(self, ax: Any = None) -> Any:
        """Plots the mean of each measure with its 95 % interval over queries; with `against` the differences."""
        ...
    @staticmethod
    def _restore(measures: Any, values: Any, queries: Any, against: Any) -> Evaluation: ...
    def keys(self) -> list[str]: ...
    def values(self) -> list[float]: ...
    def items(self) -> list[tuple[str, float]]: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    def __contains__(self, measure: str, /) -> bool: ...
    def __getitem__(self, measure: str, /) -> float: ...
    def _repr_html_(self) -> str: ...

@final
class ClickEvaluation:
    """What the clicks of a log say about a ranking, with 95 % intervals over queries: a mapping from a measure to its value."""
    @property
    def measures(self) -> list[str]:
        """What was measured."""
        ...
    def interval(self, measure: str) -> tuple[float, float]:
        """The lower and upper end of a measure's interval."""
        ...
    def per_query(self, measure: str) -> NDArray[np.float64]:
        """The value of a measure for each judged query; NaN where it has none."""
        ...
    @property
    def as_shown(self) -> dict[str, float]:
        """The values of the pages as they were shown, by measure."""
        ...
    @property
    def candidates(self) -> dict[str, float]:
        """The values of one order of all documents of each query, by measure; what was never shown earns nothing. Compare rankers by them, and not with `as_shown`."""
        ...
    def to_dict(self) -> dict[str, Any]:
        """All of it, as `clicks` in `truerank evaluate --clicks --json`."""
        ...
    def plot(self, ax: Any = None) -> Any:
        """Plots each measure with its 95 % interval over queries, beside the pages as they were shown."""
        ...
    @staticmethod
    def _restore(kept: Any) -> ClickEvaluation: ...
    def keys(self) -> list[str]: ...
    def values(self) -> list[float]: ...
    def items(self) -> list[tuple[str, float]]: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    def __contains__(self, measure: str, /) -> bool: ...
    def __getitem__(self, measure: str, /) -> float: ...
    def _repr_html_(self) -> str: ...

@final
class TTest:
    """A paired two-sided t-test."""
    @property
    def difference(self) -> float:
        """Mean of the differences, first minus second."""
        ...
    @property
    def t(self) -> float:
        """Student's t."""
        ...
    @property
    def degrees(self) -> int:
        """Degrees of freedom: pairs less one."""
        ...
    @property
    def p(self) -> float:
        """The probability of a difference at least this large by chance."""
        ...
    @staticmethod
    def _restore(difference: float, t: float, degrees: int, p: float) -> TTest: ...

def evaluate(
    data: Dataset | ArrayLike,
    scores: Any,
    *,
    query: ArrayLike | None = None,
    max_grade: int | None = None,
    against: Any = None,
    **options: Unpack[MeasureOptions],
) -> Evaluation:
    """Computes measures of rankings by human grades."""
    ...
def paired_t_test(a: ArrayLike, b: ArrayLike) -> TTest | None:
    """Tests whether `a` and `b`, paired by place, differ in mean; None with fewer than two pairs. Pairs with NaN are left out."""
    ...
def write_run(data: Dataset, scores: Any, path: _Path, *, tag: str = "truerank") -> None:
    """Writes each query's ranked list: Parquet for `.parquet`, otherwise a TREC run (`query Q0 doc rank score tag`)."""
    ...
def evaluate_clicks(
    data: Dataset,
    scores: Any,
    counts: Counts,
    propensities: Propensities | _Fitted,
    *,
    against: Any = None,
    measures: str | Sequence[str] | None = None,
    train_counts: Counts | None = None,
    allow_shared_queries: bool = False,
    **options: Unpack[ClicksOptions],
) -> ClickEvaluation:
    """Judges rankings by the clicks of a log that they did not learn from, as `truerank evaluate --clicks` does."""
    ...

# Experiments

@final
class Results:
    """What an experiment found: claims of the paper with verdicts, and the tables behind them."""
    @staticmethod
    def read(folder: _Path) -> Results:
        """Reads a folder of results, finished or not, as `truerank report` does."""
        ...
    @property
    def claims(self) -> list[dict[str, Any]]:
        """What the paper says and what we add: each claim with its question, its verdict (yes, no or open), p, and its comparisons."""
        ...
    @property
    def tables(self) -> dict[str, Any]:
        """Every table as a pandas frame, by name."""
        ...
    @property
    def missing_runs(self) -> int:
        """How many runs are still to be made."""
        ...
    @property
    def text(self) -> str:
        """What `truerank experiment` prints."""
        ...
    @property
    def html(self) -> str:
        """The whole report as one page that needs no network."""
        ...
    def to_dict(self) -> dict[str, Any]:
        """Claims and tables, as `truerank experiment --json` prints them."""
        ...
    def report(self, folder: _Path) -> None:
        """Writes report.html, figures and tables into a folder."""
        ...
    @staticmethod
    def _restore(known: Any, page: Any) -> Results: ...
    def _repr_html_(self) -> str: ...

def run_experiment(
    questions: str | Sequence[str] | None = None,
    *,
    config: _Path | None = None,
    data: _Path | None = None,
    log: _Path | Sequence[_Path] | None = None,
    folder: _Path | None = None,
    progress: _Progress = None,
    **options: Unpack[ExperimentOptions],
) -> Results:
    """Asks the paper's questions, as `truerank experiment` does; see `truerank.experiment.run`."""
    ...

# Logs of one's own

@final
class Diagnosis:
    """What a log is fit for, and why."""
    @property
    def is_fit(self) -> bool | None:
        """Whether the log is fit to learn from; None where that cannot be told."""
        ...
    @property
    def personalized_bias(self) -> bool | None:
        """Whether users differ both in what they search for and in how they look, so much that it matters; None where that cannot be told."""
        ...
    @property
    def click_model(self) -> str | None:
        """The click model that suits the log: `"pbm"` where none is better by so much that it matters, None where that cannot be told. `to_dict` has the comparison."""
        ...
    @property
    def findings(self) -> list[dict[str, str]]:
        """What to know, problems first: dicts with severity, text and help."""
        ...
    @property
    def recommendation(self) -> dict[str, str | bool]:
        """The estimator that suits the log, whether it is the default, and why."""
        ...
    @property
    def remarks(self) -> list[str]:
        """What should be known of the log's rows and columns."""
        ...
    @property
    def html(self) -> str:
        """The whole report as one page that needs no network."""
        ...
    def to_dict(self) -> dict[str, Any]:
        """All of it, as `truerank doctor --json` prints it."""
        ...
    def report(self, folder: _Path) -> None:
        """Writes report.html, figures and tables into a folder."""
        ...
    def plot(self, ax: Any = None) -> Any:
        """Plots clicks per impression by position."""
        ...
    @staticmethod
    def _restore(known: Any, page: Any) -> Diagnosis: ...
    def _repr_html_(self) -> str: ...

def doctor(
    log: Counts | _Log,
    data: Dataset | Splits | None = None,
    *,
    progress: _Progress = None,
    **options: Unpack[_DoctorOptions],
) -> Diagnosis:
    """Examines a click log: what is in it, whether it is fit, whether users bias it, which estimator suits it."""
    ...
def interleaving(log: _Log, **options: Unpack[_InterleavingOptions]) -> dict[str, Any]:
    """Judges two rankers by the result pages of team-draft interleaving: a dict, as `truerank interleaving --json` prints it."""
    ...
def merge(
    folders: Sequence[_Path],
    output: _Path,
    *,
    progress: _Progress = None,
    **options: Unpack[_MergingOptions],
) -> dict[str, Any]:
    """Adds counts of several logs into a folder: byte for byte that of counting all logs at once."""
    ...
@final
class Comparison:
    """What changed between two logs, or two estimates of examination."""
    @property
    def drifted(self) -> bool | None:
        """Whether anything drifted; None where that cannot be told."""
        ...
    @property
    def changes(self) -> list[dict[str, Any]]:
        """What may have changed: dicts with aspect, old, new, difference, standard_error, p, corrected_p and drifted."""
        ...
    def to_dict(self) -> dict[str, Any]:
        """All of it, as `truerank drift --json` prints it."""
        ...
    def report(self, folder: _Path) -> None:
        """Writes report.html, figures and tables into a folder."""
        ...
    @property
    def html(self) -> str:
        """The whole report as one page that needs no network."""
        ...
    @staticmethod
    def _restore(known: Any, page: Any) -> Comparison: ...
    def _repr_html_(self) -> str: ...

def drift(
    old: Counts | Propensities | _Path,
    new: Counts | Propensities | _Path,
    *,
    progress: _Progress = None,
    **options: Unpack[_DriftOptions],
) -> Comparison:
    """Compares two logs: what changed by more than chance, and by enough to matter."""
    ...
@final
class FitOutcome:
    """All that was learned from a log, and how good it is."""
    @property
    def diagnosis(self) -> Diagnosis:
        """What was found out about the part of the log that was learned from."""
        ...
    @property
    def propensities(self) -> Propensities:
        """Who looks where."""
        ...
    @property
    def click_model(self) -> ClickModel | None:
        """The click model that corrected clicks; None where they were corrected by the examination of positions."""
        ...
    @property
    def relevance(self) -> Relevance:
        """What is relevant."""
        ...
    @property
    def ranker(self) -> Ranker | None:
        """The ranker; None where there were no features."""
        ...
    @property
    def html(self) -> str:
        """The whole report as one page that needs no network."""
        ...
    def to_dict(self) -> dict[str, Any]:
        """All of it, as `truerank fit --json` prints it."""
        ...
    def report(self, folder: _Path) -> None:
        """Writes report.html, figures and tables into a folder."""
        ...
    def plot(self, ax: Any = None) -> Any:
        """Plots what held-out clicks say of the ranker and of the pages as they were shown; without a ranker, examination by position."""
        ...
    @staticmethod
    def _restore(known: Any, page: Any) -> FitOutcome: ...
    def _repr_html_(self) -> str: ...

def fit(
    log: Counts | _Log,
    data: Dataset | Splits | None = None,
    output: _Path | None = None,
    *,
    propensities: Propensities | _Fitted | None = None,
    warm: _Path | None = None,
    max_grade: int | None = None,
    progress: _Progress = None,
    **options: Unpack[_FitOptions],
) -> FitOutcome:
    """Goes all the way from a click log to a ranker, and judges it on a part of the log that was held out."""
    ...
