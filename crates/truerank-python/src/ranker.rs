//! Rankers: what `truerank.Ranker`, which is written in Python, is made of.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use truerank::data::Dataset;
use truerank::evaluate::{Evaluator, Measure};
use truerank::insight::Explain;
use truerank::ranker::{Export, ExportFormat, LearnFrom, Ranker, Training, Unmatched, Writes};
use truerank::relevance::{PairWeights, Relevance};

use crate::arrays::{features_from_python, floats_from_python};
use crate::dataset::PyDataset;
use crate::error::to_python;
use crate::html;
use crate::json::json_to_python;
use crate::options::{options_of, with};
use crate::relevance::{PyPairWeights, PyRelevance};
use crate::run::{run, run_quiet};

/// Values of a feature, and a score for each.
type Curve<'py> = (Bound<'py, PyArray1<f32>>, Bound<'py, PyArray1<f64>>);

/// A trained ranker without scikit-learn's interface: what `Ranker.trained_` is.
#[pyclass(name = "TrainedRanker", module = "truerank", frozen)]
pub struct PyTrainedRanker {
    pub inner: Arc<Ranker>,
    unmatched: Unmatched,
}

impl From<Ranker> for PyTrainedRanker {
    fn from(ranker: Ranker) -> Self {
        PyTrainedRanker { inner: Arc::new(ranker), unmatched: Unmatched::default() }
    }
}

#[pymethods]
impl PyTrainedRanker {
    /// The score of each document of a data set, or of each row of a matrix; higher ranks earlier.
    #[allow(non_snake_case)]
    fn score<'py>(&self, X: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<f32>>> {
        let py = X.py();
        let scores = match X.cast::<PyDataset>() {
            Ok(data) => {
                let data = &data.get().inner;
                run_quiet(py, || self.inner.score(data))?
            }
            Err(_) => {
                let matrix = features_from_python(X)?;
                run_quiet(py, || {
                    matrix.check_not_infinite()?;
                    self.inner.score_rows(&matrix.values, matrix.columns)
                })?
            }
        };
        Ok(PyArray1::from_vec(py, scores))
    }

    /// How many features a document must have.
    #[getter]
    fn feature_count(&self) -> usize {
        self.inner.feature_count()
    }

    /// The form of the ranker: `linear`, `mlp:…`, `trees`, or `weights` where it is a weight for each raw feature.
    #[getter]
    fn form(&self) -> String {
        self.inner.form()
    }

    /// How it was trained.
    #[getter]
    fn record<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json_to_python(py, &self.inner.record)
    }

    /// Queries, and documents of the others, that had weights but are not in the data it was trained on.
    #[getter]
    fn unmatched(&self) -> (usize, usize) {
        (self.unmatched.queries, self.unmatched.docs)
    }

    /// The weight of each feature and what is added to every score, or None where scores are not linear.
    #[getter]
    fn coefficients<'py>(&self, py: Python<'py>) -> Option<(Bound<'py, PyArray1<f32>>, f32)> {
        self.inner.coefficients().map(|(weights, bias)| (PyArray1::from_vec(py, weights), bias))
    }

    /// How much each feature matters: a dict per feature, counted from 1, in their order.
    #[pyo3(signature = (data, *, seed=None, progress=None))]
    fn importance<'py>(
        &self,
        data: &Bound<'py, PyDataset>,
        seed: Option<u64>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, data) = (data.py(), &data.get().inner);
        let explain = with(Explain::new(), seed, Explain::seed);
        let found = run(py, progress, |progress| explain.importance(&self.inner, data, progress))?;
        json_to_python(py, &found)
    }

    /// Values of a feature, counted from 1, and the mean score of documents if all had that value.
    #[pyo3(signature = (data, feature, *, seed=None))]
    fn partial_dependence<'py>(
        &self,
        data: &Bound<'py, PyDataset>,
        feature: usize,
        seed: Option<u64>,
    ) -> PyResult<Curve<'py>> {
        let (py, data) = (data.py(), &data.get().inner);
        let explain = with(Explain::new(), seed, Explain::seed);
        let found = run_quiet(py, || explain.partial_dependence(&self.inner, data, feature))?;
        Ok((PyArray1::from_vec(py, found.values), PyArray1::from_vec(py, found.scores)))
    }

    /// Writes the ranker as safetensors, as `truerank train` does.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        run_quiet(py, || self.inner.save(&path))
    }

    /// Reads a ranker that `write` or `truerank train` wrote.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        run_quiet(py, || Ranker::load(&path)).map(PyTrainedRanker::from)
    }

    /// Writes the ranker for another program: `onnx`, `elasticsearch` (also for OpenSearch; of trees and plain weights), and of trees
    /// the models of `lightgbm` and `xgboost`.
    #[pyo3(signature = (path, to, *, name=None, feature_names=None))]
    fn export(
        &self,
        py: Python<'_>,
        path: PathBuf,
        to: &str,
        name: Option<String>,
        feature_names: Option<Vec<String>>,
    ) -> PyResult<()> {
        let of_rankers = |writes| if let Writes::Ranker(write) = writes { Some(write) } else { None };
        let (format, write) = ExportFormat::named(to, of_rankers).map_err(to_python)?;
        let options = Export { name, feature_names, ..Export::new() };
        options.check(format).map_err(to_python)?;
        run_quiet(py, || write(&self.inner, &options, &path).map(drop))
    }

    /// The bytes of its file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.inner.to_bytes().map(|bytes| PyBytes::new(py, &bytes)).map_err(to_python)
    }

    /// A ranker from the bytes of its file.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        Ranker::from_bytes(bytes).map(PyTrainedRanker::from).map_err(to_python)
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.inner == other.inner
    }

    fn __repr__(&self) -> String {
        format!("<TrainedRanker: {} on {} features>", self.form(), html::thousands(self.feature_count() as u64))
    }

    fn _repr_html_(&self) -> String {
        let record = &self.inner.record;
        let mut rows = vec![
            ("model", self.form()),
            ("features", html::thousands(self.feature_count() as u64)),
            ("loss", record.loss.clone()),
            ("method", record.method.clone()),
            ("lists", html::thousands(record.lists as u64)),
            ("best step", format!("{} of {}", record.best_step, record.steps)),
        ];
        rows.extend(record.validation.map(|value| ("validation", html::number(value))));
        rows.extend(record.notes.iter().map(|(name, value)| (name.as_str(), value.clone())));
        html::facts("Ranker", &rows)
    }

    fn __reduce__<'py>(this: Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (py, ranker) = (this.py(), this.get());
        let make = py.get_type::<Self>().getattr("from_bytes")?;
        Ok((make, (ranker.to_bytes(py)?,).into_pyobject(py)?))
    }
}

