//! Examination probabilities of users and positions.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int32Array};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use truerank::ids::{IdIndex, Ids};
use truerank::propensity::{Evidence, LevelAndShape, Propensities};

use crate::arrays::floats_from_python;
use crate::counts::PyCounts;
use crate::error::{to_python, value_error};
use crate::html;
use crate::ids::{ids_from_python, ids_to_numpy};
use crate::json::json_to_python;
use crate::run::run_quiet;
use crate::table::{PyTable, converted, id_column, table};

/// θ: the probability that people, or a certain user, look at a position.
///
/// Found by the estimators of `truerank.propensity`, known to a simulation, or made by `from_arrays`.
///
/// >>> theta = truerank.Propensities.from_arrays([1.0, 0.5], users=["ann", "bob"], by_user=[[1.0, 0.8], [0.5, 0.1]])
/// >>> theta
/// <Propensities: given, 2 positions, 2 users>
/// >>> theta["bob"]
/// array([0.5, 0.1])
///
/// How deep a user looks and how much the user clicks are told apart: `by_user` is `levels` times `shapes`.
///
/// >>> theta.levels.round(6)
/// array([1. , 0.5])
/// >>> theta.shapes[1].round(6)
/// array([1. , 0.2])
#[pyclass(name = "Propensities", module = "truerank", frozen)]
pub struct PyPropensities {
    pub inner: Arc<Propensities>,
}

impl From<Propensities> for PyPropensities {
    fn from(propensities: Propensities) -> Self {
        PyPropensities { inner: Arc::new(propensities) }
    }
}

impl PyPropensities {
    /// Propensities themselves, or those of a fitted estimator.
    pub fn of(value: &Bound<'_, PyAny>) -> PyResult<Arc<Propensities>> {
        let fitted = value.getattr_opt("propensities_")?;
        let found = fitted.as_ref().unwrap_or(value).cast::<Self>().map_err(|_| {
            PyTypeError::new_err("propensities should be Propensities, or an estimator that was fitted")
        })?;
        Ok(found.get().inner.clone())
    }

    /// A value of each user, where any has probabilities of their own.
    fn of_users<'py>(
        &self,
        py: Python<'py>,
        value: impl Fn(&LevelAndShape) -> f64,
    ) -> Option<Bound<'py, PyArray1<f64>>> {
        let values = levels_and_shapes(&self.inner).map(|user| value(&user));
        (!self.inner.users.is_empty()).then(|| PyArray1::from_iter(py, values))
    }

    /// Values in rows of positions, where there are any.
    fn matrix<'py, T: numpy::Element + Copy>(
        &self,
        py: Python<'py>,
        values: &[T],
    ) -> PyResult<Option<Bound<'py, PyArray2<T>>>> {
        let positions = self.inner.positions();
        let rows = values.len() / positions.max(1);
        (!values.is_empty()).then(|| PyArray1::from_slice(py, values).reshape([rows, positions])).transpose()
    }
}

#[pymethods]
impl PyPropensities {
    /// Propensities from arrays: θ̄ of positions 1, 2, …, and a row of them for each user who has their own.
    #[staticmethod]
    #[pyo3(signature = (population, users=None, by_user=None, *, method="given", scale="as given"))]
    fn from_arrays(
        population: &Bound<'_, PyAny>,
        users: Option<&Bound<'_, PyAny>>,
        by_user: Option<&Bound<'_, PyAny>>,
        method: &str,
        scale: &str,
    ) -> PyResult<Self> {
        let population = floats_from_python(population, "population")?;
        let (users, by_user) = match (users, by_user) {
            (None, None) => (Ids::default(), Vec::new()),
            (Some(users), Some(rows)) => {
                (ids_from_python(users, "users")?, matrix_from_python(rows, population.len())?)
            }
            _ => return Err(value_error("users and by_user go together, but one of them is missing")),
        };
        check_distinct(&users)?;
        let (method, scale) = (method.to_string(), scale.to_string());
        let propensities = Propensities { method, scale, population, users, by_user, ..Propensities::default() };
        propensities.check().map_err(to_python)?;
        Ok(propensities.into())
    }

