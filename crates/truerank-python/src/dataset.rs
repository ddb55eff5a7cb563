//! Data sets: `truerank.data` in Python.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use numpy::PyArray1;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use truerank::data::{
    self, Dataset, DatasetBuilder, Generation, ReadOptions, Splits, read_dataset, read_splits, write_dataset,
};
use truerank::ids::Ids;

use crate::arrays::{features_from_python, features_to_numpy, floats_from_python};
use crate::error::{DataWarning, to_python, value_error};
use crate::html;
use crate::ids::{ids_from_python, ids_to_numpy};
use crate::options::{options_of, with};
use crate::run::{run, run_quiet};

/// Documents of queries: a matrix of features, and grades where people gave them.
///
/// Rows of one query follow each other. Made by `from_arrays`, `read_svmlight`, `read_dataset` or `generate`.
///
/// >>> import numpy as np
/// >>> X = np.array([[0.2, 1.0], [0.9, 0.1], [0.5, 0.5]], dtype=np.float32)
/// >>> data = truerank.Dataset.from_arrays(X, grade=[0, 2, 1], query=["a", "a", "b"])
/// >>> data
/// <Dataset: 2 queries, 3 documents, 2 features, graded>
/// >>> np.shares_memory(data.features, X)
/// True
///
/// Columns of a frame keep their names. Rows can be chosen, so that scikit-learn can divide a data set.
///
/// >>> data[[0, 1]]
/// <Dataset: 1 query, 2 documents, 2 features, graded>
#[pyclass(name = "Dataset", module = "truerank", frozen)]
pub struct PyDataset {
    pub inner: Arc<Dataset>,
    pub names: FeatureNames,
}

/// The names of features, where they have any.
pub type FeatureNames = Option<Arc<[String]>>;

impl From<Dataset> for PyDataset {
    fn from(data: Dataset) -> Self {
        PyDataset::from(Arc::new(data))
    }
}

impl From<Arc<Dataset>> for PyDataset {
    fn from(inner: Arc<Dataset>) -> Self {
        PyDataset { inner, names: None }
    }
}

#[pymethods]
impl PyDataset {
    /// A data set from arrays: one row of `X`, and one value of the others, per document.
    ///
    /// `query` and `doc` are whole numbers or text. Where rows of a query do not follow each other, rows are sorted by query, in the
    /// order in which queries first occur, with a `DataWarning`. Documents without ids are numbered from 1 within their query. A
    /// contiguous float32 `X` is not copied: do not change it while the data set is in use. `feature_names` are those of a frame's
    /// columns by default.
    #[staticmethod]
    #[pyo3(signature = (X, grade=None, query=None, doc=None, *, max_grade=None, feature_names=None))]
    #[allow(non_snake_case)]
    fn from_arrays(
        X: &Bound<'_, PyAny>,
        grade: Option<&Bound<'_, PyAny>>,
        query: Option<&Bound<'_, PyAny>>,
        doc: Option<&Bound<'_, PyAny>>,
        max_grade: Option<u8>,
        feature_names: Option<Vec<String>>,
    ) -> PyResult<Self> {
        let py = X.py();
        let matrix = features_from_python(X)?;
        let names = names_for(X, feature_names, matrix.columns)?;
        let query = query.ok_or_else(|| value_error("query is missing, but every row needs the id of its query"))?;
        let query = ids_from_python(query, "query")?;
        let docs = doc.map(|doc| ids_from_python(doc, "doc")).transpose()?;
        let grades = grade.map(|grade| grades(grade, max_grade)).transpose()?;
        let lengths = [
            ("query", Some(query.len())),
            ("doc", docs.as_ref().map(Ids::len)),
            ("grade", grades.as_ref().map(Vec::len)),
        ];
        check_lengths(matrix.rows(), &lengths)?;
        let (matrix, query, docs, grades) = match order_by_query(&query) {
            None => (matrix, query, docs, grades),
            Some(order) => {
                warn_of_order(py)?;
                let rows = || order.iter().copied();
                let grades = grades.map(|grades| rows().map(|row| grades[row]).collect());
                (matrix.select(&order), query.select(rows()), docs.map(|docs| docs.select(rows())), grades)
            }
        };
        let (queries, query_ends) = group(&query);
        let feature_count = matrix.columns;
        let builder = DatasetBuilder { features: Vec::new(), feature_count, grades, queries, query_ends, docs };
        run_quiet(py, || {
            matrix.check_not_infinite()?;
            let data = builder.build_on(matrix.values)?;
            check_docs(&data)?;
            Ok(data)
        })
        .map(|data| PyDataset { inner: Arc::new(data), names })
    }

