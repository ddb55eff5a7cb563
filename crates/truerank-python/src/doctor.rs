//! Is a log fit to learn from?

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use truerank::counts::{CountOptions, Counts, CountsView, LogSummary, Need, count_files_view, open_counts};
use truerank::data::Dataset;
use truerank::doctor::{Diagnosis, Doctor};
use truerank::progress::Progress;
use truerank::report::{Report, Verdict};

use crate::counts::{PyCounts, room, warn};
use crate::dataset::{PyDataset, PySplits};
use crate::html;
use crate::json::json_to_python;
use crate::log::{LogInput, LogOptions};
use crate::options::options_of;
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

    /// Whether users differ both in what they search for and in how they look, so much that it matters; None where that cannot be
    /// told.
    #[getter]
    fn personalized_bias(&self) -> Option<bool> {
        self.inner.personalized_bias().decided()
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

/// A log in any form: counts, a folder of them, files, or a table.
pub enum AnyLog {
    Counts(Arc<Counts>, Option<Arc<LogSummary>>),
    Folder(PathBuf),
    Log(Box<LogInput>),
}

impl AnyLog {
    /// Counts take no options of reading: they were counted already.
    pub fn from_python(log: &Bound<'_, PyAny>, options: LogOptions<'_, '_>) -> PyResult<Self> {
        if let Ok(counts) = log.cast::<PyCounts>() {
            options.refuse("counts were read already")?;
            let PyCounts { inner, summary } = counts.get();
            return Ok(AnyLog::Counts(inner.clone(), summary.clone()));
        }
        if let Some(folder) = log.extract::<PathBuf>().ok().filter(|path| path.join("meta.json").is_file()) {
            options.refuse("a folder of counts was read already")?;
            return Ok(AnyLog::Folder(folder));
        }
        LogInput::from_python(log, options.read_options()?).map(|input| AnyLog::Log(Box::new(input)))
    }

    /// The log in a few words.
    pub fn name(&self) -> Option<String> {
        match self {
            AnyLog::Counts(..) => None,
            AnyLog::Folder(folder) => Some(folder.display().to_string()),
            AnyLog::Log(input) => input.name(),
        }
    }
}

/// Examines a click log: what is in it, whether it is fit, whether users bias it, which estimator suits it.
///
/// As `truerank doctor`. `log` is `Counts`, or what `Counts.from_log` takes, with its options. Documents with features
/// (`data`, a data set or splits) let positions be compared where documents never moved. `permutations` are those of each test
/// at most, `level` is the p-value below which a difference counts as found: with 99 permutations no p falls below .01.
///
/// >>> data = truerank.generate("tiny")
/// >>> log = truerank.simulate(data, sessions=3000, seed=1).counts()
/// >>> diagnosis = truerank.doctor(log, data)
/// >>> diagnosis.is_fit
/// True
#[pyfunction]
#[pyo3(signature = (
    log, data=None, *, columns=None, format=None, on_bad_row=None, since=None,
    until=None, list_separator=None, clicks=None, click_when=None, header=None, events=None, memory=None, temporary=None, progress=None, **options
))]
#[allow(clippy::too_many_arguments)] // Python's are keywords.
pub fn doctor<'py>(
    log: &Bound<'py, PyAny>,
    data: Option<&Bound<'py, PyAny>>,
    columns: Option<Bound<'py, PyDict>>,
    format: Option<&Bound<'py, PyAny>>,
    on_bad_row: Option<PathBuf>,
    since: Option<&Bound<'py, PyAny>>,
    until: Option<&Bound<'py, PyAny>>,
    list_separator: Option<char>,
    clicks: Option<&Bound<'py, PyAny>>,
    click_when: Option<&Bound<'py, PyAny>>,
    header: Option<&Bound<'py, PyAny>>,
    events: Option<&Bound<'py, PyAny>>,
    memory: Option<&Bound<'py, PyAny>>,
    temporary: Option<PathBuf>,
    progress: Option<&Bound<'py, PyAny>>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<PyDiagnosis> {
    let py = log.py();
    let examiner: Doctor = options_of(options)?;
    let options =
        LogOptions { columns, format, on_bad_row, since, until, list_separator, clicks, click_when, header, events };
    let log = AnyLog::from_python(log, options)?;
    let (documents, room) = (documents(data)?, room(memory, temporary)?);
    let examine = |counts: &dyn CountsView, summary: Option<&LogSummary>, progress: &dyn Progress| {
        examiner.examine(counts, summary.map(|summary| &summary.pages), documents.as_deref(), progress)
    };
    let (found, summary) = run(py, progress, |progress| match &log {
        AnyLog::Counts(counts, summary) => Ok((examine(&**counts, summary.as_deref(), progress)?, summary.clone())),
        AnyLog::Folder(folder) => {
            Ok((examine(open_counts(folder, &room, Need::Estimation)?.as_ref(), None, progress)?, None))
        }
        AnyLog::Log(input) => {
            let LogInput { paths, options } = &**input;
            let what = CountOptions::new().room(room);
            let (counts, summary) = count_files_view(paths, options, &what, Need::Estimation, progress)?;
            Ok((examine(counts.as_ref(), Some(&summary), progress)?, Some(Arc::new(summary))))
        }
    })?;
    if let (AnyLog::Log(_), Some(summary)) = (&log, &summary) {
        warn(py, summary)?;
    }
    let remarks = summary.map(|summary| summary.remarks()).unwrap_or_default();
    Ok(PyDiagnosis { inner: Arc::new(found), remarks, title: title(log.name()) })
}

/// `Click log: clicks.parquet`; a table has no name.
pub fn title(name: Option<String>) -> String {
    name.map_or("Click log".to_string(), |name| format!("Click log: {name}"))
}
