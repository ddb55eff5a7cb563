//! Click models: how people browse and click.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use serde_json::json;
use truerank::click_model::{
    ClickLog, ClickMeasures, ClickModel, ClickModelOptions, CountedClicks, ModelCell, OfUsers,
};
use truerank::counts::Counts;

use crate::counts::PyCounts;
use crate::dataset::PyDataset;
use crate::error::to_python;
use crate::html;
use crate::ids::ids_to_numpy;
use crate::json::json_to_python;
use crate::options::options_of;
use crate::run::{run, run_quiet};
use crate::table::{PyTable, id_column, table};

/// A fitted click model: relevance of documents, and how people go down a page.
///
/// Made by `truerank.click_model.fit`, or `read` from a file. `truerank.relevance` takes it in place of propensities.
#[pyclass(name = "ClickModel", module = "truerank", frozen)]
pub struct PyClickModel {
    pub inner: Arc<ClickModel>,
}

/// The transitions of counts, with their ids.
fn with_log<T>(counts: &Counts, work: impl FnOnce(&ClickLog<'_>) -> truerank::Result<T>) -> truerank::Result<T> {
    work(&CountedClicks::of(counts)?.log())
}

/// Fits a click model; `truerank.click_model.fit` has the options.
#[pyfunction]
#[pyo3(signature = (counts, data, *, progress, **options))]
pub fn _fit_click_model<'py>(
    py: Python<'py>,
    counts: &PyCounts,
    data: Option<&Bound<'py, PyAny>>,
    progress: Option<&Bound<'py, PyAny>>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<PyClickModel> {
    let options: ClickModelOptions = options_of(options)?;
    let data = data.map(PyDataset::training_part).transpose()?;
    options.check(data.is_some()).map_err(to_python)?;
    let counts = counts.inner.clone();
    let found = run(py, progress, |progress| options.fit_counts(&*counts, data.as_deref(), progress))?;
    Ok(PyClickModel { inner: Arc::new(found) })
}