    /// A data set from a frame of pandas or Polars with a row per document.
    ///
    /// `query`, `doc` and `grade` name its columns; doc and grade may be missing. `features` names those that are features; by
    /// default all other columns, which then have to be numbers.
    ///
    /// >>> import pandas
    /// >>> frame = pandas.DataFrame({"query": ["a", "a", "b"], "grade": [0, 2, 1], "bm25": [0.2, 0.9, 0.5], "clicks": [1.0, 0.1, 0.5]})
    /// >>> truerank.Dataset.from_frame(frame).feature_names
    /// ['bm25', 'clicks']
    #[staticmethod]
    #[pyo3(signature = (frame, *, query="query", doc="doc", grade="grade", features=None, max_grade=None))]
    fn from_frame<'py>(
        frame: &Bound<'py, PyAny>,
        query: &str,
        doc: &str,
        grade: &str,
        features: Option<Vec<String>>,
        max_grade: Option<u8>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let module = frame.py().import("truerank._frames")?;
        module.call_method1("from_frame", (frame, (query, doc, grade), features, max_grade))
    }

    /// Reads a file: Parquet, or LETOR/SVMlight text. The same as `read_dataset`, which has the options.
    #[staticmethod]
    #[pyo3(signature = (path, **options))]
    fn read(py: Python<'_>, path: PathBuf, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        read_dataset_file(py, path, options)
    }

    /// The names of the features, or None where they have none.
    #[getter]
    fn feature_names(&self) -> Option<Vec<String>> {
        self.names.as_ref().map(|names| names.to_vec())
    }

    /// How many documents and features there are.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.inner.len(), self.inner.feature_count())
    }

    /// The first documents.
    #[pyo3(signature = (n=5))]
    fn head(&self, py: Python<'_>, n: usize) -> PyResult<Self> {
        self.at_rows(py, (0..n.min(self.inner.len())).collect())
    }

    /// Some of the documents: their rows, counted from 0, a slice, or a mask of all. Rows of a query are put together.
    fn __getitem__(&self, rows: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = rows.py();
        // scikit-learn asks for `data[rows, ...]`.
        let rows = match rows.cast::<PyTuple>() {
            Ok(pair) if pair.len() == 2 && pair.get_item(1)?.is(py.Ellipsis()) => pair.get_item(0)?,
            _ => rows.clone(),
        };
        let numpy = py.import("numpy")?;
        let all = numpy.call_method1("arange", (self.inner.len(),))?;
        let chosen = numpy.call_method1("atleast_1d", (all.get_item(rows)?,))?;
        self.at_rows(py, chosen.call_method0("tolist")?.extract()?)
    }

    /// The features, for what takes arrays.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        this: Bound<'py, Self>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let features = Self::features(this)?;
        let features = match dtype {
            Some(dtype) => features.call_method1("astype", (dtype,))?,
            None => features,
        };
        if copy == Some(true) { features.call_method0("copy") } else { Ok(features) }
    }

    /// The features, a row per document: a view that cannot be written to.
    #[getter]
    fn features<'py>(this: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let inner = this.get().inner.clone();
        features_to_numpy(this.into_any(), inner.features(), inner.feature_count())
    }

    /// The grade of each document, or None where nobody gave any.
    #[getter]
    fn grades<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<u8>>> {
        self.inner.grades().map(|grades| PyArray1::from_slice(py, grades))
    }

    /// The id of each query.
    #[getter]
    fn queries<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        ids_to_numpy(py, self.inner.queries())
    }

    /// The id of each row's query.
    #[getter]
    fn query<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let of_rows = self.inner.lists().enumerate().flat_map(|(query, rows)| rows.map(move |_| query as u32));
        crate::ids::ids_at(py, self.inner.queries(), of_rows)
    }

    /// The id of each row's document.
    #[getter]
    fn docs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        ids_to_numpy(py, self.inner.docs())
    }

    /// How many documents each query has: what LightGBM calls `group`.
    #[getter]
    fn query_sizes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_vec(py, self.inner.lists().map(|rows| rows.len() as i64).collect())
    }

    /// How many features a document has.
    #[getter]
    fn feature_count(&self) -> usize {
        self.inner.feature_count()
    }

    /// How many queries there are.
    #[getter]
    fn query_count(&self) -> usize {
        self.inner.query_count()
    }

    /// Some of the queries: their numbers, counted from 0, or a mask of all.
    fn select(&self, queries: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = queries.py();
        let numpy = py.import("numpy")?;
        let array = numpy.call_method1("asarray", (queries,))?;
        let array = match array.getattr("dtype")?.getattr("kind")?.extract::<String>()?.as_str() {
            "b" if array.len()? != self.inner.query_count() => {
                let (given, count) = (array.len()?, self.inner.query_count());
                return Err(value_error(format!("the mask has {given} values, but there are {count} queries")));
            }
            "b" => numpy.call_method1("flatnonzero", (array,))?,
            _ => array,
        };
        let numbers: Vec<i64> = array.call_method0("tolist")?.extract()?;
        let count = self.inner.query_count();
        let in_range = |&number: &i64| {
            let index = usize::try_from(number).ok().filter(|&index| index < count);
            index.ok_or_else(|| value_error(format!("query number {number} is not from 0 to {}", count as i64 - 1)))
        };
        let numbers = numbers.iter().map(in_range).collect::<PyResult<Vec<usize>>>()?;
        if numbers.iter().collect::<HashSet<_>>().len() < numbers.len() {
            return Err(value_error("a query is named twice, but a data set holds each once"));
        }
        let inner = Arc::new(run_quiet(py, || Ok(self.inner.select(&numbers)))?);
        Ok(PyDataset { inner, names: self.names.clone() })
    }

    /// Writes the data set: Parquet for `.parquet`, LETOR/SVMlight text otherwise.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        run_quiet(py, || write_dataset(&self.inner, &path))
    }

    /// A pandas frame with a row per document: query, doc, grade, and a column per feature: f1, f2, … where they have no names.
    fn to_pandas<'py>(this: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("truerank._frames")?.call_method1("dataset", (this, "pandas"))
    }

    /// The same as a frame of Polars.
    fn to_polars<'py>(this: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("truerank._frames")?.call_method1("dataset", (this, "polars"))
    }

    /// The same as a table of PyArrow.
    fn to_arrow<'py>(this: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("truerank._frames")?.call_method1("dataset", (this, "pyarrow"))
    }

    fn __len__(&self) -> usize {
        self.inner.len()
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.inner == other.inner
    }

    fn __repr__(&self) -> String {
        let graded = if self.inner.grades().is_some() { "graded" } else { "without grades" };
        let [queries, documents, features] = sizes(&self.inner);
        format!("<Dataset: {queries}, {documents}, {features}, {graded}>")
    }

    fn _repr_html_(&self) -> String {
        let data = &self.inner;
        let mut rows = vec![
            ("queries", html::thousands(data.query_count() as u64)),
            ("documents", html::thousands(data.len() as u64)),
            ("documents per query", html::number(data.len() as f64 / data.query_count().max(1) as f64)),
            ("features", html::thousands(data.feature_count() as u64)),
        ];
        rows.extend(data.grades().map(|grades| ("grades", shares(grades))));
        html::facts("Dataset", &rows)
    }

    fn __reduce__<'py>(this: Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (py, data) = (this.py(), this.get());
        let make = py.get_type::<Self>().getattr("_from_pickle")?;
        let features = Self::features(this.clone())?;
        let parts = (features, data.grades(py), data.query(py)?, data.docs(py)?, data.feature_names());
        Ok((make, parts.into_pyobject(py)?))
    }

    #[staticmethod]
    #[pyo3(signature = (features, grade, query, doc, feature_names=None))]
    fn _from_pickle(
        features: &Bound<'_, PyAny>,
        grade: Option<&Bound<'_, PyAny>>,
        query: &Bound<'_, PyAny>,
        doc: &Bound<'_, PyAny>,
        feature_names: Option<Vec<String>>,
    ) -> PyResult<Self> {
        Self::from_arrays(features, grade, Some(query), Some(doc), Some(u8::MAX), feature_names)
    }
}

