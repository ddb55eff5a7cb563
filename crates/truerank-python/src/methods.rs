//! Estimating propensities, by the name of a method; `truerank.propensity` makes classes of the methods.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;
use truerank::Error;
use truerank::examination::{ExaminationOptions, Sources};
use truerank::propensity::Contexts;

use crate::arrays::features_from_python;
use crate::counts::{PyCounts, folder_of_counts};
use crate::dataset::PyDataset;
use crate::engine::address;
use crate::error::{to_python, value_error};
use crate::ids::ids_from_python;
use crate::json::json_to_python;
use crate::options::options_of;
use crate::propensity::PyPropensities;
use crate::run::{run, run_quiet};

/// Estimates by the method and with the options in `options`. Also returns how well each number of clusters that was tried
/// predicted, where it was chosen. Where the method trains a ranker and `ranker` is a path, that is written there. With an `engine`,
/// `counts` is a folder that a cluster sees.
#[pyfunction]
#[pyo3(signature = (counts, data, *, user_features, ranker, engine, progress, **options))]
pub fn _estimate_examination<'py>(
    counts: &Bound<'py, PyAny>,
    data: Option<&Bound<'py, PyAny>>,
    user_features: Option<&Bound<'py, PyAny>>,
    ranker: Option<PathBuf>,
    engine: Option<&Bound<'py, PyAny>>,
    progress: Option<&Bound<'py, PyAny>>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<(PyPropensities, Bound<'py, PyAny>)> {
    let (py, options) = (counts.py(), options_of::<ExaminationOptions>(options)?);
    let data = data.map(PyDataset::training_part).transpose()?;
    if let Some(engine) = engine {
        let others = [("user_features", user_features.is_some()), ("ranker", ranker.is_some())];
        if let Some((name, _)) = others.into_iter().find(|(_, is_given)| *is_given) {
            return Err(to_python(Error::option(name, "is not for `engine`; estimate without it")));
        }
        let (url, folder) = (address(engine)?, folder_of_counts(counts)?);
        let found =
            run(py, progress, |progress| options.estimate_on(&url, &folder, data.as_deref(), &folder, progress))?;
        return Ok((found.propensities.into(), json_to_python(py, &json!(found.held_out))?));
    }
    let counts = counts.cast::<PyCounts>()?.get();
    let contexts = user_features.map(contexts).transpose()?;
    let found = run(py, progress, |progress| {
        let (data, contexts) = (data.as_deref(), contexts.as_ref());
        options.estimate(&Sources { counts: &*counts.inner, data, contexts, progress })
    })?;
    if let (Some(trained), Some(path)) = (&found.ranker, ranker) {
        run_quiet(py, || trained.save(&path))?;
    }
    let held_out = json_to_python(py, &json!(found.held_out))?;
    Ok((found.propensities.into(), held_out))
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
