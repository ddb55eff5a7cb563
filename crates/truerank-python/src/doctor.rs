//! Is a log fit to learn from?

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use truerank::counts::{CountOptions, Need};
use truerank::data::Dataset;
use truerank::doctor::{Diagnosis, Doctor};
use truerank::files::RoomOptions;
use truerank::report::Verdict;

use crate::counts::warn;
use crate::dataset::{PyDataset, PySplits};
use crate::log::{log_source, take_reading};
use crate::options::Keywords;
use crate::run::run;
use crate::shown::{KeptPage, Page};

/// What a log is fit for, and why.
#[pyclass(name = "Diagnosis", module = "truerank", frozen)]
pub struct PyDiagnosis {
    known: Known,
    page: Page,
}

/// What programs ask for, and a pickle keeps.
#[derive(Clone, FromPyObject, IntoPyObject)]
#[pyo3(from_item_all)]
struct Known {
    name: String,
    is_fit: Option<bool>,
    personalized_bias: Option<bool>,
    click_model: Option<String>,
    remarks: Vec<String>,
    /// As JSON.
    all: String,
}

impl PyDiagnosis {
    pub fn new(found: &Diagnosis, remarks: Vec<String>, title: &str) -> Self {
        let known = Known {
            name: name(found),
            is_fit: found.fitness().decided(),
            personalized_bias: found.personalized_bias().decided(),
            click_model: found.suited_click_model().map(|model| model.to_string()),
            all: found.to_json(&remarks).to_string(),
            remarks,
        };
        PyDiagnosis { known, page: Page::from(found.report(title)) }
    }

    fn all<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("json")?.call_method1("loads", (&self.known.all,))
    }
}

#[pymethods]
impl PyDiagnosis {
    /// Whether the log is fit to learn from; None where that cannot be told.
    #[getter]
    fn is_fit(&self) -> Option<bool> {
        self.known.is_fit
    }

    /// Whether users differ both in what they search for and in how they look, so much that it matters; None where that
    /// cannot be told.
    #[getter]
    fn personalized_bias(&self) -> Option<bool> {
        self.known.personalized_bias
    }

    /// The click model that suits the log: `"pbm"` where none is better by so much that it matters, None where that cannot be
    /// told. `to_dict` has the comparison.
    #[getter]
    fn click_model(&self) -> Option<String> {
        self.known.click_model.clone()
    }

    /// What to know, problems first: dicts with severity, text and help.
    #[getter]
    fn findings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.all(py)?.get_item("diagnosis")?.get_item("findings")
    }

    /// The estimator that suits the log, whether it is the default, and why.
    #[getter]
    fn recommendation<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.all(py)?.get_item("diagnosis")?.get_item("recommendation")
    }

    /// What should be known of the log's rows and columns.
    #[getter]
    fn remarks(&self) -> Vec<String> {
        self.known.remarks.clone()
    }

    /// All of it, as `truerank doctor --json` prints it.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.all(py)
    }

    /// Plots clicks per impression by position.
    ///
    /// Drawn by matplotlib, which this call imports, onto `ax` or a new figure; returns the axes.
    #[pyo3(signature = (ax=None))]
    fn plot<'py>(this: Bound<'py, Self>, ax: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("truerank._plot")?.call_method1("diagnosis", (this, ax))
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
        PyDiagnosis { known, page: Page::Kept(page) }
    }
}

fn name(found: &Diagnosis) -> String {
    let fit = match found.fitness() {
        Verdict::Holds => "fit to learn from",
        Verdict::DoesNotHold => "not fit to learn from",
        Verdict::Open => "open whether fit to learn from",
    };
    let bias = match found.personalized_bias() {
        Verdict::Holds => "personalized bias",
        Verdict::DoesNotHold => "no personalized bias",
        Verdict::Open => "personalized bias open",
    };
    format!("<Diagnosis: {fit}, {bias}; use {}>", found.recommendation.estimator)
}

/// Documents of a log: a data set, or the training part of splits.
pub fn documents(data: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Arc<Dataset>>> {
    let Some(data) = data else { return Ok(None) };
    if let Ok(splits) = data.cast::<PySplits>() {
        return Ok(Some(Arc::new(splits.get().inner.train.clone())));
    }
    match data.cast::<PyDataset>() {
        Ok(data) => Ok(Some(data.get().inner.clone())),
        Err(_) => Err(PyTypeError::new_err("data should be a Dataset or Splits")),
    }
}

/// Examines a click log: what is in it, whether it is fit, whether users bias it, which estimator suits it.
///
/// As `truerank doctor`. `log` is `Counts`, or what `Counts.from_log` takes, with its options. Documents with features
/// (`data`, a data set or splits) let positions be compared where documents never moved. `permutations` are those of
/// each test at most, `level` is the p-value below which a difference counts as found: with 99 permutations no p falls
/// below .01. `memory` and `temporary` are those of `Counts.from_log`.
///
/// >>> data = truerank.generate("tiny")
/// >>> log = truerank.simulate(data, sessions=3000, seed=1).counts()
/// >>> diagnosis = truerank.doctor(log, data)
/// >>> diagnosis.is_fit
/// True
#[pyfunction]
#[pyo3(signature = (
    log, data=None, *, progress=None, **options
))]
#[allow(clippy::too_many_arguments)] // Python's are keywords.
pub fn doctor<'py>(
    log: &Bound<'py, PyAny>,
    data: Option<&Bound<'py, PyAny>>,
    progress: Option<&Bound<'py, PyAny>>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<PyDiagnosis> {
    let py = log.py();
    let mut keywords = Keywords::new(options)?;
    let reading = take_reading(&mut keywords)?;
    let room = keywords.take::<RoomOptions>()?.room(None);
    let examiner: Doctor = keywords.take()?;
    keywords.finish()?;
    let log = log_source(log, reading)?;
    let documents = documents(data)?;
    let what = CountOptions::new().room(Some(room));
    let (found, summary) = run(py, progress, |progress| {
        let (counts, summary) = log.view(&what, Need::Estimation, progress)?;
        let found = examiner.examine(counts.as_ref(), summary.pages.as_ref(), documents.as_deref(), progress)?;
        Ok((found, summary))
    })?;
    warn(py, &log, &summary)?;
    Ok(PyDiagnosis::new(&found, summary.remarks(), &log.title()))
}
