//! All the way from a log to a ranker.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use truerank::data::Splits;
use truerank::fit::{Fit, FitData, FitFolder, FitOutcome};

use crate::click_model::PyClickModel;
use crate::counts::warn;
use crate::dataset::{PyDataset, PySplits};
use crate::doctor::PyDiagnosis;
use crate::error::to_python;
use crate::html;
use crate::json::json_to_python;
use crate::log::{log_source, take_reading};
use crate::options::{Keywords, with};
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

    /// The click model that corrected clicks; None where they were corrected by the examination of positions.
    #[getter]
    fn click_model(&self) -> Option<PyClickModel> {
        let model = self.inner.click_model.model.clone();
        model.map(|model| PyClickModel { inner: Arc::new(model) })
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
/// As `truerank fit`. `log` is `Counts`, or what `Counts.from_log` takes, with its options; `data` are the documents: a
/// data set, splits (whose graded parts validate and test), or None, and then there is no ranker. `output` is a folder
/// that keeps every artefact. `split` is `"query"` to hold out queries (with features the default), `"page"` to hold
/// out result pages (the default without), or `"time"` to hold out what happened last. The other options are those of
/// `truerank fit` too: `held_out`, `relevance`, `click_model`, `model`, `steps`, `scaling`, `seed`, and `estimator`, `beta`,
/// `prior`, `clip` and `shrink` as in `relevance`.
///
/// >>> data = truerank.generate("tiny")
/// >>> log = truerank.simulate(data, sessions=3000, seed=1).counts()
/// >>> outcome = truerank.fit(log, data, model="linear")
/// >>> outcome.ranker.score(data.test) > 0.4
/// True
#[pyfunction]
#[pyo3(signature = (
    log, data=None, output=None, *, propensities=None, max_grade=None, progress=None, **options
))]
#[allow(clippy::too_many_arguments)] // Python's are keywords.
pub fn fit<'py>(
    log: &Bound<'py, PyAny>,
    data: Option<&Bound<'py, PyAny>>,
    output: Option<PathBuf>,
    propensities: Option<&Bound<'py, PyAny>>,
    max_grade: Option<u8>,
    progress: Option<&Bound<'py, PyAny>>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<PyFitOutcome> {
    let py = log.py();
    let mut keywords = Keywords::new(options)?;
    let reading = take_reading(&mut keywords)?;
    let theta = propensities.map(PyPropensities::of).transpose()?;
    let way = keywords.take::<Fit>()?.propensities(theta.map(Arc::unwrap_or_clone));
    keywords.finish()?;
    let way = with(way, max_grade, Fit::max_grade);
    way.check(data.is_some()).map_err(to_python)?;
    let log = log_source(log, reading)?;
    let split = way.split_for(data.is_some());
    log.check_split(split, way.held_out).map_err(to_python)?;
    let data = data.map(fit_data).transpose()?;
    let (found, summary) = run(py, progress, |progress| {
        let folder = output.as_deref().map(FitFolder::create).transpose()?;
        let (mut parts, summary) = way.read_log(&log, data.is_some(), progress)?;
        let outcome = way.run(&parts, data.as_ref(), progress)?;
        parts.keep_what_was_used(&outcome);
        folder.map_or(Ok(()), |folder| folder.write(&outcome, &parts, data.as_ref()))?;
        Ok((outcome, summary))
    })?;
    warn(py, &log, &summary)?;
    Ok(PyFitOutcome { inner: Arc::new(found), remarks: summary.remarks(), title: log.title() })
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
