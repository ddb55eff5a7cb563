//! Data sets: `truerank.data` in Python.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use numpy::PyArray1;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use truerank::data::{
    self, Dataset, DatasetBuilder, Generation, ReadOptions, Splits, read_dataset, read_splits, write_dataset,
};
use truerank::ids::{IdIndex, Ids};

use crate::arrays::{features_from_python, features_to_numpy, floats_from_python};
use crate::error::{to_python, value_error};
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
#[pyclass(name = "Dataset", module = "truerank", frozen)]
pub struct PyDataset {
    pub inner: Arc<Dataset>,
}

impl From<Dataset> for PyDataset {
    fn from(data: Dataset) -> Self {
        PyDataset { inner: Arc::new(data) }
    }
}

#[pymethods]
impl PyDataset {
    /// A data set from arrays: one row of `X`, and one value of the others, per document.
    ///
    /// `query` and `doc` are whole numbers or text; rows of a query must follow each other. Documents without ids are
    /// numbered from 1 within their query. A contiguous float32 `X` is not copied: do not change it while the data set
    /// is in use.
    #[staticmethod]
    #[pyo3(signature = (X, grade=None, query=None, doc=None, *, max_grade=None))]
    #[allow(non_snake_case)]
    fn from_arrays(
        X: &Bound<'_, PyAny>,
        grade: Option<&Bound<'_, PyAny>>,
        query: Option<&Bound<'_, PyAny>>,
        doc: Option<&Bound<'_, PyAny>>,
        max_grade: Option<u8>,
    ) -> PyResult<Self> {
        let py = X.py();
        let matrix = features_from_python(X)?;
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
        let (queries, query_ends) = group(&query)?;
        let feature_count = matrix.columns;
        let builder = DatasetBuilder { features: Vec::new(), feature_count, grades, queries, query_ends, docs };
        run_quiet(py, || {
            matrix.check_not_infinite()?;
            let data = builder.build_on(matrix.values)?;
            check_docs(&data)?;
            Ok(data)
        })
        .map(PyDataset::from)
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
        run_quiet(py, || Ok(self.inner.select(&numbers))).map(PyDataset::from)
    }

    /// Writes the data set: Parquet for `.parquet`, LETOR/SVMlight text otherwise.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        run_quiet(py, || write_dataset(&self.inner, &path))
    }

    /// A pandas frame with a row per document: query, doc, grade, f1, f2, …
    fn to_pandas<'py>(this: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("truerank._frames")?.getattr("dataset")?.call1((this,))
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
        let parts = (features, data.grades(py), data.query(py)?, data.docs(py)?);
        Ok((make, parts.into_pyobject(py)?))
    }

    #[staticmethod]
    #[pyo3(signature = (features, grade, query, doc))]
    fn _from_pickle(
        features: &Bound<'_, PyAny>,
        grade: Option<&Bound<'_, PyAny>>,
        query: &Bound<'_, PyAny>,
        doc: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        Self::from_arrays(features, grade, Some(query), Some(doc), Some(u8::MAX))
    }
}

impl PyDataset {
    /// A data set as it is, or the training part of splits.
    pub fn training_part(data: &Bound<'_, PyAny>) -> PyResult<Arc<Dataset>> {
        if let Ok(splits) = data.cast::<PySplits>() {
            return Ok(splits.get().train.get().inner.clone());
        }
        let data = data.cast::<Self>().map_err(|_| PyTypeError::new_err("data should be a Dataset, or Splits"))?;
        Ok(data.get().inner.clone())
    }
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
pub(crate) fn group(of_rows: &Ids) -> PyResult<(Ids, Vec<usize>)> {
    let is_first = |row: &usize| *row == 0 || of_rows.compare(*row, *row - 1).is_ne();
    let starts: Vec<usize> = (0..of_rows.len()).filter(is_first).collect();
    let queries = of_rows.select(starts.iter().copied());
    let index = IdIndex::new(&queries);
    for (number, &start) in starts.iter().enumerate() {
        let name = queries.name(number);
        if index.find(&name) != Some(number as u32) {
            return Err(value_error(format!(
                "query: row {}: '{name}' stands apart from its other rows, but rows of a query stand together; sort by it \
                 first: order = numpy.argsort(query, kind=\"stable\")",
                start + 1
            )));
        }
    }
    let ends = starts.iter().skip(1).copied().chain((!of_rows.is_empty()).then_some(of_rows.len())).collect();
    Ok((queries, ends))
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
    PySplits::new(py, run_quiet(py, || data::split_by_query(&data.inner, shares, seed))?)
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
