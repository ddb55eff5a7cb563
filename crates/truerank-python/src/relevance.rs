//! Relevance: clicks, corrected for who examines what.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use truerank::click_model::ClickModel;
use truerank::counts::Counts;
use truerank::data::Dataset;
use truerank::ids::IdIndex;
use truerank::progress::Silent;
use truerank::propensity::Propensities;
use truerank::ranker::{Export, ExportFormat, LabelSummary, TrainingLabels, Unmatched, Writes};
use truerank::relevance::{
    Diagnostics, Estimation, KnownLog, PairRatio, PairWeights, QueryPairs, Relevance, RelevanceOptions, ScoredPairs,
    Weight,
};
use truerank::report::{Axis, Figure, Format, Point};
use truerank::spark::SparkRelevance;

use crate::click_model::PyClickModel;
use crate::counts::{PyCounts, folder_of_counts};
use crate::dataset::PyDataset;
use crate::engine::address;
use crate::error::{to_python, value_error};
use crate::html;
use crate::ids::{ids_at, ids_from_python, ids_to_numpy};
use crate::json::json_to_python;
use crate::options::{options_of, parsed, with};
use crate::propensity::PyPropensities;
use crate::run::{run, run_quiet};
use crate::table::{PyTable, converted, id_column, table};

/// The relevance weight of every shown document of every query: what a ranker learns from.
///
/// Made by `truerank.relevance`, or `read` from a file.
#[pyclass(name = "Relevance", module = "truerank", frozen)]
pub struct PyRelevance {
    pub inner: Arc<Relevance>,
    source: Option<Source>,
}

/// What weights were made from, for a closer look.
struct Source {
    counts: Arc<Counts>,
    examined: Examined,
    estimation: Estimation,
}

/// Who looks where.
enum Examined {
    ByPosition(Arc<Propensities>),
    ByModel(Arc<ClickModel>),
}

impl Examined {
    fn of(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        match value.cast::<PyClickModel>() {
            Ok(model) => Ok(Examined::ByModel(model.get().inner.clone())),
            Err(_) => PyPropensities::of(value).map(Examined::ByPosition),
        }
    }

    fn log<'a>(&'a self, counts: &'a Counts, data: Option<&'a Dataset>) -> truerank::Result<KnownLog<'a>> {
        match self {
            Examined::ByPosition(propensities) => Ok(KnownLog::examined(counts, data, &**propensities)),
            Examined::ByModel(model) => KnownLog::modelled(counts, data, model),
        }
    }
}

impl From<Relevance> for PyRelevance {
    fn from(relevance: Relevance) -> Self {
        PyRelevance { inner: Arc::new(relevance), source: None }
    }
}

/// Turns counts into relevance weights, corrected for who examines what.
///
/// `propensities` are `Propensities`, a fitted estimator of `truerank.propensity`, or a `ClickModel`, by which exposure depends on
/// the clicks above. `estimator` is `"naive"`, `"ips-pbm"`,
/// `"straightforward"`, `"user-aware"` or `"user-aware-smoothed"`, whose strength `beta` is `"auto"`,
/// `"likelihood"` or a number, and is taken as it is. Where none is named, weights are user-aware-smoothed and shrunk as far as the
/// log says toward a prior: predicted from features where there is `data`, else by position. `shrink="none"` turns that off.
///
/// For the user-aware ones, clicks may correct a prior: `prior` is `"none"`, `"mean"`, `"position"` or `"model"` (predicted from the features
/// in `data` by `prior_model`, `"linear"` or `"mlp"`), toward which weights are pulled by `shrink` (`"none"`, `"auto"` or a number)
/// and by `clip`, the share of a document's impressions below which exposures are raised to it.
///
/// With `engine`, the address of a Spark Connect server (`"sc://host:15002"`) or a session that `SparkSession.builder.remote` made, a
/// cluster sums the cells: `counts` is then a folder that it sees, too, beside which there is room for steps of the work.
///
/// >>> simulation = truerank.simulate(truerank.generate("tiny"), sessions=5000)
/// >>> weights = truerank.relevance(simulation.counts(), simulation.propensities, estimator="user-aware")
/// >>> weights.estimator
/// 'user-aware'
/// >>> weights.table.columns
/// ['query', 'doc', 'weight', 'impressions', 'clicks', 'exposure', 'variance']
#[pyfunction]
#[pyo3(signature = (counts, propensities, *, data=None, engine=None, progress=None, **options))]
pub fn relevance<'py>(
    counts: &Bound<'py, PyAny>,
    propensities: &Bound<'py, PyAny>,
    data: Option<&Bound<'py, PyAny>>,
    engine: Option<&Bound<'py, PyAny>>,
    progress: Option<&Bound<'py, PyAny>>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<PyRelevance> {
    let options: RelevanceOptions = options_of(options)?;
    let data = data.map(PyDataset::training_part).transpose()?;
    if let Some(engine) = engine {
        return relevance_on(engine, (counts, propensities, data.as_deref()), &options, progress);
    }
    let counts = counts.cast::<PyCounts>()?;
    options.check(data.is_some()).map_err(to_python)?;
    let (py, counts, examined) = (counts.py(), counts.get().inner.clone(), Examined::of(propensities)?);
    let (estimation, found) = run(py, progress, |progress| {
        let log = examined.log(&counts, data.as_deref())?;
        let estimation = options.weights.estimation(&log, &options.predictor, progress)?;
        let found = estimation.weigh(log.exposures(progress)?)?.relevance()?;
        Ok((estimation, found))
    })?;
    let source = Some(Source { counts, examined, estimation });
    Ok(PyRelevance { inner: Arc::new(found), source })
}

