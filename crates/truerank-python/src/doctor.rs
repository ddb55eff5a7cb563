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
use truerank::report::{Report, Verdict};

use crate::counts::warn;
use crate::dataset::{PyDataset, PySplits};
use crate::html;
use crate::json::json_to_python;
use crate::log::{log_source, take_reading};
use crate::options::Keywords;
use crate::run::{run, run_quiet};

/// What a log is fit for, and why.
#[pyclass(name = "Diagnosis", module = "truerank", frozen)]
pub struct PyDiagnosis {
    pub inner: Arc<Diagnosis>,
    pub remarks: Vec<String>,
    pub title: String,
}

impl PyDiagnosis {
    fn page(&self) -> Report {
        self.inner.report(&self.title)
    }
}

#[pymethods]
impl PyDiagnosis {
    /// Whether the log is fit to learn from; None where that cannot be told.
    #[getter]
    fn is_fit(&self) -> Option<bool> {
        self.inner.fitness().decided()
    }

    /// Whether users differ both in what they search for and in how they look, so much that it matters; None where that
    /// cannot be told.
    #[getter]
    fn personalized_bias(&self) -> Option<bool> {
        self.inner.personalized_bias().decided()
    }

    /// The click model that suits the log: `"pbm"` where none is better by so much that it matters, None where that cannot be
    /// told. `to_dict` has the comparison.
    #[getter]
    fn click_model(&self) -> Option<String> {
        self.inner.suited_click_model().map(|model| model.to_string())
    }

    /// What to know, problems first: dicts with severity, text and help.
    #[getter]
    fn findings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json_to_python(py, &self.inner.findings)
    }

    /// The estimator that suits the log, whether it is the default, and why.
    #[getter]
    fn recommendation<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json_to_python(py, &self.inner.recommendation)
    }

    /// What should be known of the log's rows and columns.
    #[getter]
    fn remarks(&self) -> Vec<String> {
        self.remarks.clone()
    }

    /// All of it, as `truerank doctor --json` prints it.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json_to_python(py, &self.inner.to_json(&self.remarks))
    }

    /// Writes report.html, figures and tables into a folder.
    fn report(&self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        run_quiet(py, || self.page().write(&folder))
    }

    /// The whole report as one page that needs no network.
    #[getter]
    fn html(&self, py: Python<'_>) -> PyResult<String> {
        run_quiet(py, || self.page().html())
    }

    fn __str__(&self) -> String {
        self.page().text()
    }

    fn __repr__(&self) -> String {
        let fit = match self.inner.fitness() {
            Verdict::Holds => "fit to learn from",
            Verdict::DoesNotHold => "not fit to learn from",
            Verdict::Open => "open whether fit to learn from",
        };
        let bias = match self.inner.personalized_bias() {
            Verdict::Holds => "personalized bias",
            Verdict::DoesNotHold => "no personalized bias",
            Verdict::Open => "personalized bias open",
        };
        format!("<Diagnosis: {fit}, {bias}; use {}>", self.inner.recommendation.estimator)
    }

    fn _repr_html_(&self) -> String {
        html::report(&self.page())
    }
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
    Ok(PyDiagnosis { inner: Arc::new(found), remarks: summary.remarks(), title: log.title() })
}