#[pymethods]
impl PyClickModel {
    /// Reads a file that `write` or `truerank click-model` wrote.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        run_quiet(py, || ClickModel::read(&path)).map(|model| PyClickModel { inner: Arc::new(model) })
    }

    /// Writes it as JSON.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        run_quiet(py, || self.inner.write(&path))
    }

    /// Kinds of users, each with its model, its share of users and its parameters by name.
    #[getter]
    fn kinds<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let kinds = self.inner.kinds.iter().map(|kind| {
            let names = kind.browsing.kind.parameter_names(kind.browsing.positions);
            let parameters: serde_json::Map<String, serde_json::Value> =
                names.into_iter().zip(kind.browsing.values.iter().map(|value| json!(value))).collect();
            json!({
                "model": kind.browsing.kind.to_string(), "share": kind.share, "users": kind.users,
                "parameters": parameters,
            })
        });
        json_to_python(py, &json!(kinds.collect::<Vec<_>>()))
    }

    /// The users who are told apart.
    #[getter]
    fn users<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        ids_to_numpy(py, &self.inner.users)
    }

    /// For each user the parameters, or where there are kinds of users the probability of each; None where all are alike. The
    /// truth of a simulation has the kind of each user, with probability 1.
    #[getter]
    fn by_user<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        let certain;
        let (values, width) = match &self.inner.of_users {
            OfUsers::Alike => return Ok(None),
            OfUsers::Parameters(values) => (values, self.inner.width()),
            OfUsers::Shares(values) => (values, self.inner.kinds.len()),
            OfUsers::Known(users) => {
                let kinds = self.inner.kinds.len();
                let row = |kind: u32| (0..kinds).map(move |other| f64::from(u8::from(other == kind as usize)));
                certain = users.iter().flat_map(|user| row(user.kind)).collect();
                (&certain, kinds)
            }
        };
        PyArray1::from_slice(py, values).reshape([self.inner.users.len(), width]).map(Some)
    }

    /// What pages are shown in, where parameters differ by it.
    #[getter]
    fn contexts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        ids_to_numpy(py, &self.inner.contexts)
    }

    /// For each context the parameters; None where they are the same in all.
    #[getter]
    fn by_context<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        if self.inner.contexts.is_empty() {
            return Ok(None);
        }
        let shape = [self.inner.contexts.len(), self.inner.width()];
        PyArray1::from_slice(py, &self.inner.of_contexts).reshape(shape).map(Some)
    }

    /// A row per document: query, doc, attraction, and satisfaction where the model has it.
    #[getter]
    fn documents(&self) -> PyResult<PyTable> {
        let model = &self.inner;
        let all = || model.documents.iter();
        let floats = |values: Vec<f64>| Arc::new(Float64Array::from(values)) as ArrayRef;
        let mut columns = vec![
            ("query", id_column(&model.queries, all().map(|document| document.query))),
            ("doc", id_column(&model.docs, all().map(|document| document.doc))),
            ("attraction", floats(all().map(|document| document.attraction).collect())),
        ];
        let satisfaction: Vec<f64> = all().filter_map(|document| document.satisfaction).collect();
        if !satisfaction.is_empty() {
            columns.push(("satisfaction", floats(satisfaction)));
        }
        table("Documents", columns)
    }

    /// What it says of every document of a log, by user and last click above: how often it was seen and clicked there, its
    /// exposure, and the probability of a click.
    fn predict(&self, py: Python<'_>, counts: &PyCounts) -> PyResult<PyTable> {
        let counts = counts.inner.clone();
        let cells = run_quiet(py, || with_log(&counts, |log| Ok(self.inner.on(log)?.cells())))?;
        table("Predictions", columns(&counts, &cells))
    }

    /// The exposure of every document of a log, `E = Σ n·ε`: how often it was examined, given the clicks above and the user.
    fn exposure(&self, py: Python<'_>, counts: &PyCounts) -> PyResult<PyTable> {
        let counts = counts.inner.clone();
        let mut cells = run_quiet(py, || with_log(&counts, |log| Ok(self.inner.on(log)?.cells())))?;
        cells.sort_by_key(|cell| (cell.query, cell.doc));
        let of_doc: Vec<&[ModelCell]> = cells.chunk_by(|a, b| (a.query, a.doc) == (b.query, b.doc)).collect();
        let all = || of_doc.iter();
        let whole = |value: fn(&ModelCell) -> u64| {
            let sums = all().map(|cells| cells.iter().map(value).sum::<u64>() as i64);
            Arc::new(Int64Array::from_iter_values(sums)) as ArrayRef
        };
        let exposure =
            |cells: &&[ModelCell]| cells.iter().map(|cell| cell.shown as f64 * cell.exposed.slope).sum::<f64>();
        let columns = vec![
            ("query", id_column(&counts.queries, all().map(|cells| cells[0].query))),
            ("doc", id_column(&counts.docs, all().map(|cells| cells[0].doc))),
            ("impressions", whole(|cell| cell.shown)),
            ("clicks", whole(|cell| cell.clicks)),
            ("exposure", Arc::new(Float64Array::from_iter_values(all().map(exposure))) as ArrayRef),
        ];
        table("Exposure", columns)
    }

    /// Log-likelihood, perplexity and conditional perplexity of a log, as PyClick and CLAX define them.
    fn measure<'py>(&self, py: Python<'py>, counts: &PyCounts) -> PyResult<Bound<'py, PyAny>> {
        let counts = counts.inner.clone();
        let found: ClickMeasures = run_quiet(py, || with_log(&counts, |log| self.inner.measure(log)))?;
        json_to_python(
            py,
            &json!({
                "sessions": found.sessions, "log_likelihood": found.log_likelihood, "perplexity": found.perplexity,
                "conditional_perplexity": found.conditional_perplexity,
                "unknown_impressions": found.unknown_impressions, "unknown_users": found.unknown_users,
                "unknown_contexts": found.unknown_contexts,
            }),
        )
    }

    /// Whether the fit converged.
    #[getter]
    fn converged(&self) -> bool {
        self.inner.fit.converged
    }

    /// What a reader should know.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.inner.notes.clone()
    }

    fn __reduce__<'py>(this: Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        crate::pickle::reduce(this.into_any())
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.inner == other.inner
    }

    fn __repr__(&self) -> String {
        let models: Vec<String> = self.inner.models().iter().map(ToString::to_string).collect();
        let documents = html::count(self.inner.documents.len() as u64, "document", "documents");
        let users = match self.inner.users.len() {
            0 => String::new(),
            users => format!(", {}", html::count(users as u64, "user", "users")),
        };
        format!("<ClickModel: {}, {documents}{users}>", models.join(","))
    }
}

fn columns(counts: &Counts, cells: &[ModelCell]) -> Vec<(&'static str, ArrayRef)> {
    let all = || cells.iter();
    let whole = |value: fn(&ModelCell) -> i64| Arc::new(Int64Array::from_iter_values(all().map(value))) as ArrayRef;
    let floats = |value: fn(&ModelCell) -> f64| Arc::new(Float64Array::from_iter_values(all().map(value))) as ArrayRef;
    vec![
        ("query", id_column(&counts.queries, all().map(|cell| cell.query))),
        ("doc", id_column(&counts.docs, all().map(|cell| cell.doc))),
        ("position", whole(|cell| i64::from(cell.position))),
        ("user", id_column(&counts.users, all().map(|cell| cell.user))),
        ("last_click", whole(|cell| i64::from(cell.last_click))),
        ("impressions", whole(|cell| cell.shown as i64)),
        ("clicks", whole(|cell| cell.clicks as i64)),
        ("exposure", floats(|cell| cell.exposed.slope)),
        ("probability", floats(|cell| cell.probability)),
    ]
}