/// What to learn from, held while Python's lock is not.
enum Target {
    Grades,
    Weights(Vec<f32>),
    Relevance(Arc<Relevance>),
    Pairs(Arc<PairWeights>),
}

impl Target {
    fn from_python(y: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(y) = y else { return Ok(Target::Grades) };
        if let Ok(relevance) = y.cast::<PyRelevance>() {
            return Ok(Target::Relevance(relevance.get().inner.clone()));
        }
        if let Ok(pairs) = y.cast::<PyPairWeights>() {
            return Ok(Target::Pairs(pairs.get().inner.clone()));
        }
        let weights = floats_from_python(y, "y")?;
        Ok(Target::Weights(weights.into_iter().map(|weight| weight as f32).collect()))
    }

    fn learn_from(&self) -> LearnFrom<'_> {
        match self {
            Target::Grades => LearnFrom::Grades,
            Target::Weights(weights) => LearnFrom::Weights(weights),
            Target::Relevance(relevance) => LearnFrom::Relevance(relevance),
            Target::Pairs(pairs) => LearnFrom::Pairs(pairs),
        }
    }
}

/// Trains a ranker as `truerank train` does, with its options as keywords; None is the default of each.
#[pyfunction]
#[pyo3(signature = (
    data, y=None, validation=None, *, validation_measure=None, max_grade=None, progress=None, **options
))]
#[allow(clippy::too_many_arguments)] // Python's are keywords.
pub fn train_ranker(
    data: &Bound<'_, PyDataset>,
    y: Option<&Bound<'_, PyAny>>,
    validation: Option<&Bound<'_, PyDataset>>,
    validation_measure: Option<&str>,
    max_grade: Option<u8>,
    progress: Option<&Bound<'_, PyAny>>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<PyTrainedRanker> {
    let training = with(options_of::<Training>(options)?, max_grade, Training::max_grade);
    let measure: Measure = validation_measure.map_or(Ok(Measure::default()), str::parse).map_err(to_python)?;
    let evaluator = with(Evaluator::new(vec![measure]), max_grade, Evaluator::max_grade);
    let target = Target::from_python(y)?;
    let validation: Option<Arc<Dataset>> = validation.map(|data| data.get().inner.clone());
    let (py, data) = (data.py(), data.get().inner.clone());
    let (ranker, unmatched) = run(py, progress, |progress| {
        training.check(target.learn_from())?;
        let validation = validation.as_ref().map(|data| evaluator.validation(data)).transpose()?;
        training.fit(&data, target.learn_from(), validation.as_ref(), progress)
    })?;
    Ok(PyTrainedRanker { inner: Arc::new(ranker), unmatched })
}
