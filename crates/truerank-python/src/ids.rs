//! Ids between Python and the library: whole numbers and text, kept as they came.

use numpy::{IntoPyArray, PyArray1, PyArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyList, PyString, PyTuple};
use truerank::ids::Ids;

/// A column of ids as NumPy has it: `int64`, or objects that are `str`.
pub fn ids_to_numpy<'py>(py: Python<'py>, ids: &Ids) -> PyResult<Bound<'py, PyAny>> {
    match ids {
        Ids::Integers(values) => Ok(PyArray1::from_slice(py, values).into_any()),
        Ids::Texts(texts) => Ok(object_array(py, texts.iter().map(|text| PyString::new(py, text).into_any().unbind()))),
    }
}

/// The ids numbered `numbers`. Rows share the objects of their text.
pub fn ids_at<'py>(py: Python<'py>, ids: &Ids, numbers: impl Iterator<Item = u32>) -> PyResult<Bound<'py, PyAny>> {
    match ids {
        Ids::Integers(values) => {
            Ok(numbers.map(|number| values[number as usize]).collect::<Vec<_>>().into_pyarray(py).into_any())
        }
        Ids::Texts(texts) => {
            let objects: Vec<_> = texts.iter().map(|text| PyString::new(py, text).into_any().unbind()).collect();
            Ok(object_array(py, numbers.map(|number| objects[number as usize].clone_ref(py))))
        }
    }
}

/// An array of objects.
pub fn object_array(py: Python<'_>, objects: impl Iterator<Item = Py<PyAny>>) -> Bound<'_, PyAny> {
    PyArray1::from_owned_object_array(py, objects.collect()).into_any()
}

/// Reads ids from an array, a list, a pandas or Polars column: whole numbers or text. `what` names them in errors.
pub fn ids_from_python(values: &Bound<'_, PyAny>, what: &str) -> PyResult<Ids> {
    let py = values.py();
    // NumPy would make floats of large whole numbers in a list.
    if values.is_instance_of::<PyList>() || values.is_instance_of::<PyTuple>() {
        return objects(values, what);
    }
    let array = py.import("numpy")?.call_method1("asarray", (values,))?;
    if array.getattr("ndim")?.extract::<usize>()? != 1 {
        return Err(PyTypeError::new_err(format!("{what} should have one dimension, one id per row")));
    }
    let dtype = array.getattr("dtype")?;
    match dtype.getattr("kind")?.extract::<String>()?.as_str() {
        "i" => integers(&array).map(Ids::Integers),
        "u" if dtype.getattr("itemsize")?.extract::<usize>()? < 8 => integers(&array).map(Ids::Integers),
        "u" | "U" | "O" | "T" => objects(&array.call_method0("tolist")?, what),
        _ => {
            let text = format!("{what} has type {dtype}, but ids are text or whole numbers");
            Err(PyTypeError::new_err(text))
        }
    }
}

fn integers(array: &Bound<'_, PyAny>) -> PyResult<Vec<i64>> {
    let array = array.call_method1("astype", ("int64",))?;
    Ok(array.cast::<PyArray1<i64>>()?.to_vec()?)
}

/// Objects one by one; a text among whole numbers turns all of them into text.
fn objects(values: &Bound<'_, PyAny>, what: &str) -> PyResult<Ids> {
    let mut ids = Ids::default();
    for (row, value) in values.try_iter()?.enumerate() {
        push_object(&mut ids, &value?).map_err(|error| {
            let text = format!("{what}: row {}: {}", row + 1, error.value(values.py()));
            PyTypeError::new_err(text)
        })?;
    }
    Ok(ids)
}

fn push_object(ids: &mut Ids, value: &Bound<'_, PyAny>) -> PyResult<()> {
    if let Ok(text) = value.cast::<PyString>() {
        ids.push_text(&text.to_cow()?);
    } else if value.is_instance_of::<PyBool>() || !value.hasattr("__index__")? {
        let kind = value.get_type().name()?;
        return Err(PyTypeError::new_err(format!("has type {kind}, but ids are text or whole numbers")));
    } else if let Ok(number) = value.extract::<i64>() {
        ids.push_integer(number);
    } else {
        ids.push_text(&value.str()?.to_cow()?);
    }
    Ok(())
}
