//! All the way from a log to a ranker.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use truerank::counts::{CountOptions, Counts, LogSummary, count_files};
use truerank::data::Splits;
use truerank::fit::{Fit, FitData, FitFolder, FitLog, FitOutcome, SplitBy};
use truerank::log::time_at;
use truerank::progress::Progress;

use crate::counts::warn;
use crate::dataset::{PyDataset, PySplits};
use crate::doctor::{AnyLog, PyDiagnosis, title};
use crate::error::{to_python, value_error};
use crate::html;
use crate::json::json_to_python;
use crate::log::{LogInput, LogOptions};
use crate::options::{options_of, with};
use crate::propensity::PyPropensities;
use crate::ranker::PyTrainedRanker;
use crate::relevance::PyRelevance;
use crate::run::{run, run_quiet};

/// All that was learned from a log, and how good it is.
#[pyclass(name = "FitOutcome", module = "truerank", frozen)]
pub struct PyFitOutcome {
    inner: Arc<FitOutcome>,
    remarks: Vec<String>,
    title: String,
}

#[pymethods]
impl PyFitOutcome {
    /// What was found out about the part of the log that was learned from.
    #[getter]
    fn diagnosis(&self) -> PyDiagnosis {
        let inner = Arc::new(self.inner.diagnosis.clone());
        PyDiagnosis { inner, remarks: self.remarks.clone(), title: self.title.clone() }
    }

    /// Who looks where.
    #[getter]
    fn propensities(&self) -> PyPropensities {
        PyPropensities::from(self.inner.propensities.clone())
    }

    /// What is relevant.
    #[getter]
    fn relevance(&self) -> PyRelevance {
        PyRelevance::from(self.inner.relevance.clone())
    }

    /// The ranker; None where there were no features.
    #[getter]
    fn ranker<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(training) = &self.inner.training else { return Ok(None) };
        let trained = PyTrainedRanker::from(training.ranker.clone());
        py.import("truerank._ranker")?.getattr("of_trained")?.call1((trained,)).map(Some)
    }

    /// All of it, as `truerank fit --json` prints it.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json_to_python(py, &self.inner.to_json())
    }

    /// Writes report.html, figures and tables into a folder.
    fn report(&self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        run_quiet(py, || self.inner.report().write(&folder))
    }

    /// The whole report as one page that needs no network.
    #[getter]
    fn html(&self, py: Python<'_>) -> PyResult<String> {
        run_quiet(py, || self.inner.report().html())
    }

    fn __str__(&self) -> String {
        self.inner.summary().text()
    }

    fn __repr__(&self) -> String {
        let [_, sessions, clicks] = self.inner.sizes.train.map(html::thousands);
        let ranker = self.inner.training.as_ref().map_or("no ranker".to_string(), |found| found.form.to_string());
        format!("<FitOutcome: {ranker}, learned from {sessions} sessions with {clicks} clicks>")
    }

    fn _repr_html_(&self) -> String {
        html::report(&self.inner.summary())
    }
}

