//! The methods that estimate propensities, as functions; `truerank.propensity` makes classes of them.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use serde_json::json;
use truerank::data::Dataset;
use truerank::network::Architecture;
use truerank::propensity::{
    Contexts, Cpbm, Grouping, InterventionHarvesting, RegressionEm, RelevanceForm, RelevancePrior, ShrinkUsers,
    SwapExperiment, UserChoice, UserPbm, Weighting,
};
use truerank::ranker::Dla;

use crate::arrays::features_from_python;
use crate::counts::PyCounts;
use crate::dataset::PyDataset;
use crate::error::{to_python, value_error};
use crate::ids::ids_from_python;
use crate::json::json_to_python;
use crate::options::{parsed, with};
use crate::propensity::PyPropensities;
use crate::run::{run, run_quiet};

/// Regression-EM. Also returns how well each number of clusters that was tried predicted, where it was chosen.
#[pyfunction]
#[pyo3(signature = (counts, data, *, per_user, relevance, prior, shrink, clusters, grouping, strict, iterations, tolerance,
    resamples, seed, progress))]
#[allow(clippy::too_many_arguments)] // Python's are keywords.
pub fn _regression_em<'py>(
    py: Python<'py>,
    counts: &PyCounts,
    data: Option<&Bound<'py, PyAny>>,
    per_user: Option<bool>,
    relevance: Option<&Bound<'py, PyAny>>,
    prior: Option<&Bound<'py, PyAny>>,
    shrink: Option<&Bound<'py, PyAny>>,
    clusters: Option<&Bound<'py, PyAny>>,
    grouping: Option<&Bound<'py, PyAny>>,
    strict: Option<bool>,
    iterations: Option<usize>,
    tolerance: Option<f64>,
    resamples: Option<usize>,
    seed: Option<u64>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<(PyPropensities, Bound<'py, PyAny>)> {
    let data = data.map(PyDataset::training_part).transpose()?;
    let choice = UserChoice {
        per_user: per_user.unwrap_or_default(),
        shrink: parsed::<ShrinkUsers>(shrink)?,
        clusters: parsed(clusters).map_err(|error| value_error(format!("clusters {}", error.value(py))))?,
        grouping: parsed::<Grouping>(grouping)?,
    };
    choice.check(|name| name.replace('-', "_")).map_err(to_python)?;
    let form = parsed(relevance)?.unwrap_or_else(|| RelevanceForm::suited_to(data.as_deref()));
    let em = RegressionEm::new().users(choice.of(counts.inner.users.len())).relevance(form);
    let em = with(em, parsed::<RelevancePrior>(prior)?, RegressionEm::prior);
    let em = with(em, strict, RegressionEm::strict);
    let em = with(em, iterations, RegressionEm::iterations);
    let em = with(em, tolerance, RegressionEm::tolerance);
    let em = with(em, resamples, RegressionEm::resamples);
    let em = with(em, seed, RegressionEm::seed);
    let found = run(py, progress, |progress| em.estimate(&*counts.inner, data.as_deref(), progress))?;
    let held_out = json_to_python(py, &json!(found.held_out))?;
    Ok((found.propensities.into(), held_out))
}

/// Swaps of the first document with others.
#[pyfunction]
#[pyo3(signature = (counts, *, per_user, resamples, seed))]
pub fn _swap_experiment(
    py: Python<'_>,
    counts: &PyCounts,
    per_user: Option<bool>,
    resamples: Option<usize>,
    seed: Option<u64>,
) -> PyResult<PyPropensities> {
    let swap = with(SwapExperiment::new(), per_user, SwapExperiment::per_user);
    let swap = with(swap, resamples, SwapExperiment::resamples);
    let swap = with(swap, seed, SwapExperiment::seed);
    run_quiet(py, || swap.estimate(&counts.inner)).map(PyPropensities::from)
}

/// Documents that were shown at several positions, however that came.
#[pyfunction]
#[pyo3(signature = (counts, *, per_user, weighting, iterations, tolerance, resamples, seed))]
#[allow(clippy::too_many_arguments)] // Python's are keywords.
pub fn _intervention_harvesting(
    py: Python<'_>,
    counts: &PyCounts,
    per_user: Option<bool>,
    weighting: Option<&Bound<'_, PyAny>>,
    iterations: Option<usize>,
    tolerance: Option<f64>,
    resamples: Option<usize>,
    seed: Option<u64>,
) -> PyResult<PyPropensities> {
    let harvesting = with(InterventionHarvesting::new(), per_user, InterventionHarvesting::per_user);
    let harvesting = with(harvesting, parsed::<Weighting>(weighting)?, InterventionHarvesting::weighting);
    let harvesting = with(harvesting, iterations, InterventionHarvesting::iterations);
    let harvesting = with(harvesting, tolerance, InterventionHarvesting::tolerance);
    let harvesting = with(harvesting, resamples, InterventionHarvesting::resamples);
    let harvesting = with(harvesting, seed, InterventionHarvesting::seed);
    run_quiet(py, || harvesting.estimate(&counts.inner)).map(PyPropensities::from)
}