/// The same where a cluster sums the cells.
fn relevance_on(
    engine: &Bound<'_, PyAny>,
    (counts, propensities, data): (&Bound<'_, PyAny>, &Bound<'_, PyAny>, Option<&Dataset>),
    options: &RelevanceOptions,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyRelevance> {
    let (spark, folder) = (SparkRelevance::new(&address(engine)?), folder_of_counts(counts)?);
    let propensities = PyPropensities::of(propensities)?;
    SparkRelevance::check(options, data.is_some()).map_err(to_python)?;
    let found = run(counts.py(), progress, |progress| {
        spark.estimate(options, &folder, &propensities, data, &folder, progress)
    })?;
    match found.into_iter().next() {
        Some(found) => Ok(found.into()),
        None => Err(value_error("no estimator was asked for")),
    }
}

#[pymethods]
impl PyRelevance {
    /// Reads a file that `write` or `truerank relevance` wrote.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        run_quiet(py, || Relevance::read(&path)).map(PyRelevance::from)
    }

    /// Relevance by several behaviours on the same pages, such as clicks and purchases: a list of pairs of relevance and what it is worth.
    ///
    /// The weights are the means of theirs, by worth; the rest is the first one's.
    ///
    /// >>> simulation = truerank.simulate(truerank.generate("tiny"), sessions=5000)
    /// >>> weights = truerank.relevance(simulation.counts(), simulation.propensities)
    /// >>> truerank.Relevance.of_behaviours([(weights, 1), (weights, 5)]).estimator
    /// 'user-aware-smoothed'
    #[staticmethod]
    fn of_behaviours(py: Python<'_>, parts: Vec<(PyRef<'_, Self>, f64)>) -> PyResult<Self> {
        let parts: Vec<(Arc<Relevance>, f64)> =
            parts.iter().map(|(part, worth)| (part.inner.clone(), *worth)).collect();
        let parts: Vec<(&Relevance, f64)> = parts.iter().map(|(part, worth)| (part.as_ref(), *worth)).collect();
        run_quiet(py, || Relevance::of_behaviours(&parts)).map(PyRelevance::from)
    }

    /// Writes them as Parquet.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        run_quiet(py, || self.inner.write(&path))
    }

    /// A row per shown document, sorted: query, doc, weight, impressions, clicks, exposure, variance.
    #[getter]
    fn table(&self, py: Python<'_>) -> PyResult<PyTable> {
        let columns = run_quiet(py, || Ok(columns(&self.inner)))?;
        table("Relevance", columns)
    }

    /// The weights, in the order of `table`: estimates of the probability that a document is relevant.
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_iter(py, self.inner.weights.iter().map(|weight| weight.weight))
    }

    /// The name of the estimator.
    #[getter]
    fn estimator(&self) -> &str {
        &self.inner.estimator
    }

    /// The strength of smoothing, or None.
    #[getter]
    fn beta(&self) -> Option<f64> {
        self.inner.beta
    }

    /// How strongly weights were pulled toward the prior, or None.
    #[getter]
    fn shrink(&self) -> Option<f64> {
        self.inner.correction.shrink
    }

    /// The weight of each document of a data set; not a number where it was never shown.
    fn on<'py>(&self, py: Python<'py>, data: &PyDataset) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let weights = run_quiet(py, || Ok(self.inner.on(&data.inner)))?;
        Ok(PyArray1::from_vec(py, weights))
    }

    /// How much the weights depend on few clicks, as `truerank relevance --diagnostics --json` says it.
    fn diagnostics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let source = self.source.as_ref().ok_or_else(|| {
            value_error("diagnostics look at single clicks, but a file holds weights alone; estimate them anew")
        })?;
        let found: Diagnostics = run_quiet(py, || {
            let log = source.examined.log(&source.counts, None)?;
            source.estimation.weigh(log.exposures(&Silent)?)?.diagnostics()
        })?;
        json_to_python(py, &found.to_json())
    }

    /// The weights as labels for the training part of `data`, for LightGBM or (`to="xgboost"`) XGBoost.
    ///
    /// A label is relevance as our own rankers learn from it, for regression (the weight as it is where an estimator was named; a
    /// shrunk one has as much of its prior as the clicks suffice for), or with `form="steps"` a whole number with `steps` per grade, or with
    /// `form="gains"` the gain of a grade. The numbers are those that `truerank export` writes.
    #[pyo3(signature = (data, *, to="lightgbm", max_grade=None, **options))]
    fn labels(
        &self,
        data: &Bound<'_, PyAny>,
        to: &str,
        max_grade: Option<u8>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyLabels> {
        let (py, data) = (data.py(), PyDataset::training_part(data)?);
        let of_labels = |writes| if let Writes::Labels(trees) = writes { Some(trees) } else { None };
        let (format, trees) = ExportFormat::named(to, of_labels).map_err(to_python)?;
        let export = with(options_of::<Export>(options)?, max_grade, Export::max_grade);
        export.check(format).map_err(to_python)?;
        let labels = export.labels_for(trees).map_err(to_python)?;
        let found = run_quiet(py, || labels.training(&data, &self.inner))?;
        Ok(PyLabels { inner: found, row_count: data.len() })
    }

    /// Parameters and a `lightgbm.Dataset` of the training part of `data`, as `lightgbm.train` takes them.
    ///
    /// Rows are the documents that were shown, with labels, weights and groups as `labels` gives them, which has the options.
    /// `feature_names` are the names of the features, where they have any. LightGBM is imported by this call.
    ///
    /// >>> import lightgbm
    /// >>> data = truerank.generate("tiny")
    /// >>> simulation = truerank.simulate(data, sessions=5000)
    /// >>> weights = truerank.relevance(simulation.counts(), simulation.propensities, data=data)
    /// >>> params, train = weights.to_lightgbm(data)
    /// >>> model = lightgbm.train(params | {"verbosity": -1}, train, 20)
    /// >>> truerank.evaluate(data.test, model.predict(data.test.features))["nDCG@5"] > 0.5
    /// True
    #[pyo3(signature = (data, *, feature_names=None, max_grade=None, **options))]
    fn to_lightgbm<'py>(
        &self,
        data: &Bound<'py, PyAny>,
        feature_names: Option<&Bound<'py, PyAny>>,
        max_grade: Option<u8>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.training_data(data, "lightgbm", feature_names, max_grade, options)
    }

    /// Parameters and an `xgboost.DMatrix` of the training part of `data`, as `xgboost.train` takes them.
    ///
    /// Otherwise as `to_lightgbm`.
    #[pyo3(signature = (data, *, feature_names=None, max_grade=None, **options))]
    fn to_xgboost<'py>(
        &self,
        data: &Bound<'py, PyAny>,
        feature_names: Option<&Bound<'py, PyAny>>,
        max_grade: Option<u8>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.training_data(data, "xgboost", feature_names, max_grade, options)
    }

    /// The table as pandas frame.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.table(py)?.to_pandas(py)
    }

    /// The weights as a frame of Polars.
    fn to_polars<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        converted(py, self.table(py)?, "to_polars")
    }

    /// The weights as a table of PyArrow.
    fn to_arrow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        converted(py, self.table(py)?, "to_arrow")
    }

    /// How many rows and columns the weights have.
    #[getter]
    fn shape(&self, py: Python<'_>) -> PyResult<(usize, usize)> {
        self.table(py).map(|table| table.shape())
    }

    /// The first rows of the weights.
    #[pyo3(signature = (n=5))]
    fn head(&self, py: Python<'_>, n: usize) -> PyResult<PyTable> {
        self.table(py).map(|table| table.head(n))
    }

    /// Plots how many documents have which weight.
    ///
    /// Drawn by matplotlib, which this call imports, onto `ax` or a new figure; returns the axes.
    #[pyo3(signature = (ax=None))]
    fn plot<'py>(this: Bound<'py, Self>, ax: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("truerank._plot")?.call_method1("relevance", (this, ax))
    }

    /// How many documents have a weight, counted for each query anew.
    fn __len__(&self) -> usize {
        self.inner.weights.len()
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.inner == other.inner
    }

    fn __repr__(&self) -> String {
        let beta = self.inner.beta.map_or(String::new(), |beta| format!(", beta {}", html::number(beta)));
        let documents = html::count(self.inner.weights.len() as u64, "document", "documents");
        let queries = html::count(self.inner.queries.len() as u64, "query", "queries");
        format!("<Relevance: {}{beta}, {documents} of {queries}>", self.inner.estimator)
    }

    fn _repr_html_(&self) -> String {
        let weights = &self.inner.weights;
        let mean = |value: fn(&Weight) -> f64| weights.iter().map(value).sum::<f64>() / weights.len().max(1) as f64;
        let mut rows = vec![
            ("estimator", self.inner.estimator.clone()),
            ("queries", html::thousands(self.inner.queries.len() as u64)),
            ("documents", html::thousands(weights.len() as u64)),
            ("mean weight", html::number(mean(|weight| weight.weight))),
            ("largest weight", html::number(weights.iter().map(|weight| weight.weight).fold(0.0, f64::max))),
            ("mean standard error", html::number(mean(|weight| weight.variance.sqrt()))),
        ];
        rows.extend(self.inner.beta.map(|beta| ("beta", html::number(beta))));
        rows.extend(self.inner.correction.shrink.map(|shrink| ("shrink", html::number(shrink))));
        html::with_figure(html::facts("Relevance", &rows), &quantiles(weights))
    }

    fn __reduce__<'py>(this: Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        crate::pickle::reduce(this.into_any())
    }
}

