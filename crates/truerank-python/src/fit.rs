//! All the way from a log to a ranker.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use truerank::data::Splits;
use truerank::files::RoomOptions;
use truerank::fit::{Fit, FitData, FitFolder, FitOutcome, WarmStart};

use crate::click_model::PyClickModel;
use crate::counts::warn;
use crate::dataset::{FeatureNames, PyDataset, PySplits};
use crate::doctor::PyDiagnosis;
use crate::error::to_python;
use crate::html;
use crate::log::{log_source, take_reading};
use crate::options::{Keywords, with};
use crate::propensity::PyPropensities;
use crate::ranker::PyTrainedRanker;
use crate::relevance::PyRelevance;
use crate::run::run;
use crate::shown::{KeptPage, Page};

/// All that was learned from a log, and how good it is.
#[pyclass(name = "FitOutcome", module = "truerank", frozen)]
pub struct PyFitOutcome {
    known: Known,
    page: Page,
}

/// What programs ask for, and a pickle keeps.
#[derive(FromPyObject, IntoPyObject)]
#[pyo3(from_item_all)]
struct Known {
    name: String,
    diagnosis: Py<PyDiagnosis>,
    propensities: Py<PyPropensities>,
    click_model: Option<Py<PyClickModel>>,
    relevance: Py<PyRelevance>,
    ranker: Option<Py<PyAny>>,
    /// As JSON.
    all: String,
}

impl Known {
    fn new(py: Python<'_>, found: &FitOutcome, names: &FeatureNames, log: (Vec<String>, &str)) -> PyResult<Self> {
        let (remarks, title) = log;
        let ranker = found.training.as_ref().map(|training| {
            let trained = PyTrainedRanker::from(training.ranker.clone());
            let names = names.as_ref().map(|names| names.to_vec());
            let made = py.import("truerank._ranker")?.call_method1("of_trained", (trained, names))?;
            Ok::<_, PyErr>(made.unbind())
        });
        let model = found.click_model.model.clone().map(|model| Py::new(py, PyClickModel { inner: Arc::new(model) }));
        Ok(Known {
            name: name(found),
            diagnosis: Py::new(py, PyDiagnosis::new(&found.diagnosis, remarks, title))?,
            propensities: Py::new(py, PyPropensities::from(found.propensities.clone()))?,
            click_model: model.transpose()?,
            relevance: Py::new(py, PyRelevance::from(found.relevance.clone()))?,
            ranker: ranker.transpose()?,
            all: found.to_json().to_string(),
        })
    }

    fn clone_ref(&self, py: Python<'_>) -> Self {
        Known {
            name: self.name.clone(),
            diagnosis: self.diagnosis.clone_ref(py),
            propensities: self.propensities.clone_ref(py),
            click_model: self.click_model.as_ref().map(|model| model.clone_ref(py)),
            relevance: self.relevance.clone_ref(py),
            ranker: self.ranker.as_ref().map(|ranker| ranker.clone_ref(py)),
            all: self.all.clone(),
        }
    }
}

#[pymethods]
impl PyFitOutcome {
    /// What was found out about the part of the log that was learned from.
    #[getter]
    fn diagnosis(&self, py: Python<'_>) -> Py<PyDiagnosis> {
        self.known.diagnosis.clone_ref(py)
    }

    /// Who looks where.
    #[getter]
    fn propensities(&self, py: Python<'_>) -> Py<PyPropensities> {
        self.known.propensities.clone_ref(py)
    }

    /// The click model that corrected clicks; None where they were corrected by the examination of positions.
    #[getter]
    fn click_model(&self, py: Python<'_>) -> Option<Py<PyClickModel>> {
        self.known.click_model.as_ref().map(|model| model.clone_ref(py))
    }

    /// What is relevant.
    #[getter]
    fn relevance(&self, py: Python<'_>) -> Py<PyRelevance> {
        self.known.relevance.clone_ref(py)
    }

    /// The ranker; None where there were no features.
    #[getter]
    fn ranker(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.known.ranker.as_ref().map(|ranker| ranker.clone_ref(py))
    }

