//! Errors of the library as Python's own exceptions, with the same text.

use std::io::ErrorKind;

use pyo3::PyErr;
use pyo3::exceptions::{
    PyFileExistsError, PyFileNotFoundError, PyIsADirectoryError, PyKeyboardInterrupt, PyNotADirectoryError, PyOSError,
    PyPermissionError, PyUserWarning, PyValueError,
};
use truerank::Error;
use truerank::stages::is_option;

/// The exception for an error of the library.
pub fn to_python(error: Error) -> PyErr {
    let text = error.naming(|name| is_option(name).then(|| name.to_string()));
    match error {
        Error::Io { cause, .. } => match cause.kind() {
            ErrorKind::NotFound => PyFileNotFoundError::new_err(text),
            ErrorKind::PermissionDenied => PyPermissionError::new_err(text),
            ErrorKind::IsADirectory => PyIsADirectoryError::new_err(text),
            ErrorKind::NotADirectory => PyNotADirectoryError::new_err(text),
            ErrorKind::AlreadyExists => PyFileExistsError::new_err(text),
            _ => PyOSError::new_err(text),
        },
        Error::Stopped => PyKeyboardInterrupt::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

/// A `ValueError` of one line, whatever it speaks of.
pub fn value_error(text: impl Into<String>) -> PyErr {
    PyValueError::new_err(truerank::text::line(&text.into()))
}

pyo3::create_exception!(
    truerank,
    DataWarning,
    PyUserWarning,
    "Documents were read, but not in the order they came in."
);
pyo3::create_exception!(truerank, LogWarning, PyUserWarning, "A log was read, but not all of it.");
pyo3::create_exception!(
    truerank,
    PropensityWarning,
    PyUserWarning,
    "Propensities were estimated, but something should be known of them."
);