impl PyRelevance {
    /// Labels in the form of a trainer, with its parameters.
    fn training_data<'py>(
        &self,
        data: &Bound<'py, PyAny>,
        to: &str,
        feature_names: Option<&Bound<'py, PyAny>>,
        max_grade: Option<u8>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let labels = self.labels(data, to, max_grade, options)?;
        data.py().import("truerank._trees")?.getattr(to)?.call1((labels, data, feature_names))
    }
}

/// The weights by rank: the share of documents below, and the weight.
fn quantiles(weights: &[Weight]) -> Figure {
    let mut sorted: Vec<f64> = weights.iter().map(|weight| weight.weight).collect();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    let at = |share: usize| sorted.get(last * share / 100).copied().unwrap_or(f64::NAN);
    let points = (0..=100).map(|share| Point::new(share as f64 / 100.0, at(share)));
    html::lines("weight", Axis::new("share of documents with at most this weight", Format::Percent), points.collect())
}

fn columns(relevance: &Relevance) -> Vec<(&'static str, ArrayRef)> {
    let weights = || relevance.weights.iter();
    let floats = |value: fn(&Weight) -> f64| Arc::new(Float64Array::from_iter_values(weights().map(value))) as ArrayRef;
    let counts = |value: fn(&Weight) -> u64| {
        Arc::new(Int64Array::from_iter_values(weights().map(|weight| value(weight) as i64))) as ArrayRef
    };
    vec![
        ("query", id_column(&relevance.queries, weights().map(|weight| weight.query))),
        ("doc", id_column(&relevance.docs, weights().map(|weight| weight.doc))),
        ("weight", floats(|weight| weight.weight)),
        ("impressions", counts(|weight| weight.impressions)),
        ("clicks", counts(|weight| weight.clicks)),
        ("exposure", floats(|weight| weight.exposure)),
        ("variance", floats(|weight| weight.variance)),
    ]
}