/// The contextual position-based model.
#[pyfunction]
#[pyo3(signature = (counts, *, user_features, weighting, iterations, tolerance, resamples, seed, progress))]
#[allow(clippy::too_many_arguments)] // Python's are keywords.
pub fn _cpbm<'py>(
    py: Python<'py>,
    counts: &PyCounts,
    user_features: Option<&Bound<'py, PyAny>>,
    weighting: Option<&Bound<'py, PyAny>>,
    iterations: Option<usize>,
    tolerance: Option<f64>,
    resamples: Option<usize>,
    seed: Option<u64>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<PyPropensities> {
    let cpbm = with(Cpbm::new(), user_features.map(contexts).transpose()?, Cpbm::contexts);
    let cpbm = with(cpbm, parsed::<Weighting>(weighting)?, Cpbm::weighting);
    let cpbm = with(cpbm, iterations, Cpbm::iterations);
    let cpbm = with(cpbm, tolerance, Cpbm::tolerance);
    let cpbm = with(cpbm, resamples, Cpbm::resamples);
    let cpbm = with(cpbm, seed, Cpbm::seed);
    run(py, progress, |progress| cpbm.estimate(&counts.inner, progress)).map(PyPropensities::from)
}

/// Features of users: a file, or their ids and a matrix with a row for each.
fn contexts(features: &Bound<'_, PyAny>) -> PyResult<Contexts> {
    if let Ok((users, rows)) = features.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>() {
        let (users, matrix) = (ids_from_python(&users, "user_features")?, features_from_python(&rows)?);
        if matrix.rows() != users.len() {
            let (rows, users) = (matrix.rows(), users.len());
            return Err(value_error(format!("user_features has {users} users, but {rows} rows of features")));
        }
        return Ok(Contexts::Features { users, features: matrix.values.to_vec(), count: matrix.columns });
    }
    let path: PathBuf = features.extract().map_err(|_| {
        value_error("user_features should be a file, or a pair: the ids of users and a matrix with a row for each")
    })?;
    run_quiet(features.py(), || Contexts::read(&path))
}

fn features_for(data: Option<&Bound<'_, PyAny>>, method: &str) -> PyResult<Arc<Dataset>> {
    let data =
        data.ok_or_else(|| value_error(format!("{method} learns from features: give it the data set as well")))?;
    PyDataset::training_part(data)
}

/// The click likelihood climbed directly.
#[pyfunction]
#[pyo3(signature = (counts, data, *, per_user, iterations, tolerance, seed, progress))]
#[allow(clippy::too_many_arguments)] // Python's are keywords.
pub fn _user_pbm<'py>(
    py: Python<'py>,
    counts: &PyCounts,
    data: Option<&Bound<'py, PyAny>>,
    per_user: Option<bool>,
    iterations: Option<usize>,
    tolerance: Option<f64>,
    seed: Option<u64>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<PyPropensities> {
    let data = features_for(data, "UserPBM")?;
    let model = with(UserPbm::new(), per_user, UserPbm::per_user);
    let model = with(model, iterations, UserPbm::epochs);
    let model = with(model, tolerance, UserPbm::tolerance);
    let model = with(model, seed, UserPbm::seed);
    run(py, progress, |progress| model.estimate(&counts.inner, &data, progress)).map(PyPropensities::from)
}

/// Dual learning; the ranker is written to `ranker` where that is a path.
#[pyfunction]
#[pyo3(signature = (counts, data, *, per_user, model, iterations, seed, ranker, progress))]
#[allow(clippy::too_many_arguments)] // Python's are keywords.
pub fn _dla<'py>(
    py: Python<'py>,
    counts: &PyCounts,
    data: Option<&Bound<'py, PyAny>>,
    per_user: Option<bool>,
    model: Option<&Bound<'py, PyAny>>,
    iterations: Option<usize>,
    seed: Option<u64>,
    ranker: Option<PathBuf>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<PyPropensities> {
    let data = features_for(data, "DLA")?;
    let dla = with(Dla::new(), per_user, Dla::per_user);
    let dla = with(dla, parsed::<Architecture>(model)?, Dla::architecture);
    let dla = with(dla, iterations, Dla::steps);
    let dla = with(dla, seed, Dla::seed);
    let (trained, found) = run(py, progress, |progress| dla.fit(&data, &counts.inner, None, progress))?;
    ranker.map_or(Ok(()), |path| run_quiet(py, || trained.save(&path)))?;
    Ok(found.into())
}