/// Goes all the way from a click log to a ranker, and judges it on a part of the log that was held out.
///
/// As `truerank fit`. `log` is `Counts`, or what `Counts.from_log` takes, with its options; `data` are the documents: a data set,
/// splits (whose graded parts validate and test), or None, and then there is no ranker. `output` is a folder that keeps
/// every artefact. `split` is `"query"` to hold out queries (with features the default), `"page"` to hold out result pages (the default
/// without), or `"time"` to hold out what happened last.
///
/// >>> data = truerank.generate("tiny")
/// >>> log = truerank.simulate(data, sessions=3000, seed=1).counts()
/// >>> outcome = truerank.fit(log, data, model="linear")
/// >>> outcome.ranker.score(data.test) > 0.4
/// True
#[pyfunction]
#[pyo3(signature = (
    log, data=None, output=None, *, propensities=None, max_grade=None,
    columns=None, format=None, on_bad_row=None, since=None, until=None, list_separator=None, clicks=None, click_when=None, header=None,
    events=None, progress=None, **options
))]
#[allow(clippy::too_many_arguments)] // Python's are keywords.
pub fn fit<'py>(
    log: &Bound<'py, PyAny>,
    data: Option<&Bound<'py, PyAny>>,
    output: Option<PathBuf>,
    propensities: Option<&Bound<'py, PyAny>>,
    max_grade: Option<u8>,
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
    progress: Option<&Bound<'py, PyAny>>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<PyFitOutcome> {
    let py = log.py();
    let theta = propensities.map(PyPropensities::of).transpose()?;
    let way = options_of::<Fit>(options)?.propensities(theta.map(Arc::unwrap_or_clone));
    let way = with(way, max_grade, Fit::max_grade);
    way.check(data.is_some()).map_err(to_python)?;
    let options =
        LogOptions { columns, format, on_bad_row, since, until, list_separator, clicks, click_when, header, events };
    let log = AnyLog::from_python(log, options)?;
    let cut = Cut::new(&way, data.is_some(), &log)?;
    let data = data.map(fit_data).transpose()?;
    let (found, summary) = run(py, progress, |progress| {
        let folder = output.as_deref().map(FitFolder::create).transpose()?;
        let (parts, summary) = cut.read(&log, progress)?;
        let outcome = way.run(&parts, data.as_ref(), progress)?;
        folder.map_or(Ok(()), |folder| folder.write(&outcome, &parts, data.as_ref()))?;
        Ok((outcome, summary))
    })?;
    if let Some(summary) = &summary {
        warn(py, summary)?;
    }
    let remarks = summary.map(|summary| summary.remarks()).unwrap_or_default();
    Ok(PyFitOutcome { inner: Arc::new(found), remarks, title: title(log.name()) })
}

fn fit_data(data: &Bound<'_, PyAny>) -> PyResult<FitData> {
    if let Ok(splits) = data.cast::<PySplits>() {
        return Ok(FitData::of_splits(Splits::clone(&splits.get().inner)));
    }
    match data.cast::<PyDataset>() {
        Ok(data) => Ok(FitData::of_documents(truerank::data::Dataset::clone(&data.get().inner))),
        Err(_) => Err(PyTypeError::new_err("data should be a Dataset or Splits")),
    }
}

/// How the log is cut into a part to learn from and a part to judge by.
struct Cut {
    split: SplitBy,
    share: f64,
    seed: u64,
}

impl Cut {
    fn new(way: &Fit, has_features: bool, log: &AnyLog) -> PyResult<Self> {
        let split = way.split_for(has_features);
        if split == SplitBy::Time && !matches!(log, AnyLog::Log(_)) {
            return Err(value_error("counts have no times, but split is time; pass the log itself, or split by query"));
        }
        Ok(Cut { split, share: way.held_out, seed: way.seed })
    }

    fn read(&self, log: &AnyLog, progress: &dyn Progress) -> truerank::Result<(FitLog, Option<LogSummary>)> {
        match log {
            AnyLog::Counts(counts, summary) => {
                let parts = self.cut(counts)?;
                Ok((with(parts, summary.as_ref().map(|summary| summary.pages), FitLog::pages), None))
            }
            AnyLog::Folder(folder) => Ok((self.cut(&Counts::read(folder)?)?, None)),
            AnyLog::Log(input) if self.split == SplitBy::Time => self.by_time(input, progress),
            AnyLog::Log(input) => {
                let LogInput { paths, options } = &**input;
                let (counts, summary) = count_files(paths, options, &CountOptions::new(), progress)?;
                let parts = self.cut(&counts)?.pages(summary.pages);
                Ok((parts, Some(summary)))
            }
        }
    }

    fn cut(&self, counts: &Counts) -> truerank::Result<FitLog> {
        match self.split {
            SplitBy::Pages => FitLog::by_pages(counts, self.share, self.seed),
            _ => FitLog::by_queries(counts, self.share, self.seed),
        }
    }

    fn by_time(&self, log: &LogInput, progress: &dyn Progress) -> truerank::Result<(FitLog, Option<LogSummary>)> {
        let LogInput { paths, options } = log;
        let at = time_at(paths, options, 1.0 - self.share)?;
        let count = |options| count_files(paths, &options, &CountOptions::new(), progress);
        let (before, summary) = count(options.clone().until(at))?;
        let (after, _) = count(options.clone().from(at))?;
        Ok((FitLog::by_time(before, after).pages(summary.pages), Some(summary)))
    }
}
