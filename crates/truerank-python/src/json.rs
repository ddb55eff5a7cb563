//! What the library says to programs, as Python's own dicts, lists and numbers.

use pyo3::prelude::*;
use serde::Serialize;

use crate::error::value_error;

/// The same in Python; numbers that are none become None, as in JSON.
pub fn json_to_python<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(value).map_err(|error| value_error(error.to_string()))?;
    py.import("json")?.call_method1("loads", (text,))
}
