//! The paper's research questions: what `truerank.experiment` is made of.

use std::path::PathBuf;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use truerank::experiment::{Asked, Results, Store};
use truerank::report::Verdict;

use crate::options::options_of;
use crate::run::{run, run_quiet};
use crate::shown::{KeptPage, Page};

/// What an experiment found: claims of the paper with verdicts, and the tables behind them.
#[pyclass(name = "Results", module = "truerank.experiment", frozen)]
pub struct PyResults {
    known: Known,
    page: Page,
}

/// What programs ask for, and a pickle keeps.
#[derive(Clone, FromPyObject, IntoPyObject)]
#[pyo3(from_item_all)]
struct Known {
    name: String,
    missing_runs: usize,
    /// Names of tables, with their CSV.
    tables: Vec<(String, String)>,
    /// As JSON.
    all: String,
}

impl From<Results> for PyResults {
    fn from(results: Results) -> Self {
        let report = results.report();
        let known = Known {
            name: name(&results),
            missing_runs: results.missing().len(),
            tables: report.tables().into_iter().map(|table| (table.name.clone(), table.csv())).collect(),
            all: results.to_json().to_string(),
        };
        PyResults { known, page: Page::from(report) }
    }
}

fn name(results: &Results) -> String {
    let questions: Vec<String> = results.settings.questions.iter().map(ToString::to_string).collect();
    let claims = results.claims();
    let holding = claims.iter().filter(|claim| claim.verdict() == Verdict::Holds).count();
    format!("<Results: {}; {holding} of {} claims hold>", questions.join(", "), claims.len())
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
        self.to_dict(py)?.get_item("claims")
    }

    /// Every table as a pandas frame, by name.
    #[getter]
    fn tables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let read = py.import("truerank._frames")?.getattr("csv")?;
        let tables = PyDict::new(py);
        for (name, text) in &self.known.tables {
            tables.set_item(name, read.call1((text,))?)?;
        }
        Ok(tables)
    }

    /// How many runs are still to be made.
    #[getter]
    fn missing_runs(&self) -> usize {
        self.known.missing_runs
    }

    /// Claims and tables, as `truerank experiment --json` prints them.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("json")?.call_method1("loads", (&self.known.all,))
    }

    /// What `truerank experiment` prints.
    #[getter]
    fn text(&self) -> String {
        self.page.text()
    }

    /// Writes report.html, figures and tables into a folder.
    fn report(&self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        self.page.write(py, &folder)
    }

    /// The whole report as one page that needs no network.
    #[getter]
    fn html(&self, py: Python<'_>) -> PyResult<String> {
        self.page.html(py)
    }

    fn __str__(&self) -> String {
        self.page.text()
    }

    fn __repr__(&self) -> &str {
        &self.known.name
    }

    fn _repr_html_(&self) -> String {
        self.page.notebook()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Known, KeptPage))> {
        let kept = (self.known.clone(), self.page.kept(py)?);
        Ok((py.get_type::<Self>().getattr("_restore")?, kept))
    }

    #[staticmethod]
    fn _restore(known: Known, page: KeptPage) -> Self {
        PyResults { known, page: Page::Kept(page) }
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