    /// Reads a file that `write`, `truerank propensity` or `truerank simulate` wrote, or a hand-written one of this form.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        run_quiet(py, || Propensities::read(&path)).map(PyPropensities::from)
    }

    /// Writes them as JSON, or as Parquet with a row per user where the name ends in `.parquet`: smaller and quicker where users are many.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        run_quiet(py, || self.inner.write(&path))
    }

    /// θ̄ of positions 1, 2, …: what holds for a user nobody knows.
    #[getter]
    fn population<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.inner.population)
    }

    /// How many positions are known.
    #[getter]
    fn positions(&self) -> usize {
        self.inner.positions()
    }

    /// The ids of users with probabilities of their own.
    #[getter]
    fn users<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        ids_to_numpy(py, &self.inner.users)
    }

    /// Their probabilities: a row per user, a column per position; None where no user has their own.
    #[getter]
    fn by_user<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        self.matrix(py, &self.inner.by_user)
    }

    /// The level of each user, in the order of `users`: who *clicks more*, at the top and as a multiple of what
    /// people do there; None where no user has probabilities of their own.
    ///
    /// Clicks do not tell whether someone who clicks more looks more or is pleased more easily, so this says nothing about
    /// what users look at; `shapes` and `depths` do.
    #[getter]
    fn levels<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        self.of_users(py, |user| user.level)
    }

    /// The shape of each user's probabilities, on the scale of `population`: `by_user` without the level. A row per user, a
    /// column per position; None where no user has their own.
    #[getter]
    fn shapes<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        let shapes: Vec<f64> = levels_and_shapes(&self.inner).flat_map(|user| user.shape).collect();
        self.matrix(py, &shapes)
    }

    /// The mean position of each user's shape, in the order of `users`: who *looks deeper*; None where no user has
    /// probabilities of their own.
    #[getter]
    fn depths<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        self.of_users(py, LevelAndShape::depth)
    }

    /// The probabilities of one user; of one without their own, the population's.
    fn of_user<'py>(&self, user: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let found = IdIndex::new(&self.inner.users).find(&user.str()?.to_cow()?);
        let of_user = found.map_or(self.inner.population.as_slice(), |number| self.inner.of_user(number as usize));
        Ok(PyArray1::from_slice(user.py(), of_user))
    }

    /// How they were found.
    #[getter]
    fn method(&self) -> &str {
        &self.inner.method
    }

    /// What fixes their scale: clicks show only products of examination and relevance.
    #[getter]
    fn scale(&self) -> &str {
        &self.inner.scale
    }

    /// Standard errors of the population's, or None.
    #[getter]
    fn standard_errors<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        let errors = &self.inner.details.population.standard_errors;
        (!errors.is_empty()).then(|| PyArray1::from_slice(py, errors))
    }

    /// Standard errors of the users', in the form of `by_user`, or None.
    #[getter]
    fn user_standard_errors<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        self.matrix(py, &self.inner.details.by_user.standard_errors)
    }

    /// The mean log-likelihood per impression after each iteration of the fit, or None.
    #[getter]
    fn log_likelihood<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        self.inner.details.fit.as_ref().map(|fit| PyArray1::from_slice(py, &fit.log_likelihood))
    }

    /// Whether the fit converged, or None where there was no fit.
    #[getter]
    fn converged(&self) -> Option<bool> {
        self.inner.details.fit.as_ref().map(|fit| fit.converged)
    }

    /// The probabilities of each cluster of users, sorted by how far down they look: a row per cluster, or None.
    #[getter]
    fn clusters<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        self.matrix(py, self.inner.details.clusters.as_ref().map_or(&[], |clusters| &clusters.examination))
    }

    /// The row of `clusters` that each user belongs to, in the order of `users`, or None.
    #[getter]
    fn cluster_of_user<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<i64>>> {
        let clusters = self.inner.details.clusters.as_ref()?;
        Some(PyArray1::from_iter(py, clusters.of_user.iter().map(|&cluster| i64::from(cluster))))
    }

    /// What should be known: what could not be compared, what was assumed.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.inner.details.notes.clone()
    }

    /// Mean relative errors of these, `|found/truth − 1|`, against others that are taken for the truth.
    ///
    /// `population` is over positions past the first; `users` over users and positions with at least 1,000 expected
    /// examinations, by sessions; `rare` over the others.
    fn error_against<'py>(&self, truth: &Bound<'py, PyAny>, counts: &PyCounts) -> PyResult<Bound<'py, PyAny>> {
        let (py, truth) = (truth.py(), PyPropensities::of(truth)?);
        let error = run_quiet(py, || self.inner.error_against(&truth, &*counts.inner))?;
        let error = serde_json::to_value(error).map_err(|e| value_error(e.to_string()))?;
        json_to_python(py, &error)
    }

    /// A row per user and position: user, position, propensity, the level and the shape it is the product of,
    /// standard_error.
    ///
    /// Without users of their own there is a row per position, of the population, without level and shape.
    #[getter]
    fn table(&self) -> PyResult<PyTable> {
        table("Propensities", columns(&self.inner))
    }

    /// The table as pandas frame.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.table()?.to_pandas(py)
    }

    /// The rows of `table` as a frame of Polars.
    fn to_polars<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        converted(py, self.table()?, "to_polars")
    }

    /// The rows of `table` as a table of PyArrow.
    fn to_arrow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        converted(py, self.table()?, "to_arrow")
    }

    /// How many rows and columns the rows of `table` have.
    #[getter]
    fn shape(&self) -> PyResult<(usize, usize)> {
        self.table().map(|table| table.shape())
    }

    /// The first rows of the rows of `table`.
    #[pyo3(signature = (n=5))]
    fn head(&self, n: usize) -> PyResult<PyTable> {
        self.table().map(|table| table.head(n))
    }

    /// Plots examination by position: of all users, and of kinds of users or single users where there are any.
    ///
    /// Drawn by matplotlib, which this call imports, onto `ax` or a new figure; returns the axes.
    #[pyo3(signature = (ax=None))]
    fn plot<'py>(this: Bound<'py, Self>, ax: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("truerank._plot")?.call_method1("propensities", (this, ax))
    }

    /// The probabilities of one user; a user without their own is a `KeyError`, where `of_user` gives the population's.
    fn __getitem__<'py>(&self, user: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let found = IdIndex::new(&self.inner.users).find(&user.str()?.to_cow()?);
        let number = found.ok_or_else(|| PyKeyError::new_err(user.clone().unbind()))?;
        Ok(PyArray1::from_slice(user.py(), self.inner.of_user(number as usize)))
    }

    fn __contains__(&self, user: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(IdIndex::new(&self.inner.users).find(&user.str()?.to_cow()?).is_some())
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.users(py)?.call_method0("__iter__")
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.inner == other.inner
    }

    fn __repr__(&self) -> String {
        let positions = html::count(self.inner.positions() as u64, "position", "positions");
        let users = match self.inner.users.len() {
            0 => "population only".to_string(),
            users => html::count(users as u64, "user", "users"),
        };
        format!("<Propensities: {}, {positions}, {users}>", self.inner.method)
    }

    fn _repr_html_(&self) -> String {
        let evidence = &self.inner.details.population;
        let mut head = vec!["position", "examination"];
        head.extend((!evidence.standard_errors.is_empty()).then_some("std. error"));
        head.extend((!evidence.clicks.is_empty()).then_some("impressions"));
        head.extend((!evidence.clicks.is_empty()).then_some("clicks"));
        let rows: Vec<_> =
            (0..self.inner.positions()).map(|index| position_row(&self.inner, evidence, index)).collect();
        let mut notes = vec![self.inner.scale.clone()];
        notes.extend(self.inner.details.notes.iter().cloned());
        let table = html::table(self.__repr__().trim_matches(['<', '>']), &head, &rows, &notes);
        html::with_figure(table, &html::curve("examination", "position", self.inner.population.clone()))
    }

    fn __reduce__<'py>(this: Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        crate::pickle::reduce(this.into_any())
    }
}