/// Labels of the documents that were shown, for trainers of trees.
///
/// `lightgbm.Dataset(data.features[labels.rows], labels.label, weight=labels.weight, group=labels.group)`, trained with
/// `labels.params`.
#[pyclass(name = "Labels", module = "truerank", frozen)]
pub struct PyLabels {
    inner: TrainingLabels,
    row_count: usize,
}

/// What a pickle keeps of labels.
#[derive(FromPyObject, IntoPyObject)]
#[pyo3(from_item_all)]
struct KeptLabels {
    rows: Vec<usize>,
    labels: Vec<f64>,
    weights: Option<Vec<f64>>,
    sizes: Vec<usize>,
    parameters: String,
    summary: [usize; 5],
    row_count: usize,
}

#[pymethods]
impl PyLabels {
    /// The rows of the data set that have a label: those of documents that were shown.
    #[getter]
    fn rows<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_iter(py, self.inner.rows.iter().map(|&row| row as i64))
    }

    /// Their labels.
    #[getter]
    fn label<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.inner.labels)
    }

    /// How much each of them is to count, or None where all count alike.
    #[getter]
    fn weight<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        self.inner.weights.as_ref().map(|weights| PyArray1::from_slice(py, weights))
    }

    /// How many of the rows each query has, for queries with any.
    #[getter]
    fn group<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_iter(py, self.inner.sizes.iter().map(|&size| size as i64))
    }

    /// The parameters with which a trainer reads the labels as they are meant.
    #[getter]
    fn params<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json_to_python(py, &self.inner.parameters)
    }

    /// One label per row of the data set, NaN for documents that were never shown.
    #[getter]
    fn by_row<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let mut all = vec![f64::NAN; self.row_count];
        self.inner.rows.iter().zip(&self.inner.labels).for_each(|(&row, &label)| all[row] = label);
        PyArray1::from_vec(py, all)
    }

    fn __len__(&self) -> usize {
        self.inner.rows.len()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (KeptLabels,))> {
        let TrainingLabels { rows, labels, weights, sizes, parameters, summary } = self.inner.clone();
        let LabelSummary { queries, documents, cut, unmatched } = summary;
        let kept = KeptLabels {
            rows,
            labels,
            weights,
            sizes,
            parameters: parameters.to_string(),
            summary: [queries, documents, cut, unmatched.queries, unmatched.docs],
            row_count: self.row_count,
        };
        Ok((py.get_type::<Self>().getattr("_restore")?, (kept,)))
    }

    #[staticmethod]
    fn _restore(kept: KeptLabels) -> PyResult<Self> {
        let KeptLabels { rows, labels, weights, sizes, parameters, summary, row_count } = kept;
        let [queries, documents, cut, unknown_queries, unknown_docs] = summary;
        let unmatched = Unmatched { queries: unknown_queries, docs: unknown_docs };
        let summary = LabelSummary { queries, documents, cut, unmatched };
        let parameters = serde_json::from_str(&parameters).map_err(|error| value_error(error.to_string()))?;
        Ok(PyLabels { inner: TrainingLabels { rows, labels, weights, sizes, parameters, summary }, row_count })
    }

    fn __repr__(&self) -> String {
        let summary = &self.inner.summary;
        let documents = html::count(summary.documents as u64, "document", "documents");
        format!("<Labels: {documents} of {}>", html::count(summary.queries as u64, "query", "queries"))
    }
}

