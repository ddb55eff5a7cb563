//! Arguments of Python as settings of the library: what is not given is not set, so defaults live in one place.

use std::str::FromStr;

use pyo3::prelude::*;
use truerank::Error;

use crate::error::to_python;

/// A setting, where it was given.
pub fn with<T, V>(builder: T, value: Option<V>, set: impl FnOnce(T, V) -> T) -> T {
    match value {
        Some(value) => set(builder, value),
        None => builder,
    }
}

/// A value with a text form, given as text or, such as `beta=0.5`, as a number.
pub fn parsed<T: FromStr<Err = Error>>(value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<T>> {
    value.map(|value| value.str()?.to_cow()?.parse().map_err(to_python)).transpose()
}