fn position_row(propensities: &Propensities, evidence: &Evidence, index: usize) -> Vec<String> {
    let mut row = vec![(index + 1).to_string(), html::number(propensities.population[index])];
    row.extend(evidence.standard_errors.get(index).map(|error| html::number(*error)));
    row.extend(evidence.impressions.get(index).map(|count| html::thousands(*count)));
    row.extend(evidence.clicks.get(index).map(|count| html::thousands(*count)));
    row
}

fn columns(propensities: &Propensities) -> Vec<(&'static str, ArrayRef)> {
    let details = &propensities.details;
    let (values, errors) = match propensities.users.is_empty() {
        true => (&propensities.population, &details.population.standard_errors),
        false => (&propensities.by_user, &details.by_user.standard_errors),
    };
    let positions = propensities.positions();
    let mut columns: Vec<(&str, ArrayRef)> = Vec::new();
    let personalized = !propensities.users.is_empty();
    if personalized {
        let users: Vec<u32> = (0..values.len()).map(|index| (index / positions) as u32).collect();
        columns.push(("user", id_column(&propensities.users, users.into_iter())));
    }
    let position = (0..values.len()).map(|index| (index % positions) as i32 + 1);
    columns.push(("position", Arc::new(Int32Array::from_iter_values(position))));
    columns.push(("propensity", Arc::new(Float64Array::from(values.clone()))));
    if personalized {
        columns.extend(level_and_shape_columns(propensities));
    }
    if !errors.is_empty() {
        columns.push(("standard_error", Arc::new(Float64Array::from(errors.clone()))));
    }
    columns
}