/// How much each pair of documents of each query says that the first is better: what the PRS loss learns from.
#[pyclass(name = "PairWeights", module = "truerank", frozen)]
pub struct PyPairWeights {
    pub inner: Arc<PairWeights>,
}

/// What a pickle keeps of the pairs of a query: its number, documents, weights, and what depends on scores.
type KeptQueryPairs = (u32, Vec<u32>, Vec<f64>, Option<(Vec<f64>, f64)>);
/// What a pickle keeps of pairs: what weighs them, queries, documents, pairs.
type KeptPairs<'py> = (String, Bound<'py, PyAny>, Bound<'py, PyAny>, Vec<KeptQueryPairs>);

impl From<PairWeights> for PyPairWeights {
    fn from(pairs: PairWeights) -> Self {
        PyPairWeights { inner: Arc::new(pairs) }
    }
}

/// Weighs pairs of a clicked and an unclicked document by propensity ratios, for the PRS loss (Wang et al. 2021).
///
/// The counts need `patterns=True`. `ratio` is `"prs"` (the default), as published: examination of the unclicked document over that
/// of the clicked one; `"prs-by-score"`: that of the lower-scored over that of the higher-scored, while a ranker learns; or
/// `"prs-by-user"`: the published ratio with the examination of each page's own user.
///
/// >>> simulation = truerank.simulate(truerank.generate("tiny"), sessions=2000)
/// >>> pairs = truerank.pair_weights(simulation.counts(patterns=True), simulation.propensities)
/// >>> docs, weights = pairs.of_query(pairs.queries[0])
/// >>> weights.shape == (len(docs), len(docs))
/// True
#[pyfunction]
#[pyo3(signature = (counts, propensities, ratio=None))]
pub fn pair_weights(
    py: Python<'_>,
    counts: &PyCounts,
    propensities: &Bound<'_, PyAny>,
    ratio: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyPairWeights> {
    let propensities = PyPropensities::of(propensities)?;
    let ratio = parsed::<PairRatio>(ratio)?.unwrap_or_default();
    run_quiet(py, || truerank::relevance::pair_weights(&counts.inner, &propensities, ratio)).map(PyPairWeights::from)
}

#[pymethods]
impl PyPairWeights {
    /// What weighs a pair: `"prs"`, `"prs-by-score"` or `"prs-by-user"`.
    #[getter]
    fn ratio(&self) -> String {
        self.inner.ratio.to_string()
    }

    /// The ids of the queries, sorted.
    #[getter]
    fn queries<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        ids_to_numpy(py, &self.inner.queries)
    }

    /// The shown documents of a query, and a matrix: entry (i, j) is the weight of "document i clicked, document j not".
    ///
    /// By score that is the weight while i is scored above j, or with `scored_below=True` while it is scored below.
    #[pyo3(signature = (query, *, scored_below=false))]
    fn of_query<'py>(
        &self,
        query: &Bound<'py, PyAny>,
        scored_below: bool,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyArray2<f64>>)> {
        let (py, name) = (query.py(), query.str()?);
        let number = IdIndex::new(&self.inner.queries).find(&name.to_cow()?);
        let found = number.and_then(|number| self.inner.by_query.iter().find(|pairs| pairs.query == number));
        let pairs = found.ok_or_else(|| PyKeyError::new_err(name.to_string()))?;
        let weights = match &pairs.by_score {
            Some(scored) if scored_below => &scored.if_below,
            _ => &pairs.weights,
        };
        let weights = PyArray1::from_slice(py, weights).reshape([pairs.docs.len(); 2])?;
        Ok((ids_at(py, &self.inner.docs, pairs.docs.iter().copied())?, weights))
    }

    /// How many queries there are.
    fn __len__(&self) -> usize {
        self.inner.by_query.len()
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.inner == other.inner
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, KeptPairs<'py>)> {
        let pairs = &self.inner;
        let of_query = |query: &QueryPairs| {
            let by_score = query.by_score.as_ref().map(|scored| (scored.if_below.clone(), scored.ideal_dcg));
            (query.query, query.docs.clone(), query.weights.clone(), by_score)
        };
        let by_query = pairs.by_query.iter().map(of_query).collect();
        let ids = (ids_to_numpy(py, &pairs.queries)?, ids_to_numpy(py, &pairs.docs)?);
        Ok((py.get_type::<Self>().getattr("_restore")?, (pairs.ratio.to_string(), ids.0, ids.1, by_query)))
    }

    #[staticmethod]
    fn _restore(
        ratio: &str,
        queries: &Bound<'_, PyAny>,
        docs: &Bound<'_, PyAny>,
        by_query: Vec<KeptQueryPairs>,
    ) -> PyResult<Self> {
        let of_query = |(query, docs, weights, scored): KeptQueryPairs| {
            let by_score = scored.map(|(if_below, ideal_dcg)| ScoredPairs { if_below, ideal_dcg });
            QueryPairs { query, docs, weights, by_score }
        };
        let pairs = PairWeights {
            ratio: ratio.parse().map_err(to_python)?,
            queries: ids_from_python(queries, "queries")?,
            docs: ids_from_python(docs, "docs")?,
            by_query: by_query.into_iter().map(of_query).collect(),
        };
        Ok(pairs.into())
    }

    fn __repr__(&self) -> String {
        format!("<PairWeights: {}>", html::count(self.inner.by_query.len() as u64, "query", "queries"))
    }
}