impl PyDataset {
    /// The documents of these rows, those of a query together.
    fn at_rows(&self, py: Python<'_>, mut rows: Vec<usize>) -> PyResult<Self> {
        let data = &self.inner;
        let mut of_row = vec![0; data.len()];
        data.lists().enumerate().for_each(|(query, rows)| of_row[rows].fill(query));
        rows.sort_by_key(|&row| of_row[row]);
        let lists: Vec<&[usize]> = rows.chunk_by(|&a, &b| of_row[a] == of_row[b]).collect();
        let ends = lists.iter().scan(0, |end, list| {
            *end += list.len();
            Some(*end)
        });
        let builder = DatasetBuilder {
            features: rows.iter().flat_map(|&row| data.row(row).iter().copied()).collect(),
            feature_count: data.feature_count(),
            grades: data.grades().map(|grades| rows.iter().map(|&row| grades[row]).collect()),
            queries: data.queries().select(lists.iter().map(|list| of_row[list[0]])),
            query_ends: ends.collect(),
            docs: Some(data.docs().select(rows.iter().copied())),
        };
        let chosen = run_quiet(py, || {
            let chosen = builder.build()?;
            check_docs(&chosen)?;
            Ok(chosen)
        })?;
        Ok(PyDataset { inner: Arc::new(chosen), names: self.names.clone() })
    }

