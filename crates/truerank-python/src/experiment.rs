//! The paper's research questions: what `truerank.experiment` is made of.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use truerank::experiment::{Asked, Results, Store};
use truerank::report::{Report, Verdict};

use crate::html;
use crate::json::json_to_python;
use crate::options::options_of;
use crate::run::{run, run_quiet};

/// What an experiment found: claims of the paper with verdicts, and the tables behind them.
#[pyclass(name = "Results", module = "truerank.experiment", frozen)]
pub struct PyResults {
    inner: Arc<Results>,
    report: Arc<Report>,
}

impl From<Results> for PyResults {
    fn from(results: Results) -> Self {
        PyResults { report: Arc::new(results.report()), inner: Arc::new(results) }
    }
}

#[pymethods]
impl PyResults {
    /// Reads a folder of results, finished or not, as `truerank report` does.
    #[staticmethod]
    fn read(py: Python<'_>, folder: PathBuf) -> PyResult<Self> {
        run_quiet(py, || {
            let (store, settings) = Store::open(&folder)?;
            Ok(PyResults::from(Results::read(&store, settings)?))
        })
    }

    /// What the paper says and what we add: each claim with its question, its verdict (yes, no
    /// or open), p, and its comparisons.
    #[getter]
    fn claims<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json_to_python(py, &self.inner.to_json()["claims"])
    }

    /// Every table as a pandas frame, by name.
    #[getter]
    fn tables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let read = py.import("truerank._frames")?.getattr("csv")?;
        let tables = PyDict::new(py);
        for table in self.report.tables() {
            tables.set_item(&table.name, read.call1((table.csv(),))?)?;
        }
        Ok(tables)
    }

    /// How many runs are still to be made.
    #[getter]
    fn missing_runs(&self) -> usize {
        self.inner.missing().len()
    }

    /// Claims and tables, as `truerank experiment --json` prints them.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json_to_python(py, &self.inner.to_json())
    }

    /// What `truerank experiment` prints.
    #[getter]
    fn text(&self) -> String {
        self.report.text()
    }

    /// The whole report as one page that needs no network.
    #[getter]
    fn html(&self, py: Python<'_>) -> PyResult<String> {
        run_quiet(py, || self.report.html())
    }

    /// Writes report.html, figures and tables into a folder.
    fn report(&self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        run_quiet(py, || self.report.write(&folder))
    }

    fn __str__(&self) -> String {
        self.text()
    }

    fn __repr__(&self) -> String {
        let questions: Vec<String> = self.inner.settings.questions.iter().map(ToString::to_string).collect();
        let claims = self.inner.claims();
        let holding = claims.iter().filter(|claim| claim.verdict() == Verdict::Holds).count();
        format!("<Results: {}; {holding} of {} claims hold>", questions.join(", "), claims.len())
    }

    fn _repr_html_(&self) -> String {
        html::report(&self.report)
    }
}

/// Asks the paper's questions, as `truerank experiment` does; see `truerank.experiment.run`.
#[pyfunction]
#[pyo3(signature = (questions=None, *, config=None, data=None, log=None, folder=None, progress=None, **options))]
#[allow(clippy::too_many_arguments)] // Python's are keywords.
pub fn run_experiment(
    py: Python<'_>,
    questions: Option<&Bound<'_, PyAny>>,
    config: Option<PathBuf>,
    data: Option<PathBuf>,
    log: Option<&Bound<'_, PyAny>>,
    folder: Option<PathBuf>,
    progress: Option<&Bound<'_, PyAny>>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<PyResults> {
    let questions = questions.map(|questions| texts(questions, "questions")).transpose()?.unwrap_or_default();
    let log = log.map(|log| paths(log, "log")).transpose()?.unwrap_or_default();
    let asked = options_of::<Asked>(options)?.questions(questions).config(config).data(data).log(log);
    run(py, progress, |progress| Ok(PyResults::from(asked.settings()?.carry_out(folder.as_deref(), progress)?)))
}

/// One text or several.
pub fn texts(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<String>> {
    match value.cast::<PyString>() {
        Ok(text) => Ok(vec![text.to_string()]),
        Err(_) => {
            value.extract().map_err(|_| PyTypeError::new_err(format!("{what} should be a text or a list of texts")))
        }
    }
}

/// One path or several.
pub fn paths(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<PathBuf>> {
    match value.extract::<PathBuf>() {
        Ok(path) => Ok(vec![path]),
        Err(_) => {
            value.extract().map_err(|_| PyTypeError::new_err(format!("{what} should be a path or a list of paths")))
        }
    }
}