/// Level and shape of each user and position; the level is the same at all of a user's.
fn level_and_shape_columns(propensities: &Propensities) -> [(&'static str, ArrayRef); 2] {
    let (mut levels, mut shapes) = (Vec::new(), Vec::new());
    for user in levels_and_shapes(propensities) {
        levels.extend(std::iter::repeat_n(user.level, user.shape.len()));
        shapes.extend(user.shape);
    }
    [("level", Arc::new(Float64Array::from(levels))), ("shape", Arc::new(Float64Array::from(shapes)))]
}

/// Level and shape of each user with probabilities of their own.
fn levels_and_shapes(propensities: &Propensities) -> impl Iterator<Item = LevelAndShape> + '_ {
    (0..propensities.users.len()).map(|user| propensities.level_and_shape(propensities.of_user(user)))
}

/// A row of `positions` values per user.
fn matrix_from_python(rows: &Bound<'_, PyAny>, positions: usize) -> PyResult<Vec<f64>> {
    let array = rows.py().import("numpy")?.call_method1("asarray", (rows, "float64"))?;
    let shape: Vec<usize> = array.getattr("shape")?.extract()?;
    match shape.as_slice() {
        [_, columns] if *columns == positions => floats_from_python(&array.call_method0("ravel")?, "by_user"),
        _ => Err(value_error(format!("by_user has shape {shape:?}, but should have {positions} values for each user"))),
    }
}

fn check_distinct(users: &Ids) -> PyResult<()> {
    let mut seen = HashSet::with_capacity(users.len());
    match (0..users.len()).map(|user| users.name(user)).find(|name| !seen.insert(name.clone())) {
        Some(name) => Err(value_error(format!("users: '{name}' stands twice, but each user stands once"))),
        None => Ok(()),
    }
}