    /// The names of the features of a data set, or of the training part of splits.
    pub fn names_of(data: &Bound<'_, PyAny>) -> PyResult<FeatureNames> {
        let part = match data.cast::<PySplits>() {
            Ok(splits) => splits.get().train.bind(data.py()).clone().into_any(),
            Err(_) => data.clone(),
        };
        Ok(part.cast::<Self>().ok().and_then(|data| data.get().names.clone()))
    }

    /// A data set as it is, or the training part of splits.
    pub fn training_part(data: &Bound<'_, PyAny>) -> PyResult<Arc<Dataset>> {
        if let Ok(splits) = data.cast::<PySplits>() {
            return Ok(splits.get().train.get().inner.clone());
        }
        let data = data.cast::<Self>().map_err(|_| PyTypeError::new_err("data should be a Dataset, or Splits"))?;
        Ok(data.get().inner.clone())
    }
}

/// The names that were given, or those of a frame's columns where all of them are text.
fn names_for(values: &Bound<'_, PyAny>, given: Option<Vec<String>>, count: usize) -> PyResult<FeatureNames> {
    let of_frame = || {
        let columns = values.getattr_opt("columns").ok().flatten()?;
        columns.try_iter().ok()?.map(|name| name.ok()?.extract::<String>().ok()).collect::<Option<Vec<String>>>()
    };
    match given.or_else(of_frame) {
        Some(names) if names.len() != count => {
            Err(value_error(format!("there are {} feature_names, but X has {count} columns", names.len())))
        }
        names => Ok(names.map(Arc::from)),
    }
}

/// Python tells a warning of one place once.
fn warn_of_order(py: Python<'_>) -> PyResult<()> {
    let text = c"rows of a query do not follow each other, so documents were sorted by query; the features, queries and docs of the data \
set are in the new order";
    PyErr::warn(py, &py.get_type::<DataWarning>(), text, 1)
}

fn check_lengths(rows: usize, lengths: &[(&str, Option<usize>)]) -> PyResult<()> {
    match lengths.iter().find(|(_, length)| length.is_some_and(|length| length != rows)) {
        Some((what, Some(length))) => Err(value_error(format!("X has {rows} rows, but {what} has {length} values"))),
        _ => Ok(()),
    }
}

fn sizes(data: &Dataset) -> [String; 3] {
    let of = |count: usize, one, many| html::count(count as u64, one, many);
    [
        of(data.query_count(), "query", "queries"),
        of(data.len(), "document", "documents"),
        of(data.feature_count(), "feature", "features"),
    ]
}

/// `0: 26 %, 1: 36 %, …`
fn shares(grades: &[u8]) -> String {
    let highest = grades.iter().copied().max().unwrap_or(0);
    let share = |grade: u8| {
        let count = grades.iter().filter(|&&other| other == grade).count();
        format!("{grade}: {:.0} %", 100.0 * count as f64 / grades.len().max(1) as f64)
    };
    (0..=highest).map(share).collect::<Vec<_>>().join(", ")
}

pub(crate) fn grades(values: &Bound<'_, PyAny>, max_grade: Option<u8>) -> PyResult<Vec<u8>> {
    let options = with_max_grade(ReadOptions::new(), max_grade);
    let grade = |(row, &value): (usize, &f64)| {
        options.grade(value).map_err(|finding| value_error(format!("grade: row {}: {finding}", row + 1)))
    };
    floats_from_python(values, "grade")?.iter().enumerate().map(grade).collect()
}

fn with_max_grade(options: ReadOptions, max_grade: Option<u8>) -> ReadOptions {
    match max_grade {
        Some(grade) => options.max_grade(grade),
        None => options,
    }
}

