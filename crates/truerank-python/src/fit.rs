//! All the way from a log to a ranker.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use truerank::counts::SplitBy;
use truerank::data::Splits;
use truerank::fit::{Fit, FitData, FitFolder, FitLog, FitOutcome, RankerForm};
use truerank::propensity::RelevanceForm;

use crate::counts::warn;
use crate::dataset::{PyDataset, PySplits};
use crate::doctor::PyDiagnosis;
use crate::error::to_python;
use crate::html;
use crate::json::json_to_python;
use crate::log::{log_source, take_reading};
use crate::options::{Keywords, parsed, with};
use crate::propensity::PyPropensities;
use crate::ranker::PyTrainedRanker;
use crate::relevance::{PyRelevance, estimation_choice};
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
    log, data=None, output=None, *, split=None, held_out=None, propensities=None, relevance=None, estimator=None,
    beta=None, prior=None, clip=None, shrink=None, model=None, steps=None, standardise=None, max_grade=None, seed=None,
    progress=None, **options
))]
#[allow(clippy::too_many_arguments)] // Python's are keywords.
pub fn fit<'py>(
    log: &Bound<'py, PyAny>,
    data: Option<&Bound<'py, PyAny>>,
    output: Option<PathBuf>,
    split: Option<&Bound<'py, PyAny>>,
    held_out: Option<f64>,
    propensities: Option<&Bound<'py, PyAny>>,
    relevance: Option<&Bound<'py, PyAny>>,
    estimator: Option<&Bound<'py, PyAny>>,
    beta: Option<&Bound<'py, PyAny>>,
    prior: Option<&Bound<'py, PyAny>>,
    clip: Option<f64>,
    shrink: Option<&Bound<'py, PyAny>>,
    model: Option<&Bound<'py, PyAny>>,
    steps: Option<usize>,
    standardise: Option<bool>,
    max_grade: Option<u8>,
    seed: Option<u64>,
    progress: Option<&Bound<'py, PyAny>>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<PyFitOutcome> {
    let py = log.py();
    let mut keywords = Keywords::new(options)?;
    let reading = take_reading(&mut keywords)?;
    keywords.finish()?;
    let log = log_source(log, reading)?;
    let split = parsed(split)?.unwrap_or(SplitBy::usual(data.is_some()));
    let (share, split_seed) = (held_out.unwrap_or(FitLog::HELD_OUT), seed.unwrap_or(Fit::SEED));
    log.check_split(split, share).map_err(to_python)?;
    let theta = propensities.map(PyPropensities::of).transpose()?;
    let way = with(Fit::new(), theta.map(Arc::unwrap_or_clone), Fit::propensities);
    let way = with(way, parsed::<RelevanceForm>(relevance)?, Fit::relevance_form);
    let way = way.weights(estimation_choice(estimator, beta, prior, clip, shrink)?);
    let way = with(way, parsed::<RankerForm>(model)?, Fit::model);
    let way = with(way, steps, Fit::steps);
    let way = with(way, standardise, Fit::standardise);
    let way = with(way, max_grade, Fit::max_grade);
    let way = with(way, seed, Fit::seed);
    let data = data.map(fit_data).transpose()?;
    let (found, summary) = run(py, progress, |progress| {
        let folder = output.as_deref().map(FitFolder::create).transpose()?;
        let parts = log.split(split, share, split_seed, progress)?;
        let summary = parts.summary.clone();
        let parts = FitLog::from(parts);
        let outcome = way.run(&parts, data.as_ref(), progress)?;
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
