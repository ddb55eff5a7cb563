//! Pickles of what has a file form of its own: the bytes of its files.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// How to make the object again, and from what.
pub fn reduce<'py>(object: Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
    let module = object.py().import("truerank._pickle")?;
    let files = module.getattr("files")?.call1((&object,))?;
    let parts = (object.get_type(), files).into_pyobject(object.py())?;
    Ok((module.getattr("restore")?, parts))
}