/// The queries of rows in which each stands together, and where each ends.
pub(crate) fn group(of_rows: &Ids) -> (Ids, Vec<usize>) {
    let starts = starts_of_runs(of_rows);
    let ends = starts.iter().skip(1).copied().chain((!of_rows.is_empty()).then_some(of_rows.len())).collect();
    (of_rows.select(starts.iter().copied()), ends)
}

/// The rows at which another query begins.
fn starts_of_runs(of_rows: &Ids) -> Vec<usize> {
    let is_first = |row: &usize| *row == 0 || of_rows.compare(*row, *row - 1).is_ne();
    (0..of_rows.len()).filter(is_first).collect()
}

/// The rows in an order in which those of a query follow each other, queries as they first occur; None where they do so already.
pub(crate) fn order_by_query(of_rows: &Ids) -> Option<Vec<usize>> {
    let starts = starts_of_runs(of_rows);
    let mut first_run = HashMap::with_capacity(starts.len());
    let query_of_run: Vec<usize> = (starts.iter().enumerate())
        .map(|(run, &start)| *first_run.entry(of_rows.name(start).to_string()).or_insert(run))
        .collect();
    if first_run.len() == starts.len() {
        return None;
    }
    let mut runs: Vec<usize> = (0..starts.len()).collect();
    runs.sort_by_key(|&run| query_of_run[run]);
    let end = |run: usize| starts.get(run + 1).copied().unwrap_or(of_rows.len());
    Some(runs.into_iter().flat_map(|run| starts[run]..end(run)).collect())
}

/// The order in which rows of a query follow each other, or None where they do so already.
#[pyfunction]
pub fn _order_by_query<'py>(query: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyArray1<i64>>>> {
    let order = order_by_query(&ids_from_python(query, "query")?);
    Ok(order.map(|order| PyArray1::from_iter(query.py(), order.into_iter().map(|row| row as i64))))
}

/// A document stands once in its query.
fn check_docs(data: &Dataset) -> truerank::Result<()> {
    for (query, rows) in data.lists().enumerate() {
        let mut seen = HashSet::with_capacity(rows.len());
        for row in rows {
            let name = data.docs().name(row);
            if !seen.insert(name.clone()) {
                let query = data.queries().name(query);
                return Err(truerank::Error::parameter(format!(
                    "doc: row {}: '{name}' stands twice in query '{query}', but a document stands once in its query",
                    row + 1
                )));
            }
        }
    }
    Ok(())
}

/// Divides queries at random into training, validation and test parts with these shares.
///
/// >>> splits = truerank.split_by_query(truerank.generate("tiny").train, (0.6, 0.2, 0.2))
/// >>> splits.train.query_count
/// 120
#[pyfunction]
#[pyo3(signature = (data, shares, *, seed=1))]
pub fn split_by_query(py: Python<'_>, data: &PyDataset, shares: [f64; 3], seed: u64) -> PyResult<PySplits> {
    let splits = run_quiet(py, || data::split_by_query(&data.inner, shares, seed))?;
    let part = |part: &Dataset| Py::new(py, PyDataset { inner: Arc::new(part.clone()), names: data.names.clone() });
    let (train, validation, test) = (part(&splits.train)?, part(&splits.validation)?, part(&splits.test)?);
    Ok(PySplits { inner: Arc::new(splits), train, validation, test })
}

/// Reads LETOR/SVMlight text, also compressed.
///
/// Options are `max_grade` (4 by default), `zero_based` and `feature_count`.
#[pyfunction]
#[pyo3(signature = (path, **options))]
pub fn read_svmlight(py: Python<'_>, path: PathBuf, options: Option<&Bound<'_, PyDict>>) -> PyResult<PyDataset> {
    let options: ReadOptions = options_of(options)?;
    run_quiet(py, || data::read_svmlight(&path, &options)).map(PyDataset::from)
}

/// Reads a data set file: Parquet, or LETOR/SVMlight text.
///
/// Options are those of `read_svmlight`.
#[pyfunction(name = "read_dataset")]
#[pyo3(signature = (path, **options))]
pub fn read_dataset_file(py: Python<'_>, path: PathBuf, options: Option<&Bound<'_, PyDict>>) -> PyResult<PyDataset> {
    let options: ReadOptions = options_of(options)?;
    run_quiet(py, || read_dataset(&path, &options)).map(PyDataset::from)
}

/// A data set in three parts: `train` to learn from, `validation` to choose by, `test` to judge by.
#[pyclass(name = "Splits", module = "truerank", frozen)]
pub struct PySplits {
    pub inner: Arc<Splits>,
    #[pyo3(get)]
    train: Py<PyDataset>,
    #[pyo3(get)]
    validation: Py<PyDataset>,
    #[pyo3(get)]
    test: Py<PyDataset>,
}