    /// All of it, as `truerank fit --json` prints it.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("json")?.call_method1("loads", (&self.known.all,))
    }

    /// Plots what held-out clicks say of the ranker and of the pages as they were shown; without a ranker, examination by position.
    ///
    /// Drawn by matplotlib, which this call imports, onto `ax` or a new figure; returns the axes.
    #[pyo3(signature = (ax=None))]
    fn plot<'py>(this: Bound<'py, Self>, ax: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("truerank._plot")?.call_method1("fit", (this, ax))
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
        let kept = (self.known.clone_ref(py), self.page.kept(py)?);
        Ok((py.get_type::<Self>().getattr("_restore")?, kept))
    }

    #[staticmethod]
    fn _restore(known: Known, page: KeptPage) -> Self {
        PyFitOutcome { known, page: Page::Kept(page) }
    }
}

fn name(found: &FitOutcome) -> String {
    let [_, sessions, clicks] = found.sizes.train.map(html::thousands);
    let ranker = found.training.as_ref().map_or("no ranker".to_string(), |found| found.form.to_string());
    format!("<FitOutcome: {ranker}, learned from {sessions} sessions with {clicks} clicks>")
}

/// Goes all the way from a click log to a ranker, and judges it on a part of the log that was held out.
///
/// As `truerank fit`. `log` is `Counts`, or what `Counts.from_log` takes, with its options; `data` are the documents: a
/// data set, splits (whose graded parts validate and test), or None, and then there is no ranker. `output` is a folder
/// that keeps every artefact. `split` is `"query"` to hold out queries (with features the default), `"page"` to hold
/// out result pages (the default without), or `"time"` to hold out what happened last. `warm` is the folder of an earlier
/// fit, whose kind of ranker, steps and number of kinds of users are not chosen again. The other options are those of
/// `truerank fit` too: `held_out`, `relevance`, `click_model`, `model`, `steps`, `scaling`, `seed`, and `estimator`, `beta`,
/// `prior`, `clip` and `shrink` as in `relevance`; `memory` and `temporary` are those of `Counts.from_log`, for a log or a folder of
/// counts.
///
/// >>> data = truerank.generate("tiny")
/// >>> log = truerank.simulate(data, sessions=3000, seed=1).counts()
/// >>> outcome = truerank.fit(log, data, model="linear")
/// >>> outcome.ranker.score(data.test) > 0.4
/// True
#[pyfunction]
#[pyo3(signature = (
    log, data=None, output=None, *, propensities=None, warm=None, max_grade=None, progress=None, **options
))]
#[allow(clippy::too_many_arguments)] // Python's are keywords.
pub fn fit<'py>(
    log: &Bound<'py, PyAny>,
    data: Option<&Bound<'py, PyAny>>,
    output: Option<PathBuf>,
    propensities: Option<&Bound<'py, PyAny>>,
    warm: Option<PathBuf>,
    max_grade: Option<u8>,
    progress: Option<&Bound<'py, PyAny>>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<PyFitOutcome> {
    let py = log.py();
    let mut keywords = Keywords::new(options)?;
    let reading = take_reading(&mut keywords)?;
    let theta = propensities.map(PyPropensities::of).transpose()?;
    let warm = warm.as_deref().map(WarmStart::read).transpose().map_err(to_python)?;
    let way = keywords.take::<Fit>()?.propensities(theta.map(Arc::unwrap_or_clone)).warm(warm);
    let room = keywords.take::<RoomOptions>()?.room(output.as_deref());
    keywords.finish()?;
    let way = with(way, max_grade, Fit::max_grade);
    way.check(data.is_some()).map_err(to_python)?;
    let log = log_source(log, reading)?;
    let split = way.split_for(data.is_some());
    log.check_split(split, way.held_out).map_err(to_python)?;
    let names = data.map(PyDataset::names_of).transpose()?.flatten();
    let data = data.map(fit_data).transpose()?;
    let (found, summary) = run(py, progress, |progress| {
        let folder = output.as_deref().map(FitFolder::create).transpose()?;
        let (parts, summary) = way.read_log(&log, data.is_some(), Some(room), progress)?;
        let outcome = way.run(&parts, data.as_ref(), progress)?;
        // Made here, where Python's lock is released.
        outcome.report();
        folder.map_or(Ok(()), |folder| folder.write(&outcome, &parts, data.as_ref()))?;
        Ok((outcome, summary))
    })?;
    warn(py, &log, &summary)?;
    let known = Known::new(py, &found, &names, (summary.remarks(), &log.title()))?;
    Ok(PyFitOutcome { known, page: Page::new(found.report().clone(), found.summary()) })
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