impl PySplits {
    /// Parts share their memory with the whole.
    pub fn new(py: Python<'_>, splits: Splits) -> PyResult<Self> {
        let part = |data: &Dataset| Py::new(py, PyDataset::from(data.clone()));
        let (train, validation, test) = (part(&splits.train)?, part(&splits.validation)?, part(&splits.test)?);
        Ok(PySplits { inner: Arc::new(splits), train, validation, test })
    }
}

#[pymethods]
impl PySplits {
    #[new]
    fn from_parts(train: Py<PyDataset>, validation: Py<PyDataset>, test: Py<PyDataset>) -> Self {
        let part = |data: &Py<PyDataset>| Dataset::clone(&data.get().inner);
        let splits = Splits { train: part(&train), validation: part(&validation), test: part(&test) };
        PySplits { inner: Arc::new(splits), train, validation, test }
    }

    /// Reads a folder with train, vali and test files. The same as `read_splits`, which has the options.
    #[staticmethod]
    #[pyo3(signature = (folder, **options))]
    fn read(py: Python<'_>, folder: PathBuf, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        read_splits_folder(py, folder, options)
    }

    /// Writes `train`, `vali` and `test` files into a folder; `form` is `"svmlight"` or `"parquet"`.
    #[pyo3(signature = (folder, form="svmlight"))]
    fn write(&self, py: Python<'_>, folder: PathBuf, form: &str) -> PyResult<()> {
        let format = match form {
            "svmlight" => data::DatasetFormat::Svmlight,
            "parquet" => data::DatasetFormat::Parquet,
            _ => return Err(value_error(format!("form is '{form}', but should be svmlight or parquet"))),
        };
        run_quiet(py, || data::write_splits(&self.inner, &folder, format))
    }

    fn __repr__(&self) -> String {
        let [train, validation, test] =
            [&self.inner.train, &self.inner.validation, &self.inner.test].map(|part| sizes(part)[0].clone());
        let [_, _, features] = sizes(&self.inner.train);
        format!("<Splits: {train} to train, {validation} to validate, {test} to test, {features}>")
    }

    fn _repr_html_(&self) -> String {
        let row = |name: &str, data: &Dataset| {
            let values = [data.query_count(), data.len(), data.feature_count()].map(|v| html::thousands(v as u64));
            std::iter::once(name.to_string()).chain(values).collect()
        };
        let splits = &self.inner;
        let rows =
            [row("train", &splits.train), row("validation", &splits.validation), row("test", &splits.test)].to_vec();
        html::table("Splits", &["", "queries", "documents", "features"], &rows, &[])
    }

    fn __reduce__<'py>(this: Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (py, splits) = (this.py(), this.get());
        let parts = (splits.train.clone_ref(py), splits.validation.clone_ref(py), splits.test.clone_ref(py));
        Ok((py.get_type::<Self>().into_any(), parts.into_pyobject(py)?))
    }
}

/// Reads a folder with train, vali and test files, or one of the ULTRA toolbox.
///
/// Options are those of `read_svmlight`.
#[pyfunction(name = "read_splits")]
#[pyo3(signature = (folder, **options))]
pub fn read_splits_folder(py: Python<'_>, folder: PathBuf, options: Option<&Bound<'_, PyDict>>) -> PyResult<PySplits> {
    let options: ReadOptions = options_of(options)?;
    PySplits::new(py, run_quiet(py, || read_splits(&folder, &options))?)
}

/// Generates a data set that looks like web search: `tiny`, `small`, `hard`, `yahoo` or `baidu`.
///
/// Options are `seed`, `queries` (numbers of training, validation and test queries) and `features` (their number).
///
/// >>> data = truerank.generate("tiny", seed=1)
/// >>> data
/// <Splits: 200 queries to train, 50 queries to validate, 100 queries to test, 20 features>
#[pyfunction]
#[pyo3(signature = (preset=None, /, *, progress=None, **options))]
pub fn generate(
    py: Python<'_>,
    preset: Option<&str>,
    progress: Option<&Bound<'_, PyAny>>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<PySplits> {
    let preset = preset.map(str::parse).transpose().map_err(to_python)?;
    let generation = with(options_of::<Generation>(options)?, preset, Generation::preset);
    let generator = generation.generator().map_err(to_python)?;
    PySplits::new(py, run(py, progress, |progress| generator.generate_with(progress))?)
}
